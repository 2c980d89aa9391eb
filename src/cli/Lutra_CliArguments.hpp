// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_CLIARGUMENTS_HPP
#define LUTRA_CLIARGUMENTS_HPP

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace lutra::Cli {

/// The parsed command line. Lutra_CliOptions.hpp checks that values are consistent.
struct Arguments {
  std::string
      command;  ///< "solve", "sequence", "info", "order", "predict", "calibrate", "generate", "version", …
  std::string file;                ///< for commands that take one; also the only entry of `files`
  std::vector<std::string> files;  ///< matrices to read, or the one to write

  // solve, sequence and info: choices
  std::string method = "auto", scalar = "f64", ordering = "auto", matching = "auto", engine = "auto",
              symbolic = "auto", pivot = "auto", trisolve = "auto", solve_precision = "working",
              backend = "auto";
  std::string precond = "auto", side = "auto", apply = "auto";  ///< Krylov methods; also the next line
  std::optional<int> fill_level, steps, sweeps, max_iterations, restart;
  std::optional<double> fill_factor, drop_tol;
  std::optional<double> pivot_tol, perturbation;
  std::optional<std::string> memory_limit;
  std::string triangle = "both";  ///< ldlt and cholesky; also the next line
  bool pair_ordering = false;
  bool deterministic = false;
  std::optional<int> expected_factorizations;
  std::optional<std::string> device_model;  ///< file name

  // solve and sequence
  std::optional<std::string> rhs, out;  ///< solve only; also out_of_order
  std::optional<std::int64_t> n_rhs;
  bool transpose = false, adjoint = false, solve_singular = false, condition = false;
  std::optional<int> refine;
  std::optional<double> tol;
  std::optional<int> repeat;

  // solve, sequence and info: output
  std::optional<std::string> json;  ///< "-": standard output
  bool quiet = false;
  bool verbose = false;  ///< solve and sequence

  // info
  std::optional<std::string> svg;

  // predict
  std::optional<int> ranks, ranks_per_node;
  std::optional<std::string> grid;  ///< also solve under mpirun
  std::optional<double> latency, bandwidth;
  std::string device = "auto";

  // generate
  std::string kind;  ///< for completion: the shell
  std::int64_t size = 0;
  std::uint64_t seed = 1;
};

/// Result of parsing: arguments, or an exit status if the program should end.
struct ParsedArguments {
  std::optional<Arguments> arguments;
  int exit_status = 0;
};

/// Parses the command line. Prints requested help to standard output and errors to standard error.
ParsedArguments parse_arguments(int argc, const char* const* argv);

}  // namespace lutra::Cli

#endif
