// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_RUNLANES_HPP
#define LUTRA_RUNLANES_HPP

#include "Lutra_HostLanes.hpp"
#include "Lutra_LaneTasks.hpp"

namespace lutra::Impl {

/// Tasks of one group, row by row, by one host thread.
template <class Lanes>
struct RunLanes {
  using Real = typename Lanes::Real;
  using Size = typename Lanes::Size;

  static void factorize(const LaneFactorTask<Real>& task) {
    const LaneFactorization<Lanes> group{task.at,     task.row_scale, task.col_scale, task.A,
                                         task.values, task.inverse,   task.start,     task.probe};
    Size largest = Lanes::size(0);
    for (Ordinal i = 0; i < task.at.n; ++i) {
      const Size size = group.largest_of_row(i);
      largest = Lanes::is_less(largest, size, size, largest);
    }
    const Size threshold = largest * task.perturbation;
    LaneFindings<Lanes> found;
    for (Ordinal i = 0; i < task.at.n; ++i) group.row(i, threshold, found);
    Lanes::put(task.stats->largest_entry, largest);
    Lanes::put(task.stats->largest_factor, found.factor);
    Lanes::put(task.stats->largest_factor_l, found.factor_l);
    Lanes::put(task.stats->smallest_pivot, found.pivot);
    Lanes::put(task.stats->poison, found.poison);
    Lanes::put(task.stats->perturbed, found.perturbed);
    Lanes::put(task.stats->negative, found.negative);
  }

  template <int Columns>
  static void solve_columns(const LaneSolveTask<Real>& task, Offset skipped) {
    const LaneSolve<Lanes, Columns> group{
        task.at,          task.transposed,
        task.sign,        task.from_scale,
        task.to_scale,    task.values,
        task.inverse,     task.B + skipped,
        task.Y + skipped, task.base == nullptr ? nullptr : task.base + skipped,
        task.X + skipped};
    for (Ordinal i = 0; i < task.at.n; ++i) group.forward(i);
    for (Ordinal i = task.at.n - 1; i >= 0; --i) group.backward(i);
  }
  static void solve(const LaneSolveTask<Real>& task) {
    const Offset column = static_cast<Offset>(task.at.n) * (sizeof(typename Lanes::Value) / sizeof(Real));
    int c = 0;
    for (; c + 4 <= task.columns; c += 4) solve_columns<4>(task, c * column);
    for (; c + 2 <= task.columns; c += 2) solve_columns<2>(task, c * column);
    for (; c < task.columns; ++c) solve_columns<1>(task, c * column);
  }

  template <int Columns>
  static void residual_columns(const LaneResidualTask<Real>& task, int first, Offset skipped) {
    const LaneResidual<Lanes, Columns> group{task.rows,        task.n,           task.sign,       task.A,
                                             task.B + skipped, task.X + skipped, task.R + skipped};
    LaneErrors<Lanes> errors[Columns];
    Size norm = Lanes::size(0);
    for (Ordinal i = 0; i < task.n; ++i) group.row(i, errors, norm);
    for (int c = 0; c < Columns; ++c) {
      Lanes::put(task.maxima[first + c].ratio, errors[c].ratio);
      Lanes::put(task.maxima[first + c].residual, errors[c].residual);
      Lanes::put(task.maxima[first + c].solution, errors[c].solution);
      Lanes::put(task.maxima[first + c].right_side, errors[c].right_side);
    }
    Lanes::put(task.norm, norm);
  }
  static void residual(const LaneResidualTask<Real>& task) {
    const Offset column = static_cast<Offset>(task.n) * (sizeof(typename Lanes::Value) / sizeof(Real));
    int c = 0;
    for (; c + 4 <= task.columns; c += 4) residual_columns<4>(task, c, c * column);
    for (; c + 2 <= task.columns; c += 2) residual_columns<2>(task, c, c * column);
    for (; c < task.columns; ++c) residual_columns<1>(task, c, c * column);
  }

  static void amplify(const LaneProbeTask<Real>& task) {
    const LaneProbe<Lanes> group{task.col_scale, task.X};
    Size largest = Lanes::size(0);
    for (Ordinal i = 0; i < task.n; ++i) LaneErrors<Lanes>::raise(largest, group.amplification(i));
    Lanes::put(task.amplification, largest);
  }
};

template <class Isa, class Real>
LaneKernelTable<Real> lane_kernels(const char* instructions) {
  using OfReal = RunLanes<RealLanes<Isa, Real>>;
  using OfComplex = RunLanes<ComplexLanes<Isa, Real>>;
  return {{OfReal::factorize, OfComplex::factorize},
          {OfReal::solve, OfComplex::solve},
          {OfReal::residual, OfComplex::residual},
          {OfReal::amplify, OfComplex::amplify},
          instructions};
}

}  // namespace lutra::Impl

#endif
