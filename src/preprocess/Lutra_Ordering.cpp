// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_Ordering.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <limits>
#include <numeric>

#include "Lutra_ColumnCounts.hpp"
#include "Lutra_Error.hpp"
#include "Lutra_Instantiate.hpp"
#include "Lutra_OrderingEngines.hpp"
#include "Lutra_SymmetricGraph.hpp"

namespace lutra {
namespace {

// Below these AMD is kept without a look at METIS; measured on 68 matrices from circuits, power grids, finite
// elements and optimisation (docs/preprocess.md). METIS takes about ten times as long as AMD, as long as some
// thousand operations a row; an ordering serves many factorizations, of which this supposes about ten.
constexpr std::int64_t few_rows = 500;
constexpr double little_work_per_row = 500;

// What one more vertex on the longest path of the elimination tree costs, in operations: a step that waits
// for the one before, with a barrier of a few microseconds. It lets METIS win with somewhat more operations,
// since its trees are about half as high, and by far on chains, where the tree of AMD is the chain and that
// of METIS has log n steps.
constexpr double operations_per_step = 1e4;

template <class Index>
struct Candidate {
  std::vector<Index> permutation;
  FillForecast forecast;
};

double work(const FillForecast& forecast) {
  return forecast.flops + operations_per_step * static_cast<double>(forecast.height);
}

std::string in_words(const char* name, const FillForecast& forecast) {
  char text[128];
  std::snprintf(text, sizeof text, "%s (nnz(L) %.3g, %.3g flops, elimination tree of height %.3g)", name,
                static_cast<double>(forecast.nnz_l), forecast.flops, static_cast<double>(forecast.height));
  return text;
}

template <class Index>
Candidate<Index> with_forecast(const SymmetricGraph<Index>& graph, std::vector<Index> permutation) {
  const FillForecast forecast = forecast_fill(graph, permutation);
  return {std::move(permutation), forecast};
}

template <class Ordinal, class Index>
OrderingResult<Ordinal> result(const std::vector<Index>& permutation, Ordering kind, std::string why) {
  return {std::vector<Ordinal>(permutation.begin(), permutation.end()), kind, std::move(why)};
}

template <class Ordinal, class Index>
OrderingResult<Ordinal> better_of_amd_and_metis(const SymmetricGraph<Index>& graph) {
  const Candidate<Index> amd = with_forecast(graph, Impl::amd_permutation(graph));
  const auto n = static_cast<std::int64_t>(graph.size());
  const std::string amd_words = in_words("AMD", amd.forecast);
  if (n < few_rows)
    return result<Ordinal>(amd.permutation, Ordering::amd, amd_words + ": the matrix is small");
  if (work(amd.forecast) < little_work_per_row * static_cast<double>(n)) {
    return result<Ordinal>(amd.permutation, Ordering::amd,
                           amd_words + ": its fill is so low that METIS was not tried");
  }
  if (graph.neighbours.size() > Impl::max_metis_entries()) {
    return result<Ordinal>(amd.permutation, Ordering::amd, amd_words + ": the matrix is too large for METIS");
  }
  const Candidate<Index> metis = with_forecast(graph, Impl::metis_permutation(graph));
  const std::string metis_words = in_words("METIS", metis.forecast);
  const char* reason = " needs no more operations and steps one after the other than ";
  if (work(metis.forecast) < work(amd.forecast)) {
    return result<Ordinal>(metis.permutation, Ordering::metis, metis_words + reason + amd_words);
  }
  return result<Ordinal>(amd.permutation, Ordering::amd, amd_words + reason + metis_words);
}

template <class Index, class Ordinal, class Offset>
OrderingResult<Ordinal> order_graph(const CsrPattern<Ordinal, Offset, Kokkos::HostSpace>& pattern,
                                    Ordering kind) {
  const SymmetricGraph<Index> graph = symmetric_graph<Index>(pattern);
  switch (kind) {
    case Ordering::amd:
      return result<Ordinal>(Impl::amd_permutation(graph), kind, "AMD, as asked for");
    case Ordering::metis:
      return result<Ordinal>(Impl::metis_permutation(graph), kind, "METIS, as asked for");
    default:
      return better_of_amd_and_metis<Ordinal>(graph);
  }
}

template <class Ordinal, class Offset>
void check_request(const CsrPattern<Ordinal, Offset, Kokkos::HostSpace>& pattern, Ordering kind) {
  if (pattern.n_rows != pattern.n_cols) {
    throw InputError("pattern: only a square matrix is ordered, this one has " +
                     std::to_string(pattern.n_rows) + " rows and " + std::to_string(pattern.n_cols) +
                     " columns");
  }
  if (kind == Ordering::user)
    throw InputError("kind: a given permutation is not computed; hand it to the solver");
}

// Whether twice the entries, and with them every index, fit into an int.
template <class Ordinal, class Offset>
bool is_narrow(const CsrPattern<Ordinal, Offset, Kokkos::HostSpace>& pattern) {
  constexpr auto most = static_cast<std::int64_t>(std::numeric_limits<int>::max());
  return static_cast<std::int64_t>(pattern.n_rows) < most &&
         static_cast<std::int64_t>(pattern.nnz()) <= most / 2;
}

}  // namespace

template <class Ordinal, class Offset>
OrderingResult<Ordinal> order(const CsrPattern<Ordinal, Offset, Kokkos::HostSpace>& pattern, Ordering kind) {
  check_request(pattern, kind);
  if (kind == Ordering::natural) {
    std::vector<Ordinal> permutation(static_cast<std::size_t>(pattern.n_rows));
    std::iota(permutation.begin(), permutation.end(), Ordinal(0));
    return {std::move(permutation), kind, "natural order, as asked for"};
  }
  if (is_narrow(pattern)) return order_graph<int>(pattern, kind);
  return order_graph<std::int64_t>(pattern, kind);
}

void check_permutation(const std::vector<std::int64_t>& permutation, std::int64_t n) {
  if (static_cast<std::int64_t>(permutation.size()) != n) {
    throw InputError("permutation: has " + std::to_string(permutation.size()) + " entries for " +
                     std::to_string(n) + " rows");
  }
  std::vector<std::int64_t> place(permutation.size(), -1);  // where each number stands
  for (std::size_t k = 0; k < permutation.size(); ++k) {
    const std::int64_t v = permutation[k];
    if (v < 0 || v >= n) {
      throw InputError("permutation: entry " + std::to_string(k) + " is " + std::to_string(v) +
                       ", outside 0 to " + std::to_string(n - 1));
    }
    std::int64_t& first = place[static_cast<std::size_t>(v)];
    if (first >= 0) {
      throw InputError("permutation: entries " + std::to_string(first) + " and " + std::to_string(k) +
                       " are both " + std::to_string(v));
    }
    first = static_cast<std::int64_t>(k);
  }
}

#define LUTRA_INSTANTIATE(Ordinal, Offset) \
  template OrderingResult<Ordinal> order(const CsrPattern<Ordinal, Offset, Kokkos::HostSpace>&, Ordering);
LUTRA_FOR_EACH_PATTERN(LUTRA_INSTANTIATE)
#undef LUTRA_INSTANTIATE

}  // namespace lutra
