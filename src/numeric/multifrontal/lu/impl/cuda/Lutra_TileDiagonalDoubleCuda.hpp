// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_TILEDIAGONALDOUBLECUDA_HPP
#define LUTRA_TILEDIAGONALDOUBLECUDA_HPP

#include "Lutra_TileDiagonalCuda.hpp"

namespace lutra::Impl {

// The diagonal tile in double precision: right-looking LU in blocks of eight pivots, with the inverses X of L
// and V of U built in place of A, as in Gauss-Jordan elimination, all in one matrix M of 64 × 64. At step k,
// with the diagonal block D = L_k U_k and the inverses X_k of L_k and V_k of U_k,
//
//   M(i, j) -= (M(i, k) V_k) (X_k M(k, j)),  where M(i, k) V_k is L(i, k) below D and V(i, k) above it, and
//   X_k M(k, j) is U(k, j) right of D and X(k, j) left of it.
//
// Before that step D counts as an identity, and the rest of its row and column as zero where they are added
// to. Row operations on A are thus also applied to an identity, left of D, and column operations to another
// one, above it. All of this is by substitution: the inverse of a whole block is never multiplied with its
// neighbours, so that factors and inverses stay consistent where a block is nearly singular.
//
// Warp 0 eliminates D in registers and proceeds to the next D by itself: with tensor cores, whose operands it
// already holds, it computes the two blocks next to D and their update of the next diagonal block. Four other
// warps hold 16 rows of M each in registers and update them meanwhile. Tensor-core products delay additions
// and multiplications of other warps on the same quarter of the multiprocessor (three times as long as
// without), so none of the four shares warp 0's quarter. The last three warps store finished data.

/// D = C + A·B for 16 × 8 of C with a tensor core. Lane 4g + t holds A's (g, t) and (g + 8, t), B's (t, g)
/// and C's (g, 2t), (g, 2t + 1), (g + 8, 2t), (g + 8, 2t + 1).
__device__ __forceinline__ void multiply_add(double (&d)[4], double a0, double a1, double b,
                                             const double (&c)[4]) {
  asm("mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%7, %8, %9, %10};"
      : "=d"(d[0]), "=d"(d[1]), "=d"(d[2]), "=d"(d[3])
      : "d"(a0), "d"(a1), "d"(b), "d"(c[0]), "d"(c[1]), "d"(c[2]), "d"(c[3]));
}
/// C += A·B for 8 × 8 of C with a tensor core. Lane 4g + t holds A's (g, t), B's (t, g) and C's (g, 2t) and
/// (g, 2t + 1). A lane's part of a result equals its part of a left operand whose inner indices are taken in
/// the order 0, 2, 4, 6 and 1, 3, 5, 7, and of a right operand that is the transpose.
__device__ __forceinline__ void multiply_add(double& c0, double& c1, double a, double b) {
  asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
      : "+d"(c0), "+d"(c1)
      : "d"(a), "d"(b));
}

template <>
struct TileDiagonal<double> {
  static constexpr int edge = 64, pitch = edge + operand_pad<double>, block = pivot_panel;
  static constexpr int part = 8, parts = edge / part;  ///< edge of a tensor core's 8 × 8 result
  static constexpr int row_pitch = edge + 4, row_words = part * row_pitch, contribution_words = part * part;
  static constexpr int scratch_words = 2 * row_words + 2 * contribution_words + 4;

  double* tile;    ///< A, then L\U: entry (r, c) at c·pitch + r
  double* lower;   ///< X: entry (r, c) at c·pitch + r; zero above the diagonal within blocks of 16
  double* upper;   ///< V: entry (r, c) at r·pitch + c; zero below the diagonal within blocks of 16
  double* copies;  ///< [scratch_words] by parity of the step: its row of M, with pairs of columns eight apart
                   ///< interleaved; the block below D; then a bit mask of perturbed pivots per step
  int blocks;      ///< blocks of 16 to process; rows and columns of the last one beyond the pivots are those
                   ///< of an identity
  const PivotRule<double>& rule;

