// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_GATHERLISTSCUDA_HPP
#define LUTRA_GATHERLISTSCUDA_HPP

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <utility>
#include <vector>

#include "Lutra_FrontFlagsCuda.hpp"
#include "Lutra_FrontTiles.hpp"

namespace lutra::Impl {

// Contributions of narrow children, of which a front may have hundreds, are not added child by child: lists
// made with the plan name, for each place of a front that any of them adds to, the numbers it sums. One
// thread has one place, so that all go on at once, without atomics and in one order.

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
    std::uint64_t numbers = 0;
    for (const auto& front : fronts) {
      if ((*this)(front)) numbers += static_cast<std::uint64_t>(front.below) * front.below;
    }
    if (numbers > most) m_below = -1;
  }

  template <class Front>
  bool operator()(const Front& child) const {
    return child.below <= m_below && child.corner + narrow_child * narrow_child <= static_cast<Offset>(most);
  }

 private:
  static constexpr std::uint64_t most = std::numeric_limits<std::uint32_t>::max() / 2;
  int m_below = narrow_child;
};

/// What of the lists belongs to a front or tile: its targets, those that sum most numbers first, and their
/// sources by levels: the first number of each target, then the second one of each that has two, and so on.
struct GatherPart {
  std::uint32_t targets = 0;  ///< in `place`
  std::uint32_t sources = 0;  ///< in `source`: how many targets each level but the first has, then the levels
  int count = 0;              ///< of targets
  int levels = 0;             ///< most numbers of a target
};

/// Lists as the device reads them: 16 bits a target and 32 bits a number.
struct GatherLists {
  const unsigned short* place = nullptr;  ///< of targets
  const std::uint32_t* source = nullptr;  ///< from the first number of the panels on
};

/// Adds the targets of one front or tile, by `Threads` threads. What does not depend on children is loaded on
/// construction, so that it can be on its way while they are waited for.
template <int Threads, class Scalar>
class GatherTurn {
 public:
  __device__ GatherTurn(const GatherLists& lists, const GatherPart& part, int thread)
      : m_part(part),
        m_place(lists.place + part.targets),
        m_widths(lists.source + part.sources - 1),
        m_target(thread) {
    load();
  }

  template <class To>
  __device__ void add(const Scalar* numbers, const To& to) {
    const std::uint32_t* const first = m_widths + m_part.levels;
    while (m_target < m_part.count) {
      Scalar sum = numbers[m_source];
      const std::uint32_t* level = first + m_part.count + m_target;
      int k = 1;
      for (; k + 4 <= m_part.levels; k += 4) {
        const std::uint32_t w0 = m_widths[k], w1 = m_widths[k + 1], w2 = m_widths[k + 2],
                            w3 = m_widths[k + 3];
        if (m_target >= static_cast<int>(w3)) break;
        const std::uint32_t s0 = level[0], s1 = level[w0], s2 = level[w0 + w1], s3 = level[w0 + w1 + w2];
        const Scalar v0 = numbers[s0], v1 = numbers[s1], v2 = numbers[s2], v3 = numbers[s3];
        sum += v0;
        sum += v1;
        sum += v2;
        sum += v3;
        level += w0 + w1 + w2 + w3;
      }
      for (; k < m_part.levels; ++k) {
        const std::uint32_t width = m_widths[k];
        if (m_target >= static_cast<int>(width)) break;
        sum += numbers[*level];
        level += width;
      }
      to(m_at / packed_place_rows, m_at % packed_place_rows) += sum;
      m_target += Threads;
      load();
    }
  }

 private:
  __device__ void load() {
    if (m_target >= m_part.count) return;
    m_at = m_place[m_target];
    m_source = m_widths[m_part.levels + m_target];
  }

  const GatherPart m_part;
  const unsigned short* const m_place;
  const std::uint32_t* const m_widths;  ///< of level k at k
  int m_target;
  std::uint32_t m_source = 0;
  int m_at = 0;
};

