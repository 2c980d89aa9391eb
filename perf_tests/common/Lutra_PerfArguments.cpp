// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

#include "Lutra_Error.hpp"
#include "Lutra_PerfRun.hpp"

namespace lutra::Perf {
namespace {

/// The text after "--name=" if `argument` begins with that.
std::optional<std::string> value_of(std::string_view argument, std::string_view name) {
  const std::string start = "--" + std::string(name) + "=";
  if (!argument.starts_with(start)) return std::nullopt;
  return std::string(argument.substr(start.size()));
}

/// A number of at least `minimum`, or nothing.
std::optional<int> number(std::string_view text, int minimum) {
  int count = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (problem != std::errc() || end != text.data() + text.size() || count < minimum) return std::nullopt;
  return count;
}

int sample_count(const std::string& text) {
  const auto count = number(text, 1);
  if (!count) throw InputError("--samples=" + text + ": invalid number of samples (choose 1 or more)");
  return *count;
}

PerfFront front_of(const std::string& text) {
  const std::size_t plus = std::min(text.find('+'), text.size());
  const auto pivots = number(std::string_view(text).substr(0, plus), 1);
  const auto off_diagonal = plus < text.size() ? number(std::string_view(text).substr(plus + 1), 0) : 0;
  if (!pivots || !off_diagonal)
    throw InputError("--front=" + text + ": invalid front (write PIVOTS or PIVOTS+OFF_DIAGONAL_ROWS)");
  return {*pivots, *off_diagonal};
}

/// True if `argument` is an option of this file and was stored in `run`.
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
    "  --front=K[+M]        a dense front of K pivots and M off-diagonal rows, for lutra_perf_dense;\n"
    "                       may be repeated\n"
    "  --samples=N          samples of which the median is taken (10); at most 3 if one takes over a second\n"
    "  --kokkos-…           options of Kokkos, such as --kokkos-num-threads=N\n";

PerfRun take_given_arguments(int& argc, char** argv) {
  PerfRun run;
  int kept = 1;
  for (int i = 1; i < argc; ++i) {
    if (!take(argv[i], run)) argv[kept++] = argv[i];
  }
  argc = kept;
  return run;
}

PerfRun take_arguments(int& argc, char** argv) {
  PerfRun run = take_given_arguments(argc, argv);
  if (run.matrices.empty()) {
    for (const char* spec : {"circuit:20000", "poisson2d:100", "aniso2d:100", "kkt:5000"}) {
      run.matrices.push_back(generate_matrix(spec));
    }
  }
  return run;
}

}  // namespace lutra::Perf
