// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_HaloOperator.hpp"

#include <algorithm>

#include "Lutra_Allocate.hpp"
#include "Lutra_Instantiate.hpp"
#include "Lutra_RenewTogether.hpp"
#include "Lutra_Upload.hpp"

namespace lutra::Impl {

template <class Scalar, class ExecutionSpace>
HaloOperator<Scalar, ExecutionSpace>::HaloOperator(Channel& channel, SharedRows A,
                                                   const std::vector<Place>& places,
                                                   const MemoryBudget& budget)
    : m_channel(channel), m_A(std::move(A)), m_budget(budget), m_reservation(budget) {
  std::vector<std::int64_t> halo;
  channel.comm().agree("halo of a distributed matrix", [&] { number_columns(halo); });
  plan_halo(halo, places);
  const Exchange plan = plan_exchange(channel.comm(), m_places);
  channel.comm().agree("rows of a distributed matrix", [&] {
    m_halo = ViewExchange<ExecutionSpace>(channel.exec(), plan, budget);
    move_to_space();
  });
}

/// Rank 0 tells all ranks where the elements of their halos are.
template <class Scalar, class ExecutionSpace>
void HaloOperator<Scalar, ExecutionSpace>::plan_halo(const std::vector<std::int64_t>& halo,
                                                     const std::vector<Place>& places) {
  constexpr int tag = 31003;
  Communicator& comm = m_channel.comm();
  const auto all = comm.gather(halo);
  for (std::size_t r = 0; r < all.size(); ++r) {
    std::vector<Place> of_rank;
    of_rank.reserve(all[r].size());
    for (const std::int64_t column : all[r]) of_rank.push_back(places[static_cast<std::size_t>(column)]);
    comm.send(static_cast<int>(r), tag, of_rank);
  }
  m_places = comm.template receive<Place>(0, tag);
}

/// The host's array, or a copy on the device.
template <class Scalar, class ExecutionSpace>
template <class T>
auto HaloOperator<Scalar, ExecutionSpace>::in_space(std::string_view label, const std::vector<T>& host)
    -> Kokkos::View<const T*, Memory> {
  if constexpr (is_host_space<ExecutionSpace>)
    return Kokkos::View<const T*, Memory>(host.data(), host.size());
  else
    return upload(m_channel.exec(), m_reservation, label, host);
}

template <class Scalar, class ExecutionSpace>
void HaloOperator<Scalar, ExecutionSpace>::move_to_space() {
  const auto& exec = m_channel.exec();
  const CsrPattern<Ordinal, Offset, Memory> pattern{
      static_cast<Ordinal>(m_A->rows.size()), static_cast<Ordinal>(m_A->rows.size() + m_places.size()),
      in_space("lutra::solver::row_map", m_A->row_map), in_space("lutra::solver::columns", m_slots)};
  m_local = CsrOperator<Scalar, ExecutionSpace>(exec, pattern, {}, false, m_budget);
  if constexpr (is_host_space<ExecutionSpace>) {
    m_values = in_space("", m_A->values);
  } else {
    m_own_values = m_reservation.template allocate<Kokkos::View<Scalar*, Memory>>(
        exec, "lutra::solver::values of the rows", m_A->values.size());
    m_values = m_own_values;
  }
  update_values();
}

template <class Scalar, class ExecutionSpace>
void HaloOperator<Scalar, ExecutionSpace>::update_values() {
  if constexpr (!is_host_space<ExecutionSpace>)
    Kokkos::deep_copy(m_own_values,
                      Kokkos::View<const Scalar*, Kokkos::HostSpace>(m_A->values.data(), m_A->values.size()));
  use_values();
}
template <class Scalar, class ExecutionSpace>
void HaloOperator<Scalar, ExecutionSpace>::update_values(const Kokkos::View<const Scalar*, Memory>& values) {
  if constexpr (!is_host_space<ExecutionSpace>) Kokkos::deep_copy(m_channel.exec(), m_own_values, values);
  use_values();
}
/// Products use `m_values` from now on.
template <class Scalar, class ExecutionSpace>
void HaloOperator<Scalar, ExecutionSpace>::use_values() {
  m_local.set_values(m_values);
  this->set_norm(-1);
}

template <class Scalar, class ExecutionSpace>
std::vector<Scalar> HaloOperator<Scalar, ExecutionSpace>::host_values() const {
  std::vector<Scalar> values(m_values.extent(0));
  Kokkos::deep_copy(Kokkos::View<Scalar*, Kokkos::HostSpace>(values.data(), values.size()), m_values);
  return values;
}

/// Numbers the columns of the rows as elements of X on this rank.
/// @param halo out: columns whose elements are on other ranks
template <class Scalar, class ExecutionSpace>
void HaloOperator<Scalar, ExecutionSpace>::number_columns(std::vector<std::int64_t>& halo) {
  std::vector<int> slot(static_cast<std::size_t>(m_A->n), -1);
  int slots = 0;
  for (const std::int64_t row : m_A->rows) slot[static_cast<std::size_t>(row)] = slots++;
  m_slots.reserve(m_A->columns.size());
  for (const std::int64_t column : m_A->columns) {
    int& own = slot[static_cast<std::size_t>(column)];
    if (own < 0) {
      own = slots++;
      halo.push_back(column);
    }
    m_slots.push_back(own);
  }
}

template <class Scalar, class ExecutionSpace>
DistributedRows<Scalar> HaloOperator<Scalar, ExecutionSpace>::transposed() const {
  struct Entry {
    std::int64_t row, column;
    Scalar value;
  };
  std::vector<std::vector<Entry>> to(static_cast<std::size_t>(m_channel.comm().size()));
  const auto owner = [&](std::size_t e) {
    const auto slot = static_cast<std::size_t>(m_slots[e]);
    return static_cast<std::size_t>(slot < m_A->rows.size() ? m_channel.comm().rank()
                                                            : m_places[slot - m_A->rows.size()].rank);
  };
  const std::vector<Scalar> values = host_values();
  for (std::size_t i = 0; i < m_A->rows.size(); ++i)
    for (auto e = static_cast<std::size_t>(m_A->row_map[i]);
         e < static_cast<std::size_t>(m_A->row_map[i + 1]); ++e)
      to[owner(e)].push_back({m_A->columns[e], m_A->rows[i], values[e]});
  std::vector<Entry> entries;
  for (const auto& part : m_channel.comm().all_to_all(to))
    entries.insert(entries.end(), part.begin(), part.end());
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return a.row != b.row ? a.row < b.row : a.column < b.column;
  });
  DistributedRows<Scalar> T;
  T.n = m_A->n;
  T.rows = m_A->rows;
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

