// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_DIVIDEDFRONT_HPP
#define LUTRA_DIVIDEDFRONT_HPP

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "Lutra_FrontLu.hpp"

namespace lutra {

/// The columns of a front that several ranks factorize: pivots in blocks, dealt out one after another, and a
/// range of the contribution columns for each rank.
///
///     rank   0  1  2  0  1  2  0  │    0    │    1    │    2    │
///            blocks of pivots     │  contribution columns       │
struct DividedColumns {
  int pivots = 0, cb_rows = 0;
  int ranks = 1;
  int width = 1;  ///< of a block

  int blocks() const { return (pivots + width - 1) / width; }
  int begin(int block) const { return block * width; }
  int end(int block) const { return std::min(pivots, begin(block) + width); }
  int columns(int block) const { return end(block) - begin(block); }
  int owner(int block) const { return block % ranks; }
  /// The first contribution column of a rank; of rank `ranks` the number of them.
  int first_rest(int rank) const {
    return static_cast<int>(static_cast<std::int64_t>(cb_rows) * rank / ranks);
  }
  int rest(int rank) const { return first_rest(rank + 1) - first_rest(rank); }
  /// The rank of a column of the front.
  int owner_of_column(int column) const;

  /// Ranges of successive elements of an ascending list of columns that belong to a rank.
  std::vector<std::pair<int, int>> runs(const int* list, int count, int rank) const;
};

/// What passes between the ranks that factorize a front. Each block of pivots passes once, from its owner.
template <class Scalar>
class DividedFrontMessages {
 public:
  virtual ~DividedFrontMessages() = default;
  /// Sends `rows` × `columns` entries, `ld` apart, to all others. Does not wait.
  virtual void send(int block, const Scalar* entries, int rows, int columns, std::int64_t ld) = 0;
  /// Waits for those of another rank.
  virtual void receive(int block, Scalar* entries, int rows, int columns, std::int64_t ld) = 0;
};

/// As factorize_fronts with static pivots for a plan whose last front alone has pivots, on hosts: this rank
/// computes its columns of the front, by right-looking elimination. The owner of the next block updates and
/// eliminates that block first (look-ahead), then all ranks update what else they own:
///
///     rank 0   eliminate 0 ─► update 3, 6, … ────────────► wait 1, update 3 …
///                        ╲ L
///     rank 1              ╲─► update 1, eliminate 1 ─► update 4, 7, …
///
/// Afterwards `lower` has all of L on every rank, with the diagonal blocks, and above these and right of the
/// pivots the columns of this rank. The others' children need not have been given. If the running call has to
/// end, blocks pass unfinished, since others wait for them, and the call throws when all have passed.
/// @param rank of the calling one among `columns.ranks`
/// @throws CancelledError; what `messages` throws
template <class Scalar, class ExecutionSpace>
void factorize_divided_front(
    const ExecutionSpace& exec, const LuPlan<typename ExecutionSpace::memory_space>& plan,
    const ScaledValues<Scalar, typename ExecutionSpace::memory_space>& A, double perturbation,
    const FrontFactors<Scalar, ExecutionSpace>& factors,
    const Kokkos::View<unsigned char*, typename ExecutionSpace::memory_space>& perturbed,
    const DividedColumns& columns, int rank, DividedFrontMessages<Scalar>& messages);

}  // namespace lutra

#endif
