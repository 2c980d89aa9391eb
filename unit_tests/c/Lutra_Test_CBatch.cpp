// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <limits>

#include "Lutra_CTestSolver.hpp"
#include "Lutra_Config.hpp"

// Batches by the C interface, in both storages, against products with known solutions.

using namespace lutra::Test;

#ifdef LUTRA_HAS_F64

namespace {

constexpr int n = 30, K = 11, columns = 2;

struct CBatch {
  explicit CBatch(lutra_method method, lutra_index index = LUTRA_INT32) {
    REQUIRE(lutra_batch_create(&handle, method, LUTRA_F64, index, nullptr) == LUTRA_SUCCESS);
  }
  CBatch(const CBatch&) = delete;
  CBatch& operator=(const CBatch&) = delete;
  ~CBatch() { lutra_destroy(handle); }
  operator lutra_solver*() const { return handle; }
  lutra_solver* handle = nullptr;
};

CMatrix<> system(int k, bool symmetric) {
  return tridiagonal(n, -1.0, 4.0 + 0.1 * k, symmetric ? -1.0 : 0.5);
}
double solution(int i, int c, int k) {
  return 1 + (i + 2 * c + 3 * k) % 5;
}

/// Values, right-hand sides and solutions of K systems.
struct Systems {
  std::int64_t nnz, entry, of_system;
  lutra_strides strides;
  std::vector<double> values, B, X;

  Systems(bool symmetric, bool interleaved, bool transposed = false) {
    nnz = static_cast<std::int64_t>(system(0, symmetric).values.size());
    entry = interleaved ? K : 1;
    of_system = interleaved ? 1 : nnz;
    strides = interleaved ? lutra_strides{columns * K, K, 1} : lutra_strides{1, n, n * columns};
    values.resize(static_cast<std::size_t>(nnz * K));
    B.resize(n * columns * K);
    X.assign(B.size(), -9);
    for (int k = 0; k < K; ++k) {
      const auto A = system(k, symmetric);
      for (std::int64_t p = 0; p < nnz; ++p) value(p, k) = A.values[static_cast<std::size_t>(p)];
      for (int c = 0; c < columns; ++c) {
        std::vector<double> x(n);
        for (int i = 0; i < n; ++i) x[static_cast<std::size_t>(i)] = solution(i, c, k);
        const auto b = A.times(x, transposed);
        for (int i = 0; i < n; ++i) B[at(i, c, k)] = b[static_cast<std::size_t>(i)];
      }
    }
  }
  double& value(std::int64_t p, int k) { return values[static_cast<std::size_t>(p * entry + k * of_system)]; }
  std::size_t at(int i, int c, int k) const {
    return static_cast<std::size_t>(i * strides.row + c * strides.column + k * strides.system);
  }
  lutra_status factorize(lutra_solver* solver, const unsigned char* mask = nullptr) const {
    return lutra_batch_factorize(solver, K, values.data(), entry, of_system, mask);
  }
  lutra_status solve(lutra_solver* solver, int op = LUTRA_NONE) {
    return lutra_batch_solve(solver, op, columns, B.data(), &strides, X.data(), &strides);
  }
  double error(int k) const {
    double largest = 0;
    for (int c = 0; c < columns; ++c)
      for (int i = 0; i < n; ++i) largest = std::max(largest, std::abs(X[at(i, c, k)] - solution(i, c, k)));
    return largest;
  }
};

std::vector<std::int64_t> integers(lutra_solver* solver, const char* key) {
  const std::int64_t* values = nullptr;
  std::size_t count = 0;
  REQUIRE(lutra_get_integers(solver, key, &values, &count) == LUTRA_SUCCESS);
  return {values, values + count};
}
std::vector<double> numbers(lutra_solver* solver, const char* key) {
  const double* values = nullptr;
  std::size_t count = 0;
  REQUIRE(lutra_get_numbers(solver, key, &values, &count) == LUTRA_SUCCESS);
  return {values, values + count};
}
std::string text(lutra_solver* solver, const char* key) {
  const char* value = nullptr;
  REQUIRE(lutra_get_text(solver, key, &value) == LUTRA_SUCCESS);
  return value;
}

}  // namespace

