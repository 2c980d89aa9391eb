// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_TILEPRODUCTCUDA_HPP
#define LUTRA_TILEPRODUCTCUDA_HPP

#include <cuda_pipeline.h>

#include "Lutra_BlockFrontsCuda.hpp"

namespace lutra::Impl {

// Products of tiles by one block: C = A·B, A being one or two tiles high and B one tile wide. Both operands
// go through shared memory in turns of `product_depth` inner indices.

inline constexpr int product_depth = 16;
/// Turns that shared memory has room for: one is worked on while the others are on their way.
inline constexpr int product_stages = 4;
/// What rows of an operand in shared memory are longer than wide: 16 lanes of a fragment then touch 16 banks
/// of 8 bytes.
inline constexpr int operand_pad = 4;

/// Which of an operand's indices neighbours in memory differ in: the one A·B sums over, or the other one.
enum class OperandOrder { inner, outer };

/// Where entry (p, q), p being the inner index, of an operand stands in shared memory. Rows of an operand in
/// inner order are turned about by their number, so that fragments meet no bank twice.
template <OperandOrder order, int width>
struct OperandPlace {
  static constexpr int pitch = width + operand_pad;
  __device__ __forceinline__ static int of(int p, int q) {
    return order == OperandOrder::outer ? p * pitch + q : q * product_depth + (p ^ (q % 4 * 4));
  }
};

/// C of a product, spread over the registers of a block. Places are those of the operands.
template <class Scalar, int tiles>
struct TileProduct {
  static constexpr int rows = tiles * front_tile<Scalar> / 16, columns = front_tile<Scalar> / 16;
  Scalar sum[rows][columns];

  template <class PlaceA, class PlaceB>
  __device__ __forceinline__ void add(const Scalar* A, const Scalar* B, int depth) {
    const int x = static_cast<int>(threadIdx.x) % 16, y = static_cast<int>(threadIdx.x) / 16;
#pragma unroll 4
    for (int p = 0; p < depth; ++p) {
      Scalar a[rows], b[columns];
#pragma unroll
      for (int i = 0; i < rows; ++i) a[i] = A[PlaceA::of(p, x + 16 * i)];
#pragma unroll
      for (int c = 0; c < columns; ++c) b[c] = B[PlaceB::of(p, y + 16 * c)];
#pragma unroll
      for (int i = 0; i < rows; ++i) {
#pragma unroll
        for (int c = 0; c < columns; ++c) sum[i][c] += a[i] * b[c];
      }
    }
  }
  /// The same where B is zero, or not there, at outer indices before the inner one's block of 16.
  template <class Place>
  __device__ __forceinline__ void add_triangle(const Scalar* A, const Scalar* B) {
    const int x = static_cast<int>(threadIdx.x) % 16, y = static_cast<int>(threadIdx.x) / 16;
    for (int p = 0; p < 16 * columns; ++p) {
#pragma unroll
      for (int c = 0; c < columns; ++c) {
        if (c < p / 16) continue;
        const Scalar b = B[Place::of(p, y + 16 * c)];
#pragma unroll
        for (int i = 0; i < rows; ++i) sum[i][c] += A[Place::of(p, x + 16 * i)] * b;
      }
    }
  }
  template <class Visit>
  __device__ __forceinline__ void for_each(const Visit& visit) {
    const int x = static_cast<int>(threadIdx.x) % 16, y = static_cast<int>(threadIdx.x) / 16;
#pragma unroll
    for (int i = 0; i < rows; ++i) {
#pragma unroll
      for (int c = 0; c < columns; ++c) visit(x + 16 * i, y + 16 * c, sum[i][c]);
    }
  }
};

/// C += A·B for 16 × 8 of C with a matrix unit of compute capability 9.0. Lane 4g + t holds A's (g, t), (g +
/// 8, t), (g, t + 4), (g + 8, t + 4), B's (t, g), (t + 4, g) and C's (g, 2t), (g, 2t + 1), (g + 8, 2t), (g +
/// 8, 2t + 1).
__device__ __forceinline__ void multiply_add(double (&c)[4], const double (&a)[4], double b0, double b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
      : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(b0), "d"(b1));
}

