// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_CLIARGUMENTS_HPP
#define LUTRA_CLIARGUMENTS_HPP

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace lutra::Cli {

/// The value of a flag that sets an option of the solvers.
struct FlagText {
  std::string text;  ///< the default, where none is given
  bool given = false;
};

/// The parsed command line. Lutra_CliOptions.hpp checks that values are consistent.
struct Arguments {
  std::string
      command;  ///< "solve", "sequence", "info", "order", "predict", "calibrate", "generate", "version", …
  std::string file;                ///< for commands that take one; also the only entry of `files`
  std::vector<std::string> files;  ///< matrices to read, or the one to write

  // solve, sequence and info: choices
  std::map<std::string, FlagText> flags;  ///< those of Lutra_CliFlags.hpp; all of them
  std::string method = "auto", scalar = "f64", backend = "auto", precond = "auto";
  bool deterministic = false;
  std::optional<std::string> device_model;  ///< file name

  // solve and sequence
  std::optional<std::string> rhs, out;  ///< solve only; also out_of_order
  std::optional<std::string> trace;     ///< solve only
  std::optional<std::int64_t> n_rhs;
  bool transpose = false, adjoint = false;
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
  std::string transport = "auto";   ///< solve under mpirun
  std::optional<double> latency, bandwidth;
  std::string device = "auto";

  // generate
  std::string kind;  ///< for completion: the shell
  std::int64_t size = 0;
  std::uint64_t seed = 1;

  /// Whether a flag has another value than its default, or is given as a number.
  bool is_given(const std::string& flag) const { return flags.at(flag).given; }
  const std::string& text(const std::string& flag) const { return flags.at(flag).text; }
};

/// Result of parsing: arguments, or what the program should print before it ends.
struct ParsedArguments {
  std::optional<Arguments> arguments;
  int exit_status = 0;
  std::string output = {};  ///< help or version that is asked for
  std::string error = {};   ///< what is wrong, in one line
};

/// Parses the command line. Prints nothing.
ParsedArguments parse_arguments(int argc, const char* const* argv);

}  // namespace lutra::Cli

#endif