TEST_CASE("C: batches of all methods and storages are solved") {
  for (const lutra_method method : {LUTRA_LU, LUTRA_LDLT, LUTRA_CHOLESKY, LUTRA_KRYLOV})
    for (const bool interleaved : {true, false})
      for (const lutra_operation op : {LUTRA_NONE, LUTRA_TRANSPOSED}) {
        CAPTURE(method, interleaved, op);
        const bool symmetric = method == LUTRA_LDLT || method == LUTRA_CHOLESKY;
        Systems systems(symmetric, interleaved, op != LUTRA_NONE);
        CBatch batch(method);
        if (method == LUTRA_KRYLOV) {
          REQUIRE(lutra_set_option(batch, "tolerance", "1e-13") == LUTRA_SUCCESS);
          REQUIRE(lutra_set_option(batch, "preconditioning", "jacobi") == LUTRA_SUCCESS);
        }
        const auto A = system(3, symmetric);
        const lutra_matrix c = A.c();
        REQUIRE(lutra_analyze(batch, &c) == LUTRA_SUCCESS);
        REQUIRE(systems.factorize(batch) == LUTRA_SUCCESS);
        CHECK(lutra_report_status(batch) == LUTRA_NOT_SOLVED);
        REQUIRE(systems.solve(batch, op) == LUTRA_SUCCESS);
        CHECK(lutra_report_status(batch) == LUTRA_SUCCESS);
        for (int k = 0; k < K; ++k) CHECK(systems.error(k) < 1e-11);
        CHECK(integers(batch, "statuses") == std::vector<std::int64_t>(K, LUTRA_SUCCESS));
        if (method == LUTRA_KRYLOV) {
          for (const std::int64_t count : integers(batch, "iterations")) CHECK((count > 3 && count < 60));
          for (const double residual : numbers(batch, "residuals")) CHECK(residual <= 1e-13);
          std::int64_t most = 0;
          CHECK(lutra_get_integer(batch, "iterations", &most) == LUTRA_SUCCESS);
          CHECK(most > 3);
        } else {
          for (const double error : numbers(batch, "errors.backward_componentwise")) CHECK(error < 1e-15);
          CHECK(integers(batch, "alone").empty());
          CHECK(integers(batch, "chunks") == std::vector<std::int64_t>{1});
        }
        if (symmetric) CHECK(integers(batch, "inertia.positive") == std::vector<std::int64_t>(K, n));
      }
}

TEST_CASE("C: a batch has masks, and statuses of its systems") {
  Systems systems(false, true);
  for (std::int64_t p = 0; p < systems.nnz; ++p) {
    systems.value(p, 2) = std::numeric_limits<double>::quiet_NaN();  // masked
    systems.value(p, 5) = 0;                                         // singular
  }
  const unsigned char mask[K] = {1, 1, 0, 1, 1, 1, 1, 1, 1, 1, 1};
  const auto A = tridiagonal<double, std::int64_t, std::int32_t>(n, -1.0, 4.0, 0.5);
  const lutra_matrix c = A.c();
  CBatch batch(LUTRA_LU, LUTRA_INT64);
  REQUIRE(lutra_analyze(batch, &c) == LUTRA_SUCCESS);
  CHECK(systems.factorize(batch, mask) == LUTRA_NUMERICALLY_SINGULAR);
  CHECK(message_has("1 of 11 systems: numerically_singular; the first is system 5"));
  CHECK(systems.solve(batch) == LUTRA_NUMERICALLY_SINGULAR);
  const auto statuses = integers(batch, "statuses");
  const auto errors = numbers(batch, "errors.backward_componentwise");
  for (int k = 0; k < K; ++k) {
    CAPTURE(k);
    const auto at = static_cast<std::size_t>(k);
    CHECK(statuses[at] == (k == 2 ? LUTRA_NOT_SOLVED : k == 5 ? LUTRA_NUMERICALLY_SINGULAR : LUTRA_SUCCESS));
    CHECK(std::isnan(errors[at]) == (k == 2 || k == 5));
    if (k == 2 || k == 5) CHECK(systems.X[systems.at(4, 1, k)] == -9);
    if (k != 2 && k != 5) CHECK(systems.error(k) < 1e-12);
  }
  CHECK(integers(batch, "alone") == std::vector<std::int64_t>{5});
  const char* json = nullptr;
  REQUIRE(lutra_report_json(batch, &json) == LUTRA_SUCCESS);
  CHECK(std::string(json).find("numerically_singular") != std::string::npos);
}

