// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_HSLFACTORS_HPP
#define LUTRA_HSLFACTORS_HPP

#include <memory>
#include <string>
#include <vector>

#include "Lutra_HslOptions.hpp"
#include "Lutra_HslPattern.hpp"
#include "Lutra_Ma97.h"

namespace lutra::Hsl {

/// What ma97_analyse_d keeps. It does not change, so that several threads may factorize with it.
struct Structure {
  Pattern pattern;
  int ordering;                     ///< ma97_control_d::ordering
  std::vector<std::int64_t> order;  ///< the caller's elimination order: rows from 0; empty: Lutra's
  Options options;                  ///< of the environment
};

/// What a factorization is asked for.
struct Request {
  bool positive_definite = false;
  bool goes_on = false;   ///< with singular matrices
  bool rescales = false;  ///< scales by a matching of these values
  double small = 0;       ///< least entry that counts, if the matrix is scaled
  double threshold = 0;   ///< of pivoting
};

/// What ma97_factor_d keeps: a solver of Lutra with its analysis, made from the first values, and its
/// factors. The analysis is made anew for another structure, another kind of request or a lower threshold.
class Factors {
 public:
  Factors() = default;
  Factors(const Factors&) = delete;
  Factors& operator=(const Factors&) = delete;
  ~Factors() { lutra_destroy(m_solver); }

  /// Factorizes S·A·S. Writes counts of the report to info.
  /// @param scale [n] S, or null. With it, a matrix scaled by Lutra before keeps those scales too. Filled
  /// with
  ///              ones if the request rescales.
  /// @returns Lutra's status, 0 or above; numerically singular, too, if there is no inertia
  /// @throws Failure
  lutra_status factorize(const std::shared_ptr<const Structure>& structure, const double* val,
                         const Request& request, double* scale, ma97_info_d& info);

  /// Overwrites the columns of x by solutions with A, or with some of its factors.
  /// @param parts sum of lutra_parts; 0: all of them, as one solve
  /// @throws Failure
  void solve(const Structure& structure, int parts, int nrhs, double* x, int ldx);

  /// Returns Lutra's report as JSON. @throws Failure
  std::string report();

 private:
  /// The part of a request that an analysis depends on.
  struct Kind {
    bool positive_definite, goes_on, is_scaled;
    double small;
    bool operator==(const Kind&) const = default;
  };

  const double* scaled_values(const Pattern& pattern, const double* val);
  void analyze(const std::shared_ptr<const Structure>& structure, const lutra_matrix& A, const Kind& kind,
               double threshold);
  void raise_threshold(double threshold);
  bool describe(ma97_info_d& info);
  void multiply_by_scale(int nrhs, double* x, int ldx) const;

  lutra_solver* m_solver = nullptr;
  std::shared_ptr<const Structure> m_structure;  ///< of the analysis; null: none
  Kind m_kind{};                                 ///< of the analysis
  double m_first_threshold = 0;                  ///< of the analysis
  double m_threshold = 0;                        ///< at present; it only rises
  long m_flops = 0;                              ///< of a factorization, as the analysis predicts
  bool m_has_factors = false;
  std::vector<double> m_scale;   ///< [n] the caller's S; empty: ones
  std::vector<double> m_values;  ///< merged and scaled values, where they are not those given
};

}  // namespace lutra::Hsl

#endif
