// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <catch2/matchers/catch_matchers_vector.hpp>

#include "Lutra_PetscTest.hpp"

using namespace lutra::Test;
using Catch::Matchers::Approx;
using Catch::Matchers::ContainsSubstring;

namespace {

constexpr double small = 1e-15 * 4;  // componentwise backward error of a refined solution

/// Text between two others, such as a value of JSON.
std::string between(const std::string& text, const std::string& start, const std::string& end) {
  const auto first = text.find(start);
  REQUIRE(first != std::string::npos);
  const auto last = text.find(end, first + start.size());
  REQUIRE(last != std::string::npos);
  return text.substr(first + start.size(), last - first - start.size());
}

/// Times of the analysis of a factored Mat, as the report prints them.
std::string analysis_times(Mat F) {
  const std::string report = viewed(F, PETSC_VIEWER_ASCII_INFO_DETAIL);
  std::string times;
  for (const char* stage : {"matching", "ordering", "symbolic"})
    times += between(report, "\"" + std::string(stage) + "\"", ",") + ";";
  return times;
}

/// Columns of right-hand sides or solutions, further apart than their length.
struct Dense {
  Dense(PetscInt n, PetscInt count, PetscInt distance) {
    done(MatCreate(PETSC_COMM_SELF, &mat));
    done(MatSetSizes(mat, n, count, n, count));
    done(MatSetType(mat, MATSEQDENSE));
    done(MatDenseSetLDA(mat, distance));
    done(MatSetUp(mat));
  }
  Dense(const Dense&) = delete;
  Dense& operator=(const Dense&) = delete;
  ~Dense() { MatDestroy(&mat); }
  operator Mat() const { return mat; }
  void set(PetscInt column, const std::vector<PetscScalar>& values) const {
    PetscScalar* array = nullptr;
    done(MatDenseGetColumn(mat, column, &array));
    std::copy(values.begin(), values.end(), array);
    done(MatDenseRestoreColumn(mat, &array));
    done(MatAssemblyBegin(mat, MAT_FINAL_ASSEMBLY));
    done(MatAssemblyEnd(mat, MAT_FINAL_ASSEMBLY));
  }
  std::vector<PetscScalar> get(PetscInt column, PetscInt n) const {
    PetscScalar* array = nullptr;
    done(MatDenseGetColumn(mat, column, &array));
    std::vector<PetscScalar> values(array, array + n);
    done(MatDenseRestoreColumn(mat, &array));
    return values;
  }
  Mat mat = nullptr;
};

}  // namespace

TEST_CASE("LU of PETSc by Lutra: a matrix of order two, by hand") {
  Entries A{2};
  A.add(0, 0, 2);
  A.add(0, 1, 1);
  A.add(1, 0, 4);
  A.add(1, 1, 3);
  const Matrix matrix(A);
  Solver solver(matrix);
  CHECK_THAT(solver.solve({4, 10}), Approx(std::vector<PetscScalar>{1, 2}));
  CHECK(solver.reason() == KSP_CONVERGED_ITS);
  const Factored F(matrix, MAT_FACTOR_LU);
  Factored(matrix, MAT_FACTOR_LU).factorize(matrix);  // destroyed at once
  const Vector b({10, 7}), x(2);
  Factored G(matrix, MAT_FACTOR_LU);
  G.factorize(matrix);
  done(MatSolveTranspose(G, b, x));
  CHECK_THAT(x.values(), Approx(std::vector<PetscScalar>{1, 2}));
}

