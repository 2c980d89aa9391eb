// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_DIVIDEDHOSTFRONT_HPP
#define LUTRA_DIVIDEDHOSTFRONT_HPP

#include "Lutra_DividedFront.hpp"
#include "Lutra_HostFront.hpp"

namespace lutra::Impl {

/// One rank's share of a front's elimination on host threads, see factorize_divided_front.
template <class Scalar, class Loop, class NotePivot>
struct DividedElimination {
  const HostFront<Scalar, Loop>& kernels;
  const DenseFront<Scalar>& front;
  const PivotRule<Scalar>& rule;
  const NotePivot& note_pivot;
  const DividedColumns& columns;
  int rank;
  DividedFrontMessages<Scalar>& messages;

  void run() const {
    if (columns.owner(0) == rank) eliminate_and_send(0);
    for (int b = 0; b < columns.blocks(); ++b) {
      if (columns.owner(b) != rank)
        messages.receive(b, panel(b), height(b), columns.columns(b), front.size());
      const int next = b + 1;
      if (next < columns.blocks() && columns.owner(next) == rank) {
        update(next, b);
        eliminate_and_send(next);
      }
      for (int c = first_own(next + 1); c < columns.blocks(); c += columns.ranks) update(c, b);
    }
    kernels.finish_columns(front, columns.first_rest(rank), columns.first_rest(rank + 1));
  }

 private:
  /// The first own block from `block` on.
  int first_own(int block) const {
    return block + (rank - block % columns.ranks + columns.ranks) % columns.ranks;
  }
  /// The entries of a block of columns on and below its diagonal block.
  Scalar* panel(int b) const {
    return front.lower + columns.begin(b) + static_cast<std::int64_t>(columns.begin(b)) * front.size();
  }
  int height(int b) const { return front.size() - columns.begin(b); }

  void update(int block, int by) const {
    kernels.update_columns(front, columns.begin(by), columns.end(by), columns.begin(block),
                           columns.end(block));
    messages.progress();
  }
  void eliminate_and_send(int b) const {
    kernels.eliminate_columns(front, columns.begin(b), columns.end(b), rule, note_pivot);
    if (columns.ranks > 1) messages.send(b, panel(b), height(b), columns.columns(b), front.size());
  }
};

}  // namespace lutra::Impl

#endif
