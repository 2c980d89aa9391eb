// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_CAMPAIGNEXAMINATION_HPP
#define LUTRA_CAMPAIGNEXAMINATION_HPP

#include <cstdint>
#include <ctime>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "Lutra_CampaignReference.hpp"
#include "Lutra_CampaignRelations.hpp"

namespace lutra::Campaign {

/// Backward error (GMRES: relative residual) above which a solution may not be called a success.
constexpr double direct_tolerance = 1e-12, krylov_tolerance = 1.01e-10;
/// A matrix is far from singular if its least condition number is below this.
constexpr double well_conditioned = 1e11;
/// A matrix is near singular if a relative change of its entries by this makes it singular.
constexpr double near_singular = 1e-11;
/// The same in the norm of the equilibrated matrix, which docs/condition.md calls a null vector at 32ε.
constexpr double near_singular_in_norm = 1e-14;

/// Seconds of the processors that the process has used, which other processes do not lengthen.
inline double processor_seconds() {
  return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

/// Bounds on the work of one matrix.
struct Limits {
  double flops = 1e9;   ///< of one factorization
  double seconds = 20;  ///< of the processors, after which no further variant is begun
};

/// What was found, over all matrices.
class Findings {
 public:
  /// A broken rule.
  struct Failure {
    std::string matrix, relation, way, text;
  };
  struct Counts {
    std::int64_t compared = 0, failed = 0, borderline = 0, solved = 0;
  };

  Counts& counts(std::string_view relation, Way way) {
    return m_counts[{std::string(relation), std::string(name_of(way))}];
  }
  void fail(const std::string& matrix, std::string_view relation, Way way, std::string text) {
    ++counts(relation, way).failed;
    m_failures.push_back({matrix, std::string(relation), std::string(name_of(way)), std::move(text)});
  }
  const std::vector<Failure>& failures() const { return m_failures; }
  const std::map<std::pair<std::string, std::string>, Counts>& table() const { return m_counts; }

 private:
  std::vector<Failure> m_failures;
  std::map<std::pair<std::string, std::string>, Counts> m_counts;
};

/// Examines one matrix: solves it in every way, judges the outcomes by the references, and compares them with
/// those of its variants.
template <class Scalar>
class Examination {
 public:
  /// @param seed of the random choices of the variants
  Examination(const Case<Scalar>& matrix, std::uint64_t seed, const Limits& limits, Findings& findings);
  /// @returns false if the time did not suffice for all variants
  bool run();

  // The judgements, each of which may add a failure

  /// A success has a small recomputed error.
  void require_sound(std::string_view relation, Way way, const Outcome<Scalar>& outcome);
  /// The outcome of the matrix itself agrees with the references.
  void judge(Way way, const Outcome<Scalar>& outcome);
  /// The outcome of a variant agrees with that of the matrix itself.
  void compare(std::string_view relation, Way way, const Variant<Scalar>& variant,
               const Outcome<Scalar>& found);

 private:
  void solve_in_every_way();
  void judge_inertia(Way way, const Outcome<Scalar>& outcome);
  void vary(const Relation<Scalar>& relation);
  void compare_bits(std::string_view relation, Way way, int exponent, const Outcome<Scalar>& found);
  void refactorize();
  void split();
  /// A difference, which is a failure unless the matrix is nearly singular.
  void differ(std::string_view relation, Way way, const std::string& text);

  double condition();
  bool is_singular();
  double nearness();
  bool time_is_up() const { return processor_seconds() - m_start > m_limits.seconds; }
  std::size_t rows() const { return m_system.b.size(); }

  std::string m_name;
  System<Scalar> m_system;
  Random m_random;
  Limits m_limits;
  Findings& m_findings;
  std::map<Way, Outcome<Scalar>> m_solved;  ///< outcomes of the matrix itself
  std::optional<double> m_condition, m_nearness;
  std::optional<bool> m_is_singular;
  double m_start = processor_seconds();
};

}  // namespace lutra::Campaign

#endif
