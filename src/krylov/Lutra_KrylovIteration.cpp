// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_KrylovCycles.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "Lutra_CheckEnumerator.hpp"
#include "Lutra_Instantiate.hpp"
#include "Lutra_KrylovMethods.hpp"
#include "Lutra_PowerOfTwo.hpp"
#include "Lutra_RefinementKernels.hpp"

namespace lutra {
namespace Impl {

/// Steps between looks at the residuals, each of which waits for the device: about an eighth of the
/// iterations so far, so that at most as many are in vain.
/// @param most iterations of which a column keeps the residuals
template <class ExecutionSpace>
int steps_before_look(int iterations, int most, int step_iterations) {
  return std::max(1, std::clamp(iterations / 8, 1, most) / step_iterations);
}
/// Hosts wait for nothing.
template <HostExecution ExecutionSpace>
int steps_before_look(int, int, int) {
  return 1;
}

/// Finds the power of two below the largest real or imaginary part: the scale of each column of B, or the
/// unit of each running column of a product.
template <class Columns, class Rows, class TotalsView>
struct FindScales {
  using Scalar = typename Rows::value_type;
  using Real = RealOf<Scalar>;
  using Sum = LargestOfColumn<Scalar>;
  Columns columns;
  Rows B;
  TotalsView totals;
  bool is_product;

  KOKKOS_FUNCTION bool skips(int c) const { return is_product && !columns(c).running; }
  KOKKOS_FUNCTION void add(std::int64_t i, int c, int, Sum& sum) const {
    const Real size = largest_part(B(i, c));
    constexpr Real infinity = Kokkos::Experimental::infinity_v<Real>;
    sum.raise(Scalar(Kokkos::isfinite(size) ? size : infinity));
  }
  KOKKOS_FUNCTION void finish(int c) const {
    const Real largest = real_part(totals(c, 0));
    const int exponent = exponent_of(largest);
    if (is_product) {
      columns(c).inverse_unit = power_of_two<Real>(-exponent);
    } else {
      columns(c).scale = largest == 0 ? Real(0) : power_of_two<Real>(exponent);
    }
  }
};

/// R = (B − R) / scale, and norms of R and B. The norm of R is infinite if X is not finite, also in unknowns
/// that A does not read. If B = 0, X becomes zero.
template <class Columns, class Rows, class TotalsView>
struct ScaledResidual {
  using Scalar = typename Rows::value_type;
  using Sum = ColumnSum<Scalar, 2>;
  Columns columns;
  Rows B, X, R;
  TotalsView totals;

  KOKKOS_FUNCTION bool skips(int) const { return false; }
  KOKKOS_FUNCTION void add(std::int64_t i, int c, int, Sum& sum) const {
    const auto scale = columns(c).scale;
    if (scale == 0) {
      X(i, c) = R(i, c) = Scalar(0);
      return;
    }
    const Scalar b = B(i, c) / scale, r = (B(i, c) - R(i, c)) / scale;
    R(i, c) = r;
    constexpr auto infinity = Kokkos::Experimental::infinity_v<RealOf<Scalar>>;
    sum.values[0] += ScalarTraits<Scalar>::is_finite(X(i, c)) ? dot(r, r) : Scalar(infinity);
    sum.values[1] += dot(b, b);
  }
  KOKKOS_FUNCTION void finish(int c) const {
    columns(c).norm = Kokkos::sqrt(real_part(totals(c, 0)));
    columns(c).B_norm = Kokkos::sqrt(real_part(totals(c, 1)));
  }
};

}  // namespace Impl

namespace {

/// X += scale·D for the columns that have iterated; X_before receives the previous X.
template <class ExecutionSpace, class Columns, class Rows>
void correct(const ExecutionSpace& exec, const Columns& columns, const Rows& D, const Rows& X,
             const Rows& X_before) {
  Impl::for_entries(
      exec, "lutra::krylov::correct", X, KOKKOS_LAMBDA(const std::int64_t i, const int c) {
        X_before(i, c) = X(i, c);
        if (columns(c).iterations > 0) X(i, c) += D(i, c) * columns(c).scale;
      });
}

/// X = X_before for the marked columns.
template <class ExecutionSpace, class Columns, class Rows>
void restore(const ExecutionSpace& exec, const Columns& columns, const Rows& X_before, const Rows& X) {
  Impl::for_entries(
      exec, "lutra::krylov::restore", X, KOKKOS_LAMBDA(const std::int64_t i, const int c) {
        if (columns(c).restore) X(i, c) = X_before(i, c);
      });
}

void check(bool condition, const char* what) {
  if (!condition) throw InputError(what);
}

}  // namespace

/// Host-side progress of a column.
template <class Scalar, class ExecutionSpace>
struct Impl::KrylovCycles<Scalar, ExecutionSpace>::Progress {
  KrylovOutcome outcome{};
  double before = 0;   ///< relative residual at the start of the last cycle
  double tighten = 1;  ///< factor for the goal of estimates, because earlier ones were too low
  int breakdowns = 0;
  int fetched = 0;  ///< iterations of this cycle already in the history
  bool running = true;

