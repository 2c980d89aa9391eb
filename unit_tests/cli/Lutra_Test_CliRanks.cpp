// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "Lutra_TestProgram.hpp"

using lutra::Test::Outcome;
using lutra::Test::Program;

namespace {

Outcome run_ranks(const Program& program, int ranks, const std::string& arguments) {
  return program.run(arguments, LUTRA_MPIEXEC " " + std::to_string(ranks));
}

int count(const std::string& text, const std::string& part) {
  int found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

}  // namespace

TEST_CASE("solve under mpirun: all ranks work and rank 0 reads and writes", "[cli]") {
  const Program program;
  REQUIRE(program.run("generate poisson2d --size 20 a.mtx").status == 0);
  const Outcome solved = run_ranks(program, 4, "solve a.mtx --grid 2x2 --nrhs 3 --out x.mtx --json");
  REQUIRE(solved.status == 0);
  const auto json = solved.json();
  CHECK(json["ranks"] == 4);
  CHECK(json["grid"]["name"] == "2x2");
  CHECK(json["status"] == "success");
  CHECK(json["errors"]["backward_componentwise"] <= 1e-12);
  CHECK(json["errors"]["forward"] <= 1e-11);
  std::int64_t rows = 0;
  for (const auto& rank : json["grid"]["ranks"]) {
    rows += rank["rows"].get<std::int64_t>();
    CHECK(rank["entries"] > 0);
    CHECK(rank["messages"] > 0);
  }
  CHECK(rows == 400);
  CHECK(program.read("x.mtx").find("400 3") != std::string::npos);

  const Outcome lines = run_ranks(program, 2, "solve a.mtx --rhs x.mtx --out y.mtx");
  CHECK(lines.status == 0);
  CHECK(count(lines.output, "\n") == 5);
  CHECK(count(lines.output, ", 2 ranks\n") == 1);  // no grid
  CHECK(count(lines.output, "success; X is in y.mtx") == 1);
  const Outcome text = run_ranks(program, 2, "solve a.mtx --rhs x.mtx --out y.mtx --verbose");
  CHECK(text.status == 0);
  CHECK(count(text.output, "ranks     2\n") == 1);
  CHECK(count(text.output, "rank 0 factorized alone: ") == 1);
  CHECK(count(text.output, "status") == 1);
}

TEST_CASE("under mpirun solves are on fronts, and the times of stages add up", "[cli]") {
  const Program program;
  REQUIRE(program.run("generate poisson3d --size 24 a.mtx").status == 0);
  const Outcome solved = run_ranks(program, 2, "solve a.mtx --method lu --engine multifrontal --json");
  REQUIRE(solved.status == 0);
  const auto json = solved.json();
  CHECK(json["grid"]["name"] == "0x0");
  CHECK(json["memory"]["device_peak_bytes"].get<double>() > 0);
  CHECK(json["choice"]["trisolve"] == "distributed fronts");
  CHECK(json["errors"]["backward_componentwise"] <= 1e-12);
  std::int64_t rows = 0;
  for (const auto& rank : json["grid"]["ranks"]) {
    rows += rank["rows"].get<std::int64_t>();
    // B, X, and sums or solutions for each part, of which a rank has up to 8; of the probe of the condition,
    // too
    CHECK(rank["messages"] <= 2 * (2 + 8));
  }
  CHECK(rows == 24 * 24 * 24);
  double sum = 0;
  for (const char* stage : {"read", "matching", "ordering", "symbolic", "levelization", "numeric", "solve",
                            "refine", "distribution"})
    sum += json["times"][stage].get<double>();
  CHECK(sum <= 1.05 * json["times"]["total"].get<double>());
  CHECK(sum >= 0.8 * json["times"]["total"].get<double>());  // 0.99 on a quiet machine
}

TEST_CASE("under mpirun all ranks find the pattern of L + U if fill2 is asked for", "[cli]") {
  const Program program;
  REQUIRE(program.run("generate convdiff3d --size 8 a.mtx").status == 0);
  const std::string options = "solve a.mtx --engine simplicial --symbolic fill2 --json --out ";
  const auto alone = program.run(options + "alone.mtx").json();
  const Outcome solved = run_ranks(program, 3, options + "x.mtx");
  INFO(solved.error);
  REQUIRE(solved.status == 0);
  const auto json = solved.json();
  CHECK(json["choice"]["engine"] == "simplicial");
  CHECK(json["choice"]["symbolic"] == "fill2");
  const auto why = json["choice"]["why"].get<std::string>();
  CHECK(count(why, "fill2: its rows were searched for by 3 ranks") == 1);
  CHECK(count(why, "rank 0 factorized alone: ") == 1);
  for (const char* factor : {"nnz_l", "nnz_u", "flops", "levels"})
    CHECK(json["factors"][factor] == alone["factors"][factor]);
  CHECK(program.read("x.mtx") == program.read("alone.mtx"));
  std::int64_t sources = 0;
  for (const auto& rank : json["grid"]["ranks"]) {
    sources += rank["sources"].get<std::int64_t>();
    CHECK(rank["edges"] > 0);
    CHECK(rank["search_seconds"] > 0);
  }
  CHECK(sources == 512);

  const Outcome other = run_ranks(program, 2, "solve a.mtx --engine simplicial --symbolic fill1 --json");
  REQUIRE(other.status == 0);
  const auto json_of_other = other.json();
  for (const auto& rank : json_of_other["grid"]["ranks"]) CHECK(rank["sources"].is_null());
  const Outcome text = run_ranks(program, 2, "solve a.mtx --symbolic fill2 --verbose");
  CHECK(text.status == 0);
  CHECK(count(text.output, "256 rows of L + U found along ") == 2);
  const Outcome small = run_ranks(program, 2, "solve a.mtx --symbolic fill2 --memory-limit 60K --json");
  CHECK(small.status == 4);
  CHECK(small.json()["status"] == "out_of_memory");
  const Outcome wrong = run_ranks(program, 2, "solve a.mtx --symbolic fill3");
  CHECK(wrong.status == 2);
  CHECK(count(wrong.error, "fill3") == 1);
}

TEST_CASE("under mpirun symmetric matrices are solved by LDLT and Cholesky", "[cli]") {
  const Program program;
  REQUIRE(program.run("generate poisson3d --size 12 a.mtx").status == 0);
  REQUIRE(program.run("generate kkt --size 900 k.mtx").status == 0);
  // with a limit ranks are used whether or not they are predicted to pay
  for (const std::string arguments : {"a.mtx --method cholesky", "a.mtx --method ldlt", "k.mtx --method ldlt",
                                      "a.mtx --method ldlt --triangle upper"}) {
    const Outcome solved =
        run_ranks(program, 3, "solve " + arguments + " --memory-limit 1G --repeat 1 --json");
    INFO(arguments << "\n" << solved.error);
    REQUIRE(solved.status == 0);
    const auto json = solved.json(), alone = program.run("solve " + arguments + " --json").json();
    CHECK(json["choice"]["method"] == alone["choice"]["method"]);
    CHECK(json["errors"]["backward_componentwise"] <= 1e-12);
    CHECK(json["errors"]["forward"] <= 1e-10);
    CHECK(json["inertia"] == alone["inertia"]);
    if (arguments[0] == 'a') CHECK(json["choice"]["trisolve"] == "distributed fronts");
  }
  const Outcome small = run_ranks(program, 2, "solve a.mtx --method ldlt --json");
  CHECK(count(small.json()["choice"]["why"].get<std::string>(),
              "rank 0 factorized alone: 2 ranks would spare") == 1);
  const Outcome indefinite = run_ranks(program, 2, "solve k.mtx --method cholesky --json");
  CHECK(indefinite.status == program.run("solve k.mtx --method cholesky --json").status);
  CHECK(indefinite.json()["status"] == "not_positive_definite");
}

// README, Limitations: "Several ranks solve one system by LU, LDLᵀ and Krylov methods"
TEST_CASE("under mpirun an error is printed once", "[cli]") {
  const Program program;
  program.write_small();
  program.write("bad.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 1\n1 3 4\n");
  const auto check = [&](const std::string& arguments, const std::string& message) {
    const Outcome outcome = run_ranks(program, 3, arguments);
    INFO(arguments << "\n" << outcome.error);
    CHECK(outcome.status == 2);
    CHECK(count(outcome.error, "lutra: ") == 1);
    CHECK(count(outcome.error, message) == 1);
    CHECK(outcome.output.empty());
  };
  check("solve bad.mtx", "bad.mtx:3");
  check("solve a.mtx --grid 2x2", "--grid: invalid value '2x2' (choose from 3x1, 1x3, 1x1)");
  for (const std::string option :
       {"--trisolve levels", "--solve-precision single", "--factor-precision single", "--solve-singular"})
    check("solve a.mtx " + option, option + " is not available on several ranks");
  check("solve a.mtx --method gmres --precond jacobi", "--precond jacobi is not available on several ranks");
  check("solve a.mtx --method ldlt --grid 3x1",
        "--grid with --method ldlt is not available on several ranks");
  check("solve a.mtx --wrong", "--wrong");
  check("solve a.mtx --transport peer", "--transport peer is for solves on a grid of devices");
  const Outcome alone = program.run("solve a.mtx --grid 2x1");
  CHECK(alone.status == 2);
  CHECK(count(alone.error, "--grid 2x1 is for several ranks") == 1);
  CHECK(count(program.run("solve a.mtx --transport mpi").error, "--transport mpi is for several ranks") == 1);
}

TEST_CASE("under mpirun a deadline ends a call as on one rank", "[cli]") {
  const Program program;
  program.write_matrix("s.mtx", "2 2 4\n1 1 4\n1 2 1\n2 1 1\n2 2 3\n");
  for (const std::string method : {"lu", "ldlt", "gmres"}) {
    const Outcome outcome =
        run_ranks(program, 2, "solve s.mtx --method " + method + " --deadline 1e-9 --json");
    INFO(method << "\n" << outcome.error);
    CHECK(outcome.status == 5);
    CHECK(outcome.json()["status"] == "cancelled");
  }
}

TEST_CASE("under mpirun SIGINT to a rank ends a solve with a whole report", "[cli]") {
  const Program program;
  REQUIRE(program.run("generate poisson3d --size 16 a.mtx").status == 0);
  for (const std::string engine : {"auto", "multifrontal"}) {  // rank 0 works alone, or all do
    std::string report;
    for (int seconds = 1; report.empty() && seconds <= 32; seconds *= 2) {  // before a solve there is none
      const Outcome outcome =
          program.run("solve a.mtx --method lu --engine " + engine + " --repeat 1000000000 --json=" + engine +
                          " --out x.mtx",
                      LUTRA_MPIEXEC " 2 timeout --preserve-status --signal=INT " + std::to_string(seconds));
      INFO(engine << "\n" << outcome.error);
      CHECK(outcome.status != 0);
      if (program.exists(engine)) report = program.read(engine);
    }
    REQUIRE_FALSE(report.empty());
    CHECK(nlohmann::json::parse(report)["status"] == "cancelled");
    CHECK_FALSE(program.exists("x.mtx"));
  }
}

TEST_CASE("under mpirun a type that may not be built ends as on one rank", "[cli]") {
  const Program program;
  program.write("a.mtx", "%%MatrixMarket matrix coordinate complex general\n2 2 2\n1 1 1 2\n2 2 3 4\n");
  const Outcome alone = program.run("solve a.mtx --json");
  for (int run = 0; run < 3; ++run) {
    const Outcome together = run_ranks(program, 3, "solve a.mtx --method lu --json");
    INFO(together.error);
    CHECK(together.status == alone.status);
    CHECK(count(together.error, "was not built in") == (alone.status == 0 ? 0 : 1));
  }
}

TEST_CASE("under mpirun a singular pattern ends as on one rank, also with iterative methods", "[cli]") {
  const Program program;
  program.write("a.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1\n1 2 1\n");
  for (const std::string options : {"--method gmres", "--method bicgstab --precond lu", "--method lu"}) {
    const std::string arguments = "solve a.mtx --json --out x.mtx " + options;
    const Outcome alone = program.run(arguments), together = run_ranks(program, 2, arguments);
    INFO(options << "\n" << together.output << together.error);
    CHECK(together.status == 3);
    CHECK(together.status == alone.status);
    CHECK(together.json()["status"] == "structurally_singular");
    CHECK(together.json()["message"] == alone.json()["message"]);
    CHECK_FALSE(program.exists("x.mtx"));
  }
}

TEST_CASE("solve under mpirun: transposed, iterative, with and without refinement, on one rank", "[cli]") {
  const Program program;
  REQUIRE(program.run("generate convdiff3d --size 7 a.mtx").status == 0);
  const auto solve = [&](const std::string& arguments) {
    const Outcome outcome = run_ranks(program, 2, "solve a.mtx --json " + arguments);
    INFO(arguments << "\n" << outcome.error);
    REQUIRE(outcome.status == 0);
    const auto json = outcome.json();
    CHECK(json["errors"]["forward"] <= 1e-7);
    CHECK(json["grid"]["predicted_seconds"] > 0);
    return json;
  };
  CHECK(solve("--transpose --refine 0 --repeat 2 --grid 2x1")["refinement_steps"] == 0);
  CHECK(solve("--tol 1e-15 --grid 1x1")["grid"]["name"] == "1x1");
  const auto iterative = solve("--method gmres --precond iluk --nrhs 2 --grid 1x2");
  CHECK(iterative["iterations"] > 0);
  CHECK(iterative["choice"]["precond"] == "iluk");
  CHECK(iterative["choice"]["trisolve"] == "distributed");
}

TEST_CASE("solve under mpirun: auto takes the method that it takes on one rank", "[cli]") {
  const Program program;
  const std::string kind =
      GENERATE(as<std::string>(), "poisson3d --size 14", "kkt --size 400", "circuit --size 200");
  REQUIRE(program.run("generate " + kind + " a.mtx").status == 0);
  const Outcome alone = program.run("solve a.mtx --json"),
                together = run_ranks(program, 2, "solve a.mtx --json");
  INFO(kind << "\n" << together.error);
  REQUIRE(together.status == 0);
  const auto one = alone.json()["choice"], two = together.json()["choice"];
  CHECK(two["method"] == one["method"]);
  const std::string reason = one["why"].get<std::string>().substr(0, 20);
  CHECK(two["why"].get<std::string>().starts_with(reason));
  CHECK(together.json()["errors"]["backward_componentwise"] <= 1e-12);
}
