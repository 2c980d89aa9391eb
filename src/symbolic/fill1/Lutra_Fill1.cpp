// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_Fill1.hpp"

#include "Lutra_Fill1Rows.hpp"
#include "Lutra_Fill1Threads.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_Instantiate.hpp"

namespace lutra::Impl {
namespace {

LuPattern<Kokkos::HostSpace> fill1_serial(const CsrPattern<Ordinal, Offset, Kokkos::HostSpace>& pattern,
                                          const MemoryBudget& budget) {
  const Kokkos::DefaultHostExecutionSpace exec;
  const Ordinal n = pattern.n_rows;
  LuPattern<Kokkos::HostSpace> result;
  result.n = n;
  result.method = SymbolicMethod::fill1;
  result.reservation = MemoryReservation(budget);
  MemoryReservation scratch(budget);
  const std::size_t first_chunk = words_expected(pattern, budget);
  HostArena arena(scratch.allocate<HostArray<char>>(
      exec, "lutra::symbolic::fill1_arena", Fill1Rows::bytes(n) + Fill1Worker::bytes_each(n, first_chunk)));
  const Fill1Rows rows(arena, n);
  Fill1Worker worker(arena, budget, n, first_chunk);
  auto row_map =
      result.reservation.template allocate<HostArray<Offset>>(exec, "lutra::symbolic::row_map", n + 1);
  auto diagonal =
      result.reservation.template allocate<HostArray<Offset>>(exec, "lutra::symbolic::diagonal", n);
  row_map(0) = 0;
  for (Ordinal i = 0; i < n; ++i) {
    if (i % 16 == 0) budget.run().poll(static_cast<double>(i), static_cast<double>(n));
    const auto found = sweep_row(rows, worker, i, start_row(pattern, i, worker.reached));
    diagonal(i) = row_map(i) + static_cast<Offset>(found.n_lower);
    row_map(i + 1) = row_map(i) + static_cast<Offset>(found.length);
    result.nnz_l += static_cast<Offset>(found.n_lower);
  }
  auto entries =
      result.reservation.template allocate<HostArray<Ordinal>>(exec, "lutra::symbolic::entries", row_map(n));
  result.nnz_u = row_map(n) - result.nnz_l;
  Ordinal* to = entries.data();
  worker.chunks.for_all([&](const RowWord* begin, const RowWord* end) {
    budget.run().poll();
    to = write_columns(begin, end, to);
  });
  result.row_map = row_map;
  result.diagonal = diagonal;
  result.entries = entries;
  return result;
}

}  // namespace

LuPattern<Kokkos::HostSpace> fill1(const CsrPattern<Ordinal, Offset, Kokkos::HostSpace>& pattern,
                                   const MemoryBudget& budget, int threads) {
  if (threads < 2 || pattern.n_rows == 0) return fill1_serial(pattern, budget);
  return Fill1Threads(pattern, budget, static_cast<std::size_t>(threads)).run();
}

}  // namespace lutra::Impl
