// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_FRONTIERFILL2CUDA_HPP
#define LUTRA_FRONTIERFILL2CUDA_HPP

#include <cooperative_groups.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "Lutra_Allocate.hpp"
#include "Lutra_Arena.hpp"
#include "Lutra_CheckLaunches.hpp"
#include "Lutra_FrontierMemoryCuda.hpp"
#include "Lutra_FrontierPlan.hpp"
#include "Lutra_FrontierSearchCuda.hpp"

namespace lutra::Impl {

template <class Search>
__global__ void __launch_bounds__(Search::threads) fill2_frontiers(const Search search) {
  constexpr int warps = Search::threads / Search::lanes;
  __shared__ Frontier buffers[warps][Search::buffer_length];
  const int warp = static_cast<int>(threadIdx.x) / Search::lanes;
  search.run(cooperative_groups::this_grid(), static_cast<int>(blockIdx.x) * warps + warp,
             static_cast<int>(gridDim.x) * warps, buffers[warp]);
}

/// GSoFa's fine-grained search (Figure 6, Lutra_FrontierSearchCuda.hpp), as used by `Fill2LauncherCuda`:
/// batches of sources, one cooperative launch each.
struct FrontierFill2Runs {
  using Kernel = FrontierFill2<Kokkos::Cuda>;
  using Memory = Arena<Kokkos::CudaSpace>;
  /// On an H200 levels of circuits and grids are bound by latency, so that more sources cost little.
  static constexpr std::size_t default_concurrent = 4096;
  static constexpr std::size_t max_external = std::size_t(1) << 25;  ///< frontiers per queue: 256 MiB
  static constexpr std::size_t min_external = std::size_t(1) << 16;

  std::size_t concurrent = default_concurrent;
  Fill2Options options;
  FrontierSizes sizes;
  std::int64_t n = 0;
  unsigned max_blocks = 1;
  MemoryBudget budget;
  Kokkos::View<FrontierCounters, Kokkos::CudaSpace> counters;
  LabelWindows windows;
  std::shared_ptr<char> external;  ///< both queues
  std::size_t external_capacity = 0;
  std::shared_ptr<ManagedBytes> managed;

  void prepare(const Kokkos::Cuda& exec, std::int64_t rows, const Fill2Options& fill2,
               MemoryReservation& scratch, const MemoryBudget& of_space) {
    options = fill2;
    budget = of_space;
    n = rows;
    if (options.concurrent > 0) concurrent = static_cast<std::size_t>(options.concurrent);
    const auto words = static_cast<std::size_t>(Kernel::fill_words_for(n)) +
                       static_cast<std::size_t>(Kernel::line_words_for(n));
    sizes = {words * sizeof(std::uint32_t), options.queue_share, options.unified != Fill2Unified::off};
    windows.n = static_cast<std::uint32_t>(n);
    windows.reuse = options.window_labels;
    int blocks = 0;
    check_cuda(
        cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, fill2_frontiers<Kernel>, Kernel::threads, 0),
        "asking how many blocks of fill2 run at once");
    max_blocks = static_cast<unsigned>(blocks * exec.cuda_device_prop().multiProcessorCount);
    if (options.external != Fill2External::none) allocate_external(exec);
    counters = scratch.allocate<decltype(counters)>(exec, "lutra::symbolic::frontier_counters");
  }

  /// Bytes of the chunk for a source with up to `labels` labels.
  std::size_t slot_bytes(std::size_t labels) const {
    return sizes.slot_bytes(labels) + FrontierSizes::frontier_bytes * 2 + Memory::loss(8);
  }

  /// Bytes of the chunk, `wanted` at most. Under a budget, maxId and fill in unified memory have their share.
  std::size_t chunk_bytes(std::size_t wanted) const {
    if (!sizes.status_elsewhere || budget.limit_bytes() == 0) return wanted;
    const auto labels = static_cast<std::size_t>(n);
    const double own = static_cast<double>(slot_bytes(labels));
    const double status = static_cast<double>(labels * FrontierSizes::word_bytes + sizes.fill_bytes);
    return std::min(wanted, static_cast<std::size_t>(static_cast<double>(budget.available_bytes()) * own /
                                                     (own + status)));
  }

