// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_SMALLCHILDLISTMAKER_HPP
#define LUTRA_SMALLCHILDLISTMAKER_HPP

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "Lutra_EarlySums.hpp"
#include "Lutra_FrontTiles.hpp"
#include "Lutra_Index.hpp"

namespace lutra::Impl {

// Small-child assembly lists. A front may have hundreds of small children, whose contributions are not added
// child by child. Instead, each entry of a front that receives any of them, a target, has a list of the
// entries it sums, its sources. One thread owns one target: no atomics, and a fixed summation order.
//
// A row with thousands of columns has targets with thousands of sources. Where the children are early, that
// is, complete before the launch of the parent's tasks, such a list is cut into early sums. A launch in
// between computes them, one warp each; the target then has the sums as its sources:
//
//     targets of a front   sources                    early sums
//       (0, 0)             s0  s1                       s0 = c(1) + c(7) + … + c(4090)
//       (0, 1)             c(3) c(5) c(9)               s1 = c(4093) + …

/// Largest number of contribution rows of a small child, and of one in a front with many children, whose wide
/// children would follow each other.
inline constexpr int max_small_child = 16, max_child_of_many = 96;
/// A position is packed as row · 128 + column of the front or tile.
inline constexpr int packed_edge = 128;

/// Selects the children that are assembled by lists: small ones whose contribution blocks have 32-bit
/// addresses.
class SmallChildren {
 public:
  /// @param contributions of all fronts
  template <class Fronts, class Contributions>
  SmallChildren(const Fronts& fronts, const Contributions& contributions) {
    for (std::size_t f = 0; f < fronts.size(); ++f) {
      const int rows = fronts[f].cb_rows;
      const auto entries = static_cast<std::uint64_t>(rows) * static_cast<std::uint64_t>(rows);
      if ((*this)(rows, contributions[f].contribution)) m_entries += entries;
      if (rows <= max_child_of_many) m_entries_of_many += entries;
    }
    if (m_entries > most) {
      m_max_rows = -1;
      m_entries = 0;
    }
  }

  bool operator()(int cb_rows, Offset contribution) const {
    return cb_rows <= m_max_rows && has_address(contribution);
  }
  /// The same for a child of a front with many children.
  bool among_many(int cb_rows, Offset contribution) const {
    return m_entries_of_many <= most && cb_rows <= max_child_of_many && has_address(contribution);
  }

  /// Total entries of their contribution blocks.
  std::uint64_t entries() const { return m_entries; }

 private:
  static constexpr std::uint64_t most = std::numeric_limits<std::uint32_t>::max() / 2;
  static bool has_address(Offset contribution) {
    return contribution + max_child_of_many * max_child_of_many <= static_cast<Offset>(most);
  }
  int m_max_rows = max_small_child;
  std::uint64_t m_entries = 0, m_entries_of_many = 0;
};

/// A small child during the listing of its parent.
struct SmallChild {
  Offset contribution = 0;
  Offset rows = 0;  ///< offset in `relative`
  int cb_rows = 0;
  bool is_early = false;  ///< complete before the launch of tasks
};

/// The lists of one front or tile: its targets, those with the most sources first, and their sources by
/// levels: the first source of each target, then the second of each that has two, and so on.
struct SmallChildPart {
  std::uint32_t targets = 0;  ///< offset in `position`
  std::uint32_t sources = 0;  ///< offset in `source`: the number of targets on each level but the first, then
                              ///< the levels
  int count = 0;              ///< number of targets
  int levels = 0;             ///< largest number of sources of a target
};

/// Builds the lists on the host, front by front and, in tiled fronts, tile by tile. Linear in the summed
/// entries: an array and a bit set over the positions of a tile sort the targets, a counting sort orders them
/// by their numbers of sources.
class SmallChildListMaker {
 public:
  std::vector<unsigned short> position;
  std::vector<std::uint32_t> source;
  std::vector<std::uint32_t> sum_source;  ///< sources of the early sums
  std::vector<std::uint32_t> sum_end;     ///< end of each early sum's sources in `sum_source`
  std::vector<std::uint32_t> sum_place;   ///< index in `source` where each early sum's address belongs

  /// Of the last front's tiles, by tile rows; one for an untiled front.
  std::vector<SmallChildPart> parts;

  /// Reserves memory for lists of `entries` sources.
  void reserve(std::uint64_t entries) {
    source.reserve(static_cast<std::size_t>(entries + entries / 8));
    position.reserve(static_cast<std::size_t>(entries / 2));
  }

