// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <signal.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <chrono>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "Lutra_TestProgram.hpp"

namespace lutra::Test {
namespace {

using Catch::Matchers::ContainsSubstring;

TEST_CASE("a deadline ends solve and sequence with status 5 and a whole report", "[cli][cancel]") {
  const Program program;
  REQUIRE(program.run("generate poisson3d --size 14 a.mtx").status == 0);
  const Outcome stopped = program.run("solve a.mtx --deadline 1e-9 --json --out x.mtx");
  CHECK(stopped.status == 5);
  const auto report = stopped.json();
  CHECK(report["status"] == "cancelled");
  CHECK_THAT(report["message"].get<std::string>(), ContainsSubstring("deadline"));
  CHECK(report["matrix"]["rows"] == 14 * 14 * 14);
  CHECK(report["errors"]["backward_componentwise"].is_null());
  CHECK_FALSE(program.exists("x.mtx"));
  const Outcome quiet = program.run("solve a.mtx --deadline 1e-9 --quiet");
  CHECK(quiet.status == 5);
  CHECK(quiet.output.empty());
  CHECK_THAT(quiet.error, ContainsSubstring("deadline"));
  const auto steps = program.run("sequence a.mtx a.mtx --deadline 1e-9 --json");
  CHECK(steps.status == 5);
  REQUIRE(steps.json()["steps"].size() == 2);  // a deadline is of one call
  CHECK(steps.json()["steps"][1]["status"] == "cancelled");
  CHECK(program.run("solve a.mtx --deadline 1000 --quiet").status == 0);
  for (const std::string value : {"0", "-1", "nan", "soon"}) {
    INFO(value);
    const Outcome refused = program.run("solve a.mtx --deadline=" + value);
    CHECK(refused.status == 2);
    CHECK_THAT(refused.error, ContainsSubstring("--deadline"));
  }
}

TEST_CASE("a deadline ends info, order and predict with status 5", "[cli][cancel]") {
  const Program program;
  REQUIRE(program.run("generate poisson3d --size 14 a.mtx").status == 0);
  for (const std::string call :
       {"info a.mtx", "info a.mtx --svg a.svg", "order a.mtx --out p", "predict a.mtx"}) {
    INFO(call);
    const Outcome stopped = program.run(call + " --deadline 1e-9 --json");
    CHECK(stopped.status == 5);
    CHECK(stopped.json()["status"] == "cancelled");
    const Outcome text = program.run(call + " --deadline 1e-9");
    CHECK(text.status == 5);
    CHECK_THAT(text.output, ContainsSubstring("deadline"));
    CHECK(program.run(call + " --deadline 1000 --quiet").status == 0);
  }
}

TEST_CASE("Ctrl-C ends a solver with status 5 and a whole report", "[cli][cancel]") {
  const Program program;
  REQUIRE(program.run("generate poisson2d --size 40 a.mtx").status == 0);
  int status = 0;
  for (int seconds = 1; status != 5 && seconds <= 16; seconds *= 4) {  // busy machines start programs slowly
    const ::pid_t child = program.start(
        {"solve", "a.mtx", "--quiet", "--repeat", "1000000000", "--json=r.json", "--out", "x.mtx"});
    std::this_thread::sleep_for(std::chrono::seconds(seconds));
    ::kill(child, SIGINT);
    status = program.wait(child);
  }
  REQUIRE(status == 5);
  const auto report = nlohmann::json::parse(program.read("r.json"));
  CHECK(report["status"] == "cancelled");
  CHECK(report["matrix"]["rows"] == 1600);
  CHECK_FALSE(program.exists("x.mtx"));
}

TEST_CASE("Ctrl-C ends info, order and predict with status 5 and a whole report", "[cli][cancel]") {
  const Program program;
  REQUIRE(program.run("generate poisson3d --size 36 a.mtx").status == 0);
  for (const std::string call : {"info", "order", "predict"}) {
    INFO(call);
    std::vector<std::string> arguments = {call, "a.mtx", "--json=r.json"};
    if (call == "order") arguments.insert(arguments.end(), {"--out", "p"});
    // A signal before the analysis ends the program without a report, one after it comes too late.
    bool is_reported = false;
    for (int tenths = 1; !is_reported && tenths <= 60; tenths += (tenths + 7) / 8) {
      std::filesystem::remove(program.path("r.json"));
      std::filesystem::remove(program.path("p"));
      const ::pid_t child = program.start(arguments);
      std::this_thread::sleep_for(std::chrono::milliseconds(100 * tenths));
      ::kill(child, SIGINT);
      const int status = program.wait(child);
      CHECK((status == 5 || status == 0 || status == 128 + SIGINT));  // the last: not started yet
      if (status == 0) CHECK(program.exists("r.json"));
      if (status != 5) continue;
      CHECK_FALSE(program.exists("p"));
      if (!program.exists("r.json")) continue;
      is_reported = true;
      const auto report = nlohmann::json::parse(program.read("r.json"));
      CHECK(report["status"] == "cancelled");
      if (call != "predict") CHECK(report["matrix"]["rows"] == 36 * 36 * 36);
    }
    CHECK(is_reported);
  }
}

}  // namespace
}  // namespace lutra::Test
