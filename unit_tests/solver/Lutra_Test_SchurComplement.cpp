// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include "Lutra_SchurComplement.hpp"
#include "Lutra_SparseLDLT.hpp"
#include "Lutra_SparseLU.hpp"
#include "Lutra_TestDominant.hpp"
#include "Lutra_TestStatus.hpp"
#include "Lutra_TestSymmetric.hpp"
#include "Lutra_TestSystems.hpp"

namespace lutra::Test {
namespace {

using Catch::Matchers::ContainsSubstring;

template <class Types, template <class, class> class Solver>
using Schur = SchurComplement<Solver, typename Types::Scalar, typename Types::Space>;
template <class Types>
using Block = Kokkos::View<typename Types::Scalar**, Kokkos::LayoutLeft, typename Types::Memory>;
template <class Scalar>
using HostBlock = std::vector<std::vector<Scalar>>;  // by columns

template <class Types>
Block<Types> to_block(const HostBlock<typename Types::Scalar>& columns, std::size_t rows) {
  const Block<Types> block("block", rows, columns.size());
  const auto host = Kokkos::create_mirror_view(block);
  for (std::size_t c = 0; c < columns.size(); ++c) {
    for (std::size_t i = 0; i < rows; ++i) host(i, c) = columns[c][i];
  }
  Kokkos::deep_copy(block, host);
  return block;
}

template <class BlockView>
auto to_columns(const BlockView& block) {
  using Scalar = typename BlockView::non_const_value_type;
  const auto host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), block);
  HostBlock<Scalar> columns(host.extent(1));
  for (std::size_t c = 0; c < columns.size(); ++c) {
    for (std::size_t i = 0; i < host.extent(0); ++i) columns[c].push_back(host(i, c));
  }
  return columns;
}

/// S by dense elimination: of A with the rows and columns of the set last, those before them.
template <class Types>
auto dense_complement(const Matrix<Types>& A, const std::vector<typename Types::Ordinal>& set) {
  using Wide = Reference::Wide<typename Types::Scalar>;
  const auto n = static_cast<std::size_t>(A.n_rows), rest = n - set.size();
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < n; ++i) {
    if (std::find(set.begin(), set.end(), static_cast<typename Types::Ordinal>(i)) == set.end())
      order.push_back(i);
  }
  for (const auto row : set) order.push_back(static_cast<std::size_t>(row));
  std::vector<std::vector<Wide>> dense(n, std::vector<Wide>(n));
  for (std::size_t i = 0; i < n; ++i)
    Reference::for_row(A, i,
                       [&](std::size_t j, const auto& value) { dense[i][j] = Reference::widen(value); });
  std::vector<std::vector<Wide>> M(n, std::vector<Wide>(n));
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) M[i][j] = dense[order[i]][order[j]];
  }
  for (std::size_t k = 0; k < rest; ++k) {
    std::size_t pivot = k;
    for (std::size_t i = k + 1; i < rest; ++i) pivot = std::abs(M[i][k]) > std::abs(M[pivot][k]) ? i : pivot;
    std::swap(M[k], M[pivot]);
    for (std::size_t i = k + 1; i < n; ++i) {
      const Wide factor = M[i][k] / M[k][k];
      for (std::size_t j = k; j < n; ++j) M[i][j] -= factor * M[k][j];
    }
  }
  std::vector<std::vector<Wide>> S(set.size(), std::vector<Wide>(set.size()));
  for (std::size_t i = 0; i < set.size(); ++i) {
    for (std::size_t j = 0; j < set.size(); ++j) S[i][j] = M[rest + i][rest + j];
  }
  return S;
}

/// A dense matrix as a sparse one, for reference solves.
template <class Types>
Matrix<Types> as_sparse(const HostBlock<typename Types::Scalar>& columns) {
  Matrix<Types> result;
  result.n_rows = result.n_cols = static_cast<typename Types::Ordinal>(columns.size());
  result.row_map.push_back(0);
  for (std::size_t i = 0; i < columns.size(); ++i) {
    for (std::size_t j = 0; j < columns.size(); ++j) {
      result.entries.push_back(static_cast<typename Types::Ordinal>(j));
      result.values.push_back(columns[j][i]);
    }
    result.row_map.push_back(result.nnz());
  }
  return result;
}

