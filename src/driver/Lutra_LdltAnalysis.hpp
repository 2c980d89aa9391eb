// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_LDLTANALYSIS_HPP
#define LUTRA_LDLTANALYSIS_HPP

#include <memory>

#include "Lutra_Index.hpp"
#include "Lutra_LdltOptions.hpp"
#include "Lutra_LuAnalysis.hpp"

namespace lutra {

/// All that is known of the pattern of a symmetric matrix: a LuAnalysis of S, which has both triangles of A,
/// with one order and one scaling for rows and columns, and where S's values are found in A's. Immutable, to
/// be shared by any number of `LdltNumeric` objects.
template <class Scalar, class ExecutionSpace>
struct LdltAnalysis : LuAnalysis<Scalar, ExecutionSpace> {
  using Memory = typename ExecutionSpace::memory_space;

  CsrPattern<Ordinal, Offset, Memory> A;  ///< as the caller's matrices have to have it; a copy
  SymmetricPattern<Memory> S;             ///< what is factorized
  Symmetry symmetry = Symmetry::symmetric;
  LdltOptions ldlt_options;  ///< by which it was made

  using Base = LuAnalysis<Scalar, ExecutionSpace>;
  std::shared_ptr<const Base> renewed(const ExecutionSpace& exec,
                                      const CsrView<Scalar, Ordinal, Offset, Memory>& both_triangles,
                                      const MemoryBudget& budget) const override;
};

/// Scaling, ordering and assembly tree of a symmetric matrix. Fences.
/// @param A      its values are used for matching and scaling alone
/// @param budget what the analysis keeps is charged to it, and freed with the last copy of the pointer
/// @param former  an analysis before, or null. With these options and on this pattern the scales alone are
/// made
///                anew, and ordering, tree and plan are shared with `former`, unless the ordering follows a
///                matching (pair_ordering)
/// @param border  rows and columns to take the Schur complement on, or none; `former` is null then
/// @throws InputError for a malformed matrix (check_square_matrix, of the values that are read), one whose
///         entries are all in the triangle that is not read (fill_triangles), one that is not symmetric or
///         has a Hermitian diagonal that is not real (check_symmetry), or a user permutation that is none;
///         OutOfMemoryError
template <class Scalar, class ExecutionSpace>
std::shared_ptr<const LdltAnalysis<Scalar, ExecutionSpace>> analyze_ldlt(
    const ExecutionSpace& exec,
    const CsrView<Scalar, Ordinal, Offset, typename ExecutionSpace::memory_space>& A,
    const LdltOptions& options, const MemoryBudget& budget,
    const LdltAnalysis<Scalar, ExecutionSpace>* former = nullptr,
    const std::shared_ptr<Impl::Border<Scalar, ExecutionSpace>>& border = {});

}  // namespace lutra

#endif
