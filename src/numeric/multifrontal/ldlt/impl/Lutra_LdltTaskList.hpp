// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_LDLTTASKLIST_HPP
#define LUTRA_LDLTTASKLIST_HPP

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "Lutra_ArgsortDescending.hpp"
#include "Lutra_FrontPaths.hpp"
#include "Lutra_Index.hpp"

namespace lutra::Impl {

// Tasks of multifrontal L·D·Lᵀ as data flow. A task is one block's part in one front: the whole front or, if
// a gang of blocks shares a front, one member's part. Blocks take tasks in list order, and a task waits
//
//   for the flags of its front's children, all of whose tasks precede it, and
//   for the other members of its gang, whose tasks are adjacent in the list.
//
// No deadlock: assume that all tasks before some gang complete. The blocks that run them take later tasks
// afterwards, and since a gang has at most as many members as there are blocks, each of its tasks is taken.
// Its members wait for nothing else that is incomplete, so the gang completes too. By induction all tasks
// complete.
//
// The number of delayed columns of a front is known only once its children are complete, but no task depends
// on it: gang members divide the actual rows and columns among themselves.

/// One block's part in a front.
struct LdltTask {
  Ordinal front = 0;
  int member = 0, members = 1;
  int gang = -1;  ///< index of the front among those whose column sources are listed
};

/// A column of a child's contribution block.
struct LdltSource {
  Ordinal child = 0;
  int column = 0;
};

/// How fronts are assigned to blocks.
struct LdltTaskOptions {
  int small_rows = 32;    ///< largest fronts that, in subtrees of such fronts, are factorized by warps
  int whole_rows = 96;    ///< larger fronts may have several blocks
  int tile = 64;          ///< tile width and height of products
  int tiles_a_block = 2;  ///< tiles of a front per additional block
  int blocks = 1;         ///< number of resident blocks
};

/// The tasks, and the child columns added to each column of a large front. Host code.
class LdltTaskList {
 public:
  using Fronts = std::vector<Front>;
  using Task = LdltTask;

  /// @param fronts   in postorder; kept by reference
  /// @param children of all fronts
  /// @param relative indices of all fronts
  LdltTaskList(const Fronts& fronts, const std::vector<Ordinal>& children, const std::vector<int>& relative,
               const LdltTaskOptions& task_options)
      : options(task_options), m_fronts(fronts) {
    m_small = find_small_subtrees(fronts, options.small_rows);
    constexpr double a_front = 30;  // pivots that cost as much as a front does by itself
    m_path = measure_paths(fronts, [&](Ordinal f) { return a_front + front(f).pivots; });
    sum_flops();
    share_blocks();
    source_begin.push_back(0);
    add_tasks(children, relative);
  }

  const LdltTaskOptions options;
  std::vector<Ordinal> small_fronts;  ///< fronts of the preceding launch, in execution order
  std::vector<Task> tasks;            ///< in execution order
  int gangs = 0;                      ///< number of fronts with more than whole_rows rows
  int max_members = 1;
  std::vector<Offset> first_column;  ///< [gangs] offset of the front's first column in source_begin
  std::vector<Offset> source_begin;  ///< [columns of all gangs' fronts + 1] offset in `sources`
  std::vector<LdltSource> sources;   ///< child columns added to each column, in the order of children

  bool is_small(Ordinal f) const { return m_small[index(f)] != 0; }

 private:
  static std::size_t index(Ordinal f) { return static_cast<std::size_t>(f); }
  Ordinal count() const { return static_cast<Ordinal>(m_fronts.size()); }
  const Front& front(Ordinal f) const { return m_fronts[index(f)]; }
  bool is_large(Ordinal f) const { return front(f).size() > options.whole_rows; }

