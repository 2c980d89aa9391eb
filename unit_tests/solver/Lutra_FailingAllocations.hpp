// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_FAILINGALLOCATIONS_HPP
#define LUTRA_FAILINGALLOCATIONS_HPP

#include <Kokkos_Macros.hpp>

#include <functional>

namespace lutra::Test {

/// What became of a call in which an event was made to fail.
enum class Injected {
  thrown,    ///< the call threw what is promised
  survived,  ///< the event failed, and the call got on without it
  not_met    ///< there was no such event, or it may not fail
};

/// Memory that is not freed yet.
struct LiveMemory {
  long blocks = 0, bytes = 0;  ///< on the host
  long views = 0;              ///< allocations of Kokkos on hosts, and of CUDA
  bool operator==(const LiveMemory&) const = default;
};
/// Which allocations are counted and fail.
enum class Allocations {
  of_cpp,  ///< operator new, with which Kokkos allocates host memory, too; and what CUDA allocates
  all      ///< those, and malloc of C libraries. Without glibc, and with sanitizers: as of_cpp
};

/// Memory of operator new, and of malloc where that is asked for and can be counted. CUDA's driver keeps
/// books on the host, by malloc: of its own accord, and for each block of a device.
LiveMemory live_memory(Allocations which = Allocations::all);

/// How many allocations fail.
enum class Shortage {
  one,     ///< one, as where a large array does not fit
  lasting  ///< also the later ones of the call, unless an exception passes: as where memory is used up
};

/// The program's own operator new and malloc, of which one call returns no memory. Allocations of all threads
/// count, numbered from 1 in each call. Those do not fail that Kokkos makes to free a View or for scratch
/// memory of teams, or nvcc to copy a lambda: an exception there ends the program, or lets a later launch
/// wait forever, whatever Lutra does.
class FailingAllocations {
 public:
  explicit FailingAllocations(Allocations which = Allocations::of_cpp, Shortage shortage = Shortage::one)
      : m_which(which), m_shortage(shortage) {}

  static constexpr const char* event = "allocation";
  /// Runs a call. @returns how many allocations it made
  long count(const std::function<void()>& call) const;
  /// Runs a call in which an allocation fails. @throws what the call throws, unless it is std::bad_alloc
  Injected fail(long allocation, const std::function<void()>& call) const;

 private:
  Allocations m_which;
  Shortage m_shortage;
};

namespace Impl {
/// For allocations that are made by other functions: whether the one at hand is to fail. Counts it.
bool is_to_fail() noexcept;
/// Whether no allocation within a function, by its address, may fail.
#ifdef KOKKOS_ENABLE_CUDA
bool is_spared(const void* function) noexcept;
#else
inline bool is_spared(const void*) noexcept {
  return false;
}
#endif
/// For memory of other functions: that there are so many blocks more.
void count_live_views(long more) noexcept;
}  // namespace Impl

}  // namespace lutra::Test

#endif
