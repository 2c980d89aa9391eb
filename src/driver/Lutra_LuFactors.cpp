// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_LuFactors.hpp"

#include "Lutra_Instantiate.hpp"
#include "Lutra_LuTriangles.hpp"

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
  analysis.triangles->set_values(exec, factors.row_values, factors.column_values);
  report.pivots.perturbed = outcome.perturbed;
  report.pivots.growth = largest > 0 ? outcome.largest / largest : 0.0;
  return outcome.finite;
}

template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
void apply_factors(const ExecutionSpace& exec,
                   const LuAnalysis<Scalar, Ordinal, Offset, ExecutionSpace>& analysis,
                   const LuFactors<Scalar, typename ExecutionSpace::memory_space>&, Transposition op,
                   const DenseRows<Scalar, typename ExecutionSpace::memory_space>& B,
                   const DenseRows<Scalar, typename ExecutionSpace::memory_space>& X,
                   const DenseRows<Scalar, typename ExecutionSpace::memory_space>& W) {
  analysis.triangles->solve(exec, analysis.plan, op, analysis.row_scale, analysis.col_scale, B, X, W);
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
