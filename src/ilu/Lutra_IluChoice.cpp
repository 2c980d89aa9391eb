// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_IluChoice.hpp"

#include "Lutra_Formatted.hpp"

namespace lutra {

ScheduleChoice choose_schedule(const EliminationProperties& properties, IluSchedule wanted,
                               const IluCosts& costs) {
  const bool on_host = properties.threads > 0;
  ScheduleChoice choice{wanted, wanted == IluSchedule::levels ? 1 : properties.threads, ""};
  if (wanted != IluSchedule::automatic) return choice;
  choice.schedule = IluSchedule::syncfree;
  const auto levels = static_cast<double>(properties.levels);
  if (!on_host) {
    const double by_levels = levels * costs.level_seconds;
    const double syncfree = costs.syncfree_start_seconds + levels * costs.dependency_seconds;
    if (by_levels < syncfree) choice.schedule = IluSchedule::levels;
    choice.reason = Impl::formatted("elimination: predicted levels %.0f us, syncfree %.0f us for %.0f levels",
                                    1e6 * by_levels, 1e6 * syncfree, levels);
    return choice;
  }
  if (properties.threads == 1) return choice;
  const double rows = static_cast<double>(properties.rows) / (levels > 1 ? levels : 1.0) / properties.threads;
  const bool is_shared = rows >= costs.min_level_rows;
  if (!is_shared) choice.threads = 1;
  choice.reason = Impl::formatted("elimination: %s, %.0f rows a level for each of %d threads",
                                  is_shared ? "rows shared" : "one thread", rows, properties.threads);
  return choice;
}

ApplyChoice choose_apply(const ApplyProperties& properties, IluApply wanted, const IluCosts& costs) {
  if (wanted != IluApply::automatic) return {wanted, ""};
  const double exact = 1e6 * properties.exact_seconds, jacobi = 1e6 * properties.jacobi_seconds;
  if (!(jacobi < costs.max_jacobi_share * exact))
    return {IluApply::exact,
            Impl::formatted("applied exactly: predicted %.0f us, Jacobi sweeps %.0f us", exact, jacobi)};
  if (!properties.difference) return {IluApply::jacobi, ""};
  const double difference = *properties.difference;
  const bool is_close = difference <= costs.max_jacobi_difference;  // false for NaN
  return {is_close ? IluApply::jacobi : IluApply::exact,
          Impl::formatted(
              "applied %s: predicted %.0f us, Jacobi sweeps %.0f us, which differ from exact solves by %.2g",
              is_close ? "by Jacobi sweeps" : "exactly", exact, jacobi, difference)};
}

}  // namespace lutra
