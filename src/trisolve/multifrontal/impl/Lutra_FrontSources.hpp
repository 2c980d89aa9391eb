// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_FRONTSOURCES_HPP
#define LUTRA_FRONTSOURCES_HPP

#include <Kokkos_Core.hpp>
#include <Kokkos_Sort.hpp>

#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

#include "Lutra_CheckLaunches.hpp"
#include "Lutra_Error.hpp"
#include "Lutra_ExecutionTraits.hpp"
#include "Lutra_FrontPlan.hpp"
#include "Lutra_FrontSearch.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_Upload.hpp"

namespace lutra::Impl {

/// For each position of each front, the children's contribution rows that are added there (the inverse of the
/// relative indices).
struct FrontSources {
  std::vector<std::uint32_t> begin;   ///< [positions of all fronts + 1] offsets in `source`
  std::vector<std::uint32_t> source;  ///< contribution rows, numbered over all fronts
};

/// @throws OutOfMemoryError if the number of rows exceeds 32 bits
inline void check_sources(std::int64_t n, std::size_t n_rows) {
  if (static_cast<std::uint64_t>(n) + n_rows >= std::numeric_limits<std::uint32_t>::max()) {
    throw OutOfMemoryError("solves on fronts: their rows are more than 32 bits count; ask for another method",
                           n_rows * sizeof(std::uint64_t));
  }
}

/// @param relative relative indices of the plan, on the host
/// @throws OutOfMemoryError if the number of rows exceeds 32 bits
inline FrontSources list_sources(const std::vector<Front>& fronts, std::int64_t n, const int* relative,
                                 std::size_t n_rows) {
  check_sources(n, n_rows);
  FrontSources result;
  result.begin.assign(static_cast<std::size_t>(n) + n_rows + 1, 0);
  const auto for_each_source = [&](const auto& visit) {
    for (const auto& front : fronts) {
      if (front.parent < 0) continue;
      const auto& parent = fronts[static_cast<std::size_t>(front.parent)];
      const auto position =
          static_cast<std::size_t>(parent.rows) + static_cast<std::size_t>(parent.first_pivot);
      for (Offset r = front.rows; r < front.rows + front.cb_rows; ++r)
        visit(position + static_cast<std::size_t>(relative[r]), static_cast<std::uint32_t>(r));
    }
  };
  for_each_source([&](std::size_t position, std::uint32_t) { ++result.begin[position + 1]; });
  std::partial_sum(result.begin.begin(), result.begin.end(), result.begin.begin());
  result.source.resize(result.begin.back());
  std::vector<std::uint32_t> next(result.begin.begin(), result.begin.end() - 1);
  for_each_source([&](std::size_t position, std::uint32_t row) { result.source[next[position]++] = row; });
  return result;
}

/// Index lists made from a plan, in its memory. No solve changes them.
template <class Memory>
struct FrontSolveLists {
  MemoryReservation reservation;
  Kokkos::View<const std::uint32_t*, Memory> source_begin, source;  ///< see FrontSources
};

/// Computes the lists in the plan's memory space, by sorting pairs of a position and a row.
/// @throws OutOfMemoryError
template <class ExecutionSpace, class Plan>
FrontSolveLists<typename ExecutionSpace::memory_space> list_sources(const ExecutionSpace& exec,
                                                                    const Plan& plan,
                                                                    const MemoryBudget& budget) {
  using Memory = typename ExecutionSpace::memory_space;
  using Range = Kokkos::RangePolicy<ExecutionSpace, Kokkos::IndexType<std::int64_t>>;
  using Words = Kokkos::View<std::uint32_t*, Memory>;
  const auto n_rows = static_cast<std::int64_t>(plan.rows.extent(0));
  const std::int64_t positions = static_cast<std::int64_t>(plan.n) + n_rows;
  check_sources(static_cast<std::int64_t>(plan.n), plan.rows.extent(0));
  MemoryReservation reservation(budget);
  const auto begin = reservation.allocate<Words>(exec, "lutra::trisolve::source_begin", positions + 1);
  const auto source = reservation.allocate<Words>(exec, "lutra::trisolve::sources", n_rows);
  budget.require("lutra::trisolve::source_keys", 2 * sizeof(std::uint64_t) * plan.rows.extent(0));
  MemoryReservation scratch(budget);
  const auto keys =
      scratch.allocate<Kokkos::View<std::uint64_t*, Memory>>(exec, "lutra::trisolve::source_keys", n_rows);
  constexpr std::uint64_t no_position = std::numeric_limits<std::uint32_t>::max();
  const auto fronts = plan.fronts;
  const auto relative = plan.relative;
  const auto count = plan.count;
  Kokkos::parallel_for(
      "lutra::trisolve::source_keys", Range(exec, 0, n_rows), KOKKOS_LAMBDA(const std::int64_t r) {
        const auto up = fronts(front_of_row(fronts, count, r)).parent;
        std::uint64_t position = no_position;
        if (up >= 0) {
          const auto parent = fronts(up);
          position = static_cast<std::uint64_t>(parent.rows) +
                     static_cast<std::uint64_t>(parent.first_pivot) + static_cast<std::uint64_t>(relative(r));
        }
        keys(r) = position << 32 | static_cast<std::uint64_t>(r);
      });
  check_launches_on<ExecutionSpace>();  // CUB would name another error
  Kokkos::sort(exec, keys);
  Kokkos::parallel_for(
      "lutra::trisolve::sources", Range(exec, 0, n_rows),
      KOKKOS_LAMBDA(const std::int64_t k) { source(k) = static_cast<std::uint32_t>(keys(k)); });
  Kokkos::parallel_for(
      "lutra::trisolve::source_begin", Range(exec, 0, positions + 1), KOKKOS_LAMBDA(const std::int64_t p) {
        const std::uint64_t first = static_cast<std::uint64_t>(p) << 32;
        begin(p) = static_cast<std::uint32_t>(
            first_not_before(std::int64_t(0), n_rows, [&](std::int64_t k) { return keys(k) < first; }));
      });
  exec.fence("lutra::trisolve: keys are freed");
  return {reservation, begin, source};
}

/// The lists of a plan on a device.
template <class ExecutionSpace, class Plan>
FrontSolveLists<typename ExecutionSpace::memory_space> make_front_solve_lists(const ExecutionSpace& exec,
                                                                              const Plan& plan,
                                                                              const MemoryBudget& budget) {
  return list_sources(exec, plan, budget);
}
/// Overload for hosts.
template <HostExecution ExecutionSpace, class Plan>
FrontSolveLists<typename ExecutionSpace::memory_space> make_front_solve_lists(const ExecutionSpace& exec,
                                                                              const Plan& plan,
                                                                              const MemoryBudget& budget) {
  MemoryReservation kept(budget);
  const auto lists = list_sources(plan.layout.fronts, static_cast<std::int64_t>(plan.n), plan.relative.data(),
                                  plan.relative.extent(0));
  const auto begin = upload(exec, kept, "lutra::trisolve::source_begin", lists.begin);
  return {kept, begin, upload(exec, kept, "lutra::trisolve::sources", lists.source)};
}

}  // namespace lutra::Impl

#endif