  /// @param note called as note(pivot, is_perturbed) once for each pivot
  /// @param keep called as keep(k, warp, warps) by some of the block's warps once rows k, in blocks of 16, of
  ///             L\U and X and columns k of L\U and V are final
  template <class Note, class Keep>
  __device__ __forceinline__ void run(const Note& note, const Keep& keep) const {
    const int warp = static_cast<int>(threadIdx.x) / 32;
    if (warp == 0) {
      eliminate_diagonals();
    } else if (warp == 4 || warp > 5) {
      store_finished(note, keep, max(warp - 5, 0));
    } else {
      update(warp == 1 ? 0 : warp == 5 ? 1 : warp);
    }
    __syncthreads();
    if (warp == 7) note_block(note, blocks - 1);
    keep(blocks - 1, warp, front_warps);
  }

 private:
  __device__ __forceinline__ int steps() const { return 2 * blocks; }
  __device__ __forceinline__ double* row_of(int k) const { return copies + k % 2 * row_words; }
  __device__ __forceinline__ double* contribution_of(int k) const {
    return copies + 2 * row_words + k % 2 * contribution_words;
  }
  __device__ __forceinline__ int* perturbed_bits() const {
    return reinterpret_cast<int*>(copies + 2 * row_words + 2 * contribution_words);
  }
  // Barrier protocol. Warp 0 factorizes diagonal blocks, four warps update, three store.
  //
  //     update warps                    warp 0                            storing warps
  //     store row k of M
  //     arrive(5)  ───────────────────► sync(5)    reads row k
  //     sync(1)  ◄───────────────────── arrive(1)  factors of block k
  //       all updates of k − 1 are done
  //     arrive(2 … 4), each block of 16 arrive(2 … 4) ──────────────────► sync(2 … 4)
  //
  // Each arrive pairs with the sync of the same number. Warp 0 never arrives at 1 twice before the update
  // warps have synced there, since it syncs at 5 in between, where they arrive after that.
  __device__ __forceinline__ static void arrive_rows() { asm volatile("bar.arrive 5, 160;" ::: "memory"); }
  __device__ __forceinline__ static void sync_rows() { asm volatile("bar.sync 5, 160;" ::: "memory"); }
  __device__ __forceinline__ static void arrive_factors(int k) {
    asm volatile("bar.arrive 1, 160;" ::: "memory");
    if (k > 0 && k % 2 == 0) pass_storing<false>(k / 2 - 1);
  }
  __device__ __forceinline__ static void sync_factors(int k) {
    asm volatile("bar.sync 1, 160;" ::: "memory");
    if (k > 0 && k % 2 == 0) pass_storing<false>(k / 2 - 1);
  }
  template <bool wait>
  __device__ __forceinline__ static void pass_storing(int q) {
    if (q == 0) {
      storing_barrier<wait, 2>();
    } else if (q == 1) {
      storing_barrier<wait, 3>();
    } else {
      storing_barrier<wait, 4>();
    }
  }
  template <bool wait, int barrier>
  __device__ __forceinline__ static void storing_barrier() {
    if constexpr (wait) {
      asm volatile("bar.sync %0, 256;" ::"n"(barrier) : "memory");
    } else {
      asm volatile("bar.arrive %0, 256;" ::"n"(barrier) : "memory");
    }
  }
  __device__ __forceinline__ static double2 load_pair(const double* from) {
    return *reinterpret_cast<const double2*>(from);
  }
  __device__ __forceinline__ static void store_pair(double* to, double a, double b) {
    *reinterpret_cast<double2*>(to) = make_double2(a, b);
  }

  /// Entry (r, c) of a unit lower triangle.
  __device__ __forceinline__ static double of_unit_triangle(int r, int c, double below) {
    return r > c ? below : r == c ? 1. : 0.;
  }

