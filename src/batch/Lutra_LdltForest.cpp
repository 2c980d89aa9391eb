// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_LdltForest.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "Lutra_Error.hpp"
#include "Lutra_Instantiate.hpp"
#include "Lutra_LdltAttempts.hpp"
#include "Lutra_LdltEngine.hpp"
#include "Lutra_Upload.hpp"

namespace lutra::Impl {

template <class Scalar, class ExecutionSpace>
LdltPlanOptions LdltForest<Scalar, ExecutionSpace>::plan_options(const LdltOptions& options) {
  LdltPlanOptions result = plan_options_of(options);
  const bool delays = options.pivoting == Pivoting::threshold;
  result.min_room = delays ? least_room : 0;
  if (!delays) result.room_share = 0;
  return result;
}

template <class Scalar, class ExecutionSpace>
LdltForest<Scalar, ExecutionSpace>::LdltForest(const ExecutionSpace& exec, const ForestPattern& all,
                                               const LdltOptions& options, std::size_t slots,
                                               const RealScales& row_scale, const RealScales& col_scale,
                                               const MemoryBudget& budget)
    : Base(exec, all, slots, row_scale, col_scale, budget), m_keep(budget), m_rule(rule_of(options)) {
  m_plan = plan_ldlt(exec, all.tree, all.entries(), budget, plan_options(options), this->pattern().A);
  bool by_trees = false;
  if constexpr (is_host_space<ExecutionSpace>) {
    by_trees = slots >= static_cast<std::size_t>(exec.concurrency());
    if (by_trees) m_trees.emplace(exec, m_plan, budget);
  }
  if (!by_trees) m_solver.emplace(exec, m_plan, budget);
  allocate_ldlt(exec, m_plan, budget, m_factors);
  m_largest = m_keep.template allocate<decltype(m_largest)>(exec, "lutra::batch::largest entries", slots);
  m_outcomes = m_keep.template allocate<decltype(m_outcomes)>(exec, "lutra::batch::outcomes", slots);
  m_rule.zero_tolerance = zero_tolerance<Scalar>(options, false);
  m_rule.largest_entries = m_largest.data();
  m_rule.fronts_a_matrix = std::max<Ordinal>(1, m_plan.base.count / static_cast<Ordinal>(slots));
}

template <class Scalar, class ExecutionSpace>
void LdltForest<Scalar, ExecutionSpace>::factorize(const ExecutionSpace& exec, double perturbation,
                                                   std::span<SlotFindings> found) {
  m_rule.perturbation = m_rule.pivoting == Pivoting::static_perturbed ? perturbation : 0.0;
  find_largest_entries<Scalar, ExecutionSpace>(exec, m_plan, this->scaled_values(), m_largest);
  while (run(exec).overflowed() && enlarge(exec)) {
  }
  inspect_matrices(exec, m_plan, m_factors, m_outcomes);
  inspect(exec, perturbation, found);
}

/// Factorizes with the present room. Fences.
template <class Scalar, class ExecutionSpace>
LdltOutcome LdltForest<Scalar, ExecutionSpace>::run(const ExecutionSpace& exec) {
  allocate_ldlt(exec, m_plan, this->budget(), m_factors);
  factorize_ldlt(exec, m_plan, {this->scaled_values()}, m_rule, m_factors);
  const LdltOutcome outcome = read_outcome(exec, m_factors);
  this->throw_if_stopped_at(outcome.stopped_front);
  return outcome;
}

/// Makes room for the delayed columns of systems that had too little and may have more. If memory does not
/// suffice, all fronts have the first room again, and these systems are not complete.
/// @returns whether to factorize again
template <class Scalar, class ExecutionSpace>
bool LdltForest<Scalar, ExecutionSpace>::enlarge(const ExecutionSpace& exec) {
  auto wanted = wanted_room(exec);
  if (wanted.empty()) return false;
  try {
    change_room(exec, m_plan, this->budget(), std::move(wanted), m_factors);
    return true;
  } catch (const OutOfMemoryError&) {
    m_factors = {};
  }
  run(exec);
  return false;
}

/// Room of all fronts with `most_room` where delayed columns did not fit, and in the ancestors there; empty
/// if no system can have what it needs.
template <class Scalar, class ExecutionSpace>
std::vector<int> LdltForest<Scalar, ExecutionSpace>::wanted_room(const ExecutionSpace& exec) const {
  const auto records = to_host(exec, m_factors.records);
  const std::vector<Front>& fronts = m_plan.base.layout.fronts;
  const auto of_slot = static_cast<std::size_t>(m_rule.fronts_a_matrix);
  const auto most = [&](std::size_t f) { return most_room * m_plan.room.host_fronts[f].max_delayed; };
  std::vector<int> room;
  for (const LdltFrontPlace& place : m_factors.room.host_fronts) room.push_back(place.max_delayed);
  bool any = false;
  for (std::size_t begin = 0; begin < records.size(); begin += of_slot) {
    bool fits = true;
    for (std::size_t f = begin; f < begin + of_slot; ++f) fits = fits && records[f].wanted <= most(f);
    if (!fits) continue;
    std::vector<char> grows(of_slot, 0);
    for (std::size_t f = begin; f < begin + of_slot; ++f) {
      if (records[f].wanted > 0) grows[f - begin] = 1;
      if (grows[f - begin] == 0) continue;
      any = true;
      room[f] = most(f);
      if (fronts[f].parent >= 0) grows[static_cast<std::size_t>(fronts[f].parent) - begin] = 1;
    }
  }
  return any ? room : std::vector<int>();
}

template <class Scalar, class ExecutionSpace>
void LdltForest<Scalar, ExecutionSpace>::inspect(const ExecutionSpace& exec, double perturbation,
                                                 std::span<SlotFindings> found) const {
  const auto of = outcomes(exec);
  for (std::size_t s = 0; s < found.size(); ++s) {
    const LdltMatrixOutcome& own = of[s];
    const bool is_small = own.smallest_pivot < perturbation * own.largest_entry;
    found[s].growth = !own.is_complete()      ? std::numeric_limits<double>::infinity()
                      : own.largest_entry > 0 ? own.largest_factor / own.largest_entry
                                              : 0.0;
    found[s].smallest_pivot = own.zero > 0 ? 0.0 : own.smallest_pivot;
    found[s].perturbed = own.perturbed + (is_small ? 1 : 0);
    found[s].negative = own.negative;
  }
}

template <class Scalar, class ExecutionSpace>
std::vector<LdltMatrixOutcome> LdltForest<Scalar, ExecutionSpace>::outcomes(
    const ExecutionSpace& exec) const {
  auto result = to_host(exec, m_outcomes);
  const auto largest = to_host(exec, m_largest);
  for (std::size_t s = 0; s < result.size(); ++s) result[s].largest_entry = largest[s];
  return result;
}

/// Hosts solve for one right-hand side after the other: a real one alone has kernels that round otherwise
/// than those for several, so that a solution would depend on how many there are.
template <class Scalar, class ExecutionSpace>
void LdltForest<Scalar, ExecutionSpace>::solve_system(const ExecutionSpace& exec, const System& system,
                                                      [[maybe_unused]] const char* active) {
  if constexpr (is_host_space<ExecutionSpace>) {
    if (m_trees)
      return m_trees->solve(exec, m_plan, m_factors, system, static_cast<int>(this->slots()), active);
  }
  const int at_once = is_host_space<ExecutionSpace> ? 1 : std::max(1, system.n_columns);
  for_column_groups(system.in, system.out, system.n_columns, at_once,
                    [&](const auto& in, const auto& out, int columns) {
                      System some = system;
                      some.in = in;
                      some.out = out;
                      some.n_columns = columns;
                      m_solver->solve(exec, m_plan, m_factors, some);
                    });
}

template <class Scalar, class ExecutionSpace>
std::size_t LdltForest<Scalar, ExecutionSpace>::bytes_of_solves(std::size_t columns) const {
  const std::size_t width = is_host_space<ExecutionSpace> || columns == 1 ? 1 : 4;
  const std::size_t values = static_cast<std::size_t>(m_factors.room.slots) +
                             static_cast<std::size_t>(m_plan.base.n) + m_plan.base.rows.extent(0);
  return values * width * sizeof(Scalar);
}

template <class Scalar, class ExecutionSpace>
std::int64_t LdltForest<Scalar, ExecutionSpace>::consume_timeout(const ExecutionSpace& exec) {
  return m_solver ? m_solver->consume_timeout(exec, m_plan) : -1;
}

#define LUTRA_LDLT_FOREST(Scalar, Space) template class LdltForest<Scalar, Space>;
LUTRA_FOR_EACH_SCALAR_AND_SPACE(LUTRA_LDLT_FOREST)

}  // namespace lutra::Impl
