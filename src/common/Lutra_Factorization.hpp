// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_FACTORIZATION_HPP
#define LUTRA_FACTORIZATION_HPP

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "Lutra_LinearOperator.hpp"
#include "Lutra_Report.hpp"
#include "Lutra_ScalarTraits.hpp"

namespace lutra {

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
  std::vector<std::string> escalations;           ///< as in Report
  std::optional<std::int64_t> indefinite_column;  ///< column at which a Cholesky factorization ended
  std::optional<PivotCascade> cascade;            ///< then there are no factors

  void write(std::size_t nnz, Report& report) const {
    report.inertia = inertia;
    report.pivots.delayed = delayed;
    report.pivots.two_by_two = two_by_two;
    report.pivots.zero = zero;
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

  bool is_finite() const { return largest_factor < std::numeric_limits<double>::infinity(); }
  /// max |entry of the factors| / max |entry of the scaled matrix|
  double growth() const { return largest_entry > 0 ? largest_factor / largest_entry : 0.0; }
};

/// Position of a pivot in the user's row and column numbering.
struct Pivot {
  std::int64_t row = 0, column = 0;
  bool perturbed = false;  ///< also true for a zero pivot of LDLᵀ
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

  /// What Krylov methods apply: the factors in two parts where the engine has these, else the factors.
  virtual Preconditioner<Scalar, ExecutionSpace>& preconditioner() { return *this; }

  /// Adds what the report says of factors that values change: incomplete ones.
  virtual void describe(Report&) const {}

  /// The row at which the watchdog stopped an `apply` since the last call, or −1. Fences.
  virtual std::int64_t consume_timeout(const ExecutionSpace& exec) = 0;
};

}  // namespace lutra

#endif
