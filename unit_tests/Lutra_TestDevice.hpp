// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_TESTDEVICE_HPP
#define LUTRA_TESTDEVICE_HPP

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <vector>

#include "Lutra_CsrView.hpp"

namespace lutra::Test {

/// A device View with the contents of a host vector.
template <class Space, class T>
Kokkos::View<T*, typename Space::memory_space> to_space(const std::vector<T>& host) {
  Kokkos::View<T*, typename Space::memory_space> device("test", host.size());
  Kokkos::deep_copy(device, Kokkos::View<const T*, Kokkos::HostSpace>(host.data(), host.size()));
  return device;
}

/// A device copy of a host matrix.
template <class Space, class Scalar>
CsrView<Scalar, Ordinal, Offset, typename Space::memory_space> to_space(
    const HostMatrix<Scalar, Ordinal, Offset>& matrix) {
  return {matrix.n_rows, matrix.n_cols, to_space<Space>(matrix.row_map), to_space<Space>(matrix.entries),
          to_space<Space>(matrix.values)};
}

/// A host vector with the contents of a rank-1 View.
template <class ViewType>
std::vector<typename ViewType::non_const_value_type> to_vector(const ViewType& view) {
  const auto host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), view);
  std::vector<typename ViewType::non_const_value_type> result(host.extent(0));
  for (std::size_t i = 0; i < result.size(); ++i) result[i] = host(i);
  return result;
}

/// Rows of a pattern as lists of columns.
template <class Pattern>
std::vector<std::vector<std::size_t>> to_rows(const Pattern& pattern) {
  const auto row_map = to_vector(pattern.row_map);
  const auto entries = to_vector(pattern.entries);
  std::vector<std::vector<std::size_t>> rows;
  for (std::size_t i = 0; i + 1 < row_map.size(); ++i) {
    rows.emplace_back(entries.begin() + row_map[i], entries.begin() + row_map[i + 1]);
  }
  return rows;
}

}  // namespace lutra::Test

#endif
