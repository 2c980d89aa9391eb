// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_BlockTriangle.hpp"

#include <algorithm>
#include <map>
#include <numeric>

#include "Lutra_At.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_Instantiate.hpp"

namespace lutra {
namespace {

using Impl::at;

double dense_triangle(std::size_t width) {
  return 0.5 * static_cast<double>(width) * static_cast<double>(width + 1);
}

/// Block of each row.
std::vector<std::size_t> blocks_of_rows(const std::vector<std::size_t>& begin) {
  std::vector<std::size_t> block(begin.back());
  for (std::size_t k = 0; k + 1 < begin.size(); ++k)
    std::fill(block.begin() + static_cast<std::ptrdiff_t>(begin[k]),
              block.begin() + static_cast<std::ptrdiff_t>(begin[k + 1]), k);
  return block;
}

void add_block(BlockTriangle& triangle, std::size_t row, double entries) {
  triangle.row.push_back(row);
  triangle.entries.push_back(entries);
}

}  // namespace

BlockTriangle block_triangle(const AssemblyTree& tree, std::size_t max_width) {
  const auto fronts = static_cast<std::size_t>(tree.count());
  std::vector<std::size_t> begin,
      first_block{0};  // of each block, its first pivot; of each front, its first block
  for (std::size_t f = 0; f < fronts; ++f) {
    const auto last = static_cast<std::size_t>(tree.pivot_begin[f + 1]);
    for (auto k = static_cast<std::size_t>(tree.pivot_begin[f]); k < last; k += max_width) begin.push_back(k);
    first_block.push_back(begin.size());
  }
  begin.push_back(static_cast<std::size_t>(tree.n));
  const auto block_of = blocks_of_rows(begin);
  BlockTriangle triangle;
  for (std::size_t f = 0; f < fronts; ++f) {
    for (std::size_t K = first_block[f]; K < first_block[f + 1]; ++K) {
      const std::size_t width = begin[K + 1] - begin[K];
      triangle.width.push_back(width);
      triangle.column_begin.push_back(triangle.row.size());
      add_block(triangle, K, dense_triangle(width));
      for (std::size_t I = K + 1; I < first_block[f + 1]; ++I)
        add_block(triangle, I, static_cast<double>(width * (begin[I + 1] - begin[I])));
      for (auto r = tree.row_begin[f]; r < tree.row_begin[f + 1]; ++r) {
        const std::size_t I = at(block_of, at(tree.rows, r));
        if (triangle.row.back() != I) add_block(triangle, I, 0);
        triangle.entries.back() += static_cast<double>(width);
      }
    }
  }
  triangle.column_begin.push_back(triangle.row.size());
  return triangle;
}

BlockTriangle block_triangle(const CsrPattern<Ordinal, Offset, Kokkos::HostSpace>& pattern,
                             const std::vector<std::size_t>& begin) {
  const std::size_t n = begin.size() - 1;
  const auto block_of = blocks_of_rows(begin);
  std::vector<std::map<std::size_t, double>> columns(n);
  for (std::size_t i = 0; i < block_of.size(); ++i) {
    const std::size_t I = block_of[i];
    columns[I][I] += 1;  // the diagonal, stored or not
    for (Offset e = pattern.row_map(i); e < pattern.row_map(i + 1); ++e) {
      const auto j = static_cast<std::size_t>(pattern.entries(static_cast<std::size_t>(e)));
      if (j < i) columns[block_of[j]][I] += 1;
    }
  }
  BlockTriangle triangle;
  for (std::size_t K = 0; K < n; ++K) {
    triangle.width.push_back(begin[K + 1] - begin[K]);
    triangle.column_begin.push_back(triangle.row.size());
    for (const auto& [I, entries] : columns[K]) add_block(triangle, I, entries);
  }
  triangle.column_begin.push_back(triangle.row.size());
  return triangle;
}

BlockTriangle reversed_transpose(const BlockTriangle& triangle) {
  const std::size_t n = triangle.size();
  BlockTriangle result;
  result.reversed = !triangle.reversed;
  result.width.assign(triangle.width.rbegin(), triangle.width.rend());
  result.column_begin.assign(n + 1, 0);
  for (const std::size_t I : triangle.row) ++result.column_begin[n - I];
  std::partial_sum(result.column_begin.begin(), result.column_begin.end(), result.column_begin.begin());
  result.row.resize(triangle.row.size());
  result.entries.resize(triangle.row.size());
  auto next = result.column_begin;
  for (std::size_t K = n; K-- > 0;) {
    for (std::size_t e = triangle.column_begin[K]; e < triangle.column_begin[K + 1]; ++e) {
      const std::size_t to = next[n - 1 - triangle.row[e]]++;
      result.row[to] = n - 1 - K;
      result.entries[to] = triangle.entries[e];
    }
  }
  return result;
}

}  // namespace lutra
