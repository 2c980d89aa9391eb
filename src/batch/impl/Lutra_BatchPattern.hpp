// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_BATCHPATTERN_HPP
#define LUTRA_BATCHPATTERN_HPP

#include <memory>
#include <vector>

#include "Lutra_ExecutionTraits.hpp"
#include "Lutra_LaneLists.hpp"
#include "Lutra_Numeric.hpp"

namespace lutra::Impl {

/// Sets of rows that can be worked on at once.
template <class Memory>
struct BatchLevels {
  std::vector<std::int64_t> begin;              ///< [levels + 1] first row of each set in `rows`
  Kokkos::View<const Ordinal*, Memory> rows{};  ///< [n]
};

/// How devices factorize the last levels of rows once all of these are narrow: steps of a row, which are
/// entries of its L, are divided among launches, so that a row does not wait for the whole of another one.
///
///     launch 0      every narrow row: A, and the steps that need rows of wide levels only
///     launch l > 0  every row with steps that had to wait for rows of narrow level l − 1
///
/// The launch of the last steps of a row completes it. Orders depend on the pattern alone.
template <class Memory>
struct BatchFanOut {
  std::size_t first_level = 0;                     ///< of the narrow ones; levels before it are wide
  std::vector<std::int64_t> begin;                 ///< [launches + 1] first part of each launch
  Kokkos::View<const Ordinal*, Memory> rows{};     ///< [parts] row of each part
  Kokkos::View<const Offset*, Memory> steps_of{};  ///< [parts + 1] first step of each part
  Kokkos::View<const Offset*, Memory> steps{};     ///< entries of L as in LaneLists::targets_of
  Kokkos::View<const char*, Memory> is_last{};     ///< [parts] whether the row is complete then
};

/// What all systems of a batch share, from the analysis of one of them: the pattern of L + U, and lists that
/// replace all searches. It never changes.
template <class Scalar, class ExecutionSpace>
struct BatchPattern {
  using Memory = typename ExecutionSpace::memory_space;
  using Real = RealOf<Scalar>;

  LaneLists lists;                                 ///< pointers into the Views below
  std::vector<std::shared_ptr<const void>> views;  ///< arrays of `lists`
  Ordinal n = 0;
  std::int64_t nnz = 0;             ///< entries of callers' matrices
  std::int64_t matrix_entries = 0;  ///< entries of lists.A: nnz, or those of both triangles
  std::int64_t factor_entries = 0;  ///< entries of L + U; 0: the pattern is structurally singular
  double multiply_adds = 0;         ///< of one factorization
  Kokkos::View<const Real*, Memory> row_scale, col_scale;  ///< [n]
  Kokkos::View<const Real*, Memory> start;                 ///< [n] of probes
  /// [matrix_entries] position in the caller's values; −1 − p: conjugate of that at p; nnz: zero. Empty: own.
  Kokkos::View<const Offset*, Memory> source;
  Kokkos::View<const char*, Memory> is_read;  ///< [nnz] whether an entry is read; empty: all are
  Kokkos::View<const Offset*, Memory>
      entry_of;                  ///< [nnz] entry of lists.A of each caller's entry; empty: own
  std::vector<Offset> row_map;   ///< [n + 1] of callers' matrices, on the host for messages
  std::vector<Ordinal> entries;  ///< [nnz]
  /// Levels of solves with L (also of the factorization) and with U, for devices; otherwise empty. Transposed
  /// solves take them in reverse.
  BatchLevels<Memory> lower, upper;
  BatchFanOut<Memory> fan_out;  ///< the last of the levels `lower`
  MemoryReservation keep;
};

/// Levels with fewer rows are narrow. A GPU of 132 multiprocessors holds about 8000 warps, 64 rows of 1000
/// systems are 2000: fewer do not hide the latency of loads.
inline constexpr std::int64_t wide_level_rows = 64;

/// What a BatchPattern is to have beside the matrix.
struct BatchPatternParts {
  bool factors = true;  ///< the pattern of L + U; otherwise its entries are only counted
  bool levels = false;  ///< `lower`, `upper` and `fan_out`, which only DeviceLaneGroups reads
};

/// Builds the lists on the host. O(multiply-adds) with lists of targets. Fences.
/// @throws InputError for analyses that a batch does not support (BatchedNumeric); OutOfMemoryError
template <class Scalar, class ExecutionSpace>
BatchPattern<Scalar, ExecutionSpace> make_batch_pattern(
    const ExecutionSpace& exec, const Analysis<Scalar, ExecutionSpace>& analysis, const MemoryBudget& budget,
    BatchPatternParts parts = {.levels = !is_host_space<ExecutionSpace>});

}  // namespace lutra::Impl

#endif
