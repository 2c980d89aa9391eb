// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_ConditionEstimate.hpp"

#include <algorithm>
#include <cmath>

#include "Lutra_CheckLaunches.hpp"
#include "Lutra_ExecutionTraits.hpp"
#include "Lutra_ForRange.hpp"
#include "Lutra_Instantiate.hpp"
#include "Lutra_RefinementKernels.hpp"
#include "Lutra_StartVector.hpp"

namespace lutra {
namespace {

/// max D, or 0 without entries.
template <class ExecutionSpace, class Scale>
static double largest_scale(const ExecutionSpace& exec, const Scale& scale) {
  double largest = 0;
  Kokkos::parallel_reduce(
      "lutra::krylov::largest_scale",
      Kokkos::RangePolicy<ExecutionSpace>(exec, 0, static_cast<std::int64_t>(scale.extent(0))),
      KOKKOS_LAMBDA(const std::int64_t i, double& found) {
        found = Kokkos::max(found, static_cast<double>(scale(i)));
      },
      Kokkos::Max<double>(largest));
  Impl::wait_for(exec, "lutra::krylov: the largest scale is known");
  return std::max(largest, 0.0);
}

/// A power of two near 1/max D, which keeps entries of D, and of arrays scaled by D, in range.
double inverse_of_largest(double largest) {
  return largest > 0 && std::isfinite(largest) ? std::ldexp(1.0, -std::ilogb(largest)) : 1.0;
}
template <class ExecutionSpace, class Scale>
double inverse_of_largest(const ExecutionSpace& exec, const Scale& scale) {
  return inverse_of_largest(largest_scale(exec, scale));
}

/// Largest scaled entry of a vector and its row.
struct LargestEntry {
  double size = 0;
  std::int64_t row = 0;
};

/// max |v_i| / (scale_i·unit) and its row. Waits.
template <class ExecutionSpace, class Rows, class Scale>
static LargestEntry largest_entry(const ExecutionSpace& exec, const Rows& v, const Scale& scale,
                                  double unit) {
  using Scalar = typename Rows::value_type;
  using Reducer = Kokkos::MaxFirstLoc<double, std::int64_t>;
  typename Reducer::value_type found;
  Kokkos::parallel_reduce(
      "lutra::krylov::largest_entry", Impl::all_rows(exec, v),
      KOKKOS_LAMBDA(const std::int64_t i, typename Reducer::value_type& best) {
        double size = static_cast<double>(ScalarTraits<Scalar>::magnitude(v(i, 0))) /
                      (static_cast<double>(scale(i)) * unit);
        if (!(size < Kokkos::Experimental::infinity_v<double>))
          size = Kokkos::Experimental::infinity_v<double>;
        if (size > best.val || (size == best.val && i < best.loc)) {
          best.val = size;
          best.loc = i;
        }
      },
      Reducer(found));
  Impl::wait_for(exec, "lutra::krylov: the largest entry is known");
  return {found.val, found.loc};
}

/// Σ g_i·|w_i|. Waits.
template <class ExecutionSpace, class Rows>
static double weighted_sum(const ExecutionSpace& exec, const Rows& g, const Rows& w) {
  using Scalar = typename Rows::value_type;
  double sum = 0;
  Kokkos::parallel_reduce(
      "lutra::krylov::weighted_sum", Impl::all_rows(exec, w),
      KOKKOS_LAMBDA(const std::int64_t i, double& total) {
        total += static_cast<double>(ScalarTraits<Scalar>::magnitude(g(i, 0))) *
                 static_cast<double>(ScalarTraits<Scalar>::magnitude(w(i, 0)));
      },
      sum);
  Impl::wait_for(exec, "lutra::krylov: a weighted sum is known");
  return sum;
}

/// On hosts one thread adds, in the same order for any number of threads.
template <Impl::HostExecution ExecutionSpace, class Rows>
static double weighted_sum(const ExecutionSpace& exec, const Rows& g, const Rows& w) {
  using Scalar = typename Rows::value_type;
  exec.fence("lutra::krylov: the vectors of a weighted sum are complete");
  double sum = 0;
  for (std::size_t i = 0; i < w.extent(0); ++i)
    sum += static_cast<double>(ScalarTraits<Scalar>::magnitude(g(i, 0))) *
           static_cast<double>(ScalarTraits<Scalar>::magnitude(w(i, 0)));
  return sum;
}

/// out = g·sign(w), entry by entry; the sign of 0 is 1.
template <class ExecutionSpace, class Rows>
static void weighted_signs(const ExecutionSpace& exec, const Rows& g, const Rows& w, const Rows& out) {
  using Scalar = typename Rows::value_type;
  Impl::for_range(
      exec, "lutra::krylov::weighted_signs", static_cast<std::int64_t>(w.extent(0)),
      KOKKOS_LAMBDA(const std::int64_t i) {
        const auto size = ScalarTraits<Scalar>::magnitude(w(i, 0));
        out(i, 0) = size > 0 ? g(i, 0) * (w(i, 0) / size) : g(i, 0);
      });
}

/// out = g times half of the start vector, entry by entry.
template <class ExecutionSpace, class Rows>
static void weight_start(const ExecutionSpace& exec, const Rows& g, const Rows& out) {
  using Scalar = typename Rows::value_type;
  Impl::for_range(
      exec, "lutra::krylov::weight_start", static_cast<std::int64_t>(g.extent(0)),
      KOKKOS_LAMBDA(const std::int64_t i) {
        out(i, 0) = g(i, 0) * Scalar(static_cast<RealOf<Scalar>>(0.5 * Impl::start_entry(i)));
      });
}

/// v = factor·D⁻¹·e for a unit vector e, or for the start vector (row < 0): magnitudes 1 to 2 with
/// pseudo-random signs, the same on every backend.
template <class ExecutionSpace, class Rows, class Scale>
static void inverse_scaled(const ExecutionSpace& exec, const Rows& v, const Scale& scale, double factor,
                           std::int64_t row) {
  using Scalar = typename Rows::value_type;
  Impl::for_range(
      exec, "lutra::krylov::unit_vector", static_cast<std::int64_t>(v.extent(0)),
      KOKKOS_LAMBDA(const std::int64_t i) {
        const double entry = row < 0 ? Impl::start_entry(i) : row == i ? 1.0 : 0.0;
        v(i, 0) = Scalar(static_cast<RealOf<Scalar>>(entry * factor / static_cast<double>(scale(i))));
      });
}

/// v = |D|·unit, converted to scalars.
template <class ExecutionSpace, class Rows, class Scale>
static void scale_as_vector(const ExecutionSpace& exec, const Rows& v, const Scale& scale, double unit) {
  using Scalar = typename Rows::value_type;
  Impl::for_range(
      exec, "lutra::krylov::scale_as_vector", static_cast<std::int64_t>(v.extent(0)),
      KOKKOS_LAMBDA(const std::int64_t i) {
        v(i, 0) = Scalar(static_cast<RealOf<Scalar>>(static_cast<double>(scale(i)) * unit));
      });
}

/// g += |b|.
template <class ExecutionSpace, class Rows>
static void add_magnitudes(const ExecutionSpace& exec, const Rows& b, const Rows& g) {
  using Scalar = typename Rows::value_type;
  Impl::for_range(
      exec, "lutra::krylov::add_magnitudes", static_cast<std::int64_t>(b.extent(0)),
      KOKKOS_LAMBDA(const std::int64_t i) { g(i, 0) += Scalar(ScalarTraits<Scalar>::magnitude(b(i, 0))); });
}

/// The first row i with g_i = 0, or the length of g. Waits.
template <class ExecutionSpace, class Rows>
static std::int64_t first_zero(const ExecutionSpace& exec, const Rows& g) {
  using Scalar = typename Rows::value_type;
  const auto n = static_cast<std::int64_t>(g.extent(0));
  std::int64_t row = n;
  Kokkos::parallel_reduce(
      "lutra::krylov::first_zero", Impl::all_rows(exec, g),
      KOKKOS_LAMBDA(const std::int64_t i, std::int64_t& first) {
        if (g(i, 0) == Scalar(0) && i < first) first = i;
      },
      Kokkos::Min<std::int64_t>(row));
  Impl::wait_for(exec, "lutra::krylov: rows of zeros are known");
  return row;
}

/// y = x − y.
template <class ExecutionSpace, class Rows>
static void replace_by_difference(const ExecutionSpace& exec, const Rows& x, const Rows& y) {
  Impl::for_range(
      exec, "lutra::krylov::subtract", static_cast<std::int64_t>(y.extent(0)),
      KOKKOS_LAMBDA(const std::int64_t i) { y(i, 0) = x(i, 0) - y(i, 0); });
}

/// Condition number above which A may be singular.
template <class Scalar>
double near_singular(double inexactness) {
  // The factors of a singular matrix are those of A + E with ‖E‖ up to some 10³ ε, so its estimate may be
  // only 1 / (10³ ε).
  constexpr double epsilon = static_cast<double>(epsilon_of<Scalar>), margin = 1e3;
  return std::min(1 / std::sqrt(epsilon), 1 / (margin * std::max(inexactness, epsilon)));
}

/// Hager's method for ‖B‖∞ = ‖Bᴴ‖₁ with B = D⁻¹·op(A)⁻¹·diag(g), two of its steps. Arrays of `work`: g in
/// trial_R, z = op(A)⁻¹·(g∘sign(w)) in X, then w = op(A)⁻ᴴ·D⁻¹·e_j in R. j is the row of the largest entry of
/// z, so that wᴴ·op(A)·z is far from 0. B is overwritten.
template <class Scalar, class ExecutionSpace>
struct HagerMethod {
  using Memory = typename ExecutionSpace::memory_space;
  using Scale = Kokkos::View<const RealOf<Scalar>*, Memory>;

