// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_FACTORIZATION_HPP
#define LUTRA_FACTORIZATION_HPP

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "Lutra_LinearOperator.hpp"
#include "Lutra_Report.hpp"
#include "Lutra_ScalarTraits.hpp"

namespace lutra {

/// The values of a matrix in the order of the analyzed pattern, with the scales applied to its rows and
/// columns.
template <class Scalar, class MemorySpace>
struct ScaledValues {
  Kokkos::View<const Scalar*, MemorySpace> values;             ///< [nnz(A)]
  Kokkos::View<const RealOf<Scalar>*, MemorySpace> row_scale;  ///< [n]
  Kokkos::View<const RealOf<Scalar>*, MemorySpace> col_scale;  ///< [n]
};

/// What a symmetric factorization finds besides.
struct SymmetricOutcome {
  Inertia inertia;                       ///< empty where pivots were perturbed, or the matrix has none
  std::int64_t delayed = 0;              ///< pivots delayed to a parent, once for each front they left
  std::int64_t two_by_two = 0;           ///< 2 × 2 pivots
  std::int64_t zero = 0;                 ///< zero pivots
  std::int64_t entries = 0;              ///< of L and D, without the unit diagonal
  std::vector<std::string> escalations;  ///< as in Report
  std::optional<std::int64_t> indefinite_column;  ///< of a Cholesky factorization that ended there

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

/// What happened to the pivots of one numeric factorization.
struct FactorizationOutcome {
  std::int64_t perturbed = 0;                ///< pivots replaced by a larger one
  std::optional<std::int64_t> interchanged;  ///< pivots taken from other rows; of threshold pivoting
  double largest_entry = 0;                  ///< max |entry of the scaled matrix|
  double largest_factor = 0;                 ///< max |entry of the factors|; infinity where one is not finite
  /// Smallest |pivot| of LDLᵀ and Cholesky that is not zero; infinity where pivots are perturbed instead
  double smallest_pivot = std::numeric_limits<double>::infinity();
  std::optional<SymmetricOutcome> symmetric = {};  ///< of LDLᵀ and Cholesky

  bool is_finite() const { return largest_factor < std::numeric_limits<double>::infinity(); }
  /// max |entry of the factors| / max |entry of the scaled matrix|
  double growth() const { return largest_entry > 0 ? largest_factor / largest_entry : 0.0; }
};

/// A pivot by the user's row and column.
struct Pivot {
  std::int64_t row = 0, column = 0;
  bool perturbed = false;  ///< or a zero pivot of LDLᵀ
};

/// Factors of one matrix after another on one pattern: what every engine implements (multifrontal and
/// simplicial LU; LDLᵀ and incomplete factorizations alike), and all that refinement, Krylov methods and the
/// driver know of one. Permutations and scales are the engine's affair: `apply` takes and gives vectors by
/// the user's rows and columns.
template <class Scalar, class ExecutionSpace>
class Factorization : public Preconditioner<Scalar, ExecutionSpace> {
 public:
  using Memory = typename ExecutionSpace::memory_space;

  /// Factorizes; allocates only the first time. Waits for the device once, for the outcome.
  /// @param perturbation least magnitude of a pivot over the largest entry of the scaled matrix
  /// @throws OutOfMemoryError; TimeoutError where the watchdog gave up
  virtual FactorizationOutcome factorize(const ExecutionSpace& exec, const ScaledValues<Scalar, Memory>& A,
                                         double perturbation) = 0;

  /// The pivots of the last factorization, on the host, [n] in elimination order. Fences.
  virtual std::vector<Pivot> pivots(const ExecutionSpace& exec) const = 0;

  /// The same matrix again, with the smallest pivot of the last factorization and those near it taken for
  /// zero. @returns nothing where pivots are never zero, or none is left that could be
  virtual std::optional<FactorizationOutcome> factorize_with_more_zeros(const ExecutionSpace&) { return {}; }

  /// Scales that the last factorization used for rows and columns alike in place of those given; or none.
  virtual Kokkos::View<const RealOf<Scalar>*, Memory> own_scale() const { return {}; }

  /// Asks for more accurate factors, from the next factorization on. @returns false where there are none
  virtual bool increase_quality() { return false; }

  /// The row at which the watchdog gave up an `apply` since the last call, or −1. Fences.
  virtual std::int64_t consume_timeout(const ExecutionSpace& exec) = 0;
};

}  // namespace lutra

#endif
