// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_BATCH_HPP
#define LUTRA_BATCH_HPP

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "Lutra_BuiltTypes.hpp"
#include "Lutra_Numeric.hpp"
#include "Lutra_NumericCalls.hpp"

namespace lutra {

/// Outcome of the last calls for a batch of K systems. Vectors have one element per system unless said
/// otherwise. Systems that a mask skips have the status `not_solved` and NaN as errors.
struct BatchReport {
  std::vector<Status> statuses;  ///< as Numeric::report().status of each system
  /// Backward errors of the last solve (BackwardErrors), the worst right-hand side; NaN without a solution.
  std::vector<double> componentwise, normwise;
  std::vector<int> refinement_steps;  ///< of the last solve, the most over right-hand sides
  std::vector<int> perturbed_pivots;  ///< of the last factorization
  std::vector<Inertia> inertia;       ///< LDLᵀ and Cholesky only; otherwise empty
  std::vector<std::int64_t> alone;    ///< systems factorized by a Numeric of their own, ascending; any length
  std::int64_t systems = 0;           ///< K
  std::int64_t chunks = 0;            ///< parts, one after the other, into which memory divides the batch
  int group_size = 0;                 ///< systems whose values are interleaved
  /// multifrontal: all systems as a forest of fronts; simplicial: lanes (docs/batch.md)
  Engine engine = Engine::simplicial;
  std::size_t bytes = 0;  ///< held for values, factors and workspaces, without the analysis
  double factorize_seconds = 0, solve_seconds = 0;  ///< of the last calls
  /// The worst status of all systems that are not masked: `success` if all are solved, `not_solved` before a
  /// solve.
  Status status = Status::not_solved;
};

namespace Impl {
template <class Scalar, class ExecutionSpace>
class BatchEngine;
}  // namespace Impl

/// Factorizations of K matrices with one pattern, and solves with them, over one analysis.
///
/// LU on devices of most matrices, LDLᵀ of matrices with zeros on the diagonal, and everything with
/// Engine::multifrontal or Pivoting::threshold, factorizes the fronts of all systems together. Otherwise
/// values of several systems are interleaved in groups: a system has a lane of a vector register on hosts, a
/// thread on devices, and all systems share the pattern (docs/batch.md). Pivots of lanes are those of the
/// analysis (static for LU, 1 × 1 for LDLᵀ); fronts have interchanges with Pivoting::threshold, and for LDLᵀ
/// pivots of each system's own. A system whose pivots are too small, whose entries grow too much, whose
/// solution does not reach its error, or which a probe of its condition suspects to be singular, is
/// factorized by a `Numeric` of its own with the same options, which has every protection of single solves.
/// With DirectOptions::estimate_condition all systems are. Statuses and errors are per system. No bit of a
/// system's solution depends on the other systems or on its place; with lanes none depends on K.
template <class Scalar, class ExecutionSpace = Kokkos::DefaultExecutionSpace>
class BatchedNumeric : Impl::RequireBuiltTypes<Scalar, ExecutionSpace> {
 public:
  using scalar_type = Scalar;
  using execution_space = ExecutionSpace;
  using memory_space = typename ExecutionSpace::memory_space;
  using analysis_type = Analysis<Scalar, ExecutionSpace>;
  /// [nnz × K] in the order of the analyzed pattern. Any strides: (K, 1) for interleaved systems, (1, nnz)
  /// for one system after the other.
  using values_type = Kokkos::View<const Scalar**, Kokkos::LayoutStride, memory_space>;
  using const_block_type = Kokkos::View<const Scalar***, Kokkos::LayoutStride, memory_space>;
  using block_type = Kokkos::View<Scalar***, Kokkos::LayoutStride, memory_space>;  ///< [n × nrhs × K]
  /// [K] on the host; false: the system is skipped. Empty: none is.
  using mask_type = std::span<const bool>;

