// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_StructureSvg.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "Lutra_AtomicFile.hpp"
#include "Lutra_Error.hpp"
#include "Lutra_Formatted.hpp"

namespace lutra {
namespace {

// Light to dark, half a decade of fill share per shade: the lightest is at most 10⁻⁴, the darkest above
// 10⁻⁰·⁵.
constexpr std::array<std::string_view, 8> shades = {"#dbe9f6", "#bad6eb", "#89bedc", "#539ecd",
                                                    "#2b7bba", "#0b559f", "#083b7c", "#041f4a"};

// Lengths in pixels.
constexpr int margin = 24, panel_side = 280, panel_gap = 32, head = 34, caption = 44;
constexpr int chart_height = 130, chart_axis = 44, max_bars = 320;

std::string decimal(double value) {
  return Impl::formatted("%.6g", value);
}

std::string escaped(std::string_view text) {
  std::string safe;
  for (const char c : text) {
    if (c == '&') {
      safe += "&amp;";
    } else if (c == '<') {
      safe += "&lt;";
    } else if (c == '>') {
      safe += "&gt;";
    } else {
      safe += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
    }
  }
  return safe;
}

std::string text_at(int x, int y, const std::string& text, const std::string& attributes = "") {
  return "<text x=\"" + std::to_string(x) + "\" y=\"" + std::to_string(y) + "\"" + attributes + ">" +
         escaped(text) + "</text>\n";
}

// Index in `shades` of a share above 0.
std::size_t shade_of(double share) {
  const double step = std::ceil(2 * std::log10(share)) + static_cast<double>(shades.size()) - 1;
  return static_cast<std::size_t>(std::clamp(step, 0.0, static_cast<double>(shades.size() - 1)));
}

// One path per shade, in units of cells; equal neighbours in a row are merged into one rectangle.
std::string cells(const DensityGrid& grid) {
  std::array<std::string, shades.size()> paths;
  const std::size_t width = static_cast<std::size_t>(grid.grid_cols);
  for (std::size_t row = 0; row < static_cast<std::size_t>(grid.grid_rows); ++row) {
    const double* share = grid.share.data() + row * width;
    for (std::size_t begin = 0, end = 0; begin < width; begin = end) {
      const auto same = [&](std::size_t k) {
        return share[begin] > 0 ? share[k] > 0 && shade_of(share[k]) == shade_of(share[begin])
                                : !(share[k] > 0);
      };
      for (end = begin + 1; end < width && same(end);) ++end;
      if (!(share[begin] > 0)) continue;
      const std::string length = std::to_string(end - begin);
      paths[shade_of(share[begin])] += std::string("M").append(std::to_string(begin)) + " " +
                                       std::to_string(row) + "h" + length + "v1h-" + length + "z";
    }
  }
  std::string svg;
  for (std::size_t shade = 0; shade < shades.size(); ++shade) {
    if (paths[shade].empty()) continue;
    svg += "<path fill=\"" + std::string(shades[shade]) + "\" d=\"" + paths[shade] + "\"/>\n";
  }
  return svg;
}

std::string panel(const DensityGrid& grid, int x, int y) {
  const std::int64_t longest = std::max({grid.grid_rows, grid.grid_cols, std::int64_t{1}});
  const double scale = static_cast<double>(panel_side) / static_cast<double>(longest);
  const std::string size = std::to_string(grid.n_rows) + " × " + std::to_string(grid.n_cols) + ", " +
                           std::to_string(grid.nnz) + " entries";
  return text_at(x, y - 8, grid.title, " class=\"title\"") + "<g transform=\"translate(" + std::to_string(x) +
         " " + std::to_string(y) + ") scale(" + decimal(scale) + ")\" shape-rendering=\"crispEdges\">\n" +
         cells(grid) + "<rect width=\"" + std::to_string(grid.grid_cols) + "\" height=\"" +
         std::to_string(grid.grid_rows) +
         "\" fill=\"none\" stroke=\"#888\" vector-effect=\"non-scaling-stroke\"/>\n</g>\n" +
         text_at(x, y + panel_side + 16, size);
}

std::string legend(int x, int y) {
  std::string svg = text_at(x, y + 10, "filled share of a cell: below 0.001");
  const int first = x + 215, step = 18;
  for (std::size_t shade = 0; shade < shades.size(); ++shade) {
    svg += "<rect x=\"" + std::to_string(first + step * static_cast<int>(shade)) + "\" y=\"" +
           std::to_string(y) + "\" width=\"" + std::to_string(step) + "\" height=\"12\" fill=\"" +
           std::string(shades[shade]) + "\"/>\n";
  }
  return svg + text_at(first + step * static_cast<int>(shades.size()) + 6, y + 10, "1");
}

// Bars on a logarithmic axis. With more levels than bars, a bar shows the widest of its levels.
std::string level_chart(const std::vector<std::int64_t>& widths, int x, int y, int width) {
  const auto n_levels = static_cast<std::int64_t>(widths.size());
  const std::int64_t widest = std::max(std::int64_t{1}, *std::max_element(widths.begin(), widths.end()));
  const double decades = std::max(1.0, std::ceil(std::log10(static_cast<double>(widest))));
  const std::int64_t n_bars = std::min<std::int64_t>(n_levels, max_bars);
  const double unit = chart_height / (decades + 0.25);  // pixels per decade; a width of 1 still shows a
                                                        // quarter
  const double bar = static_cast<double>(width - chart_axis) / static_cast<double>(n_bars);
  std::string svg = text_at(x, y - 14,
                            "Level widths: " + std::to_string(n_levels) + " levels, the widest " +
                                std::to_string(widest) + " columns",
                            " class=\"title\"");
  for (int decade = 0; decade <= static_cast<int>(decades); ++decade) {
    const int line = y + chart_height - static_cast<int>(unit * (decade + 0.25));
    svg += "<path stroke=\"#ddd\" d=\"M" + std::to_string(x + chart_axis) + " " + std::to_string(line) + "h" +
           std::to_string(width - chart_axis) + "\"/>\n" +
           text_at(x + chart_axis - 6, line + 4, decimal(std::pow(10.0, decade)), " text-anchor=\"end\"");
  }
  svg += "<path fill=\"#2b7bba\" d=\"";
  for (std::int64_t k = 0; k < n_bars; ++k) {
    const auto begin = widths.begin() + static_cast<std::ptrdiff_t>(k * n_levels / n_bars);
    const auto end = widths.begin() + static_cast<std::ptrdiff_t>((k + 1) * n_levels / n_bars);
    const std::int64_t value = *std::max_element(begin, end);
    if (value < 1) continue;
    const std::string height = decimal(unit * (std::log10(static_cast<double>(value)) + 0.25));
    svg += std::string("M").append(decimal(x + chart_axis + bar * static_cast<double>(k))) + " " +
           std::to_string(y + chart_height) + "v-" + height + "h" + decimal(bar * (bar > 4 ? 0.85 : 1)) +
           "v" + height + "z";
  }
  svg += "\"/>\n";
  return svg + text_at(x + chart_axis, y + chart_height + 16, "first level") +
         text_at(x + width, y + chart_height + 16, "last level", " text-anchor=\"end\"");
}

// Start of each cell of a grid over n positions: [n_cells + 1].
std::vector<std::int64_t> cell_starts(std::int64_t n, std::int64_t n_cells) {
  std::vector<std::int64_t> starts;
  for (std::int64_t cell = 0; cell <= n_cells; ++cell) {
    starts.push_back(n_cells == 0 ? 0 : (cell * n + n_cells - 1) / n_cells);
  }
  return starts;
}

void check_lengths(std::int64_t n, std::span<const std::int64_t> position, const char* what) {
  if (!position.empty() && position.size() != static_cast<std::size_t>(n)) {
    throw InputError(std::string("bin_density: ") + what + " has " + std::to_string(position.size()) +
                     " elements, not " + std::to_string(n));
  }
}

// Index of the cell that contains a position; `n` positions, cells of equal size up to rounding.
std::size_t cell_of(std::int64_t index, std::span<const std::int64_t> position, std::int64_t n,
                    std::int64_t n_cells) {
  const std::int64_t at = position.empty() ? index : position[static_cast<std::size_t>(index)];
  if (at < 0 || at >= n) {
    throw InputError("bin_density: index " + std::to_string(at) + " is outside 0 … " + std::to_string(n - 1));
  }
  return static_cast<std::size_t>(at * n_cells / n);
}

}  // namespace

template <class Index>
DensityGrid bin_density(const std::string& title, std::int64_t n_rows, std::int64_t n_cols,
                        std::span<const std::int64_t> row_map, std::span<const Index> entries,
                        std::span<const std::int64_t> row_position,
                        std::span<const std::int64_t> col_position, std::int64_t max_cells) {
  if (row_map.size() != static_cast<std::size_t>(n_rows) + 1 ||
      row_map.back() != static_cast<std::int64_t>(entries.size())) {
    throw InputError("bin_density: row_map does not fit the number of rows or of entries");
  }
  check_lengths(n_rows, row_position, "row_position");
  check_lengths(n_cols, col_position, "col_position");
  DensityGrid grid{
      title, n_rows, n_cols, row_map.back(), std::min(n_rows, max_cells), std::min(n_cols, max_cells), {}};
  const auto width = static_cast<std::size_t>(grid.grid_cols);
  grid.share.assign(static_cast<std::size_t>(grid.grid_rows) * width, 0);
  for (std::int64_t row = 0; row < n_rows; ++row) {
    const auto r = static_cast<std::size_t>(row);
    double* cell_row = grid.share.data() + cell_of(row, row_position, n_rows, grid.grid_rows) * width;
    for (auto k = static_cast<std::size_t>(row_map[r]); k < static_cast<std::size_t>(row_map[r + 1]); ++k) {
      cell_row[cell_of(entries[k], col_position, n_cols, grid.grid_cols)] += 1;
    }
  }
  const std::vector<std::int64_t> row_starts = cell_starts(n_rows, grid.grid_rows);
  const std::vector<std::int64_t> col_starts = cell_starts(n_cols, grid.grid_cols);
  for (std::size_t i = 0; i + 1 < row_starts.size(); ++i) {
    for (std::size_t j = 0; j < width; ++j) {
      grid.share[i * width + j] /=
          static_cast<double>((row_starts[i + 1] - row_starts[i]) * (col_starts[j + 1] - col_starts[j]));
    }
  }
  return grid;
}

std::string to_svg(const StructurePicture& picture) {
  const int n_panels = std::max(2, static_cast<int>(picture.panels.size()));
  const int width = 2 * margin + n_panels * panel_side + (n_panels - 1) * panel_gap;
  const int panels_at = margin + 2 * head, legend_at = panels_at + panel_side + 26;
  const int chart_at = legend_at + caption + head;
  const bool has_chart = !picture.level_widths.empty();
  const int height = has_chart ? chart_at + chart_height + margin + 14 : legend_at + 12 + margin;
  const std::string extent =
      "width=\"" + std::to_string(width) + "\" height=\"" + std::to_string(height) + "\"";
  std::string svg = "<svg xmlns=\"http://www.w3.org/2000/svg\" " + extent + " viewBox=\"0 0 " +
                    std::to_string(width) + " " + std::to_string(height) +
                    "\" font-family=\"sans-serif\" font-size=\"12\" fill=\"#222\">\n"
                    "<style>.title{font-size:14px;font-weight:bold}</style>\n<rect " +
                    extent + " fill=\"#fff\"/>\n" +
                    text_at(margin, margin + 14, picture.title, " font-size=\"18\" font-weight=\"bold\"");
  int x = margin;
  for (const DensityGrid& grid : picture.panels) {
    svg += panel(grid, x, panels_at);
    x += panel_side + panel_gap;
  }
  svg += legend(margin, legend_at);
  if (has_chart) svg += level_chart(picture.level_widths, margin, chart_at, width - 2 * margin);
  return svg + "</svg>\n";
}

void write_structure_svg(const std::string& file, const StructurePicture& picture) {
  Impl::AtomicFile out(file);
  out.write(to_svg(picture));
  out.commit();
}

#define LUTRA_INSTANTIATE_BIN_DENSITY(INDEX)                                                                 \
  template DensityGrid bin_density<INDEX>(                                                                   \
      const std::string&, std::int64_t, std::int64_t, std::span<const std::int64_t>, std::span<const INDEX>, \
      std::span<const std::int64_t>, std::span<const std::int64_t>, std::int64_t);
LUTRA_INSTANTIATE_BIN_DENSITY(int)
LUTRA_INSTANTIATE_BIN_DENSITY(std::int64_t)
#undef LUTRA_INSTANTIATE_BIN_DENSITY

}  // namespace lutra
