// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_PLANTOOLS_HPP
#define LUTRA_PLANTOOLS_HPP

#include <algorithm>
#include <utility>
#include <vector>

#include "Lutra_Factorization.hpp"
#include "Lutra_FrontSolver.hpp"
#include "Lutra_Symbolic.hpp"
#include "Lutra_Upload.hpp"

// Helpers for the plans and factorizations of all engines.

namespace lutra::Impl {

/// Writes the pattern of L + U by rows. Fences.
template <class Pattern, class ExecutionSpace>
void write_rows(const ExecutionSpace& exec, const Pattern& rows, FactorStructure& structure) {
  structure.row_map = to_host<std::int64_t>(exec, rows.row_map);
  structure.entries = to_host<std::int64_t>(exec, rows.entries);
}

/// Lists the pivots in elimination order, on the host. Fences.
/// @param perturbed [n] 1 where the pivot was perturbed
/// @param row_at    [n] position in F of each pivot's row; empty if no rows were interchanged
/// @param column_at likewise for columns
template <class ExecutionSpace, class Permuted, class Flags>
std::vector<Pivot> list_pivots(const ExecutionSpace& exec, const Permuted& F, const Flags& perturbed,
                               const std::vector<std::int64_t>& row_at,
                               const std::vector<std::int64_t>& column_at) {
  const auto rows = to_host<std::int64_t>(exec, F.row_order),
             columns = to_host<std::int64_t>(exec, F.col_order);
  const auto flags = to_host<std::int64_t>(exec, perturbed);
  const auto place = [](const std::vector<std::int64_t>& interchanged, std::size_t k) {
    return interchanged.empty() ? k : static_cast<std::size_t>(interchanged[k]);
  };
  std::vector<Pivot> pivots;
  for (std::size_t k = 0; k < columns.size(); ++k)
    pivots.push_back({rows[place(row_at, k)], columns[place(column_at, k)], flags[k] != 0});
  return pivots;
}

/// Overload for orders in the memory of the execution space.
template <class ExecutionSpace, class Permuted, class Flags, class Order>
std::vector<Pivot> list_pivots(const ExecutionSpace& exec, const Permuted& F, const Flags& perturbed,
                               const Order& row_of_pivot, const Order& column_of_pivot = {}) {
  return list_pivots(exec, F, perturbed, to_host<std::int64_t>(exec, row_of_pivot),
                     to_host<std::int64_t>(exec, column_of_pivot));
}

/// Creates factors that have the pivot orders and the scales of A but no entries yet. Fences.
template <class Scalar, class ExecutionSpace, class Memory>
FactorValues<Scalar> start_factor_values(const ExecutionSpace& exec, const std::vector<Pivot>& pivots,
                                         const ScaledValues<Scalar, Memory>& A) {
  FactorValues<Scalar> factors;
  for (const Pivot& pivot : pivots) {
    factors.row_order.push_back(pivot.row);
    factors.col_order.push_back(pivot.column);
  }
  factors.row_scale = to_host(exec, A.row_scale);
  factors.col_scale = to_host(exec, A.col_scale);
  return factors;
}

/// Writes the entries of L and U from one pattern by rows. Fences.
template <class Scalar, class ExecutionSpace, class Pattern>
void write_entries(const ExecutionSpace& exec, const Pattern& pattern, std::vector<Scalar> values,
                   FactorValues<Scalar>& factors) {
  const auto row_map = to_host(exec, pattern.row_map);
  factors.columns = to_host<std::int64_t>(exec, pattern.entries);
  factors.values = std::move(values);
  if (row_map.empty()) return;
  const auto size = static_cast<std::size_t>(row_map.back());  // the Views may be larger
  factors.rows.resize(size);
  factors.columns.resize(size);
  factors.values.resize(size);
  for (std::size_t k = 0; k + 1 < row_map.size(); ++k)
    std::fill(factors.rows.begin() + row_map[k], factors.rows.begin() + row_map[k + 1],
              static_cast<std::int64_t>(k));
}

/// Converts B and X, Views of rank 2, to the form that solves on fronts take. For a transposed solve,
/// right-hand sides are indexed by the columns of F.
template <class Scalar, class Memory, class BView, class XView>
FrontSystem<Scalar, Memory> front_system(const PermutedPattern<Memory>& F,
                                         const ScaledValues<Scalar, Memory>& A, Transposition op,
                                         const BView& B, const XView& X) {
  const bool plain = op == Transposition::none;
  FrontSystem<Scalar, Memory> system;
  system.transposition = op;
  system.in = {B.data(), B.stride(0), B.stride(1), (plain ? A.row_scale : A.col_scale).data()};
  system.out = {X.data(), X.stride(0), X.stride(1), (plain ? A.col_scale : A.row_scale).data()};
  system.in_row = plain ? F.row_order : F.col_order;
  system.out_row = plain ? F.col_order : F.row_order;
  system.n_columns = static_cast<int>(B.extent(1));
  return system;
}

}  // namespace lutra::Impl

#endif
