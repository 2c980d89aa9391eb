// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_GmresRefinement.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "Lutra_Instantiate.hpp"
#include "Lutra_RefinementKernels.hpp"

namespace lutra {
namespace {

constexpr int restart = 60;  // iterations a cycle; replaced pivots that matter are rarely more
constexpr int max_cycles = 4;
constexpr double min_progress = 0.9;  // a cycle that leaves more of the error is the last
constexpr double cycle_goal =
    1e-14;  // drop of the residual norm within a cycle; rounding ends it in any case

/// The small least-squares problem of a cycle: Hessenberg matrix turned to upper triangular by Givens
/// rotations.
template <class Scalar>
class HessenbergSolver {
 public:
  explicit HessenbergSolver(RealOf<Scalar> norm) : m_right_side{Scalar(norm)} {}

  /// Takes column j (j + 2 entries); returns the residual norm that is left.
  RealOf<Scalar> add_column(std::vector<Scalar> column) {
    const std::size_t j = m_columns.size();
    for (std::size_t i = 0; i < j; ++i) rotate(i, column[i], column[i + 1]);
    const RealOf<Scalar> a = ScalarTraits<Scalar>::magnitude(column[j]);
    const RealOf<Scalar> b = ScalarTraits<Scalar>::magnitude(column[j + 1]);
    const RealOf<Scalar> length = std::hypot(a, b);
    m_cosines.push_back(length > 0 ? column[j] / length : Scalar(1));
    m_sines.push_back(length > 0 ? column[j + 1] / length : Scalar(0));
    rotate(j, column[j], column[j + 1]);
    m_right_side.push_back(Scalar(0));
    rotate(j, m_right_side[j], m_right_side[j + 1]);
    m_columns.push_back(std::move(column));
    return ScalarTraits<Scalar>::magnitude(m_right_side[j + 1]);
  }

  /// Coefficients of the basis vectors.
  std::vector<Scalar> solve() const {
    std::vector<Scalar> y(m_columns.size());
    for (std::size_t k = y.size(); k-- > 0;) {
      Scalar rest = m_right_side[k];
      for (std::size_t j = k + 1; j < y.size(); ++j) rest -= m_columns[j][k] * y[j];
      y[k] = m_columns[k][k] == Scalar(0) ? Scalar(0) : rest / m_columns[k][k];
    }
    return y;
  }

 private:
  /// Applies rotation i: [c̄ s̄; −s c].
  void rotate(std::size_t i, Scalar& upper, Scalar& lower) const {
    const Scalar before = upper;
    upper = ScalarTraits<Scalar>::conjugate(m_cosines[i]) * before +
            ScalarTraits<Scalar>::conjugate(m_sines[i]) * lower;
    lower = m_cosines[i] * lower - m_sines[i] * before;
  }

  std::vector<std::vector<Scalar>> m_columns;
  std::vector<Scalar> m_right_side, m_cosines, m_sines;
};

/// One cycle of flexible GMRES on row-scaled residuals: everything it works on.
template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
struct GmresCycle {
  using Memory = typename ExecutionSpace::memory_space;
  using Vector = DenseRows<Scalar, Memory>;

  const ExecutionSpace& exec;
  Preconditioner<Scalar, ExecutionSpace>& M;
  Transposition op;
  const ResidualOperator<Scalar, Ordinal, Offset, Memory>& A;
  Kokkos::View<const RealOf<Scalar>*, Memory> scale;  ///< of the rows of op(A)
  std::vector<Vector> basis;                          ///< [restart + 1] columns of n, orthonormal
  std::vector<Vector> directions;  ///< [restart] M⁻¹ times the basis, as it was computed
  Vector correction;               ///< out: what to add to X

  /// Returns the number of iterations; 0 where the residual R is nothing to start from.
  int run(const Vector& R) {
    Impl::scale_rows(exec, scale, R, basis[0]);
    const RealOf<Scalar> norm = Impl::norm_two(exec, basis[0]);
    if (!(norm > 0) || !Kokkos::isfinite(norm)) return 0;
    Impl::multiply_by(exec, Scalar(1 / norm), basis[0]);
    HessenbergSolver<Scalar> hessenberg(norm);
    int j = 0;
    while (j < restart) {
      expand(static_cast<std::size_t>(j));
      auto column = orthogonalize(static_cast<std::size_t>(j));
      const RealOf<Scalar> length = ScalarTraits<Scalar>::magnitude(column.back());
      if (!Kokkos::isfinite(length)) break;
      const RealOf<Scalar> left = hessenberg.add_column(std::move(column));
      ++j;
      if (left <= RealOf<Scalar>(cycle_goal) * norm || length == 0) break;
    }
    combine(hessenberg.solve());
    return j;
  }

