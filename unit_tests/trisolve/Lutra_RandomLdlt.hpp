// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_RANDOMLDLT_HPP
#define LUTRA_RANDOMLDLT_HPP

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

#include "Lutra_FrontLdlt.hpp"
#include "Lutra_Reference_Lu.hpp"
#include "Lutra_TestDevice.hpp"
#include "Lutra_TestMatrices.hpp"

namespace lutra::Test {

/// What factors are made of.
struct RandomLdltOptions {
  Symmetry symmetry = Symmetry::symmetric;
  double delayed = 0.3;     ///< share of a front's columns that it delays, where its parent has room
  double two_by_two = 0.4;  ///< share of columns that begin a 2 × 2 pivot
  double zero = 0;          ///< share of zero pivots among the others
};

/// Fronts of a pattern filled with factors that no factorization has made: random columns are delayed, D is
/// of random kinds, L of random entries. Beside them the same L and D as dense matrices.
template <class Types>
struct RandomLdlt {
  using Space = typename Types::Space;
  using Memory = typename Types::Memory;
  using Scalar = typename Types::Scalar;
  using WideScalar = Reference::Wide<Scalar>;
  using Dense = std::vector<std::vector<WideScalar>>;

  Space exec;
  AssemblyTree tree;
  LdltPlan<Memory> plan;
  LdltFactors<Scalar, Space> factors;
  std::vector<std::size_t> eliminated;  ///< [n] permuted index eliminated at each step
  Dense L, D;                           ///< by steps
  bool hermitian;
  int delayed = 0;

  RandomLdlt(const Matrix<Types>& pattern, const RandomLdltOptions& options, std::mt19937& random,
             const AssemblyTreeOptions& tree_options = {})
      : tree(make_assembly_tree(make_view(pattern).pattern(), tree_options)),
        plan(plan_ldlt(exec, tree, FrontEntries{make_view(pattern).pattern(), tree.order, tree.order},
                       MemoryBudget())),
        hermitian(options.symmetry == Symmetry::hermitian),
        m_options(options),
        m_random(random) {
    fill();
  }

