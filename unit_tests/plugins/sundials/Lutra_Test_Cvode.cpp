// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// CVODE with SUNLinSol_Lutra: a reaction with diffusion, stiff kinetics, and a Newton matrix that is singular
// once.
#include <cvode/cvode.h>
#include <sunlinsol/sunlinsol_dense.h>
#include <sunmatrix/sunmatrix_dense.h>

#include <catch2/generators/catch_generators.hpp>
#include <functional>
#include <memory>

#include "Lutra_SundialsTest.hpp"

using namespace lutra::Test;

namespace {

/// y' = f(y) with the entries of its Jacobian, in any order.
struct Equations {
  sunindextype n;
  std::function<void(const double* y, double* f)> f;
  std::function<void(const double* y, const std::function<void(sunindextype, sunindextype, double)>& entry)>
      jacobian;
  std::function<bool(SUNMatrix J)>
      replace_jacobian;  ///< a test's own Jacobian; false: take that of `jacobian`
};

int right_hand_side(sunrealtype, N_Vector y, N_Vector f, void* data) {
  static_cast<const Equations*>(data)->f(N_VGetArrayPointer(y), N_VGetArrayPointer(f));
  return 0;
}

/// Entries into a dense matrix, or into sorted compressed lines.
int jacobian(sunrealtype, N_Vector y, N_Vector, SUNMatrix J, void* data, N_Vector, N_Vector, N_Vector) {
  const auto& equations = *static_cast<const Equations*>(data);
  if (equations.replace_jacobian && equations.replace_jacobian(J)) return 0;
  const auto n = static_cast<std::size_t>(equations.n);
  std::vector<std::vector<std::pair<sunindextype, double>>> lines(n);
  SUNMatZero(J);
  equations.jacobian(N_VGetArrayPointer(y), [&](sunindextype i, sunindextype j, double value) {
    if (SUNMatGetID(J) == SUNMATRIX_DENSE) {
      SM_ELEMENT_D(J, i, j) = value;
    } else {
      const bool by_rows = SM_SPARSETYPE_S(J) == CSR_MAT;
      lines[static_cast<std::size_t>(by_rows ? i : j)].emplace_back(by_rows ? j : i, value);
    }
  });
  if (SUNMatGetID(J) == SUNMATRIX_DENSE) return 0;
  Lines writer(J);
  for (auto& line : lines) {
    std::sort(line.begin(), line.end());
    for (const auto& [index, value] : line) writer.add(index, value);
    writer.end_line();
  }
  return 0;
}

struct Result {
  std::vector<double> y;
  long steps = 0, setups = 0, failures = 0;
};

void free_cvode(void* memory) {
  CVodeFree(&memory);
}

/// Integrates from 0 to t by BDF and Newton's method.
/// @param type CSR_MAT or CSC_MAT with Lutra, -1: the dense solver of SUNDIALS
/// @param make_jacobian returns `replace_jacobian`, given CVODE's memory; may be empty
Result integrate(Equations equations, const std::vector<double>& y0, double t, int type,
                 const std::function<std::function<bool(SUNMatrix)>(void*)>& make_jacobian = {}) {
  const Context context;
  const sunindextype n = equations.n;
  const Vector y(new_vector(y0, context));
  const Matrix A(type < 0 ? SUNDenseMatrix(n, n, context) : SUNSparseMatrix(n, n, 8 * n, type, context));
  const LinearSolver S(type < 0 ? SUNLinSol_Dense(y, A, context) : SUNLinSol_Lutra(y, A, context));
  REQUIRE(S != nullptr);
  const Owner<void*, free_cvode> cvode(CVodeCreate(CV_BDF, context));
  if (make_jacobian) equations.replace_jacobian = make_jacobian(cvode);
  REQUIRE(CVodeInit(cvode, right_hand_side, 0, y) == CV_SUCCESS);
  REQUIRE(CVodeSetUserData(cvode, &equations) == CV_SUCCESS);
  REQUIRE(CVodeSStolerances(cvode, 1e-8, 1e-12) == CV_SUCCESS);
  REQUIRE(CVodeSetMaxNumSteps(cvode, 100000) == CV_SUCCESS);
  REQUIRE(CVodeSetLinearSolver(cvode, S, A) == CV_SUCCESS);
  REQUIRE(CVodeSetJacFn(cvode, jacobian) == CV_SUCCESS);
  double reached = 0;
  REQUIRE(CVode(cvode, t, y, &reached, CV_NORMAL) == CV_SUCCESS);
  Result result{{N_VGetArrayPointer(y), N_VGetArrayPointer(y) + n}};
  CVodeGetNumSteps(cvode, &result.steps);
  CVodeGetNumLinSolvSetups(cvode, &result.setups);
  CVodeGetNumNonlinSolvConvFails(cvode, &result.failures);
  return result;
}

double distance(const Result& a, const Result& b) {
  double largest = 0;
  for (std::size_t i = 0; i < a.y.size(); ++i)
    largest = std::max(largest, std::abs(a.y[i] - b.y[i]) / (1 + std::abs(b.y[i])));
  return largest;
}

/// The Brusselator with diffusion on m interior points: u' = 1 + u²v - 4u + α u_xx, v' = 3u - u²v + α v_xx.
Equations brusselator(sunindextype m) {
  const double alpha = 0.02 * static_cast<double>((m + 1) * (m + 1));
  const auto value = [m](const double* y, sunindextype i, sunindextype species) {
    return i < 0 || i >= m ? (species == 0 ? 1.0 : 3.0) : y[2 * i + species];
  };
  Equations equations{2 * m, {}, {}, {}};
  equations.f = [=](const double* y, double* f) {
    for (sunindextype i = 0; i < m; ++i) {
      const double u = y[2 * i], v = y[2 * i + 1];
      f[2 * i] = 1 + u * u * v - 4 * u + alpha * (value(y, i - 1, 0) - 2 * u + value(y, i + 1, 0));
      f[2 * i + 1] = 3 * u - u * u * v + alpha * (value(y, i - 1, 1) - 2 * v + value(y, i + 1, 1));
    }
  };
  equations.jacobian = [=](const double* y, const auto& entry) {
    for (sunindextype i = 0; i < m; ++i) {
      const double u = y[2 * i], v = y[2 * i + 1];
      entry(2 * i, 2 * i, 2 * u * v - 4 - 2 * alpha);
      entry(2 * i, 2 * i + 1, u * u);
      entry(2 * i + 1, 2 * i, 3 - 2 * u * v);
      entry(2 * i + 1, 2 * i + 1, -u * u - 2 * alpha);
      for (const sunindextype species : {0, 1}) {
        if (i > 0) entry(2 * i + species, 2 * i - 2 + species, alpha);
        if (i < m - 1) entry(2 * i + species, 2 * i + 2 + species, alpha);
      }
    }
  };
  return equations;
}

/// Robertson's kinetics: rates 0.04, 1e4, 3e7; the sum of concentrations stays.
Equations robertson() {
  Equations equations{3, {}, {}, {}};
  equations.f = [](const double* y, double* f) {
    f[0] = -0.04 * y[0] + 1e4 * y[1] * y[2];
    f[2] = 3e7 * y[1] * y[1];
    f[1] = -f[0] - f[2];
  };
  equations.jacobian = [](const double* y, const auto& entry) {
    entry(0, 0, -0.04);
    entry(0, 1, 1e4 * y[2]);
    entry(0, 2, 1e4 * y[1]);
    entry(1, 0, 0.04);
    entry(1, 1, -1e4 * y[2] - 6e7 * y[1]);
    entry(1, 2, -1e4 * y[1]);
    entry(2, 1, 6e7 * y[1]);
    // (2, 2) is zero and not stored: SUNDIALS appends it to the Newton matrix
  };
  return equations;
}

}  // namespace

