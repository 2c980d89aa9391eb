// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_CliText.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <initializer_list>
#include <string_view>
#include <utility>

#include "Lutra_Formatted.hpp"
#include "Lutra_Report.hpp"

namespace lutra::Cli {
namespace {

std::string count(const std::optional<std::int64_t>& value) {
  return value ? std::to_string(*value) : "-";
}

// Appends ", name value" if there is a value.
void append(std::string& list, const std::string& name, const std::string& value) {
  if (value != "-") list += (list.empty() ? "" : ", ") + name + " " + value;
}

std::string matrix_line(const MatrixSummary& matrix) {
  return text_line("matrix", matrix.file + ": " + std::to_string(matrix.rows) + " × " +
                                 std::to_string(matrix.cols) + ", " + std::to_string(matrix.nnz) +
                                 " entries, " + matrix.scalar);
}

std::string properties_text(const MatrixSummary& matrix) {
  std::string properties;
  append(properties, "pattern symmetry", short_number(matrix.pattern_symmetry));
  append(properties, "value symmetry", short_number(matrix.value_symmetry));
  append(properties, "structural rank", count(matrix.structural_rank));
  append(properties, "zero diagonals", count(matrix.zero_diagonals));
  return text_line("", properties);
}

// One line for the grid and one for each of its ranks.
std::string grid_text(const GridRecord& grid) {
  std::string text = text_line(
      "ranks",
      std::to_string(grid.ranks.size()) + (grid.name == "0x0" ? "" : ", grid " + grid.name) +
          (grid.predicted_seconds ? ", predicted " + short_number(grid.predicted_seconds) + " s a solve"
                                  : ""));
  for (std::size_t r = 0; r < grid.ranks.size(); ++r) {
    const RankRecord& rank = grid.ranks[r];
    const std::string searched = rank.sources ? ", " + count(rank.sources) + " rows of L + U found along " +
                                                    count(rank.edges) + " edges in " +
                                                    short_number(rank.search_seconds) + " s"
                                              : "";
    text +=
        text_line("", "rank " + std::to_string(r) + ": " + std::to_string(rank.rows) + " rows, " +
                          std::to_string(rank.entries) + " entries of L and U, " +
                          std::to_string(rank.messages) + " messages of " +
                          std::to_string(rank.message_bytes) + " bytes, " + short_number(rank.solve_seconds) +
                          " s solving, " + short_number(rank.wait_seconds) + " s of it waiting" + searched);
  }
  return text;
}

// "serial, 1 thread", with a hint if the host has more threads or backends to offer.
std::string backend_text(const RunInfo& run) {
  std::string text =
      run.backend + ", " + std::to_string(run.threads) + (run.threads == 1 ? " thread" : " threads");
  if (run.device) return text + ", " + *run.device;
  if (run.threads > 1 || run.grid) return text;
  const std::vector<std::string> built = version_info().backends;
  if (run.backend == "openmp") return text + " (more by OMP_NUM_THREADS)";
  const bool has_openmp = std::find(built.begin(), built.end(), "openmp") != built.end();
  return text + (has_openmp ? " (all cores by --backend openmp)"
                            : " (all cores by a Kokkos with OpenMP, see docs/building.md)");
}

std::string run_text(const RunInfo& run) {
  return text_line("backend", backend_text(run)) + (run.grid ? grid_text(*run.grid) : "");
}

std::string times_text(const StageTimes& times) {
  std::string text;
  const std::array<std::pair<const char*, const std::optional<double>*>, 11> stages = {
      {{"read", &times.read},
       {"matching", &times.matching},
       {"ordering", &times.ordering},
       {"symbolic", &times.symbolic},
       {"levels", &times.levelization},
       {"numeric", &times.numeric},
       {"refactor", &times.refactor},
       {"solve", &times.solve},
       {"refine", &times.refine},
       {"distribution", &times.distribution},
       {"total", &times.total}}};
  for (const auto& [name, seconds] : stages) append(text, name, short_number(*seconds));
  return text_line("seconds", text);
}

// "ordering 0.01 of 0.03": predicted and measured time.
void append_prediction(std::string& list, const std::string& name, const std::optional<double>& predicted,
                       const std::optional<double>& measured) {
  append(list, name,
         short_number(predicted) + (predicted && measured ? " of " + short_number(measured) : ""));
}

std::string predicted_text(const PredictedTimes& predicted, const StageTimes& times) {
  std::string text;
  std::optional<double> first;  // analysis and first factorization
  if (predicted.analysis && predicted.factorization) first = *predicted.analysis + *predicted.factorization;
  std::optional<double> first_measured;
  if (first && predicted.over_measured.value_or(0) > 0) first_measured = *first / *predicted.over_measured;
  append_prediction(text, "ordering", predicted.ordering, times.ordering);
  append_prediction(text, "analysis and factorization", first, first_measured);
  append_prediction(text, "factorization", predicted.factorization, times.refactor);
  append_prediction(text, "solve", predicted.solve, times.solve);
  return text_line("predicted", text);
}

std::string pivots_text(const PivotCounts& pivots) {
  std::string text;
  append(text, "perturbed", count(pivots.perturbed));
  append(text, "delayed", count(pivots.delayed));
  append(text, "two-by-two", count(pivots.two_by_two));
  append(text, "zero", count(pivots.zero));
  if (!pivots.attempt.empty()) append(text, "attempt", pivots.attempt);
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

std::string errors_text(const Report& report, const std::string& name) {
  std::string text;
  append(text, "componentwise backward", short_number(report.errors.backward_componentwise));
  append(text, "normwise backward", short_number(report.errors.backward_normwise));
  append(text, "forward", short_number(report.errors.forward));
  append(text, "scaled forward at most", short_number(report.errors.forward_bound));
  if (text.empty()) return "";
  const std::int64_t steps = report.iterations.value_or(report.refinement_steps);
  const std::string what = report.iterations ? " iteration" : " step";
  return text_line(name, text + " (" + std::to_string(steps) + what + (steps == 1 ? "" : "s") +
                             (report.iterations ? ")" : " of refinement)"));
}

/// Condition estimate and its cost; empty if there was none.
std::string condition_text(const Report& report) {
  if (!report.errors.condition) return "";  // a single solve may have shown that no estimate is needed
  std::string text = short_number(report.errors.condition);
  return text_line("condition", text + ", estimated by " + std::to_string(report.condition_solves) +
                                    " solves in " + short_number(report.times.condition) + " s");
}

std::string memory_text(const MemoryUse& memory) {
  if (memory.device_peak_bytes == 0) return "";
  std::string text = bytes_text(memory.device_peak_bytes);
  if (memory.host_peak_bytes) text += ", of the host " + bytes_text(*memory.host_peak_bytes);
  if (memory.limit_bytes) text += ", limit " + bytes_text(*memory.limit_bytes);
  if (memory.moved_by_factorization)
    text += ", moved by the factorization " + bytes_text(*memory.moved_by_factorization);
  if (memory.moved_by_solve) text += ", by a solve " + bytes_text(*memory.moved_by_solve);
  return text_line("memory", text);
}

// Reason for the choice of method; empty if the user chose it.
std::string method_reason(const Choice& choice) {
  const std::string start = choice.method + ": ";
  if (!choice.why.starts_with(start)) return "";
  return choice.why.substr(start.size(), choice.why.find("; ") - start.size());
}

std::string method_line(const Choice& choice) {
  if (choice.method.empty()) return "";
  std::string text = choice.method;
  if (!choice.precond.empty() && choice.precond != "none") text += " with " + choice.precond;
  if (!choice.ordering.empty()) text += ", ordered by " + choice.ordering;
  const std::string reason = method_reason(choice);
  return text_line("method", text + (reason.empty() ? "" : "; " + reason));
}

// Sum of the stages that ran; empty if none ran.
std::optional<double> sum(std::initializer_list<std::optional<double>> seconds) {
  std::optional<double> result;
  for (const auto& one : seconds)
    if (one) result = result.value_or(0) + *one;
  return result;
}

std::string time_line(const StageTimes& times, const RunInfo& run) {
  std::string stages;
  append(stages, "reading", short_number(times.read));
  append(stages, "analysis",
         short_number(sum({times.matching, times.ordering, times.symbolic, times.levelization})));
  append(stages, "factorization", short_number(times.refactor ? times.refactor : times.numeric));
  append(stages, "solve", short_number(sum({times.solve, times.refine})));
  append(stages, "distribution", short_number(times.distribution));
  std::string text = times.total ? short_number(times.total) + " s: " : "";
  text += stages + (stages.empty() ? "" : "; ") + backend_text(run);
  if (run.grid) {
    text += ", " + std::to_string(run.grid->ranks.size()) + " ranks";
    if (run.grid->name != "0x0") text += ", grid " + run.grid->name;  // none if solves are on fronts
  }
  return text_line("time", text);
}

std::string message_of(const ReportRecord& record) {
  return record.message.empty() ? describe(record.report, 1) : record.message;
}

/// Modes and format of the right-looking factorization by levels.
std::string columns_text(const std::optional<ColumnReport>& columns) {
  if (!columns) return "";
  std::string text;
  append(text, "levels of mode A", std::to_string(columns->levels_a));
  append(text, "B", std::to_string(columns->levels_b));
  append(text, "C", std::to_string(columns->levels_c));
  append(text, "format", columns->format);
  return text_line("columns", text + ", " + std::to_string(columns->blocks) + " at once of " +
                                  std::to_string(columns->max_blocks));
}

/// A line for each step of ParILUT.
std::string steps_text(const std::vector<ParIlutStep>& steps) {
  std::string lines;
  for (std::size_t s = 0; s < steps.size(); ++s) {
    const ParIlutStep& step = steps[s];
    std::string text = "step " + std::to_string(s + 1);
    append(text, "candidates", std::to_string(step.candidates));
    append(text, "threshold of L", short_number(step.threshold_l));
    append(text, "of U", short_number(step.threshold_u));
    append(text, "nnz(L)", std::to_string(step.nnz_l));
    append(text, "nnz(U)", std::to_string(step.nnz_u));
    append(text, "sweeps", std::to_string(step.sweeps));
    if (step.nonlinear_residual) append(text, "nonlinear residual", short_number(step.nonlinear_residual));
    lines += text_line(s == 0 ? "parilut" : "", text + (step.is_taken_back ? ", taken back" : ""));
  }
  return lines;
}

std::string fill2_text(const std::optional<Fill2Statistics>& fill2) {
  if (!fill2) return "";
  std::string text = fill2->kernel;
  append(text, "sources in flight", std::to_string(fill2->slots));
  append(text, "edges", std::to_string(fill2->edges));
  if (fill2->search_seconds > 0)
    append(text, "edges/s", short_number(static_cast<double>(fill2->edges) / fill2->search_seconds));
  append(text, "revisits", std::to_string(fill2->revisits));
  if (fill2->levels > 0) {
    append(text, "levels", std::to_string(fill2->levels));
    append(text, "largest frontier", std::to_string(fill2->largest_frontier));
    append(text, "external frontiers", std::to_string(fill2->external_frontiers));
  }
  for (std::size_t p = 0; fill2->parts.size() > 1 && p < fill2->parts.size(); ++p)
    append(text, "part " + std::to_string(p + 1),
           std::to_string(fill2->parts[p].sources) + " sources, " +
               std::to_string(fill2->parts[p].concurrent) + " in flight");
  return text_line("fill2", text);
}

}  // namespace

std::string short_number(const std::optional<double>& value) {
  if (!value) return "-";
  return *value >= 1000 && *value < 1e6 ? Impl::formatted("%.0f", *value) : Impl::formatted("%.3g", *value);
}

std::string bytes_text(std::size_t value) {
  constexpr std::array<const char*, 5> units = {"B", "KiB", "MiB", "GiB", "TiB"};
  double scaled = static_cast<double>(value);
  std::size_t unit = 0;
  for (; scaled >= 1024 && unit + 1 < units.size(); ++unit) scaled /= 1024;
  return short_number(scaled) + " " + units[unit];
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

std::string factors_text(const FactorCounts& factors, bool stored) {
  std::string text;
  append(text, stored ? "stored entries of L" : "nnz(L)", count(factors.nnz_l));
  append(text, stored ? "of U" : "nnz(U)", count(factors.nnz_u));
  append(text, "fill", short_number(factors.fill_ratio));
  append(text, "flops", short_number(factors.flops));
  append(text, "supernodes", count(factors.supernodes));
  append(text, "zeros in them", count(factors.supernode_zeros));
  append(text, "bytes of them", count(factors.supernode_bytes));
  append(text, "levels", count(factors.levels));
  append(text, "tree height", count(factors.tree_height));
  return text_line("factors", text);
}

std::string forecast_text(const std::optional<MemoryForecast>& forecast, std::int64_t n_rhs) {
  if (!forecast) return "";
  const auto bytes = [](const SpaceBytes& of) {
    return bytes_text(of.device) + (of.host > 0 ? " and " + bytes_text(of.host) + " of the host" : "");
  };
  return text_line("memory", "factors " + bytes(forecast->factors) + ", factorization " +
                                 bytes(forecast->factorization) + ", solve of " + std::to_string(n_rhs) +
                                 (n_rhs == 1 ? " column " : " columns ") + bytes(forecast->solve));
}

std::string to_text(const ReportRecord& record, const std::string& solution) {
  const Report& report = record.report;
  std::string status(to_string(report.status));
  if (report.status != Status::success) status += ": " + message_of(record);
  const std::size_t steps = report.escalations.size();
  if (steps > 0)
    status += " (after " + std::to_string(steps) + (steps == 1 ? " escalation" : " escalations") +
              ", which --verbose names)";
  if (!solution.empty()) status += "; " + solution;
  return matrix_line(record.matrix) + method_line(report.choice) + time_line(report.times, record.run) +
         errors_text(report, "error") + text_line("status", status);
}

std::string to_verbose_text(const ReportRecord& record, const std::string& solution) {
  const Report& report = record.report;
  std::string text = matrix_line(record.matrix) + properties_text(record.matrix) + run_text(record.run) +
                     choice_text(report.choice) + times_text(report.times) +
                     predicted_text(report.predicted, report.times) + factors_text(report.factors, true) +
                     fill2_text(report.fill2) + columns_text(report.columns) + pivots_text(report.pivots) +
                     steps_text(report.parilut_steps) + inertia_text(report.inertia);
  for (const std::string& escalation : report.escalations) text += text_line("escalated", escalation);
  text += errors_text(report, "errors") + condition_text(report) + memory_text(report.memory);
  text += text_line("status", std::string(to_string(report.status)) + ": " + message_of(record));
  return text + text_line("solution", solution);
}

std::string failure_text(const ReportRecord& record) {
  return record.matrix.file + ": " + std::string(to_string(record.report.status)) + ": " + message_of(record);
}

std::string counted_from_one(const std::string& message) {
  const auto is_digit = [&message](std::size_t k) {
    return k < message.size() && message[k] >= '0' && message[k] <= '9';
  };
  std::string text;
  std::size_t done = 0;  // bytes of the message already copied to `text`
  const auto copy_until = [&](std::size_t end) {
    text.append(message, done, end - done);
    done = end;
  };
  const auto renumber = [&] {
    std::int64_t index = 0;
    const auto [end, error] = std::from_chars(message.data() + done, message.data() + message.size(), index);
    if (error != std::errc()) return;  // not an index: too many digits
    text += std::to_string(index + 1);
    done = static_cast<std::size_t>(end - message.data());
  };
  for (std::size_t at = 0; at < message.size(); at = std::max(at + 1, done)) {
    for (const std::string_view word : {"row ", "rows ", "column ", "columns "}) {
      const bool starts = at == 0 || message[at - 1] == ' ' || message[at - 1] == '(';
      if (!starts || message.compare(at, word.size(), word) != 0 || !is_digit(at + word.size())) continue;
      copy_until(at + word.size());
      renumber();
      while (word.ends_with("s ") && message.compare(done, 2, ", ") == 0 && is_digit(done + 2)) {
        copy_until(done + 2);
        renumber();
      }
      break;
    }
  }
  copy_until(message.size());
  for (const std::string_view base : {" (counted from 0)", ", counted from 0"}) {
    const std::size_t at = text.find(base);
    if (at != std::string::npos) text.erase(at, base.size());
  }
  return text;
}

FileError about_file(const InputError& error, const std::string& file) {
  constexpr std::string_view matrix = "matrix: ";
  const std::string text = counted_from_one(error.what());
  return {file, 0, text.starts_with(matrix) ? text.substr(matrix.size()) : text};
}

}  // namespace lutra::Cli
