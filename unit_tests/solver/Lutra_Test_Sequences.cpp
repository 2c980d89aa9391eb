// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "Lutra_SparseLDLT.hpp"
#include "Lutra_SparseLU.hpp"
#include "Lutra_TestStatus.hpp"
#include "Lutra_TestSystems.hpp"

// Sequences of values on one pattern, rows and columns of which grow and shrink without bounds: a solver that
// keeps its analysis answers as a fresh one does. Sequence k is the same in every run; fifty are tested
// always, two thousand by scripts/sequences.sh.

namespace lutra::Test {
namespace {

template <class Types>
using MatrixOf = HostMatrix<typename Types::Scalar, typename Types::Ordinal, typename Types::Offset>;
template <class Types>
using Ldlt = SparseLDLT<typename Types::Scalar, typename Types::Space>;

struct Draw {
  std::mt19937_64 random;
  double unit() { return std::uniform_real_distribution<double>(0, 1)(random); }
  int below(int count) { return static_cast<int>(random() % static_cast<std::uint64_t>(count)); }
  bool chance(double p) { return unit() < p; }
  double entry() { return (chance(0.5) ? 1 : -1) * (0.2 + 0.8 * unit()); }
};

/// A dense picture of a pattern, symmetric or not, with full structural rank: a diagonal, or pairs off it.
std::vector<std::vector<int>> pattern_of(Draw& draw, int n, bool symmetric) {
  std::vector<std::vector<int>> has(static_cast<std::size_t>(n),
                                    std::vector<int>(static_cast<std::size_t>(n)));
  for (std::size_t i = 0; i < has.size(); ++i) {
    for (std::size_t j = 0; j < has.size(); ++j) {
      if (i != j && !draw.chance(2.5 / n)) continue;
      has[i][j] = 1;
      if (symmetric) has[j][i] = 1;
    }
  }
  return has;
}

/// How the values of one step are made.
struct Step {
  bool symmetric = false, definite = false, singular = false;
  double decades = 0;  ///< of the scales of rows and columns
};

/// Values on the pattern: well conditioned but for scales, or with a row and a column of zeros.
template <class Types>
MatrixOf<Types> values_on(Draw& draw, const std::vector<std::vector<int>>& has, const Step& step) {
  using Scalar = typename Types::Scalar;
  const std::size_t n = has.size();
  std::vector<double> row(n), column(n);
  for (std::size_t i = 0; i < n; ++i) {
    row[i] = draw.chance(0.5) ? 1.0 : std::pow(10.0, step.decades * (draw.unit() - 0.5));
    column[i] = draw.chance(0.5) ? 1.0 : std::pow(10.0, step.decades * (draw.unit() - 0.5));
  }
  if (step.symmetric) column = row;
  const std::size_t zero = step.singular ? static_cast<std::size_t>(draw.below(static_cast<int>(n))) : n;
  std::vector<std::vector<double>> value(n, std::vector<double>(n));
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      if (!has[i][j]) continue;
      const double size = i == j ? 4 + 2 * draw.unit() : 0.3 * draw.entry();
      const double sign = i == j && step.symmetric && !step.definite && draw.chance(0.5) ? -1 : 1;
      value[i][j] = step.symmetric && j < i ? value[j][i] : sign * size;
    }
  }
  MatrixOf<Types> matrix;
  matrix.n_rows = matrix.n_cols = static_cast<typename Types::Ordinal>(n);
  matrix.row_map.push_back(0);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      if (!has[i][j]) continue;
      matrix.entries.push_back(static_cast<typename Types::Ordinal>(j));
      const double scaled = i == zero || j == zero ? 0.0 : value[i][j] * (row[i] * column[j]);
      matrix.values.push_back(as_scalar<Scalar>(scaled));
    }
    matrix.row_map.push_back(static_cast<typename Types::Offset>(matrix.entries.size()));
  }
  return matrix;
}

/// What a solver says of one matrix.
struct Answer {
  Status status;
  Inertia inertia;
  double backward_error = 0;
};

