// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_SADDLEBATCH_HPP
#define LUTRA_SADDLEBATCH_HPP

#include "Lutra_BatchCases.hpp"

namespace lutra::Test {

/// Kinds of symmetric batches.
struct SaddleKind {
  bool hermitian = false;    ///< of complex types; otherwise symmetric
  bool stored_zeros = true;  ///< whether the zeros on the diagonal are stored
  Storage storage = Storage::interleaved;
};

/// Saddle-point systems [H Aᵀ; A 0]: H couples neighbours and a few other variables and is diagonally
/// dominant, constraint c is the only one with variable 2c, so that A has full rank, and shares two odd ones.
/// The inertia is (variables, constraints, 0).
template <class Types>
struct SaddleBatch {
  using Scalar = typename Types::Scalar;

  SaddleBatch(std::size_t n_variables, std::size_t n_constraints, std::size_t n_systems, SaddleKind of = {})
      : variables(n_variables),
        constraints(n_constraints),
        kind(of),
        pattern(make_pattern()),
        values(pattern.values.size(), 1, n_systems, of.storage) {
    for (std::size_t k = 0; k < n_systems; ++k) fill(k);
    values.to_device();
  }
  std::size_t rows() const { return variables + constraints; }
  HostMatrix<Scalar> system(std::size_t k) const { return with_values(pattern, values, k); }
  LdltOptions options() const {
    LdltOptions result;
    result.symmetry = kind.hermitian ? Symmetry::hermitian : Symmetry::symmetric;
    return result;
  }

  /// Calls visit(row, column, value) for the entries of system k on and below the diagonal, and completes the
  /// upper triangle.
  template <class Visit>
  void change(std::size_t k, const Visit& visit) {
    for_entries([&](std::size_t i, std::size_t j, std::size_t p) {
      if (j <= i) visit(i, j, values(p, 0, k));
    });
    for_entries([&](std::size_t i, std::size_t j, std::size_t p) {
      if (j <= i) return;
      const Scalar lower = values(position(j, i), 0, k);
      values(p, 0, k) = kind.hermitian ? ScalarTraits<Scalar>::conjugate(lower) : lower;
    });
  }

  std::size_t variables, constraints;
  SaddleKind kind;
  HostMatrix<Scalar> pattern;  ///< with values of system 0
  BatchArray<Types> values;

 private:
  template <class Visit>
  void for_entries(const Visit& visit) const {
    for (std::size_t i = 0; i < rows(); ++i)
      for (auto p = static_cast<std::size_t>(pattern.row_map[i]);
           p < static_cast<std::size_t>(pattern.row_map[i + 1]); ++p)
        visit(i, static_cast<std::size_t>(pattern.entries[p]), p);
  }
  std::size_t position(std::size_t i, std::size_t j) const {
    const auto first = pattern.entries.begin() + pattern.row_map[i];
    const auto last = pattern.entries.begin() + pattern.row_map[i + 1];
    return static_cast<std::size_t>(std::lower_bound(first, last, static_cast<Ordinal>(j)) -
                                    pattern.entries.begin());
  }
  HostMatrix<Scalar> make_pattern() const {
    std::vector<std::vector<double>> picture(rows(), std::vector<double>(rows(), nothing));
    const auto add = [&](std::size_t i, std::size_t j) { picture[i][j] = picture[j][i] = 1; };
    for (std::size_t v = 0; v < variables; ++v) {
      add(v, v);
      if (v > 0) add(v, v - 1);
      if (v % 5 == 0) add(v, (7 * v + 3) % variables);
    }
    for (std::size_t c = 0; c < constraints; ++c) {
      const std::size_t row = variables + c;
      add(row, 2 * c);
      add(row, (2 * c + 1) % (2 * (variables / 2)));
      add(row, (2 * ((5 * c + 2) % constraints) + 1) % (2 * (variables / 2)));
      if (kind.stored_zeros) add(row, row);
    }
    return from_dense<HostMatrix<Scalar>>(picture);
  }
  void fill(std::size_t k) {
    std::mt19937 random(static_cast<unsigned>(17 + 1000 * k));  // a system is the same for any K
    std::uniform_real_distribution<double> unit(0.5, 1.5);
    std::vector<double> sums(rows(), 0.0);
    change(k, [&](std::size_t i, std::size_t j, Scalar& value) {
      if (i == j) return;
      value = random_value<Scalar>(random, 1) + as_scalar<Scalar>(j == 2 * (i - variables) ? 3.0 : 0.25);
      const auto size = static_cast<double>(ScalarTraits<Scalar>::magnitude(value));
      sums[i] += size;
      sums[j] += size;
    });
    change(k, [&](std::size_t i, std::size_t j, Scalar& value) {
      if (i == j) value = i < variables ? as_scalar<Scalar>(sums[i] + unit(random)) : Scalar(0);
    });
    if (k == 0)
      for (std::size_t p = 0; p < pattern.values.size(); ++p) pattern.values[p] = values(p, 0, 0);
  }
};

}  // namespace lutra::Test

#endif