  /// L·D·Lᵀ by permuted indices.
  Dense product() const {
    const std::size_t n = eliminated.size();
    Dense F(n, std::vector<WideScalar>(n));
    const Dense LD = multiplied(L, D);
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < n; ++j) {
        WideScalar sum(0);
        for (std::size_t k = 0; k < n; ++k) sum += LD[i][k] * mirrored(L[j][k]);
        F[eliminated[i]][eliminated[j]] = sum;
      }
    }
    return F;
  }

 private:
  struct Arrays {
    std::vector<LdltRecord> records;
    std::vector<Scalar> panels, diagonal, off_diagonal;
    std::vector<Ordinal> variables;
    std::vector<PivotKind> kind;
  };

  template <class Wide>
  Wide mirrored(const Wide& value) const {
    if constexpr (ScalarTraits<Scalar>::is_complex) {
      if (hermitian) return std::conj(value);
    }
    return value;
  }
  Scalar real_if_hermitian(const Scalar& value) const {
    if constexpr (ScalarTraits<Scalar>::is_complex) {
      if (hermitian) return Scalar(Kokkos::abs(value));
    }
    return value;
  }
  static Dense multiplied(const Dense& A, const Dense& B) {
    Dense C(A.size(), std::vector<WideScalar>(A.size()));
    for (std::size_t i = 0; i < A.size(); ++i) {
      for (std::size_t k = 0; k < A.size(); ++k) {
        for (std::size_t j = 0; j < A.size(); ++j) C[i][j] += A[i][k] * B[k][j];
      }
    }
    return C;
  }
  double unit() { return std::uniform_real_distribution<double>(0, 1)(m_random); }

  void fill() {
    const auto& fronts = plan.base.layout.fronts;
    const auto slots = static_cast<std::size_t>(plan.room.slots);
    Arrays to{std::vector<LdltRecord>(fronts.size()),
              std::vector<Scalar>(static_cast<std::size_t>(plan.room.panels)),
              std::vector<Scalar>(slots),
              std::vector<Scalar>(slots),
              std::vector<Ordinal>(slots),
              std::vector<PivotKind>(slots)};
    std::vector<std::vector<Ordinal>> delayed_to(fronts.size());
    std::vector<std::size_t> first_step(fronts.size());
    for (std::size_t f = 0; f < fronts.size(); ++f) {
      first_step[f] = eliminated.size();
      fill_pivots(f, to, delayed_to);
    }
    const std::size_t n = eliminated.size();
    L.assign(n, std::vector<WideScalar>(n));
    D = L;
    std::vector<std::size_t> step(n);
    for (std::size_t k = 0; k < n; ++k) step[eliminated[k]] = k;
    for (std::size_t f = 0; f < fronts.size(); ++f) fill_columns(f, first_step[f], step, to);
    factors.room = plan.room;
    factors.symmetry = m_options.symmetry;
    factors.records = to_space<Space>(to.records);
    factors.panels = to_space<Space>(to.panels);
    factors.variables = to_space<Space>(to.variables);
    factors.diagonal = to_space<Space>(to.diagonal);
    factors.off_diagonal = to_space<Space>(to.off_diagonal);
    factors.kind = to_space<Space>(to.kind);
  }

  /// The columns of a front in a random order, the last of them delayed, and D.
  void fill_pivots(std::size_t f, Arrays& to, std::vector<std::vector<Ordinal>>& delayed_to) {
    const auto& front = plan.base.layout.fronts[f];
    const auto& room = plan.room.host_fronts[f];
    std::vector<Ordinal> columns(static_cast<std::size_t>(front.pivots));
    std::iota(columns.begin(), columns.end(), front.first_pivot);
    columns.insert(columns.end(), delayed_to[f].begin(), delayed_to[f].end());
    std::shuffle(columns.begin(), columns.end(), m_random);
    std::size_t out = 0;
    if (front.parent >= 0) {
      auto& above = delayed_to[static_cast<std::size_t>(front.parent)];
      const auto space =
          static_cast<std::size_t>(plan.room.host_fronts[static_cast<std::size_t>(front.parent)].max_delayed);
      out =
          std::min(static_cast<std::size_t>(m_options.delayed * static_cast<double>(columns.size()) + unit()),
                   space - above.size());
      above.insert(above.end(), columns.end() - static_cast<std::ptrdiff_t>(out), columns.end());
    }
    const std::size_t e = columns.size() - out;
    to.records[f] = {static_cast<int>(delayed_to[f].size()), static_cast<int>(e), static_cast<int>(out), 0,
                     0};
    delayed += static_cast<int>(out);
    const auto first = static_cast<std::size_t>(room.slots);
    std::copy(columns.begin(), columns.end(), to.variables.begin() + static_cast<std::ptrdiff_t>(first));
    std::fill_n(to.kind.begin() + static_cast<std::ptrdiff_t>(first), columns.size(), PivotKind::delayed);
    for (std::size_t p = 0; p < e; ++p) {
      eliminated.push_back(static_cast<std::size_t>(columns[p]));
      const std::size_t slot = first + p;
      to.diagonal[slot] = real_if_hermitian(random_value<Scalar>(m_random, 1));
      to.kind[slot] = PivotKind::one_by_one;
      if (p + 1 < e && unit() < m_options.two_by_two) {
        eliminated.push_back(static_cast<std::size_t>(columns[++p]));
        to.diagonal[slot] = Scalar(0);  // as in saddle points
        to.off_diagonal[slot] = random_value<Scalar>(m_random, 1);
        to.diagonal[slot + 1] = real_if_hermitian(random_value<Scalar>(m_random, 1));
        to.kind[slot] = PivotKind::first_of_two;
        to.kind[slot + 1] = PivotKind::second_of_two;
      } else if (unit() < m_options.zero) {
        to.diagonal[slot] = Scalar(0);
        to.kind[slot] = PivotKind::zero;
      }
    }
  }

  /// Columns of L, in the panel and dense. What has no meaning in the panel is not finite.
  void fill_columns(std::size_t f, std::size_t first_step, const std::vector<std::size_t>& step, Arrays& to) {
    const auto& front = plan.base.layout.fronts[f];
    const auto& room = plan.room.host_fronts[f];
    const LdltRecord record = to.records[f];
    const int columns = front.pivots + record.delayed_in, rows = columns + front.cb_rows;
    for (int c = 0; c < columns; ++c) {
      const std::size_t slot = static_cast<std::size_t>(room.slots + c),
                        k = first_step + static_cast<std::size_t>(c);
      const bool is_zero = to.kind[slot] == PivotKind::zero;
      if (c < record.eliminated) {
        L[k][k] = WideScalar(1);
        D[k][k] = Reference::widen(to.diagonal[slot]);
        if (to.kind[slot] == PivotKind::first_of_two) {
          D[k + 1][k] = Reference::widen(to.off_diagonal[slot]);
          D[k][k + 1] = mirrored(D[k + 1][k]);
        }
      }
      for (int r = 0; r < rows; ++r) {
        Scalar& entry = to.panels[static_cast<std::size_t>(room.panel + Offset(c) * rows + r)];
        entry = Scalar(Kokkos::Experimental::quiet_NaN_v<RealOf<Scalar>>);
        if (c >= record.eliminated || r <= c) continue;
        const bool is_pair = r == c + 1 && to.kind[slot] == PivotKind::first_of_two;
        entry = is_pair || is_zero ? Scalar(0)
                                   : random_value<Scalar>(m_random, 1) * Scalar(RealOf<Scalar>(1.0 / rows));
        const Ordinal variable = r < columns
                                     ? to.variables[static_cast<std::size_t>(room.slots + r)]
                                     : tree.rows[static_cast<std::size_t>(front.rows + (r - columns))];
        L[step[static_cast<std::size_t>(variable)]][k] = Reference::widen(entry);
      }
    }
  }

  RandomLdltOptions m_options;
  std::mt19937& m_random;
};

}  // namespace lutra::Test

#endif
