// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_SYMMETRICORDER_HPP
#define LUTRA_SYMMETRICORDER_HPP

#include <vector>

#include "Lutra_AssemblyTree.hpp"
#include "Lutra_CsrView.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_LdltAttempts.hpp"
#include "Lutra_MemoryBudget.hpp"
#include "Lutra_Options.hpp"
#include "Lutra_PivotOrder.hpp"
#include "Lutra_Report.hpp"

namespace lutra::Impl {

/// What SparseLDLT plans from, for those who plan otherwise.
struct SymmetricOrder {
  PivotOrder pivots;                   ///< they follow `tree.order`; `matching` has the scales
  AssemblyTree tree;                   ///< with contribution rows
  LdltAttempt first;                   ///< pivots in place to try first; `delays`: none
  std::vector<double> diagonal_scale;  ///< [n] |a_ii|^−½, for condition estimates of Cholesky
};

/// Computes scaling, order and assembly tree as the analysis of SparseLDLT does. Fences.
/// @param A       checked square matrix with both triangles
/// @param options `completed`
/// @param report  replaced
/// @throws InputError if A is not symmetric; OutOfMemoryError
template <class Scalar, class ExecutionSpace>
SymmetricOrder order_symmetric_matrix(const ExecutionSpace& exec,
                                      const CsrView<Scalar, Ordinal, Offset, Kokkos::HostSpace>& A,
                                      LdltOptions options, const MemoryBudget& budget, Report& report);

}  // namespace lutra::Impl

#endif
