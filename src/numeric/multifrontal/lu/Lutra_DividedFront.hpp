// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_DIVIDEDFRONT_HPP
#define LUTRA_DIVIDEDFRONT_HPP

#include <cstdint>

#include "Lutra_DividedColumns.hpp"
#include "Lutra_FrontLu.hpp"

namespace lutra {

/// What passes between the ranks that factorize a front. Each block of pivots passes once, from its owner.
template <class Scalar>
class DividedFrontMessages {
 public:
  virtual ~DividedFrontMessages() = default;
  /// Sends `rows` × `columns` entries, `ld` apart, to all others. Does not wait.
  virtual void send(int block, const Scalar* entries, int rows, int columns, std::int64_t ld) = 0;
  /// Waits for those of another rank.
  virtual void receive(int block, Scalar* entries, int rows, int columns, std::int64_t ld) = 0;
  /// Called between products of blocks: lets messages that were sent arrive.
  virtual void progress() {}
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
/// @throws CancelledError; what `messages` throws
template <class Scalar, class ExecutionSpace>
void factorize_divided_front(
    const ExecutionSpace& exec, const LuPlan<typename ExecutionSpace::memory_space>& plan,
    const ScaledValues<Scalar, typename ExecutionSpace::memory_space>& A, double perturbation,
    const FrontFactors<Scalar, ExecutionSpace>& factors,
    const Kokkos::View<unsigned char*, typename ExecutionSpace::memory_space>& perturbed,
    const FrontShare& share, DividedFrontMessages<Scalar>& messages);

}  // namespace lutra

#endif
