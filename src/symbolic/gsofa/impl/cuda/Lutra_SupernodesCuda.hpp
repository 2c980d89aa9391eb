// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_SUPERNODESCUDA_HPP
#define LUTRA_SUPERNODESCUDA_HPP

#include <algorithm>
#include <cstdint>

#include "Lutra_CheckCuda.hpp"
#include "Lutra_SupernodeSearch.hpp"

namespace lutra::Impl {

/// Phase two of T3 detection for CUDA. A block takes 2048 rows and holds the bits of phase one for these and
/// as many behind them in shared memory; its warps take leading rows, and ask for L(s, leader) of 32 rows s
/// at once, a vote telling how many follow.
template <class Ordinal, class Offset>
struct WarpSupernodes {
  static constexpr int lanes = 32, warps = 8, block_words = 32, held_words = 2 * block_words;
  static constexpr unsigned all = 0xffffffffu;

  SupernodeGrower<Ordinal, Offset, Kokkos::Cuda> rows;

  /// What a block shares.
  struct Shared {
    std::uint64_t follows[held_words];
    int next_word;
  };

  __device__ static int lane() { return static_cast<int>(threadIdx.x % lanes); }
  __device__ static std::int64_t first_word() { return static_cast<std::int64_t>(blockIdx.x) * block_words; }

  __device__ void run(Shared& shared) const {
    const auto n_words = static_cast<std::int64_t>(rows.follows.extent(0));
    for (int w = static_cast<int>(threadIdx.x); w < held_words; w += lanes * warps) {
      shared.follows[w] = first_word() + w < n_words ? rows.follows(first_word() + w) : 0;
    }
    if (threadIdx.x == 0) shared.next_word = 0;
    __syncthreads();
    while (true) {
      int word = lane() == 0 ? atomicAdd(&shared.next_word, 1) : 0;
      word = __shfl_sync(all, word, 0);
      if (word >= block_words || first_word() + word >= n_words) return;
      for (std::uint64_t leading = ~shared.follows[word]; leading != 0; leading &= leading - 1) {
        const auto row =
            static_cast<Ordinal>((first_word() + word) * 64 + __ffsll(static_cast<long long>(leading)) - 1);
        if (row >= rows.n) break;
        grow(shared, row);
      }
    }
  }

  __device__ bool may_follow(const Shared& shared, Ordinal row) const {
    const std::int64_t held = static_cast<std::int64_t>(row) / 64 - first_word();
    if (held >= held_words) return rows.may_follow(row);
    return row < rows.n && (shared.follows[held] >> (row % 64) & 1) != 0;
  }

  __device__ void grow(const Shared& shared, Ordinal first) const {
    Ordinal leader = first, row = first + 1;
    lead(first);
    while (may_follow(shared, row)) {
      const Ordinal own = row + static_cast<Ordinal>(lane());
      const bool belongs =
          own < leader + rows.max_size && may_follow(shared, own) && rows.has_entry(own, leader);
      const unsigned others = __ballot_sync(all, !belongs);
      const int good = others == 0 ? lanes : __ffs(others) - 1;
      if (lane() < good) rows.leads(own) = 0;
      row += static_cast<Ordinal>(good);
      if (!may_follow(shared, row)) return;  // it leads, and another warp knows
      if (good == lanes && row < leader + rows.max_size) continue;
      lead(row);  // there is no entry L(row, leader), or the supernode is full
      leader = row++;
    }
  }

  __device__ void lead(Ordinal row) const {
    if (lane() == 0) rows.leads(row) = 1;
  }
};

template <class Search>
__global__ void __launch_bounds__(Search::lanes* Search::warps) supernode_warps(const Search search) {
  __shared__ typename Search::Shared shared;
  search.run(shared);
}

/// @param rows as the portable kernel takes it
template <class Ordinal, class Offset>
void grow_supernodes(const Kokkos::Cuda& exec, const SupernodeGrower<Ordinal, Offset, Kokkos::Cuda>& rows) {
  using Search = WarpSupernodes<Ordinal, Offset>;
  const auto words = static_cast<std::int64_t>(rows.follows.extent(0));
  const auto blocks = static_cast<unsigned>((words + Search::block_words - 1) / Search::block_words);
  supernode_warps<<<blocks, Search::lanes * Search::warps, 0, exec.cuda_stream()>>>(Search{rows});
  check_cuda(cudaGetLastError(), "launching the search for supernodes");
}

}  // namespace lutra::Impl

#endif
