// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_CLIMEMORY_HPP
#define LUTRA_CLIMEMORY_HPP

#include <algorithm>
#include <cstddef>
#include <new>
#include <optional>
#include <string>

#include "Lutra_CliOptions.hpp"
#include "Lutra_CliText.hpp"
#include "Lutra_ColumnCounts.hpp"
#include "Lutra_OrderGraph.hpp"

// Memory that a solver would have needed when its memory limit was too small.

namespace lutra::Cli {

/// Entries of L and U: counted ones, else AMD's forecast; empty if there is no memory for a forecast.
template <class Scalar>
std::optional<double> entries_of_factors(const HostMatrix<Scalar>& A, const FactorCounts& counts) {
  if (counts.nnz_l) return static_cast<double>(*counts.nnz_l + counts.nnz_u.value_or(0));
  try {
    const auto graph = symmetric_graph<std::int64_t>(make_view(A).pattern());
    const FillForecast forecast = forecast_fill(graph, order(graph, Ordering::amd));
    return static_cast<double>(2 * forecast.nnz_l + A.n_rows);
  } catch (const std::bad_alloc&) {
    return std::nullopt;
  }
}

/// Bytes of a direct method on a host where no analysis has been completed that would know them, fitted to
/// the peaks of 21 solves of generated matrices. Within 1 % for LU by rows, which is the LU that a memory
/// limit selects; within 4 % for LDLᵀ, which also buffers products. Devices need more, for their task tables.
template <class Scalar>
double forecast_bytes(const HostMatrix<Scalar>& A, double factors, bool symmetric, std::size_t n_rhs) {
  constexpr std::size_t columns_at_once = 16;
  constexpr double value = sizeof(Scalar), index = sizeof(int), offset = sizeof(std::int64_t);
  const auto rows = static_cast<double>(A.n_rows), entries = static_cast<double>(A.nnz());
  const double columns = 9 * value * rows * static_cast<double>(std::min(n_rhs, columns_at_once) - 1);
  if (symmetric) return 5.2 * value * factors + 78 * value * rows + columns + 2.3e6;
  return (value + index) * factors + (value + index + offset + index) * entries + 22 * value * rows + columns;
}

/// "; about … bytes in all (1.5 MiB) are needed": suffix of the message about a failed allocation, or "more
/// than …" if no forecast of the method is known.
/// @param report   of the solver, with the bytes it held
/// @param forecast of its analysis, if there is one
template <class Scalar>
std::string needed_text(const HostMatrix<Scalar>& A, const SolverOptions& options, Method method,
                        const Report& report, const std::optional<MemoryForecast>& forecast,
                        std::size_t refused_bytes, std::size_t n_rhs) {
  const double here =
      static_cast<double>(report.memory.device_peak_bytes) + static_cast<double>(refused_bytes);
  const bool direct = method != Method::krylov && options.lu.columns.supernodes != ColumnSupernodes::on;
  const bool symmetric = method == Method::ldlt || method == Method::cholesky;
  constexpr double margin = 1.01;  // what was named last time should suffice
  const auto about = [](double all) {
    const auto bytes = static_cast<std::size_t>(all);
    return std::to_string(bytes) + " bytes in all (" + bytes_text(bytes) + ") are needed";
  };
  if (forecast)
    return "; about " + about(std::max(here, margin * static_cast<double>(forecast->solve.device)));
  FactorCounts counts = report.factors;
  if (symmetric && counts.nnz_l) counts.nnz_u = 0;
  auto entries = direct ? entries_of_factors(A, counts) : std::nullopt;
  if (entries && symmetric && !counts.nnz_l) *entries = (*entries + static_cast<double>(A.n_rows)) / 2;
  const double all = entries ? std::max(here, margin * forecast_bytes(A, *entries, symmetric, n_rhs)) : here;
  return std::string("; ") + (entries ? "about " : "more than ") + about(all);
}

}  // namespace lutra::Cli

#endif
