// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_RankRows.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "Lutra_Error.hpp"
#include "Lutra_Instantiate.hpp"

namespace lutra::Impl {

template <class Scalar>
void RankRows<Scalar>::set_rows(const DistributedRows<Scalar>& A) {
  m_comm.agree(
      "rows of a distributed matrix", [&] { check_rows(A); }, false);
  auto all_rows = m_comm.gather(A.rows);
  auto places = find_places(A, all_rows);  // where it throws, the rows stay what they were
  m_all_rows = std::move(all_rows);
  m_places = std::move(places);
  m_rows = std::make_shared<DistributedRows<Scalar>>(A);
}

template <class Scalar>
void RankRows<Scalar>::set_values(std::span<const Scalar> values) {
  std::copy(values.begin(), values.end(), m_rows->values.begin());
}

/// Finds on rank 0 where each row is, and checks rows and columns.
template <class Scalar>
std::vector<Place> RankRows<Scalar>::find_places(const DistributedRows<Scalar>& A,
                                                 const std::vector<std::vector<std::int64_t>>& all_rows) {
  std::vector<Place> places;
  const auto orders = m_comm.all_gather(A.n);
  m_comm.agree(
      "rows of a distributed matrix",
      [&] {
        check_columns(A);
        for (std::size_t r = 0; r < orders.size(); ++r)
          if (orders[r] != orders[0])
            throw InputError("n is " + std::to_string(orders[0]) + " on rank 0, and " +
                             std::to_string(orders[r]) + " on rank " + std::to_string(r));
        if (m_comm.rank() == 0) places = places_of_rows(A.n, all_rows);
      },
      false);
  return places;
}

#define LUTRA_INSTANTIATE(Scalar) template class RankRows<Scalar>;
LUTRA_FOR_EACH_SCALAR(LUTRA_INSTANTIATE)
#undef LUTRA_INSTANTIATE

}  // namespace lutra::Impl
