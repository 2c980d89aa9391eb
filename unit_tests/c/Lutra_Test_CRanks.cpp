// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests lutra_mpi.h on the ranks of mpirun. Each test runs on all ranks.
#include <catch2/catch_approx.hpp>
#include <catch2/catch_session.hpp>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <limits>
#include <new>

#include "Lutra_CTestSolver.hpp"
#include "lutra_mpi.h"

using lutra::Test::CSolver;
using lutra::Test::message_has;

namespace {

/// Allocations of operator new until one fails; negative: none does.
long allocations_left = -1;

}  // namespace

void* operator new(std::size_t bytes) {
  void* const memory = allocations_left >= 0 && allocations_left-- == 0 ? nullptr : std::malloc(bytes + 1);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}

namespace {

int rank() {
  int value = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &value);
  return value;
}
int size() {
  int value = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &value);
  return value;
}
bool is_last() {
  return rank() == size() - 1;
}

/// The text of rank 0, on all ranks.
std::string text_of_first(const std::string& text) {
  int length = static_cast<int>(text.size());
  MPI_Bcast(&length, 1, MPI_INT, 0, MPI_COMM_WORLD);
  std::string first = text;
  first.resize(static_cast<std::size_t>(length));
  MPI_Bcast(first.data(), length, MPI_CHAR, 0, MPI_COMM_WORLD);
  return first;
}

/// All ranks have the status and one message with this text.
void check_error(lutra_status status, lutra_status expected, const std::string& text) {
  const std::string message = status == LUTRA_SUCCESS ? "" : lutra_message();
  INFO("rank " << rank() << ": " << message);
  CHECK(status == expected);
  CHECK(message.find(text) != std::string::npos);
  CHECK(text_of_first(message) == message);
}

/// Rows of a convection-diffusion matrix on a square grid, dealt to the ranks by turns, the last row first.
template <class Scalar = double, class Index = std::int32_t, class Offset = std::int32_t>
struct Rows {
  std::int64_t n;
  std::vector<Index> rows, columns;
  std::vector<Offset> row_map{0};
  std::vector<Scalar> values;

  explicit Rows(int side) : n(std::int64_t{side} * side) {
    for (std::int64_t row = n - 1; row >= 0; --row) {
      if (row % size() != rank()) continue;
      const std::int64_t x = row % side, y = row / side;
      const auto add = [&](bool inside, std::int64_t column, double value) {
        if (!inside) return;
        columns.push_back(static_cast<Index>(column));
        values.push_back(static_cast<Scalar>(value));
      };
      add(y > 0, row - side, -1.5);
      add(x > 0, row - 1, -1.25);
      add(true, row, 4.5);
      add(x + 1 < side, row + 1, -0.75);
      add(y + 1 < side, row + side, -0.5);
      rows.push_back(static_cast<Index>(row));
      row_map.push_back(static_cast<Offset>(columns.size()));
    }
  }

  lutra_rows c() const {
    return {n,
            static_cast<std::int64_t>(rows.size()),
            static_cast<std::int64_t>(columns.size()),
            rows.data(),
            row_map.data(),
            columns.data(),
            values.data(),
            lutra::Test::c_index<Offset>};
  }

  /// The elements of this rank's rows of A·x or Aᵀ·x, for a function of the row.
  std::vector<Scalar> times(const std::function<Scalar(std::int64_t)>& x, bool transposed = false) const {
    std::vector<Scalar> whole(static_cast<std::size_t>(n)), sums(whole.size()), b;
    for (std::size_t i = 0; i < rows.size(); ++i)
      for (auto p = static_cast<std::size_t>(row_map[i]); p < static_cast<std::size_t>(row_map[i + 1]); ++p) {
        const std::int64_t row = rows[i], column = columns[p];
        whole[static_cast<std::size_t>(transposed ? column : row)] +=
            values[p] * x(transposed ? row : column);
      }
    MPI_Allreduce(whole.data(), sums.data(), static_cast<int>(whole.size() * sizeof(Scalar) / sizeof(double)),
                  MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    for (const Index row : rows) b.push_back(sums[static_cast<std::size_t>(row)]);
    return b;
  }
};

/// A handle on all ranks, destroyed by all at the end of the scope.
struct RankHandle {
  explicit RankHandle(lutra_scalar scalar = LUTRA_F64, lutra_index index = LUTRA_INT32) {
    REQUIRE(lutra_mpi_create(&handle, MPI_COMM_WORLD, scalar, index, nullptr) == LUTRA_SUCCESS);
  }
  RankHandle(const RankHandle&) = delete;
  RankHandle& operator=(const RankHandle&) = delete;
  ~RankHandle() { lutra_destroy(handle); }
  operator lutra_solver*() const { return handle; }
  lutra_solver* handle = nullptr;
};

double some(std::int64_t row) {
  return 1 + 0.01 * static_cast<double>(row % 7);
}

/// Factorizes A and compares a solution with the known one.
template <class Matrix>
void check_solve(lutra_solver* solver, const Matrix& A) {
  const lutra_rows rows = A.c();
  REQUIRE(lutra_mpi_factorize(solver, &rows) == LUTRA_SUCCESS);
  const auto b = A.times(some);
  std::vector<double> x(b.size());
  REQUIRE(lutra_solve(solver, LUTRA_NONE, 1, b.data(), rows.n_rows, x.data(), rows.n_rows) == LUTRA_SUCCESS);
  for (std::size_t i = 0; i < x.size(); ++i) CHECK(x[i] == Catch::Approx(some(A.rows[i])).epsilon(1e-11));
}

}  // namespace

