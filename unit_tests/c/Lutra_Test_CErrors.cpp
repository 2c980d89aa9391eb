// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cmath>
#include <limits>
#include <random>

#include "Lutra_CTestSolver.hpp"

using namespace lutra::Test;

namespace {

/// What analyze says to a matrix.
template <class Matrix>
void refused(const Matrix& A, const std::string& message) {
  CSolver solver(LUTRA_LU);
  const lutra_matrix c = A.c();
  CHECK(lutra_analyze(solver, &c) == LUTRA_INPUT_ERROR);
  CHECK(message_has(message));
}

}  // namespace

TEST_CASE("C: a wrong matrix is refused with row and column, and the solver remains usable") {
  const auto good = tridiagonal(4, 1.0, 4.0, 1.0);  // row 1 holds entries 2, 3, 4
  auto A = good;
  A.columns[4] = 7;
  refused(A, "row 1 has column 7, but columns are 0 to 3");
  A = good;
  A.columns[4] = -1;
  refused(A, "row 1 has column -1");
  A = good;
  A.columns[3] = 0;
  refused(A, "row 1 has column 0 twice");
  A = good;
  std::swap(A.columns[2], A.columns[3]);
  refused(A, "row 1 is not sorted: column 0 comes after column 1");
  for (const double value : {std::nan(""), std::numeric_limits<double>::infinity()}) {
    A = good;
    A.values[4] = value;
    refused(A, "row 1, column 2 is NaN or infinite");
  }
  A = good;
  A.row_map[2] = 1;
  refused(A, "row_map falls or leaves its range at row 1");
  A = good;
  A.row_map[4] = 1000000000000;  // nothing behind the arrays is read
  refused(A, "row_map ends with 1000000000000, but there are 10 entries");
  A = good;
  A.row_map[0] = 1;
  refused(A, "row_map[0] is 1");
  refused(CMatrix<>(), "no rows");

  CSolver solver(LUTRA_LU);
  lutra_matrix c = good.c();
  REQUIRE(lutra_analyze(solver, &c) == LUTRA_SUCCESS);
  REQUIRE(lutra_factorize(solver, &c) == LUTRA_SUCCESS);
  A = good;
  A.values[4] = std::nan("");
  const lutra_matrix bad = A.c();
  CHECK(lutra_factorize(solver, &bad) == LUTRA_INPUT_ERROR);
  CHECK(message_has("row 1, column 2"));
  std::vector<double> x(4, 6.0);
  CHECK(lutra_solve(solver, LUTRA_NONE, 1, x.data(), 4, x.data(), 4) == LUTRA_SUCCESS);
  x[2] = std::nan("");
  CHECK(lutra_solve(solver, LUTRA_NONE, 1, x.data(), 4, x.data(), 4) == LUTRA_INPUT_ERROR);
  CHECK(message_has("2"));
  c.n_cols = 5;
  CHECK(lutra_analyze(solver, &c) == LUTRA_INPUT_ERROR);
  CHECK(message_has("4 rows but 5 columns"));
}

