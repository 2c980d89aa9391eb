// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_ANCESTORMETHOD_HPP
#define LUTRA_ANCESTORMETHOD_HPP

#include "Lutra_AncestorRows.hpp"
#include "Lutra_Bytes.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_RowTeams.hpp"
#include "Lutra_TreeMethod.hpp"
#include "Lutra_WordBits.hpp"
#ifdef KOKKOS_ENABLE_CUDA
#include "Lutra_LongChainsCuda.hpp"
#endif

namespace lutra::Impl {

/// The exact method on the elimination tree of A + Aᵀ: ancestor bit sets, elimination on them, rows. All
/// members are public, because nvcc accepts device lambdas only in public functions.
template <class ExecutionSpace>
struct AncestorMethod {
  using Memory = typename ExecutionSpace::memory_space;
  using Tree = TreeMethod<ExecutionSpace>;
  using Result = typename Tree::Result;
  using OffsetView = typename Tree::OffsetView;
  using OrdinalView = typename Tree::OrdinalView;
  using Range = typename Tree::Range;
  using Sets = AncestorSets<Memory>;
  using Word = typename Sets::Word;
  using WordView = Kokkos::View<Word*, Memory>;

  /// @param tree with its tree built
  /// @param portable forces the portable kernels
  AncestorMethod(Tree& tree, const OrdinalView& depth, bool portable)
      : m_tree(tree), m_exec(tree.m_exec), m_n(tree.m_n), m_portable(portable) {
    m_sets.parent = tree.m_parent;
    m_sets.depth = depth;
  }

  Result run() {
    auto map = scratch<OffsetView>("set_map", m_n + 1);
    const Offset n_words = make_set_map(map);
    m_sets.map = map;
    m_sets.upper = scratch<WordView>("upper_sets", n_words);
    m_sets.lower = scratch<WordView>("lower_sets", n_words);
    set_to_zero(m_exec, m_sets.upper);
    set_to_zero(m_exec, m_sets.lower);
    const auto& pattern = m_tree.m_subtrees.pattern;
    Kokkos::parallel_for(
        "lutra::symbolic::ancestor_sets",
        Kokkos::RangePolicy<ExecutionSpace, Kokkos::IndexType<Offset>>(m_exec, 0, pattern.nnz()),
        AncestorSetFiller<ExecutionSpace>{pattern, m_sets});
    m_tree.m_subtrees.runs = m_tree.make_runs(ChainEnd<OrdinalView>{m_tree.m_parent});
    eliminate();
    find_lower();
    return write();
  }

  template <class ViewType, class... Extents>
  ViewType scratch(const char* name, Extents... extents) {
    return m_tree.m_scratch.template allocate<ViewType>(m_exec, std::string("lutra::symbolic::") + name,
                                                        extents...);
  }

  /// Sets the start of each set; returns the total number of words.
  Offset make_set_map(const OffsetView& map) const {
    const auto depth = m_sets.depth;
    const Ordinal n = m_n;
    Offset words = 0;
    Kokkos::parallel_scan(
        "lutra::symbolic::set_map", Range(m_exec, 0, n + 1),
        KOKKOS_LAMBDA(const std::int64_t v, Offset& sum, const bool final) {
          if (final) map(v) = sum;
          if (v < n) sum += Sets::words(depth(v));
        },
        words);
    return words;
  }

  void eliminate() {
    const auto children = scratch<OrdinalView>("children", m_n),
               pending = scratch<OrdinalView>("pending", m_n);
    const auto next = scratch<Kokkos::View<Ordinal, Memory>>("next_leaf");
    const auto parent = m_sets.parent;
    const Ordinal n = m_n;
    set_to_zero(m_exec, children);
    set_to_zero(m_exec, next);
    Kokkos::parallel_for(
        "lutra::symbolic::children", Range(m_exec, 0, n), KOKKOS_LAMBDA(const std::int64_t v) {
          if (parent(v) < n) add_shared<ExecutionSpace>(children(parent(v)), Ordinal(1));
        });
    copy_view(m_exec, pending, children);
    const AncestorElimination<ExecutionSpace> elimination{
        m_n, m_sets, m_tree.m_subtrees.runs, children, pending, next, m_tree.m_budget.run().query()};
    if (m_portable) {
      eliminate_portably(m_exec, elimination, m_tree.max_teams());
    } else {
      eliminate_ancestors(m_exec, elimination, m_tree.max_teams(), m_tree.m_scratch);
    }
    if (m_tree.m_budget.run().is_limited()) m_exec.fence("lutra::symbolic: the sets are complete");
    m_tree.m_budget.run().poll();
  }

