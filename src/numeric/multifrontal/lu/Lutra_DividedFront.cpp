// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_DividedFront.hpp"

#include "Lutra_DividedHostFront.hpp"
#include "Lutra_FrontSchedule.hpp"
#include "Lutra_Instantiate.hpp"
#include "Lutra_ScaleEntries.hpp"

namespace lutra {

template <class Scalar, class ExecutionSpace>
void factorize_divided_front(
    const ExecutionSpace& exec, const LuPlan<typename ExecutionSpace::memory_space>& plan,
    const ScaledValues<Scalar, typename ExecutionSpace::memory_space>& A, double perturbation,
    const FrontFactors<Scalar, ExecutionSpace>& factors,
    const Kokkos::View<unsigned char*, typename ExecutionSpace::memory_space>& perturbed,
    const FrontShare& share, DividedFrontMessages<Scalar>& messages) {
  using Real = RealOf<Scalar>;
  const auto data = Impl::front_lu_data(plan, factors, perturbed, perturbation);
  FrontLuOutcome initial;
  initial.largest_entry = factors.min_largest_entry;
  Impl::start_fronts<Scalar>(exec, plan, A, factors.entries, factors.outcome, initial);
  const auto kernel = Impl::best_product<Real>();
  const RunControl& run = factors.state->run;
  const Ordinal f = static_cast<Ordinal>(plan.count) - 1;
  const auto work = [&]<class Loop>(const Loop& loop) {
    const Impl::HostProducts<Scalar, Loop> products{kernel, loop};
    const Front front = data.fronts[f];
    const Impl::DenseFront<Scalar> dense = data.dense(front, f);
    data.assemble(Impl::HostFrontTeam<Scalar, Loop>{products}, front, dense);
    const auto note = [&](int j, bool is_perturbed) { data.note_pivot(front, j, is_perturbed); };
    const Impl::HostFront<Scalar, Loop> kernels(kernel, loop);
    Impl::DividedElimination<Scalar, Loop, decltype(note)>{kernels,       dense,      data.pivot_rule(), note,
                                                           share.columns, share.rank, messages}
        .run();
  };
  Real* const buffers = factors.state->buffers.data();
  if constexpr (Impl::is_serial_space<ExecutionSpace>) {
    work(Impl::AloneLoop<Real>{buffers, RunControl::FrequentQuery(run.query())});
  } else {
    work(Impl::SharedLoop<Real, ExecutionSpace>{exec, factors.schedule->threads(), buffers, run.query()});
  }
  run.poll();
}

#define LUTRA_DIVIDED_FRONT(Scalar)                                                 \
  template void factorize_divided_front<Scalar, Kokkos::DefaultHostExecutionSpace>( \
      const Kokkos::DefaultHostExecutionSpace&, const LuPlan<Kokkos::HostSpace>&,   \
      const ScaledValues<Scalar, Kokkos::HostSpace>&, double,                       \
      const FrontFactors<Scalar, Kokkos::DefaultHostExecutionSpace>&,               \
      const Kokkos::View<unsigned char*, Kokkos::HostSpace>&, const FrontShare&,    \
      DividedFrontMessages<Scalar>&);
LUTRA_FOR_EACH_SCALAR(LUTRA_DIVIDED_FRONT)

}  // namespace lutra
