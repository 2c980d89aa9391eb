// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>

#include "Lutra_BatchCases.hpp"

namespace lutra::Test {
namespace {

/// A Laplacian on an m × m grid, with symmetric random values for each system.
template <class Types>
struct GridBatch {
  using Scalar = typename Types::Scalar;

  GridBatch(int m, std::size_t K, bool hermitian)
      : pattern(grid(m)), values(pattern.values.size(), 1, K, Storage::one_after_other) {
    const auto n = static_cast<std::size_t>(pattern.n_rows);
    for (std::size_t k = 0; k < K; ++k) {
      std::mt19937 random(static_cast<unsigned>(k));
      std::vector<std::vector<Scalar>> dense(n, std::vector<Scalar>(n, Scalar(0)));
      for (std::size_t i = 0; i < n; ++i)
        for (std::size_t j = 0; j < i; ++j) {
          dense[i][j] = random_value<Scalar>(random, 0.3);
          dense[j][i] = hermitian ? ScalarTraits<Scalar>::conjugate(dense[i][j]) : dense[i][j];
        }
      for (std::size_t i = 0; i < n; ++i)
        for (auto p = begin(i); p < begin(i + 1); ++p) {
          const auto j = static_cast<std::size_t>(pattern.entries[p]);
          values(p, 0, k) = i == j ? as_scalar<Scalar>(8.0 + static_cast<double>(i % 3)) : dense[i][j];
        }
    }
    values.to_device();
  }
  std::size_t begin(std::size_t i) const { return static_cast<std::size_t>(pattern.row_map[i]); }
  /// Negates the diagonal entry of row i of system k.
  void negate(std::size_t i, std::size_t k) {
    for (auto p = begin(i); p < begin(i + 1); ++p)
      if (static_cast<std::size_t>(pattern.entries[p]) == i) values(p, 0, k) *= Scalar(-1);
    values.to_device();
  }
  static HostMatrix<Scalar> grid(int m) {
    HostMatrix<Scalar> A;
    A.n_rows = A.n_cols = m * m;
    A.row_map.push_back(0);
    for (int i = 0; i < m * m; ++i) {
      for (const int j : {i - m, i - 1, i, i + 1, i + m}) {
        if (j < 0 || j >= m * m || (j == i - 1 && i % m == 0) || (j == i + 1 && j % m == 0)) continue;
        A.entries.push_back(j);
        A.values.push_back(Scalar(i == j ? 8 : -1));
      }
      A.row_map.push_back(A.nnz());
    }
    return A;
  }