TEST_CASE("C: invalid arguments are named") {
  CSolver solver(LUTRA_LU);
  const auto A = tridiagonal(4, 1.0, 4.0, 1.0);
  const lutra_matrix good = A.c();
  std::vector<double> x(8, 1.0);

  CHECK(lutra_analyze(nullptr, &good) == LUTRA_INPUT_ERROR);
  CHECK(message_has("solver: it is null"));
  CHECK(lutra_analyze(solver, nullptr) == LUTRA_INPUT_ERROR);
  CHECK(lutra_factorize(solver, nullptr) == LUTRA_INPUT_ERROR);
  CHECK(lutra_report_status(nullptr) == LUTRA_INPUT_ERROR);
  CHECK(lutra_report_json(solver, nullptr) == LUTRA_INPUT_ERROR);
  CHECK(lutra_get_integer(solver, "iterations", nullptr) == LUTRA_INPUT_ERROR);
  CHECK(lutra_get_integers(solver, "rows", nullptr, nullptr) == LUTRA_INPUT_ERROR);
  CHECK(lutra_get_option(solver, "engine", nullptr) == LUTRA_INPUT_ERROR);
  CHECK(lutra_create(nullptr, LUTRA_LU, LUTRA_F64, LUTRA_INT32, nullptr) == LUTRA_INPUT_ERROR);
  lutra_destroy(nullptr);

  const std::int64_t* list = nullptr;
  std::size_t count = 0;
  CHECK(lutra_get_integers(solver, "rows", &list, &count) == LUTRA_INPUT_ERROR);
  CHECK(message_has("singular_rows"));

  lutra_matrix c = good;
  c.row_map = nullptr;
  CHECK(lutra_analyze(solver, &c) == LUTRA_INPUT_ERROR);
  CHECK(message_has("row_map is null"));
  c = good;
  c.columns = nullptr;
  CHECK(lutra_analyze(solver, &c) == LUTRA_INPUT_ERROR);
  CHECK(message_has("columns is null"));
  c = good;
  c.values = nullptr;
  CHECK(lutra_analyze(solver, &c) == LUTRA_INPUT_ERROR);
  CHECK(message_has("values is null"));
  c = good;
  c.nnz = -3;
  CHECK(lutra_analyze(solver, &c) == LUTRA_INPUT_ERROR);
  CHECK(message_has("nnz -3"));
  c = good;
  c.n_rows = c.n_cols = 3000000000;
  CHECK(lutra_analyze(solver, &c) == LUTRA_INPUT_ERROR);
  CHECK(message_has("3000000000"));
  CHECK(message_has("LUTRA_INT64"));
  c = good;
  c.row_map_type = 9;
  CHECK(lutra_analyze(solver, &c) == LUTRA_INPUT_ERROR);
  CHECK(message_has("row_map_type"));

  REQUIRE(lutra_analyze(solver, &good) == LUTRA_SUCCESS);
  REQUIRE(lutra_factorize(solver, &good) == LUTRA_SUCCESS);
  CHECK(lutra_factorize_shifted(solver, &good, x.data()) == LUTRA_INPUT_ERROR);
  CHECK(message_has("LUTRA_LDLT"));
  double logarithm = 0;
  int raised = 0;
  CHECK(lutra_determinant(solver, x.data(), &logarithm) == LUTRA_INPUT_ERROR);
  CHECK(message_has("LUTRA_LDLT"));
  CHECK(lutra_determinant(solver, x.data(), nullptr) == LUTRA_INPUT_ERROR);
  CHECK(message_has("log_magnitude"));
  CHECK(lutra_increase_quality(solver, &raised) == LUTRA_INPUT_ERROR);
  CHECK(lutra_solve_parts(solver, LUTRA_LOWER, LUTRA_NONE, 1, x.data(), 4, x.data(), 4) == LUTRA_INPUT_ERROR);
  CHECK(lutra_solve(solver, LUTRA_NONE, 1, x.data(), 3, x.data(), 4) == LUTRA_INPUT_ERROR);
  CHECK(message_has("ldb 3"));
  CHECK(lutra_solve(solver, LUTRA_NONE, -1, x.data(), 4, x.data(), 4) == LUTRA_INPUT_ERROR);
  CHECK(message_has("n_rhs"));
  CHECK(lutra_solve(solver, LUTRA_NONE, std::numeric_limits<std::int64_t>::max() / 2, x.data(), 4, x.data(),
                    4) == LUTRA_INPUT_ERROR);
  CHECK(message_has("columns, 4 values apart, are more than any memory holds"));
  CHECK(lutra_solve(solver, LUTRA_NONE, 1, nullptr, 4, x.data(), 4) == LUTRA_INPUT_ERROR);
  CHECK(message_has("B: it is null"));
  CHECK(lutra_solve(solver, 5, 1, x.data(), 4, x.data(), 4) == LUTRA_INPUT_ERROR);
  CHECK(message_has("op"));
  CHECK(lutra_set_memory(solver, 5) == LUTRA_INPUT_ERROR);
  CHECK(lutra_set_permutation(solver, 4, nullptr) == LUTRA_INPUT_ERROR);

  lutra_solver* none = solver;
  CHECK(lutra_create(&none, 17, LUTRA_F64, LUTRA_INT32, nullptr) == LUTRA_INPUT_ERROR);
  CHECK(message_has("method"));
  CHECK(none == nullptr);
  CHECK(lutra_create(&none, LUTRA_LU, 9, LUTRA_INT32, nullptr) == LUTRA_INPUT_ERROR);
  CHECK(lutra_create(&none, LUTRA_LU, LUTRA_F64, 9, nullptr) == LUTRA_INPUT_ERROR);
  CHECK(std::string(lutra_status_name(99)) == "unknown");
  CHECK(std::string(lutra_status_name(LUTRA_INPUT_ERROR)) == "input_error");
}

TEST_CASE("C: any text is a key of a report, known or not") {
  CSolver solver(LUTRA_LU);
  std::int64_t value = 7;
  for (const char* key : {"", ".", "a~b", "~", "inertia/positive", "inertia.", "singular_rows.01"}) {
    INFO(key);
    CHECK(lutra_get_integer(solver, key, &value) == LUTRA_INPUT_ERROR);
    CHECK(message_has(("key '" + std::string(key) + "' is not one of the report's").c_str()));
  }
  CHECK(lutra_get_integer(solver, "a\nb", &value) == LUTRA_INPUT_ERROR);
  CHECK(message_has("key 'a\\x0ab' is not one of the report's"));
  CHECK(value == 7);
}

