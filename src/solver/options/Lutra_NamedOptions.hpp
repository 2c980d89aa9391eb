// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_NAMEDOPTIONS_HPP
#define LUTRA_NAMEDOPTIONS_HPP

#include <string>
#include <string_view>
#include <vector>

#include "Lutra_SolverOptions.hpp"

// Options by name, for interfaces that have no structs: the program, other languages, parameter lists. A name
// is that of the field; a field of a struct within has the names of both, as "ilu.fill_level" of
// KrylovSolverOptions and "lu.engine" of SolverOptions. "tolerance" is error_tolerance of the direct methods
// and residual_tolerance of Krylov methods. Permutations and device models have no names.
// `Options` is LuOptions, LdltOptions, SparseIluOptions, KrylovSolverOptions or SolverOptions.

namespace lutra {

/// One option: its name, the value it has, and the values it takes.
struct NamedOption {
  enum class Kind { choice, boolean, integer, number };
  std::string name;
  Kind kind = Kind::choice;
  std::string value;                 ///< as set_option takes it; "user" for an ordering by a permutation
  std::vector<std::string> choices;  ///< of a choice or a boolean; else empty
  std::string help;                  ///< a phrase
  std::string range;                 ///< of a number: "above 0 and at most 1"
  std::string zero;                  ///< what the number 0 stands for; empty: nothing else
};

/// All options that have names, in the order of the struct.
template <class Options>
std::vector<NamedOption> named_options(const Options& options);

/// Sets the option `name` to a choice by the name the command line uses ("auto", "metis", "threshold"), to
/// "true" or "false", or to a number as in C. Combinations are left to check_options.
/// @param shown how messages name the option; empty: "option " and its name
/// @throws InputError naming the option, with the names, values or range there are: `options` is as before
template <class Options>
void set_option(Options& options, std::string_view name, std::string_view value, std::string_view shown = {});

/// Choices, range, meaning of 0 and default of an option: "above 0, or 0: by the precision [0]".
std::string describe_values(const NamedOption& option);

}  // namespace lutra

#endif
