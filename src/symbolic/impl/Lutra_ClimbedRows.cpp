// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_ClimbedRows.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "Lutra_Fill1.hpp"
#include "Lutra_Fill1Rows.hpp"
#include "Lutra_Instantiate.hpp"
#include "Lutra_RowClimber.hpp"
#include "Lutra_Supervariables.hpp"

namespace lutra::Impl {
namespace {

/// climb_rows step by step: supervariables are found, rows of L of A + Aᵀ climbed for, the doubtful handed to
/// fill1, U and L sorted by counting, and supervariables written as the rows they stand for.
template <class Ordinal, class Offset>
class ClimbedRows {
 public:
  using Host = Kokkos::DefaultHostExecutionSpace;
  using Pattern = CsrPattern<Ordinal, Offset, Kokkos::HostSpace>;
  using Result = LuPattern<Ordinal, Offset, Kokkos::HostSpace>;
  using Climber = RowClimber<Ordinal, Offset>;
  using Number = std::uint32_t;

  /// True where rows may be worth climbing for and there is memory to try.
  static bool suits(const Pattern& pattern, const MemoryBudget& budget) {
    const auto n = static_cast<std::size_t>(pattern.n_rows);
    return n > 0 && n <= PackedPosition::max_rows && static_cast<std::size_t>(pattern.nnz()) <= n * n &&
           static_cast<std::size_t>(pattern.nnz()) < std::size_t(1) << 31 &&
           Climber::bytes(n) <= budget.available_bytes() / 4;
  }

  ClimbedRows(const Pattern& pattern, const MemoryBudget& budget)
      : m_pattern(pattern), m_budget(budget), m_scratch(budget) {}

  std::optional<Result> run() {
    Pattern quotient = m_pattern;
    if (Supervariables<Ordinal, Offset>::suit(m_pattern, m_budget) && !m_blocks.find(m_pattern, m_scratch))
      m_blocks = {};
    if (m_blocks.found()) quotient = m_blocks.quotient();
    m_n = static_cast<Number>(quotient.n_rows);
    HostArena arena(m_scratch.allocate<HostArray<char>>(
        Host(), "lutra::symbolic::climbs",
        Climber::bytes(m_n) + m_n * (4 * sizeof(Number) + sizeof(Length)) + (m_n + 1) * sizeof(Expansion) +
            HostArena::loss(6)));
    Climber climber(quotient, arena);
    m_state = arena.template cut<HostArray<std::int32_t>>(m_n);
    m_diagonal = arena.template cut<HostArray<Number>>(m_n);
    m_lower_end = arena.template cut<HostArray<Number>>(m_n);
    m_place = arena.template cut<HostArray<Number>>(m_n);
    m_length = arena.template cut<HostArray<Length>>(m_n);
    m_expansion = arena.template cut<HostArray<Expansion>>(m_n + 1);
    std::fill_n(m_state.data(), m_n, clear);
    if (!climb(climber)) return std::nullopt;
    number_doubtful(climber);
    if (m_doubtful.size() > static_cast<std::size_t>(m_pattern.n_rows) / 4) return std::nullopt;
    Result inner;
    if (!m_doubtful.empty()) {
      inner = find_inner(climber);
      drop_doubtful(climber);
    }
    return m_blocks.found() ? collect_blocks(climber, inner) : collect(climber, inner);
  }

 private:
  /// Entries of a row of a block before and behind the block's own, without doubtful columns.
  struct Length {
    Number lower, upper;
  };
  /// Where the first row of a block goes, and how far from there the last one.
  struct Expansion {
    Offset at, to_last;
  };

  static constexpr std::int32_t clear = -1;  ///< in `m_state`: not among the doubtful

  static Ordinal block(Number g) { return static_cast<Ordinal>(g); }

  /// Notes blocks that are there in part, and entries without a mirror image.
  bool climb(Climber& climber) {
    const auto& ragged = m_blocks.ragged();
    if (ragged.size() > m_n / 16) return false;
    const auto note = [&](Number g, Number h) {
      m_state(g) = m_state(h) = 0;
      m_any_doubtful = true;
    };
    for (const auto& [g, h] : ragged) note(static_cast<Number>(g), static_cast<Number>(h));
    return climber.climb(note);
  }