/// S, and solutions of A·X = B by way of it.
template <class Types, template <class, class> class Solver>
void check_complement(const Matrix<Types>& A, const std::vector<typename Types::Ordinal>& set,
                      Schur<Types, Solver>& schur, std::mt19937& random) {
  using Scalar = typename Types::Scalar;
  const auto device = to_space<typename Types::Space>(A);
  REQUIRE(schur.factorize(device) == Status::success);
  const auto S = to_columns(schur.matrix());
  const auto expected = dense_complement<Types>(A, set);
  REQUIRE(S.size() == set.size());
  for (std::size_t i = 0; i < S.size(); ++i) {
    for (std::size_t j = 0; j < S.size(); ++j)
      REQUIRE(std::abs(Reference::widen(S[j][i]) - expected[i][j]) <=
              1000 * epsilon_of<Scalar> * (1 + std::abs(expected[i][i])));
  }
  const auto n = static_cast<std::size_t>(A.n_rows);
  HostBlock<Scalar> B(3, std::vector<Scalar>(n)), Y;
  for (auto& column : B) {
    for (auto& value : column) value = random_value<Scalar>(random, 1);
  }
  const auto b = to_block<Types>(B, n);
  const Block<Types> g("g", set.size(), B.size());
  REQUIRE(schur.condense(b, g) == Status::success);
  for (const auto& column : to_columns(g)) {
    const auto y = Reference::dense_solve(as_sparse<Types>(S), column);
    Y.emplace_back();
    for (const auto& value : y) {
      if constexpr (ScalarTraits<Scalar>::is_complex) {
        Y.back().push_back(
            Scalar(static_cast<RealOf<Scalar>>(value.real()), static_cast<RealOf<Scalar>>(value.imag())));
      } else {
        Y.back().push_back(static_cast<Scalar>(value));
      }
    }
  }
  REQUIRE(schur.expand(b, to_block<Types>(Y, set.size()), b) == Status::success);
  const auto X = to_columns(b);
  for (std::size_t c = 0; c < B.size(); ++c)
    REQUIRE(Reference::backward_errors(A, X[c], B[c]).normwise <= tight_bound<Scalar>());
}

