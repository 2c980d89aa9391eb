// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_DistributedOperator.hpp"

#include <string>

#include "Lutra_Error.hpp"
#include "Lutra_Instantiate.hpp"

namespace lutra {

template <class Scalar>
void DistributedOperator<Scalar>::set_rows(const DistributedRows<Scalar>& A) {
  m_comm.agree(
      "rows of a distributed matrix", [&] { Impl::check_rows(A); }, false);
  m_all_rows = m_comm.gather(A.rows);
  find_places(A);
  m_transposed.reset();
  m_A = std::make_unique<Operator>(m_comm, A, m_places);
}

template <class Scalar>
void DistributedOperator<Scalar>::set_values(const std::vector<Scalar>& values) {
  m_A->set_values(values);
  m_transposed.reset();
}

/// Finds on rank 0 where each row is, and checks rows and columns.
template <class Scalar>
void DistributedOperator<Scalar>::find_places(const DistributedRows<Scalar>& A) {
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

template <class Scalar>
auto DistributedOperator<Scalar>::get(Transposition op) -> Operator& {
  if (op == Transposition::none) return *m_A;
  if (!m_transposed) m_transposed = std::make_unique<Operator>(m_comm, m_A->transposed(), m_places);
  return *m_transposed;
}

#define LUTRA_INSTANTIATE(Scalar) template class DistributedOperator<Scalar>;
LUTRA_FOR_EACH_SCALAR(LUTRA_INSTANTIATE)
#undef LUTRA_INSTANTIATE

}  // namespace lutra
