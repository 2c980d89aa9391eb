// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_FAILINGKERNELS_HPP
#define LUTRA_FAILINGKERNELS_HPP

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <exception>
#include <functional>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "Lutra_FailingAllocations.hpp"

namespace lutra::Test {

/// A kernel that could not be launched.
struct LaunchFailure : std::runtime_error {
  static constexpr const char* text = "a kernel was not launched";
  LaunchFailure() : std::runtime_error(text) {}
};

/// Kernels, of which one is not launched. One object at a time.
///
/// On hosts these are the kernels and deep copies of Kokkos: the callback of Kokkos Tools before one throws,
/// where Kokkos holds nothing yet. On CUDA they are all kernels, also those of Lutra alone: the launch
/// returns an error after which the device still works (Lutra_FailingCuda.cpp), for which Kokkos and Lutra
/// throw.
class FailingKernels {
 public:
  FailingKernels() : m_callbacks_before(Kokkos::Tools::Experimental::get_callbacks()) {
    if (on_cuda) return;
    namespace Tools = Kokkos::Tools::Experimental;
    Tools::set_begin_parallel_for_callback(begin_kernel);
    Tools::set_begin_parallel_reduce_callback(begin_kernel);
    Tools::set_begin_parallel_scan_callback(begin_kernel);
    Tools::set_begin_deep_copy_callback(begin_copy);
  }
  ~FailingKernels() { Kokkos::Tools::Experimental::set_callbacks(m_callbacks_before); }
  FailingKernels(const FailingKernels&) = delete;
  FailingKernels& operator=(const FailingKernels&) = delete;

  static constexpr const char* event = "kernel";
  /// Runs a call. @returns how many kernels it launched
  static long count(const std::function<void()>& call) {
    s_launched = s_to_fail = 0;
    call();
    return stop();
  }
  /// Runs a call in which a kernel is not launched. @throws what the call throws, unless it is the failure;
  /// Lutra passes one in the construction of a View on as std::bad_alloc
  static Injected fail(long kernel, const std::function<void()>& call) {
    s_to_fail = kernel;
    s_launched = 0;
    try {
      call();
    } catch (const std::exception& error) {
      const bool is_met = stop() >= kernel;
      if (is_met && is_launch_error(error.what())) return Injected::thrown;
      clear_launch_error();
      throw;
    }
    const bool is_met = stop() >= kernel;
    if (clear_launch_error())
      throw std::logic_error("the call did not check whether all kernels were launched");
    return is_met ? Injected::survived : Injected::not_met;
  }
  /// Counts a kernel. @returns whether it is not to be launched
  static bool is_to_fail() noexcept { return s_launched >= 0 && ++s_launched == s_to_fail; }

 private:
  /// Clears the error of a launch that the call has not fetched.
  /// @returns whether there was one
#ifdef KOKKOS_ENABLE_CUDA
  static constexpr bool on_cuda = true;
  static bool clear_launch_error() noexcept;
#else
  static constexpr bool on_cuda = false;
  static constexpr bool clear_launch_error() noexcept {
    return false;
  }
#endif
  /// CUB takes the error of an earlier launch for one of asking for the current device, and clears it.
  static bool is_launch_error(std::string_view text) {
    const auto has = [&](std::string_view words) { return text.find(words) != text.npos; };
    if (!on_cuda) return has(LaunchFailure::text);
    return has("cudaErrorLaunchOutOfResources") || has("too many resources requested for launch") ||
           has("cudaErrorInvalidDevice");
  }
  static void begin_kernel(const char*, std::uint32_t, std::uint64_t*) {
    if (is_to_fail()) throw LaunchFailure();
  }
  static void begin_copy(Kokkos::Tools::SpaceHandle, const char*, const void*, Kokkos::Tools::SpaceHandle,
                         const char*, const void*, std::uint64_t) {
    if (is_to_fail()) throw LaunchFailure();
  }
  static long stop() {
    s_to_fail = 0;
    return std::exchange(s_launched, -1);
  }

  inline static long s_launched = -1, s_to_fail = 0;  // callbacks of Kokkos Tools have no user argument
  Kokkos::Tools::Experimental::EventSet m_callbacks_before;
};

}  // namespace lutra::Test

#endif