template <class Types, class SolverType>
Answer answer_of(SolverType& solver, const MatrixOf<Types>& A) {
  using Scalar = typename Types::Scalar;
  const auto b = known_system(A).b;
  std::vector<Scalar> x(b.size());
  const Status factorized = solver.factorize(A), status = solver.solve_host(b, x);
  if (factorized != Status::success) CHECK(status == factorized);
  Answer answer{status, solver.report().inertia};
  if (status == Status::success)
    answer.backward_error = static_cast<double>(Reference::backward_errors(A, x, b).componentwise);
  return answer;
}

template <class Types, class MakeSolver>
void check_sequence(Draw& draw, bool symmetric, bool definite, const MakeSolver& make) {
  using Scalar = typename Types::Scalar;
  const double decades = sizeof(RealOf<Scalar>) == 8 ? 28 : 10;
  const auto has = pattern_of(draw, 3 + draw.below(30), symmetric);
  auto kept = make();
  for (int k = 0; k < 4; ++k) {
    Step step{symmetric, definite, !definite && draw.chance(0.15), draw.chance(0.6) ? decades : 0.0};
    const auto A = values_on<Types>(draw, has, step);
    if (k == 0) succeed(kept.analyze(A));
    auto fresh = make();
    succeed(fresh.analyze(A));
    const Answer expected = answer_of<Types>(fresh, A), found = answer_of<Types>(kept, A);
    INFO("step " << k << " of " << has.size() << " rows: fresh " << to_string(expected.status) << ", kept "
                 << to_string(found.status));
    CHECK(found.status == expected.status);
    CHECK((expected.status == Status::success) == !step.singular);
    CHECK(found.inertia.positive == expected.inertia.positive);
    CHECK(found.inertia.negative == expected.inertia.negative);
    CHECK(found.inertia.zero == expected.inertia.zero);
    CHECK(found.backward_error <= tight_bound<Scalar>());
  }
}

int number_of_sequences() {
  const char* const asked = std::getenv("LUTRA_SEQUENCES");
  return asked != nullptr ? std::atoi(asked) : 50;
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("a kept analysis gives the result of a fresh solver: LU", "[solver][sequences]",
                        AllTypes) {
  const int count = number_of_sequences();
  for (int k = 0; k < count; ++k) {
    Draw draw{std::mt19937_64(static_cast<std::uint64_t>(k))};
    INFO("sequence " << k);
    LuOptions options;
    options.engine = k % 3 == 0 ? Engine::automatic : Engine::multifrontal;
    if (k % 3 == 2) options.pivoting = Pivoting::threshold;
    check_sequence<TestType>(draw, draw.chance(0.3), false, [&] { return Solver<TestType>(options); });
  }
}

TEMPLATE_LIST_TEST_CASE("a kept analysis gives the result of a fresh solver: LDLT and Cholesky",
                        "[solver][sequences]", AllTypes) {
  const int count = number_of_sequences();
  for (int k = 0; k < count; ++k) {
    Draw draw{std::mt19937_64(static_cast<std::uint64_t>(1000000 + k))};
    INFO("sequence " << k);
    LdltOptions options;
    options.positive_definite = k % 3 == 0;
    options.symmetry = options.positive_definite ? Symmetry::hermitian : Symmetry::symmetric;
    check_sequence<TestType>(draw, true, options.positive_definite, [&] { return Ldlt<TestType>(options); });
  }
}

TEMPLATE_LIST_TEST_CASE("zero values at the analysis do not decide for later values", "[solver][sequences]",
                        AllTypes) {
  const auto zeros = from_dense<Matrix<TestType>>({{1, 1}, {1, 1}});
  auto A = zeros, B = zeros;
  using Scalar = typename TestType::Scalar;
  A.values = {Scalar(0), Scalar(0), Scalar(3), Scalar(1)};
  B.values = {Scalar(2), Scalar(1), Scalar(1), Scalar(2)};
  Solver<TestType> solver;
  succeed(solver.analyze(A));
  CHECK(answer_of<TestType>(solver, A).status != Status::success);
  CHECK(answer_of<TestType>(solver, B).status == Status::success);
  CHECK(answer_of<TestType>(solver, A).status != Status::success);
  CHECK(answer_of<TestType>(solver, B).status == Status::success);
}

}  // namespace lutra::Test
