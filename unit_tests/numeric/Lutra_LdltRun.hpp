// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_LDLTRUN_HPP
#define LUTRA_LDLTRUN_HPP

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <complex>
#include <limits>
#include <numeric>
#include <optional>
#include <random>
#include <vector>

#include "Lutra_ExecutionTraits.hpp"
#include "Lutra_FrontLdlt.hpp"
#include "Lutra_LdltPivots.hpp"
#include "Lutra_Reference_Ldlt.hpp"
#include "Lutra_TestDevice.hpp"
#include "Lutra_TestMatrices.hpp"
#include "Lutra_TestTypes.hpp"

namespace lutra::Test {

template <class Scalar>
using Dense = Reference::Square<Scalar>;

/// F(j, i) of F(i, j).
template <class Scalar>
Scalar mirror(Symmetry symmetry, const Scalar& value) {
  return symmetry == Symmetry::hermitian ? ScalarTraits<Scalar>::conjugate(value) : value;
}

/// Random entries of about one decade, symmetric or Hermitian.
template <class Scalar>
Dense<Scalar> random_symmetric(int n, Symmetry symmetry, std::mt19937& random) {
  Dense<Scalar> A(static_cast<std::size_t>(n), std::vector<Scalar>(static_cast<std::size_t>(n)));
  for (std::size_t i = 0; i < A.size(); ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      A[i][j] = random_value<Scalar>(random, 1);
      if (i == j && symmetry == Symmetry::hermitian) A[i][i] = Scalar(lutra::Impl::real_part(A[i][i]));
      A[j][i] = mirror(symmetry, A[i][j]);
    }
  }
  return A;
}

/// Sets both of a pair of entries.
template <class Scalar>
void set(Dense<Scalar>& A, std::size_t i, std::size_t j, const Scalar& value,
         Symmetry symmetry = Symmetry::symmetric) {
  A[i][j] = value;
  A[j][i] = mirror(symmetry, value);
}

/// A dense matrix with all its entries stored, or without its zeros.
template <class Types>
Matrix<Types> stored(const Dense<typename Types::Scalar>& A, bool with_zeros = true) {
  using Scalar = typename Types::Scalar;
  Matrix<Types> matrix;
  matrix.n_rows = matrix.n_cols = static_cast<typename Types::Ordinal>(A.size());
  matrix.row_map.push_back(0);
  for (const auto& row : A) {
    for (std::size_t j = 0; j < A.size(); ++j) {
      if (!with_zeros && row[j] == Scalar(0)) continue;
      matrix.entries.push_back(static_cast<typename Types::Ordinal>(j));
      matrix.values.push_back(row[j]);
    }
    matrix.row_map.push_back(matrix.nnz());
  }
  return matrix;
}

/// A chain of fronts with so many pivots each; contribution rows are all that follow.
inline AssemblyTree chain_of(const std::vector<int>& pivots) {
  AssemblyTree tree;
  tree.n = static_cast<Ordinal>(std::accumulate(pivots.begin(), pivots.end(), 0));
  tree.order.resize(static_cast<std::size_t>(tree.n));
  std::iota(tree.order.begin(), tree.order.end(), Ordinal(0));
  tree.pivot_begin.push_back(0);
  tree.row_begin.push_back(0);
  for (std::size_t f = 0; f < pivots.size(); ++f) {
    tree.pivot_begin.push_back(tree.pivot_begin.back() + static_cast<Ordinal>(pivots[f]));
    for (Ordinal row = tree.pivot_begin.back(); row < tree.n; ++row) tree.rows.push_back(row);
    tree.row_begin.push_back(static_cast<std::int64_t>(tree.rows.size()));
    tree.parent.push_back(f + 1 < pivots.size() ? static_cast<Ordinal>(f + 1) : Ordinal(-1));
  }
  return tree;
}

/// What a factorization left, on the host; L and D by permuted indices.
template <class Types>
struct LdltResult {
  using Scalar = typename Types::Scalar;
  LdltOutcome outcome;
  std::vector<LdltRecord> records;
  std::vector<LdltFrontPlace> room;
  std::vector<typename Types::Ordinal> variables;
  std::vector<PivotKind> kind;
  std::vector<Scalar> panels, diagonal, off_diagonal;
  Dense<Scalar> A, L, D;  ///< A in the order of the tree
  int enlarged = 0;       ///< times that room was enlarged

  Reference::Inertia inertia() const { return {outcome.positive, outcome.negative, outcome.zero}; }
  double largest_l() const {
    double largest = 0;
    for (std::size_t i = 0; i < L.size(); ++i) {
      for (std::size_t j = 0; j < L.size(); ++j)
        if (i != j) largest = std::max(largest, static_cast<double>(Kokkos::abs(L[i][j])));
    }
    return largest;
  }
};

