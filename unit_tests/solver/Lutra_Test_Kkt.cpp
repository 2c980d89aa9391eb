// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstdlib>
#include <map>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "Lutra_SparseLDLT.hpp"
#include "Lutra_TestStatus.hpp"
#include "Lutra_TestSystems.hpp"

// KKT matrices whose inertia is known by construction, and what must not change it. Matrix k is the same in
// every run; the first twenty are tested always, two thousand by scripts/kkt.sh.

namespace lutra::Test {
namespace {

template <class Types>
using LdltOf = SparseLDLT<typename Types::Scalar, typename Types::Space>;

/// A Hermitian matrix by rows, both triangles.
template <class Scalar>
using SymmetricRows = std::vector<std::map<int, Scalar>>;

template <class Scalar>
Scalar conjugate(const Scalar& value) {
  return ScalarTraits<Scalar>::conjugate(value);
}

/// Draws from one seed.
struct Dice {
  std::mt19937_64 random;

  double between(double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random);
  }
  int below(int n) { return static_cast<int>(random() % static_cast<std::uint64_t>(n)); }
  bool chance(double p) { return between(0, 1) < p; }
  std::vector<int> order(int n) {
    std::vector<int> result(static_cast<std::size_t>(n));
    std::iota(result.begin(), result.end(), 0);
    std::shuffle(result.begin(), result.end(), random);
    return result;
  }
  /// Of a magnitude up to `size`.
  template <class Scalar>
  Scalar value(double size) {
    const double angle = between(0, 6.283185307179586), magnitude = between(0.1, 1) * size;
    if constexpr (ScalarTraits<Scalar>::is_complex) {
      using Real = RealOf<Scalar>;
      return Scalar(static_cast<Real>(magnitude * std::cos(angle)),
                    static_cast<Real>(magnitude * std::sin(angle)));
    } else {
      return static_cast<Scalar>(angle < 3.14 ? magnitude : -magnitude);
    }
  }
};

/// [H Bᵀ; B −D] and its inertia: H positive definite, D positive semidefinite, B of full rank, or any B where
/// D is definite; beside it rows of zeros.
template <class Scalar>
struct Kkt {
  SymmetricRows<Scalar> rows;
  int positive = 0, negative = 0, zero = 0;

  Kkt() = default;
  explicit Kkt(Dice& dice) {
    positive = 1 + dice.below(dice.chance(0.1) ? 150 : 40);
    negative = dice.below(positive + 1);
    zero = dice.chance(0.15) ? 1 + dice.below(2) : 0;
    rows.resize(static_cast<std::size_t>(positive + negative + zero));
    fill_H(dice);
    const bool definite = dice.chance(0.3);
    fill_B(dice, definite);
    for (int k = 0; k < negative; ++k) {
      if (definite || dice.chance(0.2))
        set(positive + k, positive + k, as_scalar<Scalar>(-dice.between(0.5, 2)));
    }
    for (int k = 0; k < zero; ++k) set(positive + negative + k, positive + negative + k, Scalar(0));
  }
  int size() const { return static_cast<int>(rows.size()); }

  void set(int i, int j, const Scalar& value) {
    rows[static_cast<std::size_t>(i)][j] = value;
    if (i != j) rows[static_cast<std::size_t>(j)][i] = conjugate(value);
  }

