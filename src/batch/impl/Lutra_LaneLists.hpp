// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_LANELISTS_HPP
#define LUTRA_LANELISTS_HPP

#include <cstddef>

#include "Lutra_Index.hpp"

namespace lutra::Impl {

/// Rows of a sparse matrix as kernels for batches read them; pointers into memory of the execution space.
struct LaneRows {
  const Offset* map = nullptr;       ///< [n + 1]
  const Ordinal* entries = nullptr;  ///< column of each entry
  const Offset* at = nullptr;        ///< position of each entry among the values; null: its own
};

/// Pattern that all systems of a batch share; pointers into memory of the execution space.
///
/// F = Dr·A·Dc permuted is factorized on the pattern of L + U by rows. For symmetric matrices only rows of U
/// are stored, U = D·Lᵀ or D·Lᴴ:
///
///     row i:  l_i,k …  | u_ii … u_ij …             entries ascending
///                       ▲ diagonal[i]; its row_map[i] if symmetric
struct LaneLists {
  Ordinal n = 0;
  bool symmetric = false;
  bool hermitian = false;
  const Offset* row_map = nullptr;   ///< [n + 1]
  const Ordinal* entries = nullptr;  ///< [nnz(L + U)]
  const Offset* diagonal = nullptr;  ///< [n]
  /// Columns of L + U: rows ascending, with the positions of their values; `at` is never null.
  LaneRows columns;
  const Offset* column_diagonal = nullptr;  ///< [n] place of u_ii in `columns`

  /// [nnz] first target of the entries of row k of U that are subtracted for one entry (i, k) of L; by the
  /// entry's position in L + U, or in `columns` if symmetric. Null: targets are found by merging.
  const Offset* targets_of = nullptr;
  /// Position in row i, from row_map[i] on, of each of these entries of U; −1: not in the pattern.
  const int* targets = nullptr;

  const Ordinal* row_order = nullptr;  ///< [n] row of A at each position of F
  const Ordinal* col_order = nullptr;  ///< [n] column of A at each position of F
  LaneRows A;                          ///< of A, or of both triangles of a symmetric matrix
  LaneRows A_columns;                  ///< its columns; `at` is never null
  const Offset* place = nullptr;       ///< [nnz(A)] position in L + U of each entry; −1: none
};

/// Outcome of a factorization for each lane of a group.
template <class Real, int Lanes>
struct LaneStats {
  Real largest_entry[Lanes];     ///< of the scaled matrix, max-norm of complex numbers, as below
  Real largest_factor[Lanes];    ///< of L and U
  Real largest_factor_l[Lanes];  ///< of L
  Real smallest_pivot[Lanes];    ///< before perturbation
  Real poison[Lanes];            ///< 0, or NaN if an entry of L or U is not finite
  Real perturbed[Lanes];         ///< number of perturbed pivots
  Real negative[Lanes];          ///< number of pivots whose real part is negative, symmetric matrices
};

/// Maxima of one right-hand side for each lane, as in ResidualMaxima.
template <class Real, int Lanes>
struct LaneMaxima {
  Real ratio[Lanes], residual[Lanes], solution[Lanes], right_side[Lanes];
};

/// Systems in a group of a host: their values fill 64 bytes, a register of AVX-512.
template <class Real>
inline constexpr int host_lanes = static_cast<int>(64 / sizeof(Real));

}  // namespace lutra::Impl

#endif
