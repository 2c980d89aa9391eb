// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_ClimbedRows.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "Lutra_Fill1.hpp"
#include "Lutra_Fill1Rows.hpp"
#include "Lutra_Instantiate.hpp"

namespace lutra::Impl {
namespace {

/// climb_rows step by step: entries are matched with their mirror images, rows of L of A + Aᵀ climbed for
/// (row subtrees, Liu 1990, found as Davis' LDL finds them), the doubtful handed to fill1, and U and L
/// written by transpositions.
template <class Ordinal, class Offset>
class ClimbedRows {
 public:
  using Host = Kokkos::DefaultHostExecutionSpace;
  using Pattern = CsrPattern<Ordinal, Offset, Kokkos::HostSpace>;
  using Result = LuPattern<Ordinal, Offset, Kokkos::HostSpace>;
  static constexpr std::size_t most_rows = std::size_t(1) << 15;
  /// Entries of L that there is room for, for each row done and for each row.
  static constexpr Ordinal most_each = 16, most_ahead = 2;
  static constexpr double most_average = 17;  ///< entries of L a row, beyond which rows are cheaper as words

  /// True where rows may be worth climbing for and there is memory to try.
  static bool suits(const Pattern& pattern, const MemoryBudget& budget) {
    const auto n = static_cast<std::size_t>(pattern.n_rows);
    return n > 0 && n <= most_rows && static_cast<std::size_t>(pattern.nnz()) <= n * n &&
           bytes(n) <= budget.available_bytes() / 4;
  }

  ClimbedRows(const Pattern& pattern, const MemoryBudget& budget)
      : m_pattern(pattern),
        m_budget(budget),
        m_n(pattern.n_rows),
        m_scratch(budget),
        m_arena(m_scratch.allocate<HostArray<char>>(Host(), "lutra::symbolic::climbs",
                                                    bytes(static_cast<std::size_t>(m_n)))),
        m_upper(m_arena.template cut<HostArray<Range>>(m_n)),
        m_vertex(m_arena.template cut<HostArray<Vertex>>(m_n)),
        m_rows(m_arena.template cut<HostArray<Row>>(m_n)),
        m_lower(m_arena.template cut<HostArray<Ordinal>>(most_numbers(static_cast<std::size_t>(m_n)))),
        m_place(m_arena.template cut<HostArray<Ordinal>>(m_n)) {}

  /// A quarter of the rows, climbed for as if no entry above the diagonal stood alone, tells how long rows
  /// will be. It is climbed for again where some do.
  std::optional<Result> run() {
    Kokkos::deep_copy(m_place, Ordinal(-1));
    const Ordinal quarter = m_n / 4;
    if (!climb(0, quarter) || expected_average(quarter) > most_average) return std::nullopt;
    if (!match_entries() || !climb(m_extra.empty() ? quarter : 0, m_n)) return std::nullopt;
    number_doubtful();
    if (m_doubtful.size() > static_cast<std::size_t>(m_n) / 4) return std::nullopt;
    const Inner inner = m_doubtful.empty() ? Inner{} : find_inner();
    return collect(inner);
  }

 private:
  struct Range {
    Ordinal next, end;  ///< so few rows have so few entries
  };
  struct Row {
    Ordinal begin, end;
  };
  struct alignas(4 * sizeof(Ordinal)) Vertex {
    Ordinal parent;   ///< in the forest, -1: none yet
    Ordinal reached;  ///< last row whose way up came here
    Ordinal count;    ///< of those rows
  };
  /// What is found for the doubtful, by their numbers.
  struct Inner {
    Result rows;
    std::vector<Offset> column_begin;  ///< [doubtful + 1]
    std::vector<Ordinal> column_rows;  ///< of columns of L, ascending
  };

  static constexpr Ordinal passes_on = -2;  ///< in `m_place`: not doubtful, but the parent is

  static std::size_t most_numbers(std::size_t n) {
    return n * static_cast<std::size_t>(most_each + most_ahead + 1);
  }
  static std::size_t bytes(std::size_t n) {
    return n * (sizeof(Range) + sizeof(Vertex) + sizeof(Row) + sizeof(Ordinal)) +
           most_numbers(n) * sizeof(Ordinal) + HostArena::loss(5);
  }

