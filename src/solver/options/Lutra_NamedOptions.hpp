// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_NAMEDOPTIONS_HPP
#define LUTRA_NAMEDOPTIONS_HPP

#include <string>
#include <string_view>
#include <vector>

#include "Lutra_SolverOptions.hpp"

// Options accessed by name, for interfaces without the option structs: the command-line program, other
// languages, and parameter lists. An option has the name of its field. A field of a nested struct has both
// names, as in "ilu.fill_level" of KrylovSolverOptions and "lu.engine" of SolverOptions. "tolerance" names
// error_tolerance of the direct methods and residual_tolerance of Krylov methods. Permutations and device
// models have no names. The template parameter `Options` is LuOptions, LdltOptions, SparseIluOptions,
// KrylovSolverOptions or SolverOptions.

namespace lutra {

/// Name, current value and allowed values of one option.
struct NamedOption {
  enum class Kind { choice, boolean, integer, number };
  std::string name;
  Kind kind = Kind::choice;
  std::string value;  ///< in the form that set_option accepts; "user" for an ordering by a permutation
  std::vector<std::string> choices;  ///< allowed values of a choice or a boolean; otherwise empty
  std::string help;                  ///< short description
  std::string range;                 ///< allowed range of a number, for example "above 0 and at most 1"
  std::string zero;                  ///< special meaning of the number 0; empty if it has none
};

/// Returns all options that have names, in the order of the struct.
template <class Options>
std::vector<NamedOption> named_options(const Options& options);

/// Sets the option `name`. `value` is a choice by its command-line name ("auto", "metis", "threshold"),
/// "true" or "false", or a number in C syntax. Conflicts between options are left to check_options.
/// @param shown name of the option in messages; if empty, "option " followed by its name
/// @throws InputError that names the option and lists the valid names, values or range; `options` is then
///         unchanged
template <class Options>
void set_option(Options& options, std::string_view name, std::string_view value, std::string_view shown = {});

/// Describes the choices or range of an option, its meaning of 0 and its default, for example "above 0, or 0:
/// by the precision [0]".
std::string describe_values(const NamedOption& option);

}  // namespace lutra

#endif
