// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Solves with factors that factorizations have made of saddle point matrices, judged by backward errors.
#include <algorithm>
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <map>
#include <numeric>
#include <random>
#include <vector>

#include "Lutra_LdltSolves.hpp"
#include "Lutra_TestTypes.hpp"

namespace lutra::Test {
namespace {

/// [H Bᵀ; B 0] with H positive definite of order n and B of m independent rows, its rows in random order: the
/// inertia is (n, m, 0). Many pivots have to be delayed.
template <class MatrixType>
MatrixType saddle_point(int n, int m, Symmetry symmetry, std::mt19937& random) {
  using Scalar = typename decltype(MatrixType::values)::value_type;
  using Ordinal = typename decltype(MatrixType::entries)::value_type;
  std::vector<std::map<int, Scalar>> rows(static_cast<std::size_t>(n + m));
  std::vector<int> label(rows.size());
  std::iota(label.begin(), label.end(), 0);
  std::shuffle(label.begin(), label.end(), random);
  const auto set = [&](int i, int j, Scalar value) {
    const int a = label[static_cast<std::size_t>(i)], b = label[static_cast<std::size_t>(j)];
    rows[static_cast<std::size_t>(a)][b] = value;
    if constexpr (ScalarTraits<Scalar>::is_complex) {
      if (symmetry == Symmetry::hermitian) value = Kokkos::conj(value);
    }
    rows[static_cast<std::size_t>(b)][a] = value;
  };
  std::uniform_int_distribution<int> any(0, n - 1);
  for (int i = 0; i < n; ++i) {
    for (int times = 0; times < 2; ++times) {
      const int j = any(random);
      if (j != i) set(i, j, random_value<Scalar>(random, 0.5));
    }
  }
  for (int i = 0; i < n; ++i) set(i, i, as_scalar<Scalar>(2 * n));
  for (int k = 0; k < m; ++k) {
    for (int times = 0; times < 2; ++times) {
      const int j = any(random);
      if (j >= m) set(n + k, j, random_value<Scalar>(random, 0.5));
    }
    set(n + k, k, as_scalar<Scalar>(4));
  }
  MatrixType matrix;
  matrix.n_rows = matrix.n_cols = static_cast<Ordinal>(n + m);
  matrix.row_map.push_back(0);
  for (const auto& row : rows) {
    for (const auto& [j, value] : row) {
      matrix.entries.push_back(static_cast<Ordinal>(j));
      matrix.values.push_back(value);
    }
    matrix.row_map.push_back(matrix.nnz());
  }
  return matrix;
}

template <class Types>
struct FactorizedLdlt {
  using Space = typename Types::Space;
  using Memory = typename Types::Memory;
  using Scalar = typename Types::Scalar;
  using WideScalar = Reference::Wide<Scalar>;

  Space exec;
  Matrix<Types> matrix;
  AssemblyTree tree;
  LdltPlan<Memory> plan;
  LdltFactors<Scalar, Space> factors;
  LdltOutcome outcome;

  FactorizedLdlt(const Matrix<Types>& A, const LdltPivotRule& rule, const LdltPlanOptions& options = {},
                 const Space& space = Space())
      : exec(space),
        matrix(A),
        tree(make_assembly_tree(make_view(matrix).pattern())),
        plan(plan_ldlt(exec, tree, FrontEntries{make_view(matrix).pattern(), tree.order, tree.order},
                       MemoryBudget(), options)) {
    const auto scale = to_space<Space>(ldlt_scale<RealOf<Scalar>>(tree.order.size()));
    const LdltValues<Scalar, Memory> values{{to_space<Space>(matrix.values), scale, scale}};
    allocate_ldlt(exec, plan, MemoryBudget(), factors);
    for (int times = 0; times < 8; ++times) {
      factorize_ldlt(exec, plan, values, rule, factors);
      outcome = read_outcome(exec, factors);
      if (!outcome.overflowed()) break;
      enlarge_room(exec, plan, MemoryBudget(), factors);
    }
    REQUIRE(outcome.succeeded());
  }

