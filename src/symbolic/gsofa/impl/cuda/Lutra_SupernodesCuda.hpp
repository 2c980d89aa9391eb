// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_SUPERNODESCUDA_HPP
#define LUTRA_SUPERNODESCUDA_HPP

#include <cstdint>

#include "Lutra_SupernodeSearch.hpp"
#ifdef KOKKOS_ENABLE_CUDA
#include "Lutra_CheckCuda.hpp"
#endif

namespace lutra::Impl {

/// T3 detection of GSoFa, section 5 and Figure 8, by a block per chunk of rows:
///
///     phase I    a thread per row compares nnz(U(s, :)) with nnz(U(s − 1, :))
///                  follows  0 1 0 0 …    bitmap in shared memory, a warp's vote per word
///                  queue    0 2 3 …      leading rows, in shared memory
///     phase II   `Lanes` threads dequeue a leading row r and look up L(s, r) of the rows s that follow
///
/// The paper has one thread per leading row; a warp examines 32 rows s at once. Departures: a chunk is larger
/// than a supernode and does not end one, so that results equal those of the portable kernels. The bitmap
/// also covers the rows of the next chunk; rows behind that are compared in global memory.
template <int Lanes>
struct SupernodeChunk {
  static constexpr int threads = 256, chunk = 2048, held = 2 * chunk;
  static constexpr unsigned all = 0xffffffffu;
  static_assert(Lanes == 1 || Lanes == 32);

  struct Shared {
    unsigned follows[held / 32];
    int queue[chunk];  ///< leading rows, relative to the first row of the chunk, in any order
    int queued;        ///< leading rows in the queue
    int taken;         ///< leading rows taken from it
  };

  SupernodeRows rows;

  /// @param first first row of the chunk
  /// @param thread of the block
  __device__ void run(Shared& shared, Ordinal first, int thread) const {
    if (thread == 0) shared.queued = shared.taken = 0;
    __syncthreads();
    for (int i = thread; i < held; i += threads) {
      const std::int64_t row = static_cast<std::int64_t>(first) + i;
      const bool exists = row < rows.n, follows = exists && rows.follows(static_cast<Ordinal>(row));
      const unsigned word = __ballot_sync(all, follows);
      if (thread % 32 == 0) shared.follows[i / 32] = word;
      if (i < chunk && exists && !follows) shared.queue[atomicAdd(&shared.queued, 1)] = i;
    }
    __syncthreads();
    const int lane = Lanes == 1 ? 0 : thread % 32;
    while (true) {
      int next = lane == 0 ? atomicAdd(&shared.taken, 1) : 0;
      if constexpr (Lanes > 1) next = __shfl_sync(all, next, 0);
      if (next >= shared.queued) return;
      grow(shared, first, first + shared.queue[next], lane);
    }
  }

 private:
  __device__ bool may_follow(const Shared& shared, Ordinal first, Ordinal row) const {
    if (row >= rows.n) return false;
    const Ordinal i = row - first;
    if (i >= held) return rows.follows(row);
    return (shared.follows[i / 32] >> (i % 32) & 1u) != 0;
  }

  /// From a leading row to the next one in a queue: marks the supernodes' first rows.
  __device__ void grow(const Shared& shared, Ordinal first, Ordinal leader, int lane) const {
    Ordinal row = leader + 1;
    lead(leader, lane);
    while (may_follow(shared, first, row)) {
      const Ordinal own = row + lane;
      const bool belongs =
          own - leader < rows.max_size && may_follow(shared, first, own) && rows.has_entry(own, leader);
      const int good = count_joining(belongs);
      if (lane < good) rows.leads[own] = 0;
      row += good;
      if (!may_follow(shared, first, row)) return;  // it leads, and is in a queue
      if (good == Lanes && row - leader < rows.max_size) continue;
      lead(row, lane);  // L(row, leader) is not an entry, or the supernode is full
      leader = row++;
    }
  }
  /// Lanes before the first whose row does not belong.
  __device__ int count_joining(bool belongs) const {
    if constexpr (Lanes == 1) return belongs ? 1 : 0;
    const unsigned others = __ballot_sync(all, !belongs);
    return others == 0 ? Lanes : __ffs(static_cast<int>(others)) - 1;
  }
  __device__ void lead(Ordinal row, int lane) const {
    if (lane == 0) rows.leads[row] = 1;
  }
};

#ifdef KOKKOS_ENABLE_CUDA
template <class Chunk>
__global__ void __launch_bounds__(Chunk::threads) supernode_chunks(const Chunk chunk) {
  __shared__ typename Chunk::Shared shared;
  chunk.run(shared, static_cast<Ordinal>(blockIdx.x) * Chunk::chunk, static_cast<int>(threadIdx.x));
}

template <int Lanes>
void search_supernode_chunks(const Kokkos::Cuda& exec, const SupernodeRows& rows) {
  using Chunk = SupernodeChunk<Lanes>;
  const std::int64_t blocks = (static_cast<std::int64_t>(rows.n) + Chunk::chunk - 1) / Chunk::chunk;
  supernode_chunks<<<static_cast<unsigned>(blocks), Chunk::threads, 0, exec.cuda_stream()>>>(Chunk{rows});
  check_cuda(cudaGetLastError(), "launching the search for supernodes");
}

inline void search_supernodes(const Kokkos::Cuda& exec, const SupernodeRows& rows, SupernodeSearch search,
                              MemoryReservation& scratch) {
  if (search == SupernodeSearch::threads) return search_supernode_chunks<1>(exec, rows);
  if (search == SupernodeSearch::warps) return search_supernode_chunks<32>(exec, rows);
  search_supernodes_portable(exec, rows, scratch);
}
#endif

}  // namespace lutra::Impl

#endif