std::vector<Ordinal> random_set(int n, int count, std::mt19937& random) {
  std::vector<Ordinal> rows(static_cast<std::size_t>(n));
  std::iota(rows.begin(), rows.end(), Ordinal(0));
  std::shuffle(rows.begin(), rows.end(), random);
  rows.resize(static_cast<std::size_t>(count));
  return rows;
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("a Schur complement worked by hand", "[solver]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  // s = (2, 0): Ass = (5 1; 1 0), Arr = 2, Ars = (4 6), Asr = (2; 8)
  const auto A = from_dense<Matrix<TestType>>({{0, 8, 1}, {6, 2, 4}, {1, 2, 5}});
  Schur<TestType, SparseLU> schur{SparseLU<Scalar, typename TestType::Space>()};
  const auto device = to_space<typename TestType::Space>(A);
  succeed(schur.analyze(device, {2, 0}));
  REQUIRE(schur.factorize(device) == Status::success);
  CHECK(to_columns(schur.matrix()) == HostBlock<Scalar>{{Scalar(1), Scalar(-15)}, {Scalar(-5), Scalar(-24)}});
}

TEMPLATE_LIST_TEST_CASE("Schur complements by LU", "[solver]", AllTypes) {
  std::mt19937 random(61);
  for (const auto& [n, count] : {std::pair{1, 1}, {1, 0}, {8, 8}, {60, 1}, {120, 37}, {120, 64}}) {
    INFO(count << " of " << n << " rows");
    auto A = dominant_matrix<Matrix<TestType>>(n, std::min(1.0, 4.0 / n), random);
    const auto set = random_set(n, count, random);
    Schur<TestType, SparseLU> schur{Solver<TestType>()};
    succeed(schur.analyze(to_space<typename TestType::Space>(A), set));
    check_complement<TestType, SparseLU>(A, set, schur, random);
    for (auto& value : A.values) value *= typename TestType::Scalar(2);  // new values
    check_complement<TestType, SparseLU>(A, set, schur, random);
  }
}

TEMPLATE_LIST_TEST_CASE("Schur complements by LDLT", "[solver]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  std::mt19937 random(62);
  auto A = banded_matrix<Matrix<TestType>>(90, {1, 7, 30});
  for (std::size_t i = 0; i < 90; ++i) {
    for (auto p = A.row_map[i]; p < A.row_map[i + 1]; ++p) {
      const auto at = static_cast<std::size_t>(p);
      const auto j = static_cast<std::size_t>(A.entries[at]);
      // indefinite: the sign of the diagonal alternates
      A.values[at] = as_scalar<Scalar>(i != j       ? 0.25 + static_cast<double>((i + j) % 5) / 8.0
                                       : i % 2 == 0 ? 6
                                                    : -6);
    }
  }
  const auto set = random_set(90, 40, random);
  using Ldlt = SparseLDLT<Scalar, typename TestType::Space>;
  Schur<TestType, SparseLDLT> schur{Ldlt()};
  succeed(schur.analyze(to_space<typename TestType::Space>(A), set));
  check_complement<TestType, SparseLDLT>(A, set, schur, random);
}

TEMPLATE_LIST_TEST_CASE("Schur complements of saddle points come from the factorization", "[solver]",
                        AllTypes) {
  using Scalar = typename TestType::Scalar;
  using Space = typename TestType::Space;
  std::mt19937 random(63);
  const auto A = saddle_point<Matrix<TestType>>(90, 40, random);
  std::vector<Ordinal> set;  // half of the constraints, without which the matrix stays regular
  for (std::size_t i = 130; i-- > 0 && set.size() < 20;) {
    bool is_constraint = true;
    Reference::for_row(A, i, [&](std::size_t j, const Scalar& value) {
      if (j == i && ScalarTraits<Scalar>::magnitude(value) > 0.75) is_constraint = false;
    });
    if (is_constraint) set.push_back(static_cast<Ordinal>(i));
  }
  using Ldlt = SparseLDLT<Scalar, Space>;
  Schur<TestType, SparseLDLT> by_ldlt{Ldlt()};
  succeed(by_ldlt.analyze(to_space<Space>(A), set));
  REQUIRE(by_ldlt.factorize(to_space<Space>(A)) == Status::success);
  CHECK(!by_ldlt.solver().report().times.solve);
  if constexpr (!ScalarTraits<Scalar>::is_complex) {
    const Inertia& inertia = by_ldlt.solver().report().inertia;
    CHECK(*inertia.positive == 90);
    CHECK(*inertia.negative == 20);
  }
  check_complement<TestType, SparseLDLT>(A, set, by_ldlt, random);
  const auto S = to_columns(by_ldlt.matrix());
  for (std::size_t i = 0; i < S.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) REQUIRE(S[i][j] == S[j][i]);
  }
}

TEMPLATE_LIST_TEST_CASE("singular Schur complements, and those of reducible matrices", "[solver]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  using Space = typename TestType::Space;
  // rows 1 and 3 do not know the others
  const auto A = from_dense<Matrix<TestType>>({{2, 0, 1, 0}, {0, 4, 0, 2}, {4, 0, 2, 0}, {0, 1, 0, 1}});
  Schur<TestType, SparseLU> schur{Solver<TestType>()};
  succeed(schur.analyze(to_space<Space>(A), {2}));
  REQUIRE(schur.factorize(to_space<Space>(A)) == Status::success);
  CHECK(!schur.solver().report().times.solve);
  CHECK(to_columns(schur.matrix()) == HostBlock<Scalar>{{Scalar(0)}});
}

