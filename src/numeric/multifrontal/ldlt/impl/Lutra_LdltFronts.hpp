// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_LDLTFRONTS_HPP
#define LUTRA_LDLTFRONTS_HPP

#include "Lutra_AposterioriPivoting.hpp"
#include "Lutra_FrontAssembly.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_LdltFront.hpp"

// Multifrontal L·D·Lᵀ with delayed pivots (Duff and Reid 1983; SSIDS, Hogg, Ovtchinnikov and Scott 2016):
// fronts are assembled from the matrix and their children, eliminated, and pass their Schur complement on; on
// hosts subtree by subtree, else level by level.

namespace lutra::Impl {

/// Pivot counts of one thread, for some pivots of a front or for many fronts; added to the outcome at the
/// end.
struct LdltTally {
  std::int64_t positive = 0, negative = 0, zero = 0, pairs = 0, perturbed = 0, delayed = 0, entries = 0;
  std::int64_t max_delayed = 0;
  double largest = 0;  ///< max |entry of D|
  /// min over nonzero pivots: |d|, or |det| / max |entry| of a 2 × 2 pivot
  double smallest = Kokkos::Experimental::infinity_v<double>;

  /// Counts the pivots first, first + step, … of a front; marks the remaining slots as delayed.
  template <class Scalar>
  KOKKOS_FUNCTION void count_pivots(const LdltFront<Scalar>& front, int eliminated, bool hermitian,
                                    int first = 0, int step = 1) {
    const bool has_signs = hermitian || !ScalarTraits<Scalar>::is_complex;
    for (int j = first; j < eliminated; j += step) {
      const Scalar d = front.diagonal[j];
      const PivotKind kind = front.kind[j];
      if (kind == PivotKind::first_of_two) {
        ++pairs;
        note_smallest(size_of_pair(d, front.diagonal[j + 1], front.off_diagonal[j], hermitian));
        if (has_signs) add(signs_of_pair(d, front.diagonal[j + 1], front.off_diagonal[j]));
      } else if (kind == PivotKind::zero) {
        ++zero;
      } else if (kind != PivotKind::second_of_two) {
        if (has_signs) ++(real_part(d) > RealOf<Scalar>(0) ? positive : negative);
        perturbed += kind == PivotKind::perturbed ? 1 : 0;
        note_smallest(static_cast<double>(size_or_infinity(d)));
      }
      const double size = static_cast<double>(size_or_infinity(d));
      const double off = static_cast<double>(size_or_infinity(front.off_diagonal[j]));
      largest = Kokkos::max(largest, Kokkos::max(size, off));
    }
    for (int j = eliminated + first; j < front.columns; j += step) front.kind[j] = PivotKind::delayed;
  }

  /// Counts a front with `rows` rows; call once per front.
  KOKKOS_FUNCTION void count_front(const LdltRecord& record, int rows) {
    const std::int64_t done = record.eliminated;
    delayed += record.delayed_out;
    entries += done * rows - done * (done - 1) / 2;
    max_delayed = Kokkos::max(max_delayed, static_cast<std::int64_t>(record.delayed_in));
  }

  KOKKOS_FUNCTION void add_to(LdltOutcome& outcome) const {
    const auto plus = [](std::int64_t& sum, std::int64_t n) {
      if (n != 0) Kokkos::atomic_add(&sum, n);
    };
    plus(outcome.positive, positive);
    plus(outcome.negative, negative);
    plus(outcome.zero, zero);
    plus(outcome.two_by_two, pairs);
    plus(outcome.perturbed, perturbed);
    plus(outcome.delayed, delayed);
    plus(outcome.entries, entries);
    if (max_delayed > 0) Kokkos::atomic_max(&outcome.max_delayed, max_delayed);
    if (largest > 0) Kokkos::atomic_max(&outcome.largest_factor, largest);
    if (Kokkos::isfinite(smallest)) Kokkos::atomic_min(&outcome.smallest_pivot, smallest);
  }

