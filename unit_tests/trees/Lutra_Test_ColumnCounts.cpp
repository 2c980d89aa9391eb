// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <numeric>
#include <tuple>

#include "Lutra_ColumnCounts.hpp"
#include "Lutra_Reference_Fill.hpp"
#include "Lutra_SymmetricGraph.hpp"
#include "Lutra_TestMatrices.hpp"

namespace {

using namespace lutra;
using Matrix = HostMatrix<double>;
using IndexTypes = std::tuple<int, std::int64_t>;
constexpr double nothing = Test::nothing;

template <class Index>
std::vector<Index> natural(std::size_t n) {
  std::vector<Index> permutation(n);
  std::iota(permutation.begin(), permutation.end(), Index(0));
  return permutation;
}

TEMPLATE_LIST_TEST_CASE("column counts: cases worked by hand", "[trees]", IndexTypes) {
  using Indices = std::vector<TestType>;
  const double o = nothing;
  SECTION("an arrow that points up fills everything, turned round nothing") {
    const Matrix a = Test::from_dense<Matrix>({{1, 1, 1, 1}, {1, 1, o, o}, {1, o, 1, o}, {1, o, o, 1}});
    const auto graph = symmetric_graph<TestType>(make_view(a).pattern());
    const Indices up{0, 1, 2, 3}, down{3, 2, 1, 0};
    CHECK(elimination_tree(graph, up).parent == Indices{1, 2, 3, -1});
    CHECK(column_counts(graph, up, {Indices{1, 2, 3, -1}}) == Indices{3, 2, 1, 0});
    CHECK(elimination_tree(graph, down).parent == Indices{3, 3, 3, -1});
    CHECK(column_counts(graph, down, {Indices{3, 3, 3, -1}}) == Indices{1, 1, 1, 0});
    const FillForecast forecast = forecast_fill(graph, down);
    CHECK(forecast.nnz_l == 3);
    CHECK(forecast.flops == 9);  // a division, a multiplication and an addition for each of three columns
    CHECK(forecast.height == 2);
    CHECK(forecast.supernode_height == 2);
    CHECK(forecast_fill(graph, up).height == 4);
    CHECK(forecast_fill(graph, up).supernode_height == 1);  // a dense matrix
  }
  SECTION("a path: every column but the last waits for the one before, and has rows of its own") {
    const Matrix a = Test::from_dense<Matrix>({{1, 1, o, o}, {1, 1, 1, o}, {o, 1, 1, 1}, {o, o, 1, 1}});
    const auto forecast =
        forecast_fill(symmetric_graph<TestType>(make_view(a).pattern()), natural<TestType>(4));
    CHECK(forecast.height == 4);
    CHECK(forecast.supernode_height == 3);
  }
  SECTION("two separate pairs") {
    const Matrix a = Test::from_dense<Matrix>({{1, o, 1, o}, {o, 1, o, 1}, {1, o, 1, o}, {o, 1, o, 1}});
    const auto graph = symmetric_graph<TestType>(make_view(a).pattern());
    const auto tree = elimination_tree(graph, natural<TestType>(4));
    CHECK(tree.parent == Indices{2, 3, -1, -1});
    CHECK(column_counts(graph, natural<TestType>(4), tree) == Indices{1, 1, 0, 0});
  }
  SECTION("no edges, no vertices") {
    Matrix a;
    a.row_map.push_back(0);
    CHECK(forecast_fill(symmetric_graph<TestType>(make_view(a).pattern()), Indices{}).nnz_l == 0);
    a.n_rows = a.n_cols = 2;
    a.row_map = {0, 0, 0};
    const auto graph = symmetric_graph<TestType>(make_view(a).pattern());
    CHECK(forecast_fill(graph, natural<TestType>(2)).nnz_l == 0);
    CHECK(forecast_fill(graph, natural<TestType>(2)).height == 1);
    CHECK(forecast_fill(graph, natural<TestType>(2)).supernode_height == 1);
  }
}

template <class Index>
void check_against_elimination(const Matrix& a, const std::vector<Index>& permutation) {
  const auto below = Reference::eliminate(a, permutation);
  const auto graph = symmetric_graph<Index>(make_view(a).pattern());
  const std::vector<Index> count = column_counts(graph, permutation, elimination_tree(graph, permutation));
  std::int64_t entries = 0;
  for (std::size_t j = 0; j < below.size(); ++j) {
    REQUIRE(static_cast<std::size_t>(count[j]) == below[j].size());
    entries += count[j];
  }
  REQUIRE(forecast_fill(graph, permutation).nnz_l == entries);
}

TEMPLATE_LIST_TEST_CASE("column counts: against elimination", "[trees]", IndexTypes) {
  std::mt19937 random(3);
  for (int trial = 0; trial < 60; ++trial) {
    const int n = 1 + 2 * trial;
    const double entries_a_row = 0.5 + 0.5 * (trial % 5);
    const Matrix a = Test::random_matrix<Matrix>(n, entries_a_row / n, 0.0, random);
    auto permutation = natural<TestType>(static_cast<std::size_t>(n));
    CAPTURE(trial);
    check_against_elimination(a, permutation);
    std::shuffle(permutation.begin(), permutation.end(), random);
    check_against_elimination(a, permutation);
  }
  std::vector<int> label(144);
  std::iota(label.begin(), label.end(), 0);
  check_against_elimination(Test::grid_matrix<Matrix>(12, label), natural<TestType>(144));
}

}  // namespace