TEST_CASE("CVODE: the Brusselator as with a dense solver", "[plugins][sundials]") {
  constexpr sunindextype m = 40;
  std::vector<double> y0;
  for (sunindextype i = 0; i < m; ++i) {
    y0.push_back(1 + std::sin(2 * 3.141592653589793 * static_cast<double>(i + 1) / (m + 1)));
    y0.push_back(3);
  }
  const Result expected = integrate(brusselator(m), y0, 10, -1);
  const Result result = integrate(brusselator(m), y0, 10, GENERATE(CSR_MAT, CSC_MAT));
  CHECK(distance(result, expected) < 1e-6);
  CHECK(result.steps < expected.steps * 11 / 10);
  CHECK(result.setups < expected.setups * 11 / 10);
}

TEST_CASE("CVODE: Robertson's kinetics", "[plugins][sundials]") {
  const int type = GENERATE(CSR_MAT, CSC_MAT);
  const Result expected = integrate(robertson(), {1, 0, 0}, 4e6, -1);
  const Result result = integrate(robertson(), {1, 0, 0}, 4e6, type);
  CHECK(distance(result, expected) < 1e-6);
  CHECK(std::abs(result.y[0] + result.y[1] + result.y[2] - 1) < 1e-6);
  // Hairer and Wanner, Solving Ordinary Differential Equations II, have this value at t = 40.
  const Result at_40 = integrate(robertson(), {1, 0, 0}, 40, type);
  CHECK(std::abs(at_40.y[0] - 0.7158270688) < 1e-6);
}

TEST_CASE("CVODE recovers from a singular Newton matrix", "[plugins][sundials]") {
  const int type = GENERATE(CSR_MAT, CSC_MAT);
  // Once, the Jacobian is I/γ, for which I - γJ is zero.
  const auto singular_once = [](void* cvode) {
    return [cvode, done = std::make_shared<bool>(false)](SUNMatrix J) {
      if (*done) return false;
      *done = true;
      double gamma = 0;
      REQUIRE(CVodeGetCurrentGamma(cvode, &gamma) == CV_SUCCESS);
      Lines lines(J);
      for (sunindextype i = 0; i < SM_NP_S(J); ++i) {
        lines.add(i, 1 / gamma);
        lines.end_line();
      }
      return true;
    };
  };
  const Result result = integrate(robertson(), {1, 0, 0}, 40, type, singular_once);
  CHECK(result.failures >= 1);
  CHECK(std::abs(result.y[0] - 0.7158270688) < 1e-6);
}
