// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_LDLTFRONTS_HPP
#define LUTRA_LDLTFRONTS_HPP

#include <atomic>

#include "Lutra_ExecutionTraits.hpp"
#include "Lutra_HostFronts.hpp"
#include "Lutra_HostLdlt.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_LdltBlocks.hpp"
#include "Lutra_LdltTally.hpp"
#include "Lutra_LdltTeams.hpp"

// Multifrontal L·D·Lᵀ with delayed pivots (Duff and Reid 1983; SSIDS, Hogg, Ovtchinnikov and Scott 2016):
// fronts are assembled from the matrix and their children, eliminated, and pass their Schur complement on; on
// hosts subtree by subtree, else level by level.

namespace lutra::Impl {

/// Raw arrays of an LDLᵀ factorization.
template <class Scalar>
struct LdltData {
  const Front* fronts;
  const LdltFrontRoom* room;
  const Ordinal* children;
  const int* relative;
  PackedPositions entry_position;
  const Ordinal* order;
  const Scalar* entries;
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
    return {panels + room[f].panel - moved,
            contributions + front.contribution,
            diagonal + s,
            off_diagonal + s,
            kind + s,
            variables + s,
            positions + s,
            scratch + s,
            columns + front.cb_rows,
            columns};
  }

  KOKKOS_FUNCTION LdltTest<Scalar> test(bool is_root) const {
    using Real = RealOf<Scalar>;
    const double largest = outcome->largest_entry > 0 ? outcome->largest_entry : 1.0;
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

/// Assembles and factorizes single fronts, after their children.
template <class Scalar>
struct LdltWorker {
  using Panel = LdltFront<Scalar>;
  LdltData<Scalar> data;

  /// @param work ldlt_work entries for this front; null: the workspace of its level
  /// @param moved as in LdltRecord
  template <class Team>
  KOKKOS_FUNCTION void work(const Team& team, Ordinal f, Scalar* work = nullptr,
                            std::int64_t moved = 0) const {
    const Front front = data.fronts[f];
    LdltRecord record;
    record.moved = moved;
    if (!admit(front, data.room[f].max_delayed, f, record)) {
      team.once([&] { data.records[f] = record; });
      return;
    }
    const Panel panel = data.dense(f, record.delayed_in, moved);
    assemble(team, front, panel);
    if (data.complement != nullptr && front.parent < 0) {
      take_complement(team, panel);
      record.eliminated = panel.columns;
      team.once([&] { data.records[f] = record; });
      return;
    }
    const LdltTest<Scalar> test = data.test(data.is_root(front));
    const LdltProgress progress =
        eliminate_front(team, panel, test, work == nullptr ? data.workspace + data.room[f].work : work);
    team.once([&] {
      if (progress.failure == LdltFailure::not_definite)
        Kokkos::atomic_min(&data.outcome->not_definite,
                           static_cast<std::int64_t>(panel.variables[progress.done]));
      if (progress.failure == LdltFailure::not_finite)
        Kokkos::atomic_min(&data.outcome->not_finite, static_cast<std::int64_t>(f));
      record.stopped = progress.failure == LdltFailure::none ? 0 : 1;
      if (record.stopped == 0) {
        record.eliminated = progress.done;
        record.delayed_out = panel.columns - progress.done;
        LdltTally tally;
        tally.count_pivots(panel, record.eliminated, test.hermitian);
        tally.count_front(record, panel.rows);
        tally.add_to(*data.outcome);
      }
      data.records[f] = record;
    });
  }

  /// Whether the children's delayed columns fit. A front that must stop records the reason.
  KOKKOS_FUNCTION bool admit(const Front& front, int max_delayed, Ordinal f, LdltRecord& record) const {
    for (Offset c = front.children; c < front.children_end; ++c) {
      const LdltRecord& child = data.records[data.children[c]];
      record.delayed_in += child.delayed_out;
      record.stopped |= child.stopped;
    }
    if (record.stopped != 0) {
      record.delayed_in = 0;
    } else if (record.delayed_in > max_delayed) {
      record.wanted = record.delayed_in;
      record.delayed_in = 0;
      record.stopped = 1;
      Kokkos::atomic_min(&data.outcome->overflow_front, static_cast<std::int64_t>(f));
    }
    return record.stopped == 0;
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
        panel.diagonal[j] = Scalar(1);
        panel.off_diagonal[j] = Scalar(0);
        panel.kind[j] = PivotKind::one_by_one;
      }
    });
  }

  template <class Team>
  KOKKOS_FUNCTION void assemble(const Team& team, const Front& front, const Panel& panel) const {
    const int delayed = panel.columns - front.pivots;
    team.columns(panel.rows, panel.rows, [&](int c, int begin, int end) {
      Scalar* const column = panel.column(c);
      const int first = c < panel.columns ? 0 : panel.columns;
      for (int i = begin > first ? begin : first; i < end; ++i) column[i] = Scalar(0);
    });
    team.ranges(front.pivots, 1.0, [&](int begin, int end) {
      for (int j = begin; j < end; ++j) {
        panel.variables[j] = front.first_pivot + static_cast<Ordinal>(j);
        panel.positions[j] = j;
      }
    });
    team.ranges(static_cast<int>(front.entries_end - front.entries), 1.0, [&](int begin, int end) {
      for (Offset e = front.entries + begin; e < front.entries + end; ++e) {
        const FrontPosition at = data.entry_position(e);
        if (at.row < at.column) continue;  // the upper triangle is redundant
        panel.at(at.row < front.pivots ? at.row : at.row + delayed, at.column) = data.entries[e];
      }
    });
    if (data.shift != nullptr) {
      team.ranges(front.pivots, 1.0, [&](int begin, int end) {
        for (int j = begin; j < end; ++j) {
          const Ordinal row = data.order[front.first_pivot + j];
          panel.at(j, j) += data.shift[row] * data.scale[row] * data.scale[row];
        }
      });
    }
    int position = front.pivots;
    for (Offset c = front.children; c < front.children_end; ++c) {
      const Ordinal child = data.children[c];
      const LdltRecord record = data.records[child];
      add_contribution(team, data.fronts[child], front.pivots, delayed, panel);
      if (record.delayed_out > 0) add_delayed(team, child, record, position, front.pivots, delayed, panel);
      position += record.delayed_out;
    }
  }

  /// Extend-add: the child's columns are distributed over threads, so that no two write the same entry.
  /// Relative indices ascend, so lower triangles map to lower triangles: `own` rows of the child are pivots
  /// of the front, the others follow its delayed columns, if any.
  template <class Team>
  KOKKOS_FUNCTION void add_contribution(const Team& team, const Front& child, int pivots, int delayed,
                                        const Panel& panel) const {
    const int* const relative = data.relative + child.rows;
    const Scalar* const contribution = data.contributions + child.contribution;
    const int rows = child.cb_rows;
    int own = delayed > 0 ? 0 : rows;
    for (int left = delayed > 0 ? rows : 0; left > 0;) {
      const int half = left / 2;
      const bool is_own = relative[own + half] < pivots;
      own += is_own ? half + 1 : 0;
      left = is_own ? left - half - 1 : half;
    }
    team.columns(rows, rows, [&](int b, int begin, int end) {
      const Scalar* const KOKKOS_RESTRICT from = contribution + static_cast<std::int64_t>(b) * rows;
      const int first = begin > b ? begin : b, last = own < end ? own : end;
      Scalar* const KOKKOS_RESTRICT to = panel.column(b < own ? relative[b] : relative[b] + delayed);
      for (int a = first; a < last; ++a) to[relative[a]] += from[a];
      Scalar* const KOKKOS_RESTRICT behind = to + delayed;
      for (int a = first > own ? first : own; a < end; ++a) behind[relative[a]] += from[a];
    });
  }

  /// Assembles the columns a child has delayed, from `position` on. Their couplings with the front's own
  /// columns are transposed, because own columns come first.
  template <class Team>
  KOKKOS_FUNCTION void add_delayed(const Team& team, Ordinal number, const LdltRecord& record, int position,
                                   int pivots, int delayed, const Panel& panel) const {
    const Front child = data.fronts[number];
    const Panel from = data.dense(number, record.delayed_in, record.moved);
    const int* const relative = data.relative + child.rows;
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

/// Level by level, one team per front; on the Serial backend in postorder.
template <class Scalar, class ExecutionSpace>
void factorize_ldlt_portable(const ExecutionSpace& exec,
                             const FrontPlan<typename ExecutionSpace::memory_space>& plan,
                             const LdltData<Scalar>& data) {
  using Policy = Kokkos::TeamPolicy<ExecutionSpace, Kokkos::Schedule<Kokkos::Dynamic>>;
  using Member = typename Policy::member_type;
  const LdltWorker<Scalar> worker{data};
  constexpr bool on_host = is_host_space<ExecutionSpace>;
  const int threads = on_host ? 1 : 8, lanes = on_host ? 1 : vector_length_for<ExecutionSpace>(32);
  const auto by_level = plan.by_level;
  for (std::size_t l = 0; l < plan.levels(); ++l) {
    const Ordinal first = plan.layout.level_map[l];
    const auto width = static_cast<int>(plan.layout.level_map[l + 1] - first);
    Kokkos::parallel_for(
        "lutra::numeric::ldlt_fronts_of_level", Policy(exec, width, threads, lanes),
        KOKKOS_LAMBDA(const Member& team) {
          worker.work(KokkosFrontTeam<Member, Scalar>{team},
                      by_level(first + static_cast<Ordinal>(team.league_rank())));
        });
  }
}

/// Placement of a thread's panels: directly after the preceding front's panel if that was the thread's last
/// one, else at the reserved offset. Panels do not overlap, since reserved sizes are upper bounds.
struct PanelCursor {
  std::int64_t next_front = -1;
  Offset end = 0;

  /// LdltRecord::moved of a front.
  std::int64_t move(std::int64_t front, Offset room) {
    if (front != next_front) end = room;
    next_front = front + 1;
    return static_cast<std::int64_t>(room - end);
  }
  void advance(const LdltRecord& record, int pivots, int cb_rows) {
    const Offset columns = pivots + record.delayed_in;
    end += record.stopped != 0 ? Offset(0) : columns * (columns + cb_rows);
  }
};

/// Threads take subtrees by tickets; then all threads share each front above them, one front at a time.
/// @param buffers   product_buffer values per thread
/// @param workspace max_work entries per thread
template <class Scalar, class ExecutionSpace>
void factorize_ldlt_on_host(const ExecutionSpace& exec, Ordinal count, const SubtreeMapping& mapping,
                            const LdltData<Scalar>& data, RealOf<Scalar>* buffers, Offset max_work) {
  using Real = RealOf<Scalar>;
  const LdltWorker<Scalar> worker{data};
  const auto kernel = best_product<Real>();
  const auto work = [&](const auto& loop, Ordinal f, int thread, PanelCursor& cursor) {
    using Loop = std::decay_t<decltype(loop)>;
    const HostProducts<Scalar, Loop> products{kernel, loop};
    worker.work(HostFrontTeam<Scalar, Loop>{products, data.column_rows}, f,
                data.workspace + thread * max_work, cursor.move(f, data.room[f].panel));
    cursor.advance(data.records[f], data.fronts[f].pivots, data.fronts[f].cb_rows);
  };
  PanelCursor of_all;
  if (mapping.order.empty()) {
    for (Ordinal f = 0; f < count; ++f) work(AloneLoop<Real>{buffers}, f, 0, of_all);
    return;
  }
  const auto tasks = static_cast<std::int64_t>(mapping.tasks());
  std::atomic<std::int64_t> tickets = 0;
  Kokkos::parallel_for(
      "lutra::numeric::ldlt_subtrees", Kokkos::RangePolicy<ExecutionSpace>(exec, 0, exec.concurrency()),
      [&](int thread) {
        const AloneLoop<Real> loop{buffers + static_cast<std::size_t>(thread) * product_buffer};
        PanelCursor cursor;
        for (std::int64_t t; (t = tickets.fetch_add(1)) < tasks;) {
          for (Ordinal p = at(mapping.task_begin, t); p < at(mapping.task_begin, t + 1); ++p)
            work(loop, at(mapping.order, p), thread, cursor);
        }
      });
  const SharedLoop<Real, ExecutionSpace> loop{exec, buffers};
  for (Ordinal p = mapping.task_begin.back(); p < static_cast<Ordinal>(mapping.order.size()); ++p)
    work(loop, at(mapping.order, p), 0, of_all);
}

}  // namespace lutra::Impl

#endif
