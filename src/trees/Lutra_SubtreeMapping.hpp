// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_SUBTREEMAPPING_HPP
#define LUTRA_SUBTREEMAPPING_HPP

#include <cstddef>
#include <vector>

#include "Lutra_Index.hpp"

namespace lutra {

/// How finely `map_subtrees` cuts a tree. Shares are of the work that one thread has on average.
struct SubtreeMappingOptions {
  double max_subtree = 1.0 / 8;  ///< a subtree has at most this share
  double min_task = 1.0 / 16;    ///< subtrees side by side are put into one task until it has this share
};

/// Vertices of a tree divided among threads: tasks, which are subtrees that one thread works alone and that
/// need nothing from each other, and the vertices above all subtrees, which threads work together once tasks
/// are done.
///
///              r               above the cut: p, q, r
///         p         q          tasks: subtrees under p and q, small neighbours together
///        ▲ ▲ ▲    ▲   ▲        order = [ task 0 | task 1 | … | p q r ]
///                                       ^task_begin[0]        ^task_begin[tasks]
struct SubtreeMapping {
  std::vector<Ordinal> order;       ///< [n] vertices task by task, then those above; ascending within each
  std::vector<Ordinal> task_begin;  ///< [tasks + 1] in `order`

  std::size_t tasks() const { return task_begin.size() - 1; }
};

/// Maps the subtrees of a tree to tasks for threads that take the next task when they are idle. Maximal
/// subtrees of at most `max_subtree` are cut off (the idea of G. A. Geist and E. Ng, Int. J. Parallel
/// Programming 18, 1989, with a bound instead of their search), neighbours are put together so that
/// small subtrees share caches, and tasks are sorted by falling work, which makes the schedule Graham's (SIAM
/// J. Appl. Math. 17, 1969): at most one task longer than the mean. The mapping depends on the arguments
/// alone. O(n + tasks·log(tasks)).
/// @param parent  [n] −1 for a root; a parent comes behind its children
/// @param work    [n] of each vertex, not negative, in any unit
/// @param threads one or more
SubtreeMapping map_subtrees(const std::vector<Ordinal>& parent, const std::vector<double>& work, int threads,
                            const SubtreeMappingOptions& options = {});

}  // namespace lutra

#endif
