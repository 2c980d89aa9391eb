// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_DISTRIBUTEDOPERATOR_HPP
#define LUTRA_DISTRIBUTEDOPERATOR_HPP

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "Lutra_Communicator.hpp"
#include "Lutra_CsrView.hpp"
#include "Lutra_DistributedRows.hpp"
#include "Lutra_Exchange.hpp"

namespace lutra {

/// Backward errors of the columns of a solution.
struct DistributedErrors {
  std::vector<double> componentwise;  ///< [k]
  double normwise = 0;
  double worst() const {
    return componentwise.empty() ? 0 : *std::max_element(componentwise.begin(), componentwise.end());
  }
};

/// A matrix distributed by rows. A product needs the elements of X in the columns of this rank's rows: those
/// in its own rows, and a halo that other ranks send. The transpose is built when a residual first needs it.
/// All calls are collective, and errors are thrown on all ranks.
template <class Scalar>
class DistributedOperator {
 public:
  explicit DistributedOperator(Communicator& comm) : m_comm(comm) {}

  /// Copies the rows and plans the exchange of halos.
  /// @throws InputError if arrays do not match, a row or column is out of range, or a row is on no rank or on
  ///         two; OutOfMemoryError
  void set_rows(const DistributedRows<Scalar>& A);
  /// Replaces the values.
  void set_values(const std::vector<Scalar>& values);

  const DistributedRows<Scalar>& rows() const { return m_A.rows; }
  /// Returns the row indices of each rank, on rank 0.
  const std::vector<std::vector<std::int64_t>>& all_rows() const { return m_all_rows; }

  /// Computes R = B − op(A)·X and the backward errors of X over the rows of all ranks.
  /// @param B,X,R [rows of this rank × k] stored by columns
  DistributedErrors compute_errors(Transposition op, std::span<const Scalar> B, const std::vector<Scalar>& X,
                                   std::size_t k, std::vector<Scalar>& R);

 private:
  struct Matrix {
    DistributedRows<Scalar> rows;
    double norm = 0;                  ///< ‖·‖∞ of the whole matrix
    std::vector<int> slots;           ///< [entries] position of its column in own elements, then the halo
    std::vector<Impl::Place> places;  ///< [halo] rank and position of each element
    Impl::Exchange halo;
  };
  void find_places();
  void plan_halo(Matrix& A);
  void set_norm(Matrix& A);
  const Matrix& get(Transposition op);
  std::vector<Scalar> with_halo(const Matrix& A, const std::vector<Scalar>& X, std::size_t k);

  Communicator& m_comm;
  Matrix m_A;
  std::optional<Matrix> m_transposed;
  std::vector<std::vector<std::int64_t>> m_all_rows;
  std::vector<Impl::Place> m_places;  ///< [n] on rank 0: rank of each row, and its position there
};

}  // namespace lutra

#endif
