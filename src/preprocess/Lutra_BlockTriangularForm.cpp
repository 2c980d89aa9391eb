// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_BlockTriangularForm.hpp"

#include <algorithm>
#include <cstddef>

#include "Lutra_At.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_Instantiate.hpp"

namespace lutra {

BlockTriangularForm block_triangular_form(const CsrPattern<Ordinal, Offset, Kokkos::HostSpace>& pattern,
                                          const std::vector<Ordinal>& row_of_column) {
  using Impl::at;
  struct Vertex {
    Ordinal number = -1;   // in order of discovery; −1: undiscovered; n: in a component
    Ordinal low = 0;       // lowest known number reachable from it within its component
    Ordinal previous = 0;  // vertex from which it was discovered
    Offset next = 0;       // next entry of its row to visit
  };
  const Ordinal n = pattern.n_rows;
  const Ordinal* const columns = pattern.entries.data();
  std::vector<Vertex> vertices(static_cast<std::size_t>(n));
  std::vector<Ordinal> open;  // discovered vertices that are in no component yet
  open.reserve(static_cast<std::size_t>(n));
  BlockTriangularForm form;
  form.block_of_column.resize(static_cast<std::size_t>(n));
  Ordinal discovered = 0;
  const auto row_of = [&](Ordinal j) { return row_of_column.empty() ? j : at(row_of_column, j); };
  const auto discover = [&](Ordinal j, Ordinal previous) {
    at(vertices, j) = {discovered, discovered, previous, pattern.row_map(row_of(j))};
    ++discovered;
    open.push_back(j);
  };
  const auto close_component = [&](Ordinal root) {
    Ordinal j = -1, size = 0;
    for (; j != root; ++size) {
      j = open.back();
      open.pop_back();
      at(vertices, j).number = n;
      at(form.block_of_column, j) = form.count;
    }
    ++form.count;
    form.largest = std::max(form.largest, size);
  };
  for (Ordinal start = 0; start < n; ++start) {
    if (at(vertices, start).number >= 0) continue;
    discover(start, -1);
    for (Ordinal j = start; j >= 0;) {
      Vertex& v = at(vertices, j);
      const Offset end = pattern.row_map(row_of(j) + 1);
      while (v.next < end && at(vertices, columns[v.next]).number >= 0) {
        const Ordinal number = at(vertices, columns[v.next++]).number;
        if (number < n) v.low = std::min(v.low, number);
      }
      if (v.next < end) {
        const Ordinal found = columns[v.next++];
        discover(found, j);
        j = found;
        continue;
      }
      if (v.low == v.number) close_component(j);
      if (v.previous >= 0) {
        Vertex& u = at(vertices, v.previous);
        u.low = std::min(u.low, v.low);
      }
      j = v.previous;
    }
  }
  // Components are completed after all that are reachable from them.
  for (Ordinal& block : form.block_of_column) block = form.count - 1 - block;
  return form;
}

}  // namespace lutra
