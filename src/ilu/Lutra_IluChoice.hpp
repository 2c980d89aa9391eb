// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_ILUCHOICE_HPP
#define LUTRA_ILUCHOICE_HPP

#include <cstdint>
#include <optional>
#include <string>

#include "Lutra_DeviceModel.hpp"
#include "Lutra_IncompleteFactors.hpp"

namespace lutra {

/// Properties that decide the schedule of an elimination.
struct EliminationProperties {
  std::int64_t rows = 0;
  std::int64_t levels = 0;  ///< level sets of L's rows; 0: not counted, as for one thread
  int threads = 1;          ///< hosts: threads that could share the rows; devices: 0
};

/// A schedule, its reason (empty: chosen by the user), and the number of host threads that share the rows.
struct ScheduleChoice {
  IluSchedule schedule = IluSchedule::syncfree;  ///< never automatic
  int threads = 1;
  std::string reason;
};

/// The schedule asked for, or the one of least predicted time. Devices: `levels` costs one launch per level,
/// one after another; `syncfree` costs one start and one memory round trip per level.
/// Hosts: `syncfree`, shared by all threads if each has `min_level_rows` rows of a level on average, else one
/// thread in the rows' order.
ScheduleChoice choose_schedule(const EliminationProperties& properties, IluSchedule wanted,
                               const IluCosts& costs);

/// Properties that decide how L and U are applied.
struct ApplyProperties {
  double exact_seconds = 0;   ///< predicted time of the triangular solves with L and U, one right-hand side
  double jacobi_seconds = 0;  ///< predicted time of the sweeps
  std::optional<double> difference;  ///< ‖x − y‖₂/‖y‖₂ of solutions by sweeps (x) and exact ones (y), with
                                     ///< the present values; empty before there are values
};

/// Exact solves or Jacobi sweeps, and the reason (empty: chosen by the user).
struct ApplyChoice {
  IluApply apply = IluApply::exact;  ///< never automatic; jacobi without a difference: a candidate
  std::string reason;
};

/// The method asked for; or sweeps, if two conditions hold. Their predicted time is below `max_jacobi_share`
/// of the time of exact solves, since sweeps cost iterations. Their difference to exact solves is at most
/// `max_jacobi_difference`: on highly nonnormal triangles, sweeps grow before they converge.
ApplyChoice choose_apply(const ApplyProperties& properties, IluApply wanted, const IluCosts& costs);

}  // namespace lutra

#endif
