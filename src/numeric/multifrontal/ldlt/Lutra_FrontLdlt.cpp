// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_FrontLdlt.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "Lutra_Allocate.hpp"
#include "Lutra_Error.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_Instantiate.hpp"
#include "Lutra_LdltFronts.hpp"
#include "Lutra_LdltHostSchedule.hpp"
#include "Lutra_ScaleEntries.hpp"
#include "Lutra_Upload.hpp"
#ifdef KOKKOS_ENABLE_CUDA
#include "Lutra_LdltFlowCuda.hpp"
#endif

namespace lutra {
namespace {

using Impl::at;

/// Offsets of panels, slots and workspaces for the given numbers of delayed columns.
template <class ExecutionSpace, class Plan>
LdltFrontLayout<typename ExecutionSpace::memory_space> make_room(const ExecutionSpace& exec, const Plan& plan,
                                                                 const std::vector<int>& max_delayed,
                                                                 const MemoryBudget& budget) {
  LdltFrontLayout<typename ExecutionSpace::memory_space> room;
  const auto& fronts = plan.base.layout.fronts;
  room.host_fronts.resize(fronts.size());
  for (std::size_t f = 0; f < fronts.size(); ++f) {
    auto& here = room.host_fronts[f];
    const Offset columns = fronts[f].pivots + max_delayed[f];
    here.max_delayed = max_delayed[f];
    here.panel = room.panels;
    here.slots = room.slots;
    room.panels += columns * (columns + fronts[f].cb_rows);
    room.slots += columns;
    room.max_work = std::max<Offset>(
        room.max_work, Impl::host_ldlt_work(columns + fronts[f].cb_rows, plan.options.max_column_rows));
  }
  room.panels += Impl::product_slack;
  const auto by_level = Impl::to_host(exec, plan.base.by_level);
  for (std::size_t l = 0; l < plan.base.levels(); ++l) {
    Offset work = plan.data_flow ? room.workspace : 0;
    for (auto p = plan.base.layout.level_map[l]; p < plan.base.layout.level_map[l + 1]; ++p) {
      const auto f = at(by_level, p);
      at(room.host_fronts, f).work = work;
      work += Impl::ldlt_work(at(fronts, f).size() + at(max_delayed, f));
    }
    room.workspace = std::max(room.workspace, work);
  }
  room.reservation = MemoryReservation(budget);
  room.fronts = Impl::upload(exec, room.reservation, "lutra::numeric::ldlt_room", room.host_fronts);
  return room;
}

/// Limits the delayed columns of each front to the number of columns of its children.
template <class Plan>
void limit_to_children(const Plan& plan, std::vector<int>& max_delayed) {
  const auto& fronts = plan.base.layout.fronts;
  std::vector<std::int64_t> columns(fronts.size(), 0);  // columns of the children
  for (std::size_t f = 0; f < fronts.size(); ++f) {
    max_delayed[f] = static_cast<int>(std::min<std::int64_t>(max_delayed[f], columns[f]));
    if (fronts[f].parent >= 0) at(columns, fronts[f].parent) += fronts[f].pivots + max_delayed[f];
  }
}

template <class ViewType>
auto on_host(const ViewType& view) {
  return Impl::mirror_in<Kokkos::HostSpace>(view);
}

/// Multiplies the product by a · factor.
template <class Scalar>
void multiply(Determinant<Scalar>& product, const Scalar& a, double factor = 1) {
  const auto magnitude = ScalarTraits<Scalar>::magnitude(a);
  if (magnitude == 0 || factor == 0) {
    product = {Scalar(0), -std::numeric_limits<double>::infinity()};
  } else {
    product.sign *= a / magnitude;
    product.log_magnitude += std::log(static_cast<double>(magnitude)) + std::log(factor);
  }
}

/// Multiplies the product by the determinant of a 2 × 2 pivot, with one factor divided by the largest entry.
template <class Scalar>
void multiply_two(Determinant<Scalar>& product, Symmetry symmetry, const Scalar& a, const Scalar& b,
                  const Scalar& c) {
  using Traits = ScalarTraits<Scalar>;
  const auto largest =
      Kokkos::max(Traits::magnitude(b), Kokkos::max(Traits::magnitude(a), Traits::magnitude(c)));
  if (!(largest > 0)) return multiply(product, Scalar(0));
  const Scalar above = symmetry == Symmetry::hermitian ? Traits::conjugate(b) : b;
  multiply(product, a / largest * c - b / largest * above, static_cast<double>(largest));
}

}  // namespace

Offset predicted_ldlt_entries(const std::vector<Front>& fronts) {
  Offset entries = 0;
  for (const Front& front : fronts) {
    const auto pivots = static_cast<Offset>(front.pivots);
    entries += pivots * front.size() - pivots * (pivots - 1) / 2;
  }
  return entries;
}

template <class ExecutionSpace>
LdltPlan<typename ExecutionSpace::memory_space> plan_ldlt(
    const ExecutionSpace& exec, const AssemblyTree& tree, const FrontEntries& entries,
    const MemoryBudget& budget, const LdltPlanOptions& options,
    const CsrPattern<Ordinal, Offset, typename ExecutionSpace::memory_space>& A) {
  LdltPlan<typename ExecutionSpace::memory_space> plan;
  plan.base = plan_fronts(exec, tree, entries, budget, FrontPlanOptions::untiled(), A);
  plan.options = options;
  plan.reservation = MemoryReservation(budget);
  plan.order = Impl::upload(exec, plan.reservation, "lutra::numeric::ldlt_order", entries.row_order);
  std::vector<int> max_delayed;
  for (const auto& front : plan.base.layout.fronts) {
    max_delayed.push_back(
        std::max(options.min_room, static_cast<int>(options.room_share * static_cast<double>(front.pivots))));
  }
  limit_to_children(plan, max_delayed);
  using Schedule = Impl::LdltSchedule<typename ExecutionSpace::memory_space>;
  plan.data_flow = options.data_flow.value_or(Schedule::has_data_flow(plan.base.layout.fronts, options));
  plan.schedule = std::make_shared<const Schedule>(exec, plan, budget);
  plan.room = make_room(exec, plan, max_delayed, budget);
  return plan;
}

const SubtreeMapping& subtrees_of(const LdltPlan<Kokkos::HostSpace>& plan) {
  return plan.schedule->fronts.mapping();
}

template <class Scalar, class ExecutionSpace>
FrontFactorBytes predict_ldlt_bytes(const LdltPlan<typename ExecutionSpace::memory_space>& plan) {
  using State = Impl::LdltRunState<Scalar, ExecutionSpace>;
  const auto count = [](auto n) { return static_cast<std::size_t>(n); };
  constexpr std::size_t of_slot = sizeof(Ordinal) + 2 * sizeof(int) + 2 * sizeof(Scalar) + sizeof(PivotKind);
  const std::size_t panels = count(plan.room.panels) * sizeof(Scalar);
  const std::size_t working = count(plan.base.contributions) +
                              count(State::workspace(*plan.schedule, plan.room)) +
                              plan.base.A.entries.extent(0);
  return {panels, panels + working * sizeof(Scalar) + count(plan.base.count) * sizeof(LdltRecord) +
                      count(plan.room.slots) * of_slot + State::bytes(*plan.schedule) + sizeof(LdltOutcome)};
}

template <class Scalar, class ExecutionSpace>
void allocate_ldlt(const ExecutionSpace& exec, const LdltPlan<typename ExecutionSpace::memory_space>& plan,
                   const MemoryBudget& budget, LdltFactors<Scalar, ExecutionSpace>& factors) {
  using State = Impl::LdltRunState<Scalar, ExecutionSpace>;
  if (factors.has_values()) return;
  auto fresh = factors;  // keeps `factors` unchanged if memory runs out
  if (fresh.room.host_fronts.empty()) fresh.room = plan.room;
  fresh.reservation = MemoryReservation(budget);
  const auto allocate = [&](auto& view, const char* label, auto... extents) {
    using View = std::remove_reference_t<decltype(view)>;
    view = fresh.reservation.template allocate<View>(exec, label, static_cast<std::size_t>(extents)...);
  };
  allocate(fresh.panels, "lutra::numeric::ldlt_panels", fresh.room.panels);
  allocate(fresh.contributions, "lutra::numeric::ldlt_contributions", plan.base.contributions);
  allocate(fresh.workspace, "lutra::numeric::ldlt_workspace", State::workspace(*plan.schedule, fresh.room));
  allocate(fresh.entries, "lutra::numeric::ldlt_entries", plan.base.A.entries.extent(0));
  allocate(fresh.records, "lutra::numeric::ldlt_records", plan.base.count);
  allocate(fresh.variables, "lutra::numeric::ldlt_variables", fresh.room.slots);
  allocate(fresh.positions, "lutra::numeric::ldlt_positions", fresh.room.slots);
  allocate(fresh.scratch, "lutra::numeric::ldlt_scratch", fresh.room.slots);
  allocate(fresh.diagonal, "lutra::numeric::ldlt_diagonal", fresh.room.slots);
  allocate(fresh.off_diagonal, "lutra::numeric::ldlt_off_diagonal", fresh.room.slots);
  allocate(fresh.kind, "lutra::numeric::ldlt_kind", fresh.room.slots);
  fresh.state = std::make_shared<State>(exec, *plan.schedule, budget);
  allocate(fresh.outcome, "lutra::numeric::ldlt_outcome");
  factors = fresh;
}

template <class Scalar, class ExecutionSpace>
void factorize_ldlt(const ExecutionSpace& exec, const LdltPlan<typename ExecutionSpace::memory_space>& plan,
                    const LdltValues<Scalar, typename ExecutionSpace::memory_space>& values,
                    const LdltPivotRule& rule, LdltFactors<Scalar, ExecutionSpace>& factors, bool portable) {
  if (!(rule.threshold > 0 && rule.threshold <= 0.5))
    throw InputError("factorize_ldlt: threshold " + std::to_string(rule.threshold) +
                     " is not greater than 0 and at most 0.5");
  factors.symmetry = rule.symmetry;
  Impl::start_fronts<Scalar>(exec, plan.base, values.A, factors.entries, factors.outcome, LdltOutcome());
  const auto data = Impl::ldlt_data(plan, values, rule, factors);
  if (portable) {
    Impl::work_by_levels<Scalar>(exec, plan.base, Impl::LdltWorker<Scalar>{data});
  } else {
    plan.schedule->run(exec, plan, data, factors);
  }
}

template <class Scalar, class ExecutionSpace>
LdltOutcome read_outcome(const ExecutionSpace& exec, const LdltFactors<Scalar, ExecutionSpace>& factors) {
  const auto outcome = Impl::make_uncounted<Kokkos::View<LdltOutcome, Kokkos::HostSpace>>(
      "lutra::numeric::ldlt_outcome on the host");
  Kokkos::deep_copy(exec, outcome, factors.outcome);
  exec.fence("lutra::numeric: the outcome is on the host");
  return outcome();
}

template <class Scalar, class ExecutionSpace>
Offset enlarge_room(const ExecutionSpace& exec, const LdltPlan<typename ExecutionSpace::memory_space>& plan,
                    const MemoryBudget& budget, LdltFactors<Scalar, ExecutionSpace>& factors) {
  const auto records = Impl::to_host(exec, factors.records);
  const auto& fronts = plan.base.layout.fronts;
  std::vector<int> max_delayed, wanted;
  for (std::size_t f = 0; f < fronts.size(); ++f) {
    max_delayed.push_back(factors.room.host_fronts[f].max_delayed);
    wanted.push_back(records[f].wanted);
  }
  for (std::size_t f = 0; f < fronts.size(); ++f) {  // postorder propagates `wanted` to ancestors
    if (wanted[f] == 0) continue;
    max_delayed[f] = std::max(2 * max_delayed[f], wanted[f]);
    if (fronts[f].parent >= 0)
      at(wanted, fronts[f].parent) = std::max(at(wanted, fronts[f].parent), wanted[f]);
  }
  return change_room(exec, plan, budget, std::move(max_delayed), factors);
}

template <class Scalar, class ExecutionSpace>
Offset change_room(const ExecutionSpace& exec, const LdltPlan<typename ExecutionSpace::memory_space>& plan,
                   const MemoryBudget& budget, std::vector<int> max_delayed,
                   LdltFactors<Scalar, ExecutionSpace>& factors) {
  limit_to_children(plan, max_delayed);
  exec.fence("lutra::numeric: the former arrays are freed");
  const auto complement = factors.complement;
  factors = {};
  factors.complement = complement;
  factors.room = make_room(exec, plan, max_delayed, budget);
  allocate_ldlt(exec, plan, budget, factors);
  return factors.room.panels;
}

template <class Scalar, class ExecutionSpace>
Determinant<Scalar> determinant(
    const ExecutionSpace& exec, const LdltPlan<typename ExecutionSpace::memory_space>& plan,
    const LdltFactors<Scalar, ExecutionSpace>& factors,
    const Kokkos::View<const RealOf<Scalar>*, typename ExecutionSpace::memory_space>& scale) {
  exec.fence("lutra::numeric: the factors are read");
  const auto records = on_host(factors.records);
  const auto kind = on_host(factors.kind);
  const auto diagonal = on_host(factors.diagonal), off_diagonal = on_host(factors.off_diagonal);
  const auto scales = on_host(scale);
  Determinant<Scalar> product;
  for (std::size_t f = 0; f < static_cast<std::size_t>(plan.base.count); ++f) {
    const auto first = static_cast<std::size_t>(factors.room.host_fronts[f].slots);
    for (std::size_t s = first; s < first + static_cast<std::size_t>(records(f).eliminated); ++s) {
      if (kind(s) == PivotKind::second_of_two) continue;
      if (kind(s) == PivotKind::first_of_two) {
        multiply_two(product, factors.symmetry, diagonal(s), off_diagonal(s), diagonal(s + 1));
      } else {
        multiply(product, kind(s) == PivotKind::zero ? Scalar(0) : diagonal(s));
      }
    }
  }
  if (product.sign != Scalar(0)) product.sign /= ScalarTraits<Scalar>::magnitude(product.sign);
  for (std::size_t i = 0; i < scales.extent(0); ++i)
    product.log_magnitude -= 2 * std::log(static_cast<double>(scales(i)));
  return product;
}

#define LUTRA_PLAN_LDLT(Space)                                                                             \
  template LdltPlan<typename Space::memory_space> plan_ldlt(                                               \
      const Space&, const AssemblyTree&, const FrontEntries&, const MemoryBudget&, const LdltPlanOptions&, \
      const CsrPattern<Ordinal, Offset, typename Space::memory_space>&);
LUTRA_FOR_EACH_SPACE(LUTRA_PLAN_LDLT)

#define LUTRA_FRONT_LDLT(Scalar, Space)                                                            \
  template FrontFactorBytes predict_ldlt_bytes<Scalar, Space>(                                     \
      const LdltPlan<typename Space::memory_space>&);                                              \
  template void allocate_ldlt(const Space&, const LdltPlan<typename Space::memory_space>&,         \
                              const MemoryBudget&, LdltFactors<Scalar, Space>&);                   \
  template void factorize_ldlt(const Space&, const LdltPlan<typename Space::memory_space>&,        \
                               const LdltValues<Scalar, typename Space::memory_space>&,            \
                               const LdltPivotRule&, LdltFactors<Scalar, Space>&, bool);           \
  template LdltOutcome read_outcome(const Space&, const LdltFactors<Scalar, Space>&);              \
  template Offset enlarge_room(const Space&, const LdltPlan<typename Space::memory_space>&,        \
                               const MemoryBudget&, LdltFactors<Scalar, Space>&);                  \
  template Offset change_room(const Space&, const LdltPlan<typename Space::memory_space>&,         \
                              const MemoryBudget&, std::vector<int>, LdltFactors<Scalar, Space>&); \
  template Determinant<Scalar> determinant(const Space&, const LdltPlan<Space::memory_space>&,     \
                                           const LdltFactors<Scalar, Space>&,                      \
                                           const Kokkos::View<const RealOf<Scalar>*, Space::memory_space>&);
LUTRA_FOR_EACH_SCALAR_AND_SPACE(LUTRA_FRONT_LDLT)

}  // namespace lutra
