// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_FILL2OPTIONS_HPP
#define LUTRA_FILL2OPTIONS_HPP

#include <cstddef>
#include <string_view>

namespace lutra {

/// How fill2 searches from its source rows.
enum class Fill2Kernel {
  automatic,  ///< CUDA: groups, or warps where their marks fit in shared memory; elsewhere portable
  warps,      ///< CUDA: a warp per source, thresholds in ascending order (GSoFa, Figure 3b)
  groups,     ///< CUDA: a block per group of up to 32 sources
  frontiers,  ///< CUDA: many sources with one combined frontier queue and labels (GSoFa, Figure 6)
  portable    ///< Kokkos: a team per source, labels (GSoFa, Figure 6) and frontiers as bit sets
};

/// Where frontiers go that outgrow their queues on the device (GSoFa, section 6).
enum class Fill2External {
  none,  ///< nowhere: their sources are searched again by `warps`
  host,  ///< pinned host memory
  peer   ///< memory of another device
};

/// Whether maxId and fill are in unified memory ("End-to-End LU …", section 3.2; GSoFa, section 5).
enum class Fill2Unified {
  off,
  plain,      ///< pages move on demand
  advised,    ///< with the device as preferred location, and a mapping for it
  prefetched  ///< `advised`, and all pages are moved to the device beforehand
};

/// Options of fill2, of its kernels and of their memory. None changes the pattern. An option that the kernel
/// does not have is an InputError unless it has its default.
struct Fill2Options {
  Fill2Kernel kernel = Fill2Kernel::automatic;
  int concurrent = 0;  ///< maximum number of sources in flight, #C in GSoFa; 0: what fills the device
  std::size_t chunk_bytes = 0;  ///< maximum memory for all sources in flight; 0: by the budget
  /// frontiers, portable: Algorithm 4 of "End-to-End LU …". Rows before and from the first one whose search
  /// has half of the most frontiers are two parts, each with its own number of concurrent sources.
  bool two_parts = false;
  bool window_labels = true;   ///< frontiers, portable: labels of older sources count as unset; else labels
                               ///< are reset for each source
  bool remove_bubbles = true;  ///< labels sized by the source, or by the last one of a range of sources
  bool fill_first = false;     ///< frontiers: tests fill before maxId (line 9.5 of GSoFa's Figure 6)
  /// frontiers: one chunk, whose part that labels leave is the queues'; else each has memory of its own, as
  /// with unified memory
  bool dynamic = true;
  /// frontiers: length of a queue on the device per label of the sources in flight; with less than 1 they
  /// may outgrow it
  double queue_share = 1;
  Fill2External external = Fill2External::none;
  Fill2Unified unified = Fill2Unified::off;
  bool shared_marks = true;  ///< warps: marks in shared memory if enough fit
  bool keep_rows = true;     ///< the fill pass copies rows that the count pass kept
  bool last_first = true;    ///< starts the rows that take longest first

  bool operator==(const Fill2Options&) const = default;
};

/// Name on the command line.
constexpr std::string_view name_of(Fill2Kernel kernel) {
  switch (kernel) {
    case Fill2Kernel::warps:
      return "warps";
    case Fill2Kernel::groups:
      return "groups";
    case Fill2Kernel::frontiers:
      return "frontiers";
    case Fill2Kernel::portable:
      return "portable";
    default:
      return "auto";
  }
}

/// Checks ranges, and that the kernel has every option that differs from its default.
/// @param on_cuda whether the execution space is CUDA
/// @throws InputError
void check_fill2_options(const Fill2Options& options, bool on_cuda);

}  // namespace lutra

#endif
