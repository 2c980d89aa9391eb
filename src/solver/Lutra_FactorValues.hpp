// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_FACTORVALUES_HPP
#define LUTRA_FACTORVALUES_HPP

#include <cstdint>
#include <vector>

#include "Lutra_ScalarTraits.hpp"

namespace lutra {

/// Factors copied to the host, for inspection and for other programs. Let F(k, l) = r·A(i, j)·c with
/// i = row_order[k] and j = col_order[l], where r and c are the scales of row i and column j. Then
///
///     F = L·U      LU, incomplete LU; U has the pivots on its diagonal
///     F = L·D·Lᴴ   LDLᵀ of Hermitian matrices, and of real ones; Lᵀ of complex symmetric ones
///
/// up to rounding, perturbed pivots, and the entries that incomplete factors drop.
template <class Scalar>
struct FactorValues {
  std::vector<std::int64_t> row_order;      ///< [n] user's row at each position of F
  std::vector<std::int64_t> col_order;      ///< [n] user's column at each position of F
  std::vector<RealOf<Scalar>> row_scale;    ///< [n] indexed by the user's rows
  std::vector<RealOf<Scalar>> col_scale;    ///< [n] indexed by the user's columns
  std::vector<std::int64_t> rows, columns;  ///< [entries] position in F of each entry of L and U
  std::vector<Scalar> values;        ///< [entries] value of each entry; L's unit diagonal is not stored
  std::vector<Scalar> diagonal;      ///< [n] diagonal of D; empty if there is no D
  std::vector<Scalar> off_diagonal;  ///< [n] D(k + 1, k); nonzero only at the first row of a 2 × 2 pivot
};

/// Interface of factorizations whose factors can be copied to the host.
template <class Scalar, class ExecutionSpace>
class WritableFactors {
 public:
  virtual ~WritableFactors() = default;
  /// Copies the latest factors to the host. Fences.
  /// @throws InputError for LU with threshold pivoting on devices
  virtual FactorValues<Scalar> write_out(const ExecutionSpace& exec) const = 0;
};

}  // namespace lutra

#endif
