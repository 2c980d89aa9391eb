// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <random>

#include "Lutra_Error.hpp"
#include "Lutra_Gsofa.hpp"
#include "Lutra_TestDevice.hpp"
#include "Lutra_TestMatrices.hpp"
#include "Lutra_TestTypes.hpp"

namespace lutra::Test {
namespace {

/// First rows and other properties of supernodes, on the host.
struct Partition {
  std::vector<std::int64_t> begin, parent;
  std::int64_t zeros = 0;
};

std::vector<std::int64_t> widen(const auto& values) {
  return {values.begin(), values.end()};
}

/// Supernodes of a host matrix; checks `of_row` and the counts against the pattern.
template <class Types, class MatrixType>
Partition run(const MatrixType& matrix, const SupernodeOptions& options = {}) {
  using Space = typename Types::Space;
  const auto device = to_space<Space>(matrix);
  const auto filled = factorize_symbolic(Space(), device.pattern(), MemoryBudget());
  const auto found = find_supernodes(Space(), filled, MemoryBudget(), options);
  Partition partition{widen(to_vector(found.begin)), widen(to_vector(found.parent)), found.zeros};
  const auto of_row = to_vector(found.of_row), lower = to_vector(found.lower), upper = to_vector(found.upper);
  const auto rows = to_rows(filled);
  REQUIRE(partition.begin.size() == static_cast<std::size_t>(found.count) + 1);
  REQUIRE(partition.parent.size() == static_cast<std::size_t>(found.count));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto own = static_cast<std::size_t>(of_row[i]);
    REQUIRE(partition.begin[own] <= static_cast<std::int64_t>(i));
    REQUIRE(static_cast<std::int64_t>(i) < partition.begin[own + 1]);
    REQUIRE(static_cast<std::size_t>(lower[i] + upper[i]) == rows[i].size());
    REQUIRE(rows[i][static_cast<std::size_t>(lower[i])] == i);
  }
  return partition;
}

/// Definition 1 of GSoFa, applied literally to each row.
std::vector<std::int64_t> plain_supernodes(const std::vector<std::vector<std::size_t>>& rows,
                                           std::size_t max_size) {
  std::vector<std::int64_t> begin;
  std::size_t r = 0, upper_before = 0;
  for (std::size_t s = 0; s < rows.size(); ++s) {
    std::size_t upper = 0;
    bool has_leader = false;
    for (const std::size_t c : rows[s]) {
      if (c >= s) ++upper;
      if (c == r) has_leader = true;
    }
    if (s == 0 || upper != upper_before - 1 || !has_leader || s - r >= max_size) {
      begin.push_back(static_cast<std::int64_t>(s));
      r = s;
    }
    upper_before = upper;
  }
  begin.push_back(static_cast<std::int64_t>(rows.size()));
  return begin;
}

template <class Types, class MatrixType>
std::vector<std::vector<std::size_t>> filled_rows(const MatrixType& matrix) {
  using Space = typename Types::Space;
  const auto device = to_space<Space>(matrix);
  return to_rows(factorize_symbolic(Space(), device.pattern(), MemoryBudget()));
}

using List = std::vector<std::int64_t>;

/// The searches of an execution space.
template <class Space>
std::vector<SupernodeSearch> searches_of() {
  std::vector<SupernodeSearch> searches{SupernodeSearch::automatic, SupernodeSearch::portable};
#ifdef KOKKOS_ENABLE_CUDA
  if (std::is_same_v<Space, Kokkos::Cuda>) {
    searches.push_back(SupernodeSearch::threads);
    searches.push_back(SupernodeSearch::warps);
  }
#endif
  return searches;
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("supernodes of cases worked by hand", "[symbolic]", PatternTypes) {
  using MatrixType = Matrix<TestType>;
  const double o = nothing;
  SECTION("a full matrix is one, up to the greatest size") {
    const auto full = from_dense<MatrixType>(
        {{1, 1, 1, 1, 1}, {1, 1, 1, 1, 1}, {1, 1, 1, 1, 1}, {1, 1, 1, 1, 1}, {1, 1, 1, 1, 1}});
    CHECK(run<TestType>(full).begin == List{0, 5});
    CHECK(run<TestType>(full).parent == List{-1});
    CHECK(run<TestType>(full, {2, 0}).begin == List{0, 2, 4, 5});
    CHECK(run<TestType>(full, {2, 0}).parent == List{1, 2, -1});
    CHECK(run<TestType>(full, {1, 0}).begin == List{0, 1, 2, 3, 4, 5});
  }
  SECTION("rows of U that shrink by one without an entry of L between them") {
    CHECK(run<TestType>(from_dense<MatrixType>({{1, 1, 1}, {o, 1, 1}, {o, o, 1}})).begin == List{0, 1, 2, 3});
  }
  SECTION("entries of L to the row before, but not to the one that leads") {
    // Row 2 has an entry at 1 and is one entry shorter than row 1, but row 0 leads and L(2, 0) is no entry.
    const auto matrix = from_dense<MatrixType>({{1, 1, o, o}, {1, 1, o, o}, {o, o, 1, 1}, {o, o, 1, 1}});
    CHECK(run<TestType>(matrix).begin == List{0, 2, 4});
    const auto chain = from_dense<MatrixType>({{1, 1, 1, o}, {1, 1, 1, o}, {o, 1, 1, o}, {o, o, o, 1}});
    CHECK(run<TestType>(chain).begin == List{0, 2, 3, 4});
  }
  SECTION("no rows at all") {
    const auto device = to_space<typename TestType::Space>(MatrixType{0, 0, {0}, {}, {}});
    const auto filled = factorize_symbolic(typename TestType::Space(), device.pattern(), MemoryBudget());
    const auto found = find_supernodes(typename TestType::Space(), filled, MemoryBudget());
    CHECK(found.count == 0);
    CHECK(to_vector(found.begin).at(0) == 0);
  }
}

TEMPLATE_LIST_TEST_CASE("supernodes agree with their definition", "[symbolic]", PatternTypes) {
  using MatrixType = Matrix<TestType>;
  std::mt19937 random(2718);
  const auto searches = searches_of<typename TestType::Space>();
  const int max_size = GENERATE(1, 3, 31, 32, 33, 1000);
  for (const int n : {1, 63, 64, 65, 300, 2300}) {
    const auto one_sided = random_matrix<MatrixType>(n, (n > 1000 ? 1.2 : 2.5) / n, 0.0, random);
    for (const auto& matrix : {one_sided, add_mirror(one_sided), banded_matrix<MatrixType>(n, {1, 9})}) {
      INFO("n " << n);
      const auto expected =
          plain_supernodes(filled_rows<TestType>(matrix), static_cast<std::size_t>(max_size));
      for (const SupernodeSearch search : searches) {
        INFO("search " << static_cast<int>(search));
        CHECK(run<TestType>(matrix, {max_size, 0, search}).begin == expected);
      }
    }
  }
}

TEMPLATE_LIST_TEST_CASE("amalgamation reports its zeros and respects their limit", "[symbolic]",
                        PatternTypes) {
  using MatrixType = Matrix<TestType>;
  std::mt19937 random(31);
  const double relaxation = GENERATE(0.05, 0.3, 10.0);
  for (const int n : {64, 200}) {
    const auto one_sided = random_matrix<MatrixType>(n, 2.0 / n, 0.0, random);
    for (const auto& matrix : {one_sided, add_mirror(one_sided)}) {
      const auto rows = filled_rows<TestType>(matrix);
      const auto partition = run<TestType>(matrix, {16, relaxation});
      std::int64_t zeros = 0;
      for (std::size_t k = 0; k + 1 < partition.begin.size(); ++k) {
        const auto begin = static_cast<std::size_t>(partition.begin[k]);
        const auto end = static_cast<std::size_t>(partition.begin[k + 1]);
        REQUIRE(end - begin <= 16);
        std::set<std::size_t> joined;  // columns of U of the whole supernode
        std::size_t entries = 0, stored = 0;
        for (std::size_t i = begin; i < end; ++i) {
          for (const std::size_t c : rows[i]) {
            if (c < i) continue;
            joined.insert(c);
            ++entries;
          }
        }
        for (std::size_t i = begin; i < end; ++i) {
          for (const std::size_t c : joined) stored += c >= i ? 1 : 0;
        }
        CHECK(static_cast<double>(stored - entries) <= relaxation * static_cast<double>(stored));
        zeros += static_cast<std::int64_t>(stored - entries);
      }
      CHECK(partition.zeros == zeros);
    }
  }
}

TEMPLATE_LIST_TEST_CASE("invalid supernode options are refused", "[symbolic]", PatternTypes) {
  using Space = typename TestType::Space;
  const auto device = to_space<Space>(from_dense<Matrix<TestType>>({{1}}));
  const auto filled = factorize_symbolic(Space(), device.pattern(), MemoryBudget());
  CHECK_THROWS_AS(find_supernodes(Space(), filled, MemoryBudget(), {0, 0}), InputError);
  CHECK_THROWS_AS(find_supernodes(Space(), filled, MemoryBudget(), {8, -0.5}), InputError);
  if (searches_of<Space>().size() > 2) return;
  for (const SupernodeSearch search : {SupernodeSearch::threads, SupernodeSearch::warps})
    CHECK_THROWS_AS(find_supernodes(Space(), filled, MemoryBudget(), {8, 0, search}), InputError);
}

}  // namespace lutra::Test
