// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_CliText.hpp"

#include <array>
#include <cstdio>
#include <utility>

namespace lutra::Cli {
namespace {

std::string count(const std::optional<std::int64_t>& value) {
  return value ? std::to_string(*value) : "-";
}

// "1.5 MiB"
std::string bytes(std::size_t value) {
  constexpr std::array<const char*, 5> units = {"B", "KiB", "MiB", "GiB", "TiB"};
  double scaled = static_cast<double>(value);
  std::size_t unit = 0;
  for (; scaled >= 1024 && unit + 1 < units.size(); ++unit) scaled /= 1024;
  return short_number(scaled) + " " + units[unit];
}

// Appends "name value" behind a comma, where there is a value.
void append(std::string& list, const std::string& name, const std::string& value) {
  if (value != "-") list += (list.empty() ? "" : ", ") + name + " " + value;
}

std::string matrix_text(const MatrixSummary& matrix) {
  std::string text = text_line("matrix", matrix.file + ": " + std::to_string(matrix.rows) + " × " +
                                             std::to_string(matrix.cols) + ", " + std::to_string(matrix.nnz) +
                                             " entries, " + matrix.scalar);
  std::string properties;
  append(properties, "pattern symmetry", short_number(matrix.pattern_symmetry));
  append(properties, "value symmetry", short_number(matrix.value_symmetry));
  append(properties, "structural rank", count(matrix.structural_rank));
  append(properties, "zero diagonals", count(matrix.zero_diagonals));
  return text + text_line("", properties);
}

// A line on the grid, and one on each of its ranks.
std::string grid_text(const GridRecord& grid) {
  std::string text =
      text_line("ranks", std::to_string(grid.ranks.size()) + ", grid " + grid.name +
                             (grid.predicted_seconds
                                  ? ", predicted " + short_number(grid.predicted_seconds) + " s a solve"
                                  : ""));
  for (std::size_t r = 0; r < grid.ranks.size(); ++r) {
    const RankRecord& rank = grid.ranks[r];
    text +=
        text_line("", "rank " + std::to_string(r) + ": " + std::to_string(rank.rows) + " rows, " +
                          std::to_string(rank.entries) + " entries of L and U, " +
                          std::to_string(rank.messages) + " messages of " +
                          std::to_string(rank.message_bytes) + " bytes, " + short_number(rank.solve_seconds) +
                          " s solving, " + short_number(rank.wait_seconds) + " s of it waiting");
  }
  return text;
}

std::string run_text(const RunInfo& run) {
  std::string text =
      run.backend + ", " + std::to_string(run.threads) + (run.threads == 1 ? " thread" : " threads");
  if (run.device) text += ", " + *run.device;
  return text_line("backend", text) + (run.grid ? grid_text(*run.grid) : "");
}

std::string times_text(const StageTimes& times) {
  std::string text;
  const std::array<std::pair<const char*, const std::optional<double>*>, 10> stages = {
      {{"read", &times.read},
       {"matching", &times.matching},
       {"ordering", &times.ordering},
       {"symbolic", &times.symbolic},
       {"levels", &times.levelization},
       {"numeric", &times.numeric},
       {"refactor", &times.refactor},
       {"solve", &times.solve},
       {"refine", &times.refine},
       {"total", &times.total}}};
  for (const auto& [name, seconds] : stages) append(text, name, short_number(*seconds));
  return text_line("seconds", text);
}

std::string predicted_text(const PredictedTimes& predicted) {
  std::string text;
  append(text, "ordering", short_number(predicted.ordering));
  append(text, "analysis", short_number(predicted.analysis));
  append(text, "factorization", short_number(predicted.factorization));
  append(text, "solve", short_number(predicted.solve));
  append(text, "over measured", short_number(predicted.over_measured));
  return text_line("predicted", text);
}

std::string pivots_text(const PivotCounts& pivots) {
  std::string text;
  append(text, "perturbed", count(pivots.perturbed));
  append(text, "delayed", count(pivots.delayed));
  append(text, "two-by-two", count(pivots.two_by_two));
  append(text, "zero", count(pivots.zero));
  append(text, "interchanged", count(pivots.interchanged));
  append(text, "growth", short_number(pivots.growth));
  if (pivots.shift.value_or(0) > 0) append(text, "shift", short_number(pivots.shift));
  return text_line("pivots", text);
}

std::string inertia_text(const Inertia& inertia) {
  std::string text;
  append(text, "positive", count(inertia.positive));
  append(text, "negative", count(inertia.negative));
  append(text, "zero", count(inertia.zero));
  return text_line("inertia", text);
}

std::string errors_text(const Report& report) {
  std::string text;
  append(text, "componentwise backward", short_number(report.errors.backward_componentwise));
  append(text, "normwise backward", short_number(report.errors.backward_normwise));
  append(text, "forward", short_number(report.errors.forward));
  if (text.empty()) return "";
  const std::int64_t steps = report.iterations.value_or(report.refinement_steps);
  const std::string what = report.iterations ? " iteration" : " step";
  return text_line("errors", text + " (" + std::to_string(steps) + what + (steps == 1 ? "" : "s") +
                                 (report.iterations ? ")" : " of refinement)"));
}

std::string memory_text(const MemoryUse& memory) {
  if (memory.device_peak_bytes == 0) return "";
  std::string text = bytes(memory.device_peak_bytes);
  if (memory.host_peak_bytes) text += ", host stages " + bytes(*memory.host_peak_bytes);
  if (memory.limit_bytes) text += ", limit " + bytes(*memory.limit_bytes);
  return text_line("memory", text);
}

}  // namespace

std::string short_number(const std::optional<double>& value) {
  if (!value) return "-";
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), *value >= 1000 && *value < 1e6 ? "%.0f" : "%.3g", *value);
  return text.data();
}