  /// Takes each entry below the diagonal together with its mirror image; both come in ascending order. False
  /// where rows are not sorted, or many entries have none.
  bool match_entries() {
    const auto most = static_cast<std::size_t>(m_n) / 8;
    for (Ordinal i = 0; i < m_n; ++i) {
      const Offset end = m_pattern.row_map(i + 1);
      Offset p = m_pattern.row_map(i);
      for (; p < end && m_pattern.entries(p) < i; ++p) match_entry(i, m_pattern.entries(p));
      if (p < end && m_pattern.entries(p) == i) ++p;
      m_upper(i) = {static_cast<Ordinal>(p), static_cast<Ordinal>(end)};
      if (m_alone > most) return false;
    }
    for (Ordinal j = 0; j < m_n; ++j) {
      for (Range& rest = m_upper(j); rest.next < rest.end; ++rest.next)
        add_alone(j, m_pattern.entries(rest.next));
    }
    std::sort(m_extra.begin(), m_extra.end());
    return m_sorted && m_alone <= most;
  }

  void match_entry(Ordinal i, Ordinal j) {
    Range& upper = m_upper(j);
    while (upper.next < upper.end && m_pattern.entries(upper.next) < i)
      add_alone(j, m_pattern.entries(upper.next++));
    if (upper.next < upper.end && m_pattern.entries(upper.next) == i) {
      ++upper.next;
    } else {
      m_place(j) = 0;
      ++m_alone;
    }
  }

  /// Entry (j, i) has no mirror image.
  void add_alone(Ordinal j, Ordinal i) {
    m_sorted = m_sorted && i > j;
    m_place(j) = 0;
    m_extra.emplace_back(i, j);
    ++m_alone;
  }

  /// Forest, and rows of L of A + Aᵀ in the order they are come by, from `first` on, those before being
  /// there. False where they become too many.
  bool climb(Ordinal first, Ordinal last) {
    auto extra = m_extra.begin();
    Ordinal* to = m_lower.data() + (first > 0 ? m_rows(first - 1).end : 0);
    for (Ordinal i = first; i < last; ++i) {
      const auto begin = static_cast<Ordinal>(to - m_lower.data());
      if (begin > most_each * i + most_ahead * m_n) return false;
      m_vertex(i) = {-1, i, 0};
      const Offset row_end = m_pattern.row_map(i + 1);
      for (Offset p = m_pattern.row_map(i); p < row_end && m_pattern.entries(p) < i; ++p)
        to = climb_from(m_pattern.entries(p), i, m_vertex.data(), to);
      for (; extra != m_extra.end() && extra->first == i; ++extra)
        to = climb_from(extra->second, i, m_vertex.data(), to);
      m_rows(i) = {begin, static_cast<Ordinal>(to - m_lower.data())};
    }
    return true;
  }

  /// The average length that the first rows make expect once all are there. Orders by dissection begin with
  /// parts of the whole, and on grids the average grows by the same each time the part is four times as
  /// large.
  double expected_average(Ordinal rows) const {
    const auto average_of = [&](Ordinal count) {
      return count == 0 ? 0.0 : static_cast<double>(m_rows(count - 1).end) / static_cast<double>(count);
    };
    return 2 * average_of(rows) - average_of(rows / 4);
  }

  /// Lists what lies between j and row i and was not come by yet; returns where the list ends.
  static Ordinal* climb_from(Ordinal j, Ordinal i, Vertex* vertices, Ordinal* to) {
    for (Vertex* v = vertices + j; v->reached != i; v = vertices + j) {
      v->parent = v->parent < 0 ? i : v->parent;
      v->reached = i;
      ++v->count;
      *to++ = j;
      j = v->parent;
    }
    return to;
  }

  /// m_doubtful and m_place, of vertices with entries alone and all above them.
  void number_doubtful() {
    if (m_alone == 0) return;
    for (Ordinal i = 0; i < m_n; ++i) {
      if (m_place(i) < 0) continue;
      m_place(i) = static_cast<Ordinal>(m_doubtful.size());
      m_doubtful.push_back(i);
      if (m_vertex(i).parent >= 0) m_place(m_vertex(i).parent) = 0;
    }
    for (Ordinal k = 0; k < m_n; ++k) {
      const Ordinal parent = m_vertex(k).parent;
      if (m_place(k) < 0 && parent >= 0 && m_place(parent) >= 0) m_place(k) = passes_on;
    }
  }

