// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_DISTRIBUTEDFRONTS_HPP
#define LUTRA_DISTRIBUTEDFRONTS_HPP

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "Lutra_Communicator.hpp"
#include "Lutra_DiagonalPivots.hpp"
#include "Lutra_FrontLu.hpp"
#include "Lutra_FrontPart.hpp"
#include "Lutra_FrontRanks.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_PartBoundaries.hpp"
#include "Lutra_ViewChannel.hpp"
#include "Lutra_ViewExchange.hpp"

namespace lutra {

/// Multifrontal LU on several ranks, each with its own execution space: each rank factorizes its parts of the
/// tree with `factorize_fronts`. On hosts the result is bitwise that of one rank, unless fronts are divided.
///
///          root         rank 0, part 3      ▲ extend-add within a part
///        ╱   │  ╲                           │
///      ▲     A    ▲     rank 0, part 1      │ between parts one dense block per subtree, once its part is
///      2    ╱ ╲   2     rank 1, part 2      │ complete
///          ▲   ▲                            │
///          0   1        ranks 1 and 0 ──────┘
///
/// In the tree of a part, fronts of other parts below it are leaves without pivots whose contribution blocks
/// come from there (PartBoundary). Rank 0 plans all parts; then each rank needs memory for its fronts and the
/// entries of A in them, and sends the values of its rows of A to the ranks that need them. Values and blocks
/// go from device to device where devices can map each other's memory (ViewChannel).
///
/// On hosts a part that is a single front may have helpers (FrontRanks): they and its rank compute the
/// columns that DividedColumns gives them, with the contributions that belong there, and then its rank gets
/// all columns. Symmetric matrices have no such parts.
///
/// Factors stay where they were computed: `DistributedFrontSolver` solves with them. `collect_factors` copies
/// them to the host by entries.
///
/// Calls are collective, errors included. Instantiated for all scalars where 32-bit ordinals are built, for
/// the default execution spaces of hosts and devices.
template <class Scalar, class ExecutionSpace = Kokkos::DefaultHostExecutionSpace>
class DistributedFronts {
 public:
  using Part = Impl::FrontPart<Scalar, ExecutionSpace>;
  using Real = RealOf<Scalar>;
  using Memory = typename ExecutionSpace::memory_space;
  using Channel = Impl::ViewChannel<ExecutionSpace>;
  using Exchange = Impl::ViewExchange<ExecutionSpace>;

  /// @param tree          on rank 0, like the next two; ignored on other ranks
  /// @param entries       A and its orders, which already follow `tree.order`
  /// @param rows_of_ranks [ranks] rows of A of each rank
  /// @param budget        of each rank: plan, panels, contributions. With a limit the tree is divided for
  ///                      memory, otherwise for time
  /// @param division      on rank 0, instead of that of `distribute_fronts`
  /// @param symmetry      of all matrices to come, the same on all ranks: as for make_front_schedule
  /// @throws InputError on devices if `division` has helpers; OutOfMemoryError on all ranks, naming the rank,
  /// like all calls that allocate
  DistributedFronts(Communicator& comm, const AssemblyTree& tree, const FrontEntries& entries,
                    const std::vector<std::vector<std::int64_t>>& rows_of_ranks,
                    const MemoryBudget& budget = {}, const FrontRanks* division = nullptr,
                    const std::optional<Symmetry>& symmetry = {});
  /// Does not wait for other ranks. Without `close`, device memory that they may still write to is kept.
  ~DistributedFronts();
  void close();

  /// Sets the scales of all further factorizations and solves; until then they are ones.
  /// @param row_scale, col_scale [rows of this rank] of these rows of A, and of the columns with their
  /// numbers
  void set_scales(std::span<const Real> row_scale, std::span<const Real> col_scale);

  /// Sets the symmetric interchanges of all further factorizations, on all ranks alike; at first there are
  /// none. Frees the factors if they differ from the present ones.
  /// @param threshold as in FrontInterchanges; 0: none
  void set_interchanges(double threshold, Impl::Interchanges kind);

  /// Allocates in the first call. Hosts meet three times.
  /// @param values of the entries in this rank's rows of A, by rows as in `rows_of_ranks`
  /// @param perturbation as in `factorize_fronts`
  /// @returns the combined outcome of all ranks, on all ranks; with a symmetry without `largest_factor`
  /// @throws InputError if the values are not symmetric, though there is a symmetry; TimeoutError; on all
  /// ranks
  FrontLuOutcome factorize(const Kokkos::View<const Scalar*, Memory>& values, double perturbation);

  /// The pivots of all ranks in the last factorization of a symmetric matrix.
  DiagonalPivots inspect_pivots();

  /// On rank 0; empty on others.
  const FrontRanks& ranks() const noexcept;

  // For solves ----------------------------------------------------------------------------------------------

  /// A part of this rank, in the order of `boundaries`.
  const Part& part(std::size_t p) const noexcept;
  /// The rank's parts with their neighbours, ascending.
  const std::vector<PartBoundary>& boundaries() const noexcept;
  /// From this rank's rows of A to the pivots of its parts, part by part: by the rows of the pivots, and by
  /// their columns, whose values the ranks hold like those of rows.
  Exchange& pivot_rows() const noexcept;
  Exchange& pivot_columns() const noexcept;
  /// The channel of the factorization, which solves also use; they reserve their own buffers.
  Channel& channel() const noexcept;

  // For other uses of the factors ---------------------------------------------------------------------------

  /// Computes `rows` and `columns`. Takes memory for a while: the peak is lowest before the first
  /// factorization.
  void note_entries();
  /// Copies this rank's entries of L + U from the last factorization to the host; notes them if need be.
  void collect_factors();
  /// Permuted rows and columns of the entries, as indices of F.
  const std::vector<std::int64_t>& rows() const noexcept;
  const std::vector<std::int64_t>& columns() const noexcept;
  /// L\U at these positions.
  const std::vector<Scalar>& values() const noexcept;

 private:
  struct State;
  std::unique_ptr<State> m_state;
};

}  // namespace lutra

#endif
