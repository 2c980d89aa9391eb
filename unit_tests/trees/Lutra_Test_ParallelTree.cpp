// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <numeric>
#include <random>

#include "Lutra_ColumnCounts.hpp"
#include "Lutra_ParallelEliminationTree.hpp"
#include "Lutra_TestDevice.hpp"
#include "Lutra_TestMatrices.hpp"
#include "Lutra_TestTypes.hpp"

namespace {

using namespace lutra;

/// The host's tree, with n for a root.
template <class MatrixType>
auto expected_parents(const MatrixType& A) {
  auto parent = elimination_tree(make_view(A).pattern()).parent;
  for (auto& above : parent) {
    if (above < 0) above = A.n_rows;
  }
  return parent;
}

/// Random rows. The last `separator` rows have one entry before the separator and many within it.
template <class MatrixType>
MatrixType with_separator(int n, int separator, std::mt19937& random) {
  MatrixType A;
  using Ordinal = typename decltype(A.entries)::value_type;
  A.n_rows = A.n_cols = n;
  A.row_map.push_back(0);
  for (int row = 0; row < n; ++row) {
    std::vector<Ordinal> columns{static_cast<Ordinal>(row)};
    const int first = n - separator;
    const auto add = [&](int begin, int end) {
      columns.push_back(
          static_cast<Ordinal>(begin + static_cast<int>(random() % static_cast<unsigned>(end - begin))));
    };
    add(0, row < first ? n : first);
    for (int k = 0; row >= first && k < 5; ++k) add(first, n);
    std::sort(columns.begin(), columns.end());
    columns.erase(std::unique(columns.begin(), columns.end()), columns.end());
    A.entries.insert(A.entries.end(), columns.begin(), columns.end());
    A.row_map.push_back(static_cast<std::int64_t>(A.entries.size()));
  }
  A.values.assign(A.entries.size(), 1.0);
  return A;
}

template <class Types>
std::vector<Test::Matrix<Types>> matrices(std::mt19937& random) {
  using Matrix = Test::Matrix<Types>;
  std::vector<Matrix> all{Test::from_dense<Matrix>({{1}}),
                          Test::from_dense<Matrix>({{1, 1}, {Test::nothing, 1}})};
  for (const int n : {30, 300, 1500}) {
    for (const double mean : {0.7, 3.0}) all.push_back(Test::random_matrix<Matrix>(n, mean / n, 0.0, random));
  }
  all.push_back(Test::add_mirror(all.back()));
  all.push_back(with_separator<Matrix>(4096, 128, random));
  all.push_back(with_separator<Matrix>(5000, 70, random));
  return all;
}

TEMPLATE_LIST_TEST_CASE("the parallel algorithm gives the elimination tree", "[trees]", Test::PatternTypes) {
  using Space = typename TestType::Space;
  std::mt19937 random(31);
  const Space exec;
  const MemoryBudget budget;
  for (const auto& A : matrices<TestType>(random)) {
    CAPTURE(A.n_rows, A.nnz());
    const auto pattern = Test::to_space<Space>(A).pattern();
    const Kokkos::View<Ordinal*, typename Space::memory_space> parent("parent", A.n_rows);
    Impl::propagate_edges<Space>(exec, pattern, parent, budget);
    REQUIRE(Test::to_vector(parent) == expected_parents(A));
  }
}

TEMPLATE_LIST_TEST_CASE("parallel tree and column counts equal those of the host", "[trees]",
                        Test::PatternTypes) {
  using Space = typename TestType::Space;
  std::mt19937 random(32);
  for (const auto& A : matrices<TestType>(random)) {
    CAPTURE(A.n_rows, A.nnz());
    const MemoryBudget budget;
    {
      const auto counts = column_counts(Space(), Test::to_space<Space>(A).pattern(), budget);
      CHECK(Test::to_vector(counts.parent) == expected_parents(A));
      const auto graph = symmetric_graph<std::int64_t>(make_view(A).pattern());
      std::vector<std::int64_t> identity(static_cast<std::size_t>(A.n_rows));
      std::iota(identity.begin(), identity.end(), std::int64_t(0));
      auto expected = column_counts(graph, identity, elimination_tree(graph, identity));
      expected.push_back(0);
      CHECK(std::ranges::equal(Test::to_vector(counts.count), expected));
    }
    CHECK(budget.used_bytes() == 0);
  }
}

}  // namespace
