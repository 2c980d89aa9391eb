// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_PetscTest.hpp"

#include <algorithm>
#include <array>
#include <catch2/catch_session.hpp>
#include <cstdio>
#include <cstring>

namespace {

constexpr int skipped = 77;  // for ctest

/// Loads the plug-in, as -dll_append does. Returns whether this process can have it.
bool load_plugin() {
  const lutra::Test::Errors errors;
  const PetscErrorCode code =
      PetscDLLibraryAppend(PETSC_COMM_SELF, &PetscDLLibrariesLoaded, LUTRA_PETSC_LIBRARY);
  if (code != 0) std::printf("skipped: %s\n", errors.message.c_str());
  return code == 0;
}

PetscErrorCode start_petsc() {
  std::vector<std::string> words = {"lutra_test_petsc", "-no_signal_handler"};
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  int count = static_cast<int>(pointers.size());
  pointers.push_back(nullptr);  // MPI reads to the end
  char** arguments = pointers.data();
  return PetscInitialize(&count, &arguments, nullptr, nullptr);
}

/// Factorizes a matrix of order one. Returns whether that succeeds.
bool factorize_once() {
  Mat A = nullptr, F = nullptr;
  bool success = MatCreateSeqAIJ(PETSC_COMM_SELF, 1, 1, 1, nullptr, &A) == 0 &&
                 MatSetValue(A, 0, 0, 2, INSERT_VALUES) == 0 &&
                 MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY) == 0 && MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY) == 0 &&
                 MatGetFactor(A, "lutra", MAT_FACTOR_LU, &F) == 0;
  success = success && MatLUFactorSymbolic(F, A, nullptr, nullptr, nullptr) == 0 &&
            MatLUFactorNumeric(F, A, nullptr) == 0;
  return MatDestroy(&F) == 0 && MatDestroy(&A) == 0 && success;
}

}  // namespace

// PETSc is started and ended twice: Lutra serves both. The plug-in refuses to load if it was built for a
// shared Kokkos, and PETSc has brought another version.
int main(int argc, char* argv[]) {
  if (MPI_Init(nullptr, nullptr) != MPI_SUCCESS || start_petsc() != 0) return 1;
  int result = load_plugin() ? 0 : skipped;
  if (result == 0 && !factorize_once()) result = 1;
  if (PetscFinalize() != 0) return 1;
  if (result == 0) {
    if (start_petsc() != 0 || !load_plugin()) return 1;
    result = Catch::Session().run(argc, argv);
    if (PetscFinalize() != 0) return 1;
  }
  MPI_Finalize();
  return result;
}

