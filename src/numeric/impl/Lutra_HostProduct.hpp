// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_HOSTPRODUCT_HPP
#define LUTRA_HOSTPRODUCT_HPP

#include <cstddef>
#include <cstdint>

namespace lutra::Impl {

/// C −= A·B by one host thread. `Real` arrays hold real numbers, or the real and imaginary parts of complex
/// ones alternately; extents and strides count entries. A and C are stored by columns, B either way.
template <class Real>
struct ProductTask {
  int rows = 0, columns = 0, depth = 0;
  const Real* A = nullptr;  ///< rows × depth
  std::int64_t lda = 0;
  const Real* B = nullptr;  ///< depth × columns
  std::int64_t b_row = 0, b_column = 0;
  Real* C = nullptr;  ///< rows × columns
  std::int64_t ldc = 0;
};

/// A product kernel of one instruction set.
template <class Real>
struct ProductKernel {
  void (*real)(const ProductTask<Real>& task, Real* buffer) = nullptr;
  void (*complex)(const ProductTask<Real>& task, Real* buffer) = nullptr;
  const char* instructions = "";
};

/// Real numbers that the buffer of a product holds, aligned to 64 bytes.
inline constexpr std::size_t product_buffer = std::size_t(1) << 18;

/// Kernels by instruction set, as their sources are compiled; those this compiler does not offer hold null.
template <class Real>
ProductKernel<Real> plain_product();
template <class Real>
ProductKernel<Real> avx2_product();
template <class Real>
ProductKernel<Real> avx512_product();

/// The best one this machine runs. Found anew each time: keep it.
template <class Real>
ProductKernel<Real> best_product();

}  // namespace lutra::Impl

#endif
