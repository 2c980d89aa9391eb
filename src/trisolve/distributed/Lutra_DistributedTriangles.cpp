// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_DistributedTriangles.hpp"

#include <algorithm>
#include <string>
#include <unordered_map>

#include "Lutra_DistributedModel.hpp"
#include "Lutra_DistributedState.hpp"
#include "Lutra_Error.hpp"
#include "Lutra_Instantiate.hpp"
#include "Lutra_KernelSweeps.hpp"

namespace lutra {
namespace {

void check_backend(const DistributedOptions& options) {
  if (options.on_device && !options.deterministic)
    throw InputError("deterministic: on devices sums have one order, it cannot be false with on_device");
  if (options.backend != CommBackend::mpi && is_built(options.backend) && !options.on_device)
    throw InputError("communication backend '" + std::string(to_string(options.backend)) +
                     "' is for triangles that are solved on devices (on_device)");
}

void check_grid(const Communicator& comm, const ProcessGrid& grid) {
  if (grid.rows < 1 || grid.columns < 1 || grid.size() > comm.size())
    throw InputError("a grid of " + name_of(grid) + " is not one of " + std::to_string(comm.size()) +
                     " ranks");
}

void check_pattern(const DistributedPattern& pattern) {
  if (pattern.rows.size() != pattern.columns.size())
    throw InputError("rows: " + std::to_string(pattern.rows.size()) + " for " +
                     std::to_string(pattern.columns.size()) + " columns of entries");
  if (pattern.sweeps.empty()) throw InputError("sweeps: there is none");
  for (const auto& [name, indices] :
       {std::pair{"rows", pattern.rows}, std::pair{"columns", pattern.columns},
        std::pair{"rhs_rows", pattern.rhs_rows}, std::pair{"solution_rows", pattern.solution_rows}}) {
    for (std::size_t e = 0; e < indices.size(); ++e) {
      if (indices[e] < 0 || indices[e] >= pattern.n)
        throw InputError(std::string(name) + "[" + std::to_string(e) + "] = " + std::to_string(indices[e]) +
                         " is not in a matrix of " + std::to_string(pattern.n) + " rows");
    }
  }
}

// Blocks from the entries of all ranks; identical on all ranks.
std::vector<std::int64_t> partition(Communicator& comm, const DistributedPattern& pattern, int max_width) {
  std::vector<std::int64_t> link(static_cast<std::size_t>(pattern.n), -1);
  for (std::size_t e = 0; e < pattern.rows.size(); ++e) {
    const auto [low, high] = std::minmax(pattern.rows[e], pattern.columns[e]);
    auto& largest = link[static_cast<std::size_t>(high)];
    if (low != high) largest = std::max(largest, low);
  }
  constexpr int tag = 31001;
  std::vector<std::int64_t> begin;
  if (comm.rank() == 0) {
    for (int from = 1; from < comm.size(); ++from) {
      const auto other = comm.receive<std::int64_t>(from, tag);
      for (std::size_t i = 0; i < link.size(); ++i) link[i] = std::max(link[i], other[i]);
    }
    begin = Impl::partition_rows(link, max_width);
  } else {
    comm.send(0, tag, link);
  }
  comm.broadcast(begin);
  return begin;
}

std::vector<std::size_t> blocks_of_rows(const std::vector<std::int64_t>& begin) {
  std::vector<std::size_t> block(begin.empty() ? 0 : static_cast<std::size_t>(begin.back()));
  for (std::size_t k = 0; k + 1 < begin.size(); ++k)
    std::fill(block.begin() + begin[k], block.begin() + begin[k + 1], k);
  return block;
}

bool belongs(const TriangleSweep& sweep, std::int64_t row, std::int64_t column) {
  if (row == column) return sweep.diagonal == DiagonalKind::stored;
  return (row > column) == (sweep.side == TriangleSide::lower);
}

/// Entries of one block on one rank.
struct BlockCount {
  std::int64_t row, column;  ///< in the order of the solve
  double entries;
  bool operator<(const BlockCount& other) const {
    return column != other.column ? column < other.column : row < other.row;
  }
};

std::vector<BlockCount> count_blocks(const DistributedPattern& pattern, const TriangleSweep& sweep,
                                     const std::vector<std::size_t>& block_of, std::size_t n_blocks) {
  const auto step_of = [&](std::int64_t row) {
    const std::size_t block = block_of[static_cast<std::size_t>(row)];
    return static_cast<std::int64_t>(sweep.side == TriangleSide::lower ? block : n_blocks - 1 - block);
  };
  std::unordered_map<std::int64_t, double> counts;
  for (std::size_t e = 0; e < pattern.rows.size(); ++e)
    if (belongs(sweep, pattern.rows[e], pattern.columns[e]))
      counts[step_of(pattern.columns[e]) * static_cast<std::int64_t>(n_blocks) + step_of(pattern.rows[e])] +=
          1;
  std::vector<BlockCount> blocks;
  for (const auto& [at, entries] : counts)
    blocks.push_back(
        {at % static_cast<std::int64_t>(n_blocks), at / static_cast<std::int64_t>(n_blocks), entries});
  return blocks;
}

/// Collective. Blocks of a sweep from the entries of all ranks; the result is on rank 0.
BlockTriangle gather_blocks(Communicator& comm, const DistributedPattern& pattern, const TriangleSweep& sweep,
                            const std::vector<std::int64_t>& begin,
                            const std::vector<std::size_t>& block_of) {
  const std::size_t n = begin.empty() ? 0 : begin.size() - 1;
  std::vector<BlockCount> all;
  for (const auto& part : comm.gather(count_blocks(pattern, sweep, block_of, n)))
    all.insert(all.end(), part.begin(), part.end());
  std::sort(all.begin(), all.end());
  BlockTriangle triangle;
  triangle.reversed = sweep.side == TriangleSide::upper;
  if (comm.rank() != 0) return triangle;
  const auto add = [&](std::size_t I, double entries) {
    const bool stands = triangle.row.size() > triangle.column_begin.back() && triangle.row.back() == I;
    if (!stands) {
      triangle.row.push_back(I);
      triangle.entries.push_back(0);
    }
    triangle.entries.back() += entries;
  };
  auto next = all.begin();
  for (std::size_t K = 0; K < n; ++K) {
    const std::size_t block = triangle.reversed ? n - 1 - K : K;
    triangle.width.push_back(static_cast<std::size_t>(begin[block + 1] - begin[block]));
    triangle.column_begin.push_back(triangle.row.size());
    add(K, 0);
    for (; next != all.end() && next->column == static_cast<std::int64_t>(K); ++next)
      add(static_cast<std::size_t>(next->row), next->entries);
  }
  triangle.column_begin.push_back(triangle.row.size());
  return triangle;
}

std::vector<GridPrediction> predict(Communicator& comm, const DistributedPattern& pattern,
                                    const DistributedCosts& costs, const std::vector<std::int64_t>& begin,
                                    const std::vector<ProcessGrid>& grids) {
  const std::vector<std::size_t> block_of = blocks_of_rows(begin);
  std::vector<BlockTriangle> triangles;
  for (const TriangleSweep& sweep : pattern.sweeps)
    triangles.push_back(gather_blocks(comm, pattern, sweep, begin, block_of));
  std::vector<GridPrediction> predictions;
  comm.agree("prediction of solves on grids", [&] {
    if (comm.rank() != 0) return;
    for (const ProcessGrid& grid : grids) {
      GridPrediction prediction{grid, exchange_seconds(pattern.n, comm.size(), costs)};
      for (const BlockTriangle& triangle : triangles)
        prediction.seconds += simulate_solve(triangle, grid, costs).seconds;
      predictions.push_back(prediction);
    }
  });
  comm.broadcast(predictions);
  return predictions;
}

/// Grids of 1, 2, 4, … and all ranks: P × 1, 1 × P, and the most nearly square one.
std::vector<ProcessGrid> candidates(int ranks) {
  std::vector<ProcessGrid> all;
  for (int count = 1;; count = std::min(2 * count, ranks)) {
    const auto grids = grids_of(count);
    for (std::size_t g = 0; g < grids.size(); ++g)
      if (g == 0 || g + 1 == grids.size() || g == (grids.size() - 1) / 2) all.push_back(grids[g]);
    if (count == ranks) return all;
  }
}

}  // namespace

std::vector<GridPrediction> predict_grids(Communicator& comm, const DistributedPattern& pattern,
                                          const DistributedOptions& options,
                                          const std::vector<ProcessGrid>& grids) {
  const Communicator::Work work(comm);
  comm.agree("prediction of solves on grids", [&] {
    check_pattern(pattern);
    for (const ProcessGrid& grid : grids) check_grid(comm, grid);
  });
  return predict(comm, pattern, options.costs, partition(comm, pattern, std::max(options.max_width, 1)),
                 grids);
}

template <class Scalar>
void DistributedTriangles<Scalar>::State::analyze(const DistributedPattern& pattern) {
  const Communicator::Work work(comm);  // sorting entries may take long
  const bool is_given = options.grid.size() > 0;
  comm.agree("analysis of a distributed triangle", [&] {
    if (is_given || options.grid.rows < 0) check_grid(comm, options.grid);
    check_backend(options);
    check_pattern(pattern);
  });
  rhs_count = pattern.rhs_rows.size();
  solution_count = pattern.solution_rows.size();
  block_begin = partition(comm, pattern, std::max(options.max_width, 1));
  const auto& begin = block_begin;
  if (!is_given && comm.size() == 1) options.grid = {1, 1};
  if (comm.size() > 1) {
    predictions = predict(comm, pattern, options.costs, begin,
                          is_given ? std::vector{options.grid} : candidates(comm.size()));
    std::stable_sort(predictions.begin(), predictions.end(),
                     [](const auto& one, const auto& other) { return one.seconds < other.seconds; });
    options.grid = predictions.front().grid;
  }
  const ProcessGrid& grid = options.grid;
  const auto P = static_cast<std::size_t>(comm.size());
  const std::vector<std::size_t> block_of = blocks_of_rows(begin);

  Impl::SlotCounter slots;
  sweeps.resize(pattern.sweeps.size());
  for (std::size_t s = 0; s < sweeps.size(); ++s) {
    Impl::Sweep<Scalar>& sweep = sweeps[s];
    std::vector<std::vector<Impl::Position>> to(P);
    sweep.entries.sources.resize(P);
    for (std::size_t e = 0; e < pattern.rows.size(); ++e) {
      const std::int64_t row = pattern.rows[e], column = pattern.columns[e];
      if (!belongs(pattern.sweeps[s], row, column)) continue;
      const auto owner = static_cast<std::size_t>(
          grid.rank_of(block_of[static_cast<std::size_t>(row)], block_of[static_cast<std::size_t>(column)]));
      to[owner].push_back({row, column});
      sweep.entries.sources[owner].push_back(e);
    }
    const auto from = comm.all_to_all(to);
    std::vector<Impl::Position> entries;
    for (const auto& part : from) entries.insert(entries.end(), part.begin(), part.end());
    std::vector<std::size_t> order;
    sweep.plan = Impl::plan_sweep(comm, grid, begin, pattern.sweeps[s].side, pattern.sweeps[s].diagonal,
                                  entries, order);
    auto next = order.begin();
    for (const auto& part : from) {
      const auto end = next + static_cast<std::ptrdiff_t>(part.size());
      sweep.entries.targets.emplace_back(next, end);
      next = end;
    }
    Impl::plan_messages(comm, grid, begin.size() - 1, s, sweep.plan, slots);
    statistics.entries += static_cast<std::int64_t>(sweep.plan.count_entries());
    statistics.blocks += static_cast<std::int64_t>(sweep.plan.blocks.size());
  }
  link_sweeps();
  plan_vectors(pattern, begin);
  events = std::move(slots.events);
  const auto columns = static_cast<std::size_t>(std::max(options.max_columns, 1));
  comm.agree("allocation of a distributed triangle", [&] {
    if (options.on_device)
      kernels = std::make_shared<Impl::KernelSweeps<Scalar>>(sweeps, events, b_offset, b.size() / columns,
                                                             slots.rows, columns);
    for (Impl::Sweep<Scalar>& sweep : sweeps) {
      sweep.values.resize(sweep.plan.count_entries());
      sweep.sums.resize(sweep.plan.sum_rows * columns);
      sweep.row_states.resize(sweep.plan.rows.size());
      sweep.has_x.resize(sweep.plan.columns.size());
    }
  });
  memory.emplace(comm, slots.rows * columns * sizeof(Scalar), kernels ? kernels->signals() : events.size(),
                 options.backend);
}

// A diagonal block is on the same rank in all sweeps.
template <class Scalar>
void DistributedTriangles<Scalar>::State::link_sweeps() {
  constexpr auto none = static_cast<std::size_t>(-1);
  for (Impl::Sweep<Scalar>& sweep : sweeps) {
    sweep.column_before.assign(sweep.plan.rows.size(), none);
    sweep.row_after.assign(sweep.plan.rows.size(), none);
  }
  for (std::size_t s = 0; s + 1 < sweeps.size(); ++s) {
    const SweepPlan &plan = sweeps[s].plan, &next = sweeps[s + 1].plan;
    std::vector<std::size_t> here, there;  // rows with diagonal blocks
    for (std::size_t r = 0; r < plan.rows.size(); ++r)
      if (plan.rows[r].diagonal) here.push_back(r);
    for (std::size_t r = 0; r < next.rows.size(); ++r)
      if (next.rows[r].diagonal) there.push_back(r);
    if (plan.side != next.side) std::reverse(there.begin(), there.end());
    for (std::size_t d = 0; d < here.size(); ++d) {
      sweeps[s].row_after[here[d]] = there[d];
      sweeps[s + 1].column_before[there[d]] = plan.rows[here[d]].column;
    }
  }
}

// Plans the exchange of b and x of each row with the owner of its diagonal block, which all ranks know.
template <class Scalar>
void DistributedTriangles<Scalar>::State::plan_vectors(const DistributedPattern& pattern,
                                                       const std::vector<std::int64_t>& begin) {
  const auto P = static_cast<std::size_t>(comm.size());
  const auto find = [](const auto& items, std::size_t step) {
    return std::lower_bound(items.begin(), items.end(), step,
                            [](const auto& item, std::size_t value) { return item.block < value; });
  };
  const SweepPlan &first = sweeps.front().plan, &last = sweeps.back().plan;
  std::size_t rows = 0;
  for (const SweepPlan::Row& row : first.rows) {
    b_offset.push_back(rows);
    if (row.diagonal) rows += row.width;
  }
  statistics.rows = static_cast<std::int64_t>(rows);
  const std::size_t n_blocks = begin.size() - 1;
  comm.agree("allocation of right-hand sides",
             [&] { b.resize(rows * static_cast<std::size_t>(std::max(options.max_columns, 1))); });
  for (const bool is_solution : {false, true}) {
    Impl::Exchange& exchange = is_solution ? solution : rhs;
    const auto elements = is_solution ? pattern.solution_rows : pattern.rhs_rows;
    const SweepPlan& plan = is_solution ? last : first;
    exchange.sources.resize(P);
    exchange.targets.resize(P);
    std::vector<std::vector<std::int64_t>> keys(P);
    const auto block_of = [&](std::int64_t row) {
      return static_cast<std::size_t>(std::upper_bound(begin.begin(), begin.end(), row) - begin.begin()) - 1;
    };
    for (std::size_t e = 0; e < elements.size(); ++e) {
      const std::size_t block = block_of(elements[e]);
      const auto owner = static_cast<std::size_t>(options.grid.rank_of(block, block));
      exchange.sources[owner].push_back(e);
      keys[owner].push_back(elements[e]);
    }
    const auto asked = comm.all_to_all(keys);
    std::vector<char> seen(rows, 0);
    comm.agree(
        "distribution of right-hand sides and solutions",
        [&] {
          const char* const name = is_solution ? "solution_rows" : "rhs_rows";
          std::size_t count = 0;
          for (std::size_t from = 0; from < P; ++from) {
            for (const std::int64_t key : asked[from]) {
              const std::size_t block = block_of(key);
              const std::size_t step = plan.side == TriangleSide::lower ? block : n_blocks - 1 - block;
              const auto row = static_cast<std::size_t>(find(plan.rows, step) - plan.rows.begin());
              const auto within = static_cast<std::size_t>(key - begin[block]);
              // Rows of b follow the rows of the first sweep, which has the same diagonal blocks.
              const std::size_t first_step = first.side == TriangleSide::lower ? block : n_blocks - 1 - block;
              const auto first_row =
                  static_cast<std::size_t>(find(first.rows, first_step) - first.rows.begin());
              char& once = seen[b_offset[first_row] + within];
              if (once != 0)
                throw InputError(std::string(name) + ": row " + std::to_string(key) + " stands twice");
              once = 1;
              ++count;
              exchange.targets[from].push_back(is_solution
                                                   ? plan.columns[plan.rows[row].column].x.offset + within
                                                   : b_offset[row] + within);
            }
          }
          if (count < rows) throw InputError(std::string(name) + ": a row of the matrix is on no rank");
        },
        false);
  }
}

template <class Scalar>
void DistributedTriangles<Scalar>::State::solve_group(const Scalar* B, Scalar* X) {
  const double start = Impl::seconds_now();
  begin_solve();
  rhs.template forward<Scalar>(
      comm, k, [&](std::size_t i, std::size_t c) { return B[i + c * rhs_count]; },
      [&](std::size_t i, std::size_t c, const Scalar& value) { b[i * k + c] = value; });
  const Scalar* found = nullptr;  // in slot order
  if (kernels) {
    found = kernels->solve(comm, *memory, b, k, epoch, statistics);
  } else {
    work_on_host();
    found = slot(0);
  }
  solution.template backward<Scalar>(
      comm, k, [&](std::size_t i, std::size_t c) { return found[i * k + c]; },
      [&](std::size_t i, std::size_t c, const Scalar& value) { X[i + c * solution_count] = value; });
  comm.barrier();  // slots are free again
  statistics.solve_seconds += Impl::seconds_now() - start;
}

// Receives messages and processes ready rows until nothing remains.
template <class Scalar>
void DistributedTriangles<Scalar>::State::work_on_host() {
  for (std::size_t r = 0; r < sweeps.front().plan.rows.size(); ++r)
    if (sweeps.front().plan.rows[r].diagonal) arrive(0, r, b_bit);
  while (remaining > 0) {
    bool came = false;
    while (const auto arrival = memory->next_arrival()) {
      take(*arrival);
      came = true;
    }
    if (!ready.empty()) {
      const Task task = ready.top();
      ready.pop();
      multiply(task.first, task.second);
    } else if (!came && remaining > 0) {
      const double before = Impl::seconds_now();
      comm.wait_until("x or a partial sum of a triangular solve", [&] {
        const auto arrival = memory->next_arrival();
        if (arrival) take(*arrival);
        return arrival.has_value();
      });
      statistics.wait_seconds += Impl::seconds_now() - before;
    }
  }
}

template <class Scalar>
void DistributedTriangles<Scalar>::State::begin_solve() {
  ++epoch;
  remaining = 0;
  for (Impl::Sweep<Scalar>& sweep : sweeps) {
    std::fill_n(sweep.sums.begin(), sweep.plan.sum_rows * k, Scalar(0));
    std::fill(sweep.has_x.begin(), sweep.has_x.end(), 0);
    for (std::size_t r = 0; r < sweep.plan.rows.size(); ++r) {
      const SweepPlan::Row& row = sweep.plan.rows[r];
      const std::size_t blocks = row.end_block - row.first_block;
      sweep.row_states[r] = {0, blocks + row.children.size() + (row.diagonal ? 1 : 0), 0};
    }
    remaining += sweep.plan.rows.size() + sweep.plan.columns.size();
    statistics.flops += 2.0 * static_cast<double>(sweep.plan.count_entries() * k);
  }
}

template <class Scalar>
void DistributedTriangles<Scalar>::State::put(const Impl::Slot& to, const Scalar* values, std::size_t width) {
  const std::span<const Scalar> data(values, width * k);
  memory->put(to.rank, to.offset * k * sizeof(Scalar), data, to.signal, epoch);
  ++statistics.messages;
  statistics.message_bytes += static_cast<std::int64_t>(data.size_bytes());
}

template <class Scalar>
void DistributedTriangles<Scalar>::State::take(const Arrival& arrival) {
  const Impl::SlotEvent& event = events[arrival.signal];
  if (event.is_sum)
    arrive(event.sweep, event.index, static_cast<unsigned char>(1U << event.child));
  else
    publish(event.sweep, event.index);
}

// Records the arrival of a child's sum or of b of a row.
template <class Scalar>
void DistributedTriangles<Scalar>::State::arrive(std::size_t s, std::size_t r, unsigned char bit) {
  Impl::Sweep<Scalar>& sweep = sweeps[s];
  sweep.row_states[r].arrived |= bit;
  if (options.deterministic) {
    advance(s, r);
    return;
  }
  const SweepPlan::Row& row = sweep.plan.rows[r];
  if (bit != b_bit) add_child(sweep, row, bit == 1 ? 0 : 1);
  if (--sweep.row_states[r].missing == 0) complete(s, r);
}

template <class Scalar>
void DistributedTriangles<Scalar>::State::add_child(Impl::Sweep<Scalar>& sweep, const SweepPlan::Row& row,
                                                    std::size_t child) {
  const Scalar* const from = slot(row.children[child].offset);
  Scalar* const sum = sweep.sums.data() + row.sum_offset * k;
  for (std::size_t i = 0; i < row.width * k; ++i) sum[i] += from[i];
}

// Adds the contributions that are due and have arrived, in order; b is the last one.
template <class Scalar>
void DistributedTriangles<Scalar>::State::advance(std::size_t s, std::size_t r) {
  Impl::Sweep<Scalar>& sweep = sweeps[s];
  const SweepPlan& plan = sweep.plan;
  const SweepPlan::Row& row = plan.rows[r];
  auto& state = sweep.row_states[r];
  const std::size_t blocks = row.end_block - row.first_block;
  while (state.missing > 0) {
    if (state.next < blocks) {
      const SweepPlan::Block& block = plan.blocks[row.first_block + state.next];
      if (sweep.has_x[block.column] == 0) return;
      subtract_block(plan, block, sweep.values.data(), slot(plan.columns[block.column].x.offset), k,
                     sweep.sums.data() + row.sum_offset * k);
    } else if (state.next < blocks + row.children.size()) {
      const std::size_t child = state.next - blocks;
      if ((state.arrived & (1U << child)) == 0) return;
      add_child(sweep, row, child);
    } else if ((state.arrived & b_bit) == 0) {
      return;
    }
    ++state.next;
    if (--state.missing == 0) complete(s, r);
  }
}

// All contributions to a row are summed: computes x of the row, or sends the sum to the parent.
template <class Scalar>
void DistributedTriangles<Scalar>::State::complete(std::size_t s, std::size_t r) {
  Impl::Sweep<Scalar>& sweep = sweeps[s];
  const SweepPlan::Row& row = sweep.plan.rows[r];
  const Scalar* const sum = sweep.sums.data() + row.sum_offset * k;
  --remaining;
  if (!row.diagonal) {
    put(row.parent, sum, row.width);
    return;
  }
  Scalar* const x = slot(sweep.plan.columns[row.column].x.offset);
  if (s == 0) {
    const Scalar* const from = b.data() + b_offset[r] * k;
    for (std::size_t i = 0; i < row.width * k; ++i) x[i] = from[i] + sum[i];
  } else {  // b of this sweep is x of the one before, of the same block
    const Scalar* const from = slot(sweeps[s - 1].plan.columns[sweep.column_before[r]].x.offset);
    for (std::size_t i = 0; i < row.width * k; ++i) x[i] = from[i] + sum[i];
  }
  solve_diagonal(sweep.plan, sweep.plan.blocks[row.diagonal_block], sweep.values.data(), k, x);
  if (s + 1 < sweeps.size()) arrive(s + 1, sweep.row_after[r], b_bit);
  publish(s, row.column);
}

// Publishes x of a column, which is in its slot.
template <class Scalar>
void DistributedTriangles<Scalar>::State::publish(std::size_t s, std::size_t c) {
  const SweepPlan::Column& column = sweeps[s].plan.columns[c];
  for (const Impl::Slot& child : column.children) put(child, slot(column.x.offset), column.width);
  sweeps[s].has_x[c] = 1;
  ready.push({s, c});
}

// Multiplies the blocks of a column; in deterministic mode those that are due, and then those that waited for
// them.
template <class Scalar>
void DistributedTriangles<Scalar>::State::multiply(std::size_t s, std::size_t c) {
  Impl::Sweep<Scalar>& sweep = sweeps[s];
  for (const std::size_t at : sweep.plan.columns[c].blocks) {
    const SweepPlan::Block& block = sweep.plan.blocks[at];
    const SweepPlan::Row& row = sweep.plan.rows[block.row];
    if (options.deterministic) {
      if (sweep.row_states[block.row].next == at - row.first_block) advance(s, block.row);
      continue;
    }
    subtract_block(sweep.plan, block, sweep.values.data(), slot(sweep.plan.columns[c].x.offset), k,
                   sweep.sums.data() + row.sum_offset * k);
    if (--sweep.row_states[block.row].missing == 0) complete(s, block.row);
  }
  --remaining;
}

template <class Scalar>
DistributedTriangles<Scalar>::DistributedTriangles(Communicator& comm, const DistributedPattern& pattern,
                                                   const DistributedOptions& options)
    : m_state(std::make_unique<State>(comm, options)) {
  m_state->analyze(pattern);
}

template <class Scalar>
DistributedTriangles<Scalar>::~DistributedTriangles() = default;

template <class Scalar>
void DistributedTriangles<Scalar>::close() {
  m_state->memory->close();
  m_state.reset();
}

template <class Scalar>
void DistributedTriangles<Scalar>::set_values(std::span<const Scalar> values) {
  State& state = *m_state;
  state.comm.agree("values of a distributed triangle", [&] {
    for (const auto& sweep : state.sweeps)
      for (const auto& sources : sweep.entries.sources)
        for (const std::size_t e : sources)
          if (e >= values.size())
            throw InputError("values: " + std::to_string(values.size()) + " for entry " + std::to_string(e));
  });
  const Communicator::Work work(state.comm);
  for (auto& sweep : state.sweeps)
    sweep.entries.template forward<Scalar>(
        state.comm, 1, [&](std::size_t e, std::size_t) { return values[e]; },
        [&](std::size_t e, std::size_t, const Scalar& value) { sweep.values[e] = value; });
  if (state.kernels) state.kernels->set_values(state.sweeps);
  state.has_values = true;
}

template <class Scalar>
void DistributedTriangles<Scalar>::solve(std::span<const Scalar> B, std::span<Scalar> X, std::size_t k) {
  State& state = *m_state;
  state.comm.agree("right-hand sides of a distributed triangle", [&] {
    if (!state.has_values) throw CallOrderError("solve: there are no values; call set_values first");
    if (B.size() != state.rhs_count * k)
      throw InputError("B: " + std::to_string(B.size()) + " values, not " +
                       std::to_string(state.rhs_count * k));
    if (X.size() != state.solution_count * k)
      throw InputError("X: " + std::to_string(X.size()) + " values, not " +
                       std::to_string(state.solution_count * k));
  });
  const auto max_columns = static_cast<std::size_t>(std::max(state.options.max_columns, 1));
  for (std::size_t first = 0; first < k; first += max_columns) {
    state.k = std::min(max_columns, k - first);
    state.solve_group(B.data() + first * state.rhs_count, X.data() + first * state.solution_count);
  }
}

template <class Scalar>
const ProcessGrid& DistributedTriangles<Scalar>::grid() const noexcept {
  return m_state->options.grid;
}

template <class Scalar>
const std::vector<GridPrediction>& DistributedTriangles<Scalar>::predictions() const noexcept {
  return m_state->predictions;
}

template <class Scalar>
DistributedEntries<Scalar> DistributedTriangles<Scalar>::entries() const {
  return m_state->entries();
}

template <class Scalar>
DistributedEntries<Scalar> DistributedTriangles<Scalar>::State::entries() const {
  DistributedEntries<Scalar> result;
  for (const Impl::Sweep<Scalar>& sweep : sweeps) {
    const SweepPlan& plan = sweep.plan;
    const auto first_row = [&](std::size_t step) {
      return block_begin[plan.side == TriangleSide::lower ? step : block_begin.size() - 2 - step];
    };
    for (const SweepPlan::Block& block : plan.blocks) {
      for (std::size_t r = block.first_row; r < block.end_row; ++r) {
        const std::int64_t row = first_row(plan.rows[block.row].block) + plan.row_in_block[r];
        for (std::size_t e = plan.row_begin[r]; e < plan.row_begin[r + 1]; ++e) {
          result.rows.push_back(row);
          result.columns.push_back(first_row(plan.columns[block.column].block) + plan.column_in_block[e]);
          result.values.push_back(sweep.values[e]);
        }
      }
    }
  }
  return result;
}

template <class Scalar>
RankStatistics DistributedTriangles<Scalar>::statistics() const {
  return m_state->statistics;
}

#define LUTRA_INSTANTIATE(Scalar) template class DistributedTriangles<Scalar>;
LUTRA_FOR_EACH_SCALAR(LUTRA_INSTANTIATE)
#undef LUTRA_INSTANTIATE

}  // namespace lutra
