// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_PaperReport.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <ostream>
#include <stdexcept>
#include <utility>

#include <nlohmann/json.hpp>

#include "Lutra_Error.hpp"

namespace lutra::Perf {
namespace {

void write_row(std::ostream& out, const std::vector<std::string>& cells) {
  out << '|';
  for (const std::string& cell : cells) out << ' ' << cell << " |";
  out << '\n';
}

void write_header(std::ostream& out, const std::vector<std::string>& columns) {
  write_row(out, columns);
  write_row(out, std::vector<std::string>(columns.size(), "---"));
}

void write_table(std::ostream& out, const PaperTable& table) {
  out << "\n## " << table.place << "\n\n" << table.claim << "\n\n";
  if (!table.skipped.empty()) {
    out << "Skipped: " << table.skipped << ".\n";
    return;
  }
  write_header(out, table.columns);
  for (const auto& row : table.rows) write_row(out, row);
  out << "\nHere: " << table.result << ".\n";
  if (!table.note.empty()) out << '\n' << table.note << '\n';
}

std::string print(const char* format, double value) {
  char text[48];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

std::string with_commas(std::string digits) {
  const std::size_t first = digits.starts_with('-') ? 1 : 0;
  for (std::size_t i = digits.size(); i > first + 3; i -= 3) digits.insert(i - 3, ",");
  return digits;
}

/// Three significant digits of a number between 1 and 1,000.
std::string three_digits(double value) {
  return print(value < 9.995 ? "%.2f" : value < 99.95 ? "%.1f" : "%.0f", value);
}

}  // namespace

void PaperTable::add_row(std::vector<std::string> cells) {
  if (cells.size() != columns.size()) throw std::logic_error(place + ": a row has a wrong number of cells");
  rows.push_back(std::move(cells));
}

void PaperReport::write_markdown(std::ostream& out) const {
  out << "# " << paper << "\n\n";
  for (const auto& [key, value] : context) out << "- " << key << ": " << value << '\n';
  out << '\n';
  write_header(out, {"place", "paper", "here"});
  for (const PaperTable& table : tables) {
    write_row(out,
              {table.place, table.claim, table.skipped.empty() ? table.result : "skipped: " + table.skipped});
  }
  for (const PaperTable& table : tables) write_table(out, table);
}

void PaperReport::write_json(const std::string& file) const {
  nlohmann::ordered_json json{{"paper", paper}, {"context", context}};
  json["tables"] = nlohmann::ordered_json::array();
  for (const PaperTable& table : tables) {
    json["tables"].push_back({{"place", table.place},
                              {"claim", table.claim},
                              {"columns", table.columns},
                              {"rows", table.rows},
                              {"result", table.result},
                              {"note", table.note},
                              {"skipped", table.skipped}});
  }
  std::ofstream out(file);
  out << json.dump(1) << '\n';
  if (!out.flush()) throw FileError(file, 0, "cannot be written");
}

std::vector<PerfMatrix> PaperRun::matrices_or(const std::vector<std::string>& full,
                                              const std::vector<std::string>& tiny) const {
  if (!matrices.empty()) return matrices;
  std::vector<PerfMatrix> result;
  for (const std::string& spec : small ? tiny : full) result.push_back(generate_matrix(spec));
  return result;
}

std::string format_seconds(double seconds) {
  if (seconds >= 1) return three_digits(seconds) + " s";
  if (seconds >= 1e-3) return three_digits(seconds * 1e3) + " ms";
  return three_digits(seconds * 1e6) + " µs";
}

std::string format_number(double value) {
  if (std::abs(value) < 1e15 && value == std::round(value)) return with_commas(print("%.0f", value));
  if (std::abs(value) >= 1000 && std::abs(value) < 1e6) return with_commas(print("%.0f", value));
  if (std::abs(value) >= 1 && std::abs(value) < 1000) return three_digits(value);
  return print("%.3g", value);
}

std::string format_ratios(const std::vector<double>& ratios) {
  if (ratios.empty()) return "none";
  double sum = 0;
  for (const double ratio : ratios) sum += std::log(ratio);
  return format_number(std::exp(sum / static_cast<double>(ratios.size()))) + " (least " +
         format_number(*std::ranges::min_element(ratios)) + ")";
}

}  // namespace lutra::Perf
