// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_ENGINE_HPP
#define LUTRA_ENGINE_HPP

#include <string_view>

namespace lutra {

/// How the values of L and U are computed.
enum class Engine {
  automatic,    ///< the engine with the lower predicted time
  simplicial,   ///< on the exact pattern of L + U: right-looking by columns on devices, up-looking by rows on
                ///< hosts
  multifrontal  ///< dense frontal matrices on the pattern of F + Fᵀ (Duff and Reid, 1983)
};

/// Name on the command line.
constexpr std::string_view name_of(Engine engine) {
  switch (engine) {
    case Engine::simplicial:
      return "simplicial";
    case Engine::multifrontal:
      return "multifrontal";
    default:
      return "auto";
  }
}

}  // namespace lutra

#endif
