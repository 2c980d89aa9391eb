// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_REPORT_HPP
#define LUTRA_REPORT_HPP

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "Lutra_Config.hpp"  // LUTRA_VERSION, LUTRA_VERSION_MAJOR, …: version of the headers
#include "Lutra_Error.hpp"
#include "Lutra_MemoryForecast.hpp"

namespace lutra {

/// Values resolved for `auto` options, with the command line's names.
struct Choice {
  std::string method, engine, ordering, matching, symbolic, pivot, trisolve, precond;
  std::string device_model;  ///< name of the device model used
  std::string why;           ///< one sentence for each choice made by the library
};

/// Seconds of the last run of each stage; empty if it has not run or threw an exception.
struct StageTimes {
  std::optional<double> read, matching, ordering, symbolic, levelization, numeric, refactor, solve, refine,
      total;
  /// Checks and messages that distribute rows of A, B and X over ranks; several ranks only
  std::optional<double> distribution;
  std::optional<double>
      condition;  ///< condition estimates since the last factorization; part of numeric or solve
};

/// Seconds predicted by the device model for the chosen ordering; empty if the caller chose it.
struct PredictedTimes {
  std::optional<double> ordering;       ///< all orderings tried
  std::optional<double> analysis;       ///< stages after ordering, including the extra work of a first
                                        ///< factorization
  std::optional<double> factorization;  ///< new values on a known pattern
  std::optional<double> solve;          ///< one right-hand side
  std::optional<double> over_measured;  ///< predicted over measured time of the first analysis and
                                        ///< factorization
};

/// Size of the factors. L excludes its unit diagonal, U includes its diagonal.
struct FactorCounts {
  std::optional<std::int64_t> nnz_l, nnz_u;
  std::optional<double> fill_ratio;        ///< (nnz_l + nnz_u) / nnz(A)
  std::optional<double> flops;             ///< multiplications, additions and divisions of one factorization
  std::optional<std::int64_t> supernodes;  ///< empty if the engine has none
  /// Zeros stored beside L + U, and bytes of panels, lists and maps; LU by supernodes of type T3 only
  std::optional<std::int64_t> supernode_zeros, supernode_bytes;
  std::optional<std::int64_t> levels;       ///< levels of the column dependency graph
  std::optional<std::int64_t> tree_height;  ///< vertices on the longest path of the elimination tree, if the
                                            ///< ordering was chosen by it
};

/// Pivot statistics of the last factorization.
struct PivotCounts {
  std::optional<std::int64_t> perturbed, delayed, two_by_two, zero;
  std::optional<std::int64_t> interchanged;  ///< pivots taken from other rows; threshold pivoting only
  std::optional<double> growth;              ///< max |entry of L\U| / max |entry of the scaled matrix|
  std::optional<double> shift;  ///< shift of the diagonal, relative to max |entry of the row|; incomplete
                                ///< factors only
  /// LDLᵀ: where the pivots come from. "diagonal", "pairs" or "interchanges": the attempt with pivots in
  /// place that was kept (docs/ldlt-cuda.md); "delays": threshold pivots, delayed to the parent front where
  /// needed. Empty if pivots were neither tried in place nor chosen by a threshold.
  std::string attempt;
};

/// Numbers of eigenvalues by sign, if the factorization provides them.
struct Inertia {
  std::optional<std::int64_t> positive, negative, zero;
};

/// Errors of the last solution; maximum over the right-hand sides.
struct SolveErrors {
  std::optional<double> backward_normwise;       ///< ‖r‖∞ / (‖A‖∞‖x‖∞ + ‖b‖∞)
  std::optional<double> backward_componentwise;  ///< maxᵢ |r|ᵢ / (|A||x| + |b|)ᵢ
  std::optional<double> forward;                 ///< ‖x − x*‖∞ / ‖x*‖∞ if x* is known
  /// Lower bound, usually tight, of Skeel's condition number of the scaled matrix; estimated at most once per
  /// factorization; empty if not estimated
  std::optional<double> condition;
  /// Bound of the relative forward error of the scaled solution, ‖Δx‖∞ / ‖x‖∞ with the entries of x divided
  /// by their scales: condition times backward error; empty without a condition estimate
  std::optional<double> forward_bound;
};

/// Peak bytes in Views of the library.
struct MemoryUse {
  std::size_t device_peak_bytes = 0;  ///< in the execution space's memory, on host backends too
  /// host memory that holds streamed factors; empty: none, and memory of stages on the host is not counted
  std::optional<std::size_t> host_peak_bytes;
  std::optional<std::size_t> limit_bytes;
  std::optional<MemoryForecast> forecast;  ///< of the analysis, for one right-hand side; empty: unknown
  /// Bytes between the memories of the execution space and of the host, in the last factorization and in one
  /// solve with its factors; only with streamed factors
  std::optional<std::size_t> moved_by_factorization, moved_by_solve;
};

/// One step of ParILUT: from L and U of the step before, with candidates, to those entries that are kept.
struct ParIlutStep {
  std::int64_t nnz_l = 0, nnz_u = 0;  ///< entries kept; L without, U with its diagonal
  std::int64_t candidates = 0;        ///< entries added to L and U
  /// Least key of entries that are certainly kept or tied; the last chunk's if rows are added in chunks.
  /// Empty if no threshold was needed.
  std::optional<double> threshold_l, threshold_u;
  int sweeps = 0;  ///< fixed-point sweeps, over L and U with candidates and over those kept
  /// Nonlinear residual after the step, ‖A − L·U‖_F over the pattern of L + U only; empty unless asked for.
  std::optional<double> nonlinear_residual;
  bool is_taken_back = false;  ///< the step raised the residual over all entries, and was reverted
};

/// Right-looking factorization level by level (ColumnMode levels, A, B or C).
struct ColumnReport {
  std::int64_t levels_a = 0, levels_b = 0, levels_c = 0;  ///< levels by mode
  std::string format;                                     ///< "map", "search" or "dense"
  std::int64_t blocks = 0;  ///< columns that can be at work at once: blocks on the device, or dense columns
  std::int64_t max_blocks = 0;  ///< blocks that the device can run at once, with which `blocks` is compared
};

/// Work and memory of fill2, which finds each row of L + U by a search from it (docs/symbolic-fill2.md).
struct Fill2Statistics {
  std::string kernel;              ///< "warps", "groups", "frontiers" or "portable"
  double search_seconds = 0;       ///< both passes
  std::uint64_t edges = 0;         ///< edges of A followed, both passes
  std::uint64_t revisits = 0;      ///< vertices expanded again
  std::size_t slots = 0;           ///< maximum number of sources in flight
  std::size_t slot_bytes = 0;      ///< bytes of memory per slot
  std::size_t searched_again = 0;  ///< rows that the fill pass searched again
  std::size_t groups = 0;          ///< groups: groups searched, both passes
  std::size_t groups_left = 0;     ///< groups: groups abandoned, whose sources were searched one by one

