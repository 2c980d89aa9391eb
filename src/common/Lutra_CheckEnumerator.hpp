// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_CHECKENUMERATOR_HPP
#define LUTRA_CHECKENUMERATOR_HPP

#include <string>

#include "Lutra_Error.hpp"

namespace lutra {

/// Checks that `value` is one of the enumerators 0 to `last`; casts and bindings to other languages can pass
/// others.
/// @param name of the option or argument, for the message
/// @throws InputError
template <class Enum>
void check_enumerator(const char* name, Enum value, Enum last) {
  const auto number = static_cast<long long>(value);
  if (number < 0 || number > static_cast<long long>(last))
    throw InputError(std::string(name) + " has no value " + std::to_string(number));
}

}  // namespace lutra

#endif