 private:
  KOKKOS_FUNCTION void note_smallest(double size) { smallest = Kokkos::min(smallest, size); }
  KOKKOS_FUNCTION void add(const PivotSigns& signs) {
    positive += signs.positive;
    negative += signs.negative;
  }
};

/// Raw arrays of an LDLᵀ factorization.
template <class Scalar>
struct LdltData {
  const Front* fronts;
  const LdltFrontPlace* room;
  const Ordinal* children;
  FrontAssembly<Scalar> assembly;
  const Ordinal* order;
  const RealOf<Scalar>* shift;  ///< or null
  const RealOf<Scalar>* scale;
  LdltRecord* records;
  Scalar* panels;
  Scalar* contributions;
  Scalar* workspace;
  Ordinal* variables;
  int* positions;
  int* scratch;
  Scalar* diagonal;
  Scalar* off_diagonal;
  PivotKind* kind;
  LdltOutcome* outcome;
  LdltPivotRule rule;
  int column_rows = 0;           ///< as in LdltPlanOptions
  Scalar* complement = nullptr;  ///< as in LdltFactors, or null

  /// Whether no ancestor takes delayed columns of the front.
  KOKKOS_FUNCTION bool is_root(const Front& front) const {
    return front.parent < 0 || (complement != nullptr && fronts[front.parent].parent < 0);
  }

  /// Front f with `delayed` columns from its children; its panel starts `moved` entries before its reserved
  /// offset.
  KOKKOS_FUNCTION LdltFront<Scalar> dense(Ordinal f, int delayed, std::int64_t moved = 0) const {
    const Front& front = fronts[f];
    const Offset s = room[f].slots;
    const int columns = front.pivots + delayed;
    return {{panels + room[f].panel - moved, diagonal + s, off_diagonal + s, kind + s,
             columns + front.cb_rows, columns},
            contributions + front.contribution,
            variables + s,
            positions + s,
            scratch + s};
  }

  /// The scaled shift of a pivot's diagonal entry.
  KOKKOS_FUNCTION RealOf<Scalar> shift_of(Ordinal pivot) const {
    const Ordinal row = order[pivot];
    return shift[row] * scale[row] * scale[row];
  }

  /// The record of a front whose children have delayed so many columns, at its start.
  KOKKOS_FUNCTION LdltRecord admit(Ordinal f, std::int64_t delayed, bool is_stopped) const {
    LdltRecord record;
    const bool fits = delayed <= room[f].max_delayed;
    if (!is_stopped && !fits) record.wanted = static_cast<int>(delayed);
    if (!is_stopped && fits) record.delayed_in = static_cast<int>(delayed);
    record.stopped = is_stopped || !fits ? 1 : 0;
    return record;
  }
  /// Stores a front's record, and the reason if it stopped; by one thread.
  KOKKOS_FUNCTION void store_record(const LdltFront<Scalar>& front, Ordinal f, const LdltProgress& progress,
                                    const LdltRecord& record) const {
    if (record.wanted > 0) Kokkos::atomic_min(&outcome->overflow_front, static_cast<std::int64_t>(f));
    if (progress.failure == LdltFailure::not_definite)
      Kokkos::atomic_min(&outcome->not_definite, static_cast<std::int64_t>(front.variables[progress.done]));
    if (progress.failure == LdltFailure::not_finite)
      Kokkos::atomic_min(&outcome->not_finite, static_cast<std::int64_t>(f));
    records[f] = record;
  }

  /// The test of pivots of front f.
  KOKKOS_FUNCTION LdltTest<Scalar> test(Ordinal f, bool is_root) const {
    using Real = RealOf<Scalar>;
    const double largest = rule.largest_entry(f, outcome->largest_entry);
    const double zero =
        rule.zero_tolerance < 0 ? 16.0 * static_cast<double>(epsilon_of<Scalar>) : rule.zero_tolerance;
    const PivotChoice choice = rule.pivoting == Pivoting::none
                                   ? (rule.definite ? PivotChoice::definite : PivotChoice::diagonal)
                               : rule.pivoting == Pivoting::static_perturbed ? PivotChoice::perturbed
                               : is_root                                     ? PivotChoice::root
                                                                             : PivotChoice::threshold;
    return {choice, rule.symmetry == Symmetry::hermitian, static_cast<Real>(rule.threshold),
            static_cast<Real>(zero * largest), static_cast<Real>(rule.perturbation * largest)};
  }
};

/// Collects the raw arrays of a factorization.
template <class Scalar, class ExecutionSpace>
LdltData<Scalar> ldlt_data(const LdltPlan<typename ExecutionSpace::memory_space>& plan,
                           const LdltValues<Scalar, typename ExecutionSpace::memory_space>& values,
                           const LdltPivotRule& rule, const LdltFactors<Scalar, ExecutionSpace>& factors) {
  return {plan.base.fronts.data(),
          factors.room.fronts.data(),
          plan.base.children.data(),
          {plan.base.entry_position.data(), factors.entries.data(), plan.base.relative.data(),
           factors.contributions.data()},
          plan.order.data(),
          values.shift.data(),
          values.A.row_scale.data(),
          factors.records.data(),
          factors.panels.data(),
          factors.contributions.data(),
          factors.workspace.data(),
          factors.variables.data(),
          factors.positions.data(),
          factors.scratch.data(),
          factors.diagonal.data(),
          factors.off_diagonal.data(),
          factors.kind.data(),
          factors.outcome.data(),
          rule,
          plan.options.max_column_rows,
          factors.complement.data()};
}

/// A front during its assembly. Delayed columns come after its own pivots; a position from `pivots` on moves
/// behind them.
template <class Scalar>
struct LdltAssembly {
  const LdltFront<Scalar>& front;
  int pivots;

