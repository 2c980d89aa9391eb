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

// By what an automatic ordering and the backend are chosen.
void add_prediction(CLI::App& app, Arguments& a) {
  app.add_option("--expected-factorizations", a.expected_factorizations,
                 "factorizations by which an ordering has to pay [those of the call]")
      ->type_name("N")
      ->check(at_least(1))
      ->group("Choices");
  app.add_option("--device-model", a.device_model,
                 "numbers of this machine, by lutra calibrate [built in, of an H200 and of one core]")
      ->type_name("FILE")
      ->group("Choices");
}

void add_choices(CLI::App& app, Arguments& a) {
  const auto choice = [&app](const std::string& name, std::string& value, const std::string& help) {
    return app.add_option(name, value, help)->type_name("NAME")->capture_default_str()->group("Choices");
  };
  choice("--method", a.method, "auto (lu), lu, ldlt, cholesky, gmres, bicgstab, cg");
  choice("--scalar", a.scalar, "f32, f64: the precision; real or complex as the file is");
  choice("--ordering", a.ordering,
         "auto, metis, nd, amd, rcm, natural, or a file of columns in elimination order")
      ->type_name("NAME|FILE");
  choice("--matching", a.matching, "auto, none, auction, exact: which entries become pivots");
  choice("--engine", a.engine, "auto, multifrontal, simplicial");
  choice("--symbolic", a.symbolic, "auto, etree, ancestors, fill1, fill2");
  choice("--pivot", a.pivot,
         "auto (lu: static, ldlt: threshold), none (ldlt), static, threshold (lu: within fronts)");
  choice("--trisolve", a.trisolve, "auto, levels, syncfree, supernodal");
  choice("--solve-precision", a.solve_precision, "working, single: of the factors when solving");
  choice("--backend", a.backend, "auto (by predicted time), serial, openmp, cuda, hip");
  choice("--triangle", a.triangle, "lower, upper, both (compared): which entries ldlt and cholesky read");
  app.add_flag("--pair-ordering", a.pair_ordering,
               "ldlt: keep matched rows together in the ordering, as candidates for 2 × 2 pivots")
      ->group("Choices");
  app.add_option("--pivot-tol", a.pivot_tol,
                 "threshold of --pivot threshold: lu at most 1 [0.1], ldlt at most 0.5 [0.01]")
      ->type_name("U")
      ->group("Choices");
  app.add_option("--perturbation", a.perturbation,
                 "replace pivots of the scaled matrix below P [by the precision]")
      ->type_name("P")
      ->group("Choices");
  app.add_option("--memory-limit", a.memory_limit, "bytes, or 500K, 200M, 2G, 1T [no limit]")
      ->type_name("BYTES")
      ->group("Choices");
  app.add_flag("--deterministic", a.deterministic,
               "the same bits from run to run; choices by built-in numbers, not by measured ones")
      ->group("Choices");
  add_prediction(app, a);
}

void add_krylov(CLI::App& app, Arguments& a) {
  const std::string group = "Krylov methods";
  const auto choice = [&](const std::string& name, std::string& value, const std::string& help) {
    app.add_option(name, value, help)->type_name("NAME")->capture_default_str()->group(group);
  };
  const auto count = [&](const std::string& name, std::optional<int>& value, int least,
                         const std::string& help) {
    app.add_option(name, value, help)->type_name("N")->check(at_least(least))->group(group);
  };
  const auto number = [&](const std::string& name, std::optional<double>& value, const std::string& help) {
    app.add_option(name, value, help)->type_name("X")->group(group);
  };
  choice("--precond", a.precond,
         "auto (ilu0, ic0 for cg), none, jacobi, ilu0, iluk, parilu, parilut, ic0, parict, lu");
  choice("--side", a.side, "auto (right), right, left, split: where the preconditioner stands");
  choice("--apply", a.apply, "auto, exact, jacobi: how incomplete factors are applied");
  count("--max-iterations", a.max_iterations, 0, "products with the matrix [1000]");
  count("--restart", a.restart, 1, "iterations of a cycle of gmres [50]");
  count("--fill-level", a.fill_level, 0,
        "K of iluk [1] and of the pattern parilu and parilut begin with [0]");
  number("--fill-factor", a.fill_factor, "parilut: most entries of L and U over those of A [1]");
  number("--drop-tol", a.drop_tol, "parilut: drop entries below this times the largest of A's row [0]");
  count("--steps", a.steps, 0, "most steps of parilut [5]");
  count("--sweeps", a.sweeps, 0, "most sweeps of parilu [5]");
}

