// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_CAMPAIGNRELATIONS_HPP
#define LUTRA_CAMPAIGNRELATIONS_HPP

#include <cstdlib>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "Lutra_CampaignRun.hpp"

namespace lutra::Campaign {

/// A system made from another one, and what its solution must have in common with that of the other.
template <class Scalar>
struct Variant {
  /// `unrelated`: A is not congruent to the other matrix.
  enum class Signs { same, swapped, doubled, unrelated };
  HostMatrix<Scalar> A;
  std::vector<Scalar> b;
  Transposition op = Transposition::none;
  Signs signs = Signs::same;      ///< how the inertia changes
  std::optional<int> exponent{};  ///< x is that of the other system times 2^exponent, bit by bit
};

/// The system to be varied.
template <class Scalar>
struct System {
  HostMatrix<Scalar> A;
  std::vector<Scalar> b;
  bool is_symmetric = false;
};

/// A rule that makes a variant of a system for some ways of solving it.
template <class Scalar>
struct Relation {
  std::string_view name;
  bool keeps_symmetry;  ///< also for LDLᵀ and Cholesky
  bool keeps_definite;  ///< also for Cholesky
  Variant<Scalar> (*make)(const System<Scalar>&, Random&);

  bool applies(Way way) const {
    return way == Way::cholesky ? keeps_symmetry && keeps_definite : keeps_symmetry || !needs_symmetry(way);
  }
};

inline std::vector<int> random_exponents(std::size_t n, Random& random) {
  const int spread = random.chance(0.5) ? 3 : 20;
  std::vector<int> exponents(n);
  for (int& exponent : exponents) exponent = random.integer(-spread, spread);
  return exponents;
}

/// How far A and b may be scaled so that all numbers of a solve stay normal.
template <class Scalar>
int room_of(const System<Scalar>& system) {
  const auto [low, high] = exponent_range(system.A.values);
  const auto [b_low, b_high] = exponent_range(system.b);
  const int used = std::max({std::abs(low), std::abs(high), std::abs(b_low), std::abs(b_high)});
  return used <= 30 ? 300 : used <= 120 ? 40 : 1;
}

template <class Scalar>
Variant<Scalar> scale_all(const System<Scalar>& system, Random& random) {
  const int room = room_of(system), p = random.integer(-room, room), q = random.integer(-room, room);
  const std::vector<int> none(system.b.size()), rows(system.b.size(), p), right(system.b.size(), q);
  return {scaled(system.A, rows, none), scaled(system.b, right), Transposition::none,
          Variant<Scalar>::Signs::same, q - p};
}

template <class Scalar>
Variant<Scalar> scale_rows(const System<Scalar>& system, Random& random) {
  const auto rows = random_exponents(system.b.size(), random);
  return {scaled(system.A, rows, std::vector<int>(rows.size())), scaled(system.b, rows), Transposition::none,
          Variant<Scalar>::Signs::unrelated};
}

template <class Scalar>
Variant<Scalar> scale_columns(const System<Scalar>& system, Random& random) {
  const auto columns = random_exponents(system.b.size(), random);
  return {scaled(system.A, std::vector<int>(columns.size()), columns), system.b, Transposition::none,
          Variant<Scalar>::Signs::unrelated};
}

template <class Scalar>
Variant<Scalar> scale_congruently(const System<Scalar>& system, Random& random) {
  const auto both = random_exponents(system.b.size(), random);
  return {scaled(system.A, both, both), scaled(system.b, both)};
}

template <class Scalar>
Variant<Scalar> permute_congruently(const System<Scalar>& system, Random& random) {
  const auto order = random.permutation(system.b.size());
  return {permuted(system.A, order, order), permuted(system.b, order)};
}

template <class Scalar>
Variant<Scalar> permute_both(const System<Scalar>& system, Random& random) {
  const auto rows = random.permutation(system.b.size());
  return {permuted(system.A, rows, random.permutation(rows.size())), permuted(system.b, rows),
          Transposition::none, Variant<Scalar>::Signs::unrelated};
}

/// The solve with (Aᵀ)ᵀ.
template <class Scalar>
Variant<Scalar> transpose_twice(const System<Scalar>& system, Random&) {
  return {Reference::transpose(system.A), system.b, Transposition::transposed};
}

template <class Scalar>
Variant<Scalar> double_rows(const System<Scalar>& system, Random&) {
  return {doubled(system.A), doubled(system.b), Transposition::none, Variant<Scalar>::Signs::doubled};
}

template <class Scalar>
Variant<Scalar> add_zeros(const System<Scalar>& system, Random& random) {
  const std::size_t count = 1 + random.next() % (1 + system.b.size());
  return {with_zeros(system.A, count, system.is_symmetric, random), system.b};
}

template <class Scalar>
Variant<Scalar> remove_zeros(const System<Scalar>& system, Random&) {
  return {without_zeros(system.A), system.b};
}

template <class Scalar>
Variant<Scalar> negate_rows(const System<Scalar>& system, Random& random) {
  std::vector<bool> negative;
  for (std::size_t i = 0; i < system.b.size(); ++i) negative.push_back(random.chance(0.5));
  return {negated(system.A, negative), negated(system.b, negative), Transposition::none,
          Variant<Scalar>::Signs::unrelated};
}

template <class Scalar>
Variant<Scalar> negate_all(const System<Scalar>& system, Random&) {
  return {negated(system.A, std::vector<bool>(system.b.size(), true)), system.b, Transposition::none,
          Variant<Scalar>::Signs::swapped};
}

/// All relations between one solve and another. Splitting entries and histories of values are examined apart.
template <class Scalar>
std::vector<Relation<Scalar>> all_relations() {
  return {{"scale all", true, true, scale_all<Scalar>},
          {"scale rows", false, false, scale_rows<Scalar>},
          {"scale columns", false, false, scale_columns<Scalar>},
          {"scale congruently", true, true, scale_congruently<Scalar>},
          {"permute congruently", true, true, permute_congruently<Scalar>},
          {"permute rows and columns", false, false, permute_both<Scalar>},
          {"transpose twice", true, true, transpose_twice<Scalar>},
          {"double", true, true, double_rows<Scalar>},
          {"add zeros", true, true, add_zeros<Scalar>},
          {"remove zeros", true, true, remove_zeros<Scalar>},
          {"negate rows", false, false, negate_rows<Scalar>},
          {"negate all", true, false, negate_all<Scalar>}};
}

/// Inertia of a variant, from that of the system.
template <class Scalar>
Reference::Inertia expected_inertia(const Variant<Scalar>& variant, Reference::Inertia of_system) {
  const auto [positive, negative, zero] = of_system;
  switch (variant.signs) {
    case Variant<Scalar>::Signs::swapped:
      return {negative, positive, zero};
    case Variant<Scalar>::Signs::doubled:
      return {2 * positive, 2 * negative, 2 * zero};
    default:
      return of_system;
  }
}

}  // namespace lutra::Campaign

#endif
