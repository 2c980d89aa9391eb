// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <sunmatrix/sunmatrix_dense.h>

#include <catch2/generators/catch_generators.hpp>
#include <limits>

#include "Lutra_SundialsTest.hpp"
#include "lutra.h"

using namespace lutra::Test;

namespace {

/// Lines 0 to n - 1 of a cyclic matrix: diagonal + i, and two entries beside it. Not symmetric.
void fill_cyclic(SUNMatrix A, double diagonal, bool ascending = true) {
  const sunindextype n = SM_NP_S(A);
  Lines lines(A);
  for (sunindextype i = 0; i < n; ++i) {
    std::vector<std::pair<sunindextype, double>> entries = {
        {i, diagonal + static_cast<double>(i)}, {(i + 1) % n, -1.5}, {(i + 4) % n, 2.0}};
    if (ascending) std::sort(entries.begin(), entries.end());
    for (const auto& [index, value] : entries) lines.add(index, value);
    lines.end_line();
  }
}

constexpr double tolerance = 1e-14;

struct System {
  explicit System(int type, sunindextype n = 12)
      : A(SUNSparseMatrix(n, n, 3 * n, type, context)),
        x(N_VNew_Serial(n, context)),
        b(N_VNew_Serial(n, context)) {
    fill_cyclic(A, 5);
    for (sunindextype i = 0; i < n; ++i) N_VGetArrayPointer(b)[i] = std::cos(static_cast<double>(i));
  }
  Context context;
  Matrix A;
  Vector x, b;
};

/// Sets up and solves, and checks the answer.
void check_solve(SUNLinearSolver S, const System& s) {
  REQUIRE(SUNLinSolSetup(S, s.A) == 0);
  REQUIRE(SUNLinSolSolve(S, s.A, s.x, s.b, 0) == 0);
  CHECK(backward_error(s.A, s.x, s.b) < tolerance);
  CHECK(SUNLinSolLastFlag(S) == 0);
  CHECK(std::string(SUNLinSol_LutraMessage(S)).empty());
}

}  // namespace

TEST_CASE("SUNDIALS: matrices by rows and by columns", "[plugins][sundials]") {
  const System s(GENERATE(CSR_MAT, CSC_MAT));
  const LinearSolver S(SUNLinSol_Lutra(s.x, s.A, s.context));
  REQUIRE(S != nullptr);
  CHECK(SUNLinSolGetType(S) == SUNLINEARSOLVER_DIRECT);
  CHECK(SUNLinSolGetID(S) == SUNLINEARSOLVER_CUSTOM);
  REQUIRE(SUNLinSolInitialize(S) == 0);
  check_solve(S, s);

  SECTION("new values, and x over b") {
    fill_cyclic(s.A, 9);
    check_solve(S, s);
    const Vector x(N_VClone(s.b));
    N_VScale(1, s.b, x);
    REQUIRE(SUNLinSolSolve(S, s.A, x, x, 0) == 0);
    CHECK(backward_error(s.A, x, s.b) < tolerance);
  }
  SECTION("a new pattern, and the first again") {
    const Matrix kept(SUNMatClone(s.A));
    SUNMatCopy(s.A, kept);
    Lines lines(s.A);  // upper bidiagonal
    for (sunindextype i = 0; i < 12; ++i) {
      lines.add(i, 3);
      if (i < 11) lines.add(i + 1, 1);
      lines.end_line();
    }
    check_solve(S, s);
    SUNMatCopy(kept, s.A);
    check_solve(S, s);
  }
  SECTION("lines that do not ascend, with new values") {
    for (const double diagonal : {5, 11}) {
      fill_cyclic(s.A, diagonal, false);
      check_solve(S, s);
    }
  }
  SECTION("a diagonal that SUNDIALS appends") {
    Lines lines(s.A);  // cyclic, without diagonal
    for (sunindextype i = 0; i < 12; ++i) {
      lines.add((i + 2) % 12, 0.5);
      lines.end_line();
    }
    REQUIRE(SUNMatScaleAddI(-1, s.A) == 0);
    check_solve(S, s);
  }
  SECTION("options, space and report") {
    REQUIRE(SUNLinSol_LutraSetOption(S, "ordering", "amd") == 0);
    check_solve(S, s);
    long reals = 0, integers = 0;
    REQUIRE(SUNLinSolSpace(S, &reals, &integers) == 0);
    CHECK(reals >= 36);
    CHECK(integers >= 49);
    const char* ordering = nullptr;
    REQUIRE(lutra_get_text(SUNLinSol_LutraHandle(S), "choice.ordering", &ordering) == LUTRA_SUCCESS);
    CHECK(std::string(ordering) == "amd");
  }
}