TEST_CASE("LU of PETSc by Lutra: solutions, transposed solutions, several right-hand sides") {
  const PetscInt n = 900, count = 3;
  const Entries A = convection_diffusion(30, 0.4);
  const Matrix matrix(A);
  Factored F(matrix, MAT_FACTOR_LU);
  F.factorize(matrix);
  const Vector b(ramp(n)), x(n);
  done(MatSolve(F, b, x));
  CHECK(backward_error(A, x.values(), ramp(n)) < small);
  done(MatSolveTranspose(F, b, x));
  CHECK(backward_error(A, x.values(), ramp(n), true) < small);

  const Dense B(n, count, n + 5), X(n, count, n + 2);
  std::vector<std::vector<PetscScalar>> columns(count, ramp(n));
  for (PetscInt j = 0; j < count; ++j) {
    columns[static_cast<std::size_t>(j)][static_cast<std::size_t>(j)] += 100;
    B.set(j, columns[static_cast<std::size_t>(j)]);
    X.set(j, ramp(n));
  }
  done(MatMatSolve(F, B, X));
  for (PetscInt j = 0; j < count; ++j)
    CHECK(backward_error(A, X.get(j, n), columns[static_cast<std::size_t>(j)]) < small);
  done(MatMatSolveTranspose(F, B, X));
  for (PetscInt j = 0; j < count; ++j)
    CHECK(backward_error(A, X.get(j, n), columns[static_cast<std::size_t>(j)], true) < small);
}

TEST_CASE("LU of PETSc by Lutra: new values on the same pattern are factorized without a new analysis") {
  const PetscInt n = 400;
  Matrix matrix(convection_diffusion(20, 0.1));
  Solver solver(matrix);
  CHECK(backward_error(convection_diffusion(20, 0.1), solver.solve(ramp(n)), ramp(n)) < small);
  CHECK_THAT(viewed(solver.factor()), ContainsSubstring("factorizations with this analysis: 1\n"));
  const std::string first = analysis_times(solver.factor());
  for (const double c : {0.2, 0.3}) {
    matrix.set(convection_diffusion(20, c));
    CHECK(backward_error(convection_diffusion(20, c), solver.solve(ramp(n)), ramp(n)) < small);
  }
  CHECK_THAT(viewed(solver.factor()), ContainsSubstring("factorizations with this analysis: 3\n"));
  CHECK(analysis_times(solver.factor()) == first);

  Entries other = convection_diffusion(20, 0.2);
  other.add(0, n - 1, 0.5);
  const Matrix wider(other);
  done(KSPSetOperators(solver, wider, wider));
  CHECK(backward_error(other, solver.solve(ramp(n)), ramp(n)) < small);
  CHECK_THAT(viewed(solver.factor()), ContainsSubstring("factorizations with this analysis: 1\n"));
}

TEST_CASE("Cholesky of PETSc by Lutra: inertia of a saddle point") {
  const Entries A = saddle_point(40, 10);
  const auto solve_and_count = [&](const Matrix& matrix) {
    Factored F(matrix, MAT_FACTOR_CHOLESKY);
    F.factorize(matrix);
    PetscInt negative = -1, zero = -1, positive = -1;
    done(MatGetInertia(F, &negative, &zero, &positive));
    CHECK(negative == 10);
    CHECK(zero == 0);
    CHECK(positive == 40);
    const Vector b(ramp(50)), x(50);
    done(MatSolve(F, b, x));
    CHECK(backward_error(A, x.values(), ramp(50)) < small);
    done(MatSolveTranspose(F, b, x));
    CHECK(backward_error(A, x.values(), ramp(50)) < small);
    CHECK_THAT(viewed(F), ContainsSubstring("method ldlt"));
  };
  solve_and_count(Matrix(A));
  solve_and_count(Matrix(A, 1));
  solve_and_count(Matrix(A, 2));  // blocks
}

TEST_CASE("Cholesky of PETSc by Lutra: of MATSEQAIJ the upper triangle is read") {
  const Entries A = saddle_point(12, 4);
  Entries changed = A;
  for (std::size_t p = 0; p < A.values.size(); ++p)
    if (A.rows[p] > A.columns[p]) changed.values[p] = 77;
  const Matrix matrix(changed);
  Solver solver(matrix, KSPPREONLY, PCCHOLESKY);
  CHECK(backward_error(A, solver.solve(ramp(16)), ramp(16)) < small);
}

