// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_SUPERVARIABLES_HPP
#define LUTRA_SUPERVARIABLES_HPP

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "Lutra_Arena.hpp"
#include "Lutra_LargePages.hpp"
#include "Lutra_Symbolic.hpp"

namespace lutra::Impl {

/// Runs of consecutive rows with the same columns, themselves among them, as single vertices (supervariables,
/// Duff and Reid, ACM Trans. Math. Softw. 9, 1983): power flow Jacobians have two rows a bus. Such rows are
/// the same in L + U too.
template <class Ordinal, class Offset>
class Supervariables {
 public:
  using Pattern = CsrPattern<Ordinal, Offset, Kokkos::HostSpace>;
  template <class T>
  using Array = Kokkos::View<T*, Kokkos::HostSpace>;

  /// True where the first rows hold enough of them for the others to be worth looking at. Not where memory
  /// for `find` is short.
  static bool suit(const Pattern& pattern, const MemoryBudget& budget) {
    const Ordinal sample = pattern.n_rows / 8;
    Ordinal same = 0;
    for (Ordinal i = 1; i < sample; ++i) same += same_rows(pattern, i) ? 1 : 0;
    return same > sample / 8 && bytes(pattern) <= budget.available_bytes() / 8;
  }

  /// @return false where rows are seen not to be sorted
  bool find(const Pattern& pattern, MemoryReservation& reservation) {
    const std::size_t n = static_cast<std::size_t>(pattern.n_rows);
    m_memory = reservation.allocate<Array<char>>(Kokkos::DefaultHostExecutionSpace(),
                                                 "lutra::symbolic::supervariables", bytes(pattern));
    Arena<Kokkos::HostSpace> arena(m_memory);
    m_of = arena.cut<Array<Ordinal>>(n);
    m_first = arena.cut<Array<Ordinal>>(n + 1);
    m_row_map = arena.cut<Array<Offset>>(n + 1);
    m_entries = arena.cut<Array<Ordinal>>(static_cast<std::size_t>(pattern.nnz()));
    m_count = 0;
    for (Ordinal i = 0; i < pattern.n_rows; ++i) {
      if (i == 0 || !same_rows(pattern, i)) m_first(m_count++) = i;
      m_of(i) = m_count - 1;
    }
    m_first(m_count) = pattern.n_rows;
    m_row_map(0) = 0;
    for (Ordinal g = 0; g < m_count; ++g) {
      if (!add_row(pattern, g)) return false;
    }
    return true;
  }

  /// Whether there are any.
  bool found() const { return m_count > 0; }
  Ordinal count() const { return m_count; }
  Ordinal of(Ordinal row) const { return found() ? m_of(row) : row; }
  Ordinal first(Ordinal g) const { return found() ? m_first(g) : g; }
  Ordinal size(Ordinal g) const { return found() ? m_first(g + 1) - m_first(g) : 1; }
  const Ordinal* firsts() const { return m_first.data(); }

  /// The pattern of A with an entry where A has any of a block.
  Pattern quotient() const { return {m_count, m_count, m_row_map, m_entries}; }
  /// Blocks (g, h) that A has some entries of but not all.
  const std::vector<std::pair<Ordinal, Ordinal>>& ragged() const { return m_ragged; }

 private:
  static std::size_t bytes(const Pattern& pattern) {
    const auto n = static_cast<std::size_t>(pattern.n_rows) + 1;
    return n * (2 * sizeof(Ordinal) + sizeof(Offset)) +
           static_cast<std::size_t>(pattern.nnz()) * sizeof(Ordinal) + Arena<Kokkos::HostSpace>::loss(4);
  }

  /// Whether row i is row i - 1.
  static bool same_rows(const Pattern& pattern, Ordinal i) {
    const Offset* const map = pattern.row_map.data() + i;
    const auto length = static_cast<std::size_t>(map[1] - map[0]);
    if (length != static_cast<std::size_t>(map[0] - map[-1]) || length < 2) return false;
    const Ordinal* const row = pattern.entries.data() + map[0];
    const Ordinal* const before = row - length;
    if (((row[0] ^ before[0]) | (row[length - 1] ^ before[length - 1])) != 0) return false;
    return std::memcmp(row, before, length * sizeof(Ordinal)) == 0;
  }

  /// Row g of the quotient. Its blocks are full where their sizes make up the length of the row.
  bool add_row(const Pattern& pattern, Ordinal g) {
    const Ordinal* const columns = pattern.entries.data();
    const Ordinal* const of = m_of.data();
    const Ordinal* const first = m_first.data();
    Ordinal* const to = m_entries.data();
    const Offset begin = pattern.row_map(first[g]), end = pattern.row_map(first[g] + 1);
    Offset next = m_row_map(g), full = 0;
    Ordinal last = -1, own = 0;
    for (Offset p = begin; p < end; ++p) {
      const Ordinal h = of[columns[p]];
      next += h != last ? 1 : 0;
      full += h != last ? first[h + 1] - first[h] : 0;
      own += h == g ? 1 : 0;
      last = h;
      to[next - 1] = h;
    }
    m_row_map(g + 1) = next;
    const Ordinal size = first[g + 1] - first[g];
    if (own != size && size > 1) return false;
    return full == end - begin || note_ragged(pattern, g);
  }

  bool note_ragged(const Pattern& pattern, Ordinal g) {
    const Offset end = pattern.row_map(m_first(g) + 1);
    for (Offset p = pattern.row_map(m_first(g)); p < end;) {
      const Ordinal h = m_of(pattern.entries(p));
      const Offset start = p;
      for (++p; p < end && m_of(pattern.entries(p)) == h; ++p) {
      }
      if (p < end && pattern.entries(p) < pattern.entries(p - 1)) return false;
      if (p - start != m_first(h + 1) - m_first(h)) m_ragged.emplace_back(g, h);
    }
    return true;
  }

  Array<char> m_memory;    ///< of the others
  Array<Ordinal> m_of;     ///< [n] supervariable of a row
  Array<Ordinal> m_first;  ///< [count + 1]
  Array<Offset> m_row_map;
  Array<Ordinal> m_entries;
  Ordinal m_count = 0;
  std::vector<std::pair<Ordinal, Ordinal>> m_ragged;
};

}  // namespace lutra::Impl

#endif
