// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_LUROWS_HPP
#define LUTRA_LUROWS_HPP

#include <vector>

#include "Lutra_FactorStructure.hpp"
#include "Lutra_Symbolic.hpp"

namespace lutra::Impl {

/// The pattern of L + U as triangular solves read it.
template <class Ordinal, class Offset, class MemorySpace>
struct LuRows {
  LuPattern<Ordinal, Offset, MemorySpace> rows;
  CsrPattern<Ordinal, Offset, MemorySpace> columns;  ///< the same by columns; empty where it is not known
  Kokkos::View<const Offset*, MemorySpace> column_diagonal;  ///< [n] position of (j, j) in `columns`
};

template <class View>
std::vector<std::int64_t> to_host_vector(const View& view) {
  const auto host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), view);
  return std::vector<std::int64_t>(host.data(), host.data() + host.extent(0));
}

/// Writes L + U by rows, and widths of levels from where each level begins.
template <class Ordinal, class Offset, class MemorySpace>
void write_rows(const LuPattern<Ordinal, Offset, MemorySpace>& rows, FactorStructure& structure) {
  structure.row_map = to_host_vector(rows.row_map);
  structure.entries = to_host_vector(rows.entries);
}

}  // namespace lutra::Impl

#endif
