// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// LU on several ranks beside SparseLU on one, and triangular solves by grid beside the model's prediction:
//     first           analysis, factorization, solve
//     numeric         new values
//     refactor-solve  new values and a solve
//     solve, solve-16 one and 16 right-hand sides
//     triangles-PxQ   the triangles of the matrix on a grid, with `predicted_s`
//     symbolic        the pattern of L + U by fill2
// "lutra" uses all ranks, "one" rank 0 alone; "cudss" is cuDSS on rank 0's device, "cudss-mg" in its
// multi-GPU mode on as many devices as there are ranks.
#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <utility>

#include "Lutra_Distributed.hpp"
#include "Lutra_DistributedSymbolic.hpp"
#include "Lutra_DistributedTriangles.hpp"
#include "Lutra_PerfOrdered.hpp"
#ifdef LUTRA_PERF_CUDSS
#include "Lutra_PerfPeers.hpp"
#endif
#include "Lutra_PerfRanks.hpp"
#include "Lutra_PerfRun.hpp"
#include "Lutra_PerfSolver.hpp"
#include "Lutra_SparseLU.hpp"

namespace lutra::Perf {
namespace {

constexpr bool on_device = !std::is_same_v<Kokkos::DefaultExecutionSpace, Kokkos::DefaultHostExecutionSpace>;

/// Columns of right-hand sides of a matrix on rank 0, c + 1 times the first.
std::vector<double> right_hand_sides(const std::vector<double>& b, std::size_t k) {
  std::vector<double> B;
  for (std::size_t c = 0; c < k; ++c)
    for (const double value : b) B.push_back(value * static_cast<double>(c + 1));
  return B;
}

/// The rows of each rank are one run, so that a part of a column is one, too.
std::vector<double> own_rows(const std::vector<double>& B, std::size_t n, const DistributedRows<double>& A) {
  std::vector<double> part;
  if (A.rows.empty()) return part;
  for (std::size_t begin = static_cast<std::size_t>(A.rows.front()); begin < B.size(); begin += n)
    part.insert(part.end(), B.begin() + static_cast<std::ptrdiff_t>(begin),
                B.begin() + static_cast<std::ptrdiff_t>(begin + A.rows.size()));
  return part;
}

/// The largest backward errors of the columns of X, on rank 0.
Errors largest_errors(const HostMatrix<double>& A, const std::vector<std::vector<double>>& X) {
  const auto n = static_cast<std::size_t>(A.n_rows);
  const auto B = right_hand_sides(make_right_hand_side(A), X.size());
  Errors worst;
  for (std::size_t c = 0; c < X.size(); ++c) {
    const auto first = B.begin() + static_cast<std::ptrdiff_t>(c * n);
    const Errors errors = backward_errors(A, std::vector<double>(first, first + A.n_rows), X[c]);
    if (!(errors.componentwise <= worst.componentwise)) worst = errors;
  }
  return worst;
}

constexpr std::size_t most_columns = 16;  // right-hand sides of the widest stage

using Columns = Kokkos::View<double**, Kokkos::LayoutLeft, MemorySpace>;

/// The first k columns.
Columns first_columns(const Columns& X, std::size_t k) {
  return Kokkos::subview(X, Kokkos::ALL, std::pair<std::size_t, std::size_t>(0, k));
}

/// A matrix on all ranks, with a solver over them. All stages share one analysis.
struct RankCase {
  const HostMatrix<double>& matrix;
  DistributedRows<double> rows;
  Kokkos::View<double*, MemorySpace> values;
  Columns B, X;
  std::size_t columns = 1;  // of the stage that runs
  DistributedLU<double> solver;

