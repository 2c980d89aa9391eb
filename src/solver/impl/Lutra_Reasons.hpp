// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_REASONS_HPP
#define LUTRA_REASONS_HPP

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "Lutra_MemoryBudget.hpp"
#include "Lutra_Report.hpp"

namespace lutra::Impl {

/// Adds the reason for a choice to a report.
inline void add_reason(Report& report, const std::string& reason) {
  report.choice.why += (report.choice.why.empty() ? "" : "; ") + reason;
}

/// Reports a step beyond the plain solve, and tells the observer of the running call.
inline void escalate(Report& report, const MemoryBudget& budget, std::string step) {
  budget.run().tell_escalation(step);
  report.escalations.push_back(std::move(step));
}

/// Tells the observer of the running call what an analysis has chosen, and why.
inline void tell_choices(const MemoryBudget& budget, const Choice& choice) {
  const RunControl& run = budget.run();
  if (!run.is_observed() || run.is_in_nested_call()) return;  // the outer call tells, for all of them
  const auto tell = [&run](std::string_view name, std::string_view text) {
    if (!text.empty()) run.tell({EventKind::choice, name, text});
  };
  tell("method", choice.method);
  tell("engine", choice.engine);
  tell("ordering", choice.ordering);
  tell("matching", choice.matching);
  tell("symbolic", choice.symbolic);
  tell("pivot", choice.pivot);
  tell("trisolve", choice.trisolve);
  tell("precond", choice.precond);
  tell("device model", choice.device_model);
  constexpr std::string_view between = "; ";
  for (std::string_view why = choice.why; !why.empty();) {
    const std::size_t end = std::min(why.find(between), why.size());
    tell("why", why.substr(0, end));
    why.remove_prefix(std::min(end + between.size(), why.size()));
  }
}

}  // namespace lutra::Impl

#endif
