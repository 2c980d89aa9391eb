// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_DISTRIBUTEDTRIANGLES_HPP
#define LUTRA_DISTRIBUTEDTRIANGLES_HPP

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "Lutra_Communicator.hpp"
#include "Lutra_DeviceModel.hpp"
#include "Lutra_ProcessGrid.hpp"
#include "Lutra_SymmetricMemory.hpp"
#include "Lutra_TriangularOptions.hpp"

namespace lutra {

/// One solve with a triangle.
struct TriangleSweep {
  TriangleSide side = TriangleSide::lower;
  DiagonalKind diagonal = DiagonalKind::stored;
};

/// What one rank hands over of a square matrix that is distributed in any way, of complete or incomplete
/// factors or anything else: entries by row and column, each entry on one rank.
struct DistributedPattern {
  std::int64_t n = 0;                           ///< rows of the whole matrix; the same on all ranks
  std::span<const std::int64_t> rows, columns;  ///< of this rank's entries
  std::vector<TriangleSweep> sweeps;       ///< one after another, each ignoring entries of the other side
  std::span<const std::int64_t> rhs_rows;  ///< row of each element of this rank's right-hand sides
  std::span<const std::int64_t> solution_rows;  ///< row of each element of this rank's solutions
};

struct DistributedOptions {
  /// Of all ranks or of the first ones, others then only have rows of B and X; 0 × 0: the one that the model
  /// predicts to be fastest for one right-hand side, 1 × 1 among them.
  ProcessGrid grid{0, 0};
  DistributedCosts costs = host_device_model().trisolve.distributed;  ///< of the model
  /// Sums are made in one order, so that results are the same bit by bit from run to run with one grid; else
  /// by hosts in the order in which messages come. Devices know one order only: false is refused there.
  bool deterministic = true;
  int max_width = 64;    ///< rows of a block
  int max_columns = 16;  ///< right-hand sides solved at a time
  /// Rows are worked by kernels of Kokkos::DefaultExecutionSpace; else by the rank's host thread.
  bool on_device = false;
  /// How messages travel: `mpi`, put by hosts, or `peer`, put by one persistent kernel a solve, on devices.
  CommBackend backend = CommBackend::mpi;
};

/// Seconds that the model predicts of a solve with one right-hand side.
struct GridPrediction {
  ProcessGrid grid;
  double seconds = 0;
};

/// Collective. What the model predicts for a pattern on some grids, from the blocks of all ranks' entries
/// (`simulate_solve`): all sweeps one after the other, and the ways of B and X. The same on all ranks.
/// @throws what the constructor of DistributedTriangles does
std::vector<GridPrediction> predict_grids(Communicator& comm, const DistributedPattern& pattern,
                                          const DistributedOptions& options,
                                          const std::vector<ProcessGrid>& grids);

/// Entries of a matrix on one rank.
template <class Scalar>
struct DistributedEntries {
  std::vector<std::int64_t> rows, columns;
  std::vector<Scalar> values;
};

/// What one rank has and has done.
struct RankStatistics {
  std::int64_t rows = 0, blocks = 0, entries = 0;
  std::int64_t messages = 0, message_bytes = 0;  ///< put to other ranks, of all solves
  double flops = 0;                              ///< of all solves
  double solve_seconds = 0, wait_seconds = 0;    ///< of all solves; waiting is part of the former
};

/// X = Tₖ⁻¹ ⋯ T₁⁻¹·B on a grid of ranks, driven by messages: section 3 of N. Ding, Y. Liu, S. Williams and X.
/// S. Li, A Message-Driven, Multi-GPU Parallel Sparse Triangular Solver (SIAM ACDA 2021), on hosts and
/// devices.
///
/// Rows are cut into blocks, and blocks (I, K) belong to ranks block-cyclically. The owner of (K, K) finds
/// x(K) once all contributions to its row have come, and sends it down a binary tree of the ranks that have
/// blocks in column K; each of them multiplies its blocks with x(K), and sends its sum for a row, when it is
/// complete, up a binary tree to the owner of the row's diagonal block. A rank works on whatever is ready,
/// first columns first, and waits only if nothing is; the sweeps of L and U overlap. A solve ends with a
/// barrier, before which no slot is written again.
///
/// With `on_device` values, slots and signals are in the memory of the rank's device, where one kernel takes
/// rows as their blocks come in (`peer`), or the host starts kernels over the rows that are ready (`mpi`).
///
/// Departures from the paper: a host takes messages out of one queue instead of polling flags; sums gather in
/// a fixed order by default; any number of right-hand sides at a time.
///
/// Every call is collective, errors included: all ranks throw the same. Instantiated for all scalars of the
/// library.
template <class Scalar>
class DistributedTriangles {
 public:
  /// Sends entries to the ranks that own their blocks, and plans all messages. A rank needs memory for its
  /// entries, for 8n bytes and for 16 bytes a block of the whole matrix.
  /// @throws InputError naming the row for entries out of range or standing twice, rows without diagonal
  /// entry, a
  ///         grid of more ranks than there are, a row of X or B that no rank or more than one has, a backend
  ///         that is not built or not one of where rows are worked; OutOfMemoryError
  DistributedTriangles(Communicator& comm, const DistributedPattern& pattern,
                       const DistributedOptions& options = {});
  /// Waits for nothing; `close` frees what others may still write to.
  ~DistributedTriangles();
  /// Collective. No call after it.
  void close();

  /// @param values of the pattern's entries, again whenever they change
  void set_values(std::span<const Scalar> values);
  /// @param B [rhs_rows × k] by columns @param X [solution_rows × k] by columns
  /// @throws CallOrderError without values; TimeoutError on all ranks where a kernel gave up waiting, after
  ///         which the object is of no use; RemoteError where a rank failed during the solve: X is undefined
  /// and
  ///         the communicator must not be used any more
  void solve(std::span<const Scalar> B, std::span<Scalar> X, std::size_t k = 1);

  const ProcessGrid& grid() const noexcept;
  /// Of the grids among which the model chose, fastest first, or of the one that was given; empty on one
  /// rank.
  const std::vector<GridPrediction>& predictions() const noexcept;
  /// The entries that this rank has got, of all sweeps, with their values: what triangles of the transposed
  /// matrix are made of.
  DistributedEntries<Scalar> entries() const;
  /// Of this rank.
  RankStatistics statistics() const;

 private:
  struct State;
  std::unique_ptr<State> m_state;
};

}  // namespace lutra

#endif
