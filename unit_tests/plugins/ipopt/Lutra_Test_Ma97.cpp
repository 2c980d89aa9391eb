// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <thread>

#include "Lutra_TestMa97.hpp"

namespace lutra::Test {
namespace {

using Rows = std::vector<std::vector<double>>;

/// Two variables with one constraint: eigenvalues of both signs.
const Rows saddle = {{2, 0, 1}, {0, 3, 1}, {1, 1, 0}};

/// [H Jᵀ; J -D] with H of n rows and m constraints. `weight` scales every second entry of the diagonal of H,
/// as a barrier does.
Lower kkt(int n, int m, double weight, int first = 0) {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> value(-1, 1);
  Rows rows(static_cast<std::size_t>(n + m), std::vector<double>(static_cast<std::size_t>(n + m)));
  const auto at = [&](int i, int j) -> double& {
    return rows[static_cast<std::size_t>(i)][static_cast<std::size_t>(j)];
  };
  for (int i = 0; i < n; ++i) {
    at(i, i) = (4 + value(random)) * (i % 2 == 0 ? weight : 1);
    if (i > 0) at(i, i - 1) = value(random) * std::min(1.0, std::sqrt(weight));  // H is positive definite
  }
  for (int k = 0; k < m; ++k) {
    at(n + k, k) = 2 + value(random);
    at(n + k, (3 * k + 1) % n) += value(random);
  }
  return Lower::of(rows, first);
}

std::vector<double> numbers(int n) {
  std::vector<double> x;
  for (int i = 0; i < n; ++i) x.push_back(1 + i % 7 - 0.25 * (i % 3));
  return x;
}

/// Solves a system and refines it, as Ipopt does.
void check_solves(Session& session, const Lower& A) {
  const auto b = A.times(numbers(A.n));
  auto x = b;
  REQUIRE(session.solve(x) == 0);
  for (int step = 0; step < 3; ++step) {
    const auto product = A.times(x);
    std::vector<double> r(b.size());
    for (std::size_t i = 0; i < b.size(); ++i) r[i] = b[i] - product[i];
    REQUIRE(session.solve(r) == 0);
    for (std::size_t i = 0; i < b.size(); ++i) x[i] += r[i];
  }
  CHECK(A.backward_error(x.data(), b) < 1e-14);
}

}  // namespace

TEST_CASE("The default control is HSL's") {
  const Ma97 library;
  ma97_control_d control;
  library.default_control(&control);
  CHECK(control.f_arrays == 0);
  CHECK(control.action == 1);
  CHECK(control.ordering == 5);
  CHECK(control.scaling == 0);
  CHECK(control.u == 0.01);
  CHECK(control.small == 1e-20);
  CHECK(control.print_level == 0);
}

TEST_CASE("Inertia and solution of small matrices") {
  struct Case {
    Rows rows;
    int negative, two_by_two;
  };
  const std::vector<Case> cases = {
      {{{5}}, 0, 0},
      {{{-5}}, 1, 0},
      {{{0, 1}, {1, 0}}, 1, 1},
      {saddle, 1, -1},
      {{{-2, 0, 1}, {0, 3, 1}, {1, 1, 0}},
       1,
       -1},  // not convex, but -2 + 3 > 0 in the null space of the constraint
      {{{-4, 0, 1}, {0, 3, 1}, {1, 1, 0}}, 2, -1},  // wrong inertia
      {{{1, 0, 0, 0, 1}, {0, 1, 0, 0, 1}, {0, 0, 1, 1, 0}, {0, 0, 1, 0, 0}, {1, 1, 0, 0, 0}}, 2, -1}};
  const Ma97 library;
  for (const int first : {0, 1}) {
    for (const Case& one : cases) {
      const Lower A = Lower::of(one.rows, first);
      Session session(library);
      REQUIRE(session.analyse(A) == 0);
      REQUIRE(session.factor(A) == 0);
      CHECK(session.info.num_neg == one.negative);
      CHECK(session.info.matrix_rank == A.n);
      if (one.two_by_two >= 0) CHECK(session.info.num_two == one.two_by_two);
      check_solves(session, A);
      CHECK(session.info.num_neg == one.negative);  // a solve leaves the counts
    }
  }
}

TEST_CASE("New values on a known pattern") {
  const Ma97 library;
  Session session(library);
  const int n = 60, m = 20;
  REQUIRE(session.analyse(kkt(n, m, 1, 1)) == 0);
  for (const double weight : {1.0, 1e4, 1e8, 1e-4, 1.0}) {
    const Lower A = kkt(n, m, weight, 1);
    REQUIRE(session.factor(A) == 0);
    CHECK(session.info.num_neg == m);
    CHECK(session.info.num_factor > n);
    CHECK(session.info.num_flops > n);
    check_solves(session, A);
  }
  Lower A = kkt(n, m, 1, 1);
  for (double& value : A.val) value = -value;
  REQUIRE(session.factor(A) == 0);
  CHECK(session.info.num_neg == n);
}

TEST_CASE("A raised threshold gives more accurate factors, and a lower one an analysis anew") {
  const Ma97 library;
  Session session(library);
  const Lower A = kkt(200, 80, 1e-9);
  REQUIRE(session.analyse(A) == 0);
  REQUIRE(session.factor(A) == 0);
  for (const double u : {1e-6, 3.2e-5, 1e-4, 0.5, 7.0, 1e-8, 0.0}) {
    session.control.u = u;
    REQUIRE(session.factor(A) == 0);
    CHECK(session.info.num_neg == 80);
    check_solves(session, A);
  }
}

TEST_CASE("Scaling on demand, and the caller's own") {
  const Ma97 library;
  const Lower A = kkt(50, 20, 1e6);
  std::vector<double> scale(70, -1);
  Session session(library);
  REQUIRE(session.analyse(A) == 0);
  REQUIRE(session.factor(A) == 0);
  session.control.scaling = 1;  // as Ipopt does after IncreaseQuality
  REQUIRE(session.factor(A, scale.data()) == 0);
  CHECK(scale == std::vector<double>(70, 1.0));
  CHECK(session.info.num_neg == 20);
  check_solves(session, A);
  session.control.scaling = 0;
  REQUIRE(session.factor(A, scale.data()) == 0);  // the scales are used again
  check_solves(session, A);
  for (std::size_t i = 0; i < scale.size(); ++i) scale[i] = i % 2 == 0 ? 1e-3 : 4;
  REQUIRE(session.factor(A, scale.data()) == 0);
  CHECK(session.info.num_neg == 20);
  check_solves(session, A);
  auto x = A.times(numbers(70)), y = x;
  REQUIRE(session.solve(x) == 0);
  for (const int job : {1, 2, 3}) REQUIRE(session.solve(y, 1, 0, job) == 0);
  CHECK(x == y);
}

TEST_CASE("Orderings and the caller's order") {
  const Ma97 library;
  const Lower A = kkt(80, 30, 100, 1);
  for (const int ordering : {1, 2, 3, 4, 5, 6, 7, 8}) {
    Session session(library);
    session.control.ordering = ordering;
    REQUIRE(session.analyse(A) == 0);
    REQUIRE(session.factor(A) == 0);
    CHECK(session.info.num_neg == 30);
    CHECK(session.info.ordering == ordering);
    check_solves(session, A);
  }
  Session session(library);
  session.control.ordering = 0;
  session.control.f_arrays = 1;
  std::vector<int> order;
  for (int i = 110; i > 0; --i) order.push_back(i % 5 == 0 ? -i : i);
  const auto analyse = [&](int* given) {
    library.analyse(0, A.n, A.ptr.data(), A.row.data(), nullptr, &session.akeep, &session.control,
                    &session.info, given);
    return session.info.flag;
  };
  for (int* given : {order.data(), static_cast<int*>(nullptr)}) {
    REQUIRE(analyse(given) == 0);
    REQUIRE(session.factor(A) == 0);
    CHECK(session.info.num_neg == 30);
    check_solves(session, A);
  }
  order[3] = order[4];
  CHECK(analyse(order.data()) == -11);
  order[3] = 111;
  CHECK(analyse(order.data()) == -11);
  session.control.ordering = 1;
  CHECK(analyse(order.data()) == -11);
}

TEST_CASE("Singular matrices") {
  const Ma97 library;
  const Lower ones = Lower::of({{1, 1}, {1, 1}}), dependent = Lower::of({{1, 0, 2}, {0, 0, 0}, {2, 0, 1}});
  for (const Lower* A : {&ones, &dependent}) {
    Session session(library);
    REQUIRE(session.analyse(*A) == 0);
    CHECK(session.factor(*A) == -7);
    CHECK(session.info.matrix_rank == A->n - 1);
    auto x = numbers(A->n);
    CHECK(session.solve(x) == -1);
    CHECK(x == numbers(A->n));
    session.control.action = 1;
    CHECK(session.factor(*A) == 7);
    CHECK(session.info.matrix_rank == A->n - 1);
    check_solves(session, *A);  // the system is consistent
    session.control.action = 0;
    Lower regular = *A;
    regular.val.back() = 7;
    CHECK(session.factor(regular) == (A == &ones ? 0 : -7));
  }
  const Lower zero{2, 0, {0, 0, 0}, {}, {}};
  Session session(library);
  REQUIRE(session.analyse(zero) == 0);
  CHECK(session.factor(zero) == -7);
  CHECK(session.info.matrix_rank == 0);
}

TEST_CASE("Positive definite matrices") {
  const Ma97 library;
  Session session(library);
  const Lower A = Lower::of({{4, 1, 0}, {1, 5, 2}, {0, 2, 6}}),
              B = Lower::of({{4, 1, 0}, {1, 5, 2}, {0, 2, -6}});
  REQUIRE(session.analyse(A) == 0);
  REQUIRE(session.factor(A, nullptr, 3) == 0);
  CHECK(session.info.num_neg == 0);
  check_solves(session, A);
  CHECK(session.factor(B, nullptr, 3) == -8);
  auto x = numbers(3);
  CHECK(session.solve(x) == -1);
  REQUIRE(session.factor(B) == 0);
  CHECK(session.info.num_neg == 1);
}

TEST_CASE("Several right-hand sides, factor and solve in one call, and factors apart") {
  const Ma97 library;
  Session session(library);
  const Lower A = kkt(30, 10, 10);
  const int n = A.n, ldx = n + 3, nrhs = 20;
  std::vector<double> X(static_cast<std::size_t>(nrhs * ldx), -9);
  std::vector<std::vector<double>> B;
  for (int j = 0; j < nrhs; ++j) {
    auto x = numbers(n);
    x[static_cast<std::size_t>(j)] += j;
    B.push_back(A.times(x));
    std::copy(B.back().begin(), B.back().end(), X.begin() + j * ldx);
  }
  REQUIRE(session.analyse(A) == 0);
  library.factor_solve(4, A.ptr.data(), A.row.data(), A.val.data(), nrhs, X.data(), ldx, &session.akeep,
                       &session.fkeep, &session.control, &session.info, nullptr);
  REQUIRE(session.info.flag == 0);
  CHECK(session.info.num_neg == 10);
  for (int j = 0; j < nrhs; ++j) {
    CHECK(A.backward_error(X.data() + j * ldx, B[static_cast<std::size_t>(j)]) < 1e-13);
    CHECK(X[static_cast<std::size_t>(j * ldx + n)] == -9);
  }
  for (const std::vector<int>& jobs : {std::vector<int>{1, 4}, std::vector<int>{1, 2, 3}}) {
    auto x = B[3];
    for (const int job : jobs) REQUIRE(session.solve(x, 1, n, job) == 0);
    CHECK(A.backward_error(x.data(), B[3]) < 1e-13);
  }
}

TEST_CASE("Two threads with handles of their own, and two with one analysis") {
  const Ma97 library;
  Session shared(library);
  const Lower structure = kkt(90, 40, 1);
  REQUIRE(shared.analyse(structure) == 0);
  const auto work = [&](void* akeep, double weight, int& wrong) {
    ma97_control_d control = shared.control;
    ma97_info_d info;
    const Lower A = kkt(90, 40, weight);
    void* own = nullptr;
    void* fkeep = nullptr;
    library.analyse(0, A.n, A.ptr.data(), A.row.data(), nullptr, &own, &control, &info, nullptr);
    for (int k = 0; k < 50; ++k) {
      auto x = A.times(numbers(A.n));
      const auto b = x;
      library.factor_solve(4, A.ptr.data(), A.row.data(), A.val.data(), 1, x.data(), A.n,
                           akeep ? &akeep : &own, &fkeep, &control, &info, nullptr);
      if (info.flag != 0 || info.num_neg != 40 || !(A.backward_error(x.data(), b) < 1e-9)) ++wrong;
    }
    library.finalise(&own, &fkeep);
  };
  for (void* const akeep : {static_cast<void*>(nullptr), shared.akeep}) {
    int wrong[2] = {0, 0};
    std::thread one([&] { work(akeep, 1, wrong[0]); }), two([&] { work(akeep, 1e5, wrong[1]); });
    one.join();
    two.join();
    CHECK(wrong[0] == 0);
    CHECK(wrong[1] == 0);
  }
}

TEST_CASE("Loaded, used and unloaded twice in a process") {
  for (int k = 0; k < 2; ++k) {
    const Ma97 library;
    Session session(library);
    const Lower A = Lower::of(saddle, 1);
    REQUIRE(session.analyse(A) == 0);
    REQUIRE(session.factor(A) == 0);
    check_solves(session, A);
  }
}

}  // namespace lutra::Test
