// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <umfpack.h>

#include <array>
#include <stdexcept>

#include "Lutra_PerfOrdered.hpp"

namespace lutra::Perf {

/// The symbolic analysis of UMFPACK with a given column order: column elimination tree, counts, fronts.
Measurement measure_umfpack_symbolic(const PerfRun& run, const Ordered& ordered) {
  const std::vector<int> map(ordered.host.row_map.begin(), ordered.host.row_map.end());
  const std::vector<int> rows(ordered.host.entries.begin(), ordered.host.entries.end());
  std::vector<int> order(map.size() - 1);
  for (std::size_t k = 0; k < order.size(); ++k) order[k] = static_cast<int>(k);
  std::array<double, UMFPACK_CONTROL> control{};
  std::array<double, UMFPACK_INFO> info{};
  umfpack_di_defaults(control.data());
  control[UMFPACK_STRATEGY] = UMFPACK_STRATEGY_SYMMETRIC;
  void* symbolic = nullptr;
  int status = UMFPACK_OK;
  auto samples = measure(
      run.samples, [&] { umfpack_di_free_symbolic(&symbolic); },
      [&] {
        status = umfpack_di_qsymbolic(ordered.host.n_rows, ordered.host.n_rows, map.data(), rows.data(),
                                      nullptr, order.data(), &symbolic, control.data(), info.data());
      });
  umfpack_di_free_symbolic(&symbolic);
  if (status != UMFPACK_OK)
    throw std::runtime_error("umfpack_di_qsymbolic ends with " + std::to_string(status));
  Measurement result{std::move(samples), {}, "the same column order, no pattern of L + U"};
  result.counters["n"] = ordered.host.n_rows;
  return result;
}

}  // namespace lutra::Perf
