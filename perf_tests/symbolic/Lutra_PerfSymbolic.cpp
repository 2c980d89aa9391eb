// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The pattern of L + U of the matched and ordered matrix: by each road, and by Gilbert and Peierls' search on
// one host thread.
#include "Lutra_PerfFactored.hpp"
#include "Lutra_PerfGilbertPeierls.hpp"
#include "Lutra_PerfRun.hpp"
#include "Lutra_Symbolic.hpp"

namespace lutra::Perf {
namespace {

/// Pattern of A(row_order, col_order), on the device; made on the host.
template <class Scalar>
CsrPattern<int, std::int64_t, MemorySpace> permuted_pattern(const HostMatrix<Scalar>& matrix,
                                                            const Factored<Scalar>& factored) {
  const auto rows = to_host(factored.analysis.row_order);
  const auto columns = to_host(factored.analysis.col_order);
  std::vector<int> place(columns.size());
  for (std::size_t k = 0; k < columns.size(); ++k)
    place[static_cast<std::size_t>(columns[k])] = static_cast<int>(k);
  std::vector<std::int64_t> row_map{0};
  std::vector<int> entries;
  for (const int row : rows) {
    const auto i = static_cast<std::size_t>(row);
    for (auto p = matrix.row_map[i]; p < matrix.row_map[i + 1]; ++p) {
      entries.push_back(place[static_cast<std::size_t>(matrix.entries[static_cast<std::size_t>(p)])]);
    }
    row_map.push_back(static_cast<std::int64_t>(entries.size()));
  }
  return {matrix.n_rows, matrix.n_cols, to_device(row_map), to_device(entries)};
}

template <class Scalar>
Measurement measure_symbolic(const PerfRun& run, const HostMatrix<Scalar>& matrix, SymbolicRoad road) {
  const Factored<Scalar> factored(matrix);
  const auto pattern = permuted_pattern(matrix, factored);
  const MemoryBudget budget;
  LuPattern<int, std::int64_t, MemorySpace> filled;
  auto samples = measure(run.samples, [&] {
    filled = {};
    filled = factorize_symbolic(factored.exec, pattern, budget, {road});
  });
  Measurement result = describe_factored(std::move(samples), matrix, factored);
  result.label = std::string(name_of(filled.road)) + (filled.exact ? "" : ", a superset");
  result.counters["nnz_lu"] = static_cast<double>(filled.nnz_l + filled.nnz_u);
  result.counters["peak_bytes"] = static_cast<double>(budget.peak_bytes());
  const double n = matrix.n_rows;
  result.bound(run.limits, csr_bytes(n, static_cast<double>(matrix.nnz()), false) +
                               csr_bytes(n, result.counters["nnz_lu"], false) + n * sizeof(std::int64_t));
  return result;
}

/// The same pattern by Gilbert and Peierls. Their search goes by columns, so it is handed the transposed
/// pattern by rows; nnz(L + U) is the same.
template <class Scalar>
Measurement measure_gilbert_peierls(const PerfRun& run, const HostMatrix<Scalar>& matrix) {
  const Factored<Scalar> factored(matrix);
  const auto pattern = permuted_pattern(matrix, factored);
  const auto map = to_host(pattern.row_map);
  const auto entries = to_host(pattern.entries);
  const std::vector<std::int64_t> column_map(map.begin(), map.end());
  const std::vector<int> rows(entries.begin(), entries.end());
  GilbertPeierls search(column_map, rows);
  std::int64_t nnz = 0;
  auto samples = measure(run.samples, [&] { nnz = search.factorize(); });
  Measurement result = describe_factored(std::move(samples), matrix, factored);
  result.label = "one host thread";
  result.counters["nnz_lu"] = static_cast<double>(nnz);
  return result;
}

}  // namespace

void register_benchmarks(const PerfRun& run) {
  for (const PerfMatrix& matrix : run.matrices) {
    with_scalar(matrix, [&](const auto& values) {
      add_benchmark(matrix.name, "symbolic", "lutra",
                    [&] { return measure_symbolic(run, values, SymbolicRoad::automatic); });
      for (const SymbolicRoad road :
           {SymbolicRoad::fill1, SymbolicRoad::fill2, SymbolicRoad::etree, SymbolicRoad::ancestors}) {
        add_benchmark(matrix.name, "symbolic", "lutra-" + std::string(name_of(road)),
                      [&run, &values, road] { return measure_symbolic(run, values, road); });
      }
      add_benchmark(matrix.name, "symbolic", "gilbert-peierls",
                    [&] { return measure_gilbert_peierls(run, values); });
    });
  }
}

}  // namespace lutra::Perf
