// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_SYMBOLICOPTIONS_HPP
#define LUTRA_SYMBOLICOPTIONS_HPP

#include <optional>
#include <string_view>

#include "Lutra_DeviceModel.hpp"

namespace lutra {

/// Methods that find the pattern of L + U. fill1 and fill2 have their names from Rose and Tarjan 1978 and
/// GSoFa.
enum class SymbolicMethod {
  automatic,  ///< fill1 on hosts; on devices etree for symmetric patterns, else the one of fill1, fill2 and
              ///< ancestors that is predicted to be fastest
  fill2,  ///< reachability row by row: each row is searched from through A alone; exact, parallel over rows
  fill1,  ///< row merge with symmetric pruning, on the host; exact, near linear
  etree,  ///< elimination tree of A + Aᵀ; exact for symmetric patterns, else the pattern of A + Aᵀ's factors
  ancestors  ///< ancestor bit sets, eliminated up that tree; exact, parallel over subtrees
};

/// The name the command line uses.
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
  bool portable = false;  ///< kernels for all execution spaces also where there are some made for the space
  std::optional<DeviceModel> device_model = {};  ///< what `automatic` predicts from; without one the default
};

}  // namespace lutra

#endif
