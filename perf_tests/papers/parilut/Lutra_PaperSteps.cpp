// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Figures 11 to 13: times of ParILUT.
#include <algorithm>
#include <exception>

#include "Lutra_PaperParilut.hpp"
#include "Lutra_PerfMeasure.hpp"
#include "Lutra_PerfRegions.hpp"

namespace lutra::Perf {
namespace {

constexpr int all_steps = 3;
const std::vector<std::string> parts = {"candidates", "sweep", "selection", "removal"};

const IluKind* kind_named(const std::vector<IluKind>& kinds, const std::string& name, bool parilut) {
  for (const IluKind& kind : kinds)
    if (kind.name == name && (parilut ? kind.has_parilut : kind.has_ilu)) return &kind;
  return nullptr;
}

/// Seconds of the parts and of a whole step, medians.
std::vector<double> part_seconds(const PaperRun& run, const HostMatrix<double>& A, const IluKind& kind) {
  const auto solver = kind.make(A, {.parilut_steps = all_steps});
  solver->analyze();
  solver->factorize();
  const double steps = std::max(1, solver->steps());
  std::vector<std::vector<double>> samples(parts.size());
  for (int s = 0; s < run.samples; ++s) {
    const RegionTimes times;
    solver->factorize();
    for (std::size_t p = 0; p < parts.size(); ++p)
      samples[p].push_back(times.seconds("lutra::ilu::parilut: " + parts[p]) / steps);
  }
  std::vector<double> result;
  for (auto& part : samples) {
    std::sort(part.begin(), part.end());
    result.push_back(part[part.size() / 2]);
  }
  result.push_back(measure(run.samples, [&] { solver->factorize(); }).median() / steps);
  return result;
}

/// A factorization of Figure 13.
struct Entry {
  std::string name;
  const IluKind* kind;
  IluTask task;
};

std::vector<Entry> entries(const std::vector<IluKind>& kinds) {
  std::vector<Entry> result;
  const auto add = [&](const std::string& name, const std::string& kind, const IluTask& task) {
    if (const auto* const found = kind_named(kinds, kind, task.parilut_steps > 0))
      result.push_back({name, found, task});
  };
  const IluTask parilut{.parilut_steps = all_steps};
  add("ILU(0), Lutra", "lutra", {});
  add("ILU(1), Lutra", "lutra", {.fill_level = 1});
  add("ILU(0), cuSPARSE", "cusparse", {});
  add("ParILUT, Lutra", "lutra", parilut);
  add("ParILUT, Lutra, exact thresholds", "lutra-exact", parilut);
  add("ParILUT, Ginkgo", "ginkgo", parilut);
  add("ParILUT, Ginkgo, pool", "ginkgo-pool", parilut);
  add("ParILUT, Kokkos Kernels", "kokkos-kernels", parilut);
  return result;
}

struct Factored {
  double seconds = 0;
  KrylovRun gmres;
};

/// Analysis and factorization from A, then GMRES.
Factored factor_and_solve(const PaperRun& run, const HostMatrix<double>& A, const Entry& entry) {
  const auto solver = entry.kind->make(A, entry.task);
  Factored result;
  result.seconds = measure(run.samples, [&] {
                     solver->analyze();
                     solver->factorize();
                   }).median();
  result.gmres = run_gmres(A, solver->factors());
  return result;
}

}  // namespace

PaperTable step_parts(const PaperRun& run, const std::vector<IluMatrix>& matrices) {
  PaperTable table;
  table.place = "Figures 11 and 12";
  table.claim =
      "Approximate thresholds shorten steps; for matrices with many entries per row the candidate "
      "search dominates";
  table.columns = {"matrix, thresholds"};
  for (const std::string& part : parts) table.columns.push_back(part);
  table.columns.push_back("rest");
  table.columns.push_back("step");
  const auto kinds = all_ilu_kinds();
  std::vector<double> gains;
  for (const auto& [name, A] : matrices) {
    double exact = 0;
    for (const bool approximate : {false, true}) {
      const auto* const kind = kind_named(kinds, approximate ? "lutra" : "lutra-exact", true);
      const auto seconds = part_seconds(run, *A, *kind);
      std::vector<std::string> row{name + (approximate ? ", auto" : ", exact")};
      double rest = seconds.back();
      for (std::size_t p = 0; p < parts.size(); ++p) {
        rest -= seconds[p];
        row.push_back(format_number(100 * seconds[p] / seconds.back()) + " %");
      }
      row.push_back(format_number(100 * std::max(0.0, rest) / seconds.back()) + " %");
      row.push_back(format_seconds(seconds.back()));
      table.add_row(row);
      if (approximate) {
        gains.push_back(exact / seconds.back());
      } else {
        exact = seconds.back();
      }
    }
  }
  table.result = "a step with exact over one with automatic thresholds: " + format_ratios(gains);
  table.note =
      "Parts are timed with fences, so their sum may exceed the step, and the rest is then 0. "
      "`candidates` includes the residual and the addition of entries. Automatic thresholds are "
      "approximate on devices, exact on hosts.";
  return table;
}

PaperTable factorization_times(const PaperRun& run, const std::vector<IluMatrix>& matrices) {
  PaperTable table;
  table.place = "Figure 13";
  table.claim = "ParILUT on a device is up to hundreds of times as fast as SuperLU's sequential ILUT";
  table.columns = {"matrix, factorization", "analysis and factors", "over Lutra's ParILUT", "iterations",
                   "to solution"};
  const auto kinds = all_ilu_kinds();
  std::vector<double> of_peers;
  for (const auto& [name, A] : matrices) {
    const auto all = entries(kinds);
    std::vector<Factored> results;
    std::vector<std::string> failures;
    double own = 0;
    for (const Entry& entry : all) {
      Factored found;
      std::string failure;
      try {
        found = factor_and_solve(run, *A, entry);
        if (entry.name == "ParILUT, Lutra") own = found.seconds;
      } catch (const std::exception& problem) {
        failure = problem.what();
      }
      results.push_back(found);
      failures.push_back(failure);
    }
    for (std::size_t e = 0; e < all.size(); ++e) {
      const bool is_parilut = all[e].task.parilut_steps > 0;
      if (!failures[e].empty()) {
        table.add_row({name + ", " + all[e].name, "failed", "", failures[e], ""});
        continue;
      }
      const bool converged = results[e].gmres.iterations >= 0;
      if (is_parilut && all[e].name.find("Lutra") == std::string::npos)
        of_peers.push_back(results[e].seconds / own);
      table.add_row({name + ", " + all[e].name, format_seconds(results[e].seconds),
                     format_number(results[e].seconds / own),
                     converged ? format_number(results[e].gmres.iterations) : "none",
                     converged ? format_seconds(results[e].seconds + results[e].gmres.seconds) : ""});
    }
  }
  table.result = "time of other ParILUTs over Lutra's: " + format_ratios(of_peers);
  table.note =
      "Three steps at the fill of ILU(0). The paper compares with its own OpenMP code and with "
      "SuperLU's ILUT on a Xeon Phi; neither is here. GMRES(50) to 1e-10 with exact triangular "
      "solves of Lutra for all factors; `none`: not in 1,000 iterations.";
  return table;
}

}  // namespace lutra::Perf