 private:
  /// Dominant by rows: few entries, an arrow, or a band.
  void fill_H(Dice& dice) {
    const int kind = dice.below(3), n = positive;
    for (int i = 1; i < n; ++i) {
      if (kind == 0 && dice.chance(0.7)) set(i, dice.below(i), dice.value<Scalar>(1));
      if (kind == 1) set(i, 0, dice.value<Scalar>(1));
      for (int j = std::max(0, i - 2); kind == 2 && j < i; ++j) set(i, j, dice.value<Scalar>(1));
    }
    for (int i = 0; i < n; ++i) {
      double sum = dice.between(0.5, 2);
      for (const auto& [j, value] : rows[static_cast<std::size_t>(i)])
        sum += static_cast<double>(ScalarTraits<Scalar>::magnitude(value));
      set(i, i, as_scalar<Scalar>(sum));
    }
  }
  /// Row k has a dominant entry in a column where no row after it has one.
  void fill_B(Dice& dice, bool any_rank) {
    const auto columns = dice.order(positive);
    for (int k = 0; k < negative; ++k) {
      const int own = columns[static_cast<std::size_t>(k)];
      for (int times = dice.below(3); times-- > 0;) {
        const int at = dice.below(positive - k);
        set(positive + k, columns[static_cast<std::size_t>(k + at)], dice.value<Scalar>(0.5));
      }
      set(positive + k, own, any_rank && dice.chance(0.2) ? Scalar(0) : dice.value<Scalar>(1) * Scalar(4));
    }
  }
};

template <class Types>
Matrix<Types> to_matrix(const SymmetricRows<typename Types::Scalar>& rows) {
  Matrix<Types> matrix;
  matrix.n_rows = matrix.n_cols = static_cast<typename Types::Ordinal>(rows.size());
  matrix.row_map.push_back(0);
  for (const auto& row : rows) {
    for (const auto& [j, value] : row) {
      matrix.entries.push_back(static_cast<typename Types::Ordinal>(j));
      matrix.values.push_back(value);
    }
    matrix.row_map.push_back(matrix.nnz());
  }
  return matrix;
}

/// change(i, j, value) for each entry; it may change all three.
template <class Scalar, class Change>
SymmetricRows<Scalar> changed(const SymmetricRows<Scalar>& rows, const Change& change) {
  SymmetricRows<Scalar> result(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (const auto& [column, value] : rows[i]) {
      int row = static_cast<int>(i), j = column;
      Scalar a = value;
      change(row, j, a);
      result[static_cast<std::size_t>(row)][j] = a;
    }
  }
  return result;
}

template <class Scalar>
SymmetricRows<Scalar> permuted(const SymmetricRows<Scalar>& rows, Dice& dice) {
  const auto to = dice.order(static_cast<int>(rows.size()));
  return changed(rows, [&](int& i, int& j, Scalar&) {
    i = to[static_cast<std::size_t>(i)];
    j = to[static_cast<std::size_t>(j)];
  });
}

/// S·A·S with S of powers of two.
template <class Scalar>
SymmetricRows<Scalar> rescaled(const SymmetricRows<Scalar>& rows, Dice& dice) {
  std::vector<RealOf<Scalar>> scale;
  for (std::size_t i = 0; i < rows.size(); ++i)
    scale.push_back(std::ldexp(RealOf<Scalar>(1), dice.below(17) - 8));
  return changed(rows, [&](int& i, int& j, Scalar& value) {
    value *= scale[static_cast<std::size_t>(i)] * scale[static_cast<std::size_t>(j)];
  });
}

template <class Scalar>
SymmetricRows<Scalar> with_stored_zeros(SymmetricRows<Scalar> rows, Dice& dice) {
  const auto n = static_cast<int>(rows.size());
  for (int i = 0; i < n; ++i) {
    const int j = dice.below(n);
    rows[static_cast<std::size_t>(i)].try_emplace(j, Scalar(0));
    rows[static_cast<std::size_t>(j)].try_emplace(i, Scalar(0));
    rows[static_cast<std::size_t>(i)].try_emplace(i, Scalar(0));
  }
  return rows;
}

template <class Scalar>
SymmetricRows<Scalar> lower_triangle(SymmetricRows<Scalar> rows) {
  for (std::size_t i = 0; i < rows.size(); ++i)
    std::erase_if(rows[i], [&](const auto& entry) { return entry.first > static_cast<int>(i); });
  return rows;
}

template <class Solver>
void check_inertia(const Solver& solver, int positive, int negative, int zero) {
  const Inertia inertia = solver.report().inertia;
  CHECK(inertia.positive == positive);
  CHECK(inertia.negative == negative);
  CHECK(inertia.zero == zero);
}

/// Inertia and solution of one matrix, given whole or by its lower triangle.
template <class Types>
void check_kkt(const SymmetricRows<typename Types::Scalar>& rows, const Kkt<typename Types::Scalar>& kkt,
               LdltOptions options) {
  using Scalar = typename Types::Scalar;
  const auto A = to_matrix<Types>(rows);
  const auto given = options.triangle == Triangle::lower ? to_matrix<Types>(lower_triangle(rows)) : A;
  LdltOf<Types> solver(options);
  succeed(solver.analyze(given));
  CHECK(solver.factorize(given) == (kkt.zero > 0 ? Status::numerically_singular : Status::success));
  check_inertia(solver, kkt.positive, kkt.negative, kkt.zero);
  if (kkt.zero > 0) {
    CHECK(solver.report().status == Status::numerically_singular);
    return;
  }
  const auto system = known_system(A);
  std::vector<Scalar> x(system.b.size());
  CHECK(solver.solve_host(system.b, x) == Status::success);
  CHECK(Reference::backward_errors(A, x, system.b).componentwise <= tight_bound<Scalar>());
}

/// Positive shifts of the diagonal take nothing from the positive count, shifts of D's rows change nothing
/// there while D stays semidefinite, and a higher threshold changes no inertia.
template <class Types>
void check_factorizations(const Kkt<typename Types::Scalar>& kkt, const LdltOptions& options, Dice& dice) {
  using Real = RealOf<typename Types::Scalar>;
  using Space = typename Types::Space;
  const auto A = to_space<Space>(to_matrix<Types>(kkt.rows));
  LdltOf<Types> solver(options);
  succeed(solver.analyze(A));
  std::vector<Real> shift(static_cast<std::size_t>(kkt.size()));
  const auto factorize = [&] {
    const Status status = solver.factorize(A, to_space<Space>(shift));
    const bool is_singular = solver.report().inertia.zero.value_or(0) > 0;
    CHECK(status == (is_singular ? Status::numerically_singular : Status::success));
  };
  for (auto& value : shift) value = dice.chance(0.5) ? static_cast<Real>(dice.between(0, 1)) : Real(0);
  factorize();
  CHECK(solver.report().inertia.positive >= kkt.positive);
  std::fill(shift.begin(), shift.end(), Real(0));
  for (int k = 0; k < kkt.negative; ++k)
    shift[static_cast<std::size_t>(kkt.positive + k)] = -static_cast<Real>(dice.between(0, 1));
  factorize();
  check_inertia(solver, kkt.positive, kkt.negative, kkt.zero);
  for (int times = 0; times < 3; ++times) {
    solver.increase_quality();
    CHECK(solver.factorize(A) == (kkt.zero > 0 ? Status::numerically_singular : Status::success));
    check_inertia(solver, kkt.positive, kkt.negative, kkt.zero);
  }
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("KKT matrices have their known inertia", "[solver][kkt]", AllTypes) {
  const char* const count = std::getenv("LUTRA_KKT");
  const int matrices = count == nullptr ? 20 : std::stoi(count);
  LdltOptions options;
  options.symmetry = Symmetry::hermitian;
  for (int k = 0; k < matrices; ++k) {
    Dice dice{std::mt19937_64(static_cast<std::uint64_t>(k))};
    const Kkt<typename TestType::Scalar> kkt(dice);
    INFO("matrix " << k << ": " << kkt.positive << ", " << kkt.negative << ", " << kkt.zero);
    check_kkt<TestType>(kkt.rows, kkt, options);
    const auto shuffled = permuted(kkt.rows, dice);
    check_kkt<TestType>(shuffled, kkt, options);
    check_kkt<TestType>(rescaled(shuffled, dice), kkt, options);
    check_kkt<TestType>(with_stored_zeros(kkt.rows, dice), kkt, options);
    auto lower = options;
    lower.triangle = Triangle::lower;
    check_kkt<TestType>(shuffled, kkt, lower);
    auto pairs = options;
    pairs.pair_ordering = true;
    check_kkt<TestType>(shuffled, kkt, pairs);
    check_factorizations<TestType>(kkt, options, dice);
  }
}

TEMPLATE_LIST_TEST_CASE("dependent constraints give zero pivots", "[solver][kkt]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  if (sizeof(RealOf<Scalar>) == 4) return;  // rounding errors may exceed the tolerance
  const int variables = 80, constraints = variables / 2, dependent = variables / 10;
  LdltOptions options;
  options.symmetry = Symmetry::hermitian;
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    INFO("seed " << seed);
    Dice dice{std::mt19937_64(seed)};
    std::vector<std::map<int, Scalar>> B;
    for (int i = 0; i < constraints; ++i) {
      B.push_back({{i, as_scalar<Scalar>(dice.between(2, 4))}});
      for (int times = 0; times < 3; ++times) B.back()[dice.below(variables)] += dice.value<Scalar>(0.5);
    }
    for (int k = 0; k < dependent; ++k) {
      B.emplace_back();
      for (int times = 0; times < 4; ++times) {
        const auto factor = dice.value<Scalar>(1);
        for (const auto& [j, value] : B[static_cast<std::size_t>(dice.below(constraints))])
          B.back()[j] += factor * value;
      }
    }
    Kkt<Scalar> kkt;
    kkt.positive = variables;
    kkt.negative = constraints;
    kkt.zero = dependent;
    kkt.rows.resize(static_cast<std::size_t>(variables) + B.size());
    for (int i = 0; i < variables; ++i) kkt.set(i, i, as_scalar<Scalar>(std::pow(10, dice.between(-2, 2))));
    for (std::size_t i = 0; i < B.size(); ++i) {
      for (const auto& [j, value] : B[i]) kkt.set(variables + static_cast<int>(i), j, value);
    }
    check_kkt<TestType>(permuted(kkt.rows, dice), kkt, options);
  }
}

TEMPLATE_LIST_TEST_CASE("the zero tolerance decides which pivots are zero", "[solver][kkt]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  Kkt<Scalar> kkt;  // that no scaling changes; the Schur complement of the last row is −10⁻⁴
  kkt.rows.resize(3);
  kkt.set(0, 0, Scalar(1));
  kkt.set(1, 1, Scalar(1));
  kkt.set(1, 0, as_scalar<Scalar>(0.5));
  kkt.set(2, 0, Scalar(1));
  kkt.set(2, 2, as_scalar<Scalar>(4.0 / 3 - 1e-4));
  kkt.positive = 2;
  LdltOptions options;
  options.symmetry = Symmetry::hermitian;
  options.matching = Matching::none;
  for (const double tolerance : {0.0, 1e-5, 1e-2}) {
    options.zero_tolerance = tolerance;
    kkt.negative = tolerance < 1e-4 ? 1 : 0;
    kkt.zero = 1 - kkt.negative;
    check_kkt<TestType>(kkt.rows, kkt, options);
  }
  for (const double tolerance : {-1.0, 1.0, std::nan("")}) {
    options.zero_tolerance = tolerance;
    CHECK_THROWS_AS(LdltOf<TestType>(options), InputError);
  }
}

}  // namespace lutra::Test
