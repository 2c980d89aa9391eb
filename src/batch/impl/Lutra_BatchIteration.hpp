// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_BATCHITERATION_HPP
#define LUTRA_BATCHITERATION_HPP

#include <memory>
#include <span>
#include <vector>

#include "Lutra_BatchOperator.hpp"
#include "Lutra_BatchedKrylov.hpp"
#include "Lutra_Krylov.hpp"
#include "Lutra_Transpose.hpp"

namespace lutra::Impl {

/// State of a BatchedKrylov. The iteration goes over windows on the batch: on hosts as many systems as the
/// cache holds vectors of, on devices all, or as many as memory holds. Systems that are masked, or whose
/// preconditioner failed, and columns that fill the last group have zeros as right-hand sides, and are done
/// before the first iteration.
template <class Scalar, class ExecutionSpace>
class BatchIteration {
 public:
  using Krylov = BatchedKrylov<Scalar, ExecutionSpace>;
  using Memory = typename ExecutionSpace::memory_space;
  using Batch = BatchedNumeric<Scalar, ExecutionSpace>;
  using Matrix = typename Krylov::matrix_type;
  using Values = typename Krylov::values_type;
  using ConstBlock = typename Krylov::const_block_type;
  using Block = typename Krylov::block_type;
  using Mask = typename Krylov::mask_type;

  BatchIteration(KrylovSolverOptions options, const ExecutionSpace& exec);

  Status analyze(const Matrix& A);
  void set_preconditioner(std::shared_ptr<Batch> M);
  Status factorize(const Values& values, const Mask& mask);
  Status solve(const ConstBlock& B, const Block& X, Transposition op);

  std::int64_t rows() const { return m_pattern.n_rows; }
  std::int64_t systems() const { return m_is_factorized ? m_report.systems : 0; }
  const BatchedKrylovReport& report() const { return m_report; }
  const KrylovSolverOptions& options() const { return m_options; }

 private:
  using Rows = DenseRows<Scalar, Memory>;
  using Flags = Kokkos::View<char*, Memory>;
  using Operator = BatchOperator<Scalar, ExecutionSpace>;
  using ApproximateInverse = Preconditioner<Scalar, ExecutionSpace>;

  std::unique_ptr<Batch> analyze_preconditioner(const Matrix& A) const;
  void check_values(const Values& values, const Flags& is_read) const;
  void check_solve(const ConstBlock& B, const ConstBlock& X, Transposition op) const;
  void check_block(const char* name, const ConstBlock& block, const Flags& is_read) const;
  Flags upload_flags(MemoryReservation& memory, const std::vector<char>& flags) const;
  void start(std::size_t count, std::vector<char> active);
  void compute_preconditioners();
  static std::size_t half(std::size_t window);
  void reserve_vectors(std::size_t window);
  void set_running(std::span<const char> running);
  std::size_t systems_in_cache() const;
  void allocate_vectors(std::size_t window);
  BatchRows<Scalar, Memory> matrix(Transposition op);
  std::unique_ptr<Preconditioner<Scalar, ExecutionSpace>> preconditioner();
  void solve_all(const ConstBlock& B, const Block& X, Transposition op);
  template <class Column, class ConstColumn>
  void solve_window(const Operator& A, ApproximateInverse* M, const ConstColumn& b, const Column& x,
                    const Flags& is_solved, Transposition op);
  void record(const std::vector<KrylovOutcome>& outcomes);
  void finish_report();
  std::size_t n() const { return static_cast<std::size_t>(m_pattern.n_rows); }
  std::size_t count() const { return static_cast<std::size_t>(m_report.systems); }
  /// Columns of arrays of the whole batch: an odd number of groups, so that rows of a window do not compete
  /// for the same lines of a cache.
  std::size_t pitch() const {
    constexpr std::size_t group = lanes_in_group<Scalar, ExecutionSpace>;
    return m_columns / group % 2 == 0 ? m_columns + group : m_columns;
  }
  template <class Kernel>
  void for_numbers(const char* label, std::size_t rows, std::size_t columns, const Kernel& kernel) const {
    for_lanes(m_exec, label, rows, columns, kernel);
  }

  KrylovSolverOptions m_options;
  ExecutionSpace m_exec;
  MemoryBudget m_budget;
  BatchedKrylovReport m_report;

  bool m_has_analysis = false;
  CsrPattern<Ordinal, Offset, Memory> m_pattern;  ///< a copy
  MemoryReservation m_pattern_memory;
  std::vector<Offset> m_host_rows;         ///< [n + 1] for messages
  std::vector<Ordinal> m_host_entries;     ///< [nnz]
  TransposedPattern<Memory> m_transposed;  ///< empty until a solve needs it
  bool m_has_transposed = false;
  std::unique_ptr<Batch> m_own;      ///< factors for Preconditioning::ilu and lu
  std::shared_ptr<Batch> m_foreign;  ///< set by the caller; may be null

  bool m_is_factorized = false;
  std::size_t m_columns = 0;   ///< K and what fills the last group
  std::vector<char> m_active;  ///< [K] not masked
  std::vector<char> m_solved;  ///< [K] not masked, and the preconditioner did not fail
  Rows m_values;               ///< [nnz × pitch]
  Rows m_diagonal;             ///< [n × columns] inverse, for Preconditioning::jacobi
  MemoryReservation m_values_memory;

  std::unique_ptr<KrylovIteration<Scalar, ExecutionSpace>> m_iteration;  ///< for the columns of a window
  std::size_t m_first = 0, m_width = 0;  ///< first system of the present window, and its columns
  Rows m_B, m_X;                         ///< [n × window] one right-hand side
  Rows m_window_values;                  ///< [nnz × window] of A; empty if a window has all
  Rows m_wide;         ///< [n × pitch] workspace of preconditioners by factors; empty if a window has all
  Flags m_is_running;  ///< [window] what products process
  Kokkos::View<bool*, Kokkos::HostSpace> m_is_running_on_host;  ///< [K]
  MemoryReservation m_vectors_memory;
};

}  // namespace lutra::Impl

#endif
