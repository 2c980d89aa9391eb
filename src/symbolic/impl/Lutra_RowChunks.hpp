// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_ROWCHUNKS_HPP
#define LUTRA_ROWCHUNKS_HPP

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <vector>

#include "Lutra_LargePages.hpp"
#include "Lutra_MemoryBudget.hpp"

namespace lutra::Impl {

/// Rows one after the other in host memory, of which nobody knows beforehand how many entries they will have.
/// A row stays where it was put. Chunks grow with what is there, so that there are few of them and, before
/// the last, none is much larger than needed. One thread appends; threads with chunks of their own may share
/// a budget.
template <class Ordinal>
class RowChunks {
 public:
  /// @param first_entries entries the first chunk has room for
  /// @param guard of the budget, where several threads use it
  RowChunks(const MemoryBudget& budget, std::size_t first_entries, std::mutex* guard = nullptr)
      : m_budget(budget), m_guard(guard), m_next_entries(std::max<std::size_t>(1, first_entries)) {}
  RowChunks(const RowChunks&) = delete;
  RowChunks& operator=(const RowChunks&) = delete;
  RowChunks(RowChunks&&) = default;
  ~RowChunks() {
    for (Chunk& chunk : m_chunks) release(chunk);
  }

  /// Copies a row behind the others; returns where it is now.
  /// @throws OutOfMemoryError
  const Ordinal* append(const Ordinal* row, std::size_t length) {
    if (m_chunks.empty() || m_chunks.back().length - m_chunks.back().used < length) add(length);
    Chunk& chunk = m_chunks.back();
    Ordinal* const place = chunk.entries.get() + chunk.used;
    std::memcpy(place, row, length * sizeof(Ordinal));
    chunk.used += length;
    m_size += length;
    return place;
  }

  std::size_t size() const { return m_size; }

  /// Copies all rows to `target` [size()], and gives each chunk back once it is copied.
  void move_to(Ordinal* target) {
    for (Chunk& chunk : m_chunks) {
      if (chunk.used > 0) std::memcpy(target, chunk.entries.get(), chunk.used * sizeof(Ordinal));
      target += chunk.used;
      release(chunk);
    }
    m_chunks.clear();
  }

 private:
  struct Chunk {
    std::unique_ptr<Ordinal[]> entries;
    std::size_t length = 0, used = 0;
  };

  // A chunk for `length` entries at least; under a limit no more than half of what is left, if that does.
  void add(std::size_t length) {
    const auto lock = m_guard != nullptr ? std::unique_lock(*m_guard) : std::unique_lock<std::mutex>();
    const std::size_t half = m_budget.available_bytes() / (2 * sizeof(Ordinal));
    const std::size_t entries = std::max(length, std::min(std::max(m_next_entries, m_size / 2), half));
    const std::size_t bytes = entries * sizeof(Ordinal);
    m_budget.require("lutra::symbolic::row_chunk", bytes);
    Chunk chunk{std::unique_ptr<Ordinal[]>(new (std::nothrow) Ordinal[entries]), entries, 0};
    if (!chunk.entries) {
      throw OutOfMemoryError("'lutra::symbolic::row_chunk' needs " + std::to_string(bytes) + " bytes", bytes);
    }
    m_budget.add(bytes);
    prefer_large_pages(chunk.entries.get(), bytes);
    m_chunks.push_back(std::move(chunk));
  }

  void release(Chunk& chunk) {
    const auto lock = m_guard != nullptr ? std::unique_lock(*m_guard) : std::unique_lock<std::mutex>();
    m_budget.remove(chunk.length * sizeof(Ordinal));
    chunk = {};
  }

  MemoryBudget m_budget;
  std::mutex* m_guard;
  std::size_t m_next_entries;
  std::size_t m_size = 0;
  std::vector<Chunk> m_chunks;
};

}  // namespace lutra::Impl

#endif
