// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_LOADER_HPP
#define LUTRA_LOADER_HPP

#include <type_traits>

#include "lutra.h"

namespace lutra::Loader {

/// Address of a function of liblutra_c, which the first call loads. Null if it cannot be loaded, or has no
/// such function.
void* find_function(const char* name);

/// A function of the library. Without library its status is LUTRA_INTERNAL_ERROR, and a pointer that it
/// returns is null.
template <class Function>
class Call;
template <class Result, class... Arguments>
class Call<Result(Arguments...)> {
 public:
  explicit Call(const char* name)
      : m_function(reinterpret_cast<Result (*)(Arguments...)>(find_function(name))) {}
  Result operator()(Arguments... arguments) const {
    if (m_function != nullptr) return m_function(arguments...);
    if constexpr (std::is_same_v<Result, lutra_status>) return LUTRA_INTERNAL_ERROR;
    if constexpr (std::is_pointer_v<Result>) return nullptr;
  }

 private:
  Result (*m_function)(Arguments...);
};

}  // namespace lutra::Loader

#endif
