// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_LDLTSOLVES_HPP
#define LUTRA_LDLTSOLVES_HPP

#include <catch2/catch_test_macros.hpp>
#include <random>
#include <vector>

#include "Lutra_FrontSolver.hpp"
#include "Lutra_Reference_Lu.hpp"
#include "Lutra_TestDevice.hpp"
#include "Lutra_TestMatrices.hpp"

namespace lutra::Test {

template <class Scalar>
using Columns = std::vector<std::vector<Scalar>>;

/// Scales of the user's rows.
template <class Real>
std::vector<Real> ldlt_scale(std::size_t n) {
  std::vector<Real> scale;
  for (std::size_t i = 0; i < n; ++i) scale.push_back(Real(i % 3 == 0 ? 2 : i % 5 == 0 ? 0.25 : 1));
  return scale;
}

/// A solver for factors with scales of the user's rows by powers of two.
template <class Types, class Ldlt>
struct LdltSolves {
  using Space = typename Types::Space;
  using Scalar = typename Types::Scalar;
  using Real = RealOf<Scalar>;
  using WideScalar = Reference::Wide<Scalar>;
  using Dense = std::vector<std::vector<WideScalar>>;

  const Ldlt& of;
  LdltSolver<Scalar, Space> solver;
  std::vector<Real> scale;  ///< by the user's rows

  /// @param ldlt anything with an execution space, a tree, a plan and factors
  explicit LdltSolves(const Ldlt& ldlt)
      : of(ldlt), solver(ldlt.exec, ldlt.plan, MemoryBudget()), scale(ldlt_scale<Real>(size())) {}
  std::size_t size() const { return of.tree.order.size(); }

  Columns<Scalar> random_columns(int count, std::mt19937& random) const {
    Columns<Scalar> B(static_cast<std::size_t>(count), std::vector<Scalar>(size()));
    for (auto& column : B) {
      for (auto& value : column) value = random_value<Scalar>(random, 1);
    }
    return B;
  }

  Columns<Scalar> solve(const Columns<Scalar>& B, Transposition op, const LdltParts& parts = {},
                        bool in_place = false) {
    std::vector<Scalar> flat;
    for (const auto& column : B) flat.insert(flat.end(), column.begin(), column.end());
    const auto b = to_space<Space>(flat);
    const auto x = in_place ? b : to_space<Space>(std::vector<Scalar>(flat.size()));
    const auto scales = to_space<Space>(scale);
    FrontSystem<Scalar, typename Types::Memory> system;
    system.transposition = op;
    system.in = {b.data(), 1, size(), parts.lower ? scales.data() : nullptr};
    system.out = {x.data(), 1, size(), parts.upper ? scales.data() : nullptr};
    system.in_row = system.out_row = to_space<Space>(of.tree.order);
    system.n_columns = static_cast<int>(B.size());
    solver.solve(of.exec, of.plan, of.factors, system, parts);
    of.exec.fence();
    const auto got = to_vector(x);
    Columns<Scalar> X;
    for (std::size_t c = 0; c < B.size(); ++c)
      X.emplace_back(got.begin() + static_cast<std::ptrdiff_t>(c * size()),
                     got.begin() + static_cast<std::ptrdiff_t>((c + 1) * size()));
    return X;
  }

  /// Whether F solves the system, F by permuted indices, to rounding.
  /// @param in_scaled, out_scaled whether the solve has scaled right-hand sides and solutions
  void check(const Dense& F, const std::vector<Scalar>& b, const std::vector<Scalar>& x,
             bool in_scaled = true, bool out_scaled = true) const {
    long double residual = 0, size_of_f = 0, size_of_x = 0, size_of_b = 0;
    for (std::size_t i = 0; i < size(); ++i) {
      WideScalar sum(0);
      long double row = 0;
      for (std::size_t j = 0; j < size(); ++j) {
        const auto user = static_cast<std::size_t>(of.tree.order[j]);
        const WideScalar value =
            Reference::widen(x[user]) / static_cast<long double>(out_scaled ? scale[user] : Real(1));
        sum += F[i][j] * value;
        row += std::abs(F[i][j]);
        size_of_x = Reference::worse(size_of_x, std::abs(value));
      }
      const auto user = static_cast<std::size_t>(of.tree.order[i]);
      const WideScalar right =
          Reference::widen(b[user]) * static_cast<long double>(in_scaled ? scale[user] : Real(1));
      residual = Reference::worse(residual, std::abs(sum - right));
      size_of_f = Reference::worse(size_of_f, row);
      size_of_b = Reference::worse(size_of_b, std::abs(right));
    }
    REQUIRE(residual <= 40 * epsilon_of<Scalar> * (size_of_f * size_of_x + size_of_b));
  }

  /// @param F what was factorized, scaled, by permuted indices
  void check_all(const Dense& F, std::mt19937& random, int columns, bool in_place = false) {
    const auto B = random_columns(columns, random);
    for (const auto op : {Transposition::none, Transposition::transposed, Transposition::adjoint}) {
      INFO("operation " << static_cast<int>(op) << ", " << columns << " right-hand sides");
      const auto X = solve(B, op, {}, in_place);
      for (std::size_t c = 0; c < B.size(); ++c) check(applied(F, op), B[c], X[c]);
    }
  }

  static Dense applied(const Dense& F, Transposition op) {
    Dense result = F;
    for (std::size_t i = 0; i < F.size() && op != Transposition::none; ++i) {
      for (std::size_t j = 0; j < F.size(); ++j) {
        result[i][j] = F[j][i];
        if constexpr (ScalarTraits<Scalar>::is_complex) {
          if (op == Transposition::adjoint) result[i][j] = std::conj(F[j][i]);
        }
      }
    }
    return result;
  }
};

template <class Types, class Ldlt>
LdltSolves<Types, Ldlt> solves_with(const Ldlt& ldlt) {
  return LdltSolves<Types, Ldlt>(ldlt);
}

}  // namespace lutra::Test

#endif
