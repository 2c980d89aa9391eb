// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_ALLFINITE_HPP
#define LUTRA_ALLFINITE_HPP

#include <cstddef>

namespace lutra::Impl {

/// Returns whether n numbers are finite: x − x is 0 then, and NaN otherwise. Eight sums, so that the loop
/// vectorizes.
template <class Real>
bool all_finite(const Real* x, std::size_t n) {
  constexpr std::size_t width = 8;
  Real sums[width] = {};
  std::size_t i = 0;
  for (; i + width <= n; i += width) {
    for (std::size_t s = 0; s < width; ++s) sums[s] += x[i + s] - x[i + s];
  }
  Real sum = 0;
  for (; i < n; ++i) sum += x[i] - x[i];
  for (const Real part : sums) sum += part;
  return sum == 0;
}

}  // namespace lutra::Impl

#endif
