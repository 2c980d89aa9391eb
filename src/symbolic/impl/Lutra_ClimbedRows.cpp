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
    return n > 0 && n <= PackedPosition::most_rows && static_cast<std::size_t>(pattern.nnz()) <= n * n &&
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
        Climber::bytes(m_n) + 5 * m_n * sizeof(Number) + HostArena::loss(5)));
    Climber climber(quotient, arena);
    m_state = arena.template cut<HostArray<std::int32_t>>(m_n);
    m_diagonal = arena.template cut<HostArray<Number>>(m_n);
    m_lower_end = arena.template cut<HostArray<Number>>(m_n);
    m_place = arena.template cut<HostArray<Number>>(m_n);
    m_length = arena.template cut<HostArray<Number>>(m_n);
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
  // In `m_state`, beside numbers among the doubtful.
  static constexpr std::int32_t clear = -1;
  static constexpr std::int32_t passes_on = -2;  ///< not doubtful, but the parent is

  static Ordinal block(Number g) { return static_cast<Ordinal>(g); }

  /// Notes blocks that are there in part, and entries without a mirror image.
  bool climb(Climber& climber) {
    const auto& ragged = m_blocks.ragged();
    const std::size_t most = m_n / 8;
    if (ragged.size() > most) return false;
    const auto note = [&](Number g, Number h) {
      m_state(g) = m_state(h) = 0;
      m_any_doubtful = true;
    };
    for (const auto& [g, h] : ragged) note(static_cast<Number>(g), static_cast<Number>(h));
    return climber.climb(most - ragged.size(), note);
  }

  /// Vertices with such entries and all above them.
  void number_doubtful(const Climber& climber) {
    if (!m_any_doubtful) return;
    for (Number g = 0; g < m_n; ++g) {
      if (m_state(g) < 0) continue;
      m_state(g) = static_cast<std::int32_t>(m_doubtful.size());
      for (Ordinal k = 0; k < m_blocks.size(block(g)); ++k)
        m_doubtful.push_back(m_blocks.first(block(g)) + k);
      if (!climber.is_root(g)) m_state(climber.parent(g)) = 0;
    }
    for (Number g = 0; g < m_n; ++g) {
      if (m_state(g) < 0 && !climber.is_root(g) && m_state(climber.parent(g)) >= 0) m_state(g) = passes_on;
    }
  }

  /// Number among the doubtful, of one of them.
  Ordinal number_of(Ordinal v) const {
    const Ordinal g = m_blocks.of(v);
    return static_cast<Ordinal>(m_state(g)) + (v - m_blocks.first(g));
  }

  /// Adds what is known of row v, a doubtful one, to the matrix of the doubtful: A's entries, and, for each
  /// vertex with a doubtful parent, what that passes on to its parent, its other rows; the rest of its
  /// entries follow from these.
  void add_doubtful(const Climber& climber, Ordinal v,
                    std::vector<std::pair<Ordinal, Ordinal>>& inner) const {
    const auto g = static_cast<Number>(m_blocks.of(v));
    const Ordinal a = number_of(v);
    for (Offset p = m_pattern.row_map(v); p < m_pattern.row_map(v + 1); ++p) {
      const Ordinal w = m_pattern.entries(p);
      if (m_state(m_blocks.of(w)) >= 0) inner.emplace_back(a, number_of(w));
    }
    for (Number p = climber.begin()(g); p < climber.begin()(g + 1); ++p) {
      const Number j = climber.list()(p).column();
      if (m_state(j) != passes_on || climber.parent(j) == g) continue;
      const auto parent = static_cast<Ordinal>(m_state(climber.parent(j)));
      inner.emplace_back(a, parent);
      inner.emplace_back(parent, a);
    }
  }

  /// The pattern of the doubtful. Rows handed to fill1 are not sorted, and some columns are there twice,
  /// which it does not mind.
  Result find_inner(const Climber& climber) {
    const auto n = static_cast<Ordinal>(m_doubtful.size());
    std::vector<std::pair<Ordinal, Ordinal>> positions;
    for (const Ordinal v : m_doubtful) add_doubtful(climber, v, positions);
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
  void drop_doubtful(const Climber& climber) const {
    Number to = 0, from = 0;
    for (Number i = 0; i < m_n; ++i) {
      for (; from < climber.begin()(i + 1); ++from) {
        const PackedPosition position = climber.list()(from);
        climber.list()(to) = position;
        to += m_state(position.column()) < 0 ? 1 : 0;
      }
      climber.begin()(i + 1) = to;
      if (m_state(i) >= 0) climber.count(i) = 0;
    }
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
    result.road = SymbolicRoad::fill1;
    result.charge = Charge(m_budget);
    m_row_map =
        result.charge.template allocate<HostArray<Offset>>(Host(), "lutra::symbolic::row_map", result.n + 1);
    m_diagonals =
        result.charge.template allocate<HostArray<Offset>>(Host(), "lutra::symbolic::diagonal", result.n);
    result.row_map = m_row_map;
    result.diagonal = m_diagonals;
    m_row_map(0) = 0;
    return result;
  }

  Ordinal* allocate_entries(Result& result, Offset length) const {
    const auto entries = allocate_in_large_pages<Ordinal>(
        result.charge, m_budget, Host(), "lutra::symbolic::entries", static_cast<std::size_t>(length));
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

  /// Rows climbed for stand for all of their block, which are the same.
  Result collect_blocks(const Climber& climber, const Result& inner) {
    Number length = 0;
    for (Number g = 0; g < m_n; ++g) {
      m_lower_end(g) = length;
      m_diagonal(g) = length + climber.begin()(g + 1) - climber.begin()(g);
      length = m_diagonal(g) + 1 + climber.count(g);
    }
    const auto quotient =
        m_scratch.allocate<HostArray<Ordinal>>(Host(), "lutra::symbolic::quotient_rows", length);
    sort_rows(climber, quotient.data());
    Result result = begin_result();
    const Offset all = measure_rows(climber, inner);
    Ordinal* const entries = allocate_entries(result, all);
    const Ordinal* row = quotient.data();
    for (Number g = 0; g < m_n; ++g) {
      const Ordinal* const diagonal = quotient.data() + m_diagonal(g);
      const Ordinal* const end = diagonal + 1 + climber.count(g);
      if (m_state(g) < 0) {
        expand_block(g, row, end, m_row_map(m_blocks.first(block(g))), entries);
      } else {
        expand_doubtful(g, row, diagonal, inner, entries);
      }
      row = end;
    }
    for (Ordinal v = 0; v < m_pattern.n_rows; ++v) result.nnz_l += m_diagonals(v) - m_row_map(v);
    result.nnz_u = all - result.nnz_l;
    return result;
  }

  /// Sets `m_length`, of the rows that stand for others, without doubtful columns; returns all their entries.
  Offset measure_rows(const Climber& climber, const Result& inner) const {
    const Ordinal* const first = m_blocks.firsts();
    Number* const length = m_length.data();
    for (Number g = 0; g < m_n; ++g)
      length[g] = m_state(g) < 0 ? static_cast<Number>(first[g + 1] - first[g]) : 0;
    for (Number p = 0; p < climber.begin()(m_n); ++p) {
      const Number i = climber.list()(p).row(), j = climber.list()(p).column();
      length[i] += static_cast<Number>(first[j + 1] - first[j]);
      length[j] += static_cast<Number>(first[i + 1] - first[i]);
    }
    Offset sum = m_doubtful.empty() ? 0 : inner.row_map(inner.n);
    for (Number g = 0; g < m_n; ++g)
      sum += static_cast<Offset>(first[g + 1] - first[g]) * static_cast<Offset>(length[g]);
    return sum;
  }

  /// Writes the rows of block g, which are all the same: of the quotient's row the members of its blocks.
  void expand_block(Number g, const Ordinal* row, const Ordinal* row_end, Offset at, Ordinal* entries) const {
    const Ordinal* const first = m_blocks.firsts();
    const Ordinal v = first[g], last = first[g + 1] - v - 1;
    const auto length = static_cast<Offset>(m_length(g));
    const Offset to_last = last * length;
    Ordinal* to = entries + at;
    Ordinal* own = to;
    for (; row != row_end; ++row) {
      const Ordinal begin = first[*row], more = first[*row + 1] - begin - 1;
      own = *row == static_cast<Ordinal>(g) ? to : own;
      to[0] = to[to_last] = begin;
      to[more] = to[to_last + more] = begin + more;
      for (Ordinal k = 1; k < more; ++k) to[k] = to[to_last + k] = begin + k;
      to += more + 1;
    }
    m_row_map(v + last) = at + to_last;
    m_row_map(v + last + 1) = at + to_last + length;
    m_diagonals(v) = own - entries;
    m_diagonals(v + last) = own - entries + to_last + last;
    for (Ordinal k = 1; k < last; ++k) {
      m_row_map(v + k) = at + k * length;
      m_diagonals(v + k) = own - entries + k * length + k;
      std::copy_n(entries + at, length, entries + at + k * length);
    }
  }

  /// Writes the members of the blocks of a list, ascending.
  void expand(const Ordinal* from, const Ordinal* end, Ordinal* to) const {
    for (; from != end; ++from) {
      for (Ordinal k = 0; k < m_blocks.size(*from); ++k) *to++ = m_blocks.first(*from) + k;
    }
  }

  /// Row is the quotient's, with columns that are not doubtful.
  void expand_doubtful(Number g, const Ordinal* row, const Ordinal* row_end, const Result& inner,
                       Ordinal* entries) const {
    const Number length = m_length(g);
    std::vector<Ordinal> known(length);
    expand(row, row_end, known.data());
    for (Ordinal k = 0; k < m_blocks.size(block(g)); ++k) {
      const Ordinal v = m_blocks.first(block(g)) + k, a = number_of(v);
      m_diagonals(v) = m_row_map(v) + static_cast<Offset>(length) + inner.diagonal(a) - inner.row_map(a);
      m_row_map(v + 1) = m_row_map(v) + static_cast<Offset>(length) + inner.row_map(a + 1) - inner.row_map(a);
      merge_doubtful(v, known, inner, entries);
    }
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
  Charge m_scratch;
  Supervariables<Ordinal, Offset> m_blocks;  ///< each row one of its own where there are few of several
  Number m_n = 0;                            ///< of them
  HostArray<std::int32_t> m_state;           ///< [m_n] `clear`, `passes_on`, or number among the doubtful
  HostArray<Number> m_diagonal;              ///< [m_n] where diagonals go
  HostArray<Number> m_lower_end;             ///< [m_n] where the next entry of a row of L goes
  HostArray<Number> m_place;                 ///< [m_n] where the next entry of a column of L goes
  HostArray<Number> m_length;                ///< [m_n] of a row of a block, without doubtful columns
  std::vector<Ordinal> m_doubtful;           ///< rows, ascending
  HostArray<Offset> m_row_map, m_diagonals;  ///< of the result
  bool m_any_doubtful = false;
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
