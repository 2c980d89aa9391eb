// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_REFINEMENTKERNELS_HPP
#define LUTRA_REFINEMENTKERNELS_HPP

#include <Kokkos_Core.hpp>

#include <cmath>

#include "Lutra_Refinement.hpp"

namespace lutra::Impl {

template <class ExecutionSpace, class Rows>
Kokkos::RangePolicy<ExecutionSpace> all_rows(const ExecutionSpace& exec, const Rows& X) {
  return Kokkos::RangePolicy<ExecutionSpace>(exec, 0, static_cast<std::int64_t>(X.extent(0)));
}

/// Y += factor·X, all columns.
template <class ExecutionSpace, class Scalar, class Rows>
void add_multiple(const ExecutionSpace& exec, const Scalar& factor, const Rows& X, const Rows& Y) {
  const std::size_t columns = X.extent(1);
  Kokkos::parallel_for(
      "lutra::driver::add_multiple", all_rows(exec, X), KOKKOS_LAMBDA(const std::int64_t i) {
        for (std::size_t c = 0; c < columns; ++c) Y(i, c) += factor * X(i, c);
      });
}

/// X *= factor, the first column.
template <class ExecutionSpace, class Scalar, class Rows>
void multiply_by(const ExecutionSpace& exec, const Scalar& factor, const Rows& X) {
  Kokkos::parallel_for(
      "lutra::driver::multiply_by", all_rows(exec, X),
      KOKKOS_LAMBDA(const std::int64_t i) { X(i, 0) *= factor; });
}

/// Y = scale·X, the first column.
template <class ExecutionSpace, class Scale, class Rows>
void scale_rows(const ExecutionSpace& exec, const Scale& scale, const Rows& X, const Rows& Y) {
  Kokkos::parallel_for(
      "lutra::driver::scale_rows", all_rows(exec, X),
      KOKKOS_LAMBDA(const std::int64_t i) { Y(i, 0) = X(i, 0) * scale(i); });
}

/// Y = X / scale, the first column.
template <class ExecutionSpace, class Scale, class Rows>
void unscale_rows(const ExecutionSpace& exec, const Scale& scale, const Rows& X, const Rows& Y) {
  Kokkos::parallel_for(
      "lutra::driver::unscale_rows", all_rows(exec, X),
      KOKKOS_LAMBDA(const std::int64_t i) { Y(i, 0) = X(i, 0) / scale(i); });
}

/// Xᴴ·Y of the first columns. Fences.
template <class ExecutionSpace, class Rows>
typename Rows::value_type dot(const ExecutionSpace& exec, const Rows& X, const Rows& Y) {
  using Scalar = typename Rows::value_type;
  Scalar result{};
  Kokkos::parallel_reduce(
      "lutra::driver::dot", all_rows(exec, X),
      KOKKOS_LAMBDA(const std::int64_t i, Scalar& sum) {
        sum += ScalarTraits<Scalar>::conjugate(X(i, 0)) * Y(i, 0);
      },
      result);
  return result;
}

/// ‖X‖₂ of the first column. Fences.
template <class ExecutionSpace, class Rows>
RealOf<typename Rows::value_type> norm_two(const ExecutionSpace& exec, const Rows& X) {
  return std::sqrt(ScalarTraits<typename Rows::value_type>::magnitude(dot(exec, X, X)));
}

/// Y = op(A)·X, the first column.
template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
void multiply(const ExecutionSpace& exec,
              const ResidualOperator<Scalar, Ordinal, Offset, typename ExecutionSpace::memory_space>& A,
              const DenseRows<Scalar, typename ExecutionSpace::memory_space>& X,
              const DenseRows<Scalar, typename ExecutionSpace::memory_space>& Y) {
  Kokkos::parallel_for(
      "lutra::driver::multiply", all_rows(exec, X), KOKKOS_LAMBDA(const std::int64_t i) {
        Scalar sum{};
        for (Offset p = A.pattern.row_map(i); p < A.pattern.row_map(i + 1); ++p) {
          sum += A.value(p) * X(A.pattern.entries(p), 0);
        }
        Y(i, 0) = sum;
      });
}

/// Copies one column.
template <class ExecutionSpace, class Rows>
void copy_column(const ExecutionSpace& exec, const Rows& from, std::size_t from_column, const Rows& to,
                 std::size_t to_column) {
  Kokkos::parallel_for(
      "lutra::driver::copy_column", all_rows(exec, to),
      KOKKOS_LAMBDA(const std::int64_t i) { to(i, to_column) = from(i, from_column); });
}

/// Keeps the columns of the trial that are better; true if one of them has at most half its former error.
template <class Scalar, class ExecutionSpace>
bool keep_better(const ExecutionSpace& exec, const BackwardErrors& trial,
                 const SolveWorkspace<Scalar, typename ExecutionSpace::memory_space>& work,
                 BackwardErrors& errors) {
  bool progress = false;
  for (std::size_t c = 0; c < errors.componentwise.size(); ++c) {
    if (!(trial.componentwise[c] < errors.componentwise[c])) continue;
    progress = progress || trial.componentwise[c] <= 0.5 * errors.componentwise[c];
    errors.componentwise[c] = trial.componentwise[c];
    errors.normwise[c] = trial.normwise[c];
    copy_column(exec, work.trial_X, c, work.X, c);
    copy_column(exec, work.trial_R, c, work.R, c);
  }
  return progress;
}

}  // namespace lutra::Impl

#endif
