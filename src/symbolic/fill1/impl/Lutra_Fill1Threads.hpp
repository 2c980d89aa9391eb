// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_FILL1THREADS_HPP
#define LUTRA_FILL1THREADS_HPP

#include <algorithm>
#include <vector>

#include "Lutra_EliminationTree.hpp"
#include "Lutra_Fill1Rows.hpp"
#include "Lutra_HostTasks.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_SubtreeMapping.hpp"

namespace lutra::Impl {

/// fill1 by several threads. The columns of L(i, :) are in the subtree of i in the elimination tree of A +
/// Aᵀ, so that rows of disjoint subtrees are independent:
///
///     thread 0   subtrees  subtrees │ rows above all subtrees │ entries of rows
///     thread 1   subtrees           │ waits                   │ entries of rows
///                                  join                      join
///
/// Row k of U is pruned only by rows of the same subtree, and after the first join only by thread 0, so that
/// no two threads write to it.
class Fill1Threads {
 public:
  using Host = Kokkos::DefaultHostExecutionSpace;
  using Pattern = CsrPattern<Ordinal, Offset, Kokkos::HostSpace>;
  using Result = LuPattern<Kokkos::HostSpace>;

  Fill1Threads(const Pattern& pattern, const MemoryBudget& budget, std::size_t threads)
      : Fill1Threads(pattern, budget, threads, words_expected(pattern, budget) / threads) {}

  Result run() {
    const auto mapping = map_rows();
    const auto find_rows = [&](Worker& worker, Ordinal begin, Ordinal end) {
      for (Ordinal k = begin; k < end; ++k) {
        m_budget.run().poll_at(k, 16);
        const Ordinal i = mapping.order[static_cast<std::size_t>(k)];
        m_found(i) = sweep_row(m_rows, worker, i, start_row(m_pattern, i, worker.reached));
      }
    };
    for_each_task(m_workers.size(), mapping.tasks(), [&](std::size_t thread, std::size_t task) {
      find_rows(m_workers[thread], mapping.task_begin[task], mapping.task_begin[task + 1]);
    });
    find_rows(m_workers.front(), mapping.task_begin.back(), m_n);
    return write();
  }

 private:
  using Worker = Fill1Worker;
  static constexpr Ordinal rows_each = 256;  ///< rows written per task; smaller: better balance, more tasks

  Fill1Threads(const Pattern& pattern, const MemoryBudget& budget, std::size_t threads,
               std::size_t first_chunk)
      : m_pattern(pattern),
        m_budget(budget),
        m_n(pattern.n_rows),
        m_scratch(budget),
        m_arena(m_scratch.allocate<HostArray<char>>(
            Host(), "lutra::symbolic::fill1_arena",
            Fill1Rows::bytes(m_n) + static_cast<std::size_t>(m_n) * sizeof(FoundRow) + HostArena::loss(1) +
                threads * Worker::bytes_each(m_n, first_chunk))),
        m_rows(m_arena, m_n),
        m_found(m_arena.template cut<HostArray<FoundRow>>(m_n)) {
    for (std::size_t t = 0; t < threads; ++t) m_workers.emplace_back(m_arena, budget, m_n, first_chunk);
  }

  /// Estimates a row's work as its entries in A, plus 1.
  SubtreeMapping map_rows() const {
    std::vector<double> work(static_cast<std::size_t>(m_n));
    for (std::size_t i = 0; i < work.size(); ++i)
      work[i] = 1 + static_cast<double>(m_pattern.row_map(i + 1) - m_pattern.row_map(i));
    return map_subtrees(elimination_tree(m_pattern, m_budget).parent, work,
                        static_cast<int>(m_workers.size()), {2.0 / 5, 1.0 / 16});
  }

  Result write() {
    Result result;
    result.n = m_n;
    result.method = SymbolicMethod::fill1;
    result.reservation = MemoryReservation(m_budget);
    const auto row_map =
        result.reservation.template allocate<HostArray<Offset>>(Host(), "lutra::symbolic::row_map", m_n + 1);
    const auto diagonal =
        result.reservation.template allocate<HostArray<Offset>>(Host(), "lutra::symbolic::diagonal", m_n);
    row_map(0) = 0;
    for (Ordinal i = 0; i < m_n; ++i) {
      const auto lower = static_cast<Offset>(m_found(i).n_lower);
      diagonal(i) = row_map(i) + lower;
      row_map(i + 1) = row_map(i) + static_cast<Offset>(m_found(i).length);
      result.nnz_l += lower;
    }
    result.nnz_u = row_map(m_n) - result.nnz_l;
    const auto entries = result.reservation.template allocate<HostArray<Ordinal>>(
        Host(), "lutra::symbolic::entries", row_map(m_n));
    const auto blocks = static_cast<std::size_t>((m_n + rows_each - 1) / rows_each);
    for_each_task(m_workers.size(), blocks, [&](std::size_t, std::size_t block) {
      const Ordinal begin = static_cast<Ordinal>(block) * rows_each;
      for (Ordinal i = begin; i < std::min<Ordinal>(m_n, begin + rows_each); ++i)
        write_columns(m_found(i).begin, m_found(i).end, entries.data() + row_map(i));
    });
    result.row_map = row_map;
    result.diagonal = diagonal;
    result.entries = entries;
    return result;
  }

  Pattern m_pattern;
  MemoryBudget m_budget;
  Ordinal m_n;
  MemoryReservation m_scratch;
  HostArena m_arena;
  Fill1Rows m_rows;
  HostArray<FoundRow> m_found;  ///< [n]
  std::vector<Worker> m_workers;
};

}  // namespace lutra::Impl

#endif
