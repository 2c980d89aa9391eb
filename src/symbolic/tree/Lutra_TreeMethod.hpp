// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_TREEMETHOD_HPP
#define LUTRA_TREEMETHOD_HPP

#include <algorithm>
#include <utility>

#include "Lutra_Bytes.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_ParallelTree.hpp"
#include "Lutra_PrefixSum.hpp"
#include "Lutra_RowTeams.hpp"
#include "Lutra_SortRows.hpp"
#include "Lutra_Symbolic.hpp"
#include "Lutra_SymbolicChoice.hpp"

namespace lutra::Impl {

/// Whether a supernode ends at v: the next row of U is not this one without its diagonal.
template <class OrdinalView>
struct SupernodeEnd {
  ChainEnd<OrdinalView> chain_end;
  OrdinalView column_counts;
  KOKKOS_FUNCTION bool operator()(Ordinal v) const {
    return chain_end(v) || column_counts(v + 1) != column_counts(v) - 1;
  }
};

/// The elimination-tree method: tree, row subtrees, fundamental supernodes, rows. The count pass finds the
/// lengths of all rows and columns of L, the fill pass their entries. Exact for symmetric patterns, else the
/// factor pattern of A + Aᵀ. All members are public, because nvcc accepts device lambdas only in public
/// functions.
template <class ExecutionSpace>
struct TreeMethod : ParallelTree<ExecutionSpace> {
  using Base = ParallelTree<ExecutionSpace>;
  using Base::build, Base::count, Base::make_runs, Base::walk_rows;
  using Base::m_column_counts, Base::m_exec, Base::m_n, Base::m_parent, Base::m_row_counts, Base::m_scratch,
      Base::m_subtrees;
  using typename Base::Memory, typename Base::OffsetView, typename Base::OrdinalView, typename Base::Pattern,
      typename Base::Range;
  using Result = LuPattern<Memory>;

  TreeMethod(const ExecutionSpace& exec, const Pattern& pattern, const MemoryBudget& budget)
      : Base(exec, pattern, budget) {
    m_result.n = m_n;
    m_result.reservation = MemoryReservation(budget);
  }

  /// @param mirror entries of Aᵀ left of the diagonal, by rows; empty for a symmetric pattern
  Result run(const Pattern& mirror) {
    build(mirror);
    count();
    find_supernodes();
    store();
    m_result.method = SymbolicMethod::etree;
    return m_result;
  }

  /// Properties for the choice of a method, for an unsymmetric pattern whose tree has been built.
  PatternProperties properties(const OrdinalView& depth) const {
    PatternProperties found;
    found.rows = static_cast<double>(m_n);
    found.entries = static_cast<double>(m_subtrees.pattern.nnz());
    Ordinal height = 0;
    Kokkos::parallel_reduce(
        "lutra::symbolic::height", Range(m_exec, 0, m_n),
        KOKKOS_LAMBDA(const std::int64_t v, Ordinal& greatest) {
          if (depth(v) > greatest) greatest = depth(v);
        },
        Kokkos::Max<Ordinal>(height));
    Kokkos::parallel_reduce(
        "lutra::symbolic::set_words", Range(m_exec, 0, m_n),
        KOKKOS_LAMBDA(const std::int64_t v, double& sum) {
          sum += static_cast<double>((depth(v) + 63) / 64);
        },
        found.set_words);
    found.height = static_cast<double>(height);
    return found;
  }

  FillBounds fill_bounds(const OrdinalView& depth) {
    FillBounds bounds;
    count();
    bounds.nnz = 2 * static_cast<double>(total_of<Offset>(m_exec, m_row_counts)) + static_cast<double>(m_n);
    const auto row_map = m_subtrees.pattern.row_map;
    Kokkos::parallel_reduce(
        "lutra::symbolic::searched_edges", Range(m_exec, 0, m_n),
        KOKKOS_LAMBDA(const std::int64_t v, double& sum) {
          sum += static_cast<double>(row_map(v + 1) - row_map(v)) * static_cast<double>(depth(v));
        },
        bounds.searched_edges);
    return bounds;
  }

