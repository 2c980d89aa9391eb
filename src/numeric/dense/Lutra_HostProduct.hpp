// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_HOSTPRODUCT_HPP
#define LUTRA_HOSTPRODUCT_HPP

#include <cstddef>
#include <cstdint>

namespace lutra::Impl {

/// C −= A·B by one host thread. `Real` arrays hold real values or interleaved real and imaginary parts of
/// complex values; extents and strides count entries. A and C are stored by columns, B by rows or columns.
template <class Real>
struct ProductTask {
  int rows = 0, columns = 0, depth = 0;
  const Real* A = nullptr;  ///< rows × depth
  std::int64_t lda = 0;
  const Real* B = nullptr;  ///< depth × columns
  std::int64_t b_row = 0, b_column = 0;
  Real* C = nullptr;  ///< rows × columns
  std::int64_t ldc = 0;
  /// Only C(i, j) with i + diagonal ≥ j is required; the rest may remain unchanged. Default: all of C.
  std::int64_t diagonal = std::int64_t(1) << 40;
};

/// Product kernels of one instruction set.
template <class Real>
struct ProductKernel {
  void (*real)(const ProductTask<Real>& task, Real* buffer) = nullptr;
  void (*complex)(const ProductTask<Real>& task, Real* buffer) = nullptr;
  /// to = from − A·x for n rows and `depth` columns of real values. `to` may alias `from`; reads up to one
  /// register past the last rows of A and `from`. Returns max |to|, infinity if an element is not finite
  Real (*column)(int n, int depth, const Real* from, const Real* A, std::int64_t lda, const Real* x,
                 Real* to) = nullptr;
  /// to = factor · from for n real values
  void (*scale)(int n, Real factor, const Real* from, Real* to) = nullptr;
  /// to −= Aᵀ·x for n rows and `columns` columns of real values
  void (*transposed)(int n, int columns, const Real* A, std::int64_t lda, const Real* x, Real* to) = nullptr;
  const char* instructions = "";
};

/// Readable values that `column` needs past the end of an array.
inline constexpr int product_slack = 16;

/// Size of a product buffer in real values; aligned to 64 bytes. A block of A has 384 · 256, one of B
/// 512 · 256.
inline constexpr std::size_t product_buffer = std::size_t(1) << 18;

/// Kernels by instruction set; null if this compiler does not support it.
template <class Real>
ProductKernel<Real> plain_product();
template <class Real>
ProductKernel<Real> avx2_product();
template <class Real>
ProductKernel<Real> avx512_product();

/// The best kernel this machine supports. Detected on each call: keep the result.
template <class Real>
ProductKernel<Real> best_product();

}  // namespace lutra::Impl

#endif
