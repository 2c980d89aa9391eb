// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_DistributedModel.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <queue>
#include <tuple>

#include "Lutra_BlockOwners.hpp"

namespace lutra {
namespace {

constexpr double value_bytes = sizeof(double);
constexpr int columns_together = 16;  // right-hand sides per reading of the triangle

/// Bytes that a sweep moves, of blocks and of messages.
struct SweepBytes {
  const BlockTriangle& triangle;
  int n_rhs;

  double of_block(std::size_t b) const {
    return triangle.entries[b] * value_bytes * ((n_rhs + columns_together - 1) / columns_together);
  }
  double of_vector(std::size_t K) const {
    return static_cast<double>(triangle.width[K]) * value_bytes * n_rhs;
  }
  /// Bytes of x(K) and of a share's blocks, with or without the diagonal block.
  double of_products(const Impl::OwnerShares& columns, std::size_t share, bool with_diagonal) const {
    double bytes = of_vector(columns.column[share]);
    for (std::size_t e = columns.block_begin[share]; e < columns.block_begin[share + 1]; ++e) {
      const std::size_t b = columns.block[e];
      if (with_diagonal || triangle.row[b] != columns.column[share]) bytes += of_block(b);
    }
    return bytes;
  }
};

double team_bandwidth(const DistributedCosts& costs, double teams) {
  return std::clamp(costs.bandwidth / std::max(1.0, teams), costs.min_block_bandwidth,
                    costs.max_block_bandwidth);
}

/// Teams that a device runs concurrently.
std::size_t teams_of(const DistributedCosts& costs) {
  return static_cast<std::size_t>(std::max(1.0, costs.bandwidth / costs.min_block_bandwidth));
}

/// Teams that a task can use: one per block, and one for a task without products.
std::size_t teams_wanted(const Impl::OwnerShares& columns, std::size_t task, bool with_diagonal) {
  return std::max<std::size_t>(1, columns.blocks_in(task) - (with_diagonal ? 1 : 0));
}

bool is_root(const Impl::OwnerShares& shares, std::size_t s) {
  return s == shares.begin[shares.column[s]];
}

/// Tasks and messages of one device in one level.
struct Cell {
  int rank = 0;
  std::int64_t level = 0;
  double tasks = 0, teams = 0, bytes = 0;
  double path_seconds = 0;  ///< longest path inside the device
  double latency = 0, message_seconds = 0;

  double compute_seconds(const DistributedCosts& costs) const {
    const auto all_teams = static_cast<double>(teams_of(costs));
    const double bandwidth = std::min(costs.bandwidth, teams * costs.max_block_bandwidth);
    return std::max(tasks * costs.dependency_seconds / all_teams + bytes / bandwidth, path_seconds);
  }
};

/// Evaluates the closed form.
class CriticalPath {
 public:
  CriticalPath(const BlockTriangle& triangle, const ProcessGrid& grid, const DistributedCosts& costs,
               int n_rhs, const NodeLinks& nodes)
      : m_triangle(triangle),
        m_costs(costs),
        m_nodes(nodes),
        m_bytes{triangle, n_rhs},
        m_owners(Impl::find_owners(triangle, grid)),
        m_level(m_owners.columns.size()),
        m_ranks(grid.size()) {}

  CriticalPathTimes run() {
    find_levels();
    make_cells();
    find_paths();
    add_messages();
    return sum();
  }

 private:
  /// Levels of tasks: a message leads to the next level, an edge inside a device does not.
  void find_levels() {
    const auto& columns = m_owners.columns;
    const auto& rows = m_owners.rows;
    std::vector<std::int64_t> sum_level(rows.size(), -1);  // level of the last product added; -1: none
    for (std::size_t K = 0; K < m_triangle.size(); ++K) {
      std::int64_t level = std::max<std::int64_t>(0, sum_level[rows.begin[K]]);
      for (std::size_t g = rows.begin[K] + 1; g < rows.begin[K + 1]; ++g)
        level = std::max(level, sum_level[g] + 1);
      for (std::size_t s = columns.begin[K]; s < columns.begin[K + 1]; ++s) {
        m_level[s] = s == columns.begin[K] ? level : level + 1;
        for_each_product(s, [&](std::size_t b) {
          std::int64_t& last = sum_level[m_owners.sum_of[b]];
          last = std::max(last, m_level[s]);
        });
      }
    }
  }

