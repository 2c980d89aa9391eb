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
  const Ordinal *row_of_pivot, *column_of_pivot;  ///< of symmetric interchanges, or null
  int lanes;

  KOKKOS_FUNCTION void operator()(std::int64_t item, value_type& found) const {
    const auto pivot = static_cast<Ordinal>(item / lanes);
    const int lane = static_cast<int>(item % lanes);
    const Ordinal f =
        Impl::front_of_pivot([&](Ordinal g) -> const Front& { return fronts[g]; }, count, pivot);
    const Front& front = fronts[f];
    const int j = static_cast<int>(pivot - front.first_pivot), size = front.size();
    const Scalar* const column = panels + panels_begin[f] + static_cast<Offset>(j) * size;
    const auto starts = [&](int k) {
      return column_of_pivot != nullptr && k >= 0 && k + 1 < front.pivots &&
             starts_pair(row_of_pivot, column_of_pivot, front.first_pivot + k);
    };
    const bool is_first = starts(j), is_second = !is_first && starts(j - 1);
    // magnitude of the part of D that multiplies column j of L from both sides, see
    // Lutra_SymmetricPivots.hpp
    double weight = size_at(column, j);
    if (is_first) weight = size_at(column, j + size) + size_at(column, j + 1 + size);
    if (is_second) weight *= 1 + size_at(column, j - size);
    double largest = 0;
    for (int i = j + 1 + lane; i < size; i += lanes) largest = Kokkos::max(largest, size_at(column, i));
    found.largest_l = Kokkos::max(found.largest_l, largest);
    found.largest_term = Kokkos::max(found.largest_term, weight * largest * largest);
    if (lane != 0) return;
    found.largest_d = Kokkos::max(found.largest_d, Kokkos::max(weight, size_at(column, j)));
    found.smallest_d = Kokkos::min(found.smallest_d, size_at(column, j));
    if (is_first) {
      count_pair(column[j], column[j + size], column[j + 1 + size], found);
    } else if (!is_second) {
      count_sign(Impl::real_part(column[j]), 1, found);
    }
  }
  KOKKOS_FUNCTION static double size_at(const Scalar* entries, int i) {
    return static_cast<double>(Impl::size_or_infinity(entries[i]));
  }
  template <class Real>
  KOKKOS_FUNCTION static void count_sign(const Real& d, int times, value_type& found) {
    found.positive += d > 0 ? times : 0;
    found.negative += d < 0 ? times : 0;
  }
  /// Counts the eigenvalues of D = [a b̄; b c], whose determinant is −b·d; b, c and d are U's entries.
  KOKKOS_FUNCTION static void count_pair(const Scalar& b, const Scalar& c, const Scalar& d,
                                         value_type& found) {
    ++found.pairs;
    // of units, since the product of small numbers may be zero
    const Scalar unit_b = b / ScalarTraits<Scalar>::magnitude(b),
                 unit_d = d / ScalarTraits<Scalar>::magnitude(d);
    if (Impl::real_part(unit_b * unit_d) < 0) return count_sign(Impl::real_part(c), 2, found);
    ++found.positive;
    ++found.negative;
  }
  KOKKOS_FUNCTION void init(value_type& found) const { found = {}; }
  KOKKOS_FUNCTION void join(value_type& found, const value_type& other) const { found.add(other); }
};

}  // namespace

template <class Scalar, class ExecutionSpace>
DiagonalPivots inspect_diagonal_pivots(const ExecutionSpace& exec,
                                       const LuPlan<typename ExecutionSpace::memory_space>& plan,
                                       const FrontFactors<Scalar, ExecutionSpace>& factors) {
  const int lanes = Impl::team_width<ExecutionSpace>(16);
  const auto& fronts = plan.layout.fronts;
  const std::int64_t pivots = fronts.empty() ? 0 : fronts.back().first_pivot + fronts.back().pivots;
  DiagonalPivots found;
  Kokkos::parallel_reduce(
      "lutra::numeric::diagonal_pivots",
      Kokkos::RangePolicy<ExecutionSpace, Kokkos::IndexType<std::int64_t>>(exec, 0, pivots * lanes),
      PivotInspection<Scalar>{plan.fronts.data(), plan.panels.data(), plan.count, factors.panels.data(),
                              factors.row_of_pivot().data(), factors.column_of_pivot().data(), lanes},
      found);
  exec.fence("lutra::numeric: the pivots are known");
  return found;
}

#define LUTRA_DIAGONAL_PIVOTS(Scalar, Space)                                                        \
  template DiagonalPivots inspect_diagonal_pivots(const Space&, const LuPlan<Space::memory_space>&, \
                                                  const FrontFactors<Scalar, Space>&);
LUTRA_FOR_EACH_SCALAR_AND_SPACE(LUTRA_DIAGONAL_PIVOTS)

}  // namespace lutra
