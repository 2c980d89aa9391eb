// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_TRIANGLEPACK_HPP
#define LUTRA_TRIANGLEPACK_HPP

#include <Kokkos_Core.hpp>

#include "Lutra_ExecutionTraits.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_ScalarTraits.hpp"
#include "Lutra_TriangleSchedule.hpp"

namespace lutra::Impl {

/// ‖|T||V|‖∞ bounds the loss of accuracy of a product with the inverse V compared with substitution with T.
/// Up to the first bound V is used directly; up to the second, with one step of refinement, which restores
/// the accuracy; above, by substitution with T.
inline constexpr double max_growth_of_inverse = 100.0;
inline constexpr double max_growth_of_refined = 1e5;

template <class Value, class Scalar>
KOKKOS_FORCEINLINE_FUNCTION Value narrowed(const Scalar& value) {
  if constexpr (std::is_same_v<Value, Scalar>) {
    return value;
  } else if constexpr (ScalarTraits<Scalar>::is_complex) {
    return Value(static_cast<RealOf<Value>>(value.real()), static_cast<RealOf<Value>>(value.imag()));
  } else {
    return static_cast<Value>(value);
  }
}

inline constexpr int packed_at_once = 4;  ///< entries per lane whose values are loaded together

/// Packs some steps of a lane.
template <class Value, class Rows, class Source, class Lane, class Packed>
KOKKOS_FORCEINLINE_FUNCTION void pack_steps(const Rows& rows, const Source& source, const Lane& lane_steps,
                                            int first, const Packed& packed) {
  Value value[packed_at_once];
  for (int u = 0; u < packed_at_once; ++u) {
    const int step = first + u * lane_steps.stride;
    const auto t = lane_steps.entry(step);
    const bool is_entry = step < lane_steps.end && t >= 0;
    value[u] = is_entry ? narrowed<Value>(source(rows.position(lane_steps.row, t))) : Value(0);
  }
  for (int u = 0; u < packed_at_once; ++u) {
    const int step = first + u * lane_steps.stride;
    if (step < lane_steps.end) packed(lane_steps.packed(step)) = value[u];
  }
}

/// Packs the entries outside the diagonal blocks; padding becomes zero.
template <class ExecutionSpace, class Rows, class Plan, class Source, class Packed>
void pack_entries(const ExecutionSpace& exec, const Rows& rows, const Plan& whole_plan, const Source& source,
                  const Packed& packed_entries) {
  using Value = typename Packed::non_const_value_type;
  const auto plan = whole_plan.arrays();
  const ArrayRef<Value> packed{packed_entries.data()};
  const auto policy = task_teams(exec, whole_plan);
  using Member = typename decltype(policy)::member_type;
  const int threads = packing_threads(exec);
  Kokkos::parallel_for(
      "lutra::trisolve::pack_entries", policy, KOKKOS_LAMBDA(const Member& team) {
        const auto task = plan.tasks(team.league_rank());
        for_each_lane(team, task, rows, plan, threads, [&](const LaneSteps& lane_steps) {
          for (int step = lane_steps.first; step < lane_steps.end;
               step += packed_at_once * lane_steps.stride) {
            pack_steps<Value>(rows, source, lane_steps, step, packed);
          }
        });
      });
}

/// One diagonal block T and its inverse V, both by rows in team scratch, [rows × rows] each.
template <class Scalar>
struct BlockPair {
  Scalar* T;
  Scalar* V;
  double* sums;  ///< [rows] row sums of |V|
  int rows;
  KOKKOS_FORCEINLINE_FUNCTION Scalar& t(int i, int j) const { return T[i * max_block_rows + j]; }
  KOKKOS_FORCEINLINE_FUNCTION Scalar& v(int i, int j) const { return V[i * max_block_rows + j]; }
};

/// Computes column j of the inverse by substitution.
template <class Scalar>
KOKKOS_FUNCTION void invert_column(const BlockPair<Scalar>& block, int j) {
  for (int i = 0; i < block.rows; ++i) {
    Scalar sum = i == j ? Scalar(1) : Scalar(0);
    for (int k = j; k < i; ++k) sum -= block.t(i, k) * block.v(k, j);
    block.v(i, j) = i < j ? Scalar(0) : sum / block.t(i, i);
  }
}

/// Sum of row i of |V|.
template <class Scalar>
KOKKOS_FUNCTION double inverse_row_sum(const BlockPair<Scalar>& block, int i) {
  double sum = 0;
  for (int j = 0; j <= i; ++j) sum += static_cast<double>(ScalarTraits<Scalar>::magnitude(block.v(i, j)));
  return sum;
}

/// Sum of row i of |T||V|.
template <class Scalar>
KOKKOS_FUNCTION double growth_of_row(const BlockPair<Scalar>& block, int i) {
  double sum = 0;
  for (int k = 0; k <= i; ++k) {
    sum += static_cast<double>(ScalarTraits<Scalar>::magnitude(block.t(i, k))) * block.sums[k];
  }
  return sum;
}

/// Reads row i of a diagonal block into scratch.
template <class Scalar, class Rows, class Plan, class Source>
KOKKOS_FUNCTION void load_block_row(const Rows& rows, const Plan& plan, const Source& source, Ordinal first,
                                    int i, const BlockPair<Scalar>& block) {
  for (int j = 0; j < block.rows; ++j) block.t(i, j) = Scalar(0);
  const Ordinal row = plan.row_of(first + i);
  const Ordinal first_step = rows.mirrored(plan.row_of(first));
  for (Offset t = rows.length(row) - 1; t >= 0 && rows.dependency(row, t) >= first_step; --t) {
    block.t(i, static_cast<int>(rows.dependency(row, t) - first_step)) = source(rows.position(row, t));
  }
  block.t(i, i) = rows.is_unit() ? Scalar(1) : source(rows.diagonal(row));
}

/// Inverts the diagonal blocks of a task in sequence. Barriers separate reading T, inverting it, and judging
/// and storing V, in which all lanes take part.
/// @returns blocks applied by their inverses, including single rows
template <class Rows, class Plan, class Source, class Packed, class Member>
KOKKOS_FUNCTION std::int64_t invert_task(const Member& team, const Rows& rows, const Plan& plan,
                                         const Source& source, const Packed& packed,
                                         BlockPair<typename Source::scalar_type> block) {
  using Scalar = typename Source::scalar_type;
  using Value = typename Packed::value_type;
  const auto task = plan.tasks(team.league_rank());
  if (task.shape.log_rows == 0) {
    Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, static_cast<int>(task.blocks)), [&](const int b) {
      const Ordinal row = plan.row_of(plan.block_begin(task.first_block + b));
      const Scalar diagonal = rows.is_unit() ? Scalar(1) : source(rows.diagonal(row));
      packed.inverses(task.inverses + b) = narrowed<Value>(Scalar(1) / diagonal);
      packed.use(task.first_block + b) = BlockUse::inverse;
    });
    return task.blocks;
  }
  std::int64_t inverted = 0;
  for (int b = 0; b < task.blocks; ++b) {
    const Ordinal first = plan.block_begin(task.first_block + b);
    block.rows = static_cast<int>(plan.block_begin(task.first_block + b + 1) - first);
    const auto each = Kokkos::ThreadVectorRange(team, block.rows);
    Kokkos::parallel_for(each, [&](const int i) { load_block_row(rows, plan, source, first, i, block); });
    team.team_barrier();
    Kokkos::parallel_for(each, [&](const int j) { invert_column(block, j); });
    team.team_barrier();
    Kokkos::parallel_for(each, [&](const int i) { block.sums[i] = inverse_row_sum(block, i); });
    team.team_barrier();
    double growth = 0;
    Kokkos::parallel_reduce(
        each,
        [&](const int i, double& most) {
          const double sum = growth_of_row(block, i);
          if (!(sum <= most)) most = sum;
        },
        Kokkos::Max<double>(growth));
    const auto use = growth <= max_growth_of_inverse   ? BlockUse::inverse
                     : growth <= max_growth_of_refined ? BlockUse::refined
                                                       : BlockUse::substitute;
    inverted += use == BlockUse::substitute ? 0 : 1;
    const int padded = task.shape.rows();
    const int width = task.shape.inverse_entries() * task.shape.lanes();
    Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, padded * width), [&](const int at) {
      const int i = at / width, j = at % width;
      Scalar value(0);
      if (i < block.rows && j < block.rows) value = j <= i ? block.v(i, j) : block.t(j, i);
      packed.inverses(task.inverse_position(b, i, j)) = narrowed<Value>(value);
    });
    Kokkos::single(Kokkos::PerTeam(team), [&]() { packed.use(task.first_block + b) = use; });
    team.team_barrier();
  }
  return inverted;
}

