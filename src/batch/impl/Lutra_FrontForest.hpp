// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_FRONTFOREST_HPP
#define LUTRA_FRONTFOREST_HPP

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "Lutra_Factorization.hpp"
#include "Lutra_FrontSolver.hpp"
#include "Lutra_MultifrontalPlan.hpp"

namespace lutra::Impl {

/// Multifrontal LU of one system, as a forest repeats it. On the host.
struct FrontTree {
  AssemblyTree tree;  ///< without `order`
  std::vector<Ordinal> row_order, col_order;
  std::vector<Offset> A_map;
  std::vector<Ordinal> A_entries;
  std::vector<Offset> diagonal;  ///< [n] place of each pivot in the panels of the system
  Offset panel_entries = 0;      ///< of the system
  LuOptions options;             ///< pivoting and device model
};

/// @param exec instance that has finished with the plan
template <class Scalar, class ExecutionSpace>
FrontTree take_front_tree(const ExecutionSpace& exec, const MultifrontalPlan<Scalar, ExecutionSpace>& plan,
                          const LuOptions& options);

/// Largest number of copies whose rows an Ordinal can number.
std::size_t max_copies(const FrontTree& one);

/// Multifrontal LU of the block diagonal matrix of `slots` systems: as many copies of one assembly tree.
///
///      slot 0     slot 1          slot S − 1
///        o          o      …          o          front f of slot s is front s·fronts + f, its rows and
///       ╱ ╲        ╱ ╲               ╱ ╲         entries those of one system, shifted by s·n and s·nnz
///
/// Panels, entries and pivots of a slot are contiguous, in the order of one system. Trees share no numbers,
/// and pivots are not perturbed: the threshold would be that of the largest entry of all systems. What
/// becomes of a zero pivot stays within its tree.
template <class Scalar, class ExecutionSpace>
class FrontForest {
 public:
  using Memory = typename ExecutionSpace::memory_space;
  using Real = RealOf<Scalar>;
  using Numbers = Kokkos::View<Scalar*, Memory>;

  /// Plans on the host: O(slots · (entries of A + rows of fronts)). Allocates the values. Fences.
  /// @param scales of rows and columns of one system, each [n] or empty
  /// @throws OutOfMemoryError
  FrontForest(const ExecutionSpace& exec, const FrontTree& one, std::size_t slots,
              const std::vector<Real>& row_scale, const std::vector<Real>& col_scale,
              const MemoryBudget& budget);

  /// Bytes that each slot needs, with solves of one right-hand side: about those of a plan of one tree.
  static std::size_t bytes_per_slot(const ExecutionSpace& exec, const FrontTree& one);

  std::size_t slots() const { return m_slots; }
  /// [slots][nnz] values of the matrices, to be written before `factorize`.
  const Numbers& values() const { return m_values; }
  const Scalar* panels() const { return m_factors.panels.data(); }    ///< [slots][panel entries]
  const Scalar* entries() const { return m_factors.entries.data(); }  ///< [slots][nnz] of the scaled matrices

  /// Does not fence on devices.
  /// @throws TimeoutError on devices
  void factorize(const ExecutionSpace& exec);
  /// Solves for columns of [column][slots][n] numbers. Does not fence on devices.
  void solve(const ExecutionSpace& exec, Transposition op, int columns, const Scalar* B, Scalar* X);
  /// Bytes of the vectors that a solve needs beside B and X.
  std::size_t bytes_of_solves(std::size_t columns) const {
    return m_solver->predict_bytes(m_plan, m_factors.interchanges.has_value(), static_cast<int>(columns));
  }
  /// Fences on devices. @throws TimeoutError if a solve since the last call was given up
  void throw_if_stopped(const ExecutionSpace& exec);

 private:
  std::size_t m_slots;
  MemoryReservation m_keep;
  PermutedPattern<Memory> m_F;
  LuPlan<Memory> m_plan;
  FrontFactors<Scalar, ExecutionSpace> m_factors;
  std::optional<FrontSolver<Scalar, ExecutionSpace>> m_solver;
  Numbers m_values;
  Kokkos::View<const Real*, Memory> m_row_scale, m_col_scale;  ///< [slots][n], or empty
  Kokkos::View<unsigned char*, Memory> m_perturbed;            ///< [slots][n] all 0
};

}  // namespace lutra::Impl

#endif
