// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_PERFREGIONS_HPP
#define LUTRA_PERFREGIONS_HPP

#include <Kokkos_Core.hpp>

#include <map>
#include <string>
#include <vector>

namespace lutra::Perf {

/// Seconds in regions and in kernels of parallel_for by their labels, during the lifetime of this object,
/// from the callbacks of Kokkos Tools. The callbacks make Kokkos fence where regions and kernels begin and
/// end. Only one object may exist at a time. All calls of Kokkos come from the thread that made it.
class RegionTimes {
 public:
  RegionTimes() : m_callbacks_before(Kokkos::Tools::Experimental::get_callbacks()) {
    namespace Tools = Kokkos::Tools::Experimental;
    s_this = this;
    Tools::set_push_region_callback([](const char* name) { s_this->begin(name); });
    Tools::set_pop_region_callback([] { s_this->end(); });
    Tools::set_begin_parallel_for_callback(
        [](const char* name, std::uint32_t, std::uint64_t*) { s_this->begin(name); });
    Tools::set_end_parallel_for_callback([](std::uint64_t) { s_this->end(); });
  }
  ~RegionTimes() { Kokkos::Tools::Experimental::set_callbacks(m_callbacks_before); }
  RegionTimes(const RegionTimes&) = delete;
  RegionTimes& operator=(const RegionTimes&) = delete;

  /// All runs of a label; 0 if it has not run.
  double seconds(const std::string& label) const { return sum_of(label, false); }
  /// Its first run.
  double first_seconds(const std::string& label) const { return sum_of(label, true); }

 private:
  struct Open {
    std::string label;
    double begin;  ///< seconds after the construction
  };

  void begin(const char* name) { m_open.push_back({name, m_timer.seconds()}); }
  void end() {
    if (m_open.empty()) return;  // it began before this object
    m_seconds[m_open.back().label].push_back(m_timer.seconds() - m_open.back().begin);
    m_open.pop_back();
  }
  double sum_of(const std::string& label, bool only_first) const {
    const auto found = m_seconds.find(label);
    double sum = 0;
    if (found == m_seconds.end()) return sum;
    for (const double seconds : found->second) {
      sum += seconds;
      if (only_first) break;
    }
    return sum;
  }

  static inline RegionTimes* s_this = nullptr;
  Kokkos::Tools::Experimental::EventSet m_callbacks_before;
  Kokkos::Timer m_timer;
  std::vector<Open> m_open;
  std::map<std::string, std::vector<double>> m_seconds;
};

}  // namespace lutra::Perf

#endif
