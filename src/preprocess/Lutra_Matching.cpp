// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Maximum product matching: I. S. Duff and J. Koster, SIAM J. Matrix Anal. Appl. 22 (2001), section 4. The
// product of the matched magnitudes is greatest where the sum of the costs log(max of the row) − log|a| is
// least, and the dual of that assignment problem gives the scaling.
#include "Lutra_Matching.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>

#include "Lutra_Assignment.hpp"
#include "Lutra_Error.hpp"
#include "Lutra_Instantiate.hpp"

namespace lutra {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// Exponents that keep exp() finite and normal in double, with room for a product with one more rounding.
constexpr double largest_exponent = 707.0;

template <class Real>
double magnitude(const Real& value) {
  return std::abs(static_cast<double>(value));
}

template <class Real>
double magnitude(const Kokkos::complex<Real>& value) {
  const double length = std::hypot(static_cast<double>(value.real()), static_cast<double>(value.imag()));
  return std::min(length, std::numeric_limits<double>::max());
}

template <class Scalar, class Ordinal, class Offset>
void check_square(const CsrView<Scalar, Ordinal, Offset, Kokkos::HostSpace>& matrix) {
  if (matrix.n_rows == matrix.n_cols) return;
  throw InputError("matrix: a matching for a diagonal needs a square matrix, this one has " +
                   std::to_string(matrix.n_rows) + " rows and " + std::to_string(matrix.n_cols) + " columns");
}

struct Costs {
  std::vector<double> of_entry;    // [nnz] log(largest of the row) − log|a| ≥ 0; infinity for a zero
  std::vector<double> row_origin;  // [n] log(largest of the row); 0 for a row without nonzero entry
  bool has_zeros = false;          // whether an entry's value is zero
};

template <class Scalar, class Ordinal, class Offset>
Costs costs(const CsrView<Scalar, Ordinal, Offset, Kokkos::HostSpace>& matrix) {
  Costs result;
  result.of_entry.resize(matrix.entries.extent(0));
  result.row_origin.assign(static_cast<std::size_t>(matrix.n_rows), 0.0);
  for (Ordinal r = 0; r < matrix.n_rows; ++r) {
    double largest = 0;
    for (Offset k = matrix.row_map(r); k < matrix.row_map(r + 1); ++k) {
      const double size = magnitude(matrix.values(k));
      result.of_entry[static_cast<std::size_t>(k)] = size;
      largest = std::max(largest, size);
    }
    const double origin = largest > 0 ? std::log(largest) : 0.0;
    result.row_origin[static_cast<std::size_t>(r)] = origin;
    for (Offset k = matrix.row_map(r); k < matrix.row_map(r + 1); ++k) {
      double& entry = result.of_entry[static_cast<std::size_t>(k)];
      if (!(entry > 0)) result.has_zeros = true;
      entry = entry > 0 ? origin - std::log(entry) : infinity;
    }
  }
  return result;
}

// The pattern of the entries of finite cost, with the arrays it looks into.
template <class Ordinal, class Offset>
struct NonzeroPattern {
  std::vector<Offset> row_map;
  std::vector<Ordinal> entries;
  CsrPattern<Ordinal, Offset, Kokkos::HostSpace> view;
};

template <class Ordinal, class Offset>
NonzeroPattern<Ordinal, Offset> nonzero_pattern(const CsrPattern<Ordinal, Offset, Kokkos::HostSpace>& pattern,
                                                const std::vector<double>& cost) {
  NonzeroPattern<Ordinal, Offset> result;
  result.row_map.push_back(0);
  for (Ordinal r = 0; r < pattern.n_rows; ++r) {
    for (Offset k = pattern.row_map(r); k < pattern.row_map(r + 1); ++k) {
      if (cost[static_cast<std::size_t>(k)] < infinity) result.entries.push_back(pattern.entries(k));
    }
    result.row_map.push_back(static_cast<Offset>(result.entries.size()));
  }
  using Kokkos::HostSpace;
  result.view = {pattern.n_rows, pattern.n_cols,
                 Kokkos::View<const Offset*, HostSpace>(result.row_map.data(), result.row_map.size()),
                 Kokkos::View<const Ordinal*, HostSpace>(result.entries.data(), result.entries.size())};
  return result;
}

// row_scale = exp(row exponent), col_scale = exp(column exponent). A constant taken from all rows and added
// to all columns changes no product; it is used to keep both kinds in range. What still leaves the range is
// cut off.
template <class Ordinal>
void write_scales(std::vector<double> row_exponent, std::vector<double> col_exponent,
                  MatchingResult<Ordinal>& result) {
  const auto [row_least, row_most] = std::minmax_element(row_exponent.begin(), row_exponent.end());
  const auto [col_least, col_most] = std::minmax_element(col_exponent.begin(), col_exponent.end());
  const double too_far_up = std::max(*row_most, -*col_least);
  const double too_far_down = std::max(*col_most, -*row_least);
  const bool in_range = std::max(too_far_up, too_far_down) <= largest_exponent;
  const double shift = in_range ? 0.0 : (too_far_down - too_far_up) / 2;
  const auto scale = [](double exponent) {
    return std::exp(std::clamp(exponent, -largest_exponent, largest_exponent));
  };
  for (double& exponent : row_exponent) exponent = scale(exponent + shift);
  for (double& exponent : col_exponent) exponent = scale(exponent - shift);
  result.row_scale.swap(row_exponent);
  result.col_scale.swap(col_exponent);
}

template <class Ordinal>
void write_perfect(Impl::Assignment<Ordinal>&& assignment, const std::vector<double>& row_origin,
                   MatchingResult<Ordinal>& result) {
  const auto n = static_cast<Ordinal>(row_origin.size());
  result.structural_rank = n;
  result.numeric_rank_bound = n;
  result.row_of_column.swap(assignment.row_of_column);
  if (n == 0) return;
  for (std::size_t r = 0; r < row_origin.size(); ++r) assignment.row_dual[r] -= row_origin[r];
  write_scales(std::move(assignment.row_dual), std::move(assignment.col_dual), result);
}

template <class Ordinal, class Offset>
void write_singular(const CsrPattern<Ordinal, Offset, Kokkos::HostSpace>& pattern, const Costs& cost,
                    MatchingResult<Ordinal>& result) {
  const auto n = static_cast<std::size_t>(pattern.n_rows);
  if (cost.has_zeros) {
    result.numeric_rank_bound =
        maximum_transversal(nonzero_pattern(pattern, cost.of_entry).view, &result.row_of_column);
    result.structural_rank = maximum_transversal(pattern);
  } else {
    result.numeric_rank_bound = maximum_transversal(pattern, &result.row_of_column);
    result.structural_rank = result.numeric_rank_bound;
  }
  result.row_scale.assign(n, 1.0);
  result.col_scale.assign(n, 1.0);
  std::vector<bool> row_matched(n, false);
  for (std::size_t c = 0; c < n; ++c) {
    const Ordinal r = result.row_of_column[c];
    if (r < 0) {
      result.unmatched_columns.push_back(static_cast<Ordinal>(c));
    } else {
      row_matched[static_cast<std::size_t>(r)] = true;
    }
  }
  for (std::size_t r = 0; r < n; ++r) {
    if (!row_matched[r]) result.unmatched_rows.push_back(static_cast<Ordinal>(r));
  }
}

}  // namespace

template <class Scalar, class Ordinal, class Offset>
MatchingResult<Ordinal> match_exact(const CsrView<Scalar, Ordinal, Offset, Kokkos::HostSpace>& matrix) {
  check_square(matrix);
  const Costs cost = costs(matrix);
  Impl::Assignment<Ordinal> assignment = Impl::assign(matrix.pattern(), cost.of_entry);
  MatchingResult<Ordinal> result;
  if (assignment.perfect) {
    write_perfect(std::move(assignment), cost.row_origin, result);
  } else {
    write_singular(matrix.pattern(), cost, result);
  }
  return result;
}

#define LUTRA_INSTANTIATE(Scalar, Ordinal, Offset) \
  template MatchingResult<Ordinal> match_exact(const CsrView<Scalar, Ordinal, Offset, Kokkos::HostSpace>&);
LUTRA_FOR_EACH_MATRIX(LUTRA_INSTANTIATE)
#undef LUTRA_INSTANTIATE

}  // namespace lutra
