// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_DISTRIBUTEDSTATE_HPP
#define LUTRA_DISTRIBUTEDSTATE_HPP

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <queue>
#include <span>
#include <utility>
#include <vector>

#include "Lutra_Communicator.hpp"
#include "Lutra_DistributedTriangles.hpp"
#include "Lutra_Exchange.hpp"
#include "Lutra_SweepPlan.hpp"

namespace lutra::Impl {

/// sum −= block · x for k right-hand sides, all by rows: x [columns × k], sum [rows of the block row × k].
template <class Scalar>
void subtract_block(const SweepPlan& plan, const SweepPlan::Block& block, const Scalar* values,
                    const Scalar* x, std::size_t k, Scalar* sum) {
  const int* const columns = plan.column_in_block.data();
  for (std::size_t r = block.first_row; r < block.end_row; ++r) {
    Scalar* const row = sum + static_cast<std::size_t>(plan.row_in_block[r]) * k;
    const std::size_t begin = plan.row_begin[r], end = plan.row_begin[r + 1];
    if (k == 1) {
      Scalar dot(0);
      if (block.dense)
        for (std::size_t e = begin; e < end; ++e) dot += values[e] * x[e - begin];
      else
        for (std::size_t e = begin; e < end; ++e) dot += values[e] * x[columns[e]];
      row[0] -= dot;
      continue;
    }
    for (std::size_t e = begin; e < end; ++e) {
      const Scalar value = values[e];
      const Scalar* const from = x + static_cast<std::size_t>(columns[e]) * k;
      for (std::size_t c = 0; c < k; ++c) row[c] -= value * from[c];
    }
  }
}

/// x := D⁻¹·x for a diagonal block D, by substitution.
template <class Scalar>
void solve_diagonal(const SweepPlan& plan, const SweepPlan::Block& block, const Scalar* values, std::size_t k,
                    Scalar* x) {
  const bool lower = plan.side == TriangleSide::lower, stored = plan.diagonal == DiagonalKind::stored;
  const std::size_t count = block.end_row - block.first_row;
  for (std::size_t step = 0; step < count; ++step) {
    const std::size_t r = lower ? block.first_row + step : block.end_row - 1 - step;
    std::size_t begin = plan.row_begin[r], end = plan.row_begin[r + 1];
    const std::size_t pivot = lower ? end - 1 : begin;  // entries ascend by columns
    if (stored) lower ? --end : ++begin;
    Scalar* const row = x + static_cast<std::size_t>(plan.row_in_block[r]) * k;
    for (std::size_t e = begin; e < end; ++e) {
      const Scalar* const from = x + static_cast<std::size_t>(plan.column_in_block[e]) * k;
      for (std::size_t c = 0; c < k; ++c) row[c] -= values[e] * from[c];
    }
    if (stored)
      for (std::size_t c = 0; c < k; ++c) row[c] /= values[pivot];
  }
}

/// One sweep's plan, values and state during a solve.
template <class Scalar>
struct Sweep {
  SweepPlan plan;
  Exchange entries;            ///< from the caller's entries to `values`
  std::vector<Scalar> values;  ///< in the order of the plan's entries
  std::vector<Scalar> sums;    ///< [sum_rows × k] negated partial sums
  /// Contributions to a row: its blocks, then its children's sums, then b if the diagonal block is local.
  struct RowState {
    std::size_t next;       ///< next contribution due, in deterministic mode
    std::size_t missing;    ///< contributions not yet added
    unsigned char arrived;  ///< one bit per child, and bit 2 for b
  };
  std::vector<RowState> row_states;
  std::vector<char> has_x;  ///< [columns] whether x has arrived
  /// rows with a local diagonal block: column of that block in the previous sweep, row in the next sweep
  std::vector<std::size_t> column_before, row_after;
};

template <class Scalar>
class KernelSweeps;

}  // namespace lutra::Impl

namespace lutra {

template <class Scalar>
struct DistributedTriangles<Scalar>::State {
  using SweepPlan = Impl::SweepPlan;
  static constexpr unsigned char b_bit = 4;

  Communicator& comm;
  DistributedOptions options;
  std::vector<GridPrediction> predictions;
  std::vector<std::int64_t> block_begin;  ///< [blocks + 1] first row of each block
  std::vector<Impl::Sweep<Scalar>> sweeps;
  std::vector<Impl::SlotEvent> events;                  ///< events in the order of signals
  std::shared_ptr<Impl::KernelSweeps<Scalar>> kernels;  ///< set if kernels process rows
  std::optional<SymmetricMemory> memory;  ///< x of columns and children's sums, [rows × k] each
  Impl::Exchange rhs;                     ///< from the caller's elements to rows of `b`
  Impl::Exchange solution;                ///< from the caller's elements to rows of x, applied in reverse
  std::vector<Scalar> b;                  ///< [rows of diagonal blocks × k]
  std::vector<std::size_t> b_offset;      ///< offset in `b` of first-sweep rows with a local diagonal block
  std::size_t rhs_count = 0, solution_count = 0;
  bool has_values = false;
  std::uint64_t epoch = 0;
  std::size_t k = 1;          ///< right-hand sides of the current solve
  std::size_t remaining = 0;  ///< rows not yet complete and columns not yet multiplied, over all sweeps
  RankStatistics statistics;
  /// Columns whose x has arrived and whose blocks are still to be multiplied: (sweep, column), lowest first.
  using Task = std::pair<std::size_t, std::size_t>;
  std::priority_queue<Task, std::vector<Task>, std::greater<Task>> ready;

  State(Communicator& c, const DistributedOptions& o) : comm(c), options(o) {}

  Scalar* slot(std::size_t offset) { return memory->at<Scalar>(offset * k * sizeof(Scalar)); }

  void analyze(const DistributedPattern& pattern);
  void link_sweeps();
  void plan_vectors(const DistributedPattern& pattern, const std::vector<std::int64_t>& begin);
  DistributedEntries<Scalar> entries() const;
  void solve_group(const Scalar* B, Scalar* X);
  void work_on_host();
  void begin_solve();
  void put(const Impl::Slot& to, const Scalar* values, std::size_t width);
  void take(const Arrival& arrival);
  void arrive(std::size_t s, std::size_t r, unsigned char bit);
  void advance(std::size_t s, std::size_t r);
  void complete(std::size_t s, std::size_t r);
  void publish(std::size_t s, std::size_t c);
  void multiply(std::size_t s, std::size_t c);
  void add_child(Impl::Sweep<Scalar>& sweep, const SweepPlan::Row& row, std::size_t child);
};

}  // namespace lutra

#endif
