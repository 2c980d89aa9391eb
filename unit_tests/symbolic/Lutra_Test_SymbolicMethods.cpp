// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Methods, portable and specialized kernels, and numbers of threads must give the same pattern.
#include <algorithm>
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <numeric>
#include <random>
#include <vector>

#include "Lutra_Error.hpp"
#include "Lutra_Fill1.hpp"
#include "Lutra_Reference_Lu.hpp"
#include "Lutra_Symbolic.hpp"
#include "Lutra_SymbolicTestPatterns.hpp"
#include "Lutra_TestDevice.hpp"
#include "Lutra_TestMatrices.hpp"
#include "Lutra_TestTypes.hpp"

namespace lutra::Test {

TEMPLATE_LIST_TEST_CASE("kernels for one space agree with the portable ones", "[symbolic]", PatternTypes) {
  using Space = typename TestType::Space;
  std::mt19937 random(1618);
  for (const int n : {1, 31, 33, 1023, 1025, 2100}) {
    for (const double mean : {0.7, 2.0, 4.0}) {
      const auto one_sided = random_matrix<Matrix<TestType>>(n, std::min(1.0, mean / n), 0.0, random);
      for (const auto& matrix : {one_sided, add_mirror(one_sided)}) {
        INFO("n " << n << ", mean " << mean);
        const auto device = to_space<Space>(matrix);
        const auto expected =
            to_rows(factorize_symbolic(Space(), device.pattern(), MemoryBudget(), {SymbolicMethod::fill1}));
        for (const bool portable : {false, true}) {
          for (const SymbolicMethod method : {SymbolicMethod::fill2, SymbolicMethod::ancestors}) {
            REQUIRE(to_rows(factorize_symbolic(Space(), device.pattern(), MemoryBudget(),
                                               {method, portable})) == expected);
          }
        }
      }
    }
  }
}

TEMPLATE_LIST_TEST_CASE("rows and chains of thousands of vertices", "[symbolic]", PatternTypes) {
  using MatrixType = Matrix<TestType>;
  using Space = typename TestType::Space;
  std::mt19937 random(99991);
  const auto check = [](const MatrixType& matrix) {
    const auto device = to_space<Space>(matrix);
    const auto expected =
        to_rows(factorize_symbolic(Space(), device.pattern(), MemoryBudget(), {SymbolicMethod::fill1}));
    for (const bool portable : {false, true}) {
      REQUIRE((to_rows(factorize_symbolic(Space(), device.pattern(), MemoryBudget(),
                                          {SymbolicMethod::ancestors, portable})) == expected));
    }
    REQUIRE((to_rows(factorize_symbolic(Space(), device.pattern(), MemoryBudget(),
                                        {SymbolicMethod::fill2})) == expected));
    const auto tree = factorize_symbolic(Space(), device.pattern(), MemoryBudget(), {SymbolicMethod::etree});
    if (tree.exact) REQUIRE((to_rows(tree) == expected));
  };
  const int n = 1500;
  for (const unsigned missing : {0u, 3u}) {  // none or a third of the entries of the first row and column
    for (const bool last :
         {false, true}) {  // the full row and column come first, and cause full fill, or last
      MatrixType matrix{n, n, {0}, {}, {}};
      for (int i = 0; i < n; ++i) {
        const int hub = last ? n - 1 : 0;
        for (int j = 0; j < n; ++j) {
          const bool in_hub = (i == hub || j == hub) && (missing == 0 || random() % missing != 0);
          if (i == j || in_hub) matrix.entries.push_back(j);
        }
        matrix.row_map.push_back(matrix.nnz());
      }
      matrix.values.assign(matrix.entries.size(), 1.0);
      check(matrix);
    }
  }
  // Deeper than the sets held in registers, once symmetric, once without one entry.
  auto band = banded_matrix<MatrixType>(9000, {1, 3});
  check(band);
  band.entries.erase(band.entries.begin() + band.row_map[8000]);
  band.values.pop_back();
  for (std::size_t i = 8001; i < band.row_map.size(); ++i) --band.row_map[i];
  check(band);
  check(one_sided_chain<MatrixType>(10500, random));
  for (const int length : {5, 40}) {
    const auto twigs = chain_with_twigs<MatrixType>(6000, length, random);
    check(twigs);
    check(add_mirror(twigs));
  }
}

TEST_CASE("more entries than a 32-bit integer can count", "[symbolic]") {
#ifdef KOKKOS_ENABLE_CUDA
  using Types = Types<double, int, Kokkos::Cuda>;
  std::size_t free_bytes = 0, all_bytes = 0;
  REQUIRE(cudaMemGetInfo(&free_bytes, &all_bytes) == cudaSuccess);
  if (free_bytes < std::size_t(60) << 30) SKIP("wants 60 GB of device memory");
  const int n = 47000;  // n² > 2³¹: an arrow that points up fills everything
  Matrix<Types> matrix{n, n, {0}, {}, {}};
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < n; ++j) {
      if (i == 0 || j == 0 || i == j) matrix.entries.push_back(j);
      if (i > 0 && j == 0) j = i - 1;
      if (i > 0 && j == i) break;
    }
    matrix.row_map.push_back(matrix.nnz());
  }
  matrix.values.assign(matrix.entries.size(), 1.0);
  const auto device = to_space<Kokkos::Cuda>(matrix);
  for (const SymbolicMethod method :
       {SymbolicMethod::etree, SymbolicMethod::ancestors, SymbolicMethod::fill2}) {
    INFO(name_of(method));
    const auto filled = factorize_symbolic(Kokkos::Cuda(), device.pattern(), MemoryBudget(), {method});
    REQUIRE(filled.entries.extent(0) == std::size_t(n) * std::size_t(n));
    CHECK(filled.nnz_l == std::int64_t(n) * (n - 1) / 2);
    const auto entries = filled.entries;
    const auto row_map = filled.row_map;
    std::int64_t wrong = 0;
    Kokkos::parallel_reduce(
        Kokkos::RangePolicy<Kokkos::Cuda, Kokkos::IndexType<std::int64_t>>(0, std::int64_t(n) * n),
        KOKKOS_LAMBDA(const std::int64_t p, std::int64_t& sum) {
          if (entries(p) != p % n || row_map(p / n) != p / n * n) ++sum;
        },
        wrong);
    CHECK(wrong == 0);
  }
