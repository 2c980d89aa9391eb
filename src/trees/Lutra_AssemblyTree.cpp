// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_AssemblyTree.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <type_traits>

#include "Lutra_At.hpp"
#include "Lutra_ColumnCounts.hpp"
#include "Lutra_FrontRows.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_Instantiate.hpp"
#include "Lutra_PermutePattern.hpp"
#include "Lutra_Upload.hpp"

namespace lutra {
namespace {

using Impl::at;

/// Elimination tree with columns renumbered in postorder.
template <class Index>
struct PostorderedTree {
  std::vector<Index> column;   ///< [n] original column of each new number
  std::vector<Index> parent;   ///< [n] −1 for a root
  std::vector<Index> count;    ///< [n] entries of each column of L below the diagonal
  std::vector<Index> partner;  ///< [n] partner of each column, itself if single; empty: no pairs

  /// Returns the child that is the partner of column j, or −1.
  Index paired_child(Index j) const {
    if (partner.empty()) return -1;
    const Index other = at(partner, j);
    return other != j && at(parent, other) == j ? other : -1;
  }
};

/// @param parent [n] −1 for a root @param count [n] entries of each column of L below the diagonal
/// @param pairs  [n] original columns, or empty
template <class Index>
PostorderedTree<Index> postordered_tree(const std::vector<Index>& parent, const std::vector<Index>& count,
                                        const RowPairs& pairs) {
  const auto n = static_cast<Index>(parent.size());
  const auto position = postorder(parent);
  PostorderedTree<Index> tree;
  tree.column.resize(parent.size());
  tree.parent.resize(parent.size());
  tree.count.resize(parent.size());
  for (Index j = 0; j < n; ++j) {
    const Index p = at(position, j);
    at(tree.column, p) = j;
    at(tree.parent, p) = at(parent, j) < 0 ? Index(-1) : at(position, at(parent, j));
    at(tree.count, p) = at(count, j);
  }
  tree.partner.resize(pairs.size());
  for (std::size_t j = 0; j < pairs.size(); ++j) at(tree.partner, position[j]) = at(position, pairs[j]);
  return tree;
}

/// Entries of L + U that a front stores.
double stored(double pivots, double cb_rows) {
  return pivots * (pivots + 2 * cb_rows);
}

double elimination_flops(double pivots, double cb_rows) {
  double flops = 0;
  for (double left = pivots; left > 0; --left) {
    const double rest = left - 1 + cb_rows;
    flops += rest + 2 * rest * rest;
  }
  return flops;
}

/// Groups of columns that become fronts. A group is identified by its last column, whose rows below the
/// diagonal are the group's contribution rows; so the column counts suffice to decide on merging.
template <class Index>
class Amalgamation {
 public:
  Amalgamation(const PostorderedTree<Index>& tree, const AssemblyTreeOptions& options)
      : m_tree(tree),
        m_options(options),
        m_group(tree.parent.size()),
        m_pivots(tree.parent.size(), 1),
        m_exact(tree.parent.size()),
        m_first_child(tree.parent.size(), Index(-1)),
        m_next_child(tree.parent.size(), Index(-1)) {
    std::iota(m_group.begin(), m_group.end(), Index(0));
    for (std::size_t j = 0; j < m_exact.size(); ++j)
      m_exact[j] = stored(1, static_cast<double>(tree.count[j]));
  }

  /// @returns the final group of each column
  std::vector<Index> run() {
    const auto n = static_cast<Index>(m_group.size());
    for (Index j = 0; j < n; ++j) merge_chain(j);
    link_groups();
    for (Index j = 0; j < n; ++j) {
      if (at(m_group, j) == j) merge_children(j);
    }
    for (Index j = n; j-- > 0;)
      at(m_group, j) = at(m_group, at(m_group, j));  // groups merged before this one
    return m_group;
  }

  double zeros() const {
    double sum = 0;
    for (std::size_t j = 0; j < m_group.size(); ++j) {
      if (m_group[j] == static_cast<Index>(j)) sum += entries(static_cast<Index>(j)) - m_exact[j];
    }
    return sum;
  }

 private:
  double entries(Index group) const {
    return stored(static_cast<double>(at(m_pivots, group)), static_cast<double>(at(m_tree.count, group)));
  }

  void merge(Index child, Index into) {
    at(m_group, child) = into;
    at(m_pivots, into) += at(m_pivots, child);
    at(m_exact, into) += at(m_exact, child);
  }

  /// Merges column j with its parent if it is its partner. A parent without a partner among its children is
  /// merged with one whose pattern differs only by that column, which adds no zeros.
  void merge_chain(Index j) {
    const Index up = at(m_tree.parent, j);
    if (up < 0) return;
    const Index paired = m_tree.paired_child(up);
    if (paired == j ||
        (paired < 0 && at(m_tree.count, j) == at(m_tree.count, up) + 1 && at(m_pivots, up) == 1))
      merge(j, up);
  }

