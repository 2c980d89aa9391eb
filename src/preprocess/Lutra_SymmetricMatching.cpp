// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_SymmetricMatching.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "Lutra_EntryCosts.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_Instantiate.hpp"

namespace lutra {
namespace {

constexpr double large_diagonal = 0.125;  // scaled diagonal entry that needs no 2 × 2 pivot
/// After the first round the maxima of scaled rows are at most 1. Each further one halves their logarithms
/// (Ruiz 2001): nine bring 2⁻¹⁰²⁴ to 1/4.
constexpr int equilibration_rounds = 10;

/// A(R, R) for the rows with number[row] ≥ 0, renumbered accordingly.
template <class Scalar>
HostMatrix<Scalar, Ordinal, Offset> principal_submatrix(
    const CsrView<Scalar, Ordinal, Offset, Kokkos::HostSpace>& A, const std::vector<Ordinal>& number,
    Ordinal size) {
  HostMatrix<Scalar, Ordinal, Offset> sub{size, size, {0}, {}, {}};
  for (Ordinal i = 0; i < A.n_rows; ++i) {
    if (number[static_cast<std::size_t>(i)] < 0) continue;
    for (Offset p = A.row_map(i); p < A.row_map(i + 1); ++p) {
      const Ordinal column = number[static_cast<std::size_t>(A.entries(p))];
      if (column < 0) continue;
      sub.entries.push_back(column);
      sub.values.push_back(A.values(p));
    }
    sub.row_map.push_back(sub.nnz());
  }
  return sub;
}

/// Matches the rows covered by a maximum matching among themselves.
template <class Scalar>
SymmetricMatching match_covered_rows(const CsrView<Scalar, Ordinal, Offset, Kokkos::HostSpace>& A,
                                     const MatchingResult& matching) {
  const auto n = static_cast<std::size_t>(A.n_rows);
  std::vector<Ordinal> number(n, 0), rows;  // number of each covered row, and the inverse
  for (const Ordinal row : matching.unmatched_rows) number[static_cast<std::size_t>(row)] = -1;
  for (std::size_t i = 0; i < n; ++i) {
    if (number[i] < 0) continue;
    number[i] = static_cast<Ordinal>(rows.size());
    rows.push_back(static_cast<Ordinal>(i));
  }
  const auto sub = principal_submatrix(A, number, static_cast<Ordinal>(rows.size()));
  const auto covered = symmetrize(make_view(sub), match_exact(make_view(sub)));
  SymmetricMatching result;
  result.structural_rank = matching.numeric_rank_bound;
  result.row_of_column.assign(n, -1);
  result.scale.assign(n, 1.0);
  for (std::size_t k = 0; k < rows.size(); ++k) {
    const auto i = static_cast<std::size_t>(rows[k]);
    result.row_of_column[i] = rows[static_cast<std::size_t>(covered.row_of_column[k])];
    result.scale[i] = covered.scale[k];
  }
  for (const Ordinal row : matching.unmatched_rows) {
    double largest = 0;
    for (Offset p = A.row_map(row); p < A.row_map(row + 1); ++p) {
      const auto k = static_cast<std::size_t>(A.entries(p));
      if (number[k] >= 0)
        largest = std::max(largest, Impl::magnitude_in_double(A.values(p)) * result.scale[k]);
    }
    if (largest > 0 && std::isfinite(1 / largest)) result.scale[static_cast<std::size_t>(row)] = 1 / largest;
  }
  return result;
}

/// Number of entries common to rows i and j over that of their union.
double similarity(const CsrPattern<Ordinal, Offset, Kokkos::HostSpace>& A, Ordinal i, Ordinal j) {
  Offset p = A.row_map(i), q = A.row_map(j), common = 0;
  const Offset p_end = A.row_map(i + 1), q_end = A.row_map(j + 1);
  const Offset sum = p_end - p + q_end - q;
  while (p < p_end && q < q_end) {
    const Ordinal a = A.entries(p), b = A.entries(q);
    common += a == b ? 1 : 0;
    p += a <= b ? 1 : 0;
    q += b <= a ? 1 : 0;
  }
  return static_cast<double>(common) / static_cast<double>(std::max<Offset>(sum - common, 1));
}

/// Splits cycles and chains of a partial permutation into pairs.
template <class Scalar>
class CycleSplitter {
 public:
  CycleSplitter(const CsrView<Scalar, Ordinal, Offset, Kokkos::HostSpace>& A,
                const SymmetricMatching& matching)
      : m_pattern(A.pattern()), m_diagonal(static_cast<std::size_t>(A.n_rows), 0.0) {
    for (Ordinal i = 0; i < A.n_rows; ++i) {
      m_partner.push_back(i);
      for (Offset p = A.row_map(i); p < A.row_map(i + 1); ++p) {
        const auto k = static_cast<std::size_t>(i);
        if (A.entries(p) == i)
          m_diagonal[k] = Impl::magnitude_in_double(A.values(p)) * matching.scale[k] * matching.scale[k];
      }
    }
  }

