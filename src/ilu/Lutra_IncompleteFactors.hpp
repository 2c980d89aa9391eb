// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_INCOMPLETEFACTORS_HPP
#define LUTRA_INCOMPLETEFACTORS_HPP

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "Lutra_BuiltTypes.hpp"
#include "Lutra_CsrView.hpp"
#include "Lutra_DeviceModel.hpp"
#include "Lutra_MemoryBudget.hpp"
#include "Lutra_Report.hpp"

namespace lutra {

/// How the pattern and the values of incomplete factors are computed.
enum class IluMethod {
  iluk,    ///< pattern by levels of fill; values by elimination, exact on the pattern
  parilu,  ///< pattern of ILU(k); values by fixed-point sweeps (ParILU)
  parilut  ///< pattern and values by steps that add candidates, sweep and drop (ParILUT)
};

/// Scope of ParILUT's limit on fill.
enum class FillRule {
  total,  ///< entries of all of L and all of U
  row     ///< entries of each row of L and of U
};

/// Values that ParILUT starts from, on the pattern of ILU(k).
enum class IluStart {
  ilu0,    ///< exact on the pattern, by an elimination
  pattern  ///< those of A: U its upper triangle, L its strict lower triangle over the diagonal
};

/// How the values on ParILUT's final pattern are computed, also those of later matrices.
enum class IluFinish {
  exact,  ///< by an elimination
  sweeps  ///< by fixed-point sweeps, as ParILU does
};

/// Thresholds of ParILUT.
enum class IluSelection {
  automatic,   ///< approximate on devices, exact on hosts
  exact,       ///< the limits on fill are met by the largest entries
  approximate  ///< from one pass of SampleSelect: entries of one bucket count as equal
};

/// Schedule of an elimination on a fixed pattern: ILU(k), and ParILUT before and after its steps.
enum class IluSchedule {
  automatic,  ///< the schedule of least predicted time
  levels,     ///< one launch per level set of L's rows
  syncfree    ///< one launch; a row waits for the rows it needs
};

/// How L and U are applied.
enum class IluApply {
  automatic,  ///< the method the model predicts to be faster
  exact,      ///< triangular solves
  jacobi      ///< a fixed number of Jacobi sweeps on each factor
};

/// Options of incomplete factorizations. The defaults suit most problems.
struct IluOptions {
  IluMethod method = IluMethod::iluk;
  int fill_level = 0;      ///< k of ILU(k), of ParILU's pattern, and of ParILUT's initial pattern
  double fill_factor = 1;  ///< ParILUT: most entries of L and U relative to A's triangles. A hard limit that
                           ///< includes the diagonals, which are never dropped
  FillRule fill_rule = FillRule::total;
  double drop_tolerance =
      0;          ///< ParILUT: entries of L and U below this, relative to the largest of A's row, are dropped
  int steps = 5;  ///< ParILUT: most steps
  double step_tolerance = 1e-2;         ///< ParILUT: relative change of the residual at which steps stop
  IluStart start = IluStart::ilu0;      ///< ParILUT
  IluFinish finish = IluFinish::exact;  ///< ParILUT
  int sweeps = 5;  ///< ParILU, and the finish of ParILUT by sweeps: most sweeps. Each step of ParILUT makes
                   ///< one sweep after adding and one after dropping
  double sweep_tolerance =
      1e-2;  ///< residual on the pattern, relative to that before the first sweep, at which sweeps stop
  IluSelection selection = IluSelection::automatic;  ///< ParILUT
  bool nonlinear_residual = false;                   ///< ParILUT: steps report it; costs about a sweep each
  bool symmetric =
      false;  ///< IC(k), ParIC, ParICT: A is Hermitian positive definite with a symmetric pattern; applied as
              ///< Uᴴ·D⁻¹·U from U only. A pivot that is not positive leads to a shift
  bool deterministic = false;  ///< sweeps read the previous sweep's values: same bits from run to run
  IluSchedule schedule = IluSchedule::automatic;
  double shift = 0;    ///< initial diagonal shift, relative to max |entry| of its row; finite, ≥ 0
  int max_shifts = 6;  ///< most increases of the shift after unusable pivots
  IluApply apply = IluApply::automatic;
  int jacobi_sweeps = 3;  ///< per factor, with IluApply::jacobi
};

/// @throws InputError for options out of range
void check_options(const IluOptions& options);

/// L and U of an incomplete factorization A ≈ L·U in one pattern by rows, columns ascending:
///
///     row i:   l_i,0 … l_i,i−1 | u_ii … u_i,n−1        L has a unit diagonal, which is not stored
///                                ▲ diagonal(i)
///
/// One array serves both factors: `TriangularSolver` accepts the lower or upper triangle of such a pattern
/// directly, and a row of U starts at its diagonal entry.
template <class Scalar, class MemorySpace>
struct IncompleteFactors {
  Ordinal n = 0;
  Kokkos::View<Offset*, MemorySpace> row_map;   ///< [n + 1] offset of each row
  Kokkos::View<Ordinal*, MemorySpace> entries;  ///< [nnz] column of each entry
  Kokkos::View<Scalar*, MemorySpace> values;    ///< [nnz]
  Kokkos::View<Offset*, MemorySpace> diagonal;  ///< [n] position of u_ii
  MemoryReservation reservation;                ///< bytes of these Views

