// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_PARILUT_HPP
#define LUTRA_PARILUT_HPP

#include <Kokkos_Core.hpp>

#include <cstdint>

#include "Lutra_CsrView.hpp"
#include "Lutra_IluOptions.hpp"
#include "Lutra_IncompleteFactors.hpp"
#include "Lutra_MemoryBudget.hpp"

namespace lutra {

/// What ParILUT did. A residual is the root of the mean over the rows of ‖row of A − L·U‖² / max |entry of
/// A's row|², over all entries of A − L·U and not only those of the pattern.
struct ParIlutOutcome {
  int steps = 0;                 ///< steps made
  int chunks = 1;                ///< most chunks of rows in which a step took its candidates
  int limited_steps = 0;         ///< those in which small candidates were left out for want of room
  double first_residual = 0;     ///< before the first step
  double residual = 0;           ///< of the result
  std::int64_t max_entries = 0;  ///< most entries of L and U with candidates
  bool is_taken_back = false;    ///< the last step raised the residual, and does not count in the result
  bool is_finite = true;         ///< false: the residual is NaN or infinite
};

/// ParILUT (Anzt, Ribizel, Flegar, Chow and Dongarra): finds a pattern for L and U with at most
/// fill_factor · entries of A's triangles, diagonals always among them, that suits the values of A.
///
///     step:   A, L, U ──▶ candidates, r = A − L·U ──▶ sweep ──▶ thresholds of L, of U ──▶ drop ──▶ sweep
///
/// Steps end after `options.steps` of them, or when the residual changes by less than
/// `options.step_tolerance`, or rises: then that step is taken back. Where the candidates exceed twice what L
/// and U may hold, the largest are taken. With options.symmetric, L keeps what U keeps.
///
/// Where the budget has no room for L and U with their candidates, a step takes these in up to eight chunks
/// of rows, each with its sweeps and thresholds, so that L and U hold the largest entries of what has been
/// seen so far; of a chunk that does not fit either, the largest candidates.
/// @param A        square, rows ascending
/// @param shift    added to A's diagonal in parts of the largest magnitude of its row
/// @param factors  in: pattern and values to begin with, diagonals present; out: the result, in Views of its
///                 own. As before the call where this throws
/// @throws OutOfMemoryError where the budget does not suffice for L and U, twice without candidates and once
///         with their keys; the message and needed_bytes() name a memory limit that suffices
/// Waits for `exec` once a step and five times besides, twice more in a step whose candidates are limited,
/// and one to three times for each chunk.
template <class Scalar, class ExecutionSpace>
ParIlutOutcome parilut(const ExecutionSpace& exec,
                       const CsrView<Scalar, Ordinal, Offset, typename ExecutionSpace::memory_space>& A,
                       double shift, const IluOptions& options, const MemoryBudget& budget,
                       IncompleteFactors<Scalar, typename ExecutionSpace::memory_space>& factors);

}  // namespace lutra

#endif
