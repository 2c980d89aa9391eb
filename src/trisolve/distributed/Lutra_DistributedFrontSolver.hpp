// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_DISTRIBUTEDFRONTSOLVER_HPP
#define LUTRA_DISTRIBUTEDFRONTSOLVER_HPP

#include <memory>
#include <type_traits>

#include "Lutra_Communicator.hpp"
#include "Lutra_DistributedFronts.hpp"
#include "Lutra_DistributedTriangles.hpp"
#include "Lutra_Factorization.hpp"
#include "Lutra_MemoryBudget.hpp"

namespace lutra {

/// Solves with L·U where `DistributedFronts` has left it, transposed or adjoint if requested: each rank
/// sweeps through its own parts by `FrontSolver`, up in their order and down in reverse.
///
///     B by rows ──► right-hand sides of pivots          X by rows ◄── solutions of pivots
///                     │                                                 ▲
///     part            │    sweep up ───────────────────────► sweep down │
///                     ▼      ▲ sums of contribution rows          │ x of these rows
///     parts below it    sweep up                                  ▼ sweep down
///
/// A solve sends one message up and one down between two parts of different ranks that pass contributions,
/// besides those that carry B and X. Sums have the order of a solve on one rank, so that on hosts the result
/// is bitwise the same. On devices that can map each other's memory a solve is queued as a whole: vectors,
/// sums and solutions go from device to device (ViewChannel).
///
/// Calls are collective, errors included. Instantiated like DistributedFronts.
template <class Scalar, class ExecutionSpace = Kokkos::DefaultHostExecutionSpace>
class DistributedFrontSolver {
 public:
  using Fronts = DistributedFronts<Scalar, ExecutionSpace>;
  using Memory = typename ExecutionSpace::memory_space;
  /// Vectors by columns, or by rows as in `Factorization`: [rows of this rank × k]
  template <class T>
  using Columns = Kokkos::View<T**, Kokkos::LayoutLeft, Memory>;
  template <class T>
  using Rows = DenseRows<T, Memory>;

  /// @param fronts must outlive this object
  /// @param budget of each rank: index lists and vectors
  /// @throws OutOfMemoryError on all ranks
  DistributedFrontSolver(Communicator& comm, const Fronts& fronts, const MemoryBudget& budget = {});
  ~DistributedFrontSolver();

  /// X = op(A)⁻¹·B with the factors of the last factorization, scales included. Fences. Allocates if there
  /// are more right-hand sides than ever before.
  /// @param B,X `Columns` or `Rows`, the same number of columns on all ranks; X may be B
  /// @throws OutOfMemoryError on all ranks
  template <class BView, class XView>
  void solve(Transposition op, const BView& B, const XView& X) {
    static_assert(std::is_same_v<typename BView::array_layout, typename XView::array_layout>);
    if constexpr (std::is_same_v<typename XView::array_layout, Kokkos::LayoutRight>)
      solve_rows(op, B, X);
    else
      solve_columns(op, B, X);
  }

  /// Statistics of this rank. `rows` counts its pivots, `blocks` its fronts, `entries` those of its panels.
  RankStatistics statistics() const;

 private:
  void solve_columns(Transposition op, const Columns<const Scalar>& B, const Columns<Scalar>& X);
  void solve_rows(Transposition op, const Rows<const Scalar>& B, const Rows<Scalar>& X);
  struct State;
  std::unique_ptr<State> m_state;
};

}  // namespace lutra

#endif