  explicit RankCase(const HostMatrix<double>& A)
      : matrix(A),
        rows(deal_rows(ranks(), A)),
        values("lutra::perf::values", rows.values.size()),
        B("lutra::perf::b", rows.rows.size(), most_columns),
        X("lutra::perf::x", rows.rows.size(), most_columns),
        solver(ranks(), options(), distribution()) {
    const auto b = own_rows(right_hand_sides(make_right_hand_side(A), most_columns),
                            static_cast<std::size_t>(A.n_rows), rows);
    using Host = Kokkos::View<const double**, Kokkos::LayoutLeft, Kokkos::HostSpace>;
    Kokkos::deep_copy(B, Host(b.data(), rows.rows.size(), most_columns));
    Kokkos::deep_copy(values,
                      Kokkos::View<const double*, Kokkos::HostSpace>(rows.values.data(), rows.values.size()));
    first();
  }
  ~RankCase() { solver.close(); }
  static LuOptions options() {
    LuOptions result;
    result.expected_factorizations = repeated_factorizations;
    return result;
  }
  static DistributedOptions distribution() {
    DistributedOptions result;
    result.on_device = on_device;
    if (on_device) result.backend = CommBackend::peer;
    return result;
  }
  void first() {
    solver.close();
    refuse(solver.factorize(rows));
    solve();
  }
  void numeric() { refuse(solver.refactorize(values)); }
  void solve() { refuse(solver.solve(first_columns(B, columns), first_columns(X, columns))); }
  static void refuse(Status status) {
    if (status != Status::success) throw std::runtime_error("status " + std::string(to_string(status)));
  }
  /// Adds the largest backward errors of a solve, on rank 0.
  Measurement described(Samples samples) {
    solve();
    Measurement result{std::move(samples), {}, solver.report().choice.why};
    std::vector<std::vector<double>> whole(columns);
    for (std::size_t c = 0; c < whole.size(); ++c)
      for (const auto& part : ranks().gather(to_host(Kokkos::subview(X, Kokkos::ALL, c))))
        whole[c].insert(whole[c].end(), part.begin(), part.end());
    const Communicator::Work work(ranks());
    if (ranks().rank() == 0) result.check_errors(largest_errors(matrix, whole));
    return result;
  }
};

/// The same by SparseLU, on rank 0.
struct OneCase {
  const HostMatrix<double>& matrix;
  DeviceMatrix<double> A;
  Columns B, X;
  std::unique_ptr<SparseLU<double>> solver;

  explicit OneCase(const HostMatrix<double>& of) : matrix(of), A(to_device(of)) {
    const auto b = right_hand_sides(make_right_hand_side(of), most_columns);
    using Host = Kokkos::View<const double**, Kokkos::LayoutLeft, Kokkos::HostSpace>;
    const auto n = static_cast<std::size_t>(of.n_rows);
    B = Columns("lutra::perf::b", n, most_columns);
    X = Columns("lutra::perf::x", n, most_columns);
    Kokkos::deep_copy(B, Host(b.data(), n, most_columns));
    first();
  }
  void first() {
    solver = std::make_unique<SparseLU<double>>(RankCase::options());
    RankCase::refuse(solver->analyze(A));
    numeric();
    solve(1);
  }
  void numeric() { RankCase::refuse(solver->factorize(A)); }
  void solve(std::size_t k) { RankCase::refuse(solver->solve(first_columns(B, k), first_columns(X, k))); }
};

/// The solver that stages of one matrix share. Another solver or matrix takes its place, so that no two of
/// them occupy a device.
struct Shared {
  std::unique_ptr<RankCase> all;
  std::unique_ptr<OneCase> one;

