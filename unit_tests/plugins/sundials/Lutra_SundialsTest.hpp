// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_SUNDIALSTEST_HPP
#define LUTRA_SUNDIALSTEST_HPP

#include <nvector/nvector_serial.h>
#include <sundials/sundials_context.h>
#include <sunmatrix/sunmatrix_sparse.h>

#include <lutra/sunlinsol_lutra.h>
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <string>
#include <vector>

namespace lutra::Test {

/// A context of SUNDIALS, freed at the end of its scope.
struct Context {
  Context() {
#if SUNDIALS_VERSION_MAJOR >= 7
    REQUIRE(SUNContext_Create(SUN_COMM_NULL, &context) == 0);
    SUNContext_ClearErrHandlers(context);
#else
    REQUIRE(SUNContext_Create(nullptr, &context) == 0);
#endif
  }
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;
  ~Context() {
    SUNContext_Free(&context);
  }
  operator SUNContext() const {
    return context;
  }
  SUNContext context = nullptr;
};

/// An object of SUNDIALS, freed at the end of its scope.
template <class Handle, auto Free>
class Owner {
 public:
  explicit Owner(Handle handle) : m_handle(handle) {}
  Owner(const Owner&) = delete;
  Owner& operator=(const Owner&) = delete;
  ~Owner() {
    if (m_handle != nullptr) Free(m_handle);
  }
  operator Handle() const { return m_handle; }
  Handle operator->() const { return m_handle; }

 private:
  Handle m_handle;
};

inline void free_solver(SUNLinearSolver S) {
  SUNLinSolFree(S);
}
inline void free_matrix(SUNMatrix A) {
  SUNMatDestroy(A);
}
inline void free_vector(N_Vector v) {
  N_VDestroy(v);
}
using Vector = Owner<N_Vector, free_vector>;
using Matrix = Owner<SUNMatrix, free_matrix>;
using LinearSolver = Owner<SUNLinearSolver, free_solver>;

inline N_Vector new_vector(const std::vector<sunrealtype>& values, SUNContext context) {
  N_Vector v = N_VNew_Serial(static_cast<sunindextype>(values.size()), context);
  std::copy(values.begin(), values.end(), N_VGetArrayPointer(v));
  return v;
}

/// Writes a matrix in compressed storage, entry by entry, lines (rows or columns) in order.
class Lines {
 public:
  explicit Lines(SUNMatrix A) : m_A(A) { SUNMatZero(A); }
  void add(sunindextype index, sunrealtype value) {
    SM_INDEXVALS_S(m_A)[m_count] = index;
    SM_DATA_S(m_A)[m_count++] = value;
  }
  void end_line() { SM_INDEXPTRS_S(m_A)[++m_line] = m_count; }

 private:
  SUNMatrix m_A;
  sunindextype m_count = 0, m_line = 0;
};

/// Largest componentwise backward error |b - A x| / (|A| |x| + |b|).
inline double backward_error(SUNMatrix A, N_Vector x, N_Vector b) {
  const auto n = static_cast<std::size_t>(SM_ROWS_S(A));
  std::vector<double> residual(n), scale(n);
  const sunrealtype *X = N_VGetArrayPointer(x), *B = N_VGetArrayPointer(b);
  for (std::size_t i = 0; i < n; ++i) residual[i] = B[i], scale[i] = std::abs(B[i]);
  for (sunindextype line = 0; line < SM_NP_S(A); ++line)
    for (sunindextype p = SM_INDEXPTRS_S(A)[line]; p < SM_INDEXPTRS_S(A)[line + 1]; ++p) {
      const bool by_rows = SM_SPARSETYPE_S(A) == CSR_MAT;
      const auto row = static_cast<std::size_t>(by_rows ? line : SM_INDEXVALS_S(A)[p]);
      const sunindextype column = by_rows ? SM_INDEXVALS_S(A)[p] : line;
      residual[row] -= SM_DATA_S(A)[p] * X[column];
      scale[row] += std::abs(SM_DATA_S(A)[p] * X[column]);
    }
  double largest = 0;
  for (std::size_t i = 0; i < n; ++i)
    if (!(residual[i] == 0)) largest = std::max(largest, std::abs(residual[i]) / scale[i]);
  return largest;
}

}  // namespace lutra::Test

#endif
