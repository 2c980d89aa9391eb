// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_HslPattern.hpp"

#include <algorithm>
#include <string>

#include "Lutra_HslFlags.hpp"

namespace lutra::Hsl {
namespace {

/// @throws Failure unless ptr starts with the first number and does not descend
void check_ptr(int n, const int* ptr, int first) {
  if (ptr[0] != first)
    throw Failure(Flag::bad_ptr,
                  "ptr: it starts with " + std::to_string(ptr[0]) + " instead of " + std::to_string(first));
  for (int j = 0; j < n; ++j)
    if (ptr[j + 1] < ptr[j])
      throw Failure(Flag::bad_ptr, "ptr: it descends from " + std::to_string(ptr[j]) + " to " +
                                       std::to_string(ptr[j + 1]) + " after column " +
                                       std::to_string(j + first));
}

}  // namespace

Pattern::Pattern(int rows, const int* ptr, const int* row, int first) : n(rows) {
  if (n < 0) throw Failure(Flag::bad_n, "n: it is " + std::to_string(n));
  if (n == 0) {
    row_map = {0};
    return;
  }
  if (ptr == nullptr) throw Failure(Flag::missing_array, "ptr: it is null");
  check_ptr(n, ptr, first);
  if (ptr[n] > first && row == nullptr) throw Failure(Flag::missing_array, "row: it is null");
  if (!take_as_given(ptr, row, first)) clean(ptr, row, first);
  for (int j = 0; j < n; ++j) {
    const int begin = row_map[static_cast<std::size_t>(j)], end = row_map[static_cast<std::size_t>(j) + 1];
    if (begin == end || columns[static_cast<std::size_t>(begin)] != j) ++missing_diagonal;
  }
}

/// Takes the entries if they ascend within the lower triangle. Returns false otherwise.
bool Pattern::take_as_given(const int* ptr, const int* row, int first) {
  for (int j = 0; j < n; ++j) {
    int least = j;  // of the next row
    for (int p = ptr[j] - first; p < ptr[j + 1] - first; ++p) {
      const int i = row[p] < first ? -1 : row[p] - first;
      if (i < least || i >= n) return false;
      least = i + 1;
    }
  }
  row_map.assign(ptr, ptr + n + 1);
  columns.assign(row, row + (ptr[n] - first));
  if (first == 0) return true;
  for (int& offset : row_map) offset -= first;
  for (int& column : columns) column -= first;
  return true;
}

void Pattern::clean(const int* ptr, const int* row, int first) {
  m_place.assign(static_cast<std::size_t>(ptr[n] - first), -1);
  row_map.assign(1, 0);
  std::vector<int> entries;  // of one column, as places in row
  for (int j = 0; j < n; ++j) {
    entries.clear();
    for (int p = ptr[j] - first; p < ptr[j + 1] - first; ++p) {
      const int i = row[p] < first ? -1 : row[p] - first;
      i < j || i >= n ? static_cast<void>(++out_of_range) : entries.push_back(p);
    }
    std::stable_sort(entries.begin(), entries.end(), [&](int a, int b) { return row[a] < row[b]; });
    const auto start = columns.size();
    for (const int p : entries) {
      const int i = row[p] < first ? -1 : row[p] - first;
      if (columns.size() > start && columns.back() == i)
        ++duplicates;
      else
        columns.push_back(i);
      m_place[static_cast<std::size_t>(p)] = static_cast<int>(columns.size()) - 1;
    }
    row_map.push_back(static_cast<int>(columns.size()));
  }
  if (columns.empty() && out_of_range > 0)
    throw Failure(Flag::all_out_of_range, "row: no entry is in the lower triangle");
}

const double* Pattern::values(const double* given, std::vector<double>& scratch) const {
  if (m_place.empty()) return given;
  scratch.assign(columns.size(), 0.0);
  for (std::size_t p = 0; p < m_place.size(); ++p)
    if (m_place[p] >= 0) scratch[static_cast<std::size_t>(m_place[p])] += given[p];
  return scratch.data();
}

}  // namespace lutra::Hsl
