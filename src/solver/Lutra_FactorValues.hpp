// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_FACTORVALUES_HPP
#define LUTRA_FACTORVALUES_HPP

#include <cstdint>
#include <vector>

#include "Lutra_ScalarTraits.hpp"

namespace lutra {

/// Factors written out on the host, for inspection and for other programs. With F(k, l) = r·A(i, j)·c, i =
/// row_order[k], j = col_order[l], r and c the scales of row i and column j:
///
///     F = L·U      LU, incomplete LU; U has the pivots on its diagonal
///     F = L·D·Lᴴ   LDLᵀ of Hermitian matrices, and of real ones; Lᵀ of complex symmetric ones
///
/// up to rounding, perturbed pivots and, of incomplete factors, what they leave out.
template <class Scalar>
struct FactorValues {
  std::vector<std::int64_t> row_order;      ///< [n] user's row at each position of F
  std::vector<std::int64_t> col_order;      ///< [n] user's column at each position of F
  std::vector<RealOf<Scalar>> row_scale;    ///< [n] by the user's rows
  std::vector<RealOf<Scalar>> col_scale;    ///< [n] by the user's columns
  std::vector<std::int64_t> rows, columns;  ///< [entries] positions in F of the entries of L and U, …
  std::vector<Scalar> values;               ///< … without L's unit diagonal
  std::vector<Scalar> diagonal;             ///< [n] of D; empty: there is none
  std::vector<Scalar> off_diagonal;         ///< [n] D(k + 1, k), 0 but at the first of two pivots
};

/// A factorization that can be written out.
template <class Scalar, class ExecutionSpace>
class WritableFactors {
 public:
  virtual ~WritableFactors() = default;
  /// The last factors. Fences. @throws InputError for threshold pivoting of LU on devices
  virtual FactorValues<Scalar> write_out(const ExecutionSpace& exec) const = 0;
};

}  // namespace lutra

#endif
