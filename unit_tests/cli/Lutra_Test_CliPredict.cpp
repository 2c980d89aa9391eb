// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "Lutra_TestProgram.hpp"

namespace lutra::Test {

using Catch::Matchers::ContainsSubstring;

TEST_CASE("predict compares grids of ranks", "[cli]") {
  const Program program;
  REQUIRE(program.run("generate poisson2d --size 30 a.mtx").status == 0);
  const auto record = program.run("predict a.mtx --ranks 6 --device h200 --json").json();
  CHECK(record["status"] == "predicted");
  REQUIRE(record["grids"].size() == 4);  // of 1, 2, 4 and 6 ranks
  CHECK(record["grids"][0]["speedup"] == 1.0);
  CHECK(record["grids"][0]["lower"]["messages"] == 0);
  CHECK(record["grids"][3]["ranks"] == 6);
  CHECK(record["best"] == "1x1");  // a message takes longer than all there is to share
  CHECK(record["factors"]["nnz_l"] > 3000);
  CHECK(record["one_device"].size() == 5);
  CHECK(record["one_device"][0]["seconds"] == record["grids"][0]["lower"]["seconds"]);  // of a device
  CHECK(record["assumptions"].size() > 3);
  const auto slow = program.run("predict a.mtx --grid 2x2 --latency 1e-3 --device h200 --json").json();
  REQUIRE(slow["grids"].size() == 2);
  CHECK(slow["grids"][1]["grid"] == "2x2");
  CHECK(slow["grids"][1]["lower"]["seconds"] > 5e-3);  // several messages on the path
  const Outcome text =
      program.run("predict a.mtx --ranks 4096 --latency 3e-6 --bandwidth 25e9 --device h200");
  CHECK(text.status == 0);
  CHECK_THAT(text.output, ContainsSubstring("4096") && ContainsSubstring("3 us") &&
                              ContainsSubstring("25 GB/s") && ContainsSubstring("L of ILU(0), levels"));
}

TEST_CASE("predict chooses as the solver does", "[cli]") {
  const Program program;
  for (const std::string kind :
       {"poisson2d --size 30", "poisson3d --size 9", "convdiff3d --size 5", "convdiff3d --size 11",
        "aniso2d --size 20", "circuit --size 900", "kkt --size 500", "random --size 300"}) {
    INFO(kind);
    REQUIRE(program.run("generate " + kind + " a.mtx").status == 0);
    const auto backend = program.run("solve a.mtx --json").json()["backend"].get<std::string>();
    const auto predicted = program.run("predict a.mtx --json --backend " + backend).json();
    const auto solved = program.run("solve a.mtx --json --backend " + backend).json();
    for (const char* what : {"method", "engine", "ordering", "matching", "trisolve"}) {
      INFO(what);
      CHECK(predicted["choice"][what] == solved["choice"][what]);
    }
    CHECK(predicted["factors"]["flops"] == solved["factors"]["flops"]);
    int chosen = 0;
    for (const auto& one : predicted["one_device"]) {
      if (!one["chosen"].get<bool>()) continue;
      ++chosen;
      CHECK(one["method"] ==
            (solved["choice"]["engine"] == "multifrontal" ? "fronts" : solved["choice"]["trisolve"]));
    }
    CHECK(chosen <= 1);
    if (solved["choice"]["engine"] == "multifrontal") CHECK(chosen == 1);
  }
}

TEST_CASE("predict and the choice of orderings agree on multifrontal solves on hosts", "[cli]") {
  const Program program;
  if (!program.has_backend("serial")) return;
  REQUIRE(program.run("generate poisson3d --size 14 a.mtx").status == 0);
  const auto sweep =
      program.run("predict a.mtx --json --backend serial").json()["one_device"][0]["seconds"].get<double>();
  const auto solve = program.run("solve a.mtx --json --backend serial --method lu --engine multifrontal")
                         .json()["predicted"]["solve"]
                         .get<double>();
  CHECK(2 * sweep > 0.8 * solve);  // entries of fronts, and those forecast
  CHECK(2 * sweep < 1.3 * solve);
}

TEST_CASE("predict accounts for links between nodes", "[cli]") {
  const Program program;
  REQUIRE(program.run("generate poisson2d --size 20 a.mtx").status == 0);
  const std::string two = "predict a.mtx --grid 2x1 --device h200 --json ";
  const auto seconds = [&](const std::string& arguments) {
    const Outcome outcome = program.run(two + arguments);
    REQUIRE(outcome.status == 0);
    return outcome.json()["grids"][1]["lower"]["seconds"].get<double>();
  };
  const double inside = seconds("");
  CHECK(seconds("--ranks-per-node 2 --latency 1e-3") == inside);  // both ranks are on one node
  CHECK(seconds("--ranks-per-node 1 --latency 1e-3") > inside + 1e-3);
  CHECK(seconds("--ranks-per-node 1 --bandwidth 1e5") > inside + 1e-4);
}

TEST_CASE("predict refuses invalid options", "[cli]") {
  const Program program;
  program.write_small();
  const auto error = [&](const std::string& arguments) {
    const Outcome outcome = program.run("predict a.mtx " + arguments);
    CHECK(outcome.status == 2);
    return outcome.error;
  };
  for (const std::string grid : {"2", "2x", "x2", "0x2", "2x-1", "2x2x2", "99999x99999"})
    CHECK_THAT(error("--grid " + grid), ContainsSubstring("'" + grid + "' is not a grid like 2x3"));
  CHECK_THAT(error("--grid 2000x2000"), ContainsSubstring("4000000 is not between"));
  CHECK_THAT(error("--ranks 0"), ContainsSubstring("--ranks"));
  CHECK_THAT(error("--ranks 2 --grid 1x2"), ContainsSubstring("--grid"));
  CHECK_THAT(error("--latency -1"), ContainsSubstring("--latency has to be"));
  CHECK_THAT(error("--bandwidth 0"), ContainsSubstring("--bandwidth has to be"));
  CHECK_THAT(error("--ranks-per-node 2"),
             ContainsSubstring("--ranks-per-node needs --latency or --bandwidth"));
  CHECK_THAT(error("--device-model no.model"), ContainsSubstring("no.model"));
  CHECK_THAT(error("--device v100"),
             ContainsSubstring("invalid value 'v100' (choose from host, h100, h200, auto)"));
  program.write_matrix("singular.mtx", "2 2 2\n1 1 1\n2 1 1\n");
  const Outcome singular = program.run("predict singular.mtx");
  CHECK(singular.status == 3);
  CHECK_THAT(singular.output, ContainsSubstring("singular"));
  program.write_matrix("wide.mtx", "2 3 2\n1 1 1\n2 3 1\n");
  CHECK(program.run("predict wide.mtx").status == 2);
}

}  // namespace lutra::Test
