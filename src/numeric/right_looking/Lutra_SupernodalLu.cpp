// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_SupernodalLu.hpp"

#include <algorithm>
#include <utility>

#include "Lutra_CheckLaunches.hpp"
#include "Lutra_Instantiate.hpp"
#include "Lutra_PrefixSum.hpp"
#include "Lutra_SupernodalLevel.hpp"
#include "Lutra_SupernodeBlocks.hpp"
#include "Lutra_SupernodeLists.hpp"
#include "Lutra_Transpose.hpp"
#include "Lutra_Upload.hpp"

namespace lutra {
namespace {

/// L + U by columns while a plan is made.
template <class Memory>
struct FilledColumns {
  TransposedPattern<Memory> columns;
  Kokkos::View<Offset*, Memory> diagonal;  ///< [n] position of the diagonal of each column
  Impl::SupernodeLengths lengths;
};

template <class ExecutionSpace, class Memory>
FilledColumns<Memory> measure_columns(const ExecutionSpace& exec, const LuPattern<Memory>& rows,
                                      MemoryReservation& scratch, const MemoryBudget& budget) {
  using View = Kokkos::View<Ordinal*, Memory>;
  FilledColumns<Memory> result;
  result.columns = transpose(exec, rows.pattern(), budget);
  result.diagonal =
      scratch.allocate<Kokkos::View<Offset*, Memory>>(exec, "lutra::numeric::column_diagonal", rows.n);
  const auto lower = scratch.allocate<View>(exec, "lutra::numeric::column_lengths_l", rows.n);
  const auto upper = scratch.allocate<View>(exec, "lutra::numeric::row_lengths_u", rows.n);
  Kokkos::parallel_for("lutra::numeric::measure_columns",
                       Kokkos::RangePolicy<ExecutionSpace>(exec, 0, rows.n),
                       Impl::MeasureColumns<Memory>{result.columns.pattern, rows.row_map, rows.diagonal,
                                                    result.diagonal, lower, upper});
  result.lengths = {Impl::to_host(exec, lower), Impl::to_host(exec, upper)};
  return result;
}

std::vector<Ordinal> rows_to_supernodes(const std::vector<Ordinal>& begin) {
  std::vector<Ordinal> of_row;
  for (std::size_t s = 0; s + 1 < begin.size(); ++s)
    of_row.resize(static_cast<std::size_t>(begin[s + 1]), static_cast<Ordinal>(s));
  return of_row;
}

/// Makes a plan's arrays one after another.
template <class ExecutionSpace>
class SupernodalPlanner {
 public:
  using Memory = typename ExecutionSpace::memory_space;
  using Plan = SupernodalLuPlan<Memory>;
  using Ordinals = Kokkos::View<Ordinal*, Memory>;
  using Offsets = Kokkos::View<Offset*, Memory>;

  SupernodalPlanner(const ExecutionSpace& exec, const LuPattern<Memory>& rows, const MemoryBudget& budget)
      : m_exec(exec), m_budget(budget), m_scratch(budget) {
    m_plan.rows = rows;
    m_plan.reservation = MemoryReservation(budget);
  }

  Plan run(const SupernodeOptions& options, const LevelizationOptions& levels) {
    partition(options);
    make_pairs();
    m_plan.levels = levelize(
        m_exec,
        DependencyGraph<Memory>{
            m_plan.count,
            {m_pair_begin, Kokkos::subview(m_pair_begin, std::pair(std::size_t(1), m_pair_begin.extent(0))),
             m_pair_to, 0},
            {}},
        m_budget, levels);
    locate_rows();
    make_tiles();
    m_exec.fence("lutra::numeric: scratch of the supernodal plan is freed");
    return std::move(m_plan);
  }

 private:
  template <class View>
  View keep(const char* label, std::size_t size) {
    return m_plan.reservation.template allocate<View>(m_exec, label, size);
  }
  Impl::SupernodeLists<Memory> lists() const {
    return {m_plan.blocks, m_plan.of_row, m_plan.row_lists, m_plan.column_lists};
  }
  Impl::RowTeams teams() const { return Impl::RowTeams(m_exec, 32, 64); }

