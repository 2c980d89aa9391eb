// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Fronts with delayed pivots by the kernels of the execution space, and by the portable ones.
#include <optional>
#include <stdexcept>

#include "Lutra_LdltEngine.hpp"
#include "Lutra_PaperSsids.hpp"

namespace lutra::Perf {
namespace {

using Fronts = LdltFactors<double, ExecutionSpace>;

/// The same matrix with all diagonal entries stored.
HostMatrix<double> with_diagonal_entries(const HostMatrix<double>& A) {
  HostMatrix<double> result{A.n_rows, A.n_cols, {0}, {}, {}};
  for (int i = 0; i < A.n_rows; ++i) {
    bool found = false;
    const auto add = [&](int j, double value) {
      found = found || j == i;
      result.entries.push_back(j);
      result.values.push_back(value);
    };
    for (auto p = A.row_map[static_cast<std::size_t>(i)]; p < A.row_map[static_cast<std::size_t>(i) + 1];
         ++p) {
      const int j = A.entries[static_cast<std::size_t>(p)];
      if (j > i && !found) add(i, 0);
      add(j, A.values[static_cast<std::size_t>(p)]);
    }
    if (!found) add(i, 0);
    result.row_map.push_back(static_cast<std::int64_t>(result.entries.size()));
  }
  return result;
}

/// Median seconds of a factorization with delayed pivots, on the tree of an analysis.
/// @param portable kernels of any space, level by level; else those of the space
double front_seconds(const PaperRun& run, const HostMatrix<double>& A, bool portable) {
  const ExecutionSpace exec;
  LdltOptions options = ldlt_options();
  options.in_place_first = true;  // the plan then keeps the input of fronts with delayed pivots
  SparseLDLT<double> solver(options);
  const auto in_space = to_device(A);
  if (solver.analyze(in_space) != Status::success) throw std::runtime_error(describe(solver.report()));
  const auto analysis = solver.analysis();
  const auto& engine =
      static_cast<const lutra::Impl::LdltEnginePlan<double, ExecutionSpace>&>(*analysis->plan);
  if (!engine.input) throw std::runtime_error("the analysis has no tree for other fronts");
  LdltPlanOptions of_plan;
  if (!lutra::Impl::is_host_space<ExecutionSpace>) of_plan.data_flow = !portable;
  const auto plan = plan_ldlt(exec, engine.input->tree,
                              FrontEntries{engine.input->A, engine.input->order, engine.input->order},
                              MemoryBudget(), of_plan);
  const LdltValues<double, MemorySpace> values{{in_space.values, analysis->row_scale, analysis->row_scale},
                                               {}};
  Fronts factors;
  allocate_ldlt(exec, plan, MemoryBudget(), factors);
  const auto factorize = [&] { factorize_ldlt(exec, plan, values, LdltPivotRule(), factors, portable); };
  for (int enlarged = 0;; ++enlarged) {
    factorize();
    if (!read_outcome(exec, factors).overflowed()) break;
    if (enlarged == 10) throw std::runtime_error("delayed pivots cascade");
    enlarge_room(exec, plan, MemoryBudget(), factors);
  }
  return measure(run.samples, factorize).median();
}

std::string seconds_or_reason(const std::optional<double>& seconds) {
  return seconds ? format_seconds(*seconds) : "none";
}

}  // namespace

PaperTable kernels(const PaperRun& run, const std::vector<SymmetricMatrix>& matrices) {
  PaperTable table;
  table.place = "Enforcing task ordering";
  table.claim = "Level by level because of few registers; data flow in a single kernel is future work";
  table.columns = {"matrix", "kernels of the space", "portable, level by level", "portable over them"};
  std::vector<double> ratios;
  for (const auto& [name, A] : matrices) {
    const HostMatrix<double> whole = with_diagonal_entries(*A);
    std::optional<double> seconds[2];
    std::string reason;
    for (const bool portable : {false, true}) {
      try {
        seconds[portable ? 1 : 0] = front_seconds(run, whole, portable);
      } catch (const std::runtime_error& problem) {
        reason = problem.what();
      }
    }
    if (seconds[0] && seconds[1]) ratios.push_back(*seconds[1] / *seconds[0]);
    table.add_row({name, seconds_or_reason(seconds[0]), seconds_or_reason(seconds[1]),
                   seconds[0] && seconds[1] ? format_number(ratios.back()) : reason});
  }
  table.result = "portable kernels over those of the space: " + format_ratios(ratios);
  table.note =
      "Fronts with delayed pivots alone, without checks; no pivots in place, no other order if delays "
      "cascade. CUDA: data flow in two launches. Hosts: subtrees by threads.";
  return table;
}

}  // namespace lutra::Perf
