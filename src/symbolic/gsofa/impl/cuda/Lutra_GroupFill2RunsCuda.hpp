// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_GROUPFILL2RUNSCUDA_HPP
#define LUTRA_GROUPFILL2RUNSCUDA_HPP

#include <algorithm>
#include <cstdint>

#include "Lutra_Arena.hpp"
#include "Lutra_CheckCuda.hpp"
#include "Lutra_GroupFill2RowsCuda.hpp"
#include "Lutra_GroupFill2SearchCuda.hpp"
#include "Lutra_MemoryBudget.hpp"

namespace lutra::Impl {

/// The search by groups, as used by `Fill2LauncherCuda`.
struct GroupFill2Runs {
  using Kernel = GroupFill2;
  using Memory = Arena<Kokkos::CudaSpace>;
  static constexpr std::size_t size = SourceGroups::size;
  static constexpr std::int64_t max_rows = std::int64_t(1) << 22;  ///< shared memory has two bits per line

  Kernel kernel;
  std::size_t shared_bytes = 0;
  std::size_t running = 0;  ///< number of concurrent blocks

  void prepare(const Kokkos::Cuda& exec, std::int64_t n, MemoryReservation& scratch) {
    shared_bytes = sizeof(typename Kernel::Shared) +
                   2 * static_cast<std::size_t>(Kernel::summary_words_for(n)) * sizeof(std::uint32_t);
    check_cuda(cudaFuncSetAttribute(fill2_groups<Kernel>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                    static_cast<int>(shared_bytes)),
               "setting the shared memory of fill2");
    int blocks = 0;
    check_cuda(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, fill2_groups<Kernel>, Kernel::threads,
                                                             shared_bytes),
               "asking how many blocks of fill2 run at once");
    const auto processors = static_cast<std::size_t>(exec.cuda_device_prop().multiProcessorCount);
    running = static_cast<std::size_t>(blocks) * processors;
    kernel.abandoned =
        scratch.allocate<Kokkos::View<int, Kokkos::CudaSpace>>(exec, "lutra::symbolic::abandoned");
  }

  static std::size_t far_length(std::int64_t n) { return static_cast<std::size_t>(n) / 4 + 256; }
  static std::size_t slot_bytes(std::int64_t n) {
    const auto words = Kernel::words_for(n);
    return 2 * words * sizeof(std::uint32_t) + 2 * far_length(n) * sizeof(uint2);
  }

  /// Bytes usable by all concurrent blocks.
  std::size_t bytes(std::int64_t n, std::int64_t sources) const {
    return slots_wanted(sources) * slot_bytes(n) + bytes_beside(n);
  }
  /// Number of slots that fit in `bytes`. A single one is worthwhile: the same bytes hold three slots of
  /// warps.
  std::size_t slots(std::int64_t n, std::size_t bytes, std::int64_t sources) const {
    const std::size_t fitting = bytes < bytes_beside(n) ? 0 : (bytes - bytes_beside(n)) / slot_bytes(n);
    return std::min(slots_wanted(sources), fitting);
  }
  std::size_t slots_wanted(std::int64_t sources) const {
    return std::min(running, static_cast<std::size_t>(SourceGroups{sources}.count()));
  }
  static std::size_t bytes_beside(std::int64_t n) {
    return table_rows(n) * Kernel::width * sizeof(int) + Memory::loss(8);
  }

  /// Rows of the table, padded: lanes past the last vertex of a line also load rows, without using them.
  static std::size_t table_rows(std::int64_t n) {
    return static_cast<std::size_t>(n + Kernel::lanes - 1) / Kernel::lanes * Kernel::lanes;
  }

  /// Copies rows of A to a table of fixed width, so that an edge can be loaded as soon as its vertex is
  /// known.
  template <class Pattern>
  void fill_table(const Kokkos::Cuda& exec, Memory& arena, const Pattern& pattern) {
    constexpr int width = Kernel::width;
    kernel.table = arena.cut<typename Kernel::Table>(table_rows(pattern.n_rows), std::size_t(width));
    kernel.none = Kernel::lines_for(pattern.n_rows) * Kernel::lanes;
    kernel.longer = kernel.none + 1;
    const auto table = kernel.table;
    const int none = kernel.none, longer = kernel.longer;
    Kokkos::parallel_for(
        "lutra::symbolic::table_of_rows", Kokkos::RangePolicy<Kokkos::Cuda>(exec, 0, pattern.n_rows),
        KOKKOS_LAMBDA(const std::int64_t i) {
          const auto begin = pattern.row_map(i), end = pattern.row_map(i + 1);
          int used = 0;
          for (auto e = begin; e < end && used <= width; ++e) {
            if (pattern.entries(e) == i) continue;
            if (used < width) table(i, used) = static_cast<int>(pattern.entries(e));
            ++used;
          }
          if (used > width) {
            for (int k = 0; k < width - 1; ++k) table(i, k) = static_cast<int>(pattern.entries(begin + k));
            table(i, width - 1) = longer;
          }
          for (; used < width; ++used) table(i, used) = none;
        });
  }

  /// Searches the sources of a launch; true if all their rows are found.
  bool run(const Kokkos::Cuda& exec, const typename Memory::Bytes& bytes, std::size_t slots,
           const typename Kernel::Launch& common) {
    Memory arena(bytes);
    fill_table(exec, arena, common.pattern);
    const auto words = Kernel::words_for(common.pattern.n_rows);
    kernel.visited = arena.cut<typename Kernel::Words>(slots, words);
    kernel.lower = arena.cut<typename Kernel::Words>(slots, words);
    kernel.far = arena.cut<typename Kernel::Levels>(slots, 2 * far_length(common.pattern.n_rows));
    kernel.common = common;
    Kokkos::deep_copy(exec, kernel.visited, std::uint32_t(0));
    Kokkos::deep_copy(exec, kernel.abandoned, 0);
    fill2_groups<<<static_cast<unsigned>(slots), Kernel::threads, shared_bytes, exec.cuda_stream()>>>(kernel);
    check_cuda(cudaGetLastError(), "launching fill2 by groups");
    int left = 0;
    Kokkos::deep_copy(exec, left, kernel.abandoned);
    exec.fence("lutra::symbolic: groups are done");
    return left == 0;
  }
};

}  // namespace lutra::Impl

#endif