TEST_CASE("C on ranks: rows in any order are solved, transposed too, new values and in place") {
  Rows A(15);
  RankHandle solver;
  REQUIRE(lutra_set_option(solver, "ordering", "amd") == LUTRA_SUCCESS);
  check_solve(solver, A);
  const std::int64_t mine = A.c().n_rows;

  for (double& value : A.values) value *= 1.5;
  REQUIRE(lutra_mpi_refactorize(solver, A.c().nnz, A.values.data()) == LUTRA_SUCCESS);
  // two columns, with space between them, solved in place
  const std::int64_t ld = mine + 3;
  std::vector<double> X(static_cast<std::size_t>(2 * ld), -7);
  const auto first = A.times(some, true), second = A.times([](std::int64_t) { return 2.0; }, true);
  std::copy(first.begin(), first.end(), X.begin());
  std::copy(second.begin(), second.end(), X.begin() + ld);
  REQUIRE(lutra_solve(solver, LUTRA_TRANSPOSED, 2, X.data(), ld, X.data(), ld) == LUTRA_SUCCESS);
  for (std::size_t i = 0; i < first.size(); ++i) {
    CHECK(X[i] == Catch::Approx(some(A.rows[i])).epsilon(1e-11));
    CHECK(X[static_cast<std::size_t>(ld) + i] == Catch::Approx(2).epsilon(1e-11));
  }
  CHECK(X[first.size()] == -7);
  CHECK(X.back() == -7);

  double error = 1;
  CHECK(lutra_get_number(solver, "errors.backward_componentwise", &error) == LUTRA_SUCCESS);
  CHECK(error <= 1e-12);
  CHECK(lutra_report_status(solver) == LUTRA_SUCCESS);
  std::int64_t entries = 0;
  CHECK(lutra_get_integer(solver, "matrix.nnz", &entries) == LUTRA_SUCCESS);
  CHECK(entries == 5 * 15 * 15 - 4 * 15);
  const char* value = nullptr;
  CHECK(lutra_get_option(solver, "ordering", &value) == LUTRA_SUCCESS);
  CHECK(std::string(value) == "amd");
}

TEST_CASE("C on ranks: 64-bit indices, Fortran's communicator, ranks without rows, no right-hand side") {
  Rows<double, std::int64_t, std::int64_t> A(9);
  lutra_solver* solver = nullptr;
  REQUIRE(lutra_mpi_create_f(&solver, MPI_Comm_c2f(MPI_COMM_WORLD), LUTRA_F64, LUTRA_INT64, "auto") ==
          LUTRA_SUCCESS);
  check_solve(solver, A);
  CHECK(lutra_solve(solver, LUTRA_NONE, 0, nullptr, A.c().n_rows, nullptr, A.c().n_rows) == LUTRA_SUCCESS);

  // all rows of a matrix of order 2 on the last rank: [2 1; 0 4] x = (4, 8)
  const std::int64_t rows[] = {0, 1}, columns[] = {0, 1, 1}, none[] = {0};
  const std::int64_t row_map[] = {0, 2, 3};
  const double values[] = {2, 1, 4}, b[] = {4, 8};
  double x[] = {0, 0};
  const lutra_rows all = {2, 2, 3, rows, row_map, columns, values, LUTRA_INT64};
  const lutra_rows nothing = {2, 0, 0, nullptr, none, nullptr, nullptr, LUTRA_INT64};
  const std::int64_t mine = is_last() ? 2 : 0;
  REQUIRE(lutra_mpi_factorize(solver, is_last() ? &all : &nothing) == LUTRA_SUCCESS);
  REQUIRE(lutra_solve(solver, LUTRA_NONE, 1, is_last() ? b : nullptr, mine, is_last() ? x : nullptr, mine) ==
          LUTRA_SUCCESS);
  if (is_last()) {
    CHECK(x[0] == Catch::Approx(1));
    CHECK(x[1] == Catch::Approx(2));
  }
  CHECK(lutra_finalize() == LUTRA_CALL_ORDER_ERROR);
  lutra_destroy(solver);
}

