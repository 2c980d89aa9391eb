// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <Kokkos_Core.hpp>

// What blocks do in L·D·Lᵀ as data flow, by fibers of a host.
#ifndef KOKKOS_ENABLE_CUDA
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>

#include "Lutra_LdltCases.hpp"
#include "Lutra_LdltGang.hpp"
#include "Lutra_ScaleEntries.hpp"
#include "Lutra_TestBlock.hpp"

namespace lutra::Test {
namespace {

/// A block of a few warps of fibers, as Lutra_LdltFlow.hpp wants it. All blocks begin their waits late and in
/// any order; a wait that is too long ends the factorization.
struct FiberBlock : BlockOfFibers<FiberBlock> {
  static constexpr int max_looks = 400000;
  struct Memory {
    std::vector<unsigned char> space;
    std::uint64_t words[2][128];
    int taken = 0;
    bool split_pair = false;  ///< a product has had one column of a pair
  };
  Memory& memory;
  int warps;
  mutable int turn = 0;

  template <class Scalar>
  static constexpr int tile_edge = 24;

  int thread() const { return Warps::active->thread() % threads(); }
  int threads() const { return warps * Warps::lanes; }
  void* space() const { return memory.space.data(); }
  std::int64_t space_bytes() const { return static_cast<std::int64_t>(memory.space.size()); }

  /// One barrier, as on devices: exchanges take two arrays in turn.
  template <class Join>
  std::uint64_t join(std::uint64_t value, const Join& with) const {
    std::uint64_t* const words = memory.words[turn];
    turn ^= 1;
    words[thread()] = value;
    barrier();
    value = words[0];
    for (int t = 1; t < threads(); ++t) value = with(value, words[t]);
    return value;
  }
  std::uint64_t max(std::uint64_t value) const {
    return join(value, [](std::uint64_t a, std::uint64_t b) { return std::max(a, b); });
  }
  void max(std::uint64_t& a, std::uint64_t& b) const {
    a = max(a);
    b = max(b);
  }
  std::int64_t sum(std::int64_t value) const {
    return static_cast<std::int64_t>(
        join(static_cast<std::uint64_t>(value), [](std::uint64_t a, std::uint64_t b) { return a + b; }));
  }
  template <class Scalar>
  Scalar reciprocal(const Scalar& value) const {
    return Scalar(1) / value;
  }

