// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_MEMORYBUDGET_HPP
#define LUTRA_MEMORYBUDGET_HPP

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "Lutra_Error.hpp"

namespace lutra {

/// Memory that is no longer used and waits for its next use; what is held is freed with the store. For one
/// execution space instance: who gets a block may still have to wait for work that used it before.
class MemoryPool {
 public:
  /// Memory of one space, and who frees it.
  struct Block {
    std::string_view space{};
    char* begin = nullptr;
    std::size_t bytes = 0;
    std::shared_ptr<void> owner{};
  };

  /// A block of at least so many bytes and not many more; an empty one where there is none.
  Block take(std::string_view space, std::size_t bytes);
  void give(Block block);

 private:
  std::vector<Block> m_blocks;
};

/// The account every allocation of a solver is written to. Copies share one account; the default has no
/// limit. Not thread-safe: one solver, one thread.
class MemoryBudget {
 public:
  /// A budget without limit.
  MemoryBudget() : MemoryBudget(0) {}
  /// @param limit_bytes most bytes that may be held at once; 0: no limit
  /// @param store       where memory comes from and goes to, if it is to be used again. Views are then not
  ///                    counted by Kokkos and must not outlive their reservation
  explicit MemoryBudget(std::size_t limit_bytes, std::shared_ptr<MemoryPool> store = {});

  std::size_t limit_bytes() const noexcept { return m_account->limit; }
  std::size_t used_bytes() const noexcept { return m_account->used; }
  std::size_t peak_bytes() const noexcept { return m_account->peak; }
  /// Bytes still free under the limit; the greatest std::size_t where there is none.
  std::size_t available_bytes() const noexcept;

  /// Throws OutOfMemoryError unless `bytes` more fit.
  void require(const std::string& label, std::size_t bytes) const;
  void add(std::size_t bytes) noexcept;
  void remove(std::size_t bytes) noexcept;
  MemoryPool* store() const noexcept { return m_account->store.get(); }

 private:
  struct Account {
    std::size_t limit = 0, used = 0, peak = 0;
    std::shared_ptr<MemoryPool> store;
  };
  std::shared_ptr<Account> m_account;
};

/// The bytes a group of Views holds in a budget: given back when the last copy of the reservation goes. A
/// struct of Views carries one, so that budget and Views end together; a struct built by hand leaves it
/// empty.
class MemoryReservation {
 public:
  MemoryReservation() = default;
  explicit MemoryReservation(const MemoryBudget& budget) : m_entry(std::make_shared<Entry>(budget)) {}

  /// Takes one block of memory of which allocations to come get their pieces while it suffices: on a GPU an
  /// allocation may cost more than the kernels that use it. Pieces live as long as the reservation and are
  /// not counted by Kokkos, so that Views of them must not outlive it. Does nothing where budget or memory is
  /// short.
  template <class MemorySpace, class ExecutionSpace>
  void reserve(const ExecutionSpace& exec, const std::string& label, std::size_t bytes) {
    if (m_entry->budget.available_bytes() < bytes) return;
    try {
      char* const begin = take_block<MemorySpace>(exec, label, bytes);
      m_entry->pieces = {MemorySpace::name(), begin, begin + bytes};
    } catch (const OutOfMemoryError&) {  // piece by piece there may be enough
    }
  }

  /// Allocates a View without initialising it, after asking the budget.
  /// @throws OutOfMemoryError naming the label, where the budget or the memory itself does not suffice
  template <class ViewType, class ExecutionSpace, class... Extents>
  ViewType allocate(const ExecutionSpace& exec, const std::string& label, Extents... extents) {
    using Memory = typename ViewType::memory_space;
    const std::size_t bytes = ViewType::required_allocation_size(static_cast<std::size_t>(extents)...);
    char* piece = m_entry->pieces.take(Memory::name(), bytes);
    if (piece == nullptr && m_entry->budget.store() != nullptr)
      piece = take_block<Memory>(exec, label, bytes);
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

  /// Memory from the store or anew, which lives as long as the reservation.
  template <class MemorySpace, class ExecutionSpace>
  char* take_block(const ExecutionSpace& exec, const std::string& label, std::size_t bytes) {
    MemoryPool* const store = m_entry->budget.store();
    MemoryPool::Block block;
    if (store != nullptr) {
      m_entry->budget.require(label, bytes);
      block = store->take(MemorySpace::name(), bytes);
    }
    if (block.begin != nullptr) {
      m_entry->budget.add(bytes);
      m_entry->bytes += bytes;
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
    const std::size_t bytes = ViewType::required_allocation_size(static_cast<std::size_t>(extents)...);
    m_entry->budget.require(label, bytes);
    try {
      ViewType view(Kokkos::view_alloc(exec, Kokkos::WithoutInitializing, label),
                    static_cast<std::size_t>(extents)...);
      m_entry->budget.add(bytes);
      m_entry->bytes += bytes;
      return view;
    } catch (const std::exception& failure) {  // Kokkos throws its own type on some backends
      throw OutOfMemoryError("'" + label + "' needs " + std::to_string(bytes) + " bytes: " + failure.what(),
                             bytes);
    }
  }

  struct Entry {
    explicit Entry(const MemoryBudget& b) : budget(b) {}
    Entry(const Entry&) = delete;
    Entry& operator=(const Entry&) = delete;
    ~Entry() {
      budget.remove(bytes);
      if (budget.store() == nullptr) return;
      for (auto& block : blocks) budget.store()->give(std::move(block));
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
