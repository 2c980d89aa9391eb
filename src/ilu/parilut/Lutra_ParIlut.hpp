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

/// Outcome of ParILUT. The residual is the root mean square over the rows of ‖row of A − L·U‖ / max |entry of
/// A's row|, over all entries of A − L·U and not only those of the pattern.
struct ParIlutOutcome {
  int steps = 0;                 ///< steps made
  int chunks = 1;                ///< most chunks of rows in a step
  int limited_steps = 0;         ///< steps that left out small candidates for lack of memory
  double first_residual = 0;     ///< before the first step
  double residual = 0;           ///< residual of the result
  std::int64_t max_entries = 0;  ///< most entries of L and U, with candidates
  bool is_taken_back = false;    ///< the last step raised the residual and was reverted
  bool is_finite = true;         ///< false: the residual is NaN or infinite
};

/// ParILUT (Anzt, Ribizel, Flegar, Chow and Dongarra): finds a pattern for L and U that suits the values of
/// A, with at most fill_factor · entries of A's triangles. Diagonals are always included.
///
///     step:   A, L, U ──▶ candidates, r = A − L·U ──▶ sweep ──▶ thresholds of L, of U ──▶ drop ──▶ sweep
///
/// Stops after `options.steps` steps, when the residual changes by less than `options.step_tolerance`, or
/// when it rises; then the last step is reverted. If the candidates exceed twice the limits on fill, the
/// largest are taken. With options.symmetric, L keeps the entries that U keeps.
///
/// If L and U with all candidates exceed the budget, a step adds them in up to eight chunks of rows, each
/// with its own sweeps and thresholds, so that L and U hold the largest entries seen so far. If a chunk does
/// not fit either, its largest candidates are added.
/// @param A        square, rows ascending
/// @param shift    added to A's diagonal, relative to the largest magnitude of its row
/// @param factors  in: initial pattern and values, with diagonals; out: the result, in new Views. Unchanged
///                 after an exception
/// @throws OutOfMemoryError if the budget does not suffice for L and U twice without candidates and once with
///         their keys; the message and needed_bytes() name a sufficient memory limit
/// Waits for `exec` once per step and five times besides, twice more in a step whose candidates are limited,
/// and one to three times per chunk.
template <class Scalar, class ExecutionSpace>
ParIlutOutcome parilut(const ExecutionSpace& exec,
                       const CsrView<Scalar, Ordinal, Offset, typename ExecutionSpace::memory_space>& A,
                       double shift, const IluOptions& options, const MemoryBudget& budget,
                       IncompleteFactors<Scalar, typename ExecutionSpace::memory_space>& factors);

}  // namespace lutra

#endif
