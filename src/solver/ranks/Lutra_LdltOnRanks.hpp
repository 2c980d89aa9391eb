// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_LDLTONRANKS_HPP
#define LUTRA_LDLTONRANKS_HPP

#include <cstdint>
#include <string>

#include "Lutra_Communicator.hpp"
#include "Lutra_CsrView.hpp"
#include "Lutra_FrontsOnRanks.hpp"
#include "Lutra_LdltAttempts.hpp"
#include "Lutra_Options.hpp"
#include "Lutra_Report.hpp"

namespace lutra::Impl {

/// What LDLᵀ and Cholesky by fronts on all ranks do differently from LU: L·U of a symmetric matrix with
/// U = D·Lᵀ, by pivots in place, as LdltFactorization tries them: the diagonal in order, then with pairs,
/// then symmetric interchanges within fronts. An attempt that has failed is not made again on the same
/// analysis.
template <class Scalar>
class LdltOnRanks {
 public:
  /// @throws InputError if an option is out of range, or if only a triangle is to be read
  explicit LdltOnRanks(const LdltOptions& options);

  const LdltOptions& options() const { return m_options; }
  Symmetry symmetry() const { return m_rule.symmetry; }

  /// Collective. Orders the matrix and builds its tree on rank 0.
  /// @param A      on rank 0
  /// @param report replaced on rank 0
  /// @param why    out, on rank 0: why rank 0 has to factorize alone
  /// @param run    control of this rank's call
  /// @returns on all ranks: whether pivots in place may be tried
  /// @throws InputError on all ranks if A is not symmetric
  template <class ExecutionSpace>
  bool analyze(Communicator& comm, const HostMatrix<Scalar>& A, FrontAnalysis<Scalar>& analysis,
               Report& report, std::string& why, const RunControl& run);

  /// Collective. Factorizes the present values of the rows.
  /// @param n   rows of the matrix
  /// @param why out: why rank 0 has to factorize alone
  /// @returns on all ranks: whether the pivots were accepted; `report` then has their counts
  bool factorize(FrontsOnRanks<Scalar>& fronts, std::int64_t n, Report& report, std::string& why);
  /// To be called after pivots were rejected.
  /// @returns on all ranks: whether `analyze` will find an order in which matched rows are adjacent, so that
  ///          pivots in place may be tried once more
  bool pair_rows();

 private:
  void describe(const AssemblyTree& tree, int ranks, std::int64_t nnz, Report& report);
  std::string reason(const FactorizationOutcome& outcome, const DiagonalPivots& pivots) const;

  LdltOptions m_options;  ///< as the caller gave them
  LdltOptions m_completed;
  LdltPivotRule m_rule;
  LdltAttempt m_attempt = LdltAttempt::delays;
  bool m_pairs_rows = false;              ///< in the next analysis
  bool m_has_pairs = false;               ///< in the last analysis
  std::int64_t m_entries = 0, m_nnz = 0;  ///< of L and D, and of A; on rank 0
};

}  // namespace lutra::Impl

#endif
