// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <array>
#include <catch2/catch_session.hpp>
#include <catch2/catch_template_test_macros.hpp>
#include <cmath>
#include <limits>
#include <thread>
#include <utility>

#include "Lutra_CTestSolver.hpp"
#include "Lutra_Config.hpp"

extern "C" int solve_in_c99(double x[2]);

using namespace lutra::Test;

// Kokkos is started by the first lutra_create, and ended here.
int main(int argc, char* argv[]) {
  const int failed = Catch::Session().run(argc, argv);
  return failed != 0 || lutra_finalize() != LUTRA_SUCCESS || lutra_finalize() != LUTRA_SUCCESS ||
         lutra_initialize(0, -1) != LUTRA_CALL_ORDER_ERROR;
}

namespace {

#ifdef LUTRA_HAS_SERIAL
constexpr const char* host_backend = "serial";
#else
constexpr const char* host_backend = "openmp";
#endif

template <class Scalar, class Ordinal, class Offset>
void solve_and_compare() {
  using std::abs;
  const auto tolerance = 100 * std::numeric_limits<decltype(abs(Scalar()))>::epsilon();
  const int n = 40, k = 3, ldb = 43, ldx = 41;
  const auto A = tridiagonal<Scalar, Ordinal, Offset>(n, Scalar(-1), Scalar(4), Scalar(2));
  std::vector<Scalar> X(k * ldx, Scalar(-9)), B(k * ldb, Scalar(-9)), expected(n);
  CSolver solver(LUTRA_LU, c_scalar<Scalar>, c_index<Ordinal>);
  const lutra_matrix c = A.c();
  REQUIRE(lutra_analyze(solver, &c) == LUTRA_SUCCESS);
  REQUIRE(lutra_factorize(solver, &c) == LUTRA_SUCCESS);
  CHECK(lutra_report_status(solver) == LUTRA_NOT_SOLVED);
  for (const lutra_operation op : {LUTRA_NONE, LUTRA_TRANSPOSED, LUTRA_ADJOINT}) {
    for (int j = 0; j < k; ++j) {
      for (int i = 0; i < n; ++i) expected[i] = Scalar(float(1 + (i + j) % 7));
      const auto b = A.times(expected, op != LUTRA_NONE);  // A is real
      std::copy(b.begin(), b.end(), B.begin() + j * ldb);
    }
    REQUIRE(lutra_solve(solver, op, k, B.data(), ldb, X.data(), ldx) == LUTRA_SUCCESS);
    double error = 0;
    for (int j = 0; j < k; ++j)
      for (int i = 0; i < n; ++i)
        error = std::max<double>(error, abs(X[j * ldx + i] - Scalar(float(1 + (i + j) % 7))));
    CHECK(error < tolerance);
    CHECK(X[n] == Scalar(-9));  // between the columns
  }
  CHECK(lutra_report_status(solver) == LUTRA_SUCCESS);
  REQUIRE(lutra_set_option(solver, "check", "never") == LUTRA_SUCCESS);
  REQUIRE(lutra_analyze(solver, &c) == LUTRA_SUCCESS);  // options take effect by an analysis
  REQUIRE(lutra_factorize(solver, &c) == LUTRA_SUCCESS);
  const auto checked = X;
  CHECK(lutra_solve(solver, LUTRA_ADJOINT, k, B.data(), ldb, X.data(), ldx) == LUTRA_UNCHECKED);
  for (int i = 0; i < n; ++i) CHECK(abs(X[i] - checked[i]) < tolerance * 8);
  CHECK(lutra_report_status(solver) == LUTRA_UNCHECKED);
  CHECK(std::string(lutra_status_name(LUTRA_UNCHECKED)) == "unchecked");
}

}  // namespace

TEST_CASE("C: systems of all scalar types, index types and row maps are solved") {
#ifdef LUTRA_HAS_F64
  solve_and_compare<double, std::int32_t, std::int32_t>();
  solve_and_compare<double, std::int32_t, std::int64_t>();
#endif
#ifdef LUTRA_HAS_F32
  solve_and_compare<float, std::int32_t, std::int64_t>();
#endif
#ifdef LUTRA_HAS_C64
  solve_and_compare<std::complex<float>, std::int32_t, std::int32_t>();
#endif
#ifdef LUTRA_HAS_C128
  solve_and_compare<std::complex<double>, std::int32_t, std::int64_t>();
#endif
#ifdef LUTRA_HAS_F64
  solve_and_compare<double, std::int64_t, std::size_t>();
  solve_and_compare<double, std::int64_t, std::int32_t>();
#endif
}

