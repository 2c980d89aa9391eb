// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Shortest augmenting paths for the sparse assignment problem, after I. S. Duff and J. Koster, "On algorithms
// for permuting large entries to the diagonal of a sparse matrix", SIAM J. Matrix Anal. Appl. 22 (2001),
// sections 3, 4. Departures: augmenting row reduction before the path searches, auctions if they are long;
// paths start at rows and follow the rows' entries (the matrix is stored by rows; the problem is symmetric in
// rows and columns); entries to be ignored have infinite cost, so that the pattern is not copied.
#include "Lutra_Assignment.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "Lutra_ColumnHeap.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_Instantiate.hpp"
#include "Lutra_Matching.hpp"

namespace lutra::Impl {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

constexpr int bidding_passes = 8;    // row reduction reads at most this many times the number of entries
constexpr int max_chain = 64;        // bids in a row, each by the row that the one before displaced
constexpr int long_row_factor = 16;  // rows longer than this many times the average do not bid
constexpr double min_gain = 1e-12;   // smaller changes of a dual count as rounding

// Path searches that have read the entries `patience` times, and are expected to read them `too_many_passes`
// times more, give way to auctions with these least gains of a bid, which together read them at most
// `auction_passes` times.
constexpr int patience = 4, too_many_passes = 28, auction_passes = 32;
constexpr double epsilons[] = {1, 0.2, 0.04, 0.008};

class ShortestPaths {
 public:
  ShortestPaths(const CsrPattern<Ordinal, Offset, Kokkos::HostSpace>& pattern,
                const std::vector<double>& cost, const std::function<void(Ordinal)>& complete_row,
                const RunControl& run)
      : m_pattern(pattern),
        m_n(pattern.n_rows),
        m_row_map(pattern.row_map.data()),
        m_entries(pattern.entries.data()),
        m_cost(cost.data()),
        m_complete_row(complete_row),
        m_run(run),
        m_rows(static_cast<std::size_t>(m_n)),
        m_columns(static_cast<std::size_t>(m_n)),
        m_heap(m_columns) {}

  /// Runs the algorithm, from an initial matching and its duals if given. @returns false if there is no
  /// perfect matching
  bool run(const Assignment& start) {
    return m_n == 0 || ((start.row_of_column.empty() ? start_duals() : take_over(start)) && complete());
  }

  void write(Assignment& result) const {
    result.row_dual.reserve(m_rows.size());
    result.col_dual.reserve(m_rows.size());
    result.row_of_column.reserve(m_rows.size());
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
    std::vector<Ordinal> free_rows = start_matching();
    bool tight_paths_followed = false;
    for (std::size_t done = 0; done < free_rows.size();) {
      if (!tight_paths_followed && m_entries_scanned > 2 * m_row_map[m_n]) {
        tight_paths_followed = true;
        match_along_tight_paths();
      }
      if (takes_too_long(done, free_rows.size())) {
        hold_auctions();
        free_rows = start_matching();
        done = 0;
        continue;
      }
      const Ordinal r = free_rows[done++];
      m_run.tell_share(static_cast<double>(done), static_cast<double>(free_rows.size()));
      if (row(r).entry == unmatched && !augment_from(r)) return false;
    }
    return true;
  }

  // Matches what takes no path search. @returns the rows that are left
  std::vector<Ordinal> start_matching() {
    match_tight_entries();
    match_with_look_ahead();
    bid_for_columns();
    return unmatched_rows();
  }

  std::vector<Ordinal> unmatched_rows() {
    std::vector<Ordinal> rows;
    for (Ordinal r = 0; r < m_n; ++r) {
      if (row(r).entry == unmatched) rows.push_back(r);
    }
    return rows;
  }

