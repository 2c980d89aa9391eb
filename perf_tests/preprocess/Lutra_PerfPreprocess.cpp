// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Matching and orderings, on the host. The worth of an ordering is the factorization it leads to, so that is
// made once, untimed.
#include <stdexcept>

#include "Lutra_Matching.hpp"
#include "Lutra_Ordering.hpp"
#include "Lutra_PerfFactored.hpp"
#include "Lutra_PerfMeasure.hpp"
#include "Lutra_PerfRun.hpp"

namespace lutra::Perf {
namespace {

template <class Scalar>
Measurement described(Samples samples, const HostMatrix<Scalar>& matrix, const LuOptions& options) {
  return describe_factored(std::move(samples), matrix, Factored<Scalar>(matrix, options));
}

template <class Scalar>
Measurement measure_matching(const PerfRun& run, const HostMatrix<Scalar>& matrix) {
  auto samples = measure(run.samples, [&] { match_exact(make_view(matrix)); });
  Measurement result = described(std::move(samples), matrix, {});
  const double n = matrix.n_rows, nnz = static_cast<double>(matrix.nnz());
  result.bound(run.limits, csr_bytes(n, nnz, true, sizeof(Scalar)) + n * (sizeof(int) + 2 * sizeof(double)));
  return result;
}

/// The pattern that is ordered: row j is the row matched to column j.
template <class Scalar>
HostMatrix<char> matched_pattern(const HostMatrix<Scalar>& matrix) {
  std::vector<int> row_of_column;
  if (maximum_transversal(make_view(matrix).pattern(), &row_of_column) < matrix.n_rows) {
    throw std::runtime_error("structurally singular");
  }
  const auto matching = match_exact(make_view(matrix));
  if (matching.numeric_rank_bound == matrix.n_rows) row_of_column = matching.row_of_column;
  HostMatrix<char> result{matrix.n_rows, matrix.n_cols, {0}, {}, {}};
  for (const int row : row_of_column) {
    const auto begin = matrix.entries.begin() + matrix.row_map[static_cast<std::size_t>(row)];
    result.entries.insert(result.entries.end(), begin,
                          matrix.entries.begin() + matrix.row_map[static_cast<std::size_t>(row) + 1]);
    result.row_map.push_back(result.nnz());
  }
  return result;
}

template <class Scalar>
Measurement measure_ordering(const PerfRun& run, const HostMatrix<Scalar>& matrix, Ordering ordering) {
  const HostMatrix<char> pattern = matched_pattern(matrix);
  auto samples = measure(run.samples, [&] { order(make_view(pattern).pattern(), ordering); });
  LuOptions options;
  options.ordering = ordering;
  Measurement result = described(std::move(samples), matrix, options);
  const double n = matrix.n_rows, nnz = static_cast<double>(matrix.nnz());
  result.bound(run.limits, csr_bytes(n, nnz, false) + n * sizeof(int));
  return result;
}

template <class Scalar>
void register_matrix(const PerfRun& run, const std::string& name, const HostMatrix<Scalar>& matrix) {
  add_benchmark(name, "matching", "lutra", [&] { return measure_matching(run, matrix); });
  const std::pair<const char*, Ordering> orderings[] = {
      {"amd", Ordering::amd}, {"metis", Ordering::metis}, {"automatic", Ordering::automatic}};
  for (const auto& [solver, ordering] : orderings) {
    add_benchmark(name, "ordering", solver,
                  [&, kind = ordering] { return measure_ordering(run, matrix, kind); });
  }
}

}  // namespace

void register_benchmarks(const PerfRun& run) {
  for (const PerfMatrix& matrix : run.matrices) {
    with_scalar(matrix, [&](const auto& values) { register_matrix(run, matrix.name, values); });
  }
}

}  // namespace lutra::Perf