/// The part of an array of own elements and halo that holds the halo.
template <class Scalar, class ExecutionSpace>
template <class T>
auto HaloOperator<Scalar, ExecutionSpace>::halo_part(const DenseRows<T, Memory>& needed) const
    -> DenseRows<T, Memory> {
  const std::size_t k = needed.extent(1);
  return DenseRows<T, Memory>(needed.data() + m_A->rows.size() * k, m_places.size(), k);
}

/// Makes room for halos with elements of `bytes` each.
template <class Scalar, class ExecutionSpace>
void HaloOperator<Scalar, ExecutionSpace>::reserve(std::size_t bytes) const {
  std::vector<std::size_t> room(static_cast<std::size_t>(m_channel.comm().size()));
  for (std::size_t r = 0; r < room.size(); ++r) room[r] = m_halo.room_from(r, bytes);
  m_channel.comm().agree("halo of a distributed matrix", [&] { m_halo.reserve(m_channel.exec(), bytes); });
  m_channel.reserve(room);
}

/// Returns the elements of X that these rows need: own ones, then the halo.
template <class Scalar, class ExecutionSpace>
auto HaloOperator<Scalar, ExecutionSpace>::with_halo(const Rows& X) const -> Rows {
  const std::size_t mine = m_A->rows.size(), k = X.extent(1);
  if (m_needed.values.extent(1) != k) {
    m_needed = {};
    reserve(k * sizeof(Scalar));  // before, so that ranks with the vector have the buffers, too
    renew_together(m_channel.comm(), "halo of a distributed matrix", m_needed, [&] {
      Needed made{MemoryReservation(m_budget), {}};
      made.values = made.memory.template allocate<Rows>(m_channel.exec(), "lutra::solver::X with its halo",
                                                        mine + m_places.size(), k);
      return made;
    });
  }
  const Rows& needed = m_needed.values;
  Kokkos::deep_copy(m_channel.exec(), Rows(needed.data(), mine, k), X);
  m_halo.forward(m_channel, X, halo_part(needed));
  m_channel.end_round("halo of a distributed matrix");
  return needed;
}

