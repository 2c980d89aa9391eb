// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <filesystem>
#include <string>

#include "Lutra_TestProgram.hpp"

namespace lutra::Test {
namespace {

using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::StartsWith;

/// Commands that write to a file, whose name follows.
const std::string writers[] = {"solve a.mtx --quiet --out ",           "solve a.mtx --quiet --json=",
                               "sequence a.mtx a.mtx --quiet --json=", "info a.mtx --quiet --svg ",
                               "info a.mtx --quiet --json=",           "order a.mtx --quiet --out ",
                               "generate poisson2d --size 30 ",        "calibrate "};

/// What the folder holds beside what a run of the program puts there.
std::size_t files(const Program& program) {
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(program.path("")))
    count += entry.path().filename().string().front() != '.' ? 1 : 0;
  return count;
}

}  // namespace

TEST_CASE("a disk that fills: the file is named, and nothing half-written is left", "[cli]") {
  const Program program;
  REQUIRE(program.run("generate poisson2d --size 30 a.mtx").status == 0);
  for (const std::string& writer : writers) {
    INFO("lutra " << writer);
    const auto refused = [&](const std::string& file, const std::string& reason, const std::string& before) {
      const Outcome outcome = program.run(writer + file, before);
      CHECK(outcome.status == 2);
      CHECK_THAT(outcome.error,
                 StartsWith("lutra: ") && ContainsSubstring(file + ": cannot be written: " + reason));
      CHECK(outcome.output.empty());
    };
    refused("/dev/full", "No space left on device", "");
    refused("x", "File too large", "ulimit -f 1 &&");  // half a kilobyte
    CHECK(files(program) == 1);
    if (writer.starts_with("calibrate")) continue;  // it replaces device models only
    program.write("x", "before");
    refused("x", "File too large", "ulimit -f 1 &&");
    CHECK(program.read("x") == "before");
    CHECK(files(program) == 2);
    std::filesystem::remove(program.path("x"));
  }
}

TEST_CASE("a full disk behind standard output is an error of every command", "[cli]") {
  const Program program;
  REQUIRE(program.run("generate poisson2d --size 30 a.mtx").status == 0);
  for (const std::string command :
       {"solve a.mtx", "solve a.mtx --json", "solve a.mtx --quiet --out -", "sequence a.mtx a.mtx",
        "info a.mtx", "info a.mtx --quiet --svg -", "order a.mtx", "order a.mtx --quiet --out -",
        "predict a.mtx", "generate poisson2d --size 30 -", "version", "version --json", "--help"}) {
    INFO("lutra " << command);
    const Outcome outcome = program.run(command, "", "> /dev/full");
    CHECK(outcome.status == 2);
    CHECK_THAT(outcome.error, ContainsSubstring("standard output"));
  }
}

}  // namespace lutra::Test
