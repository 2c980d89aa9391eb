// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Implicit Euler for u' = K(t)·u + f with a Krylov method in each step. A kernel of the application
// multiplies by the matrix. Entries are written only for the incomplete factors, whose pattern is found once
// and whose values are renewed every few steps. Each step starts from the previous solution.
#include <Kokkos_Core.hpp>

#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "Lutra_Krylov.hpp"
#include "Lutra_SparseILU.hpp"

using Space = Kokkos::DefaultExecutionSpace;
using Ilu = lutra::SparseILU<double>;
using Matrix = Ilu::matrix_type;
using Operator = lutra::LinearOperator<double, Space>;
using Rows = Operator::Rows;  // [n × 1] here

// I - dt·K(t) on a grid of m × m points: diffusion, and a wind along x that grows with time. Row i has the
// neighbours below, left, itself, right and above.
struct Stencil {
  int m = 0;
  double scale = 0, wind = 0;

  static Stencil at(int m, double dt, double t) { return {m, dt * (m + 1) * (m + 1), 0.5 * t}; }
  KOKKOS_FUNCTION int column(int i, int k) const {  // the k-th of five neighbours, or -1
    const int x = i % m, y = i / m;
    if (k == 0) return y > 0 ? i - m : -1;
    if (k == 1) return x > 0 ? i - 1 : -1;
    if (k == 2) return i;
    if (k == 3) return x < m - 1 ? i + 1 : -1;
    return y < m - 1 ? i + m : -1;
  }
  KOKKOS_FUNCTION double value(int k) const {
    return k == 2 ? 1 + scale * (4 + wind) : (k == 1 ? -scale * (1 + wind) : -scale);
  }
};

// The operator for the Krylov method: Y = A·X without stored entries.
class StencilOperator final : public Operator {
 public:
  explicit StencilOperator(int m) : m_stencil{m} {}
  void set(const Stencil& stencil) { m_stencil = stencil; }
  std::int64_t size() const override { return std::int64_t(m_stencil.m) * m_stencil.m; }
  void apply(const Space& exec, const Rows& X, const Rows& Y) const override {
    const Stencil stencil = m_stencil;
    Kokkos::parallel_for(
        "apply", Kokkos::RangePolicy<Space>(exec, 0, static_cast<int>(size())), KOKKOS_LAMBDA(int i) {
          double sum = 0;
          for (int k = 0; k < 5; ++k) {
            if (stencil.column(i, k) >= 0) sum += stencil.value(k) * X(stencil.column(i, k), 0);
          }
          Y(i, 0) = sum;
        });
  }

 private:
  Stencil m_stencil;
};

// Row map and columns. `fill` computes the values.
Matrix make_pattern(const Stencil& grid, const Kokkos::View<double*, Space>& values) {
  const int n = grid.m * grid.m;
  Kokkos::View<std::int64_t*, Space> row_map("row_map", n + 1);
  Kokkos::parallel_scan(
      "row_map", Kokkos::RangePolicy<Space>(0, n), KOKKOS_LAMBDA(int i, std::int64_t& sum, bool last) {
        for (int k = 0; k < 5; ++k) sum += grid.column(i, k) >= 0;
        if (last) row_map(i + 1) = sum;
      });
  Kokkos::View<int*, Space> entries("entries", values.extent(0));
  Kokkos::parallel_for(
      "entries", Kokkos::RangePolicy<Space>(0, n), KOKKOS_LAMBDA(int i) {
        std::int64_t position = row_map(i);
        for (int k = 0; k < 5; ++k) {
          if (grid.column(i, k) >= 0) entries(position++) = grid.column(i, k);
        }
      });
  return {n, n, row_map, entries, values};
}

void fill(const Stencil& stencil, const Matrix& A, const Kokkos::View<double*, Space>& values) {
  Kokkos::parallel_for(
      "values", Kokkos::RangePolicy<Space>(0, A.n_rows), KOKKOS_LAMBDA(int i) {
        std::int64_t position = A.row_map(i);
        for (int k = 0; k < 5; ++k) {
          if (stencil.column(i, k) >= 0) values(position++) = stencil.value(k);
        }
      });
}

// The solution of the discrete equations, at point i and time t.
KOKKOS_INLINE_FUNCTION double exact(int i, double t) {
  return (1 + t) * (1 + (i % 11) / 5.0);
}

void set_exact(const Rows& u, double t) {
  Kokkos::parallel_for(
      "exact", Kokkos::RangePolicy<Space>(0, static_cast<int>(u.extent(0))),
      KOKKOS_LAMBDA(int i) { u(i, 0) = exact(i, t); });
}

// b = u + dt·f for the f that makes `exact` the solution: u - exact(t - dt) + A·exact(t). b holds A·exact(t).
void add_source(const Rows& u, const Rows& b, double t_before) {
  Kokkos::parallel_for(
      "source", Kokkos::RangePolicy<Space>(0, static_cast<int>(u.extent(0))),
      KOKKOS_LAMBDA(int i) { b(i, 0) += u(i, 0) - exact(i, t_before); });
}

double largest_error(const Rows& u, double t) {
  double error = 0;
  Kokkos::parallel_reduce(
      "error", Kokkos::RangePolicy<Space>(0, static_cast<int>(u.extent(0))),
      KOKKOS_LAMBDA(int i, double& maximum) {
        const double difference = Kokkos::abs(u(i, 0) - exact(i, t));
        if (!(difference <= maximum)) maximum = difference;  // NaN is an error
      },
      Kokkos::Max<double>(error));
  return error;
}

int main(int argc, char* argv[]) {
  Kokkos::ScopeGuard kokkos(argc, argv);
  const Space exec;
  const int m = 60, n = m * m, steps = 12, steps_of_factors = 4;
  const double dt = 0.01;
  Rows u("u", n, 1), b("b", n, 1), v("v", n, 1);
  Kokkos::View<double*, Space> values("values", 5 * n - 4 * m);
  const Matrix A = make_pattern(Stencil{m}, values);
  StencilOperator product(m);

  Ilu ilu;  // ILU(0)
  const auto method = lutra::make_krylov_iteration<double>(exec, lutra::KrylovMethod::bicgstab,
                                                           static_cast<std::size_t>(n), 1, 0, {});
  set_exact(u, 0);
  int iterations = 0;
  for (int step = 1; step <= steps; ++step) {
    const double t = step * dt;
    const Stencil stencil = Stencil::at(m, dt, t);
    product.set(stencil);
    if (step % steps_of_factors == 1) {
      fill(stencil, A, values);
      lutra::Status status = step == 1 ? ilu.analyze(A) : lutra::Status::success;
      if (status == lutra::Status::success) status = ilu.factorize(A);
      if (status != lutra::Status::success) {
        std::printf("step %d: %s\n", step, lutra::describe(ilu.report()).c_str());
        return EXIT_FAILURE;
      }
    }
    set_exact(v, t);
    product.apply(exec, v, b);
    add_source(u, b, t - dt);
    const auto outcome =
        method->solve(exec, product, &ilu.factorization(), lutra::Transposition::none, b, u, {})[0];
    if (outcome.stop != lutra::KrylovStop::converged) {
      std::printf("step %d: relative residual %.1e after %d iterations\n", step, outcome.residual,
                  outcome.iterations);
      return EXIT_FAILURE;
    }
    iterations += outcome.iterations;
  }
  const double error = largest_error(u, steps * dt);
  std::printf("%d steps, %.1f iterations a step, error of the solution %.1e\n", steps,
              double(iterations) / steps, error);
  return error < 1e-6 ? EXIT_SUCCESS : EXIT_FAILURE;
}
