// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_CTESTSOLVER_HPP
#define LUTRA_CTESTSOLVER_HPP

#include <catch2/catch_test_macros.hpp>
#include <complex>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "lutra.h"

namespace lutra::Test {

template <class Scalar>
constexpr lutra_scalar c_scalar = std::is_same_v<Scalar, float>                 ? LUTRA_F32
                                  : std::is_same_v<Scalar, double>              ? LUTRA_F64
                                  : std::is_same_v<Scalar, std::complex<float>> ? LUTRA_C64
                                                                                : LUTRA_C128;
template <class Integer>
constexpr lutra_index c_index = sizeof(Integer) == 4 ? LUTRA_INT32 : LUTRA_INT64;

/// A handle that is destroyed at the end of its scope.
struct CSolver {
  CSolver(lutra_method method, lutra_scalar scalar = LUTRA_F64, lutra_index index = LUTRA_INT32,
          const char* backend = nullptr) {
    REQUIRE(lutra_create(&handle, method, scalar, index, backend) == LUTRA_SUCCESS);
  }
  CSolver(const CSolver&) = delete;
  CSolver& operator=(const CSolver&) = delete;
  ~CSolver() { lutra_destroy(handle); }
  operator lutra_solver*() const { return handle; }
  lutra_solver* handle = nullptr;
};

/// A matrix of n rows by rows; entries may be changed to break it.
template <class Scalar = double, class Ordinal = std::int32_t, class Offset = std::int64_t>
struct CMatrix {
  std::vector<Offset> row_map{0};
  std::vector<Ordinal> columns;
  std::vector<Scalar> values;

  lutra_matrix c() const {
    const auto n = static_cast<std::int64_t>(row_map.size()) - 1;
    return {n,
            n,
            static_cast<std::int64_t>(columns.size()),
            row_map.data(),
            columns.data(),
            values.data(),
            c_index<Offset>};
  }
  /// A·x, or of transposed rows Aᵀ·x.
  std::vector<Scalar> times(const std::vector<Scalar>& x, bool transposed = false) const {
    std::vector<Scalar> b(x.size());
    for (std::size_t i = 0; i + 1 < row_map.size(); ++i)
      for (auto p = static_cast<std::size_t>(row_map[i]); p < static_cast<std::size_t>(row_map[i + 1]); ++p) {
        const auto j = static_cast<std::size_t>(columns[p]);
        b[transposed ? j : i] += values[p] * x[transposed ? i : j];
      }
    return b;
  }
};

/// Rows (lower, diagonal, upper) of a tridiagonal matrix.
template <class Scalar = double, class Ordinal = std::int32_t, class Offset = std::int64_t>
CMatrix<Scalar, Ordinal, Offset> tridiagonal(int n, Scalar lower, Scalar diagonal, Scalar upper) {
  CMatrix<Scalar, Ordinal, Offset> A;
  for (int i = 0; i < n; ++i) {
    for (int j = i - 1; j <= i + 1; ++j) {
      if (j < 0 || j >= n) continue;
      A.columns.push_back(static_cast<Ordinal>(j));
      A.values.push_back(j < i ? lower : j == i ? diagonal : upper);
    }
    A.row_map.push_back(static_cast<Offset>(A.columns.size()));
  }
  return A;
}

inline bool message_has(const std::string& text) {
  const std::string message = lutra_message();
  INFO(message);
  const bool found = message.find(text) != std::string::npos;
  CHECK(found);
  return found;
}

}  // namespace lutra::Test

#endif
