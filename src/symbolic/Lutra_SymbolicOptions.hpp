// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_SYMBOLICOPTIONS_HPP
#define LUTRA_SYMBOLICOPTIONS_HPP

#include <string_view>

namespace lutra {

/// Ways to the pattern of L + U.
enum class SymbolicMethod {
  automatic,  ///< fill1 on hosts; on devices etree where the pattern is symmetric, else the one of fill1,
              ///< fill2 and ancestors that is foreseen to take least time
  fill2,      ///< from each row on its own through A; exact, and parallel over rows
  fill1,      ///< row after row through the rows of U before, on the host; exact, and near linear
  etree,  ///< through the elimination tree of A + Aᵀ; exact where the pattern is symmetric, else a superset
  ancestors  ///< up the elimination tree of A + Aᵀ with sets of ancestors; exact, and parallel over subtrees
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
  bool portable =
      false;  ///< kernels for all execution spaces also where there are some made for the space in use
};

}  // namespace lutra

#endif
