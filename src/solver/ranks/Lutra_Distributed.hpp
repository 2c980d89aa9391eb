// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_DISTRIBUTED_HPP
#define LUTRA_DISTRIBUTED_HPP

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "Lutra_Communicator.hpp"
#include "Lutra_CsrView.hpp"
#include "Lutra_DistributedFactors.hpp"
#include "Lutra_DistributedTriangles.hpp"
#include "Lutra_KrylovSolver.hpp"
#include "Lutra_MemoryBudget.hpp"
#include "Lutra_Options.hpp"
#include "Lutra_Report.hpp"
#include "Lutra_RunControl.hpp"
#include "Lutra_ScalarTraits.hpp"

namespace lutra {

/// Collective. Distributes a matrix from rank `root` in equal runs of consecutive rows. The argument A is
/// ignored on the other ranks.
template <class Scalar>
DistributedRows<Scalar> deal_rows(Communicator& comm, const HostMatrix<Scalar>& A, int root = 0);

namespace Impl {
template <class Scalar>
class FrontsOnRanks;
template <class Scalar>
struct FrontAnalysis;
template <class Scalar>
class FirstRankSolver;
template <class Scalar>
class LdltOnRanks;
template <class ExecutionSpace>
class PatternOnRanks;

template <class Scalar>
class GridOnRanks;
template <class Scalar>
class RankRows;
template <class Scalar>
class RankSolver;
template <class T>
struct RankColumns;
}  // namespace Impl

/// LU factorization of a matrix that is distributed by rows. Rank 0 analyzes it; all ranks factorize, solve
/// and refine.
///
///     rows of A ──► rank 0: order, tree ──► fronts on ranks (DistributedFronts)
///     each step:  B − op(A)·X by rows, with halos ──► sweeps through the fronts (DistributedFrontSolver) ──►
///     X
///
/// If the options name a grid of ranks, L and U are sent to it by blocks, and triangular solves are driven by
/// messages (DistributedFactors).
///
/// With DistributedOptions::on_device, the ranks factorize, solve and refine on their devices (CUDA). The
/// analysis stays on hosts, and so do the residuals of a grid.
///
/// With the options' symbolic method fill2 rank 0 factorizes alone on the pattern of L + U that all ranks
/// have found: sources are dealt to them by chunks (SourceSchedule), and their rows are gathered on rank 0.
///
/// Rank 0 factorizes alone if SparseLU would not use fronts on this matrix or would interchange rows, if
/// pivots had to be perturbed, or if the memory limit is too small for fronts; the reasons in the report say
/// why. It then solves as well, unless a grid is given, which takes its factors. The whole matrix must fit on
/// rank 0 for the analysis. New values on a known pattern are not gathered. `memory_limit` is the limit of
/// each rank, for fronts and their solves. All calls are collective, and errors are thrown on all ranks. The
/// class is instantiated for all scalars.
///
/// Deadline and stop flag are each rank's own. A rank that has to stop completes its messages and tells the
/// others where they agree next; all then return `cancelled`. Solves agree before each of their steps with L
/// and U, and leave X unchanged if they stop. After a stopped factorization there are no factors.
template <class Scalar>
class DistributedLU {
 public:
  using DeviceMemory = Kokkos::DefaultExecutionSpace::memory_space;
  using DeviceValues = Kokkos::View<const Scalar*, DeviceMemory>;
  /// Vectors by columns: [rows of this rank × k]
  template <class T>
  using DeviceColumns = Kokkos::View<T**, Kokkos::LayoutLeft, DeviceMemory>;

  /// Creates a solver without factors. `LuOptions::check` is not used: all solutions are checked.
  /// @throws InputError if an option is out of range
  explicit DistributedLU(Communicator& comm, const LuOptions& options = {},
                         const DistributedOptions& distribution = {});
  /// Does not wait for other ranks. Call `close` first to free memory that other ranks may still write to.
  ~DistributedLU();
  void close();

