// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_IncompleteFactors.hpp"

#include <algorithm>

#include "Lutra_AsyncResult.hpp"
#include "Lutra_IluRow.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_Instantiate.hpp"
#include "Lutra_RelaxedAccess.hpp"
#include "Lutra_RowKernels.hpp"
#include "Lutra_RowKernelsHost.hpp"

namespace lutra {
namespace Impl {

/// Raises a maximum in memory, by an atomic only if the value is larger. NaN counts as infinity.
KOKKOS_INLINE_FUNCTION void raise(double& most, double value) {
  if (!(value < Kokkos::Experimental::infinity_v<double>)) value = Kokkos::Experimental::infinity_v<double>;
  if (value > load_relaxed(most)) Kokkos::atomic_max(&most, value);
}

/// Residuals of a run, on the device: [0] max |entry of A|; [1] before sweeps that start from factors, 0 if
/// they start from the matrix; [2 + s] measured by sweep s, 0 if it was not made.
template <class Memory>
struct SweepRecord {
  Kokkos::View<double*, Memory> residuals;
  double tolerance;
  double rounding;  ///< residual, relative to the largest entry, that counts as rounding
  bool from_factors;

  /// Whether sweep s is due. A residual of 0, from a sweep that was not made, ends all subsequent ones.
  template <class Residuals>
  KOKKOS_FUNCTION bool is_due(const Residuals& r, int s) const {
    const int first = from_factors ? 1 : 2;
    if (s + 1 < first) return true;
    const double last = r(s + 1), goal = s + 1 > first ? tolerance * r(first) : 0;
    return last > goal && last > rounding * r(0);
  }
};

/// Computes the initial values of a row, and the largest entry of A.
template <class Scalar, class Memory>
struct GuessRow {
  FactorRows<Scalar, Memory> rows;
  Kokkos::View<double*, Memory> residuals;

  KOKKOS_FUNCTION Ordinal max_columns(Ordinal) const { return 1; }
  template <class Lanes, class Accumulator>
  KOKKOS_FUNCTION void operator()(const Lanes& lanes, Accumulator&, Ordinal i) const {
    const auto largest = largest_in_row(lanes, rows.A, i);
    lanes.each(rows.row_map(i), rows.row_map(i + 1), [&](const Offset p) {
      const Ordinal j = rows.entries(p);
      Scalar value = entry_of(rows.A, i, j);
      if (j < i) value = divide_by_pivot(value, entry_of(rows.A, j, j));
      if (j == i) value += shift_of(value, rows.shift, largest);
      rows.to(p) = value;
    });
    lanes.once([&]() { raise(residuals(0), static_cast<double>(largest)); });
  }
};

/// One row of a sweep, with its residual.
template <class Scalar, class Memory>
struct MeasuredSweepRow {
  FactorRows<Scalar, Memory> rows;
  SweepRecord<Memory> record;
  int sweep;  ///< −1: measures only, including the largest entry of A

  KOKKOS_FUNCTION Ordinal max_columns(Ordinal i) const { return rows.max_columns(i); }
  template <class Lanes, class Accumulator>
  KOKKOS_FUNCTION void operator()(const Lanes& lanes, Accumulator& w, Ordinal i) const {
    if (sweep >= 0 && !record.is_due(record.residuals, sweep)) return;
    rows.load(lanes, w, i);
    rows.eliminate(lanes, w, i, [](const Ordinal) {});
    // (A − L·U)(i, j) with the new row of L: the change of U, or the change of L times its pivot
    const double residual =
        lanes.template largest<double>(rows.row_map(i), rows.row_map(i + 1), [&](const Offset p) {
          const Ordinal j = rows.entries(p);
          const Scalar value = w.value(w.find(j));
          Scalar change = value - rows.from(p);
          if (j < i) change *= rows.from(rows.diagonal(j));
          if (sweep >= 0) rows.to(p) = value;
          const auto size = static_cast<double>(ScalarTraits<Scalar>::magnitude(change));
          return size < Kokkos::Experimental::infinity_v<double> ? size
                                                                 : Kokkos::Experimental::infinity_v<double>;
        });
    lanes.once([&]() { raise(record.residuals(sweep + 2), residual); });
    if (sweep >= 0) return;
    const auto largest = largest_in_row(lanes, rows.A, i);
    lanes.once([&]() { raise(record.residuals(0), static_cast<double>(largest)); });
  }
};

/// Copies the values written by a deterministic sweep.
template <class Scalar, class Memory>
struct TakeValues {
  Kokkos::View<const Scalar*, Memory> from;
  Kokkos::View<Scalar*, Memory> to;
  SweepRecord<Memory> record;
  int sweep;
  KOKKOS_FUNCTION void operator()(std::int64_t p) const {
    if (record.is_due(record.residuals, sweep)) to(p) = from(p);
  }
};

}  // namespace Impl

template <class Scalar, class ExecutionSpace>
struct ParIlu<Scalar, ExecutionSpace>::Work {
  Work(const ExecutionSpace& exec, const Factors& pattern, const IluOptions& settings,
       const MemoryBudget& budget)
      : options(settings),
        reservation(budget),
        rows(exec, pattern.n, Impl::longest_row(exec, pattern.n, pattern.row_map), mean_length(pattern),
             budget),
        residuals(exec, reservation, "lutra::ilu::residuals", static_cast<std::size_t>(settings.sweeps) + 2) {
    if (options.deterministic)
      next = reservation.template allocate<Kokkos::View<Scalar*, Memory>>(exec, "lutra::ilu::next_values",
                                                                          pattern.entries.extent(0));
  }
  static double mean_length(const Factors& pattern) {
    return static_cast<double>(pattern.nnz()) / std::max(1.0, static_cast<double>(pattern.n));
  }

