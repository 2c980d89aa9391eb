// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_FailingNew.hpp"

#include <Kokkos_Core.hpp>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <new>
#include <set>
#include <vector>

// In a source of its own, so that compilers do not inline one of a pair of new and delete.

namespace {

std::atomic<long> made = -1;       // allocations since the start; below 0: not counted
std::atomic<long> to_fail = 0;     // the one that fails; 0: none
std::set<long>* exempt = nullptr;  // where the exempt ones are noted
std::vector<std::size_t> sizes;    // of the allocations counted, where exempt ones are looked for

void* allocate(std::size_t bytes, std::size_t alignment) noexcept {
  if (made.load(std::memory_order_relaxed) >= 0) {
    if (made.fetch_add(1) + 1 == to_fail) return nullptr;
    if (exempt != nullptr && sizes.size() < sizes.capacity()) sizes.push_back(bytes);
  }
  const std::size_t size = bytes > 0 ? bytes : 1;
  if (alignment <= __STDCPP_DEFAULT_NEW_ALIGNMENT__) return std::malloc(size);
  return std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
}

void* allocate_or_throw(std::size_t bytes, std::size_t alignment) {
  if (void* const memory = allocate(bytes, alignment)) return memory;
  throw std::bad_alloc();
}

/// To free a View Kokkos has just copied its label, and another for a fence, in a destructor: the last few
/// allocations, from the first of the label's size on.
void deallocate_data(Kokkos::Tools::SpaceHandle, const char* label, const void*, std::uint64_t) {
  constexpr std::size_t most = 8;    // allocations of such a destructor
  constexpr std::size_t spare = 32;  // bytes a string may take beyond its text
  if (exempt == nullptr) return;
  const std::size_t length = std::strlen(label);
  const long last = made.exchange(-1);
  std::size_t first = sizes.size();
  for (std::size_t k = first; k-- > 0 && k + most >= sizes.size();)
    if (sizes[k] > length && sizes[k] <= length + spare) first = k;
  for (std::size_t k = first; k < sizes.size(); ++k) exempt->insert(static_cast<long>(k) + 1);
  made = last;
}

long stop() {
  to_fail = 0;
  return made.exchange(-1);
}

}  // namespace

void* operator new(std::size_t bytes) {
  return allocate_or_throw(bytes, 1);
}
void* operator new[](std::size_t bytes) {
  return allocate_or_throw(bytes, 1);
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return allocate_or_throw(bytes, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t bytes, std::align_val_t alignment) {
  return allocate_or_throw(bytes, static_cast<std::size_t>(alignment));
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  return allocate(bytes, 1);
}
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept {
  return allocate(bytes, 1);
}
void* operator new(std::size_t bytes, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return allocate(bytes, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t bytes, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return allocate(bytes, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete[](void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
void operator delete[](void* memory, std::size_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete[](void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}

namespace lutra::Test {

FailingNew::FailingNew() {
  Kokkos::Tools::Experimental::set_deallocate_data_callback(deallocate_data);
}
FailingNew::~FailingNew() {
  Kokkos::Tools::Experimental::set_deallocate_data_callback(nullptr);
}

void FailingNew::record(const std::function<void()>& call) {
  m_exempt.clear();
  sizes.clear();
  sizes.reserve(1 << 20);
  exempt = &m_exempt;
  made = 0;
  call();
  m_count = stop();
  exempt = nullptr;
}

bool FailingNew::fail(long allocation, const std::function<void()>& call) {
  to_fail = allocation;
  made = 0;
  bool threw = false;
  try {
    call();
  } catch (const std::bad_alloc&) {
    threw = true;
  } catch (const std::exception& error) {  // Kokkos' own, of a View that no budget counts
    stop();
    if (std::strstr(error.what(), "failed to allocate") == nullptr) throw;
    threw = true;
  }
  stop();
  return threw;
}

}  // namespace lutra::Test
