// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Solves with L, with U and with both (scaling and permuting included), the latter beside the peers' solves;
// nothing is refined. Lutra's factors are those of its default options, the peers' are their own: compare
// times a nonzero.
#include "Lutra_LevelSetSolve.hpp"
#include "Lutra_PerfFactored.hpp"
#include "Lutra_PerfPeerRuns.hpp"

namespace lutra::Perf {
namespace {

enum class Part { lower, upper };

template <class Scalar>
Triangle<Scalar, int, std::int64_t, MemorySpace> triangle_of(const Factored<Scalar>& factored, Part part) {
  const auto& rows = factored.analysis.plan.rows;
  const auto& values = factored.factors.row_values;
  if (part == Part::lower) return {rows.n, rows.row_map, rows.diagonal, 0, rows.entries, values, {}, false};
  const auto n = static_cast<std::size_t>(rows.n);
  const auto end = Kokkos::subview(rows.row_map, Kokkos::make_pair(std::size_t(1), n + 1));
  return {rows.n, rows.diagonal, end, 1, rows.entries, values, rows.diagonal, false};
}

/// A factor as a matrix of its own on the host, L's unit diagonal written out, for the judgement of its
/// solve.
template <class Scalar>
HostMatrix<Scalar> part_on_host(const Factored<Scalar>& factored, Part part) {
  const auto& rows = factored.analysis.plan.rows;
  const auto row_map = to_host(rows.row_map), diagonal = to_host(rows.diagonal);
  const auto entries = to_host(rows.entries);
  const auto values = to_host(factored.factors.row_values);
  HostMatrix<Scalar> result{rows.n, rows.n, {0}, {}, {}};
  for (std::size_t i = 0; i < diagonal.size(); ++i) {
    const auto begin = part == Part::lower ? row_map[i] : diagonal[i];
    const auto end = part == Part::lower ? diagonal[i] : row_map[i + 1];
    result.entries.insert(result.entries.end(), entries.begin() + begin, entries.begin() + end);
    result.values.insert(result.values.end(), values.begin() + begin, values.begin() + end);
    if (part == Part::lower) {
      result.entries.push_back(static_cast<int>(i));
      result.values.push_back(Scalar(1));
    }
    result.row_map.push_back(result.nnz());
  }
  return result;
}

template <class Scalar>
Measurement measure_part(const PerfRun& run, const HostMatrix<Scalar>& matrix, Part part) {
  Factored<Scalar> factored(matrix);
  const auto triangle = triangle_of(factored, part);
  const auto& levels = part == Part::lower ? factored.analysis.lower_levels : factored.analysis.upper_levels;
  auto samples = measure(
      run.samples, [&] { Kokkos::deep_copy(factored.x, factored.b); },
      [&] { solve_by_levels(factored.exec, triangle, levels, false, factored.x); });
  const auto x = to_host(factored.x);
  const HostMatrix<Scalar> factor = part_on_host(factored, part);
  Measurement result{std::move(samples)};
  result.counters["n"] = matrix.n_rows;
  result.counters["nnz"] = static_cast<double>(matrix.nnz());
  result.counters["nnz_factor"] = static_cast<double>(factor.nnz());
  result.counters["levels"] = static_cast<double>(levels.size());
  result.note(backward_errors(factor, factored.host_b, x));
  const double n = matrix.n_rows;
  result.bound(run.limits,
               csr_bytes(n, result.counters["nnz_factor"], true, sizeof(Scalar)) + 2 * n * sizeof(Scalar),
               2 * result.counters["nnz_factor"], result.counters["levels"]);
  return result;
}

template <class Scalar>
Measurement measure_both(const PerfRun& run, const HostMatrix<Scalar>& matrix) {
  Factored<Scalar> factored(matrix);
  auto samples = measure(run.samples, [&] { factored.solve_once(); });
  const auto levels =
      static_cast<double>(factored.analysis.lower_levels.size() + factored.analysis.upper_levels.size());
  Measurement result = describe_factored(std::move(samples), matrix, factored);
  const double n = matrix.n_rows;
  result.counters["levels"] = levels;
  result.bound(run.limits,
               csr_bytes(n, result.counters["nnz_lu"], true, sizeof(Scalar)) + 2 * n * sizeof(Scalar),
               2 * result.counters["nnz_lu"], levels);
  return result;
}

template <class Scalar>
void register_matrix(const PerfRun& run, const std::string& name, const HostMatrix<Scalar>& matrix) {
  add_benchmark(name, "lower", "lutra", [&] { return measure_part(run, matrix, Part::lower); });
  add_benchmark(name, "upper", "lutra", [&] { return measure_part(run, matrix, Part::upper); });
  add_benchmark(name, "trisolve", "lutra", [&] { return measure_both(run, matrix); });
  if constexpr (has_peers<Scalar>) {
    add_peer_benchmarks(run, name, matrix, {"trisolve", [](Peer&) {}, [](Peer& peer) { peer.solve_once(); }});
  }
}

}  // namespace

void register_benchmarks(const PerfRun& run) {
  for (const PerfMatrix& matrix : run.matrices) {
    with_scalar(matrix, [&](const auto& values) { register_matrix(run, matrix.name, values); });
  }
}

}  // namespace lutra::Perf