  /// @param closed whether the last row is matched to the first row's column
  void split(const std::vector<Ordinal>& cycle, bool closed) {
    const std::size_t length = cycle.size();
    if (length < 2) return;
    std::size_t first = 0;  // start of the first pair
    if (closed && length % 2 == 1) {
      const auto largest = std::ranges::max_element(
          cycle, {}, [this](Ordinal i) { return m_diagonal[static_cast<std::size_t>(i)]; });
      first = static_cast<std::size_t>(largest - cycle.begin()) + 1;
    } else if (closed && length > 2) {
      first = similarity_from(cycle, 1) > similarity_from(cycle, 0) ? 1 : 0;
    }
    for (std::size_t k = 0; k + 1 < length; k += 2)
      join(cycle[(first + k) % length], cycle[(first + k + 1) % length]);
  }
  std::vector<Ordinal> partners() && { return std::move(m_partner); }

 private:
  double similarity_from(const std::vector<Ordinal>& cycle, std::size_t first) const {
    double sum = 0;
    for (std::size_t k = 0; k < cycle.size(); k += 2)
      sum += similarity(m_pattern, cycle[first + k], cycle[(first + k + 1) % cycle.size()]);
    return sum;
  }
  void join(Ordinal i, Ordinal j) {
    const auto a = static_cast<std::size_t>(i), b = static_cast<std::size_t>(j);
    if (std::min(m_diagonal[a], m_diagonal[b]) >= large_diagonal) return;
    m_partner[a] = j;
    m_partner[b] = i;
  }

