// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_CHECKMATRIX_HPP
#define LUTRA_CHECKMATRIX_HPP

#include "Lutra_AsyncResult.hpp"
#include "Lutra_CsrView.hpp"
#include "Lutra_Error.hpp"

namespace lutra {

namespace Impl {

/// Findings of one pass over a matrix. A row equal to n means that no row was found.
struct MatrixFindings {
  std::int64_t first_offset;   ///< row_map(0)
  std::int64_t last_offset;    ///< row_map(n)
  std::int64_t bad_row_start;  ///< first row with decreasing offsets, or offsets outside [0, nnz]
  std::int64_t bad_row;     ///< first row with a column out of range or out of order, or a non-finite value
  std::int64_t difference;  ///< 1 if the pattern differs from the reference
};

}  // namespace Impl

/// Reusable buffer for the findings of a check.
template <class ExecutionSpace>
struct MatrixCheckWorkspace {
  MatrixCheckWorkspace() = default;
  explicit MatrixCheckWorkspace(const ExecutionSpace& exec, const MemoryBudget& budget = {})
      : reservation(budget), findings(exec, reservation, "lutra::common::findings", 1) {}

  MemoryReservation reservation;
  Impl::AsyncResult<Impl::MatrixFindings, ExecutionSpace> findings;
};

/// Checks that `matrix` is a well-formed square matrix: at least one row; `row_map` of n + 1 nondecreasing
/// offsets from 0 to nnz; columns in range and strictly ascending in each row; finite values. No element of
/// `row_map` or `entries` is used as an index before it is known to be in range. Cost: one pass over the
/// matrix, balanced over long rows on devices, and one wait; a malformed matrix costs a few more waits, for
/// the message.
/// @param read  triangle whose values must be finite; columns are checked in both triangles
/// @throws InputError naming the first offending row and, if known, the column, both 0-based
template <class Scalar, class Index, class Integer, class ExecutionSpace>
void check_square_matrix(const ExecutionSpace& exec,
                         const CsrView<Scalar, Index, Integer, typename ExecutionSpace::memory_space>& matrix,
                         const MatrixCheckWorkspace<ExecutionSpace>& work, Triangle read = Triangle::both);

/// Checks that the pattern of `matrix` equals the already checked `pattern` and that its values are finite.
/// Cost: one pass over both patterns and the values, parallel over entries, and one wait.
/// @param validate  false: only extents are compared, on the host
/// @param read  triangle whose values must be finite
/// @throws InputError; for a malformed matrix, with the message of check_square_matrix
template <class Scalar, class Index, class Integer, class ExecutionSpace>
void check_same_pattern(const ExecutionSpace& exec,
                        const CsrView<Scalar, Index, Integer, typename ExecutionSpace::memory_space>& matrix,
                        const CsrPattern<Ordinal, Offset, typename ExecutionSpace::memory_space>& pattern,
                        const MatrixCheckWorkspace<ExecutionSpace>& work, bool validate = true,
                        Triangle read = Triangle::both);

}  // namespace lutra

#endif
