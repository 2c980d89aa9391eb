// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_SUBTREEMAPPING_HPP
#define LUTRA_SUBTREEMAPPING_HPP

#include <cstddef>
#include <vector>

#include "Lutra_Index.hpp"

namespace lutra {

/// Granularity of `map_subtrees`. Shares are relative to the mean work per thread.
struct SubtreeMappingOptions {
  double max_subtree = 1.0 / 8;  ///< maximum share of a subtree
  double min_task = 1.0 / 16;    ///< adjacent subtrees are combined until their task reaches this share
};

/// Partition of a tree's vertices for parallel processing: tasks, which are independent sets of subtrees,
/// each processed by one thread; and the vertices above all subtrees, processed by all threads together after
/// the tasks.
///
///              r               above the cut: p, q, r
///         p         q          tasks: subtrees under p and q, small neighbours together
///        ▲ ▲ ▲    ▲   ▲        order = [ task 0 | task 1 | … | p q r ]
///                                       ^task_begin[0]        ^task_begin[tasks]
struct SubtreeMapping {
  std::vector<Ordinal> order;  ///< [n] vertices by task, followed by those above the cut; ascending within
                               ///< each group
  std::vector<Ordinal> task_begin;  ///< [tasks + 1] in `order`

  std::size_t tasks() const { return task_begin.size() - 1; }
};

/// Subtree-to-task mapping for threads that take the next task when idle. Cuts off maximal subtrees with at
/// most `max_subtree` of the work (after G. A. Geist and E. Ng, Int. J. Parallel Programming 18, 1989, with a
/// bound in place of their search); combines adjacent small subtrees, for cache locality; and sorts tasks by
/// descending work, which makes the schedule Graham's (SIAM J. Appl. Math. 17, 1969): at most one task longer
/// than the mean. The mapping depends only on the arguments. O(n + tasks·log(tasks)).
/// @param parent  [n] −1 for a root; parents have greater numbers than their children
/// @param work    [n] work of each vertex, nonnegative, in any unit
/// @param threads at least one
SubtreeMapping map_subtrees(const std::vector<Ordinal>& parent, const std::vector<double>& work, int threads,
                            const SubtreeMappingOptions& options = {});

}  // namespace lutra

#endif
