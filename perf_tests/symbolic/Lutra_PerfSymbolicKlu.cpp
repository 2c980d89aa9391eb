// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <klu.h>

#include <stdexcept>

#include "Lutra_PerfOrdered.hpp"

namespace lutra::Perf {

/// KLU's analysis in the order given: block triangular form, and bounds of the fill of each block.
Measurement measure_klu_symbolic(const PerfRun& run, const Ordered& ordered) {
  // KLU goes by columns, and is handed the transposed pattern by rows; its order is then that of the rows.
  std::vector<int> map(ordered.host.row_map.begin(), ordered.host.row_map.end());
  std::vector<int> rows(ordered.host.entries.begin(), ordered.host.entries.end());
  std::vector<int> order(map.size() - 1);
  for (std::size_t k = 0; k < order.size(); ++k) order[k] = static_cast<int>(k);
  klu_common common;
  klu_defaults(&common);
  klu_symbolic* symbolic = nullptr;
  auto samples = measure(
      run.samples, [&] { klu_free_symbolic(&symbolic, &common); },
      [&] {
        symbolic = klu_analyze_given(ordered.host.n_rows, map.data(), rows.data(), order.data(), order.data(),
                                     &common);
      });
  if (symbolic == nullptr) throw std::runtime_error("klu_analyze_given fails");
  klu_free_symbolic(&symbolic, &common);
  Measurement result{std::move(samples), {}, "the same order, no pattern of L + U"};
  result.counters["n"] = ordered.host.n_rows;
  return result;
}

}  // namespace lutra::Perf
