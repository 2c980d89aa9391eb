// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_INSPECTFACTORS_HPP
#define LUTRA_INSPECTFACTORS_HPP

#include "Lutra_AsyncResult.hpp"
#include "Lutra_CsrView.hpp"
#include "Lutra_IncompleteFactors.hpp"

namespace lutra {

/// Looks for growth, zero pivots, NaN and infinities in incomplete factors of A: one kernel over all values,
/// one wait. Entries behind row_map(n) are not looked at.
/// @param symmetric a pivot that is not real and positive is as bad as a zero
/// @param result of one element, kept by the caller so that nothing is allocated
template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
IncompleteOutcome inspect_factors(
    const ExecutionSpace& exec,
    const CsrView<Scalar, Ordinal, Offset, typename ExecutionSpace::memory_space>& A,
    const IncompleteFactors<Scalar, Ordinal, Offset, typename ExecutionSpace::memory_space>& factors,
    bool symmetric, const Impl::AsyncResult<IncompleteOutcome, ExecutionSpace>& result);

}  // namespace lutra

#endif
