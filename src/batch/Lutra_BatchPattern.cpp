// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_BatchPattern.hpp"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include "Lutra_IncompletePlan.hpp"
#include "Lutra_Instantiate.hpp"
#include "Lutra_StartVector.hpp"
#include "Lutra_Upload.hpp"

namespace lutra::Impl {
namespace {

/// The lists on the host while they are built.
struct HostLists {
  Ordinal n = 0;
  bool symmetric = false;
  std::vector<Ordinal> row_order, col_order;
  std::vector<Offset> row_map, diagonal;
  std::vector<Ordinal> entries;
  std::vector<Offset> column_map, column_at, column_diagonal;
  std::vector<Ordinal> column_rows;
  std::vector<Offset> targets_of;
  std::vector<int> targets;
};

std::size_t at(std::int64_t index) {
  return static_cast<std::size_t>(index);
}

/// Takes the rows of L + U, or those of U for a symmetric matrix.
HostLists take_structure(const FactorStructure& structure, Ordinal n, bool symmetric) {
  HostLists lists;
  lists.n = n;
  lists.symmetric = symmetric;
  const auto order = [&](const std::vector<std::int64_t>& from) {
    std::vector<Ordinal> to(from.begin(), from.end());
    if (!to.empty()) return to;
    to.resize(at(n));
    std::iota(to.begin(), to.end(), Ordinal(0));
    return to;
  };
  lists.row_order = order(structure.row_order);
  lists.col_order = order(structure.col_order);
  lists.row_map.push_back(0);
  for (Ordinal i = 0; i < n; ++i) {
    for (std::int64_t p = structure.row_map[at(i)]; p < structure.row_map[at(i) + 1]; ++p) {
      const std::int64_t j = structure.entries[at(p)];
      if (j == i) lists.diagonal.push_back(static_cast<Offset>(lists.entries.size()));
      if (j >= i || !symmetric) lists.entries.push_back(static_cast<Ordinal>(j));
    }
    lists.row_map.push_back(static_cast<Offset>(lists.entries.size()));
  }
  if (lists.diagonal.size() != at(n)) throw InputError("batch: the factors have no full diagonal");
  return lists;
}

/// Columns of a pattern by rows: for each column its rows, ascending, and positions by rows.
void transpose(Ordinal n, const std::vector<Offset>& row_map, const std::vector<Ordinal>& entries,
               std::vector<Offset>& map, std::vector<Ordinal>& rows, std::vector<Offset>& positions) {
  map.assign(at(n) + 1, 0);
  for (const Ordinal j : entries) ++map[at(j) + 1];
  std::partial_sum(map.begin(), map.end(), map.begin());
  std::vector<Offset> next(map.begin(), map.end() - 1);
  rows.resize(entries.size());
  positions.resize(entries.size());
  for (Ordinal i = 0; i < n; ++i) {
    for (Offset p = row_map[at(i)]; p < row_map[at(i) + 1]; ++p) {
      const Offset s = next[at(entries[at(p)])]++;
      rows[at(s)] = i;
      positions[at(s)] = p;
    }
  }
}

/// Calls visit(step, first, end) for each entry (i, k) of L, with the entries of row k of U that it
/// subtracts.
template <class Visit>
void for_steps(const HostLists& lists, Ordinal i, const Visit& visit) {
  if (lists.symmetric) {
    for (Offset s = lists.column_map[at(i)]; s < lists.column_diagonal[at(i)]; ++s)
      visit(s, lists.column_at[at(s)], lists.row_map[at(lists.column_rows[at(s)]) + 1]);
    return;
  }
  for (Offset p = lists.row_map[at(i)]; p < lists.diagonal[at(i)]; ++p) {
    const Ordinal k = lists.entries[at(p)];
    visit(p, lists.diagonal[at(k)] + 1, lists.row_map[at(k) + 1]);
  }
}

double count_multiply_adds(const HostLists& lists) {
  double sum = 0;
  for (Ordinal i = 0; i < lists.n; ++i)
    for_steps(lists, i, [&](Offset, Offset first, Offset end) { sum += static_cast<double>(end - first); });
  return sum;
}

void find_targets(HostLists& lists) {
  std::vector<int> place(at(lists.n), -1);  // of a column in row i
  lists.targets_of.assign(lists.entries.size(), 0);
  for (Ordinal i = 0; i < lists.n; ++i) {
    const Offset begin = lists.row_map[at(i)], end = lists.row_map[at(i) + 1];
    for (Offset q = begin; q < end; ++q) place[at(lists.entries[at(q)])] = static_cast<int>(q - begin);
    for_steps(lists, i, [&](Offset step, Offset first, Offset last) {
      lists.targets_of[at(step)] = static_cast<Offset>(lists.targets.size());
      for (Offset q = first; q < last; ++q) lists.targets.push_back(place[at(lists.entries[at(q)])]);
    });
    for (Offset q = begin; q < end; ++q) place[at(lists.entries[at(q)])] = -1;
  }
}

/// Position in L + U of each entry of A; −1 where there is none.
std::vector<Offset> place_entries(const HostLists& lists, const std::vector<Offset>& A_map,
                                  const std::vector<Ordinal>& A_entries) {
  std::vector<Ordinal> column(at(lists.n));  // position in F of each column of A
  for (Ordinal j = 0; j < lists.n; ++j) column[at(lists.col_order[at(j)])] = j;
  std::vector<Offset> result(A_entries.size(), -1);
  for (Ordinal i = 0; i < lists.n; ++i) {
    const auto first = lists.entries.begin() + lists.row_map[at(i)];
    const auto last = lists.entries.begin() + lists.row_map[at(i) + 1];
    const Ordinal row = lists.row_order[at(i)];
    for (Offset p = A_map[at(row)]; p < A_map[at(row) + 1]; ++p) {
      const Ordinal j = column[at(A_entries[at(p)])];
      const auto found = std::lower_bound(first, last, j);
      if (found != last && *found == j) result[at(p)] = found - lists.entries.begin();
    }
  }
  return result;
}

/// Sets of rows in the order in which they can be computed, from the level of each.
template <class ExecutionSpace>
BatchLevels<typename ExecutionSpace::memory_space> group_levels(const ExecutionSpace& exec,
                                                                const std::vector<Ordinal>& level,
                                                                MemoryReservation& keep) {
  const Ordinal count = level.empty() ? 0 : *std::ranges::max_element(level) + 1;
  BatchLevels<typename ExecutionSpace::memory_space> result;
  result.begin.assign(at(count) + 1, 0);
  for (const Ordinal l : level) ++result.begin[at(l) + 1];
  std::partial_sum(result.begin.begin(), result.begin.end(), result.begin.begin());
  std::vector<std::int64_t> next(result.begin.begin(), result.begin.end() - 1);
  std::vector<Ordinal> rows(level.size());
  for (std::size_t i = 0; i < level.size(); ++i) rows[at(next[at(level[i])]++)] = static_cast<Ordinal>(i);
  result.rows = upload(exec, keep, "lutra::batch::rows of levels", rows);
  return result;
}

/// First of the levels from which on all are narrow.
std::size_t first_narrow_level(const std::vector<std::int64_t>& begin) {
  std::size_t first = begin.size() - 1;
  while (first > 0 && begin[first] - begin[first - 1] < wide_level_rows) --first;
  return first;
}

/// Steps of one row with the launches that can do them: a step (i, k) needs that row k is complete, and that
/// l_ik has all its updates. These come from steps (i, j), u_jk ≠ 0, and in an unsymmetric pattern row j may
/// be of a later level than row k. No step waits for a row later than the last one that row i needs.
class StepLaunches {
 public:
  StepLaunches(const HostLists& lists, const std::vector<Ordinal>& level, Ordinal first_level)
      : m_lists(lists), m_level(level), m_first_level(first_level), m_launch(at(lists.n), 0) {}

