// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_TILEPRODUCTCUDA_HPP
#define LUTRA_TILEPRODUCTCUDA_HPP

#include <cuda_pipeline.h>

#include <concepts>
#include <cstdint>
#include <type_traits>

#include "Lutra_FrontTiles.hpp"
#include "Lutra_ScalarTraits.hpp"

namespace lutra::Impl {

// Products of tiles by one block: C = A·B, where A is one or two tiles high and B one tile wide. Both
// operands go through shared memory in slabs of some inner indices.

/// Inner indices per slab. Larger: fewer barriers, more shared memory.
inline constexpr int product_depth = 32;
/// Slabs in shared memory: one is multiplied while the other is in transit.
inline constexpr int product_stages = 2;
/// Padding of an operand's rows in shared memory. The 16 lanes of a fragment then access 16 banks of 8 bytes,
/// the 32 lanes of one in single precision 32 banks of 4 bytes.
template <class Scalar>
inline constexpr int operand_pad = sizeof(Scalar) == 4 ? 8 : 4;

/// The slabs of a product of `tiles` tiles in shared memory, A's part first.
template <class Scalar, int tiles>
struct ProductSlabs {
  static constexpr int edge = front_tile<Scalar>, depth = product_depth;
  static constexpr int stages = product_stages, a_tile = edge / depth;
  static constexpr int pad = operand_pad<Scalar>;
  static constexpr int first_words = depth * (tiles * edge + pad);
  static constexpr int words = first_words + depth * (edge + pad);
};

/// Which index of an operand is contiguous in memory: the inner one, which A·B sums over, or the outer one.
enum class OperandOrder { inner, outer };

/// Address in shared memory of entry (p, q) of an operand, p being the inner index. Rows of an operand in
/// inner order are rotated by their index, so that fragments have no bank conflicts.
template <class Scalar, OperandOrder operand_order, int width, int inners = product_depth>
struct OperandLayout {
  static constexpr OperandOrder order = operand_order;
  static constexpr int pitch = width + operand_pad<Scalar>, depth = inners;
  static constexpr int turns = operand_pad<Scalar>;  ///< number of different rotations
  __device__ __forceinline__ static int of(int p, int q) {
    return order == OperandOrder::outer ? p * pitch + q : q * depth + (p ^ (q % turns * 4));
  }
};

/// C of a product, distributed over a block's registers. Template arguments are the operands' layouts.
template <class Scalar, int tiles>
struct TileProduct {
  static constexpr int rows = tiles * front_tile<Scalar> / 16, columns = front_tile<Scalar> / 16;
  Scalar sum[rows][columns];

