// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_DISTRIBUTEDTRIANGLES_HPP
#define LUTRA_DISTRIBUTEDTRIANGLES_HPP

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "Lutra_Communicator.hpp"
#include "Lutra_DeviceModel.hpp"
#include "Lutra_TriangularSolver.hpp"

namespace lutra {

/// A P × Q grid of ranks over which the blocks of a matrix are distributed cyclically: block (I, K) belongs
/// to row I mod P and column K mod Q of the grid. In a triangular solve x(K) is broadcast down a column of
/// the grid, and partial sums of x(I) are reduced along a row of it: P × 1 has only broadcasts, 1 × P only
/// reductions.
///
///     2 × 2     K  0 1 2 3
///           I 0    0              ranks by rows of the grid
///             1    2 3
///             2    0 1 0
///             3    2 3 2 3
struct ProcessGrid {
  int rows = 1;
  int columns = 1;

  int size() const { return rows * columns; }
  /// The rank that owns block (I, K).
  int rank_of(std::size_t I, std::size_t K) const {
    const auto p = I % static_cast<std::size_t>(rows), q = K % static_cast<std::size_t>(columns);
    return static_cast<int>(p * static_cast<std::size_t>(columns) + q);
  }
  bool operator==(const ProcessGrid&) const = default;
};

/// "2x3"
inline std::string name_of(const ProcessGrid& grid) {
  return std::to_string(grid.rows) + "x" + std::to_string(grid.columns);
}

/// All grids of a number of ranks, the one with most rows first.
inline std::vector<ProcessGrid> grids_of(int ranks) {
  std::vector<ProcessGrid> grids;
  for (int columns = 1; columns <= ranks; ++columns) {
    if (ranks % columns == 0) grids.push_back({ranks / columns, columns});
  }
  return grids;
}

/// One solve with a triangle.
struct TriangleSweep {
  TriangleSide side = TriangleSide::lower;
  DiagonalKind diagonal = DiagonalKind::stored;
};

/// One rank's part of a square matrix in any distribution, for example of complete or incomplete factors:
/// entries by row and column, each entry on one rank.
struct DistributedPattern {
  std::int64_t n = 0;                           ///< order of the whole matrix; the same on all ranks
  std::span<const std::int64_t> rows, columns;  ///< rows and columns of this rank's entries
  std::vector<TriangleSweep> sweeps;       ///< successive solves; each ignores entries of the other triangle
  std::span<const std::int64_t> rhs_rows;  ///< row of each element of this rank's right-hand sides
  std::span<const std::int64_t> solution_rows;  ///< row of each element of this rank's solutions
};

struct DistributedOptions {
  /// Grid of all ranks, or of the first ones; the others only own rows of B and X. 0 × 0: the model selects
  /// the fastest grid for one right-hand side, possibly 1 × 1; DistributedLU solves without a grid.
  ProcessGrid grid{0, 0};
  DistributedCosts costs = host_device_model().trisolve.distributed;  ///< costs of the performance model
  /// Sums follow one order, so that results on one grid are the same bit for bit from run to run. Otherwise
  /// hosts sum in the order in which messages arrive. Devices do so with `peer` and `nvshmem`
  /// (two kernels, WAIT and SOLVE), and reject false with `mpi`.
  bool deterministic = true;
  int max_width = 64;    ///< most rows of a block
  int max_columns = 16;  ///< right-hand sides solved at a time
  /// Kernels of Kokkos::DefaultExecutionSpace process rows; otherwise the rank's host thread does.
  bool on_device = false;
  /// Transport of messages: `mpi`, sent by hosts, or `peer` or `nvshmem`, put by kernels of devices: by one
  /// persistent kernel per solve, or without `deterministic` by WAIT and SOLVE on two streams.
  CommBackend backend = CommBackend::mpi;
};

/// Predicted seconds of a solve with one right-hand side.
struct GridPrediction {
  ProcessGrid grid;
  double seconds = 0;
};

/// Collective. Predictions for a pattern on some grids, from the blocks of all ranks' entries
/// (`simulate_solve`): the sum of all sweeps, plus the exchange of B and X. Identical on all ranks.
/// @throws the exceptions of the constructor of DistributedTriangles
std::vector<GridPrediction> predict_grids(Communicator& comm, const DistributedPattern& pattern,
                                          const DistributedOptions& options,
                                          const std::vector<ProcessGrid>& grids);

/// Entries of a matrix on one rank.
template <class Scalar>
struct DistributedEntries {
  std::vector<std::int64_t> rows, columns;
  std::vector<Scalar> values;
};

/// Statistics of one rank.
struct RankStatistics {
  std::int64_t rows = 0, blocks = 0, entries = 0;
  std::int64_t messages = 0, message_bytes = 0;  ///< sent to other ranks, over all solves
  double flops = 0;                              ///< over all solves
  double solve_seconds = 0, wait_seconds = 0;    ///< over all solves; waiting is included in solve_seconds
  /// Rows of L + U that the rank found, and the edges of A that it followed for them, in the last symbolic
  /// factorization by several ranks; empty if there was none
  std::optional<std::int64_t> sources{}, edges{};
  std::optional<double> search_seconds{};

