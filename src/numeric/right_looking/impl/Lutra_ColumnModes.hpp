// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_COLUMNMODES_HPP
#define LUTRA_COLUMNMODES_HPP

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <string>
#include <vector>

#include "Lutra_Allocate.hpp"
#include "Lutra_ExecutionTraits.hpp"
#include "Lutra_FreeBytes.hpp"
#include "Lutra_RightLooking.hpp"
#include "Lutra_RightLookingLu.hpp"

namespace lutra::Impl {

// Modes A, B and C of GLU 3.0 ("End-to-End LU Factorization of Large Matrices on GPUs", section 2.2), level
// by level, and the formats of section 3.4. No default takes them; docs/end-to-end.md has the figures.

inline constexpr int stream_columns = 16;      ///< concurrent columns of mode C, as in GLU 3.0
inline constexpr double few_subcolumns = 8;    ///< mean of a level up to which a small block suffices
inline constexpr double many_subcolumns = 32;  ///< mean of a level above which a block has too few warps

/// The mode of a level. A: few sub-columns per column. C: at most as many columns as there are streams, and
/// more sub-columns than a block has warps. B: the transition between them.
constexpr ColumnMode choose_column_mode(std::int64_t columns, std::int64_t subcolumns) {
  const double mean =
      static_cast<double>(subcolumns) / static_cast<double>(std::max<std::int64_t>(1, columns));
  if (mean <= few_subcolumns) return ColumnMode::A;
  return columns <= stream_columns && mean > many_subcolumns ? ColumnMode::C : ColumnMode::B;
}

/// Modes of all levels, and the sub-columns of each column, on the host.
template <class ExecutionSpace, class Plan>
ColumnLevels make_column_levels(const ExecutionSpace& exec, const Plan& plan) {
  ColumnLevels result;
  if (plan.options.mode == ColumnMode::flow) return result;
  const auto host = [](const auto& view) { return mirror_in<Kokkos::HostSpace>(view); };
  exec.fence("lutra::numeric: the pattern is complete");
  const auto order = host(plan.levels.order);
  const auto row_map = host(plan.rows.row_map), diagonal = host(plan.rows.diagonal);
  result.columns.assign(order.data(), order.data() + order.extent(0));
  for (const Ordinal j : result.columns)
    result.subcolumns.push_back(static_cast<Ordinal>(row_map(j + 1) - diagonal(j) - 1));
  for (std::size_t l = 0; l < plan.levels.size(); ++l) {
    const auto begin = result.subcolumns.begin() + plan.levels.level_map[l];
    const auto end = result.subcolumns.begin() + plan.levels.level_map[l + 1];
    std::int64_t all = 0;
    for (auto count = begin; count != end; ++count) all += *count;
    const ColumnMode mode =
        plan.options.mode == ColumnMode::levels ? choose_column_mode(end - begin, all) : plan.options.mode;
    result.modes.push_back(mode);
    ++result.count[static_cast<int>(mode) - static_cast<int>(ColumnMode::A)];
  }
  return result;
}

/// L of section 3.4: half of what memory limit and device have left beside pattern and factors. The other
/// half is for solves.
template <class ExecutionSpace, class Workspace>
std::size_t dense_limit_bytes(const ExecutionSpace& exec, const Workspace& work) {
  return std::min(work.budget.available_bytes(), free_bytes(exec)) / 2;
}

/// Chooses the format for values of `Scalar` and allocates dense columns, once per workspace.
/// @param max_blocks TBmax: blocks that run at once
/// @param most       dense columns that the modes of the plan can use at once
/// @throws OutOfMemoryError if format dense is asked for and none fits
template <class Scalar, class ExecutionSpace, class Plan, class Workspace>
void choose_column_format(const ExecutionSpace& exec, const Plan& plan, Workspace& work,
                          std::size_t max_blocks, std::size_t most) {
  if (work.format != ColumnFormat::automatic) return;
  const ColumnFormat asked = plan.options.format;
  work.format = asked;
  if (asked == ColumnFormat::map || asked == ColumnFormat::search) return;
  const std::size_t limit = dense_limit_bytes(exec, work);
  if (asked == ColumnFormat::automatic) {
    const bool sparse = needs_sparse_columns(limit, plan.n(), sizeof(Scalar), max_blocks);
    work.format = sparse ? ColumnFormat::search : ColumnFormat::dense;
    if (sparse) return;
  }
  work.format = ColumnFormat::automatic;  // undecided if the allocation throws
  const std::size_t fit = max_dense_columns(limit, plan.n(), sizeof(Scalar));
  const std::size_t bytes = static_cast<std::size_t>(plan.n()) * sizeof(Scalar);
  if (fit == 0)
    throw OutOfMemoryError("columns: format dense needs " + std::to_string(bytes) +
                               " bytes for one column of " + std::to_string(plan.n()) + " values, and " +
                               std::to_string(limit) + " bytes are half of what is left",
                           bytes);
  const std::size_t count = std::min({fit, most, static_cast<std::size_t>(plan.n())});
  work.dense = work.reservation.template allocate<decltype(work.dense)>(exec, "lutra::numeric::dense_columns",
                                                                        count * bytes);
  Kokkos::deep_copy(exec, work.dense, char(0));
  work.dense_columns = count;
  work.format = ColumnFormat::dense;
}

/// What a factorization by levels reports.
template <class Plan, class Workspace>
ColumnReport report_of_columns(const Plan& plan, const Workspace& work, std::size_t max_blocks) {
  const auto blocks =
      work.format == ColumnFormat::dense ? std::min(work.dense_columns, max_blocks) : max_blocks;
  return {plan.modes.of(ColumnMode::A),      plan.modes.of(ColumnMode::B),
          plan.modes.of(ColumnMode::C),      std::string(name_of(work.format)),
          static_cast<std::int64_t>(blocks), static_cast<std::int64_t>(max_blocks)};
}

/// Columns of a level by portable kernels. Mode A: a team per column, its threads share the sub-columns. B:
/// the same with the largest team. C: a launch per column, a team per sub-column.
template <class Scalar, class ExecutionSpace, bool is_dense>
struct ColumnModeKernel : RightLookingLevel<Scalar, ExecutionSpace> {
  using Base = RightLookingLevel<Scalar, ExecutionSpace>;
  using typename Base::Memory;
  using typename Base::Team;
  struct Columns {};     ///< modes A and B, all columns of a level
  struct Pivot {};       ///< mode C: column `column` before its sub-columns
  struct Subcolumns {};  ///< mode C: all sub-columns of `column`
  struct Clear {};       ///< mode C: the dense column

