// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <Kokkos_Core.hpp>

// Tests the CUDA blocks of modes A, B and C with warps emulated on hosts.
#ifndef KOKKOS_ENABLE_CUDA
#include <catch2/catch_template_test_macros.hpp>
#include <random>

#include "Lutra_SimplicialLu.hpp"
#include "Lutra_TestDominant.hpp"
#include "Lutra_TestWarps.hpp"

template <class T>
void atomicAdd(T* address, T value) {  // lanes take turns at barriers only
  *address += value;
}

#include "Lutra_ColumnModeBlockCuda.hpp"

namespace lutra::Test {
namespace {

using Space = Kokkos::DefaultHostExecutionSpace;
using Plan = RightLookingLuPlan<Kokkos::HostSpace>;

/// What the blocks read of ColumnLaunch.
struct HostLaunch {
  const Offset *row_map, *row_diagonal, *row_to_column;
  const Ordinal* row_entries;
  const Offset *column_map, *column_diagonal;
  const Ordinal* column_entries;
  double* values;
  Ordinal n;
  PivotThreshold threshold;
  const Offset* map_begin = nullptr;
  const unsigned* map = nullptr;
};

HostLaunch launch_of(const Plan& plan, std::vector<double>& values, double threshold) {
  const auto& columns = plan.columns.pattern;
  return {plan.rows.row_map.data(),
          plan.rows.diagonal.data(),
          plan.row_to_column.data(),
          plan.rows.entries.data(),
          columns.row_map.data(),
          plan.column_diagonal.data(),
          columns.entries.data(),
          values.data(),
          plan.n(),
          PivotThreshold(threshold)};
}

/// Positions of all updates, as the CUDA plan has them.
struct Maps {
  std::vector<Offset> begin;
  std::vector<unsigned> positions;

  explicit Maps(const HostLaunch& launch) {
    for (Ordinal j = 0; j < launch.n; ++j) {
      begin.push_back(static_cast<Offset>(positions.size()));
      const lutra::Impl::ModeColumn column(launch, j);
      for (int up = 0; up < column.up_count; ++up) {
        const auto at = launch.row_to_column[column.up_first + up];
        const auto k = launch.row_entries[column.up_first + up];
        for (int r = 0; r < column.row_count; ++r)
          positions.push_back(static_cast<unsigned>(
              lutra::Impl::find_row(launch.column_entries, at + 1 + r, launch.column_map[k + 1],
                                    launch.column_entries[column.row_first + r]) -
              launch.column_map[k]));
      }
    }
  }
};

constexpr int warps_in_block = 2, blocks = 2, block_threads = warps_in_block * Warps::lanes;

lutra::Impl::ModeBlock block_of_lane() {
  return {Warps::active->block(), blocks, Warps::active->thread() % block_threads, block_threads};
}

/// All updates, level by level. @param by_subcolumns mode C, else A and B
template <ColumnFormat format>
void update_levels(const Plan& plan, const HostLaunch& launch, bool by_subcolumns, std::mt19937& random) {
  using namespace lutra::Impl;
  std::vector<double> dense(static_cast<std::size_t>(blocks * plan.n()), 0);
  const auto run = [&](const auto& body) {
    REQUIRE(Warps().run(blocks * warps_in_block, random, body, warps_in_block));
  };
  for (std::size_t l = 0; l < plan.levels.size(); ++l) {
    const Ordinal begin = plan.levels.level_map[l], end = plan.levels.level_map[l + 1];
    if (!by_subcolumns) {
      run([&] {
        work_columns<format>(launch, plan.levels.order.data() + begin, end - begin, dense.data(),
                             block_of_lane());
      });
      continue;
    }
    for (Ordinal c = begin; c < end; ++c) {
      const ModeColumn column(launch, plan.levels.order(c));
      const auto write = [&](bool zero) {
        run([&] {
          write_dense(launch, column, dense.data(), zero, Warps::active->thread(), blocks * block_threads);
        });
      };
      if (format == ColumnFormat::dense) write(false);
      for (int first = 0; first < column.up_count;
           first += blocks)  // a grid has as many blocks as sub-columns
        run([&] {
          const auto at = block_of_lane();
          if (first + at.block < column.up_count)
            update_subcolumn<format>(launch, column, column.pivot(launch), first + at.block, dense.data(),
                                     at.thread, at.threads);
        });
      if (format == ColumnFormat::dense) write(true);
    }
  }
  CHECK(dense == std::vector<double>(dense.size(), 0));
}

/// Divides L by its pivots, which the launch after all updates does.
void divide(const HostLaunch& launch) {
  for (Ordinal j = 0; j < launch.n; ++j) {
    const lutra::Impl::ModeColumn column(launch, j);
    const double pivot = launch.values[column.row_first - 1] = column.pivot(launch);
    for (int r = 0; r < column.row_count; ++r) launch.values[column.row_first + r] /= pivot;
  }
}

using DoubleTypes = Types<double, int, Space>;

template <ColumnFormat format>
void check_blocks(const Matrix<DoubleTypes>& matrix, double threshold, std::mt19937& random) {
  const auto n = static_cast<std::size_t>(matrix.n_rows);
  const auto filled = factorize_symbolic(Space(), to_space<Space>(matrix).pattern(), MemoryBudget());
  const auto plan = plan_right_looking_lu(Space(), filled, MemoryBudget());
  const auto columns = to_rows(plan.columns.pattern);
  std::vector<std::vector<double>> dense(n, std::vector<double>(n, 0));
  for (std::size_t i = 0; i < n; ++i)
    Reference::for_row(matrix, i, [&](std::size_t j, const double& value) { dense[i][j] = value; });
  for (const bool by_subcolumns : {false, true}) {
    std::vector<double> values;
    for (std::size_t j = 0; j < n; ++j)
      for (const std::size_t i : columns[j]) values.push_back(dense[i][j]);
    auto launch = launch_of(plan, values, threshold);
    const Maps maps(launch);
    launch.map_begin = maps.begin.data();
    launch.map = maps.positions.data();
    update_levels<format>(plan, launch, by_subcolumns, random);
    divide(launch);
    auto factors = dense;
    std::size_t position = 0;
    for (std::size_t j = 0; j < n; ++j)
      for (const std::size_t i : columns[j]) factors[i][j] = values[position++];
    check_entries(factors, Reference::factorize(matrix, Reference::lu_pattern(matrix), threshold), 10);
  }
}

}  // namespace

TEST_CASE("blocks of modes A, B and C give the factors of plain elimination in each format", "[numeric]") {
  std::mt19937 random(71);
  for (const int n : {1, 5, 25}) {
    const auto matrix = dominant_matrix<Matrix<DoubleTypes>>(n, std::min(1.0, 4.0 / n), random);
    check_blocks<ColumnFormat::search>(matrix, 0, random);
    check_blocks<ColumnFormat::map>(matrix, 0, random);
    check_blocks<ColumnFormat::dense>(matrix, 0, random);
  }
  const double o = nothing;
  const auto small = from_dense<Matrix<DoubleTypes>>({{1, 1, o}, {1, 1, 1}, {o, 1, 1}});  // a perturbed pivot
  check_blocks<ColumnFormat::search>(small, 0.5, random);
  check_blocks<ColumnFormat::dense>(small, 0.5, random);
}

}  // namespace lutra::Test
#endif
