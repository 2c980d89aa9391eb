// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_SYMBOLICCHOICE_HPP
#define LUTRA_SYMBOLICCHOICE_HPP

#include <cstddef>
#include <optional>
#include <string>

#include "Lutra_DeviceModel.hpp"
#include "Lutra_Symbolic.hpp"

namespace lutra::Impl {

/// Bounds on the work of fill1 and fill2, from the column counts of A + Aᵀ.
struct FillBounds {
  double nnz = 0;  ///< entries of L + U of A + Aᵀ
  /// edges visited by searches from all rows: those of v count once for each ancestor of v
  double searched_edges = 0;
};

/// Properties that determine the choice of a method. For a symmetric pattern only `symmetric` is needed.
/// `fill` takes a pass over the rows of L and is computed only if the choice depends on it.
struct PatternProperties {
  bool symmetric = false;
  double rows = 0;       ///< of A
  double entries = 0;    ///< of A
  double height = 0;     ///< of the elimination tree of A + Aᵀ
  double set_words = 0;  ///< words of 64 bits of the ancestor bit sets of U; those of L have as many
  std::optional<FillBounds> fill = {};
};

/// Resources available to the methods.
struct SymbolicResources {
  bool host = false;                              ///< whether the execution space is a host space
  int host_threads = 1;                           ///< threads available to fill1
  std::size_t available_bytes = ~std::size_t(0);  ///< of the memory budget
};

struct SymbolicChoice {
  SymbolicMethod method = SymbolicMethod::automatic;
  std::string reason;
};

/// Number of rows from which fill1's threads amortize their start and the elimination tree.
constexpr int min_rows_for_threads = 20000;

/// The method of `automatic`:
/// 1. on hosts fill1;
/// 2. etree if the pattern is symmetric;
/// 3. ancestors if its bit sets fit, and fill1 is not predicted to be faster even with little fill;
/// 4. fill1 on the host or fill2 on the device, whichever is predicted to be faster.
/// @returns empty if 4 must decide and `properties.fill` is not known
std::optional<SymbolicChoice> choose_symbolic_method(const PatternProperties& properties,
                                                     const SymbolicCosts& costs,
                                                     const SymbolicResources& resources);

}  // namespace lutra::Impl

#endif