  /// Searches the sources of a launch. @param bound all of them are below it
  /// @returns whether all their rows are found
  bool run(const Kokkos::Cuda& exec, const typename Memory::Bytes& bytes,
           const typename Kernel::Launch& common, const Kokkos::View<uint2*, Kokkos::CudaSpace>& rows,
           std::size_t bound, Fill2Statistics& statistics) {
    const std::vector<Ordinal> list = list_of(common);
    const std::size_t most_labels =
        options.remove_bubbles || options.two_parts ? bound : static_cast<std::size_t>(n);
    const auto labels_of = [&](std::size_t position) {
      if (!options.remove_bubbles || options.two_parts) return most_labels;
      return static_cast<std::size_t>(list.empty() ? static_cast<Ordinal>(position) : list[position]);
    };
    const bool dynamic = options.dynamic && !sizes.status_elsewhere;
    const auto begin = static_cast<std::size_t>(common.first_position);
    const auto end = static_cast<std::size_t>(common.end_position);
    auto plan =
        FrontierPlan::make(sizes, dynamic, begin, end, labels_of, most_labels,
                           limit_by_managed(most_labels, end - begin), bytes.extent(0) - Memory::loss(8));
    if (common.last_first) std::reverse(plan.batches.begin(), plan.batches.end());
    Kernel search = arrays(exec, bytes, plan, common, rows);
    windows.used = 0;
    windows.clean = 0;  // the chunk may have been used for something else
    check_cuda(cudaMemsetAsync(counters.data(), 0, sizeof(FrontierCounters), exec.cuda_stream()),
               "clearing the counters of fill2");
    for (const FrontierBatch& batch : plan.batches) {
      std::vector<long long> label_begin;
      long long labels = 0;
      for (std::size_t position = batch.begin; position < batch.end; ++position) {
        label_begin.push_back(labels);
        labels += static_cast<long long>(labels_of(position));
      }
      launch(exec, search, batch, label_begin, dynamic);
      count_bytes(statistics, batch);
    }
    statistics.parts.push_back(
        {static_cast<std::int64_t>(end - begin), static_cast<std::int64_t>(plan.most_in_flight())});
    statistics.slots = std::max(statistics.slots, plan.most_in_flight());
    statistics.slot_bytes = std::max(statistics.slot_bytes, sizes.slot_bytes(most_labels));
    statistics.fill_bytes = std::max(statistics.fill_bytes, plan.slots * sizes.fill_bytes);
    return collect(exec, common, statistics);
  }

 private:
  std::vector<Ordinal> list_of(const typename Kernel::Launch& common) const {
    if (common.sources.extent(0) == 0) return {};
    const auto mirror = mirror_in<Kokkos::HostSpace>(common.sources);
    return {mirror.data(), mirror.data() + mirror.extent(0)};
  }

  /// Number of sources whose maxId and fill may be in unified memory.
  std::size_t limit_by_managed(std::size_t labels, std::size_t sources) {
    if (!sizes.status_elsewhere) return concurrent;
    const std::size_t each = labels * FrontierSizes::word_bytes + sizes.fill_bytes;
    const std::size_t available = ManagedBytes::available(budget) + (managed ? managed->size() : 0);
    const std::size_t fitting = available < Memory::loss(2) ? 0 : (available - Memory::loss(2)) / each;
    const std::size_t wanted = std::min(concurrent, sources);
    if (fitting < (options.concurrent > 0 ? wanted : 1))
      throw OutOfMemoryError("options: fill2.unified: maxId and fill of " + std::to_string(wanted) +
                                 " sources take " + std::to_string(wanted * each) + " bytes, but " +
                                 std::to_string(available) +
                                 " are free on the device, and no more may be managed; a smaller "
                                 "fill2.concurrent needs less",
                             wanted * each);
    return std::min(concurrent, fitting);
  }

  /// Arrays that all batches share; labels and queues of dynamic plans are set for each.
  Kernel arrays(const Kokkos::Cuda& exec, const typename Memory::Bytes& bytes, const FrontierPlan& plan,
                const typename Kernel::Launch& common, const Kokkos::View<uint2*, Kokkos::CudaSpace>& rows) {
    Memory arena(bytes);
    Kernel search{};
    search.common = common;
    search.rows = rows.data();
    search.counters = counters.data();
    search.fill_first = options.fill_first;
    search.label_begin = reinterpret_cast<long long*>(arena.cut_bytes(plan.slots * sizeof(long long)));
    search.left = reinterpret_cast<int*>(arena.cut_bytes(plan.slots * sizeof(int)));
    const std::size_t fill_words = static_cast<std::size_t>(Kernel::fill_words_for(n)) * plan.slots;
    const std::size_t line_words = static_cast<std::size_t>(Kernel::line_words_for(n)) * plan.slots;
    const std::size_t status_bytes = (fill_words + line_words + plan.region_labels) * sizeof(std::uint32_t);
    const bool elsewhere = sizes.status_elsewhere;
    if (elsewhere && (!managed || managed->size() < status_bytes)) {
      managed.reset();
      managed = std::make_shared<ManagedBytes>(exec, status_bytes, options.unified, budget);
    }
    char* const status = elsewhere ? managed->data() : arena.cut_bytes(status_bytes);
    search.fill = reinterpret_cast<std::uint32_t*>(status);
    search.lines = search.fill + fill_words;
    search.max_id = search.lines + line_words;
    check_cuda(
        cudaMemsetAsync(status, 0, (fill_words + line_words) * sizeof(std::uint32_t), exec.cuda_stream()),
        "clearing fill");
    m_rest = arena.cut_bytes(0);
    m_rest_bytes = static_cast<std::size_t>(bytes.data() + bytes.extent(0) - m_rest);
    if (plan.region_labels == 0) search.max_id = reinterpret_cast<unsigned*>(m_rest);
    return search;
  }

