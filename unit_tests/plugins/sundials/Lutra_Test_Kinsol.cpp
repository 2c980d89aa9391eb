// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// KINSOL with SUNLinSol_Lutra: a nonlinear Poisson equation.
#include <kinsol/kinsol.h>

#include <catch2/generators/catch_generators.hpp>

#include "Lutra_SundialsTest.hpp"

using namespace lutra::Test;

namespace {

/// -Δu + exp(u) = f on the unit square with u = 0 on its boundary, by five points on m × m interior ones. f
/// is chosen so that u = sin(πx) sin(πy) solves the equations between the points.
struct Poisson {
  sunindextype m;
  double spacing() const { return 1.0 / static_cast<double>(m + 1); }
  double coordinate(sunindextype i) const { return static_cast<double>(i + 1) * spacing(); }
  double exact(sunindextype k) const {
    return std::sin(pi * coordinate(k % m)) * std::sin(pi * coordinate(k / m));
  }
  double f(sunindextype k) const { return 2 * pi * pi * exact(k) + std::exp(exact(k)); }
  static constexpr double pi = 3.141592653589793;
};

int residual(N_Vector u, N_Vector r, void* data) {
  const auto& p = *static_cast<const Poisson*>(data);
  const sunrealtype* U = N_VGetArrayPointer(u);
  const double scale = 1 / (p.spacing() * p.spacing());
  for (sunindextype k = 0; k < p.m * p.m; ++k) {
    double sum = 4 * U[k];
    if (k % p.m > 0) sum -= U[k - 1];
    if (k % p.m < p.m - 1) sum -= U[k + 1];
    if (k >= p.m) sum -= U[k - p.m];
    if (k < p.m * (p.m - 1)) sum -= U[k + p.m];
    N_VGetArrayPointer(r)[k] = scale * sum + std::exp(U[k]) - p.f(k);
  }
  return 0;
}

/// The symmetric Jacobian: rows are columns.
int jacobian(N_Vector u, N_Vector, SUNMatrix J, void* data, N_Vector, N_Vector) {
  const auto& p = *static_cast<const Poisson*>(data);
  const double scale = 1 / (p.spacing() * p.spacing());
  Lines lines(J);
  for (sunindextype k = 0; k < p.m * p.m; ++k) {
    if (k >= p.m) lines.add(k - p.m, -scale);
    if (k % p.m > 0) lines.add(k - 1, -scale);
    lines.add(k, 4 * scale + std::exp(N_VGetArrayPointer(u)[k]));
    if (k % p.m < p.m - 1) lines.add(k + 1, -scale);
    if (k < p.m * (p.m - 1)) lines.add(k + p.m, -scale);
    lines.end_line();
  }
  return 0;
}

void free_kinsol(void* memory) {
  KINFree(&memory);
}

/// Solves on m × m points and returns the largest error of u.
double largest_error(sunindextype m, int type) {
  const Context context;
  Poisson p{m};
  const sunindextype n = m * m;
  const Vector u(new_vector(std::vector<double>(static_cast<std::size_t>(n), 0.0), context));
  const Vector ones(new_vector(std::vector<double>(static_cast<std::size_t>(n), 1.0), context));
  const Matrix J(SUNSparseMatrix(n, n, 5 * n, type, context));
  const LinearSolver S(SUNLinSol_Lutra(u, J, context));
  REQUIRE(S != nullptr);
  const Owner<void*, free_kinsol> kinsol(KINCreate(context));
  REQUIRE(KINInit(kinsol, residual, u) == KIN_SUCCESS);
  REQUIRE(KINSetUserData(kinsol, &p) == KIN_SUCCESS);
  REQUIRE(KINSetFuncNormTol(kinsol, 1e-9) == KIN_SUCCESS);
  REQUIRE(KINSetMaxSetupCalls(kinsol, 1) == KIN_SUCCESS);  // Newton's method, a factorization a step
  REQUIRE(KINSetMaxNewtonStep(kinsol, 1e3) == KIN_SUCCESS);
  REQUIRE(KINSetLinearSolver(kinsol, S, J) == KIN_SUCCESS);
  REQUIRE(KINSetJacFn(kinsol, jacobian) == KIN_SUCCESS);
  REQUIRE(KINSol(kinsol, u, KIN_LINESEARCH, ones, ones) == KIN_SUCCESS);
  long steps = 0;
  KINGetNumNonlinSolvIters(kinsol, &steps);
  CHECK(steps <= 6);

  const Vector r(N_VClone(u));
  residual(u, r, &p);
  double largest = 0;
  for (sunindextype k = 0; k < n; ++k) {
    CHECK(std::abs(N_VGetArrayPointer(r)[k]) < 1e-8);
    largest = std::max(largest, std::abs(N_VGetArrayPointer(u)[k] - p.exact(k)));
  }
  return largest;
}

}  // namespace

TEST_CASE("KINSOL: a nonlinear Poisson equation, with errors of second order", "[plugins][sundials]") {
  const int type = GENERATE(CSR_MAT, CSC_MAT);
  const double coarse = largest_error(15, type), fine = largest_error(31, type);
  CHECK(fine < 1e-3);
  CHECK(coarse / fine > 3.9);
  CHECK(coarse / fine < 4.1);
}

TEST_CASE("KINSOL stops at a singular Jacobian with an error", "[plugins][sundials]") {
  const Context context;
  const Vector u(new_vector({1, 1}, context)), ones(new_vector({1, 1}, context));
  const Matrix J(SUNSparseMatrix(2, 2, 4, CSR_MAT, context));
  const LinearSolver S(SUNLinSol_Lutra(u, J, context));
  const Owner<void*, free_kinsol> kinsol(KINCreate(context));
  const auto f = [](N_Vector x, N_Vector r, void*) {
    const double sum = N_VGetArrayPointer(x)[0] + N_VGetArrayPointer(x)[1];
    N_VGetArrayPointer(r)[0] = sum - 3;
    N_VGetArrayPointer(r)[1] = 2 * sum - 4;
    return 0;
  };
  const auto df = [](N_Vector, N_Vector, SUNMatrix A, void*, N_Vector, N_Vector) {
    Lines lines(A);
    for (const double value : {1.0, 2.0}) {
      lines.add(0, value);
      lines.add(1, value);
      lines.end_line();
    }
    return 0;
  };
  REQUIRE(KINInit(kinsol, f, u) == KIN_SUCCESS);
  REQUIRE(KINSetLinearSolver(kinsol, S, J) == KIN_SUCCESS);
  REQUIRE(KINSetJacFn(kinsol, df) == KIN_SUCCESS);
#if SUNDIALS_VERSION_MAJOR < 7
  KINSetErrFile(kinsol, nullptr);
#endif
  CHECK(KINSol(kinsol, u, KIN_NONE, ones, ones) < 0);
  CHECK(SUNLinSolLastFlag(S) == SUNLS_LUFACT_FAIL);
}
