// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_CSROPERATOR_HPP
#define LUTRA_CSROPERATOR_HPP

#include "Lutra_CsrView.hpp"
#include "Lutra_MatrixOperator.hpp"

namespace lutra {

namespace Impl {

/// op(A) by rows, as kernels take it: entry p of a row has the value values(source(p)), or values(p) where
/// `source` is empty, conjugated if asked.
template <class Scalar, class MemorySpace>
struct CsrRows {
  CsrPattern<Ordinal, Offset, MemorySpace> pattern;
  Kokkos::View<const Scalar*, MemorySpace> values;
  Kokkos::View<const Offset*, MemorySpace> source;
  bool conjugate = false;
  Kokkos::View<const Ordinal*, MemorySpace> long_rows;  ///< rows that take a team each; on devices only

  KOKKOS_FORCEINLINE_FUNCTION Scalar value(Offset p) const {
    const Scalar stored = values(source.extent(0) == 0 ? p : source(p));
    return conjugate ? ScalarTraits<Scalar>::conjugate(stored) : stored;
  }
  KOKKOS_FORCEINLINE_FUNCTION bool is_long(Offset length) const {
    return long_rows.extent(0) > 0 && length > max_short_row;
  }

  static constexpr Offset max_short_row = 128;  ///< entries one thread adds up
};

}  // namespace Impl

/// op(A) by rows. One set of values serves A, Aᵀ and Aᴴ: the pattern is that of op(A), with the position of
/// each of its entries in the values of A.
///
/// On hosts a thread takes rows one by one and works on all columns of a row at once, so that k columns take
/// one pass over A; each sum goes in the order of the row. On devices a thread takes one column of one row,
/// neighbours the columns of the same row, and reads of A are shared; rows of more than 128 entries take a
/// team each.
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
  /// @param conjugate for Aᴴ
  /// On devices one wait, for the list of long rows, and an allocation where there are any.
  CsrOperator(const ExecutionSpace& exec, const Pattern& pattern,
              const Kokkos::View<const Offset*, Memory>& source, bool conjugate, const MemoryBudget& budget);

  /// Values of A; they are not copied. The norm has to be gathered anew.
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
