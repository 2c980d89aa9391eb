// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Incomplete factorizations: `ilu0-analyze`, `ilu0-factor`, `ilu1-…`. `parilut-N` is one of N steps of
// ParILUT from ILU(0) at its fill. `parilut-candidates`, `-sweep`, `-selection` and `-removal` are parts of
// one of three steps.
#include "Lutra_PerfIlu.hpp"

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <memory>

#include "Lutra_PerfMeasure.hpp"
#include "Lutra_PerfRegions.hpp"
#include "Lutra_PerfRun.hpp"

namespace lutra::Perf {

namespace {

double n_products(const HostFactors& LU) {
  std::vector<double> upper(static_cast<std::size_t>(LU.n_rows), 0);
  double products = 0;
  for (int pass = 0; pass < 2; ++pass)
    for (std::size_t i = 0; i < upper.size(); ++i)
      for (auto p = LU.row_map[i]; p < LU.row_map[i + 1]; ++p) {
        const int j = LU.entries[static_cast<std::size_t>(p)];
        if (pass == 0 && j > static_cast<int>(i)) ++upper[i];
        if (pass == 1 && j < static_cast<int>(i)) products += upper[static_cast<std::size_t>(j)];
      }
  return products;
}

Measurement describe(Samples&& samples, const HostMatrix<double>& A, const HostFactors& LU) {
  Measurement result{std::move(samples)};
  result.counters["n"] = A.n_rows;
  result.counters["nnz"] = static_cast<double>(A.nnz());
  result.counters["nnz_lu"] = static_cast<double>(LU.nnz());
  result.counters["flops"] = 2 * n_products(LU);
  if (A.n_rows <= 100000) result.counters["iterations"] = run_gmres(A, LU).iterations;
  return result;
}

/// Bytes that must move: matrix and pattern are read, values are written.
Measurement measure_ilu(const PerfRun& run, const HostMatrix<double>& A, const IluKind& kind, int fill_level,
                        bool analyze) {
  const auto solver = kind.make(A, {.fill_level = fill_level});
  if (!analyze) solver->analyze();
  auto samples = measure(run.samples, [&] { analyze ? solver->analyze() : solver->factorize(); });
  if (analyze) solver->factorize();
  const HostFactors LU = solver->factors();
  Measurement result = describe(std::move(samples), A, LU);
  result.counters["backward_componentwise"] = pattern_errors(A, LU).componentwise;
  result.add_limits(run.limits, csr_bytes(A.n_rows, static_cast<double>(A.nnz()), true) +
                                    csr_bytes(A.n_rows, static_cast<double>(LU.nnz()), true));
  return result;
}

/// The time of one of several steps.
Measurement measure_parilut(const PerfRun& run, const HostMatrix<double>& A, const IluKind& kind, int steps) {
  const auto solver = kind.make(A, {.parilut_steps = steps});
  solver->analyze();
  const double start = solver->start() ? measure(run.samples, [&] { solver->start(); }).median() : 0;
  auto samples = measure(run.samples, [&] { solver->factorize(); });
  const int made = std::max(1, solver->steps());
  for (double& seconds : samples.seconds) seconds = (seconds - start) / made;
  const HostFactors LU = solver->factors();
  Measurement result = describe(std::move(samples), A, LU);
  result.counters["steps"] = made;
  result.counters["residual_on_pattern"] = pattern_errors(A, LU).frobenius;
  return result;
}

/// The time of one part of a step, without the others.
Measurement measure_part(const PerfRun& run, const HostMatrix<double>& A, const IluKind& kind,
                         const std::string& part) {
  const auto solver = kind.make(A, {.parilut_steps = 3});
  solver->analyze();
  solver->factorize();
  Samples samples;
  while (static_cast<int>(samples.seconds.size()) < run.samples) {
    const RegionTimes times;
    solver->factorize();
    samples.seconds.push_back(times.seconds("lutra::ilu::parilut: " + part) / std::max(1, solver->steps()));
  }
  std::sort(samples.seconds.begin(), samples.seconds.end());
  return describe(std::move(samples), A, solver->factors());
}

void register_matrix(const PerfRun& run, const std::string& name, const SharedMatrix& A,
                     const IluKind& kind) {
  for (const int level : {0, 1}) {
    if (!kind.has_ilu || (level > 0 && kind.name == "cusparse")) continue;
    for (const bool analyze : {true, false})
      add_benchmark(name, "ilu" + std::to_string(level) + (analyze ? "-analyze" : "-factor"), kind.name,
                    [&run, A, kind, level, analyze] { return measure_ilu(run, *A, kind, level, analyze); });
  }
  if (!kind.has_parilut) return;
  for (const int steps : {1, 3})
    add_benchmark(name, "parilut-" + std::to_string(steps), kind.name,
                  [&run, A, kind, steps] { return measure_parilut(run, *A, kind, steps); });
  for (const std::string part : {"candidates", "sweep", "selection", "removal"}) {
    if (kind.name.starts_with("lutra"))
      add_benchmark(name, "parilut-" + part, kind.name,
                    [&run, A, kind, part] { return measure_part(run, *A, kind, part); });
  }
}

}  // namespace

void register_benchmarks(const PerfRun& run) {
  for (const PerfMatrix& matrix : run.matrices) {
    const auto* const values = std::get_if<HostMatrix<double>>(&matrix.values);
    const SharedMatrix A = values != nullptr ? with_diagonal(*values) : nullptr;
    if (A == nullptr) continue;
    for (const IluKind& kind : all_ilu_kinds()) register_matrix(run, matrix.name, A, kind);
  }
}

}  // namespace lutra::Perf
