// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_Soak.hpp"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <memory>
#include <stdexcept>

#include "Lutra_CampaignExamination.hpp"
#include "Lutra_MatrixMarket.hpp"

namespace lutra::Campaign {
namespace {

constexpr bool on_host =
    Kokkos::SpaceAccessibility<Kokkos::DefaultExecutionSpace, Kokkos::HostSpace>::accessible;

/// CPU seconds of this thread; on devices, seconds of the clock.
double seconds_now() {
  timespec time{};
  clock_gettime(on_host ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// Resident bytes of the process.
double resident_bytes() {
  std::ifstream file("/proc/self/statm");
  double pages = 0;
  file >> pages >> pages;
  return pages * static_cast<double>(sysconf(_SC_PAGESIZE));
}

double device_bytes() {
#ifdef LUTRA_HAS_CUDA
  std::size_t left = 0, all = 0;
  if (cudaMemGetInfo(&left, &all) == cudaSuccess) return static_cast<double>(all - left);
#endif
  return 0;
}

SolverOptions options_of(const SoakTask& task) {
  SolverOptions options;
  options.method = task.method;
  return options;
}

/// One task of one thread.
class Repeated {
 public:
  Repeated(const SoakTask& task, const Kokkos::DefaultExecutionSpace& exec, std::uint64_t seed)
      : m_task(task),
        m_exec(exec),
        m_random(seed),
        m_first(generate(task.kind, task.size)),
        m_A(m_first),
        m_b(static_cast<std::size_t>(m_A.n_rows), 1.0),
        m_x(m_b.size()),
        m_units(m_b.size()) {}

  /// Factorizes and solves for new values. @returns the seconds of both
  double step(const SoakPlan& plan, SoakRecord& record) {
    change_values();
    if (m_steps % plan.analyze_every == 0) {
      m_solver = std::make_unique<lutra::Solver<double>>(options_of(m_task), m_exec);
      require(m_solver->analyze(m_A), "analyze");
    }
    const double start = seconds_now();
    require(m_solver->factorize(m_A), "factorize");
    require(m_solver->solve_host(m_b, m_x), "solve");
    const double seconds = seconds_now() - start;
    if (m_steps++ % plan.check_every == 0) check(record);
    ++record.steps;
    return seconds;
  }

  /// @returns the seconds of some products with the matrix
  double reference() {
    constexpr std::size_t entries = 20000;  // of all products; fewer: the clock is too coarse
    const double start = seconds_now();
    for (std::size_t done = 0; done < entries; done += m_A.entries.size())
      for (std::size_t i = 0; i < m_units.size(); ++i) {
        double sum = 0;
        for (auto p = static_cast<std::size_t>(m_A.row_map[i]);
             p < static_cast<std::size_t>(m_A.row_map[i + 1]); ++p)
          sum += m_A.values[p] * m_x[static_cast<std::size_t>(m_A.entries[p])];
        m_units[i] = sum;
      }
    return seconds_now() - start;
  }

 private:
  /// D·A·D with random D near 1: keeps symmetry and definiteness.
  void change_values() {
    for (double& unit : m_units) unit = 1 + 0.25 * m_random.unit();
    for (std::size_t i = 0; i < m_units.size(); ++i)
      for (auto p = static_cast<std::size_t>(m_A.row_map[i]);
           p < static_cast<std::size_t>(m_A.row_map[i + 1]); ++p)
        m_A.values[p] = m_first.values[p] * (m_units[i] * m_units[static_cast<std::size_t>(m_A.entries[p])]);
  }
  void require(Status status, const char* call) const {
    if (status != Status::success) fail(std::string(call) + " ended as " + std::string(to_string(status)));
  }
  void check(SoakRecord& record) const {
    const bool is_krylov = m_task.method == Method::krylov;
    const double error = recomputed_error(is_krylov ? Way::gmres : Way::lu, m_A, m_x, m_b);
    ++record.checks;
    record.largest_error = std::max(record.largest_error, is_krylov ? error / 100 : error);
    if (!(error <= (is_krylov ? krylov_tolerance : direct_tolerance)))
      fail("the error is " + std::to_string(error));
  }
  [[noreturn]] void fail(const std::string& what) const {
    throw std::runtime_error(name_of(m_task) + ", step " + std::to_string(m_steps) + ": " + what);
  }

  SoakTask m_task;
  Kokkos::DefaultExecutionSpace m_exec;
  Random m_random;
  HostMatrix<double> m_first, m_A;  ///< the generated matrix, and that of the current step
  std::vector<double> m_b, m_x, m_units;
  std::unique_ptr<lutra::Solver<double>> m_solver;
  std::int64_t m_steps = 0;
};

/// Median of the medians of tenths `first` to `first` + 2 that have times, in units of the references' if
/// there are any.
double typical(const std::array<TimeCounts, n_tenths>& times,
               const std::array<TimeCounts, n_tenths>* references, std::size_t first) {
  std::vector<double> medians;
  for (std::size_t t = first; t < first + 3; ++t)
    if (times[t].count() > 0)
      medians.push_back(times[t].median() / (references != nullptr ? (*references)[t].median() : 1.0));
  std::ranges::sort(medians);
  return medians.empty() ? 0 : medians[medians.size() / 2];
}

void compare_memory(const std::array<double, n_tenths>& bytes, const char* of,
                    std::vector<std::string>& growth) {
  const double early = std::max({bytes[1], bytes[2], bytes[3]}), late = bytes[n_tenths - 1];
  if (late <= memory_tolerance * early + memory_slack) return;
  char line[160];
  std::snprintf(line, sizeof line, "memory of the %s grew from %.1f to %.1f MB", of, early / 1e6, late / 1e6);
  growth.emplace_back(line);
}

}  // namespace

std::vector<SoakTask> small_tasks() {
  return {{"circuit", 100, Method::lu, 32},
          {"kkt", 100, Method::ldlt, 32},
          {"poisson2d", 10, Method::cholesky, 32},
          {"convdiff3d", 5, Method::krylov, 32}};
}

std::vector<SoakTask> mixed_tasks() {
  return {{"circuit", 100, Method::lu, 64},        {"kkt", 100, Method::ldlt, 64},
          {"poisson2d", 10, Method::cholesky, 64}, {"convdiff3d", 5, Method::krylov, 64},
          {"circuit", 2000, Method::lu, 8},        {"convdiff3d", 10, Method::lu, 4},
          {"kkt", 2000, Method::ldlt, 8},          {"aniso2d", 50, Method::cholesky, 4},
          {"poisson2d", 60, Method::krylov, 2},    {"circuit", 20000, Method::lu, 1},
          {"kkt", 10000, Method::ldlt, 1},         {"poisson2d", 141, Method::cholesky, 1},
          {"convdiff3d", 27, Method::krylov, 1}};
}

std::string name_of(const SoakTask& task) {
  const char* const method = task.method == Method::lu         ? "lu"
                             : task.method == Method::ldlt     ? "ldlt"
                             : task.method == Method::cholesky ? "cholesky"
                                                               : "ilu + gmres";
  return task.kind + " " + std::to_string(task.size) + ", " + method;
}

void TimeCounts::add(double seconds) {
  const double bin = std::log(std::max(seconds, shortest) / shortest) / std::log(width);
  ++m_bins[std::min(m_bins.size() - 1, static_cast<std::size_t>(bin))];
  ++m_count;
}

void TimeCounts::add(const TimeCounts& others) {
  for (std::size_t bin = 0; bin < m_bins.size(); ++bin) m_bins[bin] += others.m_bins[bin];
  m_count += others.m_count;
}

SoakRecord joined(const std::vector<SoakRecord>& threads) {
  SoakRecord all = threads.front();
  for (std::size_t thread = 1; thread < threads.size(); ++thread) {
    const SoakRecord& own = threads[thread];
    for (std::size_t t = 0; t < all.times.size(); ++t)
      for (std::size_t tenth = 0; tenth < n_tenths; ++tenth) {
        all.times[t][tenth].add(own.times[t][tenth]);
        if (!own.references.empty()) all.references[t][tenth].add(own.references[t][tenth]);
      }
    all.steps += own.steps;
    all.checks += own.checks;
    all.largest_error = std::max(all.largest_error, own.largest_error);
  }
  return all;
}

double TimeCounts::median() const {
  std::int64_t below = 0;
  for (std::size_t bin = 0; bin < m_bins.size(); ++bin) {
    below += m_bins[bin];
    if (2 * below >= m_count && m_count > 0)
      return shortest * std::pow(width, static_cast<double>(bin) + 0.5);
  }
  return 0;
}

void soak(const SoakPlan& plan, const Kokkos::DefaultExecutionSpace& exec, std::uint64_t seed,
          bool records_memory, SoakRecord& record) {
  std::vector<Repeated> tasks;
  for (const SoakTask& task : plan.tasks) tasks.emplace_back(task, exec, ++seed);
  record.times.resize(tasks.size());
  if (on_host) record.references.resize(tasks.size());
  for (double done = 0; done < 1;) {
    for (std::size_t t = 0; t < tasks.size() && done < 1; ++t) {
      for (int step = 0; step < plan.tasks[t].steps && done < 1; ++step) {
        const auto tenth = static_cast<std::size_t>(done * n_tenths);
        record.times[t][tenth].add(tasks[t].step(plan, record));
        if (on_host) record.references[t][tenth].add(tasks[t].reference());
        done = plan.progress(record.steps);
        if (records_memory && (done >= 1 || static_cast<std::size_t>(done * n_tenths) > tenth)) {
          record.resident[tenth] = resident_bytes();
          record.device_used[tenth] = device_bytes();
        }
      }
    }
  }
}

std::vector<std::string> growth_in(const SoakRecord& record, const std::vector<SoakTask>& tasks) {
  std::vector<std::string> growth;
  for (std::size_t t = 0; t < record.times.size(); ++t) {
    const auto* const references = record.references.empty() ? nullptr : &record.references[t];
    const double early = typical(record.times[t], references, 1),
                 late = typical(record.times[t], references, n_tenths - 3);
    if (early == 0 || late <= time_tolerance * early) continue;
    char line[160];
    std::snprintf(line, sizeof line, "%s: a step took %.3g %s at first and %.3g at the end",
                  name_of(tasks[t]).c_str(), early, references == nullptr ? "s" : "references", late);
    growth.emplace_back(line);
  }
  compare_memory(record.resident, "process", growth);
  compare_memory(record.device_used, "device", growth);
  return growth;
}

}  // namespace lutra::Campaign
