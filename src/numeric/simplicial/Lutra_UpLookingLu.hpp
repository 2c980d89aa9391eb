// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_UPLOOKINGLU_HPP
#define LUTRA_UPLOOKINGLU_HPP

#include <vector>

#include "Lutra_ExecutionTraits.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_MemoryBudget.hpp"
#include "Lutra_ScalarTraits.hpp"
#include "Lutra_Symbolic.hpp"

namespace lutra {

/// Everything a row-by-row factorization needs except values; made once per pattern, in host memory.
struct UpLookingLuPlan {
  using Memory = Kokkos::HostSpace;
  LuPattern<Memory> rows;                        ///< L + U by rows
  CsrPattern<Ordinal, Offset, Memory> F;         ///< the matrix by rows, columns of a row in any order
  Kokkos::View<const Ordinal*, Memory> run_end;  ///< [n] end of each row's run: successive rows that are
                                                 ///< dense within the run and share the pattern of U to its
                                                 ///< right
  int threads = 1;                               ///< threads that may share one factorization
  std::vector<Ordinal> order;       ///< [n] rows by tasks, ascending in each; empty for one thread
  std::vector<Ordinal> task_begin;  ///< [tasks + 1] offsets into `order`: subtrees, each for one thread; all
                                    ///< threads share the rows after the last task
  std::vector<Ordinal> level_widths;  ///< number of rows on each dependency level
  double flops = 0;                   ///< flops of one factorization, real flops for real scalars
  MemoryReservation reservation;

  Ordinal n() const { return rows.n; }
};

/// Outcome of one factorization.
struct UpLookingLuOutcome {
  std::int64_t perturbed = 0;  ///< pivots below the threshold, perturbed
  double largest = 0;          ///< max |entry of L\U|; infinity where one is not finite
};

/// Working storage of a factorization; made once per plan.
template <class Scalar>
struct UpLookingLuWorkspace {
  Kokkos::View<Scalar*, Kokkos::HostSpace> working_rows;  ///< [threads · n], zero between factorizations
  Kokkos::View<Scalar*, Kokkos::HostSpace> inverse;       ///< [n] reciprocals of U's diagonal
  Kokkos::View<int*, Kokkos::HostSpace> done;  ///< [n] completion flags of rows; for several threads
  RunControl run;                              ///< of the factorizations
  MemoryReservation reservation;
};

/// Finds runs of rows and, for several threads, independent subtrees of the elimination tree of F + Fᵀ. Host
/// code, O(nnz(L + U)).
/// @param rows    pattern of L + U of F
/// @param F       square; its columns need not be sorted
/// @param threads number of threads to divide the work among; 0: all threads of `exec`
/// @throws OutOfMemoryError
template <Impl::HostExecution ExecutionSpace>
UpLookingLuPlan plan_up_looking_lu(const ExecutionSpace& exec, const LuPattern<Kokkos::HostSpace>& rows,
                                   const CsrPattern<Ordinal, Offset, Kokkos::HostSpace>& F,
                                   const MemoryBudget& budget, int threads = 0);

/// Allocates the workspace of a plan.
/// @throws OutOfMemoryError
template <class Scalar>
UpLookingLuWorkspace<Scalar> make_up_looking_lu_workspace(const UpLookingLuPlan& plan,
                                                          const MemoryBudget& budget);

/// Up-looking LU without interchanges, for host threads: the left-looking algorithm (J. R. Gilbert and T.
/// Peierls, SIAM J. Sci. Stat. Comput. 9, 1988, as in KLU's refactorization) applied to the rows of F, whose
/// factors the solves read by rows. A row is scattered into a dense vector of n entries that stays in cache,
/// rows of U are subtracted from it in the order of its entries of L, and the result is gathered.
///
/// @param F_values  [nnz(F)] in the order of `plan.F`
/// @param threshold smaller pivots are perturbed: raised to this magnitude, with their argument kept
/// @param values    [nnz(L + U)] out: L (unit diagonal not stored) and U by rows
/// @param perturbed [n] out: 1 where the pivot was perturbed, else 0
/// Cost: `plan.flops`. Results are bitwise equal for any number of threads.
template <class Scalar, Impl::HostExecution ExecutionSpace>
UpLookingLuOutcome factorize_up_looking(const ExecutionSpace& exec, const UpLookingLuPlan& plan,
                                        const Kokkos::View<const Scalar*, Kokkos::HostSpace>& F_values,
                                        RealOf<Scalar> threshold, const UpLookingLuWorkspace<Scalar>& work,
                                        const Kokkos::View<Scalar*, Kokkos::HostSpace>& values,
                                        const Kokkos::View<unsigned char*, Kokkos::HostSpace>& perturbed);

}  // namespace lutra

#endif
