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
constexpr int columns_together = 16;  // right-hand sides for which the triangle is read once

/// What a sweep moves: bytes of blocks, and of messages.
struct SweepBytes {
  const BlockTriangle& triangle;
  int n_rhs;

  double of_block(std::size_t b) const {
    return triangle.entries[b] * value_bytes * ((n_rhs + columns_together - 1) / columns_together);
  }
  double of_vector(std::size_t K) const {
    return static_cast<double>(triangle.width[K]) * value_bytes * n_rhs;
  }
  /// Of the blocks of a share, the diagonal block among them or not, and of x(K).
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

std::size_t teams_of(const DistributedCosts& costs) {
  return static_cast<std::size_t>(std::max(1.0, costs.bandwidth / costs.min_block_bandwidth));
}

/// The tasks of one device in one level, and its messages there.
struct Cell {
  int rank = 0;
  std::int64_t level = 0;
  double tasks = 0, bytes = 0;
  double path_seconds = 0;  ///< of the longest path inside the device
  double latency = 0, message_seconds = 0;

  double compute_seconds(const DistributedCosts& costs) const {
    const auto teams = static_cast<double>(teams_of(costs));
    return std::max(tasks * costs.dependency_seconds / teams + bytes / costs.bandwidth, path_seconds);
  }
};

/// The closed form, step by step.
class CriticalPath {
 public:
  CriticalPath(const BlockTriangle& triangle, const ProcessGrid& grid, const DistributedCosts& costs,
               int n_rhs)
      : m_triangle(triangle),
        m_costs(costs),
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
    const auto& [columns, rows, sum_of, column_of] = m_owners;
    std::vector<std::int64_t> sum_level(rows.size(), -1);  // of the last product added; -1: none
    for (std::size_t K = 0; K < m_triangle.size(); ++K) {
      std::int64_t level = std::max<std::int64_t>(0, sum_level[rows.begin[K]]);
      for (std::size_t g = rows.begin[K] + 1; g < rows.begin[K + 1]; ++g)
        level = std::max(level, sum_level[g] + 1);
      for (std::size_t s = columns.begin[K]; s < columns.begin[K + 1]; ++s) {
        m_level[s] = s == columns.begin[K] ? level : level + 1;
        for_each_product(
            s, [&](std::size_t b) { sum_level[sum_of[b]] = std::max(sum_level[sum_of[b]], m_level[s]); });
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
      m_cells.back().bytes += m_bytes.of_products(columns, s, true);
    }
  }

  void find_paths() {
    const auto& [columns, rows, sum_of, column_of] = m_owners;
    std::vector<double> path(rows.size(), 0);           // of the longest path to the products of a sum …
    std::vector<std::int64_t> path_level(rows.size());  // … in the last of their levels
    for (std::size_t s = 0; s < columns.size(); ++s) {
      const std::size_t K = columns.column[s], own = rows.begin[K];
      Cell& cell = m_cells[m_cell_of[s]];
      double seconds = m_costs.dependency_seconds +
                       m_bytes.of_products(columns, s, true) / team_bandwidth(m_costs, cell.tasks);
      if (s == columns.begin[K] && path_level[own] == m_level[s]) seconds += path[own];
      cell.path_seconds = std::max(cell.path_seconds, seconds);
      for_each_product(s, [&](std::size_t b) {
        const std::size_t g = sum_of[b];
        path[g] = path_level[g] == m_level[s] ? std::max(path[g], seconds) : seconds;
        path_level[g] = m_level[s];
      });
    }
  }

