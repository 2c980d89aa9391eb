// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>

#include "Lutra_Instantiate.hpp"
#include "Lutra_Numeric.hpp"
#include "Lutra_Refinement.hpp"

namespace lutra {

template <class Scalar, class ExecutionSpace>
std::optional<MemoryForecast> Analysis<Scalar, ExecutionSpace>::forecast(int n_rhs) const {
  using Workspace = SolveWorkspace<Scalar, ExecutionSpace>;
  const int columns = std::clamp(n_rhs, 1, Impl::columns_at_once);
  auto result = plan ? plan->forecast(columns) : std::nullopt;
  if (!result) return result;
  // A Numeric copies the values of the matrix that is factorized; Cholesky has scales for condition
  // estimates.
  const auto rows = static_cast<std::size_t>(n);
  std::size_t kept = held_bytes + F.A.entries.extent(0) * sizeof(Scalar);
  if (report.choice.method == "cholesky") kept += rows * sizeof(RealOf<Scalar>);
  const auto* const ldlt = std::get_if<LdltOptions>(&options);
  if (ldlt == nullptr || !ldlt->trust_pivots)  // the first factors are tried on one right-hand side
    result->factorization.device = plan->forecast(1)->solve.device + Workspace::bytes(rows, 1);
  result->factorization.device += kept;
  result->solve.device += kept + Workspace::bytes(rows, static_cast<std::size_t>(columns));
  return result;
}

#define LUTRA_FORECAST(Scalar, Space) \
  template std::optional<MemoryForecast> Analysis<Scalar, Space>::forecast(int) const;
LUTRA_FOR_EACH_SCALAR_AND_SPACE(LUTRA_FORECAST)

}  // namespace lutra
