// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_RankDivision.hpp"

#include <algorithm>

#include "Lutra_Formatted.hpp"

namespace lutra::Impl {

RankDivision divide_among_ranks(const AssemblyTree& tree, int ranks, const DivisionCosts& costs, double nnz,
                                int factorizations, double alone) {
  // Seconds for an entry of A. Plans: on two H200s and their hosts 0.06 µs and more; values that rank 0
  // gathers: 8 bytes at 2 GB/s.
  constexpr double plan_seconds = 1e-7, gather_seconds = 4e-9;
  RankDivision division{distribute_fronts(tree, ranks, DivisionGoal::time, costs), {}};
  if (division.ranks.time == 0) return division;  // divided for memory
  const double one =
      alone * distribute_fronts(tree, 1, DivisionGoal::time, costs).time / costs.flops_per_second;
  const double all = division.ranks.time / costs.flops_per_second;
  const int times = std::max(factorizations, 1);
  const double spared = times * (one - all) + (times - 1) * gather_seconds * nnz;
  if (spared < plan_seconds * nnz)
    division.why_one_rank = formatted(
        "%d ranks would spare %.2g s in %d factorization%s, and their plans take %.2g s (predicted)", ranks,
        std::max(spared, 0.0), times, times == 1 ? "" : "s", plan_seconds * nnz);
  return division;
}

}  // namespace lutra::Impl
