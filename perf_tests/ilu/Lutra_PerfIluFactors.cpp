// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <cmath>
#include <limits>

#include "Lutra_Matching.hpp"
#include "Lutra_PerfIlu.hpp"

namespace lutra::Perf {
namespace {

bool has_diagonal(const HostMatrix<double>& A) {
  for (std::size_t i = 0; i < static_cast<std::size_t>(A.n_rows); ++i) {
    const auto begin = A.entries.begin() + A.row_map[i], end = A.entries.begin() + A.row_map[i + 1];
    const auto found = std::lower_bound(begin, end, static_cast<int>(i));
    if (found == end || *found != static_cast<int>(i) ||
        A.values[static_cast<std::size_t>(found - A.entries.begin())] == 0)
      return false;
  }
  return true;
}

}  // namespace

HostFactors join_factors(int n, const std::vector<std::int64_t>& lower_map, const std::vector<int>& lower,
                         const std::vector<double>& lower_values, const std::vector<std::int64_t>& upper_map,
                         const std::vector<int>& upper, const std::vector<double>& upper_values) {
  HostFactors joined{n, n, {0}, {}, {}};
  std::vector<std::pair<int, double>> row;
  for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) {
    row.clear();
    for (auto p = static_cast<std::size_t>(lower_map[i]); p < static_cast<std::size_t>(lower_map[i + 1]); ++p)
      if (lower[p] < static_cast<int>(i)) row.emplace_back(lower[p], lower_values[p]);
    for (auto p = static_cast<std::size_t>(upper_map[i]); p < static_cast<std::size_t>(upper_map[i + 1]); ++p)
      row.emplace_back(upper[p], upper_values[p]);
    std::sort(row.begin(), row.end());
    for (const auto& [column, value] : row) {
      joined.entries.push_back(column);
      joined.values.push_back(value);
    }
    joined.row_map.push_back(static_cast<std::int64_t>(joined.entries.size()));
  }
  return joined;
}

PatternErrors pattern_errors(const HostMatrix<double>& A, const HostFactors& LU) {
  const auto n = static_cast<std::size_t>(A.n_rows);
  std::vector<long double> sum(n, 0), magnitude(n, 0);
  std::vector<char> in_row(n, 0);
  const auto each_entry = [](const auto& matrix, std::size_t i, const auto& visit) {
    for (auto p = static_cast<std::size_t>(matrix.row_map[i]);
         p < static_cast<std::size_t>(matrix.row_map[i + 1]); ++p)
      visit(static_cast<std::size_t>(matrix.entries[p]), static_cast<long double>(matrix.values[p]));
  };
  long double worst = 0, rest = 0, whole = 0;
  for (std::size_t i = 0; i < n; ++i) {
    each_entry(A, i, [&](std::size_t j, long double a) {
      in_row[j] = 1;
      sum[j] = a;
      magnitude[j] = std::fabs(a);
    });
    const auto subtract = [&](long double l, std::size_t k) {
      each_entry(LU, k, [&](std::size_t j, long double u) {
        if (j < k || !in_row[j]) return;
        sum[j] -= l * u;
        magnitude[j] += std::fabs(l * u);
      });
    };
    each_entry(LU, i, [&](std::size_t k, long double l) {
      if (k < i) subtract(l, k);
    });
    subtract(1, i);
    each_entry(A, i, [&](std::size_t j, long double a) {
      if (magnitude[j] > 0) worst = std::max(worst, std::fabs(sum[j]) / magnitude[j]);
      if (!std::isfinite(sum[j])) worst = std::numeric_limits<long double>::infinity();
      rest += sum[j] * sum[j];
      whole += a * a;
      in_row[j] = 0;
    });
  }
  return {static_cast<double>(worst), static_cast<double>(std::sqrt(rest / whole))};
}

SharedMatrix with_diagonal(const HostMatrix<double>& A) {
  if (A.n_rows != A.n_cols) return {};
  if (has_diagonal(A)) return std::make_shared<HostMatrix<double>>(A);
  const auto matching = match_exact(make_view(A));
  if (matching.numeric_rank_bound < A.n_rows) return {};
  auto matched = std::make_shared<HostMatrix<double>>();
  matched->n_rows = matched->n_cols = A.n_rows;
  matched->row_map.push_back(0);
  for (const int i : matching.row_of_column) {
    const auto row = static_cast<std::size_t>(i);
    for (auto p = static_cast<std::size_t>(A.row_map[row]); p < static_cast<std::size_t>(A.row_map[row + 1]);
         ++p) {
      const int j = A.entries[p];
      matched->entries.push_back(j);
      matched->values.push_back(matching.row_scale[row] * A.values[p] *
                                matching.col_scale[static_cast<std::size_t>(j)]);
    }
    matched->row_map.push_back(static_cast<std::int64_t>(matched->entries.size()));
  }
  return matched;
}

std::vector<IluKind> all_ilu_kinds() {
  std::vector<IluKind> kinds = lutra_ilu_kinds();
  const auto add = [&](const std::vector<IluKind>& more) {
    kinds.insert(kinds.end(), more.begin(), more.end());
  };
  add(kokkos_kernels_ilu_kinds());
#ifdef LUTRA_PERF_CUSPARSE
  add(cusparse_ilu_kinds());
#endif
#ifdef LUTRA_PERF_GINKGO
  add(ginkgo_ilu_kinds());
#endif
  return kinds;
}

}  // namespace lutra::Perf
