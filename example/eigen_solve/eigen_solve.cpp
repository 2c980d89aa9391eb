// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Lutra in place of a solver of Eigen: implicit time steps of convection and diffusion, whose matrix changes
// its values and keeps its pattern.
#include <cstdio>
#include <lutra/Eigen.hpp>
#include <vector>

using Matrix = Eigen::SparseMatrix<double>;
using Vector = Eigen::VectorXd;

// I + dt (-u'' + speed u') on n interior points of a line, by differences.
Matrix step_matrix(int n, double dt, double speed) {
  const double h = 1.0 / (n + 1), diffusion = dt / (h * h), convection = dt * speed / (2 * h);
  std::vector<Eigen::Triplet<double>> entries;
  for (int i = 0; i < n; ++i) {
    entries.emplace_back(i, i, 1 + 2 * diffusion);
    if (i > 0) entries.emplace_back(i, i - 1, -diffusion - convection);
    if (i < n - 1) entries.emplace_back(i, i + 1, -diffusion + convection);
  }
  Matrix A(n, n);
  A.setFromTriplets(entries.begin(), entries.end());
  return A;
}

int main() {
  constexpr int n = 1000;
  Vector u = Vector::Ones(n);

  Lutra::SparseLU<Matrix> solver;
  solver.setOption("ordering", "amd");
  solver.analyzePattern(step_matrix(n, 0.01, 0));
  for (int step = 1; step <= 20; ++step) {
    const Matrix A = step_matrix(n, 0.01, step);
    const Vector before = u;
    solver.factorize(A);
    u = solver.solve(u);
    if (solver.info() != Eigen::Success) {
      std::printf("step %d: %s\n", step, solver.lastErrorMessage().c_str());
      return 1;
    }
    if ((before - A * u).norm() > 1e-14 * A.norm() * u.norm()) return 1;
  }

  // The adjoint equations have the transposed matrix, and need no other factors.
  const Matrix A = step_matrix(n, 0.01, 20);
  const Vector weights = Vector::Constant(n, 1.0 / n);
  const Vector adjoint = solver.transpose().solve(weights);
  if ((weights - A.transpose() * adjoint).norm() > 1e-14 * A.norm() * adjoint.norm()) return 1;

  std::printf("mean of u: %.6f\n", weights.dot(u));
  return 0;
}
