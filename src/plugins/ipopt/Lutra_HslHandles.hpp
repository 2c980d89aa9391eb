// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_HSLHANDLES_HPP
#define LUTRA_HSLHANDLES_HPP

#include <memory>
#include <mutex>
#include <unordered_map>

namespace lutra::Hsl {

/// The objects behind the pointers that callers keep. A pointer is looked up before it is followed, since
/// Ipopt passes some that were never set.
template <class Object>
class Handles {
 public:
  /// Returns null for a pointer that is not one of ours.
  std::shared_ptr<Object> find(const void* handle) {
    const std::lock_guard lock(m_mutex);
    const auto found = m_objects.find(handle);
    return found == m_objects.end() ? nullptr : found->second.object;
  }
  /// Stores an object under a handle that exists, or under a new one.
  void store(void*& handle, std::shared_ptr<Object> object) {
    const std::lock_guard lock(m_mutex);
    auto found = m_objects.find(handle);
    if (found == m_objects.end()) {
      auto slot = std::make_unique<char>();
      handle = slot.get();
      found = m_objects.try_emplace(handle, Entry{std::move(slot), nullptr}).first;
    }
    found->second.object.swap(object);  // the former one is destroyed without the lock
  }
  /// Forgets a handle and sets it to null.
  void remove(void*& handle) {
    Entry last;  // destroyed without the lock
    const std::lock_guard lock(m_mutex);
    const auto found = m_objects.find(handle);
    handle = nullptr;
    if (found == m_objects.end()) return;
    last = std::move(found->second);
    m_objects.erase(found);
  }

 private:
  struct Entry {
    std::unique_ptr<char> slot;  ///< its address is the handle
    std::shared_ptr<Object> object;
  };
  std::mutex m_mutex;
  std::unordered_map<const void*, Entry> m_objects;
};

}  // namespace lutra::Hsl

#endif
