// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>

#include "Lutra_CsrOperator.hpp"
#include "Lutra_IncompleteSolve.hpp"
#include "Lutra_Krylov.hpp"
#include "Lutra_PerfIlu.hpp"

namespace lutra::Perf {
namespace {

using Factors = IncompleteFactors<double, MemorySpace>;

/// L and U on the device. Rows without a diagonal entry have no usable pivot.
Factors to_factors(const HostFactors& LU) {
  std::vector<std::int64_t> diagonal;
  for (int i = 0; i < LU.n_rows; ++i) {
    const auto row = static_cast<std::size_t>(i);
    const auto begin = LU.entries.begin() + LU.row_map[row], end = LU.entries.begin() + LU.row_map[row + 1];
    const auto found = std::lower_bound(begin, end, i);
    if (found == end || *found != i) return {};
    diagonal.push_back(found - LU.entries.begin());
  }
  return {LU.n_rows, to_device(LU.row_map), to_device(LU.entries), to_device(LU.values), to_device(diagonal),
          {}};
}

}  // namespace

KrylovRun run_gmres(const HostMatrix<double>& A, const HostFactors& LU) {
  const ExecutionSpace exec;
  const MemoryBudget budget;
  const Factors factors = to_factors(LU);
  if (factors.n == 0) return {};
  IncompleteSolve<double, ExecutionSpace> solve(exec, factors, {IluApply::exact, 1, {}}, budget);
  solve.update_values(exec);
  const auto matrix = to_device(A);
  CsrOperator<double, ExecutionSpace> product(exec, matrix.pattern(), {}, false, budget);
  product.set_values(matrix.values);
  const auto b = to_device(make_right_hand_side(A));
  const auto n = static_cast<std::size_t>(A.n_rows);
  const DenseRows<double, MemorySpace> B(b.data(), n, 1), X("lutra::perf::X", n, 1);
  const auto gmres = make_krylov_iteration<double>(exec, KrylovMethod::gmres, n, 1, 50, budget);
  exec.fence("lutra::perf: everything is prepared");
  const Kokkos::Timer timer;
  const auto outcome = gmres->solve(exec, product, &solve, Transposition::none, B, X, {}).front();
  exec.fence("lutra::perf: X is there");
  return {outcome.stop == KrylovStop::converged ? outcome.iterations : -1, timer.seconds()};
}

}  // namespace lutra::Perf
