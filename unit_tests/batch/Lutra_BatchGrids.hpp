// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_BATCHGRIDS_HPP
#define LUTRA_BATCHGRIDS_HPP

#include <array>

#include "Lutra_BatchCases.hpp"
#include "Lutra_BatchedKrylov.hpp"

namespace lutra::Test {

inline constexpr std::size_t side = 9, n = side * side;

/// The five-point pattern of a grid with the values of −Δ.
template <class Scalar>
HostMatrix<Scalar> grid() {
  std::vector<std::vector<double>> picture(n, std::vector<double>(n, nothing));
  const auto point = [](std::size_t x, std::size_t y) { return x * side + y; };
  for (std::size_t x = 0; x < side; ++x)
    for (std::size_t y = 0; y < side; ++y) {
      picture[point(x, y)][point(x, y)] = 4;
      if (x > 0) picture[point(x, y)][point(x - 1, y)] = picture[point(x - 1, y)][point(x, y)] = -1;
      if (y > 0) picture[point(x, y)][point(x, y - 1)] = picture[point(x, y - 1)][point(x, y)] = -1;
    }
  return from_dense<HostMatrix<Scalar>>(picture);
}

/// System k is −Δ + s_k·I with convection w_k; shifts between 0 and 50 make iterations differ.
template <class Types>
BatchArray<Types> grid_values(const HostMatrix<typename Types::Scalar>& pattern, std::size_t K,
                              double convection, Storage storage = Storage::interleaved) {
  using Scalar = typename Types::Scalar;
  BatchArray<Types> values(pattern.values.size(), 1, K, storage);
  for (std::size_t k = 0; k < K; ++k) {
    const double shift = std::array{0.0, 50.0, 1.0, 0.1, 8.0}[k % 5];
    for (std::size_t i = 0; i < n; ++i)
      for (auto p = static_cast<std::size_t>(pattern.row_map[i]);
           p < static_cast<std::size_t>(pattern.row_map[i + 1]); ++p) {
        const auto j = static_cast<std::size_t>(pattern.entries[p]);
        const double turn = j > i ? convection : j < i ? -convection : shift;
        values(p, 0, k) = pattern.values[p] + as_scalar<Scalar>(turn * (1 + 0.01 * static_cast<double>(k)));
      }
  }
  values.to_device();
  return values;
}

/// ‖b − op(A)·x‖₂ / ‖b‖₂ in long double.
template <class Types>
double residual_of(const HostMatrix<typename Types::Scalar>& A, const BatchArray<Types>& B,
                   const BatchArray<Types>& X, std::size_t c, std::size_t k,
                   Transposition op = Transposition::none) {
  const auto rows = static_cast<std::size_t>(A.n_rows);
  std::vector<Long> rest(rows);
  long double size = 0, norm = 0;
  for (std::size_t i = 0; i < rows; ++i) size += std::norm(rest[i] = to_long(B(i, c, k)));
  for (std::size_t i = 0; i < rows; ++i)
    for (auto p = static_cast<std::size_t>(A.row_map[i]); p < static_cast<std::size_t>(A.row_map[i + 1]);
         ++p) {
      const auto j = static_cast<std::size_t>(A.entries[p]);
      const Long a = op == Transposition::adjoint ? std::conj(to_long(A.values[p])) : to_long(A.values[p]);
      rest[op == Transposition::none ? i : j] -= a * to_long(X(op == Transposition::none ? j : i, c, k));
    }
  for (const Long& r : rest) norm += std::norm(r);
  return static_cast<double>(std::sqrt(norm / size));
}

inline KrylovSolverOptions options_for(KrylovMethod method, Preconditioning preconditioning) {
  KrylovSolverOptions options;
  options.method = method;
  options.preconditioning = preconditioning;
  options.restart = 20;
  return options;
}

template <class Scalar>
double krylov_tolerance() {
  return sizeof(RealOf<Scalar>) == 8 ? 1e-10 : 1e-5;
}

}  // namespace lutra::Test

#endif
