// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_SUBTREEBINS_HPP
#define LUTRA_SUBTREEBINS_HPP

#include <algorithm>
#include <functional>
#include <numeric>
#include <queue>
#include <utility>
#include <vector>

#include "Lutra_EliminationForest.hpp"
#include "Lutra_Fill1Rows.hpp"
#include "Lutra_HostTasks.hpp"

namespace lutra::Impl {

/// Rows divided among threads: whole subtrees of the elimination forest of A + Aᵀ, and a top above them. Rows
/// of a subtree need no rows outside it, since all entries of L lie below their row in the forest.
template <class Ordinal>
struct SubtreeBins {
  struct Run {
    Ordinal begin, end;
  };
  std::vector<Run> runs;           ///< of rows, bin after bin; those of one subtree ascending
  std::vector<std::size_t> begin;  ///< [bins + 1] first run
  std::vector<Ordinal> top;        ///< rows, ascending
};

/// What a row weighs: its entries in A, and 1.
template <class Ordinal, class Offset>
Offset weight_of_rows(const CsrPattern<Ordinal, Offset, Kokkos::HostSpace>& pattern, std::size_t begin,
                      std::size_t end) {
  return pattern.row_map(end) - pattern.row_map(begin) + static_cast<Offset>(end - begin);
}

/// Most that a subtree of a bin may weigh: two fifths of a thread's share.
template <class Ordinal, class Offset>
Offset max_weight(const CsrPattern<Ordinal, Offset, Kokkos::HostSpace>& pattern, std::size_t threads) {
  const auto n = static_cast<std::size_t>(pattern.n_rows);
  return 2 * weight_of_rows(pattern, 0, n) / (5 * static_cast<Offset>(threads)) + 1;
}

/// Bins of subtrees: heaviest first, each to the lightest bin so far. Returns the bin of each. Bins are
/// filled in their order, so that the first ones, which are begun first, hold the heaviest.
template <class Offset>
std::vector<std::size_t> assign_bins(const std::vector<Offset>& weights, std::size_t n_bins) {
  std::vector<std::size_t> order(weights.size()), bin_of(weights.size());
  std::iota(order.begin(), order.end(), std::size_t(0));
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return weights[a] > weights[b]; });
  using Load = std::pair<Offset, std::size_t>;  // of a bin, and its number
  std::priority_queue<Load, std::vector<Load>, std::greater<Load>> loads;
  for (std::size_t bin = 0; bin < n_bins; ++bin) loads.push({Offset(0), bin});
  for (const std::size_t tree : order) {
    const auto [load, bin] = loads.top();
    loads.pop();
    bin_of[tree] = bin;
    loads.push({load + weights[tree], bin});
  }
  return bin_of;
}

/// Rows below n that no run holds, ascending.
template <class Ordinal>
std::vector<Ordinal> rows_between(Ordinal n, std::vector<typename SubtreeBins<Ordinal>::Run> runs) {
  std::sort(runs.begin(), runs.end(), [](const auto& a, const auto& b) { return a.begin < b.begin; });
  runs.push_back({n, n});
  std::vector<Ordinal> rows;
  Ordinal row = 0;
  for (const auto& run : runs) {
    for (; row < run.begin; ++row) rows.push_back(row);
    row = run.end;
  }
  return rows;
}

/// Puts runs of subtrees into bins, `bins_each` a thread; rows in none are the top.
/// @param subtree [runs] number of the subtree each belongs to
template <class Ordinal, class Offset>
SubtreeBins<Ordinal> fill_bins(Ordinal n, const std::vector<typename SubtreeBins<Ordinal>::Run>& runs,
                               const std::vector<std::size_t>& subtree, const std::vector<Offset>& weights,
                               std::size_t threads) {
  constexpr std::size_t bins_each = 16;
  const std::size_t n_bins = bins_each * threads;
  const auto bin_of = assign_bins(weights, n_bins);
  SubtreeBins<Ordinal> bins;
  bins.top = rows_between(n, runs);
  bins.begin.assign(n_bins + 1, 0);
  for (const std::size_t tree : subtree) ++bins.begin[bin_of[tree] + 1];
  std::partial_sum(bins.begin.begin(), bins.begin.end(), bins.begin.begin());
  bins.runs.resize(runs.size());
  std::vector<std::size_t> next(bins.begin.begin(), bins.begin.end() - 1);
  for (std::size_t r = 0; r < runs.size(); ++r) bins.runs[next[bin_of[subtree[r]]]++] = runs[r];
  return bins;
}

/// Ranges of rows that are subtrees, without the forest. No path through vertices below b leads from [a, b)
/// below a, if no edge of A + Aᵀ does: such a range is *closed*, and so is what is cut off its end. Orders by
/// dissection consist of them: two parts and then their separator, over and over.
template <class Ordinal, class Offset>
struct ClosedRanges {
  using Pattern = CsrPattern<Ordinal, Offset, Kokkos::HostSpace>;
  using Run = typename SubtreeBins<Ordinal>::Run;

