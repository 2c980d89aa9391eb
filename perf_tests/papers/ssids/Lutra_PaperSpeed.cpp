// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Times of the device beside all cores of its host, and of dense factors.
#include <algorithm>
#include <cmath>
#include <random>

#include "Lutra_PaperSsids.hpp"

namespace lutra::Perf {
namespace {

/// What SSIDS took in the slides, "Times(s) and Speedup: Factor+Solve", on 2 × E5-2687W and a K20.
struct Published {
  const char* name;
  const char* kind;
  double cpu, gpu;
};
constexpr Published published[] = {{"GHS_indef/c-71", "optimization", 1.67, 0.43},
                                   {"GHS_indef/ncvxqp3", "optimization", 2.31, 1.42},
                                   {"Schenk_IBMNA/c-big", "optimization", 6.63, 1.49},
                                   {"DNVS/shipsec1", "finite elements", 0.63, 0.40},
                                   {"GHS_psdef/bmwcra_1", "finite elements", 0.77, 0.60},
                                   {"DNVS/ship_003", "finite elements", 1.24, 0.68},
                                   {"ND/nd6k", "other", 2.84, 0.82},
                                   {"PARSEC/Si5H12", "other", 7.20, 1.32},
                                   {"Andrianov/mip1", "other", 0.40, 0.28}};

/// A dense symmetric matrix with values from −1 to 1, and a diagonal that needs pivoting or not.
HostMatrix<double> dense_matrix(int n, bool easy) {
  HostMatrix<double> A{n, n, {0}, {}, {}};
  const auto size = static_cast<std::size_t>(n);
  std::mt19937 random(23);
  std::uniform_real_distribution<double> between(-1.0, 1.0);
  std::vector<double> values(size * size);
  for (std::size_t i = 0; i < size; ++i) {
    for (std::size_t j = 0; j < i; ++j) values[i * size + j] = values[j * size + i] = between(random);
    values[i * size + i] = easy ? 2.0 * n : 1e-3 * between(random);
  }
  for (std::size_t i = 0; i < size; ++i) {
    for (int j = 0; j < n; ++j) A.entries.push_back(j);
    A.row_map.push_back(static_cast<std::int64_t>(A.entries.size()));
  }
  A.values = std::move(values);
  return A;
}

}  // namespace

PaperTable speedup(const PaperRun& run, const std::vector<SymmetricMatrix>& matrices) {
  PaperTable table;
  table.place = "Times and speedup: factor + solve";
  table.claim = "A K20 is 1.3 to 5.4 times as fast as the 16 cores of its host";
  const std::string threads = "threads: " + std::to_string(HostSpace().concurrency());
  table.columns = {"matrix", "host factor, " + threads, "host solve", "device factor", "device solve",
                   "speedup"};
  std::vector<double> ratios;
  for (const auto& [name, A] : matrices) {
    LdltRun<HostSpace> on_host(*A, ldlt_options());
    const LdltSeconds host = ldlt_seconds(run, on_host);
    std::vector<std::string> row{name, format_seconds(host.factorize), format_seconds(host.solve), "", "",
                                 ""};
    if constexpr (has_device) {
      LdltRun<ExecutionSpace> on_device(*A, ldlt_options());
      const LdltSeconds device = ldlt_seconds(run, on_device);
      ratios.push_back(host.sum() / device.sum());
      row[3] = format_seconds(device.factorize);
      row[4] = format_seconds(device.solve);
      row[5] = format_number(ratios.back()) + "×";
    }
    table.add_row(row);
  }
  for (const Published& of : published) {
    table.add_row({std::string("slides: ") + of.name + ", " + of.kind, format_seconds(of.cpu) + " in all", "",
                   format_seconds(of.gpu) + " in all", "", format_number(of.cpu / of.gpu) + "×"});
  }
  table.result = has_device ? "device over host, factor + solve: " + format_ratios(ratios) : "no device here";
  table.note =
      "A refactorization on a known pattern and a refined solve. Two solvers in one process, each with "
      "its own analysis. The slides' matrices are not generated; give them with --matrix.";
  return table;
}

PaperTable hot_spots() {
  PaperTable table;
  table.place = "Factorization phase hot-spots";
  table.claim = "Contributions, assembly, dense factors and waiting take comparable parts, level by level";
  table.skipped = "all fronts run as data flow in one or two launches, where these parts overlap";
  return table;
}

PaperTable dense_factor(const PaperRun& run) {
  PaperTable table;
  table.place = "Dense factor is poor";
  table.claim = "The dense L·D·Lᵀ with pivoting is far from the peak of the device";
  table.columns = {"order", "10⁹ flops/s, pivoted", "unpivoted, easy values",
                   "pivoted over unpivoted, seconds"};
  std::vector<double> ratios;
  for (int n = run.small ? 64 : 512; n <= (run.small ? 128 : 2048); n *= 2) {
    LdltOptions options = ldlt_options();
    options.ordering = Ordering::natural;
    options.matching = Matching::none;
    LdltRun<ExecutionSpace> pivoted(dense_matrix(n, false), options);
    const double hard = ldlt_seconds(run, pivoted).factorize;
    options.pivoting = Pivoting::none;
    LdltRun<ExecutionSpace> unpivoted(dense_matrix(n, true), options);
    const double easy = ldlt_seconds(run, unpivoted).factorize;
    const double flops = std::pow(n, 3) / 3;
    ratios.push_back(hard / easy);
    table.add_row({format_number(n), format_number(flops / hard * 1e-9), format_number(flops / easy * 1e-9),
                   format_number(hard / easy)});
  }
  table.result = "pivoted over unpivoted: " + format_ratios(ratios);
  table.note = "Factorizations by SparseLDLT of full matrices, one front, with assembly and checks.";
  return table;
}

}  // namespace lutra::Perf
