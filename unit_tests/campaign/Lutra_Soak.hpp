// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_SOAK_HPP
#define LUTRA_SOAK_HPP

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "Lutra_CampaignGenerator.hpp"
#include "Lutra_Options.hpp"

namespace lutra::Campaign {

constexpr std::size_t n_tenths = 10;  ///< parts of a run that are compared

/// A matrix of `lutra generate` and a method that solves it again and again.
struct SoakTask {
  std::string kind;
  int size;
  Method method;
  int steps;  ///< per turn, so that turns of all tasks take about as long
};

/// Systems of about 100 rows, one for each method.
std::vector<SoakTask> small_tasks();
/// Systems of 100 to 20,000 rows for all methods.
std::vector<SoakTask> mixed_tasks();
std::string name_of(const SoakTask& task);

/// Times of steps, counted in bins 2 % wide, so that a longer run needs no more memory.
class TimeCounts {
 public:
  void add(double seconds);
  void add(const TimeCounts& others);
  std::int64_t count() const { return m_count; }
  /// The median in seconds, within a bin; 0 if there are no times.
  double median() const;

 private:
  static constexpr double shortest = 1e-7, width = 1.02;
  std::array<std::int32_t, 1024> m_bins{};
  std::int64_t m_count = 0;
};

/// Times and memory of a run, by its tenths.
struct SoakRecord {
  std::vector<std::array<TimeCounts, n_tenths>> times{};  ///< of each task
  /// Of each task, on hosts: some products with its matrix beside each step. Other programs on the same core
  /// slow both down.
  std::vector<std::array<TimeCounts, n_tenths>> references{};
  std::array<double, n_tenths> resident{};     ///< bytes of the process at the end of each tenth
  std::array<double, n_tenths> device_used{};  ///< bytes in use on the device; 0 on hosts
  std::int64_t steps = 0, checks = 0;
  double largest_error = 0;  ///< of the checked solutions: backward error, GMRES: relative residual / 100
};

/// The record of all threads: their times together, and the memory that one of them recorded.
SoakRecord joined(const std::vector<SoakRecord>& threads);

/// What a run shares between its threads.
struct SoakPlan {
  std::vector<SoakTask> tasks;
  std::int64_t check_every = 97;      ///< steps of a task between recomputed errors
  std::int64_t analyze_every = 1000;  ///< steps of a task between analyses
  /// Share of the run that is over, from 0 to 1, for a thread that has made so many steps.
  std::function<double(std::int64_t steps)> progress;
};

/// Refactorizes and solves until the run is over. Each task has a solver of its own on `exec`.
/// @param record [tasks] times of this thread; memory is recorded if `records_memory`
/// @throws std::runtime_error if a solve fails or a recomputed error is above the tolerance
void soak(const SoakPlan& plan, const Kokkos::DefaultExecutionSpace& exec, std::uint64_t seed,
          bool records_memory, SoakRecord& record);

/// Tolerances of a constant run.
/// Ratio of medians, last to first tenths, each divided by that of the references.
constexpr double time_tolerance = 1.25;
constexpr double memory_tolerance = 1.02, memory_slack = 4e6;  ///< ratio, and bytes beside it

/// Compares the last three tenths with the second to fourth, which follow the first allocations.
/// @returns one line for each task whose times grew, and for memory that grew; empty if all was constant
std::vector<std::string> growth_in(const SoakRecord& record, const std::vector<SoakTask>& tasks);

}  // namespace lutra::Campaign

#endif
