// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <memory>
#include <vector>

#include "Lutra_FuzzSystem.hpp"

// LDLᵀ of a small symmetric matrix of small integers: inertia as computed exactly from its characteristic
// polynomial, whose roots are real, so that by Descartes' rule its sign changes count the positive ones. A
// singular matrix is never a success. First byte: n; then the entries of the lower triangle by rows.

namespace {

using lutra::Fuzz::require;
using Integer = std::int64_t;  // sums in the method below are at most 8 · 2⁸ · 64⁸ < 2⁶⁰

struct Inertia {
  std::int64_t positive = 0, negative = 0, zero = 0;
  bool operator==(const Inertia&) const = default;
};

std::string to_text(const Inertia& inertia) {
  return std::to_string(inertia.positive) + " positive, " + std::to_string(inertia.negative) + " negative, " +
         std::to_string(inertia.zero) + " zero";
}

using Dense = std::vector<std::vector<Integer>>;

Dense product(const Dense& a, const Dense& b) {
  Dense c(a.size(), std::vector<Integer>(a.size(), 0));
  for (std::size_t i = 0; i < a.size(); ++i)
    for (std::size_t k = 0; k < a.size(); ++k)
      for (std::size_t j = 0; j < a.size(); ++j) c[i][j] += a[i][k] * b[k][j];
  return c;
}

// Coefficients of det(λ I − A), the leading one first, by the method of Faddeev and LeVerrier.
std::vector<Integer> characteristic_polynomial(const Dense& a) {
  const std::size_t n = a.size();
  std::vector<Integer> coefficients{1};
  Dense m(n, std::vector<Integer>(n, 0));
  for (std::size_t k = 1; k <= n; ++k) {
    for (std::size_t i = 0; i < n; ++i) m[i][i] += coefficients.back();
    m = product(a, m);
    Integer trace = 0;
    for (std::size_t i = 0; i < n; ++i) trace += m[i][i];
    coefficients.push_back(-trace / static_cast<Integer>(k));
  }
  return coefficients;
}

Inertia exact_inertia(const Dense& a) {
  std::vector<Integer> coefficients = characteristic_polynomial(a);
  Inertia inertia;
  for (; coefficients.back() == 0; coefficients.pop_back()) ++inertia.zero;
  Integer last = 1;
  for (const Integer coefficient : coefficients) {
    if (coefficient == 0) continue;
    if ((coefficient > 0) != (last > 0)) ++inertia.positive;
    last = coefficient;
  }
  inertia.negative = static_cast<std::int64_t>(a.size()) - inertia.positive - inertia.zero;
  return inertia;
}

// Half of the entries are zeros.
Dense take_matrix(lutra::Fuzz::Input& input) {
  const std::size_t n = 1 + input.take_byte() % 8u;
  Dense a(n, std::vector<Integer>(n, 0));
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      const int byte = input.take_byte();
      a[i][j] = a[j][i] = byte % 2 == 0 ? 0 : byte / 2 % 16 - 8;
    }
  }
  return a;
}

lutra::Fuzz::Matrix to_sparse(const Dense& a) {
  lutra::Fuzz::Matrix matrix;
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (std::size_t j = 0; j < a.size(); ++j)
      if (a[i][j] != 0 || i == j) matrix.add(static_cast<std::int64_t>(j), static_cast<double>(a[i][j]));
    matrix.end_row();
  }
  return matrix;
}

Inertia computed_inertia(lutra_solver* solver) {
  Inertia inertia;
  lutra::Fuzz::checked(lutra_get_integer(solver, "inertia.positive", &inertia.positive));
  lutra::Fuzz::checked(lutra_get_integer(solver, "inertia.negative", &inertia.negative));
  lutra::Fuzz::checked(lutra_get_integer(solver, "inertia.zero", &inertia.zero));
  return inertia;
}

void check_solution(const lutra::Fuzz::Matrix& a, const Inertia& exact, lutra_solver* solver) {
  const auto n = static_cast<std::size_t>(a.n);
  const std::vector<double> b(n, 1);
  std::vector<double> x(n, 0);
  if (lutra::Fuzz::checked(lutra_solve(solver, LUTRA_NONE, 1, b.data(), a.n, x.data(), a.n)) !=
      LUTRA_SUCCESS) {
    require(exact.zero > 0, std::string("a regular matrix is solved: ") + lutra_message());
    return;
  }
  require(exact.zero == 0, "a singular matrix is no success");
  require(computed_inertia(solver) == exact,
          "inertia: " + to_text(computed_inertia(solver)) + ", exactly " + to_text(exact));
  const double error = lutra::Fuzz::backward_error(a, false, x, b);
  require(error <= 1e-10, "the backward error of a success is " + lutra::Fuzz::to_text(error));
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  lutra::Fuzz::Input input(data, size);
  const Dense dense = take_matrix(input);
  const Inertia exact = exact_inertia(dense);
  const lutra::Fuzz::Matrix a = to_sparse(dense);
  const lutra_matrix matrix = a.c();
  lutra_solver* solver = nullptr;
  require(lutra_create(&solver, LUTRA_LDLT, LUTRA_F64, LUTRA_INT32, "serial") == LUTRA_SUCCESS,
          lutra_message());
  const auto destroy = [](lutra_solver* owned) { lutra_destroy(owned); };
  const std::unique_ptr<lutra_solver, decltype(destroy)> owner(solver, destroy);
  if (lutra::Fuzz::checked(lutra_analyze(solver, &matrix)) == LUTRA_SUCCESS &&
      lutra::Fuzz::checked(lutra_factorize(solver, &matrix)) == LUTRA_SUCCESS) {
    check_solution(a, exact, solver);
  } else {
    require(exact.zero > 0, std::string("a regular matrix is factorized: ") + lutra_message());
  }
  return 0;
}
