// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <set>
#include <string>

#include "Lutra_TestProgram.hpp"

namespace lutra::Test {
namespace {

using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::StartsWith;

// A wrong call and what the message has to say.
struct WrongCall {
  std::string arguments, message;
};

void check_refused(const Program& program, const WrongCall& call) {
  INFO("lutra " << call.arguments);
  const Outcome outcome = program.run(call.arguments);
  CHECK(outcome.status == 2);
  CHECK(outcome.output.empty());
  CHECK_THAT(outcome.error, StartsWith("lutra: ") && ContainsSubstring(call.message));
}

TEST_CASE("invalid calls end with status 2", "[cli]") {
  const Program program;
  program.write_small();
  check_refused(
      program,
      GENERATE(values<WrongCall>({
          {"", "subcommand"},
          {"fly", "invalid command 'fly' (choose from solve, sequence, info"},
          {"solve", "A.mtx is required"},
          {"solve a.mtx b.mtx", "b.mtx"},
          {"solve a.mtx --colour red", "--colour"},
          {"solve a.mtx --nrhs 0", "--nrhs"},
          {"solve a.mtx --nrhs two", "--nrhs"},
          {"solve a.mtx --nrhs 2.5", "--nrhs"},
          {"solve a.mtx --refine -1", "--refine: -1 is out of range (0 or more)"},
          {"solve a.mtx --repeat 0", "--repeat"},
          {"solve a.mtx --tol 0", "--tol: 0 is out of range (above 0)"},
          {"solve a.mtx --tol=-1", "--tol"},
          {"solve a.mtx --tol nan", "--tol: 'nan' is not a finite number"},
          {"solve a.mtx --perturbation 0", "--perturbation: 0 is out of range (above 0)"},
          {"solve a.mtx --transpose --adjoint", "--adjoint"},
          {"solve a.mtx --memory-limit 2X", "--memory-limit '2X'"},
          {"solve a.mtx --memory-limit -5", "--memory-limit"},
          {"solve a.mtx --memory-limit 0", "--memory-limit"},
          {"solve a.mtx --memory-limit 1e3", "--memory-limit"},
          {"solve a.mtx --tol 1 --tol 2", "--tol"},
          {"solve - --rhs -", "one file only"},
          {"solve a.mtx --out -", "--quiet"},
          {"solve a.mtx --quiet --out - --json", "standard output"},
          {"solve a.mtx --out no/such/x.mtx", "no folder no/such"},
          {"solve a.mtx --out x.mtx.gz", "not written"},
          {"solve a.mtx --out .", "is a folder"},
          {"solve a.mtx --json=no/r.json", "no folder no"},
          {"solve --json a.mtx b.mtx", "b.mtx"},
          {"sequence", "A.mtx is required"},
          {"sequence a.mtx --rhs b.mtx", "--rhs"},
          {"info a.mtx --svg no/a.svg", "no folder no"},
          {"info a.mtx a.mtx", "a.mtx"},
          {"info a.mtx --nrhs 2", "--nrhs"},
          {"info a.mtx --json=no/r.json", "no folder no"},
          {"generate", "KIND is required"},
          {"generate poisson2d --size 3", "F.mtx is required"},
          {"generate poisson2d x.mtx", "--size is required"},
          {"generate torus --size 3 x.mtx", "'torus'"},
          {"generate poisson2d --size 0 x.mtx", "size 0 is below 1"},
          {"generate poisson3d --size 5000 x.mtx", "too large"},
          {"generate poisson2d --size 3 no/x.mtx", "no folder no"},
          {"generate poisson2d --size 3 x.mtx.xz", "not written"},
          {"version --fast", "--fast"},
          {"solve a.mtx --columns mode=levels", "belongs to --engine simplicial"},
          {"solve a.mtx --engine simplicial --columns modes=A",
           "--columns: invalid value 'modes' (choose from mode, format, levels, portable, supernodes"},
          {"solve a.mtx --engine simplicial --columns mode=D",
           "--columns mode: invalid value 'D' (choose from flow, levels, A, B, C)"},
          {"solve a.mtx --engine simplicial --columns mode", "'mode' is not KEY=VALUE"},
          {"solve a.mtx --engine simplicial --columns mode=A,", "'' is not KEY=VALUE"},
          {"solve a.mtx --engine simplicial --columns ''", "--columns: the value is empty"},
          {"solve a.mtx --memory-limit ''", "--memory-limit: the value is empty"},
          {"solve a.mtx --json= --quiet", "--json: the value is empty"},
          {"solve ''", "the name of a file: the value is empty"},
          {"solve a.mtx --backend serial --engine simplicial --columns supernodes=on,levels=device",
           "options: levels by device launches need CUDA (choose from cooperative, portable)"},
          {"solve a.mtx --engine simplicial --columns format=dense", "data flow"},
          {"solve a.mtx --backend serial --engine simplicial --columns mode=A",
           "on hosts the simplicial engine is up-looking"},
          {"solve a.mtx --method ldlt --columns mode=A", "--columns"},
          {"solve a.mtx --method gmres --engine simplicial --columns mode=A", "is not used"},
      })));
}

TEST_CASE("options and values that are not implemented do not exist", "[cli]") {
  const Program program;
  program.write_small();
  const std::string command = GENERATE("solve a.mtx ", "sequence a.mtx ", "info a.mtx ");
  check_refused(program,
                {command + "--method qr",
                 "--method: invalid value 'qr' (choose from auto, lu, ldlt, cholesky, gmres, bicgstab, cg)"});
  for (const std::string option : {"--grid 1x2", "--ranks 2"}) {
    check_refused(program, {command + option, option.substr(0, option.find(' '))});
  }
}

TEST_CASE("threshold pivoting is refused where it is not available", "[cli]") {
  const Program program;
  program.write_small();
  check_refused(program, {"solve a.mtx --pivot threshold --engine simplicial", "works in fronts"});
  check_refused(program, {"solve a.mtx --pivot threshold --trisolve levels", "solves on the fronts"});
  check_refused(program, {"solve a.mtx --pivot threshold --solve-precision single", "working precision"});
  check_refused(program, {"solve a.mtx --pivot threshold --pivot-tol 2", "above 0 and at most 1"});
  check_refused(program, {"solve a.mtx --pivot-tol 0.1", "belongs to --pivot threshold"});
}

TEST_CASE("options that a method does not use are refused", "[cli]") {
  const Program program;
  program.write_small();
  check_refused(
      program,
      GENERATE(values<WrongCall>({
          {"solve a.mtx --method ldlt --engine simplicial", "--engine is not used with --method ldlt"},
          {"solve a.mtx --method ldlt --symbolic fill1", "--symbolic is not used"},
          {"solve a.mtx --method cholesky --trisolve levels", "--trisolve is not used"},
          {"solve a.mtx --method ldlt --solve-precision single", "--solve-precision is not used"},
          {"solve a.mtx --method ldlt --precond ilu0", "--precond is not used"},
          {"solve a.mtx --method cholesky --pivot threshold", "--pivot is not used"},
          {"solve a.mtx --method cholesky --pair-ordering", "--pair-ordering is not used"},
          {"solve a.mtx --method cholesky --pivot-tol 0.1", "--pivot-tol is not used"},
          {"solve a.mtx --method ldlt --pivot none --pivot-tol 0.1", "--pivot-tol is not used"},
          {"solve a.mtx --method ldlt --pivot-tol 0.6", "at most 0.5"},
          {"solve a.mtx --method ldlt --perturbation 1e-8", "--perturbation is not used"},
          {"solve a.mtx --method ldlt --pivot static --front-pivoting blocks",
           "--front-pivoting is not used with --pivot static"},
          {"solve a.mtx --method lu --front-pivoting blocks",
           "--front-pivoting is not used with --method lu"},
          {"solve a.mtx --method ldlt --triangle left", "--triangle: invalid value 'left'"},
          {"solve a.mtx --method ldlt --pair-ordering --matching none", "needs a matching"},
          {"solve a.mtx --method ldlt", "a.mtx: it is not symmetric: row 1, column 2"},
          {"info a.mtx --method ldlt", "not symmetric"},
          {"solve a.mtx --pivot none", "--pivot none belongs to --method ldlt and cholesky"},
          {"solve a.mtx --triangle lower", "--triangle is not used with --method auto"},
          {"solve a.mtx --method gmres --pair-ordering", "--pair-ordering is not used"},
      })));
}

TEST_CASE("unknown values are refused with a list of the valid ones", "[cli]") {
  const Program program;
  program.write_small();
  const std::string name =
      GENERATE("--method", "--scalar", "--ordering", "--matching", "--engine", "--symbolic", "--pivot",
               "--trisolve", "--solve-precision", "--factor-precision", "--backend");
  for (const std::string command : {"solve a.mtx ", "info a.mtx "}) {
    check_refused(program, {command + name + " nonsense", name + ": invalid value 'nonsense' (choose from "});
  }
}

TEST_CASE("a backend that was not compiled is refused with a list of the others", "[cli]") {
  const Program program;
  program.write_small();
  const auto built = program.run("version --json").json()["backends"].get<std::vector<std::string>>();
  for (const std::string backend : {"serial", "openmp", "cuda", "hip"}) {
    if (std::find(built.begin(), built.end(), backend) != built.end()) {
      if (backend == "serial" || backend == "openmp") {
        CHECK(program.run("solve a.mtx --json --backend " + backend).json()["backend"] == backend);
      }
      continue;
    }
    check_refused(program,
                  {"solve a.mtx --backend " + backend, "--backend " + backend + ": not in this build"});
  }
}

TEST_CASE("deterministic runs are offered for every backend of hosts", "[cli]") {
  const Program program;
  program.write_small();
  std::set<std::string> solutions;
  for (const std::string backend : {"serial", "openmp"}) {
    if (!program.has_backend(backend)) continue;
    const Outcome outcome = program.run("solve a.mtx --deterministic --out x.mtx --backend " + backend);
    INFO(backend << ": " << outcome.error);
    CHECK(outcome.status == 0);
    solutions.insert(program.read("x.mtx"));
  }
  CHECK(solutions.size() == 1);  // the same bits by all of them
}

TEST_CASE("wrong files end with status 2 and name the line", "[cli]") {
  const Program program;
  program.write_small();
  program.write_matrix("bad.mtx", "2 2 1\n3 1 1\n");
  program.write_matrix("wide.mtx", "2 3 1\n1 1 1\n");
  program.write_matrix("empty.mtx", "0 0 0\n");
  program.write_matrix("large.mtx", "2 2 2\n1 1 1\n2 2 1e300\n");
  program.write_matrix("huge.mtx", "2 2 3\n1 1 1e308\n1 2 1e308\n2 2 1\n");
  program.write("b3.mtx", "%%MatrixMarket matrix array real general\n3 1\n1\n2\n3\n");
  program.write("b2.mtx", "%%MatrixMarket matrix array real general\n2 2\n1\n2\n3\n4\n");
  program.write("b0.mtx", "%%MatrixMarket matrix array real general\n2 0\n");
  program.write("blarge.mtx", "%%MatrixMarket matrix array real general\n2 1\n1\n1e300\n");
  program.write("short.txt", "% two of them\n2\n");
  program.write("twice.txt", "2\n2\n");
  program.write("range.txt", "1 3\n");
  program.write("digits.txt", std::string(5000, '9') + "\n");
  program.write("word.txt", "1 two\n");
  const WrongCall call = GENERATE(values<WrongCall>({
      {"solve absent.mtx", "absent.mtx: cannot be opened"},
      {"info absent.mtx", "absent.mtx: cannot be opened"},
      {"solve bad.mtx", "bad.mtx:3: the row index 3 is outside 1 … 2"},
      {"sequence bad.mtx", "bad.mtx:3: "},
      {"info bad.mtx", "bad.mtx:3: "},
      {"solve wide.mtx", "2 by 3 is not square"},
      {"solve empty.mtx", "no rows"},
      {"solve large.mtx --scalar f32", "row 2, column 2 overflows single precision"},
      {"solve huge.mtx", "row 1 of A·x* overflows"},
      {"solve a.mtx --rhs absent.mtx", "absent.mtx: cannot be opened"},
      {"solve a.mtx --rhs b3.mtx", "3 rows do not fit a matrix of 2"},
      {"solve a.mtx --rhs b2.mtx --nrhs 3", "2 right-hand sides, not the 3 of --nrhs"},
      {"solve a.mtx --rhs b0.mtx", "no right-hand side"},
      {"solve a.mtx --rhs blarge.mtx --scalar f32", "row 2, column 1 overflows"},
      {"solve a.mtx --ordering absent.txt", "a file that exists"},
      {"solve a.mtx --ordering short.txt", "short.txt:2: the file ends after 1"},
      {"solve a.mtx --ordering twice.txt", "twice.txt:2: column 2 stands at line 1 already"},
      {"solve a.mtx --ordering range.txt", "range.txt:1: column 3 is outside 1 … 2"},
      {"solve a.mtx --ordering digits.txt",
       "digits.txt:1: column " + std::string(40, '9') + "… is outside 1 … 2"},
      {"solve a.mtx --ordering word.txt", "word.txt:1: 'two' is not an integer"},
  }));
  const bool single = call.arguments.find("f32") != std::string::npos;
  if (single && !program.has_scalar("f32")) {
    check_refused(program, {call.arguments, "--scalar: f32 was not built in"});
  } else {
    check_refused(program, call);
  }
}

TEST_CASE("numerical failures end with status 3 and print the report", "[cli]") {
  const Program program;
  SECTION("structurally singular") {
    program.write_matrix("s.mtx", "3 3 4\n1 1 1\n2 1 1\n2 2 1\n2 3 1\n");  // row 3 is empty
    const Outcome people = program.run("solve s.mtx --out x.mtx");
    CHECK(people.status == 3);
    CHECK_THAT(people.output, ContainsSubstring("structurally_singular") &&
                                  ContainsSubstring("structural rank 2") && ContainsSubstring("row 3"));
    CHECK_FALSE(program.exists("x.mtx"));
    const Outcome json = program.run("solve s.mtx --json");
    CHECK(json.status == 3);
    CHECK(json.json()["status"] == "structurally_singular");
    CHECK_THAT(json.json()["message"].get<std::string>(), ContainsSubstring("row 3"));
    CHECK(json.json()["errors"]["forward"].is_null());
  }
  SECTION("numerically singular") {
    program.write_matrix("s.mtx", "2 2 4\n1 1 1\n1 2 2\n2 1 2\n2 2 4\n");
    const Outcome outcome = program.run("solve s.mtx --json");
    CHECK(outcome.status == 3);
    CHECK(outcome.json()["status"] == "numerically_singular");
    CHECK(outcome.json()["errors"]["backward_componentwise"].is_null());
    const Outcome solved = program.run("solve s.mtx --json --solve-singular --out x.mtx");
    CHECK(solved.status == 3);
    CHECK(solved.json()["status"] == "numerically_singular");
    CHECK(solved.json()["errors"]["backward_componentwise"].get<double>() < 1e-12);  // B is in the range of A
    CHECK(program.exists("x.mtx"));
  }
  SECTION("error above a tolerance nothing reaches") {
    REQUIRE(program.run("generate circuit --size 2000 a.mtx").status ==
            0);  // large enough for no exact solution
    const Outcome outcome = program.run("solve a.mtx --nrhs 8 --json --tol 1e-30 --out x.mtx");
    CHECK(outcome.status == 3);
    CHECK(outcome.json()["status"] == "error_above_tolerance");
    CHECK(program.exists("x.mtx"));
  }
}

TEST_CASE("a memory limit that cannot be met ends with status 4 and prints the report", "[cli]") {
  const Program program;
  REQUIRE(program.run("generate poisson2d --size 20 a.mtx").status == 0);
  const Outcome outcome = program.run("solve a.mtx --memory-limit 2K --json --out x.mtx");
  CHECK(outcome.status == 4);
  CHECK(outcome.json()["status"] == "out_of_memory");
  CHECK_FALSE(outcome.json()["message"].get<std::string>().empty());
  CHECK_FALSE(program.exists("x.mtx"));
  CHECK(program.run("sequence a.mtx a.mtx --memory-limit 2K --quiet").status == 4);
  CHECK(program.run("solve a.mtx --memory-limit 1.5GiB --quiet").status == 0);
  CHECK(program.run("solve a.mtx --memory-limit 100m --json").json()["memory"]["limit_bytes"] ==
        100 * 1024 * 1024);
}

TEST_CASE("a closed output pipe does not crash the program", "[cli]") {
  const Program program;
  program.write_small();
  CHECK(program.run("solve a.mtx", "", "> /dev/full").status == 2);
  CHECK_THAT(program.run("solve a.mtx", "", "> /dev/full").error, ContainsSubstring("standard output"));
  const Outcome full = program.run("solve a.mtx --out /dev/full");
  CHECK(full.status == 2);
  CHECK_THAT(full.output, ContainsSubstring("status    success") && !ContainsSubstring("X is in"));
  CHECK(program.run("--help", "", "> /dev/full").status == 2);
  CHECK(program.run("solve a.mtx", "", ">&-").status == 2);
  // The status of the first command of a pipe whose reader has gone, by way of a file.
  program.run("generate poisson2d --size 300 -", "(", "2> /dev/null; echo $? > status ) | true");
  CHECK_THAT(program.read("status"), StartsWith("0") || StartsWith("2"));
}

}  // namespace
}  // namespace lutra::Test
