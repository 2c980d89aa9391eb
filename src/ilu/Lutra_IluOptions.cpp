// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_IluOptions.hpp"

#include <cmath>
#include <string>

#include "Lutra_CheckEnumerator.hpp"
#include "Lutra_Error.hpp"

namespace lutra {
namespace {

void require(bool holds, const std::string& message) {
  if (!holds) throw InputError("IluOptions::" + message);
}

}  // namespace

void check_options(const IluOptions& options) {
  const auto finite_from = [](double value, double least) { return std::isfinite(value) && value >= least; };
  check_enumerator("IluOptions::method", options.method, IluMethod::parilut);
  check_enumerator("IluOptions::fill_rule", options.fill_rule, FillRule::row);
  check_enumerator("IluOptions::schedule", options.schedule, IluSchedule::syncfree);
  check_enumerator("IluOptions::apply", options.apply, IluApply::jacobi);
  require(options.fill_level >= 0, "fill_level must be at least 0");
  require(std::isfinite(options.fill_factor) && options.fill_factor > 0,
          "fill_factor must be positive and finite");
  require(finite_from(options.drop_tolerance, 0), "drop_tolerance must be finite and at least 0");
  require(options.steps >= 0, "steps must be at least 0");
  require(finite_from(options.step_tolerance, 0), "step_tolerance must be finite and at least 0");
  require(options.sweeps >= 0, "sweeps must be at least 0");
  require(finite_from(options.sweep_tolerance, 0), "sweep_tolerance must be finite and at least 0");
  require(finite_from(options.shift, 0), "shift must be finite and at least 0");
  require(options.max_shifts >= 0, "max_shifts must be at least 0");
  require(options.jacobi_sweeps >= 1, "jacobi_sweeps must be at least 1");
}

}  // namespace lutra