TEMPLATE_LIST_TEST_CASE("Schur complements by solves where pivots were perturbed", "[solver]", AllTypes) {
  using Space = typename TestType::Space;
  std::mt19937 random(64);
  const auto A = from_dense<Matrix<TestType>>({{0, 1, 1}, {1, 0, 2}, {3, 1, 4}});
  LuOptions options;
  options.matching = Matching::none;
  Schur<TestType, SparseLU> schur{SparseLU<typename TestType::Scalar, Space>(options)};
  succeed(schur.analyze(to_space<Space>(A), {2}));
  check_complement<TestType, SparseLU>(A, {2}, schur, random);
  CHECK(*schur.solver().report().pivots.perturbed > 0);
  options.check = SolutionCheck::never;
  Schur<TestType, SparseLU> unchecked{SparseLU<typename TestType::Scalar, Space>(options)};
  succeed(unchecked.analyze(to_space<Space>(A), {2}));
  CHECK(unchecked.factorize(to_space<Space>(A)) == Status::unchecked);
  CHECK(unchecked.condense(Block<TestType>("b", 3, 1), Block<TestType>("g", 1, 1)) == Status::unchecked);
}

TEMPLATE_LIST_TEST_CASE("a Schur complement checks the whole matrix before it changes anything",
                        "[solver][errors]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  using Space = typename TestType::Space;
  const double o = nothing, nan = std::numeric_limits<double>::quiet_NaN();
  const auto device = [](const std::vector<std::vector<double>>& picture) {
    return to_space<Space>(from_dense<Matrix<TestType>>(picture));
  };
  const auto A = device({{0, 8, 1}, {6, 2, 4}, {1, 2, 5}});  // as by hand
  const HostBlock<Scalar> S{{Scalar(1), Scalar(-15)}, {Scalar(-5), Scalar(-24)}};
  const auto b = to_block<TestType>({{Scalar(1), Scalar(2), Scalar(3)}}, 3);
  const HostBlock<Scalar> condensed{{Scalar(1), Scalar(-7)}};  // (3, 1) − (2; 8)·2 / 2
  Schur<TestType, SparseLU> schur{Solver<TestType>()};
  succeed(schur.analyze(A, {2, 0}));
  REQUIRE(schur.factorize(A) == Status::success);
  const auto is_as_before = [&] {
    CHECK(to_columns(schur.matrix()) == S);
    const Block<TestType> g("g", 2, 1);
    REQUIRE(schur.condense(b, g) == Status::success);
    CHECK(to_columns(g) == condensed);
  };
  is_as_before();
  const auto refuses = [&](const auto& call, const std::string& message) {
    CHECK_THROWS_AS(call(), InputError);
    CHECK_THROWS_WITH(call(), ContainsSubstring(message));
    is_as_before();
  };
  const auto other = [&](const std::vector<std::vector<double>>& picture) {
    return [&, matrix = device(picture)] { succeed(schur.factorize(matrix)); };
  };
  refuses(other({{0, 8, nan}, {6, 2, 4}, {1, 2, 5}}), "row 0, column 2 is NaN");  // Ass
  refuses(other({{0, 8, 1}, {6, 2, nan}, {1, 2, 5}}), "row 1, column 2 is NaN");  // Ars
  refuses(other({{0, 8, 1}, {6, 2, 4}, {1, nan, 5}}), "row 2, column 1 is NaN");  // Asr
  refuses(other({{0, 8, 1}, {6, nan, 4}, {1, 2, 5}}), "row 1, column 1 is NaN");  // Arr
  refuses(other({{0, 8, o}, {6, 2, 4}, {1, 2, 5}}), "its pattern is not the one");
  refuses(other({{0, 8}, {6, 2}}), "its pattern is not the one");
  auto wrong = from_dense<Matrix<TestType>>({{0, 8, 1}, {6, 2, 4}, {1, 2, 5}});
  wrong.entries[8] = static_cast<Ordinal>(1000000);
  const auto far = to_space<Space>(wrong);
  refuses([&] { succeed(schur.factorize(far)); }, "row 2 has column 1000000");
  refuses([&] { succeed(schur.analyze(far, {2, 0})); }, "row 2 has column 1000000");
  const auto oblong = to_space<Space>(from_dense<Matrix<TestType>>({{1, 2, 3}, {4, 5, 6}}, 3));
  refuses([&] { succeed(schur.analyze(oblong, {0})); }, "a square matrix is needed");
  refuses(
      [&] {
        succeed(schur.analyze(device({{1, 2, nan}, {4, 5, 6}, {7, 8, 9}}), {2}));
      },
      "row 0, column 2 is NaN");
  refuses([&] { succeed(schur.analyze(A, {2, 0, 2})); }, "set: entry 2, row 2, is there twice");
  refuses([&] { succeed(schur.analyze(A, {0, 3})); }, "set: entry 1, row 3, is outside of the matrix");
  const auto bad = to_block<TestType>({{Scalar(1), as_scalar<Scalar>(nan), Scalar(3)}}, 3);
  const Block<TestType> g("g", 2, 1), x("x", 3, 1);
  refuses([&] { schur.condense(bad, g); }, "B: row 1 holds NaN");
  refuses([&] { schur.expand(bad, g, x); }, "B: row 1 holds NaN");
  refuses(
      [&] {
        schur.expand(b, to_block<TestType>({{Scalar(1), as_scalar<Scalar>(nan)}}, 2), x);
      },
      "Y: row 1 holds NaN");
  CHECK(to_columns(x) == HostBlock<Scalar>{{Scalar(0), Scalar(0), Scalar(0)}});
  CHECK(to_columns(g) == HostBlock<Scalar>{{Scalar(0), Scalar(0)}});
}

