// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <benchmark/benchmark.h>

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <exception>
#include <iostream>
#include <string_view>

#include "Lutra_PerfRun.hpp"

namespace {

int run_benchmarks(int argc, char** argv) {
  if (std::any_of(argv + 1, argv + argc, [](std::string_view word) { return word == "--help"; })) {
    std::cout
        << "Times a stage of Lutra beside its peers; docs/benchmarks.md says how to read the result.\n\n"
        << lutra::Perf::arguments_help << '\n';
  }
  lutra::Perf::PerfRun run = lutra::Perf::take_arguments(argc, argv);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  lutra::Perf::limit_blas_threads();
  run.limits = lutra::Perf::measure_limits();
  lutra::Perf::add_context(run.limits);
  lutra::Perf::register_benchmarks(run);
  benchmark::RunSpecifiedBenchmarks();
  benchmark::ClearRegisteredBenchmarks();  // frees their device memory before Kokkos ends
  benchmark::Shutdown();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const Kokkos::ScopeGuard guard(argc, argv);
  try {
    return run_benchmarks(argc, argv);
  } catch (const std::exception& failure) {
    std::cerr << failure.what() << '\n';
    return 2;
  }
}
