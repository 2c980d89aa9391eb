// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_KRYLOVCYCLES_HPP
#define LUTRA_KRYLOVCYCLES_HPP

#include <functional>
#include <memory>
#include <span>

#include "Lutra_AsyncResult.hpp"
#include "Lutra_ColumnSums.hpp"
#include "Lutra_Krylov.hpp"
#include "Lutra_KrylovColumn.hpp"
#include "Lutra_LaneSums.hpp"
#include "Lutra_PreconditionedOperator.hpp"

namespace lutra::Impl {

/// What a method does differently if its columns are the systems of a batch.
struct BatchedColumns {
  bool is_batch = false;  ///< sums are those of many columns (Lutra_LaneSums.hpp)
  /// Told which columns the operator and the preconditioner have to process from now on: [columns].
  std::function<void(std::span<const char>)> tell = {};
};

/// Common part of the Krylov methods. They work in cycles. Each cycle starts from the residual computed from
/// X, and only that residual decides the outcome of a column:
///
///     R = (B − A·X) / scale ─▶ wait: converged? no progress? … ─▶ cycle: D with A·D ≈ R ─▶ X += scale·D ─┐
///         ▲                                                                                              │
///         └──────────────────────────────────────────────────────────────────────────────────────────────┘
///
/// Sums scale vectors by powers of two, one for each column of B and one for the first product of each cycle,
/// so that squares neither overflow nor underflow, whatever the units of A and B.
///
/// A cycle of CG or BiCGStab ends when its estimate of the residual is small enough, after a breakdown, or
/// when the iterations are used up; a cycle of GMRES also ends when its basis is full. A column whose
/// residual has grown in a cycle gets back the previous X.
template <class Scalar, class ExecutionSpace>
class KrylovCycles : public KrylovIteration<Scalar, ExecutionSpace> {
  using Base = KrylovIteration<Scalar, ExecutionSpace>;

 public:
  using Base::max_steps;
  using typename Base::ApproximateInverse, typename Base::Memory, typename Base::Operator,
      typename Base::Rows;

  std::size_t size() const final { return m_n; }
  std::size_t columns() const final { return m_columns; }
  std::size_t bytes() const final { return m_reservation.bytes(); }
  std::vector<KrylovOutcome> solve(const ExecutionSpace& exec, const Operator& A, ApproximateInverse* M,
                                   Transposition op, const Rows& B, const Rows& X,
                                   const KrylovOptions& options) final;

 protected:
  using System = PreconditionedOperator<Scalar, ExecutionSpace>;
  using Column = KrylovColumn<Scalar>;
  using Columns = Kokkos::View<Column*, Memory>;
  using Totals = Kokkos::View<Scalar**, Kokkos::LayoutRight, Memory>;

  KrylovCycles(std::size_t n, std::size_t columns, const BatchedColumns& batch)
      : m_n(n), m_columns(columns), m_batch(batch) {}
  /// @param sums most sums over rows in one launch, at least two
  /// @throws OutOfMemoryError
  void allocate(const ExecutionSpace& exec, const MemoryBudget& budget, std::size_t sums);
  /// Frees the memory of `allocate` after a later allocation failed.
  void release() {
    m_state = {};
    m_sums = {};
    m_totals = {};
    m_R = m_D = m_scratch = m_X_before = {};
    m_reservation = {};
  }
  Rows allocate_block(const ExecutionSpace& exec, const char* label) {
    return m_reservation.template allocate<Rows>(exec, label, m_n, m_columns);
  }
  /// The columns of a block that belong to the present solve.
  Rows trim(const Rows& block) const { return Rows(block.data(), m_n, m_width); }
  template <class Body>
  void sum_rows(const ExecutionSpace& exec, const char* label, const Body& body, int tiles = 1) const {
    if (m_batch.is_batch) return sum_lanes(exec, label, body, m_sums, m_n, m_width, tiles);
    Impl::sum_rows(exec, label, body, m_sums, m_n, m_width, tiles);
  }
  /// Calls body(i, c) for the entries of a block.
  template <class Body>
  void for_entries(const ExecutionSpace& exec, const char* label, const Rows& X, const Body& body) const {
    if (m_batch.is_batch) return for_entries_of_lanes(exec, label, X, body);
    Impl::for_entries(exec, label, X, body);
  }
  /// Sums over the running columns, by two functions (SumColumns).
  template <int Width, class Add, class Finish>
  void sum_running(const ExecutionSpace& exec, const char* label, const Add& add,
                   const Finish& finish) const {
    using Body = SumColumns<Width, Columns, Totals, Add, Finish>;
    sum_rows(exec, label, Body{m_state.device(), m_totals, add, finish, false});
  }
  template <int Width, class Add, class Finish>
  void sum_all(const ExecutionSpace& exec, const char* label, const Add& add, const Finish& finish) const {
    using Body = SumColumns<Width, Columns, Totals, Add, Finish>;
    sum_rows(exec, label, Body{m_state.device(), m_totals, add, finish, true});
  }

  /// Sets `inverse_unit` of the running columns from the first product of a cycle.
  void measure_unit(const ExecutionSpace& exec, const Rows& W) const;

  /// Iterations per step.
  virtual int step_iterations() const { return 1; }
  /// Starts a cycle with the residual m_R. Sets `first` if the iteration uses a different residual.
  virtual void start(const System& system) = 0;
  /// Queues step j of the running columns.
  virtual void step(const System& system, int j) = 0;
  /// Stores in m_D the correction of the columns that have iterated in this cycle.
  virtual void finish(const System& system) = 0;

  std::size_t m_n, m_columns, m_width = 0;      ///< order; columns allocated; columns of the present solve
  AsyncResult<Column, ExecutionSpace> m_state;  ///< [columns]
  SumWorkspace<Scalar, ExecutionSpace> m_sums;
  Totals m_totals;  ///< [columns × sums]
  Rows m_R, m_D;    ///< residual and correction, divided by each column's scale
  Rows m_scratch;   ///< intermediate vectors of the preconditioned operator
  MemoryReservation m_reservation;
  RunControl m_run;  ///< of the call that solves

 private:
  struct Progress;

  void compute_residual(const ExecutionSpace& exec, const Operator& A, const Rows& B, const Rows& X) const;
  void run_cycle(const System& system, std::vector<Progress>& progress);
  void fetch_history(const ExecutionSpace& exec, std::vector<Progress>& progress) const;
  template <class IsRunning>
  bool tell_running(const IsRunning& is_running);

  Rows m_X_before;  ///< X at the start of the cycle
  BatchedColumns m_batch;
  std::vector<char> m_running;  ///< what was told last
};

}  // namespace lutra::Impl

#endif
