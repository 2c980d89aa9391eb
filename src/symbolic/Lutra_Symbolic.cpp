// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_Symbolic.hpp"

#include <optional>

#include "Lutra_Allocate.hpp"
#include "Lutra_AncestorMethod.hpp"
#include "Lutra_CheckEnumerator.hpp"
#include "Lutra_ExecutionTraits.hpp"
#include "Lutra_Fill1.hpp"
#include "Lutra_Gsofa.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_Instantiate.hpp"
#include "Lutra_PatternSymmetry.hpp"
#include "Lutra_SymbolicChoice.hpp"
#include "Lutra_TreeMethod.hpp"

namespace lutra {
namespace {

template <class ExecutionSpace>
using PatternOn = CsrPattern<Ordinal, Offset, typename ExecutionSpace::memory_space>;
template <class ExecutionSpace>
using ResultOn = LuPattern<typename ExecutionSpace::memory_space>;

/// Copies a pattern to another memory space. @param copy copy(label, View) copies an array
template <class Memory, class From, class Copy>
LuPattern<Memory> copy_pattern(const LuPattern<From>& from, const Copy& copy) {
  return {from.n,
          copy("lutra::symbolic::row_map", from.row_map),
          copy("lutra::symbolic::entries", from.entries),
          copy("lutra::symbolic::diagonal", from.diagonal),
          from.nnz_l,
          from.nnz_u,
          from.method,
          from.exact,
          from.reason,
          {},
          from.fill2};
}

/// fill1 by all host threads, or by one if there are few rows or the budget is too small.
LuPattern<Kokkos::HostSpace> fill1_that_fits(const CsrPattern<Ordinal, Offset, Kokkos::HostSpace>& pattern,
                                             const MemoryBudget& budget, bool serial) {
  const int threads = Kokkos::DefaultHostExecutionSpace().concurrency();
  if (serial || threads < 2 || pattern.n_rows < Impl::min_rows_for_threads)
    return Impl::fill1(pattern, budget, 1);
  try {
    return Impl::fill1(pattern, budget, threads);
  } catch (const OutOfMemoryError&) {
    return Impl::fill1(pattern, budget, 1);
  }
}

/// fill1 on a host copy of the pattern. A device's budget does not count host memory.
template <class ExecutionSpace>
ResultOn<ExecutionSpace> host_method(const ExecutionSpace& exec, const PatternOn<ExecutionSpace>& pattern,
                                     const MemoryBudget& budget) {
  exec.fence("lutra::symbolic: the pattern is complete");
  const CsrPattern<Ordinal, Offset, Kokkos::HostSpace> copy{
      pattern.n_rows, pattern.n_cols, Impl::mirror_in<Kokkos::HostSpace>(pattern.row_map),
      Impl::mirror_in<Kokkos::HostSpace>(pattern.entries)};
  const auto filled = fill1_that_fits(copy, MemoryBudget::unlimited(budget.run()), false);
  MemoryReservation reservation(budget);
  using Memory = typename ExecutionSpace::memory_space;
  auto result = copy_pattern<Memory>(filled, [&](const char* label, const auto& view) {
    using View = Kokkos::View<typename std::decay_t<decltype(view)>::non_const_value_type*, Memory>;
    const auto device = reservation.allocate<View>(exec, label, view.extent(0));
    Kokkos::deep_copy(exec, device, view);
    return device;
  });
  result.reservation = reservation;
  exec.fence("lutra::symbolic: copies on the host are freed");
  return result;
}
/// fill1 on the pattern itself.
template <Impl::HostExecution ExecutionSpace>
ResultOn<ExecutionSpace> host_method(const ExecutionSpace& exec, const PatternOn<ExecutionSpace>& pattern,
                                     const MemoryBudget& budget) {
  exec.fence("lutra::symbolic: the pattern is complete");
  return fill1_that_fits(pattern, budget, Impl::is_serial_space<ExecutionSpace>);
}

/// Host copy of a pattern in device memory.
template <class Memory>
LuPattern<Kokkos::HostSpace> on_host(const LuPattern<Memory>& filled) {
  return copy_pattern<Kokkos::HostSpace>(
      filled, [](const char*, const auto& view) { return Impl::mirror_in<Kokkos::HostSpace>(view); });
}
LuPattern<Kokkos::HostSpace> on_host(const LuPattern<Kokkos::HostSpace>& filled) {
  return filled;
}

template <class ExecutionSpace>
ResultOn<ExecutionSpace> etree(const ExecutionSpace& exec, const PatternOn<ExecutionSpace>& pattern,
                               const MemoryBudget& budget) {
  const Impl::MirroredPattern<ExecutionSpace> both(exec, pattern, budget);
  auto result = Impl::TreeMethod<ExecutionSpace>(exec, pattern, budget).run(both.mirror);
  result.exact = both.symmetric;
  if (!result.exact) {
    result.reason =
        "the pattern is unsymmetric, so the elimination tree gives the factors of A + Aᵀ: a superset";
  }
  return result;
}

template <class ExecutionSpace>
ResultOn<ExecutionSpace> ancestors(const ExecutionSpace& exec, const PatternOn<ExecutionSpace>& pattern,
                                   const MemoryBudget& budget, bool portable) {
  MemoryReservation reservation(budget);
  const auto mirror = Impl::mirror_upper<ExecutionSpace>(exec, pattern, reservation);
  Impl::TreeMethod<ExecutionSpace> tree(exec, pattern, budget);
  tree.build(mirror);
  return Impl::AncestorMethod<ExecutionSpace>(tree, tree.depths(), portable).run();
}

template <class ExecutionSpace>
ResultOn<ExecutionSpace> fill2_counted(const ExecutionSpace& exec, const PatternOn<ExecutionSpace>& pattern,
                                       const MemoryBudget& budget, const SymbolicOptions& options) {
  Fill2Statistics statistics;
  auto result = Impl::fill2(exec, pattern, budget, Impl::fill2_options<ExecutionSpace>(options), &statistics);
  result.fill2 = std::move(statistics);
  return result;
}

template <class ExecutionSpace>
ResultOn<ExecutionSpace> method_asked_for(const ExecutionSpace& exec,
                                          const PatternOn<ExecutionSpace>& pattern,
                                          const MemoryBudget& budget, const SymbolicOptions& options) {
  switch (options.method) {
    case SymbolicMethod::fill1:
      return host_method(exec, pattern, budget);
    case SymbolicMethod::etree:
      return etree(exec, pattern, budget);
    case SymbolicMethod::ancestors:
      return ancestors(exec, pattern, budget, options.portable);
    default:
      return fill2_counted(exec, pattern, budget, options);
  }
}

Impl::SymbolicResources resources_of(bool on_host, const MemoryBudget& budget) {
  return {on_host, Kokkos::DefaultHostExecutionSpace().concurrency(), budget.available_bytes()};
}

/// The method chosen by `automatic`. etree and ancestors reuse the tree computed for the choice.
template <class ExecutionSpace>
ResultOn<ExecutionSpace> best_method(const ExecutionSpace& exec, const PatternOn<ExecutionSpace>& pattern,
                                     const MemoryBudget& budget, const SymbolicOptions& options) {
  auto resources = resources_of(false, budget);
  const auto model = options.device_model.value_or(default_device_model<ExecutionSpace>());
  Impl::SymbolicChoice choice;
  {
    const Impl::MirroredPattern<ExecutionSpace> both(exec, pattern, budget);
    Impl::TreeMethod<ExecutionSpace> tree(exec, pattern, budget);
    Impl::PatternProperties properties{.symmetric = both.symmetric};
    typename decltype(tree)::OrdinalView depth;
    if (!both.symmetric) {
      tree.build(both.mirror);
      depth = tree.depths();
      properties = tree.properties(depth);
    }
    resources.available_bytes = budget.available_bytes();
    auto chosen = Impl::choose_symbolic_method(properties, model.symbolic, resources);
    if (!chosen) {
      properties.fill = tree.fill_bounds(depth);
      chosen = Impl::choose_symbolic_method(properties, model.symbolic, resources);
    }
    choice = *chosen;
    std::optional<ResultOn<ExecutionSpace>> result;
    if (choice.method == SymbolicMethod::etree) result = tree.run(both.mirror);
    if (choice.method == SymbolicMethod::ancestors) {
      result = Impl::AncestorMethod<ExecutionSpace>(tree, depth, options.portable).run();
    }
    if (result) {
      result->reason = choice.reason;
      return *result;
    }
  }  // frees the tree's memory for the other methods
  auto result = choice.method == SymbolicMethod::fill1 ? host_method(exec, pattern, budget)
                                                       : fill2_counted(exec, pattern, budget, options);
  result.reason = choice.reason;
  return result;
}

/// Hosts need no tree for the choice.
template <Impl::HostExecution ExecutionSpace>
ResultOn<ExecutionSpace> best_method(const ExecutionSpace& exec, const PatternOn<ExecutionSpace>& pattern,
                                     const MemoryBudget& budget, const SymbolicOptions&) {
  const auto resources = resources_of(true, budget);
  auto result = host_method(exec, pattern, budget);
  result.reason = Impl::choose_symbolic_method({}, {}, resources)->reason;
  return result;
}

}  // namespace

template <class ExecutionSpace>
LuPattern<typename ExecutionSpace::memory_space> factorize_symbolic(
    const ExecutionSpace& exec,
    const CsrPattern<Ordinal, Offset, typename ExecutionSpace::memory_space>& pattern,
    const MemoryBudget& budget, const SymbolicOptions& options) {
  check_enumerator("options: method", options.method, SymbolicMethod::ancestors);
  if (pattern.n_rows != pattern.n_cols) throw InputError("pattern: it is not square");
  Impl::fill2_options<ExecutionSpace>(options);  // checked before any work
  if (pattern.n_rows == 0) {                     // nothing to divide among teams
    auto result = host_method(exec, pattern, budget);
    if (options.method != SymbolicMethod::automatic) result.method = options.method;
    return result;
  }
  if (options.method != SymbolicMethod::automatic) {
    return method_asked_for(exec, pattern, budget, options);
  }
  try {
    return best_method(exec, pattern, budget, options);
  } catch (const OutOfMemoryError&) {
    auto result = fill2_counted(exec, pattern, budget, options);
    result.reason = "fill2: faster methods exceed the memory limit";
    return result;
  }
}

template <class ExecutionSpace>
LuPattern<Kokkos::HostSpace> factorize_symbolic_to_host(
    const ExecutionSpace& exec,
    const CsrPattern<Ordinal, Offset, typename ExecutionSpace::memory_space>& pattern,
    const MemoryBudget& budget, const SymbolicOptions& options) {
  try {
    const auto filled = factorize_symbolic(exec, pattern, budget, options);
    exec.fence("lutra::symbolic: the pattern is complete");
    return on_host(filled);
  } catch (const OutOfMemoryError&) {
    const bool may_stream =
        options.method == SymbolicMethod::automatic || options.method == SymbolicMethod::fill2;
    if (!may_stream) throw;
  }
  auto result = Impl::fill2_to_host(exec, pattern, budget, Impl::fill2_options<ExecutionSpace>(options));
  result.reason =
      "fill2: the pattern exceeds the memory limit and was copied to host memory in ranges of rows";
  return result;
}

#define LUTRA_SYMBOLIC(Space)                                                                              \
  template LuPattern<typename Space::memory_space> factorize_symbolic(                                     \
      const Space&, const CsrPattern<Ordinal, Offset, typename Space::memory_space>&, const MemoryBudget&, \
      const SymbolicOptions&);                                                                             \
  template LuPattern<Kokkos::HostSpace> factorize_symbolic_to_host(                                        \
      const Space&, const CsrPattern<Ordinal, Offset, typename Space::memory_space>&, const MemoryBudget&, \
      const SymbolicOptions&);
LUTRA_FOR_EACH_SPACE(LUTRA_SYMBOLIC)

}  // namespace lutra
