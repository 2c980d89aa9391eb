// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_ROWCLIMBER_HPP
#define LUTRA_ROWCLIMBER_HPP

#include <algorithm>
#include <cstdint>

#include "Lutra_Arena.hpp"
#include "Lutra_Symbolic.hpp"

namespace lutra::Impl {

/// A position of a matrix of few rows, in one number: such pairs are sorted by counting, without branches.
struct PackedPosition {
  std::uint32_t bits;

  static constexpr std::size_t max_rows = (std::size_t(1) << 16) - 1;
  static PackedPosition of(std::uint32_t row, std::uint32_t column) { return {row << 16 | column}; }
  std::uint32_t row() const { return bits >> 16; }
  std::uint32_t column() const { return bits & 0xffffu; }
};

/// The elimination forest of the entries below the diagonal, and its rows of L, row after row: row i is what
/// lies on the ways up from the entries of row i to i, and where a way ends at a root, that root's parent is
/// i (Liu, SIAM J. Matrix Anal. Appl. 11, 1990; Davis, ACM Trans. Math. Softw. 31, 2005). On the way each
/// entry is matched with its mirror image; both come in ascending order.
template <class Ordinal, class Offset>
class RowClimber {
 public:
  using Pattern = CsrPattern<Ordinal, Offset, Kokkos::HostSpace>;
  template <class T>
  using Array = Kokkos::View<T*, Kokkos::HostSpace>;
  using Arena = Impl::Arena<Kokkos::HostSpace>;
  using Number = std::uint32_t;

  /// Entries of L a row beyond which rows are cheaper as words, and sooner where they no longer fit in cache.
  static double max_average(std::size_t n) { return n <= 20000 ? 20 : 17; }
  /// Entries of L that there is room for, for each row done and for each row.
  static constexpr Number max_each = 19, max_ahead = 2;

  static std::size_t bytes(std::size_t n) {
    return n * sizeof(Vertex) + (2 * n + 1) * sizeof(Number) + max_numbers(n) * sizeof(PackedPosition) +
           Arena::loss(4);
  }

  RowClimber(const Pattern& pattern, Arena& arena)
      : m_pattern(pattern),
        m_n(static_cast<Number>(pattern.n_rows)),
        m_vertex(arena.template cut<Array<Vertex>>(m_n)),
        m_upper(arena.template cut<Array<Number>>(m_n)),
        m_begin(arena.template cut<Array<Number>>(m_n + 1)),
        m_list(arena.template cut<Array<PackedPosition>>(max_numbers(m_n))) {}

  /// A quarter of the rows tells how long they will be.
  /// @param note note(i, j): one of the entries (i, j) and (j, i) is there without the other
  /// @return false where many are, or rows are expected to become long
  template <class Note>
  bool climb(const Note& note) {
    m_begin(0) = 0;
    const Number quarter = m_n / 4;
    if (!climb_rows(0, quarter, note) || expected_average(quarter) > max_average(m_n) ||
        !climb_rows(quarter, m_n, note))
      return false;
    for (Number j = 0; j < m_n; ++j) {
      for (; m_vertex(j).unmatched > 0; skip_unmatched(j)) note(j, next_upper(j));
    }
    return m_alone <= max_alone(m_n);
  }

  bool is_root(Number j) const { return m_vertex(j).parent == j; }
  Number parent(Number j) const { return m_vertex(j).parent; }
  /// Entries of column j of L.
  std::uint16_t& count(Number j) const { return m_vertex(j).count; }
  /// Rows of L in the order they were come by: row i from begin(i) to begin(i + 1).
  const Array<Number>& begin() const { return m_begin; }
  const Array<PackedPosition>& list() const { return m_list; }

 private:
  struct alignas(8) Vertex {
    std::uint16_t parent;     ///< in the forest; itself: none yet
    std::uint16_t reached;    ///< last row whose way up came here
    std::uint16_t count;      ///< of those rows
    std::uint16_t unmatched;  ///< entries behind the diagonal not matched yet
  };

