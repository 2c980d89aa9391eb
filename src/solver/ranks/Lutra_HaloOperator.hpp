// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_HALOOPERATOR_HPP
#define LUTRA_HALOOPERATOR_HPP

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "Lutra_Communicator.hpp"
#include "Lutra_CsrOperator.hpp"
#include "Lutra_CsrView.hpp"
#include "Lutra_Exchange.hpp"
#include "Lutra_MatrixOperator.hpp"
#include "Lutra_RankRows.hpp"
#include "Lutra_ViewChannel.hpp"
#include "Lutra_ViewExchange.hpp"

namespace lutra::Impl {

/// A matrix distributed by rows, as refinement and Krylov methods see it: vectors hold the elements of this
/// rank's rows, in the memory of the execution space. A product needs the elements of X in the columns of
/// these rows: those in the rows themselves, and a halo that other ranks send.
///
///     columns of the rows:   own elements ┆ halo  ◄── elements of X on other ranks
///
/// All calls but `size`, `rows` and `update_values` are collective. Errors are thrown on all ranks.
template <class Scalar, class ExecutionSpace>
class HaloOperator final : public MatrixOperator<Scalar, ExecutionSpace> {
 public:
  using Base = MatrixOperator<Scalar, ExecutionSpace>;
  using typename Base::Memory;
  using typename Base::Rows;
  using typename Base::Scale;
  using Channel = ViewChannel<ExecutionSpace>;
  using SharedRows = std::shared_ptr<const DistributedRows<Scalar>>;

  /// @param A      rows of this rank
  /// @param places on rank 0: [n] rank of each row, and its position there
  HaloOperator(Channel& channel, SharedRows A, const std::vector<Place>& places, const MemoryBudget& budget);
  HaloOperator(const HaloOperator&) = delete;
  HaloOperator& operator=(const HaloOperator&) = delete;

  const DistributedRows<Scalar>& rows() const { return *m_A; }
  /// The values of this rank's entries, by rows, in the memory of the execution space.
  const Kokkos::View<const Scalar*, Memory>& values() const { return m_values; }
  /// To be called after the values of the rows have changed.
  void update_values();
  /// Devices: copies other values of the same entries. Those of `rows()` are then out of date.
  void update_values(const Kokkos::View<const Scalar*, Memory>& values);
  /// A copy of the values on the host.
  std::vector<Scalar> host_values() const;
  /// The rows of the transposed matrix, distributed alike: each entry goes to the rank of its column.
  DistributedRows<Scalar> transposed() const;

  std::int64_t size() const override { return static_cast<std::int64_t>(m_A->rows.size()); }
  void apply(const ExecutionSpace& exec, const Rows& X, const Rows& Y) const override;
  void residual(const ExecutionSpace& exec, const Rows& B, const Rows& X, const Rows& R,
                const ResidualMaxima<ExecutionSpace>& maxima) const override;
  void gather_norm(const ExecutionSpace& exec, const Scale& row_scale, const Scale& col_scale,
                   const ResidualMaxima<ExecutionSpace>& maxima) const override;
  void apply_magnitudes(const ExecutionSpace& exec, const Rows& X, const Rows& G) const override;
  BilinearForm bilinear_form(const ExecutionSpace& exec, const Rows& W, const Rows& Z) const override;
  void join_maxima(std::span<double> maxima) const override;

 private:
  /// Elements of X that the rows need.
  struct Needed {
    MemoryReservation memory;
    Rows values;  ///< [own elements and halo × columns of the last product]
  };
  void number_columns(std::vector<std::int64_t>& halo);
  void plan_halo(const std::vector<std::int64_t>& halo, const std::vector<Place>& places);
  void move_to_space();
  void use_values();
  template <class T>
  Kokkos::View<const T*, Memory> in_space(std::string_view label, const std::vector<T>& host);
  template <class T>
  DenseRows<T, Memory> halo_part(const DenseRows<T, Memory>& needed) const;
  void reserve(std::size_t bytes) const;
  Rows with_halo(const Rows& X) const;

  Channel& m_channel;
  SharedRows m_A;
  MemoryBudget m_budget;
  MemoryReservation m_reservation;
  std::vector<Ordinal> m_slots;  ///< [entries] position of its column in own elements, then the halo
  std::vector<Place> m_places;   ///< [halo] rank and position of each element
  mutable ViewExchange<ExecutionSpace> m_halo;  ///< its buffers grow with the columns of products
  Kokkos::View<Scalar*, Memory> m_own_values;   ///< on devices only
  Kokkos::View<const Scalar*, Memory> m_values;
  CsrOperator<Scalar, ExecutionSpace> m_local;  ///< these rows, with columns by `m_slots`
  mutable Needed m_needed;
};

/// A matrix distributed by rows and its transpose, which is built when it is first needed. All calls are
/// collective, and errors are thrown on all ranks.
template <class Scalar, class ExecutionSpace>
class DistributedOperator {
 public:
  using Operator = HaloOperator<Scalar, ExecutionSpace>;
  using Channel = typename Operator::Channel;

  /// @param channel, rows outlive this object
  DistributedOperator(Channel& channel, const RankRows<Scalar>& rows, const MemoryBudget& budget = {})
      : m_channel(channel),
        m_rows(rows),
        m_budget(budget),
        m_A(channel, rows.shared(), rows.places(), budget) {}

  /// To be called after the values of the rows have changed.
  void update_values() {
    m_A.update_values();
    m_transposed.reset();
  }
  /// Devices: takes other values.
  void update_values(const Kokkos::View<const Scalar*, typename ExecutionSpace::memory_space>& values) {
    m_A.update_values(values);
    m_transposed.reset();
  }
  /// A or Aᵀ. @param op not adjoint
  Operator& get(Transposition op) {
    if (op == Transposition::none) return m_A;
    if (!m_transposed)
      m_transposed.emplace(m_channel, std::make_shared<const DistributedRows<Scalar>>(m_A.transposed()),
                           m_rows.places(), m_budget);
    return *m_transposed;
  }

 private:
  Channel& m_channel;
  const RankRows<Scalar>& m_rows;
  MemoryBudget m_budget;
  Operator m_A;
  std::optional<Operator> m_transposed;
};

}  // namespace lutra::Impl

#endif