  /// Vertices with such entries and all above them.
  void number_doubtful(const Climber& climber) {
    if (!m_any_doubtful) return;
    for (Number g = 0; g < m_n; ++g) {
      if (m_state(g) < 0) continue;
      m_state(g) = static_cast<std::int32_t>(m_doubtful.size());
      m_doubtful_blocks.push_back(g);
      for (Ordinal k = 0; k < m_blocks.size(block(g)); ++k)
        m_doubtful.push_back(m_blocks.first(block(g)) + k);
      if (!climber.is_root(g)) m_state(climber.parent(g)) = 0;
    }
  }

  /// Number among the doubtful, of one of them.
  Ordinal number_of(Ordinal v) const {
    const Ordinal g = m_blocks.of(v);
    return static_cast<Ordinal>(m_state(g)) + (v - m_blocks.first(g));
  }

  /// Adds what is known of doubtful rows to their matrix: A's entries, and, for each vertex with a doubtful
  /// parent, what that passes on to its parent, its other rows; the rest of their entries follow from these.
  void add_doubtful(const Climber& climber, Number g, std::vector<std::pair<Ordinal, Ordinal>>& inner) const {
    const auto begin = static_cast<Ordinal>(m_state(g)), end = begin + m_blocks.size(block(g));
    for (Ordinal a = begin; a < end; ++a) {
      const Ordinal v = m_doubtful[static_cast<std::size_t>(a)];
      for (Offset p = m_pattern.row_map(v); p < m_pattern.row_map(v + 1); ++p) {
        const Ordinal w = m_pattern.entries(p);
        if (m_state(m_blocks.of(w)) >= 0) inner.emplace_back(a, number_of(w));
      }
    }
    for (Number p = climber.begin()(g); p < climber.begin()(g + 1); ++p) {
      const Number j = climber.list()(p).column();
      const Number parent = climber.parent(j);
      if (m_state(j) >= 0 || m_state(parent) < 0 || parent == g || m_place(parent) == g) continue;
      m_place(parent) = g;  // g is joined to it
      for (Ordinal a = begin; a < end; ++a) {
        inner.emplace_back(a, static_cast<Ordinal>(m_state(parent)));
        inner.emplace_back(static_cast<Ordinal>(m_state(parent)), a);
      }
    }
  }

  /// The pattern of the doubtful. Rows handed to fill1 are not sorted, and some columns are there twice,
  /// which it does not mind.
  Result find_inner(const Climber& climber) {
    const auto n = static_cast<Ordinal>(m_doubtful.size());
    std::vector<std::pair<Ordinal, Ordinal>> positions;
    positions.reserve(16 * m_doubtful.size());
    std::fill_n(m_place.data(), m_n, m_n);
    for (const Number g : m_doubtful_blocks) add_doubtful(climber, g, positions);
    const auto row_map =
        m_scratch.allocate<HostArray<Offset>>(Host(), "lutra::symbolic::doubtful_rows", n + 1);
    const auto entries =
        m_scratch.allocate<HostArray<Ordinal>>(Host(), "lutra::symbolic::doubtful_entries", positions.size());
    Kokkos::deep_copy(row_map, Offset(0));
    for (const auto& [a, b] : positions) ++row_map(a + 1);
    for (Ordinal a = 0; a < n; ++a) row_map(a + 1) += row_map(a);
    std::vector<Offset> next(row_map.data(), row_map.data() + n);
    for (const auto& [a, b] : positions) entries(next[static_cast<std::size_t>(a)]++) = b;
    return fill1(Pattern{n, n, row_map, entries}, m_budget, 1);
  }

  /// Takes columns of doubtful vertices out of what was climbed for, since fill1 has found what is there.
  /// Only doubtful rows have any.
  void drop_doubtful(const Climber& climber) const {
    Number* const begin = climber.begin().data();
    PackedPosition* const list = climber.list().data();
    Number from = begin[m_doubtful_blocks.front()], to = from;
    for (std::size_t k = 0; k < m_doubtful_blocks.size(); ++k) {
      const Number g = m_doubtful_blocks[k], end = begin[g + 1];
      const Number next = k + 1 < m_doubtful_blocks.size() ? m_doubtful_blocks[k + 1] : m_n;
      climber.count(g) = 0;
      begin[g] = to;
      for (; from < end; ++from) {
        const PackedPosition position = list[from];
        list[to] = position;
        to += m_state(position.column()) < 0 ? 1 : 0;
      }
      from = begin[next];
      std::move(list + end, list + from, list + to);
      const Number dropped = end - to;
      for (Number i = g + 1; i < next; ++i) begin[i] -= dropped;
      to += from - end;
    }
    begin[m_n] = to;
  }

