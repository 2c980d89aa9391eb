// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_DIVIDEDCOLUMNS_HPP
#define LUTRA_DIVIDEDCOLUMNS_HPP

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace lutra {

/// The columns of a front that several ranks factorize: pivots in blocks, dealt out one after another, and a
/// range of the contribution columns for each rank.
///
///     rank   0  1  2  0  1  2  0  │    0    │    1    │    2    │
///            blocks of pivots     │  contribution columns       │
struct DividedColumns {
  int pivots = 0, cb_rows = 0;
  int ranks = 1;
  int width = 1;  ///< of a block

  int blocks() const { return (pivots + width - 1) / width; }
  int begin(int block) const { return block * width; }
  int end(int block) const { return std::min(pivots, begin(block) + width); }
  int columns(int block) const { return end(block) - begin(block); }
  int owner(int block) const { return block % ranks; }
  /// The first contribution column of a rank; of rank `ranks` the number of them.
  int first_rest(int rank) const {
    return static_cast<int>(static_cast<std::int64_t>(cb_rows) * rank / ranks);
  }
  int rest(int rank) const { return first_rest(rank + 1) - first_rest(rank); }
  /// The rank of a column of the front.
  int owner_of_column(int column) const {
    if (column < pivots) return owner(column / width);
    int rank = 0;
    while (column - pivots >= first_rest(rank + 1)) ++rank;
    return rank;
  }

  /// Ranges of successive elements of an ascending list of columns that belong to a rank.
  std::vector<std::pair<int, int>> runs(const int* list, int count, int rank) const {
    std::vector<std::pair<int, int>> found;
    for (int k = 0; k < count; ++k) {
      if (owner_of_column(list[k]) != rank) continue;
      if (!found.empty() && found.back().second == k)
        ++found.back().second;
      else
        found.push_back({k, k + 1});
    }
    return found;
  }
};

/// The columns of one rank.
struct FrontShare {
  DividedColumns columns;
  int rank = 0;  ///< among `columns.ranks`
};

}  // namespace lutra

#endif
