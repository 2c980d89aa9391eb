// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_REFERENCE_PARILUT_HPP
#define LUTRA_REFERENCE_PARILUT_HPP

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "Lutra_Reference_Lu.hpp"

namespace lutra::Reference {

/// ParILUT over maps, in long double. Sweeps use the values of the previous sweep, thresholds are exact, and
/// entries of A are twice as important as others. Candidates with keys below a quarter of the last thresholds
/// are dropped. If L and U with candidates exceed twice the limits, the smallest candidates are dropped too,
/// in whole bins of a quarter octave, so that there are as many candidates as the limits allow entries,
/// divided between L and U like the limits.
template <class Scalar>
class ParIlut {
 public:
  using W = Wide<Scalar>;
  using Row = std::map<std::size_t, W>;

  /// A with its diagonal, and the lower part divided by the pivots.
  template <class MatrixType>
  explicit ParIlut(const MatrixType& a, long double shift = 0) {
    const auto n = static_cast<std::size_t>(a.n_rows);
    m_A.resize(n);
    m_size.assign(n, 0);
    m_column.assign(n, 0);
    for (std::size_t i = 0; i < n; ++i) {
      for_row(a, i, [&](std::size_t j, const Scalar& value) {
        m_A[i][j] = widen(value);
        m_size[i] = std::max(m_size[i], std::abs(m_A[i][j]));
        m_column[j] = std::max(m_column[j], std::abs(m_A[i][j]));
        ++(j < i ? n_lower : n_upper);
      });
      n_upper -= m_A[i].count(i);
    }
    factors = m_A;
    for (std::size_t i = 0; i < n; ++i) {
      factors[i].try_emplace(i, W(0));
      if (m_A[i].count(i) > 0 && shift > 0) m_A[i][i] += shift * m_size[i] * m_A[i][i] / std::abs(m_A[i][i]);
    }
    const std::vector<Row> u = factors;
    for (std::size_t i = 0; i < n; ++i) {
      for (auto& [j, value] : factors[i]) {
        if (j < i) value = quotient(value, u[j].at(j));
      }
    }
  }

  /// One step. `limit_lower` and `limit_upper` bound entries of L and U without diagonals.
  void step(std::size_t limit_lower, std::size_t limit_upper) {
    const std::size_t before = n_entries();
    add_candidates(limit_lower, limit_upper);
    n_candidates = n_entries() - before;
    sweep();
    m_threshold[0] = drop(limit_lower, true);
    m_threshold[1] = drop(limit_upper, false);
    sweep();
  }

  /// Root mean square over the rows of ‖row of A − L·U‖, relative to the largest entry of A in the row.
  long double residual() const {
    long double sum = 0;
    for (std::size_t i = 0; i < factors.size(); ++i) {
      for (const auto& [j, value] : residual_row(i)) sum += std::norm(value / m_size[i]);
    }
    return std::sqrt(sum / static_cast<long double>(factors.size()));
  }

  /// ‖A − L·U‖_F over the pattern of L and U.
  long double nonlinear_residual() const {
    long double sum = 0;
    for (std::size_t i = 0; i < factors.size(); ++i) {
      for (const auto& [j, value] : residual_row(i)) sum += factors[i].count(j) > 0 ? std::norm(value) : 0;
    }
    return std::sqrt(sum);
  }

  /// Threshold of the last step for L (0) and U (1); 0 if all entries stayed.
  long double threshold(int factor) const { return m_threshold[factor]; }

  std::size_t n_candidates = 0;  ///< of the last step
  std::vector<Row> factors;      ///< rows of L without its diagonal and of U
  std::size_t n_lower = 0, n_upper = 0;

 private:
  std::size_t n_entries() const {
    std::size_t sum = 0;
    for (const Row& row : factors) sum += row.size();
    return sum;
  }

  static W quotient(const W& w, const W& u) { return u == W(0) ? W(0) : w / u; }

  Row residual_row(std::size_t i) const {
    Row r = m_A[i];
    for (const auto& [k, l] : factors[i]) {
      if (k >= i) r[k] -= l;
      if (k >= i) continue;
      for (auto u = factors[k].find(k); u != factors[k].end(); ++u) r[u->first] -= l * u->second;
    }
    return r;
  }

  struct Candidate {
    std::size_t i, j;
    W value;
    long double key;
  };