  // Kernel frontiers, both passes
  std::uint64_t levels = 0;              ///< frontiers of all batches of sources, one after the other
  std::uint64_t frontiers = 0;           ///< vertices in them
  std::uint64_t largest_frontier = 0;    ///< vertices in the largest
  std::uint64_t external_frontiers = 0;  ///< vertices that were in external memory
  std::uint64_t label_resets = 0;        ///< batches before which maxId was reset
  std::size_t sources_left = 0;          ///< sources whose frontiers fit nowhere, searched by warps
  std::size_t max_id_bytes = 0, fill_bytes = 0, queue_bytes = 0, tracker_bytes = 0;  ///< on the device
  std::size_t external_bytes = 0;  ///< of queues and trackers in external memory
  std::size_t managed_bytes = 0;   ///< of maxId and fill in unified memory, where they are there

  /// A range of sources with its own number of concurrent searches.
  struct Part {
    std::int64_t sources = 0, concurrent = 0;
  };
  std::vector<Part> parts{};  ///< of the last pass; with Fill2Options::two_parts those of Algorithm 4
};

/// Outcome of a solver's last calls.
struct Report {
  Status status = Status::not_solved;
  Choice choice;
  StageTimes times;
  PredictedTimes predicted;
  FactorCounts factors;
  std::optional<Fill2Statistics> fill2;  ///< of the analysis, if fill2 found the pattern on one rank
  PivotCounts pivots;
  std::optional<ColumnReport> columns;     ///< of the last factorization; empty for other engines and modes
  std::vector<ParIlutStep> parilut_steps;  ///< of the factorization that found the pattern; others: empty
  Inertia inertia;
  std::optional<std::int64_t> iterations;  ///< Krylov methods: applications of A; empty for a direct solve
  std::vector<double> residual_history;  ///< ‖b − A·x‖₂/‖b‖₂ at the start and after each iteration, for the
                                         ///< right-hand side with the most iterations
  std::int64_t refinement_steps = 0;
  std::int64_t condition_solves = 0;     ///< solves for condition estimates since the last factorization
  std::vector<std::string> escalations;  ///< each step taken beyond the plain solve, in order
  SolveErrors errors;
  MemoryUse memory;
  std::optional<std::int64_t> structural_rank;
  std::vector<std::int64_t> singular_rows;  ///< rows that make the matrix singular, in the user's numbering,
                                            ///< 0-based
  std::vector<std::int64_t> singular_columns;     ///< columns, in the user's numbering, 0-based
  std::optional<std::int64_t> indefinite_column;  ///< column with a non-positive pivot in a Cholesky
                                                  ///< factorization, in the user's numbering, 0-based
};

/// One sentence on the status.
/// @param index_base 0 or 1: number of the first row and column in the text (1 as in Matrix Market files)
std::string describe(const Report& report, int index_base = 0);

/// Build information of the linked library.
struct VersionInfo {
  std::string version;  ///< Lutra's "major.minor.patch"; same format for the two below
  std::string git;      ///< commit, with "-dirty" appended for a modified work tree; "unknown" outside git
  std::string kokkos, kokkos_kernels;
  std::vector<std::string> backends;  ///< compiled backends, by command-line name; the default first
  std::vector<std::string> scalars;   ///< compiled scalars: subset of f32, f64, c64, c128
  std::vector<std::string> ordinals;  ///< compiled ordinals: subset of int32, int64
};

/// Returns the build information of the library that the program is linked with.
VersionInfo version_info();

/// Share of one rank in solves on a grid of ranks.
struct RankRecord {
  std::int64_t rows = 0, blocks = 0, entries = 0;  ///< of L and U
  std::int64_t messages = 0, message_bytes = 0;    ///< sent during solves
  double flops = 0, solve_seconds = 0, wait_seconds = 0;
  /// Rows of L + U found, edges of A followed for them, and the time; empty if rank 0 found them all.
  std::optional<std::int64_t> sources{}, edges{};
  std::optional<double> search_seconds{};
};

/// Grid of ranks, with one record per rank.
struct GridRecord {
  std::string name;                         ///< "2x2"
  std::optional<double> predicted_seconds;  ///< predicted time of a solve with one right-hand side
  std::vector<RankRecord> ranks;
};

/// Backend of a report.
struct RunInfo {
  std::string backend;                ///< "serial", "openmp", "cuda" or "hip"
  int threads = 1;                    ///< host threads the backend uses
  std::optional<std::string> device;  ///< name of the GPU; empty for host backends
  std::optional<GridRecord> grid;     ///< empty: one rank
};

/// Matrix of a report.
struct MatrixSummary {
  std::string file;
  std::int64_t rows = 0, cols = 0, nnz = 0;
  std::string scalar;  ///< scalar type of the solve: "f32", "f64", "c64" or "c128"
  std::optional<double> pattern_symmetry, value_symmetry;
  std::optional<std::int64_t> structural_rank, zero_diagonals;
};

/// Record of one solve.
struct ReportRecord {
  RunInfo run;
  MatrixSummary matrix;
  Report report;
  std::string message;  ///< empty on success
};

/// JSON text of one record, with the keys of docs/json.md in that order. Unknown and non-finite
/// numbers are null.
std::string to_json(const ReportRecord& record);

/// JSON text of several records: {"steps": […]}.
std::string to_json(const std::vector<ReportRecord>& steps);

std::string to_json(const VersionInfo& info);

}  // namespace lutra

#endif
