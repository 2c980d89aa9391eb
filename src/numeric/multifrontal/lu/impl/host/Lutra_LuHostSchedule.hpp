// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_LUHOSTSCHEDULE_HPP
#define LUTRA_LUHOSTSCHEDULE_HPP

#include <limits>

#include "Lutra_FrontsPortable.hpp"
#include "Lutra_HostFront.hpp"
#include "Lutra_HostFronts.hpp"
#include "Lutra_SymmetricHostFront.hpp"

namespace lutra::Impl {

template <class Scalar, class Loop, class NotePivot, class NoteExchange>
KOKKOS_FUNCTION void factorize_front(const HostFrontTeam<Scalar, Loop>& team, const DenseFront<Scalar>& front,
                                     const PivotRule<Scalar>& rule, const NotePivot& note_pivot,
                                     const NoteExchange& note_exchange) {
  using General = FrontElimination<HostFrontTeam<Scalar, Loop>, Scalar, NotePivot, NoteExchange>;
  if (rule.kind != Interchanges::rows) return General{team, front, rule, note_pivot, note_exchange}.run();
  KOKKOS_IF_ON_HOST((HostFront<Scalar, Loop>(team.products.kernel, team.products.loop)
                         .factorize(front, rule, note_pivot, note_exchange);))
}

/// Fronts by subtrees, with products of the processor's best instructions.
template <class Scalar, class ExecutionSpace>
requires is_host_space<ExecutionSpace>
struct FrontSchedule<Scalar, ExecutionSpace> : PortableLuSchedule<Scalar, ExecutionSpace> {
  using Base = PortableLuSchedule<Scalar, ExecutionSpace>;
  using typename Base::Plan;
  using typename Base::State;

  FrontSchedule(const ExecutionSpace& exec, const Plan& plan, const MemoryBudget&, const NumericDeviceModel&,
                const std::optional<Symmetry>& symmetry)
      : m_fronts(plan.layout.fronts, exec.concurrency()), m_symmetry(symmetry) {}

  void run(const ExecutionSpace& exec, const Plan&, const FrontLuData<Scalar>& data,
           const State& state) const {
    const bool by_rows = data.pivot_threshold > 0 && data.interchanges == Interchanges::rows;
    if (m_symmetry && !by_rows && data.complement == nullptr)
      return run(exec, SymmetricLuWorker<Scalar>{data, m_symmetry == Symmetry::hermitian}, state);
    run(exec, LuWorker<Scalar>{data}, state);
  }
  int threads() const { return m_fronts.threads(); }
  /// Rows are interchanged among all pivots of a front.
  static int interchanged_pivots(const Plan&) { return std::numeric_limits<int>::max(); }

 private:
  template <class Worker>
  void run(const ExecutionSpace& exec, const Worker& worker, const State& state) const {
    struct None {};
    m_fronts.template for_each<None, Scalar>(
        exec, "lutra::numeric::subtrees", state.buffers.data(), state.run,
        [&]<class Loop>(const HostProducts<Scalar, Loop>& products, Ordinal f, int, None&) {
          worker.work(HostFrontTeam<Scalar, Loop>{products}, f);
        });
  }

  HostFronts m_fronts;
  std::optional<Symmetry> m_symmetry;  ///< if set, fronts compute their lower triangles
};

template <class Scalar, class ExecutionSpace>
requires is_host_space<ExecutionSpace>
struct FrontRunState<Scalar, ExecutionSpace> : ProductBuffers<Scalar> {
  using ProductBuffers<Scalar>::ProductBuffers;
};

}  // namespace lutra::Impl

#endif
