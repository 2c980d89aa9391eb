// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_REASONS_HPP
#define LUTRA_REASONS_HPP

#include <string>

#include "Lutra_Report.hpp"

namespace lutra::Impl {

/// Adds the reason for a choice to a report.
inline void add_reason(Report& report, const std::string& reason) {
  report.choice.why += (report.choice.why.empty() ? "" : "; ") + reason;
}

}  // namespace lutra::Impl

#endif