TEST_CASE("Cholesky of PETSc by Lutra: without pivoting where PETSc knows that A is positive definite") {
  const Entries A = convection_diffusion(12, 0);
  const Matrix matrix(A);
  done(MatSetOption(matrix, MAT_SPD, PETSC_TRUE));
  Solver solver(matrix, KSPPREONLY, PCCHOLESKY);
  CHECK(backward_error(A, solver.solve(ramp(144)), ramp(144)) < small);
  CHECK_THAT(viewed(solver.factor()), ContainsSubstring("method cholesky"));
  PetscInt negative = -1, zero = -1, positive = -1;
  done(MatGetInertia(solver.factor(), &negative, &zero, &positive));
  CHECK(std::vector<PetscInt>{negative, zero, positive} == std::vector<PetscInt>{0, 0, 144});
}

TEST_CASE("Two matrices at once, created and destroyed in turns") {
  const Entries A = convection_diffusion(15, 0.3), B = saddle_point(100, 30);
  const Matrix first(A), second(B);
  for (int turn = 0; turn < 3; ++turn) {
    Solver one(first), two(second);
    const auto x = one.solve(ramp(225));
    const auto y = two.solve(ramp(130));
    CHECK(backward_error(A, x, ramp(225)) < small);
    CHECK(backward_error(B, y, ramp(130)) < small);
    CHECK(one.solve(ramp(225)) == x);
  }
}

TEST_CASE("Options of the database reach Lutra, each by its prefix") {
  const Entries A = convection_diffusion(12, 0.2);
  const Matrix matrix(A);
  const Option ordering("-mat_lutra_ordering", "metis"), of_other("-other_mat_lutra_ordering", "natural");
  Solver solver(matrix), other(matrix, KSPPREONLY, PCLU, "other_");
  CHECK(backward_error(A, solver.solve(ramp(144)), ramp(144)) < small);
  CHECK(backward_error(A, other.solve(ramp(144)), ramp(144)) < small);
  CHECK_THAT(viewed(solver.factor()), ContainsSubstring("ordering metis"));
  CHECK_THAT(viewed(other.factor()), ContainsSubstring("ordering natural"));
  PetscBool used = PETSC_FALSE;
  done(PetscOptionsUsed(nullptr, "mat_lutra_ordering", &used));
  CHECK(used == PETSC_TRUE);
}

TEST_CASE("PETSc keeps its own solvers beside Lutra") {
  const Matrix matrix(convection_diffusion(4, 0));
  for (const char* solver : {"petsc", "lutra"}) {
    PetscBool found = PETSC_FALSE;
    done(MatGetFactorAvailable(matrix, solver, MAT_FACTOR_LU, &found));
    CHECK(found == PETSC_TRUE);
  }
}

TEST_CASE("MatView and MatGetInfo of factors") {
  const Matrix matrix(convection_diffusion(12, 0.2));
  Solver solver(matrix);
  solver.solve(ramp(144));
  const std::string text = viewed(solver.factor());
  CHECK_THAT(text, ContainsSubstring("package used to perform factorization: lutra\n"));
  CHECK_THAT(text, ContainsSubstring("pivots: 0 perturbed, 0 delayed, 0 of order two, 0 zero\n"));
  CHECK_THAT(text, ContainsSubstring("last solution: componentwise backward error "));
  CHECK_THAT(text, ContainsSubstring("status: success\n"));
  MatInfo info;
  done(MatGetInfo(solver.factor(), MAT_LOCAL, &info));
  CHECK(info.nz_used > 5 * 144);
  CHECK(info.fill_ratio_needed > 1);
  CHECK_THAT(viewed(solver.factor(), PETSC_VIEWER_ASCII_INFO_DETAIL),
             ContainsSubstring("\"status\": \"success\""));
}
