// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <cmath>

#include "Lutra_TestProgram.hpp"

namespace lutra::Test {
namespace {

using Catch::Matchers::ContainsSubstring;

TEST_CASE("info reports size, structure and choice", "[cli]") {
  const Program program;
  REQUIRE(program.run("generate circuit --size 500 --seed 2 c.mtx").status == 0);
  const Outcome outcome = program.run("info c.mtx --svg c.svg");
  CHECK(outcome.status == 0);
  CHECK_THAT(outcome.output, ContainsSubstring("500 × 500") && ContainsSubstring("structural rank 500") &&
                                 ContainsSubstring("zero diagonals 15") && ContainsSubstring("method") &&
                                 ContainsSubstring("because"));
  CHECK_THAT(program.read("c.svg"), ContainsSubstring("P·A·Q") && ContainsSubstring("L+U") &&
                                        ContainsSubstring("Level widths") && ContainsSubstring("</svg>"));
}

TEST_CASE("info accepts the options of solve and prints JSON", "[cli]") {
  const Program program;
  REQUIRE(program.run("generate poisson2d --size 12 a.mtx").status == 0);
  const auto choice = [&program](const std::string& arguments) {
    const Outcome outcome = program.run("info a.mtx --json " + arguments);
    CHECK(outcome.status == 0);
    return outcome.json()["choice"];
  };
  CHECK(choice("--ordering amd")["ordering"] == "amd");
  CHECK(choice("--engine multifrontal")["engine"] == "multifrontal");
  CHECK(choice("--engine simplicial --symbolic fill2")["symbolic"] == "fill2");
  const auto record = program.run("info a.mtx --json --scalar f64").json();
  CHECK(record["status"] == "not_solved");
  CHECK(record["message"] == "");
  CHECK(record["matrix"]["rows"] == 144);
  CHECK(record["matrix"]["scalar"] == "f64");
  CHECK(record["factors"]["nnz_l"] > 0);
  CHECK(record["errors"]["backward_componentwise"].is_null());
  const auto solved = program.run("solve a.mtx --json").json();
  CHECK(record["choice"] == solved["choice"]);
  CHECK(record["factors"]["nnz_u"] == solved["factors"]["nnz_u"]);
  CHECK(program.run("info a.mtx --quiet --json=i.json").output.empty());
  CHECK(program.exists("i.json"));
  CHECK(program.run("info a.mtx --memory-limit 2K").status == 4);
}

TEST_CASE("info tells the memory of factorization and solve before", "[cli]") {
  const Program program;
  REQUIRE(program.run("generate poisson3d --size 14 a.mtx").status == 0);
  for (const std::string options : {"--method lu --engine simplicial", "--method lu --engine multifrontal",
                                    "--method cholesky", "--method ldlt"}) {
    INFO(options);
    CHECK_THAT(program.run("info a.mtx " + options).output,
               ContainsSubstring("memory    factors ") && ContainsSubstring(", solve of 1 column "));
    const auto forecast = program.run("info a.mtx --json " + options).json()["memory"]["forecast"];
    const auto solved = program.run("solve a.mtx --json " + options).json()["memory"];
    CHECK(solved["forecast"] == forecast);
    const double told = forecast["solve"]["device"], measured = solved["device_peak_bytes"];
    INFO(told << " and " << measured);
    CHECK(std::abs(told - measured) <= 0.1 * measured);
  }
  CHECK(program.run("info a.mtx --json --method gmres").json()["memory"]["forecast"].is_null());
}

TEST_CASE("factors are streamed from host memory where asked", "[cli]") {
  const Program program;
  REQUIRE(program.run("generate poisson3d --size 14 a.mtx").status == 0);
  const auto resident =
      program.run("solve a.mtx --json --method lu --engine multifrontal --out x.mtx").json();
  const double peak = resident["memory"]["device_peak_bytes"];
  const auto limit = std::to_string(static_cast<std::int64_t>(0.6 * peak));
  const auto streamed =
      program
          .run("solve a.mtx --json --method lu --factor-storage streamed --out y.mtx --memory-limit " + limit)
          .json();
  CHECK(streamed["status"] == "success");
  CHECK(program.read("y.mtx") == program.read("x.mtx"));
  CHECK(streamed["memory"]["device_peak_bytes"] <= streamed["memory"]["limit_bytes"]);
  CHECK(streamed["memory"]["host_peak_bytes"] == streamed["memory"]["forecast"]["solve"]["host"]);
  CHECK(streamed["memory"]["moved_by_solve"] > 0);
  CHECK_THAT(streamed["choice"]["why"].get<std::string>(),
             ContainsSubstring("factors: streamed from host memory"));
  const auto refused = program.run("solve a.mtx --method lu --factor-storage streamed --memory-limit 1M");
  CHECK(refused.status == 4);
  CHECK_THAT(refused.output, ContainsSubstring("the largest front with the blocks of its children"));
  CHECK(program.run("solve a.mtx --method lu --factor-storage streamed --engine simplicial").status == 2);
}

TEST_CASE("info reports on matrices that cannot be solved", "[cli]") {
  const Program program;
  program.write_matrix("wide.mtx", "2 3 2\n1 1 1\n2 3 1\n");
  program.write_matrix("empty.mtx", "0 0 0\n");
  program.write_matrix("singular.mtx", "2 2 1\n1 1 1\n");
  program.write("c.mtx",
                "%%MatrixMarket matrix coordinate complex hermitian\n2 2 3\n1 1 1 0\n2 1 1 1\n2 2 5 0\n");
  CHECK_THAT(program.run("info wide.mtx --svg w.svg").output,
             ContainsSubstring("2 × 3") && ContainsSubstring("square"));
  CHECK(program.exists("w.svg"));
  CHECK(program.run("info empty.mtx --svg e.svg").status == 0);
  const Outcome singular = program.run("info singular.mtx --svg s.svg");
  CHECK(singular.status == 0);
  CHECK_THAT(singular.output, ContainsSubstring("structurally singular") && ContainsSubstring("row 2"));
  if (program.has_scalar("c128"))
    CHECK_THAT(program.run("info c.mtx").output, ContainsSubstring("complex, hermitian"));
}

TEST_CASE("generate, version and help", "[cli]") {
  const Program program;
  for (const std::string kind :
       {"poisson2d", "poisson3d", "convdiff3d", "aniso2d", "circuit", "kkt", "random"}) {
    INFO(kind);
    CHECK(program.run("generate " + kind + " --size 6 " + kind + ".mtx").status == 0);
    CHECK(program.run("solve --quiet " + kind + ".mtx").status == 0);
  }
  REQUIRE(program.run("generate random --size 50 --seed 1 one.mtx").status == 0);
  CHECK(program.run("generate random --size 50 -").output == program.read("one.mtx"));
  CHECK(program.run("generate random --size 50 --seed 2 -").output != program.read("one.mtx"));
  CHECK_THAT(program.run("version").output, ContainsSubstring("kokkos") && ContainsSubstring("backends"));
  CHECK(program.run("version --json").json()["version"] == "0.2.0");
  CHECK_THAT(program.run("--version").output, ContainsSubstring("lutra 0.2.0"));
  CHECK(program.run("--help").status == 0);
  CHECK_THAT(program.run("solve --help").output,
             ContainsSubstring("System and accuracy:") && ContainsSubstring("Choices:") &&
                 ContainsSubstring("Output:") && ContainsSubstring("=auto"));
  for (const std::string command : {"solve", "sequence", "info", "generate", "version"}) {
    const Outcome help = program.run(command + " --help");
    CHECK(help.status == 0);
    CHECK_THAT(help.output, ContainsSubstring("Usage: lutra " + command));
    if (command != "version") CHECK_THAT(help.output, ContainsSubstring("Example: lutra " + command));
  }
}

}  // namespace
}  // namespace lutra::Test