namespace lutra::Test {

Entries convection_diffusion(PetscInt k, double c) {
  Entries A{k * k};
  for (PetscInt i = 0; i < A.n; ++i) {
    const PetscInt row = i / k, column = i % k;
    const double flow = c * (1 + static_cast<double>(column) / static_cast<double>(k));
    if (row > 0) A.add(i, i - k, -1 - flow);
    if (column > 0) A.add(i, i - 1, -1);
    A.add(i, i, 4);
    if (column < k - 1) A.add(i, i + 1, -1);
    if (row < k - 1) A.add(i, i + k, -1 + flow);
  }
  return A;
}

Entries saddle_point(PetscInt n, PetscInt m) {
  Entries A{n + m};
  for (PetscInt i = 0; i < n; ++i) {
    if (i > 0) A.add(i, i - 1, -1);
    A.add(i, i, 3 + static_cast<double>(i % 4));
    if (i < n - 1) A.add(i, i + 1, -1);
    if (i < m) A.add(i, n + i, 2);
  }
  for (PetscInt i = 0; i < m; ++i) {
    A.add(n + i, i, 2);
    A.add(n + i, n + i, 0);  // PETSc's own Cholesky needs the entry
  }
  return A;
}

Matrix::Matrix(const Entries& A) {
  done(MatCreateSeqAIJ(PETSC_COMM_SELF, A.n, A.n, 12, nullptr, &mat));
  set(A);
}

Matrix::Matrix(const Entries& A, PetscInt block) {
  done(MatCreateSeqSBAIJ(PETSC_COMM_SELF, block, A.n, A.n, 12, nullptr, &mat));
  done(MatSetOption(mat, MAT_IGNORE_LOWER_TRIANGULAR, PETSC_TRUE));
  set(A);
}

void Matrix::set(const Entries& A) {
  for (std::size_t p = 0; p < A.values.size(); ++p)
    done(MatSetValue(mat, A.rows[p], A.columns[p], A.values[p], INSERT_VALUES));
  done(MatAssemblyBegin(mat, MAT_FINAL_ASSEMBLY));
  done(MatAssemblyEnd(mat, MAT_FINAL_ASSEMBLY));
}

Vector::Vector(const std::vector<PetscScalar>& values) {
  done(VecCreateSeq(PETSC_COMM_SELF, static_cast<PetscInt>(values.size()), &vec));
  for (std::size_t i = 0; i < values.size(); ++i)
    done(VecSetValue(vec, static_cast<PetscInt>(i), values[i], INSERT_VALUES));
  done(VecAssemblyBegin(vec));
  done(VecAssemblyEnd(vec));
}

std::vector<PetscScalar> Vector::values() const {
  PetscInt n = 0;
  const PetscScalar* array = nullptr;
  done(VecGetLocalSize(vec, &n));
  done(VecGetArrayRead(vec, &array));
  std::vector<PetscScalar> copy(array, array + n);
  done(VecRestoreArrayRead(vec, &array));
  return copy;
}

PetscErrorCode Factored::symbolic(Mat A) {
  MatFactorType type = MAT_FACTOR_NONE;
  done(MatGetFactorType(mat, &type));
  return type == MAT_FACTOR_LU ? MatLUFactorSymbolic(mat, A, nullptr, nullptr, nullptr)
                               : MatCholeskyFactorSymbolic(mat, A, nullptr, nullptr);
}

PetscErrorCode Factored::numeric(Mat A) {
  MatFactorType type = MAT_FACTOR_NONE;
  done(MatGetFactorType(mat, &type));
  return type == MAT_FACTOR_LU ? MatLUFactorNumeric(mat, A, nullptr)
                               : MatCholeskyFactorNumeric(mat, A, nullptr);
}

MatFactorError Factored::error() const {
  MatFactorError error = MAT_FACTOR_NOERROR;
  done(MatFactorGetError(mat, &error));
  return error;
}

Solver::Solver(Mat A, const char* method, const char* preconditioner, const char* prefix) {
  PC pc = nullptr;
  done(KSPCreate(PETSC_COMM_SELF, &ksp));
  done(KSPSetOptionsPrefix(ksp, prefix));
  done(KSPSetOperators(ksp, A, A));
  done(KSPSetType(ksp, method));
  done(KSPGetPC(ksp, &pc));
  done(PCSetType(pc, preconditioner));
  done(PCFactorSetMatSolverType(pc, "lutra"));
  done(KSPSetFromOptions(ksp));
}

std::vector<PetscScalar> Solver::solve(const std::vector<PetscScalar>& b) {
  const Vector right_side(b), x(static_cast<PetscInt>(b.size()));
  done(KSPSolve(ksp, right_side, x));
  return x.values();
}

KSPConvergedReason Solver::reason() const {
  KSPConvergedReason reason = KSP_CONVERGED_ITERATING;
  done(KSPGetConvergedReason(ksp, &reason));
  return reason;
}

PCFailedReason Solver::failure() const {
  PC pc = nullptr;
  PCFailedReason failure = PC_NOERROR;
  done(KSPGetPC(ksp, &pc));
  done(PCGetFailedReason(pc, &failure));
  return failure;
}

Mat Solver::factor() const {
  PC pc = nullptr;
  Mat F = nullptr;
  done(KSPGetPC(ksp, &pc));
  done(PCFactorGetMatrix(pc, &F));
  return F;
}

PetscErrorCode Errors::keep(MPI_Comm, int, const char*, const char*, PetscErrorCode code, PetscErrorType type,
                            const char* message, void* self) {
  if (type == PETSC_ERROR_INITIAL && message != nullptr) static_cast<Errors*>(self)->message = message;
  return code;
}

std::string viewed(Mat F, PetscViewerFormat format) {
  char* text = nullptr;
  std::size_t length = 0;
  std::FILE* memory = open_memstream(&text, &length);
  REQUIRE(memory != nullptr);
  PetscViewer viewer = nullptr;
  done(PetscViewerASCIIOpenWithFILE(PETSC_COMM_SELF, memory, &viewer));
  done(PetscViewerPushFormat(viewer, format));
  done(MatView(F, viewer));
  done(PetscViewerPopFormat(viewer));
  done(PetscViewerDestroy(&viewer));
  std::fclose(memory);
  std::string copy(text, length);
  std::free(text);
  return copy;
}

std::vector<PetscScalar> ramp(PetscInt n) {
  std::vector<PetscScalar> x(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = 1 + static_cast<double>(i % 7);
  return x;
}

double backward_error(const Entries& A, const std::vector<PetscScalar>& x, const std::vector<PetscScalar>& b,
                      bool transposed) {
  std::vector<PetscScalar> residual = b;
  std::vector<double> scale(b.size());
  for (std::size_t i = 0; i < b.size(); ++i) scale[i] = std::abs(b[i]);
  for (std::size_t p = 0; p < A.values.size(); ++p) {
    const auto i = static_cast<std::size_t>(transposed ? A.columns[p] : A.rows[p]);
    const auto j = static_cast<std::size_t>(transposed ? A.rows[p] : A.columns[p]);
    residual[i] -= A.values[p] * x[j];
    scale[i] += std::abs(A.values[p]) * std::abs(x[j]);
  }
  double error = 0;
  for (std::size_t i = 0; i < b.size(); ++i) {
    if (!std::isfinite(std::abs(residual[i]))) return std::abs(residual[i]);
    if (scale[i] > 0) error = std::max(error, std::abs(residual[i]) / scale[i]);
  }
  return error;
}

}  // namespace lutra::Test