  template <class Scalar>
  void subtract(const lutra::Impl::LdltTile<Scalar>& tile, void*) const {
    barrier();
    for (int e = thread(); e < tile.rows * tile.columns; e += threads()) {
      const int i = e % tile.rows, j = e / tile.rows;
      const auto l = [&](const Scalar* rows, int row, int p) {
        return rows[row + static_cast<std::int64_t>(p) * tile.ld];
      };
      Scalar sum(0);
      for (int p = 0; p < tile.depth; ++p) {
        const Scalar l1 = l(tile.right, j, p);
        Scalar w = l1 * tile.diagonal[p];
        if (tile.kind[p] == PivotKind::first_of_two) {
          if (p + 1 == tile.depth) memory.split_pair = true;
          w += l(tile.right, j, p + 1) * tile.off_diagonal[p];
        } else if (tile.kind[p] == PivotKind::second_of_two) {
          w += l(tile.right, j, p - 1) * lutra::Impl::mirrored(tile.hermitian, tile.off_diagonal[p - 1]);
        }
        sum += l(tile.left, i, p) * lutra::Impl::mirrored(tile.hermitian, w);
      }
      tile.C[i + static_cast<std::int64_t>(j) * tile.ldc] -= sum;
    }
    barrier();
  }
};

/// How blocks are emulated.
struct FlowSetup {
  int blocks = 3, warps = 1;
  bool roomy = true;  ///< blocks have room for a front of 64 rows, else just for a diagonal block
  unsigned seed = 1;
};

/// As factorize_ldlt, by emulated blocks.
template <class Types, class Plan, class Factors, class Values>
bool factorize_by_blocks(const Plan& plan, const Values& values, const LdltPivotRule& rule, Factors& factors,
                         const FlowSetup& setup) {
  using Scalar = typename Types::Scalar;
  const typename Types::Space exec;
  factors.symmetry = rule.symmetry;
  lutra::Impl::start_fronts<Scalar>(exec, plan.base, values.A, factors.entries, factors.outcome,
                                    LdltOutcome());
  const lutra::Impl::LdltFlowLists<typename Types::Memory> lists(exec, plan.base, plan.options.blocks,
                                                                 MemoryBudget());
  const Kokkos::View<std::uint64_t*, typename Types::Memory> flags("flags", lists.flag_words());
  const auto launch = lists.launch(lutra::Impl::ldlt_data(plan, values, rule, factors), flags.data());
  std::mt19937 random(setup.seed);
  std::vector<FiberBlock::Memory> memory(static_cast<std::size_t>(setup.blocks * setup.warps));
  const std::size_t diagonal = sizeof(lutra::Impl::LdltDiagonal<Scalar>) + 32 * 32 * sizeof(Scalar);
  for (auto& own : memory) own.space.assign(setup.roomy ? 5 * diagonal : diagonal, 0xff);
  // small fronts by warps, then tasks by blocks
  const bool small = Warps().run(setup.blocks * setup.warps, random, [&] {
    const FiberBlock block{{}, memory[static_cast<std::size_t>(Warps::active->block())], 1};
    work_small_fronts(block, launch);
  });
  const bool tasks = Warps().run(
      setup.blocks * setup.warps, random,
      [&] {
        const FiberBlock block{{}, memory[static_cast<std::size_t>(Warps::active->block())], setup.warps};
        work_tasks(block, launch);
      },
      setup.warps);
  REQUIRE(std::ranges::none_of(memory, &FiberBlock::Memory::split_pair));
  return small && tasks;
}

using Ordinal = std::tuple_element_t<0, Ordinals>;

/// Two chains of fronts that end in one.
AssemblyTree fork_of(const std::vector<int>& left, const std::vector<int>& right, int root) {
  std::vector<int> pivots(left);
  pivots.insert(pivots.end(), right.begin(), right.end());
  pivots.push_back(root);
  auto tree = chain_of(pivots);
  if (left.empty()) return tree;
  const std::size_t l = left.size() - 1, r = pivots.size() - 1;
  tree.parent[l] = static_cast<Ordinal>(r);
  tree.rows.clear();
  for (std::size_t f = 0; f <= r; ++f) {
    tree.row_begin[f] = static_cast<std::int64_t>(tree.rows.size());
    const Ordinal middle = tree.pivot_begin[l + 1], end_of_right = tree.pivot_begin[r];
    for (Ordinal row = tree.pivot_begin[f + 1]; row < tree.n; ++row) {
      if (f <= l && row >= middle && row < end_of_right) continue;
      tree.rows.push_back(row);
    }
  }
  tree.row_begin[r + 1] = static_cast<std::int64_t>(tree.rows.size());
  return tree;
}

/// Zeros where the tree has no entries: between the two chains.
template <class Scalar>
void clear_between(Dense<Scalar>& A, const AssemblyTree& tree, std::size_t fronts_left) {
  const auto middle = static_cast<std::size_t>(tree.pivot_begin[fronts_left]);
  const auto end = static_cast<std::size_t>(tree.pivot_begin[tree.parent.size() - 1]);
  for (std::size_t i = middle; i < end; ++i) {
    for (std::size_t j = 0; j < middle; ++j) A[i][j] = A[j][i] = Scalar(0);
  }
}

template <class Types>
LdltResult<Types> run_by_blocks(const Dense<typename Types::Scalar>& A, const AssemblyTree& tree,
                                LdltSetup setup, const FlowSetup& flow,
                                const std::vector<RealOf<typename Types::Scalar>>& shift = {}) {
  setup.plan.data_flow = true;
  setup.plan.blocks = flow.blocks;
  return run_ldlt_by<Types>(stored<Types>(A, false), tree, setup, {}, shift,
                            [&](const auto& plan, const auto& values, const auto& rule, auto& factors) {
                              REQUIRE(factorize_by_blocks<Types>(plan, values, rule, factors, flow));
                            });
}

/// Counts that do not depend on which of two pivots of the same size is taken.
template <class Types>
void check_same(const LdltResult<Types>& result, const LdltResult<Types>& expected) {
  REQUIRE(result.outcome.stopped_front == -1);
  CHECK(result.inertia() == expected.inertia());
  CHECK(result.enlarged == expected.enlarged);
  CHECK(result.outcome.overflow_front == expected.outcome.overflow_front);
  CHECK((result.outcome.not_finite == LdltOutcome::none) ==
        (expected.outcome.not_finite == LdltOutcome::none));
  CHECK(result.outcome.not_definite == expected.outcome.not_definite);
}

/// Rows of the largest front, delayed columns among them.
template <class Types>
int largest_front(const LdltResult<Types>& result, const AssemblyTree& tree) {
  int largest = 0;
  for (std::size_t f = 0; f < result.records.size(); ++f)
    largest = std::max(largest, static_cast<int>(tree.pivot_begin[f + 1] - tree.pivot_begin[f] +
                                                 tree.row_begin[f + 1] - tree.row_begin[f]) +
                                    result.records[f].delayed_in);
  return largest;
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("emulated blocks factorize the SSIDS test cases", "[numeric][ldlt]", Scalars) {
  using Scalar = TestType;
  using OnHost = Types<Scalar, Ordinal, Kokkos::DefaultHostExecutionSpace>;
  std::mt19937 random(42);
  const std::vector<AssemblyTree> shapes{fork_of({}, {6, 5}, 9), fork_of({8, 30}, {12}, 20),
                                         fork_of({50, 20}, {30, 30}, 40), fork_of({10}, {70}, 90),
                                         fork_of({}, {}, 150)};
  const std::vector<std::size_t> left{0, 2, 2, 1, 0};
  int pairs = 0, delayed = 0, same = 0;
  for (int number = 0; number < 12; ++number) {
    const std::size_t shape = static_cast<std::size_t>(number) % shapes.size();
    const auto& tree = shapes[shape];
    for (const Symmetry symmetry : symmetries_of<Scalar>()) {
      if (ScalarTraits<Scalar>::is_complex && number % 3 != 0) continue;
      int rank = 0;
      auto A = recipe<Scalar>(number / 5 * 4 + static_cast<int>(shape) % 3, static_cast<int>(tree.n), rank,
                              symmetry, random);
      if (left[shape] > 0) clear_between(A, tree, left[shape]);
      LdltSetup setup;
      setup.portable = true;
      setup.rule.symmetry = symmetry;
      setup.rule.threshold = number % 3 == 0 ? 0.5 : number % 3 == 1 ? 0.1 : 0.01;
      setup.rule.zero_tolerance = rank < tree.n ? std::sqrt(static_cast<double>(epsilon_of<Scalar>)) : 0;
      const auto expected = run_ldlt<OnHost>(stored<OnHost>(A, false), tree, setup);
      const FlowSetup flow{1 + number % 4, 1 + number / 2 % 2, number % 2 == 0,
                           static_cast<unsigned>(number)};
      INFO("case " << number << ", " << tree.n << " rows, blocks of " << flow.warps
                   << " warps: " << flow.blocks);
      const auto result = run_by_blocks<OnHost>(A, tree, setup, flow);
      check_same(result, expected);
      if (rank == tree.n) check_factors(result, setup);
      pairs += static_cast<int>(result.outcome.two_by_two);
      delayed += static_cast<int>(result.outcome.delayed);
      if (largest_front(expected, tree) <= lutra::Impl::ldlt_max_small) {  // the same operations
        ++same;
        CHECK(result.L == expected.L);
        CHECK(result.D == expected.D);
        CHECK(result.outcome.entries == expected.outcome.entries);
      }
    }
  }
  CHECK(pairs > 10);
  CHECK(delayed > 10);
  CHECK(same > 2);
}

TEMPLATE_LIST_TEST_CASE("any number of emulated blocks gives the same bits", "[numeric][ldlt]", Scalars) {
  using Scalar = TestType;
  using OnHost = Types<Scalar, Ordinal, Kokkos::DefaultHostExecutionSpace>;
  std::mt19937 random(43);
  int rank = 0;
  const auto tree = fork_of({50, 20}, {80}, 40);
  auto A = recipe<Scalar>(2, static_cast<int>(tree.n), rank, Symmetry::symmetric, random);
  clear_between(A, tree, 2);
  std::vector<RealOf<Scalar>> shift(A.size(), RealOf<Scalar>(0.25));
  const auto first = run_by_blocks<OnHost>(A, tree, {}, {1, 1, true, 1}, shift);
  check_factors(first, {});
  for (const auto& flow : {FlowSetup{2, 2, true, 2}, FlowSetup{5, 1, true, 3}, FlowSetup{5, 1, false, 4}}) {
    const auto result = run_by_blocks<OnHost>(A, tree, {}, flow, shift);
    CHECK(result.L == first.L);
    CHECK(result.D == first.D);
    CHECK(result.outcome.entries == first.outcome.entries);
    CHECK(result.outcome.largest_factor == first.outcome.largest_factor);
  }
}

TEST_CASE("emulated blocks: too many delays, zero rows, definite matrices, bad values, perturbed pivots",
          "[numeric][ldlt]") {
  using OnHost = Types<std::tuple_element_t<0, Scalars>, Ordinal, Kokkos::DefaultHostExecutionSpace>;
  using Scalar = typename OnHost::Scalar;
  std::mt19937 random(44);
  const FlowSetup flow{4, 1, true, 5};
  const auto check = [&](const Dense<Scalar>& A, const AssemblyTree& tree, LdltSetup setup) {
    setup.portable = true;
    const auto expected = run_ldlt<OnHost>(stored<OnHost>(A, false), tree, setup);
    const auto result = run_by_blocks<OnHost>(A, tree, setup, flow);
    check_same(result, expected);
    CHECK(result.outcome.zero == expected.outcome.zero);
    CHECK(result.outcome.delayed == expected.outcome.delayed);
    CHECK(result.outcome.perturbed == expected.outcome.perturbed);
    return result;
  };
  const auto chain = [](const std::vector<int>& pivots) { return chain_of(pivots); };

  for (const auto& [m, n] : std::vector<std::pair<int, int>>{{31, 60}, {70, 90}})
    check_factors(check(saddle_point<Scalar>(m, n, Symmetry::symmetric, random), chain({m, n}), {}), {});
  std::vector<int> ones(40, 1);
  ones.push_back(80);
  LdltSetup narrow;
  narrow.plan.min_room = 3;
  const auto cascade = saddle_point<Scalar>(40, 80, Symmetry::symmetric, random);
  CHECK(check(cascade, chain(ones), narrow).enlarged > 1);
  narrow.max_enlarged = 0;
  const auto overflowed = check(cascade, chain(ones), narrow);
  CHECK(overflowed.outcome.overflow_front == 4);
  for (std::size_t f = 4; f < overflowed.records.size(); ++f) CHECK(overflowed.records[f].stopped == 1);

  CHECK(check(Dense<Scalar>(70, std::vector<Scalar>(70, Scalar(0))), chain({70}), {}).outcome.zero == 70);

  LdltSetup setup;
  setup.rule.pivoting = Pivoting::none;
  setup.rule.definite = true;
  auto definite = random_symmetric<Scalar>(200, Symmetry::symmetric, random);
  for (std::size_t i = 0; i < definite.size(); ++i) definite[i][i] = as_scalar<Scalar>(1000);
  check_factors(check(definite, chain({20, 80, 100}), setup), setup);
  for (const std::size_t column : {0, 120}) {
    auto A = definite;
    A[column][column] = Scalar(-1);
    CHECK(check(A, chain({20, 80, 100}), setup).outcome.not_definite == static_cast<std::int64_t>(column));
  }
  for (const Pivoting pivoting : {Pivoting::threshold, Pivoting::static_perturbed, Pivoting::none}) {
    setup.rule = {.pivoting = pivoting, .zero_tolerance = 0, .perturbation = 1e-8};
    for (const auto& [i, j] : std::vector<std::pair<std::size_t, std::size_t>>{{0, 0}, {150, 3}}) {
      auto A = definite;
      set(A, i, j, Scalar(std::numeric_limits<RealOf<Scalar>>::quiet_NaN()));
      CHECK(check(A, chain({90, 110}), setup).outcome.not_finite != LdltOutcome::none);
    }
  }
  setup.rule = {.pivoting = Pivoting::static_perturbed, .perturbation = 1e-3};
  CHECK(check(saddle_point<Scalar>(70, 80, Symmetry::symmetric, random), chain({70, 80}), setup)
            .outcome.perturbed == 70);
}

TEST_CASE("emulated blocks: if no pivot passes, failed columns are restored", "[numeric][ldlt]") {
  using OnHost = Types<std::tuple_element_t<0, Scalars>, Ordinal, Kokkos::DefaultHostExecutionSpace>;
  using Scalar = typename OnHost::Scalar;
  std::mt19937 random(45);
  const int k = 75, n = 160;
  auto A = random_symmetric<Scalar>(n, Symmetry::symmetric, random);
  for (std::size_t j = 0; j < static_cast<std::size_t>(k); ++j)
    set(A, static_cast<std::size_t>(k) + j, j, as_scalar<Scalar>(1e9));
  LdltSetup setup;
  setup.plan.min_room = k;
  const auto result = run_by_blocks<OnHost>(A, chain_of({k, n - k}), setup, {3, 1, true, 6});
  REQUIRE(result.outcome.succeeded());
  REQUIRE(result.records[0].delayed_out == k);
  const auto variable = [&](int i) {
    return static_cast<std::size_t>(i < k ? static_cast<int>(result.variables[static_cast<std::size_t>(i)])
                                          : i);
  };
  int different = 0;
  for (int j = 0; j < k; ++j) {
    for (int i = j; i < n; ++i)
      different += result.panels[static_cast<std::size_t>(i + j * n)] == A[variable(i)][variable(j)] ? 0 : 1;
  }
  CHECK(different == 0);
}

TEST_CASE("emulated blocks: only the column that fails is delayed, in any position", "[numeric][ldlt]") {
  using OnHost = Types<std::tuple_element_t<0, Scalars>, Ordinal, Kokkos::DefaultHostExecutionSpace>;
  using Scalar = typename OnHost::Scalar;
  std::mt19937 random(46);
  const int k = 140, n = 180;  // more than one group of block columns
  for (const int p : {0, 40, 95, 127, 139}) {
    auto A = random_symmetric<Scalar>(n, Symmetry::symmetric, random);
    for (std::size_t i = 0; i < A.size(); ++i) A[i][i] = as_scalar<Scalar>(400);
    set(A, 170, static_cast<std::size_t>(p), as_scalar<Scalar>(1e6));
    const auto result = run_by_blocks<OnHost>(A, chain_of({k, n - k}), {}, {3, 1, true, 7});
    REQUIRE(result.outcome.succeeded());
    REQUIRE(result.records[0].delayed_out == 1);
    CHECK(result.variables[static_cast<std::size_t>(result.records[0].eliminated)] ==
          static_cast<Ordinal>(p));
    check_factors(result, {});
  }
}

TEST_CASE("the watchdog ends a gang whose blocks do not all run", "[numeric][ldlt]") {
  using OnHost = Types<std::tuple_element_t<0, Scalars>, Ordinal, Kokkos::DefaultHostExecutionSpace>;
  using Scalar = typename OnHost::Scalar;
  std::mt19937 random(47);
  const auto A = random_symmetric<Scalar>(200, Symmetry::symmetric, random);
  LdltSetup setup;
  setup.plan.data_flow = true;
  setup.plan.blocks = 4;
  bool ended = false;
  const auto result =
      run_ldlt_by<OnHost>(stored<OnHost>(A), chain_of({200}), setup, {}, {},
                          [&](const auto& plan, const auto& values, const auto& rule, auto& factors) {
                            ended = factorize_by_blocks<OnHost>(plan, values, rule, factors, {2, 1, true, 8});
                          });
  CHECK(ended);
  CHECK(result.outcome.stopped_front == 0);
  CHECK_FALSE(result.outcome.succeeded());
}

}  // namespace lutra::Test
#endif