  void make_cells() {
    const auto& columns = m_owners.columns;
    std::vector<std::size_t> order(columns.size());
    std::iota(order.begin(), order.end(), std::size_t(0));
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return std::tuple(columns.rank[a], m_level[a], a) < std::tuple(columns.rank[b], m_level[b], b);
    });
    m_cell_of.resize(columns.size());
    for (const std::size_t s : order) {
      if (m_cells.empty() || m_cells.back().rank != columns.rank[s] || m_cells.back().level != m_level[s])
        m_cells.push_back({.rank = columns.rank[s], .level = m_level[s]});
      m_cell_of[s] = m_cells.size() - 1;
      m_cells.back().tasks += 1;
      m_cells.back().teams += static_cast<double>(teams_wanted(columns, s, is_root(columns, s)));
      m_cells.back().bytes += m_bytes.of_products(columns, s, true);
    }
  }

  void find_paths() {
    const auto& columns = m_owners.columns;
    const auto& rows = m_owners.rows;
    std::vector<double> path(rows.size(), 0);           // longest path to the products of a sum …
    std::vector<std::int64_t> path_level(rows.size());  // … in the last of their levels
    for (std::size_t s = 0; s < columns.size(); ++s) {
      const std::size_t K = columns.column[s], own = rows.begin[K];
      Cell& cell = m_cells[m_cell_of[s]];
      const bool root = is_root(columns, s);
      const auto teams = static_cast<double>(std::min(teams_of(m_costs), teams_wanted(columns, s, root)));
      double bytes = m_bytes.of_products(columns, s, false) / teams;  // per team
      if (root) bytes += m_bytes.of_block(m_triangle.column_begin[K]);
      double seconds = m_costs.dependency_seconds + bytes / m_costs.max_block_bandwidth;
      if (root && path_level[own] == m_level[s]) seconds += path[own];
      cell.path_seconds = std::max(cell.path_seconds, seconds);
      for_each_product(s, [&](std::size_t b) {
        const std::size_t g = m_owners.sum_of[b];
        path[g] = path_level[g] == m_level[s] ? std::max(path[g], seconds) : seconds;
        path_level[g] = m_level[s];
      });
    }
  }

  /// Broadcasts count at the source of x(K), reductions at the destination of their sum.
  void add_messages() {
    for (std::size_t K = 0; K < m_triangle.size(); ++K) {
      Cell& cell = m_cells[m_cell_of[m_owners.columns.begin[K]]];
      for (const Impl::OwnerShares* const all : {&m_owners.columns, &m_owners.rows}) {
        if (all->shares_of(K) < 2) continue;
        bool crosses = false;
        for (std::size_t s = all->begin[K] + 1; s < all->begin[K + 1]; ++s)
          crosses = crosses || m_nodes.cross(all->rank[s], all->rank[all->parent(s)]);
        const auto fan = static_cast<double>(all->shares_of(K) - 1);
        cell.latency = std::max(cell.latency, crosses ? m_nodes.latency_seconds : m_costs.latency_seconds);
        cell.message_seconds += (fan > 2 ? std::log2(fan) : fan) * m_bytes.of_vector(K) /
                                (crosses ? m_nodes.bandwidth : m_costs.link_bandwidth);
      }
    }
  }

  CriticalPathTimes sum() const {
    CriticalPathTimes result;
    std::vector<double> compute(static_cast<std::size_t>(m_ranks), 0), messages = compute, slowest;
    for (const Cell& cell : m_cells) {
      const auto r = static_cast<std::size_t>(cell.rank), level = static_cast<std::size_t>(cell.level);
      const double own = cell.compute_seconds(m_costs), sent = cell.latency + cell.message_seconds;
      compute[r] += own;
      messages[r] += sent;
      if (level >= slowest.size()) slowest.resize(level + 1, 0);
      slowest[level] = std::max(slowest[level], own + sent);
    }
    for (std::size_t r = 0; r < compute.size(); ++r) {
      if (compute[r] + messages[r] <= result.seconds) continue;
      result.seconds = compute[r] + messages[r];
      result.compute_seconds = compute[r];
      result.message_seconds = messages[r];
    }
    result.seconds += m_costs.start_seconds;
    result.level_seconds = std::accumulate(slowest.begin(), slowest.end(), m_costs.start_seconds);
    result.levels = static_cast<std::int64_t>(slowest.size());
    return result;
  }