  /// Broadcasts count where x(K) is computed, reductions where their sum is needed.
  void add_messages() {
    for (std::size_t K = 0; K < m_triangle.size(); ++K) {
      Cell& cell = m_cells[m_cell_of[m_owners.columns.begin[K]]];
      for (const std::size_t shares : {m_owners.columns.shares_of(K), m_owners.rows.shares_of(K)}) {
        if (shares < 2) continue;
        const auto fan = static_cast<double>(shares - 1);
        cell.latency = m_costs.latency_seconds;
        cell.message_seconds +=
            (fan > 2 ? std::log2(fan) : fan) * m_bytes.of_vector(K) / m_costs.link_bandwidth;
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
  SweepBytes m_bytes;
  Impl::BlockOwners m_owners;
  std::vector<std::int64_t> m_level;   ///< [tasks] a task is a share of a column
  std::vector<std::size_t> m_cell_of;  ///< [tasks]
  std::vector<Cell> m_cells;
  int m_ranks;
};

/// The sweep event by event.
///
///     x(K) arrives ──► task (K, r) is ready ──► runs ──► products are added to sums of r
///        │ forwarded down the tree                            │ the last one
///        ▼                                                    ▼
///     children                        the sum goes up the tree; at its root: task (I, owner) is ready
class Simulation {
 public:
  Simulation(const BlockTriangle& triangle, const ProcessGrid& grid, const DistributedCosts& costs, int n_rhs)
      : m_triangle(triangle),
        m_costs(costs),
        m_bytes{triangle, n_rhs},
        m_owners(Impl::find_owners(triangle, grid)),
        m_teams(teams_of(costs)),
        m_missing(m_owners.rows.size()),
        m_ranks(static_cast<std::size_t>(grid.size())) {}

  SimulatedTimes run() {
    const auto& rows = m_owners.rows;
    for (std::size_t g = 0; g < rows.size(); ++g) {
      m_missing[g] = rows.blocks_in(g) - (is_root(rows, g) ? 1 : 0);  // without the diagonal block
      rows.for_each_child(g, [&](std::size_t) { ++m_missing[g]; });
    }
    for (std::size_t K = 0; K < m_triangle.size(); ++K) {
      if (m_missing[rows.begin[K]] == 0) make_ready(m_owners.columns.begin[K]);
    }
    while (!m_events.empty()) {
      const Event event = m_events.top();
      m_events.pop();
      m_now = event.seconds;
      handle(event);
    }
    m_result.seconds = m_now + m_costs.start_seconds;
    return m_result;
  }

 private:
  enum class Kind { solved, finished, x_arrived, sum_arrived };
  struct Event {
    double seconds;
    std::size_t number;  ///< events at the same time are handled in the order they were made
    Kind kind;
    std::size_t subject;  ///< a task, or a share of a row for sums
    bool operator>(const Event& other) const {
      return std::tuple(seconds, number) > std::tuple(other.seconds, other.number);
    }
  };
  struct Rank {
    std::priority_queue<std::size_t, std::vector<std::size_t>, std::greater<>> ready;  ///< tasks
    std::size_t busy = 0;                                                              ///< teams
    double link_free = 0;  ///< from when on the next message can leave
  };

  static bool is_root(const Impl::OwnerShares& shares, std::size_t s) {
    return s == shares.begin[shares.column[s]];
  }
  Rank& rank_of(int r) { return m_ranks[static_cast<std::size_t>(r)]; }
  void add_event(double seconds, Kind kind, std::size_t subject) {
    m_events.push({seconds, m_event_count++, kind, subject});
  }

  void handle(const Event& event) {
    switch (event.kind) {
      case Kind::solved:
        return forward(event.subject);
      case Kind::finished:
        return finish(event.subject);
      case Kind::x_arrived:
        forward(event.subject);
        return make_ready(event.subject);
      case Kind::sum_arrived:
        return add_to(event.subject);
    }
  }

  void make_ready(std::size_t task) {
    const int r = m_owners.columns.rank[task];
    rank_of(r).ready.push(task);
    start_tasks(rank_of(r));
  }

  void start_tasks(Rank& rank) {
    const auto& columns = m_owners.columns;
    while (rank.busy < m_teams && !rank.ready.empty()) {
      const std::size_t task = rank.ready.top(), K = columns.column[task];
      rank.ready.pop();
      ++rank.busy;
      ++m_result.tasks;
      const double bandwidth = team_bandwidth(m_costs, static_cast<double>(rank.busy));
      double solved = m_now + m_costs.dependency_seconds;
      if (is_root(columns, task)) {
        solved += m_bytes.of_block(m_triangle.column_begin[K]) / bandwidth;
        add_event(solved, Kind::solved, task);
      }
      const double finished = solved + m_bytes.of_products(columns, task, false) / bandwidth;
      add_event(finished, Kind::finished, task);
      m_result.busy_seconds += finished - m_now;
    }
  }

  void finish(std::size_t task) {
    const auto& columns = m_owners.columns;
    Rank& rank = rank_of(columns.rank[task]);
    --rank.busy;
    for (std::size_t e = columns.block_begin[task]; e < columns.block_begin[task + 1]; ++e) {
      const std::size_t b = columns.block[e];
      if (m_triangle.row[b] != columns.column[task]) add_to(m_owners.sum_of[b]);
    }
    start_tasks(rank);
  }

  /// A product or a child's sum has been added to a sum.
  void add_to(std::size_t sum) {
    if (--m_missing[sum] > 0) return;
    const auto& rows = m_owners.rows;
    const std::size_t I = rows.column[sum];
    if (is_root(rows, sum)) return make_ready(m_owners.columns.begin[I]);
    send(rows.rank[sum], I, Kind::sum_arrived, rows.parent(sum));
  }

  void forward(std::size_t task) {
    const auto& columns = m_owners.columns;
    columns.for_each_child(task, [&](std::size_t child) {
      send(columns.rank[task], columns.column[task], Kind::x_arrived, child);
    });
  }

  void send(int from, std::size_t K, Kind kind, std::size_t subject) {
    Rank& rank = rank_of(from);
    const double bytes = m_bytes.of_vector(K), seconds = bytes / m_costs.link_bandwidth;
    rank.link_free = std::max(m_now, rank.link_free) + seconds;
    m_result.message_seconds += seconds;
    m_result.message_bytes += bytes;
    ++m_result.messages;
    add_event(rank.link_free + m_costs.latency_seconds, kind, subject);
  }

  const BlockTriangle& m_triangle;
  const DistributedCosts& m_costs;
  SweepBytes m_bytes;
  Impl::BlockOwners m_owners;
  std::size_t m_teams;
  std::vector<std::size_t> m_missing;  ///< [shares of rows] products and children's sums still to be added
  std::vector<Rank> m_ranks;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> m_events;
  std::size_t m_event_count = 0;
  double m_now = 0;
  SimulatedTimes m_result;
};

}  // namespace

CriticalPathTimes predict_critical_path(const BlockTriangle& triangle, const ProcessGrid& grid,
                                        const DistributedCosts& costs, int n_rhs) {
  return CriticalPath(triangle, grid, costs, n_rhs).run();
}

SimulatedTimes simulate_solve(const BlockTriangle& triangle, const ProcessGrid& grid,
                              const DistributedCosts& costs, int n_rhs) {
  return Simulation(triangle, grid, costs, n_rhs).run();
}

std::vector<GridTimes> compare_grids(const BlockTriangle& lower, int ranks, const DistributedCosts& costs,
                                     int n_rhs) {
  const BlockTriangle upper = reversed_transpose(lower);
  std::vector<GridTimes> times;
  for (const ProcessGrid& grid : grids_of(ranks))
    times.push_back(
        {grid, simulate_solve(lower, grid, costs, n_rhs), simulate_solve(upper, grid, costs, n_rhs)});
  std::stable_sort(times.begin(), times.end(),
                   [](const GridTimes& a, const GridTimes& b) { return a.seconds() < b.seconds(); });
  return times;
}

}  // namespace lutra
