// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <random>

#include "Lutra_Error.hpp"
#include "Lutra_Gsofa.hpp"
#include "Lutra_Reference_Triangle.hpp"
#include "Lutra_TestDominant.hpp"
#include "Lutra_TriangularTestCases.hpp"

namespace lutra::Test {
namespace {

TriangularOptions supernodal_options(bool portable = false) {
  TriangularOptions options;
  options.method = TrisolveMethod::supernodal;
  options.portable = portable;
  return options;
}

/// First rows from 0 to n, in memory of the execution space.
template <class Types>
Kokkos::View<const Ordinal*, typename Types::Memory> partition_of(const std::vector<Ordinal>& first) {
  return to_space<typename Types::Space>(first);
}

/// L + U by rows with values of a dominant matrix.
template <class Types>
Host<Types> filled_matrix(const Host<Types>& A) {
  const auto factors = Reference::factorize(A, Reference::lu_pattern(A), RealOf<typename Types::Scalar>(0));
  Host<Types> filled{A.n_rows, A.n_cols, {0}, {}, {}};
  for (std::size_t i = 0; i < factors.pattern.size(); ++i) {
    for (std::size_t k = 0; k < factors.pattern[i].size(); ++k) {
      filled.entries.push_back(static_cast<Ordinal>(factors.pattern[i][k]));
      filled.values.push_back(factors.values[i][k]);
    }
    filled.row_map.push_back(static_cast<Offset>(filled.entries.size()));
  }
  return filled;
}

/// Solves with both triangles, their transposes and several columns, and checks the errors.
template <class Types>
void check_solves(const Host<Types>& LU,
                  const Kokkos::View<const Ordinal*, typename Types::Memory>& partition, bool portable) {
  using Scalar = typename Types::Scalar;
  using Space = typename Types::Space;
  const auto n = static_cast<std::size_t>(LU.n_rows);
  const auto device = to_space<Space>(LU);
  std::vector<Scalar> b;
  for (std::size_t i = 0; i < 3 * n; ++i) b.push_back(as_scalar<Scalar>(1.0 + static_cast<double>(i % 5)));
  for (const TriangleSide side : {TriangleSide::lower, TriangleSide::upper}) {
    const bool lower = side == TriangleSide::lower;
    Solver<Types> solver(supernodal_options(portable));
    solver.analyze(device.pattern(), side, lower ? DiagonalKind::unit : DiagonalKind::stored, partition);
    solver.set_values(device.values);
    for (const auto op : {Transposition::none, Transposition::transposed, Transposition::adjoint}) {
      const auto flat = to_space<Space>(b);
      const Kokkos::View<Scalar**, Kokkos::LayoutLeft, typename Types::Memory> X(flat.data(), n, 3);
      solver.solve(X, X, op);
      solver.wait();
      const auto x = to_vector(flat);
      for (std::size_t c = 0; c < 3; ++c) {
        const auto begin = static_cast<std::ptrdiff_t>(n * c), end = static_cast<std::ptrdiff_t>(n * (c + 1));
        CHECK(Reference::triangle_error(LU, {lower, lower}, op,
                                        std::vector<Scalar>(x.begin() + begin, x.begin() + end),
                                        std::vector<Scalar>(b.begin() + begin, b.begin() + end)) <=
              500 * static_cast<double>(epsilon_of<Scalar>));
      }
    }
  }
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("given supernodes become the blocks of the supernodal method", "[trisolve]",
                        AllTypes) {
  using Space = typename TestType::Space;
  const auto matrix = to_space<Space>(chain<TestType>(100));
  for (const bool portable : {false, true}) {
    Solver<TestType> solver(supernodal_options(portable));
    solver.analyze(matrix.pattern(), TriangleSide::lower, DiagonalKind::stored,
                   partition_of<TestType>({0, 1, 11, 51, 100}));
    CHECK(solver.report().blocks == 6);  // 1, 10, 32 + 8 and 32 + 17 rows
    CHECK(solver.report().block_levels == 6);
  }
}

TEMPLATE_LIST_TEST_CASE("solves on given supernodes are accurate", "[trisolve]", AllTypes) {
  using Space = typename TestType::Space;
  std::mt19937 random(11);
  for (const int n : {1, 40, 150}) {
    for (const double mean : {1.5, 3.0, 8.0}) {
      const auto LU =
          filled_matrix<TestType>(dominant_matrix<Host<TestType>>(n, std::min(1.0, mean / n), random));
      const auto pattern = factorize_symbolic(Space(), to_space<Space>(LU).pattern(), MemoryBudget());
      for (const SupernodeOptions& options : {SupernodeOptions{32, 0}, SupernodeOptions{100, 1.0}}) {
        const auto found = find_supernodes(Space(), pattern, MemoryBudget(), options);
        for (const bool portable : {false, true}) check_solves<TestType>(LU, found.begin, portable);
      }
      // Any partition is right: here of rows that need not depend on each other.
      std::vector<Ordinal> first{0};
      while (first.back() < n) first.push_back(std::min<Ordinal>(n, first.back() + 7));
      check_solves<TestType>(LU, partition_of<TestType>(first), false);
    }
  }
}

TEMPLATE_LIST_TEST_CASE("wrong partitions are refused", "[trisolve][errors]", AllTypes) {
  using Space = typename TestType::Space;
  const auto matrix = to_space<Space>(chain<TestType>(10));
  Solver<TestType> solver(supernodal_options());
  const auto analyze = [&](Solver<TestType>& with, const std::vector<Ordinal>& first) {
    with.analyze(matrix.pattern(), TriangleSide::lower, DiagonalKind::stored, partition_of<TestType>(first));
  };
  for (const std::vector<Ordinal>& first :
       {std::vector<Ordinal>{0, 5}, {1, 10}, {0, 5, 5, 10}, {0, 7, 3, 10}, {0, 12}})
    CHECK_THROWS_AS(analyze(solver, first), InputError);
  CHECK_NOTHROW(analyze(solver, {0, 10}));
  Solver<TestType> other;
  CHECK_THROWS_AS(analyze(other, {0, 10}), InputError);
}

}  // namespace lutra::Test