  CsrPattern<Ordinal, Offset, Kokkos::HostSpace> m_pattern;
  std::vector<double> m_diagonal;  ///< [n] scaled magnitudes
  std::vector<Ordinal> m_partner;
};

template <class Index>
std::vector<Ordinal> order_pairs_as(const CsrPattern<Ordinal, Offset, Kokkos::HostSpace>& pattern,
                                    const std::vector<Ordinal>& partner, Ordering kind) {
  const auto permutation = order_pairs(symmetric_graph<Index>(pattern), partner, kind);
  return {permutation.begin(), permutation.end()};
}

}  // namespace

template <class Scalar>
SymmetricMatching symmetrize(const CsrView<Scalar, Ordinal, Offset, Kokkos::HostSpace>& A,
                             MatchingResult&& matching) {
  if (matching.numeric_rank_bound < A.n_rows) return match_covered_rows(A, matching);
  SymmetricMatching result;
  result.structural_rank = matching.numeric_rank_bound;
  result.row_of_column = std::move(matching.row_of_column);
  result.scale = std::move(matching.row_scale);
  for (std::size_t i = 0; i < result.scale.size(); ++i)
    result.scale[i] = std::sqrt(result.scale[i]) * std::sqrt(matching.col_scale[i]);
  return result;
}

template <class Scalar>
std::vector<double> equilibrate(const CsrView<Scalar, Ordinal, Offset, Kokkos::HostSpace>& A) {
  std::vector<double> scale(static_cast<std::size_t>(A.n_rows), 1.0);
  auto next = scale;
  for (int round = 0; round < equilibration_rounds; ++round) {
    for (Ordinal i = 0; i < A.n_rows; ++i) {
      double largest = 0;
      for (Offset p = A.row_map(i); p < A.row_map(i + 1); ++p)
        largest = std::max(
            largest, Impl::magnitude_in_double(A.values(p)) * scale[static_cast<std::size_t>(A.entries(p))]);
      const double own = scale[static_cast<std::size_t>(i)];
      const double scaled = std::sqrt(largest) * std::sqrt(own);
      if (scaled > 0 && std::isnormal(own / scaled)) next[static_cast<std::size_t>(i)] = own / scaled;
    }
    scale = next;
  }
  return scale;
}

void round_to_powers_of_two(std::vector<double>& scale, int max_exponent) {
  for (double& s : scale)
    s = std::ldexp(1.0, std::clamp(static_cast<int>(std::lround(std::log2(s))), -max_exponent, max_exponent));
}

template <class Scalar>
std::vector<Ordinal> pair_candidates(const CsrView<Scalar, Ordinal, Offset, Kokkos::HostSpace>& A,
                                     const SymmetricMatching& matching) {
  CycleSplitter<Scalar> splitter(A, matching);
  const auto& next = matching.row_of_column;
  std::vector<char> is_matched(next.size(), 0), seen(next.size(), 0);
  for (const Ordinal row : next) {
    if (row >= 0) is_matched[static_cast<std::size_t>(row)] = 1;
  }
  std::vector<Ordinal> cycle;
  for (const bool chains : {true, false}) {  // a chain starts at a row without a column
    for (Ordinal start = 0; start < A.n_rows; ++start) {
      if (chains && is_matched[static_cast<std::size_t>(start)]) continue;
      cycle.clear();
      for (Ordinal j = start; j >= 0 && !seen[static_cast<std::size_t>(j)];
           j = next[static_cast<std::size_t>(j)]) {
        seen[static_cast<std::size_t>(j)] = 1;
        cycle.push_back(j);
      }
      splitter.split(cycle, !chains);
    }
  }
  return std::move(splitter).partners();
}

template <class Index>
PairedGraph<Index> compress_pairs(const SymmetricGraph<Index>& graph, const std::vector<Ordinal>& partner) {
  const Index n = graph.size();
  std::vector<Index> group(static_cast<std::size_t>(n));  // group of each vertex
  PairedGraph<Index> paired;
  for (Index v = 0; v < n; ++v) {
    const auto other = static_cast<Index>(partner[static_cast<std::size_t>(v)]);
    group[static_cast<std::size_t>(v)] =
        other < v ? group[static_cast<std::size_t>(other)] : static_cast<Index>(paired.first.size());
    if (other < v) continue;
    paired.first.push_back(v);
    paired.partner.push_back(other);
    paired.weight.push_back(other == v ? 1 : 2);
  }
  SymmetricGraph<Index>& compressed = paired.graph;
  compressed.row_map.push_back(0);
  std::vector<Index> last(paired.first.size(), -1);  // last[g]: group for which g was last found as a
                                                     // neighbour
  for (std::size_t g = 0; g < paired.first.size(); ++g) {
    const Index members[] = {paired.first[g], paired.partner[g]};
    last[g] = static_cast<Index>(g);
    for (Index m = 0; m < paired.weight[g]; ++m) {
      const auto v = static_cast<std::size_t>(members[m]);
      for (Index p = graph.row_map[v]; p < graph.row_map[v + 1]; ++p) {
        const Index h = group[static_cast<std::size_t>(graph.neighbours[static_cast<std::size_t>(p)])];
        if (last[static_cast<std::size_t>(h)] == static_cast<Index>(g)) continue;
        last[static_cast<std::size_t>(h)] = static_cast<Index>(g);
        compressed.neighbours.push_back(h);
      }
    }
    std::sort(compressed.neighbours.begin() + static_cast<std::ptrdiff_t>(compressed.row_map.back()),
              compressed.neighbours.end());
    compressed.row_map.push_back(static_cast<Index>(compressed.neighbours.size()));
  }
  return paired;
}

template <class Index>
std::vector<Index> expand_pairs(const PairedGraph<Index>& paired, const std::vector<Index>& order) {
  std::vector<Index> permutation;
  permutation.reserve(2 * order.size());
  for (const Index k : order) {
    const auto g = static_cast<std::size_t>(k);
    permutation.push_back(paired.first[g]);
    if (paired.weight[g] == 2) permutation.push_back(paired.partner[g]);
  }
  return permutation;
}

template <class Index>
std::vector<Index> order_pairs(const SymmetricGraph<Index>& graph, const std::vector<Ordinal>& partner,
                               Ordering kind, const RunControl& run) {
  const auto paired = compress_pairs(graph, partner);
  return expand_pairs(paired, order(paired.graph, kind, paired.weight, run));
}

std::vector<Ordinal> order_pairs(const CsrPattern<Ordinal, Offset, Kokkos::HostSpace>& pattern,
                                 const std::vector<Ordinal>& partner, Ordering kind) {
  return graph_fits_int(pattern) ? order_pairs_as<int>(pattern, partner, kind)
                                 : order_pairs_as<std::int64_t>(pattern, partner, kind);
}

#define LUTRA_SYMMETRIC_MATCHING(Scalar)                                                                    \
  template SymmetricMatching symmetrize(const CsrView<Scalar, Ordinal, Offset, Kokkos::HostSpace>&,         \
                                        MatchingResult&&);                                                  \
  template std::vector<double> equilibrate(const CsrView<Scalar, Ordinal, Offset, Kokkos::HostSpace>&);     \
  template std::vector<Ordinal> pair_candidates(const CsrView<Scalar, Ordinal, Offset, Kokkos::HostSpace>&, \
                                                const SymmetricMatching&);
LUTRA_FOR_EACH_SCALAR(LUTRA_SYMMETRIC_MATCHING)

#define LUTRA_PAIRS(Index)                                                                               \
  template PairedGraph<Index> compress_pairs(const SymmetricGraph<Index>&, const std::vector<Ordinal>&); \
  template std::vector<Index> expand_pairs(const PairedGraph<Index>&, const std::vector<Index>&);        \
  template std::vector<Index> order_pairs(const SymmetricGraph<Index>&, const std::vector<Ordinal>&,     \
                                          Ordering, const RunControl&);
LUTRA_PAIRS(int)
LUTRA_PAIRS(std::int64_t)
#undef LUTRA_PAIRS

}  // namespace lutra