  /// Takes the doubtful out of row i, which is one of them, and adds what is known of it to their matrix: A's
  /// entries, and, for each vertex with a doubtful parent, what that passes on to its parent, its other rows;
  /// the rest of its entries follow from these.
  void move_doubtful(Ordinal i, std::vector<std::pair<Ordinal, Ordinal>>& inner) {
    const Ordinal a = m_place(i);
    for (Offset p = m_pattern.row_map(i); p < m_pattern.row_map(i + 1); ++p) {
      if (const Ordinal b = m_place(m_pattern.entries(p)); b >= 0) inner.emplace_back(a, b);
    }
    Ordinal* const row = m_lower.data() + m_rows(i).begin;
    Ordinal* to = row;
    for (const Ordinal* from = row; from != m_lower.data() + m_rows(i).end; ++from) {
      const Ordinal place = m_place(*from);
      if (place >= 0) continue;
      *to++ = *from;
      if (place != passes_on || m_vertex(*from).parent == i) continue;
      const Ordinal parent = m_place(m_vertex(*from).parent);
      inner.emplace_back(a, parent);
      inner.emplace_back(parent, a);
    }
    m_rows(i).end = m_rows(i).begin + static_cast<Ordinal>(to - row);
  }

  /// The pattern of the doubtful, and their rows here without them. Rows handed to fill1 are not sorted, and
  /// some columns are there twice, which it does not mind.
  Inner find_inner() {
    const auto n = static_cast<Ordinal>(m_doubtful.size());
    std::vector<std::pair<Ordinal, Ordinal>> positions;
    for (const Ordinal i : m_doubtful) move_doubtful(i, positions);
    const auto row_map =
        m_scratch.allocate<HostArray<Offset>>(Host(), "lutra::symbolic::doubtful_rows", n + 1);
    const auto entries =
        m_scratch.allocate<HostArray<Ordinal>>(Host(), "lutra::symbolic::doubtful_entries", positions.size());
    Kokkos::deep_copy(row_map, Offset(0));
    for (const auto& [a, b] : positions) ++row_map(a + 1);
    for (Ordinal a = 0; a < n; ++a) row_map(a + 1) += row_map(a);
    std::vector<Offset> next(row_map.data(), row_map.data() + n);
    for (const auto& [a, b] : positions) entries(next[static_cast<std::size_t>(a)]++) = b;
    Inner inner{fill1(Pattern{n, n, row_map, entries}, m_budget, 1),
                std::vector<Offset>(static_cast<std::size_t>(n) + 1),
                {}};
    transpose_lower(inner);
    return inner;
  }

  static void transpose_lower(Inner& inner) {
    const Result& rows = inner.rows;
    const auto for_lower = [&](const auto& visit) {
      for (Ordinal a = 0; a < rows.n; ++a) {
        for (Offset p = rows.row_map(a); p < rows.diagonal(a); ++p)
          visit(static_cast<std::size_t>(rows.entries(p)), a);
      }
    };
    for_lower([&](std::size_t b, Ordinal) { ++inner.column_begin[b + 1]; });
    for (std::size_t b = 0; b + 1 < inner.column_begin.size(); ++b)
      inner.column_begin[b + 1] += inner.column_begin[b];
    std::vector<Offset> next(inner.column_begin.begin(), inner.column_begin.end() - 1);
    inner.column_rows.resize(static_cast<std::size_t>(rows.nnz_l));
    for_lower([&](std::size_t b, Ordinal a) { inner.column_rows[static_cast<std::size_t>(next[b]++)] = a; });
  }

  Result collect(const Inner& inner) const {
    Result result;
    result.n = m_n;
    result.road = SymbolicRoad::fill1;
    result.charge = Charge(m_budget);
    const auto row_map =
        result.charge.template allocate<HostArray<Offset>>(Host(), "lutra::symbolic::row_map", m_n + 1);
    const auto diagonal =
        result.charge.template allocate<HostArray<Offset>>(Host(), "lutra::symbolic::diagonal", m_n);
    row_map(0) = 0;
    for (Ordinal i = 0; i < m_n; ++i) {
      auto lower = static_cast<Offset>(m_rows(i).end - m_rows(i).begin);
      auto upper = static_cast<Offset>(m_vertex(i).count);
      if (const Ordinal a = m_place(i); a >= 0) {
        lower += inner.rows.diagonal(a) - inner.rows.row_map(a);
        upper = inner.rows.row_map(a + 1) - inner.rows.diagonal(a) - 1;
      }
      diagonal(i) = row_map(i) + lower;
      row_map(i + 1) = diagonal(i) + 1 + upper;
      result.nnz_l += lower;
    }
    result.nnz_u = row_map(m_n) - result.nnz_l;
    result.row_map = row_map;
    result.diagonal = diagonal;
    const auto entries = allocate_in_large_pages<Ordinal>(
        result.charge, m_budget, Host(), "lutra::symbolic::entries", static_cast<std::size_t>(row_map(m_n)));
    result.entries = entries;
    write_upper(inner, result, entries.data());
    write_lower(inner, result, entries.data());
    return result;
  }