/// Packs the inverses of the diagonal blocks. Does not fence. Cost: rows³/3 operations per block.
/// @param inverted receives the number of blocks applied by their inverses
template <class ExecutionSpace, class Rows, class Plan, class Source, class Packed>
void pack_inverses(const ExecutionSpace& exec, const Rows& rows, const Plan& whole_plan, const Source& source,
                   const Packed& all_packed,
                   const Kokkos::View<std::int64_t, typename ExecutionSpace::memory_space>& inverted) {
  using Scalar = typename Source::scalar_type;
  using Policy = Kokkos::TeamPolicy<ExecutionSpace, Kokkos::IndexType<std::int64_t>>;
  using Space = typename ExecutionSpace::scratch_memory_space;
  using Unmanaged = Kokkos::MemoryTraits<Kokkos::Unmanaged>;
  using Scratch = Kokkos::View<Scalar*, Space, Unmanaged>;
  using Sums = Kokkos::View<double*, Space, Unmanaged>;
  constexpr std::size_t block_size = max_block_rows * max_block_rows;
  const bool single_rows = whole_plan.blocks == whole_plan.n;
  const auto plan = whole_plan.arrays();
  const auto packed = all_packed.arrays();
  const std::size_t scratch_size =
      single_rows ? 0 : Scratch::shmem_size(2 * block_size) + Sums::shmem_size(max_block_rows);
  const int vector_length = vector_length_for<ExecutionSpace>(narrow_lanes);
  Kokkos::parallel_reduce(
      "lutra::trisolve::pack_inverses",
      Policy(exec, static_cast<int>(whole_plan.tasks.extent(0)), 1, vector_length)
          .set_scratch_size(0, Kokkos::PerTeam(static_cast<int>(scratch_size))),
      KOKKOS_LAMBDA(const typename Policy::member_type& team, std::int64_t& sum) {
        BlockPair<Scalar> block{nullptr, nullptr, nullptr, 0};
        if (!single_rows) {
          block.T = Scratch(team.team_scratch(0), 2 * block_size).data();
          block.V = block.T + block_size;
          block.sums = Sums(team.team_scratch(0), max_block_rows).data();
        }
        const std::int64_t count = invert_task(team, rows, plan, source, packed, block);
        Kokkos::single(Kokkos::PerTeam(team), [&]() { sum += count; });
      },
      inverted);
}

}  // namespace lutra::Impl

#endif
