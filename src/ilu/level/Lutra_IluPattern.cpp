// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_IluPattern.hpp"

#include <algorithm>
#include <limits>

#include "Lutra_BinarySearch.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_Instantiate.hpp"
#include "Lutra_PrefixSum.hpp"
#include "Lutra_RowKernels.hpp"
#include "Lutra_RowKernelsHost.hpp"

namespace lutra {
namespace Impl {

/// A pattern with a level of fill for each entry. Levels are stored plus one, so that 0 denotes a new entry
/// of an accumulator.
template <class Memory>
struct LevelPattern {
  Kokkos::View<Offset*, Memory> row_map, diagonal;
  Kokkos::View<Ordinal*, Memory> entries;
  MemoryReservation reservation;
  Kokkos::View<Ordinal*, Memory> levels;
  MemoryReservation levels_reservation;
};

/// The columns of a row after a pass.
template <class Memory>
struct PatternPass {
  Kokkos::View<const Offset*, Memory> row_map, diagonal;  ///< of the previous pass; without `levels`, A's
  Kokkos::View<const Ordinal*, Memory> entries, levels;
  Ordinal level;  ///< level added by the pass; 0: diagonals

  /// Collects all columns of row i that this pass reaches, with their levels plus one.
  template <class Lanes, class Accumulator>
  KOKKOS_INLINE_FUNCTION void collect(const Lanes& lanes, Accumulator& w, Ordinal i) const {
    if (level == 0) {
      lanes.each(row_map(i), row_map(i + 1), [&](const Offset p) { w.value(w.insert(entries(p))) = 1; });
      lanes.each(0, 1, [&](int) { w.value(w.insert(i)) = 1; });
      return;
    }
    lanes.each(row_map(i), row_map(i + 1),
               [&](const Offset p) { w.value(w.insert(entries(p))) = levels(p); });
    for (Offset p = row_map(i); p < diagonal(i); ++p) {
      const Ordinal k = entries(p);
      const Ordinal other = level + 1 - levels(p);  // the partner's level, plus one
      lanes.each(diagonal(k) + 1, row_map(k + 1), [&](const Offset q) {
        if (levels(q) != other) return;
        const auto slot = w.insert(entries(q));
        if (w.value(slot) == 0) w.value(slot) = level + 1;
      });
    }
  }
};

/// Upper bound on the columns of row i after a pass.
template <class Memory>
struct BoundRow {
  PatternPass<Memory> pass;
  Ordinal n;
  Kokkos::View<Ordinal*, Memory> bounds;

  KOKKOS_FUNCTION Ordinal max_columns(Ordinal) const { return 1; }
  template <class Lanes, class Accumulator>
  KOKKOS_FUNCTION void operator()(const Lanes& lanes, Accumulator&, Ordinal i) const {
    Offset bound = pass.row_map(i + 1) - pass.row_map(i) + 1;
    if (pass.level > 0) {
      bound += lanes.template sum<Offset>(pass.row_map(i), pass.diagonal(i), [&](const Offset p) {
        const Ordinal k = pass.entries(p);
        return pass.row_map(k + 1) - pass.diagonal(k) - 1;
      });
    }
    lanes.once([&]() { bounds(i) = bound < n ? static_cast<Ordinal>(bound) : n; });
  }
};

template <class Memory>
struct CountRow {
  PatternPass<Memory> pass;
  Kokkos::View<const Ordinal*, Memory> bounds;
  Kokkos::View<Ordinal*, Memory> counts;  ///< may alias `bounds`

  KOKKOS_FUNCTION Ordinal max_columns(Ordinal i) const { return bounds(i); }
  template <class Lanes, class Accumulator>
  KOKKOS_FUNCTION void operator()(const Lanes& lanes, Accumulator& w, Ordinal i) const {
    pass.collect(lanes, w, i);
    const Ordinal size = w.size(lanes);
    lanes.once([&]() { counts(i) = size; });
  }
};

template <class Memory>
struct FillRow {
  PatternPass<Memory> pass;
  LevelPattern<Memory> out;

