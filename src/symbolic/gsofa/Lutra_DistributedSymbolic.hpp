// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_DISTRIBUTEDSYMBOLIC_HPP
#define LUTRA_DISTRIBUTEDSYMBOLIC_HPP

#include <cstdint>
#include <vector>

#include "Lutra_Communicator.hpp"
#include "Lutra_Gsofa.hpp"
#include "Lutra_Index.hpp"

namespace lutra {

/// Which rank searches from which row (GSoFa, section 5). Chunks of consecutive rows go to nodes in turn, and
/// the rows of a node's chunks to its ranks in turn: later rows take longer, and every rank has rows from all
/// parts of the matrix. A chunk has as many rows as a supernode may have: with fewer, every supernode would
/// cross a boundary; with more, shares would differ more.
///
///     2 nodes of 2 ranks, chunks of 4     row   0 1 2 3 │ 4 5 6 7 │ 8 9 …
///                                         node  0       │ 1       │ 0
///                                         rank  0 1 0 1 │ 2 3 2 3 │ 0 1 …
struct SourceSchedule {
  std::int64_t chunk = 128;
  int nodes = 1;
  int ranks_per_node = 1;

  int rank_of(std::int64_t row) const {
    const std::int64_t number = row / chunk, node = number % nodes;
    const std::int64_t position = number / nodes * chunk + row % chunk;  // among the node's rows
    return static_cast<int>(node * ranks_per_node + position % ranks_per_node);
  }
};

struct DistributedSymbolicOptions {
  SupernodeOptions supernodes = {};  ///< its `max_size` is the chunk
  /// Ranks that count as one node, a divisor of their number; 0: those of one host
  int ranks_per_node = 0;
  /// GSoFa's #C, the sources a rank searches from before their rows leave for the host, rounded up to its
  /// share of whole chunks (Eq. 1); 0: all of its rows
  std::int64_t sources_in_flight = 0;
  SymbolicOptions symbolic = {};  ///< `portable`; the method is fill2
};

/// L + U by rows, distributed over ranks, in host memory. The same on all ranks but for what is said to be a
/// rank's own.
struct DistributedLuPattern {
  Ordinal n = 0;
  SourceSchedule schedule;
  std::vector<Ordinal> rows;                 ///< own: the rank's rows, ascending
  std::vector<Offset> row_map;               ///< own: [rows + 1] in `entries`
  std::vector<Ordinal> entries;              ///< own: columns, ascending in each row
  Supernodes<Kokkos::HostSpace> supernodes;  ///< of all rows, with their lengths in L and U
  Offset nnz_l = 0;                          ///< of all rows, left of the diagonal
  Offset nnz_u = 0;                          ///< of all rows, on and right of the diagonal
  double search_seconds = 0;                 ///< own
  std::int64_t batches = 0;                  ///< own: searches, one after the other
};

/// fill2 by all ranks, each with a copy of A and a list of rows (`factorize_symbolic_rows`). Then four
/// numbers a row are exchanged: its lengths in L and U, the first column of U beyond the diagonal, and how
/// many entries of L lie next to the diagonal without a gap, of which supernodes of type T3 follow on every
/// rank:
///
///     row s joins the supernode r … s − 1 if U(s, :) is one shorter than U(s − 1, :) and L(s, r) is an
///     entry. In a supernode U(r, :) has all of r … s − 1, so that with L(s, r) row s has all of them too:
///     L(s, r) is an entry if and only if s − r or more of them lie next to the diagonal.
///
/// so that no rank asks another for an entry, and supernodes are those of `find_supernodes` on one rank.
///
/// Collective. A rank's rows leave for host memory, which no budget counts; where the memory of `exec` does
/// not suffice for a batch it is halved, down to one row.
/// @param pattern the same on all ranks; as for `factorize_symbolic`
/// @param budget  of the rank's memory of `exec`
/// @throws InputError and OutOfMemoryError on all ranks, as `factorize_symbolic_rows` and `find_supernodes`;
/// InputError where ranks do not have patterns of one size, or `ranks_per_node` does not divide their number;
/// what Communicator throws
template <class ExecutionSpace>
DistributedLuPattern factorize_symbolic_distributed(
    Communicator& comm, const ExecutionSpace& exec,
    const CsrPattern<Ordinal, Offset, typename ExecutionSpace::memory_space>& pattern,
    const MemoryBudget& budget = {}, const DistributedSymbolicOptions& options = {});

/// The whole pattern on one rank, and an empty one on the others; or on all ranks for `root` = −1.
/// Collective. Rows travel in messages of up to 32 million entries and go to their final positions on
/// arrival.
/// @throws OutOfMemoryError on all ranks
LuPattern<Kokkos::HostSpace> gather_pattern(Communicator& comm, const DistributedLuPattern& part,
                                            int root = 0);

}  // namespace lutra

#endif
