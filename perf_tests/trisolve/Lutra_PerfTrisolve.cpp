// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Triangular solves of `TriangularSolver` by each of its methods, compared with peers. Analysis, update of
// values and solve are timed separately, for incomplete and complete factors and for artificial patterns.
// `trisolve` times solves with the factors of a whole factorization, including scaling and permutation, and
// compares with the peers of the factorization. These solves are not refined, and peers have their own
// factors, so compare times per nonzero. `lutra` uses the engine that the library chooses, `lutra-column` the
// triangles of the simplicial engine, `lutra-triangles` factors by rows without blocks from any engine.
#include <benchmark/benchmark.h>

#include <exception>

#include "Lutra_PerfFactored.hpp"
#include "Lutra_PerfPeerRuns.hpp"
#include "Lutra_PerfTriangleCases.hpp"

namespace lutra::Perf {
namespace {

constexpr double single_tolerance = 1e-5;  // of factors kept in float

/// Latency of a dependency between two multiprocessors, one way, if the value itself is the flag; measured on
/// an H200.
#ifdef KOKKOS_ENABLE_CUDA
constexpr double flag_seconds = std::is_same_v<ExecutionSpace, Kokkos::Cuda> ? 0.24e-6 : 0;
#else
constexpr double flag_seconds = 0;
#endif

/// The triangles and the solver of the last benchmark, which the next one mostly needs again.
class Workbench {
 public:
  const TriangleSystem& system(const TriangleSource& source, TriangleSide side) {
    if (m_source != &source) {
      clear();
      m_source = &source;
      try {
        m_pair = source.make();
      } catch (...) {
        m_failure = std::current_exception();
      }
    }
    if (m_failure) std::rethrow_exception(m_failure);
    return m_pair[side];
  }
  /// The solver, analyzed and prepared for this number of right-hand sides.
  TimedTriangle& solver(const TriangleSource& source, TriangleSide side, const TriangleKind& kind,
                        int columns) {
    const TriangleSystem& triangle = system(source, side);
    if (m_solver == nullptr || m_kind != &kind || m_side != side) {
      m_solver.reset();  // frees the memory of the last solver first
      m_solver = kind.make(triangle);
      m_kind = &kind;
      m_side = side;
      m_columns = columns;
      m_solver->prepare(columns);
      m_solver->analyze();
    }
    if (m_columns != columns) m_solver->prepare(columns);
    m_columns = columns;
    return *m_solver;
  }
  /// Discards the solver, whose state is unknown after a failure.
  void drop_solver() { m_solver.reset(); }

 private:
  void clear() {
    m_solver.reset();
    m_pair = {};
    m_failure = nullptr;
  }

