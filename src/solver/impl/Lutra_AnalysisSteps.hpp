// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_ANALYSISSTEPS_HPP
#define LUTRA_ANALYSISSTEPS_HPP

#include <algorithm>
#include <limits>
#include <memory>
#include <vector>

#include "Lutra_AssemblyTree.hpp"
#include "Lutra_CheckLaunches.hpp"
#include "Lutra_CheckMatrix.hpp"
#include "Lutra_ExecutionTraits.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_Numeric.hpp"
#include "Lutra_PivotOrder.hpp"
#include "Lutra_Reasons.hpp"
#include "Lutra_ToDevice.hpp"

// Steps common to the analyses of LU and LDLᵀ.

namespace lutra::Impl {

/// Bytes that the budget holds in addition to `used_before`.
inline std::size_t bytes_since(std::size_t used_before, const MemoryBudget& budget) {
  const std::size_t used = budget.used_bytes();
  return used > used_before ? used - used_before : 0;
}

/// Copies a pattern and the orders of rows and columns to the memory of the execution space.
template <class ExecutionSpace>
PermutedPattern<typename ExecutionSpace::memory_space> permute(
    const ExecutionSpace& exec, const CsrPattern<Ordinal, Offset, typename ExecutionSpace::memory_space>& A,
    const PivotOrder& pivots, const MemoryBudget& budget) {
  using Memory = typename ExecutionSpace::memory_space;
  PermutedPattern<Memory> F;
  F.reservation = MemoryReservation(budget);
  F.row_order = upload(exec, F.reservation, "lutra::solver::row_order", pivots.rows);
  F.col_order = upload(exec, F.reservation, "lutra::solver::col_order", pivots.columns);
  F.A = copy_pattern(exec, F.reservation, A);
  return F;
}

/// Copies the scales of a matching to the memory of the execution space.
template <class Scalar, class ExecutionSpace>
void upload_scales(const ExecutionSpace& exec, const MatchingResult& matching,
                   Analysis<Scalar, ExecutionSpace>& analysis) {
  using Reals = std::vector<RealOf<Scalar>>;
  analysis.row_scale = upload(exec, analysis.reservation, "lutra::solver::row_scale",
                              Reals(matching.row_scale.begin(), matching.row_scale.end()));
  analysis.col_scale = upload(exec, analysis.reservation, "lutra::solver::col_scale",
                              Reals(matching.col_scale.begin(), matching.col_scale.end()));
}

/// Returns whether A, which has been checked, has the given pattern, which was checked before.
/// @param read triangle that is read, as for check_square_matrix
template <class Scalar, class ExecutionSpace>
bool has_pattern(const ExecutionSpace& exec,
                 const CsrView<Scalar, Ordinal, Offset, typename ExecutionSpace::memory_space>& A,
                 const CsrPattern<Ordinal, Offset, typename ExecutionSpace::memory_space>& pattern,
                 const MemoryBudget& budget, Triangle read = Triangle::both) {
  if (A.n_rows != pattern.n_rows || A.nnz() != pattern.nnz()) return false;
  try {
    check_same_pattern(exec, A, pattern, MatrixCheckWorkspace<ExecutionSpace>(exec, budget), true, read);
    return true;
  } catch (const InputError&) {
    return false;
  }
}

/// Creates an analysis with the plan of a former one and the scales of a new matching. Only the matching took
/// time.
/// @param report     report of the new matching
/// @param value_hash hash of the values that were matched
template <class Analysis, class ExecutionSpace>
std::shared_ptr<const Analysis> with_new_scales(const ExecutionSpace& exec, const Analysis& former,
                                                const MatchingResult& matching, const Report& report,
                                                std::uint64_t value_hash, const MemoryBudget& budget) {
  auto analysis = std::make_shared<Analysis>(former);
  analysis->value_hash = value_hash;
  analysis->reservation = MemoryReservation(budget);
  upload_scales(exec, matching, *analysis);
  analysis->report.times = report.times;
  analysis->report.structural_rank = report.structural_rank;
  analysis->report.choice.why = report.choice.why;
  add_reason(analysis->report, "ordering, trees and plan: reused, the matched pattern is the same");
  wait_for(exec, "lutra::solver: the analysis is complete for other instances");
  return analysis;
}

/// Returns the pattern of F on the host, with sorted rows.
inline HostMatrix<char, Ordinal, Offset> permuted_pattern(
    const CsrPattern<Ordinal, Offset, Kokkos::HostSpace>& A, const PivotOrder& pivots) {
  std::vector<Ordinal> position(pivots.columns.size());
  for (std::size_t k = 0; k < position.size(); ++k)
    position[static_cast<std::size_t>(pivots.columns[k])] = static_cast<Ordinal>(k);
  HostMatrix<char, Ordinal, Offset> result;
  result.n_rows = result.n_cols = A.n_rows;
  result.row_map.push_back(0);
  result.entries.reserve(A.entries.extent(0));
  for (const Ordinal row : pivots.rows) {
    for (Offset p = A.row_map(row); p < A.row_map(row + 1); ++p)
      result.entries.push_back(position[static_cast<std::size_t>(A.entries(p))]);
    std::sort(result.entries.begin() + static_cast<std::ptrdiff_t>(result.row_map.back()),
              result.entries.end());
    result.row_map.push_back(static_cast<Offset>(result.entries.size()));
  }
  return result;
}

/// Builds the assembly tree on the host from the ordered graph.
/// @param on_host   copy of A on the host
/// @param with_rows if false, the tree may lack contribution rows
inline AssemblyTree build_tree_on_host(const CsrPattern<Ordinal, Offset, Kokkos::HostSpace>& on_host,
                                       PivotOrder& pivots, bool with_rows) {
  const RowPairs pairs = pivots.pairs();
  return std::visit(
      [&]<class Ordered>(Ordered& ordered) {
        if constexpr (std::is_same_v<Ordered, std::monostate>) {
          return make_assembly_tree(make_view(permuted_pattern(on_host, pivots)).pattern(), {}, pairs);
        } else {
          auto& elimination = ordered.elimination;
          if (elimination.count.empty())
            elimination = eliminate(ordered.graph, std::move(elimination.permutation));
          auto tree = make_assembly_tree(elimination, {}, pairs);
          if (with_rows) collect_front_rows(ordered.graph, elimination, tree);
          return tree;
        }
      },
      pivots.ordered);
}

/// Builds the assembly tree. On devices their threads build it if memory suffices; where the choice of the
/// order has left its elimination tree, only the contribution rows.
/// @param on_host copy of A on the host
template <class ExecutionSpace>
AssemblyTree build_tree(const ExecutionSpace& exec,
                        const CsrPattern<Ordinal, Offset, typename ExecutionSpace::memory_space>& A,
                        const CsrPattern<Ordinal, Offset, Kokkos::HostSpace>& on_host, PivotOrder& pivots,
                        const MemoryBudget& budget) {
  const RowPairs pairs = pivots.pairs();
  try {
    if (A.n_rows < std::numeric_limits<int>::max())
      return std::visit(
          [&]<class Ordered>(const Ordered& ordered) {
            if constexpr (!std::is_same_v<Ordered, std::monostate>)
              if (!ordered.elimination.count.empty() && !pivots.block_triangular)
                return make_assembly_tree(exec, A, pivots.rows, pivots.columns, ordered.elimination, budget,
                                          {}, pairs);
            return make_assembly_tree(exec, A, pivots.rows, pivots.columns, budget, {}, pairs);
          },
          pivots.ordered);
  } catch (const OutOfMemoryError&) {  // continue on the host
  }
  return build_tree_on_host(on_host, pivots, true);  // front sizes on devices depend on the contribution rows
}
/// Overload for host spaces. The tree may lack contribution rows until `collect_rows` adds them.
template <HostExecution ExecutionSpace>
AssemblyTree build_tree(const ExecutionSpace&,
                        const CsrPattern<Ordinal, Offset, typename ExecutionSpace::memory_space>&,
                        const CsrPattern<Ordinal, Offset, Kokkos::HostSpace>& on_host, PivotOrder& pivots,
                        const MemoryBudget&) {
  return build_tree_on_host(on_host, pivots, false);
}

/// Adds the contribution rows to a tree that lacks them.
/// @param pivots pivot order as `build_tree` left it
inline void collect_rows(const PivotOrder& pivots, AssemblyTree& tree) {
  if (static_cast<std::int64_t>(tree.rows.size()) == tree.row_begin.back()) return;
  std::visit(
      [&]<class Ordered>(const Ordered& ordered) {
        if constexpr (!std::is_same_v<Ordered, std::monostate>)
          collect_front_rows(ordered.graph, ordered.elimination, tree);
      },
      pivots.ordered);
}

}  // namespace lutra::Impl

#endif
