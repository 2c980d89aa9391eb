// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_DistributedTriangles.hpp"

#include <algorithm>
#include <string>

#include "Lutra_DistributedState.hpp"
#include "Lutra_Error.hpp"
#include "Lutra_Instantiate.hpp"
#include "Lutra_KernelSweeps.hpp"
#include "Lutra_SweepAnalysis.hpp"

namespace lutra {

template <class Scalar>
void DistributedTriangles<Scalar>::State::solve_group(const Scalar* B, Scalar* X) {
  const Kokkos::Timer timer;
  begin_solve();
  rhs.template forward<Scalar>(
      comm, k, [&](std::size_t i, std::size_t c) { return B[i + c * rhs_count]; },
      [&](std::size_t i, std::size_t c, const Scalar& value) { b[i * k + c] = value; });
  const Scalar* found = nullptr;  // in slot order
  if (kernels) {
    found = kernels->solve(comm, *memory, b, k, epoch, statistics);
  } else {
    work_on_host();
    found = slot(0);
  }
  solution.template backward<Scalar>(
      comm, k, [&](std::size_t i, std::size_t c) { return found[i * k + c]; },
      [&](std::size_t i, std::size_t c, const Scalar& value) { X[i + c * solution_count] = value; });
  comm.barrier();  // slots are free again
  statistics.solve_seconds += timer.seconds();
}

// Receives messages and processes ready rows until nothing remains.
template <class Scalar>
void DistributedTriangles<Scalar>::State::work_on_host() {
  for (std::size_t r = 0; r < sweeps.front().plan.rows.size(); ++r)
    if (sweeps.front().plan.rows[r].diagonal) arrive(0, r, b_bit);
  while (remaining > 0) {
    bool came = false;
    while (const auto arrival = memory->next_arrival()) {
      take(*arrival);
      came = true;
    }
    if (!ready.empty()) {
      const Task task = ready.top();
      ready.pop();
      multiply(task.first, task.second);
    } else if (!came && remaining > 0) {
      const Kokkos::Timer timer;
      comm.wait_until("x or a partial sum of a triangular solve", [&] {
        const auto arrival = memory->next_arrival();
        if (arrival) take(*arrival);
        return arrival.has_value();
      });
      statistics.wait_seconds += timer.seconds();
    }
  }
}

template <class Scalar>
void DistributedTriangles<Scalar>::State::begin_solve() {
  ++epoch;
  remaining = 0;
  for (Impl::Sweep<Scalar>& sweep : sweeps) {
    std::fill_n(sweep.sums.begin(), sweep.plan.sum_rows * k, Scalar(0));
    std::fill(sweep.has_x.begin(), sweep.has_x.end(), 0);
    for (std::size_t r = 0; r < sweep.plan.rows.size(); ++r) {
      const SweepPlan::Row& row = sweep.plan.rows[r];
      const std::size_t blocks = row.end_block - row.first_block;
      sweep.row_states[r] = {0, blocks + row.children.size() + (row.diagonal ? 1 : 0), 0};
    }
    remaining += sweep.plan.rows.size() + sweep.plan.columns.size();
    statistics.flops += 2.0 * static_cast<double>(sweep.plan.count_entries() * k);
  }
}

template <class Scalar>
void DistributedTriangles<Scalar>::State::put(const Impl::Slot& to, const Scalar* values, std::size_t width) {
  const std::span<const Scalar> data(values, width * k);
  memory->put(to.rank, to.offset * k * sizeof(Scalar), data, to.signal, epoch);
  ++statistics.messages;
  statistics.message_bytes += static_cast<std::int64_t>(data.size_bytes());
}

template <class Scalar>
void DistributedTriangles<Scalar>::State::take(const Arrival& arrival) {
  const Impl::SlotEvent& event = events[arrival.signal];
  if (event.is_sum)
    arrive(event.sweep, event.index, static_cast<unsigned char>(1U << event.child));
  else
    publish(event.sweep, event.index);
}

// Records the arrival of a child's sum or of b of a row.
template <class Scalar>
void DistributedTriangles<Scalar>::State::arrive(std::size_t s, std::size_t r, unsigned char bit) {
  Impl::Sweep<Scalar>& sweep = sweeps[s];
  sweep.row_states[r].arrived |= bit;
  if (options.deterministic) {
    advance(s, r);
    return;
  }
  const SweepPlan::Row& row = sweep.plan.rows[r];
  if (bit != b_bit) add_child(sweep, row, bit == 1 ? 0 : 1);
  if (--sweep.row_states[r].missing == 0) complete(s, r);
}

template <class Scalar>
void DistributedTriangles<Scalar>::State::add_child(Impl::Sweep<Scalar>& sweep, const SweepPlan::Row& row,
                                                    std::size_t child) {
  const Scalar* const from = slot(row.children[child].offset);
  Scalar* const sum = sweep.sums.data() + row.sum_offset * k;
  for (std::size_t i = 0; i < row.width * k; ++i) sum[i] += from[i];
}

// Adds the contributions that are due and have arrived, in order; b is the last one.
template <class Scalar>
void DistributedTriangles<Scalar>::State::advance(std::size_t s, std::size_t r) {
  Impl::Sweep<Scalar>& sweep = sweeps[s];
  const SweepPlan& plan = sweep.plan;
  const SweepPlan::Row& row = plan.rows[r];
  auto& state = sweep.row_states[r];
  const std::size_t blocks = row.end_block - row.first_block;
  while (state.missing > 0) {
    if (state.next < blocks) {
      const SweepPlan::Block& block = plan.blocks[row.first_block + state.next];
      if (sweep.has_x[block.column] == 0) return;
      subtract_block(plan, block, sweep.values.data(), slot(plan.columns[block.column].x.offset), k,
                     sweep.sums.data() + row.sum_offset * k);
    } else if (state.next < blocks + row.children.size()) {
      const std::size_t child = state.next - blocks;
      if ((state.arrived & (1U << child)) == 0) return;
      add_child(sweep, row, child);
    } else if ((state.arrived & b_bit) == 0) {
      return;
    }
    ++state.next;
    if (--state.missing == 0) complete(s, r);
  }
}

// All contributions to a row are summed: computes x of the row, or sends the sum to the parent.
template <class Scalar>
void DistributedTriangles<Scalar>::State::complete(std::size_t s, std::size_t r) {
  Impl::Sweep<Scalar>& sweep = sweeps[s];
  const SweepPlan::Row& row = sweep.plan.rows[r];
  const Scalar* const sum = sweep.sums.data() + row.sum_offset * k;
  --remaining;
  if (!row.diagonal) {
    put(row.parent, sum, row.width);
    return;
  }
  Scalar* const x = slot(sweep.plan.columns[row.column].x.offset);
  if (s == 0) {
    const Scalar* const from = b.data() + b_offset[r] * k;
    for (std::size_t i = 0; i < row.width * k; ++i) x[i] = from[i] + sum[i];
  } else {  // b of this sweep is x of the one before, of the same block
    const Scalar* const from = slot(sweeps[s - 1].plan.columns[sweep.column_before[r]].x.offset);
    for (std::size_t i = 0; i < row.width * k; ++i) x[i] = from[i] + sum[i];
  }
  solve_diagonal(sweep.plan, sweep.plan.blocks[row.diagonal_block], sweep.values.data(), k, x);
  if (s + 1 < sweeps.size()) arrive(s + 1, sweep.row_after[r], b_bit);
  publish(s, row.column);
}

// Publishes x of a column, which is in its slot.
template <class Scalar>
void DistributedTriangles<Scalar>::State::publish(std::size_t s, std::size_t c) {
  const SweepPlan::Column& column = sweeps[s].plan.columns[c];
  for (const Impl::Slot& child : column.children) put(child, slot(column.x.offset), column.width);
  sweeps[s].has_x[c] = 1;
  ready.push({s, c});
}

// Multiplies the blocks of a column; in deterministic mode those that are due, and then those that waited for
// them.
template <class Scalar>
void DistributedTriangles<Scalar>::State::multiply(std::size_t s, std::size_t c) {
  Impl::Sweep<Scalar>& sweep = sweeps[s];
  for (const std::size_t at : sweep.plan.columns[c].blocks) {
    const SweepPlan::Block& block = sweep.plan.blocks[at];
    const SweepPlan::Row& row = sweep.plan.rows[block.row];
    if (options.deterministic) {
      if (sweep.row_states[block.row].next == at - row.first_block) advance(s, block.row);
      continue;
    }
    subtract_block(sweep.plan, block, sweep.values.data(), slot(sweep.plan.columns[c].x.offset), k,
                   sweep.sums.data() + row.sum_offset * k);
    if (--sweep.row_states[block.row].missing == 0) complete(s, block.row);
  }
  --remaining;
}

template <class Scalar>
DistributedTriangles<Scalar>::DistributedTriangles(Communicator& comm, const DistributedPattern& pattern,
                                                   const DistributedOptions& options)
    : m_state(std::make_unique<State>(comm, options)) {
  m_state->analyze(pattern);
}

template <class Scalar>
DistributedTriangles<Scalar>::~DistributedTriangles() = default;

template <class Scalar>
void DistributedTriangles<Scalar>::close() {
  m_state->memory->close();
  m_state.reset();
}

template <class Scalar>
void DistributedTriangles<Scalar>::set_values(std::span<const Scalar> values) {
  State& state = *m_state;
  state.comm.agree("values of a distributed triangle", [&] {
    for (const auto& sweep : state.sweeps)
      for (const auto& sources : sweep.entries.sources)
        for (const std::size_t e : sources)
          if (e >= values.size())
            throw InputError("values: " + std::to_string(values.size()) + " for entry " + std::to_string(e));
  });
  const Communicator::Work work(state.comm);
  for (auto& sweep : state.sweeps)
    sweep.entries.template forward<Scalar>(
        state.comm, 1, [&](std::size_t e, std::size_t) { return values[e]; },
        [&](std::size_t e, std::size_t, const Scalar& value) { sweep.values[e] = value; });
  if (state.kernels) state.kernels->set_values(state.sweeps);
  state.has_values = true;
}

template <class Scalar>
void DistributedTriangles<Scalar>::solve(std::span<const Scalar> B, std::span<Scalar> X, std::size_t k) {
  State& state = *m_state;
  state.comm.agree("right-hand sides of a distributed triangle", [&] {
    if (!state.has_values) throw CallOrderError("solve: there are no values; call set_values first");
    if (B.size() != state.rhs_count * k)
      throw InputError("B: " + std::to_string(B.size()) + " values, not " +
                       std::to_string(state.rhs_count * k));
    if (X.size() != state.solution_count * k)
      throw InputError("X: " + std::to_string(X.size()) + " values, not " +
                       std::to_string(state.solution_count * k));
  });
  const auto max_columns = static_cast<std::size_t>(std::max(state.options.max_columns, 1));
  for (std::size_t first = 0; first < k; first += max_columns) {
    state.k = std::min(max_columns, k - first);
    state.solve_group(B.data() + first * state.rhs_count, X.data() + first * state.solution_count);
  }
}

template <class Scalar>
const ProcessGrid& DistributedTriangles<Scalar>::grid() const noexcept {
  return m_state->options.grid;
}

template <class Scalar>
const std::vector<GridPrediction>& DistributedTriangles<Scalar>::predictions() const noexcept {
  return m_state->predictions;
}

template <class Scalar>
DistributedEntries<Scalar> DistributedTriangles<Scalar>::entries() const {
  return m_state->entries();
}

template <class Scalar>
DistributedEntries<Scalar> DistributedTriangles<Scalar>::State::entries() const {
  DistributedEntries<Scalar> result;
  for (const Impl::Sweep<Scalar>& sweep : sweeps) {
    const SweepPlan& plan = sweep.plan;
    const auto first_row = [&](std::size_t step) {
      return block_begin[plan.side == TriangleSide::lower ? step : block_begin.size() - 2 - step];
    };
    for (const SweepPlan::Block& block : plan.blocks) {
      for (std::size_t r = block.first_row; r < block.end_row; ++r) {
        const std::int64_t row = first_row(plan.rows[block.row].block) + plan.row_in_block[r];
        for (std::size_t e = plan.row_begin[r]; e < plan.row_begin[r + 1]; ++e) {
          result.rows.push_back(row);
          result.columns.push_back(first_row(plan.columns[block.column].block) + plan.column_in_block[e]);
          result.values.push_back(sweep.values[e]);
        }
      }
    }
  }
  return result;
}

template <class Scalar>
RankStatistics DistributedTriangles<Scalar>::statistics() const {
  return m_state->statistics;
}

#define LUTRA_INSTANTIATE(Scalar) template class DistributedTriangles<Scalar>;
LUTRA_FOR_EACH_SCALAR(LUTRA_INSTANTIATE)
#undef LUTRA_INSTANTIATE

}  // namespace lutra