  /// Creates an object without factors. Computes the lists of a factorization on the host: O(multiply-adds of
  /// one system). Fences.
  /// @param analysis of SparseLU, SparseLDLT, SparseILU or `analyze`; LU is fastest with Engine::simplicial,
  ///                 whose pattern is exact
  /// @param options  those for factorizations and solves are used
  /// @throws CallOrderError if the analysis is null; InputError if an option is out of range, or the analysis
  ///         has a Schur complement, or incomplete factors other than ILU(k) with triangular solves;
  ///         OutOfMemoryError
  explicit BatchedNumeric(std::shared_ptr<const analysis_type> analysis, const DirectOptions& options = {},
                          const ExecutionSpace& exec = ExecutionSpace())
      : BatchedNumeric(std::move(analysis), options, exec, MemoryBudget(options.memory_limit)) {}
  /// Overload that shares an existing MemoryBudget, in place of one with `options.memory_limit`.
  BatchedNumeric(std::shared_ptr<const analysis_type> analysis, const DirectOptions& options,
                 const ExecutionSpace& exec, const MemoryBudget& budget);
  BatchedNumeric(BatchedNumeric&&) noexcept;
  BatchedNumeric& operator=(BatchedNumeric&&) noexcept;
  ~BatchedNumeric();

  /// Factorizes all systems that are not masked. The values are copied; if memory divides the batch into
  /// chunks, they are also read again by solves, and must remain as they are. K may differ from that of the
  /// call before. Waits for the device. Allocates when K grows, and for systems that leave the batch.
  /// @returns success, the worst status of a system that cannot be solved, or `cancelled`, after which there
  ///          are no factors unless the values were still being checked
  /// @throws InputError if the extents of `values` or the length of `mask` do not match, if a value that is
  ///         read is NaN or infinite, or if a matrix for LDLᵀ is unsymmetric; the message names system, row
  ///         and column, 0-based, and nothing has changed. After OutOfMemoryError there are no factors.
  [[nodiscard]] Status factorize(const values_type& values, const mask_type& mask = {});

  /// Solves op(A_k)·X_k = B_k for all systems that are not masked, refines, and stores the errors of each
  /// system in `report()`.
  /// @param B [n × nrhs × K], any strides, that the execution space can read
  /// @param X like B; may be B itself. B is copied first if they share memory otherwise. X is complete when
  ///          the call returns. Systems that are masked, singular or not factorized are left unchanged.
  /// @returns report().status; `cancelled` if the call was stopped, X is then undefined, and the factors
  /// remain
  /// @throws CallOrderError if there is no factorization. InputError for incomplete factors, if extents do
  ///         not match, elements of X share memory, or B holds NaN or infinity in a system that is solved
  ///         (the message names system, row and column); nothing has then changed. After OutOfMemoryError X
  ///         is undefined.
  Status solve(const const_block_type& B, const block_type& X, Transposition op = Transposition::none);

  /// X_k ≈ op(A_k)⁻¹·B_k with the factors alone, without checks, refinement or a change of the report: a
  /// preconditioner. Systems without factors are left unchanged. Fences.
  /// @param mask on the host, as for `factorize`: systems that are skipped besides those without factors
  /// @throws CallOrderError if there is no factorization; InputError if extents or the length of the mask do
  /// not match; OutOfMemoryError
  void apply(const const_block_type& B, const block_type& X, Transposition op = Transposition::none,
             const mask_type& mask = {});

  /// R_k = B_k − op(A_k)·X_k for all systems that are not masked; others are left unchanged. R may be B.
  /// Fences.
  /// @throws CallOrderError if there is no factorization; InputError if extents do not match;
  /// OutOfMemoryError
  void residual(const const_block_type& B, const const_block_type& X, const block_type& R,
                Transposition op = Transposition::none);

  std::int64_t rows() const noexcept;     ///< n
  std::int64_t systems() const noexcept;  ///< K of the last factorization; 0 without one
  /// Returns the analysis that all systems share.
  const std::shared_ptr<const analysis_type>& analysis() const noexcept;
  const BatchReport& report() const noexcept;

