// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_ILUCHOICE_HPP
#define LUTRA_ILUCHOICE_HPP

#include <cstdint>
#include <optional>
#include <string>

#include "Lutra_DeviceModel.hpp"
#include "Lutra_IluOptions.hpp"

namespace lutra {

/// What the schedule of an elimination is chosen by.
struct EliminationProperties {
  std::int64_t rows = 0;
  std::int64_t levels = 0;  ///< of L's rows; 0: not counted, as one thread needs none
  int threads = 1;          ///< hosts: that could share the rows; devices: 0
};

/// A schedule, why it was chosen (empty: asked for), and how many host threads share the rows.
struct ScheduleChoice {
  IluSchedule schedule = IluSchedule::syncfree;  ///< never automatic
  int threads = 1;
  std::string reason;
};

/// The schedule asked for, or the one of less predicted time. Devices: `levels` cost a launch each that waits
/// for the one before, `syncfree` a start and the trip of a value for each level. Hosts: `syncfree`, shared
/// by all threads where each has `min_level_rows` rows of a level on average, else one thread in the rows'
/// order.
ScheduleChoice choose_schedule(const EliminationProperties& properties, IluSchedule wanted,
                               const IluCosts& costs);

/// What the way to apply L and U is chosen by.
struct ApplyProperties {
  double exact_seconds = 0;          ///< predicted of the triangular solves with L and U, one right-hand side
  double jacobi_seconds = 0;         ///< of the sweeps
  std::optional<double> difference;  ///< ‖x − y‖₂/‖y‖₂ of solutions by sweeps and exact ones, with the
                                     ///< present values; empty: there are none yet
};

/// Exact solves or Jacobi sweeps, and why (empty: asked for).
struct ApplyChoice {
  IluApply apply = IluApply::exact;  ///< never automatic; jacobi without a difference: comes into question
  std::string reason;
};

/// The way asked for; or sweeps where they are predicted to take less than `max_jacobi_share` of the time of
/// exact solves, since they cost iterations, and differ from them by at most `max_jacobi_difference`: on
/// triangles far from normal they grow before they converge.
ApplyChoice choose_apply(const ApplyProperties& properties, IluApply wanted, const IluCosts& costs);

}  // namespace lutra

#endif