  /// Sorts what was climbed for into rows whose diagonals and beginnings are set, by columns, which are rows
  /// of U, and these by rows. All rows of one length after the other would be two transpositions; here no
  /// branch depends on their lengths.
  void sort_rows(const Climber& climber, Ordinal* entries) {
    const Number length = climber.begin()(m_n);
    const auto by_columns =
        m_scratch.allocate<HostArray<PackedPosition>>(Host(), "lutra::symbolic::by_columns", length);
    const PackedPosition* const list = climber.list().data();
    PackedPosition* const sorted = by_columns.data();
    Number* const place = m_place.data();
    Number* const lower = m_lower_end.data();
    Number next = 0;
    for (Number j = 0; j < m_n; ++j) {
      place[j] = next;
      next += climber.count(j);
    }
    for (Number p = 0; p < length; ++p) sorted[place[list[p].column()]++] = list[p];
    for (Number j = 0; j < m_n; ++j) {  // from there on to a row of U
      entries[m_diagonal(j)] = static_cast<Ordinal>(j);
      place[j] = m_diagonal(j) + 1 + climber.count(j) - place[j];
    }
    for (Number p = 0; p < length; ++p) {
      const Number i = sorted[p].row(), j = sorted[p].column();
      entries[p + place[j]] = static_cast<Ordinal>(i);
      entries[lower[i]++] = static_cast<Ordinal>(j);
    }
  }

  Result begin_result() {
    Result result;
    result.n = m_pattern.n_rows;
    result.method = SymbolicMethod::fill1;
    result.reservation = MemoryReservation(m_budget);
    m_row_map = result.reservation.template allocate<HostArray<Offset>>(Host(), "lutra::symbolic::row_map",
                                                                        result.n + 1);
    m_diagonals = result.reservation.template allocate<HostArray<Offset>>(Host(), "lutra::symbolic::diagonal",
                                                                          result.n);
    result.row_map = m_row_map;
    result.diagonal = m_diagonals;
    m_row_map(0) = 0;
    return result;
  }

  Ordinal* allocate_entries(Result& result, Offset length) const {
    const auto entries = allocate_in_large_pages<Ordinal>(
        result.reservation, m_budget, Host(), "lutra::symbolic::entries", static_cast<std::size_t>(length));
    result.entries = entries;
    return entries.data();
  }

  /// Rows are those climbed for.
  Result collect(const Climber& climber, const Result& inner) {
    Result result = begin_result();
    for (Number i = 0; i < m_n; ++i) {
      auto lower = static_cast<Offset>(climber.begin()(i + 1) - climber.begin()(i));
      auto upper = static_cast<Offset>(climber.count(i));
      m_lower_end(i) = static_cast<Number>(m_row_map(i));
      if (m_state(i) >= 0) {
        lower += inner.diagonal(m_state(i)) - inner.row_map(m_state(i));
        upper = inner.row_map(m_state(i) + 1) - inner.diagonal(m_state(i)) - 1;
      }
      m_diagonals(i) = m_row_map(i) + lower;
      m_row_map(i + 1) = m_diagonals(i) + 1 + upper;
      m_diagonal(i) = static_cast<Number>(m_diagonals(i));
      result.nnz_l += lower;
    }
    result.nnz_u = m_row_map(m_n) - result.nnz_l;
    Ordinal* const entries = allocate_entries(result, m_row_map(m_n));
    sort_rows(climber, entries);
    for (const Ordinal v : m_doubtful) {
      const std::vector<Ordinal> known(entries + m_row_map(v), entries + m_lower_end(v));
      merge_doubtful(v, known, inner, entries);
    }
    return result;
  }