  /// Supernodes, their panels and their lists.
  void partition(const SupernodeOptions& options) {
    const auto columns = measure_columns(m_exec, m_plan.rows, m_scratch, m_budget);
    const auto found = find_supernodes(m_exec, m_plan.rows, m_budget, options);
    const auto begin =
        Impl::cut_supernodes(Impl::to_host(m_exec, found.begin), columns.lengths, options.relaxation);
    m_blocks = Impl::lay_out_supernodes(begin, columns.lengths, m_plan);
    auto& reservation = m_plan.reservation;
    m_plan.begin = Impl::upload(m_exec, reservation, "lutra::numeric::supernode_begin", begin);
    m_plan.of_row =
        Impl::upload(m_exec, reservation, "lutra::numeric::supernode_of_row", rows_to_supernodes(begin));
    m_plan.blocks = Impl::upload(m_exec, reservation, "lutra::numeric::supernode_blocks", m_blocks);
    Offset in_rows = 0, in_columns = 0;
    for (const auto& block : m_blocks) {
      in_rows += block.rows;
      in_columns += block.columns;
    }
    const auto row_lists = keep<Ordinals>("lutra::numeric::row_lists", static_cast<std::size_t>(in_rows));
    const auto column_lists =
        keep<Ordinals>("lutra::numeric::column_lists", static_cast<std::size_t>(in_columns));
    Kokkos::parallel_for(
        "lutra::numeric::copy_lists", teams().policy(m_exec, m_plan.count),
        Impl::CopyLists<ExecutionSpace>{teams(), m_plan.count, m_plan.blocks, m_plan.rows.entries,
                                        columns.columns.pattern.entries, m_plan.rows.diagonal,
                                        columns.diagonal, row_lists, column_lists});
    m_exec.fence("lutra::numeric: columns of L + U are freed");
    m_plan.row_lists = row_lists;
    m_plan.column_lists = column_lists;
  }

  void make_pairs() {
    const auto count = static_cast<std::size_t>(m_plan.count);
    const auto pairs_of = m_scratch.allocate<Offsets>(m_exec, "lutra::numeric::pairs_of", count);
    const auto positions_of = m_scratch.allocate<Offsets>(m_exec, "lutra::numeric::positions_of", count);
    const auto position_begin =
        m_scratch.allocate<Offsets>(m_exec, "lutra::numeric::position_begin", count + 1);
    m_pair_begin = m_scratch.allocate<Offsets>(m_exec, "lutra::numeric::pair_begin", count + 1);
    Kokkos::parallel_for("lutra::numeric::count_pairs",
                         Kokkos::RangePolicy<ExecutionSpace>(m_exec, 0, m_plan.count),
                         Impl::CountPairs<Memory>{lists(), pairs_of, positions_of});
    const auto n_pairs = static_cast<std::size_t>(Impl::prefix_sum<Offset>(m_exec, pairs_of, m_pair_begin));
    const auto n_positions =
        static_cast<std::size_t>(Impl::prefix_sum<Offset>(m_exec, positions_of, position_begin));
    m_pair_to = m_scratch.allocate<Ordinals>(m_exec, "lutra::numeric::pair_to", n_pairs);
    const auto pairs = keep<Kokkos::View<SupernodePair*, Memory>>("lutra::numeric::supernode_pairs", n_pairs);
    const auto of_row = keep<Ordinals>("lutra::numeric::pair_of_row", m_plan.row_lists.extent(0));
    const auto of_column = keep<Ordinals>("lutra::numeric::pair_of_column", m_plan.column_lists.extent(0));
    const auto positions = keep<Ordinals>("lutra::numeric::positions", n_positions);
    Kokkos::parallel_for("lutra::numeric::fill_pairs", teams().policy(m_exec, m_plan.count),
                         Impl::FillPairs<ExecutionSpace>{teams(), lists(), m_pair_begin, position_begin,
                                                         pairs, m_pair_to, of_row, of_column});
    Impl::check_launches_on<ExecutionSpace>();  // before the pairs are used
    Kokkos::parallel_for(
        "lutra::numeric::find_positions", teams().policy(m_exec, static_cast<Ordinal>(n_pairs)),
        Impl::FindPositions<ExecutionSpace>{teams(), lists(), m_pair_begin, pairs, positions});
    m_plan.pairs = pairs;
    m_plan.pair_of_row = of_row;
    m_plan.pair_of_column = of_column;
    m_plan.positions = positions;
  }

  void locate_rows() {
    const auto row_to_panel = keep<Offsets>("lutra::numeric::row_to_panel", m_plan.rows.entries.extent(0));
    Kokkos::parallel_for(
        "lutra::numeric::locate_rows", teams().policy(m_exec, m_plan.n()),
        Impl::LocateRows<ExecutionSpace>{teams(), lists(), m_plan.rows.pattern(), row_to_panel});
    m_plan.row_to_panel = row_to_panel;
  }

