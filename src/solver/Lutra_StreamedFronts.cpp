// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_StreamedFronts.hpp"

#include <algorithm>
#include <utility>

#include "Lutra_ExecutionTraits.hpp"
#include "Lutra_FrontSchedule.hpp"
#include "Lutra_Instantiate.hpp"
#include "Lutra_PlanTools.hpp"
#include "Lutra_Upload.hpp"

namespace lutra::Impl {
namespace {

/// to(i) = from(index(i))
template <class To, class From, class Index>
struct GatherByIndex {
  To to;
  From from;
  Index index;
  KOKKOS_FUNCTION void operator()(const std::int64_t i) const { to(i) = from(index(i)); }
};
template <class ExecutionSpace, class To, class From, class Index>
void gather_by_index(const ExecutionSpace& exec, const To& to, const From& from, const Index& index) {
  Kokkos::parallel_for("lutra::solver::values of a part",
                       Kokkos::RangePolicy<ExecutionSpace, Kokkos::IndexType<std::int64_t>>(
                           exec, 0, static_cast<std::int64_t>(index.extent(0))),
                       GatherByIndex<To, From, Index>{to, from, index});
}

/// Rows `index` of one block of vectors, to the rows of another.
template <class Scalar, class Index>
struct GatherRows {
  Scalar* to;
  const Scalar* from;
  Index index;
  int columns;
  KOKKOS_FUNCTION void operator()(const std::int64_t i) const {
    for (int c = 0; c < columns; ++c)
      to[i * columns + c] = from[static_cast<std::int64_t>(index(i)) * columns + c];
  }
};

template <class View>
View range(const View& view, std::size_t begin, std::size_t size) {
  return Kokkos::subview(view, std::pair(begin, begin + size));
}

}  // namespace

template <class Scalar, class ExecutionSpace>
StreamedFactors<Scalar, ExecutionSpace>::StreamedFactors(const ExecutionSpace& exec, const Plan& plan,
                                                         const MemoryBudget& budget, double threshold,
                                                         Interchanges kind)
    : m_plan(plan), m_budget(budget), m_threshold(threshold), m_kind(kind), m_copier(exec) {
  if constexpr (!is_host_space<ExecutionSpace>) m_copier = Kokkos::Experimental::partition_space(exec, 1)[0];
  for (const Part& part : plan.parts) {
    if (is_host_space<ExecutionSpace> && !m_factors.empty()) {
      m_factors.emplace_back();
      m_factors.back().schedule = part.schedule;
      m_factors.back().state = m_factors.front().state;  // buffers of threads
    } else {
      m_factors.push_back(make_front_factors<Scalar>(exec, part.schedule, budget));
    }
    m_solvers.push_back(part.solver.with_own_vectors(exec, budget));
  }
}

template <class Scalar, class ExecutionSpace>
StreamedFactors<Scalar, ExecutionSpace>::~StreamedFactors() {
  m_copier.fence("lutra::solver: panels are in host memory");
}

template <class Scalar, class ExecutionSpace>
void StreamedFactors<Scalar, ExecutionSpace>::allocate(const ExecutionSpace& exec) {
  if (m_ring.extent(0) > 0) return;
  m_reservation = MemoryReservation(m_budget);
  try {
    allocate_arrays(exec);
  } catch (...) {
    m_reservation = {};
    m_ring = m_values = {};
    m_row_scale = m_col_scale = {};
    m_store = {};
    m_perturbed = {};
    m_outcomes = {};
    m_row_of_pivot = m_column_of_pivot = {};
    m_largest = {};
    throw;
  }
  m_passages.resize(m_plan.parts.size());
  m_taken.resize(m_plan.parts.size());
  m_given.resize(m_plan.parts.size());
  for (std::size_t p = 0; p < m_plan.parts.size(); ++p) place(p);
}

template <class Scalar, class ExecutionSpace>
void StreamedFactors<Scalar, ExecutionSpace>::allocate_arrays(const ExecutionSpace& exec) {
  const auto n = static_cast<std::size_t>(m_plan.tree.n);
  const auto make = [&](auto& view, const char* label, std::size_t size) {
    view = m_reservation.template allocate<std::remove_reference_t<decltype(view)>>(exec, label, size);
  };
  make(m_values, "lutra::solver::entries of the part at work", m_plan.most_entries);
  make(m_row_scale, "lutra::solver::scales of the part at work", m_plan.most_rows);
  make(m_col_scale, "lutra::solver::scales of the part at work", m_plan.most_rows);
  make(m_perturbed, "lutra::numeric::perturbed", n);
  make(m_outcomes, "lutra::numeric::outcomes", m_plan.parts.size());
  m_largest = {exec, m_reservation, "lutra::solver::largest entry", 1};
  if (m_threshold > 0) make(m_row_of_pivot, "lutra::numeric::row_of_pivot", n);
  if (m_threshold > 0 && m_kind != Interchanges::rows)
    make(m_column_of_pivot, "lutra::numeric::column_of_pivot", n);
  make(m_ring, "lutra::solver::ring of streamed factors", m_plan.entries());
  m_store =
      Store(exec, m_host_budget, "lutra::solver::streamed factors", m_plan.host_bytes() / sizeof(Scalar));
}

/// Gives the factors of a part their places.
template <class Scalar, class ExecutionSpace>
void StreamedFactors<Scalar, ExecutionSpace>::place(std::size_t p) {
  const Part& part = m_plan.parts[p];
  Factors& factors = m_factors[p];
  if (m_threshold > 0) {
    factors.interchanges = {m_threshold, range(m_row_of_pivot, part.first_pivot, part.pivots), m_kind};
    if (m_column_of_pivot.extent(0) > 0)
      factors.interchanges->column_of_pivot = range(m_column_of_pivot, part.first_pivot, part.pivots);
  }
  const std::size_t begin = static_cast<std::size_t>(m_plan.places[p].begin);
  const auto kind = m_threshold > 0 ? std::optional(m_kind) : std::nullopt;
  // Inverses are kept with the panels, so they lie before these, not behind what only a factorization needs.
  place_values(part.plan,
               Values(m_ring.data() + begin + part.panel_offset(),
                      value_entries<Scalar, ExecutionSpace>(part.plan, *part.schedule, kind)),
               factors);
  if constexpr (requires { factors.state->inverses; })
    factors.state->inverses = range(m_ring, begin, part.inverses(kind));
  factors.outcome = Kokkos::View<FrontLuOutcome, Memory>(m_outcomes.data() + p);
  for (const auto& block : part.taken) m_taken[p].push_back(contribution_of(part.plan, factors, block.front));
  for (const auto& block : part.given) m_given[p].push_back(contribution_of(part.plan, factors, block.front));
}

/// Queues copies of panels and inverses of a part between its place in the ring and host memory.
template <class Scalar, class ExecutionSpace>
void StreamedFactors<Scalar, ExecutionSpace>::copy_panels(std::size_t p, bool to_host) {
  const Part& part = m_plan.parts[p];
  const auto copy = [&](const Values& here, std::size_t there) {
    m_store.for_each_piece(there, there + here.extent(0), [&](std::size_t begin, std::size_t end) {
      const auto stored = range(m_store.view(), begin, end - begin);
      const auto piece = range(here, begin - there, end - begin);
      if (to_host)
        Kokkos::deep_copy(m_copier, stored, piece);
      else
        Kokkos::deep_copy(m_copier, piece, stored);
    });
    m_moved += here.extent(0) * sizeof(Scalar);
  };
  copy(m_factors[p].panels, part.first_panel);
  if constexpr (requires { m_factors[p].state->inverses; })
    copy(m_factors[p].state->inverses, m_plan.panels + part.first_inverse);
  m_passages[p].copied.set(m_copier);
  m_passages[p].stored = true;
  if (!to_host) m_last_load.set(m_copier);
}

/// Queues the copy of a part's panels to host memory, unless it was queued before. This and all later copies
/// start behind the last kernels that use the panels.
template <class Scalar, class ExecutionSpace>
void StreamedFactors<Scalar, ExecutionSpace>::store(std::size_t p) {
  m_passages[p].used.hold_back(m_copier);
  if (!m_passages[p].stored) copy_panels(p, true);
}

/// Calls copy(block at the place of a part, or a range of it, its place between parts) for each.
template <class Scalar, class ExecutionSpace>
template <class Copy>
void StreamedFactors<Scalar, ExecutionSpace>::for_each_block(const std::vector<typename Part::Block>& blocks,
                                                             const std::vector<Values>& in_ring,
                                                             const Copy& copy) {
  const std::size_t on_host = m_plan.panels + m_plan.inverses;
  for (std::size_t k = 0; k < blocks.size(); ++k) {
    const auto place = static_cast<std::size_t>(blocks[k].passed.place), size = in_ring[k].extent(0);
    if (blocks[k].passed.on_host) {
      const std::size_t first = on_host + place;
      m_store.for_each_piece(first, first + size, [&](std::size_t begin, std::size_t end) {
        copy(range(in_ring[k], begin - first, end - begin), range(m_store.view(), begin, end - begin));
      });
      m_moved += size * sizeof(Scalar);
    } else {
      copy(in_ring[k], range(m_ring, m_plan.ring + place, size));
    }
  }
}

template <class Scalar, class ExecutionSpace>
double StreamedFactors<Scalar, ExecutionSpace>::largest_entry(
    const ExecutionSpace& exec, const CsrPattern<Ordinal, Offset, Memory>& pattern,
    const ScaledValues<Scalar, Memory>& A) {
  Kokkos::parallel_reduce(
      "lutra::numeric::largest_entry", Kokkos::RangePolicy<ExecutionSpace>(exec, 0, pattern.n_rows),
      LargestScaledEntry<Scalar, Memory>{pattern.row_map, pattern.entries, A.values, A.row_scale,
                                         A.col_scale},
      Kokkos::Max<double, Memory>(Kokkos::View<double, Memory>(m_largest.device().data())));
  m_largest.queue_fetch(exec);
  exec.fence("lutra::solver: the largest entry is known");
  return std::max(0.0, m_largest.host()(0));
}

/// Work queued on `exec` from now on starts when the panels of a part, and of those before it, are in host
/// memory.
template <class Scalar, class ExecutionSpace>
void StreamedFactors<Scalar, ExecutionSpace>::wait_for_copy(const ExecutionSpace& exec, int part) const {
  if (part >= 0) m_passages[static_cast<std::size_t>(part)].copied.hold_back(exec);
}

/// Takes the blocks of a part, which lie behind what it keeps, while panels that it overwrites are still
/// copied.
template <class Scalar, class ExecutionSpace>
void StreamedFactors<Scalar, ExecutionSpace>::factorize_part(const ExecutionSpace& exec, std::size_t p,
                                                             const ScaledValues<Scalar, Memory>& A,
                                                             double perturbation, double largest) {
  const Part& part = m_plan.parts[p];
  wait_for_copy(exec, m_plan.places[p].after_behind);
  for_each_block(part.taken, m_taken[p],
                 [&](const auto& here, const auto& there) { Kokkos::deep_copy(exec, here, there); });
  wait_for_copy(exec, m_plan.places[p].after);
  Factors& factors = m_factors[p];
  const auto values = range(m_values, 0, part.source.extent(0));
  const auto row_scale = range(m_row_scale, 0, part.n()), col_scale = range(m_col_scale, 0, part.n());
  gather_by_index(exec, values, A.values, part.source);
  gather_by_index(exec, row_scale, A.row_scale, part.orders.row_order);
  gather_by_index(exec, col_scale, A.col_scale, part.orders.col_order);
  factors.min_largest_entry = largest;
  factorize_fronts<Scalar>(exec, part.plan, {values, row_scale, col_scale}, perturbation, factors,
                           range(m_perturbed, part.first_pivot, part.pivots));
  find_largest_factor(exec, factors);
  if (m_plan.symmetric) m_pivots.add(inspect_diagonal_pivots(exec, part.plan, factors));
  for_each_block(part.given, m_given[p],
                 [&](const auto& here, const auto& there) { Kokkos::deep_copy(exec, there, here); });
}

template <class Scalar, class ExecutionSpace>
FrontLuOutcome StreamedFactors<Scalar, ExecutionSpace>::factorize(
    const ExecutionSpace& exec, const CsrPattern<Ordinal, Offset, Memory>& pattern,
    const ScaledValues<Scalar, Memory>& A, double perturbation) {
  allocate(exec);
  m_moved = 0;
  m_pivots = {};
  m_last_load.hold_back(exec);  // of a solve that was given up; what former factors leave is not read again
  for (Passage& passage : m_passages) passage.present = passage.stored = false;
  const double largest = largest_entry(exec, pattern, A);
  for (std::size_t p = 0; p < m_plan.parts.size(); ++p) {
    Passage& passage = m_passages[p];
    factorize_part(exec, p, A, perturbation, largest);
    passage.used.set(exec);
    if (p + 1 < m_plan.parts.size()) store(p);  // the last waits until a solve needs its place
    for (std::size_t q = 0; q < p; ++q)
      if (m_plan.places[p].overwrites(m_plan.places[q])) m_passages[q].present = false;
    passage.present = true;
    passage.arriving = false;
  }
  m_moved_by_factorization = m_moved;  // the last copies go on; all that overwrites panels waits for them
  m_moved_by_solve.reset();
  return read_outcomes(exec);
}

template <class Scalar, class ExecutionSpace>
FrontLuOutcome StreamedFactors<Scalar, ExecutionSpace>::read_outcomes(const ExecutionSpace& exec) const {
  FrontLuOutcome all;
  for (const FrontLuOutcome& part : to_host(exec, m_outcomes)) {
    all.largest_entry = std::max(all.largest_entry, part.largest_entry);
    all.largest_factor = std::max(all.largest_factor, part.largest_factor);
    all.perturbed += part.perturbed;
    all.interchanged += part.interchanged;
    if (all.stopped_front < 0) all.stopped_front = part.stopped_front;
  }
  return all;
}

template <class Scalar, class ExecutionSpace>
std::vector<std::int64_t> StreamedFactors<Scalar, ExecutionSpace>::order_of_tree(const ExecutionSpace& exec,
                                                                                 const Order& order) const {
  auto result = to_host<std::int64_t>(exec, order);
  if (result.empty()) return result;
  for (const Part& part : m_plan.parts)
    for (std::size_t k = 0; k < part.pivots; ++k)
      result[part.first_pivot + k] += static_cast<std::int64_t>(part.first_pivot);
  return result;
}

template <class Scalar, class ExecutionSpace>
void StreamedFactors<Scalar, ExecutionSpace>::reserve(const ExecutionSpace& exec, std::size_t columns) {
  if (columns <= m_columns) return;
  exec.fence("lutra::solver: the smaller vectors are freed");
  m_columns = 0;  // if memory runs out, there are no vectors
  m_solution = m_sums = m_later = {};
  m_vectors_reservation = MemoryReservation(m_budget);
  const auto make = [&](auto& view, const char* label, std::size_t rows) {
    view = m_vectors_reservation.template allocate<Values>(exec, label, rows * columns);
  };
  make(m_solution, "lutra::solver::solutions by index", static_cast<std::size_t>(m_plan.tree.n));
  make(m_sums, "lutra::solver::sums between parts", static_cast<std::size_t>(m_plan.passed.rows));
  make(m_later, "lutra::solver::solutions of later parts", m_plan.most_later);
  for (std::size_t p = 0; p < m_plan.parts.size(); ++p)
    m_solvers[p].reserve(exec, m_plan.parts[p].plan, m_factors[p], static_cast<int>(columns));
  m_columns = columns;
}

/// Queues the copy of a part's panels to its place, unless they are there, behind the last kernels that use
/// what it overwrites.
template <class Scalar, class ExecutionSpace>
void StreamedFactors<Scalar, ExecutionSpace>::load(std::size_t p) {
  Passage& passage = m_passages[p];
  if (passage.present) return;
  for (std::size_t q = 0; q < m_passages.size(); ++q) {
    if (!m_passages[q].present || !m_plan.places[p].excludes(m_plan.places[q])) continue;
    store(q);
    m_passages[q].present = false;
  }
  copy_panels(p, false);
  passage.present = passage.arriving = true;
}

/// Calls sweep(p) for each part, ascending or descending, while the panels of the next one are on their way.
template <class Scalar, class ExecutionSpace>
template <class Sweep>
void StreamedFactors<Scalar, ExecutionSpace>::sweep_parts(const ExecutionSpace& exec, bool upward,
                                                          const Sweep& sweep) {
  const std::size_t count = m_plan.parts.size();
  const auto part = [&](std::size_t k) { return upward ? k : count - 1 - k; };
  for (std::size_t k = 0; k < count; ++k) {
    const std::size_t p = part(k);
    load(p);
    if (k + 1 < count && !m_plan.places[p].excludes(m_plan.places[part(k + 1)])) load(part(k + 1));
    Passage& passage = m_passages[p];
    if (passage.arriving) passage.copied.hold_back(exec);
    passage.arriving = false;
    sweep(p);
    passage.used.set(exec);
  }
}

template <class Scalar, class ExecutionSpace>
void StreamedFactors<Scalar, ExecutionSpace>::solve(const ExecutionSpace& exec,
                                                    const ScaledValues<Scalar, Memory>& A, Transposition op,
                                                    const Rows& B, const Rows& X) {
  const std::size_t k = B.extent(1);
  if (k == 0) return;
  reserve(exec, k);
  m_moved = 0;
  const auto system_of = [&](const Part& part) { return front_system(part.orders, A, op, B, X); };
  const auto rows_at = [&](const Values& vectors, std::size_t first, std::size_t rows) {
    return Rows(vectors.data() + first * k, rows, k);
  };
  // Sums that a part takes or gives are neighbours in the stack of all sums.
  const auto sums_of = [&](const auto& blocks, std::size_t rows) {
    const std::size_t first = blocks.empty() ? 0 : static_cast<std::size_t>(blocks.front().passed.first_row);
    return rows_at(m_sums, first, rows);
  };
  sweep_parts(exec, true, [&](std::size_t p) {
    const Part& part = m_plan.parts[p];
    m_solvers[p].sweep_up(exec, part.plan, m_factors[p], system_of(part),
                          {range(m_plan.count_up, 0, part.taken_rows), sums_of(part.taken, part.taken_rows)},
                          {part.sums, sums_of(part.given, part.sums.extent(0))});
  });
  sweep_parts(exec, false, [&](std::size_t p) {
    const Part& part = m_plan.parts[p];
    const std::size_t later = part.later.extent(0);
    Kokkos::parallel_for("lutra::solver::solutions of later parts",
                         Kokkos::RangePolicy<ExecutionSpace, Kokkos::IndexType<std::int64_t>>(
                             exec, 0, static_cast<std::int64_t>(later)),
                         GatherRows<Scalar, decltype(part.later)>{m_later.data(), m_solution.data(),
                                                                  part.later, static_cast<int>(k)});
    m_solvers[p].sweep_down(
        exec, part.plan, m_factors[p], system_of(part),
        {range(m_plan.count_up, part.pivots, later), rows_at(m_later, 0, later)},
        {range(m_plan.count_up, 0, part.pivots), rows_at(m_solution, part.first_pivot, part.pivots)});
  });
  m_moved_by_solve = m_moved;
}

template <class Scalar, class ExecutionSpace>
std::int64_t StreamedFactors<Scalar, ExecutionSpace>::consume_timeout(const ExecutionSpace& exec) {
  std::int64_t first = -1;
  for (std::size_t p = 0; p < m_plan.parts.size(); ++p) {  // all that were stopped
    const std::int64_t pivot = m_solvers[p].consume_timeout(exec, m_plan.parts[p].plan);
    if (pivot >= 0 && first < 0) first = pivot + static_cast<std::int64_t>(m_plan.parts[p].first_pivot);
  }
  return first;
}

template <class Scalar, class ExecutionSpace>
void StreamedFactors<Scalar, ExecutionSpace>::describe(MemoryUse& memory) const {
  memory.host_peak_bytes = m_host_budget.peak_bytes();
  memory.moved_by_factorization = m_moved_by_factorization;
  memory.moved_by_solve = m_moved_by_solve;
}

#define LUTRA_STREAMED_FACTORS(Scalar, Space) template class StreamedFactors<Scalar, Space>;
LUTRA_FOR_EACH_SCALAR_AND_SPACE(LUTRA_STREAMED_FACTORS)

}  // namespace lutra::Impl
