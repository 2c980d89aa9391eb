// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_STRATIMIKOS_HPP
#define LUTRA_STRATIMIKOS_HPP

#include <Stratimikos_LinearSolverBuilder.hpp>
#include <Teuchos_AbstractFactoryStd.hpp>

#include "Lutra_StratimikosPreconditioner.hpp"
#include "Lutra_StratimikosSolver.hpp"

namespace lutra {

/// Makes "Lutra" a "Linear Solver Type" (SparseLU) and a "Preconditioner Type" (SparseILU or SparseLU, with
/// overlap between processes) of a builder, whose defaults stay as they are. Call it before the builder gets
/// its parameters.
template <class Scalar>
void enable_lutra(Stratimikos::LinearSolverBuilder<Scalar>& builder) {
  using Teuchos::abstractFactoryStd;
  builder.setLinearSolveStrategyFactory(
      abstractFactoryStd<Thyra::LinearOpWithSolveFactoryBase<Scalar>, StratimikosSolverFactory<Scalar>>(),
      "Lutra", false);
  builder.setPreconditioningStrategyFactory(abstractFactoryStd<Thyra::PreconditionerFactoryBase<Scalar>,
                                                               StratimikosPreconditionerFactory<Scalar>>(),
                                            "Lutra", false);
}

}  // namespace lutra

#endif