  Offset nnz() const { return static_cast<Offset>(entries.extent(0)); }
  CsrPattern<Ordinal, Offset, MemorySpace> pattern() const { return {n, n, row_map, entries}; }
  CsrView<Scalar, Ordinal, Offset, MemorySpace> view() const { return {n, n, row_map, entries, values}; }

  /// Factors that share the Views of this pattern and have their own values, not set.
  /// @throws OutOfMemoryError
  template <class ExecutionSpace>
  IncompleteFactors with_own_values(const ExecutionSpace& exec, const MemoryBudget& budget) const {
    IncompleteFactors result{n, row_map, entries, {}, diagonal, MemoryReservation(budget)};
    result.values = result.reservation.template allocate<Kokkos::View<Scalar*, MemorySpace>>(
        exec, "lutra::ilu::values", entries.extent(0));
    return result;
  }
};

/// Magnitudes found in the values of incomplete factors. They refer to the factors of D·A, where D divides
/// each row of A by its largest magnitude m_i, so that the units of rows and of A cancel. Infinity if an
/// entry is NaN or infinite.
struct IncompleteOutcome {
  double largest_lower = 0;   ///< max |l_ik|·m_k/m_i
  double largest_upper = 0;   ///< max |u_ij|/m_i
  std::int64_t bad_row = -1;  ///< first row whose pivot is zero, or that holds NaN or infinity; −1: none

  /// The larger of the growth of L, relative to its unit diagonal, and of U, relative to the entries of D·A.
  double growth() const { return largest_lower < largest_upper ? largest_upper : largest_lower; }
  bool is_finite() const { return growth() < std::numeric_limits<double>::infinity(); }
  bool is_usable() const { return is_finite() && bad_row < 0; }
};

/// Values of incomplete factors on a fixed pattern by Gaussian elimination row by row: (L·U)(i, j) = a(i, j)
/// for all (i, j) of the pattern. Constructed once for a pattern, used for any values.
///
/// Row i needs the rows of U in the columns of L's row i (docs/ilu.md). `levels`: one launch per level of
/// that dependency graph. `syncfree`: one launch; rows start after the rows they need and poll for their
/// values. Sums follow the ascending columns of L for every schedule and number of threads, so that all give
/// the same bits.
///
/// On hosts with one thread, or with few rows per level, one thread eliminates the rows in their own order.
template <class Scalar, class ExecutionSpace>
class IluElimination : Impl::RequireBuiltTypes<Scalar, ExecutionSpace> {
 public:
  using Memory = typename ExecutionSpace::memory_space;
  using Factors = IncompleteFactors<Scalar, Memory>;
  using Matrix = CsrView<Scalar, Ordinal, Offset, Memory>;

  /// Analyses dependencies and allocates workspaces. Fences.
  /// @param pattern          row_map, entries and diagonal equal to those of `eliminate`
  /// @param watchdog_seconds longest wait of a row; a longer one ends the elimination
  /// @param costs            decide an `automatic` schedule (choose_schedule)
  /// @param is_prototype     only `with_own_workspace` will be called, so no workspace is allocated
  /// @throws OutOfMemoryError
  IluElimination(const ExecutionSpace& exec, const Factors& pattern, IluSchedule schedule,
                 const MemoryBudget& budget, double watchdog_seconds = 10,
                 const IluCosts& costs = default_device_model<ExecutionSpace>().ilu,
                 bool is_prototype = false);
  ~IluElimination();
  /// Creates an elimination on the same analysis with its own workspace. Both may run at the same time. This
  /// must outlive it. Fences.
  /// @throws OutOfMemoryError
  IluElimination with_own_workspace(const ExecutionSpace& exec, const MemoryBudget& budget) const;
  IluElimination(IluElimination&&) noexcept;
  IluElimination& operator=(IluElimination&&) noexcept;

  /// Computes the values of `factors` from A. Does not wait for devices and allocates nothing. A zero pivot
  /// makes the entries of L in its column zero; `inspect_factors` detects it.
  /// @param A     entries outside the pattern are dropped; may not share its values with `factors`
  /// @param shift added to each a_ii, relative to max |entry of row i|, in the direction of a_ii
  void eliminate(const ExecutionSpace& exec, const Matrix& A, double shift, const Factors& factors);

  /// The schedule used, never `automatic`.
  IluSchedule schedule() const;
  /// Reason for the schedule, in a sentence; empty if the caller chose it or there is no choice.
  const std::string& reason() const;
  /// Level sets of the rows of L; 0 if rows run in their own order.
  std::int64_t levels() const;
  /// The row at which the watchdog ended the last elimination, or −1. Waits. After a timeout the factors hold
  /// NaN.
  std::int64_t consume_timeout(const ExecutionSpace& exec);

