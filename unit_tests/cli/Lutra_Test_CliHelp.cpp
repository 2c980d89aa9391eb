// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cstdlib>
#include <regex>
#include <set>

#include "Lutra_DeviceModel.hpp"
#include "Lutra_Formatted.hpp"
#include "Lutra_TestProgram.hpp"

namespace lutra::Test {
namespace {

using Catch::Matchers::ContainsSubstring;

const std::vector<std::string> commands = {"solve",   "sequence", "info",    "order",     "calibrate",
                                           "predict", "generate", "version", "completion"};

std::set<std::string> options_in(const std::string& text) {
  std::set<std::string> options;
  const std::regex option("--[a-z][a-z0-9-]*[a-z0-9]");
  for (std::sregex_iterator match(text.begin(), text.end(), option), end; match != end; ++match)
    options.insert(match->str());
  return options;
}

/// Of a command, where its help begins a line with them.
std::set<std::string> options_of(const Program& program, const std::string& command) {
  const std::string help = program.run(command + " --help").output;
  std::set<std::string> options;
  const std::regex option("\\n  (?:-h,)?(--[a-z0-9-]+)");
  for (std::sregex_iterator match(help.begin(), help.end(), option), end; match != end; ++match)
    options.insert((*match)[1]);
  return options;
}

TEST_CASE("a misspelled name gets a suggestion", "[cli]") {
  const Program program;
  program.write_small();
  const auto error = [&program](const std::string& arguments) {
    const Outcome outcome = program.run(arguments);
    CHECK(outcome.status == 2);
    return outcome.error;
  };
  CHECK_THAT(error("slove a.mtx"), ContainsSubstring("invalid command 'slove' (did you mean solve?)"));
  CHECK_THAT(error("generat"), ContainsSubstring("(did you mean generate?)"));
  CHECK_THAT(error("fly"), !ContainsSubstring("did you mean"));
  CHECK_THAT(
      error("solve a.mtx --orderng amd"),
      ContainsSubstring("invalid option --orderng (did you mean --ordering?); see lutra solve --help"));
  CHECK_THAT(error("solve a.mtx --max-iteration=3"), ContainsSubstring("(did you mean --max-iterations?)"));
  CHECK_THAT(error("solve a.mtx --tolerance 1"), !ContainsSubstring("did you mean"));
  CHECK_THAT(error("solve a.mtx --svg x"), ContainsSubstring("invalid option --svg"));
  CHECK_THAT(error("solve a.mtx --method gmers"), ContainsSubstring("(did you mean gmres?)"));
}

TEST_CASE("help explains the choices of auto", "[cli]") {
  const Program program;
  CHECK_THAT(program.run("solve --help").output,
             ContainsSubstring("auto is lu, ldlt or") && !ContainsSubstring("auto (lu),"));
}

TEST_CASE("help takes words, ranges and defaults of options from the library", "[cli]") {
  const Program program;
  const std::string help = std::regex_replace(program.run("solve --help").output, std::regex("\\s+"), " ");
  CHECK_THAT(help, ContainsSubstring("--engine NAME=auto auto, multifrontal, simplicial: how L and U are") &&
                       ContainsSubstring("most steps of iterative refinement [10]") &&
                       ContainsSubstring("above 0 and at most 1 [0.1]") &&
                       ContainsSubstring("above 0 and at most 0.5 [0.01]"));
}

TEST_CASE("bash completion knows commands, options and values", "[cli]") {
  const Program program;
  program.write_small();
  program.write("bash.completion", program.run("completion bash").output);
  const auto complete = [&program](const std::string& words, int word) {
    program.write("complete.sh", "source ./bash.completion\nCOMP_WORDS=(" + words + ")\nCOMP_CWORD=" +
                                     std::to_string(word) + "\n_lutra\nprintf '%s ' \"${COMPREPLY[@]}\"\n");
    const std::string command = "cd '" + program.path("") + "' && bash complete.sh > .completed";
    REQUIRE(std::system(command.c_str()) == 0);
    return program.read(".completed");
  };
  if (std::system("bash -c true") != 0) return;
  CHECK(complete("lutra so", 1) == "solve ");
  CHECK(complete("lutra s", 1) == "solve sequence ");
  CHECK(complete("lutra solve --ord", 2) == "--ordering ");
  CHECK(complete("lutra solve a.mtx --method g", 4) == "gmres ");
  CHECK(complete("lutra solve a.mtx --method = b", 5) == "bicgstab ");  // how readline splits --method=b
  CHECK(complete("lutra solve a", 2) == "a.mtx ");
  program.write("q r.mtx", "");
  CHECK(complete("lutra solve q", 2) == "q r.mtx ");
  CHECK(complete("lutra generate po", 2) == "poisson2d poisson3d ");
  CHECK(complete("lutra order a.mtx --ordering a", 4) == "auto amd a.mtx ");
  CHECK_THAT(complete("lutra predict --", 2), ContainsSubstring("--ranks-per-node "));
  for (const std::string& command : commands)
    CHECK(options_in(complete("lutra " + command + " --", 2)) == options_of(program, command));
}

TEST_CASE("zsh completion knows every option with its values", "[cli]") {
  const Program program;
  const std::string script = program.run("completion zsh").output;
  CHECK_THAT(script, ContainsSubstring("#compdef lutra\n") && ContainsSubstring("'--side=[") &&
                         ContainsSubstring(":NAME:(auto right left split)'"));
  for (const std::string& command : commands) {
    const auto begin = script.find("    " + command + ")\n"), end = script.find(";;", begin);
    REQUIRE(begin != std::string::npos);
    for (const std::string& option : options_of(program, command)) {
      INFO(command << ' ' << option);
      CHECK_THAT(script.substr(begin, end - begin), ContainsSubstring("'" + option));
    }
  }
  if (std::system("zsh -c true 2> /dev/null") != 0) return;
  program.write("zsh.completion", script);
  CHECK(std::system(("zsh -n '" + program.path("zsh.completion") + "'").c_str()) == 0);
}

TEST_CASE("completion for another shell is refused", "[cli]") {
  const Program program;
  const Outcome outcome = program.run("completion fish");
  CHECK(outcome.status == 2);
  CHECK_THAT(outcome.error, ContainsSubstring("'fish' (choose from bash, zsh)"));
}

TEST_CASE("the manual page lists exactly the commands and options", "[cli]") {
  const Program program;
  const std::string page =
      std::regex_replace(read_file(LUTRA_SOURCE "/packaging/lutra.1"), std::regex("\\\\-"), "-");
  std::set<std::string> known = {"--help", "--version"};
  for (const std::string& command : commands) {
    CHECK_THAT(page, ContainsSubstring("\n.B " + command + "\n"));
    CHECK_THAT(page, ContainsSubstring("\n.B lutra " + command));
    known.merge(options_of(program, command));
  }
  CHECK(options_in(page) == known);
}

TEST_CASE("command-line.md lists exactly the options", "[cli]") {
  const Program program;
  const std::string page = read_file(LUTRA_SOURCE "/docs/command-line.md");
  const std::set<std::string> named = options_in(page);
  std::set<std::string> known = {"--help", "--version", "--convergence"};  // the last of scripts/plot.py
  for (const std::string& command : commands) {
    for (const std::string& option : options_of(program, command)) {
      INFO(command << ' ' << option);
      if (option != "--help") CHECK(named.contains(option));
      known.insert(option);
    }
  }
  for (const std::string& option : named) {
    INFO(option);
    CHECK(known.contains(option));
  }
}

TEST_CASE("command-line.md quotes the ratios of the device models for symmetric methods", "[cli]") {
  std::string page = read_file(LUTRA_SOURCE "/docs/command-line.md");
  std::replace(page.begin(), page.end(), '\n', ' ');  // wherever lines end
  const auto ratios = [](const DeviceModel& model) {
    const SymmetricCosts& costs = model.symmetric;
    return Impl::formatted("%g, %g and %g", costs.cholesky, costs.ldlt, costs.ldlt_zero_diagonals);
  };
  CHECK_THAT(page, ContainsSubstring(ratios(host_device_model()) + " on hosts"));
  CHECK_THAT(page, ContainsSubstring(ratios(h200_device_model()) + " on an H200"));
}

}  // namespace
}  // namespace lutra::Test
