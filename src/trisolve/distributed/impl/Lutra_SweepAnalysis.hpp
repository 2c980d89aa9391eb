// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_SWEEPANALYSIS_HPP
#define LUTRA_SWEEPANALYSIS_HPP

#include <algorithm>
#include <string>

#include "Lutra_DistributedState.hpp"
#include "Lutra_Error.hpp"
#include "Lutra_GridChoice.hpp"
#include "Lutra_KernelSweeps.hpp"

// Analysis of distributed triangles: choice of the grid, plans of the sweeps, exchanges of entries and
// vectors.

namespace lutra {
namespace Impl {

inline void check_backend(const DistributedOptions& options) {
  if (options.on_device && !options.deterministic && options.backend == CommBackend::mpi)
    throw InputError("deterministic: on devices sums have one order with backend 'mpi', it cannot be false");
  if (options.backend != CommBackend::mpi && is_built(options.backend) && !options.on_device)
    throw InputError("communication backend '" + std::string(to_string(options.backend)) +
                     "' is for triangles that are solved on devices (on_device)");
}

}  // namespace Impl

template <class Scalar>
void DistributedTriangles<Scalar>::State::analyze(const DistributedPattern& pattern) {
  const Communicator::Work work(comm);  // sorting entries may take long
  const bool is_given = options.grid.size() > 0;
  comm.agree("analysis of a distributed triangle", [&] {
    if (is_given || options.grid.rows < 0) Impl::check_grid(comm, options.grid);
    Impl::check_backend(options);
    Impl::check_pattern(pattern);
  });
  rhs_count = pattern.rhs_rows.size();
  solution_count = pattern.solution_rows.size();
  block_begin = Impl::partition_blocks(comm, pattern, std::max(options.max_width, 1));
  const auto& begin = block_begin;
  if (!is_given && comm.size() == 1) options.grid = {1, 1};
  if (comm.size() > 1) {
    predictions =
        Impl::predict_on_grids(comm, pattern, options.costs, begin,
                               is_given ? std::vector{options.grid} : Impl::candidate_grids(comm.size()));
    std::stable_sort(predictions.begin(), predictions.end(),
                     [](const auto& one, const auto& other) { return one.seconds < other.seconds; });
    options.grid = predictions.front().grid;
  }
  const ProcessGrid& grid = options.grid;
  const auto P = static_cast<std::size_t>(comm.size());
  const std::vector<std::size_t> block_of = Impl::blocks_of_rows(begin);

  Impl::SlotCounter slots;
  sweeps.resize(pattern.sweeps.size());
  for (std::size_t s = 0; s < sweeps.size(); ++s) {
    Impl::Sweep<Scalar>& sweep = sweeps[s];
    std::vector<std::vector<Impl::Position>> to(P);
    sweep.entries.sources.resize(P);
    comm.agree("entries of a distributed triangle", [&] { Impl::Exchange::check_size(pattern.rows.size()); });
    for (std::size_t e = 0; e < pattern.rows.size(); ++e) {
      const std::int64_t row = pattern.rows[e], column = pattern.columns[e];
      if (!Impl::belongs(pattern.sweeps[s], row, column)) continue;
      const auto owner = static_cast<std::size_t>(
          grid.rank_of(block_of[static_cast<std::size_t>(row)], block_of[static_cast<std::size_t>(column)]));
      to[owner].push_back({row, column});
      sweep.entries.sources[owner].push_back(static_cast<Impl::Exchange::Position>(e));
    }
    const auto from = comm.all_to_all(to);
    std::vector<Impl::Position> entries;
    for (const auto& part : from) entries.insert(entries.end(), part.begin(), part.end());
    comm.agree("entries of a distributed triangle", [&] { Impl::Exchange::check_size(entries.size()); });
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
                                                             slots.rows, columns, options.backend,
                                                             !options.deterministic);
    for (Impl::Sweep<Scalar>& sweep : sweeps) {
      sweep.values.resize(sweep.plan.count_entries());
      sweep.sums.resize(sweep.plan.sum_rows * columns);
      sweep.row_states.resize(sweep.plan.rows.size());
      sweep.has_x.resize(sweep.plan.columns.size());
    }
  });
  const std::size_t rows = kernels ? kernels->memory_rows() : slots.rows;
  memory.emplace(comm, rows * columns * sizeof(Scalar), kernels ? kernels->signals() : events.size(),
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
      exchange.sources[owner].push_back(static_cast<Impl::Exchange::Position>(e));
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
              exchange.targets[from].push_back(static_cast<Impl::Exchange::Position>(
                  (is_solution ? plan.columns[plan.rows[row].column].x.offset : b_offset[row]) + within));
            }
          }
          if (count < rows) throw InputError(std::string(name) + ": a row of the matrix is on no rank");
        },
        false);
  }
}

}  // namespace lutra

#endif
