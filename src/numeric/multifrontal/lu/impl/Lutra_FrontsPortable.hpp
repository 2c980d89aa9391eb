// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_FRONTSPORTABLE_HPP
#define LUTRA_FRONTSPORTABLE_HPP

#include <Kokkos_Core.hpp>

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
  const Offset* panels_begin;  ///< offset in `panels` of each front
  const Ordinal* children;
  const int* relative;
  PackedPositions entry_position;
  const Scalar* entries;
  Scalar* panels;
  Scalar* contributions;
  unsigned char* perturbed;
  FrontLuOutcome* outcome;
  double perturbation;
  Ordinal* row_of_pivot;     ///< [n] or null
  Ordinal* column_of_pivot;  ///< [n], or null unless interchanges are symmetric
  double pivot_threshold;    ///< 0: no interchanges
  Interchanges interchanges;
  int interchanged_pivots;       ///< leading pivots of a front whose rows may be interchanged
  Scalar* complement = nullptr;  ///< as in FrontFactors, or null

  /// @param f index of the front
  KOKKOS_FUNCTION DenseFront<Scalar> dense(const Front& front, Ordinal f) const {
    Scalar* const lower = panels + panels_begin[f];
    return {lower, lower + static_cast<Offset>(front.size()) * front.pivots,
            contributions + front.contribution, front.pivots, front.cb_rows};
  }
  KOKKOS_FUNCTION FrontAssembly<Scalar> assembly() const {
    return {entry_position, entries, relative, contributions};
  }
  /// Assembles a front: its entries of F, and the contributions of its children.
  template <class Team, class Dense>
  KOKKOS_FUNCTION void assemble(const Team& team, const Front& front, const Dense& dense) const {
    const FrontAssembly<Scalar> into = assembly();
    into.clear(team, dense);
    into.add_entries(team, front, dense);
    for (Offset c = front.children; c < front.children_end; ++c)
      into.add_child(team, fronts[children[c]], dense);
  }
  KOKKOS_FUNCTION bool is_assembled_only(const Front& front) const {
    return complement != nullptr && front.parent < 0;
  }
  /// Copies columns [begin, end) of a front that is only assembled.
  KOKKOS_FUNCTION void take_complement(Ordinal f, int begin, int end) const {
    const Front& front = fronts[f];
    const DenseFront<Scalar> dense_front = dense(front, f);
    for (int j = begin; j < end; ++j) {
      note_pivot(front, j, false);
      for (int i = 0; i < front.pivots; ++i) {
        Scalar& entry = dense_front.at(i, j);
        complement[i + static_cast<std::int64_t>(j) * front.pivots] = entry;
        entry = Scalar(i == j ? 1 : 0);
      }
    }
  }
  /// Sets the orders of a front's pivots to those without interchanges, if there are orders.
  template <class Team>
  KOKKOS_FUNCTION void start_order(const Team& team, const Front& front) const {
    if (row_of_pivot == nullptr) return;
    team.ranges(front.pivots, 1.0, [&](int begin, int end) {
      for (int j = begin; j < end; ++j) {
        const Ordinal own = front.first_pivot + static_cast<Ordinal>(j);
        row_of_pivot[own] = own;
        if (column_of_pivot != nullptr) column_of_pivot[own] = own;
      }
    });
  }
  KOKKOS_FUNCTION PivotRule<Scalar> pivot_rule() const {
    const double largest = outcome->largest_entry;
    return {static_cast<RealOf<Scalar>>(perturbation * (largest > 0 ? largest : 1.0)),
            static_cast<RealOf<Scalar>>(pivot_threshold), interchanged_pivots, interchanges};
  }
  KOKKOS_FUNCTION void note_pivot(const Front& front, int j, bool is_perturbed) const {
    Impl::note_pivot(perturbed[front.first_pivot + j], outcome->perturbed, is_perturbed);
  }
};

/// Keeps the orders of a front's pivots, and counts interchanges of rows.
template <class Scalar>
struct NoteExchanges {
  const FrontLuData<Scalar>& data;
  const Front& front;