#else
  SKIP("on large devices");
#endif
}

TEMPLATE_LIST_TEST_CASE("ancestor sets with a distant or missing common ancestor", "[symbolic]",
                        PatternTypes) {
  using MatrixType = Matrix<TestType>;
  using Space = typename TestType::Space;
  std::mt19937 random(57);
  // Bands of different widths above and below the diagonal, so that L and U meet late, and random distant
  // entries.
  for (const int n : {70, 200, 700}) {
    for (const auto& [below, above] : {std::pair{1, 9}, {9, 1}, {3, 70}, {65, 2}}) {
      MatrixType matrix;
      matrix.n_rows = matrix.n_cols = n;
      matrix.row_map.push_back(0);
      for (int i = 0; i < n; ++i) {
        for (const int j : {i - below, i, i + above, static_cast<int>(random() % static_cast<unsigned>(n))}) {
          const auto begin = matrix.entries.begin() + matrix.row_map.back();
          if (j >= 0 && j < n && std::find(begin, matrix.entries.end(), j) == matrix.entries.end() &&
              (j == i || random() % 4 != 0)) {
            matrix.entries.push_back(j);
          }
        }
        std::sort(matrix.entries.begin() + matrix.row_map.back(), matrix.entries.end());
        matrix.row_map.push_back(matrix.nnz());
      }
      matrix.values.assign(matrix.entries.size(), 1.0);
      const auto device = to_space<Space>(matrix);
      const auto filled =
          factorize_symbolic(Space(), device.pattern(), MemoryBudget(), {SymbolicMethod::ancestors});
      CHECK(filled.exact);
      REQUIRE(to_rows(filled) == Reference::lu_pattern(matrix));
    }
  }
}

TEST_CASE("fill1 gives the same pattern for any number of threads", "[symbolic]") {
  using Types = Types<double, int, Kokkos::DefaultHostExecutionSpace>;
  std::mt19937 random(23);
  for (const int n : {1, 2, 64, 65, 500, 5000}) {
    for (const double mean : {0.5, 1.5, 2.5}) {
      const auto one_sided =
          random_matrix<Matrix<Types>>(n, std::min(1.0, (n > 1000 ? 0.5 : 1) * mean / n), 0.0, random);
      for (const auto& matrix : {one_sided, add_mirror(one_sided), banded_matrix<Matrix<Types>>(n, {1, 5}),
                                 dissected_chains<Matrix<Types>>(n, 3, random)}) {
        const auto pattern = make_view(matrix).pattern();
        const auto expected = lutra::Impl::fill1(pattern, MemoryBudget(), 1);
        for (const int threads : {2, 3, 7}) {
          INFO("n " << n << ", mean " << mean << ", threads " << threads);
          const MemoryBudget budget;
          const auto filled = lutra::Impl::fill1(pattern, budget, threads);
          REQUIRE(to_vector(filled.row_map) == to_vector(expected.row_map));
          REQUIRE(to_vector(filled.diagonal) == to_vector(expected.diagonal));
          REQUIRE(to_vector(filled.entries) == to_vector(expected.entries));
          CHECK(filled.nnz_l == expected.nnz_l);
          CHECK(filled.nnz_u == expected.nnz_u);
          CHECK(budget.used_bytes() == filled.reservation.bytes());
        }
      }
    }
  }
  const auto matrix = banded_matrix<Matrix<Types>>(5000, {1, 70});
  const MemoryBudget small(500000);
  CHECK_THROWS_AS(lutra::Impl::fill1(make_view(matrix).pattern(), small, 2), OutOfMemoryError);
  CHECK(small.used_bytes() == 0);
}

TEST_CASE("fill1 with as many subtrees as rows", "[symbolic]") {
  using Types = Types<double, int, Kokkos::DefaultHostExecutionSpace>;
  const int n = 300000;
  const auto matrix = banded_matrix<Matrix<Types>>(n, {});
  const auto filled = lutra::Impl::fill1(make_view(matrix).pattern(), MemoryBudget(), 3);
  CHECK(filled.nnz_l == 0);
  CHECK(filled.nnz_u == n);
  for (int i = 0; i < n; ++i) {
    if (filled.entries(i) != i || filled.row_map(i) != i || filled.diagonal(i) != i) FAIL("row " << i);
  }
}

}  // namespace lutra::Test
