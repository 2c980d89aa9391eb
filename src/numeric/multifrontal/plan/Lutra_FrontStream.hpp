// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_FRONTSTREAM_HPP
#define LUTRA_FRONTSTREAM_HPP

#include <vector>

#include "Lutra_FrontPlan.hpp"
#include "Lutra_Index.hpp"

// Division of a tree whose factors exceed the memory: fronts are factorized part by part, in postorder, in
// buffers of the execution space's memory, and panels go to host memory (docs/memory.md).

namespace lutra {

/// Consecutive fronts of a tree in postorder.
struct FrontRange {
  Ordinal begin = 0, end = 0;
  bool operator==(const FrontRange&) const = default;
};

/// Entries that parts of a tree take while they are factorized: panels, contribution blocks, those of
/// children in other parts, and entries of the matrix.
class FrontPartSizes {
 public:
  /// @param entries [fronts] entries of the matrix in each front
  /// @param inverse_entries entries stored in addition for each pivot
  FrontPartSizes(const AssemblyTree& tree, const std::vector<Offset>& entries, Offset inverse_entries);

  Ordinal count() const { return static_cast<Ordinal>(m_fronts.size()); }
  /// The same for any execution space: on devices contribution blocks may take less. O(fronts of the range)
  Offset of(const FrontRange& range) const;
  /// Of the front that takes most as a part of its own, with the blocks of its children.
  Offset of_largest_front() const;

 private:
  std::vector<Front> m_fronts;
  std::vector<Ordinal> m_children;         ///< by fronts
  std::vector<Offset> m_panels, m_others;  ///< [fronts + 1] sums of panels; of entries and inverses
};

/// Cuts a tree into ranges that take at most `most` entries each, or hold one front. O(fronts·log fronts)
std::vector<FrontRange> cut_tree(const FrontPartSizes& sizes, Offset most);

/// A contribution block that one part passes to a later one. Blocks form stacks: a part takes its blocks from
/// the top, then adds its own, both by ascending fronts.
struct PassedBlock {
  Ordinal front = 0;
  int from = 0, to = 0;  ///< parts
  Ordinal rows = 0;
  bool on_host = false;  ///< waits in host memory
  Offset place = 0;      ///< in the stack of entries of its memory
  Offset first_row = 0;  ///< in the stack of rows of all blocks

  Offset entries() const { return static_cast<Offset>(rows) * rows; }
};

/// All blocks that parts pass, by ascending fronts.
struct PassedBlocks {
  std::vector<PassedBlock> blocks;
  Offset device = 0, host = 0;  ///< greatest heights of the stacks, in entries
  Offset rows = 0;              ///< greatest height in rows
  Offset on_host = 0;           ///< entries of all blocks that wait in host memory
};

/// Places the blocks between parts. Those at the bottom of the stack wait longest, so that where the stack
/// exceeds the capacity they are in host memory.
/// @param capacity entries of the stack in the memory of the execution space
PassedBlocks place_passed_blocks(const AssemblyTree& tree, const std::vector<FrontRange>& parts,
                                 Offset capacity);

/// Entries of a part in the memory that parts share, and its place there. It holds first what is kept until
/// it has been copied to host memory, panels and inverses, then what only its factorization needs.
struct PartPlace {
  Offset kept = 0, all = 0;
  Offset behind = 0;  ///< where the rest begins: at `kept`, or before if that is rounded up
  Offset begin = 0;
  /// Last earlier part whose kept entries it overwrites, and the last whose kept entries the rest does; −1:
  /// none.
  int after = -1, after_behind = -1;

  Offset kept_end() const { return begin + kept; }
  Offset end() const { return begin + all; }
  /// Whether the rest overwrites what the other one keeps.
  bool overwrites_behind(const PartPlace& other) const {
    return begin + behind < other.kept_end() && other.begin < end();
  }
  /// Whether its factorization overwrites what the other one keeps.
  bool overwrites(const PartPlace& other) const { return begin < other.kept_end() && other.begin < end(); }
  /// Whether both cannot be kept at a time.
  bool excludes(const PartPlace& other) const { return begin < other.kept_end() && other.begin < kept_end(); }
};

/// Places parts one after another in a ring, each behind what the one before keeps, so that copies to host
/// memory may lag behind by as many parts as fit. O(parts²)
/// @param capacity entries of the ring, at least `all` of each part
/// @returns the entries in use
Offset place_in_ring(std::vector<PartPlace>& parts, Offset capacity);

}  // namespace lutra

#endif