  const ExecutionSpace& exec;
  Factorization<Scalar, ExecutionSpace>& F;
  Transposition op;  ///< none or adjoint
  Scale scale;       ///< D
  double in_unit;    ///< power of two that scales right-hand sides of op(A)ᴴ
  double unit;       ///< power of two that scales g
  const SolveWorkspace<Scalar, ExecutionSpace>& work;
  LargestEntry largest = {};  ///< of z
  int solves = 0;

  Transposition adjoint() const {
    return op == Transposition::none ? Transposition::adjoint : Transposition::none;
  }
  /// Computes w for the start vector or a unit vector. @returns a lower bound of ‖B‖∞
  double forward(std::int64_t row) {
    const double size = row < 0 ? 2.0 * static_cast<double>(work.B.extent(0))
                                : 1.0;  // exceeds the 1-norm of the start vector
    inverse_scaled(exec, work.B, scale, in_unit / size, row);
    F.apply(exec, adjoint(), work.B, work.R);
    ++solves;
    return weighted_sum(exec, work.trial_R, work.R) / (in_unit * unit);
  }
  /// Computes z for w. @returns a lower bound of ‖B‖∞
  double backward() {
    weighted_signs(exec, work.trial_R, work.R, work.B);
    F.apply(exec, op, work.B, work.X);
    ++solves;
    largest = largest_entry(exec, work.X, scale, unit);
    return largest.size;
  }
  /// Lower bound of ‖B‖∞ from three solves. If it is below `near`, a fourth solve sharpens it.
  double norm(double near) {
    double bound = forward(-1);
    bound = std::max(bound, backward());
    if (!std::isfinite(bound)) return bound;
    bound = std::max(bound, forward(largest.row));
    return bound < near ? std::max(bound, backward()) : bound;
  }
};

/// v ← v − op(F)⁻¹·op(A)·v. Keeps a null vector of op(A) and removes all else as far as F approximates the
/// inverse of A. Leaves v unchanged if almost nothing would remain. `scratch` is overwritten.
template <class Scalar, class ExecutionSpace, class Scale>
void purify(const ExecutionSpace& exec, const MatrixOperator<Scalar, ExecutionSpace>& A,
            Factorization<Scalar, ExecutionSpace>& F, Transposition op, const Scale& scale,
            const DenseRows<Scalar, typename ExecutionSpace::memory_space>& v,
            const DenseRows<Scalar, typename ExecutionSpace::memory_space>& scratch) {
  // The difference has then lost three digits to cancellation, and rounding would dominate what remains.
  constexpr double least_left = 1e-3;
  const LargestEntry before = largest_entry(exec, v, scale, 1.0);
  A.apply(exec, v, scratch);
  F.apply(exec, op, scratch, scratch);
  replace_by_difference(exec, v, scratch);
  const LargestEntry left = largest_entry(exec, scratch, scale, 1.0);
  if (std::isfinite(left.size) && left.size > least_left * before.size) Impl::copy_block(exec, scratch, v);
}

/// max |D_r·v|. Waits.
template <class ExecutionSpace, class Rows, class Scale>
static double largest_scaled(const ExecutionSpace& exec, const Rows& v, const Scale& row) {
  using Scalar = typename Rows::value_type;
  double largest = 0;
  Kokkos::parallel_reduce(
      "lutra::krylov::largest_scaled", Impl::all_rows(exec, v),
      KOKKOS_LAMBDA(const std::int64_t i, double& found) {
        found = Kokkos::max(found, static_cast<double>(ScalarTraits<Scalar>::magnitude(v(i, 0)) * row(i)));
      },
      Kokkos::Max<double>(largest));
  Impl::wait_for(exec, "lutra::krylov: the largest scaled entry is known");
  return largest;
}

/// ‖D_r·A·z‖∞ / ‖D_r·|A||z|‖∞ for z in X, if it is too large for a null vector, else 0. The form wᴴ·A·z of
/// two vectors may vanish by chance, as where the inverse has a zero at a perturbed pivot. Overwrites
/// trial_X.
template <class Scalar, class ExecutionSpace, class Scale>
double residual_of_null_vector(const ExecutionSpace& exec, const MatrixOperator<Scalar, ExecutionSpace>& A,
                               const Scale& row, const SolveWorkspace<Scalar, ExecutionSpace>& work) {
  A.apply(exec, work.X, work.trial_X);
  const double residual = largest_scaled(exec, work.trial_X, row);
  A.apply_magnitudes(exec, work.X, work.trial_X);
  const double ratio = residual / largest_scaled(exec, work.trial_X, row);
  return ratio > std::sqrt(static_cast<double>(epsilon_of<Scalar>)) ? ratio : 0.0;
}

}  // namespace

template <class Scalar, class ExecutionSpace>
ConditionEstimate estimate_condition(const ExecutionSpace& exec,
                                     const MatrixOperator<Scalar, ExecutionSpace>& A,
                                     const MatrixOperator<Scalar, ExecutionSpace>& A_adjoint,
                                     Factorization<Scalar, ExecutionSpace>& F,
                                     const Scales<Scalar, typename ExecutionSpace::memory_space>& scales,
                                     const SolveWorkspace<Scalar, ExecutionSpace>& work, double inexactness,
                                     bool has_zero_pivots) {
  ConditionEstimate estimate;
  if (A.size() == 0) return estimate;
  HagerMethod<Scalar, ExecutionSpace> method{exec,
                                             F,
                                             Transposition::none,
                                             scales.col,
                                             inverse_of_largest(exec, scales.row),
                                             inverse_of_largest(exec, scales.col),
                                             work};
  scale_as_vector(exec, work.X, scales.col, method.unit);
  A.apply_magnitudes(exec, work.X, work.trial_R);
  const std::int64_t empty_row = has_zero_pivots ? A.size() : first_zero(exec, work.trial_R);
  if (empty_row < A.size()) {
    inverse_scaled(exec, work.B, scales.row, method.in_unit, empty_row);
    F.apply(exec, Transposition::none, work.B, work.X);
    return {std::numeric_limits<double>::infinity(), 0.0, 1};
  }
  const double near = near_singular<Scalar>(inexactness);
  estimate.condition = method.norm(near);
  estimate.solves = method.solves;
  if (std::isfinite(estimate.condition) && estimate.condition >= near) {
    const bool is_inexact = inexactness >= std::sqrt(static_cast<double>(epsilon_of<Scalar>));
    constexpr int enough_solves = 32;
    double before = 0;
    do {
      before = estimate.distance;
      purify(exec, A, F, Transposition::none, scales.col, work.X, work.trial_X);
      purify(exec, A_adjoint, F, Transposition::adjoint, scales.row, work.R, work.trial_X);
      estimate.solves += 2;
      const BilinearForm form = A.bilinear_form(exec, work.R, work.X);
      estimate.distance = std::hypot(form.real, form.imaginary) / form.size;
      if (estimate.template is_singular<Scalar>())
        estimate.distance = std::max(estimate.distance, residual_of_null_vector(exec, A, scales.row, work));
      // A pass leaves what the factors are inexact by of all that is no null vector.
    } while (is_inexact && !estimate.template is_singular<Scalar>() && estimate.distance <= 0.25 * before &&
             estimate.solves < enough_solves);
    estimate.condition = std::max(estimate.condition, 1 / estimate.distance);
  }
  return estimate;
}

template <class Scalar, class ExecutionSpace>
double probe_condition(const ExecutionSpace& exec, const MatrixOperator<Scalar, ExecutionSpace>& A,
                       Preconditioner<Scalar, ExecutionSpace>& F,
                       const Scales<Scalar, typename ExecutionSpace::memory_space>& scales,
                       const SolveWorkspace<Scalar, ExecutionSpace>& work) {
  double largest_of_scale = largest_scale(exec, scales.col);
  A.join_maxima({&largest_of_scale, 1});
  const double unit = inverse_of_largest(largest_of_scale);
  scale_as_vector(exec, work.X, scales.col, unit);
  A.apply_magnitudes(exec, work.X, work.trial_R);
  weight_start(exec, work.trial_R, work.B);
  F.apply(exec, Transposition::none, work.B, work.X);
  double largest = std::max(0.0, largest_entry(exec, work.X, scales.col, unit).size);
  A.join_maxima({&largest, 1});
  return largest;
}

template <class Scalar, class ExecutionSpace>
ConditionEstimate estimate_condition_of_solution(
    const ExecutionSpace& exec, const MatrixOperator<Scalar, ExecutionSpace>& A,
    Factorization<Scalar, ExecutionSpace>& F, Transposition op,
    const Scales<Scalar, typename ExecutionSpace::memory_space>& scales,
    const SolveWorkspace<Scalar, ExecutionSpace>& work) {
  ConditionEstimate estimate;
  if (A.size() == 0) return estimate;
  const bool transposed = op != Transposition::none;  // |A⁻ᵀ| = |A⁻ᴴ|
  HagerMethod<Scalar, ExecutionSpace> method{exec,
                                             F,
                                             transposed ? Transposition::adjoint : Transposition::none,
                                             transposed ? scales.row : scales.col,
                                             inverse_of_largest(exec, transposed ? scales.col : scales.row),
                                             1.0,
                                             work};
  A.apply_magnitudes(exec, work.X, work.trial_R);
  add_magnitudes(exec, work.B, work.trial_R);
  const double size = largest_entry(exec, work.X, method.scale, 1.0).size;
  estimate.condition = size > 0 ? method.norm(std::numeric_limits<double>::infinity()) / size : 0.0;
  estimate.solves = method.solves;
  return estimate;
}

#define LUTRA_ESTIMATE_CONDITION(Scalar, Space)                                                         \
  template double probe_condition(                                                                      \
      const Space&, const MatrixOperator<Scalar, Space>&, Preconditioner<Scalar, Space>&,               \
      const Scales<Scalar, typename Space::memory_space>&, const SolveWorkspace<Scalar, Space>&);       \
  template ConditionEstimate estimate_condition(                                                        \
      const Space&, const MatrixOperator<Scalar, Space>&, const MatrixOperator<Scalar, Space>&,         \
      Factorization<Scalar, Space>&, const Scales<Scalar, typename Space::memory_space>&,               \
      const SolveWorkspace<Scalar, Space>&, double, bool);                                              \
  template ConditionEstimate estimate_condition_of_solution(                                            \
      const Space&, const MatrixOperator<Scalar, Space>&, Factorization<Scalar, Space>&, Transposition, \
      const Scales<Scalar, typename Space::memory_space>&, const SolveWorkspace<Scalar, Space>&);
LUTRA_FOR_EACH_SCALAR_AND_SPACE(LUTRA_ESTIMATE_CONDITION)

}  // namespace lutra
