// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_SYMBOLICOPTIONS_HPP
#define LUTRA_SYMBOLICOPTIONS_HPP

#include <optional>
#include <string_view>

#include "Lutra_DeviceModel.hpp"

namespace lutra {

/// Methods that find the pattern of L + U. The names fill1 and fill2 are those of Rose and Tarjan 1978 and
/// GSoFa.
enum class SymbolicMethod {
  automatic,  ///< fill1 on hosts; on devices etree for symmetric patterns, else the fastest of fill1, fill2
              ///< and ancestors, as predicted
  fill2,  ///< reachability row by row: each row is an independent search through A; exact, parallel over rows
  fill1,  ///< row merge with symmetric pruning, on the host; exact, nearly linear
  etree,  ///< elimination tree of A + Aᵀ; exact for symmetric patterns, else the factor pattern of A + Aᵀ
  ancestors  ///< elimination on ancestor bit sets in the tree of A + Aᵀ; exact, parallel over subtrees
};

/// Name on the command line.
constexpr std::string_view name_of(SymbolicMethod method) {
  switch (method) {
    case SymbolicMethod::fill2:
      return "fill2";
    case SymbolicMethod::fill1:
      return "fill1";
    case SymbolicMethod::etree:
      return "etree";
    case SymbolicMethod::ancestors:
      return "ancestors";
    default:
      return "auto";
  }
}

/// Options of `factorize_symbolic`.
struct SymbolicOptions {
  SymbolicMethod method = SymbolicMethod::automatic;
  bool portable = false;                         ///< forces the portable kernels where the space has its own
  std::optional<DeviceModel> device_model = {};  ///< cost model for `automatic`; empty: the default model
};

}  // namespace lutra

#endif