  Kokkos::View<Scalar**, Kokkos::LayoutRight, Memory> dense;  ///< [concurrent columns × n]
  Ordinal count = 0;                                          ///< columns of the level
  Ordinal column = 0;

  KOKKOS_FUNCTION void operator()(Columns, const Team& team) const {
    const auto block = static_cast<Ordinal>(team.league_rank());
    for (Ordinal c = block; c < count; c += static_cast<Ordinal>(team.league_size())) {
      const Ordinal j = this->order(this->level_begin + c);
      start(team, j, block);
      Kokkos::parallel_for(Kokkos::TeamThreadRange(team, this->row_diagonal(j) + 1, this->row_map(j + 1)),
                           [&](const Offset p) {
                             if constexpr (is_dense)
                               update_dense(
                                   Kokkos::ThreadVectorRange(team, last_of(p) - this->row_to_column(p) - 1),
                                   block, p);
                             else
                               Base::update(team, j, p);
                           });
      team.team_barrier();
      if constexpr (is_dense) write_dense(team, j, block, true);
    }
  }
  KOKKOS_FUNCTION void operator()(Pivot, const Team& team) const { start(team, column, 0); }
  KOKKOS_FUNCTION void operator()(Clear, const Team& team) const { write_dense(team, column, 0, true); }
  KOKKOS_FUNCTION void operator()(Subcolumns, const Team& team) const {
    const Offset p = this->row_diagonal(column) + 1 + static_cast<Offset>(team.league_rank());
    if constexpr (is_dense) {
      update_dense(Kokkos::TeamVectorRange(team, last_of(p) - this->row_to_column(p) - 1), 0, p);
    } else {
      const Offset at = this->row_to_column(p), first = this->column_diagonal(column) + 1;
      const Scalar factor = this->values(at);
      Offset found = at;
      Kokkos::parallel_for(
          Kokkos::TeamVectorRange(team, first, this->column_map(column + 1)), [&](const Offset q) {
            found = find_row(this->column_entries, found, last_of(p), this->column_entries(q));
            add_shared<ExecutionSpace>(this->values(found), -(this->values(q) * factor));
          });
    }
  }

  /// Divides by the pivot, and spreads L(:, j) out if it is dense.
  KOKKOS_FUNCTION void start(const Team& team, Ordinal j, Ordinal block) const {
    Base::divide_by_pivot(team, j);
    if constexpr (is_dense) write_dense(team, j, block, false);
  }
  KOKKOS_FUNCTION void write_dense(const Team& team, Ordinal j, Ordinal block, bool zero) const {
    Kokkos::parallel_for(
        Kokkos::TeamVectorRange(team, this->column_diagonal(j) + 1, this->column_map(j + 1)),
        [&](const Offset q) { dense(block, this->column_entries(q)) = zero ? Scalar(0) : this->values(q); });
    team.team_barrier();
  }
  /// End of the sub-column to which the entry (j, k) at position p by rows belongs.
  KOKKOS_FUNCTION Offset last_of(Offset p) const { return this->column_map(this->row_entries(p) + 1); }

