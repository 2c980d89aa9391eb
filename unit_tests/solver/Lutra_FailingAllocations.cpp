// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_FailingAllocations.hpp"

#include <Kokkos_Core.hpp>

#include <malloc.h>
#include <unwind.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <exception>
#include <new>

// In a source of its own, so that compilers do not inline one of a pair of new and delete.

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define LUTRA_TEST_SANITIZED
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define LUTRA_TEST_SANITIZED
#endif
#if defined(__GLIBC__) && !defined(LUTRA_TEST_SANITIZED)
#define LUTRA_TEST_OWN_MALLOC
extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);
void __libc_free(void*);
}
#endif

namespace {

constinit std::atomic<long> made = -1;  // allocations since the start; below 0: not counted
constinit std::atomic<long> to_fail = 0;
constinit std::atomic<bool> failed = false, counts_malloc = false, lasts = false;
constinit std::atomic<long> live_views = 0;
struct Live {
  std::atomic<long> blocks = 0, bytes = 0;
};
constinit Live of_new, of_malloc;

void* entry(const void* function) {
  return const_cast<void*>(function);
}

_Unwind_Reason_Code find_release(_Unwind_Context* context, void* found) {
  using Record = Kokkos::Impl::SharedAllocationRecord<void, void>;
  static void* const release = entry(reinterpret_cast<const void*>(&Record::decrement));
  void* const at = reinterpret_cast<void*>(_Unwind_GetIP(context));
  const void* const function = _Unwind_FindEnclosingFunction(at);
  if (function == release || lutra::Test::Impl::is_spared(function)) *static_cast<bool*>(found) = true;
  return _URC_NO_REASON;
}

/// Whether a View is being freed, for which Kokkos copies its label, and makes another for a fence, in a
/// destructor; or another function runs that is spared.
bool must_not_fail() noexcept {
  bool found = false;
  _Unwind_Backtrace(find_release, &found);
  return found;
}

void* counted(void* memory, Live& live) noexcept {
  if (memory == nullptr) return nullptr;
  live.blocks.fetch_add(1, std::memory_order_relaxed);
  live.bytes.fetch_add(static_cast<long>(::malloc_usable_size(memory)), std::memory_order_relaxed);
  return memory;
}
void* uncounted(void* memory, Live& live) noexcept {
  if (memory == nullptr) return nullptr;
  live.blocks.fetch_sub(1, std::memory_order_relaxed);
  live.bytes.fetch_sub(static_cast<long>(::malloc_usable_size(memory)), std::memory_order_relaxed);
  return memory;
}

#ifdef LUTRA_TEST_OWN_MALLOC
void* system_malloc(std::size_t bytes) noexcept {
  return __libc_malloc(bytes);
}
void* system_memalign(std::size_t alignment, std::size_t bytes) noexcept {
  return __libc_memalign(alignment, bytes);
}
void system_free(void* memory) noexcept {
  __libc_free(memory);
}
#else
void* system_malloc(std::size_t bytes) noexcept {
  return std::malloc(bytes);
}
void* system_memalign(std::size_t alignment, std::size_t bytes) noexcept {
  return std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}
void system_free(void* memory) noexcept {
  std::free(memory);
}
#endif

void* allocate(std::size_t bytes, std::size_t alignment) noexcept {
  if (lutra::Test::Impl::is_to_fail()) return nullptr;
  const std::size_t size = bytes > 0 ? bytes : 1;
  return counted(
      alignment <= __STDCPP_DEFAULT_NEW_ALIGNMENT__ ? system_malloc(size) : system_memalign(alignment, size),
      of_new);
}

void release(void* memory) noexcept {
  system_free(uncounted(memory, of_new));
}

void* allocate_or_throw(std::size_t bytes, std::size_t alignment) {
  if (void* const memory = allocate(bytes, alignment)) return memory;
  throw std::bad_alloc();
}

long stop() noexcept {
  to_fail = 0;
  counts_malloc = lasts = false;
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
// Only Kokkos allocates through this operator: memory for Views.
void* operator new(std::size_t bytes, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  void* const memory = allocate(bytes, static_cast<std::size_t>(alignment));
  if (memory != nullptr) ++live_views;
  return memory;
}
void operator delete(void* memory, std::align_val_t, const std::nothrow_t&) noexcept {
  if (memory != nullptr) --live_views;
  release(memory);
}
void* operator new[](std::size_t bytes, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return allocate(bytes, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept {
  release(memory);
}
void operator delete[](void* memory) noexcept {
  release(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  release(memory);
}
void operator delete[](void* memory, std::size_t) noexcept {
  release(memory);
}
void operator delete(void* memory, std::align_val_t) noexcept {
  release(memory);
}
void operator delete[](void* memory, std::align_val_t) noexcept {
  release(memory);
}
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  release(memory);
}
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept {
  release(memory);
}

#ifdef LUTRA_TEST_OWN_MALLOC
namespace {
bool c_is_to_fail() noexcept {
  if (!counts_malloc.load(std::memory_order_relaxed) || !lutra::Test::Impl::is_to_fail()) return false;
  errno = ENOMEM;
  return true;
}
void* c_counted(void* memory) noexcept {
  return counted(memory, of_malloc);
}
void* c_uncounted(void* memory) noexcept {
  return uncounted(memory, of_malloc);
}
}  // namespace

extern "C" {
void* malloc(std::size_t bytes) noexcept {
  return c_is_to_fail() ? nullptr : c_counted(__libc_malloc(bytes));
}
void* calloc(std::size_t count, std::size_t bytes) noexcept {
  return c_is_to_fail() ? nullptr : c_counted(__libc_calloc(count, bytes));
}
void* realloc(void* memory, std::size_t bytes) noexcept {
  if (c_is_to_fail()) return nullptr;
  c_uncounted(memory);
  void* const moved = __libc_realloc(memory, bytes);
  if (moved == nullptr && bytes > 0) c_counted(memory);
  return c_counted(moved);
}
void* memalign(std::size_t alignment, std::size_t bytes) noexcept {
  return c_is_to_fail() ? nullptr : c_counted(__libc_memalign(alignment, bytes));
}
void* aligned_alloc(std::size_t alignment, std::size_t bytes) noexcept {
  return memalign(alignment, bytes);
}
int posix_memalign(void** memory, std::size_t alignment, std::size_t bytes) noexcept {
  *memory = memalign(alignment, bytes);
  return *memory == nullptr ? ENOMEM : 0;
}
void free(void* memory) noexcept {
  __libc_free(c_uncounted(memory));
}
}
#endif

namespace lutra::Test {

bool Impl::is_to_fail() noexcept {
  if (made.load(std::memory_order_relaxed) < 0) return false;
  const long number = made.fetch_add(1) + 1;
  if (number != to_fail) {  // while an exception passes, Kokkos frees Views and their records
    if (!lasts || number < to_fail || std::uncaught_exceptions() > 0) return false;
  }
  const long count = made.exchange(-1);  // what this look allocates does not count
  const bool fails = !must_not_fail();
  made = count;
  if (fails) failed = true;
  return fails;
}

void Impl::count_live_views(long more) noexcept {
  live_views += more;
}

LiveMemory live_memory(Allocations which) {
  if (which == Allocations::of_cpp) return {of_new.blocks, of_new.bytes, live_views};
  return {of_new.blocks + of_malloc.blocks, of_new.bytes + of_malloc.bytes, live_views};
}

long FailingAllocations::count(const std::function<void()>& call) const {
  counts_malloc = m_which == Allocations::all;
  made = 0;
  call();
  return stop();
}

Injected FailingAllocations::fail(long allocation, const std::function<void()>& call) const {
  failed = false;
  counts_malloc = m_which == Allocations::all;
  to_fail = allocation;
  lasts = m_shortage == Shortage::lasting;
  made = 0;
  try {
    call();
  } catch (const std::bad_alloc&) {
    stop();
    return failed ? Injected::thrown : throw;
  } catch (...) {
    stop();
    throw;
  }
  stop();
  return failed ? Injected::survived : Injected::not_met;
}

}  // namespace lutra::Test