  KOKKOS_FUNCTION int delayed() const { return front.columns - pivots; }
  template <class Visit>
  KOKKOS_FUNCTION void for_each_block(const Visit& visit) const {
    visit(front.panel, front.columns, front.rows);
    visit(front.contribution, front.cb_rows(), front.cb_rows());
  }
  KOKKOS_FUNCTION void set(const FrontPosition& at, const Scalar& value) const {
    if (at.row >= at.column) front.at(at.row < pivots ? at.row : at.row + delayed(), at.column) = value;
  }
  KOKKOS_FORCEINLINE_FUNCTION static int first_row(int b) { return b; }
  KOKKOS_FORCEINLINE_FUNCTION FrontColumn<Scalar> column(int c) const {
    Scalar* const top = front.column(c < pivots ? c : c + delayed());
    return {top, 1, top + delayed()};
  }
};

/// Assembles and factorizes single fronts, after their children.
template <class Scalar>
struct LdltWorker {
  using Panel = LdltFront<Scalar>;
  static constexpr const char* label = "lutra::numeric::ldlt_fronts";
  LdltData<Scalar> data;

  /// Works in the part of the workspace that the front's level leaves it.
  template <class Team>
  KOKKOS_FUNCTION void work(const Team& team, Ordinal f) const {
    work(team, f, data.workspace + data.room[f].work, 0);
  }
  /// @param work ldlt_work entries for this front
  /// @param moved as in LdltRecord
  template <class Team>
  KOKKOS_FUNCTION void work(const Team& team, Ordinal f, Scalar* work, std::int64_t moved) const {
    const Front front = data.fronts[f];
    std::int64_t delayed = 0;
    bool is_stopped = false;
    for (Offset c = front.children; c < front.children_end; ++c) {
      const LdltRecord& child = data.records[data.children[c]];
      delayed += child.delayed_out;
      is_stopped |= child.stopped != 0;
    }
    LdltRecord record = data.admit(f, delayed, is_stopped);
    record.moved = moved;
    const Panel panel = data.dense(f, record.delayed_in, moved);
    const LdltTest<Scalar> test = data.test(f, data.is_root(front));
    const bool takes_complement = data.complement != nullptr && front.parent < 0;
    LdltProgress progress;
    if (record.stopped == 0) {
      assemble(team, front, panel);
      if (takes_complement) {
        take_complement(team, panel);
        record.eliminated = panel.columns;
      } else {
        progress = eliminate_front(team, panel, test, work);
        record.finish(progress.done, panel.columns, progress.failure != LdltFailure::none);
      }
    }
    team.once([&] {
      if (record.stopped == 0 && !takes_complement) {
        LdltTally tally;
        tally.count_pivots(panel, record.eliminated, test.hermitian);
        tally.count_front(record, panel.rows);
        tally.add_to(*data.outcome);
      }
      data.store_record(panel, f, progress, record);
    });
  }

  /// Copies out the front, which has no delayed columns, and stores the identity instead.
  template <class Team>
  KOKKOS_FUNCTION void take_complement(const Team& team, const Panel& panel) const {
    const bool hermitian = data.rule.symmetry == Symmetry::hermitian;
    team.ranges(panel.columns, 2.0 * panel.rows, [&](int begin, int end) {
      for (int j = begin; j < end; ++j) {
        Scalar* const to = data.complement + static_cast<std::int64_t>(j) * panel.rows;
        for (int i = 0; i < panel.rows; ++i)
          to[i] = i >= j ? panel.at(i, j) : mirrored(hermitian, panel.at(j, i));
      }
    });
    team.ranges(panel.columns, 2.0 * panel.rows, [&](int begin, int end) {
      for (int j = begin; j < end; ++j) {
        for (int i = j; i < panel.rows; ++i) panel.at(i, j) = Scalar(i == j ? 1 : 0);
        panel.set_pivot(j, Scalar(1), PivotKind::one_by_one);
      }
    });
  }

