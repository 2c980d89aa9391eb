// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_InspectFactors.hpp"

#include <algorithm>
#include <limits>

#include "Lutra_BinarySearch.hpp"
#include "Lutra_ExecutionTraits.hpp"
#include "Lutra_Instantiate.hpp"
#include "Lutra_ScalarTraits.hpp"

namespace lutra {
namespace Impl {

/// Element t looks at entry t of A, entry t of the factors and pivot t.
template <class Scalar, class Ordinal, class Offset, class Memory>
struct InspectElement {
  using value_type = IncompleteOutcome;

  Kokkos::View<const Scalar*, Memory> entries;  ///< of A
  Ordinal n;
  Kokkos::View<const Offset*, Memory> row_map, diagonal;
  Kokkos::View<const Scalar*, Memory> values;
  bool symmetric;

  KOKKOS_FUNCTION void operator()(std::int64_t t, value_type& seen) const {
    constexpr double infinity = Kokkos::Experimental::infinity_v<double>;
    const auto magnitude = [](const Scalar& value) {
      return static_cast<double>(ScalarTraits<Scalar>::magnitude(value));
    };
    if (t < static_cast<std::int64_t>(entries.extent(0)))
      seen.largest_entry = Kokkos::max(seen.largest_entry, magnitude(entries(t)));
    if (t < static_cast<std::int64_t>(row_map(n))) {
      const Scalar value = values(t);
      if (ScalarTraits<Scalar>::is_finite(value)) {
        seen.largest_factor = Kokkos::max(seen.largest_factor, magnitude(value));
      } else {
        seen.largest_factor = infinity;
        note(seen, row_of_entry(row_map, n, static_cast<Offset>(t)));
      }
    }
    if (t < static_cast<std::int64_t>(n)) {
      const Scalar pivot = values(diagonal(t));
      const double size = magnitude(pivot);
      if (size < seen.smallest_pivot) seen.smallest_pivot = size;
      if (size == 0 || (symmetric && !is_positive(pivot))) note(seen, t);
    }
  }
  KOKKOS_FUNCTION static bool is_positive(const Scalar& pivot) {
    if constexpr (ScalarTraits<Scalar>::is_complex) {
      // rounding may leave a pivot of a Hermitian matrix beside the real axis
      return pivot.real() > 0 && Kokkos::abs(pivot.imag()) < pivot.real();
    } else {
      return pivot > 0;
    }
  }
  KOKKOS_FUNCTION static void note(value_type& seen, std::int64_t row) {
    if (seen.bad_row < 0 || row < seen.bad_row) seen.bad_row = row;
  }
  KOKKOS_FUNCTION void init(value_type& seen) const {
    seen.largest_entry = seen.largest_factor = 0;
    seen.smallest_pivot = Kokkos::Experimental::infinity_v<double>;
    seen.bad_row = -1;
  }
  KOKKOS_FUNCTION void join(value_type& seen, const value_type& other) const {
    seen.largest_entry = Kokkos::max(seen.largest_entry, other.largest_entry);
    seen.largest_factor = Kokkos::max(seen.largest_factor, other.largest_factor);
    seen.smallest_pivot = Kokkos::min(seen.smallest_pivot, other.smallest_pivot);
    if (other.bad_row >= 0) note(seen, other.bad_row);
  }
};

}  // namespace Impl

template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
IncompleteOutcome inspect_factors(
    const ExecutionSpace& exec,
    const CsrView<Scalar, Ordinal, Offset, typename ExecutionSpace::memory_space>& A,
    const IncompleteFactors<Scalar, Ordinal, Offset, typename ExecutionSpace::memory_space>& factors,
    bool symmetric, const Impl::AsyncResult<IncompleteOutcome, ExecutionSpace>& result) {
  using Memory = typename ExecutionSpace::memory_space;
  if (factors.n == 0) return {};
  const auto last =
      std::max({A.values.extent(0), factors.values.extent(0), static_cast<std::size_t>(factors.n)});
  Kokkos::parallel_reduce(
      "lutra::ilu::inspect",
      Impl::by_argument(Kokkos::RangePolicy<ExecutionSpace>(exec, 0, static_cast<std::int64_t>(last))),
      Impl::InspectElement<Scalar, Ordinal, Offset, Memory>{A.values, factors.n, factors.row_map,
                                                            factors.diagonal, factors.values, symmetric},
      Kokkos::View<IncompleteOutcome, Memory>(result.device().data()));
  return result.fetch(exec)(0);
}

#define LUTRA_INSTANTIATE(Scalar, Ordinal, Offset, Space)                           \
  template IncompleteOutcome inspect_factors<Scalar, Ordinal, Offset, Space>(       \
      const Space&, const CsrView<Scalar, Ordinal, Offset, Space::memory_space>&,   \
      const IncompleteFactors<Scalar, Ordinal, Offset, Space::memory_space>&, bool, \
      const Impl::AsyncResult<IncompleteOutcome, Space>&);
LUTRA_FOR_EACH_MATRIX_AND_SPACE(LUTRA_INSTANTIATE)

}  // namespace lutra
