// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_STRUCTURESVG_HPP
#define LUTRA_STRUCTURESVG_HPP

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace lutra {

/// Density of a pattern on a coarse grid.
struct DensityGrid {
  std::string title;
  std::int64_t n_rows = 0, n_cols = 0, nnz = 0;  ///< of the pattern
  std::int64_t grid_rows = 0, grid_cols = 0;
  std::vector<double>
      share;  ///< [grid_rows · grid_cols] row-major: share of each cell's positions that hold an entry
};

/// Density of a pattern on a grid with at most `max_cells` cells per side; a smaller matrix has one cell per
/// position.
/// @param row_map      [n_rows + 1] start of each row in `entries`
/// @param entries      [nnz] columns
/// @param row_position [n_rows] position at which each row is drawn; empty: identity
/// @param col_position [n_cols] position at which each column is drawn; empty: identity
/// @throws InputError if lengths do not match
template <class Index>
DensityGrid bin_density(const std::string& title, std::int64_t n_rows, std::int64_t n_cols,
                        std::span<const std::int64_t> row_map, std::span<const Index> entries,
                        std::span<const std::int64_t> row_position = {},
                        std::span<const std::int64_t> col_position = {}, std::int64_t max_cells = 200);

/// Patterns side by side above a chart of level widths.
struct StructurePicture {
  std::string title;
  std::vector<DensityGrid> panels;
  std::vector<std::int64_t> level_widths;  ///< columns in each level, in order; empty: no chart
};

/// @returns the picture as SVG text
std::string to_svg(const StructurePicture& picture);

/// Writes the picture as an SVG file that appears complete or not at all.
/// @throws FileError if it cannot be written
void write_structure_svg(const std::string& file, const StructurePicture& picture);

}  // namespace lutra

#endif
