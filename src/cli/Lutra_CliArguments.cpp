// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_CliArguments.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <limits>
#include <string_view>

#include "Lutra_CliExit.hpp"
#include "Lutra_CliOutput.hpp"
#include "Lutra_Generate.hpp"
#include "Lutra_Version.hpp"

namespace lutra::Cli {
namespace {

// `--json` with and without a file cannot be told apart by a general parser, and taking a matrix for the file
// to write would destroy it: the next word is the file if it ends in .json, and anything goes in --json=FILE.
std::vector<std::string> with_json_resolved(int argc, const char* const* argv) {
  std::vector<std::string> words;
  for (int k = 1; k < argc; ++k) {
    const std::string_view word = argv[k];
    if (word == "--") {
      words.insert(words.end(), argv + k, argv + argc);
      break;
    }
    if (word != "--json") {
      words.emplace_back(word);
    } else if (k + 1 < argc && std::string_view(argv[k + 1]).ends_with(".json")) {
      words.push_back("--json=" + std::string(argv[++k]));
    } else {
      words.emplace_back("--json=-");
    }
  }
  return words;
}

// An integer of at least `least`; without the range in the help text, where it says nothing.
CLI::Validator at_least(int least) {
  return CLI::Range(least, std::numeric_limits<int>::max()).description("");
}

void add_solver_options(CLI::App& app, Arguments& a) {
  app.add_option("--method", a.method, "auto, lu")->type_name("NAME");
  app.add_option("--scalar", a.scalar, "f32 or f64; complex follows the file")->type_name("NAME");
  app.add_option("--ordering", a.ordering,
                 "auto, metis, amd, natural, or a file of columns in elimination order")
      ->type_name("NAME|FILE");
  app.add_option("--matching", a.matching, "auto, none, auction, exact")->type_name("NAME");
  app.add_option("--engine", a.engine, "auto, simplicial, multifrontal")->type_name("NAME");
  app.add_option("--symbolic", a.symbolic, "auto, fill2, fill1, etree, ancestors")->type_name("NAME");
  app.add_option("--pivot", a.pivot, "auto, static, threshold (within fronts)")->type_name("NAME");
  app.add_option("--pivot-tol", a.pivot_tol, "threshold of threshold pivoting")->type_name("U");
  app.add_option("--precond", a.precond, "none")->type_name("NAME");
  app.add_option("--fill-level", a.fill_level, "levels of fill of an incomplete factorization")
      ->type_name("K");
  app.add_option("--fill-factor", a.fill_factor, "most fill of an incomplete factorization")->type_name("F");
  app.add_option("--trisolve", a.trisolve, "auto, levels, syncfree, supernodal")->type_name("NAME");
  app.add_option("--backend", a.backend, "auto, serial, openmp, cuda, hip")->type_name("NAME");
  app.add_option("--nrhs", a.n_rhs, "right-hand sides")->type_name("N")->check(at_least(1));
  app.add_flag("--transpose", a.transpose, "solve with the transposed matrix");
  app.add_option("--refine", a.refine, "most steps of iterative refinement")
      ->type_name("N")
      ->check(at_least(0));
  app.add_option("--tol", a.tol, "componentwise backward error of a success")->type_name("T");
  app.add_option("--memory-limit", a.memory_limit, "bytes, or 500K, 200M, 2G, 1T")->type_name("BYTES");
  app.add_flag("--deterministic", a.deterministic, "the same bits from run to run");
  app.add_option("--repeat", a.repeat, "refactor and solve N times after two warm-ups; medians in the times")
      ->type_name("N")
      ->check(at_least(1));
  app.add_option("--json", a.json,
                 "the report as JSON, on standard output or in FILE (a name ending in .json, or --json=FILE)")
      ->type_name("[FILE]");
  app.add_flag("--quiet", a.quiet, "no report for people");
}

void add_solve(CLI::App& app, Arguments& a, std::string& file) {
  auto* solve = app.add_subcommand("solve", "Solve A·X = B and say how good X is");
  solve->add_option("A.mtx", file, "Matrix Market file, plain, .gz or .xz; - for standard input")->required();
  solve->add_option("--rhs", a.rhs, "right-hand sides; without: B = A·x*, x*(i) = 1 + (i mod 7)/4")
      ->type_name("B.mtx");
  solve->add_option("--out", a.out, "where to write X")->type_name("X.mtx");
  add_solver_options(*solve, a);
}

void add_sequence(CLI::App& app, Arguments& a) {
  auto* sequence =
      app.add_subcommand("sequence", "Solve with matrices of one pattern: analyse once, refactor for each");
  sequence->add_option("A.mtx", a.files, "Matrix Market files")
      ->required()
      ->expected(1, std::numeric_limits<int>::max());
  add_solver_options(*sequence, a);
}

void add_info(CLI::App& app, Arguments& a, std::string& file) {
  auto* info = app.add_subcommand("info", "Say what a matrix is like and what would be chosen for it");
  info->add_option("A.mtx", file, "Matrix Market file")->required();
  info->add_option("--svg", a.svg, "picture of A, P·A·Q, L+U and the level widths")->type_name("F.svg");
}

void add_generate(CLI::App& app, Arguments& a, std::string& file) {
  std::string kinds;
  for (const std::string& kind : generator_kinds()) kinds += (kinds.empty() ? "" : ", ") + kind;
  auto* generate = app.add_subcommand("generate", "Write a test matrix");
  generate->add_option("KIND", a.kind, kinds)->required();
  generate->add_option("F.mtx", file, "file to write; - for standard output")->required();
  generate->add_option("--size", a.size, "grid points along a side, or unknowns (circuit, kkt, random)")
      ->required()
      ->type_name("N");
  generate->add_option("--seed", a.seed, "of circuit, kkt and random")->type_name("S");
}

void add_version(CLI::App& app, Arguments& a) {
  app.add_subcommand("version", "Versions and what is built in")
      ->add_flag_callback(
          "--json", [&a] { a.json = "-"; }, "as JSON");
}

bool has_command(const CLI::App& app, const std::string& name) {
  const auto commands =
      app.get_subcommands([&name](const CLI::App* command) { return command->get_name() == name; });
  return !commands.empty();
}

}  // namespace

ParsedArguments parse_arguments(int argc, const char* const* argv) {
  Arguments arguments;
  std::string file;  // of the commands that take one
  CLI::App app("Sparse direct solver", "lutra");
  app.require_subcommand(1);
  add_solve(app, arguments, file);
  add_sequence(app, arguments);
  add_info(app, arguments, file);
  add_generate(app, arguments, file);
  add_version(app, arguments);
  app.set_version_flag("--version", "lutra " + version_info().version);
  std::vector<std::string> words = with_json_resolved(argc, argv);
  const bool version = !words.empty() && words.front() == "version";
  if (version) std::replace(words.begin(), words.end(), std::string("--json=-"), std::string("--json"));
  if (!words.empty() && !words.front().starts_with('-') && !has_command(app, words.front())) {
    print_error("there is no command '" + words.front() + "'; see lutra --help");
    return {std::nullopt, exit_invalid_input};
  }
  std::reverse(words.begin(), words.end());  // the order CLI11 takes a vector in
  try {
    app.parse(words);
  } catch (const CLI::CallForHelp&) {
    const auto chosen = app.get_subcommands();
    write_output(chosen.empty() ? app.help() : chosen.front()->help("lutra"));
    return {std::nullopt, exit_solved};
  } catch (const CLI::CallForVersion& request) {
    write_output(std::string(request.what()) + "\n");
    return {std::nullopt, exit_solved};
  } catch (const CLI::ParseError& error) {
    const auto chosen = app.get_subcommands();
    const std::string command = chosen.empty() ? "" : " " + chosen.front()->get_name();
    print_error(std::string(error.what()) + "; see lutra" + command + " --help");
    return {std::nullopt, exit_invalid_input};
  }
  arguments.command = app.get_subcommands().front()->get_name();
  if (arguments.files.empty()) arguments.files = {file};
  return {arguments, exit_solved};
}

}  // namespace lutra::Cli
