// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_CampaignReference.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "Lutra_Reference_Singular.hpp"

namespace lutra::Campaign {
namespace {

// ---- dense matrices in long double

template <class Scalar>
using Dense = std::vector<std::vector<Reference::Wide<Scalar>>>;

template <class Scalar>
Dense<Scalar> dense(const HostMatrix<Scalar>& A) {
  const auto n = static_cast<std::size_t>(A.n_rows);
  Dense<Scalar> result(n, std::vector<Reference::Wide<Scalar>>(n));
  for (const auto& [i, j, value] : entries_of(A)) result[i][j] = Reference::widen(value);
  return result;
}

/// Divides rows, then columns, by the powers of two below their largest entries, three times.
template <class Rows>
void equilibrate(Rows& A) {
  using std::abs;
  const std::size_t n = A.size();
  for (int round = 0; round < 6; ++round) {
    for (std::size_t i = 0; i < n; ++i) {
      const auto entry = [&](std::size_t j) -> auto& {
        return round % 2 == 0 ? A[i][j] : A[j][i];
      };
      long double largest = 0;
      for (std::size_t j = 0; j < n; ++j)
        largest = std::max(largest, static_cast<long double>(abs(entry(j))));
      if (!(largest > 0)) continue;
      const long double unit = std::ldexp(1.0L, -std::ilogb(largest));
      for (std::size_t j = 0; j < n; ++j) entry(j) *= unit;
    }
  }
}

/// Replaces A by its inverse, by Gauss and Jordan's elimination with row interchanges.
/// @returns false if there is no pivot
template <class Rows>
bool invert(Rows& A) {
  using std::abs;
  using Value = std::decay_t<decltype(A[0][0])>;
  const std::size_t n = A.size();
  std::vector<std::size_t> from(n);
  for (std::size_t i = 0; i < n; ++i) from[i] = i;
  for (std::size_t k = 0; k < n; ++k) {
    std::size_t pivot = k;
    for (std::size_t i = k; i < n; ++i)
      if (abs(A[i][k]) > abs(A[pivot][k])) pivot = i;
    if (!(abs(A[pivot][k]) > 0)) return false;
    std::swap(A[k], A[pivot]);
    std::swap(from[k], from[pivot]);
    const Value inverse = Value(1) / A[k][k];
    A[k][k] = Value(1);
    for (Value& value : A[k]) value *= inverse;
    for (std::size_t i = 0; i < n; ++i) {
      const Value factor = A[i][k];
      if (i == k || factor == Value(0)) continue;
      A[i][k] = Value(0);
      for (std::size_t j = 0; j < n; ++j) A[i][j] -= factor * A[k][j];
    }
  }
  // the interchanges of rows are interchanges of columns of the inverse
  for (auto& row : A) {
    const auto old = row;
    for (std::size_t k = 0; k < n; ++k) row[from[k]] = old[k];
  }
  return true;
}

/// w = |A|·v
template <class Rows>
void multiply_magnitudes(const Rows& A, const std::vector<long double>& v, std::vector<long double>& w) {
  using std::abs;
  for (std::size_t i = 0; i < v.size(); ++i) {
    w[i] = 0;
    for (std::size_t j = 0; j < v.size(); ++j) w[i] += abs(A[i][j]) * v[j];
  }
}

}  // namespace

bool is_exactly_singular(const HostMatrix<double>& A) {
  return Reference::is_exactly_singular(A);
}

template <class Scalar>
double least_condition(const HostMatrix<Scalar>& A) {
  using std::abs;
  auto scaled = dense(A);
  equilibrate(scaled);
  auto inverse = scaled;
  const std::size_t n = scaled.size();
  if (n == 0) return 1;
  if (!invert(inverse)) return std::numeric_limits<double>::infinity();
  // the power method on |A⁻¹|·|A|: mean growth of the later half of the steps
  constexpr int steps = 40;
  std::vector<long double> v(n, 1), w(n);
  long double log_growth = 0;
  for (int step = 0; step < steps; ++step) {
    multiply_magnitudes(scaled, v, w);
    multiply_magnitudes(inverse, w, v);
    const long double largest = *std::ranges::max_element(v);
    if (!std::isfinite(largest) || !(largest > 0)) return std::numeric_limits<double>::infinity();
    for (long double& entry : v) entry /= largest;
    if (step >= steps / 2) log_growth += std::log(largest);
  }
  return static_cast<double>(std::exp(log_growth / (steps / 2)));
}

template <class Scalar>
double distance_to_singular(const HostMatrix<Scalar>& A, const std::vector<Scalar>& v) {
  using std::abs;
  const std::vector<Scalar> zero(v.size(), Scalar(0));
  std::vector<double> ones(v.size(), 1.0), columns(v.size());
  for (const auto& [i, j, value] : entries_of(A))
    columns[j] = std::max(columns[j], static_cast<double>(abs(value)));
  double distance = 1;
  for (const auto& weights : {ones, columns}) {
    double largest = 0;
    for (std::size_t j = 0; j < v.size(); ++j)
      largest = std::max(largest, weights[j] * static_cast<double>(abs(v[j])));
    if (!(largest > 0) || std::isinf(largest)) continue;
    for (const double fraction : {0.0, 0x1p-48, 0x1p-36, 0x1p-24, 0x1p-12}) {
      auto kept = v;
      for (std::size_t j = 0; j < v.size(); ++j)
        if (weights[j] * static_cast<double>(abs(v[j])) < fraction * largest) kept[j] = Scalar(0);
      const auto error = Reference::backward_errors(A, kept, zero).componentwise;
      if (error < distance) distance = static_cast<double>(error);
    }
  }
  return distance;
}

template <class Scalar>
double equilibrated_distance(const HostMatrix<Scalar>& A, const std::vector<Scalar>& v) {
  using std::abs;
  const auto entries = entries_of(A);
  std::vector<int> rows(v.size()), columns(v.size());  // exponents of the scales
  for (int round = 0; round < 6; ++round) {
    auto& scale = round % 2 == 0 ? rows : columns;
    std::vector<double> largest(v.size());
    for (const auto& [i, j, value] : entries) {
      double& of_line = largest[round % 2 == 0 ? i : j];
      of_line = std::max(of_line, std::ldexp(static_cast<double>(abs(value)), rows[i] + columns[j]));
    }
    for (std::size_t k = 0; k < v.size(); ++k)
      if (largest[k] > 0) scale[k] -= std::ilogb(largest[k]);
  }
  auto u = v;  // of the equilibrated matrix
  for (std::size_t j = 0; j < v.size(); ++j) u[j] = times_power(v[j], -columns[j]);
  const std::vector<Scalar> zero(v.size(), Scalar(0));
  const auto error = Reference::backward_errors(scaled(A, rows, columns), u, zero).normwise;
  return error < 1 ? static_cast<double>(error) : 1;
}

std::optional<Reference::Inertia> separated_inertia(const HostMatrix<double>& A) {
  const auto n = static_cast<std::size_t>(A.n_rows);
  if (n > max_rows_of_inertia) return std::nullopt;
  Reference::Square<double> square(n, std::vector<double>(n));
  for (const auto& [i, j, value] : entries_of(A)) square[i][j] = value;
  const auto inertia = Reference::inertia_of(square, 1e-10);
  return inertia.zero > 0 ? std::nullopt : std::optional(inertia);
}

template double least_condition(const HostMatrix<double>&);
template double least_condition(const HostMatrix<Kokkos::complex<double>>&);
template double equilibrated_distance(const HostMatrix<double>&, const std::vector<double>&);
template double equilibrated_distance(const HostMatrix<Kokkos::complex<double>>&,
                                      const std::vector<Kokkos::complex<double>>&);
template double distance_to_singular(const HostMatrix<double>&, const std::vector<double>&);
template double distance_to_singular(const HostMatrix<Kokkos::complex<double>>&,
                                     const std::vector<Kokkos::complex<double>>&);

}  // namespace lutra::Campaign
