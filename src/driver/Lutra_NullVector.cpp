// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_NullVector.hpp"

#include <algorithm>

#include "Lutra_GmresRefinement.hpp"
#include "Lutra_Instantiate.hpp"
#include "Lutra_RefinementKernels.hpp"

namespace lutra {
namespace {

constexpr int max_steps = 12;
constexpr double rounding_factor = 32.0;

/// A start that favours no direction: entries between 1 and 2 that look random, the same on every backend.
template <class ExecutionSpace, class Rows>
void fill_start(const ExecutionSpace& exec, const Rows& v) {
  using Scalar = typename Rows::value_type;
  Kokkos::parallel_for(
      "lutra::driver::null_start",
      Kokkos::RangePolicy<ExecutionSpace>(exec, 0, static_cast<std::int64_t>(v.extent(0))),
      KOKKOS_LAMBDA(const std::int64_t i) {
        const std::uint64_t mixed = (static_cast<std::uint64_t>(i) + 1) * 0x9E3779B97F4A7C15ull;
        v(i, 0) =
            Scalar(RealOf<Scalar>(1) + static_cast<RealOf<Scalar>>(mixed >> 40) / RealOf<Scalar>(1 << 24));
      });
}

/// R = −A·v. Returns ‖row_scale·A·v‖∞ / (‖Â‖∞·‖v / col_scale‖∞); infinity where something is not finite or v
/// is 0.
template <class Scalar, class Ordinal, class Offset, class ExecutionSpace, class Rows>
double scaled_residual(
    const ExecutionSpace& exec, const Scales<Scalar, typename ExecutionSpace::memory_space>& scales,
    const ResidualOperator<Scalar, Ordinal, Offset, typename ExecutionSpace::memory_space>& A, const Rows& v,
    const Rows& R) {
  const auto row_scale = scales.row;
  const auto col_scale = scales.col;
  const auto row_map = A.pattern.row_map;
  const auto entries = A.pattern.entries;
  const auto values = A.values;
  double residual = 0, norm = 0, size = 0;
  Kokkos::parallel_reduce(
      "lutra::driver::null_residual",
      Kokkos::RangePolicy<ExecutionSpace>(exec, 0, static_cast<std::int64_t>(v.extent(0))),
      KOKKOS_LAMBDA(const Ordinal i, double& max_residual, double& max_norm, double& max_size) {
        Scalar rest{};
        double row_sum = 0;
        for (Offset p = row_map(i); p < row_map(i + 1); ++p) {
          rest -= values(p) * v(entries(p), 0);
          row_sum += static_cast<double>(ScalarTraits<Scalar>::magnitude(values(p)) * col_scale(entries(p)));
        }
        R(i, 0) = rest;
        const double scaled = static_cast<double>(ScalarTraits<Scalar>::magnitude(rest) * row_scale(i));
        const double entry = static_cast<double>(ScalarTraits<Scalar>::magnitude(v(i, 0)) / col_scale(i));
        const bool finite = Kokkos::isfinite(scaled) && Kokkos::isfinite(entry);
        const double shown = finite ? scaled : Kokkos::Experimental::infinity_v<double>;
        row_sum *= static_cast<double>(row_scale(i));
        if (shown > max_residual) max_residual = shown;
        if (row_sum > max_norm) max_norm = row_sum;
        if (entry > max_size) max_size = entry;
      },
      Kokkos::Max<double>(residual), Kokkos::Max<double>(norm), Kokkos::Max<double>(size));
  const double ratio = residual == 0 && size > 0 ? 0.0 : residual / (norm * size);
  return Kokkos::isfinite(ratio) ? ratio : Kokkos::Experimental::infinity_v<double>;
}

/// v += D, and v scaled so that ‖v / col_scale‖∞ = 1; false where nothing finite is left of it.
template <class Scalar, class ExecutionSpace, class Rows>
bool add_and_normalize(const ExecutionSpace& exec,
                       const Scales<Scalar, typename ExecutionSpace::memory_space>& scales, const Rows& D,
                       const Rows& v) {
  const auto col_scale = scales.col;
  double size = 0;
  Kokkos::parallel_reduce(
      "lutra::driver::null_add",
      Kokkos::RangePolicy<ExecutionSpace>(exec, 0, static_cast<std::int64_t>(v.extent(0))),
      KOKKOS_LAMBDA(const std::int64_t i, double& most) {
        v(i, 0) += D(i, 0);
        const double entry = static_cast<double>(ScalarTraits<Scalar>::magnitude(v(i, 0)) / col_scale(i));
        const double shown = Kokkos::isfinite(entry) ? entry : Kokkos::Experimental::infinity_v<double>;
        if (shown > most) most = shown;
      },
      Kokkos::Max<double>(size));
  if (!(size > 0) || !Kokkos::isfinite(size)) return false;
  const auto factor = static_cast<RealOf<Scalar>>(1.0 / size);
  if (!Kokkos::isfinite(factor)) return false;
  Kokkos::parallel_for(
      "lutra::driver::null_normalize",
      Kokkos::RangePolicy<ExecutionSpace>(exec, 0, static_cast<std::int64_t>(v.extent(0))),
      KOKKOS_LAMBDA(const std::int64_t i) { v(i, 0) *= factor; });
  return true;
}

/// Rows and columns of the perturbed pivots whose unknowns take part in v.
template <class Scalar, class ExecutionSpace, class Rows>
void name_places(const ExecutionSpace& exec, const Factorization<Scalar, ExecutionSpace>& F,
                 const Scales<Scalar, typename ExecutionSpace::memory_space>& scales, const Rows& v,
                 Report& report) {
  constexpr double share = 1e-3;  // of the largest entry: smaller ones may be rounding
  const Kokkos::HostSpace host;
  const auto entries = Kokkos::create_mirror_view_and_copy(host, v);
  const auto scale = Kokkos::create_mirror_view_and_copy(host, scales.col);
  const auto name = [&](const Pivot& pivot) {
    report.singular_rows.push_back(pivot.row);
    report.singular_columns.push_back(pivot.column);
  };
  Pivot largest;  // where the largest entry of v belongs
  double largest_size = 0;
  for (const Pivot& pivot : F.pivots(exec)) {
    const auto j = static_cast<std::size_t>(pivot.column);
    const auto size = static_cast<double>(ScalarTraits<Scalar>::magnitude(entries(j, 0)) / scale(j));
    if (pivot.perturbed && size >= share) name(pivot);
    if (size > largest_size) {
      largest = pivot;
      largest_size = size;
    }
  }
  if (report.singular_columns.empty()) name(largest);  // no perturbed pivot stands out
  std::ranges::sort(report.singular_rows);
  std::ranges::sort(report.singular_columns);
}

}  // namespace

template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
bool find_null_vector(
    const ExecutionSpace& exec, Factorization<Scalar, ExecutionSpace>& F,
    const Scales<Scalar, typename ExecutionSpace::memory_space>& scales,
    const ResidualOperator<Scalar, Ordinal, Offset, typename ExecutionSpace::memory_space>& A,
    const SolveWorkspace<Scalar, typename ExecutionSpace::memory_space>& work, Report& report) {
  constexpr double rounding_level = rounding_factor * static_cast<double>(epsilon_of<Scalar>);
  const auto v = work.X;
  const auto R = work.R;
  const auto D = work.trial_X;
  fill_start(exec, R);
  Kokkos::deep_copy(exec, v, Scalar{});
  double best = Kokkos::Experimental::infinity_v<double>;  // least residual so far
  for (int step = 0; step < max_steps; ++step) {
    F.apply(exec, Transposition::none, R, D);
    if (!add_and_normalize<Scalar>(exec, scales, D, v)) return false;
    const double ratio = scaled_residual(exec, scales, A, v, R);
    if (ratio > rounding_level) {
      if (step > 1 && ratio > 0.5 * best) return false;
      best = std::min(best, ratio);
      continue;
    }
    name_places(exec, F, scales, v, report);
    return true;
  }
  return false;
}

template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
bool find_null_vector_by_gmres(
    const ExecutionSpace& exec, Factorization<Scalar, ExecutionSpace>& F,
    const Scales<Scalar, typename ExecutionSpace::memory_space>& scales,
    const ResidualOperator<Scalar, Ordinal, Offset, typename ExecutionSpace::memory_space>& A, double A_norm,
    const SolveWorkspace<Scalar, typename ExecutionSpace::memory_space>& work, const MemoryBudget& budget,
    Report& report) {
  constexpr double rounding_level = rounding_factor * static_cast<double>(epsilon_of<Scalar>);
  const double infinity = Kokkos::Experimental::infinity_v<double>;
  fill_start(exec, work.trial_X);
  Impl::scale_rows(exec, scales.col, work.trial_X,
                   work.trial_X);  // no direction of the scaled matrix favoured
  Impl::multiply(exec, A, work.trial_X, work.B);
  refine_by_gmres(exec, F, Transposition::none, A, A_norm, scales.row,
                  8.0 * static_cast<double>(epsilon_of<Scalar>), BackwardErrors{{infinity}, {infinity}}, work,
                  budget);
  fill_start(exec, work.trial_X);
  Impl::scale_rows(exec, scales.col, work.trial_X, work.trial_X);
  Impl::multiply_by(exec, Scalar(-1), work.trial_X);
  const auto& v = work.X;
  if (!add_and_normalize<Scalar>(exec, scales, work.trial_X, v)) return false;
  if (scaled_residual(exec, scales, A, v, work.R) > rounding_level) return false;
  name_places(exec, F, scales, v, report);
  return true;
}

#define LUTRA_FIND_NULL_VECTOR(Scalar, Ordinal, Offset, Space)                                          \
  template bool find_null_vector(                                                                       \
      const Space&, Factorization<Scalar, Space>&, const Scales<Scalar, typename Space::memory_space>&, \
      const ResidualOperator<Scalar, Ordinal, Offset, typename Space::memory_space>&,                   \
      const SolveWorkspace<Scalar, typename Space::memory_space>&, Report&);                            \
  template bool find_null_vector_by_gmres(                                                              \
      const Space&, Factorization<Scalar, Space>&, const Scales<Scalar, typename Space::memory_space>&, \
      const ResidualOperator<Scalar, Ordinal, Offset, typename Space::memory_space>&, double,           \
      const SolveWorkspace<Scalar, typename Space::memory_space>&, const MemoryBudget&, Report&);
LUTRA_FOR_EACH_MATRIX_AND_SPACE(LUTRA_FIND_NULL_VECTOR)

}  // namespace lutra