  /// Calls visit(block) for the blocks of a share below the diagonal.
  template <class Visit>
  void for_each_product(std::size_t share, const Visit& visit) const {
    const auto& columns = m_owners.columns;
    for (std::size_t e = columns.block_begin[share]; e < columns.block_begin[share + 1]; ++e) {
      if (m_triangle.row[columns.block[e]] != columns.column[share]) visit(columns.block[e]);
    }
  }

  const BlockTriangle& m_triangle;
  const DistributedCosts& m_costs;
  const NodeLinks& m_nodes;
  SweepBytes m_bytes;
  Impl::BlockOwners m_owners;
  std::vector<std::int64_t> m_level;   ///< [tasks] level of each task, a share of a column
  std::vector<std::size_t> m_cell_of;  ///< [tasks]
  std::vector<Cell> m_cells;
  int m_ranks;
};

/// Event-driven simulation of a sweep. Each block of a rank is a job for one of its teams: to solve the
/// diagonal block, or to multiply another block and add the product to a sum.
///
///     x(K) is solved, or arrives ──► jobs of column K on the rank are ready ──► run ──► products are added
///        │ forwarded down the tree                                                       │ last one
///        ▼                                                                               ▼
///     children                          the sum goes up the tree; at its root, the diagonal block of its row
///                                       becomes ready
class Simulation {
 public:
  Simulation(const BlockTriangle& triangle, const ProcessGrid& grid, const DistributedCosts& costs, int n_rhs,
             const NodeLinks& nodes, const RunControl& run)
      : m_run(run),
        m_triangle(triangle),
        m_costs(costs),
        m_nodes(nodes),
        m_bytes{triangle, n_rhs},
        m_owners(Impl::find_owners(triangle, grid)),
        m_missing(m_owners.rows.size()),
        m_ranks(static_cast<std::size_t>(grid.size()), Rank{{}, teams_of(costs), 0, 0}),
        m_teams(teams_of(costs)) {}

  SimulatedTimes run() {
    const auto& rows = m_owners.rows;
    for (std::size_t g = 0; g < rows.size(); ++g) {
      m_missing[g] = rows.blocks_in(g) - (is_root(rows, g) ? 1 : 0);  // without the diagonal block
      rows.for_each_child(g, [&](std::size_t) { ++m_missing[g]; });
    }
    for (std::size_t K = 0; K < m_triangle.size(); ++K) {
      if (m_missing[rows.begin[K]] == 0) add_job(rows.rank[rows.begin[K]], m_triangle.column_begin[K]);
    }
    for (Rank& rank : m_ranks) start_jobs(rank);
    for (std::int64_t step = 0; !m_events.empty(); ++step) {
      m_run.poll_at(step, 4096);
      const Event event = m_events.top();
      m_events.pop();
      m_now = event.seconds;
      handle(event);
    }
    m_result.seconds = m_now + m_costs.start_seconds;
    return m_result;
  }

 private:
  enum class Kind { job_done, message_taken, x_arrived, x_seen, sum_arrived };
  struct Event {
    double seconds;
    std::size_t number;  ///< events at the same time are processed in the order of creation
    Kind kind;
    std::size_t subject;  ///< a block; for x a share of a column; for sums a share of a row
    bool operator>(const Event& other) const {
      return std::tuple(seconds, number) > std::tuple(other.seconds, other.number);
    }
  };
  /// Arrived messages come first, in their order, then the rows needed first.
  using Job = std::pair<std::size_t, std::size_t>;  ///< 1 + row, and block; or 0, and message
  struct Rank {
    std::priority_queue<Job, std::vector<Job>, std::greater<>> ready;
    std::size_t free_teams;
    double link_free;  ///< time at which the next message can leave
    double host_free;  ///< time at which the rank has finished sending
  };
  /// A message that its rank has to receive.
  struct Message {
    Kind kind;
    std::size_t subject;
    int rank;
  };

  Rank& rank_of(int r) { return m_ranks[static_cast<std::size_t>(r)]; }
  bool is_diagonal(std::size_t b) const { return m_triangle.row[b] == m_owners.column_of[b]; }
  void add_event(double seconds, Kind kind, std::size_t subject) {
    m_events.push({seconds, m_event_count++, kind, subject});
  }

