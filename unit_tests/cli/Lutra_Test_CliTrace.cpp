// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <map>
#include <set>

#include "Lutra_TestProgram.hpp"

namespace lutra::Test {
namespace {

using Catch::Matchers::ContainsSubstring;
using Json = nlohmann::json;

/// Events of a trace with these values.
std::vector<Json> events_of(const Json& trace, const std::string& phase, const std::string& category) {
  std::vector<Json> found;
  for (const Json& event : trace["traceEvents"])
    if (event["ph"] == phase && (category.empty() || event["cat"] == category)) found.push_back(event);
  return found;
}

std::set<std::string> names_of(const std::vector<Json>& events) {
  std::set<std::string> names;
  for (const Json& event : events) names.insert(event["name"]);
  return names;
}

bool contains(const Json& outer, const Json& inner) {
  constexpr double rounding = 0.01;  // microseconds
  const double begin = outer["ts"], end = begin + outer["dur"].get<double>();
  return inner["ts"].get<double>() >= begin - rounding &&
         inner["ts"].get<double>() + inner["dur"].get<double>() <= end + rounding;
}

bool is_apart(const Json& a, const Json& b) {
  constexpr double rounding = 0.01;
  return a["ts"].get<double>() + a["dur"].get<double>() <= b["ts"].get<double>() + rounding;
}

/// Checks that intervals of a lane are nested or apart.
void check_nested(const Json& trace, int lane) {
  std::vector<Json> intervals;
  for (const Json& event : events_of(trace, "X", ""))
    if (event["tid"] == lane) intervals.push_back(event);
  for (const Json& a : intervals) {
    CHECK(a["dur"].get<double>() >= 0);
    for (const Json& b : intervals)
      CHECK((contains(a, b) || contains(b, a) || is_apart(a, b) || is_apart(b, a)));
  }
}

}  // namespace

TEST_CASE("--trace writes nested calls and stages, choices, kernels and memory", "[cli]") {
  const Program program;
  program.write_small();
  const Outcome outcome = program.run("solve a.mtx --method lu --trace t.json");
  REQUIRE(outcome.status == 0);
  const Json trace = Json::parse(program.read("t.json"));
  CHECK(names_of(events_of(trace, "X", "program")) == std::set<std::string>{"read", "write"});
  CHECK(names_of(events_of(trace, "X", "call")) == std::set<std::string>{"analyze", "factorize", "solve"});
  const auto stages = names_of(events_of(trace, "X", "stage"));
  for (const char* stage : {"matching", "ordering", "symbolic", "levelization", "numeric", "solve"})
    CHECK(stages.contains(stage));
  CHECK(names_of(events_of(trace, "i", "choice")).contains("method: lu"));
  CHECK_FALSE(events_of(trace, "X", "kernel").empty());
  check_nested(trace, 1);
  const auto samples = events_of(trace, "C", "");
  REQUIRE_FALSE(samples.empty());
  std::map<std::string, double> last;
  for (const Json& sample : samples)
    for (const auto& [space, bytes] : sample["args"].items()) last[space] = bytes;
  CHECK(trace["otherData"]["kernels left out"] == 0);
}

TEST_CASE("a stage of a trace lies in the call that it belongs to", "[cli]") {
  const Program program;
  program.write_small();
  REQUIRE(program.run("solve a.mtx --method lu --quiet --trace t.json").status == 0);
  const Json trace = Json::parse(program.read("t.json"));
  const std::map<std::string, std::string> call_of = {{"matching", "analyze"},  {"ordering", "analyze"},
                                                      {"symbolic", "analyze"},  {"levelization", "analyze"},
                                                      {"numeric", "factorize"}, {"solve", "solve"}};
  for (const Json& stage : events_of(trace, "X", "stage")) {
    if (!call_of.contains(stage["name"])) continue;
    INFO(stage.dump());
    bool is_inside = false;
    for (const Json& call : events_of(trace, "X", "call"))
      is_inside = is_inside || (call["name"] == call_of.at(stage["name"]) && contains(call, stage));
    CHECK(is_inside);
  }
}

TEST_CASE("a matrix without a solution has a trace", "[cli]") {
  const Program program;
  program.write_matrix("s.mtx", "2 2 4\n1 1 1\n1 2 1\n2 1 1\n2 2 1\n");
  CHECK(program.run("solve s.mtx --quiet --trace t.json").status == 3);
  const Json trace = Json::parse(program.read("t.json"));
  CHECK(names_of(events_of(trace, "X", "call")).contains("factorize"));
  check_nested(trace, 1);
}

TEST_CASE("a trace is whole or absent", "[cli]") {
  const Program program;
  program.write_small();
  CHECK(program.run("solve missing.mtx --trace t.json").status == 2);
  CHECK_FALSE(program.exists("t.json"));
  const Outcome same = program.run("solve a.mtx --trace a.mtx");
  CHECK(same.status == 2);
  CHECK_THAT(same.error, ContainsSubstring("--trace a.mtx would overwrite a.mtx"));
  const Outcome nowhere = program.run("solve a.mtx --trace no/t.json");
  CHECK(nowhere.status == 2);
  CHECK_THAT(nowhere.error, ContainsSubstring("there is no folder"));
  CHECK(program.run("solve a.mtx --quiet --trace /dev/full").status == 2);
}

}  // namespace lutra::Test
