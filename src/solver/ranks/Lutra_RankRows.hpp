// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_RANKROWS_HPP
#define LUTRA_RANKROWS_HPP

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "Lutra_Communicator.hpp"
#include "Lutra_CsrView.hpp"
#include "Lutra_DistributedRows.hpp"
#include "Lutra_Exchange.hpp"

namespace lutra::Impl {

/// The rows of a distributed matrix on this rank, and on rank 0 where all of its rows are. Calls that change
/// them are collective, and errors are thrown on all ranks.
template <class Scalar>
class RankRows {
 public:
  explicit RankRows(Communicator& comm) : m_comm(comm) {}

  /// Copies the rows.
  /// @throws InputError if arrays do not match, a row or column is out of range, or a row is on no rank or on
  ///         two; OutOfMemoryError
  void set_rows(const DistributedRows<Scalar>& A);
  /// Replaces the values in place.
  void set_values(std::span<const Scalar> values);

  /// The rows, empty at first.
  const DistributedRows<Scalar>& rows() const { return *m_rows; }
  std::shared_ptr<const DistributedRows<Scalar>> shared() const { return m_rows; }
  /// The row indices of each rank, on rank 0.
  const std::vector<std::vector<std::int64_t>>& all_rows() const { return m_all_rows; }
  /// [n] on rank 0: rank of each row, and its position there
  const std::vector<Place>& places() const { return m_places; }

 private:
  std::vector<Place> find_places(const DistributedRows<Scalar>& A,
                                 const std::vector<std::vector<std::int64_t>>& all_rows);

  Communicator& m_comm;
  std::shared_ptr<DistributedRows<Scalar>> m_rows = std::make_shared<DistributedRows<Scalar>>();
  std::vector<std::vector<std::int64_t>> m_all_rows;
  std::vector<Place> m_places;
};

}  // namespace lutra::Impl

#endif
