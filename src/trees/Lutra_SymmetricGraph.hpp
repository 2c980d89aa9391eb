// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_SYMMETRICGRAPH_HPP
#define LUTRA_SYMMETRICGRAPH_HPP

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "Lutra_CsrView.hpp"
#include "Lutra_Error.hpp"

namespace lutra {

/// Graph of A + Aᵀ without loops, as adjacency lists on the host. Each edge is stored in the lists of both
/// its vertices; lists are sorted. `Index` numbers vertices and counts entries, as METIS and AMD require.
template <class Index>
struct SymmetricGraph {
  std::vector<Index> row_map;     ///< [n + 1] start of each vertex's list in `neighbours`
  std::vector<Index> neighbours;  ///< [row_map[n]]

  Index size() const { return static_cast<Index>(row_map.size()) - 1; }
};

namespace Impl {

/// Transpose of a pattern by a counting sort, with index type `Index` and sorted rows. O(n + nnz).
/// @param row_order [n] row_order[i] is the row of the pattern that counts as row i; empty: identity
template <class Index>
SymmetricGraph<Index> transpose_pattern(const CsrPattern<Ordinal, Offset, Kokkos::HostSpace>& pattern,
                                        const std::vector<Ordinal>& row_order = {}) {
  SymmetricGraph<Index> transpose;
  transpose.row_map.assign(static_cast<std::size_t>(pattern.n_cols) + 1, 0);
  transpose.neighbours.resize(pattern.entries.extent(0));
  std::vector<Index>& start = transpose.row_map;
  for (std::size_t k = 0; k < pattern.entries.extent(0); ++k)
    ++start[static_cast<std::size_t>(pattern.entries(k))];
  for (std::size_t c = 1; c < start.size(); ++c) start[c] += start[c - 1];
  // start[c] is now the end of column c; filling it from the last row down moves start[c] to its beginning.
  for (Ordinal r = pattern.n_rows; r-- > 0;) {
    const Ordinal from = row_order.empty() ? r : row_order[static_cast<std::size_t>(r)];
    for (Offset k = pattern.row_map(from); k < pattern.row_map(from + 1); ++k) {
      Index& position = start[static_cast<std::size_t>(pattern.entries(k))];
      transpose.neighbours[static_cast<std::size_t>(--position)] = static_cast<Index>(r);
    }
  }
  return transpose;
}

}  // namespace Impl

/// Whether `int` can number the vertices and count the entries of a pattern's graph.
inline bool graph_fits_int(const CsrPattern<Ordinal, Offset, Kokkos::HostSpace>& pattern) {
  constexpr auto largest = static_cast<std::int64_t>(std::numeric_limits<int>::max());
  return static_cast<std::int64_t>(pattern.n_rows) < largest &&
         static_cast<std::int64_t>(pattern.nnz()) <= largest / 2;
}

/// Graph of P·A + (P·A)ᵀ for a row permutation P, by merging the rows of both. O(n + nnz).
/// @tparam Index     can represent 2·nnz
/// @param  pattern   square; rows sorted, without duplicates
/// @param  row_order [n] row of A that becomes each row of P·A; empty: P is the identity
/// @throws InputError unless the pattern is square
template <class Index>
SymmetricGraph<Index> symmetric_graph(const CsrPattern<Ordinal, Offset, Kokkos::HostSpace>& pattern,
                                      const std::vector<Ordinal>& row_order = {}) {
  if (pattern.n_rows != pattern.n_cols) {
    throw InputError("pattern: has to be square, this one has " + std::to_string(pattern.n_rows) +
                     " rows and " + std::to_string(pattern.n_cols) + " columns");
  }
  const SymmetricGraph<Index> transpose = Impl::transpose_pattern<Index>(pattern, row_order);
  SymmetricGraph<Index> graph;
  graph.row_map.resize(static_cast<std::size_t>(pattern.n_rows) + 1);
  graph.neighbours.resize(2 * pattern.entries.extent(0));
  Index* to = graph.neighbours.data();
  for (Ordinal r = 0; r < pattern.n_rows; ++r) {
    const auto row = static_cast<std::size_t>(r);
    const Ordinal from = row_order.empty() ? r : row_order[row];
    const auto self = static_cast<Index>(r);
    const Ordinal* a = pattern.entries.data() + pattern.row_map(from);
    const Ordinal* const a_end = pattern.entries.data() + pattern.row_map(from + 1);
    const Index* b = transpose.neighbours.data() + transpose.row_map[row];
    const Index* const b_end = transpose.neighbours.data() + transpose.row_map[row + 1];
    const auto append = [&](Index c) {
      *to = c;
      to += c != self ? 1 : 0;
    };
    while (a != a_end && b != b_end) {
      const auto c = static_cast<Index>(*a), d = *b;
      append(c < d ? c : d);
      a += c <= d ? 1 : 0;
      b += d <= c ? 1 : 0;
    }
    for (; a != a_end; ++a) append(static_cast<Index>(*a));
    for (; b != b_end; ++b) append(*b);
    graph.row_map[row + 1] = static_cast<Index>(to - graph.neighbours.data());
  }
  graph.neighbours.resize(static_cast<std::size_t>(graph.row_map.back()));
  return graph;
}

}  // namespace lutra

#endif
