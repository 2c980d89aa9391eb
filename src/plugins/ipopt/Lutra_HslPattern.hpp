// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_HSLPATTERN_HPP
#define LUTRA_HSLPATTERN_HPP

#include <vector>

namespace lutra::Hsl {

/// Pattern of a symmetric matrix, given by the columns of its lower triangle. These are the rows of its upper
/// triangle, as which Lutra takes them.
class Pattern {
 public:
  /// Sorts the columns, merges entries given twice and drops those outside the lower triangle.
  /// @param ptr   [n + 1] where each column starts in row
  /// @param first number of the first row and of the first entry: 0 or 1
  /// @throws Failure
  Pattern(int n, const int* ptr, const int* row, int first);

  int n = 0;
  std::vector<int> row_map;  ///< [n + 1] offsets of the rows of the upper triangle
  std::vector<int> columns;  ///< ascending in each row
  int duplicates = 0, out_of_range = 0, missing_diagonal = 0;

  /// Returns the values in the order of `columns`: those given, or `scratch` with what they add up to.
  const double* values(const double* given, std::vector<double>& scratch) const;

 private:
  bool take_as_given(const int* ptr, const int* row, int first);
  void clean(const int* ptr, const int* row, int first);

  std::vector<int> m_place;  ///< place of each given entry in `columns`, or -1; empty: the same place
};

}  // namespace lutra::Hsl

#endif
