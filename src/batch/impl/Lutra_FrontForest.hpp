// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_FRONTFOREST_HPP
#define LUTRA_FRONTFOREST_HPP

#include <cstdint>
#include <memory>
#include <span>
#include <variant>
#include <vector>

#include "Lutra_Factorization.hpp"
#include "Lutra_FrontPlan.hpp"
#include "Lutra_FrontSolver.hpp"
#include "Lutra_LaneGroups.hpp"
#include "Lutra_Options.hpp"

namespace lutra::Impl {

/// Assembly tree and pattern of one system, as a forest repeats them. On the host.
struct FrontTree {
  AssemblyTree tree;                          ///< without `order`
  std::vector<Ordinal> row_order, col_order;  ///< equal for LDLᵀ
  std::vector<Offset> A_map;                  ///< of both triangles for LDLᵀ
  std::vector<Ordinal> A_entries;
  /// Pivoting, and LU's device model. No choice of pivots of LDLᵀ is `automatic`
  std::variant<LuOptions, LdltOptions> options;
};

/// Largest number of copies whose rows an Ordinal can number.
std::size_t max_copies(const FrontTree& one);

/// Copies of a FrontTree, on the host.
struct ForestPattern {
  ForestPattern(const FrontTree& one, std::size_t copies);
  FrontEntries entries() const;

  AssemblyTree tree;
  std::vector<Ordinal> row_order, col_order;
  std::vector<Offset> A_map;
  std::vector<Ordinal> A_entries;
};

/// Multifrontal factorization of the block diagonal matrix of `slots` systems: as many copies of one assembly
/// tree.
///
///      slot 0     slot 1          slot S − 1
///        o          o      …          o          front f of slot s is front s·fronts + f, its rows and
///       ╱ ╲        ╱ ╲               ╱ ╲         entries those of one system, shifted by s·n and s·nnz
///
/// Entries and pivots of a slot are contiguous, in the order of one system. Trees share no numbers. What
/// becomes of a system without sound pivots stays within its tree.
template <class Scalar, class ExecutionSpace>
class FrontForest {
 public:
  using Memory = typename ExecutionSpace::memory_space;
  using Real = RealOf<Scalar>;
  using Numbers = Kokkos::View<Scalar*, Memory>;
  using RealScales = std::vector<Real>;

  virtual ~FrontForest() = default;
  FrontForest(const FrontForest&) = delete;
  FrontForest& operator=(const FrontForest&) = delete;

  std::size_t slots() const { return m_slots; }
  /// [slots][nnz] values of the matrices, to be written before `factorize`.
  const Numbers& values() const { return m_values; }

  /// Factorizes the values. Fences.
  /// @param perturbation least magnitude of a pivot, relative to the largest entry of its scaled matrix
  /// @param found        out: of the first slots. `multiplier` is not found
  /// @throws TimeoutError on devices
  virtual void factorize(const ExecutionSpace& exec, double perturbation, std::span<SlotFindings> found) = 0;
  /// Solves for columns of [column][slots][n] numbers. Does not fence on devices.
  /// @param active [column][slots] 0: the solution is not needed and may be undefined; null: all are needed
  void solve(const ExecutionSpace& exec, Transposition op, int columns, const Scalar* B, Scalar* X,
             const char* active = nullptr);
  /// Bytes of the vectors that a solve needs beside B and X.
  virtual std::size_t bytes_of_solves(std::size_t columns) const = 0;
  /// Fences on devices. @throws TimeoutError if a solve since the last call was given up
  void throw_if_stopped(const ExecutionSpace& exec);

 protected:
  using System = FrontSystem<Scalar, Memory>;

  FrontForest(const ExecutionSpace& exec, const ForestPattern& all, std::size_t slots,
              const RealScales& row_scale, const RealScales& col_scale, const MemoryBudget& budget);
  ScaledValues<Scalar, Memory> scaled_values() const { return {m_values, m_row_scale, m_col_scale}; }
  const PermutedPattern<Memory>& pattern() const { return m_F; }
  const MemoryBudget& budget() const { return m_budget; }
  /// @throws TimeoutError if the watchdog has stopped a front
  static void throw_if_stopped_at(std::int64_t front);

 private:
  virtual void solve_system(const ExecutionSpace& exec, const System& system, const char* active) = 0;
  /// As FrontSolver::consume_timeout.
  virtual std::int64_t consume_timeout(const ExecutionSpace& exec) = 0;

  std::size_t m_slots;
  MemoryBudget m_budget;
  MemoryReservation m_keep;
  PermutedPattern<Memory> m_F;
  Numbers m_values;
  Kokkos::View<const Real*, Memory> m_row_scale, m_col_scale;  ///< [slots][n], or empty
};

/// Plans a forest on the host: O(slots · (entries of A + rows of fronts)). Allocates the values. Fences.
/// @param scales of rows and columns of one system, each [n] or empty
/// @throws OutOfMemoryError
template <class Scalar, class ExecutionSpace>
std::unique_ptr<FrontForest<Scalar, ExecutionSpace>> make_front_forest(
    const ExecutionSpace& exec, const FrontTree& one, std::size_t slots,
    const std::vector<RealOf<Scalar>>& row_scale, const std::vector<RealOf<Scalar>>& col_scale,
    const MemoryBudget& budget);

/// Bytes of a forest.
struct ForestBytes {
  std::size_t a_slot =
      0;  ///< of each slot, with solves of one right-hand side: about those of a plan of one tree
  std::size_t shared = 0;  ///< workspaces of host threads
};
/// @throws OutOfMemoryError
template <class Scalar, class ExecutionSpace>
ForestBytes bytes_of_forest(const ExecutionSpace& exec, const FrontTree& one, const MemoryBudget& budget);

}  // namespace lutra::Impl

#endif
