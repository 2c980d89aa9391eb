// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "Lutra_TestProgram.hpp"

namespace lutra::Test {
namespace {

using Catch::Matchers::ContainsSubstring;

// a1, a2: good; singular: rank 1 on their pattern; other: another pattern.
void write_matrices(const Program& program) {
  program.write_matrix("a1.mtx", "2 2 4\n1 1 4\n1 2 1\n2 1 2\n2 2 3\n");
  program.write_matrix("a2.mtx", "2 2 4\n1 1 5\n1 2 -1\n2 1 2\n2 2 7\n");
  program.write_matrix("singular.mtx", "2 2 4\n1 1 1\n1 2 2\n2 1 2\n2 2 4\n");
  program.write_matrix("other.mtx", "2 2 3\n1 1 5\n2 1 2\n2 2 7\n");
  program.write_matrix("larger.mtx", "3 3 3\n1 1 5\n2 2 2\n3 3 7\n");
  program.write(
      "complex.mtx",
      "%%MatrixMarket matrix coordinate complex general\n2 2 4\n1 1 4 0\n1 2 1 0\n2 1 2 0\n2 2 3 1\n");
}

TEST_CASE("a sequence is analysed once and refactorized for each matrix", "[cli]") {
  const Program program;
  write_matrices(program);
  const Outcome outcome = program.run("sequence a1.mtx a2.mtx a1.mtx --json");
  CHECK(outcome.status == 0);
  const auto steps = outcome.json()["steps"];
  REQUIRE(steps.size() == 3);
  CHECK(steps[0]["times"]["ordering"].is_number());
  CHECK(steps[0]["times"]["numeric"].is_number());
  CHECK(steps[0]["times"]["refactor"].is_null());
  for (const int k : {1, 2}) {
    CHECK(steps[static_cast<std::size_t>(k)]["times"]["ordering"].is_null());
    CHECK(steps[static_cast<std::size_t>(k)]["times"]["numeric"].is_null());
    CHECK(steps[static_cast<std::size_t>(k)]["times"]["refactor"].is_number());
  }
  CHECK(steps[1]["matrix"]["file"] == "a2.mtx");
  for (const auto& step : steps) CHECK(step["errors"]["forward"].get<double>() < 1e-14);
}

TEST_CASE("a sequence ends with the worst status after all its steps", "[cli]") {
  const Program program;
  write_matrices(program);
  const Outcome outcome = program.run("sequence a1.mtx singular.mtx a2.mtx --json");
  CHECK(outcome.status == 3);
  const auto steps = outcome.json()["steps"];
  REQUIRE(steps.size() == 3);
  CHECK(steps[1]["status"] == "numerically_singular");
  CHECK(steps[1]["errors"]["forward"].is_null());
  CHECK(steps[2]["status"] == "success");
}

TEST_CASE("a file that does not fit is refused by name after the report of earlier steps", "[cli]") {
  const Program program;
  write_matrices(program);
  program.write_matrix("broken.mtx", "2 2 4\n1 1 5\n");
  for (const auto& [file, message] : {std::pair("other.mtx", "other.mtx: row 1 has other columns"),
                                      std::pair("larger.mtx", "larger.mtx: 3 rows"),
                                      std::pair("complex.mtx", "complex.mtx: complex, but a1.mtx is real"),
                                      std::pair("absent.mtx", "absent.mtx: cannot be opened"),
                                      std::pair("broken.mtx", "broken.mtx:3: the file ends")}) {
    const Outcome outcome = program.run("sequence a1.mtx " + std::string(file) + " a2.mtx --json");
    CHECK(outcome.status == 2);
    CHECK_THAT(outcome.error, ContainsSubstring(message));
    CHECK(outcome.json()["steps"].size() == 1);
  }
}

TEST_CASE("a sequence prints a readable report for each step", "[cli]") {
  const Program program;
  write_matrices(program);
  const Outcome outcome = program.run("sequence a1.mtx a2.mtx");
  CHECK_THAT(outcome.output, ContainsSubstring("a1.mtx: 2 × 2") && ContainsSubstring("a2.mtx: 2 × 2"));
  CHECK(program.run("sequence a1.mtx a2.mtx --quiet").output.empty());
  if (program.has_scalar("c128"))
    CHECK(program.run("sequence complex.mtx a1.mtx --quiet --repeat 2 --nrhs 2 --transpose").status == 0);
}

}  // namespace
}  // namespace lutra::Test