  Offset members(const WordView& sets) const {
    Offset sum = 0;
    Kokkos::parallel_reduce(
        "lutra::symbolic::members",
        Kokkos::RangePolicy<ExecutionSpace, Kokkos::IndexType<Offset>>(m_exec, 0,
                                                                       static_cast<Offset>(sets.extent(0))),
        KOKKOS_LAMBDA(const Offset w, Offset& total) { total += count_ones(sets(w)); }, sum);
    return sum;
  }

  void find_lower() {
    using Rows = AncestorLowerRows<ExecutionSpace>;
    m_tree.m_result.nnz_l = members(m_sets.lower);
    if (m_n >= 64) {
      Kokkos::parallel_for("lutra::symbolic::lower_transpose",
                           Kokkos::TeamPolicy<ExecutionSpace>(m_exec, static_cast<int>(m_n / 64),
                                                              team_width<ExecutionSpace>(128)),
                           LowerTranspose<ExecutionSpace>{m_n, m_sets, m_tree.m_subtrees.runs});
    }
    m_kept = scratch<OrdinalView>("kept_rows", m_tree.m_result.nnz_l);
    m_kept_begin = scratch<OffsetView>("kept", m_n);
    m_lower_counts = scratch<OffsetView>("lower_counts", m_n);
    const auto end = scratch<Kokkos::View<Offset, Memory>>("kept_end");
    set_to_zero(m_exec, end);
    m_tree.traverse_with("lutra::symbolic::ancestor_rows_of_l", sizeof(typename Rows::RowState) + 16,
                         [&](const auto& subtrees) {
                           return Rows{subtrees, m_sets, m_kept, end, m_kept_begin, m_lower_counts};
                         });
  }

  Result write() {
    Result& result = m_tree.m_result;
    auto row_map =
        result.reservation.template allocate<OffsetView>(m_exec, "lutra::symbolic::row_map", m_n + 1);
    auto diagonal =
        result.reservation.template allocate<OffsetView>(m_exec, "lutra::symbolic::diagonal", m_n);
    const Offset nnz = make_row_map(m_exec, m_n, m_lower_counts, count_upper(), row_map, diagonal);
    result.nnz_u = nnz - result.nnz_l;
    auto entries = result.reservation.template allocate<OrdinalView>(m_exec, "lutra::symbolic::entries", nnz);
    if (m_portable) {
      write_rows<ChainWriter<ExecutionSpace>>(row_map, diagonal, entries);
    } else {
      write_rows<decltype(chain_writer(m_exec))>(row_map, diagonal, entries);
    }
    m_exec.fence("lutra::symbolic: scratch is freed");
    result.row_map = row_map;
    result.diagonal = diagonal;
    result.entries = entries;
    result.method = SymbolicMethod::ancestors;
    return result;
  }

  template <class Writer>
  void write_rows(const OffsetView& row_map, const OffsetView& diagonal, const OrdinalView& entries) const {
    const RowTeams share(m_exec, vector_length_for<ExecutionSpace>(32));
    Kokkos::parallel_for(
        "lutra::symbolic::ancestor_rows", share.policy(m_exec, m_n),
        AncestorRowWriter<ExecutionSpace, Writer>{m_n, share, m_sets, m_tree.m_subtrees.runs, m_kept,
                                                  m_kept_begin, row_map, diagonal, entries});
  }

  /// Entries of each row of U right of the diagonal.
  OffsetView count_upper() {
    const auto counts = scratch<OffsetView>("upper_counts", m_n);
    const auto sets = m_sets;
    const RowTeams share(m_exec, vector_length_for<ExecutionSpace>(static_cast<double>(sets.upper.extent(0)) /
                                                                   static_cast<double>(m_n)));
    const Ordinal n = m_n;
    Kokkos::parallel_for(
        "lutra::symbolic::upper_counts", share.policy(m_exec, n),
        KOKKOS_LAMBDA(const typename Tree::Subtrees::Team& team) {
          share.visit_rows(team, n, [&](const Ordinal i) {
            Offset count = 0;
            Kokkos::parallel_reduce(
                Kokkos::ThreadVectorRange(team, Sets::words(sets.depth(i))),
                [&](const Ordinal w, Offset& sum) { sum += count_ones(sets.upper(sets.map(i) + w)); }, count);
            Kokkos::single(Kokkos::PerThread(team), [&]() { counts(i) = count; });
          });
        });
    return counts;
  }

  Tree& m_tree;
  ExecutionSpace m_exec;
  Ordinal m_n;
  bool m_portable;
  Sets m_sets;
  OrdinalView m_kept;                       ///< [nnz(L)] rows of L, concatenated in arbitrary order
  OffsetView m_kept_begin, m_lower_counts;  ///< [n]
};

}  // namespace lutra::Impl

#endif