  IluOptions options;
  MemoryReservation reservation;
  Impl::RowWorkspace<Scalar, ExecutionSpace> rows;
  Impl::AsyncResult<double, ExecutionSpace> residuals;
  Kokkos::View<Scalar*, Memory> next;  ///< [nnz] values written by a deterministic sweep
};

template <class Scalar, class ExecutionSpace>
ParIlu<Scalar, ExecutionSpace>::ParIlu(const ExecutionSpace& exec, const Factors& pattern,
                                       const IluOptions& options, const MemoryBudget& budget)
    : m_work(std::make_unique<Work>(exec, pattern, options, budget)) {}
template <class Scalar, class ExecutionSpace>
ParIlu<Scalar, ExecutionSpace>::~ParIlu() = default;
template <class Scalar, class ExecutionSpace>
ParIlu<Scalar, ExecutionSpace>::ParIlu(ParIlu&&) noexcept = default;
template <class Scalar, class ExecutionSpace>
ParIlu<Scalar, ExecutionSpace>& ParIlu<Scalar, ExecutionSpace>::operator=(ParIlu&&) noexcept = default;

template <class Scalar, class ExecutionSpace>
ParIluOutcome ParIlu<Scalar, ExecutionSpace>::compute(const ExecutionSpace& exec, const Matrix& A,
                                                      double shift, const Factors& factors,
                                                      ParIluStart start) {
  if (factors.n == 0) return {};
  Work& work = *m_work;
  const bool from_factors = start == ParIluStart::factors;
  const Impl::SweepRecord<Memory> record{work.residuals.device(), work.options.sweep_tolerance,
                                         16 * static_cast<double>(epsilon_of<Scalar>), from_factors};
  Impl::FactorRows<Scalar, Memory> rows{
      A, shift, factors.row_map, factors.diagonal, factors.entries, factors.values, factors.values};
  const auto run = [&](const char* label, const auto& body) {
    Impl::for_each_row(exec, label, Ordinal(0), factors.n, work.rows, body);
  };
  const auto sweep = [&](int s) {
    run("lutra::ilu::sweep", Impl::MeasuredSweepRow<Scalar, Memory>{rows, record, s});
  };
  work.residuals.fill(exec, 0);
  if (from_factors) {
    sweep(-1);
  } else {
    run("lutra::ilu::guess", Impl::GuessRow<Scalar, Memory>{rows, record.residuals});
  }
  if (work.options.deterministic) rows.to = work.next;
  for (int s = 0; s < work.options.sweeps; ++s) {
    sweep(s);
    if (!work.options.deterministic) continue;
    Kokkos::parallel_for(
        "lutra::ilu::take_values",
        Kokkos::RangePolicy<ExecutionSpace>(exec, 0, static_cast<std::int64_t>(factors.nnz())),
        Impl::TakeValues<Scalar, Memory>{work.next, factors.values, record, s});
  }
  const auto& residuals = work.residuals.fetch(exec);
  ParIluOutcome outcome;
  while (outcome.sweeps < work.options.sweeps && record.is_due(residuals, outcome.sweeps)) ++outcome.sweeps;
  outcome.first_residual = residuals(from_factors ? 1 : work.options.sweeps > 0 ? 2 : 0);
  outcome.last_residual = outcome.sweeps > 0 ? residuals(outcome.sweeps + 1) : outcome.first_residual;
  return outcome;
}

#define LUTRA_INSTANTIATE(Scalar, Space) template class ParIlu<Scalar, Space>;
LUTRA_FOR_EACH_SCALAR_AND_SPACE(LUTRA_INSTANTIATE)

}  // namespace lutra