  template <class LayoutA, class LayoutB>
  __device__ __forceinline__ void add(const Scalar* A, const Scalar* B, int depth) {
    const int x = static_cast<int>(threadIdx.x) % 16, y = static_cast<int>(threadIdx.x) / 16;
#pragma unroll 4
    for (int p = 0; p < depth; ++p) {
      Scalar a[rows], b[columns];
#pragma unroll
      for (int i = 0; i < rows; ++i) a[i] = A[LayoutA::of(p, x + 16 * i)];
#pragma unroll
      for (int c = 0; c < columns; ++c) b[c] = B[LayoutB::of(p, y + 16 * c)];
#pragma unroll
      for (int i = 0; i < rows; ++i) {
#pragma unroll
        for (int c = 0; c < columns; ++c) sum[i][c] += a[i] * b[c];
      }
    }
  }
  /// Version for B zero or undefined at outer indices before the inner index's block of 16.
  /// @param depth a multiple of 16
  template <class LayoutA, class LayoutB>
  __device__ __forceinline__ void add_triangle(const Scalar* A, const Scalar* B, int depth) {
    const int x = static_cast<int>(threadIdx.x) % 16, y = static_cast<int>(threadIdx.x) / 16;
    for (int p = 0; p < depth; ++p) {
#pragma unroll
      for (int c = 0; c < columns; ++c) {
        if (c < p / 16) continue;
        const Scalar b = B[LayoutB::of(p, y + 16 * c)];
#pragma unroll
        for (int i = 0; i < rows; ++i) sum[i][c] += A[LayoutA::of(p, x + 16 * i)] * b;
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

/// C += A·B for 16 × 8 of C with a tensor core of compute capability 9.0. Lane 4g + t holds A's (g, t), (g +
/// 8, t), (g, t + 4), (g + 8, t + 4), B's (t, g), (t + 4, g) and C's (g, 2t), (g, 2t + 1), (g + 8, 2t), (g +
/// 8, 2t + 1).
__device__ __forceinline__ void multiply_add(double (&c)[4], const double (&a)[4], double b0, double b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
      : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(b0), "d"(b1));
}

/// Overload for four inner indices: lane 4g + t holds A's (g, t), (g + 8, t) and B's (t, g).
__device__ __forceinline__ void multiply_add(double (&c)[4], const double (&a)[2], double b) {
  asm volatile(
      "mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5}, {%6}, "
      "{%0, %1, %2, %3};"
      : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
      : "d"(a[0]), "d"(a[1]), "d"(b));
}

/// An entry in single precision as the sum of two numbers with eleven bits, which tensor cores multiply.
struct SplitFloat {
  std::uint32_t high, low;
};

/// An operand's entry as tensor cores take it.
__device__ __forceinline__ double tensor_entry(double x) {
  return x;
}
__device__ __forceinline__ SplitFloat tensor_entry(float x) {
  SplitFloat split;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(split.high) : "f"(x));
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(split.low) : "f"(x - __uint_as_float(split.high)));
  return split;
}
template <class Real>
using TensorEntry = std::conditional_t<std::is_same_v<Real, float>, SplitFloat, double>;

/// Overload in single precision, by three products of halves; that of both low halves is below the rounding.
__device__ __forceinline__ void multiply_add(float (&c)[4], const SplitFloat (&a)[4], SplitFloat b0,
                                             SplitFloat b1) {
  const auto add = [&](std::uint32_t a0, std::uint32_t a1, std::uint32_t a2, std::uint32_t a3,
                       std::uint32_t first, std::uint32_t second) {
    asm volatile(
        "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(first), "r"(second));
  };
  add(a[0].low, a[1].low, a[2].low, a[3].low, b0.high, b1.high);
  add(a[0].high, a[1].high, a[2].high, a[3].high, b0.low, b1.low);
  add(a[0].high, a[1].high, a[2].high, a[3].high, b0.high, b1.high);
}

/// A lane's view of an operand: entries (p + t, q + g), p a multiple of 4 and q of 8.
template <class Layout, class Real>
struct OperandLane {
  static constexpr bool outer = Layout::order == OperandOrder::outer;
  const Real* at;
  int turned;
  __device__ __forceinline__ OperandLane(const Real* operand, int t, int g)
      : at(operand + (outer ? t * Layout::pitch + g : g * Layout::depth + t)),
        turned(outer ? 0 : g % Layout::turns * 4) {}
  __device__ __forceinline__ Real operator()(int p, int q) const {
    return outer ? at[p * Layout::pitch + q] : at[q * Layout::depth + (p ^ turned)];
  }
};

/// Specialization with tensor cores: a warp holds 16·tiles × 32 of C.
template <std::floating_point Real, int tiles>
struct TileProduct<Real, tiles> {
  Real sum[tiles][4][4];  ///< in parts of 16 × 8

  __device__ __forceinline__ static int first_row() {
    return 16 * tiles * (static_cast<int>(threadIdx.x) / 32 % 4);
  }
  __device__ __forceinline__ static int first_column() { return 32 * (static_cast<int>(threadIdx.x) / 128); }

  template <class LayoutA, class LayoutB>
  __device__ __forceinline__ void add(const Real* A, const Real* B, int depth) {
    const int lane = static_cast<int>(threadIdx.x) % 32, g = lane / 4, t = lane % 4;
    const OperandLane<LayoutA, Real> a_at(A, t, first_row() + g);
    const OperandLane<LayoutB, Real> b_at(B, t, first_column() + g);
    // with an operand in inner order, two slices at once would spill sums from registers
    constexpr int slices = OperandLane<LayoutA, Real>::outer && OperandLane<LayoutB, Real>::outer ? 2 : 1;
#pragma unroll slices
    for (int p = 0; p < depth; p += 8) add_slice<0>(a_at, b_at, p);
  }
  /// Version for B zero or undefined at outer indices before the inner index's block of 16.
  /// @param depth a multiple of 16
  template <class LayoutA, class LayoutB>
  __device__ __forceinline__ void add_triangle(const Real* A, const Real* B, int depth) {
    const int lane = static_cast<int>(threadIdx.x) % 32, g = lane / 4, t = lane % 4;
    const OperandLane<LayoutA, Real> a_at(A, t, first_row() + g);
    const OperandLane<LayoutB, Real> b_at(B, t, first_column() + g);
    const int whole = first_column() + 16;  // inner indices at which all of this warp's columns are defined
    const int end = depth < whole ? depth : whole;
#pragma unroll 1
    for (int p = 0; p < end; p += 8) add_slice<0>(a_at, b_at, p);
    if (depth <= whole) return;
#pragma unroll
    for (int p = 0; p < 16; p += 8) add_slice<2>(a_at, b_at, whole + p);
  }
  /// Adds the products of eight inner indices for 16 × 8 parts from column `first` on.
  template <int first, class A, class B>
  __device__ __forceinline__ void add_slice(const A& a_at, const B& b_at, int p) {
    TensorEntry<Real> a[tiles][4];
#pragma unroll
    for (int i = 0; i < tiles; ++i) {
#pragma unroll
      for (int e = 0; e < 4; ++e) a[i][e] = tensor_entry(a_at(p + e / 2 * 4, 16 * i + e % 2 * 8));
    }
#pragma unroll
    for (int c = first; c < 4; ++c) {
      const TensorEntry<Real> b0 = tensor_entry(b_at(p, 8 * c)), b1 = tensor_entry(b_at(p + 4, 8 * c));
#pragma unroll
      for (int i = 0; i < tiles; ++i) multiply_add(sum[i][c], a[i], b0, b1);
    }
  }
  /// Operands of some inner indices: four in double precision, and eight in single precision.
  struct Slice {
    static constexpr int width = std::is_same_v<Real, float> ? 8 : 4, quads = width / 4;
    Real a[tiles][2 * quads], b[4][quads];
  };
  template <class LayoutA, class LayoutB>
  __device__ __forceinline__ static void fetch(Slice& slice, const Real* A, const Real* B, int p) {
    const int lane = static_cast<int>(threadIdx.x) % 32, g = lane / 4, t = lane % 4;
    const OperandLane<LayoutA, Real> a_at(A, t, first_row() + g);
    const OperandLane<LayoutB, Real> b_at(B, t, first_column() + g);
#pragma unroll
    for (int i = 0; i < tiles; ++i) {
#pragma unroll
      for (int e = 0; e < 2 * Slice::quads; ++e) slice.a[i][e] = a_at(p + e / 2 * 4, 16 * i + e % 2 * 8);
    }
#pragma unroll
    for (int c = 0; c < 4; ++c) {
#pragma unroll
      for (int e = 0; e < Slice::quads; ++e) slice.b[c][e] = b_at(p + 4 * e, 8 * c);
    }
  }
  __device__ __forceinline__ void multiply(const Slice& slice) {
    TensorEntry<Real> a[tiles][2 * Slice::quads];
#pragma unroll
    for (int i = 0; i < tiles; ++i) {
#pragma unroll
      for (int e = 0; e < 2 * Slice::quads; ++e) a[i][e] = tensor_entry(slice.a[i][e]);
    }
#pragma unroll
    for (int c = 0; c < 4; ++c) {
      const TensorEntry<Real> b0 = tensor_entry(slice.b[c][0]);
      if constexpr (Slice::quads == 1) {
#pragma unroll
        for (int i = 0; i < tiles; ++i) multiply_add(sum[i][c], a[i], b0);
      } else {
        const TensorEntry<Real> b1 = tensor_entry(slice.b[c][1]);
#pragma unroll
        for (int i = 0; i < tiles; ++i) multiply_add(sum[i][c], a[i], b0, b1);
      }
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

/// The slices of a product's slabs, processed successively.
template <class Product, class LayoutA, class LayoutB, int depth>
struct OperandSlices {
  template <class Scalar>
  __device__ __forceinline__ void begin(Product&, const Scalar*, const Scalar*) {}
  template <class Scalar>
  __device__ __forceinline__ void go_on(Product& product, const Scalar* A, const Scalar* B) {
    product.template add<LayoutA, LayoutB>(A, B, depth);
  }
  __device__ __forceinline__ void end(Product&) {}
};

/// With tensor cores each slice is fetched before its predecessor is multiplied, the first one of a slab
/// before the last one of the preceding slab.
template <std::floating_point Real, int tiles, class LayoutA, class LayoutB, int depth>
struct OperandSlices<TileProduct<Real, tiles>, LayoutA, LayoutB, depth> {
  using Product = TileProduct<Real, tiles>;
  static constexpr int width = Product::Slice::width;
  typename Product::Slice slice[2] = {};

  __device__ __forceinline__ void step(Product& product, const Real* A, const Real* B, int s) {
    Product::template fetch<LayoutA, LayoutB>(slice[s % 2], A, B, width * s);
    product.multiply(slice[(s + 1) % 2]);
  }
  __device__ __forceinline__ void begin(Product& product, const Real* A, const Real* B) {
    step(product, A, B, 0);
  }
  __device__ __forceinline__ void go_on(Product& product, const Real* A, const Real* B) {
#pragma unroll
    for (int s = 1; s < depth / width; ++s) step(product, A, B, s);
  }
  __device__ __forceinline__ void end(Product& product) {
    product.multiply(slice[1]);
  }
};

/// A part of a matrix in global memory; one of its strides is 1.
template <class Scalar>
struct GlobalPart {
  const Scalar* data;
  std::int64_t inner, outer;  ///< strides of the product's inner and outer index
  int inners, outers;         ///< extents; entries beyond are zero
};

/// Copies one or two entries to shared memory asynchronously; zeros if `there` is false.
template <int bytes>
__device__ __forceinline__ void send_entries(void* to, const void* from, bool there) {
  const auto at = static_cast<unsigned>(__cvta_generic_to_shared(to));
  if constexpr (bytes == 16) {
    asm volatile(
        "{\n.reg .pred absent;\nsetp.eq.s32 absent, %2, 0;\n"
        "cp.async.cg.shared.global [%0], [%1], 16, absent;\n}\n" ::"r"(at),
        "l"(from), "r"(static_cast<int>(there))
        : "memory");
  } else {
    asm volatile(
        "{\n.reg .pred absent;\nsetp.eq.s32 absent, %2, 0;\n"
        "cp.async.ca.shared.global [%0], [%1], %3, absent;\n}\n" ::"r"(at),
        "l"(from), "r"(static_cast<int>(there)), "n"(bytes)
        : "memory");
  }
}

/// An operand to be sent to shared memory; stored in shared memory itself, to save registers for entries.
template <class Scalar>
struct OperandSource {
  const Scalar* data;
  int stride;          ///< the stride that is not 1
  int inners, outers;  ///< extents; entries beyond are zero
  int entries;         ///< entries per copy
};

/// Sends an operand to shared memory slab by slab. Adjacent threads follow the unit stride. If all lines
/// start at multiples of 16 bytes, copies are 16 bytes wide, which leaves more of the memory pipeline to
/// fragments.
template <class Scalar, OperandOrder order, int width, int depth>
struct OperandSender {
  static constexpr bool by_outer = order == OperandOrder::outer;
  static constexpr int line = by_outer ? width : depth, lines = by_outer ? depth : width;
  static constexpr int most = 16 / static_cast<int>(sizeof(Scalar));  ///< entries per copy

  using Layout = OperandLayout<Scalar, order, width, depth>;

  __device__ static OperandSource<Scalar> source(const GlobalPart<Scalar>& part) {
    const int stride = static_cast<int>(by_outer ? part.inner : part.outer);
    const int along = by_outer ? part.outers : part.inners;
    const bool wide = reinterpret_cast<std::uintptr_t>(part.data) % 16 == 0 && (stride | along) % most == 0;
    return {part.data, stride, part.inners, part.outers, wide ? most : 1};
  }

  __device__ __forceinline__ static void send(const OperandSource<Scalar>& source, Scalar* to, int slab) {
    if (source.entries == 1) {
      copy<1>(source, to, slab);
    } else {
      copy<most>(source, to, slab);
    }
  }

 private:
  template <int entries>
  __device__ __forceinline__ static void copy(const OperandSource<Scalar>& source, Scalar* to, int slab) {
    constexpr int pieces = line / entries, step = front_threads / pieces;  // lines
    constexpr int pitch = by_outer ? Layout::pitch : depth;
    static_assert(by_outer || step % Layout::turns == 0);
    unsigned thread;  // read again: values derived from it would take registers that products need
    asm volatile("mov.u32 %0, %%tid.x;" : "=r"(thread));
    const int along = static_cast<int>(thread % pieces) * entries, across = static_cast<int>(thread / pieces);
    const int first = slab * depth, stride = source.stride;
    to += Layout::of(by_outer ? across : along, by_outer ? along : across);
    const int inners = source.inners - first;
    const int lines_there =
        along < (by_outer ? source.outers : inners) ? (by_outer ? inners : source.outers) - across : 0;
    const Scalar* from = source.data + along +
                         static_cast<std::int64_t>(by_outer ? first + across : across) * stride +
                         (by_outer ? 0 : first);
    constexpr int bytes = entries * static_cast<int>(sizeof(Scalar));
    const std::int64_t apart = static_cast<std::int64_t>(step) * stride;
    // a copy holds its pointer until issued: alternate between two pointers
    const Scalar* next[2] = {from, from + apart};
#pragma unroll
    for (int e = 0; e < lines / step; ++e) {
      send_entries<bytes>(to + e * step * pitch, next[e % 2], e * step < lines_there);
      next[e % 2] += 2 * apart;
      asm volatile("" : "+l"(next[e % 2]));  // a pointer for each copy would take too many registers
    }
  }
};

/// Waits until at most the last `beyond` slabs are in transit.
__device__ __forceinline__ void wait_for_slabs(int beyond) {
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

/// Version for products, which have one slab in transit most often, and never more.
__device__ __forceinline__ void wait_for_operands(int beyond) {
  static_assert(product_stages == 2);
  if (beyond > 0) {
    __pipeline_wait_prior(1);
  } else {
    __pipeline_wait_prior(0);
  }
}

}  // namespace lutra::Impl

#endif
