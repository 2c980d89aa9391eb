// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <catch2/catch_test_macros.hpp>
#include <limits>
#include <nlohmann/json.hpp>

#include "Lutra_Report.hpp"

namespace lutra::Test {
namespace {

using Json = nlohmann::ordered_json;
using Keys = std::vector<std::string>;

Keys keys(const Json& object) {
  Keys names;
  for (const auto& [name, value] : object.items()) names.push_back(name);
  return names;
}

TEST_CASE("a report has the documented keys in their order", "[io]") {
  const Json json = Json::parse(to_json(ReportRecord{}));
  CHECK(keys(json) == Keys{"lutra",
                           "backend",
                           "threads",
                           "device",
                           "ranks",
                           "grid",
                           "matrix",
                           "choice",
                           "times",
                           "predicted",
                           "factors",
                           "fill2",
                           "pivots",
                           "columns",
                           "parilut_steps",
                           "inertia",
                           "iterations",
                           "residual_history",
                           "refinement_steps",
                           "escalations",
                           "errors",
                           "memory",
                           "status",
                           "message"});
  CHECK(keys(json["lutra"]) == Keys{"version", "git", "kokkos", "kokkos_kernels"});
  CHECK(keys(json["matrix"]) == Keys{"file", "rows", "cols", "nnz", "scalar", "pattern_symmetry",
                                     "value_symmetry", "structural_rank", "zero_diagonals"});
  CHECK(keys(json["choice"]) == Keys{"method", "engine", "ordering", "matching", "symbolic", "trisolve",
                                     "precond", "why", "pivot", "device_model"});
  CHECK(keys(json["predicted"]) == Keys{"ordering", "analysis", "factorization", "solve", "over_measured"});
  CHECK(keys(json["times"]) == Keys{"read", "matching", "ordering", "symbolic", "levelization", "numeric",
                                    "refactor", "solve", "refine", "distribution", "condition", "total"});
  CHECK(keys(json["factors"]) == Keys{"nnz_l", "nnz_u", "fill_ratio", "flops", "supernodes",
                                      "supernode_zeros", "supernode_bytes", "levels", "tree_height"});
  CHECK(keys(json["pivots"]) ==
        Keys{"perturbed", "delayed", "two_by_two", "zero", "interchanged", "growth", "shift", "attempt"});
  CHECK(keys(json["inertia"]) == Keys{"positive", "negative", "zero"});
  CHECK(keys(json["errors"]) ==
        Keys{"backward_normwise", "backward_componentwise", "forward", "condition", "forward_bound"});
  CHECK(keys(json["memory"]) == Keys{"device_peak_bytes", "host_peak_bytes", "limit_bytes", "forecast",
                                     "moved_by_factorization", "moved_by_solve"});
}

TEST_CASE("unknown values are null", "[io]") {
  ReportRecord record;
  record.report.errors.backward_normwise = std::numeric_limits<double>::quiet_NaN();
  record.report.pivots.growth = std::numeric_limits<double>::infinity();
  const Json json = Json::parse(to_json(record));
  CHECK(json["device"].is_null());
  CHECK(json["ranks"] == 1);
  CHECK(json["grid"].is_null());
  CHECK(json["times"]["ordering"].is_null());
  CHECK(json["factors"]["levels"].is_null());
  CHECK(json["iterations"].is_null());
  CHECK(json["residual_history"].is_null());
  CHECK(json["memory"]["limit_bytes"].is_null());
  CHECK(json["errors"]["backward_normwise"].is_null());
  CHECK(json["pivots"]["growth"].is_null());
  CHECK(json["pivots"]["attempt"].is_null());
  CHECK(json["status"] == "not_solved");
}

TEST_CASE("known values are written", "[io]") {
  ReportRecord record;
  record.run = {"cuda", 4, "GPU \"one\"",
                GridRecord{"1x2", 2e-5, {{}, {7, 2, 30, 4, 500, 60.0, 1.5, 0.5, 9, 80, 0.25}}}};
  record.matrix.file = "a\n.mtx";
  record.matrix.nnz = std::int64_t{1} << 40;
  record.report.status = Status::success;
  record.report.times.solve = 0.1;
  record.report.factors.levels = 3;
  record.report.escalations = {"one", "two"};
  record.report.memory.limit_bytes = 5;
  record.report.iterations = 2;
  record.report.residual_history = {1, 0.5, std::numeric_limits<double>::quiet_NaN()};
  const Json json = Json::parse(to_json(record));
  CHECK(json["backend"] == "cuda");
  CHECK(json["threads"] == 4);
  CHECK(json["device"] == "GPU \"one\"");
  CHECK(json["ranks"] == 2);
  CHECK(json["grid"]["name"] == "1x2");
  CHECK(json["grid"]["predicted_seconds"] == 2e-5);
  CHECK(keys(json["grid"]["ranks"][1]) == Keys{"rows", "blocks", "entries", "messages", "message_bytes",
                                               "flops", "solve_seconds", "wait_seconds", "sources", "edges",
                                               "search_seconds"});
  CHECK(json["grid"]["ranks"][1]["rows"] == 7);
  CHECK(json["grid"]["ranks"][1]["wait_seconds"] == 0.5);
  CHECK(json["grid"]["ranks"][0]["sources"].is_null());
  CHECK(json["grid"]["ranks"][1]["sources"] == 9);
  CHECK(json["grid"]["ranks"][1]["edges"] == 80);
  CHECK(json["grid"]["ranks"][1]["search_seconds"] == 0.25);
  CHECK(json["matrix"]["file"] == "a\n.mtx");
  CHECK(json["matrix"]["nnz"] == std::int64_t{1} << 40);
  CHECK(json["times"]["solve"] == 0.1);
  CHECK(json["factors"]["levels"] == 3);
  CHECK(json["escalations"] == Json{"one", "two"});
  CHECK(json["memory"]["limit_bytes"] == 5);
  CHECK(json["iterations"] == 2);
  CHECK(json["residual_history"] == Json{1.0, 0.5, nullptr});
  CHECK(json["status"] == "success");
}

TEST_CASE("text that is not UTF-8 still gives valid JSON", "[io]") {
  ReportRecord record;
  record.matrix.file = "\xff\xfe.mtx";
  CHECK_NOTHROW(Json::parse(to_json(record)));
}

TEST_CASE("a sequence is a list of steps", "[io]") {
  CHECK(Json::parse(to_json(std::vector<ReportRecord>(3)))["steps"].size() == 3);
  CHECK(Json::parse(to_json(std::vector<ReportRecord>()))["steps"].is_array());
}

TEST_CASE("build information names versions and backends", "[io]") {
  const VersionInfo info = version_info();
  const Json json = Json::parse(to_json(info));
  CHECK(keys(json) == Keys{"version", "git", "kokkos", "kokkos_kernels", "backends", "scalars", "ordinals"});
  CHECK(json["version"] == info.version);
  CHECK(json["git"] == info.git);
  CHECK(json["backends"] == info.backends);
}

}  // namespace
}  // namespace lutra::Test
