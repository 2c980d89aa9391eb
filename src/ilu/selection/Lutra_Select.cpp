// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_Select.hpp"

#include <algorithm>
#include <string>
#include <type_traits>

#include "Lutra_Allocate.hpp"
#include "Lutra_Bytes.hpp"
#include "Lutra_Config.hpp"
#include "Lutra_Error.hpp"
#include "Lutra_ExecutionTraits.hpp"
#include "Lutra_Instantiate.hpp"
#include "Lutra_SampleSelect.hpp"
#include "Lutra_SampleSelectHost.hpp"
#ifdef KOKKOS_ENABLE_CUDA
#include "Lutra_SampleSelectCuda.hpp"
#include "Lutra_SelectionVariants.hpp"
#endif

namespace lutra {
namespace Impl {
namespace {

template <class Real, class ExecutionSpace>
using WorkspaceOf = SelectionWorkspace<Real, typename ExecutionSpace::memory_space>;
template <class Real, class ExecutionSpace>
using ValuesOf = typename Selection<Real, ExecutionSpace>::Values;
template <class Real, class ExecutionSpace>
using ResultOf = typename Selection<Real, ExecutionSpace>::Result;

/// 2 bits: four buckets, one of them for what is no candidate. 8 bits: an oracle is a byte.
constexpr int quickselect_height = 2, sampleselect_height = 8;

/// Whether an exact selection is found without the bucket of each value.
template <class ExecutionSpace>
bool needs_no_oracles(const ExecutionSpace&, const SelectOptions&) {
  return false;
}
/// SampleSelectHost does, and is never approximate.
template <HostExecution ExecutionSpace>
bool needs_no_oracles(const ExecutionSpace&, const SelectOptions& options) {
  return !options.portable && options.method == SelectMethod::sampleselect;
}

/// Whether a backend has kernels of its own whose counters are chosen; those of hosts have none.
template <class ExecutionSpace>
constexpr bool has_counters_to_choose() {
#ifdef KOKKOS_ENABLE_CUDA
  return std::is_same_v<ExecutionSpace, Kokkos::Cuda>;
#else
  return false;
#endif
}

/// @throws InputError for options that contradict one another or have no effect here
template <class ExecutionSpace>
void check_options(const ExecutionSpace& exec, const SelectOptions& options) {
  const bool is_own = !options.portable && has_counters_to_choose<ExecutionSpace>();
  const bool is_even = options.splitters == SelectSplitters::even;
  const bool is_quick = options.method == SelectMethod::quickselect;
  if (options.approximate && is_quick) throw InputError("Selection: quickselect is never approximate");
  if (is_even && is_quick) throw InputError("Selection: quickselect has one pivot, no splitters to space");
  if (options.warp_aggregated && !is_own)
    throw InputError("Selection: only the CUDA kernels aggregate within warps");
  if (options.warp_aggregated && options.counters == SelectCounters::automatic)
    throw InputError("Selection: warps aggregate with counters `shared` or `global`");
  if (needs_no_oracles(exec, options) && (is_even || options.counters != SelectCounters::automatic))
    throw InputError("Selection: on hosts only the portable kernels have splitters and counters to choose");
}

template <class View, class ExecutionSpace>
View cleared(const ExecutionSpace& exec, MemoryReservation& reservation, std::string_view label,
             std::int64_t count) {
  const auto view = reservation.allocate<View>(exec, label, count);
  set_to_zero(exec, view);
  return view;
}

template <class Real, class ExecutionSpace>
WorkspaceOf<Real, ExecutionSpace> make_workspace(const ExecutionSpace& exec, std::int64_t max_n,
                                                 const SelectOptions& options, const MemoryBudget& budget) {
  using Work = WorkspaceOf<Real, ExecutionSpace>;
  constexpr std::int64_t min_capacity = 1 << 17, multiple = 16;  // 16: for vector loads and stores
  const auto rounded = [](std::int64_t count) { return (count + multiple - 1) / multiple * multiple; };
  Work work;
  work.reservation = MemoryReservation(budget);
  MemoryReservation& own = work.reservation;
  work.max_n = max_n;
  work.state = cleared<decltype(Work::state)>(exec, own, "lutra::ilu::select state", 1);
  work.counts = cleared<decltype(Work::counts)>(exec, own, "lutra::ilu::select counts", Work::max_buckets);
  work.gathered = cleared<decltype(Work::gathered)>(exec, own, "lutra::ilu::select gathered", 1);
  work.blocks_done = cleared<decltype(Work::blocks_done)>(exec, own, "lutra::ilu::select blocks", 1);
  work.splitters =
      cleared<decltype(Work::splitters)>(exec, own, "lutra::ilu::select splitters", Work::max_buckets);
  const bool without_oracles = needs_no_oracles(exec, options);
  if (options.approximate && !without_oracles) return work;
  const std::int64_t part = options.method == SelectMethod::quickselect ? max_n : max_n / 16;
  work.capacity = rounded(std::min(max_n, std::max(part, min_capacity)));
  work.buffers = own.allocate<decltype(Work::buffers)>(exec, "lutra::ilu::select buffers", 2 * work.capacity);
  if (without_oracles) return work;
  work.oracles = own.allocate<decltype(Work::oracles)>(exec, "lutra::ilu::select oracles", rounded(max_n));
  return work;
}

/// Two levels almost always suffice; one team finishes whatever they leave.
template <class Real, class ExecutionSpace>
void sampleselect_portable(const ExecutionSpace& exec, const WorkspaceOf<Real, ExecutionSpace>& work,
                           const ValuesOf<Real, ExecutionSpace>& values, std::int64_t k,
                           const SelectOptions& options, const ResultOf<Real, ExecutionSpace>& result) {
  using Steps = SampleSelect<Real, ExecutionSpace, sampleselect_height>;
  const auto n = static_cast<std::int64_t>(values.extent(0));
  Steps steps{work, values, k, result, options};
  if (n <= Steps::finish_size) return steps.queue_finish(exec, 0);
  steps.queue_level(exec, 0);
  if (options.approximate) return;
  steps.queue_level(exec, 1);
  steps.queue_finish(exec, 2);
}

/// Candidate values after the levels so far; 0: the threshold is known. Waits.
template <class ExecutionSpace, class Work>
std::int64_t values_left(const ExecutionSpace& exec, const Work& work) {
  exec.fence("lutra: a level of quickselect is done");
  const auto state = Impl::mirror_in<Kokkos::HostSpace>(work.state);
  return state(0).is_found() ? 0 : state(0).count;
}

template <class Real, class ExecutionSpace>
void quickselect_portable(const ExecutionSpace& exec, const WorkspaceOf<Real, ExecutionSpace>& work,
                          const ValuesOf<Real, ExecutionSpace>& values, std::int64_t k,
                          const SelectOptions& options, const ResultOf<Real, ExecutionSpace>& result) {
  using Steps = SampleSelect<Real, ExecutionSpace, quickselect_height>;
  Steps steps{work, values, k, result, options};
  int level = 0;
  for (auto left = static_cast<std::int64_t>(values.extent(0)); left > Steps::finish_size; ++level) {
    steps.queue_level(exec, level);
    left = values_left(exec, work);
  }
  steps.queue_finish(exec, level);
}

template <class Real, class ExecutionSpace>
void find_portable(const ExecutionSpace& exec, const WorkspaceOf<Real, ExecutionSpace>& work,
                   const ValuesOf<Real, ExecutionSpace>& values, std::int64_t k, const SelectOptions& options,
                   const ResultOf<Real, ExecutionSpace>& result) {
  if (options.method == SelectMethod::quickselect)
    return quickselect_portable<Real>(exec, work, values, k, options, result);
  sampleselect_portable<Real>(exec, work, values, k, options, result);
}

/// By a space's own kernels, if it has any.
template <class Real, class ExecutionSpace>
void find_own(const ExecutionSpace& exec, const WorkspaceOf<Real, ExecutionSpace>& work,
              const ValuesOf<Real, ExecutionSpace>& values, std::int64_t k, const SelectOptions& options,
              const ResultOf<Real, ExecutionSpace>& result) {
  find_portable<Real>(exec, work, values, k, options, result);
}
template <class Real, HostExecution ExecutionSpace>
void find_own(const ExecutionSpace& exec, const WorkspaceOf<Real, ExecutionSpace>& work,
              const ValuesOf<Real, ExecutionSpace>& values, std::int64_t k, const SelectOptions& options,
              const ResultOf<Real, ExecutionSpace>& result) {
  if (options.method == SelectMethod::quickselect)
    return quickselect_portable<Real>(exec, work, values, k, options, result);
  result() = SampleSelectHost<Real, ExecutionSpace>{exec, work, values}.find(k);
}
#ifdef KOKKOS_ENABLE_CUDA
template <class Real>
void find_own(const Kokkos::Cuda& exec, const WorkspaceOf<Real, Kokkos::Cuda>& work,
              const ValuesOf<Real, Kokkos::Cuda>& values, std::int64_t k, const SelectOptions& options,
              const ResultOf<Real, Kokkos::Cuda>& result) {
  const auto left = [&] { return values_left(exec, work); };
  if (options.counters != SelectCounters::automatic)
    return select_variant<Real>({exec, work, values, k, result}, options, left);
  const SampleSelectCuda<Real> steps(exec, work, values, k, result, options.splitters);
  options.method == SelectMethod::quickselect ? steps.quickselect(left) : steps.find(options.approximate);
}
#endif

}  // namespace
}  // namespace Impl

template <class Real, class ExecutionSpace>
Selection<Real, ExecutionSpace>::Selection(const ExecutionSpace& exec, std::int64_t max_n,
                                           const SelectOptions& options, const MemoryBudget& budget)
    : m_options(options) {
  if (max_n < 0) throw InputError("Selection: max_n must be at least 0");
  Impl::check_options(exec, options);
  m_work = Impl::make_workspace<Real>(exec, max_n, options, budget);
}

template <class Real, class ExecutionSpace>
void Selection<Real, ExecutionSpace>::find(const ExecutionSpace& exec, const Values& values, std::int64_t k,
                                           const Result& result) const {
  const auto n = static_cast<std::int64_t>(values.extent(0));
  if (k < 0) throw InputError("select: k must be at least 0");
  if (n > m_work.max_n)
    throw InputError("select: " + std::to_string(n) + " values, but max_n is " +
                     std::to_string(m_work.max_n));
  if (m_options.portable)
    return Impl::find_portable<Real>(exec, m_work, values, std::min(k, n), m_options, result);
  Impl::find_own<Real>(exec, m_work, values, std::min(k, n), m_options, result);
}

template <class Real, class ExecutionSpace>
SelectionThreshold<Real> select(
    const ExecutionSpace& exec,
    const Kokkos::View<const Real*, typename ExecutionSpace::memory_space>& values, std::int64_t k,
    const SelectOptions& options, const MemoryBudget& budget) {
  const Selection<Real, ExecutionSpace> selection(exec, static_cast<std::int64_t>(values.extent(0)), options,
                                                  budget);
  const typename Selection<Real, ExecutionSpace>::Result result("lutra::ilu::threshold");
  selection.find(exec, values, k, result);
  SelectionThreshold<Real> threshold;
  Kokkos::deep_copy(exec, Kokkos::View<SelectionThreshold<Real>, Kokkos::HostSpace>(&threshold), result);
  exec.fence("lutra: a threshold is on the host");
  return threshold;
}

#define LUTRA_SELECT(Real, Space)                                                                          \
  template class Selection<Real, Space>;                                                                   \
  template SelectionThreshold<Real> select(const Space&,                                                   \
                                           const Kokkos::View<const Real*, typename Space::memory_space>&, \
                                           std::int64_t, const SelectOptions&, const MemoryBudget&);
LUTRA_FOR_EACH_SPACE(LUTRA_SELECT, float)
LUTRA_FOR_EACH_SPACE(LUTRA_SELECT, double)

}  // namespace lutra