TEST_CASE("C: errors of options name the option") {
  CSolver solver(LUTRA_LU);
  CHECK(lutra_set_option(solver, "orderng", "amd") == LUTRA_INPUT_ERROR);
  CHECK(message_has("option 'orderng' is unknown (choose from engine,"));
  CHECK(lutra_set_option(solver, "ordering\n\x1b[2J", "amd") == LUTRA_INPUT_ERROR);
  CHECK(message_has("option 'ordering\\x0a\\x1b[2J' is unknown (choose from engine,"));
  const char* value = nullptr;
  CHECK(lutra_get_option(solver, "orderng", &value) == LUTRA_INPUT_ERROR);
  CHECK(message_has("option 'orderng' is unknown"));
  CHECK(lutra_set_option(solver, "ordering", "best") == LUTRA_INPUT_ERROR);
  CHECK(message_has("option ordering: invalid value 'best' (choose from auto,"));
  CHECK(lutra_set_option(solver, "ordering", nullptr) == LUTRA_INPUT_ERROR);
  const auto A = tridiagonal(4, 1.0, 4.0, 1.0);
  const lutra_matrix c = A.c();
  CHECK(lutra_set_option(solver, "pivot_threshold", "7") == LUTRA_INPUT_ERROR);
  CHECK(message_has("option pivot_threshold: 7 is out of range (above 0 and at most 1)"));
  REQUIRE(lutra_set_option(solver, "pivoting", "threshold") == LUTRA_SUCCESS);
  REQUIRE(lutra_set_option(solver, "engine", "simplicial") == LUTRA_SUCCESS);
  CHECK(lutra_analyze(solver, &c) == LUTRA_INPUT_ERROR);  // combinations are checked there
  CHECK(message_has("threshold pivoting"));
  const std::int64_t twice[] = {0, 1, 1, 2};
  CSolver other(LUTRA_LU);
  REQUIRE(lutra_set_permutation(other, 4, twice) == LUTRA_SUCCESS);
  CHECK(lutra_analyze(other, &c) == LUTRA_INPUT_ERROR);
  CHECK(lutra_set_stream(solver, solver.handle) ==
        (std::string(lutra_version_json()).find("cuda") == std::string::npos ? LUTRA_INPUT_ERROR
                                                                             : LUTRA_SUCCESS));
}

TEST_CASE("C: calls out of order, too little memory and unsolvable systems are reported") {
  CSolver solver(LUTRA_LU);
  auto A = tridiagonal(4, 1.0, 4.0, 1.0);
  lutra_matrix c = A.c();
  std::vector<double> x(4, 1.0);
  CHECK(lutra_factorize(solver, &c) == LUTRA_CALL_ORDER_ERROR);
  CHECK(message_has("lutra_analyze"));
  CHECK(lutra_solve(solver, LUTRA_NONE, 1, x.data(), 4, x.data(), 4) == LUTRA_CALL_ORDER_ERROR);
  CHECK(lutra_apply(solver, LUTRA_NONE, 1, x.data(), 4, x.data(), 4) == LUTRA_CALL_ORDER_ERROR);
  CHECK(lutra_finalize() == LUTRA_CALL_ORDER_ERROR);
  CHECK(message_has("1 solvers are left"));
  REQUIRE(lutra_analyze(solver, &c) == LUTRA_SUCCESS);
  CHECK(lutra_solve(solver, LUTRA_NONE, 1, x.data(), 4, x.data(), 4) == LUTRA_CALL_ORDER_ERROR);

  CSolver small(LUTRA_LU);
  REQUIRE(lutra_set_option(small, "memory_limit", "100") == LUTRA_SUCCESS);
  CHECK(lutra_analyze(small, &c) == LUTRA_OUT_OF_MEMORY);
  CHECK(message_has("100"));

  CMatrix<> empty_row;  // row 1 is empty, column 1 too
  empty_row.row_map = {0, 1, 1, 2};
  empty_row.columns = {0, 2};
  empty_row.values = {1, 1};
  c = empty_row.c();
  CHECK(lutra_analyze(solver, &c) == LUTRA_STRUCTURALLY_SINGULAR);
  const std::int64_t* rows = nullptr;
  std::size_t count = 0;
  REQUIRE(lutra_get_integers(solver, "singular_rows", &rows, &count) == LUTRA_SUCCESS);
  REQUIRE(count == 1);
  CHECK(rows[0] == 1);

  CMatrix<> ones;
  ones.row_map = {0, 2, 4};
  ones.columns = {0, 1, 0, 1};
  ones.values = {1, 1, 1, 1};
  c = ones.c();
  REQUIRE(lutra_analyze(solver, &c) == LUTRA_SUCCESS);
  const lutra_status status = lutra_factorize(solver, &c);
  CHECK(status == LUTRA_NUMERICALLY_SINGULAR);
  CHECK(std::string(lutra_status_name(status)) == "numerically_singular");
  CHECK(message_has("singular"));
}

