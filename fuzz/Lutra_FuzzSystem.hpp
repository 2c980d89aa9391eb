// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_FUZZSYSTEM_HPP
#define LUTRA_FUZZSYSTEM_HPP

#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "Lutra_Fuzz.hpp"
#include "lutra.h"

namespace lutra::Fuzz {

/// Square matrix for the C interface.
struct Matrix {
  std::int64_t n = 0;
  std::vector<std::int32_t> row_map{0}, columns;  ///< [n + 1], [nnz]
  std::vector<double> values;                     ///< [nnz]

  lutra_matrix c() const {
    return {n,
            n,
            static_cast<std::int64_t>(columns.size()),
            row_map.data(),
            columns.data(),
            values.data(),
            LUTRA_INT32};
  }
  void add(std::int64_t column, double value) {
    columns.push_back(static_cast<std::int32_t>(column));
    values.push_back(value);
  }
  void end_row() {
    row_map.push_back(static_cast<std::int32_t>(columns.size()));
    ++n;
  }
};

/// |x|, at least the smallest normal number: below it numbers have few digits or none.
inline long double magnitude(double x) {
  return std::max(std::abs(x), std::numeric_limits<double>::min());
}

/// Componentwise backward error of x: the largest |b − op(A) x|ᵢ / (|op(A)| |x| + |b|)ᵢ, in long double, with
/// the library's rule for small numbers.
inline double backward_error(const Matrix& a, bool transposed, const std::vector<double>& x,
                             const std::vector<double>& b) {
  std::vector<long double> residual(b.begin(), b.end()), size(b.size());
  for (std::size_t k = 0; k < b.size(); ++k) size[k] = magnitude(b[k]);
  for (std::size_t row = 0; row < b.size(); ++row) {
    for (auto k = static_cast<std::size_t>(a.row_map[row]); k < static_cast<std::size_t>(a.row_map[row + 1]);
         ++k) {
      const auto column = static_cast<std::size_t>(a.columns[k]);
      const std::size_t i = transposed ? column : row, j = transposed ? row : column;
      const auto value = static_cast<long double>(a.values[k]);
      residual[i] -= value * x[j];
      size[i] += std::abs(value) * magnitude(x[j]);
    }
  }
  long double worst = 0;
  for (std::size_t k = 0; k < b.size(); ++k) {
    if (std::isnan(residual[k])) return INFINITY;
    if (residual[k] != 0) worst = std::max(worst, std::abs(residual[k]) / size[k]);
  }
  return static_cast<double>(worst);
}

inline std::string to_text(double number) {
  std::array<char, 32> text{};
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), number).ptr};
}

/// Checks what holds for every status. @returns it
inline lutra_status checked(lutra_status status) {
  require(status >= LUTRA_INTERNAL_ERROR && status <= LUTRA_UNCHECKED, "a status is one of lutra.h");
  require(status != LUTRA_INTERNAL_ERROR && status != LUTRA_TIMEOUT,
          std::string("no internal error: ") + lutra_message());
  if (status != LUTRA_SUCCESS) check_message(lutra_message());
  return status;
}

}  // namespace lutra::Fuzz

#endif
