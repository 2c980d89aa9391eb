// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_RANKANALYSIS_HPP
#define LUTRA_RANKANALYSIS_HPP

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "Lutra_AnalysisSteps.hpp"
#include "Lutra_FrontPlan.hpp"
#include "Lutra_FrontRanks.hpp"
#include "Lutra_PivotOrder.hpp"
#include "Lutra_Reasons.hpp"
#include "Lutra_SplitFronts.hpp"

namespace lutra::Impl {

// Steps of the analysis on rank 0 for fronts on several ranks.

/// Returns the number of entries of L + U that the fronts store.
inline double stored_entries(const AssemblyTree& tree) {
  double entries = 0;
  for (const auto& front : lay_out_fronts(tree).fronts)
    entries += static_cast<double>(front.pivots) * (front.pivots + 2.0 * front.cb_rows);
  return entries;
}

/// The tree whose fronts an execution space factorizes, built by its threads.
template <class ExecutionSpace>
AssemblyTree build_tree_for(const CsrPattern<Ordinal, Offset, Kokkos::HostSpace>& A, PivotOrder& pivots,
                            const MemoryBudget& budget) {
  const ExecutionSpace exec;
  if constexpr (is_host_space<ExecutionSpace>) {
    return build_tree(exec, A, A, pivots, budget);
  } else {
    using Memory = typename ExecutionSpace::memory_space;
    const CsrPattern<Ordinal, Offset, Memory> copy{A.n_rows, A.n_cols,
                                                   Kokkos::create_mirror_view_and_copy(Memory(), A.row_map),
                                                   Kokkos::create_mirror_view_and_copy(Memory(), A.entries)};
    return build_tree(exec, copy, A, pivots, budget);
  }
}

/// `split_fronts` for pivots that already follow `tree.order`.
inline void split_ordered_fronts(AssemblyTree& tree, PivotOrder& pivots) {
  const std::vector<Ordinal> order = tree.order;
  std::iota(tree.order.begin(), tree.order.end(), Ordinal(0));
  if (split_fronts(tree) > 0) pivots.reorder(tree.order);
  for (Ordinal& k : tree.order) k = order[static_cast<std::size_t>(k)];
}

/// Adds the counts of fronts on several ranks to the report.
inline void describe_fronts(const AssemblyTree& tree, int ranks, double nnz, Report& report) {
  const double stored = stored_entries(tree);
  report.choice.method = "lu";
  report.choice.engine = name_of(Engine::multifrontal);
  report.choice.symbolic = name_of(SymbolicMethod::etree);
  report.choice.pivot = name_of(Pivoting::static_perturbed);
  report.choice.precond = "none";
  report.choice.trisolve = name_of(TrisolveMethod::supernodal);
  if (ranks > 1)
    add_reason(report, "multifrontal engine: parts of the assembly tree on " + std::to_string(ranks) +
                           " ranks, the root on rank 0");
  report.factors.nnz_l = static_cast<std::int64_t>((stored - tree.n) / 2);
  report.factors.nnz_u = static_cast<std::int64_t>((stored + tree.n) / 2);
  report.factors.flops = tree.flops;
  report.factors.supernodes = tree.count();
  report.factors.fill_ratio = nnz > 0 ? stored / nnz : 0.0;
}

/// Adds the number of fronts that several ranks factorize together.
inline void describe_divided_fronts(const FrontRanks& ranks, Report& report) {
  const auto divided = std::ranges::count_if(ranks.helpers, [](const auto& of) { return !of.empty(); });
  if (divided > 0)
    add_reason(report, std::to_string(divided) + (divided == 1 ? " front is" : " fronts are") +
                           " divided among ranks by columns");
}

}  // namespace lutra::Impl

#endif
