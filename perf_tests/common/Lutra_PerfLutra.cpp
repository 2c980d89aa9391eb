// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <optional>
#include <stdexcept>

#include "Lutra_PerfSolver.hpp"
#include "Lutra_SparseLU.hpp"

namespace lutra::Perf {
namespace {

template <class Scalar>
class LutraSolver final : public Solver<Scalar> {
 public:
  LutraSolver(const HostMatrix<Scalar>& matrix, const std::vector<Scalar>& b)
      : m_matrix(to_device(matrix)), m_b(to_device(b)), m_x("lutra::perf::x", b.size()) {}

  void analyze() override {
    m_solver.emplace();
    refuse_singular(m_solver->analyze(m_matrix));
  }
  void prepare_factorization() override { analyze(); }
  void factorize() override { factorize_again(); }
  void refactorize() override { factorize_again(); }
  void solve() override { m_solver->solve(m_b, m_x); }
  std::vector<Scalar> solution() const override { return to_host(m_x); }
  SolverProperties properties() const override;

 private:
  void factorize_again() { refuse_singular(m_solver->factorize(m_matrix)); }
  /// Throws if there are no factors, since nothing can be timed. The benchmark itself checks for errors above
  /// the tolerance.
  void refuse_singular(Status status) const {
    if (status != Status::success) throw std::runtime_error(describe(m_solver->report()));
  }

  DeviceMatrix<Scalar> m_matrix;
  Kokkos::View<Scalar*, MemorySpace> m_b, m_x;
  std::optional<SparseLU<Scalar>> m_solver;
};

template <class Scalar>
SolverProperties LutraSolver<Scalar>::properties() const {
  const Report& report = m_solver->report();
  SolverProperties properties;
  const auto keep = [&](const char* name, const auto& value) {
    if (value) properties.counters[name] = static_cast<double>(*value);
  };
  if (report.factors.nnz_l)
    properties.counters["nnz_lu"] = static_cast<double>(*report.factors.nnz_l + *report.factors.nnz_u);
  keep("flops", report.factors.flops);
  keep("levels", report.factors.levels);
  keep("perturbed_pivots", report.pivots.perturbed);
  keep("delayed_pivots", report.pivots.delayed);
  keep("pivot_growth", report.pivots.growth);
  keep("matching_s", report.times.matching);
  keep("ordering_s", report.times.ordering);
  keep("symbolic_s", report.times.symbolic);
  keep("levelization_s", report.times.levelization);
  add_report(properties, report);
  return properties;
}

}  // namespace

void add_report(SolverProperties& properties, const Report& report) {
  if (report.times.solve) properties.counters["solve_s"] = *report.times.solve;
  if (report.times.refine) properties.counters["refine_s"] = *report.times.refine;
  properties.counters["refinement_steps"] = static_cast<double>(report.refinement_steps);
  properties.counters["peak_bytes"] = static_cast<double>(report.memory.device_peak_bytes);
  properties.label = "matching " + report.choice.matching + ", ordering " + report.choice.ordering;
  for (const std::string& escalation : report.escalations) properties.label += ", " + escalation;
}

template <class Scalar>
std::unique_ptr<Solver<Scalar>> make_lutra(const HostMatrix<Scalar>& matrix, const std::vector<Scalar>& b) {
  return std::make_unique<LutraSolver<Scalar>>(matrix, b);
}

template std::unique_ptr<Solver<double>> make_lutra(const HostMatrix<double>&, const std::vector<double>&);
#ifdef LUTRA_HAS_C128
template std::unique_ptr<Solver<Kokkos::complex<double>>> make_lutra(
    const HostMatrix<Kokkos::complex<double>>&, const std::vector<Kokkos::complex<double>>&);
#endif

}  // namespace lutra::Perf
