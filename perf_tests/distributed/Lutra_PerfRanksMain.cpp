// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// main for programs that mpirun starts: all ranks run the same benchmarks, and rank 0 reports.
#include <benchmark/benchmark.h>

#include <exception>
#include <iostream>
#include <memory>
#include <optional>

#include "Lutra_Error.hpp"
#include "Lutra_PerfRanks.hpp"
#include "Lutra_PerfRun.hpp"

namespace {

/// Reports nothing, on ranks other than 0.
class NoReport final : public benchmark::BenchmarkReporter {
 public:
  bool ReportContext(const Context&) override { return true; }
  void ReportRuns(const std::vector<Run>&) override {}
};

std::optional<lutra::Communicator>& communicator() {
  static std::optional<lutra::Communicator> comm;  // benchmarks get no arguments from main
  return comm;
}

void run_benchmarks(int argc, char** argv) {
  lutra::Perf::PerfRun run = lutra::Perf::take_arguments(argc, argv);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) throw lutra::InputError("unknown argument");
  lutra::Communicator& comm = communicator().emplace();
  lutra::Perf::limit_blas_threads();
  if (comm.rank() == 0) {
    const lutra::Communicator::Work work(comm);
    run.limits = lutra::Perf::measure_limits();
  }
  comm.barrier();
  lutra::Perf::add_context(run.limits);
  benchmark::AddCustomContext("ranks", std::to_string(comm.size()));
  lutra::Perf::register_benchmarks(run);
  if (comm.rank() == 0) {
    benchmark::RunSpecifiedBenchmarks();
  } else {
    NoReport none;
    benchmark::RunSpecifiedBenchmarks(&none);
  }
  benchmark::ClearRegisteredBenchmarks();  // frees their device memory before Kokkos ends
  benchmark::Shutdown();
  comm.close();
}

}  // namespace

lutra::Communicator& lutra::Perf::ranks() {
  return *communicator();
}

int main(int argc, char** argv) {
  lutra::MpiSession session(&argc, &argv);
  const Kokkos::ScopeGuard guard(argc, argv);
  try {
    run_benchmarks(argc, argv);
  } catch (const std::exception& failure) {
    std::cerr << failure.what() << '\n';
    return 2;  // MpiSession ends all ranks
  }
  communicator().reset();
  return session.finish(0);
}
