// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_BATCHCHOICE_HPP
#define LUTRA_BATCHCHOICE_HPP

#include "Lutra_FrontForest.hpp"
#include "Lutra_Numeric.hpp"

namespace lutra::Impl {

/// When fronts are faster than lanes, by refactorizations and solves of ten matrices on an H200
/// (docs/batch.md).
struct BatchCosts {
  /// Lanes launch some kernels for each level of rows. Of systems with so few rows this takes longer than all
  /// work on them, unless they are tens of thousands.
  static constexpr Ordinal small_rows = 500;
  /// Fronts store the pattern of F + Fᵀ and zeros of amalgamation, and pass contributions. Power grids and
  /// memplus, of 12 to 16 flops an entry, are 2 to 2.5 times as fast by lanes; circuits of 23, grids of 30
  /// and 99, and dense matrices 1.3, 1.9, 9 and 2.6 times as fast by fronts.
  static constexpr double flops_an_entry = 20;
};

/// Whether fronts are faster than lanes. @param flops, entries of L + U: of the fronts of one system
inline bool fronts_are_faster(Ordinal rows, double flops, double entries) {
  return rows <= BatchCosts::small_rows || flops >= BatchCosts::flops_an_entry * entries;
}

/// Whether a batch over this analysis factorizes fronts, which are resident and in working precision. Not if
/// the pattern makes the matrices singular.
///
/// LU: if the options ask for fronts or for interchanges within them; on devices also where fronts are
/// faster. Not with CommonOptions::deterministic: bits of lanes do not depend on the number of systems.
///
/// LDLᵀ: if the options ask for fronts or for threshold pivoting, or if the analyzed matrix has zeros on its
/// diagonal, so that few systems would keep pivots of order one. Cholesky: if the options ask for fronts.
/// Whether fronts of other symmetric matrices are faster on devices is not measured. With `deterministic` on
/// hosts only, where bits do not depend on the number of systems.
template <class Scalar, class ExecutionSpace>
bool takes_fronts(const Analysis<Scalar, ExecutionSpace>& analysis, const DirectOptions& options);

/// The tree of an analysis for which `takes_fronts` holds.
template <class Scalar, class ExecutionSpace>
FrontTree take_front_tree(const ExecutionSpace& exec, const Analysis<Scalar, ExecutionSpace>& analysis,
                          const DirectOptions& options);

}  // namespace lutra::Impl

#endif
