// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_GATHERLISTMAKER_HPP
#define LUTRA_GATHERLISTMAKER_HPP

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <vector>

#include "Lutra_FrontPlan.hpp"
#include "Lutra_FrontTiles.hpp"

namespace lutra::Impl {

// Small-child assembly lists. Contributions of narrow children, of which a front may have hundreds, are not
// added child by child: for each entry of a front that any of them adds to, the target, a list names the
// entries it sums, its sources. One thread has one target: no atomics, and sums in one order.

/// Children with no more rows are narrow.
inline constexpr int narrow_child = 16;
/// Places are packed as row · 128 + column of the front or tile.
inline constexpr int packed_place_rows = 128;

/// Which children's contributions go into the lists: narrow ones that 32 bits count.
template <class Offset>
class NarrowChildren {
 public:
  template <class Fronts>
  explicit NarrowChildren(const Fronts& fronts) {
    for (const auto& front : fronts) {
      if ((*this)(front)) m_numbers += static_cast<std::uint64_t>(front.below) * front.below;
    }
    if (m_numbers > most) {
      m_below = -1;
      m_numbers = 0;
    }
  }

  template <class Front>
  bool operator()(const Front& child) const {
    return child.below <= m_below &&
           child.contribution + narrow_child * narrow_child <= static_cast<Offset>(most);
  }

  /// Numbers of all their contributions.
  std::uint64_t numbers() const { return m_numbers; }

 private:
  static constexpr std::uint64_t most = std::numeric_limits<std::uint32_t>::max() / 2;
  int m_below = narrow_child;
  std::uint64_t m_numbers = 0;
};

/// What of the lists belongs to a front or tile: its targets, those with most sources first, and their
/// sources by levels: the first source of each target, then the second one of each that has two, and so on.
struct GatherPart {
  std::uint32_t targets = 0;  ///< in `place`
  std::uint32_t sources = 0;  ///< in `source`: how many targets each level but the first has, then the levels
  int count = 0;              ///< of targets
  int levels = 0;             ///< most sources of a target
};

/// Makes the lists on the host, front after front and in cut ones tile after tile. Linear in the entries that
/// are summed: places are found in an array of all there are in a tile and put in order by a set of bits and
/// by their counts.
template <class Ordinal, class Offset>
class GatherListMaker {
 public:
  std::vector<unsigned short> place;
  std::vector<std::uint32_t> source;

  /// Of the last front's tiles, by rows of tiles; of a whole front one.
  std::vector<GatherPart> parts;

  /// Makes room for lists of so many sources.
  void reserve(std::uint64_t numbers) {
    source.reserve(static_cast<std::size_t>(numbers + numbers / 8));
    place.reserve(static_cast<std::size_t>(numbers / 2));
  }

