// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Shortest augmenting paths for the sparse assignment problem, after I. S. Duff and J. Koster, "On algorithms
// for permuting large entries to the diagonal of a sparse matrix", SIAM J. Matrix Anal. Appl. 22 (2001),
// sections 3, 4. Departures: augmenting row reduction before the path searches; paths start at rows and
// follow the rows' entries (the matrix is stored by rows; the problem is symmetric in rows and columns);
// entries to be ignored have infinite cost, so that the pattern is not copied.
#include "Lutra_Assignment.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "Lutra_ColumnHeap.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_Instantiate.hpp"

namespace lutra::Impl {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

constexpr int bidding_passes = 8;  // row reduction reads at most this many times the number of entries
constexpr int max_chain = 64;  // maximum length of a chain of bids, each by the row displaced by the previous
                               // one
constexpr int long_row_factor = 16;  // rows longer than this many times the average do not bid
constexpr double min_gain = 1e-12;   // smaller changes of a dual count as rounding

class ShortestPaths {
 public:
  ShortestPaths(const CsrPattern<Ordinal, Offset, Kokkos::HostSpace>& pattern,
                const std::vector<double>& cost, const std::function<void(Ordinal)>& complete_row)
      : m_n(pattern.n_rows),
        m_row_map(pattern.row_map.data()),
        m_entries(pattern.entries.data()),
        m_cost(cost.data()),
        m_complete_row(complete_row),
        m_rows(static_cast<std::size_t>(m_n)),
        m_columns(static_cast<std::size_t>(m_n)),
        m_heap(m_columns) {}

  /// Runs the algorithm, from an initial matching and its duals if given. @returns false if there is no
  /// perfect matching
  bool run(const Assignment& start) {
    return m_n == 0 || ((start.row_of_column.empty() ? start_duals() : take_over(start)) && complete());
  }

  void write(Assignment& result) const {
    for (const Row& r : m_rows) result.row_dual.push_back(r.dual);
    for (const Column& c : m_columns) {
      result.col_dual.push_back(c.dual);
      result.row_of_column.push_back(c.row);
    }
  }

 private:
  static constexpr Offset unmatched = -1;

  struct Row {
    double dual = infinity;
    Offset entry = unmatched;  // matched entry of this row
    Offset look_ahead = 0;     // entries before it are not tight or in matched columns, until duals change
    bool is_complete = false;  // whether all costs of the row are computed
  };
  // Data of a column read by a path search, together in half a cache line.
  struct Column {
    double dual = infinity;
    double distance = infinity;  // length of the shortest path to it found in this search
    Ordinal row = -1;            // matched row
    Ordinal previous = -1;       // row from which the path reaches it
    Ordinal heap_position = -1;  // position in the heap; −1: not in it
  };

  Row& row(Ordinal r) { return m_rows[static_cast<std::size_t>(r)]; }
  Column& column(Ordinal c) { return m_columns[static_cast<std::size_t>(c)]; }
  double reduced_cost(Ordinal r, Offset k) { return (m_cost[k] - row(r).dual) - column(m_entries[k]).dual; }

  /// Completes the matching from feasible duals. @returns false if there is no perfect matching
  bool complete() {
    match_tight_entries();
    match_with_look_ahead();
    bid_for_columns();
    for (Ordinal r = 0; r < m_n; ++r) {
      if (row(r).entry == unmatched && !augment_from(r)) return false;
    }
    return true;
  }

  // @returns false if a row has no entry of finite cost
  bool take_over(const Assignment& start) {
    for (Ordinal c = 0; c < m_n; ++c) {
      column(c).row = start.row_of_column[static_cast<std::size_t>(c)];
      column(c).dual = start.col_dual[static_cast<std::size_t>(c)];
    }
    for (Ordinal r = 0; r < m_n; ++r) {
      row(r).dual = start.row_dual[static_cast<std::size_t>(r)];
      row(r).look_ahead = m_row_map[r];
      if (row(r).dual == infinity) return false;
      for (Offset k = m_row_map[r]; k < m_row_map[r + 1]; ++k) {
        if (column(m_entries[k]).row == r && row(r).entry == unmatched) row(r).entry = k;
      }
    }
    return true;
  }

  // Called before costs of the row are read that are neither minima nor equal to them.
  void complete_row(Ordinal r) {
    if (row(r).is_complete || !m_complete_row) return;
    row(r).is_complete = true;
    m_complete_row(r);
  }

  void match(Ordinal r, Offset k) {
    row(r).entry = k;
    column(m_entries[k]).row = r;
  }

