// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_HostProduct.hpp"

#include "Lutra_HostProductKernel.hpp"

namespace lutra::Impl {
namespace {

enum class Instructions { avx2, avx512 };

bool machine_runs([[maybe_unused]] Instructions instructions) {
#if defined(__x86_64__) && defined(__GNUC__)
  if (instructions == Instructions::avx512) return __builtin_cpu_supports("avx512f") != 0;
  return __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0;
#else
  return false;
#endif
}

}  // namespace

/// Plain arrays; the compiler maps them to the registers it has.
struct PlainRegisters {
  static constexpr int bytes = 16;
  /// 8 sums, 2 values of A and 1 of B fit in 16 registers, as SSE2 has; complex: 4 sums of real and imaginary
  /// parts.
  static constexpr int registers = 2, columns = 4, complex_registers = 1, complex_columns = 2;
};

template <class Real>
ProductKernel<Real> plain_product() {
  using Product = BlockedProduct<PlainRegisters, Real>;
  using Column = ColumnUpdate<PlainRegisters, Real>;
  return {Product::run, Product::run_complex, Column::update, Column::scale, Column::transposed, "plain"};
}

/// A function that was compiled for instructions that this machine lacks is not even called: it may use them
/// to fill the table.
template <class Real>
ProductKernel<Real> best_product() {
  ProductKernel<Real> kernel;
  if (machine_runs(Instructions::avx512)) kernel = avx512_product<Real>();
  if (kernel.real == nullptr && machine_runs(Instructions::avx2)) kernel = avx2_product<Real>();
  return kernel.real != nullptr ? kernel : plain_product<Real>();
}

template ProductKernel<float> plain_product();
template ProductKernel<double> plain_product();
template ProductKernel<float> best_product();
template ProductKernel<double> best_product();

}  // namespace lutra::Impl
