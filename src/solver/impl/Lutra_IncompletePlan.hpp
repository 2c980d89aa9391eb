// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_INCOMPLETEPLAN_HPP
#define LUTRA_INCOMPLETEPLAN_HPP

#include <memory>
#include <string>

#include "Lutra_Factorization.hpp"
#include "Lutra_IncompleteFactors.hpp"
#include "Lutra_IncompleteSolve.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_InspectFactors.hpp"
#include "Lutra_Options.hpp"
#include "Lutra_OrderedMatrix.hpp"

namespace lutra::Impl {

/// Data that incomplete factorizations of one pattern share: the reordered matrix, the pattern of the factors
/// (for ParILUT the initial pattern), and the analyses of elimination and solves. The plan never changes.
template <class Scalar, class ExecutionSpace>
struct IncompletePlan final : FactorizationPlan<Scalar, ExecutionSpace> {
  using Memory = typename ExecutionSpace::memory_space;

  OrderedMatrix<Scalar, ExecutionSpace> F;
  SparseIluOptions options;
  IncompleteFactors<Scalar, Memory> pattern;  ///< pattern of the factors, without values
  std::int64_t nnz_l = 0;                     ///< number of entries of L without its diagonal
  std::unique_ptr<const IluElimination<Scalar, ExecutionSpace>>
      elimination;  ///< null if the first values are not exact
  std::unique_ptr<const IncompleteSolve<Scalar, ExecutionSpace>> solves;  ///< null for ParILUT

  std::unique_ptr<Factorization<Scalar, ExecutionSpace>> make_factorization(
      const ExecutionSpace& exec, const MemoryBudget& budget) const override;
  void write_pattern(const ExecutionSpace& exec, FactorStructure& structure) const override;
};

/// Computes the pattern of incomplete factors of F, and analyzes their elimination and solves. Fences.
/// @throws OutOfMemoryError
template <class Scalar, class ExecutionSpace>
std::shared_ptr<const IncompletePlan<Scalar, ExecutionSpace>> plan_incomplete(
    const ExecutionSpace& exec, const OrderedMatrix<Scalar, ExecutionSpace>& F,
    const SparseIluOptions& options, const MemoryBudget& budget);

}  // namespace lutra::Impl

#endif