  template <class Team>
  KOKKOS_FUNCTION void assemble(const Team& team, const Front& front, const Panel& panel) const {
    const LdltAssembly<Scalar> assembled{panel, front.pivots};
    start(team, front, assembled);
    if (data.shift != nullptr) {
      team.ranges(front.pivots, 1.0, [&](int begin, int end) {
        for (int j = begin; j < end; ++j) panel.at(j, j) += data.shift_of(front.first_pivot + j);
      });
    }
    int position = front.pivots;
    for (Offset c = front.children; c < front.children_end; ++c) {
      const Ordinal child = data.children[c];
      const LdltRecord record = data.records[child];
      data.assembly.add_child(team, data.fronts[child], assembled);
      if (record.delayed_out > 0) add_delayed(team, child, record, position, assembled);
      position += record.delayed_out;
    }
  }

  /// Stores the front's own variables and its entries of F.
  template <class Team>
  KOKKOS_FUNCTION void start(const Team& team, const Front& front,
                             const LdltAssembly<Scalar>& assembled) const {
    team.ranges(front.pivots, 1.0, [&](int begin, int end) {
      for (int j = begin; j < end; ++j) {
        assembled.front.variables[j] = front.first_pivot + static_cast<Ordinal>(j);
        assembled.front.positions[j] = j;
      }
    });
    data.assembly.clear(team, assembled);
    data.assembly.add_entries(team, front, assembled);
  }

  /// Assembles the columns a child has delayed, from `position` on. Their couplings with the front's own
  /// columns are transposed, because own columns come first.
  template <class Team>
  KOKKOS_FUNCTION void add_delayed(const Team& team, Ordinal number, const LdltRecord& record, int position,
                                   const LdltAssembly<Scalar>& assembled) const {
    const Panel& panel = assembled.front;
    const int pivots = assembled.pivots, delayed = assembled.delayed();
    const Front child = data.fronts[number];
    const Panel from = data.dense(number, record.delayed_in, record.moved);
    const int* const relative = data.assembly.relative + child.rows;
    const bool hermitian = data.rule.symmetry == Symmetry::hermitian;
    const int out = record.delayed_out, first = record.eliminated;
    team.columns(out, out + child.cb_rows, [&](int t, int begin, int end) {
      const Scalar* const column = from.column(first + t) + first;
      const int to = position + t;
      for (int i = begin > t ? begin : t; i < end; ++i) {
        if (i < out) {
          panel.at(position + i, to) = column[i];
        } else if (relative[i - out] < pivots) {
          panel.at(to, relative[i - out]) = mirrored(hermitian, column[i]);
        } else {
          panel.at(relative[i - out] + delayed, to) = column[i];
        }
      }
      if (begin == 0) {
        panel.variables[to] = from.variables[first + t];
        panel.positions[to] = to;
      }
    });
  }
};

/// How the execution space of a memory runs the fronts of a plan. Portable kernels need only the plan.
template <class MemorySpace>
struct LdltSchedule {
  template <class ExecutionSpace>
  LdltSchedule(const ExecutionSpace&, const LdltPlan<MemorySpace>&, const MemoryBudget&) {}

  /// Whether the kernels run fronts as data flow, if the options do not say so.
  static bool has_data_flow(const std::vector<Front>&, const LdltPlanOptions&) { return false; }
  template <class Scalar, class ExecutionSpace>
  void run(const ExecutionSpace& exec, const LdltPlan<MemorySpace>& plan, const LdltData<Scalar>& data,
           LdltFactors<Scalar, ExecutionSpace>&) const {
    work_by_levels<Scalar>(exec, plan.base, LdltWorker<Scalar>{data});
  }
};

/// What successive factorizations write, values excepted. Portable kernels need nothing.
template <class Scalar, class ExecutionSpace>
struct LdltRunState {
  using Memory = typename ExecutionSpace::memory_space;

  LdltRunState(const ExecutionSpace&, const LdltSchedule<Memory>&, const MemoryBudget&) {}
  /// Bytes that the constructor allocates for a schedule.
  static std::size_t bytes(const LdltSchedule<Memory>&) { return 0; }
  /// Entries of the workspace.
  static Offset workspace(const LdltSchedule<Memory>&, const LdltFrontLayout<Memory>& room) {
    return room.workspace;
  }
};

}  // namespace lutra::Impl

#endif
