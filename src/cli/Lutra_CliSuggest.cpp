// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_CliSuggest.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

namespace lutra::Cli {
namespace {

/// Recurrence of Wagner and Fischer, extended by transpositions of neighbours; keeps three rows of the table.
std::size_t edit_distance(const std::string& a, const std::string& b) {
  std::array<std::vector<std::size_t>, 3> rows;  // last two rows and the current one; [b.size() + 1]
  for (auto& row : rows) row.resize(b.size() + 1);
  auto& [before, last, next] = rows;
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    next[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      next[j] = std::min({replaced, last[j] + 1, next[j - 1] + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        next[j] = std::min(next[j], before[j - 2] + 1);
    }
    std::swap(before, last);
    std::swap(last, next);
  }
  return last[b.size()];
}

}  // namespace

std::string did_you_mean(const std::string& word, const std::vector<std::string>& names) {
  constexpr std::size_t longest = 64;  // longest word compared with names
  const std::string* nearest = nullptr;
  std::size_t least = 0;
  if (word.size() > longest) return "";
  for (const std::string& name : names) {
    const std::size_t distance = edit_distance(word, name);
    const std::size_t letters = name.size() - std::min(name.find_first_not_of('-'), name.size());
    if (distance > std::max<std::size_t>(letters / 3, 1)) continue;
    if (nearest != nullptr && distance >= least) continue;
    nearest = &name;
    least = distance;
  }
  return nearest == nullptr ? "" : " (did you mean " + *nearest + "?)";
}

}  // namespace lutra::Cli
