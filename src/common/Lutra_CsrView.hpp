// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_CSRVIEW_HPP
#define LUTRA_CSRVIEW_HPP

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <span>
#include <vector>

#include "Lutra_Index.hpp"

namespace lutra {

/// Pattern of a sparse matrix in compressed sparse row format, in memory space `MemorySpace`. A pattern by
/// columns is stored as that of the transpose; functions that expect one say so.
template <class Ordinal, class Offset, class MemorySpace>
struct CsrPattern {
  static_assert(Kokkos::is_memory_space<MemorySpace>::value,
                "lutra::CsrPattern: give a memory space, as in Space::memory_space");
  Ordinal n_rows = 0;
  Ordinal n_cols = 0;
  Kokkos::View<const Offset*, MemorySpace> row_map;   ///< [n_rows + 1] start of each row in `entries`
  Kokkos::View<const Ordinal*, MemorySpace> entries;  ///< [row_map(n_rows)] column of each entry

  std::int64_t nnz() const { return static_cast<std::int64_t>(entries.extent(0)); }
};

/// Sparse matrix in compressed sparse row format, in memory space `MemorySpace`; input of the library's entry
/// points.
template <class Scalar, class Ordinal, class Offset, class MemorySpace>
struct CsrView {
  static_assert(
      Kokkos::is_memory_space<MemorySpace>::value,
      "lutra::CsrView: give a memory space, as in Space::memory_space, or take the solver's matrix_type");
  Ordinal n_rows = 0;
  Ordinal n_cols = 0;
  Kokkos::View<const Offset*, MemorySpace> row_map;   ///< [n_rows + 1] start of each row in `entries`
  Kokkos::View<const Ordinal*, MemorySpace> entries;  ///< [row_map(n_rows)] column of each entry
  Kokkos::View<const Scalar*, MemorySpace> values;    ///< [row_map(n_rows)] value of each entry

  std::int64_t nnz() const { return static_cast<std::int64_t>(entries.extent(0)); }
  CsrPattern<Ordinal, Offset, MemorySpace> pattern() const { return {n_rows, n_cols, row_map, entries}; }
};

/// Sparse matrix in compressed sparse row format that owns its host arrays; result of readers and generators.
/// Each row is sorted by column, without duplicates.
template <class Scalar, class Ordinal = int, class Offset = std::int64_t>
struct HostMatrix {
  Ordinal n_rows = 0;
  Ordinal n_cols = 0;
  std::vector<Offset> row_map;   ///< [n_rows + 1]
  std::vector<Ordinal> entries;  ///< [nnz]
  std::vector<Scalar> values;    ///< [nnz]

  Offset nnz() const { return static_cast<Offset>(entries.size()); }
};

/// Rows of a square matrix on one rank. Each row is on exactly one rank, which also holds the corresponding
/// elements of B and X.
template <class Scalar>
struct DistributedRows {
  std::int64_t n = 0;                 ///< number of rows of the whole matrix
  std::vector<std::int64_t> rows;     ///< row indices in the whole matrix, in any order
  std::vector<std::int64_t> row_map;  ///< [rows + 1] row pointers
  std::vector<std::int64_t> columns;  ///< column indices in the whole matrix, ascending in each row
  std::vector<Scalar> values;
};

/// Unmanaged view of a host matrix; `matrix` must outlive it.
template <class Scalar, class Ordinal, class Offset>
CsrView<Scalar, Ordinal, Offset, Kokkos::HostSpace> make_view(
    const HostMatrix<Scalar, Ordinal, Offset>& matrix) {
  using Kokkos::HostSpace;
  return {matrix.n_rows, matrix.n_cols,
          Kokkos::View<const Offset*, HostSpace>(matrix.row_map.data(), matrix.row_map.size()),
          Kokkos::View<const Ordinal*, HostSpace>(matrix.entries.data(), matrix.entries.size()),
          Kokkos::View<const Scalar*, HostSpace>(matrix.values.data(), matrix.values.size())};
}

/// View of a Kokkos Kernels matrix (`KokkosSparse::CrsMatrix`). Nothing is copied; `matrix` must outlive the
/// view unless its Views are managed. The row map keeps its type, by default `std::size_t` in Kokkos Kernels.
template <class Matrix>
requires requires(const Matrix& A) {
  A.graph.row_map, A.graph.entries, A.values;
}
CsrView<typename Matrix::non_const_value_type, typename Matrix::non_const_ordinal_type,
        typename Matrix::non_const_size_type, typename Matrix::memory_space>
make_view(const Matrix& matrix) {
  return {matrix.numRows(), matrix.numCols(), matrix.graph.row_map, matrix.graph.entries, matrix.values};
}

/// System to solve with the factors.
enum class Transposition {
  none,        ///< A·X = B
  transposed,  ///< Aᵀ·X = B
  adjoint      ///< Aᴴ·X = B
};

/// Kind of symmetry; no difference for real scalars.
enum class Symmetry {
  symmetric,  ///< A = Aᵀ
  hermitian   ///< A = Aᴴ
};

/// Triangle of a symmetric matrix that is read.
enum class Triangle {
  lower,  ///< entries on and below the diagonal; the rest is ignored, including NaN and infinity
  upper,  ///< entries on and above the diagonal; the rest is ignored, including NaN and infinity
  both    ///< lower entries, after a comparison with the upper ones
};

}  // namespace lutra

#endif
