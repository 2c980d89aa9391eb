// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_NamedOptions.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <concepts>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include "Lutra_Error.hpp"
#include "Lutra_OptionChoices.hpp"

namespace lutra {
namespace {

using Impl::choices_of;

// ---- fields

/// Calls visit(name, field) for each option that has a name.
template <class Visit>
void visit_fields(DirectOptions& o, const Visit& visit) {
  visit("ordering", o.ordering);
  visit("matching", o.matching);
  visit("pivoting", o.pivoting);
  visit("expected_factorizations", o.expected_factorizations);
  visit("perturbation", o.perturbation);
  visit("max_refinement_steps", o.max_refinement_steps);
  visit("tolerance", o.tolerance);
  visit("solve_singular", o.solve_singular);
  visit("estimate_condition", o.estimate_condition);
  visit("validate_input", o.validate_input);
  visit("time_stages", o.time_stages);
  visit("memory_limit", o.memory_limit);
}

template <class Visit>
void visit_fields(LuChoices& o, const Visit& visit) {
  visit("engine", o.engine);
  visit("trisolve", o.trisolve);
  visit("solve_precision", o.solve_precision);
  visit("symbolic", o.symbolic);
  visit("pivot_threshold", o.pivot_threshold);
}

template <class Visit>
void visit_fields(LdltChoices& o, const Visit& visit) {
  visit("symmetry", o.symmetry);
  visit("triangle", o.triangle);
  visit("positive_definite", o.positive_definite);
  visit("pair_ordering", o.pair_ordering);
  visit("pivot_threshold", o.pivot_threshold);
  visit("zero_tolerance", o.zero_tolerance);
}

template <class Visit>
void visit_fields(LuOptions& o, const Visit& visit) {
  visit_fields(static_cast<LuChoices&>(o), visit);
  visit_fields(static_cast<DirectOptions&>(o), visit);
}

template <class Visit>
void visit_fields(LdltOptions& o, const Visit& visit) {
  visit_fields(static_cast<LdltChoices&>(o), visit);
  visit_fields(static_cast<DirectOptions&>(o), visit);
}

template <class Visit>
void visit_fields(SparseIluOptions& o, const Visit& visit) {
  visit("method", o.method);
  visit("fill_level", o.fill_level);
  visit("fill_factor", o.fill_factor);
  visit("fill_rule", o.fill_rule);
  visit("drop_tolerance", o.drop_tolerance);
  visit("steps", o.steps);
  visit("step_tolerance", o.step_tolerance);
  visit("sweeps", o.sweeps);
  visit("sweep_tolerance", o.sweep_tolerance);
  visit("approximate_selection", o.approximate_selection);
  visit("symmetric", o.symmetric);
  visit("deterministic", o.deterministic);
  visit("schedule", o.schedule);
  visit("shift", o.shift);
  visit("max_shifts", o.max_shifts);
  visit("apply", o.apply);
  visit("jacobi_sweeps", o.jacobi_sweeps);
  visit("memory_limit", o.memory_limit);
  visit("ordering", o.ordering);
  visit("matching", o.matching);
  visit("trisolve", o.trisolve);
  visit("validate_input", o.validate_input);
  visit("time_stages", o.time_stages);
}

/// What a Krylov solver does not read of its preconditioner's options.
constexpr std::array<std::string_view, 7> not_read_of_preconditioners = {
    "validate_input", "time_stages",    "memory_limit",      "max_refinement_steps",
    "tolerance",      "solve_singular", "estimate_condition"};

template <class Options, class Visit>
void visit_nested(const std::string& prefix, Options& options, const Visit& visit) {
  visit_fields(options, [&](std::string_view name, auto& field) {
    const auto& not_read = not_read_of_preconditioners;
    if (std::find(not_read.begin(), not_read.end(), name) == not_read.end())
      visit(prefix + std::string(name), field);
  });
}

template <class Visit>
void visit_fields(KrylovSolverOptions& o, const Visit& visit) {
  visit("method", o.method);
  visit("preconditioning", o.preconditioning);
  visit("tolerance", o.krylov.tolerance);
  visit("max_iterations", o.krylov.max_iterations);
  visit("min_progress", o.krylov.min_progress);
  visit("side", o.krylov.side);
  visit("restart", o.restart);
  visit("start_from_x", o.start_from_x);
  visit("validate_input", o.validate_input);
  visit("time_stages", o.time_stages);
  visit("memory_limit", o.memory_limit);
  visit_nested("ilu.", o.ilu, visit);
  visit_nested("lu.", o.lu, visit);
}

/// What Krylov methods take from the options that all methods of a Solver share.
constexpr std::array<std::string_view, 3> shared_by_krylov = {"validate_input", "time_stages",
                                                              "memory_limit"};

template <class Visit>
void visit_fields(SolverOptions& o, const Visit& visit) {
  visit("method", o.method);
  visit_fields(static_cast<DirectOptions&>(o), visit);
  const auto visit_below = [&](const std::string& prefix, auto& options,
                               std::span<const std::string_view> skipped = {}) {
    visit_fields(options, [&](std::string_view name, auto& field) {
      if (std::find(skipped.begin(), skipped.end(), name) == skipped.end())
        visit(prefix + std::string(name), field);
    });
  };
  constexpr std::string_view is_a_method[] = {"positive_definite"};
  visit_below("lu.", o.lu);
  visit_below("ldlt.", o.ldlt, is_a_method);
  visit_below("krylov.", o.krylov, shared_by_krylov);
}

// ---- values

template <class Field>
constexpr bool is_number = std::is_arithmetic_v<Field> && !std::same_as<Field, bool>;

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text.append(text.empty() ? "" : ", ").append(name);
  return text;
}

template <class Field>
std::vector<std::string> choice_names() {
  std::vector<std::string> names;
  for (const auto& [name, value] : choices_of<Field>) names.emplace_back(name);
  if constexpr (std::same_as<Field, bool>) names.resize(2);  // 0 and 1 are taken, but not advertised
  return names;
}

template <class Field>
Field parse(const std::string& option, std::string_view text) {
  if constexpr (is_number<Field>) {
    Field number{};
    const char* stop = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), stop, number);
    if (error == std::errc() && rest == stop) return number;
    throw InputError("option " + option + ": '" + std::string(text) + "' is not " +
                     (std::is_floating_point_v<Field> ? "a number"
                      : std::is_signed_v<Field>       ? "an integer of 32 bits"
                                                      : "a number of bytes"));
  } else {
    for (const auto& [name, value] : choices_of<Field>)
      if (name == text) return value;
    throw InputError("option " + option + ": invalid value '" + std::string(text) + "' (choose from " +
                     joined(choice_names<Field>()) + ")");
  }
}

