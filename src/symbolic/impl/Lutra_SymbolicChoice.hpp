// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_SYMBOLICCHOICE_HPP
#define LUTRA_SYMBOLICCHOICE_HPP

#include <cstddef>
#include <optional>
#include <string>

#include "Lutra_DeviceModel.hpp"
#include "Lutra_SymbolicOptions.hpp"

namespace lutra::Impl {

/// Bounds on the work of fill1 and fill2, from the column counts of A + Aᵀ.
struct FillBounds {
  double nnz = 0;  ///< entries of L + U of A + Aᵀ
  /// edges that searches from all rows visit: those of v once for each ancestor of v
  double searched_edges = 0;
};

/// What the choice of a method depends on. For a symmetric pattern nothing but that is needed; `fill` takes a
/// pass over the rows of L and is found only if the choice depends on it.
struct PatternProperties {
  bool symmetric = false;
  double rows = 0;       ///< of A
  double entries = 0;    ///< of A
  double height = 0;     ///< of the elimination tree of A + Aᵀ
  double set_words = 0;  ///< words of 64 bits of the ancestor bit sets of U; those of L have as many
  std::optional<FillBounds> fill = {};
};

/// What the methods may use.
struct SymbolicResources {
  bool host = false;                              ///< the execution space is one of the host's
  int host_threads = 1;                           ///< that fill1 would have
  std::size_t available_bytes = ~std::size_t(0);  ///< of the memory budget
};

struct SymbolicChoice {
  SymbolicMethod method = SymbolicMethod::automatic;
  std::string reason;
};

/// Rows from which on threads of fill1 repay their start and the elimination tree.
constexpr int min_rows_for_threads = 20000;

/// The method of `automatic`:
/// 1. on hosts fill1;
/// 2. etree if the pattern is symmetric;
/// 3. ancestors if its bit sets fit, and fill1 is not predicted to be faster even with little fill;
/// 4. of fill1 on the host and fill2 on the device the one that is predicted to be faster.
/// @returns nothing if 4 has to decide and `properties.fill` is not known
std::optional<SymbolicChoice> choose_symbolic_method(const PatternProperties& properties,
                                                     const SymbolicCosts& costs,
                                                     const SymbolicResources& resources);

}  // namespace lutra::Impl

#endif
