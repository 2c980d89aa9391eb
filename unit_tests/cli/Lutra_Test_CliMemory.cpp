// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sizes that files and arguments declare are weighed before arrays are made.
#include <catch2/catch_test_macros.hpp>

#include "Lutra_TestProgram.hpp"

#if defined(__SANITIZE_ADDRESS__)  // takes terabytes of address space itself
#define LUTRA_LIMIT_WORKS false
#else
#define LUTRA_LIMIT_WORKS true
#endif

namespace lutra::Test {
namespace {

/// The program in an address space of four gigabytes.
Outcome run_in_little(const Program& program, const std::string& arguments) {
  return program.run(arguments, "ulimit -v 4000000 && ");
}

bool can_limit(const Program& program) {
  return LUTRA_LIMIT_WORKS && !program.has_backend("cuda") && !program.has_backend("hip");
}

void needs_too_much(const Outcome& outcome, const std::string& what) {
  INFO(outcome.error);
  CHECK(outcome.status == 4);
  CHECK(outcome.error.find(what) != std::string::npos);
  CHECK(outcome.error.find(" bytes") != std::string::npos);
}

const std::string largest = "2147483647";

}  // namespace

TEST_CASE("billions of rows with two entries are refused with the bytes they need", "[cli]") {
  const Program program;
  program.write_matrix("big.mtx", largest + " " + largest + " 2\n1 1 1\n2 2 1\n");
  program.write_matrix("wide.mtx", "5 " + largest + " 1\n1 1 1\n");
  program.write("symmetric.mtx", "%%MatrixMarket matrix coordinate real symmetric\n" + largest + " " +
                                     largest + " 1\n1 1 1\n");
  if (!can_limit(program)) return;
  for (const std::string command :
       {"solve big.mtx", "solve --method gmres big.mtx", "solve --method ldlt symmetric.mtx",
        "solve --memory-limit 1G big.mtx", "sequence big.mtx", "info big.mtx", "info wide.mtx",
        "order big.mtx", "predict big.mtx"}) {
    INFO(command);
    needs_too_much(
        run_in_little(program, command),
        "a matrix of " + (command == "info wide.mtx" ? "5 by " + largest : largest + " rows") + " needs");
  }
}

TEST_CASE("more rows than fit into the memory limit are refused before allocation", "[cli]") {
  const Program program;
  program.write_matrix("a.mtx", "30000000 30000000 2\n1 1 1\n2 2 1\n");
  const auto refused = program.run("solve --memory-limit 200M a.mtx");
  needs_too_much(refused, "a.mtx: a matrix of 30000000 rows needs at least 360000000 bytes in the solver");
  CHECK(refused.error.find("--memory-limit gives 209715200") != std::string::npos);
  program.write_matrix("small.mtx", "10000 10000 2\n1 1 1\n2 2 1\n");
  CHECK(program.run("solve small.mtx").status == 3);
}

TEST_CASE("the size of right-hand sides is checked too", "[cli]") {
  const Program program;
  program.write_small();
  program.write("tall.mtx", "%%MatrixMarket matrix coordinate real general\n" + largest + " 1 1\n1 1 1\n");
  program.write("wide.mtx", "%%MatrixMarket matrix coordinate real general\n2 " + largest + " 1\n1 1 1\n");
  const auto tall = program.run("solve --rhs tall.mtx a.mtx");
  CHECK(tall.status == 2);
  CHECK(tall.error.find("right-hand sides of " + largest + " rows do not fit a matrix of 2") !=
        std::string::npos);
  if (!can_limit(program)) return;
  for (const std::string& command :
       {std::string("solve --rhs wide.mtx a.mtx"), "solve --nrhs " + largest + " a.mtx",
        "solve --method gmres --nrhs " + largest + " a.mtx", "sequence --nrhs " + largest + " a.mtx"}) {
    INFO(command);
    needs_too_much(run_in_little(program, command), "with " + largest + " right-hand sides");
  }
}

}  // namespace lutra::Test
