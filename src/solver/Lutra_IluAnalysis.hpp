// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_ILUANALYSIS_HPP
#define LUTRA_ILUANALYSIS_HPP

#include <memory>

#include "Lutra_IncompleteFactorization.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_Report.hpp"

namespace lutra {

/// All that is known of a pattern before it is factorized incompletely: matching and ordering, and the plan
/// of the factorization. It holds no values and nothing that changes after `analyze_ilu` has returned it, so
/// that any number of `SparseILU` objects share one, on any threads and instances.
template <class Scalar, class ExecutionSpace>
struct IluAnalysis {
  using Memory = typename ExecutionSpace::memory_space;

  SparseIluOptions options;
  CsrPattern<Ordinal, Offset, Memory> pattern;  ///< of A; a copy
  /// Null where a matching was asked for and the pattern has none.
  std::shared_ptr<const IncompletePlan<Scalar, ExecutionSpace>> plan;
  /// Choices and their reasons, times, counts. Status `not_solved`, or `structurally_singular` with rows and
  /// columns.
  Report report;
  MemoryReservation reservation;
};

/// Runs matching, ordering and symbolic factorization, and analyses solves. Fences.
/// @param A      its values are used for matching and scaling alone
/// @param budget what the analysis keeps is charged to it, and freed with the last copy of the pointer
/// @throws InputError for a malformed matrix (check_square_matrix), options out of range, a user permutation
///         that is none, and with IluOptions::symmetric for an entry (i, j) without (j, i); OutOfMemoryError
template <class Scalar, class ExecutionSpace>
std::shared_ptr<const IluAnalysis<Scalar, ExecutionSpace>> analyze_ilu(
    const ExecutionSpace& exec,
    const CsrView<Scalar, Ordinal, Offset, typename ExecutionSpace::memory_space>& A,
    const SparseIluOptions& options, const MemoryBudget& budget);

}  // namespace lutra

#endif
