// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_NAMEDOPTIONS_HPP
#define LUTRA_NAMEDOPTIONS_HPP

#include <string>
#include <string_view>
#include <vector>

#include "Lutra_KrylovSolverOptions.hpp"
#include "Lutra_LdltOptions.hpp"
#include "Lutra_LuOptions.hpp"
#include "Lutra_SolverOptions.hpp"
#include "Lutra_SparseIluOptions.hpp"

// Options by name, for interfaces that have no structs: other languages, parameter lists. A name is that of
// the field; a field of a struct within has the names of both, as "ilu.fill_level" of KrylovSolverOptions and
// "lu.engine" of SolverOptions. Fields that are not read, permutations and device models have no names.

namespace lutra {

/// One option: its name, the value it has, and the values it takes.
struct NamedOption {
  enum class Kind { choice, boolean, integer, number };
  std::string name;
  Kind kind = Kind::choice;
  std::string value;                 ///< as set_option takes it; "user" for an ordering by a permutation
  std::vector<std::string> choices;  ///< of a choice or a boolean; else empty
};

/// All options that have names, in the order of the struct.
std::vector<NamedOption> named_options(const LuOptions& options);
std::vector<NamedOption> named_options(const LdltOptions& options);
std::vector<NamedOption> named_options(const SolverOptions& options);
std::vector<NamedOption> named_options(const SparseIluOptions& options);
std::vector<NamedOption> named_options(const KrylovSolverOptions& options);

/// Sets the option `name` to a choice by the name the command line uses ("auto", "metis", "threshold"), to
/// "true" or "false", or to a number as in C. Ranges and combinations are left to check_options.
/// @throws InputError naming the option, with the names or values there are: `options` is as before
void set_option(LuOptions& options, std::string_view name, std::string_view value);
void set_option(LdltOptions& options, std::string_view name, std::string_view value);
void set_option(SolverOptions& options, std::string_view name, std::string_view value);
void set_option(SparseIluOptions& options, std::string_view name, std::string_view value);
void set_option(KrylovSolverOptions& options, std::string_view name, std::string_view value);

}  // namespace lutra

#endif
