// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cub/device/device_radix_sort.cuh>
#include <stdexcept>

#include "Lutra_CheckCuda.hpp"
#include "Lutra_PerfSelectPeers.hpp"
#include "Lutra_SelectionVariants.hpp"

namespace lutra::Perf {

const char* const device_sort_name = "cub-sort";

Samples measure_device_sort(int samples, const SelectValues& values, std::int64_t k, double wanted) {
  const auto n = static_cast<std::int64_t>(values.extent(0));
  const Kokkos::View<double*, MemorySpace> sorted("lutra::perf::sorted", values.extent(0));
  const ExecutionSpace exec;
  const auto sort = [&](void* work, std::size_t& bytes) {
    return cub::DeviceRadixSort::SortKeys(work, bytes, values.data(), sorted.data(), n, 0, 64,
                                          exec.cuda_stream());
  };
  std::size_t bytes = 0;
  lutra::Impl::check_cuda(sort(nullptr, bytes), "asking for the scratch of a sort");
  const Kokkos::View<char*, MemorySpace> work("lutra::perf::sort", bytes);
  auto result = measure(samples, [&] { lutra::Impl::check_cuda(sort(work.data(), bytes), "sorting"); });
  double found = 0;
  Kokkos::deep_copy(Kokkos::View<double, Kokkos::HostSpace>(&found),
                    Kokkos::subview(sorted, static_cast<std::size_t>(n - k)));
  if (found != wanted) throw std::runtime_error("the sort found another value");
  return result;
}

Samples measure_counting_pass(int samples, const SelectValues& values, std::int64_t k,
                              const SelectOptions& options) {
  using Work = lutra::Impl::SelectionWorkspace<double, MemorySpace>;
  Work work;
  const auto n = values.extent(0);
  work.state = decltype(work.state)("lutra::perf::state", 1);
  work.counts = decltype(work.counts)("lutra::perf::counts", Work::max_buckets);
  work.gathered = decltype(work.gathered)("lutra::perf::gathered", 1);
  work.blocks_done = decltype(work.blocks_done)("lutra::perf::blocks", 1);
  work.oracles = decltype(work.oracles)("lutra::perf::oracles", n);
  const Kokkos::View<SelectionThreshold<double>, MemorySpace> result("lutra::perf::threshold");
  const ExecutionSpace exec;
  return measure(samples, [&] {
    lutra::Impl::count_buckets_once<double>({exec, work, values, k, result}, options);
  });
}

}  // namespace lutra::Perf
