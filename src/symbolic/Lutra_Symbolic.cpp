// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_Symbolic.hpp"

#include <algorithm>
#include <cmath>

#include "Lutra_ExecutionTraits.hpp"
#include "Lutra_Fill1.hpp"
#include "Lutra_Gsofa.hpp"
#include "Lutra_Instantiate.hpp"
#include "Lutra_SymbolicMethods.hpp"

namespace lutra {
namespace {

template <class Ordinal, class Offset, class ExecutionSpace>
using PatternOn = CsrPattern<Ordinal, Offset, typename ExecutionSpace::memory_space>;
template <class Ordinal, class Offset, class ExecutionSpace>
using ResultOn = LuPattern<Ordinal, Offset, typename ExecutionSpace::memory_space>;

/// A copy in the memory of `exec` of a View on the host.
template <class ExecutionSpace, class T>
Kokkos::View<T*, typename ExecutionSpace::memory_space> upload(
    const ExecutionSpace& exec, MemoryReservation& reservation, const std::string& label,
    const Kokkos::View<const T*, Kokkos::HostSpace>& host) {
  using DeviceView = Kokkos::View<T*, typename ExecutionSpace::memory_space>;
  auto device = reservation.allocate<DeviceView>(exec, label, host.extent(0));
  Kokkos::deep_copy(exec, device, host);
  return device;
}

// Rows for which threads are worth their start, and the forest.
constexpr int min_rows_for_threads = 20000;

/// fill1 by all threads of the host, or by one where there are few rows or the budget does not suffice.
template <class Ordinal, class Offset>
LuPattern<Ordinal, Offset, Kokkos::HostSpace> fill1_that_fits(
    const CsrPattern<Ordinal, Offset, Kokkos::HostSpace>& pattern, const MemoryBudget& budget, bool serial) {
  const int threads = Kokkos::DefaultHostExecutionSpace().concurrency();
  if (serial || threads < 2 || pattern.n_rows < min_rows_for_threads) return Impl::fill1(pattern, budget, 1);
  try {
    return Impl::fill1(pattern, budget, threads);
  } catch (const OutOfMemoryError&) {
    return Impl::fill1(pattern, budget, 1);
  }
}

/// fill1, through copies on the host where the pattern is on a device. Those copies are not the device
/// budget's; on a host everything is.
template <class Ordinal, class Offset, class ExecutionSpace>
ResultOn<Ordinal, Offset, ExecutionSpace> host_method(
    const ExecutionSpace& exec, const PatternOn<Ordinal, Offset, ExecutionSpace>& pattern,
    const MemoryBudget& budget) {
  if constexpr (Impl::is_host_space<ExecutionSpace>) {
    exec.fence("lutra::symbolic: the pattern is complete");
    return fill1_that_fits(pattern, budget, Impl::is_serial_space<ExecutionSpace>);
  } else {
    const Kokkos::HostSpace host;
    exec.fence("lutra::symbolic: the pattern is complete");
    const CsrPattern<Ordinal, Offset, Kokkos::HostSpace> copy{
        pattern.n_rows, pattern.n_cols, Kokkos::create_mirror_view_and_copy(host, pattern.row_map),
        Kokkos::create_mirror_view_and_copy(host, pattern.entries)};
    const auto filled = fill1_that_fits(copy, MemoryBudget(), false);
    ResultOn<Ordinal, Offset, ExecutionSpace> result;
    result.n = filled.n;
    result.nnz_l = filled.nnz_l;
    result.nnz_u = filled.nnz_u;
    result.reservation = MemoryReservation(budget);
    result.row_map = upload(exec, result.reservation, "lutra::symbolic::row_map", filled.row_map);
    result.diagonal = upload(exec, result.reservation, "lutra::symbolic::diagonal", filled.diagonal);
    result.entries = upload(exec, result.reservation, "lutra::symbolic::entries", filled.entries);
    exec.fence("lutra::symbolic: copies on the host are freed");
    result.method = filled.method;
    return result;
  }
}

template <class Ordinal, class Offset, class ExecutionSpace>
ResultOn<Ordinal, Offset, ExecutionSpace> method_asked_for(
    const ExecutionSpace& exec, const PatternOn<Ordinal, Offset, ExecutionSpace>& pattern,
    const MemoryBudget& budget, const SymbolicOptions& options) {
  const SymbolicMethod method = options.method;
  if (method == SymbolicMethod::fill2) return Impl::fill2(exec, pattern, budget, options.portable);
  if (method == SymbolicMethod::fill1) return host_method<Ordinal, Offset>(exec, pattern, budget);
  if (method == SymbolicMethod::ancestors) return Impl::ancestors(exec, pattern, budget, options.portable);
  auto result = Impl::etree(exec, pattern, budget);
  if (!result.exact) {
    result.why =
        "the pattern is not symmetric, so the elimination tree gives the factors of A + Aᵀ: a superset";
  }
  return result;
}

// Measured on an H200 and its host: seconds for a row and for an entry of L + U that fill1 finds with one
// thread and sends to the device, for a row of fill2, and for an edge it walks over.
constexpr double host_row_seconds = 1e-7;
constexpr double host_entry_seconds = 4e-9;
constexpr double device_row_seconds = 2.5e-7;
constexpr double device_edge_seconds = 7e-12;

double fill1_seconds(double rows, double nnz) {
  return host_row_seconds * rows + host_entry_seconds * nnz;
}

/// Threads of fill1 are worth about the root of their number.
double host_method_seconds(const Impl::MethodForecast& forecast) {
  const bool threads = forecast.rows >= min_rows_for_threads;
  const double speedup = threads ? std::sqrt(Kokkos::DefaultHostExecutionSpace().concurrency()) : 1.0;
  return fill1_seconds(forecast.rows, forecast.nnz) / speedup;
}

double device_method_seconds(const Impl::MethodForecast& forecast) {
  return device_row_seconds * forecast.rows + device_edge_seconds * forecast.edges;
}

// The same of ancestors: for a call, a step of the critical path, an entry of A and a word of the sets.
constexpr double ancestors_call_seconds = 1.5e-3;
constexpr double ancestors_step_seconds = 1e-6;
constexpr double ancestors_word_seconds = 1.5e-10;
// Most bytes of sets where there is no limit; and entries of L + U for each of A, as a guess.
constexpr double max_set_bytes = 16.0 * (1 << 30);
constexpr double usual_fill = 3;

double ancestors_seconds(const Impl::MethodForecast& forecast) {
  return ancestors_call_seconds + ancestors_step_seconds * forecast.height +
         ancestors_word_seconds * forecast.set_words;
}

/// Whether the sets fit, and the host is not foreseen to be done sooner even if there is little fill.
[[maybe_unused]] bool ancestors_are_best(const Impl::MethodForecast& forecast, const MemoryBudget& budget) {
  const double bytes = 2 * sizeof(std::uint64_t) * forecast.set_words;
  const double room = std::min(max_set_bytes, static_cast<double>(budget.available_bytes()) / 4);
  const double nnz =
      std::min(usual_fill * (forecast.entries + forecast.rows), 2 * 64 * forecast.set_words + forecast.rows);
  return bytes <= room && ancestors_seconds(forecast) < fill1_seconds(forecast.rows, nnz);
}

std::string milliseconds(double seconds) {
  return std::to_string(std::llround(std::ceil(seconds * 1e3))) + " ms";
}

/// The method of `automatic`, where memory suffices for it.
template <class Ordinal, class Offset, class ExecutionSpace>
ResultOn<Ordinal, Offset, ExecutionSpace> best_method(
    const ExecutionSpace& exec, const PatternOn<Ordinal, Offset, ExecutionSpace>& pattern,
    const MemoryBudget& budget, [[maybe_unused]] const SymbolicOptions& options) {
  if constexpr (Impl::is_host_space<ExecutionSpace>) {
    auto result = host_method<Ordinal, Offset>(exec, pattern, budget);
    result.why = "fill1: on a host the rows of U before a row are the shortest way to it";
    return result;
  } else {
    Impl::MethodForecast forecast;
    if (auto result = Impl::tree_method_if_best(exec, pattern, budget, options.portable, ancestors_are_best,
                                                forecast)) {
      result->why = result->method == SymbolicMethod::etree
                        ? "elimination tree: the pattern is symmetric"
                        : "sets of ancestors on the device: the pattern is not symmetric, and " +
                              milliseconds(ancestors_seconds(forecast)) + " are foreseen";
      return *result;
    }
    const double host = host_method_seconds(forecast);
    const double device = device_method_seconds(forecast);
    const bool on_host = host < device;
    auto result = on_host ? host_method<Ordinal, Offset>(exec, pattern, budget)
                          : Impl::fill2(exec, pattern, budget, options.portable);
    result.why = std::string(on_host ? "fill1 on the host" : "fill2 on the device") +
                 ": the pattern is not symmetric, and " + milliseconds(on_host ? host : device) +
                 " are foreseen for it against " + milliseconds(on_host ? device : host) + " for " +
                 (on_host ? "fill2" : "fill1");
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
  if (pattern.n_rows == 0) {  // there is nothing to divide among teams
    auto result = host_method<Ordinal, Offset>(exec, pattern, budget);
    if (options.method != SymbolicMethod::automatic) result.method = options.method;
    return result;
  }
  if (options.method != SymbolicMethod::automatic) {
    return method_asked_for<Ordinal, Offset>(exec, pattern, budget, options);
  }
  try {
    return best_method<Ordinal, Offset>(exec, pattern, budget, options);
  } catch (const OutOfMemoryError&) {
    auto result = Impl::fill2(exec, pattern, budget, options.portable);
    result.why = "fill2: faster methods need more than the memory limit";
    return result;
  }
}

template <class Ordinal, class Offset, class ExecutionSpace>
LuPattern<Ordinal, Offset, Kokkos::HostSpace> factorize_symbolic_to_host(
    const ExecutionSpace& exec,
    const CsrPattern<Ordinal, Offset, typename ExecutionSpace::memory_space>& pattern,
    const MemoryBudget& budget, const SymbolicOptions& options) {
  try {
    const auto filled = factorize_symbolic<Ordinal, Offset>(exec, pattern, budget, options);
    exec.fence("lutra::symbolic: the pattern is complete");
    const Kokkos::HostSpace host;
    LuPattern<Ordinal, Offset, Kokkos::HostSpace> result;
    result.n = filled.n;
    result.row_map = Kokkos::create_mirror_view_and_copy(host, filled.row_map);
    result.entries = Kokkos::create_mirror_view_and_copy(host, filled.entries);
    result.diagonal = Kokkos::create_mirror_view_and_copy(host, filled.diagonal);
    result.nnz_l = filled.nnz_l;
    result.nnz_u = filled.nnz_u;
    result.method = filled.method;
    result.exact = filled.exact;
    result.why = filled.why;
    if constexpr (Impl::is_host_space<ExecutionSpace>) result.reservation = filled.reservation;
    return result;
  } catch (const OutOfMemoryError&) {
    const bool may_stream =
        options.method == SymbolicMethod::automatic || options.method == SymbolicMethod::fill2;
    if (!may_stream) throw;
  }
  auto result = Impl::fill2_to_host(exec, pattern, budget, options.portable);
  result.why =
      "fill2: the pattern is larger than the memory limit, and went to host memory in ranges of rows";
  return result;
}

#define LUTRA_SYMBOLIC(Ordinal, Offset, Space)                                                             \
  template LuPattern<Ordinal, Offset, typename Space::memory_space> factorize_symbolic(                    \
      const Space&, const CsrPattern<Ordinal, Offset, typename Space::memory_space>&, const MemoryBudget&, \
      const SymbolicOptions&);                                                                             \
  template LuPattern<Ordinal, Offset, Kokkos::HostSpace> factorize_symbolic_to_host(                       \
      const Space&, const CsrPattern<Ordinal, Offset, typename Space::memory_space>&, const MemoryBudget&, \
      const SymbolicOptions&);
LUTRA_FOR_EACH_PATTERN_AND_SPACE(LUTRA_SYMBOLIC)

}  // namespace lutra
