// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <array>

#include "Lutra_CliKeyValues.hpp"
#include "Lutra_Fuzz.hpp"
#include "Lutra_MethodOptions.hpp"

// Any bytes as a list KEY=VALUE of options of a method: an error of the input that changes nothing, or values
// that are the same when set again as text. First byte: the method.

namespace {

using lutra::NamedOption;
using lutra::Fuzz::require;
using lutra::Impl::MethodOptions;

std::string value_of(const MethodOptions& options, const std::string& name) {
  for (const NamedOption& option : options.list())
    if (option.name == name) return option.value;
  return "";
}

std::vector<std::string> values_of(const MethodOptions& options) {
  std::vector<std::string> values;
  for (const NamedOption& option : options.list()) values.push_back(option.value);
  return values;
}

void check_set(MethodOptions& options, const std::string& name, const std::string& value) {
  const std::vector<std::string> before = values_of(options);
  if (!lutra::Fuzz::accepted([&] { options.set(name, value); })) {
    require(values_of(options) == before, "a rejected value changes nothing");
    return;
  }
  const std::string shown = value_of(options, name);
  require(!shown.empty(), "an option has a value");
  options.set(name, shown);
  require(value_of(options, name) == shown, "an option is the same when its value is set again");
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::array methods = {"auto", "lu", "ldlt", "cholesky", "ilu", "krylov"};
  lutra::Fuzz::Input input(data, size);
  MethodOptions options(methods[input.take_byte() % methods.size()]);
  std::vector<std::pair<std::string, std::string>> pairs;
  const bool is_list = lutra::Fuzz::accepted([&] {
    lutra::Cli::take_key_values(
        "--options", input.text(),
        [&](const std::string& key, const std::string& value) { pairs.emplace_back(key, value); });
  });
  if (!is_list) return 0;
  for (const auto& [name, value] : pairs) check_set(options, name, value);
  return 0;
}
