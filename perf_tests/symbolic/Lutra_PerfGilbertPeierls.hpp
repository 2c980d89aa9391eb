// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_PERFGILBERTPEIERLS_HPP
#define LUTRA_PERFGILBERTPEIERLS_HPP

#include <cstddef>
#include <cstdint>
#include <vector>

namespace lutra::Perf {

/// The pattern of L + U by columns after Gilbert and Peierls (SIAM J. Sci. Stat. Comput. 9, 1988): for each
/// column a sequential depth-first search over previous columns of L, without pruning and pivoting. It is a
/// peer for the symbolic factorization inside the factorizations of KLU and GLU 3.0.
class GilbertPeierls {
 public:
  /// @param column_map [n + 1] @param rows of each column; the pattern is kept by reference
  GilbertPeierls(const std::vector<std::int64_t>& column_map, const std::vector<int>& rows)
      : m_column_map(column_map), m_rows(rows) {}

  /// nnz(L + U), with the diagonal counted once.
  std::int64_t factorize() {
    const std::size_t n = m_column_map.size() - 1;
    m_mark.assign(n, -1);
    m_below.clear();
    m_below_map.assign(1, 0);
    m_above.clear();
    for (std::size_t k = 0; k < n; ++k) search_column(static_cast<int>(k));
    return static_cast<std::int64_t>(m_above.size() + m_below.size() + n);
  }

 private:
  struct Level {
    int vertex;
    std::size_t next;  // position in m_below of the next edge to follow
  };

  void search_column(int k) {
    const auto column = static_cast<std::size_t>(k);
    m_mark[column] = k;
    for (auto p = m_column_map[column]; p < m_column_map[column + 1]; ++p) {
      const int row = m_rows[static_cast<std::size_t>(p)];
      if (m_mark[static_cast<std::size_t>(row)] != k) search_from(row, k);
    }
    m_below_map.push_back(m_below.size());
  }

  // Vertices below the diagonal are new entries of L and end a path. Others lead on through their columns of
  // L.
  void search_from(int row, int k) {
    m_mark[static_cast<std::size_t>(row)] = k;
    if (row > k) {
      m_below.push_back(row);
      return;
    }
    m_stack.push_back({row, m_below_map[static_cast<std::size_t>(row)]});
    while (!m_stack.empty()) {
      Level& level = m_stack.back();
      if (level.next == m_below_map[static_cast<std::size_t>(level.vertex) + 1]) {
        m_above.push_back(level.vertex);
        m_stack.pop_back();
        continue;
      }
      const int next = m_below[level.next++];
      if (m_mark[static_cast<std::size_t>(next)] == k) continue;
      m_mark[static_cast<std::size_t>(next)] = k;
      if (next > k) {
        m_below.push_back(next);
      } else {
        m_stack.push_back({next, m_below_map[static_cast<std::size_t>(next)]});
      }
    }
  }

  const std::vector<std::int64_t>& m_column_map;
  const std::vector<int>& m_rows;
  std::vector<int> m_mark;               // [n] last column that visited each row
  std::vector<std::size_t> m_below_map;  // where each column of L starts in m_below
  std::vector<int> m_below, m_above;     // rows of L below, and of U above the diagonal
  std::vector<Level> m_stack;
};

}  // namespace lutra::Perf

#endif
