// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_LDLTATTEMPTS_HPP
#define LUTRA_LDLTATTEMPTS_HPP

#include <cmath>
#include <cstdint>
#include <string_view>

#include "Lutra_DiagonalPivots.hpp"
#include "Lutra_Factorization.hpp"
#include "Lutra_FrontLdlt.hpp"
#include "Lutra_Options.hpp"
#include "Lutra_PivotRule.hpp"
#include "Lutra_ScalarTraits.hpp"

// Pivots of LDLᵀ in place, by the kernels of L·U: on one process (Lutra_LdltEngine.hpp) and on several ranks.

namespace lutra::Impl {

/// How a factorization finds its pivots, each kind tried only after those before it have failed.
enum class LdltAttempt {
  diagonal,      ///< the diagonal in order, by the kernels of L·U
  pairs,         ///< likewise, with pivots of order two where they are better
  interchanges,  ///< symmetric interchanges within fronts, or within tiles of fronts, by the kernels of L·U
  delays         ///< by threshold, with columns delayed to the parent front
};

/// Name in the report.
constexpr std::string_view name_of(LdltAttempt attempt) {
  return attempt == LdltAttempt::diagonal       ? "diagonal"
         : attempt == LdltAttempt::pairs        ? "pairs"
         : attempt == LdltAttempt::interchanges ? "interchanges"
                                                : "delays";
}

inline LdltPivotRule rule_of(const LdltOptions& options) {
  LdltPivotRule rule;
  rule.pivoting = options.pivoting;
  rule.symmetry = options.symmetry;
  rule.definite = options.positive_definite;
  rule.threshold = options.pivot_threshold;
  return rule;
}

/// The attempt after one that has failed.
constexpr LdltAttempt next_attempt(LdltAttempt attempt, const LdltPivotRule& rule) {
  if (rule.pivoting != Pivoting::threshold) return LdltAttempt::delays;
  return attempt == LdltAttempt::diagonal ? LdltAttempt::pairs
         : attempt == LdltAttempt::pairs  ? LdltAttempt::interchanges
                                          : LdltAttempt::delays;
}

/// Symmetric interchanges of an attempt in place.
struct InPlacePivoting {
  double threshold = 0;  ///< 0: none
  Interchanges kind = Interchanges::symmetric;
};
inline InPlacePivoting pivoting_of(LdltAttempt attempt, const LdltPivotRule& rule) {
  // pivots are chosen more strictly than they are tested: √u for u
  return {attempt == LdltAttempt::diagonal ? 0.0 : std::sqrt(rule.threshold),
          attempt == LdltAttempt::pairs ? Interchanges::pairs : Interchanges::symmetric};
}

/// Returns the tolerance for zero pivots. In fronts, entries that would be zero in exact arithmetic can reach
/// several hundred ε. A matrix that may be nonsingular starts with a smaller tolerance, which is raised if a
/// null vector without a zero pivot is found.
/// @param is_singular whether the pattern makes the matrix singular
template <class Scalar>
double zero_tolerance(const LdltOptions& options, bool is_singular) {
  const int factor = is_singular && sizeof(RealOf<Scalar>) == 8 ? 1024 : 16;
  return options.zero_tolerance > 0 ? options.zero_tolerance
                                    : factor * static_cast<double>(epsilon_of<Scalar>);
}

/// Perturbation with which an attempt in place detects pivots that would have to be delayed.
template <class Scalar>
double smallest_in_place(const LdltOptions& options, const LdltPivotRule& rule) {
  return rule.pivoting == Pivoting::threshold ? zero_tolerance<Scalar>(options, false) : 0.0;
}

/// Returns whether the pivots are accepted. With a threshold u either all entries of L are at most 1/u, or
/// all products of L·D·Lᵀ at most what that implies for pivots as large as the entries of A, which bounds the
/// backward error alike. For Cholesky the signs of D decide.
/// @param lu of the kernels of L·U
/// @param n  pivots
inline bool passes(const FactorizationOutcome& lu, const DiagonalPivots& pivots, const LdltPivotRule& rule,
                   std::int64_t n) {
  if (!lu.is_finite() || lu.perturbed > 0 || !(pivots.largest_d < HUGE_VAL)) return false;
  if (rule.definite) return pivots.positive == n;
  if (rule.pivoting == Pivoting::none) return true;
  const double bound = 1 / rule.threshold;
  return pivots.largest_l <= bound || pivots.largest_term <= bound * bound * lu.largest_entry;
}

/// Returns whether the factorization counts eigenvalues by sign.
template <class Scalar>
bool has_inertia(const LdltPivotRule& rule) {
  return !ScalarTraits<Scalar>::is_complex || rule.symmetry == Symmetry::hermitian;
}

/// Turns the outcome of L·U into that of L·D·Lᵀ whose pivots were accepted.
/// @param entries of L and D
template <class Scalar>
void take_pivots(const DiagonalPivots& pivots, LdltAttempt attempt, const LdltPivotRule& rule,
                 std::int64_t entries, FactorizationOutcome& outcome) {
  outcome.interchanged.reset();
  outcome.largest_factor = pivots.largest_d;
  outcome.smallest_pivot = pivots.smallest_d;
  SymmetricOutcome& symmetric = outcome.symmetric.emplace();
  if (has_inertia<Scalar>(rule)) symmetric.inertia = {pivots.positive, pivots.negative, 0};
  symmetric.two_by_two = pivots.pairs;
  symmetric.attempt = name_of(attempt);
  symmetric.entries = entries;
}

/// Completes the options with the choices that follow from others.
inline LdltOptions completed(LdltOptions options) {
  if (options.positive_definite) {
    options.pivoting = Pivoting::none;
    options.symmetry = Symmetry::hermitian;
    if (options.matching == Matching::automatic) options.matching = Matching::none;
  }
  if (options.pivoting == Pivoting::automatic) options.pivoting = Pivoting::threshold;
  return options;
}

}  // namespace lutra::Impl

#endif
