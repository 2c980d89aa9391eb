// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_PerfCudssPhases.hpp"
#include "Lutra_PerfOrderings.hpp"

namespace lutra::Perf {
namespace {

#ifdef LUTRA_PERF_CUDSS_THREADS
constexpr const char* threads = LUTRA_PERF_CUDSS_THREADS;
#else
constexpr const char* threads = "";
#endif

std::shared_ptr<CudssPhases> prepared(const OrderingProblem& problem, const std::vector<int>& permutation) {
  return std::make_shared<CudssPhases>(problem.matched, permutation,
                                       problem.is_symmetric ? PeerMatrix::symmetric : PeerMatrix::general,
                                       threads);
}

}  // namespace

std::function<std::vector<int>()> cudss_ordering(const OrderingProblem& problem) {
  return [phases = prepared(problem, {})] {
    phases->reorder();
    return phases->permutation();
  };
}

std::function<void()> cudss_factorization(const OrderingProblem& problem,
                                          const std::vector<int>& permutation) {
  const auto phases = prepared(problem, permutation);
  phases->reorder();
  phases->factorize_symbolic();
  return [phases] { phases->factorize(); };
}

}  // namespace lutra::Perf
