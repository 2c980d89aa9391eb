// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_LuForest.hpp"

#include "Lutra_FrontGroupKernels.hpp"
#include "Lutra_Instantiate.hpp"
#include "Lutra_MultifrontalPlan.hpp"
#include "Lutra_Upload.hpp"

namespace lutra::Impl {

template <class Scalar, class ExecutionSpace>
LuForest<Scalar, ExecutionSpace>::LuForest(const ExecutionSpace& exec, const ForestPattern& all,
                                           const LuOptions& options, std::size_t slots,
                                           const RealScales& row_scale, const RealScales& col_scale,
                                           const MemoryBudget& budget)
    : Base(exec, all, slots, row_scale, col_scale, budget), m_keep(budget) {
  m_plan = plan_lu(exec, all.tree, all.entries(), budget, front_plan_options<Scalar, ExecutionSpace>(),
                   this->pattern().A);
  const auto model = options.device_model.value_or(default_device_model<ExecutionSpace>());
  m_factors = make_front_factors(exec, make_front_schedule<Scalar>(exec, m_plan, budget, model), budget);
  FrontSolverOptions solves;
  solves.device_model = options.device_model;
  solves.interchanges = options.pivoting == Pivoting::threshold;
  if (solves.interchanges) m_factors.interchanges = {options.pivot_threshold, {}};
  m_solver.emplace(exec, m_plan, budget, solves);
  allocate_values(exec, m_plan, budget, m_factors);
  m_perturbed = m_keep.template allocate<decltype(m_perturbed)>(exec, "lutra::batch::perturbed",
                                                                static_cast<std::size_t>(m_plan.n));
  const std::vector<Front>& fronts = m_plan.layout.fronts;
  const std::vector<Offset>& panels = m_plan.panel_layout.panels;
  const std::size_t of_slot = fronts.size() / slots;
  std::vector<Offset> diagonal;
  for (std::size_t f = 0; f < of_slot; ++f)
    for (Offset j = 0; j < fronts[f].pivots; ++j) diagonal.push_back(panels[f] + j * (fronts[f].size() + 1));
  m_diagonal = upload(exec, m_keep, "lutra::batch::diagonals of panels", diagonal);
  m_panel_entries = panels[of_slot];
}

template <class Scalar, class ExecutionSpace>
void LuForest<Scalar, ExecutionSpace>::factorize(const ExecutionSpace& exec, double perturbation,
                                                 std::span<SlotFindings> found) {
  factorize_fronts<Scalar>(exec, m_plan, this->scaled_values(), 0.0, m_factors, m_perturbed);
  if constexpr (!is_host_space<ExecutionSpace>) {
    const auto outcome =
        make_uncounted<Kokkos::View<FrontLuOutcome, Kokkos::HostSpace>>("lutra::batch::outcome");
    Kokkos::deep_copy(exec, outcome, m_factors.outcome);
    exec.fence("lutra::batch: fronts are complete");
    this->throw_if_stopped_at(outcome().stopped_front);
  }
  inspect(exec, perturbation, found);
}

template <class Scalar, class ExecutionSpace>
void LuForest<Scalar, ExecutionSpace>::inspect(const ExecutionSpace& exec, double perturbation,
                                               std::span<SlotFindings> found) const {
  MemoryReservation scratch(this->budget());
  const std::size_t all = this->slots();
  // largest entry, largest factor, smallest pivot, number of small pivots
  const auto of =
      scratch.template allocate<Kokkos::View<Real*, Memory>>(exec, "lutra::batch::findings", 4 * all);
  Kokkos::deep_copy(exec, of, Real(0));
  Real* const f = of.data();
  Kokkos::deep_copy(exec, Kokkos::subview(of, std::pair(2 * all, 3 * all)), ThreadLane<Scalar>::huge);
  using Largest = LargestOfSlots<Scalar, ExecutionSpace>;
  const auto nnz = static_cast<std::int64_t>(this->values().extent(0) / all);
  const auto n = static_cast<std::int64_t>(m_diagonal.extent(0));
  launch_parts(exec, "lutra::batch::largest entries", all, nnz, Largest{nnz, m_factors.entries.data(), f});
  launch_parts(exec, "lutra::batch::largest factors", all, m_panel_entries,
               Largest{m_panel_entries, m_factors.panels.data(), f + all});
  launch_parts(exec, "lutra::batch::pivots", all, n,
               PivotsOfSlots<Scalar, ExecutionSpace>{n, m_panel_entries, static_cast<Real>(perturbation),
                                                     m_diagonal.data(), m_factors.panels.data(), f,
                                                     f + 2 * all, f + 3 * all});
  const auto host = to_host<double>(exec, of);
  for (std::size_t s = 0; s < found.size(); ++s) {
    found[s].growth = host[s] > 0 ? host[all + s] / host[s] : 0.0;  // infinite if a factor is, or NaN
    found[s].smallest_pivot = host[2 * all + s];
    found[s].perturbed = static_cast<std::int64_t>(host[3 * all + s]);
  }
}

template <class Scalar, class ExecutionSpace>
std::size_t LuForest<Scalar, ExecutionSpace>::bytes_of_solves(std::size_t columns) const {
  return m_solver->predict_bytes(m_plan, m_factors.interchanges.has_value(), static_cast<int>(columns));
}

template <class Scalar, class ExecutionSpace>
void LuForest<Scalar, ExecutionSpace>::solve_system(const ExecutionSpace& exec, const System& system,
                                                    const char*) {
  m_solver->solve(exec, m_plan, m_factors, system);
}

template <class Scalar, class ExecutionSpace>
std::int64_t LuForest<Scalar, ExecutionSpace>::consume_timeout(const ExecutionSpace& exec) {
  return m_solver->consume_timeout(exec, m_plan);
}

#define LUTRA_LU_FOREST(Scalar, Space) template class LuForest<Scalar, Space>;
LUTRA_FOR_EACH_SCALAR_AND_SPACE(LUTRA_LU_FOREST)

}  // namespace lutra::Impl