template <class Field>
NamedOption describe(std::string name, const Field& field) {
  using Kind = NamedOption::Kind;
  NamedOption option{std::move(name), Kind::choice, {}, {}};
  if constexpr (is_number<Field>) {
    std::array<char, 32> text{};
    const auto end = std::to_chars(text.data(), text.data() + text.size(), field).ptr;
    option.kind = std::is_floating_point_v<Field> ? Kind::number : Kind::integer;
    option.value.assign(text.data(), end);
  } else {
    option.kind = std::same_as<Field, bool> ? Kind::boolean : Kind::choice;
    option.value = "user";
    for (const auto& [known, value] : choices_of<Field>)
      if (value == field) {
        option.value = known;
        break;
      }
    option.choices = choice_names<Field>();
  }
  return option;
}

template <class Options>
std::vector<NamedOption> list(Options options) {
  std::vector<NamedOption> result;
  visit_fields(options, [&](std::string_view name, auto& field) {
    result.push_back(describe(std::string(name), field));
  });
  return result;
}

template <class Options>
void set(Options& options, std::string_view name, std::string_view value) {
  bool found = false;
  std::vector<std::string> names;
  visit_fields(options, [&](std::string_view candidate, auto& field) {
    names.emplace_back(candidate);
    if (candidate != name) return;
    field = parse<std::remove_reference_t<decltype(field)>>(names.back(), value);
    found = true;
  });
  if (!found)
    throw InputError("option '" + std::string(name) + "' is unknown (choose from " + joined(names) + ")");
}

}  // namespace

std::vector<NamedOption> named_options(const LuOptions& options) {
  return list(options);
}
std::vector<NamedOption> named_options(const LdltOptions& options) {
  return list(options);
}
std::vector<NamedOption> named_options(const SolverOptions& options) {
  return list(options);
}
std::vector<NamedOption> named_options(const SparseIluOptions& options) {
  return list(options);
}
std::vector<NamedOption> named_options(const KrylovSolverOptions& options) {
  return list(options);
}

void set_option(LuOptions& options, std::string_view name, std::string_view value) {
  set(options, name, value);
}
void set_option(LdltOptions& options, std::string_view name, std::string_view value) {
  set(options, name, value);
}
void set_option(SolverOptions& options, std::string_view name, std::string_view value) {
  set(options, name, value);
}
void set_option(SparseIluOptions& options, std::string_view name, std::string_view value) {
  set(options, name, value);
}
void set_option(KrylovSolverOptions& options, std::string_view name, std::string_view value) {
  set(options, name, value);
}

}  // namespace lutra
