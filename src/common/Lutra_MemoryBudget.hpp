// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_MEMORYBUDGET_HPP
#define LUTRA_MEMORYBUDGET_HPP

#include <Kokkos_Core.hpp>

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "Lutra_Allocate.hpp"
#include "Lutra_Error.hpp"

namespace lutra {

/// Blocks of memory kept for reuse, freed with the pool. Safe to call from several threads. The blocks belong
/// to one execution space instance: a block is handed out while kernels that used it may still be queued
/// there.
class MemoryPool {
 public:
  /// Memory of one space, and what frees it.
  struct Block {
    std::string_view space{};
    char* begin = nullptr;
    std::size_t bytes = 0;
    std::shared_ptr<void> owner{};
  };

  /// A block of at least `bytes` and at most twice as many; an empty one where there is none.
  Block take(std::string_view space, std::size_t bytes);
  /// Returns a block. The pool holds 32; the oldest is freed to make room.
  void give(Block block);

 private:
  std::mutex m_mutex;
  std::vector<Block> m_blocks;  ///< oldest first
};

/// The account every allocation of a solver is charged to. Copies share one account. Safe to call from
/// several threads: a charge either fits under the limit as a whole or throws.
class MemoryBudget {
 public:
  /// A budget without limit.
  MemoryBudget() : MemoryBudget(0) {}
  /// @param limit_bytes bytes that may be held at once; 0: no limit
  /// @param pool        where memory comes from and returns to, if it is to be reused. Views are then not
  ///                    counted by Kokkos and must not outlive their reservation
  explicit MemoryBudget(std::size_t limit_bytes, std::shared_ptr<MemoryPool> pool = {});

  std::size_t limit_bytes() const noexcept { return m_account->limit; }
  std::size_t used_bytes() const noexcept { return m_account->used; }
  /// The largest number of bytes held at once so far.
  std::size_t peak_bytes() const noexcept;
  /// Bytes still free under the limit; the largest std::size_t where there is none.
  std::size_t available_bytes() const noexcept;

  /// Another limit for all copies, from the next charge on. What is held beyond it stays.
  void set_limit(std::size_t limit_bytes) noexcept { m_account->limit = limit_bytes; }
  /// Throws OutOfMemoryError unless `bytes` more fit now.
  void require(const std::string& label, std::size_t bytes) const;
  /// Charges `bytes`. @throws OutOfMemoryError naming the label where they do not fit; nothing is charged
  /// then
  void charge(const std::string& label, std::size_t bytes);
  /// Gives back bytes that were charged.
  void release(std::size_t bytes) noexcept;
  /// Takes back a charge whose allocation failed: unlike `release`, these bytes never count in the peak.
  void cancel(std::size_t bytes) noexcept;
  MemoryPool* pool() const noexcept { return m_account->pool.get(); }

 private:
  struct Account {
    std::atomic<std::size_t> limit = 0;
    std::atomic<std::size_t> used = 0;
    std::atomic<std::size_t> past_peak = 0;  ///< largest `used` before any release
    std::shared_ptr<MemoryPool> pool;
  };
  std::shared_ptr<Account> m_account;
};

/// The bytes a group of Views holds in a budget, given back when the last copy of the reservation goes. A
/// struct of Views carries one, so that charge and Views end together; a struct built by hand leaves it
/// empty. One thread at a time uses a reservation and its copies.
class MemoryReservation {
 public:
  MemoryReservation() = default;
  explicit MemoryReservation(const MemoryBudget& budget) : m_entry(std::make_shared<Entry>(budget)) {}

  /// Allocates one block from which later allocations take their pieces while it lasts: on a GPU an
  /// allocation may cost more than the kernels that use it. Pieces live as long as the reservation and are
  /// not counted by Kokkos, so Views of them must not outlive it. Does nothing where budget or memory is
  /// short.
  template <class MemorySpace, class ExecutionSpace>
  void reserve(const ExecutionSpace& exec, const std::string& label, std::size_t bytes) {
    if (m_entry->budget.available_bytes() < bytes) return;
    try {
      char* const begin = take_block<MemorySpace>(exec, label, bytes);
      m_entry->pieces = {MemorySpace::name(), begin, begin + bytes};
    } catch (const OutOfMemoryError&) {  // single pieces may still fit
    }
  }