  Pattern pattern;
  Offset most;               ///< weight of a range
  HostArray<Ordinal> until;  ///< [n] end of the longest closed range that begins at each row; the row: none
  std::vector<Run> found;

  ClosedRanges(const Pattern& rows, const MemoryBudget& budget, std::size_t threads)
      : pattern(rows), most(max_weight(rows, threads)), m_scratch(budget) {
    using Host = Kokkos::DefaultHostExecutionSpace;
    until = m_scratch.allocate<HostArray<Ordinal>>(Host(), "lutra::symbolic::closed_ranges", rows.n_rows);
    find_least(threads);
    find_ends(threads);
    cut({0, rows.n_rows});
  }

  /// until: the least neighbour of each row, or the row itself. First of its own entries, then of those that
  /// other rows have in its column, which few are where the pattern is nearly symmetric.
  void find_least(std::size_t threads) const {
    for_rows(threads, [&](std::size_t i) {
      auto least = static_cast<Ordinal>(i);
      for (Offset p = pattern.row_map(i); p < pattern.row_map(i + 1); ++p)
        least = std::min(least, pattern.entries(p));
      until(i) = least;
    });
    for_rows(threads, [&](std::size_t i) {
      const auto row = static_cast<Ordinal>(i);
      for (Offset p = pattern.row_map(i); p < pattern.row_map(i + 1); ++p) {
        const Ordinal j = pattern.entries(p);
        lower(until(j > row ? j : row), row);  // the row's own is no greater
      }
    });
  }

  /// visit(i) for all rows i, by all threads, in parts of about one weight: the last rows may be long.
  template <class Visit>
  void for_rows(std::size_t threads, const Visit& visit) const {
    const std::size_t n_tasks = 8 * threads;
    for_each_task(threads, n_tasks, [&](std::size_t, std::size_t k) {
      const std::size_t end = row_behind(k + 1, n_tasks);
      for (std::size_t i = row_behind(k, n_tasks); i < end; ++i) visit(i);
    });
  }

  /// The first row behind k of `parts` of the weight.
  std::size_t row_behind(std::size_t k, std::size_t parts) const {
    const auto n = static_cast<std::size_t>(pattern.n_rows);
    const auto wanted = static_cast<double>(weight_of_rows(pattern, 0, n)) * static_cast<double>(k) /
                        static_cast<double>(parts);
    std::size_t begin = 0, end = n;
    while (begin < end) {
      const std::size_t middle = (begin + end) / 2;
      if (static_cast<double>(weight_of_rows(pattern, 0, middle)) < wanted)
        begin = middle + 1;
      else
        end = middle;
    }
    return begin;
  }

  static void lower(Ordinal& value, Ordinal to) {
    if (load_relaxed(value) > to) Kokkos::atomic_min(&value, to);
  }

  /// until, from the least neighbours: a row ends all ranges that begin behind its own. Each thread does so
  /// for ranges that begin and end in its share of the rows; one thread for the few others.
  void find_ends(std::size_t threads) const {
    std::vector<Share> shares(threads);
    for_each_task(threads, threads,
                  [&](std::size_t, std::size_t k) { shares[k] = ends_within(share(k, threads)); });
    std::vector<Ordinal> open;
    for (const Share& own : shares) {
      for (const Run end : own.ends) close(open, end.begin, end.end);
      open.insert(open.end(), own.open.begin(), own.open.end());
    }
    for (const Ordinal a : open) until(a) = pattern.n_rows;
  }

  /// What a share of the rows leaves to do.
  struct Share {
    std::vector<Ordinal> open;  ///< where ranges begin that have not ended, ascending
    std::vector<Run> ends;      ///< least neighbours before the share, descending, and the rows they are of
  };

  Run share(std::size_t k, std::size_t shares) const {
    const auto n = static_cast<std::size_t>(pattern.n_rows);
    return {static_cast<Ordinal>(n * k / shares), static_cast<Ordinal>(n * (k + 1) / shares)};
  }

  Share ends_within(Run rows) const {
    Share own;
    for (Ordinal j = rows.begin; j < rows.end; ++j) {
      const Ordinal least = until(j);
      close(own.open, least, j);
      if (least < (own.ends.empty() ? rows.begin : own.ends.back().begin)) own.ends.push_back({least, j});
      until(j) = j;
      if (least == j) own.open.push_back(j);
    }
    return own;
  }

  /// Ends ranges that begin behind `least` at row j.
  void close(std::vector<Ordinal>& open, Ordinal least, Ordinal j) const {
    for (; !open.empty() && open.back() > least; open.pop_back()) until(open.back()) = j;
  }

