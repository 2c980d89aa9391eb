// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Matching. The exact matching runs on the host, the auction in the default execution space of Kokkos. Their
// quality is that of the resulting factorization, which is computed once, untimed.
#include <cmath>
#include <stdexcept>

#include "Lutra_Auction.hpp"
#include "Lutra_Matching.hpp"
#include "Lutra_MatrixProperties.hpp"
#include "Lutra_PerfFactored.hpp"
#include "Lutra_PerfMeasure.hpp"
#include "Lutra_PerfRun.hpp"
#include "Lutra_SymmetricAuction.hpp"

namespace lutra::Perf {
namespace {

template <class Scalar>
Measurement described(Samples samples, const HostMatrix<Scalar>& matrix, const LuOptions& options) {
  return describe_factored(std::move(samples), matrix, Factored<Scalar>(matrix, options));
}

/// Bytes that must move: the matrix is read; matched rows and scales are written.
template <class Scalar>
Measurement bounded(const PerfRun& run, const HostMatrix<Scalar>& matrix, Measurement result) {
  const double n = matrix.n_rows, nnz = static_cast<double>(matrix.nnz());
  result.add_limits(run.limits,
                    csr_bytes(n, nnz, true, sizeof(Scalar)) + n * (sizeof(int) + 2 * sizeof(double)));
  return result;
}

template <class Scalar>
Measurement measure_matching(const PerfRun& run, const HostMatrix<Scalar>& matrix) {
  auto samples = measure(run.samples, [&] { match_exact(make_view(matrix)); });
  return bounded(run, matrix, described(std::move(samples), matrix, {}));
}

/// Mean of log|a| over the matched entries.
template <class Scalar>
double mean_log(const HostMatrix<Scalar>& matrix, const std::vector<int>& row_of_column) {
  std::vector<int> column_of_row(row_of_column.size());
  for (std::size_t c = 0; c < row_of_column.size(); ++c)
    column_of_row[static_cast<std::size_t>(row_of_column[c])] = static_cast<int>(c);
  double sum = 0;
  for (std::size_t r = 0; r < column_of_row.size(); ++r) {
    for (auto k = static_cast<std::size_t>(matrix.row_map[r]);
         k < static_cast<std::size_t>(matrix.row_map[r + 1]); ++k) {
      if (matrix.entries[k] == column_of_row[r]) sum += std::log(Kokkos::abs(matrix.values[k]));
    }
  }
  return sum / matrix.n_rows;
}

/// `quality` is the geometric mean of the matched entries over that of the exact
/// matching, `quality_bound` the bound that the auction proves.
template <class Scalar>
Measurement measure_auction(const PerfRun& run, const HostMatrix<Scalar>& matrix) {
  const auto device = to_device(matrix);
  const MemoryBudget budget;
  AuctionResult auction;
  auto samples = measure(run.samples, [&] { auction = match_auction(ExecutionSpace(), device, budget); });
  const AuctionStatistics& statistics = auction.statistics;
  LuOptions options;
  options.matching = Matching::auction;
  Measurement result = bounded(run, matrix, described(std::move(samples), matrix, options));
  const auto exact = match_exact(make_view(matrix));
  result.counters["peak_bytes"] = static_cast<double>(budget.peak_bytes());
  result.counters["phases"] = statistics.phases;
  result.counters["rounds"] = statistics.rounds;
  result.counters["left_to_paths"] = static_cast<double>(statistics.left_to_paths);
  if (exact.numeric_rank_bound < matrix.n_rows) return result;
  result.counters["quality"] =
      std::exp(mean_log(matrix, auction.matching.row_of_column) - mean_log(matrix, exact.row_of_column));
  result.counters["quality_bound"] = std::exp(-statistics.log_loss_bound / matrix.n_rows);
  return result;
}

/// One scaling for rows and columns of a symmetric matrix: `quality` is the geometric mean of the scaled
/// matched entries, of the exact matching 1; `left_over` counts rows that are not matched.
template <class Scalar>
Measurement measure_symmetric(const PerfRun& run, const HostMatrix<Scalar>& matrix, bool by_auction) {
  const auto device = to_device(matrix);
  const auto on_host = make_view(matrix);
  SymmetricAuction found;
  auto samples = measure(run.samples, [&] {
    if (by_auction) {
      found = match_symmetric_auction(ExecutionSpace(), device, on_host, MemoryBudget());
    } else {
      found.matching = symmetrize(on_host, match_exact(on_host));
    }
  });
  Measurement result = bounded(run, matrix, {std::move(samples)});
  const auto& [row_of_column, scale, rank] = found.matching;
  double sum = 0, matched = 0;
  for (std::size_t i = 0; i < scale.size(); ++i) {
    for (auto k = static_cast<std::size_t>(matrix.row_map[i]);
         k < static_cast<std::size_t>(matrix.row_map[i + 1]); ++k) {
      const auto j = static_cast<std::size_t>(matrix.entries[k]);
      if (row_of_column[j] != static_cast<int>(i)) continue;
      sum += std::log(scale[i] * Kokkos::abs(matrix.values[k]) * scale[j]);
      ++matched;
    }
  }
  // Scales are powers of two: scaled entries of an exact matching are within 2 of 1 on either side, others
  // less.
  const double quality = std::exp(sum / matched);
  if (!(quality > 0 && quality <= 2))
    throw std::runtime_error("scaled matched entries of mean size " + std::to_string(quality));
  result.counters["quality"] = quality;
  result.counters["left_over"] = matrix.n_rows - matched;
  result.counters["rounds"] = found.statistics.rounds;
  return result;
}

template <class Scalar>
void register_matrix(const PerfRun& run, const std::string& name, const HostMatrix<Scalar>& matrix) {
  add_benchmark(name, "matching", "lutra", [&] { return measure_matching(run, matrix); });
  add_benchmark(name, "matching", "lutra-auction", [&] { return measure_auction(run, matrix); });
  if (matrix_properties(make_view(matrix)).value_symmetry == 1) {
    add_benchmark(name, "scaling", "lutra", [&] { return measure_symmetric(run, matrix, false); });
    add_benchmark(name, "scaling", "lutra-auction", [&] { return measure_symmetric(run, matrix, true); });
  }
}

}  // namespace

void register_benchmarks(const PerfRun& run) {
  for (const PerfMatrix& matrix : run.matrices) {
    with_scalar(matrix, [&](const auto& values) { register_matrix(run, matrix.name, values); });
  }
}

}  // namespace lutra::Perf
