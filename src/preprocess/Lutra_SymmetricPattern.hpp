// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_SYMMETRICPATTERN_HPP
#define LUTRA_SYMMETRICPATTERN_HPP

#include "Lutra_CsrView.hpp"
#include "Lutra_MemoryBudget.hpp"
#include "Lutra_ScalarTraits.hpp"
#include "Lutra_Symmetry.hpp"

namespace lutra {

/// The pattern of a symmetric matrix S given by one triangle of A, both triangles and the diagonal filled in,
/// and where S's values are found in A's:
///
///     A (lower)        S
///     a . .            a b̄ c̄       source of b: its position p in A
///     b . .     ──►    b 0 .       source of b̄: −1 − p, conjugated where A is Hermitian
///     c . e            c . e       source of 0: nnz(A)
template <class MemorySpace>
struct SymmetricPattern {
  CsrPattern<Ordinal, Offset, MemorySpace> pattern;   ///< rows ascending
  Kokkos::View<const Offset*, MemorySpace> source;    ///< [nnz(S)]
  Kokkos::View<const Offset*, MemorySpace> diagonal;  ///< [n] position in S
  /// [nnz(A)] position in A of the entry (j, i) for each entry (i, j), −1 where there is none; empty unless
  /// both triangles are compared
  Kokkos::View<const Offset*, MemorySpace> opposite;
  MemoryReservation reservation;
};

/// O(nnz), on one host thread.
/// @param A square, rows ascending, on the host
/// @throws InputError where all entries beside the diagonal stand in the triangle that is not read: it is the
///         wrong one then; OutOfMemoryError. Fences.
template <class ExecutionSpace>
SymmetricPattern<typename ExecutionSpace::memory_space> fill_triangles(
    const ExecutionSpace& exec, const CsrPattern<Ordinal, Offset, Kokkos::HostSpace>& A, Triangle triangle,
    const MemoryBudget& budget);

/// Throws InputError naming row and column of the first entry with |a(i, j) − a(j, i)| > 8·ε·|a(i, j)|, of
/// the conjugate where A is Hermitian; an entry that is not stored counts as zero. Of one triangle the
/// diagonal alone is looked at, and that where A is complex and Hermitian. Waits once where it looks at
/// anything.
template <class Scalar, class ExecutionSpace>
void check_symmetry(const ExecutionSpace& exec,
                    const CsrView<Scalar, Ordinal, Offset, typename ExecutionSpace::memory_space>& A,
                    const SymmetricPattern<typename ExecutionSpace::memory_space>& S, Symmetry symmetry);

/// Values of S. Of a Hermitian matrix the diagonal's imaginary parts, which check_symmetry has found to be
/// rounding errors, are dropped. Does not fence on devices.
/// @param from  [nnz(A)]
/// @param to    [nnz(S)]
/// @param shift [n] added to the diagonal; empty: nothing
template <class Scalar, class ExecutionSpace>
void gather_triangles(
    const ExecutionSpace& exec, const SymmetricPattern<typename ExecutionSpace::memory_space>& S,
    Symmetry symmetry, const Kokkos::View<const Scalar*, typename ExecutionSpace::memory_space>& from,
    const Kokkos::View<Scalar*, typename ExecutionSpace::memory_space>& to,
    const Kokkos::View<const RealOf<Scalar>*, typename ExecutionSpace::memory_space>& shift = {});

}  // namespace lutra

#endif
