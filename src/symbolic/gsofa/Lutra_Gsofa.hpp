// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_GSOFA_HPP
#define LUTRA_GSOFA_HPP

#include <cstddef>
#include <cstdint>

#include "Lutra_Index.hpp"
#include "Lutra_Symbolic.hpp"

namespace lutra {

// The system of "GSoFa: Scalable Sparse Symbolic LU Factorization on GPUs": fill2, which searches each row
// independently through A; lists of source rows; results in host memory; and supernodes of type T3.
// `factorize_symbolic` uses fill2 on request, if predicted to be fastest, or if nothing else fits in memory.

/// Some rows of L + U, in the order requested.
template <class MemorySpace>
struct SourceRows {
  Kokkos::View<const Offset*, MemorySpace> row_map;   ///< [rows requested + 1]
  Kokkos::View<const Ordinal*, MemorySpace> entries;  ///< [row_map(last)] columns, each row sorted
  Kokkos::View<const Offset*, MemorySpace> diagonal;  ///< [rows requested] position of each row's diagonal
  Offset nnz_l = 0;                                   ///< entries left of the diagonal
  MemoryReservation reservation;
  std::int64_t edges = 0;  ///< edges of A that the searches followed
};

/// The rows of L + U for a list of sources, by fill2, which finds each row independently. Several devices or
/// processes can share one matrix, each with its own list and copy of A; together their results equal that of
/// `factorize_symbolic`.
///
/// @param pattern as for `factorize_symbolic`
/// @param sources [any number] distinct rows of A in any order, in memory space of `exec`
/// @throws InputError for a pattern that is not square, or a source that is out of range or duplicate;
/// OutOfMemoryError if the budget is too small, with the least budget that would suffice for one source
template <class ExecutionSpace>
SourceRows<typename ExecutionSpace::memory_space> factorize_symbolic_rows(
    const ExecutionSpace& exec,
    const CsrPattern<Ordinal, Offset, typename ExecutionSpace::memory_space>& pattern,
    const Kokkos::View<const Ordinal*, typename ExecutionSpace::memory_space>& sources,
    const MemoryBudget& budget, const SymbolicOptions& options = {});

/// Kernels that search for supernodes.
enum class SupernodeSearch {
  automatic,  ///< the fastest one measured
  portable,   ///< a launch for each phase, on every execution space
  threads,    ///< CUDA: one launch, bitmap and queue in shared memory, a thread per leading row (GSoFa)
  warps       ///< CUDA: the same, a warp per leading row
};

/// Options of `find_supernodes`.
struct SupernodeOptions {
  int max_size = 128;  ///< maximum number of rows of a supernode, at least 1
  /// maximum fraction of added zeros in the entries of U stored for an amalgamated supernode
  double relaxation = 0;
  SupernodeSearch search = SupernodeSearch::automatic;
};

/// A partition of the rows of L + U into supernodes, and the tree they form.
template <class MemorySpace>
struct Supernodes {
  Ordinal n = 0;                                     ///< rows
  Ordinal count = 0;                                 ///< supernodes
  Kokkos::View<const Ordinal*, MemorySpace> begin;   ///< [count + 1] first row of each; n at the end
  Kokkos::View<const Ordinal*, MemorySpace> of_row;  ///< [n] supernode of each row
  Kokkos::View<const Ordinal*, MemorySpace> parent;  ///< [count] supernode of the first column of U right of
                                                     ///< the supernode in its last row; -1 if none
  Kokkos::View<const Ordinal*, MemorySpace> lower;   ///< [n] entries of each row of L
  Kokkos::View<const Ordinal*, MemorySpace> upper;   ///< [n] entries of each row of U, including the diagonal
  Offset zeros = 0;                                  ///< zeros that amalgamation adds to U
  MemoryReservation reservation;
};

/// Supernodes of type T3: a supernode of the rows r to s - 1 also takes row s if and only if nnz(U(s, :)) =
/// nnz(U(s - 1, :)) - 1 and L(s, r) is an entry, so that rows of U differ only by their first entry.
///
/// The two phases of GSoFa, section 5. First all rows are compared with the preceding row, into a bit set.
/// Then the ranges between rows that must lead a supernode are searched independently, several rows of a
/// range at a time. If `relaxation` is positive, the host then amalgamates a supernode with first row s into
/// the preceding one if L(s, s - 1) and U(s - 1, s) are entries, so that row s contains all later columns of
/// the other's rows, and the zeros stay within the limit. Cost: a binary search in L for each row that passes
/// the first phase.
///
/// @param filled with sorted rows, as returned by `factorize_symbolic`
/// @throws InputError for a maximum size below 1, a negative relaxation, or a search that the execution space
///         does not have; OutOfMemoryError
template <class ExecutionSpace>
Supernodes<typename ExecutionSpace::memory_space> find_supernodes(
    const ExecutionSpace& exec, const LuPattern<typename ExecutionSpace::memory_space>& filled,
    const MemoryBudget& budget, const SupernodeOptions& options = {});

namespace Impl {

/// The checked options of fill2, with `portable` as their kernel.
/// @throws InputError for options that do not go together or that the execution space does not have
template <class ExecutionSpace>
Fill2Options fill2_options(const SymbolicOptions& options);

/// fill2: finds each row of L + U by its own search through A ("End-to-End LU Factorization of Large Matrices
/// on GPUs", Algorithms 1 and 3). Exact for every pattern.
/// @param options    checked
/// @param statistics out, or null
/// @throws InputError for a kernel that has no numbers for so large a matrix; OutOfMemoryError if not even
/// one workspace fits, naming the bytes that would suffice
template <class ExecutionSpace>
LuPattern<typename ExecutionSpace::memory_space> fill2(
    const ExecutionSpace& exec,
    const CsrPattern<Ordinal, Offset, typename ExecutionSpace::memory_space>& pattern,
    const MemoryBudget& budget, const Fill2Options& options, Fill2Statistics* statistics = nullptr);

/// Version that writes to host memory, which the budget does not count: copies a range of rows while it
/// searches the next.
/// @throws OutOfMemoryError if a workspace and two of the longest rows do not fit
template <class ExecutionSpace>
LuPattern<Kokkos::HostSpace> fill2_to_host(
    const ExecutionSpace& exec,
    const CsrPattern<Ordinal, Offset, typename ExecutionSpace::memory_space>& pattern,
    const MemoryBudget& budget, const Fill2Options& options);

/// Version for a nonempty list of distinct rows.
/// @param statistics out, or null
template <class ExecutionSpace>
SourceRows<typename ExecutionSpace::memory_space> fill2_rows(
    const ExecutionSpace& exec,
    const CsrPattern<Ordinal, Offset, typename ExecutionSpace::memory_space>& pattern,
    const Kokkos::View<const Ordinal*, typename ExecutionSpace::memory_space>& sources,
    const MemoryBudget& budget, const Fill2Options& options, Fill2Statistics* statistics = nullptr);

}  // namespace Impl

}  // namespace lutra

#endif
