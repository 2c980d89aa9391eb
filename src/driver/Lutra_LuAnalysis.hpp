// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_LUANALYSIS_HPP
#define LUTRA_LUANALYSIS_HPP

#include <memory>

#include "Lutra_FrontSolver.hpp"
#include "Lutra_LuOptions.hpp"
#include "Lutra_Report.hpp"
#include "Lutra_RightLookingLu.hpp"
#include "Lutra_UpLookingLu.hpp"

namespace lutra {

namespace Impl {
template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
class LuTriangularSolves;
}

/// Everything `SparseLU` keeps of a pattern: the way from the user's matrix A to the matrix that is
/// factorized, F(k, l) = row_scale·A(row_order(k), col_order(l))·col_scale, and the plan of that
/// factorization.
template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
struct LuAnalysis {
  using Memory = typename ExecutionSpace::memory_space;
  using Real = RealOf<Scalar>;

  CsrPattern<Ordinal, Offset, Memory> pattern;     ///< of A, in user order; the solver's own copy
  Kokkos::View<const Ordinal*, Memory> row_order;  ///< [n] user's row at each place of F
  Kokkos::View<const Ordinal*, Memory> col_order;  ///< [n] user's column at each place of F
  Kokkos::View<const Real*, Memory> row_scale;     ///< [n] by user's row
  Kokkos::View<const Real*, Memory> col_scale;     ///< [n] by user's column
  Engine engine = Engine::simplicial;              ///< never automatic
  RightLookingLuPlan<Ordinal, Offset, Memory>
      plan;                                   ///< of L + U of F. Of the multifrontal engine `levels` by their
                                              ///< widths in pivots and, where solves go by triangles,
                                              ///< `rows` and `columns` without `source`. On hosts the column
                                              ///< engine works by rows: `rows` and the widths of `levels`
  UpLookingLuPlan<Ordinal, Offset> row_plan;  ///< of the simplicial engine on hosts, else empty
  FrontPlan<Ordinal, Offset, Memory> fronts;  ///< of the multifrontal engine, else empty
  Kokkos::View<const Offset*, Memory> panel_source;  ///< [nnz(L + U)] place in the fronts' panels, by rows;
                                                     ///< of the multifrontal engine with `triangles`
  std::shared_ptr<FrontFactors<Scalar, Ordinal, Offset, ExecutionSpace>>
      front_factors;  ///< of the multifrontal engine; without values until it factorizes
  std::shared_ptr<FrontSolver<Scalar, Ordinal, Offset, ExecutionSpace>>
      front_solver;  ///< solves with the fronts computed last; or else
  std::shared_ptr<Impl::LuTriangularSolves<Scalar, Ordinal, Offset, ExecutionSpace>>
      triangles;                               ///< solves with L and U by rows
  Kokkos::View<const Offset*, Memory> target;  ///< [nnz(A)] place by columns of L + U of each entry of A; of
                                               ///< the simplicial engine on devices
  MemoryReservation reservation;

  Ordinal n() const { return pattern.n_rows; }
};

/// Runs matching, ordering, symbolic factorization and levelization, and writes choices, times and counts to
/// `report`. Where the pattern is structurally singular, `report.status` says so, rows and columns are named,
/// and the analysis returned is empty (n() = 0).
/// @param A checked by check_square_matrix
/// @throws InputError for a user permutation that is none; OutOfMemoryError
template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
LuAnalysis<Scalar, Ordinal, Offset, ExecutionSpace> analyze_lu(
    const ExecutionSpace& exec,
    const CsrView<Scalar, Ordinal, Offset, typename ExecutionSpace::memory_space>& A,
    const LuOptions& options, const MemoryBudget& budget, Report& report);

}  // namespace lutra

#endif
