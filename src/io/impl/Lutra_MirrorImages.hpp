// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_MIRRORIMAGES_HPP
#define LUTRA_MIRRORIMAGES_HPP

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace lutra::Impl {

/// Line number of each entry of a file, for messages; stored as runs of entries on consecutive lines.
class EntryLines {
 public:
  /// Entries must be added in order, from 0.
  void add(std::int64_t entry, std::int64_t line) {
    if (m_runs.empty() || m_runs.back().line + (entry - m_runs.back().entry) != line)
      m_runs.push_back({entry, line});
  }
  std::int64_t line(std::size_t entry) const {
    const auto wanted = static_cast<std::int64_t>(entry);
    const auto after = std::ranges::upper_bound(m_runs, wanted, {}, &Run::entry);
    const Run& run = *(after - 1);
    return run.line + (wanted - run.entry);
  }

 private:
  struct Run {
    std::int64_t entry, line;
  };
  std::vector<Run> m_runs;
};

/// Finds the first entry (i, j), i ≠ j, with a later entry (j, i). Cost: O(entries) if all are in one
/// triangle, else O(entries · log of those above the diagonal).
/// @returns the positions of the earliest such pair in the file, or nothing
inline std::optional<std::pair<std::size_t, std::size_t>> find_mirror_images(
    const std::vector<int>& rows, const std::vector<int>& columns) {
  struct Entry {
    int low, high;  // column and row of the mirror image below the diagonal
    std::size_t position;
    auto operator<=>(const Entry&) const = default;
  };
  std::vector<Entry> above;
  std::size_t below = 0;
  for (std::size_t k = 0; k < rows.size(); ++k) {
    if (rows[k] < columns[k]) above.push_back({rows[k], columns[k], k});
    if (rows[k] > columns[k]) ++below;
  }
  if (above.empty() || below == 0) return std::nullopt;
  std::ranges::sort(above);
  std::optional<std::pair<std::size_t, std::size_t>> best;
  for (std::size_t k = 0; k < rows.size(); ++k) {
    if (rows[k] <= columns[k]) continue;
    const auto found = std::ranges::lower_bound(above, Entry{columns[k], rows[k], 0});
    if (found == above.end() || found->low != columns[k] || found->high != rows[k]) continue;
    const std::pair<std::size_t, std::size_t> pair = std::minmax(k, found->position);
    if (!best || pair.second < best->second) best = pair;
  }
  return best;
}

}  // namespace lutra::Impl

#endif
