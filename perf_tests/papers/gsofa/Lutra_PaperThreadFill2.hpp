// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_PAPERTHREADFILL2_HPP
#define LUTRA_PAPERTHREADFILL2_HPP

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cstdint>

#include "Lutra_PerfOrdered.hpp"

namespace lutra::Perf {

/// The baseline of the paper's Figure 10: fill2 as in Figure 3b, a thread a source. It finds the counts of
/// the rows only, in one pass, which favours it.
template <class Space>
struct ThreadFill2 {
  using Memory = typename Space::memory_space;
  using Table = Kokkos::View<int**, Kokkos::LayoutRight, Memory>;

  CsrPattern<int, std::int64_t, Memory> A;
  Table fill;                               ///< (thread, vertex) last source that reached it; −1 at first
  Table queue, new_queue;                   ///< (thread, vertices)
  Kokkos::View<std::int64_t, Memory> next;  ///< sources taken
  Kokkos::View<std::int64_t, Memory> nnz;   ///< of L + U

  /// @param threads sources at a time
  ThreadFill2(const CsrPattern<int, std::int64_t, Memory>& pattern, std::int64_t threads)
      : A(pattern),
        fill("fill", threads, pattern.n_rows),
        queue("frontier_queue", threads, pattern.n_rows),
        new_queue("new_frontier_queue", threads, pattern.n_rows),
        next("next"),
        nnz("nnz") {}

  /// Threads whose arrays fit in `bytes`.
  static std::int64_t threads_for(std::int64_t n, double bytes) {
    const auto fitting = static_cast<std::int64_t>(bytes / (12.0 * static_cast<double>(n)));
    return std::max<std::int64_t>(1, std::min({n, fitting, std::int64_t(Space().concurrency())}));
  }

  /// @returns nnz(L + U)
  std::int64_t run() const {
    Kokkos::deep_copy(fill, -1);
    Kokkos::deep_copy(next, 0);
    Kokkos::deep_copy(nnz, 0);
    Kokkos::parallel_for("lutra::perf::thread_fill2",
                         Kokkos::RangePolicy<Space>(0, static_cast<std::int64_t>(fill.extent(0))), *this);
    std::int64_t result = 0;
    Kokkos::deep_copy(result, nnz);
    return result;
  }

  KOKKOS_FUNCTION void operator()(const std::int64_t thread) const {
    std::int64_t found = 0;
    for (auto source = Kokkos::atomic_fetch_add(&next(), std::int64_t(1)); source < A.n_rows;
         source = Kokkos::atomic_fetch_add(&next(), std::int64_t(1)))
      found += search(thread, static_cast<int>(source));
    Kokkos::atomic_add(&nnz(), found);
  }

  /// Figure 3b, line by line. @returns the entries of the row
  KOKKOS_FUNCTION std::int64_t search(std::int64_t thread, int source) const {
    int* const mine = &fill(thread, 0);
    int* now = &queue(thread, 0);
    int* later = &new_queue(thread, 0);
    std::int64_t found = 1;
    mine[source] = source;
    for (auto p = A.row_map(source); p < A.row_map(source + 1); ++p) {
      if (mine[A.entries(p)] == source) continue;
      mine[A.entries(p)] = source;
      ++found;
    }
    for (int threshold = 0; threshold < source; ++threshold) {
      if (mine[threshold] != source) continue;
      int size = 0, new_size = 0;
      now[size++] = threshold;
      while (size > 0) {
        for (int f = 0; f < size; ++f) {
          for (auto p = A.row_map(now[f]); p < A.row_map(now[f] + 1); ++p) {
            const int neighbour = A.entries(p);
            if (mine[neighbour] == source) continue;
            mine[neighbour] = source;
            if (neighbour > threshold) {
              ++found;
            } else {
              later[new_size++] = neighbour;
            }
          }
        }
        int* const swapped = now;
        now = later;
        later = swapped;
        size = new_size;
        new_size = 0;
      }
    }
    return found;
  }
};

}  // namespace lutra::Perf

#endif