  /// Warp 0: eliminates the diagonal blocks successively.
  __device__ __forceinline__ void eliminate_diagonals() const {
    const int lane = static_cast<int>(threadIdx.x) % 32, g = lane / 4, t = lane % 4;
    double d0 = tile[2 * t * pitch + g], d1 = tile[(2 * t + 1) * pitch + g];
#pragma unroll 1
    for (int k = 0;; ++k) {
      const double a0 = d0, a1 = d1;
      double u0 = 0, u1 = 0;
      unsigned changed = 0;
      if (__any_sync(0xffffffffu, eliminate(d0, d1, u0, u1, [](double p, int) { return p; }))) {
        d0 = a0;
        d1 = a1;
        eliminate(d0, d1, u0, u1, [&](double p, int j) {
          bool is = false;
          const double used = rule(p, is);
          changed |= (is ? 1u : 0u) << j;
          return used;
        });
      }
      const int diagonal = part * k * (pitch + 1);
      sync_rows();
      const double2 left = load_pair(contribution_of(k) + 2 * lane);
      const double* const above = row_of(k) + 2 * t * row_pitch + 2 * g;
      const double above0 = above[0], above1 = above[row_pitch];
      double* const at = tile + diagonal + 2 * t * pitch + g;
      const double x0 = of_unit_triangle(g, 2 * t, d0), x1 = of_unit_triangle(g, 2 * t + 1, d1);
      store_pair(upper + diagonal + g * pitch + 2 * t, g <= 2 * t ? d0 : 0., g <= 2 * t + 1 ? d1 : 0.);
      double* const xat = lower + diagonal + 2 * t * pitch + g;
      xat[0] = x0;
      xat[pitch] = x1;
      __syncwarp();
      arrive_factors(k);
      if (lane == 0) perturbed_bits()[k] = static_cast<int>(changed);
      if (k + 1 == steps()) {
        at[0] = u0;
        at[pitch] = u1;
        break;
      }
      const double* const vat = upper + diagonal + 2 * t * pitch + g;
      const double v0 = vat[0], v1 = vat[pitch];
      const double* const own = at + part * (pitch + 1);
      d0 = own[0];
      d1 = own[pitch];
      double ut0 = 0, ut1 = 0, us0 = 0, us1 = 0, l0 = 0, l1 = 0, m0 = 0, m1 = 0;
      multiply_add(ut0, ut1, above0, x0);
      multiply_add(us0, us1, above1, x1);
      multiply_add(l0, l1, left.x, v0);
      multiply_add(m0, m1, left.y, v1);
      at[0] = u0;
      at[pitch] = u1;
      ut0 += us0;
      ut1 += us1;
      l0 += m0;
      l1 += m1;
      m0 = m1 = 0;
      multiply_add(d0, d1, -l0, ut0);
      multiply_add(m0, m1, -l1, ut1);
      d0 += m0;
      d1 += m1;
    }
  }

