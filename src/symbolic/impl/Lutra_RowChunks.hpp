// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_ROWCHUNKS_HPP
#define LUTRA_ROWCHUNKS_HPP

#include <algorithm>
#include <cstddef>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "Lutra_MemoryBudget.hpp"

namespace lutra::Impl {

/// Successive rows in host memory whose lengths are not known in advance. Stored rows never move. Chunks grow
/// with the stored size, so that there are few of them and only the last may be much larger than needed. For
/// one writing thread.
template <class Item>
class RowChunks {
 public:
  /// @param first [first_items] the first chunk, not owned by this object
  RowChunks(const MemoryBudget& budget, Item* first, std::size_t first_items) : m_budget(budget) {
    m_chunks.push_back({{}, first, first_items, 0});
  }
  RowChunks(const RowChunks&) = delete;
  RowChunks& operator=(const RowChunks&) = delete;
  RowChunks(RowChunks&&) = default;
  ~RowChunks() {
    for (Chunk& chunk : m_chunks) release(chunk);
  }

  /// Start of the next row, which has at most `most` items.
  Item* begin_row(std::size_t most) {
    if (m_chunks.back().length - m_chunks.back().used < most) add(most);
    return m_chunks.back().begin + m_chunks.back().used;
  }

  /// Keeps the items written from the result of `begin_row` to `end`.
  void end_row(const Item* end) {
    Chunk& chunk = m_chunks.back();
    const auto used = static_cast<std::size_t>(end - chunk.begin);
    m_size += used - chunk.used;
    chunk.used = used;
  }

  /// Calls take(begin, end) for the contents, chunk by chunk.
  template <class Take>
  void for_all(const Take& take) const {
    for (const Chunk& chunk : m_chunks) take(chunk.begin, chunk.begin + chunk.used);
  }

 private:
  struct Chunk {
    std::unique_ptr<Item[]> own;  // null for the first
    Item* begin = nullptr;
    std::size_t length = 0, used = 0;
  };

  // Adds a chunk of at least `length` items; under a limit at most half of the remaining budget, if that
  // suffices.
  void add(std::size_t length) {
    const std::size_t half = m_budget.available_bytes() / (2 * sizeof(Item));
    const std::size_t items = std::max(length, std::min(std::max(m_chunks.front().length, m_size / 2), half));
    const std::size_t bytes = items * sizeof(Item);
    m_budget.charge("lutra::symbolic::row_chunk", bytes);
    std::unique_ptr<Item[]> own(new (std::nothrow) Item[items]);
    if (!own) {
      m_budget.cancel(bytes);
      throw OutOfMemoryError("'lutra::symbolic::row_chunk' needs " + std::to_string(bytes) + " bytes", bytes);
    }
    Item* const begin = own.get();
    m_chunks.push_back({std::move(own), begin, items, 0});
  }

  void release(Chunk& chunk) {
    if (!chunk.own) return;
    m_budget.release(chunk.length * sizeof(Item));
    chunk = {};
  }

  MemoryBudget m_budget;
  std::size_t m_size = 0;
  std::vector<Chunk> m_chunks;
};

}  // namespace lutra::Impl

#endif
