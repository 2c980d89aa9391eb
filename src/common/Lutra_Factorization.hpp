// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_FACTORIZATION_HPP
#define LUTRA_FACTORIZATION_HPP

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "Lutra_CsrView.hpp"
#include "Lutra_Error.hpp"
#include "Lutra_MemoryBudget.hpp"
#include "Lutra_Report.hpp"
#include "Lutra_ScalarTraits.hpp"

namespace lutra {

/// Block of k vectors, [n × k], row-major: the k values of a row are contiguous.
template <class Scalar, class MemorySpace>
using DenseRows = Kokkos::View<Scalar**, Kokkos::LayoutRight, MemorySpace>;

/// Square linear operator; the interface of a matrix for Krylov methods and refinement.
template <class Scalar, class ExecutionSpace>
class LinearOperator {
 public:
  using Memory = typename ExecutionSpace::memory_space;
  using Rows = DenseRows<Scalar, Memory>;

  virtual ~LinearOperator() = default;
  /// Order of the operator.
  virtual std::int64_t size() const = 0;
  /// Y = A·X, [n × k] each, not overlapping. Neither checks nor fences.
  virtual void apply(const ExecutionSpace& exec, const Rows& X, const Rows& Y) const = 0;
};

/// Approximate inverse; the interface of factors for Krylov methods and refinement.
template <class Scalar, class ExecutionSpace>
class Preconditioner {
 public:
  using Memory = typename ExecutionSpace::memory_space;
  using Rows = DenseRows<Scalar, Memory>;

  virtual ~Preconditioner() = default;
  /// Order of the preconditioned matrix; −1 if any. Krylov methods refuse a preconditioner whose order
  /// differs from their operator's.
  virtual std::int64_t size() const { return -1; }
  /// X ≈ op(A)⁻¹·B, [n × k] each; X may be B. Neither checks nor fences.
  virtual void apply(const ExecutionSpace& exec, Transposition op, const Rows& B, const Rows& X) = 0;
};

/// @throws InputError if the order of `M` is neither n nor −1
template <class Scalar, class ExecutionSpace>
void check_size(const Preconditioner<Scalar, ExecutionSpace>& M, std::int64_t n) {
  if (M.size() < 0 || M.size() == n) return;
  throw InputError("preconditioner: it is for a matrix of order " + std::to_string(M.size()) +
                   ", and the matrix has the order " + std::to_string(n));
}

/// Approximate inverse in two factors, A ≈ L·U, for split preconditioning.
template <class Scalar, class ExecutionSpace>
class SplitPreconditioner : public Preconditioner<Scalar, ExecutionSpace> {
 public:
  using typename Preconditioner<Scalar, ExecutionSpace>::Rows;