  /// Eliminates a block of eight in place by rows, including those above the pivot, whose entries become
  /// those of V, while entries left of the pivot become X's. This lane holds entries (g, 2t) and (g, 2t + 1).
  /// @param choose maps a computed pivot and its index to the pivot to use
  /// @param u0, u1 this lane's entries of L\U
  /// @returns true if any was smaller than the threshold
  template <class Choose>
  __device__ __forceinline__ bool eliminate(double& d0, double& d1, double& u0, double& u1,
                                            const Choose& choose) const {
    const int lane = static_cast<int>(threadIdx.x) % 32, g = lane / 4, t = lane % 4;
    const double threshold = rule.threshold;
    bool small = false;
#pragma unroll 1
    for (int J = 0; J < 4; ++J) {
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        const int j = 2 * J + h;
        const double met = from_lane(h ? d1 : d0, 9 * J + 4 * h);
        double c = from_lane(h ? d1 : d0, (lane & ~3) + J);
        const double r0 = from_lane(d0, 8 * J + 4 * h + t), r1 = from_lane(d1, 8 * J + 4 * h + t);
        small = small | (fabs(met) < threshold);
        const double p = choose(met, j);
        const PivotDivision<double> divide(p);
        const bool here = t == J, before = t < J, row = g == j;
        if (row) c = -1;  // divides the pivot's row: zero minus -1/p times the row
        const double f = divide(c);
        if (h == 0) {
          if (row && !before) {
            u0 = here ? p : r0;
            u1 = r1;
          }
          if (here && g > j) u0 = f;
        } else {
          if (row && t > J) u0 = r0;
          if (row && !before) u1 = here ? p : r1;
          if (here && g > j) u1 = f;
        }
        const bool col0 = h == 0 && here, col1 = h == 1 && here;
        const bool before0 = h == 0 ? before : t <= J, before1 = before;
        double m0 = r0, m1 = r1;
        if (before0 && g <= j) m0 = 0;
        if (before1 && g <= j) m1 = 0;
        if (col0) m0 = 1;
        if (col1) m1 = 1;
        const double b0 = col0 || (row && !before0) ? 0. : d0, b1 = col1 || (row && !before1) ? 0. : d1;
        d0 = fma(-f, m0, b0);
        d1 = fma(-f, m1, b1);
      }
    }
    return small;
  }

  template <class Note>
  __device__ __forceinline__ void note_block(const Note& note, int q) const {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    if (lane < block) note(block * q + lane, (perturbed_bits()[2 * q + lane / part] >> lane % part & 1) != 0);
  }
  /// Three warps: store finished data.
  template <class Note, class Keep>
  __device__ __forceinline__ void store_finished(const Note& note, const Keep& keep, int warp) const {
    for (int e = 32 * warp + static_cast<int>(threadIdx.x) % 32; e < blocks * 64; e += 96) {
      const int position = block * (e / 64) * (pitch + 1) + (part + e / 8 % 8) * pitch + e % 8;
      lower[position] = 0;
      upper[position] = 0;
    }
#pragma unroll 1
    for (int q = 0; q + 1 < blocks; ++q) {
      pass_storing<true>(q);
      if (warp == 0) note_block(note, q);
      keep(q, warp, 3);
    }
  }

  using Rows = double[parts][4];

  /// Four warps: update 16 rows of M each.
  __device__ __forceinline__ void update(int unit) const {
    const int lane = static_cast<int>(threadIdx.x) % 32, g = lane / 4, t = lane % 4;
    Rows M;  // part r: columns of block k + r, wrapping around after the last
#pragma unroll
    for (int r = 0; r < parts; ++r) {
#pragma unroll
      for (int e = 0; e < 4; ++e)
        M[r][e] = tile[(part * r + 2 * t + e % 2) * pitch + block * unit + g + e / 2 * part];
    }
    __syncwarp();
    leave(M, unit, 0);
    arrive_rows();
#pragma unroll 1
    for (int k = 0;; ++k) {
      sync_factors(k);
      step(M, unit, k);
      if (k + 1 == steps()) break;
      leave(M, unit, k + 1);
      arrive_rows();
    }
  }

  /// Stores row k of M, and the input of the next diagonal block: the block itself if it is still in the
  /// tile.
  __device__ __forceinline__ void leave(Rows& M, int unit, int k) const {
    if (unit == (k + 1) / 2) {
      const int lane = static_cast<int>(threadIdx.x) % 32;
      double* const contribution = contribution_of(k) + 2 * lane;
      double* const own = tile + part * (k + 1) * (pitch + 1) + lane % 4 * 2 * pitch + lane / 4;
      if (k % 2 == 0) {
        store_pair(contribution, M[0][2], M[0][3]);
        own[0] = M[1][2];
        own[pitch] = M[1][3];
      } else {
        store_pair(contribution, M[0][0], M[0][1]);
        own[0] = M[1][0];
        own[pitch] = M[1][1];
      }
    }
    if (unit == k / 2) {
      if (k % 2 == 0) {
        leave_row<0>(M, row_of(k));
      } else {
        leave_row<2>(M, row_of(k));
      }
    }
  }
  template <int half>
  __device__ __forceinline__ static void leave_row(Rows& M, double* row) {
    const int lane = static_cast<int>(threadIdx.x) % 32, g = lane / 4, t = lane % 4;
    M[0][half] = g == 2 * t ? 1. : 0.;
    M[0][half + 1] = g == 2 * t + 1 ? 1. : 0.;
    double* const at = row + g * row_pitch + 4 * t;
#pragma unroll
    for (int q = 0; q < parts / 2; ++q) {
#pragma unroll
      for (int e = 0; e < 2; ++e)
        store_pair(at + block * q + 2 * e, M[2 * q + 1][half + e], M[(2 * q + 2) % parts][half + e]);
    }
#pragma unroll
    for (int r = 1; r < parts; ++r) M[r][half] = M[r][half + 1] = 0;
  }

  /// One step of M. Parts shift by one, so that columns of block k always come first; data above and left of
  /// D is no longer needed.
  __device__ __forceinline__ void step(Rows& M, int unit, int k) const {
    const int lane = static_cast<int>(threadIdx.x) % 32, g = lane / 4, t = lane % 4;
    const int diagonal = part * k * (pitch + 1);
    const double* const vat = upper + diagonal + 2 * t * pitch + g;
    const double v0 = vat[0], v1 = vat[pitch];
    const double* const xat = lower + diagonal + t * pitch + g;
    const double x0 = xat[0], x1 = xat[4 * pitch];
    const double zeros[4] = {};
    double l[4];
    Impl::multiply_add(l, M[0][0], M[0][2], v0, zeros);
    Impl::multiply_add(l, M[0][1], M[0][3], v1, l);
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const int i = 2 * unit + h;
      if (i > k) {
        double* const at = tile + (part * k + 2 * t) * pitch + part * i + g;
        at[0] = l[2 * h];
        at[pitch] = l[2 * h + 1];
      } else if (i < k) {
        store_pair(upper + (part * i + g) * pitch + part * k + 2 * t, l[2 * h], l[2 * h + 1]);
      }
    }
    const bool finished = 2 * unit < k;  // columns up to k of these rows
    const double* const row = row_of(k) + t * row_pitch + 2 * g;