TEST_CASE("C on ranks: what one rank passes wrongly is an error on all, and the solver goes on") {
  const Rows A(8);
  RankHandle solver;
  const std::string where = size() > 1 ? "rank " + std::to_string(size() - 1) + ": " : "";
  const auto factorize = [&](const Rows<>& wrong, const std::string& text,
                             const std::function<void(lutra_rows&)>& change = {}) {
    lutra_rows rows = is_last() ? wrong.c() : A.c();
    if (is_last() && change) change(rows);
    check_error(lutra_mpi_factorize(solver, &rows), LUTRA_INPUT_ERROR, text);
  };
  std::int64_t last_row = A.rows.front();  // of the last rank, which the tests below break
  MPI_Bcast(&last_row, 1, MPI_INT64_T, size() - 1, MPI_COMM_WORLD);
  const std::string the_row = "row " + std::to_string(last_row);

  check_error(lutra_solve(solver, LUTRA_NONE, 0, nullptr, 0, nullptr, 0), LUTRA_CALL_ORDER_ERROR,
              "there is no factorization");
  check_error(lutra_mpi_refactorize(solver, 0, nullptr), LUTRA_CALL_ORDER_ERROR, "there is no factorization");
  {
    auto wrong = A;
    wrong.columns[1] = 64;
    factorize(wrong, where + the_row + ": column 64 is not in a matrix of 64");
    wrong.columns[1] = -1;
    factorize(wrong, the_row + ": column -1");
    wrong = A;
    wrong.values[2] = std::numeric_limits<double>::quiet_NaN();
    factorize(wrong, "A: " + the_row + ", column");
    wrong = A;
    wrong.row_map[1] = 200000;
    factorize(wrong, "row_map: it decreases after row 1 of this rank");
    wrong = A;
    std::swap(wrong.columns[0], wrong.columns[1]);
    factorize(wrong, the_row);
    wrong = A;
    wrong.rows[0] = wrong.rows[1];
    factorize(wrong, "row " + std::to_string(last_row - size()) + " is on two ranks, or twice on one");
    wrong = A;
    wrong.rows[0] = 64;
    factorize(wrong, "row 64 is not in a matrix of 64");
  }
  factorize(A, "n_rows -1", [](lutra_rows& rows) { rows.n_rows = -1; });
  factorize(A, "but nnz is", [](lutra_rows& rows) { ++rows.nnz; });
  factorize(A, "columns: it is null", [](lutra_rows& rows) { rows.columns = nullptr; });
  factorize(A, "row_map: it is null", [](lutra_rows& rows) { rows.row_map = nullptr; });
  factorize(A, "row_map_type", [](lutra_rows& rows) { rows.row_map_type = 7; });
  check_error(lutra_mpi_factorize(solver, nullptr), LUTRA_INPUT_ERROR, "rows: they are null");

  check_solve(solver, A);
  const std::int64_t mine = A.c().n_rows;
  std::vector<double> b(static_cast<std::size_t>(mine), 1), x(b.size(), 5);
  const auto solve = [&](int op, std::int64_t n_rhs, const double* B, std::int64_t ldb, double* X) {
    return lutra_solve(solver, is_last() ? op : LUTRA_NONE, is_last() ? n_rhs : 1, is_last() ? B : b.data(),
                       is_last() ? ldb : mine, is_last() ? X : x.data(), mine);
  };
  check_error(solve(7, 1, b.data(), mine, x.data()), LUTRA_INPUT_ERROR, where + "op: it is none of");
  check_error(solve(0, -1, b.data(), mine, x.data()), LUTRA_INPUT_ERROR, "n_rhs: it is -1");
  check_error(solve(0, 1, nullptr, mine, x.data()), LUTRA_INPUT_ERROR, where + "B: it is null");
  check_error(solve(0, 1, b.data(), mine, nullptr), LUTRA_INPUT_ERROR, where + "X: it is null");
  check_error(solve(0, 1, b.data(), mine - 1, x.data()), LUTRA_INPUT_ERROR, "must be at least the");
  auto infinite = b;
  infinite[0] = std::numeric_limits<double>::infinity();
  check_error(solve(0, 1, infinite.data(), mine, x.data()), LUTRA_INPUT_ERROR,
              "B: " + the_row + ", column 0 is not finite");
  for (const double value : x) CHECK(value == 5);
  check_error(lutra_mpi_refactorize(solver, A.c().nnz - (is_last() ? 1 : 0), A.values.data()),
              LUTRA_INPUT_ERROR, "nnz: it is");
  auto bad = A.values;
  if (is_last()) bad[0] = std::numeric_limits<double>::quiet_NaN();
  check_error(lutra_mpi_refactorize(solver, A.c().nnz, bad.data()), LUTRA_INPUT_ERROR, "is not finite");
  // the factors are as they were
  CHECK(lutra_solve(solver, LUTRA_NONE, 1, b.data(), mine, x.data(), mine) == LUTRA_SUCCESS);
}