TEST_CASE("C: a batch names its method and the engine of its factors") {
  const auto A = system(0, true);
  const lutra_matrix c = A.c();
  Systems systems(true, true);
  const auto engine_of = [&](lutra_method method, const char* option, const char* value) {
    CBatch batch(method);
    if (option != nullptr) REQUIRE(lutra_set_option(batch, option, value) == LUTRA_SUCCESS);
    const char* engine = nullptr;
    CHECK(lutra_get_text(batch, "choice.engine", &engine) == LUTRA_NO_VALUE);  // nothing is analyzed
    REQUIRE(lutra_analyze(batch, &c) == LUTRA_SUCCESS);
    const std::string analyzed = text(batch, "choice.engine");
    REQUIRE(systems.factorize(batch) == LUTRA_SUCCESS);
    CHECK(text(batch, "choice.engine") == analyzed);
    REQUIRE(systems.solve(batch) == LUTRA_SUCCESS);
    CHECK(text(batch, "choice.engine") == analyzed);
    CHECK(text(batch, "choice.method") == (method == LUTRA_LU ? "lu" : "ldlt"));
    CHECK_FALSE(text(batch, "choice.ordering").empty());
    return analyzed;
  };
  CHECK(engine_of(LUTRA_LU, "engine", "simplicial") == "simplicial");
  CHECK(engine_of(LUTRA_LU, "engine", "multifrontal") == "multifrontal");
  CHECK(engine_of(LUTRA_LU, "pivoting", "threshold") == "multifrontal");
  CHECK(engine_of(LUTRA_LDLT, nullptr, nullptr) == "simplicial");

  CBatch krylov(LUTRA_KRYLOV);
  REQUIRE(lutra_analyze(krylov, &c) == LUTRA_SUCCESS);
  const char* engine = nullptr;
  CHECK(lutra_get_text(krylov, "choice.engine", &engine) == LUTRA_NO_VALUE);
}

TEST_CASE("C: incomplete factors of a batch are applied") {
  Systems systems(false, false);
  const auto A = system(0, false);
  const lutra_matrix c = A.c();
  CBatch batch(LUTRA_ILU);
  REQUIRE(lutra_analyze(batch, &c) == LUTRA_SUCCESS);
  REQUIRE(systems.factorize(batch) == LUTRA_SUCCESS);
  REQUIRE(lutra_batch_apply(batch, LUTRA_NONE, columns, systems.B.data(), &systems.strides, systems.X.data(),
                            &systems.strides) == LUTRA_SUCCESS);
  for (int k = 0; k < K; ++k) CHECK(systems.error(k) < 1e-12);  // tridiagonal: without fill, thus complete
  CHECK(systems.solve(batch) == LUTRA_INPUT_ERROR);
  CHECK(message_has("lutra_batch_apply"));
}

