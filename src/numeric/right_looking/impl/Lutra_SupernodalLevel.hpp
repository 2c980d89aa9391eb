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
  /// Rows of the lower panel that one thread solves at once, by its vector lanes.
  static constexpr Ordinal rows_at_once = is_host_space<ExecutionSpace> ? solve_rows : 32;
  static constexpr std::size_t scratch_bytes =
      sizeof(Scalar) * static_cast<std::size_t>(update_rows) * update_columns;

  Kokkos::View<const SupernodeBlock*, Memory> blocks;
  Kokkos::View<const SupernodePair*, Memory> pairs;
  Kokkos::View<const Ordinal*, Memory> row_lists, column_lists, pair_of_row, pair_of_column, positions;
  Kokkos::View<const Ordinal*, Memory> order;        ///< supernodes by level
  Kokkos::View<const SupernodeTile*, Memory> tiles;  ///< of the panels or the products
  Kokkos::View<Scalar*, Memory> values;
  Kokkos::View<unsigned char*, Memory> perturbed;
  PivotThreshold threshold;
  std::int64_t level_begin;  ///< this level's first supernode in `order`, or its first tile

  KOKKOS_FUNCTION void operator()(Diagonals, const DiagonalTeam& team) const {
    const SupernodeBlock J = blocks(order(level_begin + team.league_rank()));
    Scalar* const block = values.data() + J.lower;
    for (Ordinal q = 0; q < J.size; ++q) {
      Scalar* const column = block + q * J.stride();
      Kokkos::single(Kokkos::PerTeam(team), [&]() {
        bool small = false;
        column[q] = PivotRule<Scalar>{static_cast<RealOf<Scalar>>(threshold())}(column[q], small);
        perturbed(J.first + q) = small ? 1 : 0;
      });
      team.team_barrier();  // the pivot is final
      const Scalar pivot = column[q];
      Kokkos::parallel_for(Kokkos::TeamVectorRange(team, q + 1, J.size),
                           [&](const Ordinal i) { column[i] /= pivot; });
      team.team_barrier();  // the column of L is final
      Kokkos::parallel_for(Kokkos::TeamThreadRange(team, q + 1, J.size), [&](const Ordinal k) {
        Scalar* const target = block + k * J.stride();
        const Scalar factor = target[q];
        Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, q + 1, J.size),
                             [&](const Ordinal i) { target[i] -= column[i] * factor; });
      });
      team.team_barrier();  // the next pivot is complete
    }
  }

  KOKKOS_FUNCTION void operator()(Solves, const SolveTeam& team) const {
    const SupernodeTile tile = tiles(level_begin + team.league_rank());
    const SupernodeBlock J = blocks(tile.supernode);
    if (tile.rows > 0) {
      solve_lower(team, J, tile);
    } else {
      solve_upper(team, J, tile);
    }
  }

  /// L := A·U⁻¹ for some rows. A vector lane keeps to its row, so no barrier is needed.
  KOKKOS_FUNCTION void solve_lower(const SolveTeam& team, const SupernodeBlock& J,
                                   const SupernodeTile& tile) const {
    const Scalar* const U = values.data() + J.lower;
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, (tile.rows + rows_at_once - 1) / rows_at_once),
                         [&](const Ordinal part) {
                           const Ordinal row = part * rows_at_once;
                           const Ordinal rows = Kokkos::min(tile.rows - row, Ordinal(rows_at_once));
                           Scalar* const A = values.data() + J.lower + J.size + tile.row + row;
                           for (Ordinal q = 0; q < J.size; ++q) {
                             Scalar* const to = A + q * J.stride();
                             for (Ordinal t = 0; t < q; ++t) {
                               const Scalar* const from = A + t * J.stride();
                               const Scalar factor = U[t + q * J.stride()];
                               Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, rows),
                                                    [&](const Ordinal i) { to[i] -= from[i] * factor; });
                             }
                             const Scalar pivot = U[q + q * J.stride()];
                             Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, rows),
                                                  [&](const Ordinal i) { to[i] /= pivot; });
                           }
                         });
  }

  /// U := L⁻¹·A for some columns, each by one lane.
  KOKKOS_FUNCTION void solve_upper(const SolveTeam& team, const SupernodeBlock& J,
                                   const SupernodeTile& tile) const {
    const Scalar* const L = values.data() + J.lower;
    Kokkos::parallel_for(Kokkos::TeamVectorRange(team, tile.columns), [&](const Ordinal k) {
      Scalar* const u = values.data() + J.upper + static_cast<Offset>(tile.column + k) * J.size;
      for (Ordinal t = 0; t < J.size; ++t) {
        const Scalar factor = u[t];
        const Scalar* const column = L + t * J.stride();
        for (Ordinal i = t + 1; i < J.size; ++i) u[i] -= column[i] * factor;
      }
    });
  }

  KOKKOS_FUNCTION void operator()(Updates, const UpdateTeam& team) const {
    const SupernodeTile tile = tiles(level_begin + team.league_rank());
    const SupernodeBlock J = blocks(tile.supernode);
    Scalar* const product = static_cast<Scalar*>(team.team_scratch(0).get_shmem(std::size_t(scratch_bytes)));
    Kokkos::parallel_for(Kokkos::TeamVectorRange(team, tile.rows * tile.columns),
                         [&](const Ordinal e) { product[e] = Scalar(0); });
    team.team_barrier();
    const Scalar* const L = values.data() + J.lower + J.size + tile.row;
    const Scalar* const U = values.data() + J.upper + static_cast<Offset>(tile.column) * J.size;
    subtract_product(team, static_cast<int>(tile.rows), static_cast<int>(tile.columns),
                     static_cast<int>(J.size), L, J.stride(), Strided<Scalar>{U, 1, J.size}, product,
                     tile.rows);
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, tile.columns), [&](const Ordinal k) {
      add_column(team, J, tile, tile.column + k, product + static_cast<Offset>(k) * tile.rows);
    });
  }

  /// Adds column k of a product. Let K be the supernode of that column: rows from K on belong to K's lower
  /// panel, rows above to the upper panels of their own supernodes.
  KOKKOS_FUNCTION void add_column(const UpdateTeam& team, const SupernodeBlock& J, const SupernodeTile& tile,
                                  Ordinal k, const Scalar* product) const {
    const SupernodePair pair = pairs(pair_of_column(J.column_list + k));
    const Ordinal split = Kokkos::min(Kokkos::max(pair.row, tile.row), tile.row + tile.rows);
    if (split < tile.row + tile.rows) {
      const SupernodeBlock K = blocks(pair.to);
      Scalar* const column =
          values.data() + K.lower + (column_lists(J.column_list + k) - K.first) * K.stride();
      const Ordinal* const position = positions.data() + pair.rows_at - pair.row;
      Kokkos::parallel_for(
          Kokkos::ThreadVectorRange(team, split, tile.row + tile.rows),
          [&](const Ordinal i) { add_shared<ExecutionSpace>(column[position[i]], product[i - tile.row]); });
    }
    Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, tile.row, split), [&](const Ordinal i) {
      const SupernodePair above = pairs(pair_of_row(J.row_list + i));
      const SupernodeBlock K = blocks(above.to);
      const Offset column = positions(above.columns_at + k - above.column_end);
      add_shared<ExecutionSpace>(values(K.upper + column * K.size + (row_lists(J.row_list + i) - K.first)),
                                 product[i - tile.row]);
    });
  }
};

