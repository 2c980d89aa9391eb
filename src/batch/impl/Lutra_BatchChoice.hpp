// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_BATCHCHOICE_HPP
#define LUTRA_BATCHCHOICE_HPP

#include "Lutra_FrontForest.hpp"
#include "Lutra_Numeric.hpp"

namespace lutra::Impl {

/// Costs of a factorization of one system of a large batch, double precision, on an H200. Both kinds launch
/// too few kernels for these to count among a thousand systems.
struct BatchCosts {
  /// Systems of fewer rows do not have enough entries for fronts.
  static constexpr Ordinal min_front_rows = 501;
  /// Lanes move some 20 bytes for a multiply-add, and wait for them: 1.1e-10 to 2.7e-10 s for circuits, grids
  /// of 20² and 50² points and a power grid, 1000 systems, checks included (docs/batch.md).
  static constexpr double lane_multiply_add_seconds = 2e-10;
  /// Multiply-adds on the exact pattern for each flop of fronts, which count a multiply-add twice, store a
  /// symmetric pattern and zeros of amalgamation: 0.32 for grids, 0.16 for circuits and power grids.
  static constexpr double multiply_adds_a_front_flop = 1.0 / 6;
  /// Fronts clear, assemble and factorize each entry of L + U, and move contribution blocks: 0.8e-10 s for a
  /// single system of 8.5e7 entries, a grid of 1000² points.
  static constexpr double front_entry_seconds = 1e-10;
};

/// Whether fronts are faster than lanes. @param flops, entries of L + U: of the fronts of one system
inline bool fronts_are_faster(double flops, double entries) {
  const double multiply_adds = BatchCosts::multiply_adds_a_front_flop * flops;
  return BatchCosts::front_entry_seconds * entries < BatchCosts::lane_multiply_add_seconds * multiply_adds;
}

/// Whether a batch over this analysis factorizes fronts: LU with resident fronts in working precision, if the
/// options ask for fronts or for interchanges within them; on devices also where fronts are faster. Not with
/// CommonOptions::deterministic: bits of lanes do not depend on the number of systems.
template <class Scalar, class ExecutionSpace>
bool takes_fronts(const Analysis<Scalar, ExecutionSpace>& analysis, const DirectOptions& options);

/// The tree of an analysis for which `takes_fronts` holds.
template <class Scalar, class ExecutionSpace>
FrontTree take_front_tree(const ExecutionSpace& exec, const Analysis<Scalar, ExecutionSpace>& analysis,
                          const DirectOptions& options);

}  // namespace lutra::Impl

#endif
