// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_LuFactors.hpp"

#include "Lutra_Instantiate.hpp"
#include "Lutra_LuTriangularSolves.hpp"

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

/// The scaled matrix by rows of F; returns the largest magnitude.
template <class Analysis, class ExecutionSpace, class AValues, class Values>
double scale_rows(const ExecutionSpace& exec, const Analysis& analysis, const AValues& A_values,
                  const Values& F_values) {
  using Scalar = typename Values::value_type;
  using Offset = typename decltype(analysis.target)::non_const_value_type;
  const auto A_map = analysis.pattern.row_map;
  const auto A_entries = analysis.pattern.entries;
  const auto F_map = analysis.row_plan.F.row_map;
  const auto row_order = analysis.row_order;
  const auto row_scale = analysis.row_scale;
  const auto col_scale = analysis.col_scale;
  double largest = 0;
  Kokkos::parallel_reduce(
      "lutra::driver::scale_rows",
      Kokkos::RangePolicy<ExecutionSpace>(exec, 0, static_cast<std::int64_t>(analysis.n())),
      KOKKOS_LAMBDA(const std::int64_t k, double& most) {
        const auto row = row_order(k);
        const auto scale = row_scale(row);
        Offset q = F_map(k);
        for (Offset p = A_map(row); p < A_map(row + 1); ++p, ++q) {
          const Scalar value = A_values(p) * scale * col_scale(A_entries(p));
          F_values(q) = value;
          const auto size = static_cast<double>(ScalarTraits<Scalar>::magnitude(value));
          if (size > most) most = size;
        }
      },
      Kokkos::Max<double>(largest));
  return largest;
}

/// Views for the factors, where there are none yet.
template <class Factors, class Analysis, class ExecutionSpace>
void allocate_factors(const ExecutionSpace& exec, const Analysis& analysis, const MemoryBudget& budget,
                      Factors& factors) {
  using ValueView = decltype(factors.row_values);
  using Scalar = typename ValueView::value_type;
  const auto n = static_cast<std::size_t>(analysis.n());
  if (factors.perturbed.extent(0) == n) return;
  const std::size_t nnz = analysis.plan.rows.entries.extent(0);
  Factors fresh;
  fresh.reservation = MemoryReservation(budget);
  if (analysis.engine == Engine::simplicial) {
    if constexpr (Impl::is_host_space<ExecutionSpace>) {
      fresh.row_work = make_up_looking_lu_workspace<Scalar>(analysis.row_plan, budget);
      fresh.F_values = fresh.reservation.template allocate<ValueView>(exec, "lutra::driver::F_values",
                                                                      analysis.row_plan.F.entries.extent(0));
    } else {
      fresh.column_work = make_right_looking_lu_workspace(exec, analysis.plan, budget);
      fresh.column_values =
          fresh.reservation.template allocate<ValueView>(exec, "lutra::numeric::values by columns", nnz);
    }
  }
  fresh.row_values =
      fresh.reservation.template allocate<ValueView>(exec, "lutra::numeric::values by rows", nnz);
  fresh.perturbed =
      fresh.reservation.template allocate<decltype(factors.perturbed)>(exec, "lutra::numeric::perturbed", n);
  factors = fresh;
}

template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
FactorizationOutcome factorize_by_columns(
    const ExecutionSpace& exec, const LuAnalysis<Scalar, Ordinal, Offset, ExecutionSpace>& analysis,
    const Kokkos::View<const Scalar*, typename ExecutionSpace::memory_space>& A_values, double perturbation,
    LuFactors<Scalar, typename ExecutionSpace::memory_space>& factors) {
  const auto threshold_for = [&](double largest) {
    return static_cast<RealOf<Scalar>>(perturbation * (largest > 0 ? largest : 1.0));
  };
  if constexpr (Impl::is_host_space<ExecutionSpace>) {
    const double largest = scale_rows(exec, analysis, A_values, factors.F_values);
    const auto outcome =
        factorize_up_looking<Scalar>(exec, analysis.row_plan, factors.F_values, threshold_for(largest),
                                     factors.row_work, factors.row_values, factors.perturbed);
    hand_over_factors(exec, analysis, factors);
    return {outcome.perturbed, std::nullopt, largest, outcome.largest};
  } else {
    const double largest = scatter_scaled(exec, analysis, A_values, factors.column_values);
    const auto outcome =
        factorize_right_looking<Scalar>(exec, analysis.plan, factors.column_work, factors.column_values,
                                        threshold_for(largest), factors.perturbed);
    hand_over_factors(exec, analysis, factors);
    return {outcome.perturbed, std::nullopt, largest, outcome.largest};
  }
}