  /// Allocates a View without initialising it, and charges the budget.
  /// @throws OutOfMemoryError naming the label, where the budget or the memory itself does not suffice
  template <class ViewType, class ExecutionSpace, class... Extents>
  ViewType allocate(const ExecutionSpace& exec, const std::string& label, Extents... extents) {
    using Memory = typename ViewType::memory_space;
    const std::size_t bytes = Impl::bytes_of_view<ViewType>(label, extents...);
    char* piece = m_entry->pieces.take(Memory::name(), bytes);
    if (piece == nullptr && m_entry->budget.pool() != nullptr) piece = take_block<Memory>(exec, label, bytes);
    if (piece != nullptr) {
      return ViewType(reinterpret_cast<typename ViewType::pointer_type>(piece),
                      static_cast<std::size_t>(extents)...);
    }
    return allocate_anew<ViewType>(exec, label, extents...);
  }

  std::size_t bytes() const noexcept { return m_entry ? m_entry->bytes : 0; }

  /// Bytes a piece of a reserved block takes up.
  static constexpr std::size_t padded(std::size_t bytes) noexcept { return (bytes + 255) / 256 * 256; }

 private:
  /// What is left of a reserved block.
  struct Pieces {
    std::string_view space{};
    char* begin = nullptr;
    char* end = nullptr;

    char* take(std::string_view from, std::size_t bytes) noexcept {
      if (begin == nullptr || from != space || static_cast<std::size_t>(end - begin) < padded(bytes))
        return nullptr;
      char* const piece = begin;
      begin += padded(bytes);
      return piece;
    }
  };

  /// A block from the pool or a new one, which lives as long as the reservation.
  template <class MemorySpace, class ExecutionSpace>
  char* take_block(const ExecutionSpace& exec, const std::string& label, std::size_t bytes) {
    MemoryPool* const pool = m_entry->budget.pool();
    MemoryPool::Block block;
    if (pool != nullptr) block = pool->take(MemorySpace::name(), bytes);
    if (block.begin != nullptr) {
      try {
        m_entry->charge(label, bytes);
      } catch (const OutOfMemoryError&) {
        pool->give(std::move(block));
        throw;
      }
    } else {
      using View = Kokkos::View<char*, MemorySpace>;
      const std::size_t size = bytes > 0 ? bytes : 1;
      const auto view = allocate_anew<View>(exec, label, size);
      block = {MemorySpace::name(), view.data(), size, std::make_shared<View>(view)};
    }
    m_entry->blocks.push_back(block);
    return block.begin;
  }

  template <class ViewType, class ExecutionSpace, class... Extents>
  ViewType allocate_anew(const ExecutionSpace& exec, const std::string& label, Extents... extents) {
    const std::size_t bytes = Impl::bytes_of_view<ViewType>(label, extents...);
    m_entry->charge(label, bytes);
    try {
      return Impl::allocating(label, bytes, [&] {
        return ViewType(Kokkos::view_alloc(exec, Kokkos::WithoutInitializing, label),
                        static_cast<std::size_t>(extents)...);
      });
    } catch (...) {
      m_entry->cancel(bytes);
      throw;
    }
  }

  struct Entry {
    explicit Entry(const MemoryBudget& b) : budget(b) {}
    Entry(const Entry&) = delete;
    Entry& operator=(const Entry&) = delete;
    ~Entry() {
      budget.release(bytes);
      if (budget.pool() == nullptr) return;
      for (auto& block : blocks) budget.pool()->give(std::move(block));
    }
    void charge(const std::string& label, std::size_t more) {
      budget.charge(label, more);
      bytes += more;
    }
    void cancel(std::size_t less) noexcept {
      budget.cancel(less);
      bytes -= less;
    }
    MemoryBudget budget;
    std::size_t bytes = 0;
    Pieces pieces;
    std::vector<MemoryPool::Block> blocks;
  };
  std::shared_ptr<Entry> m_entry;
};

}  // namespace lutra

#endif
