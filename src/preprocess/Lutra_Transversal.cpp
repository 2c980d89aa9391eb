// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Maximum matching of rows and columns by depth-first augmenting paths with look-ahead: I. S. Duff, "On
// algorithms for obtaining a maximum transversal", ACM Trans. Math. Software 7 (1981). Departure: rows
// stay marked for a whole phase, so that the paths of a phase are disjoint and each row is visited once per
// phase (A. Pothen and C.-J. Fan, ACM Trans. Math. Software 16 (1990)). Worst case O(n·nnz), in practice a
// few passes over the matrix.
#include <cstddef>
#include <limits>
#include <utility>

#include "Lutra_Index.hpp"
#include "Lutra_Instantiate.hpp"
#include "Lutra_Matching.hpp"

namespace lutra {
namespace {

class TransversalSearch {
 public:
  /// @param cost          [nnz] infinity excludes an entry; null: all count
  /// @param row_of_column [n_cols] initial matching
  TransversalSearch(const CsrPattern<Ordinal, Offset, Kokkos::HostSpace>& pattern, const double* cost,
                    std::vector<Ordinal> row_of_column, const RunControl& run)
      : m_run(run),
        m_row_map(pattern.row_map.data()),
        m_entries(pattern.entries.data()),
        m_cost(cost),
        m_row_of_column(std::move(row_of_column)),
        m_rows(static_cast<std::size_t>(pattern.n_rows)) {
    std::vector<char> matched(m_rows.size(), 0);
    for (const Ordinal r : m_row_of_column) {
      if (r >= 0) matched[static_cast<std::size_t>(r)] = 1;
    }
    for (Ordinal r = 0; r < pattern.n_rows; ++r) {
      row(r).look_ahead = m_row_map[r];
      if (!matched[static_cast<std::size_t>(r)]) m_free_rows.push_back(r);
    }
  }

  // Repeats phases until one finds no path.
  Transversal run() {
    auto rank = static_cast<Ordinal>(m_rows.size() - m_free_rows.size());
    for (bool progress = true; progress; ++m_phase) {
      progress = false;
      std::vector<Ordinal> still_free;
      for (const Ordinal r : m_free_rows) {
        if (augment_from(r)) {
          progress = true;
          ++rank;
        } else {
          still_free.push_back(r);
        }
      }
      m_free_rows.swap(still_free);
    }
    return {rank, std::move(m_row_of_column)};
  }

 private:
  struct Row {
    Offset look_ahead = 0;  // entries before it are in matched columns, which stay matched
    Offset next = 0;        // next entry to try in the current search
    Ordinal visited = -1;   // last phase that visited the row
  };

  Row& row(Ordinal r) { return m_rows[static_cast<std::size_t>(r)]; }
  bool is_ignored(Offset k) const {
    return m_cost != nullptr && m_cost[k] == std::numeric_limits<double>::infinity();
  }
  Ordinal& holder(Ordinal c) { return m_row_of_column[static_cast<std::size_t>(c)]; }

  // An entry of row r in an unmatched column, or −1.
  Offset free_entry(Ordinal r) {
    for (Offset& k = row(r).look_ahead; k < m_row_map[r + 1]; ++k) {
      if (!is_ignored(k) && holder(m_entries[k]) < 0) return k;
    }
    return -1;
  }

  // Extends the path by row r. @returns whether r has an unmatched column, which ends the path
  bool enter(Ordinal r) {
    m_run.poll_at(m_steps++, 1 << 13);
    m_path.push_back(r);
    row(r).visited = m_phase;
    row(r).next = m_row_map[r];
    const Offset k = free_entry(r);
    if (k < 0) return false;
    row(r).next = k + 1;
    return true;
  }

  // A row unvisited in this phase that is matched to a column of row r; −1: none.
  Ordinal next_row(Ordinal r) {
    for (Offset& k = row(r).next; k < m_row_map[r + 1];) {
      const Offset entry = k++;
      if (is_ignored(entry)) continue;
      const Ordinal other = holder(m_entries[entry]);
      if (row(other).visited != m_phase) return other;
    }
    return -1;
  }

  // Depth-first search without recursion. m_path holds the rows from the root to the current one; on success,
  // each row is matched to the entry before its `next`.
  bool augment_from(Ordinal root) {
    m_path.clear();
    bool found = enter(root);
    while (!found && !m_path.empty()) {
      const Ordinal r = next_row(m_path.back());
      if (r < 0) {
        m_path.pop_back();
      } else {
        found = enter(r);
      }
    }
    for (const Ordinal r : m_path) holder(m_entries[row(r).next - 1]) = r;
    return found;
  }

  const RunControl& m_run;
  std::int64_t m_steps = 0;
  const Offset* m_row_map;
  const Ordinal* m_entries;
  const double* m_cost;
  std::vector<Ordinal> m_row_of_column;  // [n_cols] row matched to each column; −1: none
  std::vector<Row> m_rows;               // [n_rows]
  std::vector<Ordinal> m_free_rows;      // rows without a column
  std::vector<Ordinal> m_path;
  Ordinal m_phase = 0;
};

}  // namespace

Transversal maximum_transversal(const CsrPattern<Ordinal, Offset, Kokkos::HostSpace>& pattern,
                                const std::vector<double>& cost, const std::vector<Ordinal>& row_of_column,
                                const RunControl& run) {
  auto start = row_of_column;
  start.resize(static_cast<std::size_t>(pattern.n_cols), Ordinal(-1));
  return TransversalSearch(pattern, cost.empty() ? nullptr : cost.data(), std::move(start), run).run();
}

}  // namespace lutra
