// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_DISTRIBUTEDROWS_HPP
#define LUTRA_DISTRIBUTEDROWS_HPP

#include <cstdint>
#include <span>
#include <vector>

#include "Lutra_Communicator.hpp"
#include "Lutra_CsrView.hpp"
#include "Lutra_Exchange.hpp"

namespace lutra {

namespace Impl {

/// Finds the rank of each row, and its position there.
/// @param rows [ranks] rows of each rank
/// @throws InputError if a row is out of range, or on no rank or on two
std::vector<Place> places_of_rows(std::int64_t n, const std::vector<std::vector<std::int64_t>>& rows);

/// Assembles the whole matrix from the rows of all ranks, on the rank that gathered them. Rows and columns
/// have been checked.
/// @param rows, row_maps, columns, values arrays of each rank, as in DistributedRows
/// @throws InputError if there are too many rows for 32-bit indices
template <class Scalar>
HostMatrix<Scalar> assemble_rows(std::int64_t n, const std::vector<std::vector<std::int64_t>>& rows,
                                 const std::vector<std::vector<std::int64_t>>& row_maps,
                                 const std::vector<std::vector<int>>& columns,
                                 const std::vector<std::vector<Scalar>>& values);

/// @throws InputError if the lengths of the arrays do not match
template <class Scalar>
void check_rows(const DistributedRows<Scalar>& A);
/// @throws InputError naming a row and a column that is out of range
template <class Scalar>
void check_columns(const DistributedRows<Scalar>& A);
/// @param values of the entries
/// @throws InputError naming an entry that is not finite
template <class Scalar>
void check_values(const DistributedRows<Scalar>& A, std::span<const Scalar> values);

}  // namespace Impl

}  // namespace lutra

#endif