/// Makes the lists on the host, front after front and in cut ones tile after tile.
template <class Ordinal, class Offset>
class GatherListMaker {
 public:
  std::vector<unsigned short> place;
  std::vector<std::uint32_t> source;

  /// Of the last front's tiles, by rows of tiles; of a whole front one.
  std::vector<GatherPart> parts;

  /// @param children narrow ones of the front
  /// @param places   positions in the parent of all fronts' rows
  void add_front(const std::vector<const Front<Ordinal, Offset>*>& children, const std::vector<int>& places,
                 const FrontTiles& tiles, bool is_tiled) {
    const int count = is_tiled ? tiles.count() : 1;
    m_entries.clear();
    for (const auto* child : children) {
      const int* const at = places.data() + child->rows;
      for (int b = 0; b < child->below; ++b) {
        for (int a = 0; a < child->below; ++a) {
          const Offset from = child->corner + a + static_cast<Offset>(b) * child->below;
          m_entries.push_back({key(at[a], at[b], tiles, is_tiled), from});
        }
      }
    }
    std::sort(m_entries.begin(), m_entries.end());  // sums follow positions in memory, always the same
    parts.assign(static_cast<std::size_t>(count) * static_cast<std::size_t>(count), {});
    for (std::size_t begin = 0; begin < m_entries.size();) {
      const std::int64_t tile = m_entries[begin].first / places_of_tile;
      std::size_t end = begin;
      while (end < m_entries.size() && m_entries[end].first / places_of_tile == tile) ++end;
      parts[static_cast<std::size_t>(tile)] = add_part(begin, end);
      begin = end;
    }
  }

 private:
  /// The entries begin … end, of one tile.
  GatherPart add_part(std::size_t begin, std::size_t end) {
    m_targets.clear();
    for (std::size_t e = begin; e < end; ++e) {
      if (e == begin || m_entries[e - 1].first != m_entries[e].first) m_targets.push_back({e, 0});
      ++m_targets.back().count;
    }
    std::ranges::stable_sort(m_targets, std::greater<>{}, &Target::count);
    GatherPart part;
    part.targets = static_cast<std::uint32_t>(place.size());
    part.sources = static_cast<std::uint32_t>(source.size());
    part.count = static_cast<int>(m_targets.size());
    part.levels = m_targets.front().count;
    for (const Target& target : m_targets)
      place.push_back(static_cast<unsigned short>(m_entries[target.first].first % places_of_tile));
    const auto has_level = [](int level) {
      return [level](const Target& target) { return target.count > level; };
    };
    for (int level = 1; level < part.levels; ++level)
      source.push_back(static_cast<std::uint32_t>(std::ranges::count_if(m_targets, has_level(level))));
    for (int level = 0; level < part.levels; ++level) {
      for (const Target& target : m_targets) {
        if (target.count <= level) break;
        source.push_back(
            static_cast<std::uint32_t>(m_entries[target.first + static_cast<std::size_t>(level)].second));
      }
    }
    return part;
  }

  static constexpr std::int64_t places_of_tile =
      static_cast<std::int64_t>(packed_place_rows) * packed_place_rows;

  static std::int64_t key(int row, int column, const FrontTiles& tiles, bool is_tiled) {
    std::int64_t tile = 0;
    if (is_tiled) {
      const int i = tiles.of(row), j = tiles.of(column);
      tile = static_cast<std::int64_t>(i) * tiles.count() + j;
      row -= tiles.begin(i);
      column -= tiles.begin(j);
    }
    return tile * places_of_tile + row * packed_place_rows + column;
  }

  /// Numbers that one place sums.
  struct Target {
    std::size_t first;  ///< in `m_entries`
    int count;
  };
  std::vector<std::pair<std::int64_t, Offset>> m_entries;  ///< places and where their numbers stand
  std::vector<Target> m_targets;
};

}  // namespace lutra::Impl

#endif
