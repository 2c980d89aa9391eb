// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_MEMORYBUDGET_HPP
#define LUTRA_MEMORYBUDGET_HPP

#include <Kokkos_Core.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "Lutra_Allocate.hpp"
#include "Lutra_CheckLaunches.hpp"
#include "Lutra_Error.hpp"
#include "Lutra_RunControl.hpp"

namespace lutra {

/// Blocks of memory cached for reuse, freed with the pool. Thread-safe. A pool serves one execution space
/// instance: a block is handed out while kernels that used it may still be queued there.
class MemoryPool {
 public:
  /// Block of one memory space, with its owner.
  struct Block {
    std::string_view space{};
    char* begin = nullptr;
    std::size_t bytes = 0;
    std::shared_ptr<void> owner{};
  };

  /// @returns a block of at least `bytes` and about twice as many at most; an empty one if there is none
  Block take(std::string_view space, std::size_t bytes);
  /// Returns a block. The pool holds at most 32 blocks and evicts the oldest.
  void give(Block block);

 private:
  std::mutex m_mutex;
  std::vector<Block> m_blocks;  ///< oldest first
};

/// Budget to which all allocations of a solver are charged. Copies share one budget. Thread-safe: a charge
/// either fits under the limit as a whole or throws. It also carries the control of the calls that are
/// charged to it: the limit in bytes and those in time reach the stages together.
class MemoryBudget {
 public:
  /// Unlimited budget.
  MemoryBudget() : MemoryBudget(0) {}
  /// @param limit_bytes maximum number of bytes held at once; 0: no limit
  /// @param pool        source of memory to reuse, optional. Views are then unknown to Kokkos' memory
  /// tracking and must not outlive their reservation
  explicit MemoryBudget(std::size_t limit_bytes, std::shared_ptr<MemoryPool> pool = {});

  std::size_t limit_bytes() const noexcept { return m_account->limit; }
  std::size_t used_bytes() const noexcept { return m_account->used; }
  /// High-water mark of the bytes held.
  std::size_t peak_bytes() const noexcept;
  /// How many charges the limit has refused, those that callers could do without included.
  std::int64_t refusals() const noexcept { return m_account->refusals; }
  /// Bytes left under the limit; the largest std::size_t without a limit.
  std::size_t available_bytes() const noexcept;

  /// Sets the limit for all copies, from the next charge on. Bytes already held above it remain.
  void set_limit(std::size_t limit_bytes) noexcept { m_account->limit = limit_bytes; }
  /// @throws OutOfMemoryError unless `bytes` more fit now
  void require(std::string_view label, std::size_t bytes) const;
  /// Charges `bytes`.
  /// @throws OutOfMemoryError naming the label if they do not fit, CancelledError if the running call has to
  ///         end; nothing is charged then
  void charge(std::string_view label, std::size_t bytes);
  /// Releases charged bytes.
  void release(std::size_t bytes) noexcept;
  /// Cancels the charge of a failed allocation: unlike with `release`, these bytes never count in the peak.
  void cancel(std::size_t bytes) noexcept;
  MemoryPool* pool() const noexcept { return m_account->pool.get(); }

  /// Unlimited budget of the call that a control belongs to.
  static MemoryBudget unlimited(const RunControl& run) { return MemoryBudget().with_control(run); }
  /// Control of the running call.
  const RunControl& run() const noexcept { return m_run; }
  /// The same budget with a control of its own, if it has none. Each solver that a caller uses takes one.
  MemoryBudget with_control() const { return m_run.is_empty() ? with_control(RunControl::make()) : *this; }
  /// The same budget with the control of another one.
  MemoryBudget with_control(const RunControl& run) const {
    MemoryBudget result = *this;
    result.m_run = run;
    return result;
  }

 private:
  struct Account {
    std::atomic<std::size_t> limit = 0;
    std::atomic<std::size_t> used = 0;
    std::atomic<std::size_t> past_peak = 0;  ///< largest `used` before any release
    std::atomic<std::int64_t> refusals = 0;
    std::shared_ptr<MemoryPool> pool;
  };
  [[noreturn]] void refuse(std::string_view label, std::size_t bytes, std::size_t limit,
                           std::size_t used) const;

  std::shared_ptr<Account> m_account;
  RunControl m_run;  ///< copies with one another's control belong to one solver
};

/// Bytes that a group of Views holds in a budget, released with the last copy of the reservation. A struct of
/// Views owns one, so that charge and Views end together; it is empty in structs built by hand. Not
/// thread-safe, copies included.
class MemoryReservation {
 public:
  MemoryReservation() = default;
  explicit MemoryReservation(const MemoryBudget& budget);

  /// Allocates one block for later allocations to draw from: on a GPU an allocation can cost more than the
  /// kernels that use it. The block lives as long as the reservation and is unknown to Kokkos' memory
  /// tracking, so Views in it must not outlive the reservation. Does nothing if budget or memory is
  /// insufficient.
  template <class MemorySpace, class ExecutionSpace>
  void reserve(const ExecutionSpace& exec, std::string_view label, std::size_t bytes);

