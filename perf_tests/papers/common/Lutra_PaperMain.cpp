// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// main of the programs that run a paper's tables again.
#include <Kokkos_Core.hpp>
#include <exception>
#include <iostream>
#include <optional>
#include <string_view>

#include "Lutra_Error.hpp"
#include "Lutra_PaperRanks.hpp"
#include "Lutra_PaperReport.hpp"
#include "Lutra_PerfContext.hpp"
#include "Lutra_PerfRun.hpp"

namespace lutra::Perf {
namespace {

constexpr const char* help =
    "Runs the tables and figures of a paper again and prints them as Markdown.\n\n"
    "  --matrix=FILE         Matrix Market, also .gz and .xz; may be repeated (default: generated matrices)\n"
    "  --generate=KIND:SIZE  a generated matrix, as in `lutra generate`; may be repeated\n"
    "  --samples=N           samples of which the median is taken (10)\n"
    "  --small               sizes that take seconds\n"
    "  --json=FILE           the report as JSON\n"
    "  --kokkos-…            options of Kokkos\n";

struct Arguments {
  PaperRun run;
  std::string json;
};

Arguments parse(int argc, char** argv) {
  Arguments result;
  PerfRun given = take_given_arguments(argc, argv);
  result.run.matrices = std::move(given.matrices);
  result.run.samples = given.samples;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--small") {
      result.run.small = true;
    } else if (word.starts_with("--json=")) {
      result.json = word.substr(7);
    } else {
      throw InputError("unknown argument '" + std::string(word) + "'; --help lists them");
    }
  }
  if (result.run.small) result.run.samples = 1;
  return result;
}

std::optional<Communicator>& communicator() {
  static std::optional<Communicator> comm;  // run_paper gets no argument for it
  return comm;
}

void run_program(int argc, char** argv) {
  Arguments arguments = parse(argc, argv);
  Communicator& comm = communicator().emplace();
  limit_blas_threads();
  if (comm.rank() == 0) {
    const Communicator::Work work(comm);
    arguments.run.limits = measure_limits();
  }
  comm.barrier();
  PaperReport report = run_paper(arguments.run);
  if (comm.rank() == 0) {
    report.context = perf_context(arguments.run.limits);
    report.context["ranks"] = std::to_string(comm.size());
    report.write_markdown(std::cout);
    if (!arguments.json.empty()) report.write_json(arguments.json);
  }
  comm.close();
}

}  // namespace

Communicator& paper_ranks() {
  return *communicator();
}

}  // namespace lutra::Perf

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    if (std::string_view(argv[i]) == "--help") {
      std::cout << lutra::Perf::help;
      return 0;
    }
  }
  lutra::MpiSession session(&argc, &argv);
  const Kokkos::ScopeGuard guard(argc, argv);
  try {
    lutra::Perf::run_program(argc, argv);
  } catch (const std::exception& failure) {
    std::cerr << failure.what() << '\n';
    return 2;  // MpiSession ends all ranks
  }
  lutra::Perf::communicator().reset();
  return session.finish(0);
}