  RankCase& on_all(const HostMatrix<double>& A) {
    one.reset();
    if (!all || &all->matrix != &A) {
      all.reset();
      all = std::make_unique<RankCase>(A);
    }
    return *all;
  }
  /// Empty on ranks other than 0.
  OneCase* on_one(const HostMatrix<double>& A) {
    all.reset();
    if (ranks().rank() == 0 && (!one || &one->matrix != &A)) {
      const Communicator::Work work(ranks());
      one.reset();
      one = std::make_unique<OneCase>(A);
    }
    return one.get();
  }
  void clear() {
    all.reset();
    one.reset();
  }
};

using Operation = void (*)(RankCase&);

Measurement measure_ranks(const PerfRun& run, RankCase& of, std::size_t k, Operation timed) {
  of.columns = k;
  return of.described(measure_on_ranks(ranks(), run.samples, [&] { timed(of); }));
}

Measurement measure_one(const PerfRun& run, OneCase* one, std::size_t k, const std::string& stage) {
  Measurement result{measure_on_first_rank(ranks(), run.samples, [&] {
    if (stage == "first") return one->first();
    if (stage == "numeric" || stage == "refactor-solve") one->numeric();
    if (stage != "numeric") one->solve(k);
  })};
  if (one != nullptr) {
    const Communicator::Work work(ranks());
    one->solve(k);
    std::vector<std::vector<double>> X;
    for (std::size_t c = 0; c < k; ++c) X.push_back(to_host(Kokkos::subview(one->X, Kokkos::ALL, c)));
    result.check_errors(largest_errors(one->matrix, X));
  }
  return result;
}

#ifdef LUTRA_PERF_CUDSS
/// The same by cuDSS on some devices, by rank 0.
Measurement measure_cudss(const PerfRun& run, const HostMatrix<double>& A, const std::string& stage,
                          int devices) {
  std::unique_ptr<Peer> peer;
  ranks().agree("cuDSS", [&] {
    if (ranks().rank() != 0) return;
    const Communicator::Work work(ranks());
    peer = make_cudss_on_devices(A, make_right_hand_side(A), devices);
    peer->analyze();
    peer->factorize();
    peer->solve();
  });
  Measurement result{measure_on_first_rank(ranks(), run.samples, [&] {
    if (stage == "first") {
      peer->analyze();
      peer->factorize();
    }
    if (stage == "numeric" || stage == "refactor-solve") peer->refactorize();
    if (stage != "numeric") peer->solve();
    Kokkos::fence("lutra::perf: cuDSS is done");
  })};
  if (peer) {
    const Communicator::Work work(ranks());
    peer->solve();
    result.check_errors(backward_errors(A, make_right_hand_side(A), peer->solution()));
  }
  return result;
}
#endif

/// The solution of the triangles that `measure_triangles` makes for B of ones, row by row.
std::vector<double> solve_in_turn(const HostMatrix<double>& A) {
  const auto n = static_cast<std::size_t>(A.n_rows);
  std::vector<double> x(n, 1.0);
  const auto subtract = [&](std::size_t i, bool lower) {
    const auto begin = static_cast<std::size_t>(A.row_map[i]),
               end = static_cast<std::size_t>(A.row_map[i + 1]);
    for (std::size_t e = begin; e < end; ++e) {
      const auto j = static_cast<std::size_t>(A.entries[e]);
      if (lower ? j < i : j > i) x[i] -= x[j] / static_cast<double>(end - begin);
    }
  };
  for (std::size_t i = 0; i < n; ++i) subtract(i, true);
  for (std::size_t i = n; i-- > 0;) {
    subtract(i, false);
    x[i] /= 2;
  }
  return x;
}

/// L and U of A's pattern, made diagonally dominant, on a grid.
Measurement measure_triangles(const PerfRun& run, const HostMatrix<double>& A, const ProcessGrid& grid) {
  const DistributedRows<double> part = deal_rows(ranks(), A);
  DistributedEntries<double> entries;
  for (std::size_t i = 0; i < part.rows.size(); ++i)
    for (auto e = static_cast<std::size_t>(part.row_map[i]);
         e < static_cast<std::size_t>(part.row_map[i + 1]); ++e) {
      const bool is_diagonal = part.columns[e] == part.rows[i];
      entries.rows.push_back(part.rows[i]);
      entries.columns.push_back(part.columns[e]);
      entries.values.push_back(
          is_diagonal ? 2.0 : 1.0 / static_cast<double>(part.row_map[i + 1] - part.row_map[i]));
    }
  DistributedOptions options = RankCase::distribution();
  options.grid = grid;
  const DistributedPattern pattern{
      part.n,          entries.rows,
      entries.columns, {{TriangleSide::lower, DiagonalKind::unit}, {TriangleSide::upper}},
      part.rows,       part.rows};
  DistributedTriangles<double> triangles(ranks(), pattern, options);
  triangles.set_values(entries.values);
  const std::vector<double> B(part.rows.size(), 1.0);
  std::vector<double> X(B.size());
  Measurement result{measure_on_ranks(ranks(), run.samples, [&] { triangles.solve(B, X); })};
  for (const GridPrediction& prediction : predict_grids(ranks(), pattern, options, {grid}))
    result.counters["predicted_s"] = prediction.seconds;
  triangles.close();
  const Communicator::Work work(ranks());
  const std::vector<double> expected = solve_in_turn(A);
  double error = 0;
  for (std::size_t i = 0; i < X.size(); ++i) {
    const double x = expected[static_cast<std::size_t>(part.rows[i])];
    error = std::max(error, std::abs(X[i] - x));
  }
  result.counters["error"] = error;
  if (!(error <= tolerance)) throw std::runtime_error("FAILED: error of X " + std::to_string(error));
  return result;
}

/// @throws std::runtime_error unless a pattern has as many entries as that of fill1
void check_count(const Ordered& ordered, double entries) {
  if (entries != ordered.nnz_lu)
    throw std::runtime_error("FAILED: a pattern of " + std::to_string(entries) + " entries");
}

/// The pattern of L + U by fill2, in the order of METIS.
Measurement measure_symbolic(const PerfRun& run, const PerfMatrix& matrix, bool all_ranks) {
  using Exec = Kokkos::DefaultExecutionSpace;
  std::optional<Ordered> made;
  {
    const Communicator::Work work(ranks());
    made.emplace(matrix);
  }
  const Ordered& ordered = *made;
  if (all_ranks) {
    Measurement result{measure_on_ranks(ranks(), run.samples, [&] {
      static_cast<void>(find_rows_of_rank(ranks(), Exec(), ordered.device));
    })};
    const auto pattern = find_rows_of_rank(ranks(), Exec(), ordered.device);
    check_count(ordered, static_cast<double>(pattern.nnz_l + pattern.nnz_u));
    const auto edges = ranks().all_gather(pattern.found.edges);
    result.counters["edges"] =
        static_cast<double>(std::accumulate(edges.begin(), edges.end(), std::int64_t(0)));
    result.counters["most_edges"] = static_cast<double>(std::ranges::max(edges));
    return result;
  }
  const SymbolicOptions options{SymbolicMethod::fill2};
  return {measure_on_first_rank(ranks(), run.samples, [&] {
    const auto found = factorize_symbolic(Exec(), ordered.device, MemoryBudget(), options);
    check_count(ordered, static_cast<double>(found.nnz_l + found.nnz_u));
  })};
}

struct Stage {
  const char* name;
  std::size_t columns;
  Operation on_ranks;
};

const Stage stages[] = {{"first", 1, [](RankCase& of) { of.first(); }},
                        {"numeric", 1, [](RankCase& of) { of.numeric(); }},
                        {"refactor-solve", 1,
                         [](RankCase& of) {
                           of.numeric();
                           of.solve();
                         }},
                        {"solve", 1, [](RankCase& of) { of.solve(); }},
                        {"solve-16", most_columns, [](RankCase& of) { of.solve(); }}};

/// All stages of a solver follow each other, since they share its analysis.
void register_matrix(const PerfRun& run, const PerfMatrix& matrix, const HostMatrix<double>& A,
                     const std::shared_ptr<Shared>& shared) {
  const std::string& name = matrix.name;
  for (const Stage& stage : stages)
    add_benchmark(name, stage.name, "lutra", [&run, &A, &stage, shared] {
      return measure_ranks(run, shared->on_all(A), stage.columns, stage.on_ranks);
    });
  for (const Stage& stage : stages)
    add_benchmark(name, stage.name, "one", [&run, &A, &stage, shared] {
      return measure_one(run, shared->on_one(A), stage.columns, stage.name);
    });
#ifdef LUTRA_PERF_CUDSS
  const int devices = std::min(ranks().size(), Kokkos::num_devices());
  for (const Stage& stage : stages) {
    if (stage.columns > 1) continue;
    const auto cudss = [&run, &A, &stage, shared](int on) {
      shared->clear();
      return measure_cudss(run, A, stage.name, on);
    };
    add_benchmark(name, stage.name, "cudss", [cudss] { return cudss(1); });
    if (devices > 1) add_benchmark(name, stage.name, "cudss-mg", [cudss, devices] { return cudss(devices); });
  }
#endif
  for (const ProcessGrid& grid : grids_of(ranks().size()))
    add_benchmark(name, "triangles-" + name_of(grid), "lutra", [&run, &A, grid, shared] {
      shared->clear();
      return measure_triangles(run, A, grid);
    });
  for (const bool all : {true, false})
    add_benchmark(name, "symbolic", all ? "lutra" : "one", [&run, &matrix, all, shared] {
      shared->clear();
      return measure_symbolic(run, matrix, all);
    });
}

}  // namespace

void register_benchmarks(const PerfRun& run) {
  const auto shared = std::make_shared<Shared>();
  for (const PerfMatrix& matrix : run.matrices) {
    if (const auto* const real = std::get_if<HostMatrix<double>>(&matrix.values))
      register_matrix(run, matrix, *real, shared);
  }
}

}  // namespace lutra::Perf