  /// Allocates an uninitialised View and charges the budget.
  /// @throws OutOfMemoryError naming the label, if the budget or the memory is insufficient
  template <class ViewType, class ExecutionSpace, class... Extents>
  ViewType allocate(const ExecutionSpace& exec, std::string_view label, Extents... extents) {
    return allocate_view<ViewType>(exec, label, static_cast<std::size_t>(extents)...);
  }

  std::size_t bytes() const noexcept { return m_entry ? m_entry->bytes : 0; }

  /// Bytes that a piece occupies in a reserved block.
  static constexpr std::size_t padded(std::size_t bytes) noexcept { return (bytes + 255) / 256 * 256; }

 private:
  /// Unused part of a reserved block.
  struct Pieces {
    std::string_view space{};
    char* begin = nullptr;
    char* end = nullptr;

    /// Null if it does not fit.
    char* take(std::string_view from, std::size_t bytes) noexcept;
  };

  /// A block from the pool, or a new one; lives as long as the reservation.
  template <class MemorySpace, class ExecutionSpace>
  char* take_block(const ExecutionSpace& exec, std::string_view label, std::size_t bytes);
  /// A block that the pool holds; empty if it holds none.
  MemoryPool::Block take_cached(std::string_view space, std::string_view label, std::size_t bytes);
  char* keep(MemoryPool::Block block);

  template <class ViewType, class ExecutionSpace, class... Extents>
  ViewType allocate_view(const ExecutionSpace& exec, std::string_view label, Extents... extents);
  template <class ViewType, class ExecutionSpace, class... Extents>
  ViewType allocate_anew(const ExecutionSpace& exec, std::string_view label, std::size_t bytes,
                         Extents... extents);
  /// Cancels the charge of an allocation whose exception is being handled.
  [[noreturn]] void fail(std::string_view label, std::size_t bytes);

  struct Entry {
    explicit Entry(const MemoryBudget& b) : budget(b) {}
    Entry(const Entry&) = delete;
    Entry& operator=(const Entry&) = delete;
    ~Entry();
    void charge(std::string_view label, std::size_t more);
    MemoryBudget budget;
    std::size_t bytes = 0;
    Pieces pieces;
    std::vector<MemoryPool::Block> blocks;
  };
  std::shared_ptr<Entry> m_entry;
};

// Not within the class, where they would be inline: the compiler would copy them to each of some hundred
// calls.

template <class MemorySpace, class ExecutionSpace>
void MemoryReservation::reserve(const ExecutionSpace& exec, std::string_view label, std::size_t bytes) {
  if (m_entry->budget.available_bytes() < bytes) return;
  try {
    char* const begin = take_block<MemorySpace>(exec, label, bytes);
    m_entry->pieces = {MemorySpace::name(), begin, begin + bytes};
  } catch (const OutOfMemoryError&) {  // smaller allocations may still fit
  }
}

template <class MemorySpace, class ExecutionSpace>
char* MemoryReservation::take_block(const ExecutionSpace& exec, std::string_view label, std::size_t bytes) {
  auto block = take_cached(MemorySpace::name(), label, bytes);
  if (block.begin == nullptr) {
    using View = Kokkos::View<char*, MemorySpace>;
    const std::size_t size = bytes > 0 ? bytes : 1;
    const auto view = allocate_anew<View>(exec, label, size, size);
    block = {MemorySpace::name(), view.data(), size, std::make_shared<View>(view)};
  }
  return keep(std::move(block));
}

template <class ViewType, class ExecutionSpace, class... Extents>
ViewType MemoryReservation::allocate_view(const ExecutionSpace& exec, std::string_view label,
                                          Extents... extents) {
  using Memory = typename ViewType::memory_space;
  Impl::check_launches_on<ExecutionSpace>();  // from which the extents may come
  const std::size_t bytes = Impl::bytes_of_view<ViewType>(label, extents...);
  char* piece = m_entry->pieces.take(Memory::name(), bytes);
  if (piece == nullptr && m_entry->budget.pool() != nullptr) piece = take_block<Memory>(exec, label, bytes);
  if (piece != nullptr) return ViewType(reinterpret_cast<typename ViewType::pointer_type>(piece), extents...);
  return allocate_anew<ViewType>(exec, label, bytes, extents...);
}

template <class ViewType, class ExecutionSpace, class... Extents>
ViewType MemoryReservation::allocate_anew(const ExecutionSpace& exec, std::string_view label,
                                          std::size_t bytes, Extents... extents) {
  m_entry->charge(label, bytes);
  try {
    return ViewType(Kokkos::view_alloc(exec, Kokkos::WithoutInitializing, std::string(label)), extents...);
  } catch (...) {
    fail(label, bytes);
  }
}

}  // namespace lutra

#endif
