// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_MAPPEDCOLUMNS_HPP
#define LUTRA_MAPPEDCOLUMNS_HPP

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "Lutra_ScalarTraits.hpp"

namespace lutra::Impl {

/// Columns of right-hand sides or solutions in the caller's memory, with a scale for each row.
template <class Scalar>
struct MappedColumns {
  Scalar* data = nullptr;
  std::size_t row_stride = 1;
  std::size_t column_stride = 1;
  const RealOf<std::remove_const_t<Scalar>>* scale = nullptr;  ///< factor of each row; null: 1

  bool operator==(const MappedColumns&) const = default;

  KOKKOS_FORCEINLINE_FUNCTION Scalar& at(std::int64_t row, int column) const {
    return data[static_cast<std::size_t>(row) * row_stride +
                static_cast<std::size_t>(column) * column_stride];
  }
  KOKKOS_FORCEINLINE_FUNCTION std::remove_const_t<Scalar> scaled(std::int64_t row,
                                                                 const Scalar& value) const {
    return scale == nullptr ? value : value * scale[row];
  }
};

/// Calls solve(in, out, columns) for groups of up to `most` columns.
template <class Scalar, class Solve>
void for_column_groups(MappedColumns<const Scalar> in, MappedColumns<Scalar> out, int n_columns, int most,
                       const Solve& solve) {
  while (n_columns > 0) {
    const int now = n_columns < most ? n_columns : most;
    solve(in, out, now);
    in.data += static_cast<std::size_t>(now) * in.column_stride;
    out.data += static_cast<std::size_t>(now) * out.column_stride;
    n_columns -= now;
  }
}

}  // namespace lutra::Impl

#endif
