// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_SYMBOLICTESTPATTERNS_HPP
#define LUTRA_SYMBOLICTESTPATTERNS_HPP

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <random>
#include <type_traits>
#include <vector>

#include "Lutra_TestDevice.hpp"
#include "Lutra_TestTypes.hpp"

// Patterns with elimination trees of a given shape, and rows of source lists, for tests of the symbolic
// stage.

namespace lutra::Test {

using Rows = std::vector<std::vector<std::size_t>>;

/// Whether a space has the kernels of fill2 for CUDA.
template <class Space>
constexpr bool has_cuda_kernels() {
#ifdef KOKKOS_ENABLE_CUDA
  return std::is_same_v<Space, Kokkos::Cuda>;
#else
  return false;
#endif
}

/// The rows of a SourceRows, after a check of the diagonals.
template <class Found>
Rows rows_of(const Found& found, const std::vector<Ordinal>& sources) {
  const auto map = to_vector(found.row_map), diagonal = to_vector(found.diagonal);
  const auto entries = to_vector(found.entries);
  Rows rows;
  std::int64_t below = 0;
  for (std::size_t k = 0; k < sources.size(); ++k) {
    REQUIRE(entries[static_cast<std::size_t>(diagonal[k])] == sources[k]);
    below += diagonal[k] - map[k];
    rows.emplace_back(entries.begin() + map[k], entries.begin() + map[k + 1]);
  }
  CHECK(found.nnz_l == below);
  return rows;
}

template <class Types>
auto list_on_device(const std::vector<typename Types::Ordinal>& list) {
  const Kokkos::View<Ordinal*, typename Types::Memory> view("sources", list.size());
  Kokkos::deep_copy(view, Kokkos::View<const Ordinal*, Kokkos::HostSpace>(list.data(), list.size()));
  return Kokkos::View<const Ordinal*, typename Types::Memory>(view);
}

/// An unsymmetric pattern whose tree is one chain of n vertices. Each vertex is joined to the next, in one or
/// both directions, and to one a little farther. In the middle there are no entries below the diagonal, so
/// the rows of U there stay active for long.
template <class MatrixType>
MatrixType one_sided_chain(int n, std::mt19937& random) {
  MatrixType matrix{n, n, {0}, {}, {}};
  std::vector<std::vector<bool>> next(2, std::vector<bool>(static_cast<std::size_t>(n) + 1));
  const auto above_only = [&](int i) { return i > n / 3 && i < n / 3 + 200; };
  for (int i = 0; i < n; ++i) {
    const auto k = static_cast<std::size_t>(i);
    next[0][k + 1] = above_only(i + 1) || random() % 4 != 0;                        // (i, i + 1)
    next[1][k + 1] = !above_only(i + 1) && (random() % 4 != 0 || !next[0][k + 1]);  // (i + 1, i)
    const int before = i - 2 - static_cast<int>(random() % 60),
              behind = i + 2 + static_cast<int>(random() % 60);
    if (before >= 0 && !above_only(i)) matrix.entries.push_back(before);
    if (i > 0 && next[1][k]) matrix.entries.push_back(i - 1);
    matrix.entries.push_back(i);
    if (i + 1 < n && next[0][k + 1]) matrix.entries.push_back(i + 1);
    if (behind < n) matrix.entries.push_back(behind);
    matrix.row_map.push_back(matrix.nnz());
  }
  matrix.values.assign(matrix.entries.size(), 1.0);
  return matrix;
}

/// A chain with edges to vertices up to 500 further up. Small chains of `length` vertices are attached to its
/// vertices, in one or both directions. Some vertices stay active for thousands of vertices.
template <class MatrixType>
MatrixType chain_with_twigs(int n, int length, std::mt19937& random) {
  const int half = n / 2;
  std::vector<std::vector<int>> rows(static_cast<std::size_t>(n));
  const auto below = [&](int count) { return static_cast<int>(random() % static_cast<unsigned>(count)); };
  const auto add = [&](int i, int j) { rows[static_cast<std::size_t>(i)].push_back(j); };
  const auto join = [&](int i, int j) {
    if (below(5) != 0) add(i, j);
    if (below(5) != 0) add(j, i);
  };
  for (int i = 0; i < n; ++i) add(i, i);
  for (int i = half; i + 1 < n; ++i) {
    add(i, i + 1);
    if (below(8) != 0) add(i + 1, i);
    join(i, std::min(n - 1, i + 2 + below(500)));
  }
  for (int i = 0; i < half; ++i) {
    if (i % length != 0) {
      join(i, i - 1);
    } else {
      for (int k = 0; k < 2; ++k) join(i, half + below(n - half));
    }
  }
  MatrixType matrix{n, n, {0}, {}, {}};
  for (auto& row : rows) {
    std::sort(row.begin(), row.end());
    row.erase(std::unique(row.begin(), row.end()), row.end());
    matrix.entries.insert(matrix.entries.end(), row.begin(), row.end());
    matrix.row_map.push_back(matrix.nnz());
  }
  matrix.values.assign(matrix.entries.size(), 1.0);
  return matrix;
}

/// Numbers a chain of vertices by dissection: both halves first, then the vertex between them.
inline void dissect(std::vector<int>& number, std::size_t begin, std::size_t end, int& next) {
  if (begin == end) return;
  const std::size_t middle = (begin + end) / 2;
  dissect(number, begin, middle, next);
  dissect(number, middle + 1, end, next);
  number[middle] = next++;
}

/// Parallel chains, joined to their neighbours in one or both directions, in dissection order, so that each
/// part is a range of rows.
template <class MatrixType>
MatrixType dissected_chains(int length, int width, std::mt19937& random) {
  const int n = length * width;
  std::vector<int> number(static_cast<std::size_t>(length));
  int next = 0;
  dissect(number, 0, number.size(), next);
  std::vector<std::vector<int>> rows(static_cast<std::size_t>(n));
  const auto row_of = [&](int k, int c) { return number[static_cast<std::size_t>(k)] * width + c; };
  const auto join = [&](int a, int b) {
    if (random() % 4 != 0) rows[static_cast<std::size_t>(a)].push_back(b);
    if (random() % 4 != 0) rows[static_cast<std::size_t>(b)].push_back(a);
  };
  for (int k = 0; k < length; ++k) {
    for (int c = 0; c < width; ++c) {
      rows[static_cast<std::size_t>(row_of(k, c))].push_back(row_of(k, c));
      if (k + 1 < length) join(row_of(k, c), row_of(k + 1, c));
      if (c + 1 < width) join(row_of(k, c), row_of(k, c + 1));
    }
  }
  MatrixType matrix{n, n, {0}, {}, {}};
  for (auto& row : rows) {
    std::sort(row.begin(), row.end());
    matrix.entries.insert(matrix.entries.end(), row.begin(), row.end());
    matrix.row_map.push_back(matrix.nnz());
  }
  matrix.values.assign(matrix.entries.size(), 1.0);
  return matrix;
}

}  // namespace lutra::Test

#endif
