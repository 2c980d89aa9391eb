// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_CLITEXT_HPP
#define LUTRA_CLITEXT_HPP

#include <optional>
#include <string>

#include "Lutra_Error.hpp"
#include "Lutra_Report.hpp"

namespace lutra::Cli {

/// Readable report in five lines: matrix, method, time, error, status.
/// @param solution where X is or how to obtain it; empty if there is no X
std::string to_text(const ReportRecord& record, const std::string& solution = "");

/// Complete report: one line per topic, names on the left.
std::string to_verbose_text(const ReportRecord& record, const std::string& solution = "");

/// "a.mtx: not_converged: …": one line about a system that was not solved.
std::string failure_text(const ReportRecord& record);

/// Converts a message of the library to rows and columns counted from 1, as in files. Adjusts the numbers
/// that follow the words row, rows, column and columns.
std::string counted_from_one(const std::string& message);

/// The library's error about a matrix, with the name of its file and rows and columns counted from 1.
FileError about_file(const InputError& error, const std::string& file);

/// One line of such a report: name and text; empty if the text is.
std::string text_line(const std::string& name, const std::string& text);

/// "0.123", "1.2e-16": three significant digits; "-" for an empty value.
std::string short_number(const std::optional<double>& value);

/// "1.5 MiB".
std::string bytes_text(std::size_t value);

/// Lines about the choices and their reasons.
std::string choice_text(const Choice& choice);

/// Line about the size of the factors: forecast for an ordering, or stored.
std::string factors_text(const FactorCounts& factors, bool stored);

/// Line about the memory that a factorization and a solve will take; empty if that is unknown.
/// @param n_rhs right-hand sides for which it was predicted
std::string forecast_text(const std::optional<MemoryForecast>& forecast, std::int64_t n_rhs);

}  // namespace lutra::Cli

#endif
