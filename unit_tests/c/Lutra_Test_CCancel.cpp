// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <string>
#include <vector>

#include "Lutra_CTestSolver.hpp"
#include "Lutra_Config.hpp"

using namespace lutra::Test;

namespace {

/// Stops the call that tells it its progress.
int stop_at_once(void* data, const char* stage, double share, double seconds) {
  auto& told = *static_cast<std::vector<std::string>*>(data);
  told.emplace_back(stage);
  return share < 0 || share > 1 || seconds < 0 ? 2 : 1;
}

}  // namespace

#ifdef LUTRA_HAS_F64
TEST_CASE("C: a stopped solver answers with its status and works on") {
  const int n = 40;
  const auto A = tridiagonal<double>(n, -1.0, 4.0, 2.0);
  const lutra_matrix c = A.c();
  CSolver solver(LUTRA_LU);
  std::vector<double> b(n, 1.0), x(n);
  lutra_stop(solver);
  CHECK(lutra_analyze(solver, &c) == LUTRA_CANCELLED);
  CHECK(std::string(lutra_message()).find("stop") != std::string::npos);
  CHECK(lutra_factorize(solver, &c) == LUTRA_CALL_ORDER_ERROR);
  lutra_resume(solver);
  REQUIRE(lutra_analyze(solver, &c) == LUTRA_SUCCESS);
  REQUIRE(lutra_factorize(solver, &c) == LUTRA_SUCCESS);
  lutra_stop(solver);
  CHECK(lutra_solve(solver, LUTRA_NONE, 1, b.data(), n, x.data(), n) == LUTRA_CANCELLED);
  CHECK(lutra_report_status(solver) == LUTRA_CANCELLED);
  CHECK(lutra_analyze(solver, &c) == LUTRA_CANCELLED);  // which keeps the factors
  lutra_resume(solver);
  CHECK(lutra_solve(solver, LUTRA_NONE, 1, b.data(), n, x.data(), n) == LUTRA_SUCCESS);
  CHECK(std::string(lutra_status_name(LUTRA_CANCELLED)) == "cancelled");
}

TEST_CASE("C: a deadline takes effect with the next call") {
  const auto A = tridiagonal<double>(40, -1.0, 4.0, 2.0);
  const lutra_matrix c = A.c();
  CSolver solver(LUTRA_AUTO);
  REQUIRE(lutra_analyze(solver, &c) == LUTRA_SUCCESS);
  REQUIRE(lutra_set_option(solver, "deadline", "1e-9") == LUTRA_SUCCESS);
  CHECK(lutra_factorize(solver, &c) == LUTRA_CANCELLED);
  REQUIRE(lutra_set_option(solver, "deadline", "0") == LUTRA_SUCCESS);
  CHECK(lutra_factorize(solver, &c) == LUTRA_SUCCESS);
  CHECK(lutra_set_option(solver, "deadline", "-1") == LUTRA_INPUT_ERROR);
}

TEST_CASE("C: a progress function is told stages and stops a call") {
  const int n = 300000;  // enough for more than a twentieth of a second
  const auto A = tridiagonal<double>(n, -1.0, 4.0, 2.0);
  const lutra_matrix c = A.c();
  CSolver solver(LUTRA_LU);
  std::vector<std::string> told;
  REQUIRE(lutra_set_progress(solver, stop_at_once, &told) == LUTRA_SUCCESS);
  CHECK(lutra_analyze(solver, &c) == LUTRA_CANCELLED);
  REQUIRE(told.size() == 1);
  CHECK_FALSE(told.front().empty());
  REQUIRE(lutra_set_progress(solver, nullptr, nullptr) == LUTRA_SUCCESS);
  CHECK(lutra_analyze(solver, &c) == LUTRA_SUCCESS);
}
#endif