  /// Analyzes and factorizes a matrix, and keeps a copy of its rows. If the ranks have already factorized a
  /// matrix with the same pattern by fronts, its analysis, order and scales are reused.
  /// @returns success, or the status of the failed factorization
  /// @throws on all ranks alike: InputError if a row is on no rank or on two, and for anything that SparseLU
  ///         rejects; OutOfMemoryError
  [[nodiscard]] Status factorize(const DistributedRows<Scalar>& A);

  /// Factorizes new values of the matrix of the last `factorize`, without a look at its pattern.
  /// @param values of the entries in this rank's rows
  /// @returns as `factorize`
  /// @throws on all ranks alike: CallOrderError if no matrix was factorized; InputError for the wrong number
  ///         of values, or one that is not finite; OutOfMemoryError
  [[nodiscard]] Status refactorize(std::span<const Scalar> values);
  /// The same from the memory of the default execution space. Values stay on a device if the fronts are on
  /// it.
  [[nodiscard]] Status refactorize(const DeviceValues& values);

  /// Solves op(A)·X = B and refines as SparseLU does: in each column a correction is kept if it lowers the
  /// componentwise backward error, and GMRES follows where that stalls, except on a grid.
  /// @param B,X [rows of this rank × k] stored by columns
  /// @param k,op the same on all ranks
  /// @returns the status of `report()`. If it is singular, X is left unchanged.
  /// @throws on all ranks alike: CallOrderError; InputError if B has the wrong size or is not finite, or if
  ///         ranks differ in k or op
  Status solve(std::span<const Scalar> B, std::span<Scalar> X, std::size_t k = 1,
               Transposition op = Transposition::none);
  /// The same in the memory of the default execution space, X and B possibly the same; strides are free.
  /// Vectors stay on a device if the fronts are on it, unless op is adjoint. Waits.
  Status solve(const DeviceColumns<const Scalar>& B, const DeviceColumns<Scalar>& X,
               Transposition op = Transposition::none);

  /// Returns the status and the errors on all ranks, and each rank's memory. The other fields are complete on
  /// rank 0 only.
  const Report& report() const noexcept { return m_report; }
  /// Returns the grid given in the options; 0 × 0 if there is none, and solves use the fronts or rank 0.
  const ProcessGrid& grid() const noexcept { return m_distribution.grid; }
  /// Returns the model's prediction for the given grid; empty if there is none.
  const std::vector<GridPrediction>& predictions() const noexcept { return m_predictions; }
  /// Collective. Returns the statistics of all ranks on rank 0, and an empty vector on the others.
  std::vector<RankStatistics> statistics();

 protected:
  /// For DistributedLDLT.
  DistributedLU(Communicator& comm, const LdltOptions& options, const DistributedOptions& distribution);

 private:
  using Analysis = Impl::FrontAnalysis<Scalar>;
  Status factorize_rows(const DistributedRows<Scalar>& A);
  Status refactorize_on_hosts(std::span<const Scalar> values);
  Status refactorize_on_devices(const DeviceValues& values);
  Status solve_on_hosts(std::span<const Scalar> B, std::span<Scalar> X, std::size_t k, Transposition op);
  Status solve_on_devices(const DeviceColumns<const Scalar>& B, const DeviceColumns<Scalar>& X,
                          Transposition op);
  bool has_pattern(const DistributedRows<Scalar>& A);
  bool takes_device_memory();
  void check_for_refactorization(std::size_t values);
  bool check_for_solve(const Impl::RankColumns<const Scalar>& B, const Impl::RankColumns<Scalar>& X,
                       Transposition op);
  bool solve_refined(const Impl::RankColumns<const Scalar>& B, const Impl::RankColumns<Scalar>& X,
                     Transposition op);
  template <class Call>
  Status stop_together(const Call& call);
  void fetch_values();
  void note_memory();
  HostMatrix<Scalar> assemble_rows();
  bool run_known_pattern();
  Status factorize_values(bool again);
  bool refactorize_alone();
  void factorize_again();
  template <class ExecutionSpace>
  void factorize_in(const HostMatrix<Scalar>& A);
  template <class ExecutionSpace>
  bool analyze(const HostMatrix<Scalar>& A, Analysis& analysis);
  template <class ExecutionSpace>
  bool factorize_on_ranks(const HostMatrix<Scalar>& A);
  template <class ExecutionSpace>
  void factorize_on_first_rank(const HostMatrix<Scalar>& A);
  bool run_fronts();
  bool seems_well_conditioned();
  void factorize_for_judgement();
  void solve_on_grid(FactorValues<Scalar>&& factors);
  void describe_place();
  Status solve_alone(std::span<const Scalar> B, std::span<Scalar> X, std::size_t k, Transposition op);
  Impl::RankSolver<Scalar>& solver();

