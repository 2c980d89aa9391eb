// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_SweepPlan.hpp"

#include <algorithm>
#include <numeric>
#include <string>

#include "Lutra_Error.hpp"

namespace lutra::Impl {
namespace {

// Indices of a block in the order of the solve.
struct BlockIndex {
  std::int64_t row, column;
  auto operator<=>(const BlockIndex&) const = default;
};

// Ranks of a tree, as an implicit binary heap: the children of position p are 2p + 1 and 2p + 2.
class RankHeap {
 public:
  explicit RankHeap(int ranks) : m_position(static_cast<std::size_t>(ranks), -1) {}
  void clear() {
    for (const int rank : m_ranks) m_position[static_cast<std::size_t>(rank)] = -1;
    m_ranks.clear();
  }
  void add(int rank) {
    int& position = m_position[static_cast<std::size_t>(rank)];
    if (position >= 0) return;
    position = static_cast<int>(m_ranks.size());
    m_ranks.push_back(rank);
  }
  bool has(int rank) const { return m_position[static_cast<std::size_t>(rank)] >= 0; }
  int parent(int rank) const {
    return m_ranks[static_cast<std::size_t>((m_position[static_cast<std::size_t>(rank)] - 1) / 2)];
  }
  std::vector<int> children(int rank) const {
    std::vector<int> result;
    const auto first = static_cast<std::size_t>(2 * m_position[static_cast<std::size_t>(rank)] + 1);
    for (std::size_t at = first; at < std::min(first + 2, m_ranks.size()); ++at)
      result.push_back(m_ranks[at]);
    return result;
  }