TEMPLATE_LIST_TEST_CASE("a Schur complement by LDLT needs a symmetric matrix", "[solver][errors]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  using Space = typename TestType::Space;
  using Ldlt = SparseLDLT<Scalar, Space>;
  const double o = nothing;
  for (const Triangle triangle : {Triangle::lower, Triangle::upper, Triangle::both}) {
    LdltOptions options;
    options.triangle = triangle;
    Schur<TestType, SparseLDLT> schur{Ldlt(options)};
    const auto call = [&](const std::vector<std::vector<double>>& picture, bool analyze) {
      const auto A = to_space<Space>(from_dense<Matrix<TestType>>(picture));
      if (analyze) succeed(schur.analyze(A, {2}));
      succeed(schur.factorize(A));
    };
    CHECK_THROWS_WITH(call({{4, 1, 2}, {1, 5, 3}, {o, o, 6}}, true), ContainsSubstring("row 0, column 2"));
    call({{4, 1, 2}, {1, 5, 3}, {2, 3, 6}}, true);
    const auto S = to_columns(schur.matrix());
    CHECK_THROWS_WITH(call({{4, 1, 2}, {1, 5, 3}, {2, 4, 6}}, false), ContainsSubstring("row 1, column 2"));
    CHECK(to_columns(schur.matrix()) == S);
  }
}

TEMPLATE_LIST_TEST_CASE("invalid calls of a Schur complement are refused", "[solver][errors]", AllTypes) {
  using Space = typename TestType::Space;
  const auto A = to_space<Space>(from_dense<Matrix<TestType>>({{1, 1, 0}, {1, 1, 0}, {0, 0, 1}}));
  Schur<TestType, SparseLU> schur{Solver<TestType>()};
  const Block<TestType> b("b", 3, 1), g("g", 1, 1);
  CHECK_THROWS_AS(schur.factorize(A), CallOrderError);
  CHECK_THROWS_AS(schur.condense(b, g), CallOrderError);
  CHECK_THROWS_AS(schur.analyze(A, {3}), InputError);
  CHECK_THROWS_AS(schur.analyze(A, {-1}), InputError);
  CHECK_THROWS_AS(schur.analyze(A, {1, 1}), InputError);
  succeed(schur.analyze(A, {2}));
  CHECK(schur.factorize(A) != Status::success);  // Arr is singular
  CHECK_THROWS_AS(schur.condense(b, g), CallOrderError);
  succeed(schur.analyze(A, {1}));
  CHECK(schur.factorize(A) == Status::success);
  CHECK_THROWS_AS(schur.condense(b, Block<TestType>("g", 2, 1)), InputError);
  CHECK_THROWS_AS(schur.expand(b, g, Block<TestType>("x", 2, 1)), InputError);
}

}  // namespace lutra::Test
