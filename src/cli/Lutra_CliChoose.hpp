// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_CLICHOOSE_HPP
#define LUTRA_CLICHOOSE_HPP

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "Lutra_CliSuggest.hpp"
#include "Lutra_Error.hpp"

// Option values by name.

namespace lutra::Cli {

inline std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

[[noreturn]] inline void refuse(const std::string& option, const std::string& value,
                                const std::vector<std::string>& choices) {
  throw InputError(option + ": invalid value '" + value + "' (choose from " + joined(choices) + ")" +
                   did_you_mean(value, choices));
}

template <class Value>
struct Named {
  std::string name;
  Value value;
};

// The value named `name`. @throws InputError listing the valid names, followed by `others`
template <class Value>
Value choose(const std::string& option, const std::string& name, const std::vector<Named<Value>>& choices,
             const std::vector<std::string>& others = {}) {
  std::vector<std::string> known;
  for (const auto& choice : choices) {
    if (choice.name == name) return choice.value;
    known.push_back(choice.name);
  }
  known.insert(known.end(), others.begin(), others.end());
  refuse(option, name, known);
}

inline double not_negative(const std::string& option, double value) {
  if (!(value >= 0) || !std::isfinite(value)) throw InputError(option + " has to be a number of 0 or more");
  return value;
}

inline double positive(const std::string& option, double value) {
  if (!(value > 0) || !std::isfinite(value)) throw InputError(option + " has to be a number above 0");
  return value;
}

}  // namespace lutra::Cli

#endif