  Communicator& m_comm;
  LuOptions m_options;                                     ///< with m_symmetric only those of DirectOptions
  std::unique_ptr<Impl::LdltOnRanks<Scalar>> m_symmetric;  ///< null: LU
  DistributedOptions m_distribution;
  ProcessGrid m_asked;  ///< grid in the options; 0 × 0: none
  std::vector<GridPrediction> m_predictions;
  std::unique_ptr<Impl::RankRows<Scalar>> m_A;
  std::unique_ptr<Impl::FrontsOnRanks<Scalar>> m_fronts;   ///< null if rank 0 factorized alone
  std::unique_ptr<Impl::FirstRankSolver<Scalar>> m_alone;  ///< set if it solves alone, too
  bool m_stays_alone = false;  ///< whatever the values are: fronts are not tried again
  std::string m_why_alone;     ///< why rank 0 factorizes alone, on rank 0; empty if there is only one rank
  std::unique_ptr<Impl::GridOnRanks<Scalar>> m_grid;  ///< factors on the given grid; else null
  std::vector<std::int64_t> m_order_alone;  ///< order found on rank 0, if rank 0 factorizes by fronts in it
  RankStatistics m_search;                  ///< this rank's part of the symbolic factorization
  RunControl m_run = RunControl::make();    ///< of the calls on this rank
  MemoryBudget m_budget;                    ///< of fronts and solves on this rank
  bool m_usable = false;                    ///< the factors are those of m_A
  bool m_has_matrix = false;                ///< `factorize` has returned
  bool m_has_newer_values = false;          ///< those of the fronts are newer than those of m_A
  bool m_may_stop = false;                  ///< a rank has limits in time of the running solve
  Report m_report;
};

/// LDLᵀ or Cholesky factorization of a symmetric or Hermitian matrix that is distributed by rows, both
/// triangles of it. All ranks factorize, solve and refine as DistributedLU does, in the order and with the
/// scales of SparseLDLT; U is D·Lᵀ, which hosts and devices copy from L.
///
/// Pivots are those in place that SparseLDLT tries first on CUDA (`LdltOptions::in_place_first`): the
/// diagonal in order, then with pairs, then symmetric interchanges within fronts. They are kept if they are
/// as stable as those of the threshold test. Rank 0 factorizes alone, by SparseLDLT, if a column would have
/// to be delayed to another front, if a pivot of Cholesky is not positive, and where DistributedLU does; the
/// reasons in the report say why. With `in_place_first` set to true ranks are used whether or not they are
/// predicted to pay. There is no grid. On all ranks the report has the inertia.
///
/// `factorize` and `refactorize` also throw InputError on all ranks if the values are not symmetric. There
/// are then no factors.
template <class Scalar>
class DistributedLDLT : private DistributedLU<Scalar> {
  using Base = DistributedLU<Scalar>;