  /// Calls visit(launch, step) for the entries (i, k) of L, k ascending.
  template <class Visit>
  void for_row(Ordinal i, const Visit& visit) {
    const auto column = [&](Offset step) {
      return at((m_lists.symmetric ? m_lists.column_rows : m_lists.entries)[at(step)]);
    };
    for_steps(m_lists, i, [&](Offset step, Offset, Offset) {
      const std::size_t k = column(step);
      m_launch[k] = std::max(m_level[k] - m_first_level + 1, Ordinal(0));
    });
    for_steps(m_lists, i, [&](Offset step, Offset first, Offset end) {
      const Ordinal launch = m_launch[column(step)];
      visit(launch, step);
      if (m_lists.symmetric) return;  // levels ascend along rows of U
      for (Offset q = first; q < end && m_lists.entries[at(q)] < i; ++q) {
        Ordinal& other = m_launch[at(m_lists.entries[at(q)])];
        other = std::max(other, launch);
      }
    });
  }

 private:
  const HostLists& m_lists;
  const std::vector<Ordinal>& m_level;
  Ordinal m_first_level;
  std::vector<Ordinal> m_launch;  ///< [n] of the step of each column in L(i); others have no meaning
};

/// A step of row `row`; step −1: its start.
struct NarrowStep {
  Ordinal launch, row;
  Offset step;
};

/// By launches, then by levels of rows; those of a row in the order in which it has to do them.
std::vector<NarrowStep> sort_narrow_steps(const HostLists& lists, const std::vector<Ordinal>& level,
                                          Ordinal first_level) {
  std::vector<NarrowStep> steps;
  StepLaunches launches(lists, level, first_level);
  for (Ordinal i = 0; i < lists.n; ++i) {
    if (level[at(i)] < first_level) continue;
    steps.push_back({0, i, -1});
    launches.for_row(i, [&](Ordinal launch, Offset step) { steps.push_back({launch, i, step}); });
  }
  std::ranges::stable_sort(
      steps, {}, [&](const NarrowStep& step) { return std::pair(step.launch, level[at(step.row)]); });
  return steps;
}

template <class ExecutionSpace>
BatchFanOut<typename ExecutionSpace::memory_space> fan_out(const ExecutionSpace& exec, const HostLists& lists,
                                                           const std::vector<Ordinal>& level,
                                                           const std::vector<std::int64_t>& begin,
                                                           MemoryReservation& keep) {
  BatchFanOut<typename ExecutionSpace::memory_space> result;
  result.first_level = first_narrow_level(begin);
  const auto first_level = static_cast<Ordinal>(result.first_level);
  result.begin.assign(begin.size() - result.first_level, 0);
  std::vector<Ordinal> rows;
  std::vector<Offset> steps_of, steps;
  std::vector<char> is_last;
  Ordinal launch = -1;  // of the last part
  for (const NarrowStep& next : sort_narrow_steps(lists, level, first_level)) {
    if (next.launch != launch || next.row != rows.back()) {
      launch = next.launch;
      rows.push_back(next.row);
      steps_of.push_back(static_cast<Offset>(steps.size()));
      is_last.push_back(level[at(next.row)] == first_level + launch ? 1 : 0);
      result.begin[at(launch) + 1] = static_cast<std::int64_t>(rows.size());
    }
    if (next.step >= 0) steps.push_back(next.step);
  }
  steps_of.push_back(static_cast<Offset>(steps.size()));
  result.rows = upload(exec, keep, "lutra::batch::rows of parts", rows);
  result.steps_of = upload(exec, keep, "lutra::batch::first steps of parts", steps_of);
  result.steps = upload(exec, keep, "lutra::batch::steps", steps);
  result.is_last = upload(exec, keep, "lutra::batch::last parts", is_last);
  return result;
}

template <class Scalar, class ExecutionSpace>
void find_levels(const ExecutionSpace& exec, const HostLists& lists,
                 BatchPattern<Scalar, ExecutionSpace>& pattern) {
  std::vector<Ordinal> lower(at(lists.n), 0), upper(at(lists.n), 0);
  const auto raise = [](Ordinal& level, Ordinal other) { level = std::max(level, other + 1); };
  for (Ordinal i = 0; i < lists.n; ++i) {
    if (lists.symmetric) {
      for (Offset s = lists.column_map[at(i)]; s < lists.column_diagonal[at(i)]; ++s)
        raise(lower[at(i)], lower[at(lists.column_rows[at(s)])]);
    }
    for (Offset p = lists.row_map[at(i)]; p < lists.diagonal[at(i)]; ++p)
      raise(lower[at(i)], lower[at(lists.entries[at(p)])]);
  }
  for (Ordinal i = lists.n - 1; i >= 0; --i)
    for (Offset p = lists.diagonal[at(i)] + 1; p < lists.row_map[at(i) + 1]; ++p)
      raise(upper[at(i)], upper[at(lists.entries[at(p)])]);
  pattern.lower = group_levels(exec, lower, pattern.keep);
  pattern.upper = group_levels(exec, upper, pattern.keep);
  pattern.fan_out = fan_out(exec, lists, lower, pattern.lower.begin, pattern.keep);
}

/// @throws InputError unless a batch can factorize it
template <class Scalar, class ExecutionSpace>
void check_analysis(const Analysis<Scalar, ExecutionSpace>& analysis) {
  if (analysis.bordered) throw InputError("batch: the analysis has a Schur complement");
  const auto* const ilu = std::get_if<SparseIluOptions>(&analysis.options);
  if (ilu == nullptr) return;
  if (ilu->method != IluMethod::iluk || ilu->symmetric || ilu->apply == IluApply::jacobi || ilu->shift > 0)
    throw InputError(
        "batch: of incomplete factors only ILU(k) without a shift, applied by triangular solves");
}

/// [n] scales, ones where there are none.
template <class Scalar, class ExecutionSpace, class View>
Kokkos::View<const RealOf<Scalar>*, typename ExecutionSpace::memory_space> scales_or_ones(
    const ExecutionSpace& exec, const View& scales, Ordinal n, MemoryReservation& keep) {
  if (scales.extent(0) == at(n)) return scales;
  return upload(exec, keep, "lutra::batch::scales", std::vector<RealOf<Scalar>>(at(n), 1));
}

/// Maps between entries of the caller's matrix and of both triangles.
template <class Scalar, class ExecutionSpace>
void map_triangles(const ExecutionSpace& exec, const Analysis<Scalar, ExecutionSpace>& analysis,
                   const std::vector<Offset>& S_map, const std::vector<Ordinal>& S_entries,
                   BatchPattern<Scalar, ExecutionSpace>& pattern) {
  pattern.source = analysis.symmetric->S.source;
  std::vector<Offset> entry_of(pattern.entries.size());
  for (Ordinal i = 0; i < pattern.n; ++i) {
    Offset q = S_map[at(i)];
    for (Offset p = pattern.row_map[at(i)]; p < pattern.row_map[at(i) + 1]; ++p) {
      while (S_entries[at(q)] != pattern.entries[at(p)]) ++q;
      entry_of[at(p)] = q;
    }
  }
  pattern.entry_of = upload(exec, pattern.keep, "lutra::batch::entries of both triangles", entry_of);
  const Triangle triangle = std::get<LdltOptions>(analysis.options).triangle;
  if (triangle == Triangle::both) return;
  std::vector<char> is_read(pattern.entries.size());
  for (Ordinal i = 0; i < pattern.n; ++i)
    for (Offset p = pattern.row_map[at(i)]; p < pattern.row_map[at(i) + 1]; ++p)
      is_read[at(p)] =
          triangle == Triangle::lower ? pattern.entries[at(p)] <= i : pattern.entries[at(p)] >= i;
  pattern.is_read = upload(exec, pattern.keep, "lutra::batch::entries that are read", is_read);
}

}  // namespace

template <class Scalar, class ExecutionSpace>
BatchPattern<Scalar, ExecutionSpace> make_batch_pattern(const ExecutionSpace& exec,
                                                        const Analysis<Scalar, ExecutionSpace>& analysis,
                                                        const MemoryBudget& budget, BatchPatternParts parts) {
  check_analysis(analysis);
  BatchPattern<Scalar, ExecutionSpace> pattern;
  pattern.keep = MemoryReservation(budget);
  pattern.n = analysis.n;
  const auto& A = analysis.pattern();
  pattern.nnz = A.nnz();
  pattern.row_map = to_host(exec, A.row_map);
  pattern.entries = to_host(exec, A.entries);
  const bool symmetric = analysis.symmetric.has_value();
  const auto& M = symmetric ? analysis.symmetric->S.pattern : A;
  pattern.matrix_entries = M.nnz();
  const auto M_map = to_host(exec, M.row_map);
  const auto M_entries = to_host(exec, M.entries);
  const auto put = [&](const char* label, const auto& host) {
    const auto view = upload(exec, pattern.keep, label, host);
    pattern.views.push_back(std::make_shared<decltype(view)>(view));
    return view.data();
  };
  LaneLists& lists = pattern.lists;
  lists.n = analysis.n;
  lists.symmetric = symmetric;
  lists.hermitian =
      symmetric && ScalarTraits<Scalar>::is_complex && analysis.symmetric->symmetry == Symmetry::hermitian;
  lists.A = {put("lutra::batch::row_map", M_map), put("lutra::batch::entries", M_entries), nullptr};
  std::vector<Offset> map, positions;
  std::vector<Ordinal> rows;
  transpose(analysis.n, M_map, M_entries, map, rows, positions);
  lists.A_columns = {put("lutra::batch::column_map", map), put("lutra::batch::column rows", rows),
                     put("lutra::batch::column positions", positions)};
  if (symmetric) map_triangles(exec, analysis, M_map, M_entries, pattern);
  pattern.row_scale = scales_or_ones<Scalar>(exec, analysis.row_scale, analysis.n, pattern.keep);
  pattern.col_scale = scales_or_ones<Scalar>(exec, analysis.col_scale, analysis.n, pattern.keep);
  std::vector<RealOf<Scalar>> start;
  for (Ordinal i = 0; i < analysis.n; ++i) start.push_back(static_cast<RealOf<Scalar>>(start_entry(i)));
  pattern.start = upload(exec, pattern.keep, "lutra::batch::start of probes", start);
  if (!analysis.plan) return pattern;
  if (!parts.factors) {
    pattern.factor_entries = *analysis.report.factors.nnz_l + *analysis.report.factors.nnz_u;
    return pattern;
  }
  FactorStructure structure = analysis.structure(exec);
  if (const auto* const plan =
          dynamic_cast<const IncompletePlan<Scalar, ExecutionSpace>*>(analysis.plan.get())) {
    structure.row_order = plan->F.rows;
    structure.col_order = plan->F.columns;
    pattern.row_scale = scales_or_ones<Scalar>(exec, plan->F.order.row_scale, analysis.n, pattern.keep);
    pattern.col_scale = scales_or_ones<Scalar>(exec, plan->F.order.col_scale, analysis.n, pattern.keep);
  }
  HostLists host = take_structure(structure, analysis.n, symmetric);
  transpose(host.n, host.row_map, host.entries, host.column_map, host.column_rows, host.column_at);
  for (Ordinal i = 0; i < host.n; ++i) {
    const auto first = host.column_rows.begin() + host.column_map[at(i)];
    const auto last = host.column_rows.begin() + host.column_map[at(i) + 1];
    host.column_diagonal.push_back(std::lower_bound(first, last, i) - host.column_rows.begin());
  }
  pattern.factor_entries = static_cast<std::int64_t>(host.entries.size());
  pattern.multiply_adds = count_multiply_adds(host);
  // Lists that need more than a quarter of the memory would leave too few systems in it.
  const bool lists_fit = pattern.multiply_adds * sizeof(int) <
                         0.25 * static_cast<double>(std::min(budget.available_bytes(), std::size_t(1) << 34));
  if (lists_fit) {
    find_targets(host);
    lists.targets_of = put("lutra::batch::first targets", host.targets_of);
    lists.targets = put("lutra::batch::targets", host.targets);
  }
  lists.row_map = put("lutra::batch::factor row_map", host.row_map);
  lists.entries = put("lutra::batch::factor entries", host.entries);
  lists.diagonal = put("lutra::batch::diagonal", host.diagonal);
  lists.columns = {put("lutra::batch::factor column_map", host.column_map),
                   put("lutra::batch::factor column rows", host.column_rows),
                   put("lutra::batch::factor column positions", host.column_at)};
  lists.column_diagonal = put("lutra::batch::column diagonal", host.column_diagonal);
  lists.row_order = put("lutra::batch::row_order", host.row_order);
  lists.col_order = put("lutra::batch::col_order", host.col_order);
  lists.place = put("lutra::batch::place", place_entries(host, M_map, M_entries));
  if (parts.levels) find_levels(exec, host, pattern);
  return pattern;
}

#define LUTRA_BATCH_PATTERN(Scalar, Space)                                \
  template BatchPattern<Scalar, Space> make_batch_pattern<Scalar, Space>( \
      const Space&, const Analysis<Scalar, Space>&, const MemoryBudget&, BatchPatternParts);
LUTRA_FOR_EACH_SCALAR_AND_SPACE(LUTRA_BATCH_PATTERN)

}  // namespace lutra::Impl