  KOKKOS_FUNCTION Ordinal max_columns(Ordinal i) const {
    return static_cast<Ordinal>(out.row_map(i + 1) - out.row_map(i));
  }
  template <class Lanes, class Accumulator>
  KOKKOS_FUNCTION void operator()(const Lanes& lanes, Accumulator& w, Ordinal i) const {
    pass.collect(lanes, w, i);
    w.visit_sorted(lanes, [&](const Ordinal rank, const Ordinal column, const Ordinal level) {
      const Offset p = out.row_map(i) + rank;
      out.entries(p) = column;
      out.levels(p) = level;
      if (column == i) out.diagonal(i) = p;
    });
  }
};

/// Finds the minimum of i·n + j over the entries of row i without a mirror entry.
template <class Pattern>
struct FindUnpaired {
  Pattern A;
  KOKKOS_FUNCTION void operator()(std::int64_t i, std::int64_t& first) const {
    for (auto p = A.row_map(i); p < A.row_map(i + 1); ++p) {
      const auto j = A.entries(p);
      const auto end = A.row_map(j + 1);
      const auto q = first_not_before(
          A.row_map(j), end, [&](const auto at) { return static_cast<std::int64_t>(A.entries(at)) < i; });
      if (q < end && static_cast<std::int64_t>(A.entries(q)) == i) continue;
      first = Kokkos::min(first, i * static_cast<std::int64_t>(A.n_rows) + static_cast<std::int64_t>(j));
    }
  }
};

}  // namespace Impl

namespace {

template <class ExecutionSpace>
class PatternMaker {
 public:
  using Memory = typename ExecutionSpace::memory_space;
  using Pattern = Impl::LevelPattern<Memory>;
  using Pass = Impl::PatternPass<Memory>;

  PatternMaker(const ExecutionSpace& exec, Ordinal n, double mean_columns, const MemoryBudget& budget)
      : m_exec(exec),
        m_n(n),
        m_budget(budget),
        m_scratch(budget),
        m_work(exec, n, n, mean_columns, budget),
        m_counts(m_scratch.template allocate<Kokkos::View<Ordinal*, Memory>>(exec, "lutra::ilu::row_lengths",
                                                                             static_cast<std::size_t>(n))) {}

  Pattern extend(const Pass& pass) const {
    Pattern out;
    out.reservation = MemoryReservation(m_budget);
    out.levels_reservation = MemoryReservation(m_budget);
    const auto n = static_cast<std::size_t>(m_n);
    out.row_map = allocate<Offset>(out.reservation, "lutra::ilu::row_map", n + 1);
    out.diagonal = allocate<Offset>(out.reservation, "lutra::ilu::diagonal", n);
    run("lutra::ilu::bound_rows", Impl::BoundRow<Memory>{pass, m_n, m_counts});
    run("lutra::ilu::count_rows", Impl::CountRow<Memory>{pass, m_counts, m_counts});
    const auto nnz = static_cast<std::size_t>(Impl::prefix_sum<Offset>(m_exec, m_counts, out.row_map));
    out.entries = allocate<Ordinal>(out.reservation, "lutra::ilu::entries", nnz);
    out.levels = allocate<Ordinal>(out.levels_reservation, "lutra::ilu::levels", nnz);
    run("lutra::ilu::fill_rows", Impl::FillRow<Memory>{pass, out});
    m_exec.fence("lutra::ilu: the pattern of the pass before is freed");
    return out;
  }

 private:
  template <class T>
  Kokkos::View<T*, Memory> allocate(MemoryReservation& from, const char* label, std::size_t count) const {
    return from.template allocate<Kokkos::View<T*, Memory>>(m_exec, label, count);
  }
  template <class Body>
  void run(const char* label, const Body& body) const {
    Impl::for_each_row(m_exec, label, Ordinal(0), m_n, m_work, body);
  }

