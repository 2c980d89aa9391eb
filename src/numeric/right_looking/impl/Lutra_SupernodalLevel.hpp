// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_SUPERNODALLEVEL_HPP
#define LUTRA_SUPERNODALLEVEL_HPP

#include <Kokkos_Core.hpp>

#include <algorithm>

#include "Lutra_ExecutionTraits.hpp"
#include "Lutra_PivotRule.hpp"
#include "Lutra_RightLooking.hpp"
#include "Lutra_Strided.hpp"
#include "Lutra_SupernodalLu.hpp"
#include "Lutra_TeamProduct.hpp"

namespace lutra::Impl {

/// Largest tile of a product L·U, which a team computes in its scratch before it subtracts it.
inline constexpr Ordinal update_rows = 64, update_columns = 32;
/// Largest part of a panel that a team solves.
inline constexpr Ordinal solve_rows = 128, solve_columns = 128;

/// The kernels of one level of the supernodal factorization, portable.
template <class Scalar, class ExecutionSpace>
struct SupernodalLevel {
  using Memory = typename ExecutionSpace::memory_space;
  /// L\U of diagonal blocks, a team each.
  struct Diagonals {};
  /// Panels beside and below them, a team per tile.
  struct Solves {};
  /// Products and their subtraction, a team per tile.
  struct Updates {};
  using DiagonalTeam = typename Kokkos::TeamPolicy<ExecutionSpace, Diagonals>::member_type;
  using SolveTeam = typename Kokkos::TeamPolicy<ExecutionSpace, Solves>::member_type;
  using UpdateTeam = typename Kokkos::TeamPolicy<ExecutionSpace, Updates>::member_type;
  static constexpr std::size_t scratch_bytes =
      sizeof(Scalar) * static_cast<std::size_t>(update_rows + 1) * update_columns;
  /// Largest diagonal block that is eliminated in scratch.
  static constexpr std::size_t max_block_bytes = std::size_t(1) << 15;

  Kokkos::View<const SupernodeBlock*, Memory> blocks;
  Kokkos::View<const SupernodePair*, Memory> pairs;
  Kokkos::View<const Ordinal*, Memory> row_lists, column_lists, pair_of_row, pair_of_column, positions;
  Kokkos::View<const Ordinal*, Memory> order;        ///< supernodes by level
  Kokkos::View<const SupernodeTile*, Memory> tiles;  ///< of the panels or the products
  Kokkos::View<Scalar*, Memory> values;
  Kokkos::View<unsigned char*, Memory> perturbed;
  PivotThreshold threshold;
  std::int64_t level_begin;  ///< this level's first supernode in `order`, or its first tile
  RunControl::Query query;

  /// Whether the running call has to end; only for teams of one thread, which has no others to wait for.
  template <class Team>
  KOKKOS_FUNCTION bool must_stop(const Team& team) const {
    return is_host_space<ExecutionSpace> && team.team_size() == 1 && query.must_stop();
  }

  KOKKOS_FUNCTION void operator()(Diagonals, const DiagonalTeam& team) const {
    if (must_stop(team)) return;
    const SupernodeBlock J = blocks(order(level_begin + team.league_rank()));
    Scalar* const panel = values.data() + J.lower;
    if (!is_staged(J.size)) return eliminate(team, J, panel, J.stride());
    auto* const block = scratch_of(team, block_bytes(J.size));
    copy_block(team, J.size, panel, J.stride(), block, Offset(J.size));
    eliminate(team, J, block, J.size);
    copy_block(team, J.size, block, Offset(J.size), panel, J.stride());
  }

