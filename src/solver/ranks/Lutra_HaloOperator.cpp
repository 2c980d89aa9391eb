// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_HaloOperator.hpp"

#include <algorithm>

#include "Lutra_Instantiate.hpp"

namespace lutra::Impl {
namespace {

template <class T>
Kokkos::View<const T*, Kokkos::HostSpace> view_of(const std::vector<T>& values) {
  return Kokkos::View<const T*, Kokkos::HostSpace>(values.data(), values.size());
}

}  // namespace

template <class Scalar>
HaloOperator<Scalar>::HaloOperator(Communicator& comm, DistributedRows<Scalar> A,
                                   const std::vector<Place>& places)
    : m_comm(comm), m_A(std::move(A)) {
  constexpr int tag = 31003;
  std::vector<std::int64_t> halo;
  comm.agree("halo of a distributed matrix", [&] { number_columns(halo); });
  const auto all = comm.gather(halo);
  for (std::size_t r = 0; r < all.size(); ++r) {
    std::vector<Place> of_rank;
    of_rank.reserve(all[r].size());
    for (const std::int64_t column : all[r]) of_rank.push_back(places[static_cast<std::size_t>(column)]);
    comm.send(static_cast<int>(r), tag, of_rank);
  }
  m_places = comm.template receive<Place>(0, tag);
  m_halo = plan_exchange(comm, m_places);
  const CsrPattern<Ordinal, Offset, Kokkos::HostSpace> pattern{
      static_cast<Ordinal>(m_A.rows.size()), static_cast<Ordinal>(m_A.rows.size() + m_places.size()),
      view_of(m_A.row_map), view_of(m_slots)};
  m_local = CsrOperator<Scalar, Exec>(Exec(), pattern, {}, false, MemoryBudget());
  m_local.set_values(view_of(m_A.values));
}

/// Numbers the columns of the rows as elements of X on this rank.
/// @param halo out: columns whose elements are on other ranks
template <class Scalar>
void HaloOperator<Scalar>::number_columns(std::vector<std::int64_t>& halo) {
  std::vector<int> slot(static_cast<std::size_t>(m_A.n), -1);
  int slots = 0;
  for (const std::int64_t row : m_A.rows) slot[static_cast<std::size_t>(row)] = slots++;
  m_slots.reserve(m_A.columns.size());
  for (const std::int64_t column : m_A.columns) {
    int& own = slot[static_cast<std::size_t>(column)];
    if (own < 0) {
      own = slots++;
      halo.push_back(column);
    }
    m_slots.push_back(own);
  }
}

template <class Scalar>
void HaloOperator<Scalar>::set_values(const std::vector<Scalar>& values) {
  std::copy(values.begin(), values.end(), m_A.values.begin());
  this->set_norm(-1);
}

template <class Scalar>
DistributedRows<Scalar> HaloOperator<Scalar>::transposed() const {
  struct Entry {
    std::int64_t row, column;
    Scalar value;
  };
  std::vector<std::vector<Entry>> to(static_cast<std::size_t>(m_comm.size()));
  const auto owner = [&](std::size_t e) {
    const auto slot = static_cast<std::size_t>(m_slots[e]);
    return static_cast<std::size_t>(slot < m_A.rows.size() ? m_comm.rank()
                                                           : m_places[slot - m_A.rows.size()].rank);
  };
  for (std::size_t i = 0; i < m_A.rows.size(); ++i)
    for (auto e = static_cast<std::size_t>(m_A.row_map[i]); e < static_cast<std::size_t>(m_A.row_map[i + 1]);
         ++e)
      to[owner(e)].push_back({m_A.columns[e], m_A.rows[i], m_A.values[e]});
  std::vector<Entry> entries;
  for (const auto& part : m_comm.all_to_all(to)) entries.insert(entries.end(), part.begin(), part.end());
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return a.row != b.row ? a.row < b.row : a.column < b.column;
  });
  DistributedRows<Scalar> T;
  T.n = m_A.n;
  T.rows = m_A.rows;
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
  return T;
}

/// Returns the elements of X that these rows need: own ones, then the halo.
template <class Scalar>
auto HaloOperator<Scalar>::with_halo(const Rows& X) const -> Rows {
  const std::size_t mine = m_A.rows.size(), k = X.extent(1);
  if (m_needed.extent(1) != k)
    m_comm.agree("halo of a distributed matrix", [&] {
      m_needed = {};
      m_needed = Rows("lutra::solver::X with its halo", mine + m_places.size(), k);
    });
  std::copy_n(X.data(), mine * k, m_needed.data());
  m_halo.template forward<Scalar>(
      m_comm, k, [&](std::size_t i, std::size_t c) { return X(i, c); },
      [&](std::size_t h, std::size_t c, const Scalar& value) { m_needed(mine + h, c) = value; });
  return m_needed;
}

template <class Scalar>
void HaloOperator<Scalar>::apply(const Exec& exec, const Rows& X, const Rows& Y) const {
  m_local.apply(exec, with_halo(X), Y);
}
template <class Scalar>
void HaloOperator<Scalar>::residual(const Exec& exec, const Rows& B, const Rows& X, const Rows& R,
                                    const ResidualMaxima<Exec>& maxima) const {
  m_local.residual(exec, B, with_halo(X), R, maxima);
}
template <class Scalar>
void HaloOperator<Scalar>::gather_norm(const Exec& exec, const Scale& row_scale, const Scale& col_scale,
                                       const ResidualMaxima<Exec>& maxima) const {
  using Real = RealOf<Scalar>;
  std::vector<Real> needed(col_scale.data(), col_scale.data() + col_scale.extent(0));
  std::vector<char> scales{needed.empty() ? char(0) : char(1)};
  m_comm.all_max(scales);  // a rank may have no rows
  if (scales[0] != 0) {
    needed.resize(m_A.rows.size() + m_places.size());
    m_halo.template forward<Real>(
        m_comm, 1, [&](std::size_t i, std::size_t) { return col_scale(i); },
        [&](std::size_t h, std::size_t, const Real& value) { needed[m_A.rows.size() + h] = value; });
  }
  m_local.gather_norm(exec, row_scale, view_of(needed), maxima);
  exec.fence("lutra::solver: the norm of these rows is known");
}
template <class Scalar>
void HaloOperator<Scalar>::apply_magnitudes(const Exec& exec, const Rows& X, const Rows& G) const {
  m_local.apply_magnitudes(exec, with_halo(X), G);
}
template <class Scalar>
BilinearForm HaloOperator<Scalar>::bilinear_form(const Exec& exec, const Rows& W, const Rows& Z) const {
  BilinearForm sum;
  for (const BilinearForm& part : m_comm.all_gather(m_local.bilinear_form(exec, W, with_halo(Z)))) {
    sum.real += part.real;
    sum.imaginary += part.imaginary;
    sum.size += part.size;
  }
  return sum;
}
template <class Scalar>
void HaloOperator<Scalar>::join_maxima(std::span<double> maxima) const {
  std::vector<double> all(maxima.begin(), maxima.end());
  m_comm.all_max(all);
  std::ranges::copy(all, maxima.begin());
}

#define LUTRA_HALO_OPERATOR(Scalar) template class HaloOperator<Scalar>;
LUTRA_FOR_EACH_SCALAR(LUTRA_HALO_OPERATOR)

}  // namespace lutra::Impl