  ExecutionSpace m_exec;
  Ordinal m_n;
  MemoryBudget m_budget;
  MemoryReservation m_scratch;
  Impl::RowWorkspace<Ordinal, ExecutionSpace> m_work;
  Kokkos::View<Ordinal*, Memory> m_counts;
};

}  // namespace

template <class Scalar, class ExecutionSpace>
IncompleteFactors<Scalar, typename ExecutionSpace::memory_space> make_incomplete_pattern(
    const ExecutionSpace& exec, const CsrPattern<Ordinal, Offset, typename ExecutionSpace::memory_space>& A,
    int fill_level, const MemoryBudget& budget) {
  const Ordinal n = A.n_rows;
  const double mean = n > 0 ? static_cast<double>(A.nnz()) / static_cast<double>(n) + 1 : 1;
  const PatternMaker<ExecutionSpace> maker(exec, n, (1.0 + fill_level) * mean, budget);
  auto pattern = maker.extend({A.row_map, {}, A.entries, {}, 0});
  // a pair of entries of the highest level creates at most twice that level plus one
  Ordinal highest = 0;
  for (Ordinal level = 1; level <= fill_level && level <= 2 * highest + 1; ++level) {
    auto extended = maker.extend({pattern.row_map, pattern.diagonal, pattern.entries, pattern.levels, level});
    if (extended.entries.extent(0) == pattern.entries.extent(0)) continue;
    highest = level;
    pattern = extended;
  }
  IncompleteFactors<Scalar, typename ExecutionSpace::memory_space> factors;
  factors.n = n;
  factors.row_map = pattern.row_map;
  factors.entries = pattern.entries;
  factors.diagonal = pattern.diagonal;
  factors.reservation = pattern.reservation;
  return factors;
}

template <class Scalar, class ExecutionSpace>
IncompleteFactors<Scalar, typename ExecutionSpace::memory_space> make_incomplete_factors(
    const ExecutionSpace& exec, const CsrPattern<Ordinal, Offset, typename ExecutionSpace::memory_space>& A,
    int fill_level, const MemoryBudget& budget) {
  auto factors = make_incomplete_pattern<Scalar>(exec, A, fill_level, budget);
  factors.values =
      factors.reservation.template allocate<Kokkos::View<Scalar*, typename ExecutionSpace::memory_space>>(
          exec, "lutra::ilu::values", factors.entries.extent(0));
  return factors;
}

template <class ExecutionSpace>
std::int64_t find_unpaired_entry(
    const ExecutionSpace& exec, const CsrPattern<Ordinal, Offset, typename ExecutionSpace::memory_space>& A) {
  constexpr std::int64_t none = std::numeric_limits<std::int64_t>::max();
  std::int64_t first = none;
  Kokkos::parallel_reduce("lutra::ilu::find_unpaired",
                          Kokkos::RangePolicy<ExecutionSpace>(exec, 0, static_cast<std::int64_t>(A.n_rows)),
                          Impl::FindUnpaired<std::decay_t<decltype(A)>>{A}, Kokkos::Min<std::int64_t>(first));
  return first == none ? -1 : first;
}

#define LUTRA_INSTANTIATE(Scalar, Space)                                                                \
  template IncompleteFactors<Scalar, Space::memory_space> make_incomplete_pattern<Scalar, Space>(       \
      const Space&, const CsrPattern<Ordinal, Offset, Space::memory_space>&, int, const MemoryBudget&); \
  template IncompleteFactors<Scalar, Space::memory_space> make_incomplete_factors<Scalar, Space>(       \
      const Space&, const CsrPattern<Ordinal, Offset, Space::memory_space>&, int, const MemoryBudget&);
LUTRA_FOR_EACH_SCALAR_AND_SPACE(LUTRA_INSTANTIATE)

#define LUTRA_INSTANTIATE_SEARCH(Space)                          \
  template std::int64_t find_unpaired_entry<Space>(const Space&, \
                                                   const CsrPattern<Ordinal, Offset, Space::memory_space>&);
LUTRA_FOR_EACH_SPACE(LUTRA_INSTANTIATE_SEARCH)

}  // namespace lutra
