// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_ORDEREDMATRIX_HPP
#define LUTRA_ORDEREDMATRIX_HPP

#include <algorithm>
#include <utility>
#include <vector>

#include "Lutra_IncompleteSolve.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_PivotOrder.hpp"
#include "Lutra_Upload.hpp"

namespace lutra::Impl {

/// Permuted and scaled matrix for an incomplete factorization: F(k, l) = r(i)·A(i, j)·c(j) with
/// i = row_order(k) and j = col_order(l). Columns are ascending in each row.
template <class Scalar, class ExecutionSpace>
struct OrderedMatrix {
  using Memory = typename ExecutionSpace::memory_space;

  CsrPattern<Ordinal, Offset, Memory> pattern;
  Kokkos::View<const Offset*, Memory> source;         ///< [nnz] position in A of each entry; empty if F is A
  Kokkos::View<const RealOf<Scalar>*, Memory> scale;  ///< [nnz] r·c for each entry
  IncompleteOrder<Scalar, Memory> order;              ///< empty if F is A
  std::vector<std::int64_t> rows, columns;            ///< [n] row_order and col_order; empty if F is A
  MemoryReservation reservation;

  /// Returns the user's row at row k of F.
  std::int64_t user_row(std::int64_t k) const { return rows.empty() ? k : rows[static_cast<std::size_t>(k)]; }
};

/// values(q) = from(source(q))·scale(q)
template <class Values, class From, class Source, class Scale>
struct GatherScaled {
  Values values;
  From from;
  Source source;
  Scale scale;
  KOKKOS_FUNCTION void operator()(std::int64_t q) const { values(q) = from(source(q)) * scale(q); }
};

/// Builds F with sorted rows on the host and copies it to the memory of the execution space. Fences.
/// @param A matrix on the host
template <class Scalar, class ExecutionSpace>
OrderedMatrix<Scalar, ExecutionSpace> order_matrix(const ExecutionSpace& exec,
                                                   const CsrPattern<Ordinal, Offset, Kokkos::HostSpace>& A,
                                                   const PivotOrder& pivots, const MemoryBudget& budget) {
  using Real = RealOf<Scalar>;
  const auto& matching = pivots.matching;
  std::vector<Ordinal> position(pivots.columns.size());
  for (std::size_t k = 0; k < position.size(); ++k)
    position[static_cast<std::size_t>(pivots.columns[k])] = static_cast<Ordinal>(k);
  std::vector<Offset> row_map{0}, source;
  std::vector<Ordinal> entries;
  std::vector<Real> scale;
  std::vector<std::pair<Ordinal, Offset>> row;  // column in F and position in A of each entry
  for (const Ordinal i : pivots.rows) {
    row.clear();
    for (Offset p = A.row_map(i); p < A.row_map(i + 1); ++p)
      row.emplace_back(position[static_cast<std::size_t>(A.entries(p))], p);
    std::ranges::sort(row);
    for (const auto& [column, p] : row) {
      entries.push_back(column);
      source.push_back(p);
      scale.push_back(static_cast<Real>(matching.row_scale[static_cast<std::size_t>(i)] *
                                        matching.col_scale[static_cast<std::size_t>(A.entries(p))]));
    }
    row_map.push_back(static_cast<Offset>(entries.size()));
  }
  OrderedMatrix<Scalar, ExecutionSpace> F;
  F.reservation = MemoryReservation(budget);
  const auto copy = [&](const char* label, const auto& host) {
    return upload(exec, F.reservation, label, host);
  };
  const auto reals = [](const std::vector<double>& scales) {
    return std::vector<Real>(scales.begin(), scales.end());
  };
  F.pattern = {A.n_rows, A.n_cols, copy("lutra::solver::F_row_map", row_map),
               copy("lutra::solver::F_entries", entries)};
  F.source = copy("lutra::solver::F_source", source);
  F.scale = copy("lutra::solver::F_scale", scale);
  F.order = {copy("lutra::solver::row_order", pivots.rows), copy("lutra::solver::col_order", pivots.columns),
             copy("lutra::solver::row_scale", reals(matching.row_scale)),
             copy("lutra::solver::col_scale", reals(matching.col_scale))};
  F.rows.assign(pivots.rows.begin(), pivots.rows.end());
  F.columns.assign(pivots.columns.begin(), pivots.columns.end());
  return F;
}

}  // namespace lutra::Impl

#endif