  /// X = op(L)⁻¹·B; X may be B. Neither checks nor fences.
  virtual void apply_lower(const ExecutionSpace& exec, Transposition op, const Rows& B, const Rows& X) = 0;
  /// X = op(U)⁻¹·B; X may be B. Neither checks nor fences.
  virtual void apply_upper(const ExecutionSpace& exec, Transposition op, const Rows& B, const Rows& X) = 0;
};

/// Structure of the factors on the host, for plots and for other programs.
struct FactorStructure {
  std::vector<std::int64_t> row_order;     ///< [n] user's row at each position of the permuted matrix
  std::vector<std::int64_t> col_order;     ///< [n] user's column at each position
  std::vector<std::int64_t> row_map;       ///< [n + 1] row pointers of L + U, by rows of the permuted matrix
  std::vector<std::int64_t> entries;       ///< [nnz(L + U)] column indices, ascending in each row
  std::vector<std::int64_t> level_widths;  ///< number of columns in each level of the factorization
};

/// Factors copied to the host, for inspection and for other programs. Let F(k, l) = r·A(i, j)·c with
/// i = row_order[k] and j = col_order[l], where r and c are the scales of row i and column j. Then
///
///     F = L·U      LU, incomplete LU; U has the pivots on its diagonal
///     F = L·D·Lᴴ   LDLᵀ of Hermitian matrices, and of real ones; Lᵀ of complex symmetric ones
///
/// up to rounding, perturbed pivots, and the entries that incomplete factors drop.
template <class Scalar>
struct FactorValues {
  std::vector<std::int64_t> row_order;      ///< [n] user's row at each position of F
  std::vector<std::int64_t> col_order;      ///< [n] user's column at each position of F
  std::vector<RealOf<Scalar>> row_scale;    ///< [n] indexed by the user's rows
  std::vector<RealOf<Scalar>> col_scale;    ///< [n] indexed by the user's columns
  std::vector<std::int64_t> rows, columns;  ///< [entries] position in F of each entry of L and U
  std::vector<Scalar> values;        ///< [entries] value of each entry; L's unit diagonal is not stored
  std::vector<Scalar> diagonal;      ///< [n] diagonal of D; empty if there is no D
  std::vector<Scalar> off_diagonal;  ///< [n] D(k + 1, k); nonzero only at the first row of a 2 × 2 pivot
};

/// Interface of factorizations whose factors can be copied to the host.
template <class Scalar, class ExecutionSpace>
class WritableFactors {
 public:
  virtual ~WritableFactors() = default;
  /// Copies the latest factors to the host. Fences.
  virtual FactorValues<Scalar> write_out(const ExecutionSpace& exec) const = 0;
};

/// Numerical pivoting strategies.
enum class Pivoting {
  automatic,         ///< LU: static_perturbed; LDLᵀ: threshold
  none,              ///< LDLᵀ only: the diagonal in order, without a test
  static_perturbed,  ///< the diagonal of the matched and scaled matrix; small pivots are perturbed
  threshold  ///< LU: threshold partial pivoting within fronts, or within a tile of a front (docs/numeric.md);
             ///< LDLᵀ: 1 × 1 and 2 × 2 pivots, delayed to the parent if none passes the test
};

/// Name on the command line.
constexpr std::string_view name_of(Pivoting pivoting) {
  return pivoting == Pivoting::automatic          ? "auto"
         : pivoting == Pivoting::none             ? "none"
         : pivoting == Pivoting::static_perturbed ? "static"
                                                  : "threshold";
}

/// Values of a matrix in the order of the analyzed pattern, with the scales of its rows and columns.
template <class Scalar, class MemorySpace>
struct ScaledValues {
  Kokkos::View<const Scalar*, MemorySpace> values;             ///< [nnz(A)]
  Kokkos::View<const RealOf<Scalar>*, MemorySpace> row_scale;  ///< [n]
  Kokkos::View<const RealOf<Scalar>*, MemorySpace> col_scale;  ///< [n]
};

/// Delayed pivots that cascade up the tree of fronts: matched rows have to be side by side in the order.
struct PivotCascade {
  std::string why;
  double pivot_threshold = 0;  ///< in use, which `increase_quality` may have raised
};

/// Additional results of a symmetric factorization.
struct SymmetricOutcome {
  Inertia inertia;           ///< empty if pivots were perturbed or the matrix has no inertia
  std::int64_t delayed = 0;  ///< pivots delayed to a parent, counted once per front they leave
  std::int64_t two_by_two = 0;
  std::int64_t zero = 0;
  std::int64_t entries = 0;                       ///< entries of L and D, without the unit diagonal
  std::string attempt;                            ///< as in PivotCounts
  std::vector<std::string> escalations;           ///< as in Report
  std::optional<std::int64_t> indefinite_column;  ///< column at which a Cholesky factorization ended
  std::optional<PivotCascade> cascade;            ///< then there are no factors

  void write(std::size_t nnz, Report& report) const {
    report.inertia = inertia;
    report.pivots.delayed = delayed;
    report.pivots.two_by_two = two_by_two;
    report.pivots.zero = zero;
    report.pivots.attempt = attempt;
    report.factors.nnz_l = entries;
    report.factors.fill_ratio = static_cast<double>(entries) / static_cast<double>(nnz);
    report.indefinite_column = indefinite_column;
    report.escalations.insert(report.escalations.end(), escalations.begin(), escalations.end());
  }
};

/// Pivot statistics of one numeric factorization.
struct FactorizationOutcome {
  std::int64_t perturbed = 0;                ///< pivots replaced by larger values
  std::optional<std::int64_t> interchanged;  ///< pivots taken from other rows; threshold pivoting only
  double largest_entry = 0;                  ///< max |entry of the scaled matrix|
  double largest_factor = 0;                 ///< max |entry of the factors|; infinity if one is not finite
  /// Smallest nonzero |pivot| of LDLᵀ and Cholesky; infinity if pivots are perturbed instead
  double smallest_pivot = std::numeric_limits<double>::infinity();
  std::optional<SymmetricOutcome> symmetric = {};  ///< LDLᵀ and Cholesky only
  std::optional<ColumnReport> columns = {};        ///< right-looking LU by levels only

  bool is_finite() const { return largest_factor < std::numeric_limits<double>::infinity(); }
  /// max |entry of the factors| / max |entry of the scaled matrix|
  double growth() const { return largest_entry > 0 ? largest_factor / largest_entry : 0.0; }
};

/// Position of a pivot in the user's row and column numbering.
struct Pivot {
  std::int64_t row = 0, column = 0;
  bool perturbed = false;  ///< also true for a zero pivot of LDLᵀ
};

/// A determinant as sign · exp(log_magnitude), which avoids overflow.
template <class Scalar>
struct Determinant {
  Scalar sign = Scalar(1);   ///< of magnitude 1; 0 for a singular matrix
  double log_magnitude = 0;  ///< natural logarithm of the magnitude; −infinity for a singular matrix
};

/// Factors of F = L·D·Lᵀ (or Lᴴ) that a solve uses.
struct LdltParts {
  bool lower = true;     ///< L
  bool diagonal = true;  ///< D
  bool upper = true;     ///< Lᵀ, or Lᴴ
};

/// Factors of a sequence of matrices with one pattern. Every engine implements this interface: multifrontal
/// and simplicial LU, LDLᵀ, incomplete factorizations. Refinement, Krylov methods and solvers use no
/// other. Permutations and scales are internal to the engine: vectors of `apply` are in the user's numbering.
template <class Scalar, class ExecutionSpace>
class Factorization : public Preconditioner<Scalar, ExecutionSpace> {
 public:
  using Memory = typename ExecutionSpace::memory_space;

