// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_GATHERLISTSCUDA_HPP
#define LUTRA_GATHERLISTSCUDA_HPP

#include <algorithm>
#include <cstdint>
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
  static constexpr std::uint64_t most = std::numeric_limits<std::uint32_t>::max();
  int m_below = narrow_child;
};

/// Lists as the device reads them. They take as much memory as the contributions they name: 32 bits a number.
struct GatherLists {
  const std::uint32_t* first = nullptr;   ///< [targets + 1] in `source`
  const unsigned short* place = nullptr;  ///< [targets]
  const std::uint32_t* source = nullptr;  ///< in `corners`
};

/// Adds the targets [begin, end) of one front or tile, by `Threads` threads. What does not depend on children
/// is loaded on construction, so that it can be on its way while they are waited for.
template <int Threads, class Scalar, class Offset>
class GatherTurn {
 public:
  __device__ GatherTurn(const GatherLists& lists, Offset begin, Offset end, int thread)
      : m_lists(lists), m_target(begin + thread), m_end(end) {
    load();
  }

  template <class To>
  __device__ void add(const Scalar* corners, const To& to) {
    while (m_target < m_end) {
      Scalar sum(0);
      if (m_last > m_first) sum = corners[m_source];
      std::uint32_t p = m_first + 1;
      for (; p + 4 <= m_last; p += 4) {
        const std::uint32_t s0 = m_lists.source[p], s1 = m_lists.source[p + 1], s2 = m_lists.source[p + 2],
                            s3 = m_lists.source[p + 3];
        const Scalar v0 = corners[s0], v1 = corners[s1], v2 = corners[s2], v3 = corners[s3];
        sum += v0;
        sum += v1;
        sum += v2;
        sum += v3;
      }
      for (; p < m_last; ++p) sum += corners[m_lists.source[p]];
      to(m_place / packed_place_rows, m_place % packed_place_rows) += sum;
      m_target += Threads;
      load();
    }
  }

 private:
  __device__ void load() {
    if (m_target >= m_end) return;
    m_first = m_lists.first[m_target];
    m_last = m_lists.first[m_target + 1];
    m_place = m_lists.place[m_target];
    m_source = m_lists.source[m_first];
  }

  const GatherLists& m_lists;
  Offset m_target, m_end;
  std::uint32_t m_first = 0, m_last = 0, m_source = 0;
  int m_place = 0;
};

/// Makes the lists on the host, front after front and in cut ones tile after tile.
template <class Ordinal, class Offset>
class GatherListMaker {
 public:
  std::vector<std::uint32_t> first{0};
  std::vector<unsigned short> place;
  std::vector<std::uint32_t> source;

  /// Numbers of targets of the last front's tiles, by rows of tiles; of a whole front one number.
  std::vector<Offset> tile_targets;

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
    std::sort(m_entries.begin(), m_entries.end());  // sums follow positions in `corners`, always the same
    tile_targets.assign(static_cast<std::size_t>(count) * static_cast<std::size_t>(count), 0);
    for (std::size_t e = 0; e < m_entries.size(); ++e) {
      const std::int64_t k = m_entries[e].first;
      if (e == 0 || m_entries[e - 1].first != k) {
        if (e > 0) first.push_back(static_cast<std::uint32_t>(source.size()));
        place.push_back(static_cast<unsigned short>(k % places_of_tile));
        ++tile_targets[static_cast<std::size_t>(k / places_of_tile)];
      }
      source.push_back(static_cast<std::uint32_t>(m_entries[e].second));
    }
    if (!m_entries.empty()) first.push_back(static_cast<std::uint32_t>(source.size()));
  }

 private:
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

  std::vector<std::pair<std::int64_t, Offset>> m_entries;
};

}  // namespace lutra::Impl

#endif
