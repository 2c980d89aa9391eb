// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_BackwardError.hpp"

#include "Lutra_Instantiate.hpp"

namespace lutra {
namespace {

/// Largest ratio of residual to magnitude, and largest magnitudes of residual, solution and right-hand side.
struct ColumnMaxima {
  double ratio = 0, residual = 0, solution = 0, right_side = 0;
};

/// Reads one column; everything not finite becomes infinity, so that no comparison can lose it.
template <class Scalar, class ExecutionSpace>
ColumnMaxima column_maxima(
    const ExecutionSpace& exec, std::size_t c,
    const DenseRows<Scalar, typename ExecutionSpace::memory_space>& B,
    const DenseRows<Scalar, typename ExecutionSpace::memory_space>& X,
    const DenseRows<Scalar, typename ExecutionSpace::memory_space>& R,
    const DenseRows<RealOf<Scalar>, typename ExecutionSpace::memory_space>& magnitudes) {
  ColumnMaxima maxima;
  constexpr double infinity = Kokkos::Experimental::infinity_v<double>;
  Kokkos::parallel_reduce(
      "lutra::driver::backward_error",
      Kokkos::RangePolicy<ExecutionSpace>(exec, 0, static_cast<std::int64_t>(X.extent(0))),
      KOKKOS_LAMBDA(const std::int64_t i, double& ratio, double& residual, double& solution,
                    double& right_side) {
        const auto r = static_cast<double>(ScalarTraits<Scalar>::magnitude(R(i, c)));
        const auto x = static_cast<double>(ScalarTraits<Scalar>::magnitude(X(i, c)));
        const auto b = static_cast<double>(ScalarTraits<Scalar>::magnitude(B(i, c)));
        const auto size = static_cast<double>(magnitudes(i, c));
        const bool finite = Kokkos::isfinite(r) && Kokkos::isfinite(x) && Kokkos::isfinite(size);
        const double quotient = !finite ? infinity : (r == 0 ? 0.0 : r / size);
        ratio = quotient > ratio ? quotient : ratio;
        residual = !finite ? infinity : (r > residual ? r : residual);
        solution = x > solution ? x : solution;
        right_side = b > right_side ? b : right_side;
      },
      Kokkos::Max<double>(maxima.ratio), Kokkos::Max<double>(maxima.residual),
      Kokkos::Max<double>(maxima.solution), Kokkos::Max<double>(maxima.right_side));
  return maxima;
}

}  // namespace

template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
double norm_inf(const ExecutionSpace& exec,
                const ResidualOperator<Scalar, Ordinal, Offset, typename ExecutionSpace::memory_space>& A) {
  double norm = 0;
  Kokkos::parallel_reduce(
      "lutra::driver::norm_inf", Kokkos::RangePolicy<ExecutionSpace>(exec, 0, A.pattern.n_rows),
      KOKKOS_LAMBDA(const Ordinal i, double& most) {
        double sum = 0;
        for (Offset p = A.pattern.row_map(i); p < A.pattern.row_map(i + 1); ++p) {
          sum += static_cast<double>(ScalarTraits<Scalar>::magnitude(A.value(p)));
        }
        if (sum > most) most = sum;
      },
      Kokkos::Max<double>(norm));
  return norm;
}

template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
BackwardErrors compute_residual(
    const ExecutionSpace& exec,
    const ResidualOperator<Scalar, Ordinal, Offset, typename ExecutionSpace::memory_space>& A, double A_norm,
    const DenseRows<Scalar, typename ExecutionSpace::memory_space>& B,
    const DenseRows<Scalar, typename ExecutionSpace::memory_space>& X,
    const DenseRows<Scalar, typename ExecutionSpace::memory_space>& R,
    const DenseRows<RealOf<Scalar>, typename ExecutionSpace::memory_space>& magnitudes) {
  const std::size_t n_rhs = X.extent(1);
  Kokkos::parallel_for(
      "lutra::driver::residual", Kokkos::RangePolicy<ExecutionSpace>(exec, 0, A.pattern.n_rows),
      KOKKOS_LAMBDA(const Ordinal i) {
        for (std::size_t c = 0; c < n_rhs; ++c) {
          Scalar rest = B(i, c);
          RealOf<Scalar> size = ScalarTraits<Scalar>::magnitude(B(i, c));
          for (Offset p = A.pattern.row_map(i); p < A.pattern.row_map(i + 1); ++p) {
            const Scalar a = A.value(p);
            const Scalar x = X(A.pattern.entries(p), c);
            rest -= a * x;
            size += ScalarTraits<Scalar>::magnitude(a) * ScalarTraits<Scalar>::magnitude(x);
          }
          R(i, c) = rest;
          magnitudes(i, c) = size;
        }
      });
  BackwardErrors errors;
  for (std::size_t c = 0; c < n_rhs; ++c) {
    const ColumnMaxima maxima = column_maxima<Scalar>(exec, c, B, X, R, magnitudes);
    errors.componentwise.push_back(maxima.ratio);
    const double scale = A_norm * maxima.solution + maxima.right_side;
    errors.normwise.push_back(maxima.residual == 0 ? 0 : maxima.residual / scale);
  }
  return errors;
}

#define LUTRA_BACKWARD_ERROR(Scalar, Ordinal, Offset, Space)                                                \
  template double norm_inf<Scalar, Ordinal, Offset, Space>(                                                 \
      const Space&, const ResidualOperator<Scalar, Ordinal, Offset, typename Space::memory_space>&);        \
  template BackwardErrors compute_residual<Scalar, Ordinal, Offset, Space>(                                 \
      const Space&, const ResidualOperator<Scalar, Ordinal, Offset, typename Space::memory_space>&, double, \
      const DenseRows<Scalar, typename Space::memory_space>&,                                               \
      const DenseRows<Scalar, typename Space::memory_space>&,                                               \
      const DenseRows<Scalar, typename Space::memory_space>&,                                               \
      const DenseRows<RealOf<Scalar>, typename Space::memory_space>&);
LUTRA_FOR_EACH_MATRIX_AND_SPACE(LUTRA_BACKWARD_ERROR)

}  // namespace lutra
