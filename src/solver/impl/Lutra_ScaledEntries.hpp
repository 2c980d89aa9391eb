// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_SCALEDENTRIES_HPP
#define LUTRA_SCALEDENTRIES_HPP

#include <algorithm>

#include "Lutra_BinarySearch.hpp"
#include "Lutra_Factorization.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_PermutePattern.hpp"

namespace lutra::Impl {

/// Finds the position in L + U by columns of each entry of the user's matrix, by a binary search in its
/// sorted row of L + U. Fences.
/// @param row_to_column [nnz(L + U)] position by columns of each entry by rows
template <class ExecutionSpace, class Rows>
Kokkos::View<const Offset*, typename ExecutionSpace::memory_space> locate_entries(
    const ExecutionSpace& exec, const PermutedPattern<typename ExecutionSpace::memory_space>& F,
    const Rows& lu, const Kokkos::View<const Offset*, typename ExecutionSpace::memory_space>& row_to_column,
    MemoryReservation& reservation, const MemoryBudget& budget) {
  using Memory = typename ExecutionSpace::memory_space;
  MemoryReservation scratch(budget);
  const auto target =
      reservation.template allocate<Kokkos::View<Offset*, Memory>>(exec, "lutra::solver::target", F.A.nnz());
  const auto column_position = scratch.template allocate<Kokkos::View<Ordinal*, Memory>>(
      exec, "lutra::solver::column_positions", F.A.n_rows);
  invert_permutation(exec, F.col_order, column_position);
  const auto A = F.A;
  const auto row_order = F.row_order;
  const auto lu_map = lu.row_map;
  const auto lu_entries = lu.entries;
  Kokkos::parallel_for(
      "lutra::solver::locate_entries", Kokkos::RangePolicy<ExecutionSpace>(exec, 0, A.n_rows),
      KOKKOS_LAMBDA(const Ordinal k) {
        for (Offset p = A.row_map(row_order(k)); p < A.row_map(row_order(k) + 1); ++p) {
          const Ordinal wanted = column_position(A.entries(p));
          const Offset found =
              first_not_before(lu_map(k), lu_map(k + 1), [&](Offset q) { return lu_entries(q) < wanted; });
          target(p) = row_to_column(found);
        }
      });
  exec.fence("lutra::solver: column positions are freed");
  return target;
}

/// Writes the scaled matrix to its positions in L + U by columns, and zeros elsewhere. Each thread handles
/// eight consecutive entries regardless of their rows, so that several threads share a long row. Does not
/// wait.
/// @param largest [1] output: the largest magnitude
template <class Scalar, class ExecutionSpace>
void scatter_scaled(const ExecutionSpace& exec,
                    const CsrPattern<Ordinal, Offset, typename ExecutionSpace::memory_space>& A,
                    const Kokkos::View<const Offset*, typename ExecutionSpace::memory_space>& target,
                    const ScaledValues<Scalar, typename ExecutionSpace::memory_space>& scaled,
                    const Kokkos::View<Scalar*, typename ExecutionSpace::memory_space>& values,
                    const Kokkos::View<double*, typename ExecutionSpace::memory_space>& largest) {
  constexpr std::int64_t entries_per_thread = 8;
  const auto nnz = static_cast<std::int64_t>(A.nnz());
  Kokkos::deep_copy(exec, values, Scalar{});
  Kokkos::parallel_reduce(
      "lutra::solver::scatter_scaled",
      Kokkos::RangePolicy<ExecutionSpace>(exec, 0, (nnz + entries_per_thread - 1) / entries_per_thread),
      KOKKOS_LAMBDA(const std::int64_t t, double& most) {
        const std::int64_t begin = t * entries_per_thread;
        const std::int64_t end = begin + entries_per_thread < nnz ? begin + entries_per_thread : nnz;
        Ordinal row = row_of_entry(A.row_map, A.n_rows, begin);
        for (std::int64_t p = begin; p < end; ++p) {
          while (A.row_map(row + 1) <= p) ++row;
          const Scalar value = scaled.values(p) * scaled.row_scale(row) * scaled.col_scale(A.entries(p));
          values(target(p)) = value;
          const auto size = static_cast<double>(ScalarTraits<Scalar>::magnitude(value));
          if (size > most) most = size;
        }
      },
      Kokkos::Max<double, typename ExecutionSpace::memory_space>(Kokkos::subview(largest, 0)));
}

/// Scales the matrix and stores it by rows of F. Fences.
/// @param F_map [n + 1] row pointers of F
/// @returns the largest magnitude
template <class Scalar, class ExecutionSpace, class RowMap>
double scale_rows_of_F(const ExecutionSpace& exec,
                       const PermutedPattern<typename ExecutionSpace::memory_space>& F, const RowMap& F_map,
                       const ScaledValues<Scalar, typename ExecutionSpace::memory_space>& scaled,
                       const Kokkos::View<Scalar*, typename ExecutionSpace::memory_space>& values) {
  const auto A = F.A;
  const auto row_order = F.row_order;
  double largest = 0;
  Kokkos::parallel_reduce(
      "lutra::solver::scale_rows", Kokkos::RangePolicy<ExecutionSpace>(exec, 0, A.n_rows),
      KOKKOS_LAMBDA(const Ordinal k, double& most) {
        const Ordinal row = row_order(k);
        const auto scale = scaled.row_scale(row);
        Offset q = F_map(k);
        for (Offset p = A.row_map(row); p < A.row_map(row + 1); ++p, ++q) {
          const Scalar value = scaled.values(p) * scale * scaled.col_scale(A.entries(p));
          values(q) = value;
          const auto size = static_cast<double>(ScalarTraits<Scalar>::magnitude(value));
          if (size > most) most = size;
        }
      },
      Kokkos::Max<double>(largest));
  return std::max(largest, 0.0);
}

}  // namespace lutra::Impl

#endif