  // Initial duals: row minima, then column minima of the reduced costs, so that every row and column has a
  // tight entry, of reduced cost zero. @returns false if a row or column has no entry of finite cost
  bool start_duals() {
    for (Ordinal r = 0; r < m_n; ++r) {
      for (Offset k = m_row_map[r]; k < m_row_map[r + 1]; ++k) row(r).dual = std::min(row(r).dual, m_cost[k]);
      if (row(r).dual == infinity) return false;
      row(r).look_ahead = m_row_map[r];
      for (Offset k = m_row_map[r]; k < m_row_map[r + 1]; ++k) {
        Column& c = column(m_entries[k]);
        c.dual = std::min(c.dual, m_cost[k] - row(r).dual);
      }
    }
    return std::none_of(m_columns.begin(), m_columns.end(),
                        [](const Column& c) { return c.dual == infinity; });
  }

  void match_tight_entries() {
    for (Ordinal r = 0; r < m_n; ++r) {
      if (row(r).entry != unmatched) continue;
      const Offset k = free_tight_entry(r);
      if (k != unmatched) match(r, k);
    }
  }

  // A tight entry of the row in an unmatched column. Matched columns stay matched, so each call continues
  // where the previous one ended.
  Offset free_tight_entry(Ordinal r) {
    for (Offset& k = row(r).look_ahead; k < m_row_map[r + 1]; ++k) {
      if (column(m_entries[k]).row < 0 && reduced_cost(r, k) <= 0) return k;
    }
    return unmatched;
  }

  // Augmenting paths through one matched row: r takes a tight column whose row has another tight, unmatched
  // one.
  void match_with_look_ahead() {
    for (Ordinal r = 0; r < m_n; ++r) {
      if (row(r).entry != unmatched) continue;
      for (Offset k = m_row_map[r]; k < m_row_map[r + 1]; ++k) {
        if (reduced_cost(r, k) > 0) continue;
        const Ordinal holder = column(m_entries[k]).row;
        const Offset other = free_tight_entry(holder);
        if (other == unmatched) continue;
        match(holder, other);
        match(r, k);
        break;
      }
    }
  }

  // The two entries of a row with the least cost minus column dual.
  struct BestEntries {
    Offset first = unmatched, second = unmatched;
    double first_cost = infinity, second_cost = infinity;
  };

  BestEntries best_entries(Ordinal r) {
    complete_row(r);
    BestEntries best;
    for (Offset k = m_row_map[r]; k < m_row_map[r + 1]; ++k) {
      const double left = m_cost[k] - column(m_entries[k]).dual;
      if (left >= best.second_cost) continue;
      if (left < best.first_cost) {
        best.second = best.first;
        best.second_cost = best.first_cost;
        best.first = k;
        best.first_cost = left;
      } else {
        best.second = k;
        best.second_cost = left;
      }
    }
    return best;
  }

  // Augmenting row reduction (R. Jonker and A. Volgenant, Computing 38 (1987)): an unmatched row takes its
  // cheapest column and lowers that column's dual until its second choice costs the same; the displaced row
  // bids next. This settles columns for which many rows compete, as in saddle-point systems with few
  // constraints, where path searches would scan long rows repeatedly. Long rows do not bid, chains of bids
  // that do not soon reach an unmatched column are left to a path search, and the total number of entries
  // read is limited to a few times that of the matrix.
  void bid_for_columns() {
    const Offset longest_bidder = long_row_factor * (m_row_map[m_n] / m_n + 1);
    Offset entries_left = bidding_passes * m_row_map[m_n];
    for (Ordinal r = 0; r < m_n; ++r) {
      int bids = 0;
      for (Ordinal bidder = row(r).entry == unmatched ? r : -1; bidder >= 0 && bids < max_chain; ++bids) {
        const Offset length = m_row_map[bidder + 1] - m_row_map[bidder];
        entries_left -= length;
        if (entries_left < 0) return;
        bidder = length <= longest_bidder ? bid(bidder) : -1;
      }
    }
  }

  // Makes one bid. @returns the displaced row, which bids next, or −1
  Ordinal bid(Ordinal r) {
    const BestEntries best = best_entries(r);
    if (best.second == unmatched) return -1;  // without a second choice the decrease is unbounded
    const double gain = best.second_cost - best.first_cost;
    Offset taken = best.first;
    if (gain < min_gain && column(m_entries[taken]).row >= 0) {
      // Two rows would displace each other forever; an unmatched column may resolve a tie.
      if (gain > 0 || column(m_entries[best.second]).row >= 0) return -1;
      taken = best.second;
    }
    Column& c = column(m_entries[taken]);
    const Ordinal loser = c.row;
    c.dual -= gain;
    match(r, taken);
    row(r).dual = m_cost[taken] - c.dual;
    if (loser >= 0) row(loser).entry = unmatched;
    return loser;
  }

