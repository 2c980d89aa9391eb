// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_Allocate.hpp"
#include "Lutra_Bytes.hpp"
#include "Lutra_Gsofa.hpp"

#include <algorithm>
#include <vector>

#include "Lutra_Amalgamate.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_Instantiate.hpp"
#include "Lutra_PrefixSum.hpp"
#include "Lutra_SupernodeSearch.hpp"
#ifdef KOKKOS_ENABLE_CUDA
#include "Lutra_SupernodesCuda.hpp"
#endif

namespace lutra {
namespace {

template <class Memory>
using OrdinalView = Kokkos::View<Ordinal*, Memory>;

/// Lengths of the rows of L and of U.
template <class ExecutionSpace, class Pattern, class View>
void count_rows(const ExecutionSpace& exec, const Pattern& filled, const View& lower, const View& upper) {
  const auto row_map = filled.row_map, diagonal = filled.diagonal;
  Kokkos::parallel_for(
      "lutra::symbolic::row_lengths", Kokkos::RangePolicy<ExecutionSpace>(exec, 0, filled.n),
      KOKKOS_LAMBDA(const std::int64_t i) {
        lower(i) = static_cast<Ordinal>(diagonal(i) - row_map(i));
        upper(i) = static_cast<Ordinal>(row_map(i + 1) - diagonal(i));
      });
}

/// Sets 1 where L(s, s - 1) and U(s - 1, s) are entries.
template <class ExecutionSpace, class View>
void find_joints(const ExecutionSpace& exec, const LuPattern<typename ExecutionSpace::memory_space>& filled,
                 const View& joints) {
  const auto row_map = filled.row_map, diagonal = filled.diagonal;
  const auto entries = filled.entries;
  Kokkos::parallel_for(
      "lutra::symbolic::supernode_joints", Kokkos::RangePolicy<ExecutionSpace>(exec, 0, filled.n),
      KOKKOS_LAMBDA(const std::int64_t i) {
        const auto s = static_cast<Ordinal>(i);
        const bool below = s > 0 && diagonal(s) > row_map(s) && entries(diagonal(s) - 1) == s - 1;
        const bool right = s > 0 && row_map(s) > diagonal(s - 1) + 1 && entries(diagonal(s - 1) + 1) == s;
        joints(i) = below && right ? 1 : 0;
      });
}

template <class View>
std::vector<typename View::non_const_value_type> to_host(const View& view) {
  const auto host = Impl::mirror_in<Kokkos::HostSpace>(view);
  return {host.data(), host.data() + host.extent(0)};
}

/// Numbers supernodes by their leading rows; returns their count.
template <class ExecutionSpace, class View>
Ordinal number(const ExecutionSpace& exec, const View& leads, const View& of_row) {
  Ordinal count = 0;
  Kokkos::parallel_scan(
      "lutra::symbolic::supernode_numbers",
      Kokkos::RangePolicy<ExecutionSpace>(exec, 0, static_cast<std::int64_t>(leads.extent(0))),
      KOKKOS_LAMBDA(const std::int64_t i, Ordinal& sum, const bool final) {
        sum += leads(i);
        if (final) of_row(i) = sum - 1;
      },
      count);
  return count;
}

/// Sets first rows, and parents from the last row of each supernode.
template <class ExecutionSpace, class View>
void link(const ExecutionSpace& exec, const LuPattern<typename ExecutionSpace::memory_space>& filled,
          const View& of_row, const View& begin, const View& parent) {
  const auto row_map = filled.row_map, diagonal = filled.diagonal;
  const auto entries = filled.entries;
  const Ordinal n = filled.n;
  Kokkos::parallel_for(
      "lutra::symbolic::supernodal_tree", Kokkos::RangePolicy<ExecutionSpace>(exec, 0, n),
      KOKKOS_LAMBDA(const std::int64_t i) {
        const Ordinal own = of_row(i);
        if (i == 0 || of_row(i - 1) != own) begin(own) = static_cast<Ordinal>(i);
        if (i == n - 1) begin(own + 1) = n;
        if (i < n - 1 && of_row(i + 1) == own) return;
        const Offset next = diagonal(i) + 1;
        parent(own) = next < row_map(i + 1) ? of_row(entries(next)) : Ordinal(-1);
      });
}

}  // namespace

template <class ExecutionSpace>
Supernodes<typename ExecutionSpace::memory_space> find_supernodes(
    const ExecutionSpace& exec, const LuPattern<typename ExecutionSpace::memory_space>& filled,
    const MemoryBudget& budget, const SupernodeOptions& options) {
  using Memory = typename ExecutionSpace::memory_space;
  using View = OrdinalView<Memory>;
  if (options.max_size < 1) throw InputError("max_size: a supernode has one row at least");
  if (!(options.relaxation >= 0)) throw InputError("relaxation: it has to be a number from 0 on");
  const Ordinal n = filled.n;
  Supernodes<Memory> result;
  result.n = n;
  result.reservation = MemoryReservation(budget);
  MemoryReservation scratch(budget);
  auto lower = result.reservation.template allocate<View>(exec, "lutra::symbolic::row_lengths_l", n);
  auto upper = result.reservation.template allocate<View>(exec, "lutra::symbolic::row_lengths_u", n);
  auto of_row = result.reservation.template allocate<View>(exec, "lutra::symbolic::supernode_of_row", n);
  auto leads = scratch.allocate<View>(exec, "lutra::symbolic::leads", n);
  count_rows(exec, filled, lower, upper);
  if (n > 0)
    Impl::search_supernodes(
        exec,
        Impl::SupernodeRows{n, filled.row_map.data(), filled.diagonal.data(), filled.entries.data(),
                            leads.data(), static_cast<Ordinal>(options.max_size)},
        options.search, scratch);
  if (options.relaxation > 0) {
    auto joints = scratch.allocate<View>(exec, "lutra::symbolic::joints", n);
    find_joints(exec, filled, joints);
    exec.fence("lutra::symbolic: supernodes are known");
    auto host_leads = to_host(leads);
    result.zeros = Impl::amalgamate(to_host(joints), to_host(upper), options, host_leads);
    Kokkos::deep_copy(exec, leads,
                      Kokkos::View<const Ordinal*, Kokkos::HostSpace>(host_leads.data(), host_leads.size()));
    exec.fence("lutra::symbolic: leads are copied");
  }
  result.count = number(exec, leads, of_row);
  auto begin =
      result.reservation.template allocate<View>(exec, "lutra::symbolic::supernode_begin", result.count + 1);
  auto parent =
      result.reservation.template allocate<View>(exec, "lutra::symbolic::supernode_parent", result.count);
  if (n == 0) Impl::set_to_zero(exec, begin);
  link(exec, filled, of_row, begin, parent);
  exec.fence("lutra::symbolic: scratch is freed");
  result.begin = begin;
  result.parent = parent;
  result.of_row = of_row;
  result.lower = lower;
  result.upper = upper;
  return result;
}

#define LUTRA_SUPERNODES(Space)                                                          \
  template Supernodes<typename Space::memory_space> find_supernodes(                     \
      const Space&, const LuPattern<typename Space::memory_space>&, const MemoryBudget&, \
      const SupernodeOptions&);
LUTRA_FOR_EACH_SPACE(LUTRA_SUPERNODES)

}  // namespace lutra