TEST_CASE("C: a method is chosen automatically") {
  const auto A = tridiagonal<double, std::int32_t, std::int32_t>(6, 1.0, 4.0, -1.0);
  const lutra_matrix c = A.c();
  CSolver solver(LUTRA_AUTO, LUTRA_F64, LUTRA_INT32, host_backend);
  CHECK(lutra_set_option(solver, "tolerance", "1e-13") == LUTRA_SUCCESS);
  CHECK(lutra_set_option(solver, "ldlt.pair_ordering", "false") == LUTRA_SUCCESS);
  CHECK(lutra_set_option(solver, "engine", "auto") == LUTRA_INPUT_ERROR);
  REQUIRE(lutra_analyze(solver, &c) == LUTRA_SUCCESS);
  REQUIRE(lutra_factorize(solver, &c) == LUTRA_SUCCESS);
  double x[6] = {3, 4, 4, 4, 4, 5};  // A·(1, …, 1)
  REQUIRE(lutra_solve(solver, LUTRA_NONE, 1, x, 6, x, 6) == LUTRA_SUCCESS);
  for (const double value : x) CHECK(std::abs(value - 1) < 1e-13);
  const char* method = nullptr;
  CHECK(lutra_get_text(solver, "choice.method", &method) == LUTRA_SUCCESS);
  CHECK(std::string(method) == "lu");
}

TEST_CASE("C: the header is C99") {
  double x[2] = {0, 0};
  REQUIRE(solve_in_c99(x) == 0);
  CHECK(x[0] == 1);
  CHECK(x[1] == 2);
}

