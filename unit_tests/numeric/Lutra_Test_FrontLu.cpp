// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <limits>
#include <numeric>
#include <random>

#include "Lutra_FrontLuRun.hpp"
#include "Lutra_FrontSchedule.hpp"
#include "Lutra_TestDominant.hpp"

namespace lutra::Test {
namespace {

/// Every entry beside plain elimination of the reordered matrix; what the fronts store beyond its pattern is
/// 0.
template <class Types>
void compare(const FrontResult<Types>& result) {
  using Scalar = typename Types::Scalar;
  const double bound = 400.0 * static_cast<double>(epsilon_of<Scalar>);
  const auto pattern = Reference::lu_pattern(result.permuted);
  const auto expected = Reference::factorize(result.permuted, pattern, RealOf<Scalar>(0));
  std::size_t position = 0;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    std::size_t k = 0;
    for (const std::size_t j : result.pattern[i]) {
      const Scalar got = result.values[position++];
      const bool there = k < pattern[i].size() && pattern[i][k] == j;
      const Scalar wanted = there ? expected.values[i][k++] : Scalar(0);
      INFO("entry " << i << ", " << j);
      REQUIRE(static_cast<double>(Kokkos::abs(got - wanted)) <=
              bound * (static_cast<double>(Kokkos::abs(wanted)) + 1e-3 * result.outcome.largest_factor));
    }
    REQUIRE(k == pattern[i].size());
  }
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("multifrontal LU of matrices worked by hand", "[numeric]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  const double o = nothing;
  SECTION("3 × 3, dense") {
    const auto result =
        factorize_by_fronts<TestType>(from_dense<Matrix<TestType>>({{2, 1, 1}, {4, 3, 3}, {8, 7, 9}}), 0);
    CHECK(result.values == std::vector<Scalar>{Scalar(2), Scalar(1), Scalar(1), Scalar(2), Scalar(1),
                                               Scalar(1), Scalar(4), Scalar(3), Scalar(2)});
    CHECK(result.outcome.perturbed == 0);
    CHECK(result.outcome.largest_entry == 9.0);
    CHECK(result.outcome.largest_factor == 4.0);
  }
  SECTION("an entry of L alone: the fronts store a zero of U beside it") {
    const auto result = factorize_by_fronts<TestType>(from_dense<Matrix<TestType>>({{2, o}, {4, 3}}), 0);
    CHECK(result.values == std::vector<Scalar>{Scalar(2), Scalar(0), Scalar(2), Scalar(3)});
  }
  SECTION("a pivot that cancels to zero is perturbed: it becomes the threshold") {
    const auto result =
        factorize_by_fronts<TestType>(from_dense<Matrix<TestType>>({{1, 1, o}, {1, 1, 1}, {o, 1, 1}}), 0.5);
    CHECK(result.outcome.perturbed == 1);
    CHECK(result.perturbed == std::vector<unsigned char>{0, 1, 0});
  }
  SECTION("the threshold is relative to the largest entry") {
    const auto result = factorize_by_fronts<TestType>(from_dense<Matrix<TestType>>({{8, o}, {o, -1}}), 0.25);
    CHECK(result.perturbed == std::vector<unsigned char>{0, 1});
    CHECK(result.values == std::vector<Scalar>{Scalar(8), Scalar(-2)});
  }
  SECTION("overflow is reported") {
    const double huge = static_cast<double>(std::numeric_limits<RealOf<Scalar>>::max()) / 4;
    const auto result =
        factorize_by_fronts<TestType>(from_dense<Matrix<TestType>>({{1e-3, huge}, {huge, 1}}), 0);
    CHECK_FALSE(Kokkos::isfinite(result.outcome.largest_factor));
  }
}

TEMPLATE_LIST_TEST_CASE("multifrontal LU agrees with plain elimination", "[numeric]", AllTypes) {
  std::mt19937 random(7);
  const AssemblyTreeOptions no_zeros{0, 0, 0, 0, 0, 0, 0};
  for (const int n : {1, 4, 30, 150, 400}) {
    for (const double mean : {1.5, 4.0, 20.0}) {
      const auto matrix = dominant_matrix<Matrix<TestType>>(n, std::min(1.0, mean / n), random);
      INFO("n " << n << ", about " << mean << " entries a row");
      compare(factorize_by_fronts<TestType>(matrix, 0));
      compare(factorize_by_fronts<TestType>(matrix, 0, no_zeros));
      compare(factorize_by_fronts<TestType>(matrix, 0, {}, true));
    }
  }
}

TEMPLATE_LIST_TEST_CASE("multifrontal LU with fronts of every size", "[numeric]", AllTypes) {
  std::mt19937 random(9);
  const AssemblyTreeOptions no_zeros{0, 0, 0, 0, 0, 0, 0};
  for (const int edge : {1, 3, 16, 33, 60, 64, 97, 130}) {
    for (const int border : {2, 31, 65, 140}) {
      INFO("blocks of " << edge << ", border of " << border);
      const auto matrix = bordered_blocks<Matrix<TestType>>(3, edge, border, random);
      compare(factorize_by_fronts<TestType>(matrix, 0, no_zeros, false, 2));
    }
  }
}

TEMPLATE_LIST_TEST_CASE("contribution blocks that share memory on devices", "[numeric]", AllTypes) {
  constexpr bool on_host = std::is_same_v<typename TestType::Memory, Kokkos::HostSpace>;
  std::mt19937 random(12);
  const AssemblyTreeOptions no_zeros{0, 0, 0, 0, 0, 0, 0};
  // whole fronts and fronts in tiles, many more one after the other than are worked at once
  for (const int edge : {35, 70}) {
    const auto matrix = chains_of_blocks<Matrix<TestType>>(on_host ? 2 : 20, on_host ? 3 : 30, edge, random);
    const auto result = factorize_by_fronts<TestType>(matrix, 0, no_zeros, false, 2);
    const auto expected = factorize_by_fronts<TestType>(matrix, 0, no_zeros, true);
    REQUIRE(result.pattern == expected.pattern);
    const double bound = 100 * static_cast<double>(epsilon_of<typename TestType::Scalar>);
    double most = 0;
    for (std::size_t p = 0; p < expected.values.size(); ++p)
      most = std::max(most, static_cast<double>(Kokkos::abs(result.values[p] - expected.values[p])));
    CHECK(most <= bound * expected.outcome.largest_factor);
  }
}

TEMPLATE_LIST_TEST_CASE("predicted sizes of fronts are those allocated", "[numeric]", AllTypes) {
  using Space = typename TestType::Space;
  using Scalar = typename TestType::Scalar;
  std::mt19937 random(13);
  const Space exec;
  for (const int edge : {2, 20, 70}) {
    INFO("blocks of " << edge);
    const auto matrix = chains_of_blocks<Matrix<TestType>>(6, 10, edge, random);
    const auto pattern = make_view(matrix).pattern();
    const auto tree = make_assembly_tree(pattern);
    const auto sizes = sizes_of_fronts<Scalar>(exec, tree);
    const auto plan = plan_lu(exec, tree, FrontEntries{pattern, tree.order, tree.order}, MemoryBudget(),
                              front_plan_options<Scalar, Space>());
    auto factors =
        make_front_factors(exec, make_front_schedule<Scalar>(exec, plan, MemoryBudget()), MemoryBudget());
    allocate_values(exec, plan, MemoryBudget(), factors);
    CHECK(sizes.panels == static_cast<std::int64_t>(factors.panels.extent(0)));
    CHECK(sizes.contributions == static_cast<std::int64_t>(factors.contributions.extent(0)));
    std::size_t inverses = 0;
    if constexpr (requires { factors.state->inverses; }) inverses = factors.state->inverses.extent(0);
    CHECK(sizes.inverses == static_cast<std::int64_t>(inverses));
  }
}

TEMPLATE_LIST_TEST_CASE("a limit of the predicted bytes suffices for any number of threads", "[numeric]",
                        AllTypes) {
  using Space = typename TestType::Space;
  using Scalar = typename TestType::Scalar;
  constexpr bool on_host = std::is_same_v<typename TestType::Memory, Kokkos::HostSpace>;
  std::mt19937 random(14);
  const Space exec;
  for (const int edge : {2, 20, 70}) {
    INFO("blocks of " << edge);
    const auto matrix = chains_of_blocks<Matrix<TestType>>(6, 10, edge, random);
    const auto pattern = make_view(matrix).pattern();
    const auto A = to_space<Space>(matrix).pattern();
    const auto tree = make_assembly_tree(pattern);
    const auto nnz = static_cast<std::int64_t>(matrix.entries.size());
    const auto predicted = [&](int threads) {
      return predict_bytes_of_fronts<Scalar>(exec, tree, nnz, threads);
    };
    const std::size_t buffer = on_host ? lutra::Impl::product_buffer * sizeof(RealOf<Scalar>) : 0;
    for (const int threads : {1, 8, 64}) {
      CHECK(predicted(threads) - predicted(0) == static_cast<std::size_t>(threads) * buffer);
      CHECK(bytes_of_product_buffers<Scalar, Space>(threads) == static_cast<std::size_t>(threads) * buffer);
    }
    if constexpr (on_host) {
      const MemoryBudget budget(predicted(exec.concurrency()));
      const auto plan = plan_lu(exec, tree, FrontEntries{pattern, tree.order, tree.order}, budget,
                                front_plan_options<Scalar, Space>(), A);
      auto factors = make_front_factors(exec, make_front_schedule<Scalar>(exec, plan, budget), budget);
      allocate_values(exec, plan, budget, factors);
      CHECK(budget.used_bytes() + 16 * 8 > budget.limit_bytes());
    }
  }
}

TEST_CASE("positions in fronts with more rows than 16 bits can count", "[numeric]") {
  using Type = Types<double, int>;
  const int n = 70000;  // a dense first row and column: one pivot and all others below it
  Matrix<Type> matrix;
  matrix.n_rows = matrix.n_cols = n;
  matrix.row_map.push_back(0);
  for (int i = 0; i < n; ++i) {
    for (int j = i == 0 ? 0 : i; j < (i == 0 ? n : i + 1); ++j) {
      if (i > 0) matrix.entries.push_back(0);
      matrix.entries.push_back(j);
    }
    matrix.row_map.push_back(static_cast<std::int64_t>(matrix.entries.size()));
  }
  matrix.values.assign(matrix.entries.size(), 1.0);
  AssemblyTree tree;
  tree.n = n;
  tree.order.resize(static_cast<std::size_t>(n));
  std::iota(tree.order.begin(), tree.order.end(), 0);
  tree.pivot_begin = {0, 1, n};
  tree.parent = {1, -1};
  tree.row_begin = {0, n - 1, n - 1};
  tree.rows.assign(tree.order.begin() + 1, tree.order.end());
  const auto pattern = make_view(matrix).pattern();
  const auto plan =
      plan_lu(Type::Space(), tree, FrontEntries{pattern, tree.order, tree.order}, MemoryBudget());
  const auto positions = plan.entry_position.data();
  for (int i = 0; i < n; ++i) {
    for (auto p = pattern.row_map(i); p < pattern.row_map(i + 1); ++p) {
      const int j = pattern.entries(p), pivot = std::min(i, j) == 0 ? 0 : 1;
      const auto position = positions(plan.entry_target(p));
      if (position.row != i - pivot || position.column != j - pivot)
        REQUIRE(std::pair(i, j) == std::pair(-1, -1));
    }
  }
}

TEMPLATE_LIST_TEST_CASE("multifrontal LU gives the same bits in every run", "[numeric]", AllTypes) {
  std::mt19937 random(10);
  for (const int border : {120, 420}) {  // the latter with links between diagonal tiles
    const auto matrix = bordered_blocks<Matrix<TestType>>(5, 90, border, random);
    const auto first = factorize_by_fronts<TestType>(matrix, 0);
    const auto second = factorize_by_fronts<TestType>(matrix, 0, {}, false, 3);
    CHECK(first.values == second.values);
  }
}

TEMPLATE_LIST_TEST_CASE("factors of two matrices share a plan and a schedule", "[numeric]", AllTypes) {
  using Space = typename TestType::Space;
  using Scalar = typename TestType::Scalar;
  std::mt19937 random(14);
  const Space exec;
  const auto matrix = bordered_blocks<Matrix<TestType>>(4, 70, 110, random);
  const auto n = static_cast<std::size_t>(matrix.n_rows);
  const auto tree = make_assembly_tree(make_view(matrix).pattern());
  const auto plan = plan_lu(exec, tree, FrontEntries{make_view(matrix).pattern(), tree.order, tree.order},
                            MemoryBudget(), front_plan_options<Scalar, Space>());
  const auto schedule = make_front_schedule<Scalar>(exec, plan, MemoryBudget());
  const auto ones = to_space<Space>(std::vector<RealOf<Scalar>>(n, 1));
  struct Factored {
    FrontFactors<Scalar, Space> factors;
    Kokkos::View<unsigned char*, typename TestType::Memory> perturbed;
    Kokkos::View<const Scalar*, typename TestType::Memory> values;
  };
  const auto make = [&](double scale) {
    auto values = matrix.values;
    for (Scalar& value : values) value *= as_scalar<Scalar>(scale);
    Factored made{make_front_factors(exec, schedule, MemoryBudget()),
                  decltype(Factored::perturbed)("perturbed", n), to_space<Space>(values)};
    allocate_values(exec, plan, MemoryBudget(), made.factors);
    return made;
  };
  const auto factorize = [&](const Factored& of) {
    factorize_fronts<Scalar>(exec, plan, {of.values, ones, ones}, 0, of.factors, of.perturbed);
    exec.fence();
    return to_vector(of.factors.panels);
  };
  const Factored first = make(1), second = make(4), third = make(1);
  const auto expected = factorize(first);
  const auto other = factorize(second);
  CHECK(other != expected);
  CHECK(factorize(third) == expected);  // with flags of its own, of its first run
  CHECK(factorize(first) == expected);
  CHECK(factorize(second) == other);
  CHECK(to_vector(third.factors.panels) == expected);  // as it was left
}

#if defined(KOKKOS_ENABLE_CUDA) && defined(LUTRA_HAS_F64)
// No tree makes a front wait for itself: the root is made its own child in the plan by hand.
TEST_CASE("the watchdog names a front that waits for itself in a factorization", "[numeric]") {
  using Type = Types<double, int, Kokkos::Cuda>;
  const Kokkos::Cuda exec;
  std::mt19937 random(12);
  for (const auto& [edge, border] :
       std::vector<std::pair<int, int>>{{2, 2}, {40, 40}, {60, 150}}) {  // by warps, blocks, tiles
    INFO("blocks of " << edge << ", border of " << border);
    const auto matrix = bordered_blocks<Matrix<Type>>(3, edge, border, random);
    const auto pattern = make_view(matrix).pattern();
    const auto tree = make_assembly_tree(pattern, AssemblyTreeOptions{0, 0, 0, 0, 0, 0, 0});
    const auto plan = plan_lu(exec, tree, FrontEntries{pattern, tree.order, tree.order}, MemoryBudget(),
                              front_plan_options<double, Kokkos::Cuda>());
    auto waiting = plan;
    auto& root = waiting.layout.fronts.back();
    auto children = to_vector(plan.children);
    children[static_cast<std::size_t>(root.children)] = root.parent = plan.count - 1;
    waiting.layout.children = children;
    waiting.children = to_space<Kokkos::Cuda>(children);
    const auto values = to_space<Kokkos::Cuda>(matrix.values);
    const auto ones = to_space<Kokkos::Cuda>(std::vector<double>(static_cast<std::size_t>(plan.n), 1));
    const Kokkos::View<unsigned char*, Type::Memory> perturbed("perturbed", static_cast<std::size_t>(plan.n));
    const auto stopped_front = [&](const auto& with) {
      auto factors =
          make_front_factors(exec, make_front_schedule<double>(exec, with, MemoryBudget()), MemoryBudget());
      allocate_values(exec, with, MemoryBudget(), factors);
      factors.state->set_watchdog(0.05);
      factorize_fronts<double>(exec, with, {values, ones, ones}, 0, factors, perturbed);
      exec.fence();
      return Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), factors.outcome)().stopped_front;
    };
    CHECK(stopped_front(waiting) == plan.count - 1);
    CHECK(stopped_front(plan) == -1);
  }
}
#endif

}  // namespace lutra::Test
