// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <complex>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "Lutra_SparseLDLT.hpp"
#include "Lutra_SparseLU.hpp"
#include "Lutra_TestStatus.hpp"
#include "Lutra_TestSystems.hpp"

// Families of singular matrices, none of which may be called solved, and of regular ones of a condition that
// leaves half of the digits, none of which may be refused. Matrix k is the same in every run; a hundred of
// each are tested always, ten thousand by scripts/singular.sh.

namespace lutra::Test {
namespace {

using Complex = std::complex<double>;

/// A dense matrix from which the nonzero entries are taken.
struct Dense {
  int n;
  std::vector<Complex> entries;  ///< [n × n] by rows
  explicit Dense(int order) : n(order), entries(static_cast<std::size_t>(order * order)) {}
  Complex& operator()(int i, int j) { return entries[static_cast<std::size_t>(i * n + j)]; }
};

struct Dice {
  std::mt19937_64 random;

  double unit() { return std::uniform_real_distribution<double>(0, 1)(random); }
  double between(double low, double high) { return low + (high - low) * unit(); }
  int below(int count) { return static_cast<int>(random() % static_cast<std::uint64_t>(count)); }
  bool chance(double p) { return unit() < p; }
  /// A number of magnitude 1, complex if wanted.
  Complex phase(bool is_complex) {
    return is_complex ? std::polar(1.0, between(0, 6.28)) : Complex(chance(0.5) ? 1.0 : -1.0);
  }
  Complex entry(bool is_complex) { return phase(is_complex) * between(0.1, 1.0); }
};

/// A value as the matrix holds it.
template <class Scalar>
Complex rounded(const Complex& value) {
  if constexpr (ScalarTraits<Scalar>::is_complex) {
    using Real = RealOf<Scalar>;
    return {static_cast<Real>(value.real()), static_cast<Real>(value.imag())};
  } else {
    return static_cast<Scalar>(value.real());
  }
}

/// Adds the edge i – j of a graph to its Laplacian.
template <class Scalar>
void add_edge(Dense& L, int i, int j, double weight) {
  if (i == j) return;
  const Complex w = rounded<Scalar>(weight);
  L(i, j) -= w;
  L(j, i) -= w;
}

/// The diagonal of a Laplacian, all of whose row sums are zero but for rounding.
template <class Scalar>
void close_rows(Dense& L) {
  for (int i = 0; i < L.n; ++i) {
    Complex sum = 0;
    for (int j = 0; j < L.n; ++j)
      if (j != i) sum += rounded<Scalar>(L(i, j));
    L(i, i) = -sum;
  }
}

/// The Laplacian of a grid, periodic or not, or of a connected graph, all edges of one weight or of any.
template <class Scalar>
Dense laplacian(Dice& dice, int n) {
  const int kind = dice.below(4);
  const double weights[] = {1.0, 0.1, 1.0 / 3.0};
  const double uniform = weights[dice.below(3)];
  const auto weight = [&] { return kind < 3 ? uniform : std::pow(10.0, dice.between(-2, 2)); };
  if (kind < 2) {
    const int m = std::max(3, static_cast<int>(std::sqrt(n)));
    Dense L(m * m);
    for (int i = 0; i < m; ++i) {
      for (int j = 0; j < m; ++j) {
        if (i + 1 < m || kind == 1) add_edge<Scalar>(L, i * m + j, (i + 1) % m * m + j, weight());
        if (j + 1 < m || kind == 1) add_edge<Scalar>(L, i * m + j, i * m + (j + 1) % m, weight());
      }
    }
    close_rows<Scalar>(L);
    return L;
  }
  Dense L(n);
  for (int i = 1; i < n; ++i) add_edge<Scalar>(L, i, dice.below(i), weight());
  for (int e = 0; e < n; ++e) add_edge<Scalar>(L, dice.below(n), dice.below(n), weight());
  close_rows<Scalar>(L);
  return L;
}

/// A ← Bᴴ·B.
Dense gram(Dense& B) {
  Dense A(B.n);
  for (int i = 0; i < B.n; ++i)
    for (int j = 0; j < B.n; ++j)
      for (int k = 0; k < B.n; ++k) A(i, j) += std::conj(B(k, i)) * B(k, j);
  for (int i = 0; i < B.n; ++i)
    for (int j = 0; j < i; ++j) A(i, j) = std::conj(A(j, i));
  return A;
}

/// Of a sparse matrix whose last column is a sum of others.
Dense gram_of_dependent(Dice& dice, int n, bool is_complex) {
  Dense B(n);
  for (int i = 0; i < n; ++i)
    for (int j = 0; j + 1 < n; ++j)
      if (i == j || dice.chance(3.0 / n)) B(i, j) = dice.entry(is_complex);
  for (int k = 0; k < 3; ++k) {
    const int j = dice.below(n - 1);
    const Complex factor = dice.entry(is_complex);
    for (int i = 0; i < n; ++i) B(i, n - 1) += factor * B(i, j);
  }
  return gram(B);
}

/// Stokes-like: [L + I, G; Gᴴ, 0] where G·e = 0.
template <class Scalar>
Dense stokes(Dice& dice, int n) {
  const int pressures = std::max(2, n / 3), velocities = n - pressures;
  Dense A(n);
  for (int i = 1; i < velocities; ++i) add_edge<Scalar>(A, i, i - 1, dice.between(0.5, 1));
  for (int i = 0; i < velocities; ++i) A(i, i) = 3;
  for (int i = 0; i < velocities; ++i) {
    const int p = i % pressures, q = i < pressures ? (i + 1) % pressures : dice.below(pressures);
    if (p == q) continue;
    const Complex g = rounded<Scalar>(dice.between(0.1, 1));
    A(i, velocities + p) = A(velocities + p, i) = g;
    A(i, velocities + q) = A(velocities + q, i) = -g;
  }
  return A;
}

/// P·H·P for a projector P = I − q·qᴴ and a definite H.
Dense projected(Dice& dice, int n, bool is_complex) {
  Dense P(n), H(n), HP(n), A(n);
  std::vector<Complex> q(static_cast<std::size_t>(n));
  double norm = 0;
  for (Complex& value : q) norm += std::norm(value = dice.entry(is_complex));
  for (int i = 0; i < n; ++i) {
    H(i, i) = dice.between(1, 2);
    for (int j = 0; j < n; ++j)
      P(i, j) = (i == j ? 1.0 : 0.0) -
                q[static_cast<std::size_t>(i)] * std::conj(q[static_cast<std::size_t>(j)]) / norm;
  }
  for (int i = 0; i + 1 < n; ++i) H(i + 1, i) = std::conj(H(i, i + 1) = 0.4 * dice.entry(is_complex));
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j)
      for (int k = 0; k < n; ++k) HP(i, j) += H(i, k) * P(k, j);
  for (int i = 0; i < n; ++i)
    for (int j = i; j < n; ++j) {
      for (int k = 0; k < n; ++k) A(i, j) += P(i, k) * HP(k, j);
      A(j, i) = std::conj(A(i, j));
    }
  return A;
}

/// One of the families: Hermitian, and semidefinite but for Stokes'.
template <class Scalar>
Dense singular_matrix(Dice& dice, int family) {
  constexpr bool is_complex = ScalarTraits<Scalar>::is_complex;
  const int n = 4 + dice.below(family == 0 ? 60 : 24);
  Dense A = family == 0   ? laplacian<Scalar>(dice, n)
            : family == 1 ? gram_of_dependent(dice, n, is_complex)
            : family == 2 ? stokes<Scalar>(dice, n)
                          : projected(dice, n, is_complex);
  std::vector<Complex> phases;
  for (int i = 0; i < A.n; ++i) phases.push_back(dice.phase(is_complex));
  const double scale = std::pow(10.0, dice.between(-12, 12));
  for (int i = 0; i < A.n; ++i) {
    for (int j = i; j < A.n; ++j) {
      A(i, j) *= scale * phases[static_cast<std::size_t>(i)] * std::conj(phases[static_cast<std::size_t>(j)]);
      if (i == j) A(i, i) = A(i, i).real();
      A(j, i) = std::conj(A(i, j));
    }
  }
  return A;
}

/// A ← (I − 2vvᴴ)·A·(I − 2wwᴴ) with w = v if it is to stay Hermitian.
void reflect(Dice& dice, Dense& A, bool is_complex, bool hermitian) {
  const auto direction = [&] {
    std::vector<Complex> v(static_cast<std::size_t>(A.n));
    double norm = 0;
    for (Complex& value : v) norm += std::norm(value = dice.entry(is_complex));
    for (Complex& value : v) value /= std::sqrt(norm);
    return v;
  };
  const auto v = direction(), w = hermitian ? v : direction();
  for (int j = 0; j < A.n; ++j) {
    Complex sum = 0;
    for (int i = 0; i < A.n; ++i) sum += std::conj(v[static_cast<std::size_t>(i)]) * A(i, j);
    for (int i = 0; i < A.n; ++i) A(i, j) -= 2.0 * v[static_cast<std::size_t>(i)] * sum;
  }
  for (int i = 0; i < A.n; ++i) {
    Complex sum = 0;
    for (int j = 0; j < A.n; ++j) sum += A(i, j) * w[static_cast<std::size_t>(j)];
    for (int j = 0; j < A.n; ++j) A(i, j) -= 2.0 * std::conj(w[static_cast<std::size_t>(j)]) * sum;
  }
}

/// Singular values from 1 down to 1/condition, of one of three kinds, by reflections of a diagonal matrix; or
/// a Laplacian with 1/condition added to its diagonal.
template <class Scalar>
Dense regular_matrix(Dice& dice, bool hermitian, double condition) {
  constexpr bool is_complex = ScalarTraits<Scalar>::is_complex;
  const int n = 3 + dice.below(30), kind = dice.below(4);
  if (kind == 3) {
    Dense L = laplacian<Scalar>(dice, n);
    double largest = 0;
    for (const Complex& entry : L.entries) largest = std::max(largest, std::abs(entry));
    for (int i = 0; i < L.n; ++i) L(i, i) += 2 * largest / condition;
    return L;
  }
  Dense A(n);
  for (int i = 0; i < n; ++i) {
    const double size = kind == 0   ? std::pow(condition, -static_cast<double>(i) / (n - 1))
                        : kind == 1 ? (i + 1 < n ? 1.0 : 1 / condition)
                                    : (i == 0 ? 1.0 : 1 / condition);
    A(i, i) = size;
  }
  for (int k = 0; k < 2; ++k) reflect(dice, A, is_complex, hermitian);
  for (int i = 0; hermitian && i < n; ++i) {
    A(i, i) = A(i, i).real();
    for (int j = 0; j < i; ++j) A(i, j) = std::conj(A(j, i));
  }
  const double scale = std::pow(10.0, dice.between(-12, 12));
  for (Complex& entry : A.entries) entry *= scale;
  return A;
}

template <class Types>
using HostMatrixOf = HostMatrix<typename Types::Scalar, typename Types::Ordinal, typename Types::Offset>;

template <class Types>
HostMatrixOf<Types> sparse(Dense& A) {
  using Scalar = typename Types::Scalar;
  HostMatrixOf<Types> matrix;
  matrix.n_rows = matrix.n_cols = static_cast<typename Types::Ordinal>(A.n);
  matrix.row_map.push_back(0);
  for (int i = 0; i < A.n; ++i) {
    for (int j = 0; j < A.n; ++j) {
      const Complex value = rounded<Scalar>(A(i, j));
      if (value == Complex(0) && i != j) continue;
      matrix.entries.push_back(static_cast<typename Types::Ordinal>(j));
      if constexpr (ScalarTraits<Scalar>::is_complex) {
        matrix.values.push_back(
            Scalar(static_cast<RealOf<Scalar>>(value.real()), static_cast<RealOf<Scalar>>(value.imag())));
      } else {
        matrix.values.push_back(static_cast<Scalar>(value.real()));
      }
    }
    matrix.row_map.push_back(static_cast<typename Types::Offset>(matrix.entries.size()));
  }
  return matrix;
}

/// A right-hand side that has a solution, or any.
template <class Types>
std::vector<typename Types::Scalar> right_side(Dice& dice, const HostMatrixOf<Types>& A) {
  using Scalar = typename Types::Scalar;
  auto b = known_system(A).b;
  if (dice.chance(0.5)) return b;
  const auto scale = ScalarTraits<Scalar>::magnitude(A.values[0]);
  for (Scalar& value : b) value = Scalar(scale * static_cast<RealOf<Scalar>>(dice.between(-1, 1)));
  return b;
}

template <class Solver, class Types>
Status status_of(Solver& solver, const HostMatrixOf<Types>& A, const std::vector<typename Types::Scalar>& b) {
  std::vector<typename Types::Scalar> x(b.size());
  const Status analyzed = solver.analyze(A), factorized = solver.factorize(A);
  const Status solved = solver.solve_host(b, x);
  if (analyzed != Status::success) CHECK(factorized == analyzed);
  if (factorized != Status::success) CHECK(solved == factorized);
  return solved;
}

template <class Types>
using LdltSolver = SparseLDLT<typename Types::Scalar, typename Types::Space>;

/// LU with one of its engines and rules of pivoting.
LuOptions any_lu(Dice& dice) {
  LuOptions options;
  options.engine = dice.chance(0.5) ? Engine::multifrontal : Engine::automatic;
  if (dice.chance(0.3)) {
    options.pivoting = Pivoting::threshold;
    options.engine = Engine::multifrontal;
  }
  return options;
}

int number_of_cases() {
  const char* const asked = std::getenv("LUTRA_SINGULAR");
  return asked != nullptr ? std::atoi(asked) : 100;
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("singular matrices of four families are never reported as solved",
                        "[solver][singular]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  const int count = number_of_cases();
  for (int k = 0; k < count; ++k) {
    Dice dice{std::mt19937_64(static_cast<std::uint64_t>(1000 + k))};
    const int family = k % 4;
    Dense dense = singular_matrix<Scalar>(dice, family);
    const auto A = sparse<TestType>(dense);
    const auto b = right_side<TestType>(dice, A);
    INFO("matrix " << k << ", " << dense.n << " rows");
    Solver<TestType> lu(any_lu(dice));
    const Status by_lu = status_of<decltype(lu), TestType>(lu, A, b);
    INFO("lu: " << to_string(by_lu));
    CHECK(by_lu == Status::numerically_singular);
    LdltOptions options;
    options.symmetry = Symmetry::hermitian;
    LdltSolver<TestType> ldlt(options);
    const Status by_ldlt = status_of<decltype(ldlt), TestType>(ldlt, A, b);
    INFO("ldlt: " << to_string(by_ldlt));
    CHECK(by_ldlt == Status::numerically_singular);
    CHECK(ldlt.report().inertia.zero.value_or(1) >= 1);
    if (family == 2) continue;
    CHECK(ldlt.report().inertia.negative.value_or(0) == 0);
    options.positive_definite = true;
    LdltSolver<TestType> cholesky(options);
    const Status by_cholesky = status_of<decltype(cholesky), TestType>(cholesky, A, b);
    INFO("cholesky: " << to_string(by_cholesky));
    CHECK((by_cholesky == Status::numerically_singular || by_cholesky == Status::not_positive_definite));
    CHECK_FALSE(cholesky.report().inertia.positive);
  }
}

TEMPLATE_LIST_TEST_CASE("regular matrices that keep half of the digits are never refused",
                        "[solver][singular]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  const double condition = sizeof(RealOf<Scalar>) == 8 ? 1e8 : 1e3;
  const int count = number_of_cases();
  for (int k = 0; k < count; ++k) {
    Dice dice{std::mt19937_64(static_cast<std::uint64_t>(5000000 + k))};
    const bool hermitian = dice.chance(0.5);
    Dense dense = regular_matrix<Scalar>(dice, hermitian, condition);
    const auto A = sparse<TestType>(dense);
    const auto b = right_side<TestType>(dice, A);
    INFO("matrix " << k << ", " << dense.n << " rows");
    LuOptions lu_options = any_lu(dice);
    lu_options.estimate_condition = true;
    Solver<TestType> lu(lu_options);
    CHECK(status_of<decltype(lu), TestType>(lu, A, b) == Status::success);
    CHECK(*lu.report().errors.forward_bound < 1);
    if (!hermitian) continue;
    LdltOptions options;
    options.symmetry = Symmetry::hermitian;
    LdltSolver<TestType> ldlt(options);
    CHECK(status_of<decltype(ldlt), TestType>(ldlt, A, b) == Status::success);
    CHECK(ldlt.report().inertia.positive == dense.n);
    options.positive_definite = true;
    LdltSolver<TestType> cholesky(options);
    CHECK(status_of<decltype(cholesky), TestType>(cholesky, A, b) == Status::success);
  }
}

}  // namespace lutra::Test