/// Whether an operand stands in outer order.
template <class Place>
inline constexpr bool is_outer = false;
template <int width>
inline constexpr bool is_outer<OperandPlace<OperandOrder::outer, width>> = true;

/// A lane's view of an operand: entries (p + t, q + g), p a multiple of 4 and q of 8.
template <class Place>
struct OperandLane;
template <int width>
struct OperandLane<OperandPlace<OperandOrder::outer, width>> {
  const double* at;
  __device__ __forceinline__ OperandLane(const double* operand, int t, int g)
      : at(operand + t * OperandPlace<OperandOrder::outer, width>::pitch + g) {}
  __device__ __forceinline__ double operator()(int p, int q) const {
    return at[p * OperandPlace<OperandOrder::outer, width>::pitch + q];
  }
};
template <int width>
struct OperandLane<OperandPlace<OperandOrder::inner, width>> {
  const double* at;
  int turned;
  __device__ __forceinline__ OperandLane(const double* operand, int t, int g)
      : at(operand + g * product_depth + t), turned(g % 4 * 4) {}
  __device__ __forceinline__ double operator()(int p, int q) const {
    return at[q * product_depth + (p ^ turned)];
  }
};

/// The same with the matrix units: a warp has 16·tiles × 32 of C.
template <int tiles>
struct TileProduct<double, tiles> {
  double sum[tiles][4][4];  ///< by 16 × 8 parts

  __device__ __forceinline__ static int first_row() {
    return 16 * tiles * (static_cast<int>(threadIdx.x) / 32 % 4);
  }
  __device__ __forceinline__ static int first_column() { return 32 * (static_cast<int>(threadIdx.x) / 128); }

  template <class PlaceA, class PlaceB>
  __device__ __forceinline__ void add(const double* A, const double* B, int depth) {
    const int lane = static_cast<int>(threadIdx.x) % 32, g = lane / 4, t = lane % 4;
    const OperandLane<PlaceA> a_at(A, t, first_row() + g);
    const OperandLane<PlaceB> b_at(B, t, first_column() + g);
    // with an operand in inner order sums would be sent out of the registers for two slices at once
    constexpr int slices = is_outer<PlaceA> && is_outer<PlaceB> ? 2 : 1;
#pragma unroll slices
    for (int p = 0; p < depth; p += 8) add_slice<0>(a_at, b_at, p);
  }
  /// The same where B is zero, or not there, at outer indices before the inner one's block of 16.
  template <class Place>
  __device__ __forceinline__ void add_triangle(const double* A, const double* B) {
    const int lane = static_cast<int>(threadIdx.x) % 32, g = lane / 4, t = lane % 4;
    const OperandLane<Place> a_at(A, t, first_row() + g);
    const OperandLane<Place> b_at(B, t, first_column() + g);
    const int whole = first_column() + 16;  // inner indices for which all this warp's columns are there
#pragma unroll 2
    for (int p = 0; p < whole; p += 8) add_slice<0>(a_at, b_at, p);
#pragma unroll
    for (int p = 0; p < 16; p += 8) add_slice<2>(a_at, b_at, whole + p);
  }
  /// Adds the products of eight inner indices for 16 × 8 parts from column `first` on.
  template <int first, class A, class B>
  __device__ __forceinline__ void add_slice(const A& a_at, const B& b_at, int p) {
    double a[tiles][4];
#pragma unroll
    for (int i = 0; i < tiles; ++i) {
#pragma unroll
      for (int e = 0; e < 4; ++e) a[i][e] = a_at(p + e / 2 * 4, 16 * i + e % 2 * 8);
    }
#pragma unroll
    for (int c = first; c < 4; ++c) {
      const double b0 = b_at(p, 8 * c), b1 = b_at(p + 4, 8 * c);
#pragma unroll
      for (int i = 0; i < tiles; ++i) multiply_add(sum[i][c], a[i], b0, b1);
    }
  }
  template <class Visit>
  __device__ __forceinline__ void for_each(const Visit& visit) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int row = first_row() + lane / 4, column = first_column() + 2 * (lane % 4);
#pragma unroll
    for (int i = 0; i < tiles; ++i) {
#pragma unroll
      for (int c = 0; c < 4; ++c) {
#pragma unroll
        for (int e = 0; e < 4; ++e) visit(row + 16 * i + e / 2 * 8, column + 8 * c + e % 2, sum[i][c][e]);
      }
    }
  }
};

