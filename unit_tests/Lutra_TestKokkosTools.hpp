// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_TESTKOKKOSTOOLS_HPP
#define LUTRA_TESTKOKKOSTOOLS_HPP

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace lutra::Test {

/// Records, from construction to destruction, where the host waits for `ExecutionSpace` and which Views are
/// allocated, through the callbacks of Kokkos Tools.
///
/// A wait is a fence of the space or one of its instances. `parallel_reduce` and `parallel_scan` with a
/// result on the host end with such a fence on every backend, Serial included, and with several on devices.
/// The fences before and after the copy in one call of `deep_copy` count once. A `deep_copy` on an instance
/// counts as a wait only if Kokkos fences in it.
///
/// Only one object may exist at a time. All calls of Kokkos in its lifetime come from the thread that made
/// it.
template <class ExecutionSpace>
class DeviceEvents {
 public:
  DeviceEvents() : m_callbacks_before(Kokkos::Tools::Experimental::get_callbacks()) {
    namespace Tools = Kokkos::Tools::Experimental;
    s_record = &m_record;
    Tools::set_begin_fence_callback(begin_fence);
    Tools::set_begin_deep_copy_callback(begin_deep_copy);
    Tools::set_end_deep_copy_callback(end_deep_copy);
    Tools::set_allocate_data_callback(allocate_data);
  }
  ~DeviceEvents() {
    Kokkos::Tools::Experimental::set_callbacks(m_callbacks_before);
    s_record = nullptr;
  }
  DeviceEvents(const DeviceEvents&) = delete;
  DeviceEvents& operator=(const DeviceEvents&) = delete;

  std::size_t waits() const { return m_record.waits.size(); }
  std::size_t allocations() const { return m_record.allocations.size(); }

  /// The names of the fences and the labels of the allocations, for messages.
  std::string describe() const {
    std::string text;
    for (const auto& name : m_record.waits) text += "wait: " + name + "\n";
    for (const auto& label : m_record.allocations) text += "allocation: " + label + "\n";
    return text;
  }

 private:
  struct Record {
    std::vector<std::string> waits, allocations;
    bool in_copy = false;      ///< between begin and end of a deep copy
    bool copy_waited = false;  ///< a fence of this deep copy has been counted
  };

  static void begin_fence(const char* name, std::uint32_t device, std::uint64_t*) {
    namespace Tools = Kokkos::Tools::Experimental;
    if (Tools::identifier_from_devid(device).type != Tools::DeviceTypeTraits<ExecutionSpace>::id) return;
    if (s_record->in_copy && s_record->copy_waited) return;
    s_record->copy_waited = true;
    s_record->waits.push_back(name);
  }
  static void begin_deep_copy(Kokkos::Tools::SpaceHandle, const char*, const void*,
                              Kokkos::Tools::SpaceHandle, const char*, const void*, std::uint64_t) {
    s_record->in_copy = true;
    s_record->copy_waited = false;
  }
  static void end_deep_copy() { s_record->in_copy = false; }
  static void allocate_data(Kokkos::Tools::SpaceHandle, const char* label, const void*, std::uint64_t bytes) {
    if (bytes > 0) s_record->allocations.push_back(label);  // teams without scratch memory request 0 bytes
  }

  inline static Record* s_record = nullptr;  // callbacks of Kokkos Tools have no user argument

  Record m_record;
  Kokkos::Tools::Experimental::EventSet m_callbacks_before;
};

/// Records the regions of Kokkos Tools during the lifetime of an object: a name where one begins, and "/" and
/// the name where it ends.
class Regions {
 public:
  Regions() : m_callbacks_before(Kokkos::Tools::Experimental::get_callbacks()) {
    s_record = this;
    Kokkos::Tools::Experimental::set_push_region_callback([](const char* name) {
      s_record->m_open.push_back(name);
      s_record->m_sequence.push_back(name);
    });
    Kokkos::Tools::Experimental::set_pop_region_callback([] {
      if (s_record->m_open.empty()) return s_record->m_sequence.push_back("/ of no region");
      s_record->m_sequence.push_back("/" + s_record->m_open.back());
      s_record->m_open.pop_back();
    });
  }
  ~Regions() {
    Kokkos::Tools::Experimental::set_callbacks(m_callbacks_before);
    s_record = nullptr;
  }
  Regions(const Regions&) = delete;
  Regions& operator=(const Regions&) = delete;

  const std::vector<std::string>& sequence() const { return m_sequence; }
  bool is_balanced() const {
    return m_open.empty() && std::ranges::find(m_sequence, "/ of no region") == m_sequence.end();
  }
  void clear() { m_sequence.clear(); }

 private:
  inline static Regions* s_record = nullptr;  // callbacks of Kokkos Tools have no user argument

  std::vector<std::string> m_open, m_sequence;
  Kokkos::Tools::Experimental::EventSet m_callbacks_before;
};

/// The peak of bytes in Views during the lifetime of an object, beyond those at its construction.
class PeakBytes {
 public:
  PeakBytes() : m_callbacks_before(Kokkos::Tools::Experimental::get_callbacks()) {
    s_bytes = s_peak = 0;
    Kokkos::Tools::Experimental::set_allocate_data_callback(
        [](Kokkos::Tools::SpaceHandle, const char*, const void*, std::uint64_t bytes) {
          s_bytes += static_cast<std::int64_t>(bytes);
          s_peak = std::max(s_peak, s_bytes);
        });
    Kokkos::Tools::Experimental::set_deallocate_data_callback(
        [](Kokkos::Tools::SpaceHandle, const char*, const void*, std::uint64_t bytes) {
          s_bytes -= static_cast<std::int64_t>(bytes);
        });
  }
  ~PeakBytes() { Kokkos::Tools::Experimental::set_callbacks(m_callbacks_before); }
  PeakBytes(const PeakBytes&) = delete;
  PeakBytes& operator=(const PeakBytes&) = delete;

  std::size_t bytes() const { return static_cast<std::size_t>(s_peak); }

 private:
  inline static std::int64_t s_bytes = 0, s_peak = 0;  // callbacks of Kokkos Tools have no user argument
  Kokkos::Tools::Experimental::EventSet m_callbacks_before;
};

}  // namespace lutra::Test

#endif