TEST_CASE("SUNDIALS: failures that an integrator can recover from", "[plugins][sundials]") {
  const System s(GENERATE(CSR_MAT, CSC_MAT));
  const LinearSolver S(SUNLinSol_Lutra(s.x, s.A, s.context));
  REQUIRE(S != nullptr);
  check_solve(S, s);

  int expected = 0;
  SECTION("numerically singular") {
    Lines lines(s.A);
    for (sunindextype i = 0; i < 12; ++i) {  // of a cycle: the constant vector is in the null space
      lines.add(std::min(i, (i + 1) % 12), i == 11 ? -1 : 1);
      lines.add(std::max(i, (i + 1) % 12), i == 11 ? 1 : -1);
      lines.end_line();
    }
    expected = SUNLS_LUFACT_FAIL;
  }
  SECTION("structurally singular: a line of zeros") {
    Lines lines(s.A);
    for (sunindextype i = 0; i < 12; ++i) {
      if (i != 7) lines.add(i, 1);
      lines.end_line();
    }
    expected = SUNLS_LUFACT_FAIL;
  }
  SECTION("NaN") {
    SM_DATA_S(s.A)[5] = std::numeric_limits<double>::quiet_NaN();
    expected = SUNLS_PACKAGE_FAIL_REC;
  }
  CHECK(SUNLinSolSetup(S, s.A) == expected);
  CHECK(expected > 0);
  CHECK(SUNLinSolLastFlag(S) == expected);
  CHECK(!std::string(SUNLinSol_LutraMessage(S)).empty());
  CHECK(SUNLinSolSolve(S, s.A, s.x, s.b, 0) < 0);  // the factors of the last matrix answer nothing
  CHECK(std::string(SUNLinSol_LutraMessage(S)) == "solve: there are no factors; the last setup failed");
  fill_cyclic(s.A, 5);
  check_solve(S, s);

  N_VGetArrayPointer(s.b)[3] = std::numeric_limits<double>::infinity();
  CHECK(SUNLinSolSolve(S, s.A, s.x, s.b, 0) == SUNLS_PACKAGE_FAIL_REC);
}

TEST_CASE("SUNDIALS: wrong input", "[plugins][sundials]") {
  const System s(CSR_MAT);
  const auto refused = [&](N_Vector y, SUNMatrix A, const std::string& why) {
    CHECK(SUNLinSol_Lutra(y, A, s.context) == nullptr);
    CHECK(std::string(SUNLinSol_LutraMessage(nullptr)) == why);
  };
  const Matrix dense(SUNDenseMatrix(12, 12, s.context)), wide(SUNSparseMatrix(12, 13, 5, CSR_MAT, s.context));
  refused(s.x, dense, "A is not an SUNMatrix_Sparse");
  refused(s.x, nullptr, "A is not an SUNMatrix_Sparse");
  refused(s.x, wide, "A is not square");
  const Vector other_length(N_VNew_Serial(13, s.context));
  refused(other_length, s.A,
          "y is not a serial, OpenMP or Pthreads vector of as many elements as A has rows");

  const LinearSolver S(SUNLinSol_Lutra(s.x, s.A, s.context));
  REQUIRE(S != nullptr);
  const auto check_refused = [&](int flag, const std::string& why) {
    CHECK(flag < 0);
    CHECK(flag == SUNLinSolLastFlag(S));
    INFO(SUNLinSol_LutraMessage(S));
    CHECK(std::string(SUNLinSol_LutraMessage(S)).find(why) != std::string::npos);
  };
  check_refused(SUNLinSolSolve(S, s.A, s.x, s.b, 0), "there are no factors");
  check_refused(SUNLinSolSetup(S, dense), "A is not an SUNMatrix_Sparse");
  const Matrix larger(SUNSparseMatrix(13, 13, 5, CSR_MAT, s.context));
  check_refused(SUNLinSolSetup(S, larger), "not of the size");
  SECTION("an entry twice") {
    SM_INDEXVALS_S(s.A)[1] = SM_INDEXVALS_S(s.A)[0];
    check_refused(SUNLinSolSetup(S, s.A), "row 0");
  }
  SECTION("a column outside") {
    SM_INDEXVALS_S(s.A)[4] = 100;
    check_refused(SUNLinSolSetup(S, s.A), "row 1");
  }
  SECTION("index pointers") {
    SM_INDEXPTRS_S(s.A)[12] = 1000;
    check_refused(SUNLinSolSetup(S, s.A), "index pointers");
    SM_INDEXPTRS_S(s.A)[12] = 36;
    SM_INDEXPTRS_S(s.A)[4] = 36;
    check_refused(SUNLinSolSetup(S, s.A), "descend");
  }
  SECTION("an option") {
    check_refused(SUNLinSol_LutraSetOption(S, "no_such_option", "1"), "no_such_option");
  }
  SECTION("a vector") {
    REQUIRE(SUNLinSolSetup(S, s.A) == 0);
    check_refused(SUNLinSolSolve(S, s.A, other_length, s.b, 0), "x or b");
  }
  fill_cyclic(s.A, 5);
  check_solve(S, s);
}
