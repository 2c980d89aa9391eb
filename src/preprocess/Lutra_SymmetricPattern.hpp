// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_SYMMETRICPATTERN_HPP
#define LUTRA_SYMMETRICPATTERN_HPP

#include "Lutra_CsrView.hpp"
#include "Lutra_MemoryBudget.hpp"
#include "Lutra_ScalarTraits.hpp"

namespace lutra {

/// Full pattern, diagonal included, of a symmetric matrix S given by one triangle of A, and the sources of
/// S's values in A:
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
  /// [nnz(A)] position in A of the entry (j, i) for each entry (i, j); −1: none; empty unless both triangles
  /// are compared
  Kokkos::View<const Offset*, MemorySpace> opposite;
  MemoryReservation reservation;
};

/// Constructs the pattern. O(nnz), on one host thread. Fences.
/// @param A square, rows ascending, on the host
/// @throws InputError if all off-diagonal entries are in the triangle that is not read, which indicates the
/// wrong choice; OutOfMemoryError
template <class ExecutionSpace>
SymmetricPattern<typename ExecutionSpace::memory_space> fill_triangles(
    const ExecutionSpace& exec, const CsrPattern<Ordinal, Offset, Kokkos::HostSpace>& A, Triangle triangle,
    const MemoryBudget& budget);

/// Checks symmetry. If both triangles are present, requires |a(i, j) − a(j, i)| ≤ 8·ε·|a(i, j)|, with a(j, i)
/// conjugated for a Hermitian A; absent entries count as zero. With one triangle, only checks that the
/// diagonal of a complex Hermitian matrix is real. Waits once if it checks anything.
/// @throws InputError naming row and column of the first violation
template <class Scalar, class ExecutionSpace>
void check_symmetry(const ExecutionSpace& exec,
                    const CsrView<Scalar, Ordinal, Offset, typename ExecutionSpace::memory_space>& A,
                    const SymmetricPattern<typename ExecutionSpace::memory_space>& S, Symmetry symmetry);

/// Gathers the values of S from those of A. For a Hermitian matrix, drops the imaginary parts of the
/// diagonal, which check_symmetry has verified to be rounding errors. Does not fence on devices.
/// @param from  [nnz(A)]
/// @param to    [nnz(S)]
/// @param shift [n] added to the diagonal; empty: none
template <class Scalar, class ExecutionSpace>
void gather_triangles(
    const ExecutionSpace& exec, const SymmetricPattern<typename ExecutionSpace::memory_space>& S,
    Symmetry symmetry, const Kokkos::View<const Scalar*, typename ExecutionSpace::memory_space>& from,
    const Kokkos::View<Scalar*, typename ExecutionSpace::memory_space>& to,
    const Kokkos::View<const RealOf<Scalar>*, typename ExecutionSpace::memory_space>& shift = {});

}  // namespace lutra

#endif
