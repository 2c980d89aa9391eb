// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_LuPlan.hpp"

#include "Lutra_FrontPattern.hpp"
#include "Lutra_Instantiate.hpp"
#include "Lutra_Upload.hpp"

namespace lutra {
namespace {

/// Stores the position in the panels of each entry of L + U.
template <class OffsetView>
struct NotePanelEntries {
  const Offset* panels;
  OffsetView source;

  KOKKOS_FUNCTION void operator()(Ordinal f, const Front& front, int r, int c, Offset entry) const {
    const Offset size = front.size(), pivots = front.pivots;
    source(entry) =
        panels[f] + (c < front.pivots ? r + c * size
                                      : size * pivots + r * static_cast<Offset>(front.cb_rows) + c - pivots);
  }
};

}  // namespace

LuFrontLayout::LuFrontLayout(const std::vector<Front>& fronts) : LuFrontLayout() {
  panels.reserve(fronts.size() + 1);
  for (const Front& front : fronts)
    panels.push_back(panels.back() + static_cast<Offset>(front.pivots) * (front.size() + front.cb_rows));
}

template <class ExecutionSpace>
LuPlan<typename ExecutionSpace::memory_space> plan_lu(
    const ExecutionSpace& exec, const AssemblyTree& tree, const FrontEntries& entries,
    const MemoryBudget& budget, const FrontPlanOptions& options,
    const CsrPattern<Ordinal, Offset, typename ExecutionSpace::memory_space>& A) {
  using Memory = typename ExecutionSpace::memory_space;
  LuPlan<Memory> plan;
  static_cast<FrontPlan<Memory>&>(plan) = plan_fronts(exec, tree, entries, budget, options, A);
  plan.panel_layout = LuFrontLayout(plan.layout.fronts);
  plan.panels =
      Impl::upload(exec, plan.reservation, "lutra::numeric::front_panels", plan.panel_layout.panels);
  plan.flops = tree.flops;
  return plan;
}

std::size_t bytes_of_lu_lists(const AssemblyTree& tree, std::int64_t nnz) {
  return bytes_of_front_lists(tree, nnz) + (static_cast<std::size_t>(tree.count()) + 1) * sizeof(Offset);
}

template <class ExecutionSpace>
LuPattern<typename ExecutionSpace::memory_space> pattern_of_fronts(
    const ExecutionSpace& exec, const LuPlan<typename ExecutionSpace::memory_space>& plan,
    const MemoryBudget& budget, Kokkos::View<const Offset*, typename ExecutionSpace::memory_space>& source) {
  using Memory = typename ExecutionSpace::memory_space;
  using OffsetView = Kokkos::View<Offset*, Memory>;
  LuPattern<Memory> result;
  result.reservation = MemoryReservation(budget);
  const auto sources = result.reservation.template allocate<OffsetView>(exec, "lutra::numeric::panel_source",
                                                                        plan.panel_layout.entries());
  const FrontPlan<Memory>& fronts = plan;
  Impl::write_front_pattern(exec, fronts, budget, NotePanelEntries<OffsetView>{plan.panels.data(), sources},
                            result);
  source = sources;
  return result;
}

#define LUTRA_PLAN_LU(Space)                                                                                \
  template LuPlan<typename Space::memory_space> plan_lu(                                                    \
      const Space&, const AssemblyTree&, const FrontEntries&, const MemoryBudget&, const FrontPlanOptions&, \
      const CsrPattern<Ordinal, Offset, typename Space::memory_space>&);                                    \
  template LuPattern<typename Space::memory_space> pattern_of_fronts(                                       \
      const Space&, const LuPlan<typename Space::memory_space>&, const MemoryBudget&,                       \
      Kokkos::View<const Offset*, typename Space::memory_space>&);
LUTRA_FOR_EACH_SPACE(LUTRA_PLAN_LU)

}  // namespace lutra
