// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_CliFlags.hpp"

#include <algorithm>
#include <stdexcept>

#include "Lutra_CliChoose.hpp"
#include "Lutra_CliKeyValues.hpp"
#include "Lutra_CliOptions.hpp"

namespace lutra::Cli {
namespace {

/// "HELP, RANGE [DEFAULT]" of a number, with its range where it has two ends.
std::string help_of_number(const NamedOption& option, const std::string& standard) {
  const bool is_limited = option.range.find(" and ") != std::string::npos;
  return option.help + (is_limited ? ", " + option.range : "") + " [" +
         (!standard.empty()      ? standard
          : !option.zero.empty() ? option.zero
                                 : option.value) +
         "]";
}

/// "ldlt" of "ldlt.pivot_threshold"
std::string section_of(const std::string& field) {
  return field.substr(0, field.find('.'));
}

/// Whether a flag sets its second field.
bool takes_second(const Flag& flag, Method method) {
  const bool is_ldlt = method == Method::ldlt || method == Method::cholesky;
  const std::string section = section_of(flag.second);
  return (section == "ldlt" && is_ldlt) || (section == "krylov" && method == Method::krylov);
}

/// The keys of a list, and what they take.
std::vector<NamedOption> keys_of(const Flag& flag) {
  std::vector<NamedOption> keys;
  for (NamedOption& option : named_options(SolverOptions())) {
    if (!option.name.starts_with(flag.field)) continue;
    option.name.erase(0, flag.field.size());
    keys.push_back(std::move(option));
  }
  return keys;
}

void set_list(const Flag& flag, const std::string& text, SolverOptions& options) {
  std::vector<std::string> names;
  for (const NamedOption& key : keys_of(flag)) names.push_back(key.name);
  take_key_values(flag.name, text, [&](const std::string& key, const std::string& value) {
    if (std::find(names.begin(), names.end(), key) == names.end()) refuse(flag.name, key, names);
    const std::string shown = flag.name + " " + key;
    const bool is_bytes = key.ends_with("_bytes") && value != "0";
    set_option(options, flag.field + key, is_bytes ? std::to_string(parse_bytes(value, shown)) : value,
               shown);
  });
}

/// "mode=flow|levels, portable=false|true"
std::string help_of_list(const Flag& flag) {
  std::string help;
  for (const NamedOption& key : keys_of(flag)) {
    std::string values;
    for (const std::string& choice : key.choices) values += (values.empty() ? "" : "|") + choice;
    help += (help.empty() ? "" : ", ") + key.name + "=" + (values.empty() ? "N" : values);
  }
  return help + flag.note;
}

void set_field(const Arguments& arguments, const Flag& flag, SolverOptions& options) {
  const std::string& text = arguments.text(flag.name);
  if (is_list(flag)) return set_list(flag, text, options);
  const std::vector<std::string> words = words_of(flag);
  if (!words.empty() && std::find(words.begin(), words.end(), text) == words.end())
    refuse(flag.name, text, words);
  const NamedOption& field = field_named(takes_second(flag, options.method) ? flag.second : flag.field);
  set_option(options, field.name, flag.type == "BYTES" ? std::to_string(parse_bytes(text)) : text, flag.name);
  if (field.zero.empty()) return;
  for (const NamedOption& option : named_options(options))  // the default is asked for by no flag
    if (option.name == field.name && option.value == "0")
      throw InputError(flag.name + ": 0 is out of range (" + field.range + ")");
}

}  // namespace

const std::vector<Flag>& flags() {
  static const std::vector<Flag> all = {
      {"--ordering", "ordering", "NAME|FILE", {}, {}, ", or a file of columns in elimination order"},
      {"--matching", "matching"},
      {"--engine", "lu.engine"},
      {"--symbolic", "lu.symbolic"},
      {"--fill2", "lu.fill2.", "KEY=VALUE,…", {}, {}, ": symbolic fill2"},
      {"--columns", "lu.columns.", "KEY=VALUE,…", {}, {}, ": engine simplicial; on hosts supernodes only"},
      {"--trisolve", "lu.trisolve"},
      {"--solve-precision", "lu.solve_precision"},
      {"--factor-precision", "lu.factor_precision"},
      {"--triangle", "ldlt.triangle"},
      {"--pivot", "pivoting"},
      {"--pair-ordering", "ldlt.pair_ordering"},
      {"--front-pivoting", "ldlt.front_pivoting"},
      {"--pivot-tol", "lu.pivot_threshold", "U", "ldlt.pivot_threshold"},
      {"--perturbation", "perturbation", "P"},
      {"--memory-limit", "memory_limit", "BYTES", {}, {}, ", as 1000000, 500K, 200M, 2G, 1T"},
      {"--deadline", "deadline", "SECONDS"},
      {"--factor-storage", "factor_storage"},
      {"--expected-factorizations", "expected_factorizations", "N", {}, "those of the call"},
      {"--refine", "max_refinement_steps", "N"},
      {"--check", "check"},
      {"--tol", "tolerance", "T", "krylov.tolerance"},
      {"--solve-singular", "solve_singular"},
      {"--condition", "estimate_condition"},
      {"--side", "krylov.side", {}, {}, "auto", "; auto is right"},
      {"--apply", "krylov.ilu.apply"},
      {"--max-iterations", "krylov.max_iterations", "N"},
      {"--restart", "krylov.restart", "N"},
      {"--fill-level", "krylov.ilu.fill_level", "N", {}, "0, of iluk 1"},
      {"--fill-factor", "krylov.ilu.fill_factor", "X"},
      {"--drop-tol", "krylov.ilu.drop_tolerance", "X"},
      {"--steps", "krylov.ilu.steps", "N"},
      {"--sweeps", "krylov.ilu.sweeps", "N"},
      {"--parilut-start", "krylov.ilu.start"},
      {"--parilut-finish", "krylov.ilu.finish"},
      {"--parilut-residual", "krylov.ilu.nonlinear_residual"},
      {"--selection", "krylov.ilu.selection"}};
  return all;
}

const Flag& flag_named(const std::string& name) {
  const auto found =
      std::find_if(flags().begin(), flags().end(), [&](const Flag& f) { return f.name == name; });
  if (found == flags().end()) throw std::logic_error("there is no flag " + name);
  return *found;
}

bool is_list(const Flag& flag) {
  return flag.field.ends_with('.');
}

const NamedOption& field_named(const std::string& field) {
  static const std::vector<NamedOption> all = named_options(SolverOptions());
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const NamedOption& o) { return o.name == field; });
  if (found == all.end()) throw std::logic_error("there is no option " + field);
  return *found;
}