 public:
  /// Creates a solver without factors. `LdltOptions::check` is not used: all solutions are checked.
  /// @throws InputError if an option is out of range, if only a triangle is to be read, or if there is a grid
  explicit DistributedLDLT(Communicator& comm, const LdltOptions& options = {},
                           const DistributedOptions& distribution = {});
  using Base::close;
  using Base::factorize;
  using Base::grid;
  using Base::predictions;
  using Base::refactorize;
  using Base::report;
  using Base::solve;
  using Base::statistics;
};

/// Krylov method on rank 0, with a preconditioner of incomplete or complete factors. On a grid
/// (`DistributedOptions::grid`) all ranks apply it. Without one rank 0 applies it alone, which was faster
/// wherever it was measured, since products with A and vectors are rank 0's.
///
///     rank 0   A·x ── B ──► broadcast: apply ──► solve on the grid ──► X ── A·x ── … ── broadcast: the end
///     others                wait ──► solve on the grid ──► wait …
///
/// Rank 0 holds the matrix, analyzes it and computes the factors; if `lu.symbolic` is fill2, all ranks find
/// the pattern of L + U. All calls are collective, and errors are thrown on all ranks. Arguments and results
/// are read and written on rank 0 only unless stated otherwise. The class uses host memory. It is
/// instantiated for all scalars in builds with 32-bit ordinals.
template <class Scalar>
class DistributedKrylov {
 public:
  /// Creates a solver without factors.
  /// @throws InputError if an option is out of range, or if the preconditioner has no triangular factors
  DistributedKrylov(Communicator& comm, const KrylovSolverOptions& options,
                    const DistributedOptions& distribution = {});
  /// Does not wait for other ranks. Call `close` first to free memory that other ranks may still write to.
  ~DistributedKrylov();
  void close();

  /// Computes the preconditioner.
  /// @param A matrix, on rank 0
  /// @returns on all ranks: success, or the status of the failed factorization
  /// @throws on all ranks: whatever KrylovSolver::analyze and factorize throw
  [[nodiscard]] Status factorize(const HostMatrix<Scalar>& A);

  /// Solves op(A)·X = B.
  /// @param B,X [n × k] stored by columns, on rank 0
  /// @param k, op on all ranks
  /// @returns on all ranks: the status of `report()`. X is left unchanged if there are no factors.
  /// @throws on all ranks: CallOrderError, InputError
  Status solve(std::span<const Scalar> B, std::span<Scalar> X, std::size_t k = 1,
               Transposition op = Transposition::none);

  /// Returns the status on all ranks, and the complete report on rank 0.
  const Report& report() const noexcept { return m_report; }
  const ProcessGrid& grid() const noexcept;
  /// Returns the same as DistributedLU::predictions.
  const std::vector<GridPrediction>& predictions() const noexcept;
  /// Collective. Returns the statistics of all ranks on rank 0, and an empty vector on the others.
  std::vector<RankStatistics> statistics();

 private:
  class Inverse;
  using Exec = Kokkos::DefaultHostExecutionSpace;
  Status factorize_on_ranks(const HostMatrix<Scalar>& A);
  Status solve_on_ranks(std::span<const Scalar> B, std::span<Scalar> X, std::size_t k, Transposition op);
  bool on_grid() const { return m_distribution.grid.size() > 0; }
  void prepare_alone(const HostMatrix<Scalar>& A);
  void solve_alone(std::span<const Scalar> B, std::span<Scalar> X, Transposition op);
  FactorValues<Scalar> compute_factors(const HostMatrix<Scalar>& A);
  void serve();
  void agree_on_status();

  Communicator& m_comm;
  KrylovSolverOptions m_options;
  DistributedOptions m_distribution;
  std::shared_ptr<Impl::PatternOnRanks<Exec>> m_pattern;  ///< of complete factors
  std::unique_ptr<KrylovSolver<Scalar, Exec>> m_solver;   ///< on rank 0
  std::unique_ptr<DistributedFactors<Scalar>> m_factors;  ///< on a grid; null if there are no usable ones
  std::int64_t m_n = 0;
  bool m_usable = false;  ///< whether there is a preconditioner
  Report m_report;
};

}  // namespace lutra

#endif
