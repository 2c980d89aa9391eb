// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_NullVector.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "Lutra_CheckLaunches.hpp"
#include "Lutra_Instantiate.hpp"
#include "Lutra_RefinementKernels.hpp"

namespace lutra {
namespace {

constexpr int max_steps = 12;  // bounds the solves; an iteration that does not halve the residual ends before
/// Residuals of a null vector, in units of ε·‖Â‖∞·‖v‖∞: leaves room for the rounding errors that a row sums
/// up.
constexpr double rounding_factor = 32.0;

/// Slots of the maxima of one column, as used here.
constexpr auto norm_of_residual = Impl::ColumnMaximum::residual;  // ‖D_r·A·v‖∞
constexpr auto norm_of_vector = Impl::ColumnMaximum::solution;    // ‖v / D_c‖∞ of the normalized v
constexpr auto norm_before = Impl::ColumnMaximum::right_side;     // ‖v / D_c‖∞ before normalization

KOKKOS_FORCEINLINE_FUNCTION double finite_or_infinity(double value) {
  return Kokkos::isfinite(value) ? value : Kokkos::Experimental::infinity_v<double>;
}

/// A start vector without a preferred direction: pseudo-random magnitudes between 1 and 2, the same on every
/// backend, times a scale, with a sign.
template <class ExecutionSpace, class Rows, class Scale>
void fill_start(const ExecutionSpace& exec, const Rows& v, const Scale& scale,
                RealOf<typename Rows::value_type> sign) {
  using Scalar = typename Rows::value_type;
  using Real = RealOf<Scalar>;
  Kokkos::parallel_for(
      "lutra::krylov::null_start", Impl::all_rows(exec, v), KOKKOS_LAMBDA(const std::int64_t i) {
        const std::uint64_t mixed = (static_cast<std::uint64_t>(i) + 1) * 0x9E3779B97F4A7C15ull;
        const Real entry = Real(1) + static_cast<Real>(mixed >> 40) / Real(1 << 24);
        v(i, 0) = Scalar(sign * (scale.extent(0) == 0 ? entry : entry * scale(i)));
      });
}

/// v += D, then scales v to ‖v / D_c‖∞ = 1 if possible, then R = −A·v and the norms. Clears the maxima first;
/// their values are available after a fetch.
/// @param A_norm ‖Â‖∞; if negative, it is computed as well
template <class Scalar, class ExecutionSpace, class Rows>
void queue_step(const ExecutionSpace& exec, const MatrixOperator<Scalar, ExecutionSpace>& A,
                const Scales<Scalar, typename ExecutionSpace::memory_space>& scales, const Rows& D,
                const Rows& v, const Rows& R, double A_norm, const ResidualMaxima<ExecutionSpace>& maxima) {
  const auto row_scale = scales.row;
  const auto col_scale = scales.col;
  const auto slots = maxima.slots();
  maxima.clear(exec);
  if (A_norm < 0) A.gather_norm(exec, row_scale, col_scale, maxima);
  Kokkos::parallel_reduce(
      "lutra::krylov::null_add", Impl::all_rows(exec, v),
      KOKKOS_LAMBDA(const std::int64_t i, double& largest) {
        v(i, 0) += D(i, 0);
        const auto size = static_cast<double>(ScalarTraits<Scalar>::magnitude(v(i, 0)) / col_scale(i));
        const double entry = finite_or_infinity(size);
        if (entry > largest) largest = entry;
      },
      Kokkos::Max<double, typename ExecutionSpace::memory_space>(
          Kokkos::subview(slots, Impl::slot_of(0, norm_before))));
  Kokkos::parallel_for(
      "lutra::krylov::null_normalize", Impl::all_rows(exec, v), KOKKOS_LAMBDA(const std::int64_t i) {
        const auto factor = static_cast<RealOf<Scalar>>(1.0 / slots(Impl::slot_of(0, norm_before)));
        if (factor > 0 && Kokkos::isfinite(factor)) v(i, 0) *= factor;
      });
  A.apply(exec, v, R);
  Kokkos::parallel_for(
      "lutra::krylov::null_residual", Impl::all_rows(exec, v), KOKKOS_LAMBDA(const std::int64_t i) {
        R(i, 0) = -R(i, 0);
        const auto scaled = static_cast<double>(ScalarTraits<Scalar>::magnitude(R(i, 0)) * row_scale(i));
        const auto entry = static_cast<double>(ScalarTraits<Scalar>::magnitude(v(i, 0)) / col_scale(i));
        const bool finite = Kokkos::isfinite(scaled) && Kokkos::isfinite(entry);
        const double shown = finite ? scaled : Kokkos::Experimental::infinity_v<double>;
        double& residual = slots(Impl::slot_of(0, norm_of_residual));
        double& size = slots(Impl::slot_of(0, norm_of_vector));
        if (shown > residual) Kokkos::atomic_max(&residual, shown);
        if (entry > size) Kokkos::atomic_max(&size, entry);
      });
}

/// ‖Âv̂‖∞ / (‖Â‖∞·‖v̂‖∞) of the queued step; infinity if a value is not finite or v has vanished. Waits once.
template <class ExecutionSpace>
double finish_step(const ExecutionSpace& exec, const ResidualMaxima<ExecutionSpace>& maxima, double& A_norm) {
  const auto maximum = [&](Impl::ColumnMaximum which) { return maxima.host(Impl::slot_of(0, which)); };
  constexpr double infinity = std::numeric_limits<double>::infinity();
  maxima.fetch(exec);
  if (A_norm < 0) A_norm = maxima.norm();
  if (!(maximum(norm_before) > 0) || !std::isfinite(maximum(norm_before))) return infinity;
  const double residual = maximum(norm_of_residual), size = maximum(norm_of_vector);
  const double ratio = residual == 0 && size > 0 ? 0.0 : residual / (A_norm * size);
  return std::isfinite(ratio) ? ratio : infinity;
}

}  // namespace

template <class Scalar, class ExecutionSpace>
void name_null_vector(const ExecutionSpace& exec, const Factorization<Scalar, ExecutionSpace>& F,
                      const Kokkos::View<const RealOf<Scalar>*, typename ExecutionSpace::memory_space>& scale,
                      const DenseRows<Scalar, typename ExecutionSpace::memory_space>& v, Report& report) {
  constexpr double share = 1e-3;  // fraction of the largest entry; smaller entries may be rounding
  const auto entries = Kokkos::create_mirror_view(v);
  const auto scales = Kokkos::create_mirror_view(scale);
  Kokkos::deep_copy(exec, entries, v);
  Kokkos::deep_copy(exec, scales, scale);
  Impl::wait_for(exec, "lutra::krylov: a null vector is on the host");
  const auto size_of = [&](std::int64_t column) {
    const auto j = static_cast<std::size_t>(column);
    return static_cast<double>(ScalarTraits<Scalar>::magnitude(entries(j, 0))) /
           static_cast<double>(scales(j));
  };
  const std::vector<Pivot> pivots = F.pivots(exec);
  Pivot largest;  // pivot of the largest entry of v
  double largest_size = 0;
  for (const Pivot& pivot : pivots) {
    const double size = size_of(pivot.column);
    if (size > largest_size) {
      largest = pivot;
      largest_size = size;
    }
  }
  report.singular_rows.clear();
  report.singular_columns.clear();
  const auto name = [&](const Pivot& pivot) {
    report.singular_rows.push_back(pivot.row);
    report.singular_columns.push_back(pivot.column);
  };
  for (const Pivot& pivot : pivots)
    if (pivot.perturbed && size_of(pivot.column) >= share * largest_size) name(pivot);
  if (report.singular_columns.empty()) name(largest);  // no perturbed pivot takes part in v
  std::ranges::sort(report.singular_rows);
  std::ranges::sort(report.singular_columns);
}

template <class Scalar, class ExecutionSpace>
bool find_null_vector(const ExecutionSpace& exec, const MatrixOperator<Scalar, ExecutionSpace>& A,
                      Factorization<Scalar, ExecutionSpace>& F,
                      const Scales<Scalar, typename ExecutionSpace::memory_space>& scales,
                      const SolveWorkspace<Scalar, ExecutionSpace>& work, Report& report) {
  constexpr double rounding_level = rounding_factor * static_cast<double>(epsilon_of<Scalar>);
  const auto v = work.X;
  const auto R = work.R;
  const auto D = work.trial_X;
  fill_start(exec, R, decltype(scales.col)(), 1);
  Impl::set_zero(exec, v);
  double A_norm = -1;                                     // ‖Â‖∞, known after the first step
  double best = std::numeric_limits<double>::infinity();  // smallest residual so far
  for (int step = 0; step < max_steps; ++step) {
    F.apply(exec, Transposition::none, R, D);
    queue_step(exec, A, scales, D, v, R, A_norm, work.maxima);
    const double ratio = finish_step(exec, work.maxima, A_norm);
    if (ratio <= rounding_level) {
      name_null_vector(exec, F, scales.col, v, report);
      return true;
    }
    if (!std::isfinite(ratio) || (step > 1 && ratio > 0.5 * best)) return false;
    best = std::min(best, ratio);
  }
  return false;
}

namespace {

/// Whether A has a row of zeros. Overwrites work.B and work.trial_R; waits.
template <class Scalar, class ExecutionSpace>
bool has_zero_row(const ExecutionSpace& exec, const MatrixOperator<Scalar, ExecutionSpace>& A,
                  const SolveWorkspace<Scalar, ExecutionSpace>& work) {
  const auto sums = work.trial_R;
  Kokkos::deep_copy(exec, work.B, Scalar(1));
  A.apply_magnitudes(exec, work.B, sums);
  std::int64_t zeros = 0;
  Kokkos::parallel_reduce(
      "lutra::krylov::zero_rows", Impl::all_rows(exec, sums),
      KOKKOS_LAMBDA(const std::int64_t i, std::int64_t& count) { count += sums(i, 0) == Scalar(0) ? 1 : 0; },
      zeros);
  Impl::wait_for(exec, "lutra::krylov: rows of zeros are known");
  return zeros > 0;
}

/// Seeks a vector v with op(A)·v ≈ 0 by one GMRES solve of op(A)·y = op(A)·v₀: v = v₀ − y. Leaves v in
/// work.X.
/// @param scales of op(A)
/// @returns ‖v‖'s residual as in `finish_step`
template <class Scalar, class ExecutionSpace>
double seek_by_gmres(const ExecutionSpace& exec, MatrixOperator<Scalar, ExecutionSpace>& A,
                     Factorization<Scalar, ExecutionSpace>& F, Transposition op,
                     const Scales<Scalar, typename ExecutionSpace::memory_space>& scales,
                     SolveWorkspace<Scalar, ExecutionSpace>& work,
                     const Fgmres<Scalar, ExecutionSpace>& gmres) {
  constexpr double epsilon = static_cast<double>(epsilon_of<Scalar>);
  constexpr double infinity = std::numeric_limits<double>::infinity();
  fill_start(exec, work.trial_X, scales.col, 1);  // no preferred direction of the scaled matrix
  A.apply(exec, work.trial_X, work.B);
  refine_by_gmres(exec, A, F, op, scales.row, 8.0 * epsilon, BackwardErrors{{infinity}, {infinity}, {0.0}},
                  work, gmres);
  fill_start(exec, work.trial_X, scales.col, -1);
  double A_norm = -1;
  queue_step(exec, A, scales, work.trial_X, work.X, work.R, A_norm, work.maxima);
  double ratio = finish_step(exec, work.maxima, A_norm);
  if (ratio > rounding_factor * epsilon && ratio <= std::sqrt(epsilon)) {
    // Little remained of the start. Correcting the remainder avoids that cancellation.
    correct_by_gmres(exec, A, F, op, scales.row, work, gmres);
    queue_step(exec, A, scales, work.trial_X, work.X, work.R, A_norm, work.maxima);
    ratio = finish_step(exec, work.maxima, A_norm);
  }
  return ratio;
}

}  // namespace

template <class Scalar, class ExecutionSpace>
bool find_null_vector_by_gmres(const ExecutionSpace& exec, MatrixOperator<Scalar, ExecutionSpace>& A,
                               MatrixOperator<Scalar, ExecutionSpace>& A_adjoint,
                               Factorization<Scalar, ExecutionSpace>& F,
                               const Scales<Scalar, typename ExecutionSpace::memory_space>& scales,
                               SolveWorkspace<Scalar, ExecutionSpace>& work,
                               const Fgmres<Scalar, ExecutionSpace>& gmres, const MemoryBudget& budget,
                               Report& report) {
  constexpr double epsilon = static_cast<double>(epsilon_of<Scalar>);
  using Rows = typename SolveWorkspace<Scalar, ExecutionSpace>::Rows;
  const double right = seek_by_gmres(exec, A, F, Transposition::none, scales, work, gmres);
  if (right > rounding_factor * epsilon) return false;
  if (has_zero_row(exec, A, work)) {  // products with the vectors below would be those of rounding errors
    name_null_vector(exec, F, scales.col, work.X, report);
    return true;
  }
  // In this norm a graded matrix may be near to singular ones that differ from it by far more than rounding
  // of its small entries. The left vector tells.
  MemoryReservation reservation(budget);
  const auto z = reservation.allocate<Rows>(exec, "lutra::krylov::null_vector", work.X.extent(0), 1);
  Impl::copy_block(exec, work.X, z);
  const Scales<Scalar, typename ExecutionSpace::memory_space> of_adjoint{scales.col, scales.row};
  const double left = seek_by_gmres(exec, A_adjoint, F, Transposition::adjoint, of_adjoint, work, gmres);
  if (left > std::sqrt(epsilon)) return false;
  const BilinearForm form = A.bilinear_form(exec, work.X, z);
  ConditionEstimate estimate;
  estimate.distance = std::hypot(form.real, form.imaginary) / form.size;
  Impl::copy_block(exec, z, work.X);
  if (!estimate.template is_singular<Scalar>()) return false;
  name_null_vector(exec, F, scales.col, work.X, report);
  return true;
}

#define LUTRA_FIND_NULL_VECTOR(Scalar, Space)                                                              \
  template bool find_null_vector(                                                                          \
      const Space&, const MatrixOperator<Scalar, Space>&, Factorization<Scalar, Space>&,                   \
      const Scales<Scalar, typename Space::memory_space>&, const SolveWorkspace<Scalar, Space>&, Report&); \
  template bool find_null_vector_by_gmres(                                                                 \
      const Space&, MatrixOperator<Scalar, Space>&, MatrixOperator<Scalar, Space>&,                        \
      Factorization<Scalar, Space>&, const Scales<Scalar, typename Space::memory_space>&,                  \
      SolveWorkspace<Scalar, Space>&, const Fgmres<Scalar, Space>&, const MemoryBudget&, Report&);         \
  template void name_null_vector(const Space&, const Factorization<Scalar, Space>&,                        \
                                 const Kokkos::View<const RealOf<Scalar>*, typename Space::memory_space>&, \
                                 const DenseRows<Scalar, typename Space::memory_space>&, Report&);
LUTRA_FOR_EACH_SCALAR_AND_SPACE(LUTRA_FIND_NULL_VECTOR)

}  // namespace lutra