 private:
  struct Plan;
  explicit IluElimination(std::unique_ptr<Plan> plan);
  std::unique_ptr<Plan> m_plan;
};

/// Outcome of sweeps.
struct ParIluOutcome {
  int sweeps = 0;             ///< sweeps made
  double first_residual = 0;  ///< max |(A − L·U)(i, j)| on the pattern, before the first sweep
  double last_residual = 0;   ///< last one computed: before the last sweep made
};

/// Initial values of sweeps.
enum class ParIluStart {
  matrix,  ///< L = strict lower triangle of A over the diagonal, U = upper triangle, on the pattern
  factors  ///< present values of the factors
};

/// Values of incomplete factors on a fixed pattern by fixed-point sweeps (Chow and Patel, "Fine-Grained
/// Parallel Incomplete LU Factorization", 2015; ParILU in Anzt et al., docs/ilu.md).
///
/// A sweep eliminates every row with the present rows of U. Within a row the new L is used, so a sweep is
/// block Gauss-Seidel by rows, and a sweep on one thread in place is the exact elimination. Rows run in
/// parallel and read what others have written so far; deterministic sweeps read the values of the previous
/// sweep. Each sweep measures the residual of its own rows. The device decides whether another sweep is due.
template <class Scalar, class ExecutionSpace>
class ParIlu : Impl::RequireBuiltTypes<Scalar, ExecutionSpace> {
 public:
  using Memory = typename ExecutionSpace::memory_space;
  using Factors = IncompleteFactors<Scalar, Memory>;
  using Matrix = CsrView<Scalar, Ordinal, Offset, Memory>;

  /// @param pattern row_map, entries and diagonal equal to those of `compute`
  /// @param options sweeps, sweep_tolerance, deterministic
  /// @throws OutOfMemoryError
  ParIlu(const ExecutionSpace& exec, const Factors& pattern, const IluOptions& options,
         const MemoryBudget& budget);
  ~ParIlu();
  ParIlu(ParIlu&&) noexcept;
  ParIlu& operator=(ParIlu&&) noexcept;

  /// Sweeps until the residual is below options.sweep_tolerance times the first, or is rounding, at most
  /// options.sweeps times. Waits once and allocates nothing. Cost per sweep: an elimination without its
  /// waits; one more to measure the residual if sweeps start from factors.
  /// @param shift added to each a_ii, relative to max |entry of row i|, in the direction of a_ii
  ParIluOutcome compute(const ExecutionSpace& exec, const Matrix& A, double shift, const Factors& factors,
                        ParIluStart start = ParIluStart::matrix);

 private:
  struct Work;
  std::unique_ptr<Work> m_work;
};

/// Outcome of ParILUT. The residual is the root mean square over the rows of ‖row of A − L·U‖ / max |entry of
/// A's row|, over all entries of A − L·U and not only those of the pattern.
struct ParIlutOutcome {
  int steps = 0;                       ///< steps made
  int chunks = 1;                      ///< most chunks of rows in a step
  int limited_steps = 0;               ///< steps that left out small candidates for lack of memory
  double first_residual = 0;           ///< before the first step
  double residual = 0;                 ///< residual of the result
  std::int64_t max_entries = 0;        ///< most entries of L and U, with candidates
  bool is_taken_back = false;          ///< the last step raised the residual and was reverted
  bool is_finite = true;               ///< false: the residual is NaN or infinite
  std::vector<ParIlutStep> records{};  ///< [steps] in order
};

/// ParILUT (Anzt, Ribizel, Flegar, Chow and Dongarra): finds a pattern for L and U that suits the values of
/// A, with at most fill_factor · entries of A's triangles. Diagonals are always included.
///
///     step:   A, L, U ──▶ candidates, r = A − L·U ──▶ sweep ──▶ thresholds of L, of U ──▶ drop ──▶ sweep
///
/// Stops after `options.steps` steps, when the residual changes by less than `options.step_tolerance`, or
/// when it rises; then the last step is reverted. If the candidates exceed twice the limits on fill, the
/// largest are taken. With options.symmetric, L keeps the entries that U keeps.
///
/// If L and U with all candidates exceed the budget, a step adds them in up to eight chunks of rows, each
/// with its own sweeps and thresholds, so that L and U hold the largest entries seen so far. If a chunk does
/// not fit either, its largest candidates are added.
/// @param A        square, rows ascending
/// @param shift    added to A's diagonal, relative to the largest magnitude of its row
/// @param factors  in: initial pattern and values, with diagonals; out: the result, in new Views. Unchanged
///                 after an exception
/// @throws OutOfMemoryError if the budget does not suffice for L and U twice without candidates and once with
///         their keys; the message and needed_bytes() name a sufficient memory limit
/// Waits for `exec` once per step and five times besides, twice more in a step whose candidates are limited,
/// and one to three times per chunk.
template <class Scalar, class ExecutionSpace>
ParIlutOutcome parilut(const ExecutionSpace& exec,
                       const CsrView<Scalar, Ordinal, Offset, typename ExecutionSpace::memory_space>& A,
                       double shift, const IluOptions& options, const MemoryBudget& budget,
                       IncompleteFactors<Scalar, typename ExecutionSpace::memory_space>& factors);

}  // namespace lutra

#endif
