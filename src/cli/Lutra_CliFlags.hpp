// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_CLIFLAGS_HPP
#define LUTRA_CLIFLAGS_HPP

#include <string>
#include <vector>

#include "Lutra_CliArguments.hpp"
#include "Lutra_Options.hpp"

// Flags that set fields of SolverOptions. Choices, ranges, help and defaults are those of the fields.

namespace lutra::Cli {

struct Flag {
  std::string name;        ///< "--engine"
  std::string field;       ///< "lu.engine"; "lu.columns." if the flag takes KEY=VALUE for fields of a section
  std::string type{};      ///< what the help calls a value; of choices and booleans empty
  std::string second{};    ///< the field it sets instead with ldlt and cholesky, or with a Krylov method
  std::string standard{};  ///< the default, where it is the program's own
  std::string note{};      ///< end of the help
};

const std::vector<Flag>& flags();
const Flag& flag_named(const std::string& name);

/// Whether a flag takes a list of KEY=VALUE.
bool is_list(const Flag& flag);

/// The field of a flag, with its default. For fields of `Flag::second`, too.
const NamedOption& field_named(const std::string& field);

/// The words that a flag takes; empty: a number, or nothing.
std::vector<std::string> words_of(const Flag& flag);

/// The text that means the default.
std::string default_of(const Flag& flag);

/// What the help says of a flag.
std::string help_of(const Flag& flag);

/// Sets the fields of the flags given, but for --ordering, which may name a file. `options.method` is set.
/// @throws InputError naming the flag, the value and what it takes
void set_fields(const Arguments& arguments, SolverOptions& options);

/// Sets `lu.fill2` by --fill2.
/// @throws InputError for a key or value that is unknown, or without --symbolic fill2
void set_fill2(const Arguments& arguments, SolverOptions& options);

}  // namespace lutra::Cli

#endif
