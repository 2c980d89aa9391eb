// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Refactorizes and solves systems of changing values, and compares time and memory of the tenths of the run
// (docs/reliability.md). Exits with 1 if a solution is wrong, or if time or memory grew.
//
//   lutra_soak [--steps N | --minutes M] [--threads T] [--tasks small|mixed] [--seed S]
//
// N steps (default 30000) of each thread, or as many as fit into M minutes. Each thread has solvers and an
// instance of the execution space of its own. `small` (default): four systems of about 100 rows; `mixed`: 100
// to 20,000 rows.
#include <Kokkos_Core.hpp>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "Lutra_Soak.hpp"

namespace {

using lutra::Campaign::SoakRecord;
using Space = Kokkos::DefaultExecutionSpace;

struct Arguments {
  std::int64_t steps = 30000;
  double minutes = 0;
  int threads = 1;
  std::string tasks = "small";
  std::uint64_t seed = 1;
};

Arguments parse(int argc, char* argv[]) {
  Arguments result;
  for (int k = 1; k + 1 < argc; k += 2) {
    const std::string name = argv[k], value = argv[k + 1];
    if (name == "--steps") {
      result.steps = std::stoll(value);
    } else if (name == "--minutes") {
      result.minutes = std::stod(value);
    } else if (name == "--threads") {
      result.threads = std::stoi(value);
    } else if (name == "--tasks" && (value == "small" || value == "mixed")) {
      result.tasks = value;
    } else if (name == "--seed") {
      result.seed = std::stoull(value);
    } else {
      throw std::invalid_argument(name + " " + value + ": unknown option or value");
    }
  }
  if (argc % 2 == 0) throw std::invalid_argument(std::string(argv[argc - 1]) + ": an option needs a value");
  if (result.threads < 1 || result.steps < 1) throw std::invalid_argument("--threads, --steps: at least 1");
  return result;
}

/// The record of one thread, and why it ended early.
struct ThreadResult {
  SoakRecord record;
  std::string mistake;
};

std::vector<ThreadResult> run(const Arguments& arguments, const lutra::Campaign::SoakPlan& plan) {
  const auto count = static_cast<std::size_t>(arguments.threads);
  std::vector<Space> instances{Space()};
  if (count > 1) instances = Kokkos::Experimental::partition_space(Space(), std::vector<int>(count, 1));
  std::vector<ThreadResult> results(count);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < count; ++t) {
    threads.emplace_back([&, t] {
      try {
        lutra::Campaign::soak(plan, instances[t], 1000 * (arguments.seed + t), t == 0, results[t].record);
      } catch (const std::exception& mistake) {  // an exception must not leave the thread
        results[t].mistake = mistake.what();
      }
    });
  }
  for (auto& thread : threads) thread.join();
  return results;
}

void print_row(const char* name, const std::vector<double>& values, const char* format) {
  std::printf("%-28s", name);
  for (const double value : values) std::printf(format, value);
  std::printf("\n");
}

void print(const SoakRecord& record, const std::vector<lutra::Campaign::SoakTask>& tasks) {
  for (std::size_t t = 0; t < record.times.size(); ++t) {
    std::vector<double> medians;
    for (const auto& tenth : record.times[t]) medians.push_back(1e6 * tenth.median());
    print_row((name_of(tasks[t]) + ", µs").c_str(), medians, "%9.0f");
    if (record.references.empty()) continue;
    for (std::size_t tenth = 0; tenth < medians.size(); ++tenth)
      medians[tenth] = record.times[t][tenth].median() / record.references[t][tenth].median();
    print_row("  in references", medians, "%9.2f");
  }
  const auto megabytes = [](const auto& bytes) {
    std::vector<double> result;
    for (const double value : bytes) result.push_back(value / 1e6);
    return result;
  };
  print_row("resident, MB", megabytes(record.resident), "%9.1f");
  if (record.device_used.back() > 0) print_row("device, MB", megabytes(record.device_used), "%9.1f");
}

/// Prints the results. @returns whether all threads ended as they should
bool report(const std::vector<ThreadResult>& results, const lutra::Campaign::SoakPlan& plan) {
  std::vector<SoakRecord> records;
  std::vector<std::string> problems;
  for (const auto& [record, mistake] : results) {
    records.push_back(record);
    if (!mistake.empty()) problems.push_back(mistake);
  }
  const SoakRecord all = joined(records);
  for (std::string& growth : growth_in(all, plan.tasks)) problems.push_back(std::move(growth));
  for (const std::string& problem : problems) std::printf("FAILED %s\n", problem.c_str());
  std::printf("medians of the tenths of the run, of all threads\n");
  print(all, plan.tasks);
  std::printf("%lld steps of %zu threads, %lld solutions checked, largest error %.2g: %s\n",
              static_cast<long long>(all.steps), results.size(), static_cast<long long>(all.checks),
              all.largest_error, problems.empty() ? "constant" : "failed");
  return problems.empty();
}

}  // namespace

int main(int argc, char* argv[]) {
  const Kokkos::ScopeGuard kokkos;
  try {
    const Arguments arguments = parse(argc, argv);
    const Kokkos::Timer timer;
    lutra::Campaign::SoakPlan plan;
    plan.tasks = arguments.tasks == "mixed" ? lutra::Campaign::mixed_tasks() : lutra::Campaign::small_tasks();
    plan.progress = [&](std::int64_t steps) {
      return arguments.minutes > 0 ? timer.seconds() / (60 * arguments.minutes)
                                   : static_cast<double>(steps) / static_cast<double>(arguments.steps);
    };
    return report(run(arguments, plan), plan) ? EXIT_SUCCESS : EXIT_FAILURE;
  } catch (const std::exception& mistake) {
    std::fprintf(stderr, "lutra_soak: %s\n", mistake.what());
    return EXIT_FAILURE;
  }
}