  void link_groups() {
    for (Index j = static_cast<Index>(m_group.size()); j-- > 0;) {
      at(m_group, j) = at(m_group, at(m_group, j));
    }
    for (Index j = static_cast<Index>(m_group.size()); j-- > 0;) {
      const Index up = at(m_tree.parent, j);
      if (at(m_group, j) != j || up < 0) continue;
      const Index parent = at(m_group, up);
      at(m_next_child, j) = at(m_first_child, parent);
      at(m_first_child, parent) = j;
    }
  }

  bool worth_merging(Index child, Index into) const {
    const double pivots = static_cast<double>(at(m_pivots, into)) + static_cast<double>(at(m_pivots, child));
    const double all = stored(pivots, static_cast<double>(at(m_tree.count, into)));
    const double zeros = all - at(m_exact, into) - at(m_exact, child);
    if (pivots <= m_options.always && all <= static_cast<double>(m_options.max_always)) return true;
    const double share = pivots <= m_options.narrow ? m_options.narrow_zeros
                         : pivots <= m_options.wide ? m_options.wide_zeros
                                                    : m_options.zeros;
    return zeros <= share * all;
  }

  void merge_children(Index group) {
    m_children.clear();
    for (Index c = at(m_first_child, group); c >= 0; c = at(m_next_child, c)) m_children.push_back(c);
    const auto is_larger = [&](Index a, Index b) { return at(m_tree.count, a) > at(m_tree.count, b); };
    if (!std::is_sorted(m_children.begin(), m_children.end(), is_larger))
      std::stable_sort(m_children.begin(), m_children.end(), is_larger);
    for (const Index c : m_children) {
      if (worth_merging(c, group)) merge(c, group);
    }
  }