  /// @param children small children of the front; sorted here by the addresses of their contribution blocks,
  ///                 which fixes the summation order
  /// @param relative indices of all fronts
  /// @param sums_early whether long lists of early children are cut into early sums
  void add_front(std::vector<SmallChild>& children, std::span<const int> relative, const FrontTiles& tiles,
                 bool is_tiled, bool sums_early = false) {
    m_sums_early = sums_early;
    if (sums_early) m_early.resize(positions_of_tile);
    const std::size_t count = is_tiled ? static_cast<std::size_t>(tiles.count()) : 1;
    parts.assign(count * count, {});
    if (children.empty()) return;
    std::ranges::sort(children, {}, &SmallChild::contribution);
    m_blocks.clear();
    for (const SmallChild& child : children) {
      if (child.cb_rows == 0) continue;
      const int* const at = relative.data() + child.rows;
      if (is_tiled) {
        cut_child(child, at, tiles);
      } else {
        m_blocks.push_back({0, 0, 0, child.cb_rows, child.cb_rows, 0, 0, child.cb_rows, at, at,
                            static_cast<std::uint32_t>(child.contribution), child.is_early});
      }
    }
    if (is_tiled)
      std::stable_sort(m_blocks.begin(), m_blocks.end(),
                       [](const Block& a, const Block& b) { return a.tile < b.tile; });
    for (std::size_t begin = 0; begin < m_blocks.size();) {
      const std::size_t tile = m_blocks[begin].tile;
      std::size_t end = begin;
      while (end < m_blocks.size() && m_blocks[end].tile == tile) ++end;
      parts[tile] = add_part(begin, end);
      begin = end;
    }
  }

 private:
  /// Rows and columns of a child's contribution block that map to one tile.
  struct Block {
    std::size_t tile;
    int row, column;  ///< of the front, at the tile's start
    int rows, columns;
    int first_row, first_column;  ///< in the child
    int stride;
    const int* row_position;     ///< [rows] in the front
    const int* column_position;  ///< [columns]
    std::uint32_t contribution;  ///< of the child
    bool is_early;
  };

  void cut_child(const SmallChild& child, const int* at, const FrontTiles& tiles) {
    const auto end_of_tile = [&](int first) {
      const int tile = tiles.of(at[first]);
      int end = first + 1;
      while (end < child.cb_rows && tiles.of(at[end]) == tile) ++end;
      return end;
    };
    for (int a = 0; a < child.cb_rows;) {
      const int a_end = end_of_tile(a), i = tiles.of(at[a]);
      for (int b = 0; b < child.cb_rows;) {
        const int b_end = end_of_tile(b), j = tiles.of(at[b]);
        const auto tile = static_cast<std::size_t>(i) * static_cast<std::size_t>(tiles.count()) +
                          static_cast<std::size_t>(j);
        m_blocks.push_back({tile, tiles.begin(i), tiles.begin(j), a_end - a, b_end - b, a, b, child.cb_rows,
                            at + a, at + b, static_cast<std::uint32_t>(child.contribution), child.is_early});
        b = b_end;
      }
      a = a_end;
    }
  }

  /// Calls visit(position, entry) for all entries of a block.
  template <class Visit>
  static void for_each_entry(const Block& block, const Visit& visit) {
    int row_key[max_child_of_many];
    for (int a = 0; a < block.rows; ++a)
      row_key[a] = (block.row_position[a] - block.row) * packed_edge - block.column;
    for (int b = 0; b < block.columns; ++b) {
      const std::uint32_t from =
          block.contribution +
          static_cast<std::uint32_t>((block.first_column + b) * block.stride + block.first_row);
      const int column = block.column_position[b];
      for (int a = 0; a < block.rows; ++a)
        visit(static_cast<std::size_t>(row_key[a] + column), from + static_cast<std::uint32_t>(a));
    }
  }

  /// Adds the blocks begin … end of one tile.
  SmallChildPart add_part(std::size_t begin, std::size_t end) {
    count_entries(begin, end);
    list_positions();
    if (m_sums_early) cut_early_sums(begin, end);
    order_targets();
    SmallChildPart part;
    part.targets = static_cast<std::uint32_t>(position.size());
    part.sources = static_cast<std::uint32_t>(source.size());
    part.count = static_cast<int>(m_positions.size());
    part.levels = static_cast<int>(m_width.size());
    position.resize(position.size() + m_positions.size());
    for (const unsigned short at : m_positions) position[part.targets + m_position[at].target] = at;
    source.insert(source.end(), m_width.begin() + 1, m_width.end());
    std::uint32_t sum = static_cast<std::uint32_t>(source.size());
    for (std::uint32_t& width : m_width) {  // converts counts to level offsets
      const std::uint32_t level = sum;
      sum += width;
      width = level;
    }
    source.resize(sum);
    const auto place = [&](std::size_t at) {
      Position& target = m_position[at];
      return m_width[target.entries++] + target.target;
    };
    if (!m_long.empty()) list_early_sums(begin, end, place);
    for (std::size_t k = begin; k < end; ++k) {
      const bool by_sums = m_blocks[k].is_early && !m_long.empty();
      for_each_entry(m_blocks[k], [&](std::size_t at, std::uint32_t entry) {
        if (!by_sums || m_early[at] == 0) source[place(at)] = entry;
      });
    }
    for (const auto& [at, entries] : m_long) m_early[at] = 0;
    m_long.clear();
    for (const unsigned short at : m_positions) m_position[at] = {};
    return part;
  }

