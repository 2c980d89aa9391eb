// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <numeric>
#include <random>

#include "Lutra_Allocate.hpp"
#include "Lutra_AssemblyTree.hpp"
#include "Lutra_Reference_Lu.hpp"
#include "Lutra_SplitFronts.hpp"
#include "Lutra_TestMatrices.hpp"
#include "Lutra_TestTypes.hpp"

namespace lutra::Test {
namespace {

constexpr AssemblyTreeOptions no_zeros{0, 0, 0, 0, 0, 0, 0};

template <class MatrixType>
MatrixType reordered(const MatrixType& A, const std::vector<Ordinal>& order) {
  std::vector<std::size_t> position(order.size());
  for (std::size_t k = 0; k < order.size(); ++k) position[static_cast<std::size_t>(order[k])] = k;
  std::vector<std::vector<double>> picture(order.size(), std::vector<double>(order.size(), nothing));
  for (std::size_t i = 0; i < order.size(); ++i)
    Reference::for_row(A, i, [&](std::size_t j, const auto&) { picture[position[i]][position[j]] = 1; });
  return from_dense<MatrixType>(picture);
}

template <class To, class From>
Kokkos::View<To*, Kokkos::HostSpace> copied(const std::vector<From>& from) {
  Kokkos::View<To*, Kokkos::HostSpace> to("copied", from.size());
  for (std::size_t k = 0; k < from.size(); ++k) to(k) = static_cast<To>(from[k]);
  return to;
}

/// Counts the numbers in the fronts and checks that the fronts cover the fill of the reordered matrix, and
/// that their zeros are those that the factors in the given order do not have.
template <class MatrixType, class Tree>
double check_tree(const MatrixType& A, const Tree& tree) {
  const auto n = static_cast<std::size_t>(A.n_rows);
  std::vector<std::size_t> sorted(tree.order.begin(), tree.order.end());
  std::ranges::sort(sorted);
  for (std::size_t i = 0; i < n; ++i) REQUIRE(sorted[i] == i);
  REQUIRE(tree.pivot_begin.front() == 0);
  REQUIRE(static_cast<std::size_t>(tree.pivot_begin.back()) == n);
  std::vector<std::set<std::size_t>> rows(n);
  double stored = 0;
  for (std::size_t f = 0; f < tree.parent.size(); ++f) {
    const auto begin = static_cast<std::size_t>(tree.pivot_begin[f]);
    const auto end = static_cast<std::size_t>(tree.pivot_begin[f + 1]);
    REQUIRE(begin < end);
    std::set<std::size_t> front;
    for (std::size_t j = begin; j < end; ++j) front.insert(j);
    std::size_t last = end - 1;
    for (auto r = tree.row_begin[f]; r < tree.row_begin[f + 1]; ++r) {
      const auto row = static_cast<std::size_t>(tree.rows[static_cast<std::size_t>(r)]);
      REQUIRE(row > last);  // ascending, beyond the pivots
      front.insert(last = row);
    }
    if (front.size() == end - begin) {
      REQUIRE(tree.parent[f] == -1);
    } else {  // the first row beyond the pivots is a pivot of the parent, which has all these rows
      const auto parent = static_cast<std::size_t>(tree.parent[f]);
      REQUIRE(parent > f);
      const auto first = static_cast<std::size_t>(tree.rows[static_cast<std::size_t>(tree.row_begin[f])]);
      REQUIRE(static_cast<std::size_t>(tree.pivot_begin[parent]) <= first);
      REQUIRE(first < static_cast<std::size_t>(tree.pivot_begin[parent + 1]));
    }
    const double k = static_cast<double>(end - begin), m = static_cast<double>(front.size()) - k;
    stored += k * (k + 2 * m);
    for (std::size_t j = begin; j < end; ++j) {
      for (const std::size_t i : front) {
        rows[j].insert(i);
        rows[i].insert(j);
      }
    }
  }
  const auto exact = Reference::lu_pattern(add_mirror(reordered(A, tree.order)));
  for (std::size_t i = 0; i < n; ++i)
    for (const std::size_t j : exact[i]) REQUIRE(rows[i].count(j) == 1);
  double fill = 0;
  for (const auto& row : Reference::lu_pattern(add_mirror(A))) fill += static_cast<double>(row.size());
  REQUIRE(stored == fill + tree.zeros);
  return stored;
}

/// Contribution rows of each front by its definition: the rows beyond its pivots that have an entry in the
/// fill of F, in its own order, in one of its columns.
template <class MatrixType>
std::vector<Ordinal> plain_rows(const MatrixType& A, const AssemblyTree& tree) {
  std::vector<Ordinal> position(tree.order.size());
  for (std::size_t k = 0; k < position.size(); ++k)
    position[static_cast<std::size_t>(tree.order[k])] = static_cast<Ordinal>(k);
  const auto fill = Reference::lu_pattern(add_mirror(A));
  std::vector<Ordinal> rows;
  for (std::size_t f = 0; f < tree.parent.size(); ++f) {
    std::set<Ordinal> front;
    for (Ordinal k = tree.pivot_begin[f]; k < tree.pivot_begin[f + 1]; ++k) {
      const auto column = static_cast<std::size_t>(tree.order[static_cast<std::size_t>(k)]);
      for (const std::size_t row : fill[column])
        if (row > column && position[row] >= tree.pivot_begin[f + 1]) front.insert(position[row]);
    }
    rows.insert(rows.end(), front.begin(), front.end());
  }
  return rows;
}

/// Pairs adjacent rows at random where they are neighbours, and sometimes rows that are not.
template <class MatrixType>
RowPairs random_pairs(const MatrixType& A, std::mt19937& random) {
  const auto n = static_cast<std::size_t>(A.n_rows);
  RowPairs pairs(n);
  std::iota(pairs.begin(), pairs.end(), Ordinal(0));
  const auto fill = Reference::lu_pattern(add_mirror(A));
  for (std::size_t j = 0; j + 1 < n; ++j) {
    const bool are_neighbours = std::ranges::count(fill[j], j + 1) > 0;
    if (random() % 8 < (are_neighbours ? 2U : 7U)) continue;
    std::swap(pairs[j], pairs[j + 1]);
    ++j;
  }
  return pairs;
}

/// Checks that each pair of neighbours is in one front, adjacent and at an even offset. Returns their number.
template <class MatrixType>
int check_pairs(const MatrixType& A, const RowPairs& pairs, const AssemblyTree& tree) {
  const auto fill = Reference::lu_pattern(add_mirror(A));
  const auto n = static_cast<std::size_t>(tree.n);
  std::vector<Ordinal> position(n), front(n);
  for (std::size_t k = 0; k < n; ++k) {
    position[static_cast<std::size_t>(tree.order[k])] = static_cast<Ordinal>(k);
    front[k] = static_cast<Ordinal>(std::ranges::upper_bound(tree.pivot_begin, static_cast<Ordinal>(k)) -
                                    tree.pivot_begin.begin()) -
               1;
  }
  int count = 0;
  for (std::size_t j = 0; j < n; ++j) {
    const auto other = static_cast<std::size_t>(pairs[j]);
    if (other <= j || std::ranges::count(fill[j], other) == 0) continue;
    ++count;
    REQUIRE(position[other] == position[j] + 1);
    const Ordinal f = front[static_cast<std::size_t>(position[j])];
    REQUIRE(front[static_cast<std::size_t>(position[other])] == f);
    REQUIRE((position[j] - tree.pivot_begin[static_cast<std::size_t>(f)]) % 2 == 0);
  }
  return count;
}

void check_same(const AssemblyTree& tree, const AssemblyTree& expected) {
  CHECK(tree.order == expected.order);
  CHECK(tree.pivot_begin == expected.pivot_begin);
  CHECK(tree.parent == expected.parent);
  CHECK(tree.row_begin == expected.row_begin);
  CHECK(tree.rows == expected.rows);
  CHECK(tree.zeros == expected.zeros);
  CHECK(tree.flops == expected.flops);
}

/// Checks that the overloads for execution spaces give the expected tree.
template <class MatrixType>
void check_by_space(const MatrixType& A, const std::vector<Ordinal>& row_order,
                    const std::vector<Ordinal>& col_order, const Elimination<int>& elimination,
                    const RowPairs& pairs, const AssemblyTree& expected) {
  using Space = Kokkos::DefaultExecutionSpace;
  const auto row_map = copied<Offset>(A.row_map);
  const auto entries = copied<Ordinal>(A.entries);
  const CsrPattern<Ordinal, Offset, Space::memory_space> there{
      A.n_rows, A.n_cols, lutra::Impl::mirror_in<Space::memory_space>(row_map),
      lutra::Impl::mirror_in<Space::memory_space>(entries)};
  const MemoryBudget budget;
  check_same(make_assembly_tree(Space(), there, row_order, col_order, elimination, budget, {}, pairs),
             expected);
  check_same(make_assembly_tree(Space(), there, row_order, col_order, budget, {}, pairs), expected);
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("fronts of matrices worked by hand", "[numeric]", HostTypes) {
  const double o = nothing;
  SECTION("a dense matrix is one front") {
    const auto A = from_dense<Matrix<TestType>>({{1, 1, 1}, {1, 1, 1}, {1, 1, 1}});
    const auto tree = make_assembly_tree(make_view(A).pattern(), no_zeros);
    CHECK(tree.pivot_begin == std::vector<Ordinal>{0, 3});
    CHECK(tree.parent == std::vector<Ordinal>{-1});
    CHECK(tree.rows.empty());
    CHECK(tree.flops == 2 + 8 + 1 + 2);
    CHECK(tree.zeros == 0);
  }
  SECTION("a diagonal matrix is as many roots") {
    const auto A = from_dense<Matrix<TestType>>({{1, o}, {o, 1}});
    const auto tree = make_assembly_tree(make_view(A).pattern(), no_zeros);
    CHECK(tree.parent == std::vector<Ordinal>{-1, -1});
    CHECK(tree.flops == 0);
  }
  SECTION("a band: the last two columns are one front") {
    const auto A = from_dense<Matrix<TestType>>({{1, 1, o, o}, {1, 1, 1, o}, {o, 1, 1, 1}, {o, o, 1, 1}});
    const auto tree = make_assembly_tree(make_view(A).pattern(), no_zeros);
    CHECK(tree.pivot_begin == std::vector<Ordinal>{0, 1, 2, 4});
    CHECK(tree.parent == std::vector<Ordinal>{1, 2, -1});
    CHECK(tree.rows == std::vector<Ordinal>{1, 2});
    const auto relaxed = make_assembly_tree(make_view(A).pattern(), {4, 0, 0, 0, 0, 0, 100});
    CHECK(relaxed.pivot_begin == std::vector<Ordinal>{0, 4});
    CHECK(relaxed.zeros == 6);
  }
  SECTION("an arrow whose head comes last; a child that is not the last one moves to its parent") {
    const auto A = from_dense<Matrix<TestType>>(
        {{1, 1, o, 1, o}, {1, 1, o, 1, o}, {o, o, 1, o, 1}, {1, 1, o, 1, 1}, {o, o, 1, 1, 1}});
    const auto tree = make_assembly_tree(make_view(A).pattern(), no_zeros);
    check_tree(A, tree);
    const auto relaxed = make_assembly_tree(make_view(A).pattern(), {3, 0, 0, 0, 0, 0, 9});
    check_tree(A, relaxed);
    CHECK(relaxed.count() == 2);
  }
  SECTION("an empty matrix has no fronts") {
    const auto A = from_dense<Matrix<TestType>>({});
    const auto tree = make_assembly_tree(make_view(A).pattern());
    CHECK(tree.count() == 0);
    CHECK(tree.row_begin == std::vector<std::int64_t>{0});
  }
}

TEMPLATE_LIST_TEST_CASE("fronts cover the fill of random patterns", "[numeric]", HostTypes) {
  std::mt19937 random(11);
  for (const int n : {1, 7, 40, 120}) {
    for (const double mean : {0.5, 1.5, 4.0}) {
      INFO("n " << n << ", mean " << mean);
      const auto A = random_matrix<Matrix<TestType>>(n, mean / n, 0.0, random);
      const auto exact = make_assembly_tree(make_view(A).pattern(), no_zeros);
      REQUIRE(exact.zeros == 0);
      const double least = check_tree(A, exact);
      const auto relaxed = make_assembly_tree(make_view(A).pattern());
      REQUIRE(check_tree(A, relaxed) >= least);
      REQUIRE(relaxed.count() <= exact.count());
    }
  }
}

TEMPLATE_LIST_TEST_CASE("fronts from an order and its counts equal those of the permuted pattern",
                        "[numeric]", HostTypes) {
  std::mt19937 random(12);
  for (const int n : {1, 7, 40, 120}) {
    for (const double mean : {0.5, 1.5, 4.0}) {
      INFO("n " << n << ", mean " << mean);
      const auto A = random_matrix<Matrix<TestType>>(n, mean / n, 0.0, random);
      std::vector<Ordinal> rows(static_cast<std::size_t>(n)), columns(rows.size());
      std::iota(rows.begin(), rows.end(), Ordinal(0));
      columns = rows;
      std::ranges::shuffle(rows, random);
      std::ranges::shuffle(columns, random);
      Matrix<TestType> F{A.n_rows, A.n_cols, {0}, {}, {}};  // row rows[columns[k]] and column columns[k]
      std::vector<Ordinal> position(rows.size());
      for (std::size_t k = 0; k < columns.size(); ++k)
        position[static_cast<std::size_t>(columns[k])] = static_cast<Ordinal>(k);
      for (const Ordinal column : columns) {
        const auto row = static_cast<std::size_t>(rows[static_cast<std::size_t>(column)]);
        for (auto p = A.row_map[row]; p < A.row_map[row + 1]; ++p)
          F.entries.push_back(position[static_cast<std::size_t>(A.entries[static_cast<std::size_t>(p)])]);
        std::ranges::sort(F.entries.begin() + static_cast<std::ptrdiff_t>(F.row_map.back()), F.entries.end());
        F.row_map.push_back(F.nnz());
      }
      const auto expected = make_assembly_tree(make_view(F).pattern());
      const auto graph = symmetric_graph<int>(make_view(A).pattern(), rows);
      const auto elimination = eliminate(graph, std::vector<int>(columns.begin(), columns.end()));
      auto tree = make_assembly_tree(elimination);
      CHECK(tree.rows.empty());
      CHECK(tree.row_begin == expected.row_begin);
      collect_front_rows(graph, elimination, tree);
      check_same(tree, expected);
      std::vector<Ordinal> row_order;
      for (const Ordinal column : columns) row_order.push_back(rows[static_cast<std::size_t>(column)]);
      check_by_space(A, row_order, columns, elimination, {}, expected);
      const RowPairs pairs = random_pairs(F, random);
      const auto paired = make_assembly_tree(make_view(F).pattern(), {}, pairs);
      check_by_space(A, row_order, columns, elimination, pairs, paired);
    }
  }
}

TEMPLATE_LIST_TEST_CASE("fronts with pairs worked by hand", "[numeric]", HostTypes) {
  const double o = nothing;
  using Pivots = std::vector<Ordinal>;
  const auto band = from_dense<Matrix<TestType>>({{1, 1, o, o}, {1, 1, 1, o}, {o, 1, 1, 1}, {o, o, 1, 1}});
  SECTION("two pairs of a band are two fronts, the first of them with two zeros") {
    const auto tree = make_assembly_tree(make_view(band).pattern(), no_zeros, {1, 0, 3, 2});
    CHECK(tree.pivot_begin == Pivots{0, 2, 4});
    CHECK(tree.order == Pivots{0, 1, 2, 3});
    CHECK(tree.rows == Pivots{2});
    CHECK(tree.zeros == 2);
  }
  SECTION("a pair joins the front that its second column forms with others") {
    const auto tree = make_assembly_tree(make_view(band).pattern(), no_zeros, {0, 2, 1, 3});
    CHECK(tree.pivot_begin == Pivots{0, 1, 4});
    CHECK(tree.rows == Pivots{1});
    CHECK(tree.zeros == 2);
  }
  SECTION("pairs precede single columns") {
    const auto A = from_dense<Matrix<TestType>>(std::vector(5, std::vector<double>(5, 1)));
    const auto tree = make_assembly_tree(make_view(A).pattern(), no_zeros, {0, 2, 1, 4, 3});
    CHECK(tree.pivot_begin == Pivots{0, 5});
    CHECK(tree.order == Pivots{1, 2, 3, 4, 0});
    CHECK(tree.zeros == 0);
  }
  SECTION("a column with a partner among its children takes that one, not one that adds no zeros") {
    // Columns 0, 1 and 2 are children of 3; column 0 alone would merge with it.
    const auto A = from_dense<Matrix<TestType>>(
        {{1, o, o, 1, 1}, {o, 1, o, 1, o}, {o, o, 1, 1, o}, {1, 1, 1, 1, 1}, {1, o, o, 1, 1}});
    const auto alone = make_assembly_tree(make_view(A).pattern(), no_zeros);
    CHECK(alone.pivot_begin == Pivots{0, 1, 2, 5});
    const auto tree = make_assembly_tree(make_view(A).pattern(), no_zeros, {0, 3, 2, 1, 4});
    CHECK(check_pairs(A, {0, 3, 2, 1, 4}, tree) == 1);
    CHECK(tree.pivot_begin == Pivots{0, 1, 2, 5});
    CHECK(tree.order == Pivots{0, 2, 1, 3, 4});
    CHECK(tree.rows == Pivots{3, 4, 3});
    CHECK(tree.zeros == 2);
  }
  SECTION("rows that are not parent and child stay apart") {
    const auto A = from_dense<Matrix<TestType>>({{1, o}, {o, 1}});
    CHECK(make_assembly_tree(make_view(A).pattern(), no_zeros, {1, 0}).parent == Pivots{-1, -1});
  }
  SECTION("single rows change nothing") {
    check_same(make_assembly_tree(make_view(band).pattern(), {}, {0, 1, 2, 3}),
               make_assembly_tree(make_view(band).pattern()));
  }
}

TEMPLATE_LIST_TEST_CASE("pairs of random patterns are adjacent in one front", "[numeric]", HostTypes) {
  std::mt19937 random(13);
  int pairs_found = 0;
  for (const int n : {2, 7, 40, 120}) {
    for (const double mean : {1.5, 4.0, 12.0}) {
      INFO("n " << n << ", mean " << mean);
      const auto A = random_matrix<Matrix<TestType>>(n, mean / n, 0.0, random);
      const RowPairs pairs = random_pairs(A, random);
      for (const auto& options : {AssemblyTreeOptions(), no_zeros}) {
        const auto tree = make_assembly_tree(make_view(A).pattern(), options, pairs);
        check_tree(A, tree);
        pairs_found += check_pairs(A, pairs, tree);
        CHECK(tree.rows == plain_rows(A, tree));
      }
    }
  }
  CHECK(pairs_found > 100);
}

/// Halves {0 … 3} and {4, 5} of a graph with the separator {8, 9, 10}; {6, 7} separates the first half.
template <class MatrixType>
MatrixType nested_separators() {
  std::vector<std::vector<double>> picture(11, std::vector<double>(11, nothing));
  const auto connect = [&](std::vector<std::size_t> clique) {
    for (const std::size_t i : clique)
      for (const std::size_t j : clique) picture[i][j] = 1;
  };
  connect({0, 1, 6, 7, 8, 9});
  connect({2, 3, 6, 7, 9, 10});
  connect({4, 5, 8, 10});
  connect({6, 7, 8, 9, 10});
  return from_dense<MatrixType>(picture);
}

TEST_CASE("a front is split where it holds up a subtree", "[trees]") {
  using MatrixType = HostMatrix<double>;
  const auto A = nested_separators<MatrixType>();
  AssemblyTree tree = make_assembly_tree(make_view(A).pattern(), no_zeros);
  CHECK(tree.pivot_begin == std::vector<Ordinal>{0, 2, 4, 6, 11});
  AssemblyTree same = tree;
  CHECK(split_fronts(same, 0.9) == 0);
  check_same(same, tree);

  const double flops = tree.flops;
  CHECK(split_fronts(tree, 0.01) == 1);
  CHECK(tree.order == std::vector<Ordinal>{4, 5, 0, 1, 2, 3, 6, 7, 8, 9, 10});
  CHECK(tree.pivot_begin == std::vector<Ordinal>{0, 2, 4, 6, 8, 11});
  CHECK(tree.parent == std::vector<Ordinal>{4, 3, 3, 4, -1});
  CHECK(tree.rows == std::vector<Ordinal>{8, 10, 6, 7, 8, 9, 6, 7, 9, 10, 8, 9, 10});
  CHECK(tree.row_begin == std::vector<std::int64_t>{0, 2, 6, 10, 13, 13});
  CHECK(tree.flops == flops);
  check_tree(A, tree);
}

TEST_CASE("split fronts of random patterns cover the fill", "[trees]") {
  std::mt19937 random(17);
  int splits = 0;
  for (const int n : {1, 40, 120}) {
    for (const double mean : {0.5, 1.5, 4.0}) {
      INFO("n " << n << ", mean " << mean);
      const auto A = random_matrix<HostMatrix<double>>(n, mean / n, 0.0, random);
      AssemblyTree tree = make_assembly_tree(make_view(A).pattern());
      const double stored = check_tree(A, tree);
      splits += split_fronts(tree, 0.001);
      CHECK(check_tree(A, tree) == stored);
    }
  }
  CHECK(splits > 0);
}

}  // namespace lutra::Test
