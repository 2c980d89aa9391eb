// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_DistributedOperator.hpp"

#include <cmath>
#include <limits>

#include "Lutra_Instantiate.hpp"
#include "Lutra_ScalarTraits.hpp"

namespace lutra {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

template <class Scalar>
double magnitude(const Scalar& value) {
  return static_cast<double>(ScalarTraits<Scalar>::magnitude(value));
}

}  // namespace

template <class Scalar>
void DistributedOperator<Scalar>::set_rows(const DistributedRows<Scalar>& A) {
  m_comm.agree("factorization of a distributed matrix", [&] { m_A.rows = A; });
  m_transposed.reset();
  set_norm(m_A);
  m_all_rows = m_comm.gather(m_A.rows.rows);
}

template <class Scalar>
void DistributedOperator<Scalar>::set_norm(Matrix& A) {
  std::vector<double> norms(1, 0.0);
  for (std::size_t i = 0; i < A.rows.rows.size(); ++i) {
    double sum = 0;
    for (auto e = A.rows.row_map[i]; e < A.rows.row_map[i + 1]; ++e)
      sum += magnitude(A.rows.values[static_cast<std::size_t>(e)]);
    norms[0] = std::max(norms[0], sum);
  }
  m_comm.all_max(norms);
  A.norm = norms[0];
}

/// Returns Aᵀ distributed by the same rows. Each entry is sent to the rank that holds the row with the
/// entry's column index.
template <class Scalar>
auto DistributedOperator<Scalar>::get(Transposition op) -> const Matrix& {
  if (op == Transposition::none) return m_A;
  if (m_transposed) return *m_transposed;
  const auto n = static_cast<std::size_t>(m_A.rows.n), P = static_cast<std::size_t>(m_comm.size());
  std::vector<int> owner(m_comm.rank() == 0 ? n : 0);
  for (std::size_t r = 0; r < m_all_rows.size(); ++r)
    for (const std::int64_t row : m_all_rows[r]) owner[static_cast<std::size_t>(row)] = static_cast<int>(r);
  m_comm.broadcast(owner);
  struct Entry {
    std::int64_t row, column;
    Scalar value;
  };
  std::vector<std::vector<Entry>> to(P);
  const DistributedRows<Scalar>& A = m_A.rows;
  for (std::size_t i = 0; i < A.rows.size(); ++i)
    for (auto e = static_cast<std::size_t>(A.row_map[i]); e < static_cast<std::size_t>(A.row_map[i + 1]); ++e)
      to[static_cast<std::size_t>(owner[static_cast<std::size_t>(A.columns[e])])].push_back(
          {A.columns[e], A.rows[i], A.values[e]});
  std::vector<Entry> entries;
  for (const auto& part : m_comm.all_to_all(to)) entries.insert(entries.end(), part.begin(), part.end());
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return a.row != b.row ? a.row < b.row : a.column < b.column;
  });
  DistributedRows<Scalar>& T = m_transposed.emplace().rows;
  T.n = A.n;
  T.rows = A.rows;
  T.row_map.push_back(0);
  for (const std::int64_t row : T.rows) {
    auto next = std::lower_bound(entries.begin(), entries.end(), row,
                                 [](const Entry& entry, std::int64_t value) { return entry.row < value; });
    for (; next != entries.end() && next->row == row; ++next) {
      T.columns.push_back(next->column);
      T.values.push_back(next->value);
    }
    T.row_map.push_back(static_cast<std::int64_t>(T.columns.size()));
  }
  set_norm(*m_transposed);
  return *m_transposed;
}

template <class Scalar>
std::vector<Scalar> DistributedOperator<Scalar>::whole_solution(const std::vector<Scalar>& X, std::size_t k) {
  const auto parts = m_comm.gather(X);
  const auto n = static_cast<std::size_t>(m_A.rows.n);
  std::vector<Scalar> whole(parts.empty() ? 0 : n * k);
  for (std::size_t r = 0; r < parts.size(); ++r)
    for (std::size_t c = 0; c < k; ++c)
      for (std::size_t i = 0; i < m_all_rows[r].size(); ++i)
        whole[c * n + static_cast<std::size_t>(m_all_rows[r][i])] = parts[r][c * m_all_rows[r].size() + i];
  m_comm.broadcast(whole);
  return whole;
}

template <class Scalar>
DistributedErrors DistributedOperator<Scalar>::compute_errors(Transposition op, std::span<const Scalar> B,
                                                              const std::vector<Scalar>& X, std::size_t k,
                                                              std::vector<Scalar>& R) {
  const Matrix& matrix = get(op);
  const DistributedRows<Scalar>& A = matrix.rows;
  const auto n = static_cast<std::size_t>(A.n), mine = A.rows.size();
  const std::vector<Scalar> whole = whole_solution(X, k);
  std::vector<double> maxima(4 * k, 0.0);  // per column: componentwise error, |r|, |b|, |x|
  R.assign(B.begin(), B.end());
  for (std::size_t c = 0; c < k; ++c) {
    const Scalar* const x = whole.data() + c * n;
    const auto raise = [&](std::size_t which, double value) {
      double& maximum = maxima[4 * c + which];
      maximum = std::isnan(value) ? infinity : std::max(maximum, value);
    };
    for (std::size_t i = 0; i < mine; ++i) {
      Scalar& r = R[c * mine + i];
      double size = magnitude(r);
      raise(2, size);
      raise(3, magnitude(X[c * mine + i]));
      for (auto e = static_cast<std::size_t>(A.row_map[i]); e < static_cast<std::size_t>(A.row_map[i + 1]);
           ++e) {
        const Scalar product = A.values[e] * x[A.columns[e]];
        r -= product;
        size += magnitude(A.values[e]) * magnitude(x[A.columns[e]]);
      }
      raise(1, magnitude(r));
      raise(0, magnitude(r) == 0 ? 0 : magnitude(r) / size);
    }
  }
  m_comm.all_max(maxima);
  DistributedErrors errors;
  for (std::size_t c = 0; c < k; ++c) {
    errors.componentwise.push_back(maxima[4 * c]);
    const double scale = matrix.norm * maxima[4 * c + 3] + maxima[4 * c + 2];
    errors.normwise = std::max(errors.normwise, maxima[4 * c + 1] == 0 ? 0.0 : maxima[4 * c + 1] / scale);
  }
  return errors;
}

#define LUTRA_INSTANTIATE(Scalar) template class DistributedOperator<Scalar>;
LUTRA_FOR_EACH_SCALAR(LUTRA_INSTANTIATE)
#undef LUTRA_INSTANTIATE

}  // namespace lutra
