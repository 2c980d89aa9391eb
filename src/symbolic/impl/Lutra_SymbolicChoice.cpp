// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_SymbolicChoice.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace lutra::Impl {
namespace {

// Entries of L + U per entry of A with little fill.
constexpr double little_fill = 3;

double fill1_seconds(const SymbolicCosts& costs, double rows, double nnz) {
  return costs.fill1_row_seconds * rows + costs.fill1_entry_seconds * nnz;
}

/// t threads of fill1 are about √t times as fast as one.
double fill1_seconds(const SymbolicCosts& costs, const PatternProperties& properties, int threads) {
  const double serial = fill1_seconds(costs, properties.rows, properties.fill->nnz);
  return properties.rows >= min_rows_for_threads ? serial / std::sqrt(threads) : serial;
}

double fill2_seconds(const SymbolicCosts& costs, const PatternProperties& properties) {
  return costs.fill2_row_seconds * properties.rows +
         costs.fill2_edge_seconds * properties.fill->searched_edges;
}

double ancestors_seconds(const SymbolicCosts& costs, const PatternProperties& properties) {
  return costs.ancestors_start_seconds + costs.ancestors_step_seconds * properties.height +
         costs.ancestors_word_seconds * properties.set_words;
}

bool ancestors_are_best(const SymbolicCosts& costs, const PatternProperties& properties,
                        std::size_t available_bytes) {
  const double bytes = 2 * sizeof(std::uint64_t) * properties.set_words;
  const double room = std::min(costs.max_set_bytes, static_cast<double>(available_bytes) / 4);
  const double nnz = std::min(little_fill * (properties.entries + properties.rows),
                              2 * 64 * properties.set_words + properties.rows);
  return bytes <= room && ancestors_seconds(costs, properties) < fill1_seconds(costs, properties.rows, nnz);
}

std::string milliseconds(double seconds) {
  return std::to_string(std::llround(std::ceil(seconds * 1e3))) + " ms";
}

}  // namespace

std::optional<SymbolicChoice> choose_symbolic_method(const PatternProperties& properties,
                                                     const SymbolicCosts& costs,
                                                     const SymbolicResources& resources) {
  if (resources.host) return SymbolicChoice{SymbolicMethod::fill1, "fill1: the fastest method on a host"};
  if (properties.symmetric)
    return SymbolicChoice{SymbolicMethod::etree, "elimination tree: the pattern is symmetric"};
  if (ancestors_are_best(costs, properties, resources.available_bytes)) {
    return SymbolicChoice{SymbolicMethod::ancestors,
                          "ancestor bit sets on the device: the pattern is unsymmetric; predicted " +
                              milliseconds(ancestors_seconds(costs, properties))};
  }
  if (!properties.fill) return std::nullopt;
  const double fill1 = fill1_seconds(costs, properties, resources.host_threads);
  const double fill2 = fill2_seconds(costs, properties);
  if (fill1 < fill2) {
    return SymbolicChoice{SymbolicMethod::fill1, "fill1 on the host: the pattern is unsymmetric; predicted " +
                                                     milliseconds(fill1) + ", and " + milliseconds(fill2) +
                                                     " for fill2"};
  }
  return SymbolicChoice{SymbolicMethod::fill2, "fill2 on the device: the pattern is unsymmetric; predicted " +
                                                   milliseconds(fill2) + ", and " + milliseconds(fill1) +
                                                   " for fill1"};
}

}  // namespace lutra::Impl
