// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_InspectFactors.hpp"

#include <limits>

#include "Lutra_Index.hpp"
#include "Lutra_Instantiate.hpp"
#include "Lutra_RelaxedAccess.hpp"
#include "Lutra_RowTeams.hpp"

namespace lutra {
namespace Impl {

/// Largest finite magnitude of each row of A; 1 for zero rows.
template <class Scalar, class Memory>
struct RowSizes {
  using Real = RealOf<Scalar>;
  CsrView<Scalar, Ordinal, Offset, Memory> A;
  Kokkos::View<Real*, Memory> size;
  RowTeams rows;

  template <class Member>
  KOKKOS_FUNCTION void operator()(const Member& team) const {
    rows.visit_rows(team, A.n_rows, [&](const Ordinal i) {
      Real largest = 0;
      Kokkos::parallel_reduce(
          Kokkos::ThreadVectorRange(team, A.row_map(i), A.row_map(i + 1)),
          [&](const Offset p, Real& max) {
            const Real a = ScalarTraits<Scalar>::magnitude(A.values(p));
            if (Kokkos::isfinite(a) && a > max) max = a;
          },
          Kokkos::Max<Real>(largest));
      Kokkos::single(Kokkos::PerThread(team), [&]() { size(i) = largest > 0 ? largest : Real(1); });
    });
  }
};

/// Inspects the rows of L and U, and raises the maxima by atomics, which are rare.
template <class Scalar, class Memory>
struct InspectRows {
  Ordinal n;
  Kokkos::View<const Offset*, Memory> row_map, diagonal;
  Kokkos::View<const Ordinal*, Memory> entries;
  Kokkos::View<const Scalar*, Memory> values;
  Kokkos::View<const RealOf<Scalar>*, Memory> row_size;
  bool symmetric;
  Kokkos::View<IncompleteOutcome*, Memory> outcome;  ///< [1]
  RowTeams rows;

  template <class Member>
  KOKKOS_FUNCTION void operator()(const Member& team) const {
    rows.visit_rows(team, n, [&](const Ordinal i) {
      const Offset pivot = diagonal(i);
      const auto size = static_cast<double>(row_size(i));
      double lower = 0, upper = 0;
      Kokkos::parallel_reduce(
          Kokkos::ThreadVectorRange(team, row_map(i), pivot),
          [&](const Offset p, double& max) {
            max = Kokkos::max(max, part(values(p), static_cast<double>(row_size(entries(p))) / size));
          },
          Kokkos::Max<double>(lower));
      Kokkos::parallel_reduce(
          Kokkos::ThreadVectorRange(team, pivot, row_map(i + 1)),
          [&](const Offset p, double& max) { max = Kokkos::max(max, part(values(p), 1) / size); },
          Kokkos::Max<double>(upper));
      Kokkos::single(Kokkos::PerThread(team), [&]() { note(i, values(pivot), lower, upper); });
    });
  }
  /// |value|·factor; infinity if value is not finite.
  KOKKOS_FUNCTION static double part(const Scalar& value, double factor) {
    if (!ScalarTraits<Scalar>::is_finite(value)) return Kokkos::Experimental::infinity_v<double>;
    const auto size = static_cast<double>(ScalarTraits<Scalar>::magnitude(value));
    return size > 0 ? size * factor : 0;  // factor may be infinite
  }
  KOKKOS_FUNCTION static bool is_positive(const Scalar& pivot) {
    if constexpr (ScalarTraits<Scalar>::is_complex) {
      // rounding may move a pivot of a Hermitian matrix off the real axis
      return pivot.real() > 0 && Kokkos::abs(pivot.imag()) < pivot.real();
    } else {
      return pivot > 0;
    }
  }
  KOKKOS_FUNCTION void note(Ordinal i, const Scalar& pivot, double lower, double upper) const {
    IncompleteOutcome& seen = outcome(0);
    if (lower > load_relaxed(seen.largest_lower)) Kokkos::atomic_max(&seen.largest_lower, lower);
    if (upper > load_relaxed(seen.largest_upper)) Kokkos::atomic_max(&seen.largest_upper, upper);
    const bool is_finite = Kokkos::max(lower, upper) < Kokkos::Experimental::infinity_v<double>;
    if (is_finite && pivot != Scalar(0) && (!symmetric || is_positive(pivot))) return;
    Kokkos::atomic_min(&seen.bad_row, static_cast<std::int64_t>(i));
  }
};

}  // namespace Impl

template <class Scalar, class ExecutionSpace>
IncompleteOutcome inspect_factors(
    const ExecutionSpace& exec,
    const CsrView<Scalar, Ordinal, Offset, typename ExecutionSpace::memory_space>& A,
    const IncompleteFactors<Scalar, typename ExecutionSpace::memory_space>& factors, bool symmetric,
    const InspectWorkspace<Scalar, ExecutionSpace>& work) {
  using Memory = typename ExecutionSpace::memory_space;
  if (factors.n == 0) return {};
  const double mean_row = static_cast<double>(factors.nnz()) / static_cast<double>(factors.n);
  const Impl::RowTeams rows(exec, Impl::vector_length_for<ExecutionSpace>(mean_row), 1024);
  const auto policy = Impl::by_argument(rows.policy(exec, factors.n));
  Kokkos::parallel_for("lutra::ilu::row_sizes", policy,
                       Impl::RowSizes<Scalar, Memory>{A, work.row_size, rows});
  constexpr std::int64_t none = std::numeric_limits<std::int64_t>::max();
  work.outcome.fill(exec, {0, 0, none});
  Kokkos::parallel_for("lutra::ilu::inspect", policy,
                       Impl::InspectRows<Scalar, Memory>{factors.n, factors.row_map, factors.diagonal,
                                                         factors.entries, factors.values, work.row_size,
                                                         symmetric, work.outcome.device(), rows});
  IncompleteOutcome outcome = work.outcome.fetch(exec)(0);
  if (outcome.bad_row == none) outcome.bad_row = -1;
  return outcome;
}

#define LUTRA_INSTANTIATE(Scalar, Space)                                          \
  template IncompleteOutcome inspect_factors<Scalar, Space>(                      \
      const Space&, const CsrView<Scalar, Ordinal, Offset, Space::memory_space>&, \
      const IncompleteFactors<Scalar, Space::memory_space>&, bool, const InspectWorkspace<Scalar, Space>&);
LUTRA_FOR_EACH_SCALAR_AND_SPACE(LUTRA_INSTANTIATE)

}  // namespace lutra