/// Level by level.
template <class Scalar, class ExecutionSpace>
void factorize_supernodal_portable(
    const ExecutionSpace& exec, const SupernodalLuPlan<typename ExecutionSpace::memory_space>& plan,
    const Kokkos::View<Scalar*, typename ExecutionSpace::memory_space>& values,
    const PivotThreshold& threshold,
    const Kokkos::View<unsigned char*, typename ExecutionSpace::memory_space>& perturbed) {
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
              0};
  const int lanes = vector_length_for<ExecutionSpace>(32);
  const auto launch = [&]<class Tag>(Tag, const char* label, std::int64_t begin, std::int64_t end,
                                     std::size_t scratch, int threads) {
    if (begin == end) return;
    level.level_begin = begin;
    Kokkos::TeamPolicy<ExecutionSpace, Tag> policy(exec, static_cast<int>(end - begin), threads, lanes);
    if (scratch > 0) policy.set_scratch_size(0, Kokkos::PerTeam(static_cast<int>(scratch)));
    Kokkos::parallel_for(label, by_argument(policy), level);
  };
  const int four = team_width<ExecutionSpace>(4);
  for (std::size_t l = 0; l < plan.levels.size(); ++l) {
    const int by_size = std::clamp(static_cast<int>(plan.largest[l]) / 8, 1, 16);
    launch(typename Level::Diagonals(), "lutra::numeric::supernode_diagonals", plan.levels.level_map[l],
           plan.levels.level_map[l + 1], 0, team_width<ExecutionSpace>(by_size));
    level.tiles = plan.solves;
    launch(typename Level::Solves(), "lutra::numeric::supernode_panels", plan.solve_begin[l],
           plan.solve_begin[l + 1], 0, four);
    level.tiles = plan.updates;
    launch(typename Level::Updates(), "lutra::numeric::supernode_updates", plan.update_begin[l],
           plan.update_begin[l + 1], Level::scratch_bytes, four);
  }
}

}  // namespace lutra::Impl

#endif