  /// Fundamental supernodes: rows of U that differ only by their first entry.
  void find_supernodes() {
    const auto counts = m_column_counts;
    m_subtrees.runs = make_runs(SupernodeEnd<OrdinalView>{{m_parent}, m_column_counts});
    const auto runs = m_subtrees.runs;
    m_list_begin =
        m_scratch.template allocate<OffsetView>(m_exec, "lutra::symbolic::list_begin", runs.count + 1);
    const auto begin = m_list_begin;
    const Ordinal n_runs = runs.count;
    m_listed = 0;
    Kokkos::parallel_scan(
        "lutra::symbolic::list_begin", Range(m_exec, 0, n_runs + 1),
        KOKKOS_LAMBDA(const std::int64_t s, Offset& sum, const bool final) {
          if (final) begin(s) = sum;
          if (s < n_runs) sum += counts(runs.last(s));
        },
        m_listed);
  }

  /// The fill pass: the rows of L, the row list of each supernode, and the rows of U from these lists.
  void store() {
    auto row_map =
        m_result.reservation.template allocate<OffsetView>(m_exec, "lutra::symbolic::row_map", m_n + 1);
    auto diagonal =
        m_result.reservation.template allocate<OffsetView>(m_exec, "lutra::symbolic::diagonal", m_n);
    const Offset nnz = make_row_map(m_exec, m_n, m_row_counts, m_column_counts, row_map, diagonal);
    m_result.nnz_l = total_of<Offset>(m_exec, m_row_counts);
    m_result.nnz_u = nnz - m_result.nnz_l;
    auto entries =
        m_result.reservation.template allocate<OrdinalView>(m_exec, "lutra::symbolic::entries", nnz);
    m_subtrees.lists = m_scratch.template allocate<OrdinalView>(m_exec, "lutra::symbolic::lists", m_listed);
    m_subtrees.list_ends =
        m_scratch.template allocate<OffsetView>(m_exec, "lutra::symbolic::list_ends", m_subtrees.runs.count);
    copy_view(m_exec, m_subtrees.list_ends, m_list_begin);
    m_subtrees.row_map = row_map;
    m_subtrees.entries = entries;
    m_subtrees.store = true;
    walk_rows();
    if constexpr (!is_serial_space<ExecutionSpace>) {  // one thread enters rows in ascending order
      m_exec.fence("lutra::symbolic: the lists are complete");
      sort_rows("lutra::symbolic::sorted_lists", m_exec, m_list_begin, m_subtrees.lists, m_n);
    }
    write_upper(diagonal, entries);
    m_exec.fence("lutra::symbolic: scratch is freed");
    m_result.row_map = row_map;
    m_result.diagonal = diagonal;
    m_result.entries = entries;
  }

  /// U(v, :) is v and the rest of its supernode, then the supernode's list.
  void write_upper(const OffsetView& diagonal, const OrdinalView& entries) {
    const auto runs = m_subtrees.runs;
    const auto begin = m_list_begin;
    const auto lists = m_subtrees.lists;
    const Ordinal n = m_n;
    const double mean = n > 0 ? static_cast<double>(m_result.nnz_u) / static_cast<double>(n) : 0.0;
    const RowTeams share(m_exec, vector_length_for<ExecutionSpace>(mean));
    Kokkos::parallel_for(
        "lutra::symbolic::rows_of_u", share.policy(m_exec, n),
        KOKKOS_LAMBDA(const typename Base::Subtrees::Team& team) {
          share.visit_rows(team, n, [&](const Ordinal v) {
            const Ordinal run = runs.of(v), inside = runs.last(run) - v + 1;
            const Offset to = diagonal(v), from = begin(run);
            Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, inside),
                                 [&](const Ordinal k) { entries(to + k) = v + k; });
            Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, begin(run + 1) - from),
                                 [&](const Offset k) { entries(to + inside + k) = lists(from + k); });
          });
        });
  }

  Result m_result;
  OffsetView m_list_begin;  ///< [supernodes + 1]
  Offset m_listed = 0;      ///< total entries of all lists
};

}  // namespace lutra::Impl

#endif
