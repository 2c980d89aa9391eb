// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_DISSECTIONGRAPH_HPP
#define LUTRA_DISSECTIONGRAPH_HPP

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "Lutra_MemoryBudget.hpp"

namespace lutra::Impl {

/// Array of a dissection: part of a `DissectionStack`, which owns the memory.
template <class Value>
using Piece = Kokkos::View<Value*, Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

/// Part of a vertex in a bisection.
enum Part : signed char { side_a = 0, side_b = 1, separator = 2 };

/// Pseudorandom bijection of the 64-bit integers: the finalizer of MurmurHash3.
inline std::uint64_t mix_bits(std::uint64_t x) {
  x = (x ^ (x >> 33)) * 0xff51afd7ed558ccdULL;
  x = (x ^ (x >> 33)) * 0xc4ceb9fe1a85ec53ULL;
  return x ^ (x >> 33);
}

/// Graph under dissection.
template <class Index>
struct DissectionGraph {
  using Indices = Piece<Index>;

  Index n_vertices = 0;
  Indices row_map;         ///< [n_vertices + 1]
  Indices neighbours;      ///< [row_map[n]] no loops
  Indices edge_weights;    ///< like `neighbours`, symmetric; empty: all 1
  Indices vertex_weights;  ///< [n_vertices] positive

  Index n_entries() const { return static_cast<Index>(neighbours.extent(0)); }
  Index edge_weight(Index p) const { return edge_weights.extent(0) == 0 ? Index(1) : edge_weights(p); }
};

/// Stack-like workspace for the recursion of a dissection. Grows by blocks that are kept until destruction,
/// so that a dissection makes only a few allocations.
/// @code
///   const auto mark = stack.mark();
///   auto rows = stack.take<int>(n + 1);   // uninitialised
///   …
///   stack.rewind(mark);                            // frees everything taken since
/// @endcode
class DissectionStack {
 public:
  struct Mark {
    std::size_t block, used;
  };

  explicit DissectionStack(const MemoryBudget& budget = {}, std::size_t block_bytes = std::size_t(1) << 20)
      : m_budget(budget), m_block_bytes(block_bytes) {}
  DissectionStack(const DissectionStack&) = delete;
  DissectionStack& operator=(const DissectionStack&) = delete;
  ~DissectionStack() {
    for (const Block& block : m_blocks) m_budget.release(block.bytes);
  }

  /// @throws OutOfMemoryError
  template <class Value, class Extent>
  Piece<Value> take(Extent count) {
    const std::size_t bytes = (static_cast<std::size_t>(count) * sizeof(Value) + 63) / 64 * 64;
    while (m_block < m_blocks.size() && m_used + bytes > m_blocks[m_block].bytes) {
      ++m_block;
      m_used = 0;
    }
    if (m_block == m_blocks.size()) grow(bytes);
    char* const begin = m_blocks[m_block].begin + m_used;
    m_used += bytes;
    return Piece<Value>(reinterpret_cast<Value*>(begin), static_cast<std::size_t>(count));
  }

  const MemoryBudget& budget() const { return m_budget; }
  Mark mark() const { return {m_block, m_used}; }
  void rewind(Mark mark) {
    m_block = mark.block;
    m_used = mark.used;
  }

 private:
  struct Block {
    char* begin;
    std::size_t bytes;
    std::unique_ptr<char[]> memory;  // Kokkos would free it only after a parallel region
  };

  void grow(std::size_t at_least) {
    std::size_t bytes = m_blocks.empty() ? m_block_bytes : 2 * m_blocks.back().bytes;
    if (bytes < at_least) bytes = at_least;
    m_budget.charge("lutra::ordering::workspace", bytes);
    try {
      std::unique_ptr<char[]> memory(new char[bytes]);
      char* const begin = memory.get();
      m_blocks.push_back({begin, bytes, std::move(memory)});
    } catch (const std::exception& failure) {
      m_budget.cancel(bytes);
      throw OutOfMemoryError(
          "'lutra::ordering::workspace' needs " + std::to_string(bytes) + " bytes: " + failure.what(), bytes);
    }
    m_used = 0;
  }

  MemoryBudget m_budget;
  std::size_t m_block_bytes;
  std::vector<Block> m_blocks;
  std::size_t m_block = 0, m_used = 0;  ///< current block, and bytes used in it
};

}  // namespace lutra::Impl

#endif
