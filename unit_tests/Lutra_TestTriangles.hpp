// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_TESTTRIANGLES_HPP
#define LUTRA_TESTTRIANGLES_HPP

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "Lutra_Error.hpp"
#include "Lutra_Reference_Triangle.hpp"
#include "Lutra_TestMatrices.hpp"
#include "Lutra_TriangularSolver.hpp"

namespace lutra::Test {

/// A matrix and the triangle of it to be solved.
template <class MatrixType>
struct TestTriangle {
  MatrixType matrix;  ///< may hold entries outside the triangle, and a diagonal that must not be read
  TriangleSide side = TriangleSide::lower;
  DiagonalKind diagonal = DiagonalKind::stored;
  bool graded =
      false;  ///< values of all magnitudes: only the backward error shows whether a solution is right
  std::size_t longest_row = 0;  ///< most entries of the triangle in a row or column of it
  std::string description;

  Reference::Side reference_side() const {
    return {side == TriangleSide::lower, diagonal == DiagonalKind::unit};
  }
};

/// Dependencies of the rows of a lower triangle: [n] ascending columns below i.
using LowerRows = std::vector<std::vector<std::size_t>>;

inline bool chance(std::mt19937& random, double probability) {
  return std::uniform_real_distribution<double>(0.0, 1.0)(random) < probability;
}

/// A number from `low` to `high`, both included.
inline std::size_t any_of(std::mt19937& random, std::size_t low, std::size_t high) {
  return std::uniform_int_distribution<std::size_t>(low, high)(random);
}

inline void sort_rows(LowerRows& rows) {
  for (auto& row : rows) {
    std::ranges::sort(row);
    const auto repeated = std::ranges::unique(row);
    row.erase(repeated.begin(), repeated.end());
  }
}

// ---- patterns

/// Each row waits for about `mean` > 0 of the `reach` rows before it.
inline LowerRows scattered_rows(std::size_t n, double mean, std::size_t reach, std::mt19937& random) {
  LowerRows rows(n);
  std::poisson_distribution<std::size_t> length(mean);
  for (std::size_t i = 1; i < n; ++i) {
    const std::size_t first = i > reach ? i - reach : 0;
    const std::size_t wanted = std::min(length(random), i - first);
    for (std::size_t e = 0; e < wanted; ++e) rows[i].push_back(any_of(random, first, i - 1));
  }
  sort_rows(rows);
  return rows;
}

/// Each row waits for all `width` rows before it. With n of them the triangle is dense.
inline LowerRows banded_rows(std::size_t n, std::size_t width) {
  LowerRows rows(n);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = i > width ? i - width : 0; j < i; ++j) rows[i].push_back(j);
  }
  return rows;
}

/// A chain of heads. A fan of rows waits for each head, and the next head waits for the whole fan.
inline LowerRows fan_rows(std::size_t n, std::size_t fan) {
  LowerRows rows(n);
  for (std::size_t i = 1; i < n; ++i) {
    const std::size_t head = i / (fan + 1) * (fan + 1);
    for (std::size_t j = i == head ? i - fan - 1 : head; j < (i == head ? i : head + 1); ++j)
      rows[i].push_back(j);
  }
  return rows;
}

/// Levels of `width` rows. Each row waits for the row at its position in the previous level and for `more`
/// others there.
inline LowerRows wide_rows(std::size_t n, std::size_t width, std::size_t more, std::mt19937& random) {
  LowerRows rows(n);
  for (std::size_t i = width; i < n; ++i) {
    const std::size_t before = (i / width - 1) * width;
    rows[i].push_back(i - width);
    for (std::size_t e = 0; e < more; ++e) rows[i].push_back(any_of(random, before, before + width - 1));
  }
  sort_rows(rows);
  return rows;
}

/// As in factors: blocks of up to `most` dense rows with the same dependencies outside the block.
inline LowerRows blocked_rows(std::size_t n, std::size_t most, double mean, std::mt19937& random) {
  LowerRows rows(n);
  for (std::size_t begin = 0; begin < n;) {
    const std::size_t end = std::min(n, begin + any_of(random, 1, most));
    std::vector<std::size_t> shared;
    const std::size_t wanted = begin > 0 ? any_of(random, 0, static_cast<std::size_t>(2 * mean)) : 0;
    for (std::size_t e = 0; e < wanted; ++e) shared.push_back(any_of(random, 0, begin - 1));
    for (std::size_t i = begin; i < end; ++i) {
      rows[i] = shared;
      for (std::size_t j = begin; j < i; ++j) rows[i].push_back(j);
    }
    begin = end;
  }
  sort_rows(rows);
  return rows;
}

