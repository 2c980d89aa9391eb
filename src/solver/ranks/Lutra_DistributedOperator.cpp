// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_DistributedOperator.hpp"

#include <cmath>
#include <limits>
#include <string>

#include "Lutra_Error.hpp"
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
  m_comm.agree(
      "rows of a distributed matrix",
      [&] {
        Impl::check_rows(A);
        m_A.rows = A;
      },
      false);
  m_transposed.reset();
  m_all_rows = m_comm.gather(m_A.rows.rows);
  find_places();
  plan_halo(m_A);
  set_norm(m_A);
}

template <class Scalar>
void DistributedOperator<Scalar>::set_values(const std::vector<Scalar>& values) {
  m_A.rows.values = values;
  m_transposed.reset();
  set_norm(m_A);
}

/// Finds on rank 0 where each row is, and checks rows and columns.
template <class Scalar>
void DistributedOperator<Scalar>::find_places() {
  const DistributedRows<Scalar>& A = m_A.rows;
  const auto orders = m_comm.all_gather(A.n);
  m_comm.agree(
      "rows of a distributed matrix",
      [&] {
        Impl::check_columns(A);
        for (std::size_t r = 0; r < orders.size(); ++r)
          if (orders[r] != orders[0])
            throw InputError("n is " + std::to_string(orders[0]) + " on rank 0, and " +
                             std::to_string(orders[r]) + " on rank " + std::to_string(r));
        if (m_comm.rank() == 0) m_places = Impl::places_of_rows(A.n, m_all_rows);
      },
      false);
}

/// Numbers the columns of a matrix as elements of X on this rank, and asks rank 0 where the halo is.
template <class Scalar>
void DistributedOperator<Scalar>::plan_halo(Matrix& A) {
  constexpr int tag = 31003;
  std::vector<std::int64_t> halo;
  m_comm.agree("halo of a distributed matrix", [&] {
    std::vector<int> slot(static_cast<std::size_t>(A.rows.n), -1);
    int slots = 0;
    for (const std::int64_t row : A.rows.rows) slot[static_cast<std::size_t>(row)] = slots++;
    A.slots.reserve(A.rows.columns.size());
    for (const std::int64_t column : A.rows.columns) {
      int& own = slot[static_cast<std::size_t>(column)];
      if (own < 0) {
        own = slots++;
        halo.push_back(column);
      }
      A.slots.push_back(own);
    }
  });
  const auto all = m_comm.gather(halo);
  for (std::size_t r = 0; r < all.size(); ++r) {
    std::vector<Impl::Place> places;
    places.reserve(all[r].size());
    for (const std::int64_t column : all[r]) places.push_back(m_places[static_cast<std::size_t>(column)]);
    m_comm.send(static_cast<int>(r), tag, places);
  }
  A.places = m_comm.template receive<Impl::Place>(0, tag);
  A.halo = Impl::plan_exchange(m_comm, A.places);
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
  struct Entry {
    std::int64_t row, column;
    Scalar value;
  };
  std::vector<std::vector<Entry>> to(static_cast<std::size_t>(m_comm.size()));
  const DistributedRows<Scalar>& A = m_A.rows;
  const auto owner = [&](std::size_t e) {
    const auto slot = static_cast<std::size_t>(m_A.slots[e]);
    return static_cast<std::size_t>(slot < A.rows.size() ? m_comm.rank()
                                                         : m_A.places[slot - A.rows.size()].rank);
  };
  for (std::size_t i = 0; i < A.rows.size(); ++i)
    for (auto e = static_cast<std::size_t>(A.row_map[i]); e < static_cast<std::size_t>(A.row_map[i + 1]); ++e)
      to[owner(e)].push_back({A.columns[e], A.rows[i], A.values[e]});
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
  plan_halo(*m_transposed);
  set_norm(*m_transposed);
  return *m_transposed;
}

/// Returns the elements of X that this rank's rows need, by columns: its own, then the halo.
template <class Scalar>
std::vector<Scalar> DistributedOperator<Scalar>::with_halo(const Matrix& A, const std::vector<Scalar>& X,
                                                           std::size_t k) {
  const std::size_t mine = A.rows.rows.size(), all = mine + A.places.size();
  std::vector<Scalar> result(all * k);
  for (std::size_t c = 0; c < k; ++c) std::copy_n(X.data() + c * mine, mine, result.data() + c * all);
  A.halo.template forward<Scalar>(
      m_comm, k, [&](std::size_t i, std::size_t c) { return X[c * mine + i]; },
      [&](std::size_t h, std::size_t c, const Scalar& value) { result[c * all + mine + h] = value; });
  return result;
}

template <class Scalar>
DistributedErrors DistributedOperator<Scalar>::compute_errors(Transposition op, std::span<const Scalar> B,
                                                              const std::vector<Scalar>& X, std::size_t k,
                                                              std::vector<Scalar>& R) {
  const Matrix& matrix = get(op);
  const DistributedRows<Scalar>& A = matrix.rows;
  const std::size_t mine = A.rows.size(), all = mine + matrix.places.size();
  const std::vector<Scalar> needed = with_halo(matrix, X, k);
  std::vector<double> maxima(4 * k, 0.0);  // per column: componentwise error, |r|, |b|, |x|
  R.assign(B.begin(), B.end());
  for (std::size_t c = 0; c < k; ++c) {
    const Scalar* const x = needed.data() + c * all;
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
        const Scalar& factor = x[matrix.slots[e]];
        r -= A.values[e] * factor;
        size += magnitude(A.values[e]) * magnitude(factor);
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
