// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_ILUOPTIONS_HPP
#define LUTRA_ILUOPTIONS_HPP

#include <cstddef>
#include <cstdint>

namespace lutra {

/// How the pattern and the values of incomplete factors are computed.
enum class IluMethod {
  iluk,    ///< pattern by levels of fill; values by elimination, exact on the pattern
  parilu,  ///< pattern of ILU(k); values by fixed-point sweeps (ParILU)
  parilut  ///< pattern and values by steps that add candidates, sweep and drop (ParILUT)
};

/// Scope of ParILUT's limit on fill.
enum class FillRule {
  total,  ///< entries of all of L and all of U
  row     ///< entries of each row of L and of U
};

/// Schedule of an elimination on a fixed pattern: ILU(k), and ParILUT once its pattern is known.
enum class IluSchedule {
  automatic,  ///< the schedule of least predicted time
  levels,     ///< one launch per level set of L's rows
  syncfree    ///< one launch; a row waits for the rows it needs
};

/// How L and U are applied.
enum class IluApply {
  automatic,  ///< the method the model predicts to be faster
  exact,      ///< triangular solves
  jacobi      ///< a fixed number of Jacobi sweeps on each factor
};

/// Options of incomplete factorizations. The defaults suit most problems.
struct IluOptions {
  IluMethod method = IluMethod::iluk;
  int fill_level = 0;      ///< k of ILU(k), of ParILU's pattern, and of ParILUT's initial pattern
  double fill_factor = 1;  ///< ParILUT: most entries of L and U relative to A's triangles. A hard limit that
                           ///< includes the diagonals, which are never dropped
  FillRule fill_rule = FillRule::total;
  double drop_tolerance =
      0;          ///< ParILUT: entries of L and U below this, relative to the largest of A's row, are dropped
  int steps = 5;  ///< ParILUT: most steps
  double step_tolerance = 1e-2;  ///< ParILUT: relative change of the residual at which steps stop
  int sweeps = 5;  ///< ParILU: most sweeps. ParILUT makes one sweep after adding and one after dropping
  double sweep_tolerance =
      1e-2;  ///< residual on the pattern, relative to that before the first sweep, at which sweeps stop
  bool approximate_selection = true;  ///< ParILUT: thresholds from one pass of SampleSelect
  bool symmetric =
      false;  ///< IC(k), ParIC, ParICT: A is Hermitian positive definite with a symmetric pattern; applied as
              ///< Uᴴ·D⁻¹·U from U only. A pivot that is not positive leads to a shift
  bool deterministic = false;  ///< sweeps read the previous sweep's values: same bits from run to run
  IluSchedule schedule = IluSchedule::automatic;
  double shift = 0;    ///< initial diagonal shift, relative to max |entry| of its row; finite, ≥ 0
  int max_shifts = 6;  ///< most increases of the shift after unusable pivots
  IluApply apply = IluApply::automatic;
  int jacobi_sweeps = 3;  ///< per factor, with IluApply::jacobi
};

/// @throws InputError for options out of range
void check_options(const IluOptions& options);

}  // namespace lutra

#endif
