// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_HSLOPTIONS_HPP
#define LUTRA_HSLOPTIONS_HPP

#include <string>
#include <utility>
#include <vector>

#include "lutra.h"

namespace lutra::Hsl {

/// Backend of Lutra, and options as lutra_set_option takes them.
struct Options {
  std::string backend = "auto";
  std::vector<std::pair<std::string, std::string>> named;
};

/// Returns what the environment variable LUTRA_HSL_OPTIONS says: "name=value,name=value".
/// @throws Failure if it is of another form, or Lutra refuses a name or a value
Options environment_options();

/// @throws Failure
void set_option(lutra_solver* solver, const std::string& name, const std::string& value);

/// Returns a status of 0 or above. @throws Failure for others
lutra_status checked(lutra_status status);

}  // namespace lutra::Hsl

#endif
