// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_PAPERREPORT_HPP
#define LUTRA_PAPERREPORT_HPP

#include <iosfwd>
#include <map>
#include <string>
#include <vector>

#include "Lutra_PerfLimits.hpp"
#include "Lutra_PerfMatrix.hpp"

namespace lutra::Perf {

/// A table or figure of a paper, run again.
struct PaperTable {
  std::string place;                           ///< where it is in the paper: "Figure 10"
  std::string claim;                           ///< what the paper says, one sentence
  std::vector<std::string> columns;            ///< headers; the first is that of the names of rows
  std::vector<std::vector<std::string>> rows;  ///< cells, as many in each row as `columns`
  std::string result;                          ///< the figure here that answers the claim: "4.1 (least 2.0)"
  std::string note;                            ///< what differs from the paper and why; may be empty
  std::string skipped;  ///< why nothing was measured, such as "needs a device"; empty if it was

  /// Appends a row. @throws std::logic_error for a wrong number of cells
  void add_row(std::vector<std::string> cells);
};

/// What a program of a paper prints.
struct PaperReport {
  std::string paper;                           ///< title of the paper
  std::vector<PaperTable> tables;              ///< in the order of the paper
  std::map<std::string, std::string> context;  ///< version, device, threads, measured limits

  /// Markdown: a summary with a line for each claim, then the tables.
  void write_markdown(std::ostream& out) const;
  /// @throws FileError
  void write_json(const std::string& file) const;
};

/// Arguments of a program, and the matrices to run on.
struct PaperRun {
  std::vector<PerfMatrix> matrices;  ///< those of --matrix and --generate; empty: the program's own
  int samples = 10;                  ///< of which the median is taken
  bool small = false;                ///< sizes of seconds, for tests
  Limits limits;

  /// The matrices given, or else those of `full`, or of `tiny` with --small: specifications as of
  /// `generate_matrix`.
  std::vector<PerfMatrix> matrices_or(const std::vector<std::string>& full,
                                      const std::vector<std::string>& tiny) const;
};

/// Runs the tables of one paper. Each program defines it. With several ranks all of them call it, and the
/// report of rank 0 is printed.
PaperReport run_paper(const PaperRun& run);

/// "12.3 ms", "4.56 µs" or "1.23 s": three digits.
std::string format_seconds(double seconds);
/// Three significant digits; whole numbers in full, with commas.
std::string format_number(double value);
/// Geometric mean of positive numbers, and the least one: "1.84 (least 0.97)"; "none" for no numbers.
std::string format_ratios(const std::vector<double>& ratios);

}  // namespace lutra::Perf

#endif
