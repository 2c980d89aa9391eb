// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_CSROPERATOR_HPP
#define LUTRA_CSROPERATOR_HPP

#include "Lutra_CsrView.hpp"
#include "Lutra_MatrixOperator.hpp"

namespace lutra {

namespace Impl {

/// op(A) by rows for kernels. Entry p of a row has the value values(source(p)), or values(p) if `source` is
/// empty; conjugated if requested.
template <class Scalar, class MemorySpace>
struct CsrRows {
  CsrPattern<Ordinal, Offset, MemorySpace> pattern;
  Kokkos::View<const Scalar*, MemorySpace> values;
  Kokkos::View<const Offset*, MemorySpace> source;
  bool conjugate = false;
  Kokkos::View<const Ordinal*, MemorySpace> long_rows;  ///< rows processed by one team each; devices only

  KOKKOS_FORCEINLINE_FUNCTION Scalar value(Offset p) const {
    const Scalar stored = values(source.extent(0) == 0 ? p : source(p));
    return conjugate ? ScalarTraits<Scalar>::conjugate(stored) : stored;
  }
  KOKKOS_FORCEINLINE_FUNCTION bool is_long(Offset length) const {
    return long_rows.extent(0) > 0 && length > max_short_row;
  }

  /// Most entries that one thread sums; others would wait for a longer row, so a team sums it.
  static constexpr Offset max_short_row = 128;
};

}  // namespace Impl

/// op(A) by rows. One array of values serves A, Aᵀ and Aᴴ: the pattern is that of op(A), with the position of
/// each entry in the values of A.
///
/// On hosts a thread processes rows in turn, all columns of a row at once, so that k columns take one pass
/// over A; each sum follows the order of the row. On devices a thread processes one column of one row.
/// Neighbouring threads process the columns of the same row and share reads of A. A row of more than 128
/// entries takes a team.
template <class Scalar, class ExecutionSpace>
class CsrOperator final : public MatrixOperator<Scalar, ExecutionSpace> {
 public:
  using Base = MatrixOperator<Scalar, ExecutionSpace>;
  using typename Base::Memory;
  using typename Base::Rows;
  using typename Base::Scale;
  using Pattern = CsrPattern<Ordinal, Offset, Memory>;

  CsrOperator() = default;
  /// @param pattern   of op(A)
  /// @param source    [nnz] position of each entry in the values of A; empty for A itself
  /// @param conjugate true for Aᴴ
  /// On devices waits once, for the list of long rows, and allocates if there are any.
  CsrOperator(const ExecutionSpace& exec, const Pattern& pattern,
              const Kokkos::View<const Offset*, Memory>& source, bool conjugate, const MemoryBudget& budget);

  /// Sets the values of A without copying them. Invalidates the norm.
  void set_values(const Kokkos::View<const Scalar*, Memory>& values) {
    m_rows.values = values;
    this->set_norm(-1);
  }
  bool is_empty() const { return m_rows.pattern.n_rows == 0; }

  std::int64_t size() const override { return m_rows.pattern.n_rows; }
  void apply(const ExecutionSpace& exec, const Rows& X, const Rows& Y) const override;
  void residual(const ExecutionSpace& exec, const Rows& B, const Rows& X, const Rows& R,
                const ResidualMaxima<ExecutionSpace>& maxima) const override;
  void gather_norm(const ExecutionSpace& exec, const Scale& row_scale, const Scale& col_scale,
                   const ResidualMaxima<ExecutionSpace>& maxima) const override;
  void apply_magnitudes(const ExecutionSpace& exec, const Rows& X, const Rows& G) const override;
  BilinearForm bilinear_form(const ExecutionSpace& exec, const Rows& W, const Rows& Z) const override;

 private:
  Impl::CsrRows<Scalar, Memory> m_rows;
  MemoryReservation m_reservation;
};

}  // namespace lutra

#endif
