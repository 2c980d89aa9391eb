// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_PerfOrdered.hpp"

#include <algorithm>
#include <stdexcept>

#include "Lutra_Fill1.hpp"
#include "Lutra_Ordering.hpp"

namespace lutra::Perf {
namespace {

/// A(order, order), rows sorted.
template <class Scalar>
HostMatrix<char> permute(const HostMatrix<Scalar>& A, const std::vector<int>& order) {
  std::vector<int> position(order.size());
  for (std::size_t k = 0; k < order.size(); ++k)
    position[static_cast<std::size_t>(order[k])] = static_cast<int>(k);
  HostMatrix<char> P{A.n_rows, A.n_cols, {0}, {}, {}};
  P.entries.reserve(A.entries.size());
  for (const int row : order) {
    const auto r = static_cast<std::size_t>(row);
    for (auto k = A.row_map[r]; k < A.row_map[r + 1]; ++k) {
      P.entries.push_back(position[static_cast<std::size_t>(A.entries[static_cast<std::size_t>(k)])]);
    }
    std::sort(P.entries.begin() + P.row_map.back(), P.entries.end());
    P.row_map.push_back(static_cast<std::int64_t>(P.entries.size()));
  }
  return P;
}

KOKKOS_FUNCTION std::uint64_t scrambled(std::uint64_t position, std::uint64_t value) {
  std::uint64_t x = position * 0x9e3779b97f4a7c15u + value;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

template <class View>
std::uint64_t print_of_array(const View& values) {
  std::uint64_t sum = 0;
  Kokkos::parallel_reduce(
      "lutra::perf::print",
      Kokkos::RangePolicy<ExecutionSpace, Kokkos::IndexType<std::int64_t>>(
          0, static_cast<std::int64_t>(values.extent(0))),
      KOKKOS_LAMBDA(const std::int64_t p, std::uint64_t& total) {
        total += scrambled(static_cast<std::uint64_t>(p), static_cast<std::uint64_t>(values(p)));
      },
      sum);
  return sum;
}

}  // namespace

std::uint64_t print_of(const DeviceFilled& filled) {
  return print_of_array(filled.row_map) + 3 * print_of_array(filled.entries) +
         7 * print_of_array(filled.diagonal);
}

Ordered::Ordered(const PerfMatrix& matrix) {
  with_scalar(matrix, [&](const auto& A) {
    permutation = order(make_view(A).pattern(), Ordering::metis);
    host = permute(A, permutation);
  });
  device = {host.n_rows, host.n_cols, to_device(host.row_map), to_device(host.entries)};
  // on one thread
  const auto swept = Impl::fill1(make_view(host).pattern(), MemoryBudget(), 1);
  DeviceFilled filled;
  filled.row_map = Kokkos::create_mirror_view_and_copy(MemorySpace(), swept.row_map);
  filled.entries = Kokkos::create_mirror_view_and_copy(MemorySpace(), swept.entries);
  filled.diagonal = Kokkos::create_mirror_view_and_copy(MemorySpace(), swept.diagonal);
  expected = print_of(filled);
  nnz_lu = static_cast<double>(swept.nnz_l + swept.nnz_u);
}

Measurement describe_pattern(const PerfRun& run, Samples samples, const Ordered& ordered,
                             const DeviceFilled& filled) {
  if (filled.exact && print_of(filled) != ordered.expected)
    throw std::runtime_error("not the pattern fill1 finds");
  Measurement result{std::move(samples), {}, {}};
  result.label = std::string(name_of(filled.method)) + (filled.exact ? "" : ", a superset");
  const double n = ordered.host.n_rows, nnz = static_cast<double>(ordered.host.nnz());
  result.counters["n"] = n;
  result.counters["nnz"] = nnz;
  result.counters["nnz_lu"] = static_cast<double>(filled.nnz_l + filled.nnz_u);
  result.add_limits(run.limits, csr_bytes(n, nnz, false) + csr_bytes(n, result.counters["nnz_lu"], false) +
                                    n * sizeof(std::int64_t));
  return result;
}

}  // namespace lutra::Perf
