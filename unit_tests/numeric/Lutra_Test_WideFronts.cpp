// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <numeric>
#include <random>

#include "Lutra_FactorResidual.hpp"
#include "Lutra_FrontLuRun.hpp"
#include "Lutra_TestDominant.hpp"

namespace lutra::Test {
namespace {

/// L\U as it would be if nothing were subtracted: A, its columns cb_rows the diagonal divided by that.
template <class Types>
std::vector<typename Types::Scalar> without_updates(const FrontResult<Types>& result) {
  using Scalar = typename Types::Scalar;
  std::vector<Scalar> diagonal(result.pattern.size()), values;
  for (std::size_t i = 0; i < diagonal.size(); ++i) {
    Reference::for_row(result.permuted, i, [&](std::size_t j, const Scalar& value) {
      if (j == i) diagonal[i] = value;
    });
  }
  std::vector<Scalar> row(diagonal.size(), Scalar(0));
  for (std::size_t i = 0; i < diagonal.size(); ++i) {
    Reference::for_row(result.permuted, i, [&](std::size_t j, const Scalar& value) { row[j] = value; });
    for (const std::size_t j : result.pattern[i]) {
      values.push_back(j < i ? row[j] / diagonal[j] : row[j]);
      row[j] = Scalar(0);
    }
  }
  return values;
}

/// L·U beside A, entry by entry; and that this would notice sums from which nothing has been subtracted.
template <class Types>
void check_product(const FrontResult<Types>& result, std::mt19937& random) {
  const std::size_t n = result.pattern.size();
  const auto rows = rows_to_check(n, n, random);
  std::vector<std::size_t> begin{0};
  for (const auto& row : result.pattern) begin.push_back(begin.back() + row.size());
  const auto residual = [&](const auto& values) {
    const auto stored = [&](std::size_t i, const auto& visit) {
      for (std::size_t k = 0; k < result.pattern[i].size(); ++k)
        visit(result.pattern[i][k], values[begin[i] + k]);
    };
    return largest_residual(result.permuted, n, stored, rows);
  };
  CHECK(residual(result.values) <= 1);
  CHECK(residual(without_updates(result)) > 10);
}

/// The same matrix with a weak diagonal.
template <class MatrixType>
MatrixType weakened(MatrixType matrix) {
  using Scalar = typename decltype(MatrixType::values)::value_type;
  for (std::size_t i = 0, p = 0; i < static_cast<std::size_t>(matrix.n_rows); ++i) {
    for (; p < static_cast<std::size_t>(matrix.row_map[i + 1]); ++p) {
      if (static_cast<std::size_t>(matrix.entries[p]) == i)
        matrix.values[p] = as_scalar<Scalar>(weak_diagonal(static_cast<int>(matrix.n_rows)));
    }
  }
  return matrix;
}

/// A dense front by itself, no other fronts being there that its contribution rows would belong to.
template <class Types>
void check_one_front(int pivots, int cb_rows, std::mt19937& random,
                     const std::optional<Symmetry>& symmetry = {}) {
  using Space = typename Types::Space;
  using Memory = typename Types::Memory;
  using Scalar = typename Types::Scalar;
  const int size = pivots + cb_rows;
  auto matrix = matrix_of_front<Matrix<Types>>(pivots, cb_rows, random);
  if (symmetry) matrix = mirrored(matrix, *symmetry);
  AssemblyTree tree;
  tree.n = static_cast<Ordinal>(size);
  tree.order.resize(static_cast<std::size_t>(size));
  std::iota(tree.order.begin(), tree.order.end(), Ordinal(0));
  tree.pivot_begin = {0, static_cast<Ordinal>(pivots)};
  tree.parent = {-1};
  tree.row_begin = {0, cb_rows};
  tree.rows.assign(tree.order.begin() + pivots, tree.order.end());
  const Space exec;
  const auto plan = plan_lu(exec, tree, FrontEntries{make_view(matrix).pattern(), tree.order, tree.order},
                            MemoryBudget(), front_plan_options<Scalar, Space>());
  const auto schedule =
      make_front_schedule<Scalar>(exec, plan, MemoryBudget(), default_device_model<Space>(), symmetry);
  auto factors = make_front_factors(exec, schedule, MemoryBudget());
  allocate_values(exec, plan, MemoryBudget(), factors);
  const auto ones = to_space<Space>(std::vector<RealOf<Scalar>>(static_cast<std::size_t>(size), 1));
  const Kokkos::View<unsigned char*, Memory> perturbed("perturbed", static_cast<std::size_t>(size));
  factorize_fronts<Scalar>(exec, plan, {to_space<Space>(matrix.values), ones, ones}, 0, factors, perturbed);
  exec.fence();
  const auto panels = to_vector(factors.panels), contributions = to_vector(factors.contributions);
  const auto entry = [&](int r, int c) {
    const auto at = [](const auto& array, std::int64_t i) { return array[static_cast<std::size_t>(i)]; };
    const std::int64_t f = size, k = pivots, m = cb_rows;
    if (c < pivots) return at(panels, r + c * f);
    return r < pivots ? at(panels, f * k + r * m + c - k) : at(contributions, r - k + (c - k) * m);
  };
  const auto stored = [&](std::size_t r, const auto& visit) {
    for (int c = 0; c < size; ++c) visit(static_cast<std::size_t>(c), entry(static_cast<int>(r), c));
  };
  const auto n = static_cast<std::size_t>(size), k = static_cast<std::size_t>(pivots);
  CHECK(largest_residual(matrix, k, stored, rows_to_check(n, k, random)) <= 1);
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("one wide front: L·U with the contribution block equals A", "[numeric]", AllTypes) {
  std::mt19937 random(11);
  constexpr bool on_host = std::is_same_v<typename TestType::Memory, Kokkos::HostSpace>;
  using Sizes = std::vector<std::pair<int, int>>;  // pivots, contribution rows
  Sizes sizes{{97, 0}, {64, 65}, {65, 63}, {128, 1}, {1, 200}, {17, 128}, {300, 50}, {705, 0}};
  // in devices' tiles: one or two at a time, pairs that end with a short or single one, copies of one or two
  // numbers, the last of them half beyond the tile; as many pivot tiles as make diagonal ones take their last
  // product from links, one less, short ones at the end
  if (!on_host) {
    sizes.insert(sizes.end(), {{1536, 0}, {1537, 0}, {768, 800}, {63, 1601}, {1000, 641}, {130, 1664}});
    sizes.insert(sizes.end(), {{192, 0}, {256, 0}, {257, 0}, {258, 30}, {128, 10}, {1538, 0}});
    sizes.insert(sizes.end(), {{770, 802}, {62, 1602}, {1000, 642}});
    sizes.insert(sizes.end(), {{2817, 0}, {2822, 30}, {1000, 1841}, {1000, 1842}, {63, 2801}, {62, 2802}});
    // as many pivot tiles as one block sweeps, of either edge, and one less
    sizes.insert(sizes.end(), {{704, 30}, {768, 1}, {769, 100}, {353, 0}, {352, 40}, {384, 70}});
  }
  for (const auto& [pivots, cb_rows] : sizes) {
    INFO(pivots << " pivots, " << cb_rows << " contribution rows");
    check_one_front<TestType>(pivots, cb_rows, random);
  }
}

TEMPLATE_LIST_TEST_CASE("wide fronts of symmetric and Hermitian matrices", "[numeric]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  constexpr bool on_host = std::is_same_v<typename TestType::Memory, Kokkos::HostSpace>;
  std::mt19937 random(15);
  std::vector<std::pair<int, int>> sizes{{97, 0}, {64, 65}, {17, 128}, {300, 50}};
  if (!on_host) {
    // sweeps, links, tasks of one tile and, in the last two, of two
    sizes.insert(sizes.end(),
                 {{1537, 0}, {768, 800}, {63, 601}, {130, 664}, {257, 0}, {128, 10}, {770, 302}});
    sizes.insert(sizes.end(), {{704, 30}, {769, 100}, {353, 0}, {384, 70}, {1000, 1841}, {62, 2802}});
  }
  const AssemblyTreeOptions no_zeros{0, 0, 0, 0, 0, 0, 0};
  for (const Symmetry symmetry : {Symmetry::symmetric, Symmetry::hermitian}) {
    if (!ScalarTraits<Scalar>::is_complex && symmetry == Symmetry::hermitian) continue;
    for (const auto& [pivots, cb_rows] : sizes) {
      INFO(pivots << " pivots, " << cb_rows << " contribution rows");
      check_one_front<TestType>(pivots, cb_rows, random, symmetry);
    }
    // fronts that add to their parent's panels, and contribution blocks that share memory
    const int edge = 11 * (sizeof(Scalar) > 8 ? 32 : 64) + 6;
    for (const auto& matrix :
         {mirrored(chains_of_blocks<Matrix<TestType>>(on_host ? 2 : 20, on_host ? 3 : 30, 70, random),
                   symmetry),
          mirrored(bordered_blocks<Matrix<TestType>>(on_host ? 1 : 8, on_host ? 100 : edge, 260, random),
                   symmetry)}) {
      const auto expected = factorize_by_fronts<TestType>(matrix, 0, no_zeros);
      const auto first = factorize_by_fronts<TestType>(matrix, 0, no_zeros, false, 1, symmetry);
      const auto second = factorize_by_fronts<TestType>(matrix, 0, no_zeros, false, 2, symmetry);
      CHECK(second.outcome.stopped_front == -1);
      CHECK(first.values == second.values);
      double most = 0;
      for (std::size_t p = 0; p < expected.values.size(); ++p)
        most = std::max(most, static_cast<double>(Kokkos::abs(first.values[p] - expected.values[p])));
      CHECK(most <= 400 * static_cast<double>(epsilon_of<Scalar>) * expected.outcome.largest_factor);
    }
  }
}

TEMPLATE_LIST_TEST_CASE("small pivots anywhere in a wide front are perturbed", "[numeric]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  const int n =
      GENERATE(200, 330, 800);  // a diagonal matrix but for one dense row and column, which make one front
  Matrix<TestType> matrix;
  matrix.n_rows = matrix.n_cols = n;
  matrix.row_map.push_back(0);
  const auto is_small = [](int i) {
    return i == 5 || i == 31 || i == 64 || i == 127 || i == 130 || i == 262 || i == 700 || i == 799;
  };
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < n; ++j) {
      matrix.entries.push_back(j);
      matrix.values.push_back(as_scalar<Scalar>(i != j ? 0.0 : is_small(i) ? 1e-6 : 1.0));
    }
    matrix.row_map.push_back(matrix.nnz());
  }
  const auto result = factorize_by_fronts<TestType>(matrix, 0.01);
  CHECK(result.outcome.perturbed == (n > 700 ? 8 : n > 262 ? 6 : 5));
  for (int i = 0; i < n; ++i) {
    INFO("pivot " << i);
    CHECK(int(result.perturbed[static_cast<std::size_t>(i)]) == int(is_small(i)));
    const Scalar pivot = result.values[static_cast<std::size_t>(i) * (n + 1)];
    CHECK(Kokkos::abs(pivot - as_scalar<Scalar>(is_small(i) ? 0.01 : 1.0)) < 1e-6);
  }
}

TEMPLATE_LIST_TEST_CASE("diagonal blocks of many fronts are processed together", "[numeric]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  constexpr bool on_host = std::is_same_v<typename TestType::Memory, Kokkos::HostSpace>;
  std::mt19937 random(13);
  // on devices one row and column of tiles of all fronts are more tasks than are worked at once, and all of
  // them wait for sweeps
  const int edge = 11 * (sizeof(Scalar) > 8 ? 32 : 64) + 6;
  const auto matrix = weakened(bordered_blocks<Matrix<TestType>>(on_host ? 1 : 16, edge, 60, random));
  const AssemblyTreeOptions no_zeros{0, 0, 0, 0, 0, 0, 0};
  const auto first = factorize_by_fronts<TestType>(matrix, 0, no_zeros);
  const auto second = factorize_by_fronts<TestType>(matrix, 0, no_zeros, false, 2);
  CHECK(first.outcome.stopped_front == -1);
  CHECK(first.outcome.perturbed == 0);
  CHECK(first.values == second.values);
  check_product(first, random);
}

}  // namespace lutra::Test