  void handle(const Event& event) {
    switch (event.kind) {
      case Kind::job_done:
        return finish(event.subject);
      case Kind::message_taken:
        return finish_message(m_messages[event.subject]);
      case Kind::x_arrived:
      case Kind::sum_arrived:
        return m_teams == 1 ? queue_message(event) : deliver(event.kind, event.subject);
      case Kind::x_seen:
        return multiply(event.subject);
    }
  }

  void deliver(Kind kind, std::size_t subject) {
    if (kind == Kind::sum_arrived) return add_to(subject);
    forward(subject);
    if (m_teams == 1) return multiply(subject);
    add_event(m_now + m_costs.dependency_seconds, Kind::x_seen, subject);
  }

  /// A rank with one team receives messages itself, between jobs.
  void queue_message(const Event& event) {
    const auto& shares = event.kind == Kind::x_arrived ? m_owners.columns : m_owners.rows;
    const int rank = shares.rank[event.subject];
    rank_of(rank).ready.push({0, m_messages.size()});
    m_messages.push_back({event.kind, event.subject, rank});
    start_jobs(rank_of(rank));
  }

  void finish_message(const Message& message) {
    ++rank_of(message.rank).free_teams;
    deliver(message.kind, message.subject);
    start_jobs(rank_of(message.rank));
  }

  void add_job(int rank, std::size_t block) { rank_of(rank).ready.push({1 + m_triangle.row[block], block}); }

  void start_jobs(Rank& rank) {
    while (rank.free_teams > 0 && !rank.ready.empty()) {
      const auto [order, subject] = rank.ready.top();
      rank.ready.pop();
      --rank.free_teams;
      const double start = std::max(m_now, rank.host_free);
      if (order == 0) {
        add_event(start + m_costs.latency_seconds / 2, Kind::message_taken, subject);
        continue;
      }
      double seconds = m_bytes.of_block(subject);
      if (is_diagonal(subject)) seconds += m_bytes.of_vector(m_owners.column_of[subject]);
      seconds /= team_bandwidth(m_costs, static_cast<double>(m_teams - rank.free_teams));
      if (is_diagonal(subject) || m_teams == 1) seconds += m_costs.dependency_seconds;
      m_result.busy_seconds += seconds;
      ++m_result.jobs;
      add_event(start + seconds, Kind::job_done, subject);
    }
  }

  void finish(std::size_t b) {
    const std::size_t K = m_owners.column_of[b], root = m_owners.columns.begin[K], sum = m_owners.sum_of[b];
    Rank& rank = rank_of(m_owners.rows.rank[sum]);
    ++rank.free_teams;
    if (is_diagonal(b)) {
      forward(root);
      multiply(root);
    } else {
      add_to(sum);
    }
    start_jobs(rank);
  }

  /// Products of a column on one rank.
  void multiply(std::size_t share) {
    const auto& columns = m_owners.columns;
    for (std::size_t e = columns.block_begin[share]; e < columns.block_begin[share + 1]; ++e) {
      if (!is_diagonal(columns.block[e])) add_job(columns.rank[share], columns.block[e]);
    }
    start_jobs(rank_of(columns.rank[share]));
  }

  /// Adds a product or a child's sum to a sum.
  void add_to(std::size_t sum) {
    if (--m_missing[sum] > 0) return;
    const auto& rows = m_owners.rows;
    const std::size_t I = rows.column[sum];
    if (!is_root(rows, sum)) return send(rows.rank[sum], I, Kind::sum_arrived, rows.parent(sum));
    add_job(rows.rank[sum], m_triangle.column_begin[I]);
    start_jobs(rank_of(rows.rank[sum]));
  }

  void forward(std::size_t share) {
    const auto& columns = m_owners.columns;
    columns.for_each_child(share, [&](std::size_t child) {
      send(columns.rank[share], columns.column[share], Kind::x_arrived, child);
    });
  }

  void send(int from, std::size_t K, Kind kind, std::size_t subject) {
    Rank& rank = rank_of(from);
    const auto& shares = kind == Kind::x_arrived ? m_owners.columns : m_owners.rows;
    const bool crosses = m_nodes.cross(from, shares.rank[subject]);
    const double bytes = m_bytes.of_vector(K),
                 seconds = bytes / (crosses ? m_nodes.bandwidth : m_costs.link_bandwidth);
    double latency = crosses ? m_nodes.latency_seconds : m_costs.latency_seconds;
    if (m_teams == 1) {  // inside a node, the ranks do half of a message's work each
      rank.host_free = std::max(m_now, rank.host_free) + m_costs.latency_seconds / 2;
      latency = crosses ? std::max(0.0, latency - m_costs.latency_seconds) : 0;
    }
    rank.link_free = std::max({m_now, rank.link_free, rank.host_free}) + seconds;
    m_result.message_seconds += seconds;
    m_result.message_bytes += bytes;
    ++m_result.messages;
    add_event(rank.link_free + latency, kind, subject);
  }