  void make_tiles() {
    const auto order = Impl::to_host(m_exec, m_plan.levels.order);
    Impl::SupernodeTiles tiles;
    tiles.end_level();
    for (std::size_t l = 0; l < m_plan.levels.size(); ++l) {
      m_plan.largest.push_back(0);
      for (Ordinal p = m_plan.levels.level_map[l]; p < m_plan.levels.level_map[l + 1]; ++p) {
        const SupernodeBlock& block = Impl::at(m_blocks, Impl::at(order, p));
        tiles.add(Impl::at(order, p), block);
        m_plan.largest[l] = std::max(m_plan.largest[l], block.size);
      }
      tiles.end_level();
    }
    auto& reservation = m_plan.reservation;
    m_plan.solves = Impl::upload(m_exec, reservation, "lutra::numeric::panel_tiles", tiles.solves);
    m_plan.updates = Impl::upload(m_exec, reservation, "lutra::numeric::update_tiles", tiles.updates);
    m_plan.solve_begin = std::move(tiles.solve_begin);
    m_plan.update_begin = std::move(tiles.update_begin);
  }

  const ExecutionSpace& m_exec;
  MemoryBudget m_budget;
  MemoryReservation m_scratch;
  Plan m_plan;
  std::vector<SupernodeBlock> m_blocks;
  Offsets m_pair_begin;  ///< [count + 1] first pair of each supernode
  Ordinals m_pair_to;    ///< the later supernode of each pair
};

}  // namespace

template <class ExecutionSpace>
SupernodalLuPlan<typename ExecutionSpace::memory_space> plan_supernodal_lu(
    const ExecutionSpace& exec, const LuPattern<typename ExecutionSpace::memory_space>& rows,
    const MemoryBudget& budget, const SupernodeOptions& options, const LevelizationOptions& levels) {
  return SupernodalPlanner<ExecutionSpace>(exec, rows, budget).run(options, levels);
}

template <class ExecutionSpace>
SupernodalLuWorkspace<typename ExecutionSpace::memory_space> make_supernodal_lu_workspace(
    const ExecutionSpace& exec, const MemoryBudget& budget) {
  SupernodalLuWorkspace<typename ExecutionSpace::memory_space> work;
  work.run = budget.run();
  work.reservation = MemoryReservation(budget);
  if constexpr (!Impl::is_host_space<ExecutionSpace>)
    work.changes = {exec, work.reservation, "lutra::numeric::changes of values", 1};
  return work;
}

template <class Scalar, class ExecutionSpace>
RightLookingLuOutcome factorize_supernodal(
    const ExecutionSpace& exec, const SupernodalLuPlan<typename ExecutionSpace::memory_space>& plan,
    const SupernodalLuWorkspace<typename ExecutionSpace::memory_space>& work,
    const Kokkos::View<Scalar*, typename ExecutionSpace::memory_space>& values,
    const PivotThreshold& threshold,
    const Kokkos::View<unsigned char*, typename ExecutionSpace::memory_space>& perturbed) {
  Impl::factorize_supernodal_portable<Scalar>(exec, plan, values, threshold, perturbed, work.run);
  return Impl::outcome_of<Scalar>(exec, values, perturbed, work.changes);
}

#define LUTRA_PLAN_SUPERNODAL_LU(Space)                                                      \
  template SupernodalLuPlan<typename Space::memory_space> plan_supernodal_lu(                \
      const Space&, const LuPattern<typename Space::memory_space>&, const MemoryBudget&,     \
      const SupernodeOptions&, const LevelizationOptions&);                                  \
  template SupernodalLuWorkspace<typename Space::memory_space> make_supernodal_lu_workspace( \
      const Space&, const MemoryBudget&);
LUTRA_FOR_EACH_SPACE(LUTRA_PLAN_SUPERNODAL_LU)

#define LUTRA_FACTORIZE_SUPERNODAL(Scalar, Space)                                        \
  template RightLookingLuOutcome factorize_supernodal<Scalar, Space>(                    \
      const Space&, const SupernodalLuPlan<typename Space::memory_space>&,               \
      const SupernodalLuWorkspace<typename Space::memory_space>&,                        \
      const Kokkos::View<Scalar*, typename Space::memory_space>&, const PivotThreshold&, \
      const Kokkos::View<unsigned char*, typename Space::memory_space>&);
LUTRA_FOR_EACH_SCALAR_AND_SPACE(LUTRA_FACTORIZE_SUPERNODAL)

}  // namespace lutra
