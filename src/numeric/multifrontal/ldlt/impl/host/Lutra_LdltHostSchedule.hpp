// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_LDLTHOSTSCHEDULE_HPP
#define LUTRA_LDLTHOSTSCHEDULE_HPP

#include "Lutra_HostFronts.hpp"
#include "Lutra_HostLdltPivoting.hpp"
#include "Lutra_LdltFronts.hpp"

namespace lutra::Impl {

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
  void advance(const LdltRecord& record, const Front& front) {
    const Offset columns = front.pivots + record.delayed_in;
    end += record.stopped != 0 ? Offset(0) : columns * (columns + front.cb_rows);
  }
};

/// Fronts by subtrees, with products of the processor's best instructions.
template <>
struct LdltSchedule<Kokkos::HostSpace> {
  using Plan = LdltPlan<Kokkos::HostSpace>;
  HostFronts fronts;

  template <class ExecutionSpace>
  LdltSchedule(const ExecutionSpace& exec, const Plan& plan, const MemoryBudget&)
      : fronts(plan.base.layout.fronts, exec.concurrency()) {}

  int threads() const { return fronts.threads(); }
  static bool has_data_flow(const std::vector<Front>&, const LdltPlanOptions&) { return false; }
  template <class Scalar, class ExecutionSpace>
  void run(const ExecutionSpace& exec, const Plan&, const LdltData<Scalar>& data,
           LdltFactors<Scalar, ExecutionSpace>& factors) const {
    const LdltWorker<Scalar> worker{data};
    const Offset max_work = factors.room.max_work;
    fronts.for_each<PanelCursor, Scalar>(
        exec, "lutra::numeric::ldlt_subtrees", factors.state->buffers.data(), factors.state->run,
        [&]<class Loop>(const HostProducts<Scalar, Loop>& products, Ordinal f, int thread,
                        PanelCursor& cursor) {
          worker.work(LdltHostTeam<Scalar, Loop>{{products}, data.column_rows}, f,
                      data.workspace + thread * max_work, cursor.move(f, data.room[f].panel));
          cursor.advance(data.records[f], data.fronts[f]);
        });
  }
};

template <class Scalar, class ExecutionSpace>
requires is_host_space<ExecutionSpace>
struct LdltRunState<Scalar, ExecutionSpace> : ProductBuffers<Scalar> {
  using ProductBuffers<Scalar>::ProductBuffers;
  /// Each thread has one for the largest front.
  static Offset workspace(const LdltSchedule<Kokkos::HostSpace>& schedule,
                          const LdltFrontLayout<Kokkos::HostSpace>& room) {
    return std::max<Offset>(room.workspace, room.max_work * schedule.threads());
  }
};

}  // namespace lutra::Impl

#endif
