// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_ORDEREDTASKS_HPP
#define LUTRA_ORDEREDTASKS_HPP

#include <cstddef>
#include <vector>

#include "Lutra_AssemblyTree.hpp"
#include "Lutra_FrontPlan.hpp"
#include "Lutra_FrontTaskPlacement.hpp"

namespace lutra::Test {

using Task = lutra::Impl::FrontTask;
using List = lutra::Impl::FrontTaskList;
using Placement = lutra::Impl::FrontTaskPlacement;
using lutra::Impl::FrontTaskOptions;

/// Tasks of a tree in the order in which blocks take them.
struct Tasks {
  FrontLayout layout;
  LuFrontLayout panels;
  std::vector<int> relative;
  List list;
  Placement placement;

  Tasks(const AssemblyTree& tree, const FrontTaskOptions& options)
      : layout(lay_out_fronts(tree)),
        panels(layout.fronts),
        relative(relative_indices(layout, tree)),
        list(layout.fronts, options),
        placement(list, layout.children, relative, panels) {}
  Tasks(const Tasks&) = delete;

  std::size_t size() const { return list.order.size(); }
  const Task& at(std::size_t t) const { return list.tasks[list.order[t]]; }
  lutra::Impl::FrontTiles cut(const Task& task) const { return list.tiles_of(task.front); }
  /// Whether a front's contribution is there before all tasks.
  bool is_given(Ordinal f) const { return list.front(f).pivots == 0; }
};

}  // namespace lutra::Test

#endif