  /// @param children narrow ones of the front; put in the order in which their contributions stand, so that
  ///                 sums follow positions in memory, always the same
  /// @param places   positions in the parent of all fronts' rows
  void add_front(std::vector<const Front<Ordinal, Offset>*>& children, const std::vector<int>& places,
                 const FrontTiles& tiles, bool is_tiled) {
    const std::size_t count = is_tiled ? static_cast<std::size_t>(tiles.count()) : 1;
    parts.assign(count * count, {});
    if (children.empty()) return;
    std::sort(children.begin(), children.end(),
              [](const auto* a, const auto* b) { return a->contribution < b->contribution; });
    m_blocks.clear();
    for (const auto* child : children) {
      if (child->below == 0) continue;
      const int* const at = places.data() + child->rows;
      if (is_tiled) {
        cut_child(*child, at, tiles);
      } else {
        m_blocks.push_back({0, 0, 0, child->below, child->below, 0, 0, child->below, at, at,
                            static_cast<std::uint32_t>(child->contribution)});
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
  /// Some rows and columns of a child's contribution, which go to one tile.
  struct Block {
    std::size_t tile;
    int row, column;  ///< of the front, at which the tile begins
    int rows, columns;
    int first_row, first_column;  ///< in the child
    int stride;
    const int* row_place;        ///< [rows] in the front
    const int* column_place;     ///< [columns]
    std::uint32_t contribution;  ///< of the child
  };

  void cut_child(const Front<Ordinal, Offset>& child, const int* at, const FrontTiles& tiles) {
    const auto end_of_tile = [&](int first) {
      const int tile = tiles.of(at[first]);
      int end = first + 1;
      while (end < child.below && tiles.of(at[end]) == tile) ++end;
      return end;
    };
    for (int a = 0; a < child.below;) {
      const int a_end = end_of_tile(a), i = tiles.of(at[a]);
      for (int b = 0; b < child.below;) {
        const int b_end = end_of_tile(b), j = tiles.of(at[b]);
        const auto tile = static_cast<std::size_t>(i) * static_cast<std::size_t>(tiles.count()) +
                          static_cast<std::size_t>(j);
        m_blocks.push_back({tile, tiles.begin(i), tiles.begin(j), a_end - a, b_end - b, a, b, child.below,
                            at + a, at + b, static_cast<std::uint32_t>(child.contribution)});
        b = b_end;
      }
      a = a_end;
    }
  }

  /// Calls visit(place, number) for all entries of a block.
  template <class Visit>
  static void for_each_number(const Block& block, const Visit& visit) {
    int row_key[narrow_child];
    for (int a = 0; a < block.rows; ++a)
      row_key[a] = (block.row_place[a] - block.row) * packed_place_rows - block.column;
    for (int b = 0; b < block.columns; ++b) {
      const std::uint32_t from =
          block.contribution +
          static_cast<std::uint32_t>((block.first_column + b) * block.stride + block.first_row);
      const int column = block.column_place[b];
      for (int a = 0; a < block.rows; ++a)
        visit(static_cast<std::size_t>(row_key[a] + column), from + static_cast<std::uint32_t>(a));
    }
  }

  /// The blocks begin … end, of one tile.
  GatherPart add_part(std::size_t begin, std::size_t end) {
    count_numbers(begin, end);
    list_places();
    order_targets();
    GatherPart part;
    part.targets = static_cast<std::uint32_t>(place.size());
    part.sources = static_cast<std::uint32_t>(source.size());
    part.count = static_cast<int>(m_places.size());
    part.levels = static_cast<int>(m_width.size());
    place.resize(place.size() + m_places.size());
    for (const unsigned short at : m_places) place[part.targets + m_place[at].target] = at;
    source.insert(source.end(), m_width.begin() + 1, m_width.end());
    std::uint32_t sum = static_cast<std::uint32_t>(source.size());
    for (std::uint32_t& width : m_width) {  // from here on where each level begins
      const std::uint32_t level = sum;
      sum += width;
      width = level;
    }
    source.resize(sum);
    for (std::size_t k = begin; k < end; ++k) {
      for_each_number(m_blocks[k], [&](std::size_t at, std::uint32_t number) {
        Place& target = m_place[at];
        source[m_width[target.numbers++] + target.target] = number;
      });
    }
    for (const unsigned short at : m_places) m_place[at] = {};
    return part;
  }

  /// How many entries each place sums, and which places there are.
  void count_numbers(std::size_t begin, std::size_t end) {
    for (std::size_t k = begin; k < end; ++k) {
      for_each_number(m_blocks[k], [&](std::size_t at, std::uint32_t) {
        if (m_place[at].numbers++ == 0) m_there[at / 64] |= std::uint64_t(1) << at % 64;
      });
      const Block& block = m_blocks[k];
      m_rows_end = std::max(m_rows_end, block.row_place[block.rows - 1] - block.row + 1);
    }
  }

  /// Ascending places; the set of them is empty again.
  void list_places() {
    m_places.clear();
    const auto words = static_cast<std::size_t>(m_rows_end) * packed_place_rows / 64;
    for (std::size_t w = 0; w < words; ++w) {
      for (std::uint64_t bits = m_there[w]; bits != 0; bits &= bits - 1)
        m_places.push_back(
            static_cast<unsigned short>(w * 64 + static_cast<std::size_t>(std::countr_zero(bits))));
      m_there[w] = 0;
    }
    m_rows_end = 0;
  }

  /// Numbers targets by falling counts, and sets counts back. Leaves in `m_width` how many targets have more
  /// than k sources.
  void order_targets() {
    m_width.clear();
    for (const unsigned short at : m_places) {
      const std::uint32_t numbers = m_place[at].numbers;
      if (m_width.size() < numbers) m_width.resize(numbers, 0);
      ++m_width[numbers - 1];
    }
    for (std::size_t k = m_width.size() - 1; k-- > 0;) m_width[k] += m_width[k + 1];
    m_next.assign(m_width.begin() + 1, m_width.end());
    m_next.push_back(0);
    for (const unsigned short at : m_places) {
      Place& target = m_place[at];
      target.target = m_next[target.numbers - 1]++;
      target.numbers = 0;
    }
  }

  /// What is known of a place while its front or tile is worked.
  struct Place {
    std::uint32_t numbers = 0, target = 0;
  };
  static constexpr std::size_t places_of_tile =
      static_cast<std::size_t>(packed_place_rows) * packed_place_rows;

  std::vector<Block> m_blocks;
  std::vector<Place> m_place = std::vector<Place>(places_of_tile);  ///< by place, zero but for `m_places`
  std::vector<std::uint64_t> m_there = std::vector<std::uint64_t>(places_of_tile / 64);  ///< a bit a place
  int m_rows_end = 0;                    ///< places of rows from here on are not there
  std::vector<unsigned short> m_places;  ///< of the tile, ascending
  std::vector<std::uint32_t> m_width;    ///< [levels]
  std::vector<std::uint32_t> m_next;     ///< [levels] next target of those with so many sources
};

}  // namespace lutra::Impl

#endif