  /// Both external queues, for a 64th of all labels: the largest frontiers of circuits and grids are a
  /// hundredth. Pinning memory takes longer than most searches.
  void allocate_external(const Kokkos::Cuda& exec) {
    const std::size_t labels =
        static_cast<std::size_t>(n) * std::min(concurrent, static_cast<std::size_t>(n));
    external_capacity = std::clamp(labels / 64, min_external, max_external);
    const std::size_t bytes = 2 * external_capacity * sizeof(Frontier);
    external =
        options.external == Fill2External::peer ? peer_bytes(exec.cuda_device(), bytes) : pinned_bytes(bytes);
  }

  void launch(const Kokkos::Cuda& exec, Kernel& search, const FrontierBatch& batch,
              const std::vector<long long>& label_begin, bool dynamic) {
    const auto stream = exec.cuda_stream();
    const std::size_t slots = batch.end - batch.begin;
    const auto [from, to] = windows.open(batch.labels);
    check_cuda(cudaMemsetAsync(search.max_id + from, 0xff, (to - from) * sizeof(unsigned), stream),
               "resetting labels");
    check_cuda(cudaMemsetAsync(search.left, 0, slots * sizeof(int), stream), "clearing flags");
    check_cuda(cudaMemsetAsync(counters.data(), 0, sizeof(FrontierCounters::lengths), stream),
               "clearing the lengths of frontiers");
    check_cuda(cudaMemcpyAsync(const_cast<long long*>(search.label_begin), label_begin.data(),
                               slots * sizeof(long long), cudaMemcpyHostToDevice, stream),
               "copying the starts of labels");
    char* queue = m_rest;
    std::size_t room = m_rest_bytes;
    if (dynamic) {
      const std::size_t taken = (batch.labels * sizeof(unsigned) + 127) / 128 * 128;
      queue += taken;
      room -= std::min(room, taken);
      windows.overwritten_from(taken / sizeof(unsigned));
    }
    const std::size_t capacity = std::min(batch.capacity, room / (2 * sizeof(Frontier)));
    search.queues[0] = reinterpret_cast<Frontier*>(queue);
    search.queues[1] = search.queues[0] + capacity;
    search.external[0] = reinterpret_cast<Frontier*>(external.get());
    search.external[1] = search.external[0] + external_capacity;
    search.capacity = static_cast<long long>(capacity);
    search.external_capacity = static_cast<long long>(external_capacity);
    search.base = windows.base();
    search.first_position = static_cast<int>(batch.begin);
    search.slots = static_cast<int>(slots);
    // Two warps per source: few sources do not need all blocks, and a grid barrier of fewer is faster.
    const auto blocks = std::min(max_blocks, static_cast<unsigned>(slots / 4 + 1));
    void* arguments[] = {&search};
    check_launches();  // its blocks poll what earlier kernels set
    check_cuda(cudaLaunchCooperativeKernel(reinterpret_cast<const void*>(&fill2_frontiers<Kernel>), blocks,
                                           Kernel::threads, arguments, 0, stream),
               "launching fill2 by frontiers");
  }

  void count_bytes(Fill2Statistics& statistics, const FrontierBatch& batch) const {
    const std::size_t half = 2 * batch.capacity * sizeof(int);
    statistics.max_id_bytes = std::max(statistics.max_id_bytes, batch.labels * sizeof(unsigned));
    statistics.queue_bytes = std::max(statistics.queue_bytes, half);
    statistics.tracker_bytes = std::max(statistics.tracker_bytes, half);
    statistics.external_bytes = 2 * external_capacity * sizeof(Frontier);
    if (managed) statistics.managed_bytes = managed->size();
  }

  /// Adds up the counters of all batches. @returns whether no source is left
  bool collect(const Kokkos::Cuda& exec, const typename Kernel::Launch& common, Fill2Statistics& statistics) {
    FrontierCounters counted;
    check_cuda(cudaMemcpyAsync(&counted, counters.data(), sizeof counted, cudaMemcpyDeviceToHost,
                               exec.cuda_stream()),
               "reading the counters of fill2");
    exec.fence("lutra::symbolic: batches are done");
    if (common.work.extent(0) > 0) return true;
    statistics.levels += counted.levels;
    statistics.frontiers += counted.frontiers;
    statistics.largest_frontier = std::max<std::uint64_t>(statistics.largest_frontier, counted.largest);
    statistics.external_frontiers += counted.external;
    statistics.edges += counted.edges;
    statistics.revisits += counted.revisits;
    statistics.sources_left += counted.left;
    statistics.label_resets += windows.resets;
    windows.resets = 0;
    return counted.left == 0;
  }

  char* m_rest = nullptr;  ///< what is left of the chunk: queues, with labels before them if it is dynamic
  std::size_t m_rest_bytes = 0;
};

}  // namespace lutra::Impl

#endif