template <class Scalar, class ExecutionSpace>
void HaloOperator<Scalar, ExecutionSpace>::apply(const ExecutionSpace& exec, const Rows& X,
                                                 const Rows& Y) const {
  m_local.apply(exec, with_halo(X), Y);
}
template <class Scalar, class ExecutionSpace>
void HaloOperator<Scalar, ExecutionSpace>::residual(const ExecutionSpace& exec, const Rows& B, const Rows& X,
                                                    const Rows& R,
                                                    const ResidualMaxima<ExecutionSpace>& maxima) const {
  m_local.residual(exec, B, with_halo(X), R, maxima);
}
template <class Scalar, class ExecutionSpace>
void HaloOperator<Scalar, ExecutionSpace>::gather_norm(const ExecutionSpace& exec, const Scale& row_scale,
                                                       const Scale& col_scale,
                                                       const ResidualMaxima<ExecutionSpace>& maxima) const {
  using Real = RealOf<Scalar>;
  std::vector<char> scales{col_scale.extent(0) == 0 ? char(0) : char(1)};
  m_channel.comm().all_max(scales);  // a rank may have no rows
  if (scales[0] == 0) {
    m_local.gather_norm(exec, row_scale, col_scale, maxima);
  } else {
    const std::size_t mine = m_A->rows.size();
    const auto needed = make_uncounted<DenseRows<Real, Memory>>("lutra::solver::scales with their halo",
                                                                mine + m_places.size(), 1);
    const DenseRows<const Real, Memory> own(col_scale.data(), mine, 1);
    reserve(sizeof(Real));
    Kokkos::deep_copy(exec, DenseRows<Real, Memory>(needed.data(), mine, 1), own);
    m_halo.forward(m_channel, own, halo_part(needed));
    m_channel.end_round("halo of a distributed matrix");
    m_local.gather_norm(exec, row_scale, Scale(needed.data(), needed.extent(0)), maxima);
  }
  exec.fence("lutra::solver: the norm of these rows is known");
}
template <class Scalar, class ExecutionSpace>
void HaloOperator<Scalar, ExecutionSpace>::apply_magnitudes(const ExecutionSpace& exec, const Rows& X,
                                                            const Rows& G) const {
  m_local.apply_magnitudes(exec, with_halo(X), G);
}
template <class Scalar, class ExecutionSpace>
BilinearForm HaloOperator<Scalar, ExecutionSpace>::bilinear_form(const ExecutionSpace& exec, const Rows& W,
                                                                 const Rows& Z) const {
  BilinearForm sum;
  for (const BilinearForm& part : m_channel.comm().all_gather(m_local.bilinear_form(exec, W, with_halo(Z)))) {
    sum.real += part.real;
    sum.imaginary += part.imaginary;
    sum.size += part.size;
  }
  return sum;
}
template <class Scalar, class ExecutionSpace>
void HaloOperator<Scalar, ExecutionSpace>::join_maxima(std::span<double> maxima) const {
  std::vector<double> all(maxima.begin(), maxima.end());
  m_channel.comm().all_max(all);
  std::ranges::copy(all, maxima.begin());
}

#define LUTRA_HALO_OPERATOR(Scalar) template class HaloOperator<Scalar, Kokkos::DefaultHostExecutionSpace>;
LUTRA_FOR_EACH_SCALAR(LUTRA_HALO_OPERATOR)
#ifdef KOKKOS_ENABLE_CUDA
#define LUTRA_HALO_OPERATOR_CUDA(Scalar) template class HaloOperator<Scalar, Kokkos::Cuda>;
LUTRA_FOR_EACH_SCALAR(LUTRA_HALO_OPERATOR_CUDA)
#endif

}  // namespace lutra::Impl
