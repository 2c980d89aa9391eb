// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "Lutra_MatrixMarket.hpp"
#include "Lutra_TestProgram.hpp"

namespace lutra::Test {
namespace {

using Catch::Approx;
using Catch::Matchers::ContainsSubstring;
using Complex = Kokkos::complex<double>;

TEST_CASE("a system worked by hand", "[cli]") {
  const Program program;
  program.write_small();
  // [ 4 1 ; 2 3 ] x = [ 6 ; 8 ] has x = [ 1 ; 2 ]; its transpose with [ 8 ; 7 ] as well.
  program.write("b.mtx", "%%MatrixMarket matrix array real general\n2 1\n6\n8\n");
  program.write("bt.mtx", "%%MatrixMarket matrix array real general\n2 1\n8\n7\n");
  const std::string arguments = GENERATE("--rhs b.mtx", "--rhs bt.mtx --transpose");
  const Outcome outcome = program.run("solve a.mtx --out x.mtx " + arguments);
  CHECK(outcome.status == 0);
  CHECK(outcome.error.empty());
  CHECK_THAT(outcome.output, ContainsSubstring("success"));
  const auto x = read_matrix_market_array(program.path("x.mtx"));
  REQUIRE(x.values.size() == 2);
  CHECK(x.values[0].real() == Approx(1));
  CHECK(x.values[1].real() == Approx(2));
}

TEST_CASE("without right-hand sides the known solution is recovered", "[cli]") {
  const Program program;
  REQUIRE(program.run("generate circuit --size 400 a.mtx").status == 0);
  const std::string arguments =
      GENERATE("", "--transpose", "--nrhs 3", "--scalar f32", "--scalar f32 --transpose --nrhs 2");
  const bool single = arguments.find("f32") != std::string::npos;
  if (!program.has_scalar(single ? "f32" : "f64")) return;
  const Outcome outcome = program.run("solve a.mtx --json --out x.mtx " + arguments);
  INFO(outcome.output << outcome.error);
  CHECK(outcome.status == 0);
  CHECK(outcome.json()["errors"]["forward"].get<double>() < (single ? 1e-2 : 1e-9));
  CHECK(outcome.json()["matrix"]["scalar"] == (single ? "f32" : "f64"));
  const auto x = read_matrix_market_array(program.path("x.mtx"));
  for (std::int64_t c = 0; c < x.n_cols; ++c) {  // x*: (1 + (i mod 7)/4)·(1 + c)
    CHECK(x.values[static_cast<std::size_t>(c * 400 + 9)].real() ==
          Approx(1.5 * static_cast<double>(1 + c)).epsilon(1e-2));
  }
}

TEST_CASE("complex systems are solved", "[cli]") {
  const Program program;
  if (!program.has_scalar("c128")) return;
  program.write("c.mtx",
                "%%MatrixMarket matrix coordinate complex general\n2 2 3\n1 1 2 1\n1 2 0 1\n2 2 0 -3\n");
  program.write("b.mtx", "%%MatrixMarket matrix array complex general\n2 1\n0 4\n2 0\n");
  SECTION("known solution") {
    const Outcome outcome = program.run("solve c.mtx --json");
    CHECK(outcome.status == 0);
    CHECK(outcome.json()["matrix"]["scalar"] == "c128");
    CHECK(outcome.json()["errors"]["forward"].get<double>() < 1e-12);
    if (program.has_scalar("c64"))
      CHECK(program.run("solve c.mtx --json --scalar f32").json()["matrix"]["scalar"] == "c64");
    CHECK(program.run("solve c.mtx --quiet --transpose").status == 0);
    CHECK(program.run("solve c.mtx --json --adjoint").json()["errors"]["forward"].get<double>() < 1e-12);
  }
  SECTION("transposed and conjugate transposed") {
    // [ 2 − i, 0 ; −i, 3i ] x = [ 2 − i ; 3 ] has x = [ 1 ; 1/3 − i ]
    program.write("h.mtx", "%%MatrixMarket matrix array complex general\n2 1\n2 -1\n3 0\n");
    CHECK(program.run("solve c.mtx --adjoint --rhs h.mtx --out x.mtx --quiet").status == 0);
    const auto x = read_matrix_market_array(program.path("x.mtx"));
    CHECK(Kokkos::abs(x.values[0] - Complex(1, 0)) < 1e-14);
    CHECK(Kokkos::abs(x.values[1] - Complex(1.0 / 3, -1)) < 1e-14);
  }
  SECTION("a complex right-hand side makes a real system complex") {
    program.write_small();  // [ 4 1 ; 2 3 ] x = [ 4i ; 2 ]: x = [ (12i − 2)/10 ; (8 − 8i)/10 ]
    CHECK(program.run("solve a.mtx --rhs b.mtx --out x.mtx --quiet").status == 0);
    const auto x = read_matrix_market_array(program.path("x.mtx"));
    CHECK(Kokkos::abs(x.values[0] - Complex(-0.2, 1.2)) < 1e-14);
    CHECK(Kokkos::abs(x.values[1] - Complex(0.8, -0.8)) < 1e-14);
  }
}

TEST_CASE("output goes to the requested files", "[cli]") {
  const Program program;
  program.write_small();
  SECTION("--json on standard output, and nothing else") {
    const Outcome outcome = program.run("solve a.mtx --json");
    CHECK(outcome.json()["status"] == "success");
    CHECK(outcome.json()["message"] == "");
    CHECK(program.run("solve --json a.mtx").json()["matrix"]["file"] == "a.mtx");
    CHECK(program.run("solve a.mtx --json --quiet").json()["matrix"]["nnz"] == 4);
  }
  SECTION("--json FILE beside the report") {
    CHECK_THAT(program.run("solve a.mtx --json r.json").output, ContainsSubstring("success"));
    CHECK_THAT(program.read("r.json"), ContainsSubstring("\"status\": \"success\""));
    CHECK(program.run("solve --json=r2.txt --quiet a.mtx").output.empty());
    CHECK(program.exists("r2.txt"));
  }
  SECTION("--quiet") {
    const Outcome outcome = program.run("solve a.mtx --quiet");
    CHECK(outcome.status == 0);
    CHECK(outcome.output.empty());
    CHECK(outcome.error.empty());
  }
  SECTION("the solution on standard output") {
    CHECK_THAT(program.run("solve a.mtx --quiet --out -").output,
               ContainsSubstring("matrix array real general"));
  }
}

TEST_CASE("a matrix is read from standard input", "[cli]") {
  const Program program;
  program.write_small();
  CHECK(program.run("solve - --quiet", "cat a.mtx |").status == 0);
  CHECK(program.run("solve - --quiet", "gzip -c a.mtx |").status == 0);
  CHECK(program.run("solve -", "", "< /dev/null").status == 2);
  CHECK(program.run("solve -", "", "<&-").status == 2);
}

TEST_CASE("options of fill2 are passed to it, and reported", "[cli]") {
  const Program program;
  REQUIRE(program.run("generate poisson2d --size 12 a.mtx").status == 0);
  const std::string command = "solve a.mtx --backend serial --symbolic fill2 --fill2 ";
  const auto fill2 =
      program.run(command + "kernel=portable,two_parts=true,concurrent=3 --json").json()["fill2"];
  CHECK(fill2["kernel"] == "portable");
  CHECK(fill2["parts"].size() == 2);
  CHECK(fill2["parts"][0]["sources"].get<int>() + fill2["parts"][1]["sources"].get<int>() == 144);
  CHECK(fill2["concurrent"] == 1);
  CHECK(fill2["edges"].get<std::int64_t>() > 0);
  CHECK_THAT(program.run(command + "chunk_bytes=1M --verbose").output,
             ContainsSubstring("fill2     portable"));
  CHECK(program.run("solve a.mtx --symbolic fill1 --json").json()["fill2"].is_null());
  const auto refuses = [&](const std::string& arguments, const std::string& text) {
    const Outcome outcome = program.run(arguments);
    CHECK(outcome.status == 2);
    CHECK_THAT(outcome.error, ContainsSubstring(text));
  };
  refuses("solve a.mtx --fill2 kernel=portable", "--fill2 belongs to --symbolic fill2");
  refuses(command + "kernal=portable", "--fill2: invalid value 'kernal'");
  refuses(command + "kernel", "--fill2: 'kernel' is not KEY=VALUE");
  refuses(command + "kernel=portable,kernel=auto", "--fill2: kernel is given twice");
  CHECK(program.run(command + "chunk_bytes=0").status == 0);
  refuses("solve a.mtx --backend serial --engine simplicial --columns supernodes=on,supernode_zeros=2",
          "--columns supernode_zeros: 2 is out of range");
  refuses(command + "kernel=lanes", "--fill2 kernel: invalid value 'lanes'");
  refuses(command + "queue_share=2", "--fill2 queue_share: 2 is out of range");
  refuses(command + "chunk_bytes=much", "--fill2 chunk_bytes 'much' is not a number of bytes");
  refuses(command + "kernel=frontiers", "fill2.kernel frontiers needs CUDA");
  refuses(command + "external=host", "fill2.external belongs to the kernel frontiers");
  refuses(command + "concurrent=3 --engine multifrontal", "fill2.… need the simplicial engine");
  refuses("solve a.mtx --method gmres --precond ilu0 --symbolic fill2 --fill2 concurrent=3", "--symbolic");
}

TEST_CASE("options are passed to the solver", "[cli]") {
  const Program program;
  REQUIRE(program.run("generate poisson2d --size 12 a.mtx").status == 0);
  const auto choice = [&program](const std::string& arguments) {
    return program.run("solve a.mtx --json " + arguments).json()["choice"];
  };
  CHECK(choice("--ordering amd")["ordering"] == "amd");
  CHECK(choice("--ordering metis")["ordering"] == "metis");
  CHECK(choice("--ordering natural")["ordering"] == "natural");
  CHECK(choice("--matching none")["matching"] == "none");
  CHECK(choice("--matching exact")["matching"] == "exact");
  CHECK(choice("--matching auction")["matching"] == "auction");
  CHECK(choice("--symbolic fill2")["symbolic"] == "fill2");
  CHECK(choice("--symbolic fill1")["symbolic"] == "fill1");
  CHECK(choice("--symbolic etree")["symbolic"] == "etree");
  CHECK(choice("--engine multifrontal")["engine"] == "multifrontal");
  CHECK(program.run("solve a.mtx --json --engine multifrontal").json()["factors"]["supernodes"] > 0);
  CHECK(
      choice("--method lu --engine simplicial --symbolic fill2 --pivot static --trisolve levels")["method"] ==
      "lu");
  for (const std::string method : {"levels", "syncfree", "supernodal"}) {
    CHECK(choice("--trisolve " + method)["trisolve"] == method);
  }
  CHECK(choice("--method lu")["pivot"] == "static");
  CHECK(program.run("solve a.mtx --method lu --json").json()["pivots"]["interchanged"].is_null());
  const auto threshold = program.run("solve a.mtx --json --pivot threshold --pivot-tol 0.5").json();
  CHECK(threshold["choice"]["pivot"] == "threshold");
  CHECK(threshold["choice"]["engine"] == "multifrontal");
  CHECK(threshold["pivots"]["interchanged"] >= 0);
  CHECK(program.run("solve a.mtx --json --refine 0").json()["refinement_steps"] == 0);
  const auto single = program.run("solve a.mtx --json --refine 0 --solve-precision single").json();
  CHECK(single["status"] == "error_above_tolerance");
  CHECK(single["errors"]["backward_componentwise"].get<double>() > 1e-10);
  const auto unchecked = program.run("solve a.mtx --json --check never");
  CHECK(unchecked.status == 0);
  CHECK(unchecked.json()["status"] == "unchecked");
  CHECK(unchecked.json()["errors"]["backward_componentwise"].is_null());
  CHECK(unchecked.json()["errors"]["forward"].get<double>() < 1e-6);
  CHECK(program.run("solve a.mtx --json --check first").json()["status"] == "success");
  const std::string unmatched = "solve a.mtx --json --matching none ";
  CHECK(program.run(unmatched).json()["pivots"]["perturbed"] == 0);
  CHECK(program.run(unmatched + "--perturbation 0.95").json()["pivots"]["perturbed"] > 0);
}

TEST_CASE("an ordering is read from a file", "[cli]") {
  const Program program;
  // An arrow: column 1 is full, so taking it first fills everything, and last nothing.
  program.write_matrix("a.mtx",
                       "4 4 10\n1 1 9\n2 1 1\n3 1 1\n4 1 1\n1 2 1\n1 3 1\n1 4 1\n2 2 5\n3 3 5\n4 4 5\n");
  program.write("last.txt", "% the hub last\n2 3 % leaves\n\n4\n1");
  program.write("first.txt", "1 2 3 4\n");
  const auto fill = [&program](const std::string& file) {
    const auto json = program.run("solve a.mtx --method lu --json --ordering " + file).json();
    CHECK(json["status"] == "success");
    return json["factors"]["nnz_l"].get<int>() + json["factors"]["nnz_u"].get<int>();
  };
  CHECK(fill("last.txt") == 10);
  CHECK(fill("first.txt") == 16);
}

TEST_CASE("times are measured and repeated", "[cli]") {
  const Program program;
  REQUIRE(program.run("generate poisson2d --size 12 a.mtx").status == 0);
  const auto once = program.run("solve a.mtx --json").json()["times"];
  for (const char* stage :
       {"read", "matching", "ordering", "symbolic", "levelization", "numeric", "solve", "total"}) {
    INFO(stage);
    CHECK(once[stage].get<double>() >= 0);
    CHECK(once[stage].get<double>() <= once["total"].get<double>());
  }
  CHECK(once["refactor"].is_null());
  CHECK(program.run("solve a.mtx --json --repeat 3").json()["times"]["refactor"].get<double>() > 0);
}

}  // namespace
}  // namespace lutra::Test
