// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_FRONTASSEMBLYCUDA_HPP
#define LUTRA_FRONTASSEMBLYCUDA_HPP

#include <cstdint>

#include "Lutra_FrontFlagsCuda.hpp"
#include "Lutra_SmallChildListMaker.hpp"

namespace lutra::Impl {

/// Small-child lists on the device: 16 bits per target and 32 bits per source.
struct SmallChildArrays {
  const unsigned short* position = nullptr;  ///< of each target
  const std::uint32_t* source = nullptr;     ///< relative to the first entry of the panels
};

/// Assembles the targets of one front or tile, by `Threads` threads. The constructor starts loading data that
/// does not depend on children, so that it arrives while they are waited for.
template <int Threads, class Scalar>
class SmallChildAdder {
 public:
  __device__ SmallChildAdder(const SmallChildArrays& lists, const SmallChildPart& part, int thread)
      : m_part(part),
        m_position(lists.position + part.targets),
        m_widths(lists.source + part.sources - 1),
        m_target(thread) {
    load();
  }

  template <class To>
  __device__ void add(const Scalar* values, const To& to) {
    const std::uint32_t* const first = m_widths + m_part.levels;
    while (m_target < m_part.count) {
      Scalar sum = values[m_source];
      const std::uint32_t* level = first + m_part.count + m_target;
      int k = 1;
      for (; k + 4 <= m_part.levels; k += 4) {
        const std::uint32_t w0 = m_widths[k], w1 = m_widths[k + 1], w2 = m_widths[k + 2],
                            w3 = m_widths[k + 3];
        if (m_target >= static_cast<int>(w3)) break;
        const std::uint32_t s0 = level[0], s1 = level[w0], s2 = level[w0 + w1], s3 = level[w0 + w1 + w2];
        const Scalar v0 = values[s0], v1 = values[s1], v2 = values[s2], v3 = values[s3];
        sum += v0;
        sum += v1;
        sum += v2;
        sum += v3;
        level += w0 + w1 + w2 + w3;
      }
      for (; k < m_part.levels; ++k) {
        const std::uint32_t width = m_widths[k];
        if (m_target >= static_cast<int>(width)) break;
        sum += values[*level];
        level += width;
      }
      to(m_at / packed_edge, m_at % packed_edge) += sum;
      m_target += Threads;
      load();
    }
  }

 private:
  __device__ void load() {
    if (m_target >= m_part.count) return;
    m_at = m_position[m_target];
    m_source = m_widths[m_part.levels + m_target];
  }

  const SmallChildPart m_part;
  const unsigned short* const m_position;
  const std::uint32_t* const m_widths;  ///< number of targets on level k, at k
  int m_target;
  std::uint32_t m_source = 0;
  int m_at = 0;
};

// Extend-add into fronts and tiles in shared memory.

/// Threads that assemble a whole front: one warp, or a block.
struct WarpAssembly {
  static constexpr int threads = 32;  ///< one warp
  __device__ __forceinline__ static int thread() { return static_cast<int>(threadIdx.x) % 32; }
  __device__ __forceinline__ static void barrier() { __syncwarp(); }
};
struct BlockAssembly {
  static constexpr int threads = front_threads;
  __device__ __forceinline__ static int thread() { return static_cast<int>(threadIdx.x); }
  __device__ __forceinline__ static void barrier() { __syncthreads(); }
};

/// Assembles a column-major front in shared memory: its entries of F while its children are waited for, small
/// children by lists, wide ones successively by add_child(child).
template <class Group, class Scalar, class Launch, class AddChild>
__device__ __forceinline__ void assemble_whole(const Launch& launch, const Front& front,
                                               const SmallChildPart& small, Offset wide_end, Scalar* S,
                                               int ld, const AddChild& add_child) {
  const auto& data = launch.data;
  const int thread = Group::thread(), size = front.size();
  SmallChildAdder<Group::threads, Scalar> small_children(*launch.lists, small, thread);
  for (int e = thread; e < size * ld; e += Group::threads) S[e] = Scalar(0);
  Group::barrier();
  for (Offset e = front.entries + thread; e < front.entries_end; e += Group::threads) {
    const FrontPosition position = data.entry_position(e);
    S[position.row + position.column * ld] = data.entries[e];
  }
  if (thread < 32) wait_for_children(launch, front, thread);
  Group::barrier();
  small_children.add(data.contributions, [&](int r, int c) -> Scalar& { return S[r + c * ld]; });
  Group::barrier();
  for (Offset c = front.children; c < wide_end; ++c) add_child(launch.children[c]);
  Group::barrier();
}

/// Adds a child's contribution to a column-major front in shared memory.
template <class Scalar, class Launch>
__device__ __forceinline__ void add_small_child(const Launch& launch, const ChildRef& child, int lane,
                                                Scalar* S, int ld) {
  const Scalar* const contribution = launch.data.contributions + child.contribution;
  const int relative = lane < child.cb_rows ? launch.data.relative[child.rows + lane] : 0;
  constexpr int ahead = 4;  // columns in flight; larger: more latency hidden, more registers
  for (int b = 0; b < child.cb_rows; b += ahead) {
    Scalar value[ahead];
#pragma unroll
    for (int u = 0; u < ahead; ++u) {
      const bool there = lane < child.cb_rows && b + u < child.cb_rows;
      value[u] = there ? contribution[static_cast<Offset>(b + u) * child.cb_rows + lane] : Scalar(0);
    }
#pragma unroll
    for (int u = 0; u < ahead; ++u) {
      const int column = __shfl_sync(0xffffffffu, relative, b + u < child.cb_rows ? b + u : 0);
      if (lane < child.cb_rows && b + u < child.cb_rows) S[relative + column * ld] += value[u];
    }
    __syncwarp();
  }
}

/// Rows and columns of a front that a block holds in shared memory.
struct FrontWindow {
  int row, rows, column, columns;
};

/// Adds the part of a child's contribution that falls into a window of up to 32·`most` rows; a and b are
/// ranges of the child's rows and columns that do. Each warp owns columns, so that children follow each other
/// without barriers and sums have a fixed order.
template <int most, class Scalar, class Launch, class To>
__device__ __forceinline__ void add_child_part(const Launch& launch, const ChildRef& child, int a_begin,
                                               int a_end, int b_begin, int b_end, const FrontWindow& window,
                                               const To& to) {
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  const int* const relative = launch.data.relative + child.rows;
  const Scalar* const contribution = launch.data.contributions + child.contribution;
  int row[most];
#pragma unroll
  for (int u = 0; u < most; ++u) {
    const int a = a_begin + lane + 32 * u;
    row[u] = a < a_end ? relative[a] - window.row : -1;
  }
  for (int b0 = b_begin; b0 < b_end; b0 += 32) {
    const int b = b0 + lane;
    const int column = b < b_end ? relative[b] - window.column : -1;
    unsigned mine = __ballot_sync(0xffffffffu, column >= 0 && column % front_warps == warp);
    while (mine != 0) {
      const int l = __ffs(static_cast<int>(mine)) - 1;
      mine &= mine - 1;
      const int c = __shfl_sync(0xffffffffu, column, l);
      const Scalar* const from = contribution + static_cast<Offset>(b0 + l) * child.stride() + a_begin + lane;
#pragma unroll
      for (int u = 0; u < most; ++u) {
        if (row[u] >= 0) to(row[u], c) += from[32 * u];
      }
    }
  }
}

}  // namespace lutra::Impl

#endif
