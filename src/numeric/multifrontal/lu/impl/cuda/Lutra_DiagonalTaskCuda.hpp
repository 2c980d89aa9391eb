// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_DIAGONALTASKCUDA_HPP
#define LUTRA_DIAGONALTASKCUDA_HPP

#include "Lutra_TileWorkCuda.hpp"

namespace lutra::Impl {

// Members of TileWork for the task of a diagonal tile. It computes the last product before its tile from its
// neighbours' hand-off buffers, reorders lines if interchanges are allowed, and factorizes the tile with the
// inverses of its triangles.

template <int tiles, bool interchanges, bool symmetric, class Scalar>
__device__ inline void TileWork<tiles, interchanges, symmetric, Scalar>::add_last_product(
    Product& product) const {
  using Layout = OperandLayout<Scalar, OperandOrder::outer, edge>;
  constexpr int slab_words = inverse_depth * Layout::pitch;
  const int s = steps() - 1;
  Scalar* const left = memory.space;
  Scalar* const above = left + Memory::single;
  Scalar* const operand = above + Memory::single;
  if (threadIdx.x < 2) wait_for_flag(launch, link_flag(s, threadIdx.x == 1), task.front);
  __syncthreads();
  for (int q = 0; q < inverse_slabs; ++q) {
    send_lines(left, link(s, false), q);
    send_lines(above, link(s, true), q);
  }
  __pipeline_commit();
  if (threadIdx.x == 0) wait_for_flag(launch, flag(s, s), task.front);
  __syncthreads();
  for (int q = 0; q < inverse_slabs; ++q) {
    send_inverse(operand, s, true, q);
    __pipeline_commit();
  }
  Product factor;
  factor.for_each([](int, int, Scalar& sum) { sum = Scalar(0); });
  for (int q = 0; q < inverse_slabs; ++q) {
    wait_for_slabs(inverse_slabs - (q == 0 ? 1 : 2));
    __syncthreads();
    if (q > 0) {  // L's inverse overwrites data that has been read
      send_inverse(operand, s, false, q - 1);
      __pipeline_commit();
    }
    factor.template add<Layout, Layout>(left + q * slab_words, operand + q * slab_words, inverse_depth);
  }
  __syncthreads();
  send_inverse(operand, s, false, inverse_slabs - 1);
  __pipeline_commit();
  factor.for_each([&](int a, int b, Scalar& sum) {
    left[b * pitch + a] = sum;
    sum = Scalar(0);
  });
  for (int q = 0; q < inverse_slabs; ++q) {
    wait_for_slabs(inverse_slabs - 1 - q);
    __syncthreads();
    factor.template add<Layout, Layout>(above + q * slab_words, operand + q * slab_words, inverse_depth);
  }
  __syncthreads();
  factor.for_each([&](int a, int b, const Scalar& sum) { above[b * pitch + a] = sum; });
  __syncthreads();
  product.template add<Layout, Layout>(left, above, edge);
}

template <int tiles, bool interchanges, bool symmetric, class Scalar>
__device__ inline void TileWork<tiles, interchanges, symmetric, Scalar>::order_lines(int first, int pivots,
                                                                                     bool searches) const {
  constexpr int R = edge / 16;
  const int thread = static_cast<int>(threadIdx.x), x = thread % 16, y = thread / 16;
  Scalar* const tile = memory.space;
  auto& exchange = *reinterpret_cast<PivotExchange<R, Scalar>*>(tile + Memory::single);
  auto& lines = *reinterpret_cast<BlockExchange<symmetric, R, Scalar>*>(&exchange + 1);
  RegisterMatrix<R, Scalar> A;
  const auto for_each = [&](const auto& visit) {
#pragma unroll
    for (int i = 0; i < R; ++i) {
#pragma unroll
      for (int c = 0; c < R; ++c) visit(A.a[i][c], x + 16 * i, y + 16 * c);
    }
  };
  lines.start();
  if (searches) {
    for_each([&](Scalar& entry, int r, int c) {
      entry = r < pivots && c < pivots ? tile[c * pitch + r] : Scalar(0);
    });
    eliminate_registers<R, true, symmetric>(A, pivots, rule, exchange, &lines, [](int, bool) {});
  } else if constexpr (symmetric) {
    __syncthreads();
    if (const int j = 2 * thread; j + 1 < pivots)
      lines.note_pair(
          j, order_of_pair(tile[j * pitch + j], tile[j * pitch + j + 1], tile[(j + 1) * pitch + j + 1]));
  }
  __syncthreads();
  note_orders(launch.data, front.first_pivot + first, pivots, lines);
  if (!symmetric && !searches) return;
  for_each([&](Scalar& entry, int r, int c) {
    if constexpr (symmetric) {
      entry = tile[lines.column_order[c] * pitch + lines.row_order[r]];
    } else {
      entry = tile[c * pitch + lines.order[r]];
    }
  });
  __syncthreads();
  for_each([&](Scalar& entry, int r, int c) {
    if (r < pivots && (!symmetric || c < pivots)) tile[c * pitch + r] = entry;
  });
}

template <int tiles, bool interchanges, bool symmetric, class Scalar>
__device__ inline void TileWork<tiles, interchanges, symmetric, Scalar>::store_ordered_inverse(
    const Scalar* from, bool of_upper, int first, int pivots, int used) const {
  const auto first_index = front.first_pivot + first;
  const auto* const order = of_upper ? launch.data.column_of_pivot : launch.data.row_of_pivot;
  Scalar* const to = inverse(task.row, of_upper);
#pragma unroll 4
  for (int e = static_cast<int>(threadIdx.x); e < edge * edge; e += front_threads) {
    const int line = e / edge, position = e % edge;  // a column of L's inverse, or a row of U's
    if (position >= used || line >= used) continue;
    const auto own = line < pivots ? static_cast<int>(order[first_index + line] - first_index) : line;
    to[own * used + position] = position >= line ? from[line * pitch + position] : Scalar(0);
  }
}

template <int tiles, bool interchanges, bool symmetric, class Scalar>
__device__ inline bool TileWork<tiles, interchanges, symmetric, Scalar>::has_large_multipliers(
    int pivots) const {
  const auto most = RealOf<Scalar>(1) / rule.keep;
  const Scalar* const L = memory.space;
  const Scalar* const inverse_of_l = L + Memory::single;
  __syncthreads();
  bool any = memory.trial_perturbations > 0;
  for (int e = static_cast<int>(threadIdx.x); e < edge * edge; e += front_threads) {
    const int r = e % edge, c = e / edge;
    if (r <= c || r >= pivots) continue;
    any |= !(ScalarTraits<Scalar>::magnitude(L[c * pitch + r]) <= most);
    if (symmetric) any |= !(ScalarTraits<Scalar>::magnitude(inverse_of_l[c * pitch + r]) <= 2 * most);
  }
  return __syncthreads_or(any) != 0;
}

template <int tiles, bool interchanges, bool symmetric, class Scalar>
__device__ inline void TileWork<tiles, interchanges, symmetric, Scalar>::factorize_interchanged(
    int first, DiagonalTile<Scalar> tile) const {
  const int pivots = tile.pivots, used = tile.blocks() * pivot_panel;
  Scalar* const kept = inverse(task.row, false);  // not written before the tile is factorized
  const auto for_each_kept = [&](const auto& visit) {
    for (int e = static_cast<int>(threadIdx.x); e < edge * edge; e += front_threads) {
      const int r = e % edge, c = e / edge;
      if (r < pivots && c < pivots) visit(kept[c * used + r], memory.space[c * pitch + r]);
    }
  };
  for_each_kept([](Scalar& copy, const Scalar& entry) { copy = entry; });
  if (threadIdx.x == 0) memory.trial_perturbations = 0;
  order_lines(first, pivots, false);
  std::int64_t* const perturbations = tile.perturbations;
  tile.perturbations = &memory.trial_perturbations;
  factorize_tile(tile);
  if (has_large_multipliers(pivots)) {
    for_each_kept([](const Scalar& copy, Scalar& entry) { entry = copy; });
    __syncthreads();
    order_lines(first, pivots, true);
    tile.perturbations = perturbations;
    factorize_tile(tile);
  }
  __syncthreads();  // the copy is overwritten
  store_ordered_inverse(memory.space + Memory::single, false, first, pivots, used);
  if constexpr (symmetric)
    store_ordered_inverse(memory.space + 2 * Memory::single, true, first, pivots, used);
}

template <int tiles, bool interchanges, bool symmetric, class Scalar>
__device__ inline void TileWork<tiles, interchanges, symmetric, Scalar>::factorize_diagonal() const {
  if constexpr (symmetric) mirror_lower(memory.space, launch.hermitian);
  if constexpr (interchanges) {
    __syncthreads();
    factorize_interchanged(cut.begin(task.row), diagonal_tile());
  } else {
    factorize_tile(diagonal_tile());
  }
}

template <int tiles, bool interchanges, bool symmetric, class Scalar>
__device__ inline void TileWork<tiles, interchanges, symmetric, Scalar>::store_mirrored_pairs(
    Product& product) const {
  const int row = cut.begin(task.row), column = cut.begin(task.column);
  const int rows = extent(task.row, task.rows), columns = extent(task.column, task.columns);
  const DenseFront<Scalar> own = dense();
  __syncthreads();  // the operands have been read
  auto& weights = *reinterpret_cast<MirrorWeights<edge, Scalar>*>(memory.copies);
  static_assert(sizeof(weights) <= sizeof(memory.copies));
  const auto conjugated = [&](const Scalar& value) { return mirrored(value); };
  weights.load(launch.data, front.first_pivot + column, columns, &own.at(column, column), front.size(),
               conjugated);
  product.for_each([&](int r, int c, const Scalar& value) { at(r, c) = mirrored(value); });
  __syncthreads();
  Scalar* const data = &own.at(column, row);
  const bool by_rows = task.row >= pivot_tiles();
  const Offset row_stride = by_rows ? front.cb_rows : 1;
  const Offset column_stride = by_rows ? 1 : front.size();
  product.for_each([&](int r, int c, const Scalar& value) {
    if (r >= rows || c >= columns) return;
    data[c * row_stride + r * column_stride] =
        weights.own[c] * mirrored(value) + weights.other[c] * at(r, weights.partner[c]);
  });
}

}  // namespace lutra::Impl

#endif
