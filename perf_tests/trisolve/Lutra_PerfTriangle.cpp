// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_PerfTriangle.hpp"

#include <cmath>
#include <limits>
#include <stdexcept>

namespace lutra::Perf {
namespace {

/// Position of element (i, c) among [n × k].
struct ElementIndex {
  std::size_t row_stride, column_stride;
  ElementIndex(std::size_t n, int columns, VectorOrder order)
      : row_stride(order == VectorOrder::by_rows ? static_cast<std::size_t>(columns) : 1),
        column_stride(order == VectorOrder::by_rows ? 1 : n) {}
  std::size_t operator()(std::size_t i, std::size_t c) const { return i * row_stride + c * column_stride; }
};

/// Maxima over rows of the terms of backward errors.
struct Extremes {
  double componentwise = 0, residual = 0, row_sum = 0, solution = 0, right_hand_side = 0;

  /// Keeps the greater of each. NaN persists.
  Extremes& operator+=(const Extremes& other) {
    const auto keep = [](double& mine, double theirs) {
      if (!(mine >= theirs) && !std::isnan(mine)) mine = theirs;
    };
    keep(componentwise, other.componentwise);
    keep(residual, other.residual);
    keep(row_sum, other.row_sum);
    keep(solution, other.solution);
    keep(right_hand_side, other.right_hand_side);
    return *this;
  }
};

/// Row i of all right-hand sides.
Extremes row_extremes(const TriangleSystem& system, const std::vector<double>& x, const ElementIndex& index,
                      int columns, std::size_t i) {
  const HostMatrix<double>& T = system.matrix;
  const auto begin = static_cast<std::size_t>(T.row_map[i]), end = static_cast<std::size_t>(T.row_map[i + 1]);
  Extremes row;
  for (std::size_t p = begin; p < end; ++p) row.row_sum += std::abs(T.values[p]);
  for (int column = 0; column < columns; ++column) {
    const auto c = static_cast<std::size_t>(column);
    const double b = TriangleSystem::scale(column) * system.b[i];
    long double r = b, size = std::abs(b);
    for (std::size_t p = begin; p < end; ++p) {
      const long double product =
          static_cast<long double>(T.values[p]) * x[index(static_cast<std::size_t>(T.entries[p]), c)];
      r -= product;
      size += std::abs(product);
    }
    r = std::abs(r);
    row += {r == 0 ? 0.0 : static_cast<double>(r / size), static_cast<double>(r), 0.0,
            std::abs(x[index(i, c)]), std::abs(b)};
  }
  return row;
}

}  // namespace

std::vector<double> right_hand_sides(const TriangleSystem& system, int columns, VectorOrder order) {
  const ElementIndex index(system.n(), columns, order);
  std::vector<double> B(system.n() * static_cast<std::size_t>(columns));
  for (int column = 0; column < columns; ++column) {
    for (std::size_t i = 0; i < system.n(); ++i) {
      B[index(i, static_cast<std::size_t>(column))] = TriangleSystem::scale(column) * system.b[i];
    }
  }
  return B;
}

Errors triangle_errors(const TriangleSystem& system, const std::vector<double>& x, int columns,
                       VectorOrder order) {
  using Host = Kokkos::DefaultHostExecutionSpace;
  const ElementIndex index(system.n(), columns, order);
  // One Extremes per chunk of rows, joined afterwards, because no reduction of Kokkos keeps NaN.
  constexpr std::size_t chunk = 256;
  std::vector<Extremes> parts((system.n() + chunk - 1) / chunk);
  Kokkos::parallel_for("lutra::perf::triangle_errors",
                       Kokkos::RangePolicy<Host, Kokkos::Schedule<Kokkos::Dynamic>>(0, parts.size()),
                       [&](const std::size_t part) {
                         const std::size_t end = std::min(system.n(), (part + 1) * chunk);
                         for (std::size_t i = part * chunk; i < end; ++i) {
                           parts[part] += row_extremes(system, x, index, columns, i);
                         }
                       });
  Host().fence("lutra::perf: errors are known");
  Extremes all;
  for (const Extremes& part : parts) all += part;
  if (!std::isfinite(all.componentwise) || !std::isfinite(all.residual) || !std::isfinite(all.solution)) {
    return {std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity()};
  }
  const double scale = all.row_sum * all.solution + all.right_hand_side;
  return {all.componentwise, scale > 0 ? all.residual / scale : 0.0};
}

IntTriangle to_int_triangle(const HostMatrix<double>& matrix) {
  if (matrix.nnz() > std::numeric_limits<int>::max())
    throw std::runtime_error("more entries than this peer counts");
  return {{matrix.row_map.begin(), matrix.row_map.end()}, matrix.entries, matrix.values};
}

}  // namespace lutra::Perf
