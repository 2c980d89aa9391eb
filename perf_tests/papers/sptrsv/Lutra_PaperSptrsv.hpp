// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_PAPERSPTRSV_HPP
#define LUTRA_PAPERSPTRSV_HPP

#include <map>
#include <string>
#include <vector>

#include "Lutra_DistributedTriangles.hpp"
#include "Lutra_PaperReport.hpp"
#include "Lutra_PerfTriangle.hpp"

// N. Ding, Y. Liu, S. Williams and X. S. Li, "A Message-Driven, Multi-GPU Parallel Sparse Triangular Solver",
// ACDA 2021. Only lower triangles are solved, as in the paper. All ranks call each function.

namespace lutra::Perf {

inline constexpr bool on_device =
    !std::is_same_v<Kokkos::DefaultExecutionSpace, Kokkos::DefaultHostExecutionSpace>;

/// L of a complete factorization, on each rank.
struct LowerTriangle {
  std::string name;
  TriangleSystem system;
  std::int64_t supernodes = 0;  ///< runs of columns with one structure
  std::int64_t levels = 0;      ///< of supernodes
};
LowerTriangle lower_triangle(const std::string& name, const HostMatrix<double>& A);

/// How a grid of ranks solves.
struct GridMode {
  std::string name;
  CommBackend backend = CommBackend::mpi;
  bool deterministic = true;
};
/// The modes that these ranks have; the default first.
std::vector<GridMode> grid_modes();

/// Median seconds of a solve on a grid, the same on all ranks. Checks the backward error of X.
double grid_seconds(const PaperRun& run, const LowerTriangle& triangle, const ProcessGrid& grid,
                    const GridMode& mode);
/// The model's prediction of it.
double predicted_seconds(const LowerTriangle& triangle, const ProcessGrid& grid,
                         const DistributedCosts& costs);

/// Seconds on all grids of the first 1, 2, 4, … and all ranks with the default mode, by the grid's name.
using GridSeconds = std::map<std::string, double>;
GridSeconds all_grid_seconds(const PaperRun& run, const LowerTriangle& triangle);
/// 1, 2, 4, … and all ranks.
std::vector<int> numbers_of_ranks();
/// P × 1, 1 × P, and the squarest grid of P ranks, without repetitions.
std::vector<ProcessGrid> grids_of_interest(int ranks);

/// Triangles with the times of their grids.
struct MeasuredTriangle {
  LowerTriangle triangle;
  GridSeconds seconds;
};

PaperTable test_matrices(const std::vector<MeasuredTriangle>& measured);
PaperTable one_device(const PaperRun& run, const std::vector<MeasuredTriangle>& measured);
PaperTable decomposition(const std::vector<MeasuredTriangle>& measured, const std::string& place);
PaperTable send_bandwidth(const PaperRun& run);
PaperTable predictions(const PaperRun& run, const std::vector<MeasuredTriangle>& measured);
PaperTable modes(const PaperRun& run, const std::vector<MeasuredTriangle>& measured);

}  // namespace lutra::Perf

#endif