TEST_CASE("C on ranks: calls, orders, options and types that differ are errors on all") {
  if (size() == 1) return;
  const Rows A(8);
  RankHandle solver;
  check_solve(solver, A);
  lutra_rows rows = A.c();
  std::vector<double> b(static_cast<std::size_t>(2 * rows.n_rows), 1), x(b.size());
  const auto solve = [&](int op, std::int64_t n_rhs) {
    return lutra_solve(solver, op, n_rhs, b.data(), rows.n_rows, x.data(), rows.n_rows);
  };
  check_error(
      is_last() ? lutra_mpi_factorize(solver, &rows) : solve(LUTRA_NONE, 1), LUTRA_INPUT_ERROR,
      "rank 0: it asks for 'lutra_solve', rank " + std::to_string(size() - 1) + " for 'lutra_mpi_factorize'");
  check_error(solve(LUTRA_NONE, is_last() ? 2 : 1), LUTRA_INPUT_ERROR, "'1 right-hand sides'");
  check_error(solve(is_last() ? LUTRA_TRANSPOSED : LUTRA_NONE, 1), LUTRA_INPUT_ERROR, "its transpose");
  CHECK(solve(LUTRA_NONE, 2) == LUTRA_SUCCESS);

  if (is_last()) rows.n = 65;
  check_error(lutra_mpi_factorize(solver, &rows), LUTRA_INPUT_ERROR, "'matrix of order 65'");
  if (is_last()) lutra_set_option(solver, "ordering", "natural");
  rows = A.c();
  check_error(lutra_mpi_factorize(solver, &rows), LUTRA_INPUT_ERROR, "'ordering natural'");
  lutra_set_option(solver, "ordering", "natural");
  check_solve(solver, A);

  lutra_solver* none = nullptr;
  check_error(lutra_mpi_create(&none, MPI_COMM_WORLD, is_last() ? 17 : LUTRA_F64, LUTRA_INT32, nullptr),
              LUTRA_INPUT_ERROR, "scalar: it is none of");
  check_error(lutra_mpi_create(&none, MPI_COMM_WORLD, LUTRA_F64, LUTRA_INT32, is_last() ? "abacus" : nullptr),
              LUTRA_INPUT_ERROR, "'abacus' does not work on several ranks");
  CHECK(none == nullptr);
}

TEST_CASE("C on ranks: a singular matrix is a status on all ranks and leaves X") {
  const Rows A(8);
  RankHandle solver;
  auto singular = A;
  for (std::size_t i = 0; i < singular.rows.size(); ++i)
    if (singular.rows[i] == 3)
      for (auto p = static_cast<std::size_t>(singular.row_map[i]);
           p < static_cast<std::size_t>(singular.row_map[i + 1]); ++p)
        singular.values[p] = 0;
  const lutra_rows rows = singular.c();
  const lutra_status status = lutra_mpi_factorize(solver, &rows);
  CHECK((status == LUTRA_STRUCTURALLY_SINGULAR || status == LUTRA_NUMERICALLY_SINGULAR));
  std::vector<double> b(static_cast<std::size_t>(rows.n_rows), 1), x(b.size(), 5);
  CHECK(lutra_solve(solver, LUTRA_NONE, 1, b.data(), rows.n_rows, x.data(), rows.n_rows) == status);
  for (const double value : x) CHECK(value == 5);
  check_solve(solver, A);
}

