// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

#include "Lutra_Error.hpp"
#include "Lutra_PerfRun.hpp"

namespace lutra::Perf {
namespace {

/// What stands behind "--name=" in `argument`, if that is what it is.
std::optional<std::string> value_of(std::string_view argument, std::string_view name) {
  const std::string start = "--" + std::string(name) + "=";
  if (!argument.starts_with(start)) return std::nullopt;
  return std::string(argument.substr(start.size()));
}

/// A number from `least` on, or nothing.
std::optional<int> number(std::string_view text, int least) {
  int count = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (problem != std::errc() || end != text.data() + text.size() || count < least) return std::nullopt;
  return count;
}

int sample_count(const std::string& text) {
  const auto count = number(text, 1);
  if (!count) throw InputError("--samples=" + text + ": wanted is a number from 1");
  return *count;
}

PerfFront front_of(const std::string& text) {
  const std::size_t plus = std::min(text.find('+'), text.size());
  const auto pivots = number(std::string_view(text).substr(0, plus), 1);
  const auto below = plus < text.size() ? number(std::string_view(text).substr(plus + 1), 0) : 0;
  if (!pivots || !below) throw InputError("--front=" + text + ": wanted is PIVOTS or PIVOTS+FURTHER_ROWS");
  return {*pivots, *below};
}

/// True where it is one of this file's arguments.
bool take(std::string_view argument, PerfRun& run) {
  if (const auto file = value_of(argument, "matrix")) {
    run.matrices.push_back(load_matrix(*file));
  } else if (const auto spec = value_of(argument, "generate")) {
    run.matrices.push_back(generate_matrix(*spec));
  } else if (const auto count = value_of(argument, "samples")) {
    run.samples = sample_count(*count);
  } else if (const auto front = value_of(argument, "front")) {
    run.fronts.push_back(front_of(*front));
  } else {
    return false;
  }
  return true;
}

}  // namespace

const char* const arguments_help =
    "  --matrix=FILE        a Matrix Market file, .mtx, .mtx.gz or .mtx.xz; may be repeated\n"
    "  --generate=KIND:SIZE a generated matrix, as in `lutra generate`; KIND:SIZE:SEED too; may be repeated\n"
    "                       (neither: circuit:20000, poisson2d:100, aniso2d:100 and kkt:5000)\n"
    "  --front=K[+M]        a dense front of K pivots and M further rows, for lutra_perf_dense; may be "
    "repeated\n"
    "  --samples=N          runs the median is taken of (10); at most 3 where one takes over a second\n"
    "  --kokkos-…           Kokkos' own, --kokkos-num-threads=N for one\n";

PerfRun take_arguments(int& argc, char** argv) {
  PerfRun run;
  int kept = 1;
  for (int i = 1; i < argc; ++i) {
    if (!take(argv[i], run)) argv[kept++] = argv[i];
  }
  argc = kept;
  if (run.matrices.empty()) {
    for (const char* spec : {"circuit:20000", "poisson2d:100", "aniso2d:100", "kkt:5000"}) {
      run.matrices.push_back(generate_matrix(spec));
    }
  }
  return run;
}

}  // namespace lutra::Perf
