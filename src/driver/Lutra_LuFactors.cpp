// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_LuFactors.hpp"

#include "Lutra_Instantiate.hpp"
#include "Lutra_LevelSetSolve.hpp"

namespace lutra {
namespace {

/// Puts row_scale·A·col_scale into its places by columns of L + U, zeros elsewhere; returns the largest
/// magnitude.
template <class Analysis, class ExecutionSpace, class AValues, class Values>
double scatter_scaled(const ExecutionSpace& exec, const Analysis& analysis, const AValues& A_values,
                      const Values& values) {
  using Scalar = typename Values::value_type;
  using Offset = typename decltype(analysis.target)::non_const_value_type;
  const auto row_map = analysis.pattern.row_map;
  const auto entries = analysis.pattern.entries;
  const auto row_scale = analysis.row_scale;
  const auto col_scale = analysis.col_scale;
  const auto target = analysis.target;
  double largest = 0;
  Kokkos::deep_copy(exec, values, Scalar{});
  Kokkos::parallel_reduce(
      "lutra::driver::scatter_scaled",
      Kokkos::RangePolicy<ExecutionSpace>(exec, 0, static_cast<std::int64_t>(analysis.n())),
      KOKKOS_LAMBDA(const std::int64_t i, double& most) {
        for (Offset p = row_map(i); p < row_map(i + 1); ++p) {
          const Scalar value = A_values(p) * row_scale(i) * col_scale(entries(p));
          values(target(p)) = value;
          const auto size = static_cast<double>(ScalarTraits<Scalar>::magnitude(value));
          if (size > most) most = size;
        }
      },
      Kokkos::Max<double>(largest));
  return largest;
}

/// The factors by rows, for solving with L and U themselves.
template <class ExecutionSpace, class Map, class Values>
void gather_rows(const ExecutionSpace& exec, const Map& row_to_column, const Values& column_values,
                 const Values& row_values) {
  Kokkos::parallel_for(
      "lutra::driver::gather_rows",
      Kokkos::RangePolicy<ExecutionSpace>(exec, 0, static_cast<std::int64_t>(row_values.extent(0))),
      KOKKOS_LAMBDA(const std::int64_t p) { row_values(p) = column_values(row_to_column(p)); });
}

/// W(k, :) = scale(order(k))·B(order(k), :)
template <class ExecutionSpace, class Order, class Scale, class Rows>
void scale_and_permute(const ExecutionSpace& exec, const Order& order, const Scale& scale, const Rows& B,
                       const Rows& W) {
  const std::size_t n_rhs = B.extent(1);
  Kokkos::parallel_for(
      "lutra::driver::scale_and_permute",
      Kokkos::RangePolicy<ExecutionSpace>(exec, 0, static_cast<std::int64_t>(W.extent(0))),
      KOKKOS_LAMBDA(const std::int64_t k) {
        const auto i = order(k);
        for (std::size_t c = 0; c < n_rhs; ++c) W(k, c) = B(i, c) * scale(i);
      });
}

/// X(order(k), :) = scale(order(k))·W(k, :)
template <class ExecutionSpace, class Order, class Scale, class Rows>
void scale_and_permute_back(const ExecutionSpace& exec, const Order& order, const Scale& scale, const Rows& W,
                            const Rows& X) {
  const std::size_t n_rhs = X.extent(1);
  Kokkos::parallel_for(
      "lutra::driver::scale_and_permute_back",
      Kokkos::RangePolicy<ExecutionSpace>(exec, 0, static_cast<std::int64_t>(W.extent(0))),
      KOKKOS_LAMBDA(const std::int64_t k) {
        const auto i = order(k);
        for (std::size_t c = 0; c < n_rhs; ++c) X(i, c) = W(k, c) * scale(i);
      });
}

/// Forward with L, then backward with U, in place.
template <class Scalar, class Ordinal, class Offset, class ExecutionSpace, class Rows>
void solve_with_rows(const ExecutionSpace& exec,
                     const LuAnalysis<Scalar, Ordinal, Offset, ExecutionSpace>& analysis,
                     const LuFactors<Scalar, typename ExecutionSpace::memory_space>& factors, const Rows& W) {
  const auto& rows = analysis.plan.rows;
  const auto n = static_cast<std::size_t>(rows.n);
  const auto row_end = Kokkos::subview(rows.row_map, Kokkos::make_pair(std::size_t(1), n + 1));
  using T = Triangle<Scalar, Ordinal, Offset, typename ExecutionSpace::memory_space>;
  const T lower{rows.n, rows.row_map, rows.diagonal, 0, rows.entries, factors.row_values, {}, false};
  const T upper{rows.n, rows.diagonal, row_end, 1, rows.entries, factors.row_values, rows.diagonal, false};
  solve_by_levels(exec, lower, analysis.lower_levels, false, W);
  solve_by_levels(exec, upper, analysis.upper_levels, false, W);
}

/// Forward with Uᵀ, then backward with Lᵀ (or their conjugates), whose rows are columns of U and L, in place.
template <class Scalar, class Ordinal, class Offset, class ExecutionSpace, class Rows>
void solve_with_columns(const ExecutionSpace& exec,
                        const LuAnalysis<Scalar, Ordinal, Offset, ExecutionSpace>& analysis,
                        const LuFactors<Scalar, typename ExecutionSpace::memory_space>& factors,
                        bool conjugate, const Rows& W) {
  const auto& plan = analysis.plan;
  const auto& columns = plan.columns.pattern;
  const auto n = static_cast<std::size_t>(plan.n());
  const auto column_end = Kokkos::subview(columns.row_map, Kokkos::make_pair(std::size_t(1), n + 1));
  using T = Triangle<Scalar, Ordinal, Offset, typename ExecutionSpace::memory_space>;
  const T upper{plan.n(),        columns.row_map,       plan.column_diagonal, 0,
                columns.entries, factors.column_values, plan.column_diagonal, conjugate};
  const T lower{plan.n(),        plan.column_diagonal,  column_end, 1,
                columns.entries, factors.column_values, {},         conjugate};
  solve_by_levels(exec, upper, analysis.upper_levels, true, W);
  solve_by_levels(exec, lower, analysis.lower_levels, true, W);
}

}  // namespace

template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
bool factorize_lu(const ExecutionSpace& exec,
                  const LuAnalysis<Scalar, Ordinal, Offset, ExecutionSpace>& analysis,
                  const Kokkos::View<const Scalar*, typename ExecutionSpace::memory_space>& A_values,
                  double perturbation, const MemoryBudget& budget,
                  LuFactors<Scalar, typename ExecutionSpace::memory_space>& factors, Report& report) {
  using Real = RealOf<Scalar>;
  const std::size_t nnz = analysis.plan.rows.entries.extent(0);
  if (factors.column_values.extent(0) != nnz) {
    using ValueView = decltype(factors.column_values);
    LuFactors<Scalar, typename ExecutionSpace::memory_space> fresh;
    fresh.charge = Charge(budget);
    fresh.column_values =
        fresh.charge.template allocate<ValueView>(exec, "lutra::numeric::values by columns", nnz);
    fresh.row_values = fresh.charge.template allocate<ValueView>(exec, "lutra::numeric::values by rows", nnz);
    fresh.perturbed = fresh.charge.template allocate<decltype(factors.perturbed)>(
        exec, "lutra::numeric::perturbed", analysis.n());
    factors = fresh;
  }
  const double largest = scatter_scaled(exec, analysis, A_values, factors.column_values);
  const auto threshold = static_cast<Real>(perturbation * (largest > 0 ? largest : 1.0));
  const auto outcome =
      factorize_columns<Scalar>(exec, analysis.plan, factors.column_values, threshold, factors.perturbed);
  gather_rows(exec, analysis.plan.row_to_column, factors.column_values, factors.row_values);
  report.pivots.perturbed = outcome.perturbed;
  report.pivots.growth = largest > 0 ? outcome.largest / largest : 0.0;
  return outcome.finite;
}

template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
void apply_factors(const ExecutionSpace& exec,
                   const LuAnalysis<Scalar, Ordinal, Offset, ExecutionSpace>& analysis,
                   const LuFactors<Scalar, typename ExecutionSpace::memory_space>& factors, Transposition op,
                   const DenseRows<Scalar, typename ExecutionSpace::memory_space>& B,
                   const DenseRows<Scalar, typename ExecutionSpace::memory_space>& X,
                   const DenseRows<Scalar, typename ExecutionSpace::memory_space>& W) {
  if (op == Transposition::none) {
    scale_and_permute(exec, analysis.row_order, analysis.row_scale, B, W);
    solve_with_rows(exec, analysis, factors, W);
    scale_and_permute_back(exec, analysis.col_order, analysis.col_scale, W, X);
  } else {
    scale_and_permute(exec, analysis.col_order, analysis.col_scale, B, W);
    solve_with_columns(exec, analysis, factors, op == Transposition::adjoint, W);
    scale_and_permute_back(exec, analysis.row_order, analysis.row_scale, W, X);
  }
}

#define LUTRA_LU_FACTORS(Scalar, Ordinal, Offset, Space)                                               \
  template bool factorize_lu(const Space&, const LuAnalysis<Scalar, Ordinal, Offset, Space>&,          \
                             const Kokkos::View<const Scalar*, typename Space::memory_space>&, double, \
                             const MemoryBudget&, LuFactors<Scalar, typename Space::memory_space>&,    \
                             Report&);                                                                 \
  template void apply_factors(const Space&, const LuAnalysis<Scalar, Ordinal, Offset, Space>&,         \
                              const LuFactors<Scalar, typename Space::memory_space>&, Transposition,   \
                              const DenseRows<Scalar, typename Space::memory_space>&,                  \
                              const DenseRows<Scalar, typename Space::memory_space>&,                  \
                              const DenseRows<Scalar, typename Space::memory_space>&);
LUTRA_FOR_EACH_MATRIX_AND_SPACE(LUTRA_LU_FACTORS)

}  // namespace lutra
