// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_PERFFACTORED_HPP
#define LUTRA_PERFFACTORED_HPP

#include <memory>

#include "Lutra_MultifrontalPlan.hpp"
#include "Lutra_Numeric.hpp"
#include "Lutra_PerfMeasure.hpp"
#include "Lutra_SimplicialPlan.hpp"

namespace lutra::Perf {

inline LuOptions options_for(Engine engine) {
  LuOptions options;
  options.engine = engine;
  // `Factored::simplicial` is the engine by columns
  if (engine == Engine::simplicial) options.columns.supernodes = ColumnSupernodes::off;
  return options;
}

/// A matrix with analysis and factors, computed by the functions of the stages, for programs that time a
/// single stage.
template <class Scalar>
struct Factored {
  using Analysis = lutra::Analysis<Scalar, ExecutionSpace>;
  using Multifrontal = MultifrontalFactorization<Scalar, ExecutionSpace>;
  using Simplicial = SimplicialFactorization<Scalar, ExecutionSpace>;
  using Supernodal =
      SimplicialFactorization<Scalar, ExecutionSpace, lutra::Impl::SupernodalEngine<Scalar, ExecutionSpace>>;

  /// Analyzes and factorizes, by default with the simplicial engine. @throws std::runtime_error if the matrix
  /// cannot be factorized
  explicit Factored(const HostMatrix<Scalar>& host,
                    const LuOptions& options = options_for(Engine::simplicial));

  /// Factorizes again. Allocates memory if it was released.
  void factorize();
  /// Releases the memory of the factors.
  void release();
  /// One solve x = A⁻¹·b with the factors.
  void solve_once() const;
  ScaledValues<Scalar, MemorySpace> scaled_values() const {
    return {matrix.values, analysis->row_scale, analysis->col_scale};
  }
  /// The factors in the form of their engine. @throws std::bad_cast if the engine is the other one
  Simplicial& simplicial() const { return dynamic_cast<Simplicial&>(*factorization); }
  Supernodal& supernodal() const { return dynamic_cast<Supernodal&>(*factorization); }
  Multifrontal& multifrontal() const { return dynamic_cast<Multifrontal&>(*factorization); }

  ExecutionSpace exec;
  MemoryBudget budget;
  DeviceMatrix<Scalar> matrix;
  std::vector<Scalar> host_b;
  DenseRows<Scalar, MemorySpace> b, x;  ///< [n × 1]
  std::shared_ptr<const Analysis> analysis;
  std::shared_ptr<Factorization<Scalar, ExecutionSpace>> factorization;
  FactorizationOutcome outcome;  ///< of the last factorization
};

/// Sizes of the factors, choices, and the backward errors of one solve without refinement.
template <class Scalar>
Measurement describe_factored(Samples samples, const HostMatrix<Scalar>& matrix,
                              const Factored<Scalar>& factored);

}  // namespace lutra::Perf

#endif