TEST_CASE("C: LDLT has inertia and shifts, Cholesky the column with a nonpositive pivot") {
  // Eigenvalues 0.5 + 2·cos(jπ/7): two below 0.
  const auto A = tridiagonal<double, std::int32_t, std::int32_t>(6, 1.0, 0.5, 1.0);
  const lutra_matrix c = A.c();
  // Some of the calls take arrays where the solver works.
  CSolver ldlt(LUTRA_LDLT, LUTRA_F64, LUTRA_INT32, host_backend);
  REQUIRE(lutra_analyze(ldlt, &c) == LUTRA_SUCCESS);
  REQUIRE(lutra_factorize(ldlt, &c) == LUTRA_SUCCESS);
  std::int64_t negative = -1, zero = -1, positive = -1;
  CHECK(lutra_get_integer(ldlt, "inertia.negative", &negative) == LUTRA_SUCCESS);
  CHECK(lutra_get_integer(ldlt, "inertia.zero", &zero) == LUTRA_SUCCESS);
  CHECK(lutra_get_integer(ldlt, "inertia.positive", &positive) == LUTRA_SUCCESS);
  const char* attempt = nullptr;
  REQUIRE(lutra_get_text(ldlt, "pivots.attempt", &attempt) == LUTRA_SUCCESS);
  CHECK(std::string(attempt) == "delays");  // hosts try no pivots in place
  CHECK(negative == 2);
  CHECK(zero == 0);
  CHECK(positive == 4);
  const std::vector<double> shift(6, 2.0);
  REQUIRE(lutra_factorize_shifted(ldlt, &c, shift.data()) == LUTRA_SUCCESS);
  CHECK(lutra_get_integer(ldlt, "inertia.negative", &negative) == LUTRA_SUCCESS);
  CHECK(negative == 0);

  // Leading minors D_k = D_{k-1}/2 - D_{k-2}, D_0 = 1, D_1 = 1/2.
  double before = 1, determinant = 0.5;
  for (int k = 2; k <= 6; ++k) before = std::exchange(determinant, 0.5 * determinant - before);
  REQUIRE(lutra_factorize(ldlt, &c) == LUTRA_SUCCESS);
  double sign = 0, logarithm = 0;
  REQUIRE(lutra_determinant(ldlt, &sign, &logarithm) == LUTRA_SUCCESS);
  CHECK(std::abs(sign * std::exp(logarithm) - determinant) < 1e-13);
  const std::vector<double> expected{1, 2, 3, 4, 5, 6};
  auto x = A.times(expected);
  for (const int part : {LUTRA_LOWER, LUTRA_DIAGONAL, LUTRA_UPPER})
    REQUIRE(lutra_solve_parts(ldlt, part, LUTRA_NONE, 1, x.data(), 6, x.data(), 6) == LUTRA_SUCCESS);
  for (std::size_t i = 0; i < x.size(); ++i) CHECK(std::abs(x[i] - expected[i]) < 1e-12);
  CHECK(lutra_solve_parts(ldlt, 8, LUTRA_NONE, 1, x.data(), 6, x.data(), 6) == LUTRA_INPUT_ERROR);
  CHECK(message_has("LUTRA_LOWER"));
  lutra_memory_forecast forecast{}, of_many{};
  REQUIRE(lutra_forecast(ldlt, 1, &forecast) == LUTRA_SUCCESS);
  CHECK(forecast.factors_device > 0);
  CHECK(forecast.factors_device <= forecast.factorization_device);
  CHECK(forecast.factorization_device <= forecast.solve_device);
  CHECK(forecast.factors_host + forecast.factorization_host + forecast.solve_host == 0);
  REQUIRE(lutra_forecast(ldlt, 16, &of_many) == LUTRA_SUCCESS);
  CHECK(of_many.solve_device > forecast.solve_device);
  std::int64_t reported = 0;
  REQUIRE(lutra_get_integer(ldlt, "memory.forecast.solve.device", &reported) == LUTRA_SUCCESS);
  CHECK(static_cast<std::uint64_t>(reported) == forecast.solve_device);
  CHECK(lutra_forecast(ldlt, 0, &forecast) == LUTRA_INPUT_ERROR);
  CHECK(message_has("n_rhs"));
  CHECK(lutra_forecast(ldlt, 1, nullptr) == LUTRA_INPUT_ERROR);
  int raised = 0, steps = 0;  // 0.01, 0.032, 0.075, 0.14, 0.23, 0.33, 0.44, 1/2
  do {
    REQUIRE(lutra_increase_quality(ldlt, &raised) == LUTRA_SUCCESS);
    steps += raised;
  } while (raised != 0 && steps < 100);
  CHECK(steps == 7);

  CSolver cholesky(LUTRA_CHOLESKY);
  REQUIRE(lutra_set_option(cholesky, "ordering", "natural") == LUTRA_SUCCESS);
  REQUIRE(lutra_analyze(cholesky, &c) == LUTRA_SUCCESS);
  CHECK(lutra_factorize(cholesky, &c) == LUTRA_NOT_POSITIVE_DEFINITE);
  CHECK(message_has("positive"));
  CHECK(lutra_report_status(cholesky) == LUTRA_NOT_POSITIVE_DEFINITE);
  const std::int64_t* column = nullptr;
  std::size_t count = 0;
  REQUIRE(lutra_get_integers(cholesky, "indefinite_column", &column, &count) == LUTRA_SUCCESS);
  REQUIRE(count == 1);
  CHECK(column[0] >= 0);
  CHECK(column[0] < 6);
}

