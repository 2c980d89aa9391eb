// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_SUPERNODEBLOCKS_HPP
#define LUTRA_SUPERNODEBLOCKS_HPP

#include <algorithm>
#include <vector>

#include "Lutra_At.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_SupernodalLevel.hpp"
#include "Lutra_SupernodalLu.hpp"

namespace lutra::Impl {

// Host part of a supernodal plan: the partition, its panels, and the tiles of each level.

/// Lengths of the columns of L and the rows of U, both without the diagonal, [n].
struct SupernodeLengths {
  std::vector<Ordinal> lower, upper;
};

/// Cuts supernodes where the next row and column would raise the fraction of zeros in the panels above
/// `relaxation`. Both lists of a supernode are those of its last row and column, so that each earlier one is
/// filled up to them.
inline std::vector<Ordinal> cut_supernodes(const std::vector<Ordinal>& begin, const SupernodeLengths& lengths,
                                           double relaxation) {
  std::vector<Ordinal> cut;
  for (std::size_t s = 0; s + 1 < begin.size(); ++s) {
    Ordinal first = begin[s];
    Offset entries = 0;  // of the columns and rows from `first` on, without diagonals
    for (Ordinal row = first; row < begin[s + 1]; ++row) {
      const Offset of_row = static_cast<Offset>(at(lengths.lower, row)) + at(lengths.upper, row);
      const Offset size = row - first + 1;
      const Offset stored = size * (size - 1) + size * of_row;
      if (static_cast<double>(stored - entries - of_row) > relaxation * static_cast<double>(stored + size)) {
        cut.push_back(first);
        first = row;
        entries = 0;
      }
      entries += of_row;
    }
    cut.push_back(first);
  }
  cut.push_back(begin.back());
  return cut;
}

/// Flops of the diagonal block, the panels and the products of a supernode.
inline double flops_of(const SupernodeBlock& block) {
  const double p = block.size, m = block.rows, c = block.columns;
  return p * (p - 1) / 2 + p * (p - 1) * (2 * p - 1) / 3 + m * p * p + c * p * (p - 1) + 2 * m * c * p;
}

/// Sizes and positions of all supernodes.
template <class Memory>
std::vector<SupernodeBlock> lay_out_supernodes(const std::vector<Ordinal>& begin,
                                               const SupernodeLengths& lengths,
                                               SupernodalLuPlan<Memory>& plan) {
  std::vector<SupernodeBlock> blocks(begin.size() - 1);
  Offset row_list = 0, column_list = 0;
  for (std::size_t s = 0; s < blocks.size(); ++s) {
    SupernodeBlock& block = blocks[s];
    block.first = begin[s];
    block.size = begin[s + 1] - begin[s];
    block.rows = at(lengths.lower, block.end() - 1);
    block.columns = at(lengths.upper, block.end() - 1);
    block.row_list = row_list;
    block.column_list = column_list;
    block.lower = plan.n_values;
    block.upper = block.lower + block.stride() * block.size;
    plan.n_values = block.upper + static_cast<Offset>(block.size) * block.columns;
    plan.flops += flops_of(block);
    row_list += block.rows;
    column_list += block.columns;
  }
  plan.count = static_cast<Ordinal>(blocks.size());
  plan.zeros = plan.n_values - plan.rows.nnz_l - plan.rows.nnz_u;
  return blocks;
}

/// Tiles of all panels and products, level by level.
struct SupernodeTiles {
  std::vector<SupernodeTile> solves, updates;
  std::vector<std::int64_t> solve_begin, update_begin;

  void add(Ordinal s, const SupernodeBlock& block) {
    for (Ordinal row = 0; row < block.rows; row += solve_rows)
      solves.push_back({s, row, std::min(solve_rows, block.rows - row), 0, 0});
    for (Ordinal column = 0; block.size > 1 && column < block.columns; column += solve_columns)
      solves.push_back({s, 0, 0, column, std::min(solve_columns, block.columns - column)});
    for (Ordinal column = 0; column < block.columns; column += update_columns) {
      for (Ordinal row = 0; row < block.rows; row += update_rows)
        updates.push_back({s, row, std::min(update_rows, block.rows - row), column,
                           std::min(update_columns, block.columns - column)});
    }
  }
  void end_level() {
    solve_begin.push_back(static_cast<std::int64_t>(solves.size()));
    update_begin.push_back(static_cast<std::int64_t>(updates.size()));
  }
};

}  // namespace lutra::Impl

#endif