  KOKKOS_FUNCTION void rows(int a, int b) const {
    exchange(data.row_of_pivot[front.first_pivot + a], data.row_of_pivot[front.first_pivot + b]);
    Kokkos::atomic_add(&data.outcome->interchanged, std::int64_t(1));
  }
  KOKKOS_FUNCTION void columns(int a, int b) const {
    exchange(data.column_of_pivot[front.first_pivot + a], data.column_of_pivot[front.first_pivot + b]);
  }
};

template <class Scalar, class ExecutionSpace>
FrontLuData<Scalar> front_lu_data(
    const LuPlan<typename ExecutionSpace::memory_space>& plan,
    const FrontFactors<Scalar, ExecutionSpace>& factors,
    const Kokkos::View<unsigned char*, typename ExecutionSpace::memory_space>& perturbed,
    double perturbation) {
  return {plan.fronts.data(),
          plan.panels.data(),
          plan.children.data(),
          plan.relative.data(),
          plan.entry_position.data(),
          factors.entries.data(),
          factors.panels.data(),
          factors.contributions.data(),
          perturbed.data(),
          factors.outcome.data(),
          perturbation,
          factors.row_of_pivot().data(),
          factors.column_of_pivot().data(),
          factors.interchanges ? factors.interchanges->threshold : 0.0,
          factors.interchanges ? factors.interchanges->kind : Interchanges::rows,
          FrontSchedule<Scalar, ExecutionSpace>::interchanged_pivots(plan),
          factors.complement.data()};
}

/// Assembles and factorizes single fronts, after their children.
template <class Scalar>
struct LuWorker {
  static constexpr const char* label = "lutra::numeric::fronts";
  FrontLuData<Scalar> data;

  template <class Team>
  KOKKOS_FUNCTION void work(const Team& team, Ordinal f) const {
    const Front front = data.fronts[f];
    if (front.pivots == 0) return;  // its contribution is given
    const DenseFront<Scalar> dense = data.dense(front, f);
    data.assemble(team, front, dense);
    data.start_order(team, front);
    if (data.is_assembled_only(front)) {
      team.ranges(front.pivots, 2.0 * front.pivots,
                  [&](int begin, int end) { data.take_complement(f, begin, end); });
      return;
    }
    factorize_front(
        team, dense, data.pivot_rule(),
        [&](int j, bool is_perturbed) { data.note_pivot(front, j, is_perturbed); },
        NoteExchanges<Scalar>{data, front});
  }
};

/// What schedules share that place contributions as the plan does.
template <class Scalar, class ExecutionSpace>
struct PortableLuSchedule {
  using Plan = LuPlan<typename ExecutionSpace::memory_space>;
  using State = FrontRunState<Scalar, ExecutionSpace>;

  void run_portable(const ExecutionSpace& exec, const Plan& plan, const FrontLuData<Scalar>& data,
                    const State&) const {
    work_by_levels<Scalar>(exec, plan, LuWorker<Scalar>{data});
  }
  static FrontSizes sizes(const ExecutionSpace&, const AssemblyTree&, const FrontLayout& layout,
                          const NumericDeviceModel&) {
    return {LuFrontLayout(layout.fronts).entries(), layout.contributions, 0};
  }
  /// Contribution entries after the panels.
  static Offset contributions(const Plan& plan) { return plan.contributions; }
  /// Start of a root's or a given contribution, relative to the first entry of the panels.
  static Offset contribution_begin(const Plan& plan, Ordinal f) {
    return plan.panel_layout.entries() + plan.layout.fronts[static_cast<std::size_t>(f)].contribution;
  }
  /// Entries of inverted diagonal tiles, if a specialization stores them for the solves.
  static std::size_t inverse_entries(bool, bool) { return 0; }
  /// Leading pivots of a front whose rows may be interchanged.
  static int interchanged_pivots(const Plan& plan) { return plan.options.tile; }
};

}  // namespace lutra::Impl

#endif
