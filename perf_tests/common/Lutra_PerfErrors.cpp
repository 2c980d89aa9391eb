// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_PerfErrors.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>

namespace lutra::Perf {
namespace {

using Wide = std::complex<long double>;

template <class Scalar>
Wide widen(const Scalar& value) {
  return Wide(std::complex<double>(value));
}

}  // namespace

template <class Scalar>
Errors backward_errors(const HostMatrix<Scalar>& matrix, const std::vector<Scalar>& b,
                       const std::vector<Scalar>& x) {
  long double componentwise = 0, r_norm = 0, A_norm = 0, x_norm = 0, b_norm = 0;
  for (const Scalar& element : x) x_norm = std::max(x_norm, std::abs(widen(element)));
  bool finite = true;
  for (std::size_t i = 0; i < b.size(); ++i) {
    Wide r = widen(b[i]);
    long double row_sum = 0, magnitude = std::abs(r);
    b_norm = std::max(b_norm, magnitude);
    const auto end = static_cast<std::size_t>(matrix.row_map[i + 1]);
    for (auto p = static_cast<std::size_t>(matrix.row_map[i]); p < end; ++p) {
      const Wide a = widen(matrix.values[p]);
      const Wide product = a * widen(x[static_cast<std::size_t>(matrix.entries[p])]);
      r -= product;
      row_sum += std::abs(a);
      magnitude += std::abs(product);
    }
    const long double size = std::abs(r);
    finite = finite && std::isfinite(size);
    A_norm = std::max(A_norm, row_sum);
    r_norm = std::max(r_norm, size);
    if (size > 0) componentwise = std::max(componentwise, size / magnitude);
  }
  if (!finite) return {std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity()};
  const long double scale = A_norm * x_norm + b_norm;
  return {static_cast<double>(componentwise), scale > 0 ? static_cast<double>(r_norm / scale) : 0.0};
}

template Errors backward_errors(const HostMatrix<double>&, const std::vector<double>&,
                                const std::vector<double>&);
template Errors backward_errors(const HostMatrix<Kokkos::complex<double>>&,
                                const std::vector<Kokkos::complex<double>>&,
                                const std::vector<Kokkos::complex<double>>&);

}  // namespace lutra::Perf
