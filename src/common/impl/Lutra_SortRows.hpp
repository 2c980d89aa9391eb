// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_SORTROWS_HPP
#define LUTRA_SORTROWS_HPP

#include <KokkosSparse_SortCrs.hpp>

#include <cstddef>

#include "Lutra_Allocate.hpp"
#include "Lutra_CheckLaunches.hpp"
#include "Lutra_Index.hpp"

namespace lutra::Impl {

/// Sorts the entries of each row in ascending order. Kokkos Kernels copies them, outside any budget.
/// @param label of the copies, in errors
/// @throws OutOfMemoryError naming the label
template <class ExecutionSpace, class RowMap, class Entries>
void sort_rows(const char* label, const ExecutionSpace& exec, const RowMap& row_map, const Entries& entries,
               Ordinal n_columns) {
  check_launches_on<ExecutionSpace>();  // CUB would name another error
  allocating(label, entries.extent(0) * sizeof(typename Entries::value_type),
             [&] { KokkosSparse::sort_crs_graph(exec, row_map, entries, n_columns); });
}

/// The same, with the values of the entries.
template <class ExecutionSpace, class RowMap, class Entries, class Values>
void sort_rows(const char* label, const ExecutionSpace& exec, const RowMap& row_map, const Entries& entries,
               const Values& values, Ordinal n_columns) {
  check_launches_on<ExecutionSpace>();
  constexpr std::size_t entry = sizeof(typename Entries::value_type) + sizeof(typename Values::value_type);
  allocating(label, entries.extent(0) * entry,
             [&] { KokkosSparse::sort_crs_matrix(exec, row_map, entries, values, n_columns); });
}

}  // namespace lutra::Impl

#endif
