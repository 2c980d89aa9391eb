// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_UPLOOKINGLU_HPP
#define LUTRA_UPLOOKINGLU_HPP

#include <vector>

#include "Lutra_Index.hpp"
#include "Lutra_MemoryBudget.hpp"
#include "Lutra_ScalarTraits.hpp"
#include "Lutra_Symbolic.hpp"

namespace lutra {

/// All a factorization row by row needs besides values; made once for a pattern, in host memory.
struct UpLookingLuPlan {
  using Memory = Kokkos::HostSpace;
  LuPattern<Memory> rows;                        ///< L + U by rows
  CsrPattern<Ordinal, Offset, Memory> F;         ///< the matrix by rows, columns of a row in any order
  Kokkos::View<const Ordinal*, Memory> run_end;  ///< [n] the end of the run a row is in: rows whose parts of
                                                 ///< U agree right of the run, and are full within it
  int threads = 1;                               ///< that may work on it at once
  std::vector<Ordinal> order;       ///< [n] rows by tasks, ascending in each; empty for one thread
  std::vector<Ordinal> task_begin;  ///< [tasks + 1] in `order`: subtrees that threads work alone; rows behind
                                    ///< the last task are worked by all threads
  std::vector<Ordinal> level_widths;  ///< rows that wait for equally long chains of others
  double flops = 0;                   ///< of one factorization, real ones for real scalars
  MemoryReservation reservation;

  Ordinal n() const { return rows.n; }
};

/// Outcome of one factorization.
struct UpLookingLuOutcome {
  std::int64_t perturbed = 0;  ///< pivots below the threshold, perturbed
  double largest = 0;          ///< max |entry of L\U|; infinity where one is not finite
};

/// Memory a factorization works in; made once for a plan.
template <class Scalar>
struct UpLookingLuWorkspace {
  Kokkos::View<Scalar*, Kokkos::HostSpace> working_rows;  ///< [threads · n], zero between factorizations
  Kokkos::View<Scalar*, Kokkos::HostSpace> inverse;       ///< [n] of U's diagonal
  Kokkos::View<int*, Kokkos::HostSpace> done;             ///< [n] rows that are complete; of several threads
  MemoryReservation reservation;
};

/// Finds runs of rows, and for several threads subtrees of the elimination tree of F + Fᵀ that they can work
/// apart. Host code, O(nnz(L + U)).
/// @param rows pattern of L + U of F
/// @param F       square; its columns need not be sorted
/// @param threads among which the work is divided; 0: as many as `exec` has
/// @throws OutOfMemoryError; InputError where `exec` is no host space
template <class ExecutionSpace>
UpLookingLuPlan plan_up_looking_lu(const ExecutionSpace& exec, const LuPattern<Kokkos::HostSpace>& rows,
                                   const CsrPattern<Ordinal, Offset, Kokkos::HostSpace>& F,
                                   const MemoryBudget& budget, int threads = 0);

/// @throws OutOfMemoryError
template <class Scalar>
UpLookingLuWorkspace<Scalar> make_up_looking_lu_workspace(const UpLookingLuPlan& plan,
                                                          const MemoryBudget& budget);

/// Up-looking LU without interchanges, for host threads: the left-looking algorithm (J. R. Gilbert and
/// T. Peierls, SIAM J. Sci. Stat. Comput. 9, 1988, as in KLU's refactorization) on the rows of F, whose
/// factors the solves read by rows. A row is scattered into n entries that stay in cache, rows of U are
/// subtracted from it in the order of its entries of L, and what remains is gathered.
///
/// @param F_values  [nnz(F)] in the order of `plan.F`
/// @param threshold pivots smaller in magnitude are perturbed: they get this magnitude, and keep their
/// argument
/// @param values    [nnz(L + U)] out: L (unit diagonal left out) and U by rows
/// @param perturbed [n] out: 1 where the pivot was perturbed, else 0
/// Cost: `plan.flops`. The same bits come out whatever the number of threads.
/// @throws InputError where `exec` is no host space
template <class Scalar, class ExecutionSpace>
UpLookingLuOutcome factorize_up_looking(const ExecutionSpace& exec, const UpLookingLuPlan& plan,
                                        const Kokkos::View<const Scalar*, Kokkos::HostSpace>& F_values,
                                        RealOf<Scalar> threshold, const UpLookingLuWorkspace<Scalar>& work,
                                        const Kokkos::View<Scalar*, Kokkos::HostSpace>& values,
                                        const Kokkos::View<unsigned char*, Kokkos::HostSpace>& perturbed);

}  // namespace lutra

#endif
