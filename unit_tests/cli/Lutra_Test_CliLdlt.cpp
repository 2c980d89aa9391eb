// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "Lutra_TestProgram.hpp"

namespace lutra::Test {
namespace {

using Catch::Matchers::ContainsSubstring;

void write_symmetric(const Program& program, const std::string& name, const std::string& lines) {
  program.write(name, "%%MatrixMarket matrix coordinate real symmetric\n" + lines);
}

TEST_CASE("a symmetric system and its inertia", "[cli]") {
  const Program program;
  write_symmetric(program, "s.mtx", "3 3 3\n2 1 2\n3 3 -4\n3 2 0\n");  // [0 2; 2 0] and −4
  const std::string more = GENERATE("", "--triangle upper", "--pair-ordering", "--matching auction",
                                    "--backend serial --front-pivoting blocks",
                                    "--pivot threshold --pivot-tol 0.5", "--nrhs 3 --transpose");
  const Outcome outcome = program.run("solve s.mtx --method ldlt --json " + more);
  INFO(more << outcome.error);
  REQUIRE(outcome.status == 0);
  const auto json = outcome.json();
  CHECK(json["choice"]["method"] == "ldlt");
  CHECK(json["inertia"]["positive"] == 1);
  CHECK(json["inertia"]["negative"] == 2);
  CHECK(json["inertia"]["zero"] == 0);
  CHECK(json["pivots"]["two_by_two"] == 1);
  CHECK(json["pivots"]["zero"] == 0);
  CHECK(json["pivots"]["attempt"].is_string());
  CHECK(json["factors"]["nnz_u"] == 0);
  CHECK(json["errors"]["forward"].get<double>() < 1e-12);
  const Outcome text = program.run("solve s.mtx --method ldlt --verbose " + more);
  CHECK_THAT(text.output, ContainsSubstring("inertia   positive 1, negative 2, zero 0"));
}

TEST_CASE("one triangle of a general file", "[cli]") {
  const Program program;
  program.write_small();  // [ 4 1 ; 2 3 ]
  for (const std::string method : {"ldlt", "cholesky"}) {
    for (const std::string command : {"solve a.mtx", "sequence a.mtx a.mtx"}) {
      const Outcome outcome = program.run(command + " --json --method " + method + " --triangle lower");
      INFO(command << " " << outcome.error);
      CHECK(outcome.status == 0);
      const auto json = outcome.json();
      const auto& report = json.contains("steps") ? json["steps"][0] : json;
      CHECK(report["inertia"]["positive"] == 2);
      // x* solves the system of the triangle, [ 4 2 ; 2 3 ], and not that of the file.
      CHECK(report["errors"]["forward"].get<double>() < 1e-12);
    }
  }
}

TEST_CASE("one triangle of a Hermitian matrix in a general file", "[cli]") {
  const Program program;
  if (!program.has_scalar("c128")) return;
  program.write("h.mtx",
                "%%MatrixMarket matrix coordinate complex general\n"
                "3 3 5\n1 1 4 0\n2 2 5 0\n3 3 6 0\n1 2 1 2\n3 1 9 9\n");
  const auto json = program.run("solve h.mtx --json --method ldlt --triangle upper").json();
  CHECK(json["errors"]["forward"].get<double>() < 1e-12);
}

TEST_CASE("Cholesky names the column at which a matrix is indefinite", "[cli]") {
  const Program program;
  write_symmetric(program, "s.mtx", "2 2 2\n1 1 4\n2 2 -4\n");
  const Outcome outcome = program.run("solve s.mtx --json --method cholesky --ordering natural");
  CHECK(outcome.status == 3);
  CHECK(outcome.json()["status"] == "not_positive_definite");
  CHECK(outcome.json()["inertia"]["positive"].is_null());
  CHECK_THAT(outcome.json()["message"].get<std::string>(), ContainsSubstring("column 2"));
  CHECK(program.run("solve s.mtx --method ldlt").status == 0);
}

TEST_CASE("symmetric sequences, properties and Hermitian files", "[cli]") {
  const Program program;
  write_symmetric(program, "s1.mtx", "2 2 3\n1 1 4\n2 1 1\n2 2 3\n");
  write_symmetric(program, "s2.mtx", "2 2 3\n1 1 4\n2 1 1\n2 2 -3\n");
  const Outcome sequence = program.run("sequence s1.mtx s2.mtx --method ldlt --json");
  CHECK(sequence.status == 0);
  CHECK(sequence.json()["steps"][0]["inertia"]["negative"] == 0);
  CHECK(sequence.json()["steps"][1]["inertia"]["negative"] == 1);
  const Outcome info = program.run("info s1.mtx --method ldlt --json --svg s.svg");
  CHECK(info.status == 0);
  CHECK(info.json()["choice"]["method"] == "ldlt");
  CHECK(program.exists("s.svg"));
  if (!program.has_scalar("c128")) return;
  program.write("h.mtx",
                "%%MatrixMarket matrix coordinate complex hermitian\n2 2 3\n1 1 1 0\n2 1 0 2\n2 2 1 0\n");
  const Outcome hermitian = program.run("solve h.mtx --method ldlt --json");  // eigenvalues 3 and −1
  CHECK(hermitian.status == 0);
  CHECK(hermitian.json()["inertia"]["positive"] == 1);
  CHECK(hermitian.json()["inertia"]["negative"] == 1);
}

TEST_CASE("auto chooses a symmetric method for a symmetric matrix", "[cli]") {
  const Program program;
  if (!program.has_backend("serial")) return;
  const auto run = [&program](const std::string& call) {
    const Outcome outcome = program.run(call + " --backend serial --json");
    INFO(outcome.error);
    CHECK(outcome.status == 0);
    return outcome.json();
  };
  // Full matrices of 150 rows, so that fronts have something to do.
  const auto write_full = [&program](const char* name, double first, double upper, double diagonal) {
    std::string lines = "150 150 22500\n";
    for (int i = 1; i <= 150; ++i)
      for (int j = 1; j <= 150; ++j)
        lines += std::to_string(i) + " " + std::to_string(j) + " " +
                 std::to_string(i == j             ? (i == 1 ? first : diagonal)
                                : i == 1 && j == 2 ? upper
                                                   : 1) +
                 "\n";
    program.write_matrix(name, lines);
  };
  write_full("s1.mtx", 300, 1, 300);
  write_full("s2.mtx", 0, 1, 300);
  write_full("s3.mtx", 300, 2, 300);
  write_symmetric(program, "small.mtx", "2 2 3\n1 1 4\n2 1 1\n2 2 3\n");
  const auto choice = [&](const std::string& arguments) {
    const auto record = run("solve " + arguments);
    CHECK(record["choice"] == run("info " + arguments)["choice"]);
    return record["choice"];
  };
  CHECK(choice("s1.mtx")["method"] == "cholesky");
  CHECK_THAT(choice("s1.mtx")["why"].get<std::string>(), ContainsSubstring("diagonally dominant"));
  CHECK(choice("s2.mtx")["method"] == "ldlt");
  CHECK_THAT(choice("s2.mtx")["why"].get<std::string>(), ContainsSubstring("1 zeros on the diagonal"));
  CHECK(choice("small.mtx")["method"] == "lu");
  CHECK_THAT(choice("small.mtx")["why"].get<std::string>(), ContainsSubstring("flops per stored entry"));
  CHECK(choice("s3.mtx")["method"] == "lu");
  CHECK_THAT(choice("s3.mtx")["why"].get<std::string>(), ContainsSubstring("not symmetric"));
  CHECK(choice("s1.mtx --engine simplicial")["method"] == "lu");
  CHECK(choice("s1.mtx --pivot static")["method"] == "lu");
  CHECK(choice("s1.mtx --memory-limit 1G")["method"] == "lu");
  CHECK(choice("s1.mtx --method lu")["method"] == "lu");
  // A sequence goes over to the method that a later matrix needs, and stays with it.
  const auto steps = run("sequence s1.mtx s2.mtx s1.mtx s3.mtx s1.mtx")["steps"];
  std::vector<std::string> methods;
  for (const auto& step : steps) methods.push_back(step["choice"]["method"]);
  CHECK(methods == std::vector<std::string>{"cholesky", "ldlt", "ldlt", "lu", "lu"});
}

TEST_CASE("the bits do not depend on the run or the number of threads", "[cli]") {
  const Program program;
  REQUIRE(program.run("generate kkt --size 1500 kkt.mtx").status == 0);
  REQUIRE(program.run("generate poisson3d --size 13 poisson.mtx").status == 0);
  const bool openmp = program.has_backend("openmp");
  const std::string backend = openmp ? " --backend openmp" : "";
  for (const std::string call : {"kkt.mtx --method ldlt", "kkt.mtx --method ldlt --pair-ordering",
                                 "poisson.mtx --method ldlt", "poisson.mtx --method cholesky --nrhs 3"}) {
    INFO(call);
    std::string first;
    for (const std::string threads : {"1", "2", "4", "4"}) {
      const Outcome outcome = program.run("solve " + call + backend + " --out x.mtx --json",
                                          "OMP_PROC_BIND=false OMP_NUM_THREADS=" + threads);
      REQUIRE(outcome.status == 0);
      if (openmp) CHECK(outcome.json()["threads"] == std::stoi(threads));
      if (first.empty()) first = program.read("x.mtx");
      CHECK(program.read("x.mtx") == first);
    }
  }
}

}  // namespace
}  // namespace lutra::Test
