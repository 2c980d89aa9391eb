// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_EliminationTree.hpp"

#include <algorithm>
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <numeric>
#include <random>
#include <tuple>

#include "Lutra_Reference_Fill.hpp"
#include "Lutra_SymmetricGraph.hpp"
#include "Lutra_TestMatrices.hpp"
#include "Lutra_TestTypes.hpp"

namespace {

using namespace lutra;
using Ordinal = std::tuple_element_t<0, Test::Ordinals>;
using Matrix = HostMatrix<double, Ordinal>;
using IndexTypes = std::tuple<int, std::int64_t>;
constexpr double nothing = Test::nothing;

template <class Index>
std::vector<Index> natural(std::size_t n) {
  std::vector<Index> permutation(n);
  std::iota(permutation.begin(), permutation.end(), Index(0));
  return permutation;
}

TEMPLATE_LIST_TEST_CASE("graph: A + Aᵀ without diagonal, sorted, without repetition", "[trees]", IndexTypes) {
  using Indices = std::vector<TestType>;
  const Matrix a = Test::from_dense<Matrix>({{1, nothing, 1, 1},  //
                                             {nothing, nothing, nothing, 1},
                                             {1, nothing, 1, nothing},
                                             {nothing, nothing, nothing, nothing}});
  const auto transpose = Impl::transpose_pattern<TestType>(make_view(a).pattern());
  CHECK(transpose.row_map == Indices{0, 2, 2, 4, 6});
  CHECK(transpose.neighbours == Indices{0, 2, 0, 2, 0, 1});
  const auto graph = symmetric_graph<TestType>(make_view(a).pattern());
  CHECK(graph.row_map == Indices{0, 2, 3, 4, 6});
  CHECK(graph.neighbours == Indices{2, 3, 3, 0, 0, 1});
  const Matrix wide = Test::from_dense<Matrix>({{1, 1}}, 2);
  CHECK_THROWS_AS(symmetric_graph<TestType>(make_view(wide).pattern()), InputError);
}

TEMPLATE_LIST_TEST_CASE("elimination tree: cases worked by hand", "[trees]", IndexTypes) {
  using Indices = std::vector<TestType>;
  const double o = nothing;
  SECTION("the tree of the header") {
    const Matrix a = Test::from_dense<Matrix>(
        {{1, o, o, 1, o}, {o, 1, o, 1, o}, {o, o, 1, o, 1}, {1, 1, o, 1, 1}, {o, o, 1, 1, 1}});
    const auto graph = symmetric_graph<TestType>(make_view(a).pattern());
    CHECK(elimination_tree(graph, natural<TestType>(5)).parent == Indices{3, 3, 4, 4, -1});
    CHECK(elimination_tree(graph, Indices{3, 4, 0, 1, 2}).parent == Indices{1, 2, 3, 4, -1});
    CHECK(elimination_tree(make_view(a).pattern()).parent == std::vector<Ordinal>{3, 3, 4, 4, -1});
    CHECK(postorder(Indices{3, 3, 4, 4, -1}) == Indices{1, 2, 0, 3, 4});
  }
  SECTION("a pattern by rows, in no order, with entries on one side of the diagonal only") {
    Matrix a = Test::from_dense<Matrix>({{1, o, 1, 1}, {o, 1, o, o}, {o, o, 1, o}, {o, 1, o, 1}});
    std::swap(a.entries[0], a.entries[2]);
    CHECK(elimination_tree(make_view(a).pattern()).parent == std::vector<Ordinal>{2, 3, 3, -1});
  }
  SECTION("no edges, no vertices") {
    CHECK(postorder(Indices{-1, -1}) == Indices{0, 1});
    CHECK(postorder(Indices{}).empty());
    CHECK(elimination_tree(CsrPattern<Ordinal, std::int64_t, Kokkos::HostSpace>()).parent.empty());
  }
}

/// Children come before parents, and the subtree of each column is contiguous.
template <class Index>
void check_postorder(const std::vector<Index>& parent) {
  const std::vector<Index> position = postorder(parent);
  std::vector<Index> least(position), size(position.size(), 1);
  for (std::size_t j = 0; j < position.size(); ++j) {
    REQUIRE(position[j] - least[j] + 1 == size[j]);
    if (parent[j] < 0) continue;
    const auto p = static_cast<std::size_t>(parent[j]);
    REQUIRE(position[j] < position[p]);
    least[p] = std::min(least[p], least[j]);
    size[p] += size[j];
  }
  std::vector<Index> sorted = position;
  std::sort(sorted.begin(), sorted.end());
  REQUIRE(sorted == natural<Index>(position.size()));
}

template <class Index>
void check_against_elimination(const Matrix& a, const std::vector<Index>& permutation) {
  const auto below = Reference::eliminate(a, permutation);
  const auto parent = elimination_tree(symmetric_graph<Index>(make_view(a).pattern()), permutation).parent;
  REQUIRE(parent.size() == below.size());
  for (std::size_t j = 0; j < below.size(); ++j)
    REQUIRE(parent[j] == (below[j].empty() ? Index(-1) : static_cast<Index>(*below[j].begin())));
  check_postorder(parent);
}

TEMPLATE_LIST_TEST_CASE("elimination tree: against elimination", "[trees]", IndexTypes) {
  std::mt19937 random(5);
  for (int trial = 0; trial < 60; ++trial) {
    const int n = 1 + 2 * trial;
    const Matrix a = Test::random_matrix<Matrix>(n, (0.5 + 0.5 * (trial % 5)) / n, 0.0, random);
    auto permutation = natural<TestType>(static_cast<std::size_t>(n));
    CAPTURE(trial);
    check_against_elimination(a, permutation);
    const auto by_rows = elimination_tree(make_view(a).pattern()).parent;
    const auto by_graph =
        elimination_tree(symmetric_graph<TestType>(make_view(a).pattern()), permutation).parent;
    REQUIRE(std::ranges::equal(by_rows, by_graph));
    std::shuffle(permutation.begin(), permutation.end(), random);
    check_against_elimination(a, permutation);
  }
}

TEST_CASE("elimination tree: workspace is charged to the budget", "[trees]") {
  const Matrix a = Test::from_dense<Matrix>({{1, 1, 1}, {1, 1, 1}, {1, 1, 1}});
  const MemoryBudget budget(100000), small(16);
  CHECK(elimination_tree(make_view(a).pattern(), budget).parent == std::vector<Ordinal>{1, 2, -1});
  CHECK(budget.used_bytes() == 0);
  CHECK(budget.peak_bytes() > 0);
  CHECK_THROWS_AS(elimination_tree(make_view(a).pattern(), small), OutOfMemoryError);
  CHECK(small.used_bytes() == 0);
}

}  // namespace