/// The last row waits for all rows, and all rows wait for the first.
inline LowerRows arrow_rows(std::size_t n) {
  LowerRows rows(n);
  for (std::size_t i = 1; i + 1 < n; ++i) rows[i].push_back(0);
  for (std::size_t j = 0; j + 1 < n; ++j) rows[n - 1].push_back(j);
  return rows;
}

/// One of all these patterns, with a name. `max_entries` roughly bounds its entries.
inline LowerRows any_rows(std::size_t n, std::size_t max_entries, std::mt19937& random, std::string& name) {
  const std::size_t max_length = std::max<std::size_t>(1, max_entries / n);
  const double mean = std::min(0.1 * std::pow(10.0, 3.5 * std::generate_canonical<double, 32>(random)),
                               static_cast<double>(max_length));
  const auto length = static_cast<std::size_t>(std::ceil(mean));
  switch (any_of(random, 0, 9)) {
    case 0:
      name = "diagonal";
      return LowerRows(n);
    case 1:
      name = "chain";
      return banded_rows(n, 1);
    case 2:
      name = "banded";
      return banded_rows(n, length);
    case 3:
      name = "fans";
      return fan_rows(n, any_of(random, 1, 100));
    case 4:
      name = "wide levels";
      return wide_rows(n, any_of(random, 1, 400), std::min<std::size_t>(length, 8), random);
    case 5:
      name = "blocks";
      return blocked_rows(n, any_of(random, 2, std::min<std::size_t>(70, 2 * max_length)),
                          std::min(mean, 20.0), random);
    case 6:
      name = "arrow";
      return arrow_rows(n);
    case 7:
      name = "near";
      return scattered_rows(n, mean, any_of(random, 1, 60), random);
    case 8:
      name = "dense";
      return banded_rows(n, std::min(n, 2 * max_length));
    default:
      name = "scattered";
      return scattered_rows(n, mean, n, random);
  }
}

// ---- values

/// Off-diagonal magnitudes of a row sum to less than half of its diagonal, which is 1 or 1.75. Row sums of
/// the inverse are at most 2.
template <class Scalar>
Scalar tame_value(std::size_t row_length, std::mt19937& random) {
  return random_value<Scalar>(random, 1) * as_scalar<Scalar>(0.15 / static_cast<double>(row_length));
}

/// Entries exceed the diagonal within a segment of 16 rows and are tiny outside. Segments are
/// ill-conditioned, but solutions stay within range for any number of them.
template <class Scalar>
Scalar graded_value(std::size_t i, std::size_t j, std::size_t row_length, std::mt19937& random) {
  const bool inside = i / 16 == j / 16;
  const double length = static_cast<double>(inside ? std::min<std::size_t>(row_length, 16) : row_length);
  return random_value<Scalar>(random, 0) * as_scalar<Scalar>((inside ? 2.0 : 1e-10) / length);
}

/// Magnitudes of rows and columns of a graded triangle: powers of two, so that scaling rounds nothing.
inline std::vector<double> grades(std::size_t n, bool graded, std::mt19937& random) {
  std::vector<double> result(n, 1.0);
  if (!graded) return result;
  for (double& grade : result) grade = std::ldexp(1.0, static_cast<int>(any_of(random, 0, 20)) - 10);
  return result;
}

/// An entry of the triangle before entries are sorted.
template <class Scalar>
struct Placed {
  std::size_t column;
  Scalar value;
};

/// Appends a row in ascending order of columns.
template <class MatrixType>
void append_row(MatrixType& matrix,
                std::vector<Placed<typename decltype(MatrixType::values)::value_type>>& row) {
  std::ranges::sort(row, {}, [](const auto& entry) { return entry.column; });
  for (const auto& [column, value] : row) {
    matrix.entries.push_back(static_cast<typename decltype(MatrixType::entries)::value_type>(column));
    matrix.values.push_back(value);
  }
  matrix.row_map.push_back(matrix.nnz());
}

/// A value that no solve may read.
template <class Scalar>
Scalar rubbish(std::mt19937& random) {
  static constexpr double choices[] = {0.0, 1e30, std::numeric_limits<double>::quiet_NaN()};
  return as_scalar<Scalar>(choices[any_of(random, 0, 2)]);
}

