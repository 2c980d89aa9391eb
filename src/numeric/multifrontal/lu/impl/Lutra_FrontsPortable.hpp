// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_FRONTSPORTABLE_HPP
#define LUTRA_FRONTSPORTABLE_HPP

#include <Kokkos_Core.hpp>
#include <limits>

#include "Lutra_ExecutionTraits.hpp"
#include "Lutra_FrontKernels.hpp"
#include "Lutra_FrontLu.hpp"
#include "Lutra_Index.hpp"

namespace lutra::Impl {

/// Tiling of fronts per execution space.
template <class Scalar, class ExecutionSpace>
struct FrontCutting {
  static FrontPlanOptions options() { return {}; }
};

/// Records whether a pivot was perturbed, and counts it.
KOKKOS_INLINE_FUNCTION void note_pivot(unsigned char& perturbed, std::int64_t& count, bool is_perturbed) {
  perturbed = is_perturbed ? 1 : 0;
  if (is_perturbed) Kokkos::atomic_add(&count, std::int64_t(1));
}

/// Raw arrays of a multifrontal factorization, for kernels on any backend.
template <class Scalar>
struct FrontLuData {
  const Front* fronts;
  const Ordinal* children;
  const int* relative;
  PackedPositions entry_position;
  const Scalar* entries;
  Scalar* panels;
  Scalar* contributions;
  Scalar* inverses;  ///< inverses of diagonal tiles, or null
  unsigned char* perturbed;
  FrontLuOutcome* outcome;
  double perturbation;
  Ordinal* row_of_pivot;         ///< [n] or null
  double pivot_threshold;        ///< 0: no interchanges
  int interchanged_pivots;       ///< leading pivots of a front whose rows may be interchanged
  Scalar* complement = nullptr;  ///< as in FrontFactors, or null

  KOKKOS_FUNCTION DenseFront<Scalar> dense(const Front& front) const {
    return {panels + front.lower, panels + front.upper, contributions + front.contribution, front.pivots,
            front.cb_rows};
  }
  KOKKOS_FUNCTION bool is_assembled_only(const Front& front) const {
    return complement != nullptr && front.parent < 0;
  }
  /// Copies columns [begin, end) of a front that is only assembled.
  KOKKOS_FUNCTION void take_complement(const Front& front, int begin, int end) const {
    const DenseFront<Scalar> dense_front = dense(front);
    for (int j = begin; j < end; ++j) {
      note_pivot(front, j, false);
      for (int i = 0; i < front.pivots; ++i) {
        Scalar& entry = dense_front.at(i, j);
        complement[i + static_cast<std::int64_t>(j) * front.pivots] = entry;
        entry = Scalar(i == j ? 1 : 0);
      }
    }
  }
  KOKKOS_FUNCTION PivotRule<Scalar> pivot_rule() const {
    const double largest = outcome->largest_entry;
    return {static_cast<RealOf<Scalar>>(perturbation * (largest > 0 ? largest : 1.0)),
            static_cast<RealOf<Scalar>>(pivot_threshold), interchanged_pivots};
  }
  KOKKOS_FUNCTION void note_pivot(const Front& front, int j, bool is_perturbed) const {
    Impl::note_pivot(perturbed[front.first_pivot + j], outcome->perturbed, is_perturbed);
  }
  KOKKOS_FUNCTION void note_exchange(const Front& front, int j, int row) const {
    Ordinal* const order = row_of_pivot + front.first_pivot;
    const Ordinal kept = order[j];
    order[j] = order[row];
    order[row] = kept;
    Kokkos::atomic_add(&outcome->interchanged, std::int64_t(1));
  }
};

template <class Scalar, class ExecutionSpace>
FrontLuData<Scalar> front_lu_data(
    const FrontPlan<typename ExecutionSpace::memory_space>& plan,
    const FrontFactors<Scalar, ExecutionSpace>& factors,
    const Kokkos::View<unsigned char*, typename ExecutionSpace::memory_space>& perturbed,
    double perturbation) {
  return {plan.fronts.data(),
          plan.children.data(),
          plan.relative.data(),
          plan.entry_position.data(),
          factors.entries.data(),
          factors.panels.data(),
          factors.contributions.data(),
          factors.inverses.data(),
          perturbed.data(),
          factors.outcome.data(),
          perturbation,
          factors.row_of_pivot().data(),
          factors.interchanges ? factors.interchanges->threshold : 0.0,
          is_host_space<ExecutionSpace> ? std::numeric_limits<int>::max() : plan.options.tile,
          factors.complement.data()};
}

/// Factorizes fronts, one team per front.
template <class Scalar>
struct FrontWorker {
  FrontLuData<Scalar> data;

