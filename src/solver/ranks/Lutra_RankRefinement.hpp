// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_RANKREFINEMENT_HPP
#define LUTRA_RANKREFINEMENT_HPP

#include <cstddef>
#include <limits>
#include <span>
#include <vector>

#include "Lutra_Communicator.hpp"
#include "Lutra_ConditionEstimate.hpp"
#include "Lutra_GmresRefinement.hpp"
#include "Lutra_HaloOperator.hpp"
#include "Lutra_RankRows.hpp"
#include "Lutra_Reductions.hpp"
#include "Lutra_Refinement.hpp"
#include "Lutra_RunControl.hpp"

namespace lutra::Impl {

/// Reductions over the ranks of a communicator, in the order of the ranks.
template <class Scalar>
class RankReductions final : public Reductions<Scalar> {
 public:
  explicit RankReductions(Communicator& comm) : m_comm(comm) {}
  void sum(std::span<Scalar> values) const override;
  void max(std::span<RealOf<Scalar>> values) const override;

 private:
  Communicator& m_comm;
};

/// What a refined solve on ranks is asked for.
struct RankSolveOptions {
  RefinementOptions refinement;
  double success = 0;  ///< componentwise error from which a solution is one
  /// Amplification from which the matrix may be singular: X is then not written, and GMRES not tried.
  double most_amplification = std::numeric_limits<double>::infinity();
  /// The same on all ranks: ask before each solve with the factors whether a rank has to stop. CancelledError
  /// is then thrown on all, and X is not written.
  bool may_stop = false;
  RunControl run = {};  ///< of this rank
};

/// Outcome of a refined solve on ranks, the same on all of them.
struct RankSolveOutcome : RefinementOutcome {
  bool may_be_singular = false;  ///< X was not written
  int gmres_iterations = 0;      ///< 0: refinement sufficed, or GMRES was not allowed
};

/// Columns of vectors with the elements of this rank's rows.
template <class T>
struct RankColumns {
  T* data = nullptr;
  std::size_t rows = 0, count = 0;
  std::size_t stride = 0;  ///< between two columns
  bool on_device = false;  ///< whether `data` is in the memory of the default execution space, not a host's

  /// As a View in some memory.
  template <class Memory>
  Kokkos::View<T**, Kokkos::LayoutStride, Memory> view() const {
    return Kokkos::View<T**, Kokkos::LayoutStride, Memory>(data,
                                                           Kokkos::LayoutStride(rows, 1, count, stride));
  }
};

/// Refinement of solutions whose rows are on several ranks, in an execution space: residuals by a
/// HaloOperator, errors and GMRES joined over the ranks. All calls are collective, errors included.
template <class Scalar, class ExecutionSpace>
class RankRefinement {
 public:
  using Memory = typename ExecutionSpace::memory_space;
  using Channel = ViewChannel<ExecutionSpace>;
  using Inverse = Preconditioner<Scalar, ExecutionSpace>;
  using Reals = std::vector<RealOf<Scalar>>;

  /// @param channel, A outlive this object
  RankRefinement(Channel& channel, const RankRows<Scalar>& A, const MemoryBudget& budget);

  /// Scales of this rank's rows, and of the columns with the same indices: for GMRES and the condition.
  void set_scales(const Reals& row, const Reals& col);
  /// To be called after the values of the rows have changed.
  void update_values() { m_A.update_values(); }
  /// Devices: takes other values. Those of the rows are then out of date.
  void update_values(const Kokkos::View<const Scalar*, Memory>& values) { m_A.update_values(values); }
  /// A copy of the values on the host.
  std::vector<Scalar> host_values() { return m_A.get(Transposition::none).host_values(); }
  /// The values of this rank's entries, by rows.
  const Kokkos::View<const Scalar*, Memory>& values() { return m_A.get(Transposition::none).values(); }

  /// Solves op(A)·X = B and refines; GMRES follows for columns that stall, if there are scales.
  /// @param B, X    by hosts only on hosts; X may be B
  /// @param op      not adjoint
  /// @param inverse the factors
  RankSolveOutcome solve(const RankColumns<const Scalar>& B, const RankColumns<Scalar>& X, Transposition op,
                         Inverse& inverse, const RankSolveOptions& options);

  /// A lower bound of the condition from one solve (`probe_condition`).
  double condition(Inverse& inverse);

 private:
  using Workspace = SolveWorkspace<Scalar, ExecutionSpace>;
  using Columns = Kokkos::View<Scalar**, Kokkos::LayoutLeft, Memory>;
  /// B or X of hosts on a device.
  struct HostColumns {
    MemoryReservation memory;
    Columns values;  ///< [rows × k]
  };
  const ExecutionSpace& exec() const { return m_channel.exec(); }
  void reserve(std::size_t k);
  void take_right_hand_sides(const RankColumns<const Scalar>& B);
  void give_solutions(const RankColumns<Scalar>& X);
  void reserve_columns(std::size_t k);
  void reserve_column();
  void reserve_gmres();
  int improve_by_gmres(Transposition op, double tolerance, Inverse& inverse, RefinementOutcome& outcome);

  Channel& m_channel;
  MemoryBudget m_budget;
  std::size_t m_rows;  ///< of this rank
  DistributedOperator<Scalar, ExecutionSpace> m_A;
  RankReductions<Scalar> m_reductions;
  Scales<Scalar, Memory> m_scales;  ///< of these rows
  bool m_has_scales = false;
  HostColumns m_columns;
  Workspace m_work, m_column;              ///< vectors of this rank's rows, and for one column
  Fgmres<Scalar, ExecutionSpace> m_gmres;  ///< empty until needed
};

}  // namespace lutra::Impl

#endif