TEST_CASE("C on ranks: functions and options for one process are refused, at once and on each rank") {
  const Rows A(4);
  RankHandle solver;
  const lutra_matrix whole = lutra::Test::tridiagonal(4, -1.0, 4.0, -1.0).c();
  CHECK(lutra_analyze(solver, &whole) == LUTRA_INPUT_ERROR);
  message_has("use lutra_mpi_factorize");
  CHECK(lutra_factorize(solver, &whole) == LUTRA_INPUT_ERROR);
  CHECK(lutra_factorize_shifted(solver, &whole, nullptr) == LUTRA_INPUT_ERROR);
  CHECK(lutra_apply(solver, LUTRA_NONE, 0, nullptr, 0, nullptr, 0) == LUTRA_INPUT_ERROR);
  CHECK(lutra_solve_parts(solver, LUTRA_LOWER, LUTRA_NONE, 0, nullptr, 0, nullptr, 0) == LUTRA_INPUT_ERROR);
  double sign = 0, magnitude = 0;
  CHECK(lutra_determinant(solver, &sign, &magnitude) == LUTRA_INPUT_ERROR);
  int raised = 0;
  CHECK(lutra_increase_quality(solver, &raised) == LUTRA_INPUT_ERROR);
  CHECK(lutra_set_memory(solver, LUTRA_DEVICE) == LUTRA_INPUT_ERROR);
  CHECK(lutra_set_memory(solver, LUTRA_HOST) == LUTRA_SUCCESS);
  CHECK(lutra_set_stream(solver, &raised) == LUTRA_INPUT_ERROR);
  CHECK(lutra_set_option(solver, "check", "never") == LUTRA_INPUT_ERROR);
  message_has("'check' has no effect on several ranks");
  CHECK(lutra_set_option(solver, "ordering", "best") == LUTRA_INPUT_ERROR);
  CHECK(lutra_report_status(solver) == LUTRA_NOT_SOLVED);

  const CSolver alone(LUTRA_LU);
  const lutra_rows rows = A.c();
  CHECK(lutra_mpi_factorize(alone, &rows) == LUTRA_INPUT_ERROR);
  message_has("was not made by lutra_mpi_create");
  CHECK(lutra_mpi_factorize(nullptr, &rows) == LUTRA_INPUT_ERROR);
  lutra_solver* none = nullptr;
  CHECK(lutra_mpi_create(&none, MPI_COMM_NULL, LUTRA_F64, LUTRA_INT32, nullptr) == LUTRA_INPUT_ERROR);
  message_has("communicator: it is null");
  CHECK(none == nullptr);

  // an elimination order of the user
  std::vector<std::int64_t> order(16);
  for (std::size_t k = 0; k < order.size(); ++k) order[k] = 15 - static_cast<std::int64_t>(k);
  CHECK(lutra_set_permutation(solver, 16, order.data()) == LUTRA_SUCCESS);
  check_solve(solver, A);
}

TEST_CASE("C on ranks: without memory on one rank all get that status, and no handle") {
  REQUIRE(lutra_initialize(0, -1) == LUTRA_SUCCESS);  // Kokkos ends the program if it starts without memory
  const Rows A(4);
  for (const bool is_failing : {is_last(), rank() == 0}) {
    lutra_solver* solver = nullptr;
    long event = 0;
    for (int made = 0; made == 0; ++event) {
      REQUIRE(event < 1000);
      allocations_left = is_failing ? event : -1;
      const lutra_status status = lutra_mpi_create(&solver, MPI_COMM_WORLD, LUTRA_F64, LUTRA_INT32, nullptr);
      allocations_left = -1;
      made = status == LUTRA_SUCCESS ? 1 : 0;
      int all_made = 0, any_made = 0;
      MPI_Allreduce(&made, &all_made, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
      MPI_Allreduce(&made, &any_made, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
      REQUIRE(all_made == any_made);
      CHECK((made == 1 || (status == LUTRA_OUT_OF_MEMORY && solver == nullptr)));
    }
    CHECK(event > 10);
    check_solve(solver, A);
    lutra_destroy(solver);
  }
}

int main(int argc, char* argv[]) {
  MPI_Init(&argc, &argv);
  int failures = Catch::Session().run(argc, argv);
  if (lutra_finalize() != LUTRA_SUCCESS) ++failures;
  if (failures != 0) MPI_Abort(MPI_COMM_WORLD, failures);
  MPI_Finalize();
  return failures;
}