  /// Columns of L, which rows of U are: of all rows ascending, each to the columns it has entries in.
  void write_upper(const Inner& inner, const Result& result, Ordinal* entries) const {
    const HostArray<Range>& place = m_upper;  // where the next entry of each goes
    for (Ordinal i = 0; i < m_n; ++i) {
      entries[result.diagonal(i)] = i;
      place(i).next = static_cast<Ordinal>(result.diagonal(i)) + 1;
    }
    for (Ordinal i = 0; i < m_n; ++i) {
      for (Ordinal p = m_rows(i).begin; p < m_rows(i).end; ++p) entries[place(m_lower(p)).next++] = i;
    }
    for (Ordinal a = 0; a < static_cast<Ordinal>(m_doubtful.size()); ++a) {
      Ordinal* to = entries + result.diagonal(doubtful(a)) + 1;
      for (Offset p = inner.rows.diagonal(a) + 1; p < inner.rows.row_map(a + 1); ++p)
        *to++ = doubtful(inner.rows.entries(p));
    }
  }

  /// Rows of L: of all columns ascending, each to its rows.
  void write_lower(const Inner& inner, const Result& result, Ordinal* entries) const {
    const HostArray<Range>& place = m_upper;
    for (Ordinal i = 0; i < m_n; ++i) place(i).next = static_cast<Ordinal>(result.row_map(i));
    for (Ordinal j = 0; j < m_n; ++j) {
      if (m_place(j) < 0) {
        for (Offset p = result.diagonal(j) + 1; p < result.row_map(j + 1); ++p)
          entries[place(entries[p]).next++] = j;
        continue;
      }
      const auto b = static_cast<std::size_t>(m_place(j));
      for (Offset p = inner.column_begin[b]; p < inner.column_begin[b + 1]; ++p)
        entries[place(doubtful(inner.column_rows[static_cast<std::size_t>(p)])).next++] = j;
    }
  }

  Ordinal doubtful(Ordinal number) const { return m_doubtful[static_cast<std::size_t>(number)]; }

  Pattern m_pattern;
  MemoryBudget m_budget;
  Ordinal m_n;
  Charge m_scratch;
  HostArena m_arena;
  HostArray<Range> m_upper;    ///< [n] entries behind the diagonal not matched yet
  HostArray<Vertex> m_vertex;  ///< [n]
  HostArray<Row> m_rows;       ///< [n] of L in `m_lower`
  HostArray<Ordinal> m_lower;
  HostArray<Ordinal> m_place;  ///< [n] number among the doubtful, negative where it is none
  std::vector<std::pair<Ordinal, Ordinal>> m_extra;  ///< (i, j), j < i: A has (j, i) only, ascending
  std::vector<Ordinal> m_doubtful;                   ///< ascending
  std::size_t m_alone = 0;                           ///< entries without a mirror image
  bool m_sorted = true;
};

}  // namespace

template <class Ordinal, class Offset>
std::optional<LuPattern<Ordinal, Offset, Kokkos::HostSpace>> climb_rows(
    const CsrPattern<Ordinal, Offset, Kokkos::HostSpace>& pattern, const MemoryBudget& budget) {
  if (!ClimbedRows<Ordinal, Offset>::suits(pattern, budget)) return std::nullopt;
  return ClimbedRows<Ordinal, Offset>(pattern, budget).run();
}

#define LUTRA_CLIMB_ROWS(Ordinal, Offset)                                           \
  template std::optional<LuPattern<Ordinal, Offset, Kokkos::HostSpace>> climb_rows( \
      const CsrPattern<Ordinal, Offset, Kokkos::HostSpace>&, const MemoryBudget&);
LUTRA_FOR_EACH_PATTERN(LUTRA_CLIMB_ROWS)

}  // namespace lutra::Impl