  template <class Member>
  KOKKOS_FUNCTION void work(const Member& team, Ordinal number) const {
    const Front front = data.fronts[number];
    const DenseFront<Scalar> dense = data.dense(front);
    assemble(team, front, dense);
    const PivotRule<Scalar> rule = data.pivot_rule();
    if (rule.interchanges()) {
      Kokkos::parallel_for(Kokkos::TeamVectorRange(team, front.pivots), [&](const int j) {
        data.row_of_pivot[front.first_pivot + j] = front.first_pivot + static_cast<Ordinal>(j);
      });
      team.team_barrier();
    }
    if (data.is_assembled_only(front)) {
      Kokkos::parallel_for(Kokkos::TeamVectorRange(team, front.pivots),
                           [&](const int j) { data.take_complement(front, j, j + 1); });
      return;
    }
    factorize_front(
        team, dense, rule, [&](int j, bool is_perturbed) { data.note_pivot(front, j, is_perturbed); },
        [&](int j, int row) { data.note_exchange(front, j, row); });
  }

 private:
  template <class Member>
  KOKKOS_FUNCTION void assemble(const Member& team, const Front& front,
                                const DenseFront<Scalar>& dense) const {
    const auto clear = [&](Scalar* array, std::int64_t length) {
      Kokkos::parallel_for(Kokkos::TeamVectorRange(team, length),
                           [&](const std::int64_t i) { array[i] = Scalar(0); });
    };
    clear(dense.lower, static_cast<std::int64_t>(front.size()) * front.pivots);
    clear(dense.upper, static_cast<std::int64_t>(front.pivots) * front.cb_rows);
    clear(dense.contribution, static_cast<std::int64_t>(front.cb_rows) * front.cb_rows);
    team.team_barrier();
    Kokkos::parallel_for(Kokkos::TeamVectorRange(team, front.entries_end - front.entries),
                         [&](const Offset e) {
                           const FrontPosition position = data.entry_position(front.entries + e);
                           dense.at(position.row, position.column) = data.entries[front.entries + e];
                         });
    team.team_barrier();
    for (Offset c = front.children; c < front.children_end; ++c) add_child(team, dense, data.children[c]);
  }

  /// Extend-add: the child's columns are distributed over threads, so that no two write the same entry.
  template <class Member>
  KOKKOS_FUNCTION void add_child(const Member& team, const DenseFront<Scalar>& dense, Ordinal number) const {
    const Front child = data.fronts[number];
    const int* const relative = data.relative + child.rows;
    const Scalar* const contribution = data.contributions + child.contribution;
    int pivots = 0;  // rows of the child that are pivots of the parent: relative indices ascend
    while (pivots < child.cb_rows && relative[pivots] < dense.pivots) ++pivots;
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, child.cb_rows), [&](const int b) {
      const Scalar* const from = contribution + static_cast<std::int64_t>(b) * child.cb_rows;
      if (b < pivots) {
        Scalar* const to = dense.lower + static_cast<std::int64_t>(relative[b]) * dense.size();
        Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, child.cb_rows),
                             [&](const int a) { to[relative[a]] += from[a]; });
        return;
      }
      Scalar* const right = dense.upper + (relative[b] - dense.pivots);
      Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, pivots), [&](const int a) {
        right[static_cast<std::int64_t>(relative[a]) * dense.cb_rows] += from[a];
      });
      Scalar* const to =
          dense.contribution + static_cast<std::int64_t>(relative[b] - dense.pivots) * dense.cb_rows;
      Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, pivots, child.cb_rows),
                           [&](const int a) { to[relative[a] - dense.pivots] += from[a]; });
    });
    team.team_barrier();
  }
};

/// Level by level, one team per front; on the Serial backend in postorder, where a parent finds its last
/// child in cache.
template <class Scalar, class ExecutionSpace>
void factorize_fronts_portable(const ExecutionSpace& exec,
                               const FrontPlan<typename ExecutionSpace::memory_space>& plan,
                               const FrontLuData<Scalar>& data) {
  using Policy = Kokkos::TeamPolicy<ExecutionSpace, Kokkos::Schedule<Kokkos::Dynamic>>;
  const FrontWorker<Scalar> worker{data};
  const int threads = is_host_space<ExecutionSpace> ? 1 : 8;
  const int lanes = is_host_space<ExecutionSpace> ? 1 : vector_length_for<ExecutionSpace>(32);
  if constexpr (is_serial_space<ExecutionSpace>) {
    Kokkos::parallel_for(
        "lutra::numeric::fronts", Policy(exec, static_cast<int>(plan.count), 1),
        KOKKOS_LAMBDA(const typename Policy::member_type& team) {
          worker.work(team, static_cast<Ordinal>(team.league_rank()));
        });
  } else {
    const auto by_level = plan.by_level;
    for (std::size_t l = 0; l < plan.levels(); ++l) {
      const Ordinal first = plan.layout.level_map[l];
      const auto width = static_cast<int>(plan.layout.level_map[l + 1] - first);
      Kokkos::parallel_for(
          "lutra::numeric::fronts_of_level", Policy(exec, width, threads, lanes),
          KOKKOS_LAMBDA(const typename Policy::member_type& team) {
            worker.work(team, by_level(first + static_cast<Ordinal>(team.league_rank())));
          });
    }
  }
}

}  // namespace lutra::Impl

#endif
