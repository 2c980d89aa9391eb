// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_HALOOPERATOR_HPP
#define LUTRA_HALOOPERATOR_HPP

#include <cstdint>
#include <span>
#include <vector>

#include "Lutra_Communicator.hpp"
#include "Lutra_CsrOperator.hpp"
#include "Lutra_CsrView.hpp"
#include "Lutra_Exchange.hpp"
#include "Lutra_MatrixOperator.hpp"

namespace lutra::Impl {

/// A matrix distributed by rows, as refinement and Krylov methods see it: vectors hold the elements of this
/// rank's rows. A product needs the elements of X in the columns of these rows: those in the rows themselves,
/// and a halo that other ranks send.
///
///     columns of the rows:   own elements ┆ halo  ◄── elements of X on other ranks
///
/// All calls but `size` and `rows` are collective. Errors are thrown on all ranks.
template <class Scalar>
class HaloOperator final : public MatrixOperator<Scalar, Kokkos::DefaultHostExecutionSpace> {
 public:
  using Exec = Kokkos::DefaultHostExecutionSpace;
  using Base = MatrixOperator<Scalar, Exec>;
  using typename Base::Rows;
  using typename Base::Scale;

  /// @param A      rows of this rank
  /// @param places on rank 0: [n] rank of each row, and its position there
  HaloOperator(Communicator& comm, DistributedRows<Scalar> A, const std::vector<Place>& places);
  HaloOperator(const HaloOperator&) = delete;
  HaloOperator& operator=(const HaloOperator&) = delete;

  const DistributedRows<Scalar>& rows() const { return m_A; }
  /// Replaces the values of this rank's entries. Not collective.
  void set_values(const std::vector<Scalar>& values);
  /// The rows of the transposed matrix, distributed alike: each entry goes to the rank of its column.
  DistributedRows<Scalar> transposed() const;

  std::int64_t size() const override { return static_cast<std::int64_t>(m_A.rows.size()); }
  void apply(const Exec& exec, const Rows& X, const Rows& Y) const override;
  void residual(const Exec& exec, const Rows& B, const Rows& X, const Rows& R,
                const ResidualMaxima<Exec>& maxima) const override;
  void gather_norm(const Exec& exec, const Scale& row_scale, const Scale& col_scale,
                   const ResidualMaxima<Exec>& maxima) const override;
  void apply_magnitudes(const Exec& exec, const Rows& X, const Rows& G) const override;
  BilinearForm bilinear_form(const Exec& exec, const Rows& W, const Rows& Z) const override;
  void join_maxima(std::span<double> maxima) const override;

 private:
  void number_columns(std::vector<std::int64_t>& halo);
  Rows with_halo(const Rows& X) const;

  Communicator& m_comm;
  DistributedRows<Scalar> m_A;
  std::vector<int> m_slots;     ///< [entries] position of its column in own elements, then the halo
  std::vector<Place> m_places;  ///< [halo] rank and position of each element
  Exchange m_halo;
  CsrOperator<Scalar, Exec> m_local;  ///< these rows, with columns by `m_slots`
  mutable Rows m_needed;              ///< [own elements and halo × columns of the last product]
};

}  // namespace lutra::Impl

#endif