void add_output(CLI::App& app, Arguments& a) {
  app.add_option("--json", a.json,
                 "the report as JSON, on standard output or in FILE (a name ending in .json, or --json=FILE)")
      ->type_name("[FILE]")
      ->group("Output");
  app.add_flag("--quiet", a.quiet, "no report for people")->group("Output");
}

void add_solver_options(CLI::App& app, Arguments& a) {
  const std::string group = "System and accuracy";
  app.add_option("--nrhs", a.n_rhs, "right-hand sides [1]")->type_name("N")->check(at_least(1))->group(group);
  auto* transpose =
      app.add_flag("--transpose", a.transpose, "solve with the transposed matrix")->group(group);
  app.add_flag("--adjoint", a.adjoint, "solve with the conjugate transpose")
      ->excludes(transpose)
      ->group(group);
  app.add_option("--refine", a.refine, "most steps of iterative refinement [10]")
      ->type_name("N")
      ->check(at_least(0))
      ->group(group);
  app.add_option("--tol", a.tol,
                 "componentwise backward error of a success, relative residual of a Krylov method [by the "
                 "precision]")
      ->type_name("T")
      ->group(group);
  app.add_flag("--solve-singular", a.solve_singular,
               "solve numerically singular matrices too, with perturbed factors; the status stays singular")
      ->group(group);
  app.add_option("--repeat", a.repeat, "refactor and solve N times after two warm-ups; medians in the times")
      ->type_name("N")
      ->check(at_least(1))
      ->group(group);
  add_choices(app, a);
  add_krylov(app, a);
  add_output(app, a);
}

void add_solve(CLI::App& app, Arguments& a, std::string& file) {
  auto* solve = app.add_subcommand("solve", "Solve A·X = B and report how good X is");
  solve->add_option("A.mtx", file, "Matrix Market file, plain, .gz or .xz; - for standard input")->required();
  solve->add_option("--rhs", a.rhs, "right-hand sides [B = A·x*, x*(i) = 1 + (i mod 7)/4]")
      ->type_name("B.mtx")
      ->group("System and accuracy");
  add_solver_options(*solve, a);
  solve->add_option("--grid", a.grid, "under mpirun: the grid of ranks that solve [by predicted time]")
      ->type_name("PxQ")
      ->group("System and accuracy");
  solve->add_option("--out", a.out, "where to write X")->type_name("X.mtx")->group("Output");
  solve->footer("Example: lutra solve A.mtx --rhs B.mtx --out X.mtx --tol 1e-10");
}

void add_sequence(CLI::App& app, Arguments& a) {
  auto* sequence =
      app.add_subcommand("sequence", "Solve with matrices of one pattern: analyse once, refactor for each");
  sequence->add_option("A.mtx", a.files, "Matrix Market files")
      ->required()
      ->expected(1, std::numeric_limits<int>::max());
  add_solver_options(*sequence, a);
  sequence->footer("Example: lutra sequence step1.mtx step2.mtx step3.mtx --json=steps.json");
}

void add_info(CLI::App& app, Arguments& a, std::string& file) {
  auto* info = app.add_subcommand("info", "Report a matrix's properties and the configuration auto selects");
  info->add_option("A.mtx", file, "Matrix Market file")->required();
  add_choices(*info, a);
  add_krylov(*info, a);
  add_output(*info, a);
  info->add_option("--svg", a.svg, "picture of A, P·A·Q, L+U and the level widths")
      ->type_name("F.svg")
      ->group("Output");
  info->footer("Example: lutra info A.mtx --svg A.svg");
}

void add_order(CLI::App& app, Arguments& a, std::string& file) {
  auto* order = app.add_subcommand("order", "Order a matrix and forecast the fill of its factors");
  order->add_option("A.mtx", file, "Matrix Market file")->required();
  order
      ->add_option("--ordering", a.ordering,
                   "auto, metis, nd, amd, rcm, natural, or a file of columns in elimination order")
      ->type_name("NAME|FILE")
      ->capture_default_str()
      ->group("Choices");
  order->add_option("--matching", a.matching, "auto (exact, but of symmetric matrices none), none, exact")
      ->type_name("NAME")
      ->capture_default_str()
      ->group("Choices");
  add_prediction(*order, a);
  add_output(*order, a);
  order
      ->add_option("--out", a.out,
                   "columns in elimination order, from 1, one a line, as --ordering reads them")
      ->type_name("P")
      ->group("Output");
  order->footer("Example: lutra order A.mtx --out P && lutra solve A.mtx --ordering P");
}

