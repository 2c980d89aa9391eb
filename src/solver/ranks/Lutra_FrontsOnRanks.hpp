// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_FRONTSONRANKS_HPP
#define LUTRA_FRONTSONRANKS_HPP

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "Lutra_AssemblyTree.hpp"
#include "Lutra_Communicator.hpp"
#include "Lutra_DiagonalPivots.hpp"
#include "Lutra_DistributedTriangles.hpp"
#include "Lutra_Factorization.hpp"
#include "Lutra_FrontLu.hpp"
#include "Lutra_FrontRanks.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_MemoryBudget.hpp"
#include "Lutra_RankRefinement.hpp"
#include "Lutra_RankRows.hpp"
#include "Lutra_ScalarTraits.hpp"

namespace lutra::Impl {

/// Condition, as one solve shows it, from which only SparseLU on rank 0 judges whether a matrix is singular.
/// One solve may show less than the condition, which is more than 1/ε if the matrix is singular. In double
/// precision half of the digits are then left, in single precision two.
template <class Scalar>
constexpr double largest_condition_on_ranks = sizeof(RealOf<Scalar>) == 8 ? 0x1p26 : 0x1p17;

/// Values of this rank's entries, by rows, in the memory of the default execution space.
template <class Scalar>
using RankValues = Kokkos::View<const Scalar*, Kokkos::DefaultExecutionSpace::memory_space>;

/// What the fronts of all ranks are planned from; on rank 0, empty on others.
template <class Scalar>
struct FrontAnalysis {
  AssemblyTree tree;
  std::vector<Ordinal> row_order, col_order;         ///< [n] they follow `tree.order`
  std::vector<RealOf<Scalar>> row_scale, col_scale;  ///< [n]
  /// [n] scales of rows and columns for GMRES and the condition, with factors of a symmetric matrix; empty:
  /// the two above
  std::vector<RealOf<Scalar>> error_scale;
  std::vector<std::int64_t>
      order_alone;                     ///< [n] columns, if rank 0 should factorize by fronts alone; or empty
  std::optional<FrontRanks> division;  ///< of the tree; if absent, `distribute_fronts` divides
};

/// Factors of all ranks with refined solves, wherever they are. Vectors are by the rows of the matrix that
/// each rank has. Calls are collective, errors included.
template <class Scalar>
class RankSolver {
 public:
  virtual ~RankSolver() = default;
  /// As `RankRefinement::solve`. Vectors are on hosts where `takes_device_memory` is false.
  virtual RankSolveOutcome solve(const RankColumns<const Scalar>& B, const RankColumns<Scalar>& X,
                                 Transposition op, const RankSolveOptions& options) = 0;
  /// Whether values and vectors may be in the memory of the default execution space.
  virtual bool takes_device_memory() const { return false; }
  /// A lower bound of the condition from one solve.
  virtual double condition() = 0;
  /// Statistics of solves on this rank.
  virtual RankStatistics statistics() const = 0;
  /// Frees what other ranks may still write to.
  virtual void close() = 0;
};

/// LU by fronts on all ranks, on any execution space; of a symmetric matrix with U = D·Lᵀ.
template <class Scalar>
class FrontsOnRanks : public RankSolver<Scalar> {
 public:
  /// To be called after the values of the rows have changed.
  virtual void update_values() = 0;
  /// Takes other values than those of the rows. Only if device memory is taken.
  virtual void update_values(const RankValues<Scalar>& values) = 0;
  /// A copy of the values on the host.
  virtual std::vector<Scalar> host_values() = 0;
  /// Factorizes the last values.
  virtual FrontLuOutcome factorize(double perturbation) = 0;
  /// As those of `DistributedFronts`, for symmetric matrices.
  virtual void set_interchanges(double threshold, Interchanges kind) = 0;
  virtual DiagonalPivots inspect_pivots() = 0;
  /// To be called before the first factorization, depending on what its factors are for.
  virtual void plan_solves() = 0;
  virtual void plan_collection() = 0;
  /// Scales of this rank's rows, and of the columns with the same indices.
  virtual const std::vector<RealOf<Scalar>>& row_scale() const = 0;
  virtual const std::vector<RealOf<Scalar>>& col_scale() const = 0;
  /// Copies this rank's entries of L + U with their values to `factors`.
  virtual void collect(FactorValues<Scalar>& factors) = 0;
};

/// @param A      pattern of the whole matrix, on rank 0, like the next
/// @param rows   of each rank; they outlive the result
/// @param budget of each rank
/// @param symmetry of all values to come, on all ranks alike
/// @throws OutOfMemoryError on all ranks
template <class Scalar, class ExecutionSpace>
std::unique_ptr<FrontsOnRanks<Scalar>> make_fronts_on_ranks(
    Communicator& comm, const CsrPattern<int, std::int64_t, Kokkos::HostSpace>& A,
    const FrontAnalysis<Scalar>& analysis, const RankRows<Scalar>& rows, const MemoryBudget& budget,
    const std::optional<Symmetry>& symmetry = {});

}  // namespace lutra::Impl

#endif