  /// Subtracts U(j, k) times the dense column from all entries of column k below (j, k).
  template <class Range>
  KOKKOS_FUNCTION void update_dense(const Range& range, Ordinal block, Offset p) const {
    const Offset at = this->row_to_column(p);
    const Scalar factor = this->values(at);
    Kokkos::parallel_for(range, [&](const Offset r) {
      const Offset q = at + 1 + r;
      const Scalar lower = dense(block, this->column_entries(q));
      if (lower != Scalar(0)) add_shared<ExecutionSpace>(this->values(q), -(lower * factor));
    });
  }
};

/// Launches the portable kernels of all levels.
template <class Scalar, class ExecutionSpace, bool is_dense>
struct ColumnModesPortable {
  using Kernel = ColumnModeKernel<Scalar, ExecutionSpace, is_dense>;
  template <class Tag>
  using Policy = Kokkos::TeamPolicy<ExecutionSpace, Tag>;

  const ExecutionSpace& exec;
  Kernel kernel;
  int vector_length;
  int max_league;  ///< of modes A and B: dense columns

  template <class Tag>
  void launch(const char* label, Tag, Ordinal league, int threads) const {
    const int most = Policy<Tag>(exec, 1, 1, vector_length).team_size_max(kernel, Kokkos::ParallelForTag());
    const int team = team_width<ExecutionSpace>(std::clamp(threads / vector_length, 1, most));
    Kokkos::parallel_for(label, Policy<Tag>(exec, static_cast<int>(league), team, vector_length), kernel);
  }
  void level(ColumnMode mode, Ordinal begin, Ordinal count) {
    kernel.level_begin = begin;
    kernel.count = count;
    const Ordinal league = is_dense ? std::min(count, static_cast<Ordinal>(max_league)) : count;
    launch("lutra::numeric::columns_of_level", typename Kernel::Columns(), league,
           mode == ColumnMode::A ? device_team_threads : 8 * device_team_threads);
  }
  void stream(Ordinal column, Ordinal subcolumns) {
    kernel.column = column;
    launch("lutra::numeric::pivot_of_column", typename Kernel::Pivot(), 1, device_team_threads);
    if (subcolumns > 0)
      launch("lutra::numeric::subcolumns", typename Kernel::Subcolumns(), subcolumns, device_team_threads);
    if (is_dense) launch("lutra::numeric::clear_column", typename Kernel::Clear(), 1, device_team_threads);
  }
};

/// A level of mode C, column by column, or of modes A and B at once.
template <class Plan, class Modes>
void run_level(const Plan& plan, std::size_t l, Modes& modes) {
  const Ordinal begin = plan.levels.level_map[l], end = plan.levels.level_map[l + 1];
  if (plan.modes.modes[l] != ColumnMode::C) return modes.level(plan.modes.modes[l], begin, end - begin);
  for (Ordinal c = begin; c < end; ++c) {
    const auto at = static_cast<std::size_t>(c);
    modes.stream(plan.modes.columns[at], plan.modes.subcolumns[at]);
  }
}

/// Modes A, B and C by portable kernels. On hosts a block is a thread.
template <class Scalar, class ExecutionSpace, class Plan, class Values, class Flags>
RightLookingLuOutcome factorize_by_modes_portable(
    const ExecutionSpace& exec, const Plan& plan,
    RightLookingLuWorkspace<typename ExecutionSpace::memory_space>& work, const Values& values,
    const PivotThreshold& threshold, const Flags& perturbed) {
  const auto max_blocks =
      static_cast<std::size_t>(std::max(1, exec.concurrency() / team_width<ExecutionSpace>(1024)));
  choose_column_format<Scalar>(exec, plan, work, max_blocks, max_blocks);
  const double mean_l = static_cast<double>(plan.rows.nnz_l) / std::max(1.0, static_cast<double>(plan.n()));
  const auto run = [&]<bool is_dense>() {
    ColumnModesPortable<Scalar, ExecutionSpace, is_dense> modes{
        exec,
        {make_right_looking_level<Scalar, ExecutionSpace>(plan, values, threshold, perturbed), {}, 0, 0},
        vector_length_for<ExecutionSpace>(mean_l),
        static_cast<int>(work.dense_columns)};
    modes.kernel.dense = decltype(modes.kernel.dense)(reinterpret_cast<Scalar*>(work.dense.data()),
                                                      work.dense_columns, static_cast<std::size_t>(plan.n()));
    for (std::size_t l = 0; l < plan.levels.size(); ++l) {
      work.budget.run().poll(static_cast<double>(l), static_cast<double>(plan.levels.size()));
      run_level(plan, l, modes);
    }
  };
  if (work.format == ColumnFormat::dense) {
    run.template operator()<true>();
  } else {
    run.template operator()<false>();
  }
  auto outcome = outcome_of<Scalar>(exec, values, perturbed, work.changes);
  outcome.columns = report_of_columns(plan, work, max_blocks);
  return outcome;
}

}  // namespace lutra::Impl

#endif
