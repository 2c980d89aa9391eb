// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_BLOCKOWNERS_HPP
#define LUTRA_BLOCKOWNERS_HPP

#include <cstddef>
#include <numeric>
#include <vector>

#include "Lutra_BlockTriangle.hpp"

namespace lutra::Impl {

/// Blocks of each column (or row) of a triangle, by owning rank. A share is one rank's part of a column; the
/// first share is that of the diagonal block's owner. Shares of a column are the nodes of a binary tree: node
/// i is the parent of 2·i + 1 and 2·i + 2.
struct OwnerShares {
  std::vector<std::size_t> begin;        ///< [columns + 1] first share of each column
  std::vector<std::size_t> column;       ///< [shares] column
  std::vector<int> rank;                 ///< [shares] rank
  std::vector<std::size_t> block_begin;  ///< [shares + 1] in `block`
  std::vector<std::size_t> block;        ///< [blocks] share by share

  std::size_t size() const { return rank.size(); }
  std::size_t shares_of(std::size_t c) const { return begin[c + 1] - begin[c]; }
  std::size_t blocks_in(std::size_t share) const { return block_begin[share + 1] - block_begin[share]; }
  std::size_t parent(std::size_t share) const {
    const std::size_t root = begin[column[share]];
    return root + (share - root - 1) / 2;
  }
  /// Calls visit(child) for the children of a share.
  template <class Visit>
  void for_each_child(std::size_t share, const Visit& visit) const {
    const std::size_t root = begin[column[share]], first = root + 2 * (share - root) + 1;
    for (std::size_t c = first; c < first + 2 && c < begin[column[share] + 1]; ++c) visit(c);
  }
};

/// Forms shares in the order in which lists first contain a block of each rank. Cost: O(blocks + ranks)
/// @param list_begin [lists + 1]
/// @param list  blocks of each list, the diagonal block first
/// @param owner [blocks] rank
inline OwnerShares share_by_owner(const std::vector<std::size_t>& list_begin,
                                  const std::vector<std::size_t>& list, const std::vector<int>& owner,
                                  int ranks) {
  OwnerShares shares;
  std::vector<std::size_t> last_list(static_cast<std::size_t>(ranks), list_begin.size());
  std::vector<std::size_t> share_of_rank(static_cast<std::size_t>(ranks));
  std::vector<std::size_t> share_of_entry(list.size());
  shares.begin.push_back(0);
  for (std::size_t c = 0; c + 1 < list_begin.size(); ++c) {
    for (std::size_t e = list_begin[c]; e < list_begin[c + 1]; ++e) {
      const auto r = static_cast<std::size_t>(owner[list[e]]);
      if (last_list[r] != c) {
        last_list[r] = c;
        share_of_rank[r] = shares.rank.size();
        shares.rank.push_back(owner[list[e]]);
        shares.column.push_back(c);
      }
      share_of_entry[e] = share_of_rank[r];
    }
    shares.begin.push_back(shares.rank.size());
  }
  shares.block_begin.assign(shares.size() + 1, 0);
  for (const std::size_t share : share_of_entry) ++shares.block_begin[share + 1];
  std::partial_sum(shares.block_begin.begin(), shares.block_begin.end(), shares.block_begin.begin());
  auto next = shares.block_begin;
  shares.block.resize(list.size());
  for (std::size_t e = 0; e < list.size(); ++e) shares.block[next[share_of_entry[e]]++] = list[e];
  return shares;
}

/// A triangle's blocks on a grid: by columns, in the order of broadcasts, and by rows, in the order of
/// reductions.
struct BlockOwners {
  OwnerShares columns;                 ///< shares by first block row
  OwnerShares rows;                    ///< shares by last column
  std::vector<std::size_t> sum_of;     ///< [blocks] share of the row that receives the block's product
  std::vector<std::size_t> column_of;  ///< [blocks]
};

inline BlockOwners find_owners(const BlockTriangle& triangle, const ProcessGrid& grid) {
  const std::size_t n = triangle.size(), blocks = triangle.row.size();
  BlockOwners owners;
  std::vector<int> owner(blocks);
  owners.column_of.resize(blocks);
  std::vector<std::size_t> row_begin(n + 1, 0), by_columns(blocks), by_rows(blocks);
  std::iota(by_columns.begin(), by_columns.end(), std::size_t(0));
  for (std::size_t K = 0; K < n; ++K) {
    for (std::size_t b = triangle.column_begin[K]; b < triangle.column_begin[K + 1]; ++b) {
      owner[b] = triangle.owner(grid, triangle.row[b], K);
      owners.column_of[b] = K;
      ++row_begin[triangle.row[b] + 1];
    }
  }
  std::partial_sum(row_begin.begin(), row_begin.end(), row_begin.begin());
  auto next = row_begin;
  for (std::size_t b = blocks; b-- > 0;) by_rows[next[triangle.row[b]]++] = b;  // last column first
  owners.columns = share_by_owner(triangle.column_begin, by_columns, owner, grid.size());
  owners.rows = share_by_owner(row_begin, by_rows, owner, grid.size());
  owners.sum_of.resize(blocks);
  for (std::size_t s = 0; s < owners.rows.size(); ++s) {
    for (std::size_t e = owners.rows.block_begin[s]; e < owners.rows.block_begin[s + 1]; ++e)
      owners.sum_of[owners.rows.block[e]] = s;
  }
  return owners;
}

}  // namespace lutra::Impl

#endif
