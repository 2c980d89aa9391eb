// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_DiagonalPreconditioner.hpp"

#include "Lutra_BinarySearch.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_Instantiate.hpp"
#include "Lutra_RefinementKernels.hpp"

namespace lutra {

template <class Scalar, class ExecutionSpace>
DiagonalPreconditioner<Scalar, ExecutionSpace>::DiagonalPreconditioner(const ExecutionSpace& exec,
                                                                       std::size_t n,
                                                                       const MemoryBudget& budget)
    : m_reservation(budget),
      m_inverse(m_reservation.template allocate<Kokkos::View<Scalar*, Memory>>(
          exec, "lutra::krylov::inverse_diagonal", n)) {}

template <class Scalar, class ExecutionSpace>
void DiagonalPreconditioner<Scalar, ExecutionSpace>::set_values(
    const ExecutionSpace& exec, const CsrView<Scalar, Ordinal, Offset, Memory>& A) {
  const auto inverse = m_inverse;
  Kokkos::parallel_for(
      "lutra::krylov::diagonal", Kokkos::RangePolicy<ExecutionSpace>(exec, 0, A.n_rows),
      KOKKOS_LAMBDA(const Ordinal i) {
        const Offset end = A.row_map(i + 1);
        const Offset p =
            Impl::first_not_before(A.row_map(i), end, [&](const Offset q) { return A.entries(q) < i; });
        const Scalar one(1);
        if (p < end && A.entries(p) == i) {
          inverse(i) = one / A.values(p);
          if (ScalarTraits<Scalar>::is_finite(inverse(i))) return;
        }
        RealOf<Scalar> largest = 0;
        for (Offset q = A.row_map(i); q < end; ++q)
          largest = Kokkos::max(largest, ScalarTraits<Scalar>::magnitude(A.values(q)));
        inverse(i) = one / Scalar(largest);
        if (!ScalarTraits<Scalar>::is_finite(inverse(i))) inverse(i) = one;
      });
}

template <class Scalar, class ExecutionSpace>
void DiagonalPreconditioner<Scalar, ExecutionSpace>::apply(const ExecutionSpace& exec, Transposition op,
                                                           const Rows& B, const Rows& X) {
  const auto inverse = m_inverse;
  const bool conjugate = op == Transposition::adjoint;
  const std::size_t columns = X.extent(1);
  Kokkos::parallel_for(
      "lutra::krylov::jacobi", Impl::all_rows(exec, X), KOKKOS_LAMBDA(const std::int64_t i) {
        const Scalar factor = conjugate ? ScalarTraits<Scalar>::conjugate(inverse(i)) : inverse(i);
        for (std::size_t c = 0; c < columns; ++c) X(i, c) = factor * B(i, c);
      });
}

#define LUTRA_DIAGONAL_PRECONDITIONER(Scalar, Space) template class DiagonalPreconditioner<Scalar, Space>;
LUTRA_FOR_EACH_SCALAR_AND_SPACE(LUTRA_DIAGONAL_PRECONDITIONER)

}  // namespace lutra
