// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_DistributedRows.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <span>
#include <string>

#include "Lutra_AllFinite.hpp"
#include "Lutra_Error.hpp"
#include "Lutra_Instantiate.hpp"
#include "Lutra_ScalarTraits.hpp"

namespace lutra {

std::vector<Impl::Place> Impl::places_of_rows(std::int64_t n,
                                              const std::vector<std::vector<std::int64_t>>& rows) {
  std::vector<Place> places(static_cast<std::size_t>(n));
  for (std::size_t r = 0; r < rows.size(); ++r) {
    for (std::size_t k = 0; k < rows[r].size(); ++k) {
      const std::int64_t row = rows[r][k];
      if (row < 0 || row >= n)
        throw InputError("rank " + std::to_string(r) + ": row " + std::to_string(row) +
                         " is not in a matrix of " + std::to_string(n));
      Place& place = places[static_cast<std::size_t>(row)];
      if (place.rank >= 0)
        throw InputError("row " + std::to_string(row) + " is on two ranks, or twice on one");
      place = {static_cast<std::int64_t>(r), k};
    }
  }
  for (std::size_t i = 0; i < places.size(); ++i)
    if (places[i].rank < 0) throw InputError("row " + std::to_string(i) + " of the matrix is on no rank");
  return places;
}

template <class Scalar>
HostMatrix<Scalar> Impl::assemble_rows(std::int64_t n, const std::vector<std::vector<std::int64_t>>& rows,
                                       const std::vector<std::vector<std::int64_t>>& row_maps,
                                       const std::vector<std::vector<int>>& columns,
                                       const std::vector<std::vector<Scalar>>& values) {
  if (n > std::numeric_limits<int>::max())
    throw InputError("a matrix of " + std::to_string(n) + " rows: rank 0 factorizes with 32-bit indices");
  HostMatrix<Scalar> A{static_cast<int>(n), static_cast<int>(n), {}, {}, {}};
  A.row_map.assign(static_cast<std::size_t>(n) + 1, 0);
  for (std::size_t r = 0; r < rows.size(); ++r)
    for (std::size_t i = 0; i < rows[r].size(); ++i)
      A.row_map[static_cast<std::size_t>(rows[r][i]) + 1] = row_maps[r][i + 1] - row_maps[r][i];
  std::partial_sum(A.row_map.begin(), A.row_map.end(), A.row_map.begin());
  A.entries.resize(static_cast<std::size_t>(A.row_map.back()));
  A.values.resize(A.entries.size());
  for (std::size_t r = 0; r < rows.size(); ++r) {
    for (std::size_t i = 0, end = 0; i < rows[r].size(); i = end) {  // runs of consecutive rows
      end = i + 1;
      while (end < rows[r].size() && rows[r][end] == rows[r][end - 1] + 1) ++end;
      const std::int64_t to = A.row_map[static_cast<std::size_t>(rows[r][i])];
      const std::int64_t first = row_maps[r][i], last = row_maps[r][end];
      std::copy(columns[r].begin() + first, columns[r].begin() + last, A.entries.begin() + to);
      std::copy(values[r].begin() + first, values[r].begin() + last, A.values.begin() + to);
    }
  }
  return A;
}

template <class Scalar>
void Impl::check_rows(const DistributedRows<Scalar>& A) {
  if (A.row_map.size() != A.rows.size() + 1 || A.row_map.front() != 0 ||
      !std::is_sorted(A.row_map.begin(), A.row_map.end()) ||
      static_cast<std::size_t>(A.row_map.back()) != A.columns.size() || A.columns.size() != A.values.size())
    throw InputError("row_map, columns and values of distributed rows do not fit together");
}

namespace {

/// Calls visit(row, e) for each entry.
template <class Scalar, class Visit>
void for_each_entry(const DistributedRows<Scalar>& A, const Visit& visit) {
  for (std::size_t i = 0; i < A.rows.size(); ++i)
    for (auto e = static_cast<std::size_t>(A.row_map[i]); e < static_cast<std::size_t>(A.row_map[i + 1]); ++e)
      visit(A.rows[i], e);
}

}  // namespace

template <class Scalar>
void Impl::check_columns(const DistributedRows<Scalar>& A) {
  for_each_entry(A, [&](std::int64_t row, std::size_t e) {
    if (A.columns[e] < 0 || A.columns[e] >= A.n)
      throw InputError("row " + std::to_string(row) + ": column " + std::to_string(A.columns[e]) +
                       " is not in a matrix of " + std::to_string(A.n));
  });
}

template <class Scalar>
void Impl::check_values(const DistributedRows<Scalar>& A, std::span<const Scalar> values) {
  using Real = RealOf<Scalar>;
  if (all_finite(reinterpret_cast<const Real*>(values.data()),
                 values.size() * (sizeof(Scalar) / sizeof(Real))))
    return;
  for_each_entry(A, [&](std::int64_t row, std::size_t e) {
    if (!ScalarTraits<Scalar>::is_finite(values[e]))
      throw InputError("A: row " + std::to_string(row) + ", column " + std::to_string(A.columns[e]) +
                       " is not finite");
  });
}

template <class Scalar>
DistributedRows<Scalar> deal_rows(Communicator& comm, const HostMatrix<Scalar>& A, int root) {
  constexpr int tag = 31002;
  const auto P = static_cast<std::int64_t>(comm.size());
  if (comm.rank() == root) {
    const auto n = static_cast<std::int64_t>(A.n_rows);
    for (std::int64_t to = 0; to < P; ++to) {
      const std::int64_t first = n * to / P, end = n * (to + 1) / P;
      std::vector<std::int64_t> row_map{n, first};  // n and the first row precede the row pointers
      const std::int64_t begin = A.row_map[static_cast<std::size_t>(first)],
                         stop = A.row_map[static_cast<std::size_t>(end)];
      for (std::int64_t i = first; i <= end; ++i)
        row_map.push_back(A.row_map[static_cast<std::size_t>(i)] - begin);
      comm.send(static_cast<int>(to), tag, row_map);
      comm.send(static_cast<int>(to), tag,
                std::vector<std::int64_t>(A.entries.begin() + begin, A.entries.begin() + stop));
      comm.send(static_cast<int>(to), tag,
                std::span(A.values).subspan(static_cast<std::size_t>(begin),
                                            static_cast<std::size_t>(stop - begin)));
    }
  }
  DistributedRows<Scalar> mine;
  const auto head = comm.receive<std::int64_t>(root, tag);
  Impl::require_elements(std::min<std::size_t>(head.size(), 3), 3);
  mine.n = head[0];
  mine.row_map.assign(head.begin() + 2, head.end());
  for (std::size_t i = 0; i + 1 < mine.row_map.size(); ++i)
    mine.rows.push_back(head[1] + static_cast<std::int64_t>(i));
  mine.columns = comm.receive<std::int64_t>(root, tag);
  mine.values = comm.receive<Scalar>(root, tag);
  Impl::require_elements(mine.columns.size(), static_cast<std::size_t>(mine.row_map.back()));
  Impl::require_elements(mine.values.size(), mine.columns.size());
  return mine;
}

#define LUTRA_DISTRIBUTED_ROWS(Scalar)                                                       \
  template DistributedRows<Scalar> deal_rows(Communicator&, const HostMatrix<Scalar>&, int); \
  template HostMatrix<Scalar> Impl::assemble_rows(                                           \
      std::int64_t, const std::vector<std::vector<std::int64_t>>&,                           \
      const std::vector<std::vector<std::int64_t>>&, const std::vector<std::vector<int>>&,   \
      const std::vector<std::vector<Scalar>>&);                                              \
  template void Impl::check_rows(const DistributedRows<Scalar>&);                            \
  template void Impl::check_columns(const DistributedRows<Scalar>&);                         \
  template void Impl::check_values(const DistributedRows<Scalar>&, std::span<const Scalar>);
LUTRA_FOR_EACH_SCALAR(LUTRA_DISTRIBUTED_ROWS)

}  // namespace lutra