  /// directions[j] = M⁻¹·(basis[j] / scale), basis[j + 1] = scale·op(A)·directions[j]
  void expand(std::size_t j) {
    const Vector& direction = directions[j];
    Impl::unscale_rows(exec, scale, basis[j], direction);
    M.apply(exec, op, direction, direction);
    Impl::multiply(exec, A, direction, basis[j + 1]);
    Impl::scale_rows(exec, scale, basis[j + 1], basis[j + 1]);
  }

  /// Makes basis[j + 1] orthonormal to the vectors before it (modified Gram–Schmidt, twice); returns H(:, j).
  std::vector<Scalar> orthogonalize(std::size_t j) {
    std::vector<Scalar> column(j + 2, Scalar(0));
    for (int pass = 0; pass < 2; ++pass) {
      for (std::size_t i = 0; i <= j; ++i) {
        const Scalar part = Impl::dot(exec, basis[i], basis[j + 1]);
        Impl::add_multiple(exec, -part, basis[i], basis[j + 1]);
        column[i] += part;
      }
    }
    const RealOf<Scalar> length = Impl::norm_two(exec, basis[j + 1]);
    column[j + 1] = Scalar(length);
    if (length > 0) Impl::multiply_by(exec, Scalar(1 / length), basis[j + 1]);
    return column;
  }

  /// correction = directions·y. Solving again with basis·y instead would bring in the rounding of a solve
  /// with grown factors, which the cycle has not seen and cannot mend.
  void combine(const std::vector<Scalar>& y) {
    Kokkos::deep_copy(exec, correction, Scalar{});
    for (std::size_t i = 0; i < y.size(); ++i) Impl::add_multiple(exec, y[i], directions[i], correction);
  }
};

}  // namespace

template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
GmresOutcome refine_by_gmres(
    const ExecutionSpace& exec, Preconditioner<Scalar, ExecutionSpace>& M, Transposition op,
    const ResidualOperator<Scalar, Ordinal, Offset, typename ExecutionSpace::memory_space>& A, double A_norm,
    const Kokkos::View<const RealOf<Scalar>*, typename ExecutionSpace::memory_space>& row_scale, double goal,
    const BackwardErrors& errors, const SolveWorkspace<Scalar, typename ExecutionSpace::memory_space>& work,
    const MemoryBudget& budget) {
  using Vector = DenseRows<Scalar, typename ExecutionSpace::memory_space>;
  MemoryReservation reservation(budget);
  const auto n = work.B.extent(0);
  std::vector<Vector> basis, directions;
  for (int j = 0; j <= restart; ++j) {
    basis.push_back(reservation.allocate<Vector>(exec, "lutra::driver::gmres basis", n, std::size_t(1)));
    if (j == restart) break;
    directions.push_back(
        reservation.allocate<Vector>(exec, "lutra::driver::gmres directions", n, std::size_t(1)));
  }
  GmresCycle<Scalar, Ordinal, Offset, ExecutionSpace> cycle{exec,      M,     op,         A,
                                                            row_scale, basis, directions, work.trial_X};
  GmresOutcome outcome{0, errors};
  if (!Kokkos::isfinite(errors.componentwise[0])) Kokkos::deep_copy(exec, work.X, Scalar{});  // start afresh
  compute_residual(exec, A, A_norm, work.B, work.X, work.R, work.magnitudes);
  for (int c = 0; c < max_cycles && outcome.errors.componentwise[0] > goal; ++c) {
    const int iterations = cycle.run(work.R);
    outcome.iterations += iterations;
    if (iterations == 0) break;
    Impl::add_multiple(exec, Scalar(1), work.X, work.trial_X);
    const auto trial = compute_residual(exec, A, A_norm, work.B, work.trial_X, work.trial_R, work.magnitudes);
    const double before = outcome.errors.componentwise[0];
    Impl::keep_better<Scalar>(exec, trial, work, outcome.errors);
    if (!(outcome.errors.componentwise[0] < min_progress * before)) break;
  }
  exec.fence("lutra::driver: the basis is freed");
  return outcome;
}

#define LUTRA_REFINE_BY_GMRES(Scalar, Ordinal, Offset, Space)                                 \
  template GmresOutcome refine_by_gmres(                                                      \
      const Space&, Preconditioner<Scalar, Space>&, Transposition,                            \
      const ResidualOperator<Scalar, Ordinal, Offset, typename Space::memory_space>&, double, \
      const Kokkos::View<const RealOf<Scalar>*, typename Space::memory_space>&, double,       \
      const BackwardErrors&, const SolveWorkspace<Scalar, typename Space::memory_space>&,     \
      const MemoryBudget&);
LUTRA_FOR_EACH_MATRIX_AND_SPACE(LUTRA_REFINE_BY_GMRES)

}  // namespace lutra
