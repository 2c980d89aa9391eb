// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_FrontLu.hpp"

#include <algorithm>

#include "Lutra_Error.hpp"
#include "Lutra_FrontSchedule.hpp"
#include "Lutra_HostProduct.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_Instantiate.hpp"
#include "Lutra_ScaleEntries.hpp"

namespace lutra {
namespace {

// Arrays inside an allocation start at multiples of 16 entries, for 16-byte copies.
constexpr std::size_t aligned(std::size_t entries) {
  return (entries + 15) / 16 * 16;
}

/// Offsets of the arrays in a single allocation, which saves allocation time and lets contributions lie among
/// panels.
struct ValuePlaces {
  std::size_t entries, inverses, end;

  ValuePlaces(std::size_t fronts, std::size_t nnz, std::size_t n_inverses)
      : entries(aligned(fronts)), inverses(aligned(entries + nnz)), end(inverses + n_inverses) {}

  template <class Plan, class Schedule>
  ValuePlaces(const Plan& plan, const Schedule& schedule, bool interchanges, bool symmetric)
      : ValuePlaces(
            static_cast<std::size_t>(plan.panel_layout.entries() + schedule.contributions(plan)),
            plan.A.entries.extent(0),
            static_cast<std::size_t>(schedule.inverse_entries(interchanges, interchanges && symmetric))) {}
};

/// Calls visit(i) for each i < n. @param largest out, in the space's memory: the greatest value returned
template <class ExecutionSpace, class Visit>
void for_each_and_largest(const ExecutionSpace& exec, const char* label, std::int64_t n, double* largest,
                          const Visit& visit) {
  using Largest = Kokkos::View<double, typename ExecutionSpace::memory_space, Kokkos::MemoryUnmanaged>;
  if (n == 0) return;
  Kokkos::parallel_reduce(
      label, Kokkos::RangePolicy<ExecutionSpace, Kokkos::IndexType<std::int64_t>>(exec, 0, n),
      KOKKOS_LAMBDA(const std::int64_t i, double& greatest) {
        const double size = visit(i);
        if (size > greatest) greatest = size;
      },
      Kokkos::Max<double, typename ExecutionSpace::memory_space>(Largest(largest)));
}

/// The magnitude; infinity for a value that is not finite.
template <class Scalar>
KOKKOS_FUNCTION double size_of(const Scalar& value) {
  return ScalarTraits<Scalar>::is_finite(value) ? static_cast<double>(ScalarTraits<Scalar>::magnitude(value))
                                                : Kokkos::Experimental::infinity_v<double>;
}

/// The magnitude of one entry of the panels.
template <class Scalar>
struct PanelEntry {
  const Scalar* panels;
  KOKKOS_FUNCTION double operator()(const std::int64_t p) const { return size_of(panels[p]); }
};

/// One entry of L + U from the panels.
template <class Scalar>
struct GatherEntry {
  const Offset* source;
  const Scalar* panels;
  Scalar* values;