std::string text_line(const std::string& name, const std::string& text) {
  constexpr std::size_t width = 10;
  if (text.empty()) return "";
  std::string line = name;
  line.resize(std::max(width, name.size() + 1), ' ');
  return line + text + "\n";
}

std::string choice_text(const Choice& choice) {
  std::string text;
  const bool direct = choice.method == "lu" || choice.method == "ldlt" || choice.method == "cholesky";
  if (choice.precond != "none" || !direct)
    append(text, "preconditioner", choice.precond.empty() ? "-" : choice.precond);
  append(text, "engine", choice.engine.empty() ? "-" : choice.engine);
  append(text, "ordering", choice.ordering.empty() ? "-" : choice.ordering);
  append(text, "matching", choice.matching.empty() ? "-" : choice.matching);
  append(text, "symbolic", choice.symbolic.empty() ? "-" : choice.symbolic);
  append(text, "trisolve", choice.trisolve.empty() ? "-" : choice.trisolve);
  std::string lines;
  if (!choice.method.empty()) lines = text_line("method", choice.method + (text.empty() ? "" : ": " + text));
  for (std::size_t begin = 0; begin < choice.why.size();) {  // one sentence per line
    const std::size_t end = std::min(choice.why.find("; ", begin), choice.why.size());
    lines += text_line(begin == 0 ? "because" : "", choice.why.substr(begin, end - begin));
    begin = end + 2;
  }
  return lines;
}

std::string factors_text(const FactorCounts& factors) {
  std::string text;
  append(text, "nnz(L)", count(factors.nnz_l));
  append(text, "nnz(U)", count(factors.nnz_u));
  append(text, "fill", short_number(factors.fill_ratio));
  append(text, "flops", short_number(factors.flops));
  append(text, "supernodes", count(factors.supernodes));
  append(text, "levels", count(factors.levels));
  append(text, "tree height", count(factors.tree_height));
  return text_line("factors", text);
}

std::string to_text(const ReportRecord& record) {
  const Report& report = record.report;
  std::string text = matrix_text(record.matrix) + run_text(record.run) + choice_text(report.choice) +
                     times_text(report.times) + predicted_text(report.predicted) +
                     factors_text(report.factors) + pivots_text(report.pivots) + inertia_text(report.inertia);
  for (const std::string& escalation : report.escalations) text += text_line("escalated", escalation);
  text += errors_text(report) + memory_text(report.memory);
  const std::string message = record.message.empty() ? describe(report, 1) : record.message;
  return text + text_line("status", std::string(to_string(report.status)) + ": " + message);
}

}  // namespace lutra::Cli
