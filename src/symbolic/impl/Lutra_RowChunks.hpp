// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_ROWCHUNKS_HPP
#define LUTRA_ROWCHUNKS_HPP

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <vector>

#include "Lutra_MemoryBudget.hpp"

namespace lutra::Impl {

/// Rows one after the other in host memory, of which nobody knows beforehand how many entries they will have.
/// A row stays where it was put. Chunks grow with what is there, so that there are few of them and, before
/// the last, none is much larger than needed.
template <class Ordinal>
class RowChunks {
 public:
  /// @param first_entries entries the first chunk has room for
  RowChunks(const MemoryBudget& budget, std::size_t first_entries)
      : m_budget(budget), m_next_entries(std::max<std::size_t>(1, first_entries)) {}

  /// Copies a row behind the others; returns where it is now.
  /// @throws OutOfMemoryError
  const Ordinal* append(const Ordinal* row, std::size_t length) {
    if (m_chunks.empty() || m_chunks.back().entries.extent(0) - m_chunks.back().used < length) add(length);
    Chunk& chunk = m_chunks.back();
    Ordinal* const place = chunk.entries.data() + chunk.used;
    std::memcpy(place, row, length * sizeof(Ordinal));
    chunk.used += length;
    m_size += length;
    return place;
  }

  std::size_t size() const { return m_size; }

  /// Copies all rows to `target` [size()], and gives each chunk back once it is copied.
  void move_to(Ordinal* target) {
    for (Chunk& chunk : m_chunks) {
      if (chunk.used > 0) std::memcpy(target, chunk.entries.data(), chunk.used * sizeof(Ordinal));
      target += chunk.used;
      chunk = {};
    }
    m_chunks.clear();
  }

 private:
  using EntryView = Kokkos::View<Ordinal*, Kokkos::HostSpace>;
  struct Chunk {
    EntryView entries;
    std::size_t used = 0;
    Charge charge;
  };

  // A chunk for `length` entries at least; under a limit no more than half of what is left, if that does.
  void add(std::size_t length) {
    const std::size_t half = m_budget.available_bytes() / (2 * sizeof(Ordinal));
    const std::size_t entries = std::max(length, std::min(std::max(m_next_entries, m_size / 2), half));
    Chunk chunk{{}, 0, Charge(m_budget)};
    chunk.entries = chunk.charge.template allocate<EntryView>(Kokkos::DefaultHostExecutionSpace(),
                                                              "lutra::symbolic::row_chunk", entries);
    m_chunks.push_back(std::move(chunk));
  }

  MemoryBudget m_budget;
  std::size_t m_next_entries;
  std::size_t m_size = 0;
  std::vector<Chunk> m_chunks;
};

}  // namespace lutra::Impl

#endif
