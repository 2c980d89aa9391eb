// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_ONEFRONT_HPP
#define LUTRA_ONEFRONT_HPP

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <numeric>
#include <optional>
#include <vector>

#include "Lutra_ExecutionTraits.hpp"
#include "Lutra_FrontLu.hpp"
#include "Lutra_TestDevice.hpp"
#include "Lutra_TestMatrices.hpp"

namespace lutra::Test {

/// The rows of one front: those of its pivots whole, of its contribution rows the pivots' columns.
template <class Types>
struct OneFront {
  using Space = typename Types::Space;
  using Memory = typename Types::Memory;
  using Scalar = typename Types::Scalar;

  int pivots, cb_rows;
  Matrix<Types> matrix;
  LuPlan<Memory> plan;
  FrontFactors<Scalar, Space> factors;
  bool tiled;  ///< rows are interchanged in tiles, and left of them they stay
  std::vector<Scalar> panels, contributions;
  std::vector<Ordinal> row_of_pivot, column_of_pivot;
  FrontLuOutcome outcome;
  std::vector<unsigned char> perturbed;

  /// @param value entry (r, c), not asked for where both are further ones
  template <class Value>
  OneFront(int k, int m, const Value& value, double threshold, double perturbation, bool portable = false,
           int runs = 1, const std::optional<Symmetry>& symmetry = {},
           lutra::Impl::Interchanges kind = lutra::Impl::Interchanges::symmetric)
      : pivots(k), cb_rows(m) {
    const auto size = static_cast<std::size_t>(k + m);
    matrix.n_rows = matrix.n_cols = static_cast<Ordinal>(size);
    matrix.row_map.push_back(0);
    for (int r = 0; r < k + m; ++r) {
      for (int c = 0; c < (r < k ? k + m : k); ++c) {
        matrix.entries.push_back(static_cast<Ordinal>(c));
        matrix.values.push_back(value(r, c));
      }
      matrix.row_map.push_back(matrix.nnz());
    }
    AssemblyTree tree;
    tree.n = matrix.n_rows;
    tree.order.resize(size);
    std::iota(tree.order.begin(), tree.order.end(), Ordinal(0));
    tree.pivot_begin = {0, static_cast<Ordinal>(k)};
    tree.parent = {-1};
    tree.row_begin = {0, m};
    tree.rows.assign(tree.order.begin() + k, tree.order.end());
    const Space exec;
    plan = plan_lu(exec, tree, FrontEntries{make_view(matrix).pattern(), tree.order, tree.order},
                   MemoryBudget(), front_plan_options<Scalar, Space>());
    factors = make_front_factors(
        exec,
        make_front_schedule<Scalar>(exec, plan, MemoryBudget(), default_device_model<Space>(), symmetry),
        MemoryBudget());
    if (threshold > 0)
      factors.interchanges = {threshold, {}, symmetry ? kind : lutra::Impl::Interchanges::rows};
    allocate_values(exec, plan, MemoryBudget(), factors);
    tiled = !lutra::Impl::is_host_space<Space> && !portable && k + m > plan.options.max_whole;
    const auto ones = to_space<Space>(std::vector<RealOf<Scalar>>(size, 1));
    const Kokkos::View<unsigned char*, Memory> flags("perturbed", size);
    for (int run = 0; run < runs; ++run) {  // the last one with the matrix itself
      auto values = matrix.values;
      if (run + 1 < runs) std::ranges::reverse(values);
      factorize_fronts<Scalar>(exec, plan, {to_space<Space>(values), ones, ones}, perturbation, factors,
                               flags, portable);
    }
    exec.fence();
    panels = to_vector(factors.panels);
    contributions = to_vector(factors.contributions);
    row_of_pivot = to_vector(factors.row_of_pivot());
    column_of_pivot = to_vector(factors.column_of_pivot());
    for (auto* const order : {&row_of_pivot, &column_of_pivot})
      if (!order->empty()) order->resize(static_cast<std::size_t>(k));  // it is of pivots only
    outcome = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), factors.outcome)();
    perturbed = to_vector(flags);
  }

  Scalar stored(int r, int c) const {
    const std::int64_t f = pivots + cb_rows, k = pivots, m = cb_rows;
    const auto at = [](const auto& array, std::int64_t i) { return array[static_cast<std::size_t>(i)]; };
    if (c < pivots) return at(panels, r + c * f);
    return r < pivots ? at(panels, f * k + r * m + c - k) : at(contributions, r - k + (c - k) * m);
  }
  /// First pivot of the block in which rows of pivot j are interchanged.
  int block_begin(int j) const { return lutra::Impl::is_host_space<Space> ? 0 : j - j % plan.options.tile; }
  /// L's entry in column c of the row that pivot q was taken from.
  Scalar lower(int q, int c) const {
    if (q == c) return Scalar(1);
    const bool unmoved = tiled && !row_of_pivot.empty() && q < pivots && c < block_begin(q);
    return stored(unmoved ? static_cast<int>(row_of_pivot[static_cast<std::size_t>(q)]) : q, c);
  }
  /// U's entry in row q of the column that pivot c was taken from.
  Scalar upper(int q, int c) const {
    const bool unmoved = tiled && !column_of_pivot.empty() && c < pivots && q < block_begin(c);
    return stored(q, unmoved ? static_cast<int>(column_of_pivot[static_cast<std::size_t>(c)]) : c);
  }
  /// The row of the matrix that stands at position q once rows are interchanged.
  int row(int q) const {
    return q < pivots && !row_of_pivot.empty() ? static_cast<int>(row_of_pivot[static_cast<std::size_t>(q)])
                                               : q;
  }
  /// The column likewise.
  int column(int c) const {
    return c < pivots && !column_of_pivot.empty()
               ? static_cast<int>(column_of_pivot[static_cast<std::size_t>(c)])
               : c;
  }
};

