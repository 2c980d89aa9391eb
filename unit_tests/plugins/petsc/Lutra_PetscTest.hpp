// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_PETSCTEST_HPP
#define LUTRA_PETSCTEST_HPP

#include <petscksp.h>

#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <string>
#include <vector>

namespace lutra::Test {

/// Runs a call of PETSc that must succeed.
inline void done(PetscErrorCode code) {
  REQUIRE(static_cast<int>(code) == 0);
}

/// A matrix by entries, kept apart from PETSc: residuals are computed with it.
struct Entries {
  PetscInt n = 0;
  std::vector<PetscInt> rows{}, columns{};
  std::vector<PetscScalar> values{};

  void add(PetscInt row, PetscInt column, PetscScalar value) {
    rows.push_back(row);
    columns.push_back(column);
    values.push_back(value);
  }
};

/// Differences for -u'' - u'' + c(x)·u' on a square of k × k points; with c = 0 symmetric positive definite.
Entries convection_diffusion(PetscInt k, double c);
/// [H B'; B 0] with H positive definite of order n, B of full rank with m rows: n positive, m negative
/// eigenvalues.
Entries saddle_point(PetscInt n, PetscInt m);

/// A Mat that is destroyed at the end of its scope.
struct Matrix {
  explicit Matrix(const Entries& A);
  /// The upper triangle by blocks, as MATSEQSBAIJ.
  Matrix(const Entries& A, PetscInt block);
  Matrix(const Matrix&) = delete;
  Matrix& operator=(const Matrix&) = delete;
  ~Matrix() { MatDestroy(&mat); }
  operator Mat() const { return mat; }
  /// New values on the same pattern.
  void set(const Entries& A);
  Mat mat = nullptr;
};

struct Vector {
  explicit Vector(const std::vector<PetscScalar>& values);
  explicit Vector(PetscInt n) : Vector(std::vector<PetscScalar>(static_cast<std::size_t>(n))) {}
  Vector(const Vector&) = delete;
  Vector& operator=(const Vector&) = delete;
  ~Vector() { VecDestroy(&vec); }
  operator Vec() const { return vec; }
  std::vector<PetscScalar> values() const;
  Vec vec = nullptr;
};

/// A factored Mat of the package.
struct Factored {
  Factored(Mat A, MatFactorType type) { done(MatGetFactor(A, "lutra", type, &mat)); }
  Factored(const Factored&) = delete;
  Factored& operator=(const Factored&) = delete;
  ~Factored() { MatDestroy(&mat); }
  operator Mat() const { return mat; }
  PetscErrorCode symbolic(Mat A);
  PetscErrorCode numeric(Mat A);
  void factorize(Mat A) {
    done(symbolic(A));
    done(numeric(A));
  }
  MatFactorError error() const;
  Mat mat = nullptr;
};

/// A KSP that factorizes with the package.
struct Solver {
  explicit Solver(Mat A, const char* method = KSPPREONLY, const char* preconditioner = PCLU,
                  const char* prefix = nullptr);
  Solver(const Solver&) = delete;
  Solver& operator=(const Solver&) = delete;
  ~Solver() { KSPDestroy(&ksp); }
  operator KSP() const { return ksp; }
  std::vector<PetscScalar> solve(const std::vector<PetscScalar>& b);
  KSPConvergedReason reason() const;
  PCFailedReason failure() const;
  Mat factor() const;
  KSP ksp = nullptr;
};

/// An option of the options database, for the time of a scope.
struct Option {
  Option(std::string key, const char* value) : m_key(std::move(key)) {
    done(PetscOptionsSetValue(nullptr, m_key.c_str(), value));
  }
  Option(const Option&) = delete;
  Option& operator=(const Option&) = delete;
  ~Option() { PetscOptionsClearValue(nullptr, m_key.c_str()); }

 private:
  std::string m_key;
};

/// Message of the first error of PETSc in a scope, in which errors are only returned.
struct Errors {
  Errors() { PetscPushErrorHandler(keep, this); }
  Errors(const Errors&) = delete;
  Errors& operator=(const Errors&) = delete;
  ~Errors() { PetscPopErrorHandler(); }
  std::string message{};

 private:
  static PetscErrorCode keep(MPI_Comm, int, const char*, const char*, PetscErrorCode code, PetscErrorType,
                             const char* message, void* self);
};

/// What MatView prints of a factored Mat in a format.
std::string viewed(Mat F, PetscViewerFormat format = PETSC_VIEWER_ASCII_INFO);

std::vector<PetscScalar> ramp(PetscInt n);
/// Largest |b - A·x|ᵢ / (|A|·|x| + |b|)ᵢ, or with Aᵀ.
double backward_error(const Entries& A, const std::vector<PetscScalar>& x, const std::vector<PetscScalar>& b,
                      bool transposed = false);

}  // namespace lutra::Test

#endif