 private:
  std::unique_ptr<Impl::BatchEngine<Scalar, ExecutionSpace>> m_engine;
};

namespace Impl {

/// Options of an analysis for lanes: LU takes the exact pattern of L + U unless the options ask for fronts.
inline LuOptions for_batch(LuOptions options) {
  const bool needs_fronts = options.pivoting == Pivoting::threshold ||
                            options.factor_storage == FactorStorage::streamed ||
                            options.factor_precision == FactorPrecision::single;
  if (options.engine == Engine::automatic && !needs_fronts) options.engine = Engine::simplicial;
  return options;
}
template <class Options>
Options for_batch(Options options) {
  return options;
}

/// Analyzes a matrix for a batch. If the options leave LU's engine open, it gets fronts on devices where they
/// are faster (Lutra_BatchChoice.hpp), otherwise lanes.
template <class Scalar, class ExecutionSpace>
AnalysisPointer<Scalar, ExecutionSpace> analyze_for_batch(const ExecutionSpace& exec,
                                                          const DeviceMatrix<Scalar, ExecutionSpace>& A,
                                                          const LuOptions& options,
                                                          const MemoryBudget& budget);
template <class Scalar, class ExecutionSpace, class Options>
AnalysisPointer<Scalar, ExecutionSpace> analyze_for_batch(const ExecutionSpace& exec,
                                                          const DeviceMatrix<Scalar, ExecutionSpace>& A,
                                                          const Options& options,
                                                          const MemoryBudget& budget) {
  return lutra::analyze<Scalar, ExecutionSpace>(exec, A, options, budget);
}

}  // namespace Impl

/// Solver for batches: an analysis of one representative matrix, and a BatchedNumeric over it.
/// @tparam Options LuOptions, LdltOptions or SparseIluOptions
template <class Scalar, class ExecutionSpace, class Options>
class Batched : Impl::RequireBuiltTypes<Scalar, ExecutionSpace> {
 public:
  using numeric_type = BatchedNumeric<Scalar, ExecutionSpace>;
  using options_type = Options;
  using memory_space = typename ExecutionSpace::memory_space;
  using matrix_type = CsrView<Scalar, Ordinal, Offset, memory_space>;
  using values_type = typename numeric_type::values_type;
  using const_block_type = typename numeric_type::const_block_type;
  using block_type = typename numeric_type::block_type;
  using mask_type = typename numeric_type::mask_type;

  /// @throws InputError if an option is out of range
  explicit Batched(Options options = {}, const ExecutionSpace& exec = ExecutionSpace())
      : m_options(std::move(options)), m_exec(exec), m_budget(m_options.memory_limit) {
    check_options(m_options);
  }

  /// Analyzes the pattern and, for matching and scales, the values of one matrix that represents the others.
  /// @returns success, or `structurally_singular`; systems are then solved one by one if their values allow
  /// it
  /// @throws as `lutra::analyze`; the solver is then unchanged
  [[nodiscard]] Status analyze(const matrix_type& A) {
    auto analysis = Impl::analyze_for_batch<Scalar, ExecutionSpace>(m_exec, A, m_options, m_budget);
    auto numeric =
        std::make_unique<numeric_type>(analysis, Impl::numeric_options(m_options), m_exec, m_budget);
    m_numeric = std::move(numeric);
    return m_numeric->analysis()->plan ? Status::success : Status::structurally_singular;
  }
  /// As BatchedNumeric, which documents them.
  /// @throws CallOrderError if there is no analysis
  [[nodiscard]] Status factorize(const values_type& values, const mask_type& mask = {}) {
    return numeric("factorize").factorize(values, mask);
  }
  Status solve(const const_block_type& B, const block_type& X, Transposition op = Transposition::none) {
    return numeric("solve").solve(B, X, op);
  }
  void apply(const const_block_type& B, const block_type& X, Transposition op = Transposition::none) {
    numeric("apply").apply(B, X, op);
  }

  /// Returns the batch, for calls that only it has.
  numeric_type& numeric() { return numeric("numeric"); }
  std::shared_ptr<const typename numeric_type::analysis_type> analysis() const {
    return m_numeric ? m_numeric->analysis() : nullptr;
  }
  const BatchReport& report() const noexcept { return m_numeric ? m_numeric->report() : m_no_report; }
  const Options& options() const noexcept { return m_options; }

 private:
  numeric_type& numeric(const char* call) const {
    if (!m_numeric) throw CallOrderError(std::string(call) + ": there is no analysis; call analyze first");
    return *m_numeric;
  }

  Options m_options;
  ExecutionSpace m_exec;
  MemoryBudget m_budget;
  BatchReport m_no_report;                  ///< returned before the first analysis
  std::unique_ptr<numeric_type> m_numeric;  ///< null before the first analysis
};

template <class Scalar, class ExecutionSpace = Kokkos::DefaultExecutionSpace>
using BatchedLU = Batched<Scalar, ExecutionSpace, LuOptions>;
template <class Scalar, class ExecutionSpace = Kokkos::DefaultExecutionSpace>
using BatchedLDLT = Batched<Scalar, ExecutionSpace, LdltOptions>;
template <class Scalar, class ExecutionSpace = Kokkos::DefaultExecutionSpace>
using BatchedILU = Batched<Scalar, ExecutionSpace, SparseIluOptions>;

}  // namespace lutra

#endif
