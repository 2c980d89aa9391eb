// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_CHECKMATRIX_HPP
#define LUTRA_CHECKMATRIX_HPP

#include "Lutra_AsyncResult.hpp"
#include "Lutra_CsrView.hpp"
#include "Lutra_Error.hpp"
#include "Lutra_Symmetry.hpp"

namespace lutra {

namespace Impl {

/// What one pass over a matrix has found, n standing for "no such row".
struct MatrixFindings {
  std::int64_t first_offset;   ///< row_map(0)
  std::int64_t last_offset;    ///< row_map(n)
  std::int64_t bad_row_start;  ///< first row whose offsets fall or leave [0, nnz]
  std::int64_t bad_row;     ///< first row with a column out of range or out of order, or a value not finite
  std::int64_t difference;  ///< 1 where the pattern is not the one it is compared with
};

}  // namespace Impl

/// Where a check leaves its findings; made once and kept for every check.
template <class ExecutionSpace>
struct MatrixCheckWorkspace {
  MatrixCheckWorkspace() = default;
  explicit MatrixCheckWorkspace(const ExecutionSpace& exec, const MemoryBudget& budget = {})
      : reservation(budget), findings(exec, reservation, "lutra::common::findings", 1) {}

  MemoryReservation reservation;
  Impl::AsyncResult<Impl::MatrixFindings, ExecutionSpace> findings;
};

/// Throws InputError unless `matrix` is a well-formed square matrix: at least one row, `row_map` of n + 1
/// offsets from 0 to nnz that never fall, columns in range and strictly ascending in each row, values finite.
/// The message names the first offending row, and the column where there is one, counted from 0. No element
/// of `row_map` or `entries` is used as an index before it is known to be in range. Cost: one pass over the
/// matrix, balanced over long rows on devices, and one wait. A malformed matrix costs a few waits more, for
/// the message.
/// @param read  entries whose values have to be finite; columns are checked in both triangles
template <class Scalar, class Index, class Integer, class ExecutionSpace>
void check_square_matrix(const ExecutionSpace& exec,
                         const CsrView<Scalar, Index, Integer, typename ExecutionSpace::memory_space>& matrix,
                         const MatrixCheckWorkspace<ExecutionSpace>& work, Triangle read = Triangle::both);

/// Throws InputError unless the pattern of `matrix` is `pattern`, which has been checked before, and its
/// values are finite. A malformed matrix is refused with the message of check_square_matrix. Cost: one pass
/// over both patterns and the values, parallel over entries, and one wait.
/// @param validate  false: extents alone are compared, by the host
/// @param read  entries whose values have to be finite
template <class Scalar, class Index, class Integer, class ExecutionSpace>
void check_same_pattern(const ExecutionSpace& exec,
                        const CsrView<Scalar, Index, Integer, typename ExecutionSpace::memory_space>& matrix,
                        const CsrPattern<Ordinal, Offset, typename ExecutionSpace::memory_space>& pattern,
                        const MatrixCheckWorkspace<ExecutionSpace>& work, bool validate = true,
                        Triangle read = Triangle::both);

}  // namespace lutra

#endif
