// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Factorization with and without allocation, the kernels of each engine alone, and peers. Solver `lutra` uses
// the engine that the library chooses. Backward errors are those of a solve without refinement. In `columns`,
// `lutra-supernodes` factorizes by supernodes of type T3 on every backend; solvers other than it and `lutra`
// fix one choice of the simplicial engine on CUDA (ColumnOptions, Impl::ColumnAblation): blocks a
// multiprocessor, search for the entry that an update changes, modes level by level, portable kernels.
#include <cmath>

#include "Lutra_ColumnAblation.hpp"
#include "Lutra_ExecutionTraits.hpp"
#include "Lutra_PerfFactored.hpp"
#include "Lutra_PerfPeerRuns.hpp"

namespace lutra::Perf {
namespace {

LuOptions with_engine(Engine engine) {
  LuOptions options = options_for(engine);
  options.expected_factorizations = repeated_factorizations;
  return options;
}

/// Bytes that must move: the matrix is read and the factors are written, once.
template <class Scalar>
void bound_factorization(const PerfRun& run, Measurement& result) {
  const double n = result.counters["n"];
  result.add_limits(run.limits,
                    csr_bytes(n, result.counters["nnz"], true, sizeof(Scalar)) +
                        csr_bytes(n, result.counters["nnz_lu"], true, sizeof(Scalar)),
                    result.counters["flops"], result.counters["levels"]);
}

template <class Scalar>
Measurement measure_factorization(const PerfRun& run, const HostMatrix<Scalar>& matrix, Engine engine) {
  Factored<Scalar> factored(matrix, with_engine(engine));
  auto samples = measure(
      run.samples, [&] { factored.release(); }, [&] { factored.factorize(); });
  Measurement result = describe_factored(std::move(samples), matrix, factored);
  bound_factorization<Scalar>(run, result);
  return result;
}

template <class Scalar>
Measurement measure_refactorization(const PerfRun& run, const HostMatrix<Scalar>& matrix, Engine engine) {
  Factored<Scalar> factored(matrix, with_engine(engine));
  auto samples = measure(run.samples, [&] { factored.factorize(); });
  Measurement result = describe_factored(std::move(samples), matrix, factored);
  bound_factorization<Scalar>(run, result);
  return result;
}

struct ColumnSwitches {
  ColumnOptions options{};
  Impl::ColumnAblation ablation{};
};

/// The kernel alone: by columns on devices, by rows on hosts.
template <class Scalar>
Samples time_columns(const PerfRun& run, Factored<Scalar>& factored, const ColumnSwitches& switches) {
  const auto& plan = factored.simplicial().plan();
  const auto& factors = factored.simplicial().factors();
  const RealOf<Scalar> threshold =
      std::pow(epsilon_of<Scalar>, 5.0 / 8.0);  // the matching scales the largest entry to 1
  if constexpr (lutra::Impl::is_host_space<ExecutionSpace>) {
    static_cast<void>(switches);
    return measure(run.samples, [&] {
      factorize_up_looking<Scalar>(factored.exec, plan.lu, factors.scaled, threshold, factors.workspace,
                                   factors.row_values, factors.perturbed);
    });
  } else {
    const Kokkos::View<Scalar*, MemorySpace> start("lutra::perf::columns", factors.column_values.extent(0));
    lutra::Impl::scatter_scaled(factored.exec, plan.F.A, plan.target, factored.scaled_values(), start,
                                factors.largest.device());
    const auto tuned = Impl::plan_right_looking_lu(factored.exec, plan.lu.rows, factored.budget,
                                                   switches.options, switches.ablation);
    auto work = make_right_looking_lu_workspace(factored.exec, tuned, factored.budget);
    return measure(
        run.samples, [&] { Kokkos::deep_copy(factors.column_values, start); },
        [&] {
          factorize_right_looking(factored.exec, tuned, work, factors.column_values, threshold,
                                  factors.perturbed);
        });
  }
}

template <class Scalar>
Measurement measure_columns(const PerfRun& run, const HostMatrix<Scalar>& matrix,
                            const ColumnSwitches& switches) {
  Factored<Scalar> factored(matrix, with_engine(Engine::simplicial));
  auto samples = time_columns(run, factored, switches);
  factored.simplicial().update_solves(factored.exec);  // the residual belongs to the timed factors
  Measurement result = describe_factored(std::move(samples), matrix, factored);
  result.add_limits(run.limits,
                    2 * csr_bytes(result.counters["n"], result.counters["nnz_lu"], true, sizeof(Scalar)),
                    result.counters["flops"], result.counters["levels"]);
  return result;
}

LuOptions by_supernodes() {
  LuOptions options = with_engine(Engine::simplicial);
  options.columns.supernodes = ColumnSupernodes::on;
  return options;
}

/// The kernels on supernodes alone, from scattered values to panels.
template <class Scalar>
Measurement measure_supernodes(const PerfRun& run, const HostMatrix<Scalar>& matrix) {
  Factored<Scalar> factored(matrix, by_supernodes());
  const auto& plan = factored.supernodal().plan();
  const auto& factors = factored.supernodal().factors();
  const RealOf<Scalar> threshold = std::pow(epsilon_of<Scalar>, 5.0 / 8.0);
  const Kokkos::View<Scalar*, MemorySpace> start("lutra::perf::supernodes", factors.panels.extent(0));
  lutra::Impl::scatter_scaled(factored.exec, plan.F.A, plan.target, factored.scaled_values(), start,
                              factors.largest.device());
  auto samples = measure(
      run.samples, [&] { Kokkos::deep_copy(factors.panels, start); },
      [&] {
        factorize_supernodal<Scalar>(factored.exec, plan.lu, factors.workspace, factors.panels, threshold,
                                     factors.perturbed);
      });
  factored.supernodal().update_solves(factored.exec);  // the residual belongs to the timed factors
  Measurement result = describe_factored(std::move(samples), matrix, factored);
  result.counters["supernodes"] = static_cast<double>(plan.lu.count);
  result.counters["supernode_zeros"] = static_cast<double>(plan.lu.zeros);
  result.counters["supernode_bytes"] =
      static_cast<double>(*factored.analysis->report.factors.supernode_bytes);
  result.add_limits(run.limits,
                    2 * csr_bytes(result.counters["n"], result.counters["nnz_lu"], true, sizeof(Scalar)),
                    result.counters["flops"], result.counters["levels"]);
  return result;
}

/// The kernels of the simplicial engine, with default choices and with one choice fixed.
template <class Scalar>
void register_columns(const PerfRun& run, const std::string& name, const HostMatrix<Scalar>& matrix) {
  add_benchmark(name, "columns", "lutra", [&] { return measure_columns(run, matrix, {}); });
  add_benchmark(name, "columns", "lutra-supernodes", [&] { return measure_supernodes(run, matrix); });
  if constexpr (!Impl::is_host_space<ExecutionSpace>) {
    const std::pair<const char*, ColumnSwitches> switched[] = {
        {"portable", {{.portable = true}}},
        {"blocks-1", {{}, {.blocks = 1}}},
        {"blocks-2", {{}, {.blocks = 2}}},
        {"blocks-4", {{}, {.blocks = 4}}},
        {"search", {{.format = ColumnFormat::search}}},
        {"levels-map", {{.mode = ColumnMode::levels, .format = ColumnFormat::map}}},
        {"levels-search", {{.mode = ColumnMode::levels, .format = ColumnFormat::search}}},
        {"levels-dense", {{.mode = ColumnMode::levels, .format = ColumnFormat::dense}}},
    };
    for (const auto& [label, switches] : switched) {
      const ColumnSwitches choice = switches;
      add_benchmark(name, "columns", label,
                    [&run, &matrix, choice] { return measure_columns(run, matrix, choice); });
    }
  }
}

/// The fronts alone, from the values of the user to the panels.
template <class Scalar>
Measurement measure_fronts(const PerfRun& run, const HostMatrix<Scalar>& matrix) {
  Factored<Scalar> factored(matrix, with_engine(Engine::multifrontal));
  const auto& factors = factored.multifrontal();
  const auto& fronts = factors.plan().fronts;
  const double perturbation = std::pow(static_cast<double>(epsilon_of<Scalar>), 5.0 / 8.0);
  auto samples = measure(run.samples, [&] {
    factorize_fronts<Scalar>(factored.exec, fronts, factored.scaled_values(), perturbation, factors.fronts(),
                             factors.perturbed());
  });
  Measurement result = describe_factored(std::move(samples), matrix, factored);
  result.counters["fronts"] = static_cast<double>(fronts.count);
  bound_factorization<Scalar>(run, result);
  return result;
}

template <class Scalar>
void register_matrix(const PerfRun& run, const std::string& name, const HostMatrix<Scalar>& matrix) {
  struct Named {
    const char* name;
    Engine engine;
  };
  constexpr Named engines[] = {{"lutra", Engine::automatic},
                               {"lutra-simplicial", Engine::simplicial},
                               {"lutra-multifrontal", Engine::multifrontal}};
  register_columns(run, name, matrix);
  add_benchmark(name, "fronts", "lutra", [&] { return measure_fronts(run, matrix); });
  for (const Named& named : engines) {
    const Engine engine = named.engine;
    add_benchmark(name, "factor", named.name,
                  [&, engine] { return measure_factorization(run, matrix, engine); });
    add_benchmark(name, "refactor", named.name,
                  [&, engine] { return measure_refactorization(run, matrix, engine); });
  }
  if constexpr (has_peers<Scalar>) {
    add_peer_benchmarks(
        run, name, matrix,
        {"factor", [](Peer& peer) { peer.prepare_factorization(); }, [](Peer& peer) { peer.factorize(); }});
    add_peer_benchmarks(run, name, matrix,
                        {"refactor", [](Peer&) {}, [](Peer& peer) { peer.refactorize(); }});
  }
}

}  // namespace

void register_benchmarks(const PerfRun& run) {
  for (const PerfMatrix& matrix : run.matrices) {
    with_scalar(matrix, [&](const auto& values) { register_matrix(run, matrix.name, values); });
  }
}

}  // namespace lutra::Perf
