// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_DISTRIBUTEDROWS_HPP
#define LUTRA_DISTRIBUTEDROWS_HPP

#include <cstdint>
#include <vector>

#include "Lutra_Communicator.hpp"
#include "Lutra_CsrView.hpp"

namespace lutra {

/// Rows of a square matrix on one rank. Each row is on exactly one rank, and so are the elements of B and X
/// that belong to it.
template <class Scalar>
struct DistributedRows {
  std::int64_t n = 0;                 ///< rows of the whole matrix
  std::vector<std::int64_t> rows;     ///< of the matrix, in any order
  std::vector<std::int64_t> row_map;  ///< [rows + 1]
  std::vector<std::int64_t> columns;  ///< of the matrix, ascending in each row
  std::vector<Scalar> values;
};

/// Collective. A matrix that rank `root` has, dealt out by equal runs of consecutive rows; others pass
/// anything.
template <class Scalar>
DistributedRows<Scalar> deal_rows(Communicator& comm, const HostMatrix<Scalar>& A, int root = 0);

namespace Impl {

/// The matrix of all ranks' rows, on the rank that has gathered them.
/// @param rows, row_maps, columns, values of each rank, as in DistributedRows
/// @throws InputError for a row or column out of range, and a row that is on no rank or on two
template <class Scalar>
HostMatrix<Scalar> assemble_rows(std::int64_t n, const std::vector<std::vector<std::int64_t>>& rows,
                                 const std::vector<std::vector<std::int64_t>>& row_maps,
                                 const std::vector<std::vector<std::int64_t>>& columns,
                                 const std::vector<std::vector<Scalar>>& values);

/// @throws InputError where the arrays do not fit together
template <class Scalar>
void check_rows(const DistributedRows<Scalar>& A);

}  // namespace Impl

}  // namespace lutra

#endif
