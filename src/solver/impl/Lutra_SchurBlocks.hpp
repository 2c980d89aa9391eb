// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_SCHURBLOCKS_HPP
#define LUTRA_SCHURBLOCKS_HPP

#include <optional>
#include <vector>

#include "Lutra_Border.hpp"
#include "Lutra_CheckMatrix.hpp"
#include "Lutra_CsrView.hpp"
#include "Lutra_MemoryBudget.hpp"
#include "Lutra_SymmetricPattern.hpp"

namespace lutra::Impl {

/// A matrix divided by a set s of its rows and columns and the rest r:
///
///         r     s
///       +-----+-----+
///     r | Arr | Ars |    r in ascending order, s in the order given
///       +-----+-----+
///     s | Asr | Ass |
///       +-----+-----+
///
/// Made for a pattern; values come with each call, those of the whole matrix. Nothing fences but the
/// constructor and `check`.
template <class Scalar, class ExecutionSpace>
class SchurBlocks {
 public:
  using Memory = typename ExecutionSpace::memory_space;
  using Matrix = CsrView<Scalar, Ordinal, Offset, Memory>;
  using Columns = Kokkos::View<Scalar**, Kokkos::LayoutLeft, Memory>;
  using Input = Kokkos::View<const Scalar**, Kokkos::LayoutLeft, Memory>;

  SchurBlocks() = default;
  /// @param symmetry of a matrix that has to be symmetric; none: of any
  /// @throws InputError for a malformed matrix (check_square_matrix), one that is not symmetric
  ///         (check_symmetry), rows of the set out of range or twice in it; OutOfMemoryError
  SchurBlocks(const ExecutionSpace& exec, const Matrix& A, const std::vector<Ordinal>& set,
              std::optional<Symmetry> symmetry, const MemoryBudget& budget);

  /// @throws InputError unless A has the pattern of the constructor's, values that are finite, and symmetry;
  ///         without `validate` its extents alone are looked at
  void check(const ExecutionSpace& exec, const Matrix& A, bool validate) const;
  /// The values of A on the pattern that was checked.
  Matrix on_own_pattern(const Matrix& A) const {
    return {m_pattern.n_rows, m_pattern.n_cols, m_pattern.row_map, m_pattern.entries, A.values};
  }

  Ordinal rest_rows() const { return m_rest.n_rows; }
  Ordinal set_rows() const { return static_cast<Ordinal>(m_set_row.extent(0)); }

  /// Arr; its values are overwritten by the next call.
  Matrix rest(const ExecutionSpace& exec, const Matrix& A) const;
  /// The whole as a border of Arr, without values, for a Schur complement that will stand in `complement`.
  /// Fences.
  std::shared_ptr<Border<Scalar, ExecutionSpace>> border(const ExecutionSpace& exec, const Matrix& A,
                                                         const Columns& complement);
  /// Its values.
  void set_border(const ExecutionSpace& exec, const Matrix& A,
                  const Border<Scalar, ExecutionSpace>& border) const;
  /// B = columns `first` … of Ars.
  void columns_of_set(const ExecutionSpace& exec, const Matrix& A, Ordinal first, const Columns& B) const;
  /// S = columns `first` … of Ass − Asr·X
  void complement(const ExecutionSpace& exec, const Matrix& A, Ordinal first, const Columns& X,
                  const Columns& S) const;
  /// Br and Bs
  void divide(const ExecutionSpace& exec, const Input& B, const Columns& rest, const Columns& set) const;
  /// G −= Asr·X
  void subtract_set_rows(const ExecutionSpace& exec, const Matrix& A, const Columns& X,
                         const Columns& G) const;
  /// R −= Ars·Y
  void subtract_rest_rows(const ExecutionSpace& exec, const Matrix& A, const Input& Y,
                          const Columns& R) const;
  /// X from its parts
  void unite(const ExecutionSpace& exec, const Columns& rest, const Input& set, const Columns& X) const;

 private:
  CsrPattern<Ordinal, Offset, Memory> m_pattern;  ///< of the whole; a copy
  std::optional<Symmetry> m_symmetry;
  SymmetricPattern<Memory> m_mirror;  ///< of the whole, to check its symmetry
  MatrixCheckWorkspace<ExecutionSpace> m_check;
  Matrix m_rest;
  Kokkos::View<Scalar*, Memory> m_values;           ///< of Arr
  Kokkos::View<const Offset*, Memory> m_source;     ///< position of each in the values of A
  Kokkos::View<const Ordinal*, Memory> m_position;  ///< [n] k of the k-th row of r, −1 − k of the k-th of s
  Kokkos::View<const Ordinal*, Memory> m_rest_row, m_set_row;  ///< row of A of each row of r, of s
  MemoryReservation m_reservation;
};

}  // namespace lutra::Impl

#endif
