// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_DISTRIBUTEDROWS_HPP
#define LUTRA_DISTRIBUTEDROWS_HPP

#include <cstdint>
#include <vector>

#include "Lutra_Communicator.hpp"
#include "Lutra_CsrView.hpp"

namespace lutra {

namespace Impl {

/// Assembles the whole matrix from the rows of all ranks, on the rank that gathered them.
/// @param rows, row_maps, columns, values arrays of each rank, as in DistributedRows
/// @throws InputError if a row or column is out of range, or if a row is on no rank or on two
template <class Scalar>
HostMatrix<Scalar> assemble_rows(std::int64_t n, const std::vector<std::vector<std::int64_t>>& rows,
                                 const std::vector<std::vector<std::int64_t>>& row_maps,
                                 const std::vector<std::vector<std::int64_t>>& columns,
                                 const std::vector<std::vector<Scalar>>& values);

/// @throws InputError if the lengths of the arrays do not match
template <class Scalar>
void check_rows(const DistributedRows<Scalar>& A);

}  // namespace Impl

}  // namespace lutra

#endif
