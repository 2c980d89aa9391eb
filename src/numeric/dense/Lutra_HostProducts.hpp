// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_HOSTPRODUCTS_HPP
#define LUTRA_HOSTPRODUCTS_HPP

#include <algorithm>

#include "Lutra_HostProduct.hpp"
#include "Lutra_ScalarTraits.hpp"
#include "Lutra_Strided.hpp"

namespace lutra::Impl {

/// Products of dense blocks, divided among host threads by a `Loop` (see HostFront). Once the running call
/// has to end, products do nothing.
template <class Scalar, class Loop>
struct HostProducts {
  using Real = RealOf<Scalar>;

  const ProductKernel<Real>& kernel;
  const Loop& loop;

  /// Chunk size for rows or columns that cost `flops` each: about three chunks per thread, or a single one if
  /// the whole costs less than waking the threads.
  int chunk_of(int n, double flops) const {
    constexpr double min_flops = 2e5;  // below this, a single thread
    const int threads = loop.threads();
    if (threads == 1 || n * flops < min_flops) return n;
    constexpr int least = 48;  // a multiple of the dimensions of all register tiles
    const int share = (n + 3 * threads - 1) / (3 * threads);
    return std::max(least, (share + least - 1) / least * least);
  }
  /// The same, with chunks of some milliseconds, or of a block of a product, so that work can stop between
  /// them.
  int short_chunk_of(int n, double flops) const {
    constexpr double max_flops = 1e8;
    constexpr int block = 384;  // rows of A that a product packs at once
    const int chunk = chunk_of(n, flops);
    if (chunk * flops <= max_flops) return chunk;
    return std::min(chunk, std::max(1, static_cast<int>(max_flops / flops) / block) * block);
  }
  bool must_stop() const { return loop.must_stop(); }

  static void multiply(const ProductKernel<Real>& kernel, int rows, int columns, int depth, const Scalar* A,
                       std::int64_t lda, const Strided<Scalar>& B, Scalar* C, std::int64_t ldc,
                       Real* buffer) {
    run(kernel, task_of(rows, columns, depth, A, lda, B, C, ldc), buffer);
  }
  static ProductTask<Real> task_of(int rows, int columns, int depth, const Scalar* A, std::int64_t lda,
                                   const Strided<Scalar>& B, Scalar* C, std::int64_t ldc) {
    return {rows,
            columns,
            depth,
            reinterpret_cast<const Real*>(A),
            lda,
            reinterpret_cast<const Real*>(B.data),
            B.row,
            B.column,
            reinterpret_cast<Real*>(C),
            ldc};
  }
  static void run(const ProductKernel<Real>& kernel, const ProductTask<Real>& task, Real* buffer) {
    (ScalarTraits<Scalar>::is_complex ? kernel.complex : kernel.real)(task, buffer);
  }

  /// Version for the lower triangle of C, rows ≥ columns; the upper triangle is undefined afterwards. Rows
  /// are taken from the last one on, the longest first, so that threads finish at about the same time.
  void subtract_lower(int rows, int columns, int depth, const Scalar* A, std::int64_t lda,
                      const Strided<Scalar>& B, Scalar* C, std::int64_t ldc) const {
    if (columns == 0 || depth == 0) return;
    loop(rows, short_chunk_of(rows, 1.0 * columns * depth), [&](int first, int last, Real* buffer) {
      if (must_stop()) return;
      const int begin = rows - last, end = rows - first;
      auto task = task_of(end - begin, std::min(columns, end), depth, A + begin, lda, B, C + begin, ldc);
      task.diagonal = begin;
      run(kernel, task, buffer);
    });
  }

  /// C −= A·B; the longer dimension of C is divided among threads.
  void subtract(int rows, int columns, int depth, const Scalar* A, std::int64_t lda, const Strided<Scalar>& B,
                Scalar* C, std::int64_t ldc) const {
    if (rows == 0 || columns == 0 || depth == 0) return;
    if (rows >= columns) {
      loop(rows, short_chunk_of(rows, 2.0 * columns * depth), [&](int begin, int end, Real* buffer) {
        if (must_stop()) return;
        multiply(kernel, end - begin, columns, depth, A + begin, lda, B, C + begin, ldc, buffer);
      });
    } else {
      loop(columns, short_chunk_of(columns, 2.0 * rows * depth), [&](int begin, int end, Real* buffer) {
        if (must_stop()) return;
        multiply(kernel, rows, end - begin, depth, A, lda, {&B(0, begin), B.row, B.column}, C + begin * ldc,
                 ldc, buffer);
      });
    }
  }
};

}  // namespace lutra::Impl

#endif
