// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_ILUOPTIONS_HPP
#define LUTRA_ILUOPTIONS_HPP

#include <cstddef>
#include <cstdint>

namespace lutra {

/// How the pattern of incomplete factors is found, and their values.
enum class IluMethod {
  iluk,    ///< pattern by levels of fill; values by elimination, exact on the pattern
  parilu,  ///< the same pattern; values by fixed-point sweeps (ParILU)
  parilut  ///< pattern and values by steps that add candidates, sweep and drop (ParILUT)
};

/// What the limit on fill of ParILUT counts.
enum class FillRule {
  total,  ///< entries of L and of U, each as a whole
  row     ///< entries of each row of L and of U
};

/// In which order an elimination on a fixed pattern runs: ILU(k), and ParILUT once its pattern is found.
enum class IluSchedule {
  automatic,  ///< the one of least predicted time
  levels,     ///< a launch for each level set of L's rows
  syncfree    ///< one launch; a row waits for the rows it needs
};

/// How L and U are applied.
enum class IluApply {
  automatic,  ///< the one the model predicts to pay
  exact,      ///< triangular solves
  jacobi      ///< a fixed number of Jacobi sweeps on each factor
};

/// Options of incomplete factorizations. The defaults suit most uses.
struct IluOptions {
  IluMethod method = IluMethod::iluk;
  int fill_level = 0;      ///< k of ILU(k), of the pattern of ParILU, and of ParILUT's first pattern
  double fill_factor = 1;  ///< ParILUT: most entries of L and of U, over those of A's triangles. A hard
                           ///< limit; diagonals are kept and counted
  FillRule fill_rule = FillRule::total;
  double drop_tolerance =
      0;  ///< ParILUT: smaller entries of L and U, relative to the largest of A's row, are dropped, too
  int steps = 5;                 ///< ParILUT: most steps
  double step_tolerance = 1e-2;  ///< ParILUT: relative change of the residual at which steps end
  int sweeps = 5;  ///< ParILU: most sweeps. ParILUT makes one sweep after adding and one after removing
  double sweep_tolerance =
      1e-2;  ///< residual on the pattern, over that of the first sweep, at which sweeps end
  bool approximate_selection = true;  ///< ParILUT: thresholds from one pass of SampleSelect
  bool symmetric =
      false;  ///< IC(k), ParIC, ParICT: A is Hermitian positive definite, its pattern symmetric;
              ///< applied as Uᴴ·D⁻¹·U, from U alone. Pivots that are not positive lead to a shift
  bool deterministic = false;  ///< sweeps read the values of the sweep before: the same bits from run to run
  IluSchedule schedule = IluSchedule::automatic;
  double shift = 0;    ///< first diagonal shift, in parts of max |entry| of its row; finite, ≥ 0
  int max_shifts = 6;  ///< how often a shift is raised where pivots are unusable
  IluApply apply = IluApply::automatic;
  int jacobi_sweeps = 3;         ///< of each factor, with IluApply::jacobi
  std::size_t memory_limit = 0;  ///< bytes in the execution space's memory; 0: no limit
};

/// Throws InputError for options out of range or at odds with each other.
void check_options(const IluOptions& options);

}  // namespace lutra

#endif