  KOKKOS_FUNCTION double operator()(const std::int64_t p) const {
    const Scalar value = panels[source[p]];
    values[p] = value;
    return size_of(value);
  }
};

}  // namespace

template <class Scalar, class ExecutionSpace>
FrontPlanOptions front_plan_options() {
  return Impl::FrontCutting<Scalar, ExecutionSpace>::options();
}

template <class Scalar, class ExecutionSpace>
FrontSizes sizes_of_fronts(const ExecutionSpace& exec, const AssemblyTree& tree, const DeviceModel& model) {
  using Schedule = Impl::FrontSchedule<Scalar, ExecutionSpace>;
  return Schedule::sizes(exec, tree, lay_out_fronts(tree), model.numeric);
}

template <class Scalar, class ExecutionSpace>
std::size_t bytes_of_product_buffers(int threads) {
  return Impl::is_host_space<ExecutionSpace>
             ? static_cast<std::size_t>(threads) * Impl::product_buffer * sizeof(RealOf<Scalar>)
             : 0;
}

template <class Scalar, class ExecutionSpace>
std::size_t predict_bytes_of_fronts(const ExecutionSpace& exec, const AssemblyTree& tree, std::int64_t nnz,
                                    int threads, const DeviceModel& model) {
  const FrontSizes sizes = sizes_of_fronts<Scalar>(exec, tree, model);
  const ValuePlaces places(static_cast<std::size_t>(sizes.panels + sizes.contributions),
                           static_cast<std::size_t>(nnz), static_cast<std::size_t>(sizes.inverses));
  return bytes_of_lu_lists(tree, nnz) + bytes_of_product_buffers<Scalar, ExecutionSpace>(threads) +
         places.end * sizeof(Scalar) + 7 + sizeof(FrontLuOutcome);
}

template <class Scalar, class ExecutionSpace>
FrontFactorBytes predict_factor_bytes(const LuPlan<typename ExecutionSpace::memory_space>& plan,
                                      const Impl::FrontSchedule<Scalar, ExecutionSpace>& schedule,
                                      const std::optional<Impl::Interchanges>& interchanges) {
  const bool symmetric = interchanges && *interchanges != Impl::Interchanges::rows;
  const std::size_t orders = interchanges ? (symmetric ? 2 : 1) : 0;
  return {static_cast<std::size_t>(plan.panel_layout.entries()) * sizeof(Scalar),
          value_entries(plan, schedule, interchanges) * sizeof(Scalar) + sizeof(FrontLuOutcome) +
              orders * static_cast<std::size_t>(plan.n) * sizeof(Ordinal) +
              Impl::FrontRunState<Scalar, ExecutionSpace>::bytes(schedule)};
}

template <class Scalar, class ExecutionSpace>
std::shared_ptr<const Impl::FrontSchedule<Scalar, ExecutionSpace>> make_front_schedule(
    const ExecutionSpace& exec, const LuPlan<typename ExecutionSpace::memory_space>& plan,
    const MemoryBudget& budget, const DeviceModel& model, const std::optional<Symmetry>& symmetry) {
  using Schedule = Impl::FrontSchedule<Scalar, ExecutionSpace>;
  return std::make_shared<const Schedule>(exec, plan, budget, model.numeric, symmetry);
}

template <class Scalar, class ExecutionSpace>
FrontFactors<Scalar, ExecutionSpace> make_front_factors(
    const ExecutionSpace& exec,
    const std::shared_ptr<const Impl::FrontSchedule<Scalar, ExecutionSpace>>& schedule,
    const MemoryBudget& budget) {
  using State = Impl::FrontRunState<Scalar, ExecutionSpace>;
  FrontFactors<Scalar, ExecutionSpace> factors;
  factors.schedule = schedule;
  factors.state = std::make_shared<State>(exec, *schedule, budget);
  return factors;
}

template <class Scalar, class ExecutionSpace>
std::size_t value_entries(const LuPlan<typename ExecutionSpace::memory_space>& plan,
                          const Impl::FrontSchedule<Scalar, ExecutionSpace>& schedule,
                          const std::optional<Impl::Interchanges>& interchanges) {
  const bool symmetric = interchanges && *interchanges != Impl::Interchanges::rows;
  return ValuePlaces(plan, schedule, interchanges.has_value(), symmetric).end;
}

template <class Scalar, class ExecutionSpace>
void place_values(const LuPlan<typename ExecutionSpace::memory_space>& plan,
                  const Kokkos::View<Scalar*, typename ExecutionSpace::memory_space>& storage,
                  FrontFactors<Scalar, ExecutionSpace>& factors) {
  const auto panels = static_cast<std::size_t>(plan.panel_layout.entries());
  const auto contributions = static_cast<std::size_t>(factors.schedule->contributions(plan));
  const ValuePlaces places(plan, *factors.schedule, factors.interchanges.has_value(),
                           factors.interchanges && factors.interchanges->is_symmetric());
  const auto part = [&](std::size_t begin, std::size_t end) {
    return Kokkos::subview(storage, std::pair(begin, end));
  };
  factors.panels = part(0, panels);
  factors.contributions = part(panels, panels + contributions);
  factors.entries = part(places.entries, places.entries + plan.A.entries.extent(0));
  if constexpr (requires { factors.state->inverses; })
    factors.state->inverses = part(places.inverses, places.end);
}

template <class Scalar, class ExecutionSpace>
void allocate_values(const ExecutionSpace& exec, const LuPlan<typename ExecutionSpace::memory_space>& plan,
                     const MemoryBudget& budget, FrontFactors<Scalar, ExecutionSpace>& factors) {
  if (factors.has_values()) return;
  auto fresh = factors;  // keeps `factors` unchanged if memory runs out
  fresh.values_reservation = MemoryReservation(budget);
  const auto allocate = [&](auto& view, const char* label, auto... extents) {
    using View = std::remove_reference_t<decltype(view)>;
    view = fresh.values_reservation.template allocate<View>(exec, label, extents...);
  };
  const auto kind = fresh.interchanges ? std::optional(fresh.interchanges->kind) : std::nullopt;
  Kokkos::View<Scalar*, typename ExecutionSpace::memory_space> all;
  allocate(all, "lutra::numeric::fronts and entries", value_entries(plan, *fresh.schedule, kind));
  place_values(plan, all, fresh);
  allocate(fresh.outcome, "lutra::numeric::outcome");
  if (fresh.interchanges)
    allocate(fresh.interchanges->row_of_pivot, "lutra::numeric::row_of_pivot",
             static_cast<std::size_t>(plan.n));
  if (fresh.interchanges && fresh.interchanges->is_symmetric())
    allocate(fresh.interchanges->column_of_pivot, "lutra::numeric::column_of_pivot",
             static_cast<std::size_t>(plan.n));
  factors = fresh;
}

template <class Scalar, class ExecutionSpace>
void factorize_fronts(const ExecutionSpace& exec, const LuPlan<typename ExecutionSpace::memory_space>& plan,
                      const ScaledValues<Scalar, typename ExecutionSpace::memory_space>& A,
                      double perturbation, const FrontFactors<Scalar, ExecutionSpace>& factors,
                      const Kokkos::View<unsigned char*, typename ExecutionSpace::memory_space>& perturbed,
                      bool portable) {
  const auto data = Impl::front_lu_data(plan, factors, perturbed, perturbation);
  FrontLuOutcome initial;
  initial.largest_entry = factors.min_largest_entry;
  Impl::start_fronts<Scalar>(exec, plan, A, factors.entries, factors.outcome, initial);
  if (portable) {
    factors.schedule->run_portable(exec, plan, data, *factors.state);
  } else {
    factors.schedule->run(exec, plan, data, *factors.state);
  }
}

template <class Scalar, class ExecutionSpace>
Kokkos::View<Scalar*, typename ExecutionSpace::memory_space> contribution_of(
    const LuPlan<typename ExecutionSpace::memory_space>& plan,
    const FrontFactors<Scalar, ExecutionSpace>& factors, Ordinal front) {
  const auto rows = static_cast<std::size_t>(plan.layout.fronts[static_cast<std::size_t>(front)].cb_rows);
  // contributions follow the panels, or lie among them, in one array
  return Kokkos::View<Scalar*, typename ExecutionSpace::memory_space>(
      factors.panels.data() + factors.schedule->contribution_begin(plan, front), rows * rows);
}

template <class Scalar, class ExecutionSpace>
void gather_factors(const ExecutionSpace& exec, const FrontFactors<Scalar, ExecutionSpace>& factors,
                    const Kokkos::View<const Offset*, typename ExecutionSpace::memory_space>& source,
                    const Kokkos::View<Scalar*, typename ExecutionSpace::memory_space>& values) {
  if (factors.interchanges)
    throw InputError("gather_factors: L of a factorization with interchanges does not have this pattern");
  const GatherEntry<Scalar> gather{source.data(), factors.panels.data(), values.data()};
  for_each_and_largest(exec, "lutra::numeric::gather_factors", static_cast<std::int64_t>(source.extent(0)),
                       &factors.outcome.data()->largest_factor, gather);
}

template <class Scalar, class ExecutionSpace>
FrontInverses<Scalar> inverses_of(const FrontFactors<Scalar, ExecutionSpace>& factors) {
  return Impl::inverses_of<Scalar>(*factors.schedule, *factors.state);
}

template <class Scalar, class ExecutionSpace>
void find_largest_factor(const ExecutionSpace& exec, const FrontFactors<Scalar, ExecutionSpace>& factors) {
  for_each_and_largest(exec, "lutra::numeric::largest_factor",
                       static_cast<std::int64_t>(factors.panels.extent(0)),
                       &factors.outcome.data()->largest_factor, PanelEntry<Scalar>{factors.panels.data()});
}

#define LUTRA_FRONT_LU(Scalar, Space)                                                                        \
  template FrontSizes sizes_of_fronts<Scalar>(const Space&, const AssemblyTree&, const DeviceModel&);        \
  template std::size_t predict_bytes_of_fronts<Scalar>(const Space&, const AssemblyTree&, std::int64_t, int, \
                                                       const DeviceModel&);                                  \
  template FrontFactorBytes predict_factor_bytes(const LuPlan<typename Space::memory_space>&,                \
                                                 const Impl::FrontSchedule<Scalar, Space>&,                  \
                                                 const std::optional<Impl::Interchanges>&);                  \
  template std::shared_ptr<const Impl::FrontSchedule<Scalar, Space>> make_front_schedule<Scalar>(            \
      const Space&, const LuPlan<typename Space::memory_space>&, const MemoryBudget&, const DeviceModel&,    \
      const std::optional<Symmetry>&);                                                                       \
  template FrontFactors<Scalar, Space> make_front_factors(                                                   \
      const Space&, const std::shared_ptr<const Impl::FrontSchedule<Scalar, Space>>&, const MemoryBudget&);  \
  template std::size_t value_entries(const LuPlan<typename Space::memory_space>&,                            \
                                     const Impl::FrontSchedule<Scalar, Space>&,                              \
                                     const std::optional<Impl::Interchanges>&);                              \
  template void place_values(const LuPlan<typename Space::memory_space>&,                                    \
                             const Kokkos::View<Scalar*, typename Space::memory_space>&,                     \
                             FrontFactors<Scalar, Space>&);                                                  \
  template void allocate_values(const Space&, const LuPlan<typename Space::memory_space>&,                   \
                                const MemoryBudget&, FrontFactors<Scalar, Space>&);                          \
  template void factorize_fronts<Scalar, Space>(                                                             \
      const Space&, const LuPlan<typename Space::memory_space>&,                                             \
      const ScaledValues<Scalar, typename Space::memory_space>&, double, const FrontFactors<Scalar, Space>&, \
      const Kokkos::View<unsigned char*, typename Space::memory_space>&, bool);                              \
  template Kokkos::View<Scalar*, typename Space::memory_space> contribution_of(                              \
      const LuPlan<typename Space::memory_space>&, const FrontFactors<Scalar, Space>&, Ordinal);             \
  template void gather_factors<Scalar, Space>(                                                               \
      const Space&, const FrontFactors<Scalar, Space>&,                                                      \
      const Kokkos::View<const Offset*, typename Space::memory_space>&,                                      \
      const Kokkos::View<Scalar*, typename Space::memory_space>&);                                           \
  template FrontInverses<Scalar> inverses_of(const FrontFactors<Scalar, Space>&);                            \
  template void find_largest_factor(const Space&, const FrontFactors<Scalar, Space>&);
LUTRA_FOR_EACH_SCALAR_AND_SPACE(LUTRA_FRONT_LU)

#define LUTRA_FRONT_OPTIONS(Scalar, Space)                       \
  template FrontPlanOptions front_plan_options<Scalar, Space>(); \
  template std::size_t bytes_of_product_buffers<Scalar, Space>(int);
#define LUTRA_FRONT_OPTIONS_OF(Space) \
  LUTRA_FRONT_OPTIONS(float, Space)   \
  LUTRA_FRONT_OPTIONS(double, Space)  \
  LUTRA_FRONT_OPTIONS(Kokkos::complex<float>, Space) LUTRA_FRONT_OPTIONS(Kokkos::complex<double>, Space)
LUTRA_FOR_EACH_SPACE(LUTRA_FRONT_OPTIONS_OF)

}  // namespace lutra
