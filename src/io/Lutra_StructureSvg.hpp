// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_STRUCTURESVG_HPP
#define LUTRA_STRUCTURESVG_HPP

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace lutra {

/// A pattern counted over the cells of a coarse grid.
struct DensityGrid {
  std::string title;
  std::int64_t n_rows = 0, n_cols = 0, nnz = 0;  ///< of the pattern
  std::int64_t grid_rows = 0, grid_cols = 0;
  std::vector<double>
      share;  ///< [grid_rows · grid_cols] by rows: part of each cell's positions that hold an entry
};

/// Counts a pattern over a grid of at most `max_cells` cells along a side; a smaller matrix has one cell per
/// position.
/// @param row_map      [n_rows + 1] where each row starts in `entries`
/// @param entries      [nnz] columns
/// @param row_position [n_rows] where each row is drawn; empty: in place
/// @param col_position [n_cols] where each column is drawn; empty: in place
/// @throws InputError where lengths do not fit
template <class Index>
DensityGrid bin_density(const std::string& title, std::int64_t n_rows, std::int64_t n_cols,
                        std::span<const std::int64_t> row_map, std::span<const Index> entries,
                        std::span<const std::int64_t> row_position = {},
                        std::span<const std::int64_t> col_position = {}, std::int64_t max_cells = 200);

/// Patterns side by side and the widths of the levels below.
struct StructurePicture {
  std::string title;
  std::vector<DensityGrid> panels;
  std::vector<std::int64_t> level_widths;  ///< columns in each level, in order; empty: no chart
};

/// The picture as SVG text.
std::string to_svg(const StructurePicture& picture);

/// Writes it to a file that appears complete or not at all.
/// @throws FileError where it cannot be written
void write_structure_svg(const std::string& file, const StructurePicture& picture);

}  // namespace lutra

#endif
