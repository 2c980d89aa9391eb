// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <signal.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <chrono>
#include <filesystem>
#include <thread>

#include "Lutra_TestProgram.hpp"

namespace lutra::Test {
namespace {

using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::StartsWith;
namespace fs = std::filesystem;

void check_refused(const Program& program, const std::string& arguments, const std::string& message) {
  INFO("lutra " << arguments);
  const Outcome outcome = program.run(arguments);
  CHECK(outcome.status == 2);
  CHECK_THAT(outcome.error, StartsWith("lutra: ") && ContainsSubstring(message));
}

TEST_CASE("link loops and names that are too long are refused for every file option", "[cli]") {
  const Program program;
  program.write_small();
  fs::create_symlink("b.mtx", program.path("loop.mtx"));
  fs::create_symlink("loop.mtx", program.path("b.mtx"));
  const std::string loop = "Too many levels of symbolic links", longest(300, 'x'),
                    too_long = "File name too long";
  for (const std::string command :
       {"solve loop.mtx", "info loop.mtx", "order loop.mtx", "predict loop.mtx", "sequence a.mtx loop.mtx",
        "solve a.mtx --rhs loop.mtx", "solve a.mtx --ordering loop.mtx",
        "solve a.mtx --device-model loop.mtx", "solve a.mtx --out loop.mtx", "solve a.mtx --json=loop.mtx",
        "info a.mtx --svg loop.mtx", "order a.mtx --out loop.mtx", "generate poisson2d --size 3 loop.mtx",
        "calibrate loop.mtx"})
    check_refused(program, command, loop);
  for (const std::string command :
       {"solve ", "solve a.mtx --rhs ", "solve a.mtx --ordering ", "solve a.mtx --out ",
        "solve a.mtx --json=", "info a.mtx --svg ", "generate poisson2d --size 3 "})
    check_refused(program, command + longest, too_long);
  CHECK(fs::is_symlink(program.path("loop.mtx")));
}

TEST_CASE("a dangling link is written through", "[cli]") {
  const Program program;
  program.write_small();
  fs::create_directory(program.path("there"));
  fs::create_symlink("there/x.mtx", program.path("x.mtx"));
  CHECK(program.run("solve a.mtx --quiet --out x.mtx").status == 0);
  CHECK(fs::is_symlink(program.path("x.mtx")));
  CHECK_THAT(program.read("there/x.mtx"), StartsWith("%%MatrixMarket matrix array"));
  fs::create_symlink("nowhere/x.mtx", program.path("y.mtx"));
  check_refused(program, "solve a.mtx --out y.mtx", "there is no folder");
}

TEST_CASE("outputs must differ from each other and from every input", "[cli]") {
  const Program program;
  program.write_small();
  const std::string matrix = program.read("a.mtx");
  program.write("b.mtx", "%%MatrixMarket matrix array real general\n2 1\n6\n8\n");
  program.write("P", "2 1\n");
  fs::create_symlink("x.mtx", program.path("other.mtx"));
  fs::create_symlink("a.mtx", program.path("link.mtx"));
  check_refused(program, "solve a.mtx --out F --json=F", "--out F and --json=F are one file");
  check_refused(program, "solve a.mtx --out x.mtx --json=other.mtx", "are one file");
  check_refused(program, "solve a.mtx --out ./F --json=F", "are one file");
  check_refused(program, "info a.mtx --svg F --json=F", "--svg F and --json=F are one file");
  check_refused(program, "info a.mtx --quiet --svg - --json", "standard output");
  check_refused(program, "solve a.mtx --out a.mtx", "--out a.mtx would overwrite a.mtx, which is read");
  check_refused(program, "solve a.mtx --json=link.mtx", "would overwrite a.mtx");
  check_refused(program, "solve a.mtx --rhs b.mtx --out b.mtx", "would overwrite --rhs b.mtx");
  check_refused(program, "order a.mtx --ordering P --out P", "would overwrite --ordering P");
  check_refused(program, "sequence a.mtx link.mtx --json=link.mtx", "would overwrite");
  CHECK(program.read("a.mtx") == matrix);
  CHECK_FALSE(program.exists("F"));
  CHECK(program.run("solve a.mtx --quiet --out /dev/null --json=/dev/null").status == 0);
  CHECK(program.run("solve a.mtx --quiet --out x.mtx --json=x.json").status == 0);
}

TEST_CASE("a signal leaves no half-written file and ends with status 5", "[cli]") {
  const Program program;
  const int signal = GENERATE(SIGINT, SIGTERM, SIGHUP);
  const ::pid_t child = program.start({"generate", "poisson2d", "--size", "1000", "a.mtx"});
  const auto is_writing = [&program] {
    for (const auto& entry : fs::directory_iterator(program.path("")))
      if (entry.path().extension() == ".part") return true;
    return false;
  };
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!is_writing() && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  ::kill(child, signal);
  CHECK(program.wait(child) == 5);
  CHECK_FALSE(is_writing());
  CHECK_FALSE(program.exists("a.mtx"));
}

TEST_CASE("integers and numbers are read exactly or refused", "[cli]") {
  const Program program;
  program.write_small();
  const auto generate = [&program](const std::string& seed) {
    return program.run("generate random --size 20 - --seed " + seed);
  };
  const Outcome largest = generate("18446744073709551615");
  CHECK(largest.status == 0);
  CHECK_THAT(largest.output, ContainsSubstring("--seed 18446744073709551615"));
  CHECK(generate("18446744073709551614").output != largest.output);
  CHECK(generate("9223372036854775808").status == 0);
  for (const std::string seed :
       {"18446744073709551616", "99999999999999999999999", "-1", "1.5", "0x10", "1e3"})
    check_refused(program, "generate random --size 20 x.mtx --seed=" + seed,
                  "--seed: '" + seed + "' is not an integer from 0 to 18446744073709551615");
  const std::string integer = "is not an integer from ";
  check_refused(program, "solve a.mtx --nrhs 9223372036854775808",
                "--nrhs: '9223372036854775808' " + integer);
  check_refused(program, "solve a.mtx --refine 4294967296",
                "--refine: '4294967296' is not an integer of 32 bits");
  check_refused(program, "solve a.mtx --repeat 2147483648", "--repeat: '2147483648' " + integer);
  check_refused(program, "generate random --size 9223372036854775808 x.mtx", "--size");
  check_refused(program, "solve a.mtx --tol 1e999", "--tol: '1e999' is too large a number");
  check_refused(program, "solve a.mtx --tol 1,5", "--tol: '1,5' is not a finite number");
  check_refused(program, "solve a.mtx --tol inf", "--tol: 'inf' is not a finite number");
  CHECK(program.run("solve a.mtx --quiet --tol 1d-9").status == 0);
}

}  // namespace
}  // namespace lutra::Test
