// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_CLIARGUMENTS_HPP
#define LUTRA_CLIARGUMENTS_HPP

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace lutra::Cli {

/// The command line as it was typed. Whether values make sense together is for Lutra_CliOptions.hpp to say.
struct Arguments {
  std::string
      command;  ///< "solve", "sequence", "info", "order", "predict", "calibrate", "generate", "version", …
  std::string file;                ///< of commands that take one; also the only one of `files`
  std::vector<std::string> files;  ///< matrices to read, or the one to write

  // solve, sequence and info: what is chosen
  std::string method = "auto", scalar = "f64", ordering = "auto", matching = "auto", engine = "auto",
              symbolic = "auto", pivot = "auto", trisolve = "auto", solve_precision = "working",
              backend = "auto";
  std::string precond = "auto", side = "auto", apply = "auto";  ///< of Krylov methods, as what follows
  std::optional<int> fill_level, steps, sweeps, max_iterations, restart;
  std::optional<double> fill_factor, drop_tol;
  std::optional<double> pivot_tol, perturbation;
  std::optional<std::string> memory_limit;
  std::string triangle = "both";  ///< of ldlt and cholesky, as what follows
  bool pair_ordering = false;
  bool deterministic = false;
  std::optional<int> expected_factorizations;
  std::optional<std::string> device_model;  ///< file

  // solve and sequence
  std::optional<std::string> rhs, out;  ///< solve alone; out of order, too
  std::optional<std::int64_t> n_rhs;
  bool transpose = false, adjoint = false, solve_singular = false, condition = false;
  std::optional<int> refine;
  std::optional<double> tol;
  std::optional<int> repeat;

  // solve, sequence and info: what is printed
  std::optional<std::string> json;  ///< "-": standard output
  bool quiet = false;
  bool verbose = false;  ///< of solve and sequence

  // info
  std::optional<std::string> svg;

  // predict
  std::optional<int> ranks, ranks_per_node;
  std::optional<std::string> grid;  ///< of solve under mpirun, too
  std::optional<double> latency, bandwidth;
  std::string device = "auto";

  // generate
  std::string kind;  ///< of completion, the shell
  std::int64_t size = 0;
  std::uint64_t seed = 1;
};

/// What parsing came to: arguments, or where there is nothing left to do, the exit status.
struct ParsedArguments {
  std::optional<Arguments> arguments;
  int exit_status = 0;
};

/// Parses; prints help to standard output where asked for it, and mistakes to standard error.
ParsedArguments parse_arguments(int argc, const char* const* argv);

}  // namespace lutra::Cli

#endif