  void copy_search_to(RankStatistics& other) const {
    other.sources = sources;
    other.edges = edges;
    other.search_seconds = search_seconds;
  }
};

/// X = Tₖ⁻¹ ⋯ T₁⁻¹·B on a grid of ranks, message-driven: section 3 of N. Ding, Y. Liu, S. Williams and X. S.
/// Li, A Message-Driven, Multi-GPU Parallel Sparse Triangular Solver (SIAM ACDA 2021), on hosts and devices.
///
/// Rows are partitioned into blocks, and blocks (I, K) are distributed block-cyclically. The owner of (K, K)
/// computes x(K) once all contributions to its row have arrived, and sends it down a binary tree of the ranks
/// that have blocks in column K. Each of them multiplies its blocks by x(K), and sends its completed sum for
/// a row up a binary tree to the owner of the row's diagonal block. A rank processes whatever is ready, first
/// columns first, and waits only if nothing is; the sweeps of L and U overlap. A solve ends with a barrier,
/// before which no slot is reused.
///
/// With `on_device`, values, slots and signals are in the memory of the rank's device. There one kernel
/// processes rows as their blocks arrive (`peer`, `nvshmem`), or the host launches kernels over the rows that
/// are ready (`mpi`). Without `deterministic`, columns are worked as in the paper's Algorithm 1: a kernel
/// SOLVE with a block per column, beside a kernel WAIT that receives (`peer`, `nvshmem`).
///
/// Departures from the paper: a host takes messages from one queue instead of polling flags; sums follow a
/// fixed order by default; any number of right-hand sides at a time.
///
/// Every call is collective, errors included: all ranks throw the same exception. Instantiated for all
/// scalars of the library.
template <class Scalar>
class DistributedTriangles {
 public:
  /// Sends entries to the ranks that own their blocks, and plans all messages. Memory per rank: its entries,
  /// 8n bytes, and 16 bytes per block of the whole matrix.
  /// @throws InputError naming the row for entries out of range or duplicate, rows without a diagonal entry,
  ///         a grid of more ranks than exist, a row of X or B owned by no rank or by several, a backend that
  ///         is not built or does not match on_device; OutOfMemoryError
  DistributedTriangles(Communicator& comm, const DistributedPattern& pattern,
                       const DistributedOptions& options = {});
  /// Does not wait; `close` frees what other ranks may still write to.
  ~DistributedTriangles();
  /// Collective. Must be the last call.
  void close();

  /// @param values of the pattern's entries; call again whenever they change
  void set_values(std::span<const Scalar> values);
  /// @param B [rhs_rows × k] by columns
  /// @param X [solution_rows × k] by columns
  /// @throws CallOrderError without values; TimeoutError on all ranks if a kernel timed out, after which the
  ///         object is unusable; RemoteError if a rank failed during the solve: X is undefined and the
  ///         communicator must not be used any more
  void solve(std::span<const Scalar> B, std::span<Scalar> X, std::size_t k = 1);

  const ProcessGrid& grid() const noexcept;
  /// Predictions of the grids among which the model chose, fastest first, or of the given grid; empty on one
  /// rank.
  const std::vector<GridPrediction>& predictions() const noexcept;
  /// Entries that this rank received, over all sweeps, with their values. Triangles of the transposed matrix
  /// are built from them.
  DistributedEntries<Scalar> entries() const;
  /// Statistics of this rank.
  RankStatistics statistics() const;

 private:
  struct State;
  std::unique_ptr<State> m_state;
};

}  // namespace lutra

#endif