  /// Rows climbed for stand for all of their block, which are the same. The doubtful come last.
  Result collect_blocks(const Climber& climber, const Result& inner) {
    Number length = 0, certain_length = 0;
    for (const bool certain : {true, false}) {
      for (Number g = 0; g < m_n; ++g) {
        if ((m_state(g) < 0) != certain) continue;
        m_lower_end(g) = length;
        m_diagonal(g) = length + climber.begin()(g + 1) - climber.begin()(g);
        length = m_diagonal(g) + 1 + climber.count(g);
      }
      certain_length = certain ? length : certain_length;
      if (m_doubtful.empty()) break;
    }
    const auto quotient =
        m_scratch.allocate<HostArray<Ordinal>>(Host(), "lutra::symbolic::quotient_rows", length);
    sort_rows(climber, quotient.data());
    Result result = begin_result();
    measure_blocks(climber);
    result.nnz_l = place_blocks(climber, inner, quotient.data());
    const Offset all = m_row_map(m_pattern.n_rows);
    result.nnz_u = all - result.nnz_l;
    Ordinal* const entries = allocate_entries(result, all);
    expand_blocks(quotient.data(), certain_length, entries);
    for (const Number g : m_doubtful_blocks) {
      const Ordinal* const diagonal = quotient.data() + m_diagonal(g);
      expand_doubtful(g, diagonal - (climber.begin()(g + 1) - climber.begin()(g)), diagonal, inner, entries);
    }
    for (Number g = 0; g < m_n; ++g) {
      if (m_blocks.size(block(g)) > 2 && m_state(g) < 0)
        repeat_row(m_blocks.first(block(g)), m_blocks.size(block(g)), entries);
    }
    return result;
  }

  /// Sets `m_length`.
  void measure_blocks(const Climber& climber) const {
    const Ordinal* const first = m_blocks.firsts();
    const PackedPosition* const list = climber.list().data();
    Length* const length = m_length.data();
    const Number end = climber.begin()(m_n);
    std::fill_n(length, m_n, Length{0, 0});
    for (Number p = 0; p < end; ++p) {
      const Number i = list[p].row(), j = list[p].column();
      length[i].lower += static_cast<Number>(first[j + 1] - first[j]);
      length[j].upper += static_cast<Number>(first[i + 1] - first[i]);
    }
  }

  /// Sets the places of all rows, and marks the first entry of each row of the quotient that is expanded.
  /// @return entries of L
  Offset place_blocks(const Climber& climber, const Result& inner, Ordinal* quotient) const {
    Offset at = 0, all_lower = m_doubtful.empty() ? 0 : inner.nnz_l;
    Expansion* expansion = m_expansion.data();
    for (Number g = 0; g < m_n; ++g) {
      const Ordinal v = m_blocks.first(block(g)), last = m_blocks.size(block(g)) - 1;
      const auto lower = static_cast<Offset>(m_length(g).lower);
      all_lower += (last + 1) * lower;
      if (m_state(g) >= 0) {
        for (Ordinal w = v; w <= v + last; ++w) {
          const Ordinal a = number_of(w);
          m_row_map(w) = at;
          m_diagonals(w) = at + lower + inner.diagonal(a) - inner.row_map(a);
          at += lower + inner.row_map(a + 1) - inner.row_map(a);
        }
        continue;
      }
      const Offset length = lower + 1 + static_cast<Offset>(last) + static_cast<Offset>(m_length(g).upper);
      const Offset to_last = static_cast<Offset>(last) * length;
      *expansion++ = {at, to_last};
      all_lower += (last + 1) * last / 2;
      Ordinal& first = quotient[m_diagonal(g) - (climber.begin()(g + 1) - climber.begin()(g))];
      first = ~first;
      m_row_map(v) = at;
      m_row_map(v + last) = at + to_last;
      m_diagonals(v) = at + lower;
      m_diagonals(v + last) = at + to_last + lower + static_cast<Offset>(last);
      for (Ordinal k = 1; k < last; ++k) {
        m_row_map(v + k) = at + static_cast<Offset>(k) * length;
        m_diagonals(v + k) = m_row_map(v + k) + lower + static_cast<Offset>(k);
      }
      at += length + to_last;
    }
    m_row_map(m_pattern.n_rows) = at;
    return all_lower;
  }

