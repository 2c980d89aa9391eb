// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Compiled for AVX2; nothing else belongs here.
#include "Lutra_HostProduct.hpp"

#if defined(__AVX2__) && defined(__FMA__)

#include "Lutra_HostProductKernel.hpp"

namespace lutra::Impl {

struct Avx2Registers {
  static constexpr int bytes = 32;
  /// 12 sums, 3 values of A and 1 of B fill the 16 registers; complex: 8 sums of real and imaginary parts.
  static constexpr int registers = 3, columns = 4, complex_registers = 1, complex_columns = 4;
};

template <class Real>
ProductKernel<Real> avx2_product() {
  using Product = BlockedProduct<Avx2Registers, Real>;
  using Column = ColumnUpdate<Avx2Registers, Real>;
  return {Product::run, Product::run_complex, Column::update, Column::scale, Column::transposed, "AVX2"};
}

#else

namespace lutra::Impl {

template <class Real>
ProductKernel<Real> avx2_product() {
  return {};
}

#endif

template ProductKernel<float> avx2_product();
template ProductKernel<double> avx2_product();

}  // namespace lutra::Impl