  // Dijkstra's algorithm over columns, from an unmatched row. Columns at the current distance are in
  // m_nearest, farther ones in m_heap. Stops when no path can be shorter than the shortest one found to an
  // unmatched column.
  bool augment_from(Ordinal root) {
    m_shortest = infinity;
    scan_row(root, 0);
    while (!m_nearest.empty() || !m_heap.empty()) {
      if (m_nearest.empty()) {
        const double least = m_heap.least();
        if (least >= m_shortest) break;
        do m_nearest.push_back(m_heap.pop());
        while (!m_heap.empty() && m_heap.least() == least);
      }
      const Ordinal c = m_nearest.back();
      if (column(c).distance >= m_shortest) break;
      m_nearest.pop_back();
      m_settled.push_back(c);
      scan_row(column(c).row, column(c).distance);
    }
    const bool found = m_shortest < infinity;
    if (found) {
      flip_path(root);
      update_duals();
    }
    forget_search();
    return found;
  }

  // Extends paths of length `distance` that end at row r by its entries.
  void scan_row(Ordinal r, double distance) {
    complete_row(r);
    m_scanned.push_back(r);
    const double row_dual = row(r).dual;
    for (Offset k = m_row_map[r]; k < m_row_map[r + 1]; ++k) {
      const Ordinal c = m_entries[k];
      Column& col = column(c);
      const double length = distance + std::max(0.0, (m_cost[k] - row_dual) - col.dual);
      if (length >= m_shortest || length >= col.distance) continue;
      col.previous = r;
      if (col.row < 0) {
        m_shortest = length;
        m_end = c;
        if (m_shortest <= distance) return;  // no shorter path exists
        continue;
      }
      if (col.distance == infinity) m_touched.push_back(c);
      col.distance = length;
      if (length > distance) {
        m_heap.insert_or_lower(c, length);
      } else {
        if (col.heap_position >= 0) m_heap.remove(c);
        m_nearest.push_back(c);
      }
    }
  }

  // Augments along the path to m_end: each row on it passes its column to its predecessor.
  void flip_path(Ordinal root) {
    for (Ordinal c = m_end, r = -1; r != root;) {
      r = column(c).previous;
      const Offset given_up = row(r).entry;
      Offset k = m_row_map[r];
      while (m_entries[k] != c) ++k;
      match(r, k);
      if (r != root) c = m_entries[given_up];
    }
  }

  // Keeps reduced costs nonnegative, and zero at matched entries. Row duals are recomputed from the matched
  // entries, so that rounding errors do not accumulate.
  void update_duals() {
    for (const Ordinal c : m_settled) column(c).dual += column(c).distance - m_shortest;
    for (const Ordinal r : m_scanned) {
      const Offset k = row(r).entry;
      row(r).dual = m_cost[k] - column(m_entries[k]).dual;
    }
  }

  void forget_search() {
    for (const Ordinal c : m_touched) column(c).distance = infinity;
    m_heap.clear();
    m_nearest.clear();
    m_touched.clear();
    m_settled.clear();
    m_scanned.clear();
  }

  Ordinal m_n;
  const Offset* m_row_map;
  const Ordinal* m_entries;
  const double* m_cost;
  const std::function<void(Ordinal)>& m_complete_row;
  std::vector<Row> m_rows;
  std::vector<Column> m_columns;

  // State of one search; empty between searches.
  double m_shortest = infinity;    // length of the shortest path found to an unmatched column
  Ordinal m_end = -1;              // that column
  std::vector<Ordinal> m_nearest;  // columns at the current distance, not yet settled
  std::vector<Ordinal> m_touched;  // columns whose distance is set
  std::vector<Ordinal> m_settled;  // columns whose distance is final and whose row is scanned
  std::vector<Ordinal> m_scanned;  // scanned rows
  ColumnHeap<std::vector<Column>> m_heap;
};

}  // namespace

Assignment assign(const CsrPattern<Ordinal, Offset, Kokkos::HostSpace>& pattern,
                  const std::vector<double>& cost, const Assignment& start,
                  const std::function<void(Ordinal)>& complete_row) {
  ShortestPaths paths(pattern, cost, complete_row);
  Assignment result;
  result.perfect = paths.run(start);
  if (result.perfect) paths.write(result);
  return result;
}

}  // namespace lutra::Impl
