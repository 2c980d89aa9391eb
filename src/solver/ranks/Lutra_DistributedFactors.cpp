// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_DistributedFactors.hpp"

#include "Lutra_Formatted.hpp"
#include "Lutra_Instantiate.hpp"

namespace lutra {
namespace {

/// Returns the positions of rows in an order.
std::vector<std::int64_t> positions(Communicator& comm, const std::vector<std::int64_t>& order,
                                    const std::vector<std::int64_t>& rows) {
  std::vector<std::int64_t> inverse(order.size());
  for (std::size_t k = 0; k < order.size(); ++k)
    inverse[static_cast<std::size_t>(order[k])] = static_cast<std::int64_t>(k);
  comm.broadcast(inverse);
  std::vector<std::int64_t> part;
  for (const std::int64_t row : rows) part.push_back(inverse[static_cast<std::size_t>(row)]);
  return part;
}

/// Returns the elements of a vector on rank 0 that belong to the given rows; ones if the vector is empty.
template <class T>
std::vector<T> elements(Communicator& comm, std::vector<T> whole, const std::vector<std::int64_t>& rows) {
  comm.broadcast(whole);
  if (whole.empty()) return std::vector<T>(rows.size(), T(1));
  std::vector<T> part;
  for (const std::int64_t row : rows) part.push_back(whole[static_cast<std::size_t>(row)]);
  return part;
}

template <class Scalar>
void conjugate(std::vector<Scalar>& values) {
  for (Scalar& value : values) value = ScalarTraits<Scalar>::conjugate(value);
}

}  // namespace

template <class Scalar>
DistributedFactors<Scalar>::DistributedFactors(Communicator& comm, FactorValues<Scalar>&& factors,
                                               const std::vector<std::int64_t>& rows,
                                               const DistributedOptions& options)
    : m_comm(comm),
      m_options(options),
      m_row_position(positions(comm, factors.row_order, rows)),
      m_col_position(positions(comm, factors.col_order, rows)),
      m_row_scale(elements(comm, std::move(factors.row_scale), rows)),
      m_col_scale(elements(comm, std::move(factors.col_scale), rows)) {
  std::vector<std::int64_t> n{static_cast<std::int64_t>(factors.row_order.size())};
  comm.broadcast(n);
  m_n = n[0];
  m_triangles.emplace(comm,
                      DistributedPattern{m_n,
                                         factors.rows,
                                         factors.columns,
                                         {{TriangleSide::lower, DiagonalKind::unit},
                                          {TriangleSide::upper, DiagonalKind::stored}},
                                         m_row_position,
                                         m_col_position},
                      options);
  m_options.grid = m_triangles->grid();
  m_triangles->set_values(factors.values);
}

template <class Scalar>
void DistributedFactors<Scalar>::close() {
  if (m_triangles) m_triangles->close();
  if (m_transposed) m_transposed->close();
  m_triangles.reset();
  m_transposed.reset();
}

template <class Scalar>
void DistributedFactors<Scalar>::set_values(std::span<const Scalar> values) {
  m_triangles->set_values(values);
  if (m_transposed) m_transposed->set_values(m_triangles->entries().values);
}

template <class Scalar>
void DistributedFactors<Scalar>::make_transposed() {
  const DistributedEntries<Scalar> entries = m_triangles->entries();
  m_transposed.emplace(m_comm,
                       DistributedPattern{m_n,
                                          entries.columns,
                                          entries.rows,
                                          {{TriangleSide::lower, DiagonalKind::stored},
                                           {TriangleSide::upper, DiagonalKind::unit}},
                                          m_col_position,
                                          m_row_position},
                       m_options);
  try {
    m_transposed->set_values(entries.values);
  } catch (...) {  // without values they would be taken for complete
    m_transposed.reset();
    throw;
  }
}

template <class Scalar>
std::vector<Scalar> DistributedFactors<Scalar>::solve(std::span<const Scalar> B, std::size_t k,
                                                      Transposition op) {
  const bool plain = op == Transposition::none;
  if (!plain && !m_transposed) make_transposed();
  const auto& before = plain ? m_row_scale : m_col_scale;
  const auto& after = plain ? m_col_scale : m_row_scale;
  std::vector<Scalar> scaled(B.begin(), B.end()), X(B.size());
  if (op == Transposition::adjoint) conjugate(scaled);  // Aᴴ·x = b is Aᵀ·conj(x) = conj(b)
  for (std::size_t e = 0; e < scaled.size(); ++e) scaled[e] *= before[e % before.size()];
  (plain ? m_triangles : m_transposed)->solve(scaled, X, k);
  for (std::size_t e = 0; e < X.size(); ++e) X[e] *= after[e % after.size()];
  if (op == Transposition::adjoint) conjugate(X);
  return X;
}

template <class Scalar>
RankStatistics DistributedFactors<Scalar>::statistics() const {
  RankStatistics all = m_triangles->statistics();
  if (!m_transposed) return all;
  const RankStatistics more = m_transposed->statistics();
  all.messages += more.messages;
  all.message_bytes += more.message_bytes;
  all.flops += more.flops;
  all.solve_seconds += more.solve_seconds;
  all.wait_seconds += more.wait_seconds;
  return all;
}

std::string describe_choice(const std::vector<GridPrediction>& predictions) {
  std::string text;
  for (const GridPrediction& one : predictions) {
    const std::string time = Impl::formatted(" %.3g us", 1e6 * one.seconds);
    text += text.empty() ? "grid " + name_of(one.grid) + " by the model of ranks:" + time + " a solve"
                         : ", " + name_of(one.grid) + time;
  }
  return text;
}

#define LUTRA_INSTANTIATE(Scalar) template class DistributedFactors<Scalar>;
LUTRA_FOR_EACH_SCALAR(LUTRA_INSTANTIATE)
#undef LUTRA_INSTANTIATE

}  // namespace lutra
