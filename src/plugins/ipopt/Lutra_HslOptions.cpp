// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_HslOptions.hpp"

#include <cstdlib>

#include "Lutra_HslFlags.hpp"

namespace lutra::Hsl {
namespace {

Options parse(std::string text) {
  Options options;
  while (!text.empty()) {
    const std::string item = text.substr(0, text.find(','));
    text.erase(0, item.size() + 1);
    const auto equals = item.find('=');
    if (equals == std::string::npos || equals == 0)
      throw Failure(Flag::other, "'" + item + "' is not of the form name=value");
    const std::string name = item.substr(0, equals), value = item.substr(equals + 1);
    if (name == "triangle") throw Failure(Flag::other, "triangle: MA97 passes the lower one");
    if (name == "backend")
      options.backend = value;
    else
      options.named.emplace_back(name, value);
  }
  return options;
}

}  // namespace

lutra_status checked(lutra_status status) {
  if (status >= 0) return status;
  const Flag flag = status == LUTRA_OUT_OF_MEMORY      ? Flag::out_of_memory
                    : status == LUTRA_CALL_ORDER_ERROR ? Flag::call_order
                                                       : Flag::other;
  throw Failure(flag, lutra_message());
}

void set_option(lutra_solver* solver, const std::string& name, const std::string& value) {
  checked(lutra_set_option(solver, name.c_str(), value.c_str()));
}

Options environment_options() {
  const char* const text = std::getenv("LUTRA_HSL_OPTIONS");
  if (text == nullptr || *text == '\0') return {};
  Options options = parse(text);
  lutra_solver* solver = nullptr;
  try {
    checked(lutra_create(&solver, LUTRA_LDLT, LUTRA_F64, LUTRA_INT32, options.backend.c_str()));
    for (const auto& [name, value] : options.named) set_option(solver, name, value);
  } catch (...) {
    lutra_destroy(solver);
    throw;
  }
  lutra_destroy(solver);
  return options;
}

}  // namespace lutra::Hsl