  const TriangleSource* m_source = nullptr;
  const TriangleKind* m_kind = nullptr;
  TriangleSide m_side = TriangleSide::lower;
  int m_columns = 0;
  TrianglePair m_pair;
  std::exception_ptr m_failure;  // from making the pair
  std::unique_ptr<TimedTriangle> m_solver;
};

/// Shared by the benchmarks of triangles, with the same lifetime.
struct Triangles {
  std::vector<TriangleSource> sources;
  std::vector<TriangleKind> kinds;
  Workbench bench;
};

/// One line of the report.
struct TriangleLine {
  const TriangleSource& source;
  const TriangleKind& kind;
  TriangleSide side;
  int columns;
  enum class Step { analyze, update, solve } step;
};

void run_step(TimedTriangle& solver, TriangleLine::Step step) {
  if (step == TriangleLine::Step::analyze) solver.analyze();
  if (step == TriangleLine::Step::update) solver.update();
  if (step == TriangleLine::Step::solve) solver.solve();
}

/// Sizes and rates and, for solves, the prediction of the model.
void describe_solve(const PerfRun& run, const TriangleSystem& system, int columns, Measurement& result) {
  const double seconds = result.samples.median(), n = static_cast<double>(system.n());
  const double nnz = static_cast<double>(system.matrix.nnz()), levels = static_cast<double>(system.levels);
  const double bytes = csr_bytes(n, nnz, true) + 2 * n * columns * static_cast<double>(sizeof(double));
  result.add_limits(run.limits, bytes, 2 * nnz * columns);
  if (flag_seconds > 0) result.counters["limit_latency_s"] = levels * flag_seconds;
  result.counters["us_per_level"] = 1e6 * seconds / levels;
  result.counters["gb_per_s"] = 1e-9 * bytes / seconds;
  const auto predicted = result.counters.find("predicted_s");
  if (columns == 1 && predicted != result.counters.end())
    result.counters["predicted_over_measured"] = predicted->second / seconds;
}

Measurement measure_line(const PerfRun& run, Workbench& bench, const TriangleLine& line) {
  const TriangleSystem& system = bench.system(line.source, line.side);
  TimedTriangle& solver = bench.solver(line.source, line.side, line.kind, line.columns);
  auto samples = measure(run.samples, [&] { run_step(solver, line.step); });
  if (line.step != TriangleLine::Step::solve) solver.solve();
  const auto x = solver.solution();
  TriangleProperties properties = solver.properties();
  Measurement result{std::move(samples), std::move(properties.counters), std::move(properties.label)};
  result.counters["n"] = static_cast<double>(system.n());
  result.counters["nnz"] = static_cast<double>(system.matrix.nnz());
  result.counters["levels"] = static_cast<double>(system.levels);
  result.counters["rhs"] = line.columns;
  if (line.step == TriangleLine::Step::solve) describe_solve(run, system, line.columns, result);
  result.check_errors(triangle_errors(system, x, line.columns, line.kind.order),
                      line.kind.single ? single_tolerance : tolerance);
  return result;
}

void add_line(const PerfRun& run, const std::shared_ptr<Triangles>& triangles, const TriangleLine& line) {
  const std::string matrix = line.source.matrix + (line.side == TriangleSide::lower ? ".lower" : ".upper");
  std::string stage = line.source.group;
  if (line.step == TriangleLine::Step::analyze) stage += "-analyze";
  if (line.step == TriangleLine::Step::update) stage += "-update";
  if (line.step == TriangleLine::Step::solve) stage += "-solve-" + std::to_string(line.columns);
  add_benchmark(matrix, stage, line.kind.name, [&run, triangles, line] {
    try {
      return measure_line(run, triangles->bench, line);
    } catch (...) {
      triangles->bench.drop_solver();
      throw;
    }
  });
}

/// All lines of one kind of solver with one triangle. They are consecutive, so that one solver serves them
/// all.
void add_lines(const PerfRun& run, const std::shared_ptr<Triangles>& triangles, const TriangleSource& source,
               const TriangleKind& kind, TriangleSide side) {
  using Step = TriangleLine::Step;
  if (kind.min_columns == 1) {
    add_line(run, triangles, {source, kind, side, 1, Step::analyze});
    add_line(run, triangles, {source, kind, side, 1, Step::update});
  }
  for (const int columns : {1, 2, 4, 8, 16, 32, 64, 128}) {
    if (columns < kind.min_columns || columns > kind.max_columns) continue;
    add_line(run, triangles, {source, kind, side, columns, Step::solve});
  }
}

std::vector<TriangleKind> all_kinds() {
  std::vector<TriangleKind> all = lutra_triangle_kinds();
  const auto append = [&](std::vector<TriangleKind> some) {
    all.insert(all.end(), some.begin(), some.end());
  };
#ifdef LUTRA_PERF_CUSPARSE
  append(cusparse_triangle_kinds());
#endif
#ifdef LUTRA_PERF_MKL
  append(mkl_triangle_kinds());
#endif
  append(kokkos_kernels_triangle_kinds());
  return all;
}

void register_triangles(const PerfRun& run) {
  const std::shared_ptr<Triangles> triangles(new Triangles{triangle_sources(run), all_kinds(), {}});
  std::string names;
  for (const TriangleKind& kind : triangles->kinds)
    names += (names.empty() ? "" : ", ") + kind.name + " " + kind.version;
  benchmark::AddCustomContext("triangle_solvers", names);
  for (const TriangleSource& source : triangles->sources) {
    for (const TriangleSide side : {TriangleSide::lower, TriangleSide::upper}) {
      for (const TriangleKind& kind : triangles->kinds) add_lines(run, triangles, source, kind, side);
    }
  }
}

template <class Scalar>
Measurement measure_factors(const PerfRun& run, const HostMatrix<Scalar>& matrix, const LuOptions& options) {
  Factored<Scalar> factored(matrix, options);
  auto samples = measure(run.samples, [&] { factored.solve_once(); });
  Measurement result = describe_factored(std::move(samples), matrix, factored);
  const double n = matrix.n_rows;
  result.add_limits(run.limits,
                    csr_bytes(n, result.counters["nnz_lu"], true, sizeof(Scalar)) + 2 * n * sizeof(Scalar),
                    2 * result.counters["nnz_lu"]);
  return result;
}

template <class Scalar>
void register_factors(const PerfRun& run, const std::string& name, const HostMatrix<Scalar>& matrix) {
  LuOptions by_columns = options_for(Engine::simplicial), by_triangles;
  by_columns.expected_factorizations = by_triangles.expected_factorizations = repeated_factorizations;
  by_triangles.trisolve = TrisolveMethod::syncfree;
  const std::pair<const char*, LuOptions> lines[] = {
      {"lutra", {}}, {"lutra-column", by_columns}, {"lutra-triangles", by_triangles}};
  for (const auto& [line, options] : lines) {
    add_benchmark(name, "trisolve", line,
                  [&, options = options] { return measure_factors(run, matrix, options); });
  }
  if constexpr (has_peers<Scalar>) {
    add_peer_benchmarks(run, name, matrix, {"trisolve", [](Peer&) {}, [](Peer& peer) { peer.solve_once(); }});
  }
}

}  // namespace

void register_benchmarks(const PerfRun& run) {
  register_triangles(run);
  for (const PerfMatrix& matrix : run.matrices) {
    with_scalar(matrix, [&](const auto& values) { register_factors(run, matrix.name, values); });
  }
}

}  // namespace lutra::Perf