  /// Decides from the residual computed from X whether the column continues, and sets its state for the next
  /// cycle.
  void judge(Column& column, const KrylovOptions& options) {
    column.running = column.restore = false;
    if (running) {
      const bool is_first = outcome.history.empty();
      const double norm =
          column.scale == 0 ? 0.0 : static_cast<double>(column.norm) / static_cast<double>(column.B_norm);
      if (is_first) {
        outcome.history.push_back(norm);
      } else {
        column.restore = !(norm < before);
        record(norm, column);
      }
      outcome.residual = column.restore ? before : norm;
      running = goes_on(column, norm, is_first, options);
      if (running) prepare(column, norm, is_first, options);
    }
    column.iterations = fetched = 0;
  }

 private:
  /// Records a norm. The history belongs to the X that is kept: after a discarded cycle, to the X before it.
  void record(double norm, const Column& column) {
    auto& history = outcome.history;
    if (column.restore) {
      std::fill(history.end() - fetched, history.end(), before);
    } else {
      history.back() = norm;
    }
  }
  bool goes_on(const Column& column, double norm, bool is_first, const KrylovOptions& options) {
    const bool broken_down = !is_first && column.stop == KrylovStop::breakdown;
    const auto end = [&](KrylovStop stop) {
      outcome.stop = stop;
      return false;
    };
    if (norm <= options.residual_tolerance) return end(KrylovStop::converged);
    if (!std::isfinite(norm) || (!is_first && column.stop == KrylovStop::not_finite))
      return end(KrylovStop::not_finite);
    if (broken_down && (column.restore || ++breakdowns > 1)) return end(KrylovStop::breakdown);
    if (outcome.iterations >= options.max_iterations) return end(KrylovStop::max_iterations);
    const bool stagnates = column.restore || (!broken_down && norm > options.min_progress * before);
    if (!is_first && stagnates) return end(KrylovStop::stagnated);
    return true;
  }
  void prepare(Column& column, double norm, bool is_first, const KrylovOptions& options) {
    using Real = typename Column::Real;
    if (!is_first) {
      ++outcome.restarts;
      if (column.stop == KrylovStop::converged) tighten *= 0.1;
    }
    before = norm;
    column.running = true;
    column.stop = KrylovStop::max_iterations;
    column.first = column.norm;
    // A residual far below rounding carries no information, and its squares would underflow: the next cycle
    // starts anew.
    constexpr double least = static_cast<double>(epsilon_of<Scalar>) / 1024;
    column.goal = static_cast<Real>(std::max(options.residual_tolerance / norm * tighten, least));
    column.limit = options.max_iterations - outcome.iterations;
  }
};

template <class Scalar, class ExecutionSpace>
void Impl::KrylovCycles<Scalar, ExecutionSpace>::allocate(const ExecutionSpace& exec,
                                                          const MemoryBudget& budget, std::size_t sums) {
  m_reservation = MemoryReservation(budget);
  m_run = budget.run();
  m_state = {exec, m_reservation, "lutra::krylov::columns", m_columns};
  m_sums = m_batch.is_batch ? make_lane_sums<Scalar>(exec, m_reservation, m_n, m_columns, sums)
                            : SumWorkspace<Scalar, ExecutionSpace>(exec, m_reservation, m_columns, sums);
  m_totals = m_reservation.template allocate<Totals>(exec, "lutra::krylov::totals", m_columns, sums);
  m_R = allocate_block(exec, "lutra::krylov::residual");
  m_D = allocate_block(exec, "lutra::krylov::correction");
  m_scratch = allocate_block(exec, "lutra::krylov::scratch");
  m_X_before = allocate_block(exec, "lutra::krylov::X_before");
}

template <class Scalar, class ExecutionSpace>
void Impl::KrylovCycles<Scalar, ExecutionSpace>::compute_residual(const ExecutionSpace& exec,
                                                                  const Operator& A, const Rows& B,
                                                                  const Rows& X) const {
  A.apply(exec, X, trim(m_R));
  using Body = Impl::ScaledResidual<Columns, Rows, Totals>;
  sum_rows(exec, "lutra::krylov::scaled_residual", Body{m_state.device(), B, X, trim(m_R), m_totals});
}

template <class Scalar, class ExecutionSpace>
void Impl::KrylovCycles<Scalar, ExecutionSpace>::measure_unit(const ExecutionSpace& exec,
                                                              const Rows& W) const {
  using Units = Impl::FindScales<Columns, Rows, Totals>;
  sum_rows(exec, "lutra::krylov::measure_unit", Units{m_state.device(), W, m_totals, true});
}

template <class Scalar, class ExecutionSpace>
void Impl::KrylovCycles<Scalar, ExecutionSpace>::fetch_history(const ExecutionSpace& exec,
                                                               std::vector<Progress>& progress) const {
  const auto& state = m_state.fetch(exec);
  for (std::size_t c = 0; c < progress.size(); ++c) {
    Progress& column = progress[c];
    for (; column.fetched < state(c).iterations; ++column.fetched) {
      const double part = static_cast<double>(state(c).history[column.fetched % Column::history_length]);
      column.outcome.history.push_back(part * column.before);
      ++column.outcome.iterations;
    }
  }
}

/// Tells a batch which columns run, if that has changed. @returns whether any does
template <class Scalar, class ExecutionSpace>
template <class IsRunning>
bool Impl::KrylovCycles<Scalar, ExecutionSpace>::tell_running(const IsRunning& is_running) {
  bool any = false;
  for (std::size_t c = 0; c < m_width; ++c) any = any || is_running(c);
  if (!m_batch.tell) return any;
  std::vector<char> running(m_width);
  for (std::size_t c = 0; c < m_width; ++c) running[c] = is_running(c) ? 1 : 0;
  if (running != m_running) m_batch.tell(running);
  m_running = std::move(running);
  return any;
}

/// Iterates until no column runs or the cycle ends. On devices the host checks after an eighth of the
/// iterations made so far, which bounds the iterations after the last column has stopped.
template <class Scalar, class ExecutionSpace>
void Impl::KrylovCycles<Scalar, ExecutionSpace>::run_cycle(const System& system,
                                                           std::vector<Progress>& progress) {
  start(system);
  for (int done = 0; done < max_steps();) {
    int iterations = 0;
    for (const Progress& column : progress) iterations = std::max(iterations, column.outcome.iterations);
    const int end = std::min(
        done + Impl::steps_before_look<ExecutionSpace>(iterations, Column::history_length, step_iterations()),
        max_steps());
    while (done < end) {
      m_run.poll();
      step(system, done++);
    }
    fetch_history(system.exec(), progress);
    if (!tell_running([&](std::size_t c) { return m_state.host()(c).running; })) break;
  }
  tell_running([&](std::size_t c) { return progress[c].running; });
  finish(system);
}

template <class Scalar, class ExecutionSpace>
std::vector<KrylovOutcome> Impl::KrylovCycles<Scalar, ExecutionSpace>::solve(
    const ExecutionSpace& exec, const Operator& A, ApproximateInverse* M, Transposition op, const Rows& B,
    const Rows& X, const KrylovOptions& options) {
  check(static_cast<std::size_t>(A.size()) == m_n && B.extent(0) == m_n && X.extent(0) == m_n,
        "A, B and X must have as many rows as the workspace");
  check(B.extent(1) == X.extent(1) && B.extent(1) <= m_columns,
        "B and X must have the same columns, at most those of the workspace");
  check(options.residual_tolerance >= 0 && options.max_iterations >= 0,
        "tolerance and max_iterations must not be negative");
  check_enumerator("op", op, Transposition::adjoint);
  check_enumerator("side", options.side, PreconditionSide::split);
  if (M != nullptr) check_size(*M, A.size());
  m_width = B.extent(1);
  std::vector<Progress> progress(m_width);
  if (m_width == 0) return {};
  const System system(exec, A, M, op, options.side, trim(m_scratch));
  std::fill_n(m_state.host().data(), m_width, Column{});
  m_state.send(exec);
  using Scales = Impl::FindScales<Columns, Rows, Totals>;
  sum_rows(exec, "lutra::krylov::find_scales", Scales{m_state.device(), B, m_totals, false});
  m_running.clear();
  tell_running([](std::size_t) { return true; });
  for (bool any_restore = false;;) {
    m_run.poll();
    compute_residual(exec, A, B, X);
    const auto& state = m_state.fetch(exec);
    any_restore = false;
    for (std::size_t c = 0; c < m_width; ++c) {
      progress[c].judge(state(c), options);
      any_restore = any_restore || state(c).restore;
    }
    const bool any_running = tell_running([&](std::size_t c) { return state(c).running; });
    m_state.send(exec);
    if (any_restore) restore(exec, m_state.device(), trim(m_X_before), X);
    if (!any_running) break;
    run_cycle(system, progress);
    correct(exec, m_state.device(), trim(m_D), X, trim(m_X_before));
  }
  std::vector<KrylovOutcome> outcomes;
  for (Progress& column : progress) outcomes.push_back(std::move(column.outcome));
  return outcomes;
}

template <class Scalar, class ExecutionSpace>
std::unique_ptr<KrylovIteration<Scalar, ExecutionSpace>> make_krylov_iteration(
    const ExecutionSpace& exec, KrylovMethod method, std::size_t n, std::size_t columns, int restart,
    const MemoryBudget& budget) {
  return Impl::make_batched_iteration<Scalar>(exec, method, n, columns, restart, budget, {});
}

template <class Scalar, class ExecutionSpace>
Impl::KrylovIterationPointer<Scalar, ExecutionSpace> Impl::make_batched_iteration(
    const ExecutionSpace& exec, KrylovMethod method, std::size_t n, std::size_t columns, int restart,
    const MemoryBudget& budget, const BatchedColumns& batch) {
  check_enumerator("method", method, KrylovMethod::gmres);
  if (method == KrylovMethod::cg) return make_cg<Scalar>(exec, n, columns, budget, batch);
  if (method == KrylovMethod::bicgstab) return make_bicgstab<Scalar>(exec, n, columns, budget, batch);
  return make_gmres<Scalar>(exec, n, columns, restart, budget, batch);
}

#define LUTRA_KRYLOV_ITERATION(Scalar, Space)                                                \
  template class Impl::KrylovCycles<Scalar, Space>;                                          \
  template std::unique_ptr<KrylovIteration<Scalar, Space>> make_krylov_iteration<Scalar>(    \
      const Space&, KrylovMethod, std::size_t, std::size_t, int, const MemoryBudget&);       \
  template Impl::KrylovIterationPointer<Scalar, Space> Impl::make_batched_iteration<Scalar>( \
      const Space&, KrylovMethod, std::size_t, std::size_t, int, const MemoryBudget&,        \
      const BatchedColumns&);
LUTRA_FOR_EACH_SCALAR_AND_SPACE(LUTRA_KRYLOV_ITERATION)

}  // namespace lutra
