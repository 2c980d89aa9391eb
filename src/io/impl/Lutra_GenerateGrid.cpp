// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <vector>

#include "Lutra_GenerateKinds.hpp"

namespace lutra::Impl {
namespace {

// Neighbour of a grid point and its coefficient. Coordinates are (z, y, x), with x running fastest.
struct StencilLeg {
  std::array<int, 3> step;
  double value;
};

// Matrix of a stencil on a grid with zero boundary values; neighbours outside the grid are dropped.
// `legs_at(point)` returns the legs of the stencil at a point sorted by step, so that rows are sorted.
template <class LegsAt>
HostMatrix<double> apply_stencil(const std::array<int, 3>& extents, const LegsAt& legs_at) {
  const int n = extents[0] * extents[1] * extents[2];
  HostMatrix<double> matrix{n, n, {0}, {}, {}};
  matrix.row_map.reserve(static_cast<std::size_t>(n) + 1);
  std::array<int, 3> point{};
  for (point[0] = 0; point[0] < extents[0]; ++point[0]) {
    for (point[1] = 0; point[1] < extents[1]; ++point[1]) {
      for (point[2] = 0; point[2] < extents[2]; ++point[2]) {
        for (const StencilLeg& leg : legs_at(point)) {
          int column = 0;
          bool inside = true;
          for (std::size_t d = 0; d < 3; ++d) {
            const int at = point[d] + leg.step[d];
            inside = inside && at >= 0 && at < extents[d];
            column = column * extents[d] + at;
          }
          if (!inside) continue;
          matrix.entries.push_back(column);
          matrix.values.push_back(leg.value);
        }
        matrix.row_map.push_back(matrix.nnz());
      }
    }
  }
  return matrix;
}

}  // namespace

HostMatrix<double> generate_poisson2d(int side) {
  const std::vector<StencilLeg> legs = {
      {{0, -1, 0}, -1}, {{0, 0, -1}, -1}, {{0, 0, 0}, 4}, {{0, 0, 1}, -1}, {{0, 1, 0}, -1}};
  return apply_stencil({1, side, side}, [&legs](const auto&) { return std::span(legs); });
}

HostMatrix<double> generate_poisson3d(int side) {
  const std::vector<StencilLeg> legs = {{{-1, 0, 0}, -1}, {{0, -1, 0}, -1}, {{0, 0, -1}, -1}, {{0, 0, 0}, 6},
                                        {{0, 0, 1}, -1},  {{0, 1, 0}, -1},  {{1, 0, 0}, -1}};
  return apply_stencil({side, side, side}, [&legs](const auto&) { return std::span(legs); });
}

HostMatrix<double> generate_convdiff3d(int side) {
  constexpr double peclet = 16;  // max. |w|·h / diffusion; a power of two, so that products are exact
  const auto legs_at = [side](const std::array<int, 3>& point) {
    // Distance from the axis in each direction, −1 … 1. The wind is w = (y, −x, 1/2).
    const double x = static_cast<double>(2 * point[2] + 1 - side) / static_cast<double>(side + 1);
    const double y = static_cast<double>(2 * point[1] + 1 - side) / static_cast<double>(side + 1);
    const std::array<double, 3> wind = {peclet / 2, -peclet * x, peclet * y};  // along z, y, x
    const auto upwind = [&wind](std::size_t d) { return -1 - std::max(wind[d], 0.0); };
    const auto downwind = [&wind](std::size_t d) { return -1 - std::max(-wind[d], 0.0); };
    const double center = 6 + (std::abs(wind[0]) + std::abs(wind[1]) + std::abs(wind[2]));
    return std::array<StencilLeg, 7>{{{{-1, 0, 0}, upwind(0)},
                                      {{0, -1, 0}, upwind(1)},
                                      {{0, 0, -1}, upwind(2)},
                                      {{0, 0, 0}, center},
                                      {{0, 0, 1}, downwind(2)},
                                      {{0, 1, 0}, downwind(1)},
                                      {{1, 0, 0}, downwind(0)}}};
  };
  return apply_stencil({side, side, side}, legs_at);
}

HostMatrix<double> generate_aniso2d(int side) {
  // D = R diag(1, 1/1000) Rᵀ for the rotation with cos = 0.8, sin = 0.6; the mixed derivative uses the four
  // diagonal neighbours.
  constexpr double d_xx = 0.64036, d_yy = 0.36064, d_xy = 0.47952, center = 2.002;
  constexpr double corner = d_xy / 2;
  const std::vector<StencilLeg> legs = {{{0, -1, -1}, -corner}, {{0, -1, 0}, -d_yy}, {{0, -1, 1}, corner},
                                        {{0, 0, -1}, -d_xx},    {{0, 0, 0}, center}, {{0, 0, 1}, -d_xx},
                                        {{0, 1, -1}, corner},   {{0, 1, 0}, -d_yy},  {{0, 1, 1}, -corner}};
  return apply_stencil({1, side, side}, [&legs](const auto&) { return std::span(legs); });
}

}  // namespace lutra::Impl
