// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_BATCHCHOICE_HPP
#define LUTRA_BATCHCHOICE_HPP

#include "Lutra_FrontForest.hpp"
#include "Lutra_Numeric.hpp"

namespace lutra::Impl {

/// Costs of LU over a batch on an H200, for many systems, so that launches do not count.
struct BatchCosts {
  /// Systems of fewer rows fill a warp each as well as a front does.
  static constexpr Ordinal min_front_rows = 501;
  static constexpr double bytes_a_second = 4e12;
  /// Lanes: an entry of U is read, one of the result read and written with 8 bytes for each system; positions
  /// are shared by 32 systems, and caches keep a part.
  static constexpr double lane_bytes_a_multiply_add = 20;
  /// Fronts: an entry of L + U is cleared, assembled, factorized, and passes through contribution blocks.
  static constexpr double front_bytes_an_entry = 96;
  static constexpr double front_flops_a_second = 1e13;  ///< of small fronts
};

/// Whether fronts are faster than lanes, from counts of one system's fronts.
inline bool fronts_are_faster(double flops, double entries) {
  const double lanes = 0.5 * flops * BatchCosts::lane_bytes_a_multiply_add / BatchCosts::bytes_a_second;
  const double fronts = entries * BatchCosts::front_bytes_an_entry / BatchCosts::bytes_a_second +
                        flops / BatchCosts::front_flops_a_second;
  return fronts < lanes;
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
