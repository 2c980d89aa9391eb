// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <Kokkos_Core.hpp>

// Tests the CUDA elimination of rows with warps emulated on hosts.
#ifndef KOKKOS_ENABLE_CUDA
#include <catch2/catch_template_test_macros.hpp>

#include "Lutra_IluTestFactors.hpp"
#include "Lutra_TestWarps.hpp"

#include "Lutra_SyncfreeRowsCuda.hpp"

namespace lutra::Test {
namespace {

/// A few rows of full length among short ones.
template <class Types>
Matrix<Types> matrix_with_long_rows(int n, std::mt19937& random) {
  auto matrix = dominant_matrix<Matrix<Types>>(n, 0.002, random);
  auto longer = matrix;
  longer.row_map = {0};
  longer.entries.clear();
  longer.values.clear();
  for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) {
    if (i % 400 == 399) {
      for (int j = 0; j < n; ++j) {
        longer.entries.push_back(static_cast<typename Types::Ordinal>(j));
        longer.values.push_back(as_scalar<typename Types::Scalar>(j == static_cast<int>(i) ? n : 1));
      }
    } else {
      for (auto p = matrix.row_map[i]; p < matrix.row_map[i + 1]; ++p) {
        longer.entries.push_back(matrix.entries[static_cast<std::size_t>(p)]);
        longer.values.push_back(matrix.values[static_cast<std::size_t>(p)]);
      }
    }
    longer.row_map.push_back(static_cast<typename Types::Offset>(longer.entries.size()));
  }
  return longer;
}

/// Eliminates rows of a pattern in natural order by warps.
template <class Types>
struct EmulatedRows {
  using Scalar = typename Types::Scalar;
  using Memory = typename Types::Memory;
  using Kernel = lutra::Impl::SyncfreeRowsCuda<Scalar, Memory>;
  const FactorsOf<Types>& factors;
  lutra::Impl::RowUpdates<Memory> updates;
  std::int64_t state[2] = {0, 0};  ///< ticket, 1 + row that waited too long

  bool eliminate(const Matrix<Types>& matrix, double shift, std::uint64_t watchdog_ticks,
                 std::mt19937& random) {
    Kokkos::deep_copy(factors.values, lutra::Impl::sentinel_value<Scalar>());
    std::vector<Ordinal> descending;
    Ordinal longest = 0;
    for (Ordinal i = factors.n; i-- > 0;) {
      descending.push_back(i);
      longest = std::max(longest, static_cast<Ordinal>(factors.row_map(i + 1) - factors.row_map(i)));
    }
    const auto A = to_space<typename Types::Space>(matrix);
    const Kernel kernel{
        {A, shift, factors.row_map, factors.diagonal, factors.entries, factors.values, factors.values},
        {to_space<typename Types::Space>(descending), factors.n, {state + 1, watchdog_ticks}},
        state,
        updates,
        Kokkos::View<Scalar*, Memory>("long_rows", factors.entries.extent(0)),
        longest};
    constexpr int warps = 3;
    std::vector<Scalar> scratch(warps * static_cast<std::size_t>(kernel.scratch_length()));
    return Warps().run(warps, random, [&] {
      kernel.run(scratch.data() + Warps::active->thread() / Warps::lanes * kernel.scratch_length());
    });
  }
};

template <class Types>
EmulatedRows<Types> emulate(const FactorsOf<Types>& factors, MemoryReservation& reservation) {
  return {factors, *lutra::Impl::find_row_updates(typename Types::Space(), factors,
                                                  typename Types::Ordinal(1), MemoryBudget(), reservation)};
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("warps give the bits of an elimination by one thread", "[ilu]", AllTypes) {
  std::mt19937 random(31);
  const double o = nothing;
  const std::pair<Matrix<TestType>, int> cases[] = {
      {dominant_matrix<Matrix<TestType>>(1, 1, random), 0},
      {dominant_matrix<Matrix<TestType>>(33, 0.4, random), 0},
      {dominant_matrix<Matrix<TestType>>(100, 0.06, random), 1},  // entries that A does not have
      {matrix_with_long_rows<TestType>(800, random), 0},
      {from_dense<Matrix<TestType>>({{2, 3, o}, {4, 6, 1}, {o, 5, o}}), 0}};  // a pivot is zero
  for (const auto& [matrix, level] : cases) {
    const auto factors = make_factors<TestType>(matrix, level);
    MemoryReservation reservation{MemoryBudget()};
    for (const double shift : {0.0, 0.5}) {
      if (shift > 0 && matrix.n_rows > 100) continue;
      eliminate<TestType>(matrix, factors, IluSchedule::automatic, shift);
      const auto expected = value_rows(factors);
      auto rows = emulate<TestType>(factors, reservation);
      REQUIRE(rows.eliminate(matrix, shift, ~std::uint64_t(0), random));
      CHECK(rows.state[1] == 0);
      CHECK(value_rows(factors) == expected);
    }
  }
}

TEMPLATE_LIST_TEST_CASE("the watchdog ends a warp that waits for its own row", "[ilu]", AllTypes) {
  std::mt19937 random(32);
  const auto matrix = dominant_matrix<Matrix<TestType>>(40, 0.3, random);
  const auto factors = make_factors<TestType>(matrix, 0);
  MemoryReservation reservation{MemoryBudget()};
  auto rows = emulate<TestType>(factors, reservation);
  rows.updates.updates(rows.updates.updates.extent(0) - 1).from = factors.nnz() - 1;
  REQUIRE(rows.eliminate(matrix, 0, 1000, random));
  CHECK(rows.state[1] == 40);
  CHECK(lutra::Impl::is_sentinel(factors.values(factors.entries.extent(0) - 1)));
}

}  // namespace lutra::Test
#endif
