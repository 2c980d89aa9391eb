// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_DISTRIBUTEDSYMBOLIC_HPP
#define LUTRA_DISTRIBUTEDSYMBOLIC_HPP

#include <cstdint>
#include <vector>

#include "Lutra_Communicator.hpp"
#include "Lutra_Gsofa.hpp"
#include "Lutra_Index.hpp"

namespace lutra {

/// Assignment of source rows to ranks (GSoFa, section 5). Chunks of consecutive rows are dealt cyclically to
/// nodes, and the rows of a node's chunks cyclically to its ranks: later rows take longer, so every rank gets
/// rows from all parts of the matrix. A chunk has the maximum number of rows of a supernode: with smaller
/// chunks every supernode would cross a boundary; with larger ones the ranks' loads would differ more.
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
  SupernodeOptions supernodes = {};  ///< `max_size` is also the chunk size
  /// Ranks per node, a divisor of the number of ranks; 0: the ranks of one host
  int ranks_per_node = 0;
  /// GSoFa's #C: sources a rank searches before their rows are copied to the host, rounded up to its share of
  /// whole chunks (Eq. 1); 0: all of its rows
  std::int64_t sources_in_flight = 0;
  SymbolicOptions symbolic = {};  ///< `portable` and `fill2`; the method is fill2
};

/// L + U by rows, distributed over ranks, in host memory. Members marked "own" belong to this rank; the
/// others are the same on all ranks.
struct DistributedLuPattern {
  Ordinal n = 0;
  SourceSchedule schedule;
  std::vector<Ordinal> rows;                 ///< own: the rank's rows, ascending
  std::vector<Offset> row_map;               ///< own: [rows + 1] offsets into `entries`
  std::vector<Ordinal> entries;              ///< own: columns, ascending in each row
  Supernodes<Kokkos::HostSpace> supernodes;  ///< of all rows, with the rows' lengths in L and U
  Offset nnz_l = 0;                          ///< entries left of the diagonal, all rows
  Offset nnz_u = 0;                          ///< entries on and right of the diagonal, all rows
  double search_seconds = 0;                 ///< own
  std::int64_t edges = 0;                    ///< own: edges of A that the searches followed
  std::int64_t batches = 0;                  ///< own: number of successive searches
};

/// fill2 by all ranks, each with a copy of A and a list of rows (`factorize_symbolic_rows`). The ranks then
/// exchange four numbers per row: its lengths in L and U, the first column of U right of the diagonal, and
/// the number of entries of L adjacent to the diagonal without a gap. From these every rank derives the
/// supernodes of type T3:
///
///     row s joins the supernode r … s − 1 if U(s, :) is one shorter than U(s − 1, :) and L(s, r) is an
///     entry. In a supernode U(r, :) has all of r … s − 1, so that with L(s, r) row s has all of them too:
///     L(s, r) is an entry if and only if s − r or more entries are adjacent to the diagonal.
///
/// Hence no rank requests entries of another, and supernodes equal those of `find_supernodes` on one rank.
///
/// Collective. A rank's rows are copied to host memory, which no budget counts; a batch that does not fit the
/// memory of `exec` is halved, down to one row.
/// @param pattern the same on all ranks; as for `factorize_symbolic`
/// @param budget  of the rank's memory of `exec`
/// @throws InputError and OutOfMemoryError on all ranks, as `factorize_symbolic_rows` and `find_supernodes`;
/// InputError if the ranks' patterns differ in size, or if `ranks_per_node` does not divide the number of
/// ranks; errors of Communicator
template <class ExecutionSpace>
DistributedLuPattern factorize_symbolic_distributed(
    Communicator& comm, const ExecutionSpace& exec,
    const CsrPattern<Ordinal, Offset, typename ExecutionSpace::memory_space>& pattern,
    const MemoryBudget& budget = {}, const DistributedSymbolicOptions& options = {});

/// Rows of L + U where a rank has found them. `nnz_l` and `nnz_u` are the same on all ranks.
template <class MemorySpace>
struct RowsOfRank {
  Ordinal n = 0;
  SourceSchedule schedule;
  std::vector<Ordinal> rows;      ///< the rank's rows, ascending
  SourceRows<MemorySpace> found;  ///< in their order
  Offset nnz_l = 0;               ///< entries left of the diagonal, all rows
  Offset nnz_u = 0;               ///< entries on and right of the diagonal, all rows
};

/// The same search, all rows of a rank at a time, for who uses the rows where they are: nothing is copied to
/// hosts, and no supernodes are found. Collective.
/// @param budget of the rank's memory of `exec`, pattern included
/// @throws as `factorize_symbolic_distributed`; OutOfMemoryError on all ranks
template <class ExecutionSpace>
RowsOfRank<typename ExecutionSpace::memory_space> find_rows_of_rank(
    Communicator& comm, const ExecutionSpace& exec,
    const CsrPattern<Ordinal, Offset, typename ExecutionSpace::memory_space>& pattern,
    const MemoryBudget& budget = {}, const DistributedSymbolicOptions& options = {});

/// Gathers the whole pattern on one rank, with an empty one on the others; or on all ranks for `root` = −1.
/// Collective. Rows are sent in messages of up to 32 million entries, each of which is copied to the final
/// positions of its rows.
/// @param budget of the gathered pattern, on this rank
/// @throws OutOfMemoryError on all ranks
LuPattern<Kokkos::HostSpace> gather_pattern(Communicator& comm, const DistributedLuPattern& part,
                                            int root = 0, const MemoryBudget& budget = {});

}  // namespace lutra

#endif
