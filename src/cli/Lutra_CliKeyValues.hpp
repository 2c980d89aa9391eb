// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_CLIKEYVALUES_HPP
#define LUTRA_CLIKEYVALUES_HPP

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "Lutra_Error.hpp"
#include "Lutra_ParseNumber.hpp"

// Options with a list of settings, as --columns mode=levels,format=dense.

namespace lutra::Cli {

/// Calls take(key, value) for each KEY=VALUE of a list separated by commas.
/// @throws InputError naming the option, for a part that is not KEY=VALUE, and for a key that is given twice
template <class Take>
void take_key_values(const std::string& option, std::string_view list, const Take& take) {
  std::vector<std::string> taken;
  for (std::size_t begin = 0; begin <= list.size();) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    const std::string_view part = list.substr(begin, end - begin);
    const std::size_t equals = part.find('=');
    if (equals == std::string_view::npos || equals == 0 || equals + 1 == part.size())
      throw InputError(option + ": " + Impl::quoted(part) + " is not KEY=VALUE");
    const std::string key(part.substr(0, equals));
    if (std::find(taken.begin(), taken.end(), key) != taken.end())
      throw InputError(option + ": " + Impl::shown(key) + " is given twice");
    taken.push_back(key);
    take(key, std::string(part.substr(equals + 1)));
    begin = end + 1;
  }
}

}  // namespace lutra::Cli

#endif