  /// Scratch of a team, aligned for complex scalars.
  template <class Team>
  KOKKOS_FUNCTION static Scalar* scratch_of(const Team& team, std::size_t bytes) {
    return static_cast<Scalar*>(team.team_scratch(0).get_shmem_aligned(bytes, alignof(Scalar)));
  }
  /// Scratch of a diagonal block.
  KOKKOS_FUNCTION static std::size_t block_bytes(Ordinal size) {
    return sizeof(Scalar) * static_cast<std::size_t>(size) * static_cast<std::size_t>(size);
  }
  /// Whether a diagonal block is eliminated in scratch; on hosts it is in cache.
  KOKKOS_FUNCTION static bool is_staged(Ordinal size) {
    return !is_host_space<ExecutionSpace> && block_bytes(size) <= max_block_bytes;
  }

  /// Bytes of scratch that a team needs, given the size of the largest diagonal block. Blocks that exceed
  /// `max_block_bytes` are not staged.
  static std::size_t block_scratch(Ordinal largest) {
    return is_host_space<ExecutionSpace> ? 0 : std::min(block_bytes(largest), max_block_bytes);
  }

  KOKKOS_FUNCTION static void copy_block(const DiagonalTeam& team, Ordinal size, const Scalar* from,
                                         Offset from_stride, Scalar* to, Offset to_stride) {
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, size), [&](const Ordinal k) {
      Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, size),
                           [&](const Ordinal i) { to[i + k * to_stride] = from[i + k * from_stride]; });
    });
    team.team_barrier();
  }

  /// L\U of a block by columns. All threads compute a pivot, which is written once none reads it any more.
  KOKKOS_FUNCTION void eliminate(const DiagonalTeam& team, const SupernodeBlock& J, Scalar* block,
                                 Offset stride) const {
    const PivotRule<Scalar> rule{static_cast<RealOf<Scalar>>(threshold())};
    for (Ordinal q = 0; q < J.size; ++q) {
      if (must_stop(team)) return;
      Scalar* const column = block + q * stride;
      bool small = false;
      const Scalar pivot = rule(column[q], small);
      Kokkos::parallel_for(Kokkos::TeamVectorRange(team, q + 1, J.size),
                           [&](const Ordinal i) { column[i] /= pivot; });
      team.team_barrier();  // the column of L is final
      Kokkos::single(Kokkos::PerTeam(team), [&]() {
        column[q] = pivot;
        perturbed(J.first + q) = small ? 1 : 0;
      });
      Kokkos::parallel_for(Kokkos::TeamThreadRange(team, q + 1, J.size), [&](const Ordinal k) {
        Scalar* const target = block + k * stride;
        const Scalar factor = target[q];
        Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, q + 1, J.size),
                             [&](const Ordinal i) { target[i] -= column[i] * factor; });
      });
      team.team_barrier();  // the next pivot is complete
    }
  }

  KOKKOS_FUNCTION void operator()(Solves, const SolveTeam& team) const {
    if (must_stop(team)) return;
    const SupernodeTile tile = tiles(level_begin + team.league_rank());
    const SupernodeBlock J = blocks(tile.supernode);
    if (tile.rows > 0) {
      solve_lower(team, J, tile);
    } else {
      solve_upper(team, J, tile);
    }
  }

  /// L := A·U⁻¹ for some rows: on devices a row per lane, its entry in a register; on hosts by columns, whose
  /// entries are contiguous.
  KOKKOS_FUNCTION void solve_lower(const SolveTeam& team, const SupernodeBlock& J,
                                   const SupernodeTile& tile) const {
    const Scalar* const U = values.data() + J.lower;
    Scalar* const A = values.data() + J.lower + J.size + tile.row;
    const Offset stride = J.stride();
    if constexpr (is_host_space<ExecutionSpace>) {
      for (Ordinal q = 0; q < J.size; ++q) {
        for (Ordinal t = 0; t < q; ++t)
          subtract(team, tile.rows, U[t + q * stride], A + t * stride, A + q * stride);
        const Scalar pivot = U[q + q * stride];
        Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, tile.rows),
                             [&](const Ordinal i) { A[i + q * stride] /= pivot; });
      }
    } else {
      Kokkos::parallel_for(Kokkos::TeamVectorRange(team, tile.rows), [&](const Ordinal i) {
        for (Ordinal q = 0; q < J.size; ++q) {
          Scalar value = A[i + q * stride];
          for (Ordinal t = 0; t < q; ++t) value -= A[i + t * stride] * U[t + q * stride];
          A[i + q * stride] = value / U[q + q * stride];
        }
      });
    }
  }

  /// U := L⁻¹·A for some columns, in the same way.
  KOKKOS_FUNCTION void solve_upper(const SolveTeam& team, const SupernodeBlock& J,
                                   const SupernodeTile& tile) const {
    const Scalar* const L = values.data() + J.lower;
    Scalar* const A = values.data() + J.upper + tile.column;
    const Offset stride = J.stride(), row = J.columns;
    if constexpr (is_host_space<ExecutionSpace>) {
      for (Ordinal i = 1; i < J.size; ++i) {
        for (Ordinal t = 0; t < i; ++t)
          subtract(team, tile.columns, L[i + t * stride], A + t * row, A + i * row);
      }
    } else {
      Kokkos::parallel_for(Kokkos::TeamVectorRange(team, tile.columns), [&](const Ordinal k) {
        for (Ordinal i = 1; i < J.size; ++i) {
          Scalar value = A[i * row + k];
          for (Ordinal t = 0; t < i; ++t) value -= L[i + t * stride] * A[t * row + k];
          A[i * row + k] = value;
        }
      });
    }
  }

  /// to −= factor·from
  KOKKOS_FUNCTION static void subtract(const SolveTeam& team, Ordinal length, const Scalar& factor,
                                       const Scalar* from, Scalar* to) {
    Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, length),
                         [&](const Ordinal e) { to[e] -= from[e] * factor; });
  }

  /// Distance of columns of a product; odd on devices, where lanes read rows as well.
  KOKKOS_FUNCTION static Ordinal product_stride(const SupernodeTile& tile) {
    return is_host_space<ExecutionSpace> ? tile.rows : update_rows + 1;
  }

  KOKKOS_FUNCTION void operator()(Updates, const UpdateTeam& team) const {
    if (must_stop(team)) return;
    const SupernodeTile tile = tiles(level_begin + team.league_rank());
    const SupernodeBlock J = blocks(tile.supernode);
    const Ordinal stride = product_stride(tile);
    auto* const product = scratch_of(team, scratch_bytes);
    Kokkos::parallel_for(Kokkos::TeamVectorRange(team, stride * tile.columns),
                         [&](const Ordinal e) { product[e] = Scalar(0); });
    team.team_barrier();
    const Scalar* const L = values.data() + J.lower + J.size + tile.row;
    const Scalar* const U = values.data() + J.upper + tile.column;
    subtract_product(team, static_cast<int>(tile.rows), static_cast<int>(tile.columns),
                     static_cast<int>(J.size), L, J.stride(), Strided<Scalar>{U, J.columns, 1}, product,
                     stride);
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, tile.columns), [&](const Ordinal k) {
      add_column(team, J, tile, tile.column + k, product + k * stride);
    });
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, tile.rows),
                         [&](const Ordinal i) { add_row(team, J, tile, tile.row + i, product + i); });
  }

  /// Adds a column of a product to the lower panel of the column's supernode K: the rows from K on.
  KOKKOS_FUNCTION void add_column(const UpdateTeam& team, const SupernodeBlock& J, const SupernodeTile& tile,
                                  Ordinal k, const Scalar* product) const {
    const SupernodePair pair = pairs(pair_of_column(J.column_list + k));
    const Ordinal end = tile.row + tile.rows;
    if (pair.row >= end) return;
    const SupernodeBlock K = blocks(pair.to);
    Scalar* const column = values.data() + K.lower + (column_lists(J.column_list + k) - K.first) * K.stride();
    const Ordinal* const position = positions.data() + pair.rows_at - pair.row;
    Kokkos::parallel_for(
        Kokkos::ThreadVectorRange(team, Kokkos::max(pair.row, tile.row), end),
        [&](const Ordinal i) { add_shared<ExecutionSpace>(column[position[i]], product[i - tile.row]); });
  }

  /// Adds a row of a product to the upper panel of the row's supernode K: the columns behind K.
  KOKKOS_FUNCTION void add_row(const UpdateTeam& team, const SupernodeBlock& J, const SupernodeTile& tile,
                               Ordinal i, const Scalar* product) const {
    const SupernodePair pair = pairs(pair_of_row(J.row_list + i));
    const Ordinal end = tile.column + tile.columns;
    if (pair.column_end >= end) return;
    const SupernodeBlock K = blocks(pair.to);
    Scalar* const row =
        values.data() + K.upper + static_cast<Offset>(row_lists(J.row_list + i) - K.first) * K.columns;
    const Ordinal* const position = positions.data() + pair.columns_at - pair.column_end;
    Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, Kokkos::max(pair.column_end, tile.column), end),
                         [&](const Ordinal k) {
                           add_shared<ExecutionSpace>(row[position[k]],
                                                      product[(k - tile.column) * product_stride(tile)]);
                         });
  }
};

