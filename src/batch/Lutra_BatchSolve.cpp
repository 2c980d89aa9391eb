// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "Lutra_BatchEngine.hpp"
#include "Lutra_CheckEnumerator.hpp"
#include "Lutra_Instantiate.hpp"
#include "Lutra_Outcome.hpp"
#include "Lutra_RunStage.hpp"
#include "Lutra_Upload.hpp"

namespace lutra::Impl {
namespace {

/// First element that is not finite, as (slot · nrhs + column) · n + row.
template <class Block, class Systems>
struct FirstBadElement {
  Block B;
  Systems systems;
  std::int64_t n, n_rhs;
  KOKKOS_FUNCTION void operator()(const std::int64_t t, std::int64_t& first) const {
    using Scalar = typename Block::non_const_value_type;
    const std::int64_t i = t % n, c = t / n % n_rhs, slot = t / (n * n_rhs);
    if (!ScalarTraits<Scalar>::is_finite(B(i, c, systems(slot))) && t < first) first = t;
  }
};

/// The address behind the last element of a View with strides.
template <class Block>
auto end_of(const Block& view) {
  std::size_t last = 0;
  for (int d = 0; d < 3; ++d) last += (view.extent(d) - 1) * view.stride(d);
  return view.data() + last + 1;
}

/// Whether a solution that is written to X may change elements of B that are read later.
template <class B, class X>
bool may_overlap(const B& right, const X& left) {
  if (right.size() == 0) return false;
  bool same = right.data() == left.data();
  for (int d = 0; d < 3; ++d) same = same && (right.extent(d) == 1 || right.stride(d) == left.stride(d));
  const std::less<const void*> before;
  return !same && before(right.data(), end_of(left)) && before(left.data(), end_of(right));
}

template <class Extents>
std::string show(const Extents& view) {
  return std::to_string(view.extent(0)) + " × " + std::to_string(view.extent(1)) + " × " +
         std::to_string(view.extent(2));
}

}  // namespace

/// @throws CallOrderError, InputError
template <class Scalar, class ExecutionSpace>
void BatchEngine<Scalar, ExecutionSpace>::check_blocks(const char* call, const ConstBlock& B,
                                                       const ConstBlock& X, Transposition op) const {
  if (!m_is_factorized)
    throw CallOrderError(std::string(call) + ": there is no factorization; call factorize first");
  check_enumerator("op", op, Transposition::adjoint);
  if (static_cast<std::int64_t>(B.extent(0)) != m_pattern.n ||
      static_cast<std::int64_t>(B.extent(2)) != m_report.systems)
    throw InputError(std::string(call) + ": B is " + show(B) + ", but the batch has " +
                     std::to_string(m_pattern.n) + " rows and " + std::to_string(m_report.systems) +
                     " systems");
  if (X.extent(0) != B.extent(0) || X.extent(1) != B.extent(1) || X.extent(2) != B.extent(2))
    throw InputError(std::string(call) + ": X is " + show(X) + ", but B is " + show(B));
}

/// @throws InputError if elements of X have the same memory
template <class Scalar, class ExecutionSpace>
void BatchEngine<Scalar, ExecutionSpace>::check_written(const char* call, const Block& X) const {
  constexpr const char* elements[] = {"rows", "columns", "systems"};
  for (int d = 0; d < 3; ++d)
    if (X.size() > 0 && X.extent(d) > 1 && X.stride(d) == 0)
      throw InputError(std::string(call) + ": " + elements[d] + " of X share their memory");
}

/// B, or a copy if it shares memory with X and is not X itself.
/// @param copy keeps the copy
template <class Scalar, class ExecutionSpace>
auto BatchEngine<Scalar, ExecutionSpace>::apart(const ConstBlock& B, const Block& X,
                                                MemoryReservation& scratch, BlockCopy& copy) const
    -> ConstBlock {
  if (!may_overlap(B, X)) return B;
  copy = scratch.template allocate<BlockCopy>(m_exec, "lutra::batch::copy of B", B.extent(0), B.extent(1),
                                              B.extent(2));
  Kokkos::deep_copy(m_exec, copy, B);
  return ConstBlock(copy.data(), Kokkos::LayoutStride(B.extent(0), B.extent(1) * B.extent(2), B.extent(1),
                                                      B.extent(2), B.extent(2), 1));
}

/// @throws InputError naming the first system, row and column of B that are not finite
template <class Scalar, class ExecutionSpace>
void BatchEngine<Scalar, ExecutionSpace>::check_right_sides(const ConstBlock& B) const {
  if (m_active.empty() || B.extent(1) == 0) return;
  if constexpr (is_host_space<ExecutionSpace>) {
    if (has_only_finite(B)) return;
  }
  MemoryReservation scratch(m_budget);
  const auto systems = upload(m_exec, scratch, "lutra::batch::systems", m_active);
  const auto n_rhs = static_cast<std::int64_t>(B.extent(1));
  const FirstBadElement<ConstBlock, decltype(systems)> find{B, systems, m_pattern.n, n_rhs};
  constexpr std::int64_t none = std::numeric_limits<std::int64_t>::max();
  std::int64_t first = none;
  Kokkos::parallel_reduce("lutra::batch::check_right_sides",
                          Kokkos::RangePolicy<ExecutionSpace, Kokkos::IndexType<std::int64_t>>(
                              m_exec, 0, m_pattern.n * n_rhs * static_cast<std::int64_t>(m_active.size())),
                          find, Kokkos::Min<std::int64_t>(first));
  m_exec.fence("lutra::batch: right-hand sides are checked");
  if (first == none) return;
  const std::int64_t n = m_pattern.n;
  throw InputError(
      "B: " +
      name_entry(m_active[static_cast<std::size_t>(first / (n * n_rhs))], first % n, first / n % n_rhs) +
      " holds NaN or infinity");
}

/// Slots whose factors in the groups serve solves.
template <class Scalar, class ExecutionSpace>
std::vector<char> BatchEngine<Scalar, ExecutionSpace>::usable(const Chunk& chunk) const {
  std::vector<char> result(chunk.systems.size(), 0);
  for (std::size_t slot = 0; slot < chunk.end - chunk.first; ++slot)
    result[slot] = is_alone(static_cast<std::size_t>(chunk.systems[slot])) ? 0 : 1;
  return result;
}

template <class Scalar, class ExecutionSpace>
bool BatchEngine<Scalar, ExecutionSpace>::checks_solutions() const {
  if (m_options.check == SolutionCheck::always) return true;
  return m_options.check == SolutionCheck::first && !m_is_proven;
}

/// Calls visit(chunk) with the factors of each chunk in place.
template <class Scalar, class ExecutionSpace>
template <class Visit>
void BatchEngine<Scalar, ExecutionSpace>::for_chunks(const Visit& visit) {
  if (m_active.empty()) return;
  for (std::size_t c = 0; c < static_cast<std::size_t>(m_report.chunks); ++c) {
    m_budget.run().poll(static_cast<double>(c), static_cast<double>(m_report.chunks));
    const Chunk part = chunk(c);
    if (m_report.chunks > 1) {
      load(part);
      std::vector<SlotFindings> found(part.systems.size());
      if (m_pattern.factor_entries > 0) m_groups->factorize(perturbation(), found);
    }
    visit(part);
  }
}

template <class Scalar, class ExecutionSpace>
void BatchEngine<Scalar, ExecutionSpace>::record(std::size_t system, const SlotSolution& solution,
                                                 bool checked) {
  m_report.statuses[system] = checked ? Status::success : Status::unchecked;
  constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
  m_report.componentwise[system] = checked ? solution.componentwise : unknown;
  m_report.normwise[system] = checked ? solution.normwise : unknown;
  m_report.refinement_steps[system] = solution.steps;
}

template <class Scalar, class ExecutionSpace>
void BatchEngine<Scalar, ExecutionSpace>::solve_chunk(const Chunk& chunk, const ConstBlock& B, const Block& X,
                                                      Transposition op) {
  const double tolerance = m_options.error_tolerance;
  SlotSolveOptions options;
  options.check = checks_solutions();
  options.goal = tolerance > 0 ? tolerance : refinement_goal<Scalar>();
  options.tolerance = tolerance > 0 ? tolerance : default_error_tolerance<Scalar>();
  options.max_amplification = 1 / std::sqrt(static_cast<double>(epsilon_of<Scalar>));
  options.max_steps = m_options.max_refinement_steps;
  options.probe = options.check && !m_is_probed && !trusts_pivots();
  options.is_probed = options.probe || (m_is_probed && !trusts_pivots());
  const auto used = usable(chunk);
  std::vector<SlotSolution> solutions(chunk.systems.size());
  if (m_pattern.factor_entries > 0) m_groups->solve(B, X, op, chunk.systems, used, options, solutions);
  for (std::size_t slot = 0; slot < chunk.end - chunk.first; ++slot) {
    const auto k = static_cast<std::size_t>(chunk.systems[slot]);
    if (used[slot] != 0 && solutions[slot].first_failed < 0) {
      record(k, solutions[slot], options.check);
      continue;
    }
    m_budget.run().poll();
    if (used[slot] != 0) factorize_alone(chunk, slot);
    if (used[slot] == 0) solutions[slot] = {.first_failed = 0};
    solve_alone(chunk, slot, B, X, op, solutions[slot]);
  }
}

template <class Scalar, class ExecutionSpace>
Status BatchEngine<Scalar, ExecutionSpace>::solve(const ConstBlock& B, const Block& X, Transposition op) {
  if (is_incomplete()) throw InputError("solve: incomplete factors are applied, or given to a Krylov method");
  check_blocks("solve", B, X, op);
  check_written("solve", X);
  return stoppable(m_exec, m_budget.run(), m_options, "solve", [&] {
    check_right_sides(B);
    m_budget.run().poll();  // up to here nothing has changed
    const RunStage stage(m_budget, "solve");
    const Kokkos::Timer timer;
    forget_solutions();
    MemoryReservation scratch(m_budget);
    BlockCopy copy;
    return report_failure(
        [&] {
          const ConstBlock right = apart(B, X, scratch, copy);
          if (right.extent(1) > 0) {
            for_chunks([&](const Chunk& part) { solve_chunk(part, right, X, op); });
            m_is_probed = m_is_probed || checks_solutions();
          }
          m_exec.fence("lutra::batch: X is complete");
          finish_report();
          m_report.solve_seconds = timer.seconds();
          const auto needs_none = [](int steps) { return steps == 0; };
          m_is_proven = m_is_proven || (m_report.status == Status::success &&
                                        std::ranges::all_of(m_report.refinement_steps, needs_none));
          return m_report.status;
        },
        [&](Status status) { m_report.status = status; });
  });
}

/// A call that ends early leaves no success of an earlier one.
template <class Scalar, class ExecutionSpace>
void BatchEngine<Scalar, ExecutionSpace>::forget_solutions() {
  constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
  for (const std::int64_t system : m_active) {
    const auto k = static_cast<std::size_t>(system);
    if (!is_alone(k) || severity(m_report.statuses[k]) <= severity(Status::error_above_tolerance))
      m_report.statuses[k] = Status::not_solved;
    m_report.componentwise[k] = m_report.normwise[k] = unknown;
    m_report.refinement_steps[k] = 0;
  }
  m_report.status = Status::not_solved;
}

template <class Scalar, class ExecutionSpace>
void BatchEngine<Scalar, ExecutionSpace>::apply(const ConstBlock& B, const Block& X, Transposition op,
                                                const Mask& mask) {
  check_blocks("apply", B, X, op);
  check_written("apply", X);
  check_mask(mask, static_cast<std::size_t>(m_report.systems));
  const RunningCall running(m_budget.run(), m_options, "apply");
  if (B.extent(1) == 0) return;
  MemoryReservation scratch(m_budget);
  BlockCopy copy;
  const ConstBlock right = apart(B, X, scratch, copy);
  SlotSolveOptions options;
  options.check = false;
  for_chunks([&](const Chunk& part) {
    const auto is_wanted = [&](std::size_t slot) {
      return mask.empty() || mask[static_cast<std::size_t>(part.systems[slot])];
    };
    auto used = usable(part);
    for (std::size_t slot = 0; slot < used.size(); ++slot) used[slot] = used[slot] != 0 && is_wanted(slot);
    std::vector<SlotSolution> solutions(part.systems.size());
    if (m_pattern.factor_entries > 0) m_groups->solve(right, X, op, part.systems, used, options, solutions);
    for (std::size_t slot = 0; slot < part.end - part.first; ++slot) {
      if (used[slot] != 0 || !is_wanted(slot)) continue;
      const auto k = static_cast<std::size_t>(part.systems[slot]);
      with_numeric(part, slot, [&](SystemNumeric& numeric) {
        if (numeric.factorization() == nullptr) return;
        numeric.apply(Kokkos::subview(right, Kokkos::ALL, Kokkos::ALL, k),
                      Kokkos::subview(X, Kokkos::ALL, Kokkos::ALL, k), op);
        m_exec.fence("lutra::batch: a system is solved");
        numeric.check_applied();
      });
    }
  });
  m_exec.fence("lutra::batch: X is complete");
}

template <class Scalar, class ExecutionSpace>
void BatchEngine<Scalar, ExecutionSpace>::residual(const ConstBlock& B, const ConstBlock& X, const Block& R,
                                                   Transposition op) {
  check_blocks("residual", B, X, op);
  check_blocks("residual", B, R, op);
  const RunningCall running(m_budget.run(), m_options, "residual");
  if (m_active.empty() || B.extent(1) == 0) return;
  for (std::size_t c = 0; c < static_cast<std::size_t>(m_report.chunks); ++c) {
    const Chunk part = chunk(c);
    if (m_report.chunks > 1) load(part);
    std::vector<char> used(part.systems.size(), 0);
    std::fill_n(used.begin(), part.end - part.first, char(1));
    m_groups->residual(B, X, R, op, part.systems, used);
  }
  m_exec.fence("lutra::batch: R is complete");
}

#define LUTRA_BATCH_SOLVE(Scalar, Space)                                                                 \
  template Status BatchEngine<Scalar, Space>::solve(const ConstBlock&, const Block&, Transposition);     \
  template void BatchEngine<Scalar, Space>::apply(const ConstBlock&, const Block&, Transposition,        \
                                                  const Mask&);                                          \
  template void BatchEngine<Scalar, Space>::residual(const ConstBlock&, const ConstBlock&, const Block&, \
                                                     Transposition);
LUTRA_FOR_EACH_SCALAR_AND_SPACE(LUTRA_BATCH_SOLVE)

}  // namespace lutra::Impl