  const RunControl& m_run;
  const BlockTriangle& m_triangle;
  const DistributedCosts& m_costs;
  const NodeLinks& m_nodes;
  SweepBytes m_bytes;
  Impl::BlockOwners m_owners;
  std::vector<std::size_t> m_missing;  ///< [shares of rows] products and children's sums not yet added
  std::vector<Rank> m_ranks;
  std::vector<Message> m_messages;
  std::size_t m_teams;  ///< teams per rank
  std::priority_queue<Event, std::vector<Event>, std::greater<>> m_events;
  std::size_t m_event_count = 0;
  double m_now = 0;
  SimulatedTimes m_result;
};

}  // namespace

CriticalPathTimes predict_critical_path(const BlockTriangle& triangle, const ProcessGrid& grid,
                                        const DistributedCosts& costs, int n_rhs, const NodeLinks& nodes) {
  return CriticalPath(triangle, grid, costs, n_rhs, nodes).run();
}

SimulatedTimes simulate_solve(const BlockTriangle& triangle, const ProcessGrid& grid,
                              const DistributedCosts& costs, int n_rhs, const NodeLinks& nodes,
                              const RunControl& run) {
  return Simulation(triangle, grid, costs, n_rhs, nodes, run).run();
}

double exchange_seconds(std::int64_t rows, int ranks, const DistributedCosts& costs, int n_rhs) {
  const double rows_of_rank = static_cast<double>(rows) * n_rhs / ranks;
  if (ranks == 1) return rows_of_rank * costs.row_seconds;
  const double meeting = 2 * std::ceil(std::log2(ranks)) * costs.latency_seconds;
  const double vector =
      (ranks - 1) * costs.latency_seconds + rows_of_rank * value_bytes / costs.link_bandwidth;
  return 2 * meeting + 2 * vector + rows_of_rank * costs.row_seconds;
}

std::vector<GridTimes> compare_grids(const BlockTriangle& lower, int ranks, const DistributedCosts& costs,
                                     int n_rhs, std::size_t max_grids, const NodeLinks& nodes,
                                     const RunControl& run) {
  std::vector<ProcessGrid> grids = grids_of(ranks);
  if (grids.size() > max_grids) {
    std::vector<std::pair<double, std::size_t>> bounds;
    for (std::size_t g = 0; g < grids.size(); ++g) {
      run.poll();
      bounds.push_back({predict_critical_path(lower, grids[g], costs, n_rhs, nodes).level_seconds, g});
    }
    std::sort(bounds.begin(), bounds.end());
    std::vector<ProcessGrid> best;
    for (std::size_t k = 0; k < max_grids; ++k) best.push_back(grids[bounds[k].second]);
    grids = best;
  }
  const BlockTriangle upper = reversed_transpose(lower);
  std::vector<GridTimes> times;
  for (const ProcessGrid& grid : grids)
    times.push_back({grid, simulate_solve(lower, grid, costs, n_rhs, nodes, run),
                     simulate_solve(upper, grid, costs, n_rhs, nodes, run)});
  std::stable_sort(times.begin(), times.end(),
                   [](const GridTimes& a, const GridTimes& b) { return a.seconds() < b.seconds(); });
  return times;
}

std::vector<GridTimes> scale_grids(const BlockTriangle& lower, int ranks, const DistributedCosts& costs,
                                   int n_rhs, const NodeLinks& nodes, const RunControl& run) {
  // Grids simulated per number of ranks: the closed form ranks them, and a simulation of all takes long.
  constexpr std::size_t few = 2;
  std::vector<GridTimes> times;
  for (int count = 1; count < ranks; count *= 2)
    times.push_back(compare_grids(lower, count, costs, n_rhs, few, nodes, run).front());
  times.push_back(compare_grids(lower, ranks, costs, n_rhs, few, nodes, run).front());
  return times;
}

}  // namespace lutra