  /// Cuts closed ranges into some that are light enough; what lies between them is the top. From the end, the
  /// ranges within one are cut off, until what is left before them is light enough itself. Ranges may lie
  /// within each other as deep as there are rows.
  void cut(Run whole) {
    std::vector<Run> heavy{whole}, parts;
    while (!heavy.empty()) {
      const Run range = heavy.back();
      heavy.pop_back();
      find_parts(range, parts);
      Ordinal end = range.end;
      for (; !is_light({range.begin, end}) && !parts.empty(); parts.pop_back()) {
        const Run part = parts.back();
        end = part.begin;
        (is_light(part) ? found : heavy).push_back(part);
      }
      if (is_light({range.begin, end})) found.push_back({range.begin, end});
    }
  }

  /// The longest closed ranges within one, behind its first row.
  void find_parts(Run range, std::vector<Run>& parts) const {
    parts.clear();
    for (Ordinal v = range.begin + 1; v < range.end; ++v) {
      const Ordinal last = std::min(until(v), range.end);
      if (last == v) continue;
      parts.push_back({v, last});
      v = last - 1;
    }
  }

  bool is_light(Run run) const {
    return weight_of_rows(pattern, static_cast<std::size_t>(run.begin), static_cast<std::size_t>(run.end)) <=
           most;
  }

 private:
  MemoryReservation m_scratch;
};

/// Bins of closed ranges.
template <class Ordinal, class Offset>
SubtreeBins<Ordinal> bin_ranges(const CsrPattern<Ordinal, Offset, Kokkos::HostSpace>& pattern,
                                const MemoryBudget& budget, std::size_t threads) {
  const ClosedRanges<Ordinal, Offset> ranges(pattern, budget, threads);
  std::vector<Offset> weights;
  for (const auto& run : ranges.found) {
    weights.push_back(
        weight_of_rows(pattern, static_cast<std::size_t>(run.begin), static_cast<std::size_t>(run.end)));
  }
  std::vector<std::size_t> own(ranges.found.size());
  std::iota(own.begin(), own.end(), std::size_t(0));
  return fill_bins<Ordinal>(pattern.n_rows, ranges.found, own, weights, threads);
}

/// Bins of subtrees of the elimination forest, whatever the order of the rows.
template <class Ordinal, class Offset>
SubtreeBins<Ordinal> bin_subtrees(const CsrPattern<Ordinal, Offset, Kokkos::HostSpace>& pattern,
                                  const MemoryBudget& budget, std::size_t threads) {
  using Host = Kokkos::DefaultHostExecutionSpace;
  const auto n = static_cast<std::size_t>(pattern.n_rows);
  MemoryReservation scratch(budget);
  const auto parent = scratch.allocate<HostArray<Ordinal>>(Host(), "lutra::symbolic::parent", n);
  link_forest<Ordinal, Offset>(Host(), pattern, {}, parent, budget);
  std::vector<Offset> weight(n), weights;  // of subtrees
  for (std::size_t v = 0; v < n; ++v) {
    weight[v] += weight_of_rows(pattern, v, v + 1);
    const auto above = static_cast<std::size_t>(parent(v));
    if (above < n) weight[above] += weight[v];
  }
  const Offset most = max_weight(pattern, threads);
  std::vector<std::size_t> subtree(n), tree_of_run;  // number of the subtree of each vertex, of each run
  for (std::size_t v = n; v-- > 0;) {
    if (weight[v] > most) continue;
    const auto above = static_cast<std::size_t>(parent(v));
    const bool root = above >= n || weight[above] > most;
    subtree[v] = root ? weights.size() : subtree[above];
    if (root) weights.push_back(weight[v]);
  }
  std::vector<typename SubtreeBins<Ordinal>::Run> runs;
  for (std::size_t v = 0; v < n; ++v) {
    if (weight[v] > most) continue;
    const auto vertex = static_cast<Ordinal>(v);
    if (!runs.empty() && runs.back().end == vertex && tree_of_run.back() == subtree[v]) {
      ++runs.back().end;
    } else {
      runs.push_back({vertex, vertex + 1});
      tree_of_run.push_back(subtree[v]);
    }
  }
  return fill_bins<Ordinal>(pattern.n_rows, runs, tree_of_run, weights, threads);
}

/// Bins for fill1 by several threads: of ranges, which take little time, or, where the order is none by
/// dissection and ranges leave half of the weight in the top, of subtrees.
template <class Ordinal, class Offset>
SubtreeBins<Ordinal> make_bins(const CsrPattern<Ordinal, Offset, Kokkos::HostSpace>& pattern,
                               const MemoryBudget& budget, std::size_t threads) {
  auto bins = bin_ranges(pattern, budget, threads);
  Offset in_top = 0;
  for (const Ordinal v : bins.top) {
    in_top += weight_of_rows(pattern, static_cast<std::size_t>(v), static_cast<std::size_t>(v) + 1);
  }
  const auto n = static_cast<std::size_t>(pattern.n_rows);
  if (2 * in_top <= weight_of_rows(pattern, 0, n)) return bins;
  return bin_subtrees(pattern, budget, threads);
}

}  // namespace lutra::Impl

#endif