template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
FactorizationOutcome factorize_by_fronts(
    const ExecutionSpace& exec, const LuAnalysis<Scalar, Ordinal, Offset, ExecutionSpace>& analysis,
    const Kokkos::View<const Scalar*, typename ExecutionSpace::memory_space>& A_values, double perturbation,
    const MemoryBudget& budget, const LuFactors<Scalar, typename ExecutionSpace::memory_space>& factors) {
  auto& fronts = *analysis.front_factors;
  allocate_values(exec, analysis.fronts, budget, fronts);
  factorize_fronts<Scalar>(exec, analysis.fronts, {A_values, analysis.row_scale, analysis.col_scale},
                           perturbation, fronts, factors.perturbed);
  hand_over_factors(exec, analysis, factors);
  const Kokkos::View<FrontLuOutcome, Kokkos::HostSpace> outcome("lutra::driver::outcome");
  Kokkos::deep_copy(exec, outcome, fronts.outcome);
  exec.fence("lutra::driver: whether the factors are finite is known");
  if (outcome().stopped_front >= 0) {
    throw TimeoutError("factorize: front " + std::to_string(outcome().stopped_front) +
                       " waited too long for its children, and the factorization was given up");
  }
  FactorizationOutcome result{outcome().perturbed, std::nullopt, outcome().largest_entry,
                              outcome().largest_factor};
  if (fronts.pivot_threshold > 0) result.interchanged = outcome().interchanged;
  return result;
}

/// X = op(A)⁻¹·B on the panels of the fronts. Transposed, F's columns stand where the right-hand sides are.
template <class Scalar, class Ordinal, class Offset, class ExecutionSpace, class Rows>
void solve_on_fronts(const ExecutionSpace& exec,
                     const LuAnalysis<Scalar, Ordinal, Offset, ExecutionSpace>& analysis, Transposition op,
                     const Rows& B, const Rows& X) {
  const bool plain = op == Transposition::none;
  const auto& in_scale = plain ? analysis.row_scale : analysis.col_scale;
  const auto& out_scale = plain ? analysis.col_scale : analysis.row_scale;
  FrontSystem<Scalar, Ordinal, typename ExecutionSpace::memory_space> system;
  system.transposition = op;
  system.in = {B.data(), B.stride(0), B.stride(1), in_scale.data()};
  system.out = {X.data(), X.stride(0), X.stride(1), out_scale.data()};
  system.in_row = plain ? analysis.row_order : analysis.col_order;
  system.out_row = plain ? analysis.col_order : analysis.row_order;
  system.n_columns = static_cast<int>(B.extent(1));
  analysis.front_solver->solve(exec, analysis.fronts, *analysis.front_factors, system);
}

}  // namespace

template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
void hand_over_factors(const ExecutionSpace& exec,
                       const LuAnalysis<Scalar, Ordinal, Offset, ExecutionSpace>& analysis,
                       const LuFactors<Scalar, typename ExecutionSpace::memory_space>& factors) {
  if (analysis.front_solver) {
    find_largest_factor(exec, *analysis.front_factors);
    return;
  }
  if (analysis.engine == Engine::multifrontal) {
    gather_factors(exec, *analysis.front_factors, analysis.panel_source, factors.row_values);
  } else if constexpr (!Impl::is_host_space<ExecutionSpace>) {
    Impl::copy_by_source(exec, analysis.plan.row_to_column, factors.column_values, factors.row_values);
  }
  analysis.triangles->set_values(exec, factors.row_values, factors.column_values);
}

template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
FactorizationOutcome factorize_lu(
    const ExecutionSpace& exec, const LuAnalysis<Scalar, Ordinal, Offset, ExecutionSpace>& analysis,
    const Kokkos::View<const Scalar*, typename ExecutionSpace::memory_space>& A_values, double perturbation,
    const MemoryBudget& budget, LuFactors<Scalar, typename ExecutionSpace::memory_space>& factors) {
  allocate_factors(exec, analysis, budget, factors);
  return analysis.engine == Engine::multifrontal
             ? factorize_by_fronts(exec, analysis, A_values, perturbation, budget, factors)
             : factorize_by_columns(exec, analysis, A_values, perturbation, factors);
}

template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
void apply_factors(const ExecutionSpace& exec,
                   const LuAnalysis<Scalar, Ordinal, Offset, ExecutionSpace>& analysis, Transposition op,
                   const DenseRows<Scalar, typename ExecutionSpace::memory_space>& B,
                   const DenseRows<Scalar, typename ExecutionSpace::memory_space>& X,
                   const DenseRows<Scalar, typename ExecutionSpace::memory_space>& W) {
  if (analysis.front_solver) return solve_on_fronts(exec, analysis, op, B, X);
  analysis.triangles->solve(exec, analysis.plan, op, analysis.row_scale, analysis.col_scale, B, X, W);
}

#define LUTRA_LU_FACTORS(Scalar, Ordinal, Offset, Space)                                             \
  template FactorizationOutcome factorize_lu(                                                        \
      const Space&, const LuAnalysis<Scalar, Ordinal, Offset, Space>&,                               \
      const Kokkos::View<const Scalar*, typename Space::memory_space>&, double, const MemoryBudget&, \
      LuFactors<Scalar, typename Space::memory_space>&);                                             \
  template void hand_over_factors(const Space&, const LuAnalysis<Scalar, Ordinal, Offset, Space>&,   \
                                  const LuFactors<Scalar, typename Space::memory_space>&);           \
  template void apply_factors(const Space&, const LuAnalysis<Scalar, Ordinal, Offset, Space>&,       \
                              Transposition, const DenseRows<Scalar, typename Space::memory_space>&, \
                              const DenseRows<Scalar, typename Space::memory_space>&,                \
                              const DenseRows<Scalar, typename Space::memory_space>&);
LUTRA_FOR_EACH_MATRIX_AND_SPACE(LUTRA_LU_FACTORS)

}  // namespace lutra
