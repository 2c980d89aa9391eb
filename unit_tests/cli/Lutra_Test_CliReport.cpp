// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "Lutra_TestProgram.hpp"

namespace lutra::Test {
namespace {

using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::StartsWith;

std::size_t lines_in(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

void write_singular(const Program& program) {
  program.write_matrix("s.mtx", "2 2 4\n1 1 1\n1 2 2\n2 1 2\n2 2 4\n");
}

TEST_CASE("a report has five lines and names the file of the solution", "[cli]") {
  const Program program;
  REQUIRE(program.run("generate convdiff3d --size 6 a.mtx").status == 0);
  const std::string text = program.run("solve a.mtx").output;
  INFO(text);
  CHECK(lines_in(text) == 5);
  CHECK_THAT(text, StartsWith("matrix    a.mtx: 216 × 216, ") &&
                       ContainsSubstring("\nmethod    lu, ordered by amd; the matrix is not symmetric\n") &&
                       ContainsSubstring("\ntime      ") && ContainsSubstring(" s: reading ") &&
                       ContainsSubstring("analysis ") && ContainsSubstring("factorization ") &&
                       ContainsSubstring("\nerror     componentwise backward ") &&
                       ContainsSubstring("\nstatus    success; --out X.mtx writes the solution\n"));
  CHECK_THAT(program.run("solve a.mtx --out x.mtx").output, ContainsSubstring("success; X is in x.mtx\n"));
  CHECK(lines_in(program.run("solve a.mtx --method gmres").output) == 5);
  CHECK(lines_in(program.run("sequence a.mtx a.mtx").output) == 11);  // an empty one between
  CHECK_THAT(program.run("sequence a.mtx").output, !ContainsSubstring("--out"));
}

TEST_CASE("--verbose prints the rest, each number once", "[cli]") {
  const Program program;
  REQUIRE(program.run("generate convdiff3d --size 9 a.mtx").status == 0);
  const std::string text = program.run("solve a.mtx --verbose --repeat 2").output;
  CHECK_THAT(text, !ContainsSubstring("\ncondition"));  // nothing was suspicious
  INFO(text);
  for (const char* name : {"matrix ", "backend ", "method ", "because ", "seconds ", "predicted ", "factors ",
                           "pivots ", "errors ", "memory ", "status ", "solution "})
    CHECK_THAT("\n" + text, ContainsSubstring(std::string("\n") + name));
  CHECK(count_of(text, "nnz(L)") <= 2);  // the forecasts of orderings; what is stored has another name
  CHECK_THAT(text, ContainsSubstring("stored entries of L ") && !ContainsSubstring("over measured"));
  const std::string predicted = text.substr(text.find("\npredicted ") + 1);
  CHECK_THAT(predicted.substr(0, predicted.find('\n')),
             ContainsSubstring("ordering ") && ContainsSubstring("analysis and factorization ") &&
                 ContainsSubstring(" of "));  // beside each what was measured
}

TEST_CASE("Cholesky is predicted by a ratio of its own", "[cli]") {
  const Program program;
  REQUIRE(program.run("calibrate --help").status == 0);
  REQUIRE(program.run("generate poisson2d --size 30 a.mtx").status == 0);
  const auto factorization = [&program](const std::string& method) {
    return program.run("solve a.mtx --json --backend serial --method " + method)
        .json()["predicted"]["factorization"]
        .get<double>();
  };
  if (!program.has_backend("serial")) return;
  CHECK(factorization("cholesky") < factorization("ldlt"));  // 0.65 and 0.66 of LU
}

TEST_CASE("--quiet prints one line if there is no solution", "[cli]") {
  const Program program;
  program.write_small();
  write_singular(program);
  program.write_matrix("structural.mtx", "2 2 2\n1 1 1\n2 1 1\n");
  const auto check = [&program](const std::string& arguments, int status, const std::string& message) {
    const Outcome outcome = program.run(arguments);
    INFO(arguments);
    CHECK(outcome.status == status);
    CHECK(outcome.output.empty());
    CHECK(lines_in(outcome.error) == 1);
    CHECK_THAT(outcome.error, StartsWith("lutra: ") && ContainsSubstring(message));
  };
  check("solve s.mtx --quiet", 3, "s.mtx: numerically_singular: ");
  check("solve structural.mtx --quiet", 3, "structural.mtx: structurally_singular: ");
  check("sequence a.mtx s.mtx a.mtx --quiet", 3, "s.mtx: numerically_singular: ");
  check("solve a.mtx --quiet --method gmres --precond none --max-iterations 0", 3, "not_converged");
  check("solve a.mtx --quiet --memory-limit 100", 4, "out_of_memory");
  check("predict structural.mtx --quiet", 3, "structural.mtx: ");
  CHECK(program.run("solve a.mtx --quiet").error.empty());
}

TEST_CASE("rows and columns count from 1 and come with the file name", "[cli]") {
  const Program program;
  program.write_small();  // not symmetric at row 1, column 2
  program.write_matrix("row.mtx", "2 2 3\n1 1 1\n1 2 1\n2 2 1\n");
  for (const std::string command : {"solve a.mtx --method ldlt", "solve a.mtx --method cholesky",
                                    "info a.mtx --method ldlt", "sequence a.mtx --method ldlt"}) {
    INFO(command);
    const Outcome outcome = program.run(command);
    CHECK(outcome.status == 2);
    CHECK_THAT(outcome.error, StartsWith("lutra: a.mtx: it is not ") &&
                                  ContainsSubstring(": row 1, column 2 differs from its mirror image"));
    CHECK_THAT(outcome.error, !ContainsSubstring("counted from"));
  }
  const Outcome unpaired = program.run("solve row.mtx --method cg");
  CHECK(unpaired.status == 2);
  CHECK_THAT(unpaired.error,
             StartsWith("lutra: row.mtx: it has an entry at row 1, column 2 and none at row 2, column 1"));
  // Row 2 has no pivot in ILU(0): 1 − 1·1 = 0. The shift is an escalation, counted from 1 like the status.
  program.write_matrix("zero.mtx", "3 3 5\n1 1 1\n1 2 1\n2 1 1\n2 2 1\n3 3 1\n");
  const Outcome shifted =
      program.run("solve zero.mtx --method gmres --ordering natural --matching none --json");
  REQUIRE(shifted.json()["escalations"].size() > 0);
  CHECK_THAT(shifted.json()["escalations"][0].get<std::string>(),
             ContainsSubstring("row 2 has no usable pivot"));
}

TEST_CASE("a zero pivot is not reported as an overflow", "[cli]") {
  const Program program;
  program.write_matrix("a.mtx", "2 2 2\n1 2 1\n2 1 1\n");
  const Outcome outcome = program.run("solve a.mtx --method ldlt --pivot none --matching none --quiet");
  CHECK(outcome.status == 3);
  CHECK_THAT(outcome.error, ContainsSubstring("breakdown: a pivot on the diagonal is zero"));
}

TEST_CASE("hints for a single thread and for a missing backend", "[cli]") {
  const Program program;
  program.write_small();
  const auto built = program.run("version --json").json()["backends"].get<std::vector<std::string>>();
  const bool has_openmp = program.has_backend("openmp");
  if (program.has_backend("serial"))
    CHECK_THAT(program.run("solve a.mtx --backend serial").output,
               ContainsSubstring(has_openmp ? "serial, 1 thread (all cores by --backend openmp)"
                                            : "serial, 1 thread (all cores by a Kokkos with OpenMP, see "
                                              "docs/building.md)"));
  for (const std::string backend : {"serial", "openmp", "cuda", "hip"}) {
    if (program.has_backend(backend)) continue;
    const Outcome outcome = program.run("solve a.mtx --backend " + backend);
    CHECK(outcome.status == 2);
    CHECK_THAT(outcome.error,
               StartsWith("lutra: --backend " + backend + ": not in this build (Kokkos has ") &&
                   ContainsSubstring("see docs/building.md"));
  }
  CHECK_THAT(
      program.run("solve a.mtx --precond ilu0").error,
      ContainsSubstring("--precond is not used with --method auto, but with --method gmres, bicgstab"));
}

TEST_CASE("a message about a small memory limit names the bytes needed", "[cli]") {
  const Program program;
  const std::string kind = GENERATE("poisson2d --size 60", "circuit --size 3000", "convdiff3d --size 14");
  REQUIRE(program.run("generate " + kind + " a.mtx").status == 0);
  const auto peak =
      program.run("solve a.mtx --method lu --json").json()["memory"]["device_peak_bytes"].get<double>();
  const auto run = [&program](double limit) {
    return program.run("solve a.mtx --method lu --memory-limit " +
                       std::to_string(static_cast<std::size_t>(limit)));
  };
  for (const double share : {0.02, 0.3}) {  // before and after the entries of the factors are counted
    const Outcome outcome = run(share * peak);
    INFO(kind << ", limit " << share << " of " << peak << "\n" << outcome.output);
    CHECK(outcome.status == 4);
    const std::string mark = "; about ";
    const auto at = outcome.output.find(mark);
    REQUIRE(at != std::string::npos);
    const double total = std::stod(outcome.output.substr(at + mark.size()));
    CHECK(run(1.1 * total).status == 0);
    CHECK(run(0.4 * total).status == 4);
  }
  // without a forecast: more than what was held and refused
  const std::string by_supernodes = "solve a.mtx --engine simplicial --columns supernodes=on --memory-limit ";
  const nlohmann::json little = program.run(by_supernodes + "200K --json").json();
  CHECK(little["memory"]["limit_bytes"] == 200 * 1024);
  const std::string message = little["message"];
  CHECK_THAT(message, ContainsSubstring("; more than "));
  CHECK(std::stod(message.substr(message.find("; more than ") + 12)) > 200 * 1024);
  const Outcome krylov = program.run("solve a.mtx --method gmres --memory-limit 1000");
  CHECK(krylov.status == 4);
  CHECK_THAT(krylov.output, ContainsSubstring("; more than ") && ContainsSubstring(" bytes in all ("));
}

}  // namespace
}  // namespace lutra::Test