/// Ways to factorize: on hosts all fronts column by column, or those of more than 64 rows by blocks first.
/// Devices have one way of their own, whatever it is called.
enum class LdltWay { columns, blocks, portable };

/// How the tests factorize. Their matrices are not scaled: what is small beside the largest entry is no zero.
struct LdltSetup {
  LdltPivotRule rule = {.zero_tolerance = 0};
  LdltPlanOptions plan = {};
  bool portable = false;
  int max_enlarged = 20;

  void take(LdltWay way) {
    portable = way == LdltWay::portable;
    if (way == LdltWay::blocks) plan.max_column_rows = 64;
  }
};

/// L and D as dense matrices; each permuted index is eliminated once.
template <class Types, class Plan>
void assemble_factors(const Plan& plan, const std::vector<typename Types::Ordinal>& rows,
                      LdltResult<Types>& result) {
  using Scalar = typename Types::Scalar;
  const std::size_t n = result.A.size();
  result.L.assign(n, std::vector<Scalar>(n, Scalar(0)));
  result.D = result.L;
  std::vector<int> eliminated(n, 0);
  for (std::size_t f = 0; f < result.records.size(); ++f) {
    const auto& front = plan.base.layout.fronts[f];
    const auto& record = result.records[f];
    const auto slots = static_cast<std::size_t>(result.room[f].slots);
    const int columns = front.pivots + record.delayed_in, size = columns + front.cb_rows;
    REQUIRE(record.eliminated + record.delayed_out == columns);
    REQUIRE(record.delayed_in <= result.room[f].max_delayed);
    const auto variable = [&](int i) {
      return static_cast<std::size_t>(
          i < columns ? result.variables[slots + static_cast<std::size_t>(i)]
                      : rows[static_cast<std::size_t>(front.rows) + static_cast<std::size_t>(i - columns)]);
    };
    for (int j = 0; j < record.eliminated; ++j) {
      const std::size_t s = slots + static_cast<std::size_t>(j), v = variable(j);
      ++eliminated[v];
      result.L[v][v] = Scalar(1);
      result.D[v][v] = result.diagonal[s];
      for (int i = j + 1; i < size; ++i)
        result.L[variable(i)][v] =
            result.panels[static_cast<std::size_t>(result.room[f].panel) -
                          static_cast<std::size_t>(record.moved) + static_cast<std::size_t>(i) +
                          static_cast<std::size_t>(j) * static_cast<std::size_t>(size)];
      if (result.kind[s] == PivotKind::first_of_two) {
        REQUIRE(j + 1 < record.eliminated);  // no pair is split
        REQUIRE(result.kind[s + 1] == PivotKind::second_of_two);
        REQUIRE(result.L[variable(j + 1)][v] == Scalar(0));
        result.D[variable(j + 1)][v] = result.off_diagonal[s];
      } else {
        REQUIRE(result.off_diagonal[s] == Scalar(0));
        if (result.kind[s] == PivotKind::second_of_two)
          REQUIRE(result.kind[s - 1] == PivotKind::first_of_two);
        if (result.kind[s] == PivotKind::zero) REQUIRE(result.D[v][v] == Scalar(0));
      }
    }
    for (int j = record.eliminated; j < columns; ++j)
      REQUIRE(result.kind[slots + static_cast<std::size_t>(j)] == PivotKind::delayed);
  }
  for (const int times : eliminated) REQUIRE(times == 1);
}

