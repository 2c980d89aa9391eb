// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_CHECKMATRIX_HPP
#define LUTRA_CHECKMATRIX_HPP

#include "Lutra_CsrView.hpp"
#include "Lutra_Error.hpp"

namespace lutra {

/// Throws InputError unless `matrix` is a well-formed square matrix: at least one row, `row_map` of n + 1
/// offsets from 0 to nnz that never fall, columns in range and strictly ascending in each row, values finite.
/// The message names the first offending row, and the column where there is one, counted from 0. Cost: one
/// pass over the matrix. `exec` is fenced.
template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
void check_square_matrix(
    const ExecutionSpace& exec,
    const CsrView<Scalar, Ordinal, Offset, typename ExecutionSpace::memory_space>& matrix);

/// True where two patterns are the same, entry for entry. `exec` is fenced.
template <class Ordinal, class Offset, class ExecutionSpace>
bool same_pattern(const ExecutionSpace& exec,
                  const CsrPattern<Ordinal, Offset, typename ExecutionSpace::memory_space>& a,
                  const CsrPattern<Ordinal, Offset, typename ExecutionSpace::memory_space>& b);

}  // namespace lutra

#endif
