// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_PERFFACTORED_HPP
#define LUTRA_PERFFACTORED_HPP

#include "Lutra_LuFactors.hpp"
#include "Lutra_PerfMeasure.hpp"

namespace lutra::Perf {

/// A matrix with analysis and factors, computed by the functions of the stages, for programs that time one
/// stage alone.
template <class Scalar>
struct Factored {
  using Analysis = LuAnalysis<Scalar, int, std::int64_t, ExecutionSpace>;

  /// Analyzes and factorizes, by the simplicial engine by default. @throws std::runtime_error where the
  /// matrix cannot be factorized
  explicit Factored(const HostMatrix<Scalar>& host,
                    const LuOptions& options = {.engine = Engine::simplicial});

  /// Scales, scatters and factorizes again, into `factors`; empty ones are allocated.
  void factorize();
  /// Releases the memory of the factors.
  void release();
  /// x = A⁻¹·b by the factors, once.
  void solve_once();

  ExecutionSpace exec;
  MemoryBudget budget;
  DeviceMatrix<Scalar> matrix;
  std::vector<Scalar> host_b;
  DenseRows<Scalar, MemorySpace> b, x, scratch;  ///< [n × 1]
  Report report;
  Analysis analysis;
  LuFactors<Scalar, MemorySpace> factors;
  FactorizationOutcome outcome;  ///< of the last factorization
};

/// Sizes of the factors, choices, and the backward errors of one solve without refinement.
template <class Scalar>
Measurement describe_factored(Samples samples, const HostMatrix<Scalar>& matrix, Factored<Scalar> factored);

}  // namespace lutra::Perf

#endif
