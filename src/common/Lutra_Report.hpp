// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_REPORT_HPP
#define LUTRA_REPORT_HPP

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "Lutra_Status.hpp"

namespace lutra {

/// What `auto` options became, as the names the command line uses.
struct Choice {
  std::string method, engine, ordering, matching, symbolic, pivot, trisolve, precond;
  std::string device_model;  ///< by whose numbers
  std::string why;           ///< one sentence on each choice that was the library's
};

/// Seconds a stage took when it last ran; empty where it has not run or an exception ended it.
struct StageTimes {
  std::optional<double> read, matching, ordering, symbolic, levelization, numeric, refactor, solve, refine,
      total;
  std::optional<double>
      condition;  ///< of its estimate since the last factorization; part of numeric or solve
};

/// Seconds that the device model predicted for the ordering that was chosen; empty where the caller chose.
struct PredictedTimes {
  std::optional<double> ordering;       ///< of all orderings that were tried
  std::optional<double> analysis;       ///< what follows the ordering, with what a first factorization adds
  std::optional<double> factorization;  ///< of values on a known pattern
  std::optional<double> solve;          ///< of one right-hand side
  std::optional<double> over_measured;  ///< analysis and factorization, over what the first ones took
};

/// Size of the factors. L is counted without its unit diagonal, U with its diagonal.
struct FactorCounts {
  std::optional<std::int64_t> nnz_l, nnz_u;
  std::optional<double> fill_ratio;         ///< (nnz_l + nnz_u) / nnz(A)
  std::optional<double> flops;              ///< multiplications, additions and divisions of one factorization
  std::optional<std::int64_t> supernodes;   ///< empty where the engine has none
  std::optional<std::int64_t> levels;       ///< levels of the column dependency graph
  std::optional<std::int64_t> tree_height;  ///< vertices on the longest path of the elimination tree, where
                                            ///< the ordering was chosen by it
};

/// What happened to pivots in the last factorization.
struct PivotCounts {
  std::optional<std::int64_t> perturbed, delayed, two_by_two, zero;
  std::optional<std::int64_t> interchanged;  ///< pivots taken from other rows; of threshold pivoting
  std::optional<double> growth;              ///< max |entry of L\U| / max |entry of the scaled matrix|
  std::optional<double> shift;  ///< of the diagonal, in parts of max |entry of the row|; incomplete factors
};

/// Eigenvalue signs, where the factorization gives them.
struct Inertia {
  std::optional<std::int64_t> positive, negative, zero;
};

/// How good the last solution is; the worst right-hand side counts.
struct SolveErrors {
  std::optional<double> backward_normwise;       ///< ‖r‖∞ / (‖A‖∞‖x‖∞ + ‖b‖∞)
  std::optional<double> backward_componentwise;  ///< maxᵢ |r|ᵢ / (|A||x| + |b|)ᵢ
  std::optional<double> forward;                 ///< ‖x − x*‖∞ / ‖x*‖∞ where x* is known
  /// Skeel's condition number of the scaled matrix, or a little less; where it was estimated, once for a
  /// factorization
  std::optional<double> condition;
  /// Bound of the relative error of x, largest entry by largest entry of x over the scales of its entries:
  /// condition times backward error; where the condition was estimated
  std::optional<double> forward_bound;
};

/// Bytes held in Views of the library, at the worst moment.
struct MemoryUse {
  std::size_t device_peak_bytes = 0;  ///< in the execution space's memory; host backends count here too
  std::optional<std::size_t> host_peak_bytes;  ///< of stages that run on the host; empty: not counted
  std::optional<std::size_t> limit_bytes;
};

/// Everything a solver has to say about its last calls.
struct Report {
  Status status = Status::not_solved;
  Choice choice;
  StageTimes times;
  PredictedTimes predicted;
  FactorCounts factors;
  PivotCounts pivots;
  Inertia inertia;
  std::optional<std::int64_t> iterations;  ///< of a Krylov method: applications of A; empty: a direct solve
  std::vector<double> residual_history;  ///< ‖b − A·x‖₂/‖b‖₂ at the start and after each iteration, of the
                                         ///< right-hand side that took most of them
  std::int64_t refinement_steps = 0;
  std::int64_t condition_solves = 0;  ///< that estimates of the condition took since the last factorization
  std::vector<std::string> escalations;  ///< each step taken beyond the plain solve, in order
  SolveErrors errors;
  MemoryUse memory;
  std::optional<std::int64_t> structural_rank;
  std::vector<std::int64_t> singular_rows;        ///< user's rows, from 0, that make the matrix singular
  std::vector<std::int64_t> singular_columns;     ///< user's columns, from 0
  std::optional<std::int64_t> indefinite_column;  ///< user's column, from 0, whose pivot was not positive in
                                                  ///< a Cholesky factorization
};

/// One sentence on the status, rows and columns counted from `index_base` (1 for people with a Matrix Market
/// file).
std::string describe(const Report& report, int index_base = 0);

}  // namespace lutra

#endif