/// Adds values and storage to a pattern. In a triangle with a unit diagonal, some diagonal entries are
/// missing and some are garbage. With `more`, there is also garbage on the other side of the diagonal.
template <class MatrixType>
TestTriangle<MatrixType> with_values(const LowerRows& rows, TriangleSide side, DiagonalKind diagonal,
                                     bool graded, bool more, std::mt19937& random) {
  using Scalar = typename decltype(MatrixType::values)::value_type;
  const std::size_t n = rows.size();
  const bool lower = side == TriangleSide::lower;
  const std::vector<double> row_grade = grades(n, graded && diagonal == DiagonalKind::stored, random);
  const std::vector<double> column_grade = grades(n, graded && diagonal == DiagonalKind::stored, random);
  TestTriangle<MatrixType> result{{}, side, diagonal, graded, 0, {}};
  MatrixType& matrix = result.matrix;
  matrix.n_rows = matrix.n_cols = static_cast<typename decltype(MatrixType::entries)::value_type>(n);
  matrix.row_map.push_back(0);
  std::vector<std::size_t> column_length(n, 1);
  std::vector<Placed<Scalar>> row;
  for (std::size_t k = 0; k < n; ++k) {
    // Reversing rows and columns of the pattern gives an upper triangle.
    const std::size_t i = lower ? k : n - 1 - k;
    const auto position = [&](std::size_t j) { return lower ? j : n - 1 - j; };
    const auto put = [&](std::size_t j, const Scalar& value) {
      row.push_back({position(j), value * as_scalar<Scalar>(row_grade[i] * column_grade[j])});
    };
    row.clear();
    for (const std::size_t j : rows[i]) {
      put(j, graded ? graded_value<Scalar>(i, j, rows[i].size(), random)
                    : tame_value<Scalar>(rows[i].size(), random));
      result.longest_row = std::max({result.longest_row, rows[i].size() + 1, ++column_length[j]});
    }
    if (diagonal == DiagonalKind::stored) {
      put(i, random_value<Scalar>(random, 0) * as_scalar<Scalar>(chance(random, 0.5) ? 1.0 : 1.75));
    } else if (chance(random, 0.5)) {
      row.push_back({position(i), rubbish<Scalar>(random)});
    }
    for (int e = 0; more && e < 2 && i + 1 < n; ++e) {
      const std::size_t j = any_of(random, i + 1, n - 1);
      const bool there =
          std::ranges::any_of(row, [&](const auto& entry) { return entry.column == position(j); });
      if (!there) row.push_back({position(j), rubbish<Scalar>(random)});
    }
    append_row(matrix, row);
  }
  return result;
}

/// A triangle of any pattern, side, diagonal and condition.
template <class MatrixType>
TestTriangle<MatrixType> random_triangle(std::size_t n, std::size_t max_entries, std::mt19937& random) {
  std::string name;
  const LowerRows rows = any_rows(n, max_entries, random, name);
  const auto side = chance(random, 0.5) ? TriangleSide::lower : TriangleSide::upper;
  const auto diagonal = chance(random, 0.7) ? DiagonalKind::stored : DiagonalKind::unit;
  const bool graded = chance(random, 0.3), more = chance(random, 0.3);
  auto triangle = with_values<MatrixType>(rows, side, diagonal, graded, more, random);
  triangle.description = name + ", n = " + std::to_string(n) + ", " + std::to_string(triangle.matrix.nnz()) +
                         " entries, " + (side == TriangleSide::lower ? "lower" : "upper") +
                         (diagonal == DiagonalKind::unit ? ", unit" : "") + (graded ? ", graded" : "") +
                         (more ? ", more beyond the diagonal" : "");
  return triangle;
}

// ---- solvers

template <class Types>
using TriangleSolver = TriangularSolver<typename Types::Scalar, typename Types::Space>;

inline constexpr TrisolveMethod methods[] = {TrisolveMethod::automatic, TrisolveMethod::levels,
                                             TrisolveMethod::syncfree, TrisolveMethod::supernodal};

inline std::size_t from_environment(const char* name, std::size_t otherwise) {
  const char* const text = std::getenv(name);
  return text == nullptr ? otherwise : std::stoul(text);
}

/// How many random triangles each execution space gets.
inline std::size_t triangle_count() {
  return from_environment("LUTRA_TRIANGLES", 800);
}

/// A solver; empty if the execution space cannot run the method.
template <class Types>
std::optional<TriangleSolver<Types>> make_solver(const TriangularOptions& options,
                                                 const typename Types::Space& exec = {}) {
  try {
    return std::optional<TriangleSolver<Types>>(std::in_place, options, exec);
  } catch (const InputError&) {
    REQUIRE(options.method != TrisolveMethod::automatic);
    return std::nullopt;
  }
}

}  // namespace lutra::Test

#endif
