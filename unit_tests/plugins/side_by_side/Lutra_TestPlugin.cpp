// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_TestPlugin.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

namespace {

struct Tridiagonal {
  Tridiagonal(int n, double diagonal) {
    for (int i = 0; i < n; ++i) {
      for (int j = std::max(0, i - 1); j <= std::min(n - 1, i + 1); ++j) {
        columns.push_back(j);
        values.push_back(j == i ? diagonal : -1);
      }
      row_map.push_back(static_cast<int>(columns.size()));
    }
  }
  lutra_matrix c() const {
    const auto n = static_cast<std::int64_t>(row_map.size()) - 1;
    return {n, n, row_map.back(), row_map.data(), columns.data(), values.data(), LUTRA_INT32};
  }
  double backward_error(const std::vector<double>& x, const std::vector<double>& b) const {
    double largest = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      double residual = b[i], scale = std::abs(b[i]);
      for (auto p = static_cast<std::size_t>(row_map[i]); p < static_cast<std::size_t>(row_map[i + 1]); ++p) {
        const double product = values[p] * x[static_cast<std::size_t>(columns[p])];
        residual -= product;
        scale += std::abs(product);
      }
      largest = std::max(largest, std::abs(residual) / scale);
    }
    return largest;
  }

  std::vector<int> row_map{0}, columns;
  std::vector<double> values;
};

}  // namespace

lutra_solver* test_plugin_open(int n) {
  lutra_solver* solver = nullptr;
  const Tridiagonal A(n, 4);
  const lutra_matrix matrix = A.c();
  if (lutra_create(&solver, LUTRA_LU, LUTRA_F64, LUTRA_INT32, nullptr) != LUTRA_SUCCESS ||
      lutra_analyze(solver, &matrix) != LUTRA_SUCCESS) {
    lutra_destroy(solver);
    return nullptr;
  }
  return solver;
}

int test_plugin_solve(lutra_solver* solver, int n, double diagonal, double* backward_error) {
  const Tridiagonal A(n, diagonal);
  const lutra_matrix matrix = A.c();
  std::vector<double> b(static_cast<std::size_t>(n)), x(b.size());
  std::iota(b.begin(), b.end(), 1.0);
  lutra_status status = lutra_factorize(solver, &matrix);
  if (status == LUTRA_SUCCESS) status = lutra_solve(solver, LUTRA_NONE, 1, b.data(), n, x.data(), n);
  *backward_error = A.backward_error(x, b);
  return status;
}

void test_plugin_close(lutra_solver* solver) {
  lutra_destroy(solver);
}
const char* test_plugin_message() {
  return lutra_message();
}
int test_plugin_finalize() {
  return lutra_finalize();
}