  /// Tiles of the lower triangle of a front.
  double tiles(Ordinal f) const {
    const double edge = std::ceil(static_cast<double>(front(f).size()) / options.tile);
    return edge * (edge + 1) / 2;
  }
  static double flops(const Front& f) {
    const double k = f.pivots, rows = f.size();
    return k * (rows * (rows - k) + k * k / 3 + 100);
  }

  /// Computes the flops of each subtree.
  void sum_flops() {
    m_flops.resize(m_fronts.size());
    for (Ordinal f = 0; f < count(); ++f) {
      m_flops[index(f)] += flops(front(f));
      if (front(f).parent >= 0) m_flops[index(front(f).parent)] += m_flops[index(f)];
    }
  }

  /// Proportional mapping (A. Pothen and C. Sun, SIAM J. Sci. Comput. 14, 1993): a front's blocks are divided
  /// among its children by subtree flops. No front gets more blocks than it has tiles for.
  void share_blocks() {
    std::vector<double> share(m_fronts.size()), of_children(m_fronts.size(), 0);
    double of_roots = 0;
    for (Ordinal f = 0; f < count(); ++f)
      (front(f).parent < 0 ? of_roots : of_children[index(front(f).parent)]) += m_flops[index(f)];
    m_members.assign(m_fronts.size(), 1);
    for (Ordinal f = count(); f-- > 0;) {
      const Ordinal parent = front(f).parent;
      const double available = parent < 0 ? options.blocks : share[index(parent)];
      const double all = parent < 0 ? of_roots : of_children[index(parent)];
      share[index(f)] = available * m_flops[index(f)] / all;
      if (!is_large(f)) continue;
      const double useful = std::min(std::round(share[index(f)]), tiles(f) / options.tiles_a_block);
      m_members[index(f)] = std::clamp(static_cast<int>(useful), 1, options.blocks);
    }
  }

  void add_tasks(const std::vector<Ordinal>& children, const std::vector<int>& relative) {
    for (const Ordinal f :
         argsort_descending<Ordinal>(m_fronts.size(), [&](Ordinal g) { return m_path[index(g)]; })) {
      if (is_small(f)) {
        small_fronts.push_back(f);
        continue;
      }
      const int members = m_members[index(f)];
      Task task{f, 0, members, -1};
      if (is_large(f)) {
        task.gang = gangs++;
        list_sources(f, children, relative);
      }
      for (; task.member < members; ++task.member) tasks.push_back(task);
      max_members = std::max(max_members, members);
    }
  }

  void list_sources(Ordinal f, const std::vector<Ordinal>& children, const std::vector<int>& relative) {
    const auto first = static_cast<std::size_t>(source_begin.size()) - 1;
    const auto columns = static_cast<std::size_t>(front(f).size());
    first_column.push_back(static_cast<Offset>(first));
    const auto for_each = [&](const auto& visit) {
      for (Offset c = front(f).children; c < front(f).children_end; ++c) {
        const Ordinal child = children[static_cast<std::size_t>(c)];
        const auto& rows = front(child);
        for (int b = 0; b < rows.cb_rows; ++b)
          visit(static_cast<std::size_t>(
                    relative[static_cast<std::size_t>(rows.rows) + static_cast<std::size_t>(b)]),
                LdltSource{child, b});
      }
    };
    std::vector<Offset> at(columns + 1, 0);
    for_each([&](std::size_t column, const auto&) { ++at[column + 1]; });
    at[0] = static_cast<Offset>(sources.size());
    for (std::size_t c = 0; c < columns; ++c) {
      at[c + 1] += at[c];
      source_begin.push_back(at[c + 1]);
    }
    sources.resize(static_cast<std::size_t>(at[columns]));
    for_each([&](std::size_t column, const auto& source) {
      sources[static_cast<std::size_t>(at[column]++)] = source;
    });
  }

  const Fronts& m_fronts;
  std::vector<char> m_small;
  std::vector<double> m_flops, m_path;
  std::vector<int> m_members;
};

}  // namespace lutra::Impl

#endif
