// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "Lutra_AllFinite.hpp"
#include "Lutra_CheckVector.hpp"
#include "Lutra_Distributed.hpp"
#include "Lutra_Error.hpp"
#include "Lutra_FirstRankSolver.hpp"
#include "Lutra_GridOnRanks.hpp"
#include "Lutra_Instantiate.hpp"
#include "Lutra_Refinement.hpp"
#include "Lutra_RunStage.hpp"

namespace lutra {
namespace {

using Impl::RankColumns;

/// Whether all elements of a View of the default execution space are finite. Waits.
template <class View>
bool is_finite(const View& view) {
  return Impl::first_bad_row(Kokkos::DefaultExecutionSpace(), view) >=
         static_cast<std::int64_t>(view.extent(0));
}
template <class Scalar>
bool is_finite_on_host(const RankColumns<const Scalar>& columns) {
  using Real = RealOf<Scalar>;
  bool finite = true;
  for (std::size_t c = 0; c < columns.count; ++c)
    finite = finite && Impl::all_finite(reinterpret_cast<const Real*>(columns.data + c * columns.stride),
                                        columns.rows * (sizeof(Scalar) / sizeof(Real)));
  return finite;
}

/// Copies of elements on the host, column by column.
template <class Scalar, class Memory>
std::vector<Scalar> on_host(const Kokkos::View<const Scalar*, Memory>& values) {
  std::vector<Scalar> copy(values.extent(0));
  Kokkos::deep_copy(Kokkos::View<Scalar*, Kokkos::HostSpace>(copy.data(), copy.size()), values);
  return copy;
}
template <class T>
using ContiguousColumn = Kokkos::View<T*, Kokkos::DefaultExecutionSpace::memory_space>;
template <class Scalar>
std::vector<Scalar> on_host(const RankColumns<const Scalar>& columns) {
  std::vector<Scalar> copy(columns.rows * columns.count);
  for (std::size_t c = 0; c < columns.count; ++c) {
    const Scalar* const column = columns.data + c * columns.stride;
    Scalar* const to = copy.data() + c * columns.rows;
    if (columns.on_device)
      Kokkos::deep_copy(Kokkos::View<Scalar*, Kokkos::HostSpace>(to, columns.rows),
                        ContiguousColumn<const Scalar>(column, columns.rows));
    else
      std::copy_n(column, columns.rows, to);
  }
  return copy;
}
/// The way back.
template <class Scalar>
void copy_to(const RankColumns<Scalar>& columns, const std::vector<Scalar>& from) {
  for (std::size_t c = 0; c < columns.count; ++c)
    Kokkos::deep_copy(
        ContiguousColumn<Scalar>(columns.data + c * columns.stride, columns.rows),
        Kokkos::View<const Scalar*, Kokkos::HostSpace>(from.data() + c * columns.rows, columns.rows));
}

/// What all ranks must agree on.
struct Call {
  std::int64_t columns;
  Transposition op;
  bool may_stop;  ///< may differ: a rank with a deadline or a stop flag
};
std::string describe(const Call& call) {
  return std::to_string(call.columns) + " right-hand sides of " +
         (call.op == Transposition::none         ? "A"
          : call.op == Transposition::transposed ? "the transpose"
                                                 : "the adjoint");
}

template <class T>
std::string shape(const RankColumns<T>& of) {
  return std::to_string(of.rows) + " × " + std::to_string(of.count);
}

}  // namespace

template <class Scalar>
Status DistributedLU<Scalar>::solve_alone(std::span<const Scalar> B, std::span<Scalar> X, std::size_t k,
                                          Transposition op) {
  const Kokkos::Timer timer;
  const auto distribution = m_report.times.distribution;
  const std::string why = m_report.choice.why;
  m_alone->solve(B, X, k, op, m_A->all_rows());
  m_report = m_alone->report();
  m_report.choice.why = why;
  m_report.times.distribution = distribution;
  // what messages take counts as part of the solve
  m_report.times.solve = timer.seconds() - m_report.times.refine.value_or(0);
  return m_report.status;
}

/// The factors where solves use them.
template <class Scalar>
Impl::RankSolver<Scalar>& DistributedLU<Scalar>::solver() {
  if (m_grid) return *m_grid;
  return *m_fronts;
}

/// Whether values and vectors of a device are used where they are.
template <class Scalar>
bool DistributedLU<Scalar>::takes_device_memory() {
  return !m_alone && m_fronts && solver().takes_device_memory();
}

template <class Scalar>
Status DistributedLU<Scalar>::refactorize(const DeviceValues& values) {
  return m_comm.collectively("factorization of new values", [&] {
    const RunningCall call(m_run, m_options, "factorize");
    return refactorize_on_devices(values);
  });
}

template <class Scalar>
Status DistributedLU<Scalar>::solve(std::span<const Scalar> B, std::span<Scalar> X, std::size_t k,
                                    Transposition op) {
  return m_comm.collectively("a solve",
                             [&] { return stop_together([&] { return solve_on_hosts(B, X, k, op); }); });
}

template <class Scalar>
Status DistributedLU<Scalar>::solve(const DeviceColumns<const Scalar>& B, const DeviceColumns<Scalar>& X,
                                    Transposition op) {
  return m_comm.collectively("a solve",
                             [&] { return stop_together([&] { return solve_on_devices(B, X, op); }); });
}

template <class Scalar>
Status DistributedLU<Scalar>::refactorize_on_devices(const DeviceValues& values) {
  const Kokkos::Timer timer;
  if (!takes_device_memory()) return refactorize_on_hosts(std::span<const Scalar>(on_host(values)));
  m_comm.agree(
      "new values of a distributed matrix",
      [&] {
        check_for_refactorization(values.extent(0));
        if (is_finite(values)) return;
        Impl::check_values<Scalar>(m_A->rows(), on_host(values));  // names the entry
      },
      false);
  m_usable = false;
  m_report.status = Status::not_solved;
  m_fronts->update_values(values);
  m_has_newer_values = true;
  m_report.times.distribution = timer.seconds();
  return factorize_values(true);
}

/// @returns whether there is something to solve with
template <class Scalar>
bool DistributedLU<Scalar>::check_for_solve(const Impl::RankColumns<const Scalar>& B,
                                            const Impl::RankColumns<Scalar>& X, Transposition op) {
  const auto calls = m_comm.all_gather(Call{static_cast<std::int64_t>(B.count), op, m_run.is_limited()});
  m_may_stop = std::ranges::any_of(calls, &Call::may_stop);
  m_comm.agree(
      "right-hand sides of a distributed matrix",
      [&] {
        for (std::size_t r = 1; r < calls.size(); ++r)
          if (calls[r].columns != calls[0].columns || calls[r].op != calls[0].op)
            throw InputError("solve: rank 0 has " + describe(calls[0]) + ", and rank " + std::to_string(r) +
                             " has " + describe(calls[r]));
        if (!m_usable && (m_report.status == Status::not_solved || m_report.status == Status::cancelled))
          throw CallOrderError("solve: there is no factorization; call factorize first");
        if (!m_usable) return;
        m_run.poll();
        const std::size_t mine = m_A->rows().rows.size();
        if (B.rows != mine || X.rows != mine || B.count != X.count)
          throw InputError("B and X: " + shape(B) + " and " + shape(X) + ", not both with " +
                           std::to_string(mine) + " rows and as many columns");
        if (B.on_device ? is_finite(B.template view<DeviceMemory>()) : is_finite_on_host(B)) return;
        const std::vector<Scalar> columns = on_host(B);
        for (std::size_t e = 0; e < columns.size(); ++e)
          if (!ScalarTraits<Scalar>::is_finite(columns[e]))
            throw InputError("B: row " + std::to_string(m_A->rows().rows[e % mine]) + ", column " +
                             std::to_string(e / mine) + " is not finite");
      },
      false);
  return m_usable;
}

/// @returns what call() returns, or cancelled if it was stopped on all ranks
template <class Scalar>
template <class Call>
Status DistributedLU<Scalar>::stop_together(const Call& call) {
  const RunningCall running(m_run, m_options, "solve");
  if (!running.is_outermost()) return call();
  try {
    return call();
  } catch (const CancelledError&) {
    return m_report.status = Status::cancelled;
  }
}

template <class Scalar>
Status DistributedLU<Scalar>::solve_on_hosts(std::span<const Scalar> B, std::span<Scalar> X, std::size_t k,
                                             Transposition op) {
  const std::size_t mine = m_A->rows().rows.size();
  m_comm.agree(
      "right-hand sides of a distributed matrix",
      [&] {
        if (m_usable && (B.size() != mine * k || X.size() != mine * k))
          throw InputError("B and X of rank " + std::to_string(m_comm.rank()) + ": " +
                           std::to_string(B.size()) + " and " + std::to_string(X.size()) + " values, not " +
                           std::to_string(mine * k));
      },
      false);
  if (!check_for_solve({B.data(), mine, k, mine}, {X.data(), mine, k, mine}, op)) return m_report.status;
  if (m_alone) return solve_alone(B, X, k, op);
  if (op == Transposition::adjoint) {  // Aᴴ·x = b is Aᵀ·conj(x) = conj(b)
    std::vector<Scalar> right(B.begin(), B.end());
    for (Scalar& value : right) value = ScalarTraits<Scalar>::conjugate(value);
    const Status status = solve_on_hosts(right, X, k, Transposition::transposed);
    if (!m_usable) return status;  // X is unchanged
    for (Scalar& value : X) value = ScalarTraits<Scalar>::conjugate(value);
    return status;
  }
  const bool done = solve_refined({B.data(), mine, k, mine}, {X.data(), mine, k, mine}, op);
  return done || !m_usable ? m_report.status : solve_alone(B, X, k, op);
}

template <class Scalar>
Status DistributedLU<Scalar>::solve_on_devices(const DeviceColumns<const Scalar>& B,
                                               const DeviceColumns<Scalar>& X, Transposition op) {
  constexpr bool on_device = !Impl::is_host_space<Kokkos::DefaultExecutionSpace>;
  const Impl::RankColumns<const Scalar> in{B.data(), B.extent(0), B.extent(1), B.stride(1), on_device};
  const Impl::RankColumns<Scalar> out{X.data(), X.extent(0), X.extent(1), X.stride(1), on_device};
  if (!check_for_solve(in, out, op)) return m_report.status;
  if (takes_device_memory() && op != Transposition::adjoint && solve_refined(in, out, op))
    return m_report.status;
  if (!m_usable) return m_report.status;
  std::vector<Scalar> columns = on_host(in);
  const Status status = solve_on_hosts(columns, columns, in.count, op);
  if (m_usable) copy_to(out, columns);
  return status;
}

/// Solves with the fronts or the grid, and refines.
/// @returns false if the matrix may be singular; rank 0 has then factorized alone, and X is not written
template <class Scalar>
bool DistributedLU<Scalar>::solve_refined(const Impl::RankColumns<const Scalar>& B,
                                          const Impl::RankColumns<Scalar>& X, Transposition op) {
  const Impl::RunStage stage(m_budget, "solve");
  const Kokkos::Timer timer;
  m_report.status = Status::success;
  if (B.count == 0) return true;
  const double success =
      m_options.error_tolerance > 0 ? m_options.error_tolerance : default_error_tolerance<Scalar>();
  Impl::RankSolveOptions options{{m_options.max_refinement_steps, m_options.error_tolerance}, success};
  if (m_fronts) options.most_amplification = Impl::largest_condition_on_ranks<Scalar>;
  options.may_stop = m_may_stop;
  options.run = m_run;
  const Impl::RankSolveOutcome outcome = solver().solve(B, X, op, options);
  if (outcome.may_be_singular) {
    factorize_for_judgement();
    return false;
  }
  note_memory();
  m_report.escalations.clear();
  if (outcome.gmres_iterations > 0)
    m_report.escalations.push_back("refinement stalled: " + std::to_string(outcome.gmres_iterations) +
                                   " GMRES iterations with the factors as preconditioner");
  const double error = std::ranges::max(outcome.errors.componentwise);
  m_report.refinement_steps = outcome.steps;
  m_report.times.refine = outcome.refine_seconds;
  m_report.times.solve = timer.seconds() - outcome.refine_seconds;
  m_report.errors.backward_componentwise = error;
  m_report.errors.backward_normwise = std::ranges::max(outcome.errors.normwise);
  m_report.status = !std::isfinite(error) ? Status::breakdown
                    : error <= success    ? Status::success
                                          : Status::error_above_tolerance;
  return true;
}

template <class Scalar>
void DistributedLU<Scalar>::close() {
  m_comm.collectively("the end of a solver", [&] {
    if (m_grid) m_grid->close();
    m_grid.reset();
    if (m_fronts) m_fronts->close();
    m_fronts.reset();
    m_alone.reset();
    m_usable = false;
  });
}

template <class Scalar>
std::vector<RankStatistics> DistributedLU<Scalar>::statistics() {
  return m_comm.collectively("statistics", [&] {
    std::vector<RankStatistics> all, mine(1);
    if (m_grid || m_fronts) mine[0] = solver().statistics();
    if (m_alone && m_comm.rank() == 0) {
      mine[0].rows = m_A->rows().n;
      mine[0].entries = m_report.factors.nnz_l.value_or(0) + m_report.factors.nnz_u.value_or(0);
    }
    m_search.copy_search_to(mine[0]);
    for (const auto& one : m_comm.gather(mine)) all.push_back(one.front());
    return all;
  });
}

#define LUTRA_DISTRIBUTED_SOLVE(Scalar)                                                                 \
  template void DistributedLU<Scalar>::close();                                                         \
  template std::vector<RankStatistics> DistributedLU<Scalar>::statistics();                             \
  template Impl::RankSolver<Scalar>& DistributedLU<Scalar>::solver();                                   \
  template Status DistributedLU<Scalar>::solve(std::span<const Scalar>, std::span<Scalar>, std::size_t, \
                                               Transposition);                                          \
  template Status DistributedLU<Scalar>::solve(const DeviceColumns<const Scalar>&,                      \
                                               const DeviceColumns<Scalar>&, Transposition);            \
  template Status DistributedLU<Scalar>::refactorize(const DeviceValues&);
LUTRA_FOR_EACH_SCALAR(LUTRA_DISTRIBUTED_SOLVE)

}  // namespace lutra