  static std::size_t max_numbers(std::size_t n) { return n * (max_each + max_ahead + 1); }
  /// Entries without a mirror image that i rows may have.
  Number max_alone(Number i) const { return i / 16 + 16; }
  Number next_upper(Number j) const { return static_cast<Number>(m_pattern.entries(m_upper(j))); }
  void skip_unmatched(Number j) {
    ++m_upper(j);
    --m_vertex(j).unmatched;
    ++m_alone;
  }

  template <class Note>
  bool climb_rows(Number first, Number last, const Note& note) {
    Vertex* const vertices = m_vertex.data();
    Number* const upper = m_upper.data();
    const Ordinal* const entries = m_pattern.entries.data();
    const Offset* const row_map = m_pattern.row_map.data();
    PackedPosition* const list = m_list.data();
    PackedPosition* to = list + m_begin(first);
    for (Number i = first; i < last; ++i) {
      if (to - list > static_cast<std::ptrdiff_t>(max_each * i + max_ahead * m_n) || m_alone > max_alone(i))
        return false;
      vertices[i].parent = vertices[i].reached = static_cast<std::uint16_t>(i);
      const Offset row_end = row_map[i + 1];
      Offset p = row_map[i];
      for (; p < row_end && entries[p] < static_cast<Ordinal>(i); ++p) {
        const auto j = static_cast<Number>(entries[p]);
        if (vertices[j].unmatched == 0 || entries[upper[j]] != static_cast<Ordinal>(i)) {
          match_later(i, j, note);
        } else {
          --vertices[j].unmatched;
          ++upper[j];
        }
        to = climb_from(j, i, vertices, to);
      }
      if (p < row_end && entries[p] == static_cast<Ordinal>(i)) ++p;
      vertices[i].count = 0;
      vertices[i].unmatched = static_cast<std::uint16_t>(row_end - p);
      upper[i] = static_cast<Number>(p);
      m_begin(i + 1) = static_cast<Number>(to - list);
    }
    return true;
  }

  /// Matches entry (i, j) where the next entry behind the diagonal of row j is not its mirror image.
  template <class Note>
  void match_later(Number i, Number j, const Note& note) {
    for (; m_vertex(j).unmatched > 0 && next_upper(j) < i; skip_unmatched(j)) note(j, next_upper(j));
    if (m_vertex(j).unmatched > 0 && next_upper(j) == i) {
      --m_vertex(j).unmatched;
      ++m_upper(j);
    } else {
      note(i, j);
      ++m_alone;
    }
  }

  /// Lists what lies between j and row i and was not come by yet; returns where the list ends.
  static PackedPosition* climb_from(Number j, Number i, Vertex* vertices, PackedPosition* to) {
    const auto row = static_cast<std::uint16_t>(i);
    for (Vertex* v = vertices + j; v->reached != row; v = vertices + j) {
      const std::uint16_t parent = v->parent == j ? row : v->parent;
      v->parent = parent;
      v->reached = row;
      ++v->count;
      *to++ = PackedPosition::of(i, j);
      j = parent;
    }
    return to;
  }

  /// The average length that the first rows make expect once all are there. Orders by dissection begin with
  /// parts of the whole, and on grids the average grows by the same each time the part is four times as
  /// large.
  double expected_average(Number rows) const {
    const auto average_of = [&](Number count) {
      return count == 0 ? 0.0 : static_cast<double>(m_begin(count)) / static_cast<double>(count);
    };
    return 2 * average_of(rows) - average_of(rows / 4);
  }

  Pattern m_pattern;
  Number m_n;
  Array<Vertex> m_vertex;  ///< [n]
  Array<Number> m_upper;   ///< [n] the next entry behind the diagonal to be matched
  Array<Number> m_begin;   ///< [n + 1] rows of L in `m_list`
  Array<PackedPosition> m_list;
  Number m_alone = 0;  ///< entries without a mirror image
};

}  // namespace lutra::Impl

#endif
