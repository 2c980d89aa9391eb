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

/// A matrix partitioned into a set s of rows and columns and the remaining ones, r:
///
///         r     s
///       +-----+-----+
///     r | Arr | Ars |    r in ascending order, s in the order given
///       +-----+-----+
///     s | Asr | Ass |
///       +-----+-----+
///
/// An object is created for a pattern. Each call takes the values of the whole matrix. Only the constructor
/// and `check` fence.
template <class Scalar, class ExecutionSpace>
class SchurBlocks {
 public:
  using Memory = typename ExecutionSpace::memory_space;
  using Matrix = CsrView<Scalar, Ordinal, Offset, Memory>;
  using Columns = Kokkos::View<Scalar**, Kokkos::LayoutLeft, Memory>;
  using Input = Kokkos::View<const Scalar**, Kokkos::LayoutLeft, Memory>;

  SchurBlocks() = default;
  /// @param symmetry symmetry that the matrix must have; empty: none
  /// @throws InputError if the matrix is malformed (check_square_matrix) or not symmetric (check_symmetry),
  ///         or if a row of the set is out of range or repeated; OutOfMemoryError
  SchurBlocks(const ExecutionSpace& exec, const Matrix& A, const std::vector<Ordinal>& set,
              std::optional<Symmetry> symmetry, const MemoryBudget& budget);

  /// @throws InputError unless A has the pattern given to the constructor, finite values and the required
  ///         symmetry; if `validate` is false, only the extents are checked
  void check(const ExecutionSpace& exec, const Matrix& A, bool validate) const;
  /// Returns the values of A on the checked pattern.
  Matrix on_own_pattern(const Matrix& A) const {
    return {m_pattern.n_rows, m_pattern.n_cols, m_pattern.row_map, m_pattern.entries, A.values};
  }

  Ordinal rest_rows() const { return m_rest.n_rows; }
  Ordinal set_rows() const { return static_cast<Ordinal>(m_set_row.extent(0)); }

  /// Returns Arr. The next call overwrites its values.
  Matrix rest(const ExecutionSpace& exec, const Matrix& A) const;
  /// Returns the border of Arr, without values, for a Schur complement that will be stored in `complement`.
  /// Fences.
  std::shared_ptr<Border<Scalar, ExecutionSpace>> border(const ExecutionSpace& exec, const Matrix& A,
                                                         const Columns& complement);
  /// Sets the values of the border.
  void set_border(const ExecutionSpace& exec, const Matrix& A,
                  const Border<Scalar, ExecutionSpace>& border) const;
  /// Sets B to columns `first` … of Ars.
  void columns_of_set(const ExecutionSpace& exec, const Matrix& A, Ordinal first, const Columns& B) const;
  /// Sets S to columns `first` … of Ass − Asr·X.
  void complement(const ExecutionSpace& exec, const Matrix& A, Ordinal first, const Columns& X,
                  const Columns& S) const;
  /// Splits B into Br and Bs.
  void divide(const ExecutionSpace& exec, const Input& B, const Columns& rest, const Columns& set) const;
  /// G −= Asr·X
  void subtract_set_rows(const ExecutionSpace& exec, const Matrix& A, const Columns& X,
                         const Columns& G) const;
  /// R −= Ars·Y
  void subtract_rest_rows(const ExecutionSpace& exec, const Matrix& A, const Input& Y,
                          const Columns& R) const;
  /// Combines X from its two parts.
  void unite(const ExecutionSpace& exec, const Columns& rest, const Input& set, const Columns& X) const;

 private:
  CsrPattern<Ordinal, Offset, Memory> m_pattern;  ///< pattern of the whole matrix; a copy
  std::optional<Symmetry> m_symmetry;
  /// Transposed positions of the whole matrix, used to check its symmetry.
  SymmetricPattern<Memory> m_mirror;
  MatrixCheckWorkspace<ExecutionSpace> m_check;
  Matrix m_rest;
  Kokkos::View<Scalar*, Memory> m_values;        ///< values of Arr
  Kokkos::View<const Offset*, Memory> m_source;  ///< position in the values of A of each entry of Arr
  /// [n] k for the k-th row of r, −1 − k for the k-th row of s.
  Kokkos::View<const Ordinal*, Memory> m_position;
  Kokkos::View<const Ordinal*, Memory> m_rest_row, m_set_row;  ///< row of A for each row of r and of s
  MemoryReservation m_reservation;
};

}  // namespace lutra::Impl

#endif
