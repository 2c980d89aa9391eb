// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_ENGINE_HPP
#define LUTRA_ENGINE_HPP

#include <string_view>

namespace lutra {

/// Ways to the numbers of L and U.
enum class Engine {
  automatic,  ///< the one foreseen to take less time
  column,     ///< sparse columns, exact pattern of F's factors (docs/numeric.md)
  supernodal  ///< dense fronts on the pattern of F + Fᵀ
};

/// The name the command line uses.
constexpr std::string_view name_of(Engine engine) {
  switch (engine) {
    case Engine::column:
      return "column";
    case Engine::supernodal:
      return "supernodal";
    default:
      return "auto";
  }
}

}  // namespace lutra

#endif