 private:
  std::vector<int> m_ranks;     // rank at each position
  std::vector<int> m_position;  // position of each rank, or −1
};

template <class Items>
std::size_t find_block(const Items& items, std::size_t block) {
  const auto found = std::lower_bound(items.begin(), items.end(), block,
                                      [](const auto& item, std::size_t b) { return item.block < b; });
  return found != items.end() && found->block == block ? static_cast<std::size_t>(found - items.begin())
                                                       : items.size();
}

std::size_t width_of(const std::vector<std::int64_t>& begin, TriangleSide side, std::size_t step) {
  const std::size_t n_blocks = begin.size() - 1,
                    block = side == TriangleSide::lower ? step : n_blocks - 1 - step;
  return static_cast<std::size_t>(begin[block + 1] - begin[block]);
}

void check_entries(const SweepPlan& plan, const std::vector<Position>& sorted) {
  for (std::size_t e = 1; e < sorted.size(); ++e) {
    if (sorted[e].row == sorted[e - 1].row && sorted[e].column == sorted[e - 1].column)
      throw InputError("entry (" + std::to_string(sorted[e].row) + ", " + std::to_string(sorted[e].column) +
                       ") of the triangle stands twice");
  }
  if (plan.diagonal == DiagonalKind::unit) return;
  for (const SweepPlan::Row& row : plan.rows) {
    if (!row.diagonal) continue;
    const SweepPlan::Block& block = plan.blocks[row.diagonal_block];
    for (std::size_t r = block.first_row; r < block.end_row; ++r) {
      const std::size_t pivot =
          plan.side == TriangleSide::lower ? plan.row_begin[r + 1] - 1 : plan.row_begin[r];
      if (plan.row_begin[r] == plan.row_begin[r + 1] || plan.column_in_block[pivot] != plan.row_in_block[r])
        throw InputError("row " + std::to_string(sorted[pivot].row) +
                         " of the triangle has no diagonal entry");
    }
    if (block.end_row - block.first_row != row.width)
      throw InputError("a row of the triangle has no diagonal entry");
  }
}

}  // namespace

std::vector<std::int64_t> partition_rows(const std::vector<std::int64_t>& link, std::int64_t max_width) {
  // Larger: fewer tasks and messages, but independent rows wait for each other.
  constexpr std::int64_t min_width = 8;
  std::vector<std::int64_t> begin{0};
  const auto n = static_cast<std::int64_t>(link.size());
  for (std::int64_t i = 1; i < n; ++i) {
    const std::int64_t width = i - begin.back();
    if (width >= std::min(min_width, max_width) &&
        (width >= max_width || link[static_cast<std::size_t>(i)] < begin.back()))
      begin.push_back(i);
  }
  if (n > 0) begin.push_back(n);
  return begin;
}

SweepPlan plan_sweep(Communicator& comm, const ProcessGrid& grid, const std::vector<std::int64_t>& begin,
                     TriangleSide side, DiagonalKind diagonal, const std::vector<Position>& entries,
                     std::vector<std::size_t>& order) {
  const std::size_t n_blocks = begin.size() - 1;
  const bool lower = side == TriangleSide::lower;
  SweepPlan plan;
  plan.side = side;
  plan.diagonal = diagonal;
  const auto block_of = [&](std::int64_t index) {
    return static_cast<std::size_t>(std::upper_bound(begin.begin(), begin.end(), index) - begin.begin()) - 1;
  };
  const auto step_of = [&](std::size_t block) { return lower ? block : n_blocks - 1 - block; };

  // Sort key of entries: block row, block column, row, column.
  struct Key {
    std::size_t I, K;
    Position at;
    std::size_t entry;
  };
  std::vector<Key> keys;
  keys.reserve(entries.size());
  for (std::size_t e = 0; e < entries.size(); ++e)
    keys.push_back({step_of(block_of(entries[e].row)), step_of(block_of(entries[e].column)), entries[e], e});
  std::sort(keys.begin(), keys.end(), [](const Key& a, const Key& b) {
    if (a.I != b.I) return a.I < b.I;
    if (a.K != b.K) return a.K < b.K;
    return a.at.row != b.at.row ? a.at.row < b.at.row : a.at.column < b.at.column;
  });

  // Rows and columns of the keys and of this rank's diagonal blocks.
  std::vector<std::size_t> row_steps, column_steps;
  for (std::size_t block = 0; block < n_blocks; ++block) {
    if (grid.rank_of(block, block) != comm.rank()) continue;
    row_steps.push_back(step_of(block));
    column_steps.push_back(step_of(block));
  }
  for (const Key& key : keys) {
    row_steps.push_back(key.I);
    column_steps.push_back(key.K);
  }
  for (auto* const steps : {&row_steps, &column_steps}) {
    std::sort(steps->begin(), steps->end());
    steps->erase(std::unique(steps->begin(), steps->end()), steps->end());
  }
  for (const std::size_t K : column_steps) plan.columns.push_back({K, width_of(begin, side, K), {}, {}, {}});

  order.resize(entries.size());
  std::vector<Position> sorted;
  sorted.reserve(keys.size());
  plan.row_begin.push_back(0);
  std::size_t k = 0;
  for (const std::size_t I : row_steps) {
    const std::size_t block = step_of(I), width = width_of(begin, side, I);
    SweepPlan::Row row{
        I,  width, grid.rank_of(block, block) == comm.rank(), 0, plan.blocks.size(), 0, 0, plan.sum_rows,
        {}, {}};
    plan.sum_rows += width;
    if (row.diagonal) row.column = find_block(plan.columns, I);
    while (k < keys.size() && keys[k].I == I) {
      const std::size_t K = keys[k].K, column = find_block(plan.columns, K),
                        first_row = plan.row_in_block.size();
      const std::size_t first_entry = sorted.size();
      for (; k < keys.size() && keys[k].I == I && keys[k].K == K; ++k) {
        const int r = static_cast<int>(keys[k].at.row - begin[block]);
        if (plan.row_in_block.size() == first_row || plan.row_in_block.back() != r) {
          plan.row_in_block.push_back(r);
          plan.row_begin.push_back(sorted.size());
        }
        plan.column_in_block.push_back(static_cast<int>(keys[k].at.column - begin[step_of(K)]));
        order[keys[k].entry] = sorted.size();
        sorted.push_back(keys[k].at);
        plan.row_begin.back() = sorted.size();
      }
      const std::size_t end_row = plan.row_in_block.size();
      const bool dense = sorted.size() - first_entry == (end_row - first_row) * plan.columns[column].width;
      if (K != I) plan.columns[column].blocks.push_back(plan.blocks.size());
      plan.blocks.push_back({plan.rows.size(), column, first_row, end_row, dense});
    }
    row.end_block = plan.blocks.size();
    // In the order of the solve the diagonal block is the last of its row. A unit one may be empty.
    const bool has_diagonal =
        row.diagonal && row.end_block > row.first_block && plan.columns[plan.blocks.back().column].block == I;
    if (row.diagonal && !has_diagonal) {
      const std::size_t at = plan.row_in_block.size();
      plan.blocks.push_back({plan.rows.size(), row.column, at, at, false});
    } else if (has_diagonal) {
      --row.end_block;
    }
    row.diagonal_block = row.end_block;
    plan.rows.push_back(row);
  }
  comm.agree(
      "analysis of a distributed triangle", [&] { check_entries(plan, sorted); }, false);
  return plan;
}

void plan_messages(Communicator& comm, const ProcessGrid& grid, std::size_t n_blocks, std::size_t sweep,
                   SweepPlan& plan, SlotCounter& slots) {
  const int me = comm.rank();
  const bool lower = plan.side == TriangleSide::lower;
  const auto rank_of = [&](std::int64_t I, std::int64_t K) {
    const auto row = static_cast<std::size_t>(I), column = static_cast<std::size_t>(K);
    return lower ? grid.rank_of(row, column) : grid.rank_of(n_blocks - 1 - row, n_blocks - 1 - column);
  };

  // Off-diagonal blocks, known to all ranks.
  std::vector<BlockIndex> blocks;
  for (const SweepPlan::Block& block : plan.blocks) {
    const BlockIndex index{static_cast<std::int64_t>(plan.rows[block.row].block),
                           static_cast<std::int64_t>(plan.columns[block.column].block)};
    if (index.row != index.column) blocks.push_back(index);
  }
  std::vector<BlockIndex> all;
  for (const auto& part : comm.gather(blocks)) all.insert(all.end(), part.begin(), part.end());
  comm.broadcast(all);

  // Slots of this rank, each with the rank that fills it.
  struct Offer {
    std::int64_t block, offset, signal;
    std::int64_t is_sum;
  };
  std::vector<std::vector<Offer>> offers(static_cast<std::size_t>(comm.size()));
  const auto offer = [&](int to, std::size_t block, std::size_t width, const SlotEvent& event) {
    const Slot slot{me, slots.rows, slots.events.size()};
    slots.rows += width;
    slots.events.push_back(event);
    offers[static_cast<std::size_t>(to)].push_back({static_cast<std::int64_t>(block),
                                                    static_cast<std::int64_t>(slot.offset),
                                                    static_cast<std::int64_t>(slot.signal), event.is_sum});
    return slot;
  };

  RankHeap heap(comm.size());
  // Broadcasts: the owner, then ranks by the first block row that needs x.
  std::sort(all.begin(), all.end(), [](const BlockIndex& a, const BlockIndex& b) {
    return a.column != b.column ? a.column < b.column : a.row < b.row;
  });
  auto block = all.begin();
  for (std::size_t c = 0; c < plan.columns.size(); ++c) {
    SweepPlan::Column& column = plan.columns[c];
    const auto K = static_cast<std::int64_t>(column.block);
    block = std::lower_bound(block, all.end(), K,
                             [](const BlockIndex& b, std::int64_t value) { return b.column < value; });
    heap.clear();
    heap.add(rank_of(K, K));
    for (; block != all.end() && block->column == K; ++block) heap.add(rank_of(block->row, K));
    if (rank_of(K, K) != me) {
      column.x = offer(heap.parent(me), column.block, column.width, {sweep, false, c, 0});
    } else {
      column.x = {me, slots.rows, 0};
      slots.rows += column.width;
    }
    for (const int child : heap.children(me)) column.children.push_back({child, 0, 0});
  }
  // Reductions: the owner, then ranks by their last block column, the latest nearest the root.
  std::sort(all.begin(), all.end(), [](const BlockIndex& a, const BlockIndex& b) {
    return a.row != b.row ? a.row < b.row : a.column > b.column;
  });
  block = all.begin();
  for (std::size_t r = 0; r < plan.rows.size(); ++r) {
    SweepPlan::Row& row = plan.rows[r];
    const auto I = static_cast<std::int64_t>(row.block);
    block = std::lower_bound(block, all.end(), I,
                             [](const BlockIndex& b, std::int64_t value) { return b.row < value; });
    heap.clear();
    heap.add(rank_of(I, I));
    for (; block != all.end() && block->row == I; ++block) heap.add(rank_of(I, block->column));
    const std::vector<int> children = heap.children(me);
    for (std::size_t child = 0; child < children.size(); ++child)
      row.children.push_back(offer(children[child], row.block, row.width, {sweep, true, r, child}));
    if (!row.diagonal) row.parent.rank = heap.parent(me);
  }

  const auto accepted = comm.all_to_all(offers);
  for (std::size_t from = 0; from < accepted.size(); ++from) {
    for (const Offer& slot : accepted[from]) {
      const Slot target{static_cast<int>(from), static_cast<std::size_t>(slot.offset),
                        static_cast<std::size_t>(slot.signal)};
      if (slot.is_sum != 0) {
        plan.rows[find_block(plan.rows, static_cast<std::size_t>(slot.block))].parent = target;
      } else {
        auto& children =
            plan.columns[find_block(plan.columns, static_cast<std::size_t>(slot.block))].children;
        *std::find_if(children.begin(), children.end(),
                      [&](const Slot& child) { return child.rank == target.rank; }) = target;
      }
    }
  }
}

}  // namespace lutra::Impl
