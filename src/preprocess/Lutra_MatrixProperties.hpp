// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_MATRIXPROPERTIES_HPP
#define LUTRA_MATRIXPROPERTIES_HPP

#include <cstdint>
#include <optional>

#include "Lutra_CsrView.hpp"

namespace lutra {

/// Properties of a matrix that require no factorization.
struct MatrixProperties {
  std::int64_t rows = 0, cols = 0, nnz = 0;
  double pattern_symmetry = 0;  ///< share of off-diagonal entries (i,j) with an entry (j,i); 1 if there are
                                ///< none
  double value_symmetry = 0;    ///< share of off-diagonal entries with a(j,i) = a(i,j), 1 if there are none.
                                ///< Without conjugation: a complex Hermitian matrix counts as unsymmetric
  std::optional<std::int64_t> structural_rank;
  std::int64_t zero_diagonals = 0;   ///< number of diagonal positions without an entry or with a zero
  std::int64_t lower_bandwidth = 0;  ///< max i − j over entries
  std::int64_t upper_bandwidth = 0;  ///< max j − i over entries
  std::int64_t longest_row = 0, longest_column = 0;
  std::int64_t empty_rows = 0, empty_columns = 0;
};

/// Properties of a matrix on the host, possibly rectangular; rows sorted. Cost: O(nnz log(row length)) and a
/// maximum transversal.
template <class Scalar>
MatrixProperties matrix_properties(const CsrView<Scalar, Ordinal, Offset, Kokkos::HostSpace>& matrix);

/// Number of diagonal positions without an entry or with a zero. O(nnz)
template <class Scalar>
std::int64_t count_zero_diagonals(const CsrView<Scalar, Ordinal, Offset, Kokkos::HostSpace>& matrix);

}  // namespace lutra

#endif
