// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_FIRSTRANKSOLVER_HPP
#define LUTRA_FIRSTRANKSOLVER_HPP

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "Lutra_Communicator.hpp"
#include "Lutra_CsrView.hpp"
#include "Lutra_DistributedTriangles.hpp"
#include "Lutra_Factorization.hpp"
#include "Lutra_Options.hpp"
#include "Lutra_Report.hpp"

namespace lutra::Impl {

/// An order that the analysis for all ranks found before it left the matrix to rank 0.
struct FoundOrder {
  std::vector<std::int64_t> columns;  ///< [n] in elimination order, on rank 0; empty: rank 0 orders again
  Report report;                      ///< of that analysis
};

/// SparseLU or SparseLDLT on rank 0, for the rows of all ranks. Calls are collective, errors included. If the
/// options ask for fill2, all ranks find the pattern of L + U (PatternOnRanks).
template <class Scalar>
class FirstRankSolver {
 public:
  virtual ~FirstRankSolver() = default;
  /// Analyzes unless that was done, and factorizes.
  /// @param A on rank 0
  /// @returns on all ranks: the status of the report, `not_solved` after success
  virtual Status factorize(const HostMatrix<Scalar>& A) = 0;
  /// @param B,X [rows of this rank × k] by columns
  /// @param rows_of_ranks [ranks] on rank 0
  /// @returns on all ranks: the status of the report
  virtual Status solve(std::span<const Scalar> B, std::span<Scalar> X, std::size_t k, Transposition op,
                       const std::vector<std::vector<std::int64_t>>& rows_of_ranks) = 0;
  /// Complete on rank 0; status, inertia and backward errors on all ranks.
  virtual const Report& report() const = 0;
  /// This rank's part of the symbolic factorization.
  virtual const RankStatistics& statistics() const = 0;
  /// The factors, on rank 0.
  virtual FactorValues<Scalar> factors() const = 0;
};

/// @param run limits in time of this rank's part in the search of fill2; rank 0 has those of the options
template <class Scalar, class ExecutionSpace>
std::unique_ptr<FirstRankSolver<Scalar>> make_first_rank_solver(Communicator& comm, const LuOptions& options,
                                                                const FoundOrder& found = {},
                                                                const RunControl& run = {});
template <class Scalar, class ExecutionSpace>
std::unique_ptr<FirstRankSolver<Scalar>> make_first_rank_solver(Communicator& comm,
                                                                const LdltOptions& options,
                                                                const FoundOrder& found = {},
                                                                const RunControl& run = {});

}  // namespace lutra::Impl

#endif
