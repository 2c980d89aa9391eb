// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "Lutra_TestProgram.hpp"

namespace lutra::Test {
namespace {

using Catch::Matchers::ContainsSubstring;

TEST_CASE("every Krylov method and preconditioner runs from the command line", "[cli]") {
  const Program program;
  if (!program.has_scalar("f64")) return;
  REQUIRE(program.run("generate poisson2d --size 12 a.mtx").status == 0);
  const auto solve = [&](const std::string& options) {
    const Outcome outcome = program.run("solve a.mtx --json --out x.mtx " + options);
    INFO(options << ": " << outcome.output << outcome.error);
    REQUIRE(outcome.status == 0);
    CHECK(program.exists("x.mtx"));
    const auto json = outcome.json();
    CHECK(json["status"] == "success");
    CHECK(json["residual_history"].size() >= json["iterations"].get<std::size_t>());
    CHECK(json["residual_history"].back() <= 1e-10);
    CHECK(json["errors"]["forward"].get<double>() < 1e-7);
    return json;
  };
  for (const std::string method : {"gmres", "bicgstab", "cg"}) {
    for (const std::string precond : {"auto", "none", "jacobi", "ilu0", "iluk", "parilu", "parilut", "ic0",
                                      "ick", "paric", "parict", "lu"}) {
      const auto json = solve("--method " + method + " --precond " + precond);
      CHECK(json["choice"]["method"] == method);
      CHECK(json["choice"]["precond"] == (precond != "auto" ? precond : method == "cg" ? "ic0" : "ilu0"));
      CHECK(json["iterations"] > 0);
    }
  }
  const auto ilu0 = solve("--method gmres --transpose --nrhs 3");
  CHECK(solve("--method gmres --precond iluk --fill-level 3")["iterations"] < ilu0["iterations"]);
  CHECK(solve("--method gmres --precond iluk --fill-level 3")["factors"]["nnz_u"] > ilu0["factors"]["nnz_u"]);
  CHECK(solve("--method cg --precond ick --fill-level 0")["choice"]["precond"] == "ic0");
  const auto ick = solve("--method cg --precond ick --fill-level 3");
  CHECK(ick["iterations"] < solve("--method cg --precond ic0")["iterations"]);
  CHECK(ick["factors"]["nnz_u"] > solve("--method cg --precond ick")["factors"]["nnz_u"]);
  CHECK(solve("--method cg --precond paric --sweeps 1")["iterations"] >=
        solve("--method cg --precond paric --sweeps 20")["iterations"]);
  CHECK(solve("--method gmres --precond parilut --fill-factor 3 --steps 3 --drop-tol 1e-9 --ordering rcm")
            ["choice"]["ordering"] == "rcm");
  CHECK(solve("--method gmres --precond parilut --drop-tol 0")["choice"] ==
        solve("--method gmres --precond parilut")["choice"]);
  solve("--method gmres --precond parilu --sweeps 20 --side split --restart 10 --apply exact");
  CHECK(solve("--method bicgstab --side left --apply jacobi")["choice"]["trisolve"] == "jacobi");
  CHECK(solve("--method gmres --precond lu --engine simplicial --repeat 2")["choice"]["engine"] ==
        "simplicial");
  CHECK(solve("--method gmres --precond lu --perturbation 3.5")["pivots"]["perturbed"] > 0);
}

TEST_CASE("ParILUT's start, finish and thresholds are chosen, and its steps reported", "[cli]") {
  const Program program;
  if (!program.has_scalar("f64")) return;
  REQUIRE(program.run("generate aniso2d --size 12 a.mtx").status == 0);
  const std::string all =
      " --parilut-start pattern --parilut-finish sweeps --sweeps 4 --selection approximate ";
  for (const std::string method : {"gmres --precond parilut", "cg --precond parict"}) {
    for (const std::string& options :
         {std::string(" --parilut-start pattern "), std::string(" --parilut-finish sweeps "),
          std::string(" --selection exact "), all}) {
      const std::string command = "solve a.mtx --steps 3 --method " + method + options;
      const Outcome outcome = program.run(command + "--parilut-residual --json");
      INFO(command << outcome.error);
      REQUIRE(outcome.status == 0);
      const auto json = outcome.json();
      CHECK(json["errors"]["forward"].get<double>() < 1e-7);
      const auto steps = json["parilut_steps"];
      REQUIRE(steps.size() >= 1);
      REQUIRE(steps.size() <= 3);
      for (const auto& step : steps) {
        CHECK(step["nnz_l"] > 0);
        CHECK(step["nnz_u"] > step["nnz_l"]);
        CHECK(step["candidates"] > 0);
        CHECK(step["threshold_u"].is_number());
        CHECK(step["sweeps"] == 2);
        CHECK(step["nonlinear_residual"] >= 0);
        CHECK(step["is_taken_back"].is_boolean());
      }
      if (!steps.back()["is_taken_back"].get<bool>()) {
        CHECK(steps.back()["nnz_l"] == json["factors"]["nnz_l"]);
        CHECK(steps.back()["nnz_u"] == json["factors"]["nnz_u"]);
      }
    }
  }
  const std::string command = "solve a.mtx --method gmres --precond parilut";
  CHECK(program.run(command + " --json").json()["parilut_steps"][0]["nonlinear_residual"].is_null());
  CHECK_THAT(program.run(command + " --parilut-residual --verbose").output,
             ContainsSubstring("step 1, candidates ") && ContainsSubstring("nonlinear residual "));
  CHECK(program.run("solve a.mtx --method gmres --json").json()["parilut_steps"].is_null());
}

TEST_CASE("approximate thresholds of ParILUT keep as many entries as exact ones", "[cli]") {
  const Program program;
  if (!program.has_scalar("f64")) return;
  REQUIRE(program.run("generate aniso2d --size 120 a.mtx").status == 0);  // more keys than are sorted at once
  const auto step = [&](const std::string& selection) {
    const Outcome outcome = program.run(
        "solve a.mtx --backend serial --method gmres --precond parilut --steps 1 --deterministic --json "
        "--selection " +
        selection);
    INFO(selection << ": " << outcome.error);
    REQUIRE(outcome.status == 0);
    return outcome.json()["parilut_steps"][0];
  };
  const auto exact = step("exact"), approximate = step("approximate");
  CHECK(step("auto") == exact);  // on hosts
  for (const std::string factor : {"l", "u"}) {
    CHECK(approximate["nnz_" + factor] == exact["nnz_" + factor]);
    const double bound = approximate["threshold_" + factor], threshold = exact["threshold_" + factor];
    CHECK(bound < threshold);
    CHECK(bound > 0.9 * threshold);
  }
}

TEST_CASE("a Krylov method that does not converge ends with status 3 and prints its report", "[cli]") {
  const Program program;
  if (!program.has_scalar("f64")) return;
  REQUIRE(program.run("generate poisson2d --size 20 a.mtx").status == 0);
  const Outcome outcome = program.run("solve a.mtx --method gmres --max-iterations 3 --json --out x.mtx");
  CHECK(outcome.status == 3);
  CHECK(outcome.json()["status"] == "not_converged");
  CHECK(outcome.json()["iterations"] == 3);
  CHECK_THAT(outcome.json()["message"].get<std::string>(), ContainsSubstring("after 3 iterations"));
  CHECK_FALSE(program.exists("x.mtx"));
  CHECK_THAT(program.run("solve a.mtx --method gmres --max-iterations 3").output,
             ContainsSubstring("3 iterations"));
}

TEST_CASE("iterative methods do not depend on the units of a matrix", "[cli]") {
  const Program program;
  const auto write = [&](const std::string& file, const std::string& power) {
    std::string text = "%%MatrixMarket matrix coordinate real symmetric\n5 5 9\n";
    for (int i = 1; i <= 5; ++i) {
      text += std::to_string(i) + " " + std::to_string(i) + " 4" + power + "\n";
      if (i > 1) text += std::to_string(i) + " " + std::to_string(i - 1) + " 1" + power + "\n";
    }
    program.write(file, text);
  };
  write("one.mtx", "");
  write("tiny.mtx", "e-15");
  write("big.mtx", "e20");
  for (const std::string options :
       {"--method cg", "--method gmres", "--method gmres --precond none", "--method bicgstab --precond none",
        "--method bicgstab --precond parilut"}) {
    for (const std::string scalar : {"f64", "f32"}) {
      if (!program.has_scalar(scalar)) continue;
      const auto solve = [&](const std::string& file) {
        const Outcome outcome = program.run("solve " + file + " --json --scalar " + scalar + " " + options);
        INFO(file << " " << options << " " << scalar << ": " << outcome.output << outcome.error);
        CHECK(outcome.status == 0);
        return outcome.json();
      };
      const auto expected = solve("one.mtx");
      for (const auto& json : {solve("tiny.mtx"), solve("big.mtx")}) {
        CHECK(json["iterations"] == expected["iterations"]);
        CHECK(json["pivots"]["shift"] == expected["pivots"]["shift"]);
      }
    }
  }
}

TEST_CASE("a matrix without usable incomplete factors ends with status 3", "[cli]") {
  const Program program;
  program.write_matrix("a.mtx", "2 2 3\n1 1 1\n1 2 1\n2 2 0\n");
  const Outcome outcome = program.run("solve a.mtx --method gmres --matching none --json");
  CHECK(outcome.status == 3);
  CHECK(outcome.json()["status"] == "breakdown");
  CHECK(outcome.json()["escalations"].size() == 1);
}

TEST_CASE("a sequence keeps the pattern of incomplete factors", "[cli]") {
  const Program program;
  program.write_small();
  const Outcome outcome = program.run("sequence a.mtx a.mtx --method bicgstab --json");
  CHECK(outcome.status == 0);
  const auto steps = outcome.json()["steps"];
  REQUIRE(steps.size() == 2);
  CHECK(steps[0]["times"]["numeric"].is_number());
  CHECK(steps[1]["times"]["refactor"].is_number());
}

TEST_CASE("info describes the incomplete factors that would be computed", "[cli]") {
  const Program program;
  program.write_small();
  const Outcome outcome = program.run("info a.mtx --method gmres --precond iluk --json");
  CHECK(outcome.status == 0);
  CHECK(outcome.json()["choice"]["precond"] == "iluk");
  CHECK(outcome.json()["factors"]["nnz_l"] == 1);
  CHECK(outcome.json()["factors"]["nnz_u"] == 3);
}

TEST_CASE("options that a method or preconditioner does not use are refused", "[cli]") {
  const Program program;
  program.write_small();
  const auto refused = [&](const std::string& options, const std::string& message) {
    const Outcome outcome = program.run("solve a.mtx " + options);
    INFO(options << ": " << outcome.error);
    CHECK(outcome.status == 2);
    CHECK_THAT(outcome.error, ContainsSubstring(message));
  };
  refused("--precond ilu0", "--precond is not used with --method auto");
  refused("--method lu --restart 5", "--restart is not used with --method lu");
  refused("--method gmres --refine 2", "--refine is not used with --method gmres");
  refused("--method gmres --perturbation 1e-3", "--perturbation is not used with --precond auto");
  refused("--method cg --restart 3", "--restart is not used with --method cg");
  refused("--method cg --side left", "--side is not used with --method cg");
  refused("--method gmres --fill-level 2", "--fill-level is not used with --precond auto");
  refused("--method gmres --precond iluk --fill-factor 2", "--fill-factor is not used with --precond iluk");
  refused("--method gmres --precond jacobi --ordering amd", "--ordering is not used with --precond jacobi");
  refused("--method gmres --precond ilu0 --engine simplicial", "--engine is not used with --precond ilu0");
  refused("--method gmres --precond ic0 --matching exact", "--matching is not used with --precond ic0");
  refused("--method gmres --precond lu --side split", "--side split needs incomplete factors");
  refused("--method gmres --precond parilut --fill-factor 0", "--fill-factor: 0 is out of range (above 0)");
  refused("--method gmres --precond parilut --drop-tol -1e-3",
          "--drop-tol: -0.001 is out of range (0 or more)");
  for (const std::string flag : {"--parilut-start pattern", "--parilut-finish sweeps", "--parilut-residual",
                                 "--selection approximate"}) {
    const std::string name = flag.substr(0, flag.find(' '));
    refused("--method gmres --precond iluk " + flag, name + " is not used with --precond iluk");
    refused("--method lu " + flag, name + " is not used with --method lu");
  }
  refused("--method gmres --precond parilut --sweeps 3",
          "--sweeps is not used with --precond parilut --parilut-finish exact");
  refused("--method gmres --precond parilut --steps 0 --parilut-residual",
          "--parilut-residual is not used with --steps 0");
  refused("--method gmres --precond parilut --parilut-start ilu1",
          "invalid value 'ilu1' (choose from ilu0, pattern)");
  for (const std::string name :
       {"--method gmres --precond", "--method gmres --side", "--method gmres --apply"})
    refused(name + " nonsense", "invalid value 'nonsense' (choose from auto, ");
}

}  // namespace
}  // namespace lutra::Test
