// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "Lutra_TestProgram.hpp"

namespace lutra::Test {
namespace {

using Catch::Matchers::ContainsSubstring;

TEST_CASE("info tells size, structure and choice", "[cli]") {
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

TEST_CASE("info on matrices that cannot be solved with", "[cli]") {
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
  CHECK(program.run("version --json").json()["version"] == "0.1.0");
  CHECK_THAT(program.run("--version").output, ContainsSubstring("lutra 0.1.0"));
  CHECK(program.run("--help").status == 0);
  for (const std::string command : {"solve", "sequence", "info", "generate", "version"}) {
    const Outcome help = program.run(command + " --help");
    CHECK(help.status == 0);
    CHECK_THAT(help.output, ContainsSubstring("Usage: lutra " + command));
  }
}

}  // namespace
}  // namespace lutra::Test