TEST_CASE("C: wrong arguments of batches are refused by name") {
  lutra_solver* none = nullptr;
  CHECK(lutra_batch_create(nullptr, LUTRA_LU, LUTRA_F64, LUTRA_INT32, nullptr) == LUTRA_INPUT_ERROR);
  CHECK(lutra_batch_create(&none, LUTRA_AUTO, LUTRA_F64, LUTRA_INT32, nullptr) == LUTRA_INPUT_ERROR);
  CHECK(message_has("method"));
  CHECK(lutra_batch_create(&none, LUTRA_LU, 9, LUTRA_INT32, nullptr) == LUTRA_INPUT_ERROR);
  CHECK(lutra_batch_create(&none, LUTRA_LU, LUTRA_F64, LUTRA_INT32, "abacus") == LUTRA_NOT_BUILT);
  CHECK(none == nullptr);
  Systems systems(false, true);
  CHECK(systems.factorize(nullptr) == LUTRA_INPUT_ERROR);
  CSolver single(LUTRA_LU);
  CHECK(systems.factorize(single) == LUTRA_INPUT_ERROR);
  CHECK(message_has("lutra_batch_create"));

  CBatch batch(LUTRA_LU);
  CHECK(systems.factorize(batch) == LUTRA_CALL_ORDER_ERROR);
  CHECK(lutra_get_option(batch, "no_such", nullptr) == LUTRA_INPUT_ERROR);
  const auto A = system(0, false);
  const lutra_matrix c = A.c();
  REQUIRE(lutra_analyze(batch, &c) == LUTRA_SUCCESS);
  CHECK(systems.solve(batch) == LUTRA_CALL_ORDER_ERROR);
  CHECK(lutra_factorize(batch, &c) == LUTRA_INPUT_ERROR);
  CHECK(message_has("lutra_batch_factorize"));
  double x[n] = {};
  CHECK(lutra_solve(batch, LUTRA_NONE, 1, x, n, x, n) == LUTRA_INPUT_ERROR);
  REQUIRE(systems.factorize(batch) == LUTRA_SUCCESS);
  CHECK(lutra_batch_factorize(batch, -1, systems.values.data(), 1, 1, nullptr) == LUTRA_INPUT_ERROR);
  CHECK(message_has("n_systems"));
  CHECK(lutra_batch_factorize(batch, K, nullptr, K, 1, nullptr) == LUTRA_INPUT_ERROR);
  CHECK(message_has("values"));
  CHECK(lutra_batch_factorize(batch, K, systems.values.data(), 0, 1, nullptr) == LUTRA_INPUT_ERROR);
  CHECK(message_has("stride"));
  systems.value(4, 7) = std::numeric_limits<double>::infinity();
  CHECK(systems.factorize(batch) == LUTRA_INPUT_ERROR);
  CHECK(message_has("system 7, row 1, column 2"));
  const lutra_strides overlapping = {1, n - 1, n * columns};
  const auto solve = [&](const double* B, const lutra_strides* b, double* X, const lutra_strides* s) {
    return lutra_batch_solve(batch, LUTRA_NONE, columns, B, b, X, s);
  };
  CHECK(solve(systems.B.data(), &systems.strides, systems.X.data(), &overlapping) == LUTRA_INPUT_ERROR);
  CHECK(message_has("X"));
  CHECK(solve(systems.B.data(), nullptr, systems.X.data(), &systems.strides) == LUTRA_INPUT_ERROR);
  CHECK(solve(nullptr, &systems.strides, systems.X.data(), &systems.strides) == LUTRA_INPUT_ERROR);
  CHECK(message_has("B"));
  systems.B[systems.at(3, 1, 8)] = std::numeric_limits<double>::quiet_NaN();
  CHECK(systems.solve(batch) == LUTRA_INPUT_ERROR);
  CHECK(message_has("system 8, row 3, column 1"));
  CHECK(systems.X[0] == -9);  // nothing was written
  const std::int64_t* list = nullptr;
  std::size_t count = 0;
  CHECK(lutra_get_integers(batch, "iterations", &list, &count) == LUTRA_INPUT_ERROR);
  CHECK(message_has("refinement_steps"));

  lutra_stop(batch);
  CHECK(systems.factorize(batch) != LUTRA_SUCCESS);
  lutra_resume(batch);
  systems.value(4, 7) = 4.5;
  CHECK(systems.factorize(batch) == LUTRA_SUCCESS);
  lutra_stop(batch);
  CHECK(systems.factorize(batch) == LUTRA_CANCELLED);
}

#endif