/// A part of a matrix in global memory, one of its strides being 1.
template <class Scalar>
struct GlobalPart {
  const Scalar* data;
  std::int64_t inner, outer;  ///< strides of the product's inner index and of the other one
  int inners, outers;         ///< extents; beyond them stands zero
};

/// Sends an operand into shared memory turn by turn. Neighbouring threads follow the stride that is 1; where
/// all lines begin at multiples of 16 bytes, copies are of as many, which leaves more of the memory pipeline
/// to fragments.
template <class Scalar, OperandOrder order, int width>
class OperandSender {
  static constexpr bool by_outer = order == OperandOrder::outer;
  static constexpr int line = by_outer ? width : product_depth, lines = by_outer ? product_depth : width;
  static constexpr int most = 16 / static_cast<int>(sizeof(Scalar));  ///< numbers of a copy

 public:
  __device__ explicit OperandSender(const GlobalPart<Scalar>& part)
      : m_stride(static_cast<int>(by_outer ? part.inner : part.outer)),
        m_inners(part.inners),
        m_outers(part.outers) {
    m_numbers = reinterpret_cast<std::uintptr_t>(part.data) % 16 == 0 && m_stride % most == 0 ? most : 1;
    const int pieces = line / m_numbers, thread = static_cast<int>(threadIdx.x);
    m_from = part.data + thread % pieces * m_numbers + static_cast<std::int64_t>(thread / pieces) * m_stride;
  }

  __device__ __forceinline__ void send(Scalar* to) {
    if (m_numbers == 1) {
      copy<1>(to);
    } else {
      copy<most>(to);
    }
    m_from += by_outer ? static_cast<std::int64_t>(product_depth) * m_stride : product_depth;
    m_inners -= product_depth;
  }

 private:
  template <int numbers>
  __device__ __forceinline__ void copy(Scalar* to) const {
    constexpr int pieces = line / numbers, step = front_threads / pieces;  // lines
    constexpr int pitch = by_outer ? OperandPlace<order, width>::pitch : product_depth;
    static_assert(by_outer || step % 4 == 0);
    int thread;  // asked for anew: what follows from it would take registers that products need
    asm volatile("mov.u32 %0, %%tid.x;" : "=r"(thread));
    const int along = thread % pieces * numbers, across = thread / pieces;
    to += OperandPlace<order, width>::of(by_outer ? across : along, by_outer ? along : across);
    const int there = min(max((by_outer ? m_outers : m_inners) - along, 0), numbers);
    const int lines_there = (by_outer ? m_inners : m_outers) - across;
    const Scalar* from = m_from;
#pragma unroll
    for (int e = 0; e < lines / step; ++e) {
      // what is not there is not read
      __pipeline_memcpy_async(to + e * step * pitch, from, numbers * sizeof(Scalar),
                              (numbers - (e * step < lines_there ? there : 0)) * sizeof(Scalar));
      from += static_cast<std::int64_t>(step) * m_stride;
      asm volatile("" : "+l"(from));  // a pointer for each copy would take too many registers
    }
  }

  const Scalar* m_from;    ///< this thread's first copy of the next turn
  int m_stride;            ///< the one that is not 1
  int m_inners, m_outers;  ///< from the next turn on
  int m_numbers;           ///< of a copy
};

/// Waits until no more than so many turns sent last are on their way.
__device__ __forceinline__ void wait_for_turn(int beyond) {
  static_assert(product_stages == 4);
  if (beyond >= 3) {
    __pipeline_wait_prior(3);
  } else if (beyond == 2) {
    __pipeline_wait_prior(2);
  } else if (beyond == 1) {
    __pipeline_wait_prior(1);
  } else {
    __pipeline_wait_prior(0);
  }
}

}  // namespace lutra::Impl

#endif
