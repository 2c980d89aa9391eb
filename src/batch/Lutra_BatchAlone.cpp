// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Systems that leave the batch: each is factorized and solved by a Numeric of its own, made anew for its
// values, so that its result does not depend on other systems.
#include <algorithm>
#include <limits>
#include <utility>

#include "Lutra_BatchEngine.hpp"
#include "Lutra_Instantiate.hpp"

namespace lutra::Impl {
namespace {

/// Where memory was refused, a system without solution may have one: what single solves try last needs more.
/// @param before refusals of the budget before the call that gave `status`
/// @throws OutOfMemoryError
void throw_if_short_of_memory(Status status, const MemoryBudget& budget, std::int64_t before) {
  const bool may_need_more = status == Status::numerically_singular || status == Status::breakdown ||
                             status == Status::error_above_tolerance;
  if (may_need_more && budget.refusals() > before)
    throw OutOfMemoryError("batch: no memory for all attempts to solve a system", 0);
}

}  // namespace

/// Makes and factorizes the Numeric of a slot.
template <class Scalar, class ExecutionSpace>
auto BatchEngine<Scalar, ExecutionSpace>::make_numeric(const Chunk& chunk, std::size_t slot)
    -> std::unique_ptr<SystemNumeric> {
  const auto k = static_cast<std::size_t>(chunk.systems[slot]);
  MemoryReservation scratch(m_budget);
  const auto values = scratch.template allocate<Kokkos::View<Scalar*, Memory>>(
      m_exec, "lutra::batch::values of a system", static_cast<std::size_t>(m_pattern.nnz));
  m_groups->extract(slot, values);
  auto numeric = std::make_unique<SystemNumeric>(m_analysis, m_options, m_exec, m_budget);
  const auto& A = m_analysis->pattern();
  const std::int64_t refusals = m_budget.refusals();
  const Status status = numeric->factorize({A.n_rows, A.n_cols, A.row_map, A.entries, values});
  m_exec.fence("lutra::batch: values of a system are freed");
  throw_if_short_of_memory(status, m_budget, refusals);
  m_report.statuses[k] = status == Status::success ? Status::not_solved : status;
  const Report& report = numeric->report();
  m_report.perturbed_pivots[k] = static_cast<int>(report.pivots.perturbed.value_or(0));
  if (!m_report.inertia.empty()) m_report.inertia[k] = report.inertia;
  return numeric;
}

template <class Scalar, class ExecutionSpace>
void BatchEngine<Scalar, ExecutionSpace>::factorize_alone(const Chunk& chunk, std::size_t slot) {
  m_is_alone[static_cast<std::size_t>(chunk.systems[slot])] = 1;
  with_numeric(chunk, slot, [](SystemNumeric&) {});
}

/// Solves for the right-hand sides that the batch has not solved.
/// @param before outcome of those that it has
template <class Scalar, class ExecutionSpace>
void BatchEngine<Scalar, ExecutionSpace>::solve_alone(const Chunk& chunk, std::size_t slot,
                                                      const ConstBlock& B, const Block& X, Transposition op,
                                                      const SlotSolution& before) {
  const auto k = static_cast<std::size_t>(chunk.systems[slot]);
  constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
  m_report.componentwise[k] = m_report.normwise[k] = unknown;
  m_report.refinement_steps[k] = before.steps;
  with_numeric(chunk, slot, [&](SystemNumeric& numeric) {
    const std::pair<std::size_t, std::size_t> columns(static_cast<std::size_t>(before.first_failed),
                                                      B.extent(1));
    const std::int64_t refusals = m_budget.refusals();
    m_report.statuses[k] = numeric.solve(Kokkos::subview(B, Kokkos::ALL, columns, k),
                                         Kokkos::subview(X, Kokkos::ALL, columns, k), op);
    throw_if_short_of_memory(m_report.statuses[k], m_budget, refusals);
    const Report& report = numeric.report();
    if (report.errors.backward_componentwise)
      m_report.componentwise[k] = std::max(before.componentwise, *report.errors.backward_componentwise);
    if (report.errors.backward_normwise)
      m_report.normwise[k] = std::max(before.normwise, *report.errors.backward_normwise);
    m_report.refinement_steps[k] = std::max(before.steps, static_cast<int>(report.refinement_steps));
  });
}

#define LUTRA_BATCH_ALONE(Scalar, Space)                                                              \
  template auto BatchEngine<Scalar, Space>::make_numeric(const Chunk&, std::size_t)                   \
      ->std::unique_ptr<SystemNumeric>;                                                               \
  template void BatchEngine<Scalar, Space>::factorize_alone(const Chunk&, std::size_t);               \
  template void BatchEngine<Scalar, Space>::solve_alone(const Chunk&, std::size_t, const ConstBlock&, \
                                                        const Block&, Transposition, const SlotSolution&);
LUTRA_FOR_EACH_SCALAR_AND_SPACE(LUTRA_BATCH_ALONE)

}  // namespace lutra::Impl
