// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_DIAGONALPRECONDITIONER_HPP
#define LUTRA_DIAGONALPRECONDITIONER_HPP

#include "Lutra_CsrView.hpp"
#include "Lutra_Factorization.hpp"
#include "Lutra_MemoryBudget.hpp"

namespace lutra {

/// Jacobi preconditioner: X = op(D)⁻¹·B with the diagonal D of A. An entry of D that is missing or has no
/// finite inverse is replaced by the largest magnitude of its row, or by 1 if that has none either.
template <class Scalar, class ExecutionSpace>
class DiagonalPreconditioner final : public Preconditioner<Scalar, ExecutionSpace> {
 public:
  using Memory = typename ExecutionSpace::memory_space;
  using typename Preconditioner<Scalar, ExecutionSpace>::Rows;

  /// Allocates n scalars. @throws OutOfMemoryError
  DiagonalPreconditioner(const ExecutionSpace& exec, std::size_t n, const MemoryBudget& budget);

  /// Copies the diagonal of a matrix of order n with sorted rows. Neither checks nor waits.
  void set_values(const ExecutionSpace& exec, const CsrView<Scalar, Ordinal, Offset, Memory>& A);

  std::int64_t size() const override { return static_cast<std::int64_t>(m_inverse.extent(0)); }
  void apply(const ExecutionSpace& exec, Transposition op, const Rows& B, const Rows& X) override;

 private:
  MemoryReservation m_reservation;
  Kokkos::View<Scalar*, Memory> m_inverse;  ///< [n] entries of D⁻¹
};

}  // namespace lutra

#endif
