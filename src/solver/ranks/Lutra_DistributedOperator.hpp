// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_DISTRIBUTEDOPERATOR_HPP
#define LUTRA_DISTRIBUTEDOPERATOR_HPP

#include <cstdint>
#include <memory>
#include <vector>

#include "Lutra_Communicator.hpp"
#include "Lutra_CsrView.hpp"
#include "Lutra_DistributedRows.hpp"
#include "Lutra_Exchange.hpp"
#include "Lutra_HaloOperator.hpp"

namespace lutra {

/// A matrix distributed by rows, and its transpose, which is built when it is first needed.
/// All calls are collective, and errors are thrown on all ranks.
template <class Scalar>
class DistributedOperator {
 public:
  using Operator = Impl::HaloOperator<Scalar>;

  explicit DistributedOperator(Communicator& comm) : m_comm(comm) {}

  /// Copies the rows and plans the exchange of halos.
  /// @throws InputError if arrays do not match, a row or column is out of range, or a row is on no rank or on
  ///         two; OutOfMemoryError
  void set_rows(const DistributedRows<Scalar>& A);
  /// Replaces the values.
  void set_values(const std::vector<Scalar>& values);

  /// The rows, empty at first.
  const DistributedRows<Scalar>& rows() const { return m_A ? m_A->rows() : m_none; }
  /// Returns the row indices of each rank, on rank 0.
  const std::vector<std::vector<std::int64_t>>& all_rows() const { return m_all_rows; }

  /// A or Aᵀ. @param op not adjoint
  Operator& get(Transposition op);

 private:
  void find_places(const DistributedRows<Scalar>& A);

  Communicator& m_comm;
  DistributedRows<Scalar> m_none;
  std::unique_ptr<Operator> m_A, m_transposed;
  std::vector<std::vector<std::int64_t>> m_all_rows;
  std::vector<Impl::Place> m_places;  ///< [n] on rank 0: rank of each row, and its position there
};

}  // namespace lutra

#endif
