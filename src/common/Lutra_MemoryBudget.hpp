// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_MEMORYBUDGET_HPP
#define LUTRA_MEMORYBUDGET_HPP

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <memory>
#include <string>

#include "Lutra_Error.hpp"

namespace lutra {

/// The account every allocation of a solver is written to. Copies share one account; the default has no
/// limit. Not thread-safe: one solver, one thread.
class MemoryBudget {
 public:
  /// A budget without limit.
  MemoryBudget() : MemoryBudget(0) {}
  /// @param limit_bytes most bytes that may be held at once; 0: no limit
  explicit MemoryBudget(std::size_t limit_bytes);

  std::size_t limit_bytes() const noexcept { return m_account->limit; }
  std::size_t used_bytes() const noexcept { return m_account->used; }
  std::size_t peak_bytes() const noexcept { return m_account->peak; }
  /// Bytes still free under the limit; the greatest std::size_t where there is none.
  std::size_t available_bytes() const noexcept;

  /// Throws OutOfMemoryError unless `bytes` more fit.
  void require(const std::string& label, std::size_t bytes) const;
  void add(std::size_t bytes) noexcept;
  void remove(std::size_t bytes) noexcept;

 private:
  struct Account {
    std::size_t limit = 0, used = 0, peak = 0;
  };
  std::shared_ptr<Account> m_account;
};

/// The bytes a group of Views holds in a budget: given back when the last copy of the charge goes. A struct
/// of Views carries one, so that budget and Views end together; a struct built by hand leaves it empty.
class Charge {
 public:
  Charge() = default;
  explicit Charge(const MemoryBudget& budget) : m_entry(std::make_shared<Entry>(budget)) {}

  /// Allocates a View without initialising it, after asking the budget.
  /// @throws OutOfMemoryError naming the label, where the budget or the memory itself does not suffice
  template <class ViewType, class ExecutionSpace, class... Extents>
  ViewType allocate(const ExecutionSpace& exec, const std::string& label, Extents... extents) {
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

  std::size_t bytes() const noexcept { return m_entry ? m_entry->bytes : 0; }

 private:
  struct Entry {
    explicit Entry(const MemoryBudget& b) : budget(b) {}
    Entry(const Entry&) = delete;
    Entry& operator=(const Entry&) = delete;
    ~Entry() { budget.remove(bytes); }
    MemoryBudget budget;
    std::size_t bytes = 0;
  };
  std::shared_ptr<Entry> m_entry;
};

}  // namespace lutra

#endif