#pragma unroll
    for (int q = 0; q < parts / 2; ++q) {
      if (finished && 2 * q + 1 + k >= parts && q != unit) continue;
      const double2 y0 = load_pair(row + block * q), y1 = load_pair(row + block * q + 4 * row_pitch);
      double u[4];
      Impl::multiply_add(u, y0.x, y0.y, x0, zeros);
      Impl::multiply_add(u, y1.x, y1.y, x1, u);
      if (q == unit) {  // one of the four warps stores these
#pragma unroll
        for (int h = 0; h < 2; ++h) {
          const int j = k + 2 * q + 1 + h;
          if (j != k + parts)
            store_pair((j < parts ? tile : lower) + (part * (j % parts) + g) * pitch + part * k + 2 * t,
                       u[2 * h], u[2 * h + 1]);
        }
      }
      double first[4], second[4];
      Impl::multiply_add(first, -l[0], -l[2], u[0], M[2 * q + 1]);
      if (q + 1 < parts / 2) {
        Impl::multiply_add(second, -l[0], -l[2], u[2], M[(2 * q + 2) % parts]);
      } else {
        Impl::multiply_add(second, -l[0], -l[2], u[2], zeros);
      }
      Impl::multiply_add(M[2 * q], -l[1], -l[3], u[1], first);
      Impl::multiply_add(M[2 * q + 1], -l[1], -l[3], u[3], second);
    }
  }
};

}  // namespace lutra::Impl

#endif
