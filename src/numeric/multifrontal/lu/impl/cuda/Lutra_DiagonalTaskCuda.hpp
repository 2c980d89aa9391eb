// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_DIAGONALTASKCUDA_HPP
#define LUTRA_DIAGONALTASKCUDA_HPP

#include "Lutra_TileWorkCuda.hpp"

namespace lutra::Impl {

// Members of TileWork for the task of a diagonal tile. It computes the last product before its tile from its
// neighbours' hand-off buffers, reorders rows if interchanges are allowed, and factorizes the tile with the
// inverses of its triangles.

template <int tiles, bool interchanges, bool symmetric, class Scalar>
__device__ inline void TileWork<tiles, interchanges, symmetric, Scalar>::add_last_product(
    Product& product) const {
  using Layout = OperandLayout<OperandOrder::outer, edge>;
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
__device__ inline void TileWork<tiles, interchanges, symmetric, Scalar>::order_rows(int first,
                                                                                    int pivots) const {
  constexpr int R = edge / 16;
  const int thread = static_cast<int>(threadIdx.x), x = thread % 16, y = thread / 16;
  Scalar* const tile = memory.space;
  auto& exchange = *reinterpret_cast<PivotExchange<R, Scalar>*>(tile + Memory::single);
  auto& rows = *reinterpret_cast<RowExchange<R, Scalar>*>(&exchange + 1);
  RegisterMatrix<R, Scalar> A;
  const auto for_each = [&](const auto& visit) {
#pragma unroll
    for (int i = 0; i < R; ++i) {
#pragma unroll
      for (int c = 0; c < R; ++c) visit(A.a[i][c], x + 16 * i, y + 16 * c);
    }
  };
  for_each([&](Scalar& entry, int r, int c) {
    entry = r < pivots && c < pivots ? tile[c * pitch + r] : Scalar(0);
  });
  rows.start();
  eliminate_registers<R, true>(A, pivots, rule, exchange, &rows, [](int, bool) {});
  __syncthreads();
  note_order(launch.data, front.first_pivot + first, pivots, rows.exchanges, thread, front_threads,
             [&](int j) { return rows.order[j]; });
  for_each([&](Scalar& entry, int r, int c) { entry = tile[c * pitch + rows.order[r]]; });
  __syncthreads();
  for_each([&](Scalar& entry, int r, int c) {
    if (r < pivots) tile[c * pitch + r] = entry;
  });
}

template <int tiles, bool interchanges, bool symmetric, class Scalar>
__device__ inline void TileWork<tiles, interchanges, symmetric, Scalar>::store_ordered_inverse(
    const Scalar* from, int first, int pivots, int used) const {
  const auto first_row = front.first_pivot + first;
  Scalar* const to = inverse(task.row, false);
#pragma unroll 4
  for (int e = static_cast<int>(threadIdx.x); e < edge * edge; e += front_threads) {
    const int column = e / edge, row = e % edge;
    if (row >= used || column >= used) continue;
    const auto own =
        column < pivots ? static_cast<int>(launch.data.row_of_pivot[first_row + column] - first_row) : column;
    to[own * used + row] = row >= column ? from[column * pitch + row] : Scalar(0);
  }
}

template <int tiles, bool interchanges, bool symmetric, class Scalar>
__device__ inline void TileWork<tiles, interchanges, symmetric, Scalar>::factorize_diagonal() const {
  if constexpr (interchanges) order_rows(cut.begin(task.row), cut.extent(task.row));
  const DiagonalTile<Scalar> tile = diagonal_tile();
  factorize_tile(tile);
  if constexpr (interchanges)
    store_ordered_inverse(memory.space + Memory::single, cut.begin(task.row), tile.pivots,
                          tile.blocks() * pivot_panel);
}

}  // namespace lutra::Impl

#endif