  void add_candidates(std::size_t limit_lower, std::size_t limit_upper) {
    std::vector<Candidate> candidates[2];  // of L, of U
    std::size_t n_entries = 0;
    for (std::size_t i = 0; i < factors.size(); ++i) {
      n_entries += factors[i].size();
      for (const auto& [j, value] : residual_row(i)) {
        if (factors[i].count(j) > 0) continue;
        const W first = j < i ? quotient(value, factors[j].at(j)) : value;
        const Candidate candidate{i, j, first, key(i, j, first)};
        if (candidate.key >= std::max(m_threshold[j > i] / 4, m_least[j > i]))
          candidates[j > i].push_back(candidate);
      }
    }
    n_entries += candidates[0].size() + candidates[1].size();
    const bool is_limited = n_entries > 2 * (limit_lower + limit_upper) + factors.size();
    for (int factor = 0; factor < 2; ++factor) {
      auto& of_factor = candidates[factor];
      long double& least = m_least[factor];
      if (is_limited) least = std::max(least, min_key(of_factor, factor == 0 ? limit_lower : limit_upper));
      for (const Candidate& candidate : of_factor) {
        if (candidate.key >= least) factors[candidate.i][candidate.j] = candidate.value;
      }
    }
  }

  /// The least key of the bins that together have at most `limit` candidates, or of the first bin.
  static long double min_key(const std::vector<Candidate>& candidates, std::size_t limit) {
    std::map<long double, std::size_t, std::greater<>> bins;
    for (const Candidate& candidate : candidates) {
      int exponent = 0;
      const long double mantissa = std::frexp(candidate.key, &exponent);
      ++bins[std::ldexp(std::floor(8 * mantissa) / 8, exponent)];
    }
    std::size_t sum = 0;
    long double least = 0;
    for (const auto& [bin, count] : bins) {
      if (sum > 0 && sum + count > limit) break;
      sum += count;
      least = bin;
      if (sum > limit) break;
    }
    return least;
  }

  void sweep() {
    const std::vector<Row> old = factors;
    for (std::size_t i = 0; i < factors.size(); ++i) {
      Row& row = factors[i];
      for (auto& [j, value] : row) value = m_A[i].count(j) > 0 ? m_A[i].at(j) : W(0);
      for (auto& [k, value] : row) {
        if (k >= i) break;
        value = quotient(value, old[k].at(k));
        for (auto u = old[k].upper_bound(k); u != old[k].end(); ++u) {
          if (row.count(u->first) > 0) row[u->first] -= value * u->second;
        }
      }
    }
  }

  long double key(std::size_t i, std::size_t j, const W& value) const {
    return std::abs(value) / std::sqrt(m_size[i] * (j < i ? 1 / m_size[j] : m_column[j]));
  }

  /// Returns the threshold, or 0 if all entries stay.
  long double drop(std::size_t limit, bool lower) {
    std::vector<long double> keys;
    const auto for_all = [&](const auto& visit) {
      for (std::size_t i = 0; i < factors.size(); ++i) {
        for (const auto& [j, value] : factors[i]) {
          if (lower ? j < i : j > i) visit(i, j, key(i, j, value) * (m_A[i].count(j) > 0 ? 2 : 1));
        }
      }
    };
    for_all([&](std::size_t, std::size_t, long double k) { keys.push_back(k); });
    if (keys.size() <= limit) return 0;
    std::sort(keys.begin(), keys.end(), std::greater<>());
    const long double threshold = limit > 0 ? keys[limit - 1] : keys[0] + 1;
    auto ties =
        static_cast<std::ptrdiff_t>(limit) - (std::find(keys.begin(), keys.end(), threshold) - keys.begin());
    std::vector<Row> kept(factors.size());
    for_all([&](std::size_t i, std::size_t j, long double k) {
      if (k > threshold || (k == threshold && limit > 0 && ties-- > 0)) kept[i][j] = factors[i].at(j);
    });
    for (std::size_t i = 0; i < factors.size(); ++i) {
      for (const auto& [j, value] : factors[i]) {
        if (lower ? j >= i : j <= i) kept[i][j] = value;
      }
    }
    factors = std::move(kept);
    return threshold;
  }

  std::vector<Row> m_A;
  long double m_least[2] = {0, 0};            ///< of candidates, from the last step with too many
  long double m_threshold[2] = {0, 0};        ///< of the last step, for L and U
  std::vector<long double> m_size, m_column;  ///< largest magnitude of rows, of columns
};

}  // namespace lutra::Reference

#endif