  /// Finds the positions of a tile with long lists of early sources, and counts these as few sums.
  void cut_early_sums(std::size_t begin, std::size_t end) {
    for (std::size_t k = begin; k < end; ++k) {
      if (m_blocks[k].is_early)
        for_each_entry(m_blocks[k], [&](std::size_t at, std::uint32_t) { ++m_early[at]; });
    }
    for (const unsigned short at : m_positions) {
      const std::uint32_t entries = m_early[at];
      if (entries > max_listed_sources) {
        m_long.push_back({at, entries});
        m_position[at].entries += count_early_sums(entries) - entries;
      } else {
        m_early[at] = 0;
      }
    }
  }
  /// Lists the early sums of a tile and their sources.
  /// @param place gives the next index in `source` of a position
  template <class Place>
  void list_early_sums(std::size_t begin, std::size_t end, const Place& place) {
    auto next = static_cast<std::uint32_t>(sum_source.size());
    for (const auto& [at, entries] : m_long) {
      m_early[at] = next + 1;  // where its next source belongs, from one on
      for (std::uint32_t done = 0; done < entries; done += max_early_sources) {
        sum_end.push_back(next + std::min(done + max_early_sources, entries));
        sum_place.push_back(place(at));
      }
      next += entries;
    }
    sum_source.resize(next);
    for (std::size_t k = begin; k < end; ++k) {
      if (!m_blocks[k].is_early) continue;
      for_each_entry(m_blocks[k], [&](std::size_t at, std::uint32_t entry) {
        if (m_early[at] > 0) sum_source[m_early[at]++ - 1] = entry;
      });
    }
  }

  /// Counts the entries summed at each position, and marks the targets.
  void count_entries(std::size_t begin, std::size_t end) {
    for (std::size_t k = begin; k < end; ++k) {
      for_each_entry(m_blocks[k], [&](std::size_t at, std::uint32_t) {
        if (m_position[at].entries++ == 0) m_there[at / 64] |= std::uint64_t(1) << at % 64;
      });
      const Block& block = m_blocks[k];
      m_rows_end = std::max(m_rows_end, block.row_position[block.rows - 1] - block.row + 1);
    }
  }

  /// Lists the targets in ascending order and clears their bit set.
  void list_positions() {
    m_positions.clear();
    const auto words = static_cast<std::size_t>(m_rows_end) * packed_edge / 64;
    for (std::size_t w = 0; w < words; ++w) {
      for (std::uint64_t bits = m_there[w]; bits != 0; bits &= bits - 1)
        m_positions.push_back(
            static_cast<unsigned short>(w * 64 + static_cast<std::size_t>(std::countr_zero(bits))));
      m_there[w] = 0;
    }
    m_rows_end = 0;
  }

  /// Numbers targets by descending counts of sources, and resets these. m_width[k] becomes the number of
  /// targets with more than k sources.
  void order_targets() {
    m_width.clear();
    for (const unsigned short at : m_positions) {
      const std::uint32_t entries = m_position[at].entries;
      if (m_width.size() < entries) m_width.resize(entries, 0);
      ++m_width[entries - 1];
    }
    for (std::size_t k = m_width.size() - 1; k-- > 0;) m_width[k] += m_width[k + 1];
    m_next.assign(m_width.begin() + 1, m_width.end());
    m_next.push_back(0);
    for (const unsigned short at : m_positions) {
      Position& target = m_position[at];
      target.target = m_next[target.entries - 1]++;
      target.entries = 0;
    }
  }

  /// State of a position while its front or tile is processed.
  struct Position {
    std::uint32_t entries = 0, target = 0;
  };
  static constexpr std::size_t positions_of_tile = static_cast<std::size_t>(packed_edge) * packed_edge;

  std::vector<Block> m_blocks;
  std::vector<Position> m_position =
      std::vector<Position>(positions_of_tile);  ///< zero except at `m_positions`
  bool m_sums_early = false;                     ///< for the current front
  std::vector<std::uint32_t> m_early;  ///< by position, zero between tiles: first the early sources, then, of
                                       ///< long lists, one more than the index of the next in `sum_source`
  /// A position with a long list of early sources.
  struct LongList {
    unsigned short at;
    std::uint32_t entries;
  };
  std::vector<LongList> m_long;  ///< of the tile
  std::vector<std::uint64_t> m_there =
      std::vector<std::uint64_t>(positions_of_tile / 64);  ///< one bit per position
  int m_rows_end = 0;                                      ///< end of the rows with targets
  std::vector<unsigned short> m_positions;                 ///< of the tile, ascending
  std::vector<std::uint32_t> m_width;                      ///< [levels]
  std::vector<std::uint32_t> m_next;                       ///< [levels] next target with that many sources
};

}  // namespace lutra::Impl

#endif