TEST_CASE("C: incomplete factors are applied and Krylov methods iterate") {
  const int n = 50;
  const auto A = tridiagonal(n, -1.0, 3.0, -1.5);
  const lutra_matrix c = A.c();
  std::vector<double> expected(n), x(n);
  for (int i = 0; i < n; ++i) expected[static_cast<std::size_t>(i)] = 1 + i % 5;
  const auto b = A.times(expected);

  CSolver ilu(LUTRA_ILU);  // exact for a tridiagonal matrix
  REQUIRE(lutra_set_option(ilu, "apply", "exact") == LUTRA_SUCCESS);
  REQUIRE(lutra_analyze(ilu, &c) == LUTRA_SUCCESS);
  REQUIRE(lutra_factorize(ilu, &c) == LUTRA_SUCCESS);
  REQUIRE(lutra_apply(ilu, LUTRA_NONE, 1, b.data(), n, x.data(), n) == LUTRA_SUCCESS);
  for (std::size_t i = 0; i < expected.size(); ++i) CHECK(std::abs(x[i] - expected[i]) < 1e-12);
  CHECK(lutra_solve(ilu, LUTRA_NONE, 1, b.data(), n, x.data(), n) == LUTRA_INPUT_ERROR);

  CSolver krylov(LUTRA_KRYLOV);
  REQUIRE(lutra_set_option(krylov, "method", "bicgstab") == LUTRA_SUCCESS);
  REQUIRE(lutra_set_option(krylov, "preconditioning", "jacobi") == LUTRA_SUCCESS);
  REQUIRE(lutra_set_option(krylov, "tolerance", "1e-12") == LUTRA_SUCCESS);
  REQUIRE(lutra_analyze(krylov, &c) == LUTRA_SUCCESS);
  REQUIRE(lutra_factorize(krylov, &c) == LUTRA_SUCCESS);
  REQUIRE(lutra_solve(krylov, LUTRA_NONE, 1, b.data(), n, x.data(), n) == LUTRA_SUCCESS);
  for (std::size_t i = 0; i < expected.size(); ++i) CHECK(std::abs(x[i] - expected[i]) < 1e-9);
  std::int64_t iterations = 0;
  CHECK(lutra_get_integer(krylov, "iterations", &iterations) == LUTRA_SUCCESS);
  CHECK(iterations > 3);
  const double* history = nullptr;
  std::size_t count = 0;
  REQUIRE(lutra_get_numbers(krylov, "residual_history", &history, &count) == LUTRA_SUCCESS);
  REQUIRE(count > 3);
  CHECK(history[0] == 1);
  CHECK(history[count - 1] <= 1e-12);
  CHECK(lutra_apply(krylov, LUTRA_NONE, 1, b.data(), n, x.data(), n) == LUTRA_INPUT_ERROR);

  // New options with the next analysis, not before.
  REQUIRE(lutra_set_option(krylov, "max_iterations", "2") == LUTRA_SUCCESS);
  CHECK(lutra_solve(krylov, LUTRA_NONE, 1, b.data(), n, x.data(), n) == LUTRA_SUCCESS);
  REQUIRE(lutra_analyze(krylov, &c) == LUTRA_SUCCESS);
  REQUIRE(lutra_factorize(krylov, &c) == LUTRA_SUCCESS);
  CHECK(lutra_solve(krylov, LUTRA_NONE, 1, b.data(), n, x.data(), n) == LUTRA_NOT_CONVERGED);
  CHECK(lutra_report_status(krylov) == LUTRA_NOT_CONVERGED);
}

TEST_CASE("C: options are read back and permutations are used") {
  CSolver solver(LUTRA_LU);
  const char* value = nullptr;
  REQUIRE(lutra_get_option(solver, "pivot_threshold", &value) == LUTRA_SUCCESS);
  CHECK(std::string(value) == "0.1");
  REQUIRE(lutra_set_option(solver, "engine", "simplicial") == LUTRA_SUCCESS);
  REQUIRE(lutra_get_option(solver, "engine", &value) == LUTRA_SUCCESS);
  CHECK(std::string(value) == "simplicial");

  const auto A = tridiagonal(4, 1.0, 4.0, 1.0);
  const lutra_matrix c = A.c();
  const std::vector<std::int64_t> order = {3, 1, 0, 2};
  REQUIRE(lutra_set_permutation(solver, 4, order.data()) == LUTRA_SUCCESS);
  REQUIRE(lutra_analyze(solver, &c) == LUTRA_SUCCESS);
  REQUIRE(lutra_get_text(solver, "choice.ordering", &value) == LUTRA_SUCCESS);
  CHECK(std::string(value) == "user");
  REQUIRE(lutra_set_permutation(solver, 0, nullptr) == LUTRA_SUCCESS);
  REQUIRE(lutra_analyze(solver, &c) == LUTRA_SUCCESS);
  REQUIRE(lutra_get_text(solver, "choice.ordering", &value) == LUTRA_SUCCESS);
  CHECK(std::string(value) != "user");
}