  /// Factorizes. Allocates only in the first call. Waits for the device once, for the outcome.
  /// @param perturbation smallest pivot magnitude allowed, relative to the largest entry of the scaled matrix
  /// @throws OutOfMemoryError; TimeoutError if the watchdog expired
  virtual FactorizationOutcome factorize(const ExecutionSpace& exec, const ScaledValues<Scalar, Memory>& A,
                                         double perturbation) = 0;

  /// The pivots of the last factorization in elimination order: [n], on the host. Fences.
  virtual std::vector<Pivot> pivots(const ExecutionSpace& exec) const = 0;

  /// Refactorizes the same matrix, treating the smallest pivot of the last factorization and those close to
  /// it as zero.
  /// @returns nothing if the engine has no zero pivots, or no further pivot qualifies
  virtual std::optional<FactorizationOutcome> factorize_with_more_zeros(const ExecutionSpace&) { return {}; }

  /// Requests more accurate factors from the next factorization on. @returns false if not available
  virtual bool increase_quality() { return false; }

  /// Whether the factors are in single precision although the matrix is in double precision.
  virtual bool has_single_precision() const { return false; }
  /// Has the next factorization compute factors in the precision of the matrix. If it fails, factors in
  /// single precision remain. @returns false if they are not in single precision
  /// @throws OutOfMemoryError; nothing has then changed
  virtual bool raise_precision(const ExecutionSpace&) { return false; }

  /// What Krylov methods apply: the factors in two parts where the engine has these, else the factors.
  virtual Preconditioner<Scalar, ExecutionSpace>& preconditioner() { return *this; }

  /// Adds what the report says of factors that values change: incomplete ones.
  virtual void describe(Report&) const {}
  /// Adds the bytes of factors that are streamed from host memory.
  virtual void describe_memory(MemoryUse&) const {}

  /// The row at which the watchdog stopped an `apply` since the last call, or −1. Fences.
  virtual std::int64_t consume_timeout(const ExecutionSpace& exec) = 0;
};

/// Pattern of the permuted matrix that is factorized, F(k, l) = A(row_order(k), col_order(l)). It holds no
/// values.
template <class MemorySpace>
struct PermutedPattern {
  CsrPattern<Ordinal, Offset, MemorySpace> A;           ///< pattern in the user's order; a copy
  Kokkos::View<const Ordinal*, MemorySpace> row_order;  ///< [n] user's row at each position of F
  Kokkos::View<const Ordinal*, MemorySpace> col_order;  ///< [n] user's column at each position of F
  MemoryReservation reservation;
};

/// Everything an engine knows about a pattern. An analysis creates the plan, and its factorizations share it;
/// the plan never changes. An engine derives its plan from this class and its factors from `Factorization`.
template <class Scalar, class ExecutionSpace>
struct FactorizationPlan {
  FactorCounts counts;                     ///< counts without the fill ratio
  std::vector<std::int64_t> level_widths;  ///< number of columns in each level of the factorization
  std::string_view solve_method;
  std::string solve_reason;    ///< reason for solve_method if the library chose it
  std::string storage_reason;  ///< why factors are streamed from host memory; empty: they are not

  virtual ~FactorizationPlan() = default;
  /// Bytes of one of its factorizations without the plan; empty if they are not known before. O(fronts)
  /// @param n_columns right-hand sides of a solve
  virtual std::optional<MemoryForecast> forecast(int /*n_columns*/) const { return std::nullopt; }
  /// Creates a factorization without values. It owns everything that changes (factors, workspace, flags of
  /// kernels), so factorizations of one plan may run at the same time on different instances. The plan must
  /// outlive it.
  /// @throws OutOfMemoryError
  virtual std::unique_ptr<Factorization<Scalar, ExecutionSpace>> make_factorization(
      const ExecutionSpace& exec, const MemoryBudget& budget) const = 0;
  /// Writes the pattern of L + U by rows of F. Fences.
  /// @throws OutOfMemoryError
  virtual void write_pattern(const ExecutionSpace& exec, FactorStructure& structure) const = 0;
};

}  // namespace lutra

#endif
