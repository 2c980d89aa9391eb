// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_WATCHDOG_HPP
#define LUTRA_WATCHDOG_HPP

#include <Kokkos_Core.hpp>

#include <chrono>
#include <cstdint>
#include <limits>
#include <thread>

#include "Lutra_ExecutionTraits.hpp"
#include "Lutra_RelaxedAccess.hpp"

namespace lutra::Impl {

// Threads that poll for another thread's value limit their wait by a clock, never by a count of reads: with
// more threads than cores the other thread may be descheduled for milliseconds, time for a million reads.

#if defined(KOKKOS_ENABLE_CUDA)
/// Device timer in nanoseconds.
KOKKOS_INLINE_FUNCTION std::uint64_t device_clock_ticks() {
  std::uint64_t now = 0;
  KOKKOS_IF_ON_DEVICE((asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));))
  return now;
}
#elif defined(KOKKOS_ENABLE_HIP)
/// Device counter with a constant rate.
KOKKOS_INLINE_FUNCTION std::uint64_t device_clock_ticks() {
  std::uint64_t now = 0;
  KOKKOS_IF_ON_DEVICE((now = static_cast<std::uint64_t>(wall_clock64());))
  return now;
}
#endif

/// Ticks per second of device_clock_ticks.
inline double device_clock_rate() {
#if defined(KOKKOS_ENABLE_HIP)
  int device = 0, kilohertz = 0;
  if (hipGetDevice(&device) == hipSuccess &&
      hipDeviceGetAttribute(&kilohertz, hipDeviceAttributeWallClockRate, device) == hipSuccess &&
      kilohertz > 0)
    return 1e3 * kilohertz;
  return 1e8;  // the usual rate
#else
  return 1e9;
#endif
}

/// Monotonic clock of the processor that runs a kernel.
struct SteadyClock {
  KOKKOS_FUNCTION static std::uint64_t ticks() {
    KOKKOS_IF_ON_HOST(
        (return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                               std::chrono::steady_clock::now().time_since_epoch())
                                               .count());))
    KOKKOS_IF_ON_DEVICE((return device_clock_ticks();))
  }

  /// Ticks per second on the processor that runs kernels of a space.
  template <class ExecutionSpace>
  static double rate() {
    return device_clock_rate();
  }
  template <HostExecution ExecutionSpace>
  static double rate() {
    return 1e9;  // nanoseconds
  }
};

/// Time limit in ticks of a space's clock, for kernels; unlimited if too large to represent.
template <class ExecutionSpace>
std::uint64_t watchdog_ticks(double seconds) {
  const double ticks = seconds * SteadyClock::rate<ExecutionSpace>();
  constexpr auto unlimited = std::numeric_limits<std::uint64_t>::max();
  return ticks < 1e18 ? static_cast<std::uint64_t>(ticks) : unlimited;
}

/// Duration of one wait. It starts with the first query, to be made after some hundred reads: most waits end
/// earlier, and reading a clock costs more than a read.
template <class Clock = SteadyClock>
class WaitTimer {
 public:
  KOKKOS_FUNCTION bool exceeds(std::uint64_t limit) {
    const std::uint64_t now = Clock::ticks();
    if (m_begun == 0) m_begun = now;
    return now - m_begun > limit;
  }

 private:
  std::uint64_t m_begun = 0;  ///< 0: not yet queried
};

/// Limits the waits of a launch. The first wait that exceeds the limit stores its number; every other wait
/// sees that at its next check and ends as well, so that a hang becomes an error:
///
///     wait A    reads …, exceeds the limit, stores its number ─► stopped
///     wait B    reads …, checks every few hundred reads ◄───────────┘   ends
///
/// @tparam none value of `stopped` before any timeout; afterwards it is none + 1 + the number
template <class Word, Word none>
struct Watchdog {
  Word* stopped = nullptr;
  std::uint64_t limit = std::numeric_limits<std::uint64_t>::max();  ///< ticks of the longest wait

  bool operator==(const Watchdog&) const = default;
  KOKKOS_FUNCTION bool has_ended() const { return load_relaxed(*stopped) != none; }
  /// Ends all waits. @returns whether this call was the first
  KOKKOS_FUNCTION bool end(Word number) const {
    return Kokkos::atomic_compare_exchange(stopped, none, static_cast<Word>(none + 1 + number)) == none;
  }
  /// Whether the waits have ended; ends them if this one exceeds the limit.
  /// @param number of what waits
  KOKKOS_FUNCTION bool ends(WaitTimer<>& timer, Word number) const {
    if (has_ended()) return true;
    if (!timer.exceeds(limit)) return false;
    end(number);
    return true;
  }
};

#ifdef KOKKOS_HAS_SHARED_HOST_PINNED_SPACE
using TimeoutSpace = Kokkos::SharedHostPinnedSpace;
#else
using TimeoutSpace = Kokkos::HostSpace;
#endif
/// Position at which the watchdog ended a solve, in memory accessible to host and device.
struct TimeoutRecord {
  std::int64_t position_plus_one = 0;  ///< 0: none
};
/// Pinning memory is slow: a solver does it once, for all its analyses.
using TimeoutFlag = Kokkos::View<TimeoutRecord[1], TimeoutSpace>;

/// A watchdog that also leaves a record, which the host reads without waiting for the device.
struct RecordingWatchdog : Watchdog<std::int64_t, 0> {
  TimeoutRecord* record = nullptr;

  bool operator==(const RecordingWatchdog&) const = default;
  KOKKOS_FUNCTION bool ends(WaitTimer<>& timer, std::int64_t position) const {
    if (has_ended()) return true;
    if (!timer.exceeds(limit)) return false;
    if (end(position)) record->position_plus_one = position + 1;
    return true;
  }
};

/// Yields to other host threads; called between reads by a thread that has polled for long.
KOKKOS_INLINE_FUNCTION void yield_to_others() {
  KOKKOS_IF_ON_HOST((std::this_thread::yield();))
}

}  // namespace lutra::Impl

#endif