  // Whether auctions should precede the remaining searches, once. Not if there are long rows, in which a bid
  // costs too much. A search is taken to read c/f entries if f rows are free, so that all together read about
  // c·log(rows).
  bool takes_too_long(std::size_t done, std::size_t all) {
    const auto passes = static_cast<double>(m_entries_scanned) / static_cast<double>(m_row_map[m_n]);
    if (m_auctions_held || done == 0 || passes < patience || m_longest_row > longest_bidder()) return false;
    const double left = std::log(static_cast<double>(all - done));
    m_auctions_held = passes * left > too_many_passes * (std::log(static_cast<double>(all)) - left);
    return m_auctions_held;
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

  // Called where the entries of a row are read. @throws CancelledError
  void count_reads(Ordinal r) {
    m_reads += m_row_map[r + 1] - m_row_map[r] + 1;
    if (m_reads < 1 << 17) return;  // about a millisecond
    m_reads = 0;
    m_run.poll();
  }

  void match(Ordinal r, Offset k) {
    row(r).entry = k;
    column(m_entries[k]).row = r;
  }

  // Initial duals: row minima, then column minima of the reduced costs, so that every row and column has a
  // tight entry, of reduced cost zero. @returns false if a row or column has no entry of finite cost
  bool start_duals() {
    for (Ordinal r = 0; r < m_n; ++r) {
      const Offset begin = m_row_map[r], end = m_row_map[r + 1];
      double least = infinity;
      for (Offset k = begin; k < end; ++k) least = std::min(least, m_cost[k]);
      if (least == infinity) return false;
      row(r).dual = least;
      row(r).look_ahead = begin;
      m_longest_row = std::max(m_longest_row, end - begin);
      for (Offset k = begin; k < end; ++k) {
        Column& c = column(m_entries[k]);
        c.dual = std::min(c.dual, m_cost[k] - least);
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

  // Extends the matching of tight entries to a maximum one.
  void match_along_tight_paths() {
    std::vector<double> excluded(static_cast<std::size_t>(m_row_map[m_n]));  // infinity unless tight
    std::vector<Ordinal> row_of_column;
    for (Ordinal r = 0; r < m_n; ++r) {
      for (Offset k = m_row_map[r]; k < m_row_map[r + 1]; ++k)
        excluded[static_cast<std::size_t>(k)] = k == row(r).entry || reduced_cost(r, k) <= 0 ? 0.0 : infinity;
    }
    for (const Column& c : m_columns) row_of_column.push_back(c.row);
    row_of_column = maximum_transversal(m_pattern, excluded, row_of_column, m_run).row_of_column;
    for (Ordinal r = 0; r < m_n; ++r) {
      for (Offset k = m_row_map[r]; k < m_row_map[r + 1]; ++k) {
        if (row_of_column[static_cast<std::size_t>(m_entries[k])] == r) match(r, k);
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
    count_reads(r);
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
    Offset entries_left = bidding_passes * m_row_map[m_n];
    for (Ordinal r = 0; r < m_n; ++r) {
      int bids = 0;
      for (Ordinal bidder = row(r).entry == unmatched ? r : -1; bidder >= 0 && bids < max_chain; ++bids) {
        const Offset length = m_row_map[bidder + 1] - m_row_map[bidder];
        entries_left -= length;
        if (entries_left < 0) return;
        bidder = length <= longest_bidder() ? bid(bidder) : -1;
      }
    }
  }

  Offset longest_bidder() const { return long_row_factor * (m_row_map[m_n] / m_n + 1); }

  // Makes one bid of row reduction. @returns the displaced row, which bids next, or −1
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
    return take(r, taken, gain);
  }

  // Matches row r to entry k and lowers the dual of its column. @returns the displaced row, or −1
  Ordinal take(Ordinal r, Offset k, double decrease) {
    Column& c = column(m_entries[k]);
    const Ordinal loser = c.row;
    c.dual -= decrease;
    match(r, k);
    row(r).dual = m_cost[k] - c.dual;
    if (loser >= 0) row(loser).entry = unmatched;
    return loser;
  }

  void unmatch(Ordinal r) {
    column(m_entries[row(r).entry]).row = -1;
    row(r).entry = unmatched;
  }

  // Auctions with decreasing ε (D. P. Bertsekas, Annals of Operations Research 14 (1988)). A bid lowers the
  // dual of a column by ε more than in row reduction, so that rows for which several columns cost the same
  // do not displace each other forever. Then the duals are almost optimal, and paths short. Only tight
  // entries stay matched.
  void hold_auctions() {
    Offset entries_left = auction_passes * m_row_map[m_n];
    for (const double epsilon : epsilons) hold_auction(epsilon, entries_left);
    for (Ordinal r = 0; r < m_n; ++r) {
      const double least = best_entries(r).first_cost;
      if (row(r).entry != unmatched && price(row(r).entry) > least) unmatch(r);
      row(r).dual = least;
      row(r).look_ahead = m_row_map[r];
    }
    raise_unmatched_duals();
  }

  // Cost of an entry minus the dual of its column.
  double price(Offset k) { return m_cost[k] - column(m_entries[k]).dual; }

  void hold_auction(double epsilon, Offset& entries_left) {
    std::vector<Ordinal> bidders, losers;
    for (Ordinal r = 0; r < m_n; ++r) {
      if (row(r).entry != unmatched && price(row(r).entry) > best_entries(r).first_cost + epsilon) unmatch(r);
      if (row(r).entry == unmatched) bidders.push_back(r);
    }
    for (; !bidders.empty() && entries_left > 0; bidders.swap(losers)) {
      losers.clear();
      for (const Ordinal r : bidders) {
        const BestEntries best = best_entries(r);
        const double gain = best.second == unmatched ? 0.0 : best.second_cost - best.first_cost;
        const Ordinal loser = take(r, best.first, gain + epsilon);
        if (loser >= 0) losers.push_back(loser);
        entries_left -= m_row_map[r + 1] - m_row_map[r];
      }
    }
  }

  // Gives each unmatched column a tight entry.
  void raise_unmatched_duals() {
    for (Column& c : m_columns) {
      if (c.row < 0) c.dual = infinity;
    }
    for (Ordinal r = 0; r < m_n; ++r) {
      for (Offset k = m_row_map[r]; k < m_row_map[r + 1]; ++k) {
        Column& c = column(m_entries[k]);
        if (c.row < 0) c.dual = std::min(c.dual, m_cost[k] - row(r).dual);
      }
    }
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
    count_reads(r);
    m_entries_scanned += m_row_map[r + 1] - m_row_map[r];
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

  CsrPattern<Ordinal, Offset, Kokkos::HostSpace> m_pattern;
  Ordinal m_n;
  const Offset* m_row_map;
  const Ordinal* m_entries;
  const double* m_cost;
  const std::function<void(Ordinal)>& m_complete_row;
  const RunControl& m_run;
  Offset m_reads = 0;  // since m_run was asked
  std::vector<Row> m_rows;
  std::vector<Column> m_columns;
  Offset m_longest_row = 0;
  Offset m_entries_scanned = 0;  // by path searches
  bool m_auctions_held = false;

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
                  const std::function<void(Ordinal)>& complete_row, const RunControl& run) {
  ShortestPaths paths(pattern, cost, complete_row, run);
  Assignment result;
  result.perfect = paths.run(start);
  if (result.perfect) paths.write(result);
  return result;
}

}  // namespace lutra::Impl