  /// Writes the first and the last row of each block, whatever row a member of the list belongs to: no branch
  /// depends on the lengths of rows.
  void expand_blocks(const Ordinal* quotient, Number length, Ordinal* entries) const {
    const Ordinal* const first = m_blocks.firsts();
    const Expansion* next = m_expansion.data();
    Offset at = 0, to_last = 0;
    for (Number p = 0; p < length; ++p) {
      const Ordinal entry = quotient[p], begins = entry < 0 ? 1 : 0, h = entry ^ -begins;
      const Offset next_at = next->at, next_to_last = next->to_last;
      at = begins != 0 ? next_at : at;
      to_last = begins != 0 ? next_to_last : to_last;
      next += begins;
      const Ordinal begin = first[h], more = first[h + 1] - begin - 1;
      Ordinal *const to = entries + at, *const copy = to + to_last;
      to[0] = copy[0] = begin;
      to[more] = copy[more] = begin + more;
      for (Ordinal k = 1; k < more; ++k) to[k] = copy[k] = begin + k;
      at += more + 1;
    }
  }

  /// Rows of a block between the first and the last.
  void repeat_row(Ordinal v, Ordinal size, Ordinal* entries) const {
    const Offset at = m_row_map(v), length = m_row_map(v + 1) - at;
    for (Ordinal k = 1; k + 1 < size; ++k)
      std::copy_n(entries + at, length, entries + at + static_cast<Offset>(k) * length);
  }

  /// Row is the quotient's, with columns that are not doubtful.
  void expand_doubtful(Number g, const Ordinal* row, const Ordinal* row_end, const Result& inner,
                       Ordinal* entries) const {
    std::vector<Ordinal> known(m_length(g).lower);
    const Ordinal* const first = m_blocks.firsts();
    Ordinal* to = known.data();
    for (; row != row_end; ++row) {
      for (Ordinal v = first[*row]; v < first[*row + 1]; ++v) *to++ = v;
    }
    for (Ordinal k = 0; k < m_blocks.size(block(g)); ++k)
      merge_doubtful(m_blocks.first(block(g)) + k, known, inner, entries);
  }

  /// Row v from its columns that are not doubtful and those that are.
  void merge_doubtful(Ordinal v, const std::vector<Ordinal>& known, const Result& inner,
                      Ordinal* entries) const {
    const Ordinal a = number_of(v);
    Ordinal* to = entries + m_row_map(v);
    auto next = known.begin();
    for (Offset p = inner.row_map(a); p < inner.row_map(a + 1); ++p) {
      const Ordinal w = m_doubtful[static_cast<std::size_t>(inner.entries(p))];
      while (next != known.end() && *next < w) *to++ = *next++;
      *to++ = w;
    }
  }

  Pattern m_pattern;
  MemoryBudget m_budget;
  MemoryReservation m_scratch;
  Supervariables<Ordinal, Offset> m_blocks;  ///< each row one of its own where there are few of several
  Number m_n = 0;                            ///< of them
  HostArray<std::int32_t> m_state;           ///< [m_n] number among the doubtful, or `clear`
  HostArray<Number> m_diagonal;              ///< [m_n] where diagonals go
  HostArray<Number> m_lower_end;             ///< [m_n] where the next entry of a row of L goes
  HostArray<Number> m_place;                 ///< [m_n] where the next entry of a column of L goes
  HostArray<Length> m_length;                ///< [m_n]
  HostArray<Expansion> m_expansion;          ///< [m_n + 1] of blocks that are not doubtful
  std::vector<Ordinal> m_doubtful;           ///< rows, ascending
  std::vector<Number> m_doubtful_blocks;     ///< ascending
  HostArray<Offset> m_row_map, m_diagonals;  ///< of the result
  bool m_any_doubtful = false;
};

}  // namespace

template <class Ordinal, class Offset>
std::optional<LuPattern<Ordinal, Offset, Kokkos::HostSpace>> climb_rows(
    const CsrPattern<Ordinal, Offset, Kokkos::HostSpace>& pattern, const MemoryBudget& budget) {
  if (!ClimbedRows<Ordinal, Offset>::suits(pattern, budget)) return std::nullopt;
  try {
    return ClimbedRows<Ordinal, Offset>(pattern, budget).run();
  } catch (const OutOfMemoryError&) {  // fill1 needs less
    return std::nullopt;
  }
}

#define LUTRA_CLIMB_ROWS(Ordinal, Offset)                                           \
  template std::optional<LuPattern<Ordinal, Offset, Kokkos::HostSpace>> climb_rows( \
      const CsrPattern<Ordinal, Offset, Kokkos::HostSpace>&, const MemoryBudget&);
LUTRA_FOR_EACH_PATTERN(LUTRA_CLIMB_ROWS)

}  // namespace lutra::Impl
