// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_Symbolic.hpp"

#include "Lutra_ExecutionTraits.hpp"
#include "Lutra_Fill1.hpp"
#include "Lutra_Instantiate.hpp"
#include "Lutra_SymbolicRoads.hpp"

namespace lutra {
namespace {

template <class Ordinal, class Offset, class ExecutionSpace>
using PatternOn = CsrPattern<Ordinal, Offset, typename ExecutionSpace::memory_space>;
template <class Ordinal, class Offset, class ExecutionSpace>
using ResultOn = LuPattern<Ordinal, Offset, typename ExecutionSpace::memory_space>;

/// A copy in the memory of `exec` of a View on the host.
template <class ExecutionSpace, class T>
Kokkos::View<T*, typename ExecutionSpace::memory_space> upload(
    const ExecutionSpace& exec, Charge& charge, const std::string& label,
    const Kokkos::View<const T*, Kokkos::HostSpace>& host) {
  using DeviceView = Kokkos::View<T*, typename ExecutionSpace::memory_space>;
  auto device = charge.allocate<DeviceView>(exec, label, host.extent(0));
  Kokkos::deep_copy(exec, device, host);
  return device;
}

/// fill1, through copies on the host where the pattern is on a device. Those copies are not the device
/// budget's; on a host everything is.
template <class Ordinal, class Offset, class ExecutionSpace>
ResultOn<Ordinal, Offset, ExecutionSpace> host_road(const ExecutionSpace& exec,
                                                    const PatternOn<Ordinal, Offset, ExecutionSpace>& pattern,
                                                    const MemoryBudget& budget) {
  if constexpr (Impl::is_host_space<ExecutionSpace>) {
    exec.fence("lutra::symbolic: the pattern is complete");
    return Impl::fill1(pattern, budget);
  } else {
    const Kokkos::HostSpace host;
    exec.fence("lutra::symbolic: the pattern is complete");
    const CsrPattern<Ordinal, Offset, Kokkos::HostSpace> copy{
        pattern.n_rows, pattern.n_cols, Kokkos::create_mirror_view_and_copy(host, pattern.row_map),
        Kokkos::create_mirror_view_and_copy(host, pattern.entries)};
    const auto filled = Impl::fill1(copy, MemoryBudget());
    ResultOn<Ordinal, Offset, ExecutionSpace> result;
    result.n = filled.n;
    result.nnz_l = filled.nnz_l;
    result.nnz_u = filled.nnz_u;
    result.charge = Charge(budget);
    result.row_map = upload(exec, result.charge, "lutra::symbolic::row_map", filled.row_map);
    result.diagonal = upload(exec, result.charge, "lutra::symbolic::diagonal", filled.diagonal);
    result.entries = upload(exec, result.charge, "lutra::symbolic::entries", filled.entries);
    exec.fence("lutra::symbolic: copies on the host are freed");
    result.road = filled.road;
    return result;
  }
}

template <class Ordinal, class Offset, class ExecutionSpace>
ResultOn<Ordinal, Offset, ExecutionSpace> road_asked_for(
    const ExecutionSpace& exec, const PatternOn<Ordinal, Offset, ExecutionSpace>& pattern,
    const MemoryBudget& budget, SymbolicRoad road) {
  if (road == SymbolicRoad::fill2) return Impl::fill2(exec, pattern, budget);
  if (road == SymbolicRoad::fill1) return host_road<Ordinal, Offset>(exec, pattern, budget);
  auto result = *Impl::etree(exec, pattern, false, budget);
  if (!result.exact) {
    result.why =
        "the pattern is not symmetric, so the elimination tree gives the factors of A + Aᵀ: a superset";
  }
  return result;
}

/// The road of `automatic`, where memory suffices for it.
template <class Ordinal, class Offset, class ExecutionSpace>
ResultOn<Ordinal, Offset, ExecutionSpace> best_road(const ExecutionSpace& exec,
                                                    const PatternOn<Ordinal, Offset, ExecutionSpace>& pattern,
                                                    const MemoryBudget& budget) {
  if constexpr (Impl::is_host_space<ExecutionSpace>) {
    auto result = host_road<Ordinal, Offset>(exec, pattern, budget);
    result.why = "fill1: on a host the rows of U before a row are the shortest way to it";
    return result;
  } else {
    if (auto result = Impl::etree(exec, pattern, true, budget)) {
      result->why = "elimination tree: the pattern is symmetric";
      return *result;
    }
    auto result = Impl::fill2(exec, pattern, budget);
    result.why = "fill2: the pattern is not symmetric";
    return result;
  }
}

}  // namespace

template <class Ordinal, class Offset, class ExecutionSpace>
LuPattern<Ordinal, Offset, typename ExecutionSpace::memory_space> factorize_symbolic(
    const ExecutionSpace& exec,
    const CsrPattern<Ordinal, Offset, typename ExecutionSpace::memory_space>& pattern,
    const MemoryBudget& budget, const SymbolicOptions& options) {
  if (pattern.n_rows != pattern.n_cols) throw InputError("pattern: it is not square");
  if (options.road != SymbolicRoad::automatic) {
    return road_asked_for<Ordinal, Offset>(exec, pattern, budget, options.road);
  }
  try {
    return best_road<Ordinal, Offset>(exec, pattern, budget);
  } catch (const OutOfMemoryError&) {
    auto result = Impl::fill2(exec, pattern, budget);
    result.why = "fill2: faster roads need more than the memory limit";
    return result;
  }
}

#define LUTRA_SYMBOLIC(Ordinal, Offset, Space)                                                             \
  template LuPattern<Ordinal, Offset, typename Space::memory_space> factorize_symbolic(                    \
      const Space&, const CsrPattern<Ordinal, Offset, typename Space::memory_space>&, const MemoryBudget&, \
      const SymbolicOptions&);
LUTRA_FOR_EACH_PATTERN_AND_SPACE(LUTRA_SYMBOLIC)

}  // namespace lutra