  HostMatrix<Scalar> pattern;
  BatchArray<Types> values;
};

template <class Types>
void check_solves(GridBatch<Types>& grid, const LdltOptions& options) {
  using Scalar = typename Types::Scalar;
  const std::size_t K = grid.values.extents[2];
  const auto n = static_cast<std::size_t>(grid.pattern.n_rows);
  BatchedLDLT<Scalar, typename Types::Space> batch(options);
  REQUIRE(batch.analyze(on_device<Types>(with_values(grid.pattern, grid.values, 0))) == Status::success);
  REQUIRE(batch.factorize(grid.values.matrix()) == Status::success);
  const auto B = random_block<Types>(n, 3, K, Storage::interleaved);
  for (const Transposition op : {Transposition::none, Transposition::transposed, Transposition::adjoint}) {
    BatchArray<Types> X(n, 3, K, Storage::interleaved);
    REQUIRE(batch.solve(B.view(), X.view(), op) == Status::success);
    X.to_host();
    for (std::size_t k = 0; k < K; ++k)
      for (std::size_t c = 0; c < 3; ++c)
        REQUIRE(error_of(with_values(grid.pattern, grid.values, k), B, X, c, k, op) <=
                tolerance_of<Scalar>());
  }
  CHECK(batch.report().alone.empty());
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("batch: LDLT and Cholesky", "[batch]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  for (const bool hermitian : {false, true}) {
    if (hermitian && !ScalarTraits<Scalar>::is_complex) continue;
    GridBatch<TestType> grid(5, 11, hermitian);
    LdltOptions options;
    options.symmetry = hermitian ? Symmetry::hermitian : Symmetry::symmetric;
    check_solves(grid, options);
    options.positive_definite = true;
    if (hermitian || !ScalarTraits<Scalar>::is_complex) check_solves(grid, options);
  }
}

TEMPLATE_LIST_TEST_CASE("batch: inertia and definiteness of each system", "[batch]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  GridBatch<TestType> grid(4, 10, true);
  const auto representative = with_values(grid.pattern, grid.values, 0);
  grid.negate(3, 4);
  grid.negate(3, 7);
  grid.negate(9, 7);
  LdltOptions options;
  options.symmetry = Symmetry::hermitian;
  BatchedLDLT<Scalar, typename TestType::Space> batch(options);
  REQUIRE(batch.analyze(on_device<TestType>(representative)) == Status::success);
  REQUIRE(batch.factorize(grid.values.matrix()) == Status::success);
  for (std::size_t k = 0; k < 10; ++k) {
    const std::int64_t negative = k == 4 ? 1 : k == 7 ? 2 : 0;
    CHECK(batch.report().inertia[k].negative == negative);
    CHECK(batch.report().inertia[k].positive == 16 - negative);
    CHECK(batch.report().inertia[k].zero == 0);
  }
  options.positive_definite = true;
  BatchedLDLT<Scalar, typename TestType::Space> cholesky(options);
  REQUIRE(cholesky.analyze(on_device<TestType>(representative)) == Status::success);
  CHECK(cholesky.factorize(grid.values.matrix()) == Status::not_positive_definite);
  const auto B = random_block<TestType>(16, 1, 10, Storage::interleaved);
  BatchArray<TestType> X(16, 1, 10, Storage::interleaved);
  CHECK(cholesky.solve(B.view(), X.view()) == Status::not_positive_definite);
  for (std::size_t k = 0; k < 10; ++k)
    CHECK(cholesky.report().statuses[k] ==
          (k == 4 || k == 7 ? Status::not_positive_definite : Status::success));
  CHECK(cholesky.report().alone == std::vector<std::int64_t>{4, 7});
}

TEMPLATE_LIST_TEST_CASE("batch: LDLT of systems that need pivots of order two", "[batch]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  GridBatch<TestType> grid(4, 10, false);
  const auto representative = with_values(grid.pattern, grid.values, 0);
  for (std::size_t i = 0; i < 16; ++i)  // system 6 has no diagonal
    for (auto p = grid.begin(i); p < grid.begin(i + 1); ++p)
      if (static_cast<std::size_t>(grid.pattern.entries[p]) == i) grid.values(p, 0, 6) = Scalar(0);
  grid.values.to_device();
  BatchedLDLT<Scalar, typename TestType::Space> batch;
  REQUIRE(batch.analyze(on_device<TestType>(representative)) == Status::success);
  REQUIRE(batch.factorize(grid.values.matrix()) == Status::success);
  CHECK(batch.report().alone == std::vector<std::int64_t>{6});
  const auto B = random_block<TestType>(16, 2, 10, Storage::interleaved);
  BatchArray<TestType> X(16, 2, 10, Storage::interleaved);
  CHECK(batch.solve(B.view(), X.view()) == Status::success);
  X.to_host();
  for (const std::size_t k : {5, 6, 7})
    CHECK(error_of(with_values(grid.pattern, grid.values, k), B, X, 1, k) <= tolerance_of<Scalar>());
}

TEMPLATE_LIST_TEST_CASE("batch: one triangle is read, and unsymmetric systems are named", "[batch]",
                        AllTypes) {
  using Scalar = typename TestType::Scalar;
  GridBatch<TestType> grid(4, 10, false);
  const auto whole = grid.values;
  const auto representative = with_values(grid.pattern, grid.values, 0);
  for (std::size_t k = 0; k < 10; ++k)
    for (std::size_t i = 0; i < 16; ++i)
      for (auto p = grid.begin(i); p < grid.begin(i + 1); ++p)
        if (static_cast<std::size_t>(grid.pattern.entries[p]) > i)
          grid.values(p, 0, k) = Scalar(std::numeric_limits<double>::quiet_NaN());
  grid.values.to_device();
  LdltOptions options;
  options.triangle = Triangle::lower;
  BatchedLDLT<Scalar, typename TestType::Space> batch(options);
  REQUIRE(batch.analyze(on_device<TestType>(representative)) == Status::success);
  REQUIRE(batch.factorize(grid.values.matrix()) == Status::success);
  const auto B = random_block<TestType>(16, 2, 10, Storage::interleaved);
  BatchArray<TestType> X(16, 2, 10, Storage::interleaved);
  CHECK(batch.solve(B.view(), X.view()) == Status::success);
  X.to_host();
  for (std::size_t k = 0; k < 10; ++k)
    CHECK(error_of(with_values(grid.pattern, whole, k), B, X, 1, k) <= tolerance_of<Scalar>());

  GridBatch<TestType> bad(4, 10, false);
  bad.values(bad.begin(2), 0, 5) *= Scalar(3);
  bad.values.to_device();
  BatchedLDLT<Scalar, typename TestType::Space> both;
  REQUIRE(both.analyze(on_device<TestType>(representative)) == Status::success);
  bool refused = false;
  try {
    (void)both.factorize(bad.values.matrix());
  } catch (const InputError& error) {
    refused = std::string(error.what()).find("system 5") != std::string::npos;
  }
  CHECK(refused);
}

}  // namespace lutra::Test