  const PostorderedTree<Index>& m_tree;
  const AssemblyTreeOptions& m_options;
  std::vector<Index> m_group;   ///< [n] group that a column or a merged group belongs to
  std::vector<Index> m_pivots;  ///< [n] pivots of each group
  std::vector<double> m_exact;  ///< [n] nonzero entries stored by each group
  std::vector<Index> m_first_child, m_next_child;
  std::vector<Index> m_children;  ///< children of one group, largest first
};

/// Numbers groups in postorder of their tree, and columns by group.
template <class Index>
void number_groups(const PostorderedTree<Index>& tree, const std::vector<Index>& group,
                   AssemblyTree& fronts) {
  const std::size_t n = group.size();
  std::vector<Index> number(n, Index(-1)), last_column;  // of each group
  for (std::size_t j = 0; j < n; ++j) {
    if (group[j] != static_cast<Index>(j)) continue;
    number[j] = static_cast<Index>(last_column.size());
    last_column.push_back(static_cast<Index>(j));
  }
  std::vector<Index> parent(last_column.size(), Index(-1));
  for (std::size_t g = 0; g < last_column.size(); ++g) {
    const Index up = at(tree.parent, last_column[g]);
    if (up >= 0) parent[g] = at(number, at(group, up));
  }
  const auto position = postorder(parent);
  fronts.parent.resize(last_column.size());
  fronts.pivot_begin.assign(last_column.size() + 1, 0);
  for (std::size_t g = 0; g < last_column.size(); ++g) {
    at(fronts.parent, position[g]) =
        parent[g] < 0 ? Ordinal(-1) : static_cast<Ordinal>(at(position, parent[g]));
  }
  const auto front_of = [&](std::size_t j) { return at(position, at(number, group[j])); };
  for (std::size_t j = 0; j < n; ++j) ++at(fronts.pivot_begin, front_of(j) + 1);
  fronts.row_begin.assign(last_column.size() + 1, 0);
  for (std::size_t g = 0; g < last_column.size(); ++g)
    at(fronts.row_begin, position[g] + 1) = static_cast<std::int64_t>(at(tree.count, last_column[g]));
  for (std::size_t f = 0; f < last_column.size(); ++f) {
    fronts.pivot_begin[f + 1] += fronts.pivot_begin[f];
    fronts.row_begin[f + 1] += fronts.row_begin[f];
  }
  std::vector<Ordinal> next(fronts.pivot_begin.begin(), fronts.pivot_begin.end() - 1);
  fronts.order.resize(n);
  const auto append = [&](std::size_t j, auto column) {
    at(fronts.order, at(next, front_of(j))++) = static_cast<Ordinal>(at(tree.column, column));
  };
  const auto has_partner = [&](std::size_t j) {
    return !tree.partner.empty() && tree.partner[j] != static_cast<Index>(j) &&
           at(group, tree.partner[j]) == group[j];
  };
  for (std::size_t j = 0; j < tree.partner.size(); ++j) {
    if (!has_partner(j) || tree.partner[j] < static_cast<Index>(j)) continue;
    append(j, j);
    append(j, tree.partner[j]);
  }
  for (std::size_t j = 0; j < n; ++j) {  // single columns of a group, too, stay in ascending order
    if (!has_partner(j)) append(j, j);
  }
}

void count_flops(AssemblyTree& fronts) {
  for (Ordinal f = 0; f < fronts.count(); ++f) {
    fronts.flops +=
        elimination_flops(static_cast<double>(at(fronts.pivot_begin, f + 1) - at(fronts.pivot_begin, f)),
                          static_cast<double>(at(fronts.row_begin, f + 1) - at(fronts.row_begin, f)));
  }
}

/// Assembly tree without contribution rows.
template <class Index>
AssemblyTree amalgamate(const PostorderedTree<Index>& tree, const AssemblyTreeOptions& options) {
  AssemblyTree fronts;
  fronts.n = static_cast<Ordinal>(tree.parent.size());
  Amalgamation<Index> amalgamation(tree, options);
  const auto group = amalgamation.run();
  fronts.zeros = amalgamation.zeros();
  number_groups(tree, group, fronts);
  count_flops(fronts);
  return fronts;
}

template <class Index>
AssemblyTree make_tree(const CsrPattern<Ordinal, Offset, Kokkos::HostSpace>& pattern,
                       const AssemblyTreeOptions& options, const RowPairs& pairs) {
  const auto graph = symmetric_graph<Index>(pattern);
  std::vector<Index> identity(static_cast<std::size_t>(graph.size()));
  std::iota(identity.begin(), identity.end(), Index(0));
  const auto elimination = eliminate(graph, std::move(identity));
  auto fronts = make_assembly_tree(elimination, options, pairs);
  collect_front_rows(graph, elimination, fronts);
  return fronts;
}

/// Copies forest and counts to the host.
template <class ExecutionSpace, class Memory>
PostorderedTree<Ordinal> postordered_tree(const ExecutionSpace& exec, const ColumnCounts<Memory>& columns,
                                          const RowPairs& pairs) {
  auto parent = Impl::to_host(exec, columns.parent), count = Impl::to_host(exec, columns.count);
  const auto n = static_cast<Ordinal>(parent.size());
  count.pop_back();  // element n, past the last column
  for (Ordinal& above : parent) {
    if (above == n) above = -1;
  }
  return postordered_tree(parent, count, pairs);
}

}  // namespace

template <class Index>
AssemblyTree make_assembly_tree(const Elimination<Index>& elimination, const AssemblyTreeOptions& options,
                                const RowPairs& pairs) {
  return amalgamate(postordered_tree(elimination.tree.parent, elimination.count, pairs), options);
}

template <class Index>
void collect_front_rows(const SymmetricGraph<Index>& graph, const Elimination<Index>& elimination,
                        AssemblyTree& tree) {
  const Ordinal count = tree.count();
  const auto entries = static_cast<std::size_t>(count);
  std::vector<Ordinal> first_child(entries, Ordinal(-1)), next_child(entries, Ordinal(-1));
  std::vector<Ordinal> seen(tree.order.size(), Ordinal(-1));  // last front that contains each row
  std::vector<Ordinal> vertex(tree.order.size()), position(tree.order.size());  // vertex of each pivot, and
                                                                                // its inverse
  for (std::size_t k = 0; k < vertex.size(); ++k) {
    vertex[k] = static_cast<Ordinal>(at(elimination.permutation, tree.order[k]));
    at(position, vertex[k]) = static_cast<Ordinal>(k);
  }
  tree.rows.resize(static_cast<std::size_t>(tree.row_begin.back()));
  for (Ordinal f = 0; f < count; ++f) {
    const Ordinal end = at(tree.pivot_begin, f + 1);
    Ordinal* const rows = tree.rows.data() + at(tree.row_begin, f);
    Ordinal* next = rows;
    const auto add = [&](Ordinal row) {
      if (row < end || at(seen, row) == f) return;
      at(seen, row) = f;
      *next++ = row;
    };
    for (Ordinal pivot = at(tree.pivot_begin, f); pivot < end; ++pivot) {
      const Ordinal v = at(vertex, pivot);
      for (Index e = at(graph.row_map, v); e < at(graph.row_map, v + 1); ++e)
        add(at(position, at(graph.neighbours, e)));
    }
    for (Ordinal c = at(first_child, f); c >= 0; c = at(next_child, c)) {
      for (auto r = at(tree.row_begin, c); r < at(tree.row_begin, c + 1); ++r) add(at(tree.rows, r));
    }
    std::sort(rows, next);
    const Ordinal up = at(tree.parent, f);
    if (up < 0) continue;
    at(next_child, f) = at(first_child, up);
    at(first_child, up) = f;
  }
}

AssemblyTree make_assembly_tree(const CsrPattern<Ordinal, Offset, Kokkos::HostSpace>& pattern,
                                const AssemblyTreeOptions& options, const RowPairs& pairs) {
  return graph_fits_int(pattern) ? make_tree<int>(pattern, options, pairs)
                                 : make_tree<std::int64_t>(pattern, options, pairs);
}

namespace {

/// The pattern of F in the memory of the execution space.
template <class ExecutionSpace>
auto permuted(const ExecutionSpace& exec, MemoryReservation& scratch,
              const CsrPattern<Ordinal, Offset, typename ExecutionSpace::memory_space>& A,
              const std::vector<Ordinal>& row_order, const std::vector<Ordinal>& col_order) {
  return Impl::permute_pattern(exec, scratch, A,
                               Impl::upload(exec, scratch, "lutra::trees::row_order", row_order),
                               Impl::upload(exec, scratch, "lutra::trees::col_order", col_order));
}

}  // namespace

template <class ExecutionSpace>
AssemblyTree make_assembly_tree(const ExecutionSpace& exec,
                                const CsrPattern<Ordinal, Offset, typename ExecutionSpace::memory_space>& A,
                                const std::vector<Ordinal>& row_order, const std::vector<Ordinal>& col_order,
                                const MemoryBudget& budget, const AssemblyTreeOptions& options,
                                const RowPairs& pairs) {
  if (A.n_rows == 0) return make_assembly_tree(CsrPattern<Ordinal, Offset, Kokkos::HostSpace>(), options);
  MemoryReservation scratch(budget);
  const auto F = permuted(exec, scratch, A, row_order, col_order);
  auto fronts =
      amalgamate(postordered_tree(exec, column_counts<ExecutionSpace>(exec, F, budget), pairs), options);
  Impl::FrontRowsMaker<ExecutionSpace>(exec, budget).make(F, fronts);
  return fronts;
}

template <class ExecutionSpace, class Index>
AssemblyTree make_assembly_tree(const ExecutionSpace& exec,
                                const CsrPattern<Ordinal, Offset, typename ExecutionSpace::memory_space>& A,
                                const std::vector<Ordinal>& row_order, const std::vector<Ordinal>& col_order,
                                const Elimination<Index>& elimination, const MemoryBudget& budget,
                                const AssemblyTreeOptions& options, const RowPairs& pairs) {
  if (A.n_rows == 0) return make_assembly_tree(CsrPattern<Ordinal, Offset, Kokkos::HostSpace>(), options);
  auto fronts = make_assembly_tree(elimination, options, pairs);
  MemoryReservation scratch(budget);
  Impl::FrontRowsMaker<ExecutionSpace>(exec, budget)
      .make(permuted(exec, scratch, A, row_order, col_order), fronts);
  return fronts;
}

#define LUTRA_FRONTS_OF_GRAPH(Index)                                                              \
  template AssemblyTree make_assembly_tree(const Elimination<Index>&, const AssemblyTreeOptions&, \
                                           const RowPairs&);                                      \
  template void collect_front_rows(const SymmetricGraph<Index>&, const Elimination<Index>&, AssemblyTree&);
LUTRA_FRONTS_OF_GRAPH(int)
LUTRA_FRONTS_OF_GRAPH(std::int64_t)
#undef LUTRA_FRONTS_OF_GRAPH

#define LUTRA_MAKE_ASSEMBLY_TREE_OF(Space)                                            \
  template AssemblyTree make_assembly_tree(                                           \
      const Space&, const CsrPattern<Ordinal, Offset, typename Space::memory_space>&, \
      const std::vector<Ordinal>&, const std::vector<Ordinal>&, const MemoryBudget&,  \
      const AssemblyTreeOptions&, const RowPairs&);
LUTRA_FOR_EACH_SPACE(LUTRA_MAKE_ASSEMBLY_TREE_OF)

#define LUTRA_MAKE_TREE_OF_ELIMINATION(Index, Space)                                       \
  template AssemblyTree make_assembly_tree(                                                \
      const Space&, const CsrPattern<Ordinal, Offset, typename Space::memory_space>&,      \
      const std::vector<Ordinal>&, const std::vector<Ordinal>&, const Elimination<Index>&, \
      const MemoryBudget&, const AssemblyTreeOptions&, const RowPairs&);
LUTRA_FOR_EACH_SPACE(LUTRA_MAKE_TREE_OF_ELIMINATION, int)
LUTRA_FOR_EACH_SPACE(LUTRA_MAKE_TREE_OF_ELIMINATION, std::int64_t)

}  // namespace lutra