/// Factorizes, enlarging room as often as it takes, in an execution space instance.
/// @param factorize factorize(plan, values, rule, factors)
template <class Types, class Factorize>
LdltResult<Types> run_ldlt_by(const Matrix<Types>& matrix, const AssemblyTree& tree, const LdltSetup& setup,
                              const typename Types::Space& exec,
                              const std::vector<RealOf<typename Types::Scalar>>& shift,
                              const Factorize& factorize) {
  using Scalar = typename Types::Scalar;
  using Space = typename Types::Space;
  LdltPlanOptions options = setup.plan;
  if (!lutra::Impl::is_host_space<Space>) options.data_flow = !setup.portable;
  const auto plan = plan_ldlt(exec, tree, FrontEntries{make_view(matrix).pattern(), tree.order, tree.order},
                              MemoryBudget(), options);
  LdltFactors<Scalar, Space> factors;
  allocate_ldlt(exec, plan, MemoryBudget(), factors);
  const auto n = static_cast<std::size_t>(matrix.n_rows);
  const auto ones = to_space<Space>(std::vector<RealOf<Scalar>>(n, RealOf<Scalar>(1)));
  LdltValues<Scalar, typename Types::Memory> values{{to_space<Space>(matrix.values), ones, ones}, {}};
  if (!shift.empty()) values.shift = to_space<Space>(shift);
  LdltResult<Types> result;
  for (;; ++result.enlarged) {
    factorize(plan, values, setup.rule, factors);
    result.outcome = read_outcome(exec, factors);
    if (!result.outcome.overflowed() || result.enlarged == setup.max_enlarged) break;
    const auto before = factors.room.panels;
    REQUIRE(enlarge_room(exec, plan, MemoryBudget(), factors) > before);
  }
  result.records = to_vector(factors.records);
  result.room = factors.room.host_fronts;
  result.A.assign(n, std::vector<Scalar>(n, Scalar(0)));
  std::vector<std::size_t> position(n);
  for (std::size_t k = 0; k < n; ++k) position[static_cast<std::size_t>(tree.order[k])] = k;
  for (std::size_t i = 0; i < n; ++i) {
    for (auto p = matrix.row_map[i]; p < matrix.row_map[i + 1]; ++p)
      result.A[position[i]][position[static_cast<std::size_t>(matrix.entries[static_cast<std::size_t>(p)])]] =
          matrix.values[static_cast<std::size_t>(p)];
    if (!shift.empty()) result.A[position[i]][position[i]] += shift[i];
  }
  result.variables = to_vector(factors.variables);
  result.kind = to_vector(factors.kind);
  result.panels = to_vector(factors.panels);
  result.diagonal = to_vector(factors.diagonal);
  result.off_diagonal = to_vector(factors.off_diagonal);
  if (result.outcome.succeeded()) assemble_factors(plan, tree.rows, result);
  return result;
}

template <class Types>
LdltResult<Types> run_ldlt(const Matrix<Types>& matrix, const AssemblyTree& tree, const LdltSetup& setup,
                           const typename Types::Space& exec = {},
                           const std::vector<RealOf<typename Types::Scalar>>& shift = {}) {
  return run_ldlt_by<Types>(matrix, tree, setup, exec, shift,
                            [&](const auto& plan, const auto& values, const auto& rule, auto& factors) {
                              factorize_ldlt(exec, plan, values, rule, factors, setup.portable);
                            });
}

/// max |A − L·D·Lᴴ| / (|A| + |L||D||Lᴴ|) over the entries, in long double, over epsilon.
template <class Types>
double backward_error(const LdltResult<Types>& result, Symmetry symmetry) {
  using Scalar = typename Types::Scalar;
  using Wide = std::conditional_t<ScalarTraits<Scalar>::is_complex, std::complex<long double>, long double>;
  const auto wide = [](const Scalar& value) {
    if constexpr (ScalarTraits<Scalar>::is_complex) {
      return Wide(value.real(), value.imag());
    } else {
      return Wide(value);
    }
  };
  const auto mirror_wide = [&](const Wide& value) {
    if constexpr (ScalarTraits<Scalar>::is_complex) {
      return symmetry == Symmetry::hermitian ? std::conj(value) : value;
    } else {
      return value;
    }
  };
  const std::size_t n = result.A.size();
  Dense<Wide> LD(n, std::vector<Wide>(n, 0));
  Dense<long double> size(n, std::vector<long double>(n, 0));
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t v = 0; v < n; ++v) {
      const Wide l = wide(result.L[i][v]);
      if (l == Wide(0)) continue;
      for (std::size_t w = 0; w < n; ++w) {
        if (result.D[v][w] == Scalar(0) && result.D[w][v] == Scalar(0)) continue;
        const Wide d = result.D[v][w] != Scalar(0) ? wide(result.D[v][w]) : mirror_wide(wide(result.D[w][v]));
        LD[i][w] += l * d;
        size[i][w] += std::abs(l) * std::abs(d);
      }
    }
  }
  // products below the smallest normal number are rounded to it
  const long double underflow =
      std::numeric_limits<RealOf<Scalar>>::min() / static_cast<long double>(epsilon_of<Scalar>);
  long double worst = 0;
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      Wide sum = -wide(result.A[i][j]);
      long double bound = std::abs(sum);
      for (std::size_t w = 0; w < n; ++w) {
        if (size[i][w] == 0 || result.L[j][w] == Scalar(0)) continue;
        const Wide l = mirror_wide(wide(result.L[j][w]));
        sum += LD[i][w] * l;
        bound += size[i][w] * std::abs(l);
      }
      const long double error = std::abs(sum);
      if (!(error <= bound)) return std::numeric_limits<double>::infinity();
      worst = std::max(worst, error / (bound + underflow));
    }
  }
  return static_cast<double>(worst) / static_cast<double>(epsilon_of<Scalar>);
}

}  // namespace lutra::Test

#endif
