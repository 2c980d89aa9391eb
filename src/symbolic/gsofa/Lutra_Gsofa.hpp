// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_GSOFA_HPP
#define LUTRA_GSOFA_HPP

#include <cstddef>
#include <cstdint>

#include "Lutra_Index.hpp"
#include "Lutra_Symbolic.hpp"

namespace lutra {

// The system of "GSoFa: Scalable Sparse Symbolic LU Factorization on GPUs": fill2, which searches from each
// row on its own through A; lists of source rows; results in host memory; and supernodes of type T3.
// `factorize_symbolic` takes fill2 where it is asked for, foreseen to be fastest, or all that fits in memory.

/// Some rows of L + U, in the order they were asked for.
template <class MemorySpace>
struct SourceRows {
  Kokkos::View<const Offset*, MemorySpace> row_map;   ///< [rows asked for + 1]
  Kokkos::View<const Ordinal*, MemorySpace> entries;  ///< [row_map(last)] columns, each row sorted
  Kokkos::View<const Offset*, MemorySpace> diagonal;  ///< [rows asked for] position of each row's diagonal
  Offset nnz_l = 0;                                   ///< entries left of the diagonal
  MemoryReservation reservation;
};

/// The rows of L + U of a list of sources, by fill2, which finds each row independently of all others.
/// Several devices or processes can find the rows of one matrix, each with a list and a copy of A of its own;
/// together they give what `factorize_symbolic` gives.
///
/// @param pattern as for `factorize_symbolic`
/// @param sources [any number] rows of A in any order, none twice, in memory space of `exec`
/// @throws InputError for a pattern that is not square, or a source that is out of range or there twice;
/// OutOfMemoryError where the budget does not suffice, with the least that would do for a source
template <class ExecutionSpace>
SourceRows<typename ExecutionSpace::memory_space> factorize_symbolic_rows(
    const ExecutionSpace& exec,
    const CsrPattern<Ordinal, Offset, typename ExecutionSpace::memory_space>& pattern,
    const Kokkos::View<const Ordinal*, typename ExecutionSpace::memory_space>& sources,
    const MemoryBudget& budget, const SymbolicOptions& options = {});

/// Options of `find_supernodes`.
struct SupernodeOptions {
  int max_size = 128;  ///< most rows of a supernode, at least 1
  /// most zeros amalgamation may add to U, as a share of what a supernode stores then
  double relaxation = 0;
};

/// A partition of the rows of L + U into supernodes, and the tree they form.
template <class MemorySpace>
struct Supernodes {
  Ordinal n = 0;                                     ///< rows
  Ordinal count = 0;                                 ///< supernodes
  Kokkos::View<const Ordinal*, MemorySpace> begin;   ///< [count + 1] first row of each; n at the end
  Kokkos::View<const Ordinal*, MemorySpace> of_row;  ///< [n] supernode of each row
  Kokkos::View<const Ordinal*, MemorySpace> parent;  ///< [count] supernode of the first column that its last
                                                     ///< row of U has beyond it; -1 where there is none
  Kokkos::View<const Ordinal*, MemorySpace> lower;   ///< [n] entries of each row of L
  Kokkos::View<const Ordinal*, MemorySpace> upper;  ///< [n] entries of each row of U, the diagonal among them
  Offset zeros = 0;                                 ///< entries amalgamation adds to U
  MemoryReservation reservation;
};

/// Supernodes of type T3: one that begins at row r and extends through row s - 1 takes row s as well if and
/// only if nnz(U(s, :)) = nnz(U(s - 1, :)) - 1 and L(s, r) is an entry, so that rows of U differ by their
/// first entry alone.
///
/// The two phases of GSoFa, section 5. First all rows are compared with the row before, into a bit set. Then
/// the ranges between rows that must lead a supernode are searched independently, several rows of a range at
/// a time. If `relaxation` is positive, a supernode is then amalgamated with the one before it, on the host,
/// if L(s, s - 1) and U(s - 1, s) are entries for its first row s, so that row s contains all later columns
/// of the other's rows, and the zeros stay within the limit. Cost: a binary search in L for each row that
/// passes the first phase.
///
/// @param filled rows sorted, as `factorize_symbolic` returns it
/// @throws InputError for a maximum size below 1 or a negative relaxation; OutOfMemoryError
template <class ExecutionSpace>
Supernodes<typename ExecutionSpace::memory_space> find_supernodes(
    const ExecutionSpace& exec, const LuPattern<typename ExecutionSpace::memory_space>& filled,
    const MemoryBudget& budget, const SupernodeOptions& options = {});

namespace Impl {

/// Parts of fill2 that tests and benchmarks switch off to see what each brings. None changes the pattern.
struct Fill2Ablation {
  bool portable = false;       ///< the kernel for all execution spaces, also on CUDA
  bool shared_marks = true;    ///< on CUDA: marks in shared memory where enough fit
  bool groups = true;          ///< on CUDA: many sources at once, where marks are not in shared memory
  bool keep_rows = true;       ///< the fill pass copies rows that the count pass kept
  bool window_labels = true;   ///< portable: labels of older sources count as unset; else reset for each
  bool remove_bubbles = true;  ///< slots only as long as the sources of a range need
  bool last_first = true;      ///< rows that take longest are started first
};

/// What a run of fill2 did.
struct Fill2Statistics {
  std::uint64_t edges = 0;         ///< of A visited, both passes
  std::uint64_t revisits = 0;      ///< vertices expanded again
  std::size_t slots = 0;           ///< sources in flight, at most
  std::size_t slot_bytes = 0;      ///< of memory for each
  std::size_t searched_again = 0;  ///< rows that the fill pass had to search for
  std::size_t groups = 0;          ///< on CUDA: of sources searched from at once, both passes
  std::size_t groups_left = 0;     ///< on CUDA: groups given up, whose sources were searched from one by one
};

/// fill2: the rows of L + U, each by a search of its own through A ("End-to-End LU Factorization of Large
/// Matrices on GPUs", Algorithms 1 and 3). Exact for every pattern.
/// @param statistics what was done goes there, unless it is null
/// @throws OutOfMemoryError where not even one workspace fits, naming the bytes that would do
template <class ExecutionSpace>
LuPattern<typename ExecutionSpace::memory_space> fill2(
    const ExecutionSpace& exec,
    const CsrPattern<Ordinal, Offset, typename ExecutionSpace::memory_space>& pattern,
    const MemoryBudget& budget, const Fill2Ablation& ablation, Fill2Statistics* statistics = nullptr);

/// The same into host memory, which the budget does not count: a range of rows is copied there while the next
/// is searched for.
/// @throws OutOfMemoryError where a workspace and two of the longest rows do not fit
template <class ExecutionSpace>
LuPattern<Kokkos::HostSpace> fill2_to_host(
    const ExecutionSpace& exec,
    const CsrPattern<Ordinal, Offset, typename ExecutionSpace::memory_space>& pattern,
    const MemoryBudget& budget, const Fill2Ablation& ablation);

/// The same for a list of rows, of which none is there twice and there is at least one.
template <class ExecutionSpace>
SourceRows<typename ExecutionSpace::memory_space> fill2_rows(
    const ExecutionSpace& exec,
    const CsrPattern<Ordinal, Offset, typename ExecutionSpace::memory_space>& pattern,
    const Kokkos::View<const Ordinal*, typename ExecutionSpace::memory_space>& sources,
    const MemoryBudget& budget, const Fill2Ablation& ablation);

}  // namespace Impl

}  // namespace lutra

#endif
