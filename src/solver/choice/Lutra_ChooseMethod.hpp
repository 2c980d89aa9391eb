// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_CHOOSEMETHOD_HPP
#define LUTRA_CHOOSEMETHOD_HPP

#include <string>

#include "Lutra_CsrView.hpp"
#include "Lutra_DeviceModel.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_Symmetry.hpp"

namespace lutra {

enum class DirectMethod { cholesky, ldlt, lu };  ///< each serves all matrices that those before it do

/// What the choice of a direct method depends on.
struct MethodProperties {
  bool symmetric = false;            ///< A = Aᵀ, in pattern and in value, to the last bit
  bool hermitian = false;            ///< A = Aᴴ, likewise; of real matrices the same
  bool diagonally_dominant = false;  ///< Hermitian with aᵢᵢ ≥ Σ |aᵢⱼ|, j ≠ i, in all rows, and more in one
                                     ///< row of each connected part of the graph: positive definite
  bool structurally_singular = false;  ///< LU names rows and columns of such a matrix
  std::int64_t zero_diagonals = 0;
  double flops_per_entry = 0;  ///< of an LU factorization of a symmetric matrix in AMD's order, over the
                               ///< entries of L + U
  bool lu_asked = false;  ///< an option of the caller's is one of LU alone, or memory is limited, which LU
                          ///< can do with less of
};

/// The properties of a square matrix; `lu_asked` is the caller's to set.
/// @param A on the host, rows sorted
/// Cost O(nnz log(row length)); for a symmetric matrix also a maximum transversal and an ordering by AMD.
/// @throws OutOfMemoryError
template <class Scalar>
MethodProperties method_properties(const CsrView<Scalar, Ordinal, Offset, Kokkos::HostSpace>& A);

/// A method and why.
struct MethodChoice {
  DirectMethod method = DirectMethod::lu;
  Symmetry symmetry = Symmetry::symmetric;  ///< for ldlt and cholesky
  std::string reason;                       ///< one sentence for the report
};

/// LU for matrices that are not symmetric, and where fronts have so little to do that LU by rows is faster.
/// Of others Cholesky's method where diagonal dominance proves them positive definite, else LDLᵀ, wherever
/// the model of the device predicts less time for it than for LU.
MethodChoice choose_method(const MethodProperties& properties, const DeviceModel& model);

}  // namespace lutra

#endif
