// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_FORMATTED_HPP
#define LUTRA_FORMATTED_HPP

#include <string>

namespace lutra::Impl {

/// Output of std::printf as a string, with a decimal point in any locale.
[[gnu::format(printf, 1, 2)]] std::string formatted(const char* format, ...);

}  // namespace lutra::Impl

#endif
