// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_TRILINOSPARAMETERS_HPP
#define LUTRA_TRILINOSPARAMETERS_HPP

#include <Teuchos_ParameterList.hpp>
#include <Teuchos_StandardParameterEntryValidators.hpp>

#include <charconv>
#include <optional>
#include <string>
#include <type_traits>

#include "Lutra_Error.hpp"
#include "Lutra_Options.hpp"
#include "Lutra_Report.hpp"

namespace lutra::Impl {

/// A parameter as `set_option` reads it.
/// @throws InputError for a type no option has
inline std::string text_of(const std::string& name, const Teuchos::ParameterEntry& entry) {
  if (entry.isType<std::string>()) return Teuchos::getValue<std::string>(entry);
  if (entry.isType<bool>()) return Teuchos::getValue<bool>(entry) ? "true" : "false";
  if (entry.isType<int>()) return std::to_string(Teuchos::getValue<int>(entry));
  if (entry.isType<long long>()) return std::to_string(Teuchos::getValue<long long>(entry));
  if (entry.isType<double>()) {
    char digits[32];
    return {digits, std::to_chars(digits, digits + sizeof digits, Teuchos::getValue<double>(entry)).ptr};
  }
  throw InputError("parameter " + name + ": it must be a string, bool, int, long long or double");
}

/// Adds all options that have names, with their values here as defaults, and with validators: choices as
/// strings, numbers as int, long long, double or string.
template <class Options>
void add_valid_options(Teuchos::ParameterList& list, const Options& options) {
  using Teuchos::rcp;
  using Kind = NamedOption::Kind;
  using Number = Teuchos::AnyNumberParameterEntryValidator;
  for (const NamedOption& option : named_options(options)) {
    const std::string doc = option.help + ": " + describe_values(option);
    if (option.kind == Kind::boolean) {
      list.set(option.name, option.value == "true", doc);
    } else if (option.kind == Kind::choice) {
      list.set(option.name, option.value, doc,
               rcp(new Teuchos::StringValidator(Teuchos::Array<std::string>(option.choices))));
    } else {
      const auto preferred = option.kind == Kind::integer ? Number::PREFER_LONG_LONG : Number::PREFER_DOUBLE;
      list.set(option.name, option.value, doc, rcp(new Number(preferred, Number::AcceptedTypes())));
    }
  }
}

/// `options` with the values the list has for them; other parameters are left to others.
/// @throws InputError for values out of range or at odds with each other
template <class Options>
Options read_options(const Teuchos::ParameterList& list, Options options = {}) {
  for (const NamedOption& option : named_options(options)) {
    const Teuchos::ParameterEntry* entry = list.getEntryPtr(option.name);
    if (entry != nullptr) set_option(options, option.name, text_of(option.name, *entry));
  }
  check_options(options);
  return options;
}

/// Whether all options that have names have the same values.
template <class Options>
bool same_options(const Options& a, const Options& b) {
  const auto left = named_options(a), right = named_options(b);
  for (std::size_t i = 0; i < left.size(); ++i) {
    if (left[i].value != right[i].value) return false;
  }
  return true;
}

/// Sets `name` where there is a value.
template <class T>
void set_if_known(Teuchos::ParameterList& list, const std::string& name, const std::optional<T>& value) {
  if (!value) return;
  if constexpr (std::is_integral_v<T>) {
    list.set(name, static_cast<long long>(*value));
  } else {
    list.set(name, *value);
  }
}

/// What a report says of factors and of the last solution, as parameters.
inline void write_report(const Report& report, Teuchos::ParameterList& list) {
  list.set("status", std::string(to_string(report.status)));
  list.set("message", describe(report));
  list.set("method", report.choice.method);
  list.set("engine", report.choice.engine);
  list.set("ordering", report.choice.ordering);
  list.set("matching", report.choice.matching);
  list.set("why", report.choice.why);
  set_if_known(list, "backward error", report.errors.backward_componentwise);
  set_if_known(list, "normwise backward error", report.errors.backward_normwise);
  list.set("refinement steps", static_cast<int>(report.refinement_steps));
  set_if_known(list, "perturbed pivots", report.pivots.perturbed);
  set_if_known(list, "diagonal shift", report.pivots.shift);
  set_if_known(list, "nnz(L)", report.factors.nnz_l);
  set_if_known(list, "nnz(U)", report.factors.nnz_u);
  list.set("peak bytes", static_cast<long long>(report.memory.device_peak_bytes));
  Teuchos::Array<std::string> escalations(report.escalations);
  list.set("escalations", escalations);
}

}  // namespace lutra::Impl

#endif
