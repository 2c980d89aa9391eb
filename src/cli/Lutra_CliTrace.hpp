// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_CLITRACE_HPP
#define LUTRA_CLITRACE_HPP

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "Lutra_Event.hpp"

namespace lutra::Cli {

/// What happens over time, from construction to `write`: calls and stages of solvers, choices, escalations,
/// kernels and memory of Kokkos. docs/tracing.md reads one.
///
///     lane 1   read │ analyze                          │ factorize │ solve
///                   │ matching │ ordering │ symbolic … │ numeric   │ solve │ refine
///     lane 2   kernels, copies and waits, as the host sees them
///
/// Only one object may exist at a time, because callbacks of Kokkos Tools have no argument of the user. If a
/// tool is loaded, kernels and memory are left to it.
class Trace {
 public:
  Trace();
  ~Trace();
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;

  /// Records an event of a solver.
  void add(const Event& event);

  /// An interval of the program, such as reading a file.
  class Interval {
   public:
    Interval(Trace* trace, std::string_view name) : m_trace(trace) {
      if (m_trace != nullptr) m_trace->begin(name, "program");
    }
    ~Interval() {
      if (m_trace != nullptr) m_trace->end();
    }
    Interval(const Interval&) = delete;
    Interval& operator=(const Interval&) = delete;

   private:
    Trace* m_trace;  ///< null: nothing is recorded
  };

  /// The trace as JSON in Chrome's format, complete events first. Intervals under way end now.
  std::string to_json() const;
  /// Writes it, as a whole or not at all. @throws FileError
  void write(const std::string& file) const;

 private:
  using Arguments = std::vector<std::pair<std::string, std::string>>;
  enum class Lane { solver = 1, kernels = 2 };
  /// An interval, or an instant if its duration is `instant`.
  struct Item {
    std::string name;
    std::string_view category;
    Lane lane = Lane::solver;
    std::int64_t begin = 0, duration = open;  ///< nanoseconds
    Arguments arguments{};
  };
  /// Bytes in the Views of a memory space.
  struct Sample {
    std::int64_t time = 0;
    std::string space;
    std::int64_t bytes = 0;
  };
  static constexpr std::int64_t open = -1, instant = -2;

  void begin(std::string_view name, std::string_view category, std::int64_t time = 0);
  void end(std::int64_t time = 0, Arguments arguments = {});
  void mark(std::string name, std::string_view category, std::int64_t time);
  void watch_kokkos();
  std::uint64_t begin_kernel(std::string_view name, std::string_view category);
  void end_kernel(std::uint64_t number);
  void change_memory(const char* space, std::int64_t bytes);

  inline static Trace* s_trace = nullptr;

  mutable std::mutex m_mutex;  ///< kernels may be launched by several threads
  std::int64_t m_start;        ///< nanoseconds of the steady clock
  std::vector<Item> m_items;
  std::vector<std::size_t> m_open;  ///< intervals under way in lane 1, the outer first
  std::vector<Sample> m_samples;
  std::map<std::string, std::int64_t> m_bytes;  ///< in Views, by memory space
  std::int64_t m_left_out = 0;                  ///< kernels beyond those recorded
  std::size_t m_kernels = 0;
  bool m_watches = false;
};

}  // namespace lutra::Cli

#endif
