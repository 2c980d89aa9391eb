// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <optional>

#include "Lutra_IluPattern.hpp"
#include "Lutra_IncompleteFactors.hpp"
#include "Lutra_PerfIlu.hpp"
#include "Lutra_Report.hpp"

namespace lutra::Perf {
namespace {

using Factors = IncompleteFactors<double, MemorySpace>;
using Elimination = IluElimination<double, ExecutionSpace>;

HostFactors to_host_factors(const Factors& factors) {
  return {factors.n, factors.n, to_host(factors.row_map), to_host(factors.entries), to_host(factors.values)};
}

/// ILU(k) by one of the schedules.
class LutraIlu final : public IluSolver {
 public:
  LutraIlu(const HostMatrix<double>& A, int fill_level, IluSchedule schedule)
      : m_A(to_device(A)), m_fill_level(fill_level), m_schedule(schedule) {}

  void analyze() override {
    m_factors = make_incomplete_factors<double>(m_exec, m_A.pattern(), m_fill_level, m_budget);
    m_elimination.emplace(m_exec, m_factors, m_schedule, m_budget);
  }
  void factorize() override { m_elimination->eliminate(m_exec, m_A, 0.0, m_factors); }
  HostFactors factors() const override { return to_host_factors(m_factors); }

 private:
  ExecutionSpace m_exec;
  MemoryBudget m_budget;
  DeviceMatrix<double> m_A;
  int m_fill_level;
  IluSchedule m_schedule;
  Factors m_factors;
  std::optional<Elimination> m_elimination;
};

/// ParILUT from the factors of ILU(0), whose time counts as its analysis.
class LutraParIlut final : public IluSolver {
 public:
  LutraParIlut(const HostMatrix<double>& A, const IluOptions& options)
      : m_A(to_device(A)), m_options(options) {}

  void analyze() override {
    m_start = make_incomplete_factors<double>(m_exec, m_A.pattern(), 0, m_budget);
    Elimination(m_exec, m_start, IluSchedule::automatic, m_budget).eliminate(m_exec, m_A, 0.0, m_start);
    m_exec.fence();
  }
  void factorize() override {
    m_factors = m_start;
    m_steps = parilut(m_exec, m_A, 0.0, m_options, m_budget, m_factors).steps;
  }
  int steps() const override { return m_steps; }
  HostFactors factors() const override { return to_host_factors(m_factors); }

 private:
  ExecutionSpace m_exec;
  MemoryBudget m_budget;
  DeviceMatrix<double> m_A;
  IluOptions m_options;
  Factors m_start, m_factors;
  int m_steps = 0;
};

IluKind ilu_kind(const std::string& name, IluSchedule schedule) {
  IluKind kind;
  kind.name = name;
  kind.version = version_info().version;
  kind.make = [schedule](const HostMatrix<double>& A, const IluTask& task) {
    return std::make_unique<LutraIlu>(A, task.fill_level, schedule);
  };
  return kind;
}

IluKind parilut_kind(const std::string& name, bool deterministic, bool approximate) {
  IluKind kind;
  kind.name = name;
  kind.version = version_info().version;
  kind.has_ilu = false;
  kind.has_parilut = true;
  kind.make = [=](const HostMatrix<double>& A, const IluTask& task) {
    IluOptions options;
    options.steps = task.parilut_steps;
    options.fill_factor = task.fill_factor;
    options.step_tolerance = 0;
    options.deterministic = deterministic;
    options.selection = approximate ? IluSelection::automatic : IluSelection::exact;
    return std::make_unique<LutraParIlut>(A, options);
  };
  return kind;
}

}  // namespace

std::vector<IluKind> lutra_ilu_kinds() {
  return {ilu_kind("lutra", IluSchedule::automatic),         ilu_kind("lutra-levels", IluSchedule::levels),
          ilu_kind("lutra-syncfree", IluSchedule::syncfree), parilut_kind("lutra", false, true),
          parilut_kind("lutra-exact", false, false),         parilut_kind("lutra-deterministic", true, true)};
}

}  // namespace lutra::Perf
