// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_SMALLFRONTSCUDA_HPP
#define LUTRA_SMALLFRONTSCUDA_HPP

#include "Lutra_Index.hpp"
#include "Lutra_SymmetricExchangeCuda.hpp"

namespace lutra::Impl {

inline constexpr int small_front_size = 32;  ///< one lane per row
inline constexpr int small_front_warps = 4;  ///< warps per team, each with its own front
template <class Scalar>
inline constexpr int small_front_words = small_front_size*(small_front_size + 1);

/// Eliminates the pivots of a column-major front in shared memory; lanes share the rows, and for few
/// remaining rows also the columns.
/// @param order order of the lines, updated with `interchanges`
template <bool interchanges, class Scalar, class Order, class Note>
__device__ __forceinline__ void eliminate_small(Scalar* S, int ld, int size, int pivots, int lane,
                                                const PivotRule<Scalar>& rule, Order& order,
                                                const Note& note) {
  for (int j = 0; j < pivots; ++j) {
    if constexpr (interchanges) order.bring_up(S, ld, size, pivots, j, rule);
    bool is_perturbed = false;
    const Scalar pivot = rule(S[j + j * ld], is_perturbed);
    const int left = size - j - 1;
    const int lanes = left > 16 ? 32 : left > 8 ? 16 : left > 4 ? 8 : 4;
    const int row = j + 1 + lane % lanes, group = lane / lanes;
    const bool active = row < size;
    Scalar factor(0);
    if (active) factor = S[row + j * ld] * reciprocal(pivot);
    __syncwarp();
    if (active) {
      if (group == 0) S[row + j * ld] = factor;
#pragma unroll 4
      for (int c = j + 1 + group; c < size; c += 32 / lanes) S[row + c * ld] -= factor * S[j + c * ld];
    }
    if (lane == 0) {
      if (is_perturbed) S[j + j * ld] = pivot;
      note(j, is_perturbed);
    }
    __syncwarp();
  }
}

/// Factorizes one small front with a warp.
/// @tparam symmetric whether interchanges are
template <bool interchanges, bool symmetric, class Scalar>
__device__ __forceinline__ void work_small_front(const FrontLaunch<Scalar>& launch, const SmallTask& task,
                                                 const PivotRule<Scalar>& rule, int lane, Scalar* S) {
  const auto& data = launch.data;
  const Front front = data.fronts[task.front];
  const int size = front.size(), ld = size | 1;
  assemble_whole<WarpAssembly>(launch, front, task.small, task.wide_end, S, ld,
                               [&](const ChildRef& child) { add_small_child(launch, child, lane, S, ld); });
  std::conditional_t<symmetric, SymmetricLaneOrder, LaneOrder> order;
  eliminate_small<interchanges>(S, ld, size, front.pivots, lane, rule, order,
                                [&](int j, bool is_perturbed) { data.note_pivot(front, j, is_perturbed); });
  if constexpr (interchanges) {
    note_order(data.row_of_pivot, front.first_pivot, front.pivots, lane, 32, [&](int) { return order.row; });
    if constexpr (symmetric)
      note_order(data.column_of_pivot, front.first_pivot, front.pivots, lane, 32,
                 [&](int) { return order.column; });
    if (lane == 0) count_exchanges(data, order.exchanges);
  }
  DenseFront<Scalar> dense = data.dense(front, task.front);
  dense.contribution = data.contributions + launch.contributions[task.front].contribution;
  store_front(dense, lane, 32, [&](int r, int c) { return S[r + c * ld]; });
  __syncwarp();
  if (lane == 0) raise_flag(launch.done + task.front, launch.run);
}

/// Factorizes subtrees of small fronts as data flow, one warp per front.
/// @param tasks [n] by descending length of the path to the root
template <bool interchanges, bool symmetric, class Scalar>
__global__ void __launch_bounds__(small_front_warps * 32)
    small_fronts_kernel(FrontLaunch<Scalar> launch, const SmallTask* tasks, int n, int* ticket) {
  extern __shared__ __align__(16) unsigned char shared_memory[];
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  Scalar* const S = reinterpret_cast<Scalar*>(shared_memory) + warp * small_front_words<Scalar>;
  const PivotRule<Scalar> rule = launch.data.pivot_rule();
  for (;;) {
    const int number = take_ticket_of_warp(ticket);
    if (number >= n) return;
    work_small_front<interchanges, symmetric>(launch, tasks[number], rule, lane, S);
  }
}

}  // namespace lutra::Impl

#endif
