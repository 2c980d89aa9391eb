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
  /// C(i, j) counts where i + diagonal ≥ j; others may be left as they are. By default all do.
  std::int64_t diagonal = std::int64_t(1) << 40;
};

/// A product kernel of one instruction set.
template <class Real>
struct ProductKernel {
  void (*real)(const ProductTask<Real>& task, Real* buffer) = nullptr;
  void (*complex)(const ProductTask<Real>& task, Real* buffer) = nullptr;
  /// to = from − A·x for n rows and `depth` columns of real numbers; `to` may be `from`, and up to a register
  /// behind the last rows of A and `from` is read. Returns max |to|, infinity where an element is not finite
  Real (*column)(int n, int depth, const Real* from, const Real* A, std::int64_t lda, const Real* x,
                 Real* to) = nullptr;
  /// to = factor · from for n real numbers
  void (*scale)(int n, Real factor, const Real* from, Real* to) = nullptr;
  /// to −= Aᵀ·x for n rows and some columns of real numbers
  void (*transposed)(int n, int columns, const Real* A, std::int64_t lda, const Real* x, Real* to) = nullptr;
  const char* instructions = "";
};

/// Numbers behind an array's end that `column` may read.
inline constexpr int product_slack = 16;

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
