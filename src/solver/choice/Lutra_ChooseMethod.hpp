// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_CHOOSEMETHOD_HPP
#define LUTRA_CHOOSEMETHOD_HPP

#include <string>

#include "Lutra_CsrView.hpp"
#include "Lutra_DeviceModel.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_Options.hpp"

namespace lutra {

/// Each method handles all matrices of the methods before it.
enum class DirectMethod { cholesky, ldlt, lu };

/// The same as an option.
constexpr Method method_of(DirectMethod method) {
  switch (method) {
    case DirectMethod::cholesky:
      return Method::cholesky;
    case DirectMethod::ldlt:
      return Method::ldlt;
    default:
      return Method::lu;
  }
}

/// Properties on which the choice of a direct method depends.
struct MethodProperties {
  bool symmetric = false;  ///< A = Aᵀ in pattern and values, to the last bit
  bool hermitian = false;  ///< A = Aᴴ to the last bit; for real matrices the same as `symmetric`
  /// Whether A is Hermitian with aᵢᵢ ≥ Σ |aᵢⱼ|, j ≠ i, in all rows, and with strict inequality in at least
  /// one row of each connected component of the graph. A is then positive definite.
  bool diagonally_dominant = false;
  bool structurally_singular = false;  ///< LU names the rows and columns that make it singular
  std::int64_t zero_diagonals = 0;
  double flops_per_entry = 0;  ///< flops of LU per entry of L + U for a symmetric matrix in AMD order
  /// Whether the caller set an option that only LU has, or limited the memory; LU needs less memory.
  bool lu_asked = false;
};

/// Computes the properties of a square matrix, except `lu_asked`, which the caller sets. Costs O(nnz log(row
/// length)), and for a symmetric matrix also a maximum transversal and, for the flops, an AMD ordering.
/// @param A matrix on the host with sorted rows
/// @param with_flops whether `flops_per_entry` is computed; only models with `min_flops_per_entry` need it
/// @throws OutOfMemoryError
template <class Scalar>
MethodProperties method_properties(const CsrView<Scalar, Ordinal, Offset, Kokkos::HostSpace>& A,
                                   bool with_flops = true);

/// A method and the reason for choosing it.
struct MethodChoice {
  DirectMethod method = DirectMethod::lu;
  Symmetry symmetry = Symmetry::symmetric;  ///< symmetry that ldlt and cholesky assume
  std::string reason;                       ///< one sentence for the report
};

/// Chooses a direct method. Unsymmetric matrices get LU, and so do matrices whose fronts are so small that LU
/// by rows is faster. Other matrices get Cholesky if diagonal dominance proves them positive definite, and
/// LDLᵀ otherwise, provided that the device model predicts less time for it than for LU.
MethodChoice choose_method(const MethodProperties& properties, const DeviceModel& model);

}  // namespace lutra

#endif