/// L·(U·x) is A·x with the rows and columns of A in the order of the pivots, up to
/// `constant`·size·ε·|L||U||x|.
/// @param value entry (r, c) of A
template <class Types, class Value>
void check_product(const OneFront<Types>& front, const Value& value, double constant) {
  using Scalar = typename Types::Scalar;
  const int pivots = front.pivots, size = pivots + front.cb_rows;
  const auto x = [](int i) { return as_scalar<Scalar>(1 + i % 3); };
  const auto size_of = [](const Scalar& entry) { return static_cast<double>(Kokkos::abs(entry)); };
  std::vector<Scalar> product;  // U·x, contribution rows with the contribution
  std::vector<double> most;     // |U||x|
  for (int q = 0; q < size; ++q) {
    Scalar sum(0);
    double absolute = 0;
    for (int c = std::min(q, pivots); c < size; ++c) {
      sum += front.upper(q, c) * x(c);
      absolute += size_of(front.upper(q, c) * x(c));
    }
    product.push_back(sum);
    most.push_back(absolute);
  }
  const double bound = constant * size * static_cast<double>(epsilon_of<Scalar>);
  for (int q = 0; q < size; ++q) {
    Scalar difference = product[static_cast<std::size_t>(q)];
    double allowed = most[static_cast<std::size_t>(q)];
    for (int c = 0; c < std::min(q, pivots); ++c) {
      difference += front.lower(q, c) * product[static_cast<std::size_t>(c)];
      allowed += size_of(front.lower(q, c)) * most[static_cast<std::size_t>(c)];
    }
    for (int c = 0; c < (q < pivots ? size : pivots); ++c) {
      const Scalar entry = value(front.row(q), front.column(c));
      difference -= entry * x(c);
      allowed += 3 * size_of(entry);
    }
    INFO("row " << q << " of " << pivots << " + " << front.cb_rows);
    REQUIRE(size_of(difference) <= bound * allowed);
  }
}

}  // namespace lutra::Test

#endif
