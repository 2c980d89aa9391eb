// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_BESTFITALLOCATOR_HPP
#define LUTRA_BESTFITALLOCATOR_HPP

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <utility>
#include <vector>

namespace lutra::Impl {

/// Maps keys ≥ 0 to integers: open addressing with linear probing, at most half full.
class FlatMap {
 public:
  static constexpr std::int64_t none = -1;

  std::int64_t find(std::int64_t key) const {
    for (std::size_t k = home(key);; k = next(k)) {
      if (m_slots[k].key == key) return m_slots[k].value;
      if (m_slots[k].key == none) return none;
    }
  }
  void set(std::int64_t key, std::int64_t value) {
    std::size_t k = home(key);
    while (m_slots[k].key != key && m_slots[k].key != none) k = next(k);
    if (m_slots[k].key == none) ++m_size;
    m_slots[k] = {key, value};
    if (2 * m_size > m_slots.size()) grow();
  }
  /// @param key must be present
  void erase(std::int64_t key) {
    std::size_t hole = home(key);
    while (m_slots[hole].key != key) hole = next(hole);
    --m_size;
    for (std::size_t k = next(hole); m_slots[k].key != none; k = next(k)) {
      // entries displaced from the hole or before it move into it
      const std::size_t mask = m_slots.size() - 1;
      if (((k - home(m_slots[k].key)) & mask) < ((k - hole) & mask)) continue;
      m_slots[hole] = m_slots[k];
      hole = k;
    }
    m_slots[hole].key = none;
  }

 private:
  struct Slot {
    std::int64_t key = none, value = 0;
  };

  std::size_t home(std::int64_t key) const {
    const std::uint64_t mixed = static_cast<std::uint64_t>(key) * 0x9e3779b97f4a7c15u;
    return static_cast<std::size_t>(mixed >> 32) & (m_slots.size() - 1);
  }
  std::size_t next(std::size_t k) const { return (k + 1) & (m_slots.size() - 1); }
  void grow() {
    std::vector<Slot> old(4 * m_slots.size());
    old.swap(m_slots);
    m_size = 0;
    for (const Slot& slot : old) {
      if (slot.key != none) set(slot.key, slot.value);
    }
  }

  std::vector<Slot> m_slots = std::vector<Slot>(1024);
  std::size_t m_size = 0;
};

/// Best-fit free list of an array: the smallest gap that suffices, the first of equals. Adjacent gaps are
/// merged. Most gaps are small: each small size has a heap, which may contain stale entries. The most recent
/// large gap is kept separately, since it is usually the remainder of an allocation and used next.
class BestFitAllocator {
 public:
  struct Gap {
    std::int64_t first = 0, size = 0;
  };

  /// Frees a range.
  void release(Gap gap) {
    if (gap.size == 0) return;
    if (const std::int64_t before = m_first_by_end.find(gap.first); before >= 0) {
      const Gap joined{before, gap.first - before};
      remove(joined);
      gap = {joined.first, joined.size + gap.size};
    }
    if (const std::int64_t size = m_size_by_first.find(gap.first + gap.size); size >= 0) {
      remove({gap.first + gap.size, size});
      gap.size += size;
    }
    add(gap);
  }

  /// Takes entries from the best-fitting gap. @returns the first of them, or −1 if none suffices
  std::int64_t take(std::int64_t size) {
    const Gap gap = best(size);
    if (gap.size == 0) return -1;
    forget(gap);
    if (gap.size > size) add({gap.first + size, gap.size - size});
    return gap.first;
  }

  /// Takes the gap that ends at `end`. @returns its first entry, or −1
  std::int64_t take_before(std::int64_t end) {
    const std::int64_t first = m_first_by_end.find(end);
    if (first >= 0) remove({first, end - first});
    return first;
  }

 private:
  static bool is_better(const Gap& a, const Gap& b) {
    return std::pair(a.size, a.first) < std::pair(b.size, b.first);
  }

  void add(const Gap& gap) {
    m_size_by_first.set(gap.first, gap.size);
    m_first_by_end.set(gap.first + gap.size, gap.first);
    if (gap.size >= small) {
      if (m_last.size > 0) m_large.emplace(m_last.size, m_last.first);
      m_last = gap;
    } else {
      auto& heap = m_heaps[static_cast<std::size_t>(gap.size)];
      heap.push_back(gap.first);
      std::ranges::push_heap(heap, std::greater<>{});
      m_there[static_cast<std::size_t>(gap.size / 64)] |= std::uint64_t(1) << gap.size % 64;
    }
  }

  /// Removes a gap; its heap keeps a stale entry.
  void forget(const Gap& gap) {
    m_size_by_first.erase(gap.first);
    m_first_by_end.erase(gap.first + gap.size);
  }

  void remove(const Gap& gap) {
    forget(gap);
    if (gap.size < small) return;
    if (gap.first == m_last.first && gap.size == m_last.size) {
      m_last = {};
    } else {
      m_large.erase({gap.size, gap.first});
    }
  }

  /// The best-fitting gap from the sets by size; size 0: none.
  Gap best(std::int64_t size) {
    for (std::int64_t word = size / 64; word < small / 64; ++word) {
      const std::uint64_t wanted = word == size / 64 ? ~std::uint64_t(0) << size % 64 : ~std::uint64_t(0);
      while (const std::uint64_t bits = m_there[static_cast<std::size_t>(word)] & wanted) {
        const Gap gap = pop(word * 64 + std::countr_zero(bits));
        if (m_size_by_first.find(gap.first) == gap.size) return gap;
      }
    }
    const auto fit = m_large.lower_bound({size, 0});
    const bool any = fit != m_large.end();
    if (m_last.size >= size && (!any || is_better(m_last, {fit->second, fit->first})))
      return std::exchange(m_last, {});
    if (!any) return {};
    const Gap gap{fit->second, fit->first};
    m_large.erase(fit);
    return gap;
  }

  Gap pop(std::int64_t size) {
    auto& heap = m_heaps[static_cast<std::size_t>(size)];
    std::ranges::pop_heap(heap, std::greater<>{});
    const Gap gap{heap.back(), size};
    heap.pop_back();
    if (heap.empty()) m_there[static_cast<std::size_t>(size / 64)] &= ~(std::uint64_t(1) << size % 64);
    return gap;
  }

  /// Gaps below it have a heap per size, found by 16 words of bits; larger ones are few and in a set.
  static constexpr std::int64_t small = 1024;
  FlatMap m_size_by_first, m_first_by_end;
  std::vector<std::vector<std::int64_t>> m_heaps = std::vector<std::vector<std::int64_t>>(small);
  std::vector<std::uint64_t> m_there =
      std::vector<std::uint64_t>(small / 64);               ///< bit set of sizes with a nonempty heap
  std::set<std::pair<std::int64_t, std::int64_t>> m_large;  ///< large gaps except `m_last`
  Gap m_last;
};

}  // namespace lutra::Impl

#endif
