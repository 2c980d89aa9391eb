// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_Options.hpp"

#include <charconv>
#include <concepts>
#include <string>
#include <type_traits>
#include <utility>

#include "Lutra_Error.hpp"
#include "Lutra_ParseNumber.hpp"
#include "Lutra_SolverFields.hpp"

namespace lutra {
namespace {

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text.append(text.empty() ? "" : ", ").append(name);
  return text;
}

template <class Field>
std::vector<std::string> choice_names() {
  std::vector<std::string> names;
  for (const auto& [name, value] : Impl::choices_of<Field>) names.emplace_back(name);
  if constexpr (std::same_as<Field, bool>) names.resize(2);  // 0 and 1 are accepted but not listed
  return names;
}

/// @returns a description of the error in the text; empty if there is none
std::string_view parse_number(std::string_view text, double& number) {
  Impl::Cursor cursor(text);
  const bool begins = !text.empty() && !Impl::Cursor::is_space(text.front());
  const Impl::Parsed parsed = begins ? Impl::parse_real(cursor, number) : Impl::Parsed::missing;
  if (parsed == Impl::Parsed::too_large) return "too large a number";
  return parsed == Impl::Parsed::ok && cursor.at == cursor.end ? "" : "not a finite number";
}
template <std::integral Integer>
std::string_view parse_number(std::string_view text, Integer& number) {
  const char* const stop = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), stop, number);
  if (error == std::errc() && rest == stop) return "";
  return std::is_signed_v<Integer> ? "not an integer of 32 bits" : "not a number of bytes";
}

template <class Field>
Field parse(const std::string& option, std::string_view text) {
  if constexpr (Impl::is_number<Field>) {
    Field number{};
    const std::string_view problem = parse_number(text, number);
    if (problem.empty()) return number;
    throw InputError(option + ": " + Impl::quoted(text) + " is " + std::string(problem));
  } else {
    for (const auto& [name, value] : Impl::choices_of<Field>)
      if (name == text) return value;
    throw InputError(option + ": invalid value " + Impl::quoted(text) + " (choose from " +
                     joined(choice_names<Field>()) + ")");
  }
}

template <class Value, class Field>
NamedOption describe(const std::string& name, const Value& value, const Field& field) {
  using Kind = NamedOption::Kind;
  NamedOption option{name, Kind::choice, "user", choice_names<Value>(), std::string(field.help), {}, {}};
  if constexpr (Impl::is_number<Value>) {
    option.kind = std::is_floating_point_v<Value> ? Kind::number : Kind::integer;
    option.value = Impl::to_text(value);
    option.range = field.range.text();
    option.zero = field.range.zero;
  } else {
    if (std::same_as<Value, bool>) option.kind = Kind::boolean;
    for (const auto& [known, choice] : Impl::choices_of<Value>) {
      if (choice != value) continue;
      option.value = known;
      break;
    }
  }
  return option;
}

}  // namespace

template <class Options>
std::vector<NamedOption> named_options(const Options& options) {
  std::vector<NamedOption> result;
  Impl::visit_fields(options, [&](const std::string& name, const auto& value, const auto& field) {
    result.push_back(describe(name, value, field));
  });
  return result;
}

template <class Options>
void set_option(Options& options, std::string_view name, std::string_view value, std::string_view shown) {
  const std::string label = shown.empty() ? "option " + std::string(name) : std::string(shown);
  bool found = false;
  std::vector<std::string> names;
  Impl::visit_fields(options, [&]<class Value>(const std::string& candidate, Value& old, const auto& field) {
    names.push_back(candidate);
    if (candidate != name) return;
    const Value parsed = parse<Value>(label, value);
    Impl::check_field(label, parsed, field.range);
    old = parsed;
    found = true;
  });
  if (!found)
    throw InputError("option " + Impl::quoted(name) + " is unknown (choose from " + joined(names) + ")");
}

std::string describe_values(const NamedOption& option) {
  const std::string values = option.choices.empty() ? option.range : joined(option.choices);
  return values + (option.zero.empty() ? "" : ", or 0: " + option.zero) + " [" + option.value + "]";
}

#define LUTRA_NAMED_OPTIONS(Options)                                        \
  template std::vector<NamedOption> named_options<Options>(const Options&); \
  template void set_option<Options>(Options&, std::string_view, std::string_view, std::string_view);
LUTRA_NAMED_OPTIONS(LuOptions)
LUTRA_NAMED_OPTIONS(LdltOptions)
LUTRA_NAMED_OPTIONS(SparseIluOptions)
LUTRA_NAMED_OPTIONS(KrylovSolverOptions)
LUTRA_NAMED_OPTIONS(SolverOptions)
#undef LUTRA_NAMED_OPTIONS

}  // namespace lutra