TEST_CASE("C: a solver keeps one memory limit when an option changes") {
  const auto A = tridiagonal(2000, 1.0, 4.0, 1.0);
  const lutra_matrix c = A.c();
  const std::vector<double> b(2000, 6.0);
  std::vector<double> x(b.size());
  const auto peak = [](lutra_solver* solver) {
    std::int64_t bytes = 0;
    REQUIRE(lutra_get_integer(solver, "memory.device_peak_bytes", &bytes) == LUTRA_SUCCESS);
    return bytes;
  };
  const auto solve = [&](lutra_solver* solver) {
    return lutra_solve(solver, LUTRA_NONE, 1, b.data(), 2000, x.data(), 2000);
  };
  const auto run = [&](lutra_solver* solver) {
    REQUIRE(lutra_analyze(solver, &c) == LUTRA_SUCCESS);
    REQUIRE(lutra_factorize(solver, &c) == LUTRA_SUCCESS);
    REQUIRE(solve(solver) == LUTRA_SUCCESS);
  };
  CSolver free(LUTRA_LU);
  run(free);
  const std::int64_t alone = peak(free);
  CSolver limited(LUTRA_LU);
  const std::int64_t limit = alone + alone / 20;  // for one solver, not for two
  REQUIRE(lutra_set_option(limited, "memory_limit", std::to_string(limit).c_str()) == LUTRA_SUCCESS);
  run(limited);
  REQUIRE(lutra_set_option(limited, "ordering", "rcm") == LUTRA_SUCCESS);
  for (int again = 0; again < 2; ++again) {
    CHECK(lutra_analyze(limited, &c) == LUTRA_OUT_OF_MEMORY);
    CHECK(message_has("limit of " + std::to_string(limit)));
    CHECK(solve(limited) == LUTRA_SUCCESS);  // with the former solver
    CHECK(peak(limited) <= limit);
  }
  REQUIRE(lutra_set_option(limited, "memory_limit", std::to_string(3 * limit).c_str()) == LUTRA_SUCCESS);
  run(limited);
  CHECK(peak(limited) > limit);
  CHECK(peak(limited) <= 3 * limit);
  REQUIRE(lutra_set_option(limited, "memory_limit", "1000") == LUTRA_SUCCESS);
  CHECK(lutra_analyze(limited, &c) == LUTRA_OUT_OF_MEMORY);
  REQUIRE(lutra_factorize(limited, &c) == LUTRA_SUCCESS);  // the limit that failed does not bind the solver
  CHECK(solve(limited) == LUTRA_SUCCESS);
}

TEST_CASE("C: a call with arbitrary arrays returns, and the next solver works") {
  std::mt19937 random(2024);
  const auto below = [&random](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  const double odd[] = {0, -1, 1e300, 1e-300, 5e-324, std::nan(""), std::numeric_limits<double>::infinity()};
  int refused = 0, solved = 0;
  for (int run = 0; run < 1000; ++run) {
    const int n = 2 + below(8);
    auto A = tridiagonal<double, std::int32_t, std::int32_t>(n, -1.0, 1.0 + below(4), -1.0);
    const int nnz = static_cast<int>(A.columns.size());
    for (int change = below(4); change > 0; --change) {
      const auto entry = static_cast<std::size_t>(below(nnz));
      if (below(3) == 0) A.values[entry] = odd[below(7)];
      if (below(3) == 0) A.columns[entry] = below(2 * n) - 2;
      if (below(6) == 0) A.row_map[static_cast<std::size_t>(below(n + 1))] = below(3 * n) - 5;
    }
    const lutra_matrix c = A.c();
    std::vector<double> x(static_cast<std::size_t>(n), 1.0);
    const int method = below(5);
    CSolver solver(static_cast<lutra_method>(method));
    const lutra_status analyzed = lutra_analyze(solver, &c);
    const lutra_status factorized = lutra_factorize(solver, &c);
    const auto call = method == LUTRA_ILU ? lutra_apply : lutra_solve;
    const lutra_status status = call(solver, LUTRA_NONE, 1, x.data(), n, x.data(), n);
    for (const lutra_status any : {analyzed, factorized, status}) {
      REQUIRE(any != LUTRA_INTERNAL_ERROR);
      REQUIRE(any != LUTRA_NOT_SOLVED);
    }
    refused += analyzed == LUTRA_INPUT_ERROR;
    solved += status == LUTRA_SUCCESS;
    if (status == LUTRA_SUCCESS)
      for (const double value : x) REQUIRE(std::isfinite(value));
  }
  CHECK(refused > 100);
  CHECK(solved > 100);
}
