// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_OPTIONFIELDS_HPP
#define LUTRA_OPTIONFIELDS_HPP

#include <array>
#include <charconv>
#include <concepts>
#include <limits>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "Lutra_Error.hpp"

// Tables of the fields of option structs: names, ranges and help, for all interfaces. A struct has one table,
// `fields_of`; a field that is a struct with a table is a section, and the names of its fields begin with its
// own, as "ilu.fill_level".

namespace lutra::Impl {

/// The numbers that a field takes. They are finite.
struct Range {
  double least = 0, most = std::numeric_limits<double>::max();
  bool without_least = false, without_most = false;
  std::string_view zero{};  ///< what 0 stands for, which is taken whatever the limits; empty: nothing special

  constexpr bool contains(double value) const {
    if (!zero.empty() && value == 0) return true;
    return (without_least ? value > least : value >= least) && (without_most ? value < most : value <= most);
  }
  /// "above 0 and at most 1"
  std::string text() const;
};

constexpr Range at_least(double least) {
  return {.least = least};
}
constexpr Range above_zero(double most = std::numeric_limits<double>::max()) {
  return {.most = most, .without_least = true};
}
/// Above 0, or 0 with a meaning of its own.
constexpr Range zero_is(std::string_view zero) {
  return {.without_least = true, .zero = zero};
}

/// A number as `std::from_chars` reads it back.
template <class Number>
std::string to_text(Number number) {
  std::array<char, 32> digits{};
  return {digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr};
}

inline std::string Range::text() const {
  const bool limited = most < std::numeric_limits<double>::max();
  return (without_least ? "above " + to_text(least) : to_text(least) + " or more") +
         (!limited ? "" : (without_most ? " and below " : " and at most ") + to_text(most));
}

/// @tparam Pointer to a member
template <class Pointer>
struct OptionField {
  std::string_view name;
  Pointer member;
  std::string_view help{};  ///< a phrase, without the choices and the range
  Range range{};            ///< of a number
};
// For Clang before 17, which deduces no arguments of aggregates.
template <class Pointer>
OptionField(std::string_view, Pointer, std::string_view = {}, Range = {}) -> OptionField<Pointer>;

/// The fields of a struct that have names.
template <class Struct>
constexpr auto fields_of = std::tuple<>();

template <class Struct>
constexpr bool has_fields = std::tuple_size_v<std::remove_const_t<decltype(fields_of<Struct>)>> > 0;

/// Calls visit(name, value, field) for each field, with those of sections.
template <class Struct, class Visit>
void visit_fields(Struct& options, const Visit& visit, const std::string& section = {}) {
  const auto visit_one = [&](const auto& field) {
    auto& value = options.*field.member;
    const std::string name = section + std::string(field.name);
    if constexpr (has_fields<std::remove_cvref_t<decltype(value)>>)
      visit_fields(value, visit, name + ".");
    else
      visit(name, value, field);
  };
  std::apply([&](const auto&... fields) { (visit_one(fields), ...); },
             fields_of<std::remove_const_t<Struct>>);
}

// ---- values

template <class Choice, std::size_t count>
using Choices = std::array<std::pair<std::string_view, Choice>, count>;

/// The values of an enumeration with their names.
template <class Choice>
constexpr Choices<Choice, 0> choices_of{};
template <>
inline constexpr Choices<bool, 4> choices_of<bool> = {
    {{"false", false}, {"true", true}, {"0", false}, {"1", true}}};

/// A value that no name sets, if there is one.
template <class Choice>
constexpr std::array<Choice, 0> unnamed_choice{};

template <class Field>
constexpr bool is_number = std::is_arithmetic_v<Field> && !std::same_as<Field, bool>;

/// Whether a number is in its range, or an enumerator is one of the table's.
template <class Value>
bool is_valid(const Value& value, const Range& range) {
  if constexpr (is_number<Value>) {
    return range.contains(static_cast<double>(value));
  } else if constexpr (std::is_enum_v<Value>) {
    for (const auto& [name, known] : choices_of<Value>)
      if (known == value) return true;
    for (const Value known : unnamed_choice<Value>)
      if (known == value) return true;
    return false;
  } else {
    return true;
  }
}

/// @param what the field, as the message names it
/// @throws InputError for a number out of range, or an enumerator without a name
template <class Value>
void check_field(const std::string& what, const Value& value, const Range& range) {
  if (is_valid(value, range)) return;
  if constexpr (is_number<Value>)
    throw InputError(what + ": " + to_text(value) + " is out of range (" + range.text() + ")");
  else if constexpr (std::is_enum_v<Value>)
    throw InputError(what + " has no value " + std::to_string(static_cast<long long>(value)));
}

/// Whether all fields are valid, those of sections too. Takes no memory: solvers of small matrices check
/// often.
template <class Struct>
bool are_valid(const Struct& options) {
  const auto is_one_valid = [&](const auto& field) {
    const auto& value = options.*field.member;
    if constexpr (has_fields<std::remove_cvref_t<decltype(value)>>)
      return are_valid(value);
    else
      return is_valid(value, field.range);
  };
  return std::apply([&](const auto&... fields) { return (is_one_valid(fields) && ...); }, fields_of<Struct>);
}

/// @throws InputError for the first field that is out of range
template <class Struct>
void check_fields(const Struct& options) {
  if (are_valid(options)) return;
  visit_fields(options, [](const std::string& name, const auto& value, const auto& field) {
    check_field("options: " + name, value, field.range);
  });
}

}  // namespace lutra::Impl

#endif