std::vector<std::string> words_of(const Flag& flag) {
  if (is_list(flag)) return {};
  const NamedOption& field = field_named(flag.field);
  if (field.kind != NamedOption::Kind::choice) return {};
  std::vector<std::string> words = field.choices;
  if (!flag.standard.empty()) words.insert(words.begin(), flag.standard);
  return words;
}

std::string default_of(const Flag& flag) {
  if (is_list(flag)) return "";
  return flag.standard.empty() ? field_named(flag.field).value : flag.standard;
}

std::string help_of(const Flag& flag) {
  if (is_list(flag)) return help_of_list(flag);
  const NamedOption& field = field_named(flag.field);
  if (field.kind == NamedOption::Kind::boolean) return field.help;
  if (field.kind == NamedOption::Kind::choice)
    return joined(words_of(flag)) + (flag.type.empty() ? ": " + field.help : "") + flag.note;
  std::string help = help_of_number(field, flag.standard);
  if (!flag.second.empty())
    help += "; " + section_of(flag.second) + ": " + help_of_number(field_named(flag.second), {});
  return help + flag.note;
}

void set_fields(const Arguments& arguments, SolverOptions& options) {
  for (const Flag& flag : flags())
    if (flag.name != "--ordering" && arguments.is_given(flag.name)) set_field(arguments, flag, options);
}

}  // namespace lutra::Cli
