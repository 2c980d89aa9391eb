// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_DiagonalPivots.hpp"

#include "Lutra_ExecutionTraits.hpp"
#include "Lutra_FrontSearch.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_Instantiate.hpp"
#include "Lutra_LdltPivots.hpp"

namespace lutra {
namespace {

/// Inspects a column of L with `lanes` threads; adjacent threads read adjacent rows.
template <class Scalar>
struct PivotInspection {
  using value_type = DiagonalPivots;

  const Front* fronts;
  const Offset* panels_begin;  ///< offset in `panels` of each front
  Ordinal count;
  const Scalar* panels;
  int lanes;

  KOKKOS_FUNCTION void operator()(std::int64_t item, value_type& found) const {
    const auto pivot = static_cast<Ordinal>(item / lanes);
    const int lane = static_cast<int>(item % lanes);
    const Ordinal f =
        Impl::front_of_pivot([&](Ordinal g) -> const Front& { return fronts[g]; }, count, pivot);
    const Front& front = fronts[f];
    const auto j = static_cast<int>(pivot - front.first_pivot);
    const Scalar* const column = panels + panels_begin[f] + static_cast<Offset>(j) * front.size();
    for (int i = j + 1 + lane; i < front.size(); i += lanes)
      found.largest_l = Kokkos::max(found.largest_l, static_cast<double>(Impl::size_or_infinity(column[i])));
    if (lane != 0) return;
    found.largest_d = Kokkos::max(found.largest_d, static_cast<double>(Impl::size_or_infinity(column[j])));
    found.smallest_d = Kokkos::min(found.smallest_d, static_cast<double>(Impl::size_or_infinity(column[j])));
    const auto d = Impl::real_part(column[j]);
    found.positive += d > 0 ? 1 : 0;
    found.negative += d < 0 ? 1 : 0;
  }
  KOKKOS_FUNCTION void init(value_type& found) const { found = {}; }
  KOKKOS_FUNCTION void join(value_type& found, const value_type& other) const {
    found.largest_l = Kokkos::max(found.largest_l, other.largest_l);
    found.largest_d = Kokkos::max(found.largest_d, other.largest_d);
    found.smallest_d = Kokkos::min(found.smallest_d, other.smallest_d);
    found.positive += other.positive;
    found.negative += other.negative;
  }
};

}  // namespace

template <class Scalar, class ExecutionSpace>
DiagonalPivots inspect_diagonal_pivots(const ExecutionSpace& exec,
                                       const LuPlan<typename ExecutionSpace::memory_space>& plan,
                                       const FrontFactors<Scalar, ExecutionSpace>& factors) {
  const int lanes = Impl::team_width<ExecutionSpace>(16);
  DiagonalPivots found;
  Kokkos::parallel_reduce("lutra::numeric::diagonal_pivots",
                          Kokkos::RangePolicy<ExecutionSpace, Kokkos::IndexType<std::int64_t>>(
                              exec, 0, static_cast<std::int64_t>(plan.n) * lanes),
                          PivotInspection<Scalar>{plan.fronts.data(), plan.panels.data(), plan.count,
                                                  factors.panels.data(), lanes},
                          found);
  exec.fence("lutra::numeric: the pivots are known");
  return found;
}

#define LUTRA_DIAGONAL_PIVOTS(Scalar, Space)                                                        \
  template DiagonalPivots inspect_diagonal_pivots(const Space&, const LuPlan<Space::memory_space>&, \
                                                  const FrontFactors<Scalar, Space>&);
LUTRA_FOR_EACH_SCALAR_AND_SPACE(LUTRA_DIAGONAL_PIVOTS)

}  // namespace lutra
