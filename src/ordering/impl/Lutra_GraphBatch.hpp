// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_GRAPHBATCH_HPP
#define LUTRA_GRAPHBATCH_HPP

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <exception>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "Lutra_MemoryBudget.hpp"

namespace lutra::Impl {

/// Array of a dissection: part of a `DissectionStack`, which owns the memory.
template <class Value, class MemorySpace>
using Piece = Kokkos::View<Value*, MemorySpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

/// Part of a vertex in a bisection.
enum Part : signed char { side_a = 0, side_b = 1, separator = 2 };

/// Graphs that are dissected concurrently, concatenated in common arrays.
template <class Index, class MemorySpace>
struct GraphBatch {
  using memory_space = MemorySpace;
  using Indices = Piece<Index, MemorySpace>;

  Index n_graphs = 0, n_vertices = 0;
  Indices first_vertex;    ///< [n_graphs + 1] first vertex of each graph
  Indices graph;           ///< [n_vertices] graph of each vertex; empty if n_graphs == 1
  Indices row_map;         ///< [n_vertices + 1]
  Indices neighbours;      ///< [row_map[n]] vertices of the same graph, numbered in the batch; no loops
  Indices edge_weights;    ///< like `neighbours`, symmetric; empty: all 1
  Indices vertex_weights;  ///< [n_vertices] positive

  KOKKOS_FUNCTION Index n_entries() const { return static_cast<Index>(neighbours.extent(0)); }

  KOKKOS_FUNCTION Index graph_of(Index v) const { return n_graphs == 1 ? Index(0) : graph(v); }
  KOKKOS_FUNCTION Index first_of(Index v) const { return n_graphs == 1 ? Index(0) : first_vertex(graph(v)); }
  KOKKOS_FUNCTION Index edge_weight(Index p) const {
    return edge_weights.extent(0) == 0 ? Index(1) : edge_weights(p);
  }
};

/// Stack-like workspace for the recursion of a dissection. Grows by blocks that are kept until destruction,
/// so that a dissection makes only a few allocations.
/// @code
///   const auto mark = stack.mark();
///   auto rows = stack.template take<int>(n + 1);   // uninitialised
///   …
///   stack.rewind(mark);                            // frees everything taken since
/// @endcode
template <class MemorySpace>
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
  Piece<Value, MemorySpace> take(Extent count) {
    const std::size_t bytes = (static_cast<std::size_t>(count) * sizeof(Value) + 63) / 64 * 64;
    while (m_block < m_blocks.size() && m_used + bytes > m_blocks[m_block].bytes) {
      ++m_block;
      m_used = 0;
    }
    if (m_block == m_blocks.size()) grow(bytes);
    char* const begin = m_blocks[m_block].begin + m_used;
    m_used += bytes;
    return Piece<Value, MemorySpace>(reinterpret_cast<Value*>(begin), static_cast<std::size_t>(count));
  }

  const MemoryBudget& budget() const { return m_budget; }
  Mark mark() const { return {m_block, m_used}; }
  void rewind(Mark mark) {
    m_block = mark.block;
    m_used = mark.used;
  }

 private:
  using Bytes = Kokkos::View<char*, MemorySpace>;
  static constexpr bool on_host = std::is_same_v<MemorySpace, Kokkos::HostSpace>;
  // In a parallel region Kokkos can allocate but not free: freeing waits for the region.
  using Memory = std::conditional_t<on_host, std::unique_ptr<char[]>, Bytes>;
  struct Block {
    char* begin;
    std::size_t bytes;
    Memory memory;
  };

  void grow(std::size_t at_least) {
    std::size_t bytes = m_blocks.empty() ? m_block_bytes : 2 * m_blocks.back().bytes;
    if (bytes < at_least) bytes = at_least;
    m_budget.charge("lutra::ordering::workspace", bytes);
    try {
      Memory memory = allocate(bytes);
      char* const begin = address(memory);
      m_blocks.push_back({begin, bytes, std::move(memory)});
    } catch (const std::exception& failure) {
      m_budget.cancel(bytes);
      throw OutOfMemoryError(
          "'lutra::ordering::workspace' needs " + std::to_string(bytes) + " bytes: " + failure.what(), bytes);
    }
    m_used = 0;
  }

  static Memory allocate(std::size_t bytes) {
    if constexpr (on_host) {
      return Memory(new char[bytes]);
    } else {
      return Memory(Kokkos::view_alloc(Kokkos::WithoutInitializing, "lutra::ordering::workspace"), bytes);
    }
  }
  static char* address(const Memory& memory) {
    if constexpr (on_host) {
      return memory.get();
    } else {
      return memory.data();
    }
  }

  MemoryBudget m_budget;
  std::size_t m_block_bytes;
  std::vector<Block> m_blocks;
  std::size_t m_block = 0, m_used = 0;  ///< current block, and bytes used in it
};

}  // namespace lutra::Impl

#endif