TEST_CASE("C: the report and its values by key") {
  const auto A = tridiagonal(5, 1.0, 4.0, 1.0);
  const lutra_matrix c = A.c();
  CSolver solver(LUTRA_LU);
  std::vector<double> x(5, 1.0);
  REQUIRE(lutra_analyze(solver, &c) == LUTRA_SUCCESS);
  REQUIRE(lutra_factorize(solver, &c) == LUTRA_SUCCESS);
  REQUIRE(lutra_solve(solver, LUTRA_NONE, 1, x.data(), 5, x.data(), 5) == LUTRA_SUCCESS);
  double error = -1;
  REQUIRE(lutra_get_number(solver, "errors.backward_componentwise", &error) == LUTRA_SUCCESS);
  CHECK(error >= 0);
  CHECK(error < 1e-14);
  std::int64_t nnz = 0;
  REQUIRE(lutra_get_integer(solver, "matrix.nnz", &nnz) == LUTRA_SUCCESS);
  CHECK(nnz == 13);
  CHECK(lutra_get_integer(solver, "iterations", &nnz) == LUTRA_NO_VALUE);
  CHECK(nnz == 13);
  CHECK(lutra_get_integer(solver, "inertia.minus", &nnz) == LUTRA_INPUT_ERROR);
  CHECK(message_has("inertia.minus"));
  CHECK(lutra_get_integer(solver, "status", &nnz) == LUTRA_INPUT_ERROR);
  const char* text = nullptr;
  REQUIRE(lutra_report_json(solver, &text) == LUTRA_SUCCESS);
  CHECK(std::string(text).find("\"status\": \"success\"") != std::string::npos);
  if (lutra_get_text(solver, "device", &text) == LUTRA_NO_VALUE) {  // a host backend: the same memory
    REQUIRE(lutra_set_memory(solver, LUTRA_DEVICE) == LUTRA_SUCCESS);
    CHECK(lutra_factorize(solver, &c) == LUTRA_SUCCESS);
    CHECK(lutra_solve(solver, LUTRA_NONE, 1, x.data(), 5, x.data(), 5) == LUTRA_SUCCESS);
  }
  REQUIRE(lutra_get_text(solver, "matrix.scalar", &text) == LUTRA_SUCCESS);
  CHECK(std::string(text) == "f64");
  CHECK(std::string(lutra_version()).find('.') != std::string::npos);
  CHECK(std::string(lutra_version_json()).find("\"scalars\"") != std::string::npos);
}

TEST_CASE("C: the message belongs to a thread", "[threads]") {
  lutra_solver* solver = nullptr;
  CHECK(lutra_create(&solver, LUTRA_LU, LUTRA_F64, LUTRA_INT32, "abacus") == LUTRA_NOT_BUILT);
  std::thread([] {
    CHECK(std::string(lutra_message()).empty());
    CHECK(lutra_initialize(0, -1) == LUTRA_SUCCESS);
    CHECK(lutra_set_option(nullptr, "a", "b") == LUTRA_INPUT_ERROR);
  }).join();
  CHECK(message_has("abacus"));
  CHECK(solver == nullptr);
}

TEST_CASE("a log is told of calls, stages, choices and escalations", "[c]") {
  struct Told {
    std::vector<std::string> lines;
    int depth = 0;
    bool has_bytes = false;
  } told;
  const auto log = [](void* user, const lutra_event* event) {
    auto& to = *static_cast<Told*>(user);
    constexpr std::array steps = {1, -1, 1, -1, 0, 0};
    to.depth += steps.at(static_cast<std::size_t>(event->kind));
    to.has_bytes = to.has_bytes || (event->bytes > 0 && event->peak_bytes >= event->bytes);
    if (event->kind == LUTRA_CALL_BEGINS || event->kind == LUTRA_CHOICE)
      to.lines.push_back(event->name + std::string(" ") + event->text);
  };
  const auto A = tridiagonal<double, std::int32_t, std::int64_t>(20, -1.0, 4.0, 2.0);
  const lutra_matrix c = A.c();
  std::vector<double> b(20, 1.0), x(20);
  CSolver solver(LUTRA_LU);
  REQUIRE(lutra_set_log(solver, log, &told) == LUTRA_SUCCESS);
  REQUIRE(lutra_set_option(solver, "ordering", "natural") == LUTRA_SUCCESS);  // keeps the log
  REQUIRE(lutra_analyze(solver, &c) == LUTRA_SUCCESS);
  REQUIRE(lutra_factorize(solver, &c) == LUTRA_SUCCESS);
  REQUIRE(lutra_solve(solver, LUTRA_NONE, 1, b.data(), 20, x.data(), 20) == LUTRA_SUCCESS);
  const auto has = [&](const std::string& line) {
    return std::ranges::find(told.lines, line) != told.lines.end();
  };
  CHECK(has("analyze "));
  CHECK(has("factorize "));
  CHECK(has("solve "));
  CHECK(has("ordering natural"));
  CHECK(told.depth == 0);
  CHECK(told.has_bytes);
  const std::size_t before = told.lines.size();
  REQUIRE(lutra_set_log(solver, nullptr, nullptr) == LUTRA_SUCCESS);
  REQUIRE(lutra_analyze(solver, &c) == LUTRA_SUCCESS);
  CHECK(told.lines.size() == before);
  CHECK(lutra_set_log(nullptr, log, &told) == LUTRA_INPUT_ERROR);
}
