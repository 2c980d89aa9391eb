// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Compiled for AVX-512; nothing else belongs here.
#include "Lutra_HostProduct.hpp"

#if defined(__AVX512F__) && defined(__FMA__)

#include "Lutra_HostProductKernel.hpp"

namespace lutra::Impl {

struct Avx512Registers {
  static constexpr int bytes = 64;
  /// 24 sums, 3 values of A and 1 of B in 32 registers; complex: 16 sums of real and imaginary parts, and 4
  /// values of A.
  static constexpr int registers = 3, columns = 8, complex_registers = 2, complex_columns = 4;
};

template <class Real>
ProductKernel<Real> avx512_product() {
  using Product = BlockedProduct<Avx512Registers, Real>;
  using Column = ColumnUpdate<Avx512Registers, Real>;
  return {Product::run, Product::run_complex, Column::update, Column::scale, Column::transposed, "AVX-512"};
}

#else

namespace lutra::Impl {

template <class Real>
ProductKernel<Real> avx512_product() {
  return {};
}

#endif

template ProductKernel<float> avx512_product();
template ProductKernel<double> avx512_product();

}  // namespace lutra::Impl
