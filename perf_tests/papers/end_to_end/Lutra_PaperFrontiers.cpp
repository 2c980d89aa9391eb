// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Figure 3: how many vertices below the source row a search of fill2 expands.
#include <algorithm>
#include <cmath>
#include <functional>

#include "Lutra_PaperEndToEnd.hpp"

namespace lutra::Perf {
namespace {

/// Algorithm 1 on the host, one source row at a time.
class FrontierCount {
 public:
  explicit FrontierCount(const HostMatrix<double>& F)
      : m_F(F), m_visited(static_cast<std::size_t>(F.n_rows), -1) {}

  /// Vertices smaller than the source that its search expands.
  std::int64_t count(int source) {
    std::int64_t frontiers = 0;
    m_waiting.clear();
    mark(source, source);
    for_row(source, [&](int v) { visit(v, source); });
    while (!m_waiting.empty()) {  // ascending thresholds
      std::pop_heap(m_waiting.begin(), m_waiting.end(), std::greater<>());
      const int threshold = m_waiting.back();
      m_waiting.pop_back();
      m_stack.assign(1, threshold);
      while (!m_stack.empty()) {
        const int frontier = m_stack.back();
        m_stack.pop_back();
        ++frontiers;
        for_row(frontier, [&](int v) {
          if (!mark(v, source)) return;
          if (v < threshold) {
            m_stack.push_back(v);
          } else {
            wait(v, source);
          }
        });
      }
    }
    return frontiers;
  }

 private:
  template <class Visit>
  void for_row(int row, const Visit& visit_entry) const {
    const auto r = static_cast<std::size_t>(row);
    for (auto p = m_F.row_map[r]; p < m_F.row_map[r + 1]; ++p)
      visit_entry(m_F.entries[static_cast<std::size_t>(p)]);
  }
  /// @returns whether v is new
  bool mark(int v, int source) {
    int& last = m_visited[static_cast<std::size_t>(v)];
    if (last == source) return false;
    last = source;
    return true;
  }
  void visit(int v, int source) {
    if (mark(v, source)) wait(v, source);
  }
  /// Entries of L(source, :) are thresholds.
  void wait(int v, int source) {
    if (v >= source) return;
    m_waiting.push_back(v);
    std::push_heap(m_waiting.begin(), m_waiting.end(), std::greater<>());
  }

  const HostMatrix<double>& m_F;
  std::vector<int> m_visited;  ///< [n] last source that reached each vertex
  std::vector<int> m_waiting;  ///< heap of thresholds
  std::vector<int> m_stack;
};

}  // namespace

PaperTable figure_3(const std::vector<PaperCase>& cases, const PaperRun& run) {
  constexpr int iterations = 8;
  PaperTable table;
  table.place = "Figure 3";
  table.claim = "The number of frontiers is large for the last few iterations, and small otherwise.";
  table.columns = {"matrix, mean frontiers per row of iteration"};
  for (int k = 1; k <= iterations; ++k) table.columns.push_back(std::to_string(k));
  table.columns.push_back("rows before half of the most (n1/n)");
  std::vector<double> last_over_first_half;
  for (const PaperCase& c : cases) {
    FrontierCount search(c.F);
    const int n = c.F.n_rows, step = std::max(1, n / (iterations * (run.small ? 20 : 200)));
    std::vector<double> sum(iterations, 0), rows(iterations, 0);
    std::vector<std::pair<int, std::int64_t>> counted;
    for (int row = 0; row < n; row += step) {
      const auto at = static_cast<std::size_t>(static_cast<std::int64_t>(row) * iterations / n);
      counted.emplace_back(row, search.count(row));
      sum[at] += static_cast<double>(counted.back().second);
      ++rows[at];
    }
    const auto most = std::max_element(counted.begin(), counted.end(), [](const auto& a, const auto& b) {
                        return a.second < b.second;
                      })->second;
    const auto first =
        std::find_if(counted.begin(), counted.end(), [&](const auto& row) { return 2 * row.second >= most; });
    std::vector<std::string> cells{c.name};
    double half = 0;
    for (std::size_t k = 0; k < iterations; ++k) {
      const double mean = rows[k] > 0 ? sum[k] / rows[k] : 0;
      if (k < iterations / 2) half += mean / (iterations / 2);
      cells.push_back(format_number(std::round(mean * 10) / 10));
      if (k + 1 == iterations && half > 0) last_over_first_half.push_back(mean / half);
    }
    cells.push_back(format_number(static_cast<double>(first->first) / n));
    table.add_row(std::move(cells));
  }
  table.result = "frontiers of the last eighth of the rows over those of the first half: " +
                 format_ratios(last_over_first_half);
  table.note =
      "Counted on the host, for a sample of the rows. Rows before n1 are the first part of Algorithm 4. "
      "Nested "
      "dissection orders the separators last, whose searches are the longest.";
  return table;
}

}  // namespace lutra::Perf