  /// The scaled matrix by permuted indices.
  std::vector<std::vector<WideScalar>> product() const {
    const std::size_t n = tree.order.size();
    const auto scale = ldlt_scale<RealOf<Scalar>>(n);
    std::vector<std::size_t> index(n);
    for (std::size_t k = 0; k < n; ++k) index[static_cast<std::size_t>(tree.order[k])] = k;
    std::vector<std::vector<WideScalar>> F(n, std::vector<WideScalar>(n));
    for (std::size_t i = 0; i < n; ++i) {
      Reference::for_row(matrix, i, [&](std::size_t j, const Scalar& value) {
        F[index[i]][index[j]] = Reference::widen(value) * static_cast<long double>(scale[i] * scale[j]);
      });
    }
    return F;
  }
};

}  // namespace

TEMPLATE_LIST_TEST_CASE("solves with the factors of saddle points", "[trisolve]", AllTypes) {
  std::mt19937 random(41);
  for (const auto symmetry : {Symmetry::symmetric, Symmetry::hermitian}) {
    for (const int n : {2, 20, 120}) {
      INFO("n " << n << (symmetry == Symmetry::hermitian ? ", Hermitian" : ""));
      const int m = n * 2 / 5;
      const auto matrix = saddle_point<Matrix<TestType>>(n, m, symmetry, random);
      const FactorizedLdlt<TestType> ldlt(matrix, {Pivoting::threshold, symmetry});
      if (symmetry == Symmetry::hermitian || !ScalarTraits<typename TestType::Scalar>::is_complex) {
        CHECK(ldlt.outcome.positive == n);
        CHECK(ldlt.outcome.negative == m);
        CHECK(ldlt.outcome.zero == 0);
      }
      auto solves = solves_with<TestType>(ldlt);
      const auto F = ldlt.product();
      for (const int columns : {1, 5}) solves.check_all(F, random, columns, columns == 5);
      const auto B = solves.random_columns(5, random);
      CHECK(solves.solve(B, Transposition::none) == solves.solve(B, Transposition::none));
    }
  }
}

TEMPLATE_LIST_TEST_CASE("solves with fronts that outgrew their planned size", "[trisolve]", AllTypes) {
  std::mt19937 random(42);
  const auto matrix = saddle_point<Matrix<TestType>>(150, 100, Symmetry::hermitian, random);
  const LdltPivotRule rule{Pivoting::threshold, Symmetry::hermitian};
  const FactorizedLdlt<TestType> roomy(matrix, rule), tight(matrix, rule, {1, 0.0});
  CHECK(roomy.outcome.delayed > 0);
  CHECK(tight.factors.room.slots > tight.plan.room.slots);
  auto with_roomy = solves_with<TestType>(roomy);
  auto with_tight = solves_with<TestType>(tight);
  const auto B = with_roomy.random_columns(3, random);
  CHECK(with_roomy.solve(B, Transposition::none) == with_tight.solve(B, Transposition::none));
  with_tight.check_all(tight.product(), random, 1);
}

#ifdef LUTRA_HAS_OPENMP
TEST_CASE("solves with L·D·Lᵀ give the same bits for any number of threads", "[trisolve]") {
  using OpenMpTypes =
      Types<std::tuple_element_t<0, Scalars>, std::tuple_element_t<0, Ordinals>, Kokkos::OpenMP>;
  std::mt19937 random(43);
  const auto matrix = saddle_point<Matrix<OpenMpTypes>>(800, 300, Symmetry::symmetric, random);
  const int most = Kokkos::OpenMP().concurrency();
  Columns<OpenMpTypes::Scalar> B, first;
  for (const int threads : {1, 2, 4}) {
    if (threads > most) continue;
    const FactorizedLdlt<OpenMpTypes> ldlt(matrix, {}, {}, Kokkos::OpenMP(threads));
    int largest = 0;
    for (const auto& front : ldlt.plan.base.layout.fronts) largest = std::max(largest, front.size());
    REQUIRE(largest >= 300);  // all threads work on it
    auto solves = solves_with<OpenMpTypes>(ldlt);
    if (B.empty()) B = solves.random_columns(6, random);
    auto got = solves.solve({B.begin(), B.end() - 1}, Transposition::none);  // five together …
    got.push_back(solves.solve({B.back()}, Transposition::none).front());    // … and one alone
    if (first.empty()) first = got;
    CHECK(got == first);
  }
}
#endif

}  // namespace lutra::Test