void add_calibrate(CLI::App& app, Arguments& a, std::string& file) {
  auto* calibrate = app.add_subcommand(
      "calibrate", "Measure the numbers of this machine by which times are predicted; some seconds");
  calibrate->add_option("FILE", file, "file to write, for --device-model; - for standard output")->required();
  calibrate->add_option("--backend", a.backend, "auto, serial, openmp, cuda, hip")
      ->type_name("NAME")
      ->capture_default_str();
  calibrate->footer("Example: lutra calibrate here.model && lutra solve A.mtx --device-model here.model");
}

void add_predict(CLI::App& app, Arguments& a, std::string& file) {
  const std::string group = "Machine";
  auto* predict = app.add_subcommand(
      "predict", "Predict the times of triangular solves by several ranks; nothing is factorized");
  predict->add_option("A.mtx", file, "Matrix Market file")->required();
  auto* ranks =
      predict->add_option("--ranks", a.ranks, "the best grid of 1, 2, 4, … and N devices or host ranks [4]");
  ranks->type_name("N")->check(at_least(1))->group(group);
  predict->add_option("--grid", a.grid, "this grid alone")->type_name("PxQ")->excludes(ranks)->group(group);
  predict->add_option("--device", a.device, "auto (of the backend), host, h200: whose constants are taken")
      ->type_name("NAME")
      ->capture_default_str()
      ->group(group);
  predict
      ->add_option("--ranks-per-node", a.ranks_per_node,
                   "ranks of one node; the next two are then of links between nodes [all]")
      ->type_name("N")
      ->check(at_least(1))
      ->group(group);
  predict->add_option("--latency", a.latency, "seconds of a message [the device's]")
      ->type_name("S")
      ->group(group);
  predict->add_option("--bandwidth", a.bandwidth, "bytes a second of a rank's messages [the device's]")
      ->type_name("B")
      ->group(group);
  predict
      ->add_option(
          "--device-model", a.device_model,
          "numbers of a machine, by lutra calibrate, those of its ranks by mpirun -n 2 lutra calibrate")
      ->type_name("FILE")
      ->group(group);
  predict->add_option("--nrhs", a.n_rhs, "right-hand sides [1]")
      ->type_name("N")
      ->check(at_least(1))
      ->group(group);
  const auto choice = [&](const std::string& name, std::string& value, const std::string& help) {
    predict->add_option(name, value, help)->type_name("NAME")->capture_default_str()->group("Choices");
  };
  choice("--ordering", a.ordering, "auto, metis, nd, amd, rcm, natural, or a file, as in solve");
  choice("--matching", a.matching, "auto, none, auction, exact: which entries become pivots");
  choice("--scalar", a.scalar, "f32, f64: the precision; real or complex as the file is");
  choice("--backend", a.backend, "auto, serial, openmp, cuda, hip");
  add_output(*predict, a);
  predict->footer("Example: lutra predict A.mtx --ranks 1024 --latency 3e-6 --bandwidth 25e9");
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
  generate->add_option("--seed", a.seed, "of circuit, kkt and random")->type_name("S")->capture_default_str();
  generate->footer("Example: lutra generate poisson3d --size 40 A.mtx");
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
  CLI::App app("Sparse solvers, direct and iterative", "lutra");
  app.require_subcommand(1);
  app.footer("Example: lutra solve A.mtx");
  add_solve(app, arguments, file);
  add_sequence(app, arguments);
  add_info(app, arguments, file);
  add_order(app, arguments, file);
  add_calibrate(app, arguments, file);
  add_predict(app, arguments, file);
  add_generate(app, arguments, file);
  add_version(app, arguments);
  app.set_version_flag("--version", "lutra " + version_info().version);
  std::vector<std::string> words = with_json_resolved(argc, argv);
  const bool version = !words.empty() && words.front() == "version";
  if (version) std::replace(words.begin(), words.end(), std::string("--json=-"), std::string("--json"));
  if (!words.empty() && !words.front().starts_with('-') && !has_command(app, words.front())) {
    print_error("invalid command '" + words.front() +
                "' (choose from solve, sequence, info, order, predict, calibrate, generate, version); see "
                "lutra --help");
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
