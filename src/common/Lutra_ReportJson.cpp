// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_Report.hpp"

#include <cmath>
#include <nlohmann/json.hpp>
#include <type_traits>

namespace lutra {
namespace {

using Json = nlohmann::ordered_json;

template <class Number>
Json number(const std::optional<Number>& value) {
  if (!value) return nullptr;
  if constexpr (std::is_floating_point_v<Number>) {
    if (!std::isfinite(*value)) return nullptr;
  }
  return *value;
}

Json list(const std::vector<double>& values) {
  Json result = Json::array();
  for (const double value : values) result.push_back(number(std::optional(value)));
  return result;
}

Json text(const std::string& value) {
  return value.empty() ? Json(nullptr) : Json(value);
}

Json make(const VersionInfo& info) {
  return {{"version", info.version},
          {"git", info.git},
          {"kokkos", info.kokkos},
          {"kokkos_kernels", info.kokkos_kernels}};
}

Json make(const GridRecord& grid) {
  Json ranks = Json::array();
  for (const RankRecord& rank : grid.ranks) {
    ranks.push_back({{"rows", rank.rows},
                     {"blocks", rank.blocks},
                     {"entries", rank.entries},
                     {"messages", rank.messages},
                     {"message_bytes", rank.message_bytes},
                     {"flops", rank.flops},
                     {"solve_seconds", rank.solve_seconds},
                     {"wait_seconds", rank.wait_seconds},
                     {"sources", number(rank.sources)},
                     {"edges", number(rank.edges)},
                     {"search_seconds", number(rank.search_seconds)}});
  }
  return {{"name", grid.name},
          {"predicted_seconds", number(grid.predicted_seconds)},
          {"ranks", std::move(ranks)}};
}

Json make(const MatrixSummary& matrix) {
  return {{"file", matrix.file},
          {"rows", matrix.rows},
          {"cols", matrix.cols},
          {"nnz", matrix.nnz},
          {"scalar", matrix.scalar},
          {"pattern_symmetry", number(matrix.pattern_symmetry)},
          {"value_symmetry", number(matrix.value_symmetry)},
          {"structural_rank", number(matrix.structural_rank)},
          {"zero_diagonals", number(matrix.zero_diagonals)}};
}

Json make(const Choice& choice) {
  return {{"method", text(choice.method)},     {"engine", text(choice.engine)},
          {"ordering", text(choice.ordering)}, {"matching", text(choice.matching)},
          {"symbolic", text(choice.symbolic)}, {"trisolve", text(choice.trisolve)},
          {"precond", text(choice.precond)},   {"why", choice.why},
          {"pivot", text(choice.pivot)},       {"device_model", text(choice.device_model)}};
}

Json make(const StageTimes& times) {
  return {{"read", number(times.read)},
          {"matching", number(times.matching)},
          {"ordering", number(times.ordering)},
          {"symbolic", number(times.symbolic)},
          {"levelization", number(times.levelization)},
          {"numeric", number(times.numeric)},
          {"refactor", number(times.refactor)},
          {"solve", number(times.solve)},
          {"refine", number(times.refine)},
          {"distribution", number(times.distribution)},
          {"condition", number(times.condition)},
          {"total", number(times.total)}};
}

Json make(const PredictedTimes& predicted) {
  return {{"ordering", number(predicted.ordering)},
          {"analysis", number(predicted.analysis)},
          {"factorization", number(predicted.factorization)},
          {"solve", number(predicted.solve)},
          {"over_measured", number(predicted.over_measured)}};
}

Json make(const FactorCounts& factors) {
  return {{"nnz_l", number(factors.nnz_l)},
          {"nnz_u", number(factors.nnz_u)},
          {"fill_ratio", number(factors.fill_ratio)},
          {"flops", number(factors.flops)},
          {"supernodes", number(factors.supernodes)},
          {"supernode_zeros", number(factors.supernode_zeros)},
          {"supernode_bytes", number(factors.supernode_bytes)},
          {"levels", number(factors.levels)},
          {"tree_height", number(factors.tree_height)}};
}

Json make(const PivotCounts& pivots) {
  return {{"perturbed", number(pivots.perturbed)},
          {"delayed", number(pivots.delayed)},
          {"two_by_two", number(pivots.two_by_two)},
          {"zero", number(pivots.zero)},
          {"interchanged", number(pivots.interchanged)},
          {"growth", number(pivots.growth)},
          {"shift", number(pivots.shift)},
          {"attempt", text(pivots.attempt)}};
}

Json make(const std::optional<ColumnReport>& columns) {
  if (!columns) return nullptr;
  return {{"levels_a", columns->levels_a}, {"levels_b", columns->levels_b},
          {"levels_c", columns->levels_c}, {"format", columns->format},
          {"blocks", columns->blocks},     {"max_blocks", columns->max_blocks}};
}

Json make(const std::vector<ParIlutStep>& steps) {
  if (steps.empty()) return nullptr;
  Json result = Json::array();
  for (const ParIlutStep& step : steps) {
    result.push_back({{"nnz_l", step.nnz_l},
                      {"nnz_u", step.nnz_u},
                      {"candidates", step.candidates},
                      {"threshold_l", number(step.threshold_l)},
                      {"threshold_u", number(step.threshold_u)},
                      {"sweeps", step.sweeps},
                      {"nonlinear_residual", number(step.nonlinear_residual)},
                      {"is_taken_back", step.is_taken_back}});
  }
  return result;
}

Json make(const std::optional<Fill2Statistics>& fill2) {
  if (!fill2) return nullptr;
  Json parts = Json::array();
  for (const auto& part : fill2->parts)
    parts.push_back({{"sources", part.sources}, {"concurrent", part.concurrent}});
  return {{"kernel", fill2->kernel},
          {"search_seconds", number(std::optional<double>(fill2->search_seconds))},
          {"edges", fill2->edges},
          {"revisits", fill2->revisits},
          {"concurrent", fill2->slots},
          {"levels", fill2->levels},
          {"frontiers", fill2->frontiers},
          {"largest_frontier", fill2->largest_frontier},
          {"external_frontiers", fill2->external_frontiers},
          {"sources_left", fill2->sources_left},
          {"bytes",
           {{"max_id", fill2->max_id_bytes},
            {"fill", fill2->fill_bytes},
            {"queues", fill2->queue_bytes},
            {"trackers", fill2->tracker_bytes},
            {"external", fill2->external_bytes},
            {"managed", fill2->managed_bytes}}},
          {"parts", std::move(parts)}};
}

Json make(const Inertia& inertia) {
  return {{"positive", number(inertia.positive)},
          {"negative", number(inertia.negative)},
          {"zero", number(inertia.zero)}};
}

Json make(const SolveErrors& errors) {
  return {{"backward_normwise", number(errors.backward_normwise)},
          {"backward_componentwise", number(errors.backward_componentwise)},
          {"forward", number(errors.forward)},
          {"condition", number(errors.condition)},
          {"forward_bound", number(errors.forward_bound)}};
}

Json make(const SpaceBytes& bytes) {
  return {{"device", bytes.device}, {"host", bytes.host}};
}

Json make(const MemoryForecast& forecast) {
  return {{"factors", make(forecast.factors)},
          {"factorization", make(forecast.factorization)},
          {"solve", make(forecast.solve)}};
}

Json make(const MemoryUse& memory) {
  return {{"device_peak_bytes", memory.device_peak_bytes},
          {"host_peak_bytes", number(memory.host_peak_bytes)},
          {"limit_bytes", number(memory.limit_bytes)},
          {"forecast", memory.forecast ? make(*memory.forecast) : Json(nullptr)},
          {"moved_by_factorization", number(memory.moved_by_factorization)},
          {"moved_by_solve", number(memory.moved_by_solve)}};
}

Json make(const ReportRecord& record) {
  const Report& report = record.report;
  return {{"lutra", make(version_info())},
          {"backend", record.run.backend},
          {"threads", record.run.threads},
          {"device", record.run.device ? Json(*record.run.device) : Json(nullptr)},
          {"ranks", record.run.grid ? record.run.grid->ranks.size() : 1},
          {"grid", record.run.grid ? make(*record.run.grid) : Json(nullptr)},
          {"matrix", make(record.matrix)},
          {"choice", make(report.choice)},
          {"times", make(report.times)},
          {"predicted", make(report.predicted)},
          {"factors", make(report.factors)},
          {"fill2", make(report.fill2)},
          {"pivots", make(report.pivots)},
          {"columns", make(report.columns)},
          {"parilut_steps", make(report.parilut_steps)},
          {"inertia", make(report.inertia)},
          {"iterations", number(report.iterations)},
          {"residual_history", report.iterations ? list(report.residual_history) : Json(nullptr)},
          {"refinement_steps", report.refinement_steps},
          {"escalations", report.escalations},
          {"errors", make(report.errors)},
          {"memory", make(report.memory)},
          {"status", to_string(report.status)},
          {"message", record.message}};
}

// JSON must be UTF-8 but file names need not be: invalid bytes are replaced.
std::string dump(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

std::string to_json(const ReportRecord& record) {
  return dump(make(record));
}

std::string to_json(const std::vector<ReportRecord>& steps) {
  Json list = Json::array();
  for (const ReportRecord& step : steps) list.push_back(make(step));
  return dump(Json{{"steps", std::move(list)}});
}

std::string to_json(const VersionInfo& info) {
  Json json = make(info);
  json["backends"] = info.backends;
  json["scalars"] = info.scalars;
  json["ordinals"] = info.ordinals;
  return dump(json);
}

}  // namespace lutra
