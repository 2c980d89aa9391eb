// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <numeric>
#include <set>
#include <sstream>
#include <vector>

#include "Lutra_DeviceModel.hpp"
#include "Lutra_TestProgram.hpp"

namespace lutra::Test {
namespace {

using Catch::Matchers::ContainsSubstring;

TEST_CASE("an ordering is written with its forecast and read back", "[cli]") {
  const Program program;
  REQUIRE(program.run("generate poisson2d --size 20 a.mtx").status == 0);
  const std::string kind = GENERATE("auto", "amd", "metis", "nd", "natural");
  const Outcome outcome = program.run("order a.mtx --out P --json --ordering " + kind);
  REQUIRE(outcome.status == 0);
  const auto json = outcome.json();
  std::istringstream lines(program.read("P"));
  std::vector<int> columns, sorted;
  for (std::string line; std::getline(lines, line);) columns.push_back(std::stoi(line));
  sorted = columns;
  std::sort(sorted.begin(), sorted.end());
  std::vector<int> all(400);
  std::iota(all.begin(), all.end(), 1);
  CHECK(sorted == all);
  if (kind == "natural") CHECK(columns == all);
  CHECK(json["choice"]["ordering"] == (kind == "auto" ? "amd" : kind));
  CHECK(json["choice"]["why"].get<std::string>().empty() == (kind != "auto"));
  CHECK(json["times"]["ordering"].is_number());
  const auto again = program.run("order a.mtx --json --ordering P").json();
  CHECK(again["choice"]["ordering"] == "user");
  CHECK(again["factors"] == json["factors"]);
  const auto solved = program.run("solve a.mtx --method lu --json --ordering P").json();
  CHECK(solved["status"] == "success");
  CHECK(solved["factors"]["nnz_l"] == json["factors"]["nnz_l"]);
}

TEST_CASE("fill, flops and height of an arrow by hand", "[cli]") {
  const Program program;
  program.write_matrix("a.mtx",
                       "4 4 10\n1 1 9\n2 1 1\n3 1 1\n4 1 1\n1 2 1\n1 3 1\n1 4 1\n2 2 5\n3 3 5\n4 4 5\n");
  const auto factors = [&program](const std::string& columns) {
    program.write("P", columns);
    return program.run("order a.mtx --json --ordering P").json()["factors"];
  };
  const auto last = factors("2 3 4 1"), first = factors("1 2 3 4");
  CHECK(last["nnz_l"] == 3);
  CHECK(last["flops"] == 3 * (1 + 2));
  CHECK(last["tree_height"] == 2);
  CHECK(first["nnz_l"] == 6);
  CHECK(first["flops"] == 3 + 18 + 2 + 8 + 1 + 2);
  CHECK(first["tree_height"] == 4);
  const Outcome text = program.run("order a.mtx --ordering P");
  CHECK_THAT(text.output, ContainsSubstring("nnz(L) 6") && ContainsSubstring("tree height 4"));
}

TEST_CASE("order matches rows as LU does and refuses invalid orderings", "[cli]") {
  const Program program;
  program.write_matrix("a.mtx", "2 2 3\n1 2 4\n2 1 1\n2 2 1\n");
  CHECK(program.run("order a.mtx --json").json()["choice"]["matching"] == "exact");
  CHECK(program.run("order a.mtx --json --matching none").json()["choice"]["matching"] == "none");
  program.write("twice.txt", "2\n2\n");
  const Outcome twice = program.run("order a.mtx --ordering twice.txt --out P");
  CHECK(twice.status == 2);
  CHECK_THAT(twice.error, ContainsSubstring("twice.txt:2: column 2 stands at line 1 already"));
  CHECK_FALSE(program.exists("P"));
  CHECK_THAT(program.run("order a.mtx --matching auction").error, ContainsSubstring("--matching auction"));
  program.write_matrix("wide.mtx", "1 2 1\n1 2 1\n");
  CHECK(program.run("order wide.mtx").status == 2);
}

TEST_CASE("the expected factorizations of a call decide the ordering", "[cli]") {
  const Program program;
  REQUIRE(program.run("generate convdiff3d --size 6 a.mtx").status == 0);
  const auto why = [&program](const std::string& call) {
    const auto json = program.run(call + " --json").json();
    return (json.contains("steps") ? json["steps"][0] : json)["choice"]["why"].get<std::string>();
  };
  CHECK_THAT(why("solve a.mtx"), ContainsSubstring("in 1 factorization;"));
  CHECK_THAT(why("solve a.mtx --repeat 2"), ContainsSubstring("in 50 factorizations;"));  // ten times 2 + 3
  CHECK_THAT(why("sequence a.mtx a.mtx a.mtx"), ContainsSubstring("in 3 factorizations;"));
  CHECK_THAT(why("info a.mtx --expected-factorizations 7"), ContainsSubstring("in 7 factorizations;"));
  REQUIRE(program.run("generate convdiff3d --size 12 b.mtx").status == 0);
  const auto often = program.run("solve b.mtx --json --expected-factorizations 1000000").json();
  CHECK_THAT(often["choice"]["why"].get<std::string>(), ContainsSubstring("nested dissection (nnz(L)"));
  CHECK(often["predicted"]["over_measured"].get<double>() > 0);
  CHECK(often["predicted"]["ordering"].get<double>() > 0);
  CHECK(program.run("solve a.mtx --json --ordering amd").json()["predicted"]["ordering"].is_null());
  CHECK(program.run("solve a.mtx --expected-factorizations 0").status == 2);
  CHECK_THAT(program.run("solve a.mtx --method gmres --expected-factorizations 2").error,
             ContainsSubstring("--expected-factorizations is not used"));
}

TEST_CASE("every number of a device model has a unique name", "[cli]") {
  DeviceModel model = h200_device_model();
  std::set<std::string> names;
  std::size_t bytes = 0;
  visit_numbers(model, [&](const std::string& name, auto& number) {
    CHECK(names.insert(name).second);
    bytes += sizeof number;
    number = 3;
  });
  CHECK((bytes + 7) / 8 * 8 + sizeof(std::string) == sizeof(DeviceModel));
  CHECK(model.ordering.dissection.edge_seconds == 3);
  CHECK(model.numeric.tasks.cleared_entries == 3);
}

TEST_CASE("a calibrated device model is read back, used and named", "[cli]") {
  const Program program;
  if (!program.has_scalar("f64") || !program.has_backend("serial")) return;
  const Outcome calibrated = program.run("calibrate here.model --backend serial");
  REQUIRE(calibrated.status == 0);
  CHECK_THAT(calibrated.output, ContainsSubstring("measured  ") && ContainsSubstring("ordering.amd (") &&
                                    ContainsSubstring("built in  ") &&
                                    ContainsSubstring("which no run measures and here.model marks"));
  REQUIRE(program.run("generate convdiff3d --size 6 a.mtx").status == 0);
  const std::string model = program.read("here.model");
  CHECK_THAT(model, ContainsSubstring("name serial with 1 thread, measured\n") &&
                        ContainsSubstring("\nordering.amd.row_seconds ") &&
                        ContainsSubstring("\nsymbolic.max_set_bytes none\n"));
  // What is measured nowhere is what is built in, to the last bit, and says so; the rest does not.
  DeviceModel built_in = host_device_model();
  std::size_t kept = 0, measured = 0;
  visit_numbers(built_in, [&](const std::string& key, auto& number) {
    const auto begin = model.find("\n" + key + " ") + 1;
    const std::string line = model.substr(begin, model.find('\n', begin) - begin);
    if (number == 0) return;
    INFO(line);
    const bool marked = line.ends_with("  % built in, not measured");
    CHECK(marked == (std::stod(line.substr(key.size() + 1)) == static_cast<double>(number)));
    ++(marked ? kept : measured);
  });
  CHECK(measured > 20);
  CHECK(kept > 20);
  CHECK_THAT(calibrated.output, ContainsSubstring(std::to_string(measured) + " numbers: ") &&
                                    ContainsSubstring(std::to_string(kept) + " numbers, which"));
  const std::string solve = "solve a.mtx --json --backend serial ";
  const auto name = [&](const std::string& options) {
    return program.run(solve + options).json()["choice"]["device_model"].get<std::string>();
  };
  CHECK(name("--device-model here.model") == "serial with 1 thread, measured");
  CHECK(name("") == "one core of a host, built in");
  CHECK(name("--device-model here.model --deterministic") == "one core of a host, built in");

  // The line of a key, replaced.
  const auto with = [&](const std::string& key, const std::string& line) {
    const auto begin = model.find("\n" + key + " ") + 1, end = model.find('\n', begin) + 1;
    program.write("other.model", model.substr(0, begin) + line + model.substr(end));
    return program.run(solve + "--device-model other.model");
  };
  const std::string key = "ordering.amd.row_seconds";
  const Outcome slow = with(key, "% slow\n" + key + " 1e3  % seconds\n");
  REQUIRE(slow.status == 0);
  CHECK(slow.json()["predicted"]["ordering"].get<double>() > 216e3);  // rows of a.mtx
  CHECK(with(key, key + " none\n").status == 0);
  const std::vector<std::pair<std::string, std::string>> refused = {
      {key + " -1\n", ": " + key + ": '-1' is not a finite number above 0"},
      {key + " 0\n", ": " + key + ": '0' is not a finite number above 0"},
      {key + " nan\n", ": " + key + ": 'nan' is not a finite number above 0"},
      {key + " inf\n", ": " + key + ": 'inf' is not a finite number above 0"},
      {key + " 1e999\n", ": " + key + ": '1e999' is not a finite number above 0"},
      {key + " fast\n", ": " + key + ": 'fast' is not a finite number above 0"},
      {key + "\n", ": " + key + " has no value"},
      {key + " 1 2\n", ": " + key + ": there is more than one value"},
      {key + " 1\n" + key + " 1\n", " stands at line "},
      {"ordering.amd.rows 1\n", ": the key 'ordering.amd.rows' is unknown"},
      {"", ": the file ends without " + key}};
  for (const auto& [line, message] : refused) {
    INFO(line);
    const Outcome outcome = with(key, line);
    CHECK(outcome.status == 2);
    CHECK_THAT(outcome.error, ContainsSubstring("other.model:") && ContainsSubstring(message));
  }
  const std::string whole = "numeric.tasks.steps_together";
  CHECK_THAT(with(whole, whole + " 1.5\n").error, ContainsSubstring(whole + " must be an integer"));
  CHECK_THAT(with(whole, whole + " none\n").error, ContainsSubstring(whole + " must have a value"));
  CHECK_THAT(with("name", "").error, ContainsSubstring("the file ends without a name"));
  CHECK_THAT(with("name", "name a\nname b\n").error, ContainsSubstring(":3: there is a name already"));
  CHECK(program.run(solve + "--device-model absent.model").status == 2);
  CHECK(program.run("calibrate absent/here.model").status == 2);
  program.write_small();
  const std::string before = program.read("a.mtx");
  const Outcome over = program.run("calibrate a.mtx");
  CHECK(over.status == 2);
  CHECK_THAT(over.error, ContainsSubstring("a.mtx exists and is not a device model"));
  CHECK(program.read("a.mtx") == before);
}

}  // namespace
}  // namespace lutra::Test
