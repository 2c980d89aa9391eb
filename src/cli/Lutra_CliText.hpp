// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_CLITEXT_HPP
#define LUTRA_CLITEXT_HPP

#include <optional>
#include <string>

#include "Lutra_Error.hpp"
#include "Lutra_ReportJson.hpp"

namespace lutra::Cli {

/// A report for people in five lines: matrix, method, time, error, status.
/// @param solution where X is, or how to get it; empty where there is none
std::string to_text(const ReportRecord& record, const std::string& solution = "");

/// All of a report: one line per topic, names to the left.
std::string to_verbose_text(const ReportRecord& record, const std::string& solution = "");

/// "a.mtx: not_converged: …": what became of a system that was not solved, in one line.
std::string failure_text(const ReportRecord& record);

/// A message of the library with rows and columns counted from 1, as people with a file count them:
/// the numbers behind the words row, rows, column and columns.
std::string counted_from_one(const std::string& message);

/// What the library says of a matrix, with the name of its file and rows and columns counted from 1.
FileError about_file(const InputError& error, const std::string& file);

/// One line of such a report: a name, and behind it the text; empty where the text is.
std::string text_line(const std::string& name, const std::string& text);

/// "0.123", "1.2e-16": three significant digits; "-" for nothing.
std::string short_number(const std::optional<double>& value);

/// "1.5 MiB".
std::string bytes_text(std::size_t value);

/// Lines on the choices and their reasons.
std::string choice_text(const Choice& choice);

/// Line on the size of the factors: what was forecast of an ordering, or what is stored.
std::string factors_text(const FactorCounts& factors, bool stored);

}  // namespace lutra::Cli

#endif