/// Level by level.
template <class Scalar, class ExecutionSpace>
void factorize_supernodal_portable(
    const ExecutionSpace& exec, const SupernodalLuPlan<typename ExecutionSpace::memory_space>& plan,
    const Kokkos::View<Scalar*, typename ExecutionSpace::memory_space>& values,
    const PivotThreshold& threshold,
    const Kokkos::View<unsigned char*, typename ExecutionSpace::memory_space>& perturbed,
    const RunControl& run) {
  using Level = SupernodalLevel<Scalar, ExecutionSpace>;
  Level level{plan.blocks,
              plan.pairs,
              plan.row_lists,
              plan.column_lists,
              plan.pair_of_row,
              plan.pair_of_column,
              plan.positions,
              plan.levels.order,
              plan.solves,
              values,
              perturbed,
              threshold,
              0,
              run.query()};
  const int lanes = vector_length_for<ExecutionSpace>(32);
  const auto launch = [&]<class Tag>(Tag, const char* label, std::int64_t begin, std::int64_t end,
                                     std::size_t scratch, int threads) {
    if (begin == end) return;
    level.level_begin = begin;
    Kokkos::TeamPolicy<ExecutionSpace, Tag> policy(exec, static_cast<int>(end - begin), threads, lanes);
    if (scratch > 0) policy.set_scratch_size(0, Kokkos::PerTeam(static_cast<int>(scratch + alignof(Scalar))));
    Kokkos::parallel_for(label, by_argument(policy), level);
  };
  const int four = team_width<ExecutionSpace>(4);
  for (std::size_t l = 0; l < plan.levels.size(); ++l) {
    run.poll(static_cast<double>(l), static_cast<double>(plan.levels.size()));
    const int by_size = std::clamp(static_cast<int>(plan.largest[l]) / 8, 1, 16);
    launch(typename Level::Diagonals(), "lutra::numeric::supernode_diagonals", plan.levels.level_map[l],
           plan.levels.level_map[l + 1], Level::block_scratch(plan.largest[l]),
           team_width<ExecutionSpace>(by_size));
    level.tiles = plan.solves;
    launch(typename Level::Solves(), "lutra::numeric::supernode_panels", plan.solve_begin[l],
           plan.solve_begin[l + 1], 0, four);
    level.tiles = plan.updates;
    launch(typename Level::Updates(), "lutra::numeric::supernode_updates", plan.update_begin[l],
           plan.update_begin[l + 1], Level::scratch_bytes, four);
  }
  run.poll();
}

}  // namespace lutra::Impl

#endif
