// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_PerfSelectValues.hpp"

#include <stdexcept>

namespace lutra::Perf {
namespace {

struct MakeValues {
  Kokkos::View<double*, MemorySpace> values;
  Distribution distribution;
  std::uint64_t different;

  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    auto hash = static_cast<std::uint64_t>(i) * 0x9e3779b97f4a7c15u + 1;
    hash = (hash ^ hash >> 30) * 0xbf58476d1ce4e5b9u;
    hash = (hash ^ hash >> 27) * 0x94d049bb133111ebu;
    hash ^= hash >> 31;
    const double uniform = static_cast<double>(hash >> 11) * 0x1p-53;
    values(i) = distribution == Distribution::uniform    ? uniform
                : distribution == Distribution::scales   ? Kokkos::exp(40 * uniform - 20)
                : distribution == Distribution::repeated ? static_cast<double>(hash % different)
                                                         : 0.5;
  }
};

using Threshold = SelectionThreshold<double>;

struct CountAbove {
  SelectValues values;
  Threshold threshold;
  bool ties;

  KOKKOS_FUNCTION void operator()(std::int64_t i, std::int64_t& sum) const {
    sum += (ties ? threshold.is_tie(values(i)) : threshold.is_above(values(i))) ? 1 : 0;
  }
};

std::int64_t count(const SelectValues& values, const Threshold& threshold, bool ties) {
  std::int64_t result = 0;
  Kokkos::parallel_reduce("lutra::perf::check",
                          Kokkos::RangePolicy<ExecutionSpace>(0, static_cast<std::int64_t>(values.extent(0))),
                          CountAbove{values, threshold, ties}, result);
  return result;
}

}  // namespace

SelectValues make_values(Distribution distribution, std::int64_t n, std::uint64_t different) {
  const Kokkos::View<double*, MemorySpace> values("lutra::perf::values", static_cast<std::size_t>(n));
  Kokkos::parallel_for("lutra::perf::values", Kokkos::RangePolicy<ExecutionSpace>(0, n),
                       MakeValues{values, distribution, different});
  Kokkos::fence("lutra::perf: values are there");
  return values;
}

std::int64_t check_threshold(const SelectValues& values, std::int64_t k, const SelectOptions& options,
                             const Selection<double, ExecutionSpace>::Result& found) {
  Threshold threshold;
  Kokkos::deep_copy(Kokkos::View<Threshold, Kokkos::HostSpace>(&threshold), found);
  const auto ties = count(values, threshold, true);
  if (count(values, threshold, false) != threshold.n_above || threshold.n_above + threshold.n_ties != k ||
      threshold.n_ties > ties || threshold.n_ties < 1 ||
      (!options.approximate && threshold.lower != threshold.upper))
    throw std::runtime_error("wrong threshold");
  return ties;
}

}  // namespace lutra::Perf
