// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_CLITEXT_HPP
#define LUTRA_CLITEXT_HPP

#include <optional>
#include <string>

#include "Lutra_ReportJson.hpp"

namespace lutra::Cli {

/// A report for people: one line per topic, names to the left.
std::string to_text(const ReportRecord& record);

/// One line of such a report: a name, and behind it the text; empty where the text is.
std::string text_line(const std::string& name, const std::string& text);

/// "0.123", "1.2e-16": three significant digits; "-" for nothing.
std::string short_number(const std::optional<double>& value);

/// Lines on the choices and their reasons.
std::string choice_text(const Choice& choice);

/// Line on the size of the factors.
std::string factors_text(const FactorCounts& factors);

}  // namespace lutra::Cli

#endif
