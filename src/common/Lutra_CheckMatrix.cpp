// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_CheckMatrix.hpp"

#include <string>

#include "Lutra_Instantiate.hpp"
#include "Lutra_ScalarTraits.hpp"

namespace lutra {
namespace {

/// Reads one element of a device View.
template <class ViewType>
auto fetch(const ViewType& view, std::size_t i) {
  typename ViewType::non_const_value_type value{};
  Kokkos::deep_copy(value, Kokkos::subview(view, i));
  return value;
}

/// The first row of `row_map` that is out of order, or n. Entries must not be looked at before this has
/// passed.
template <class ExecutionSpace, class RowMap, class Ordinal>
Ordinal first_bad_row_start(const ExecutionSpace& exec, const RowMap& row_map, Ordinal n) {
  using Offset = typename RowMap::non_const_value_type;
  const auto nnz = static_cast<Offset>(fetch(row_map, static_cast<std::size_t>(n)));
  Ordinal first = n;
  Kokkos::parallel_reduce(
      "lutra::common::check_row_map", Kokkos::RangePolicy<ExecutionSpace>(exec, 0, n),
      KOKKOS_LAMBDA(const Ordinal i, Ordinal& least) {
        const bool bad = row_map(i) < 0 || row_map(i) > row_map(i + 1) || row_map(i + 1) > nnz;
        if (bad && i < least) least = i;
      },
      Kokkos::Min<Ordinal>(first));
  return first < n ? first : n;
}

/// The first row with a column out of range or out of order, or a value that is not finite, or n.
template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
Ordinal first_bad_row(const ExecutionSpace& exec,
                      const CsrView<Scalar, Ordinal, Offset, typename ExecutionSpace::memory_space>& matrix) {
  const Ordinal n = matrix.n_rows;
  const auto row_map = matrix.row_map;
  const auto entries = matrix.entries;
  const auto values = matrix.values;
  Ordinal first = n;
  Kokkos::parallel_reduce(
      "lutra::common::check_rows", Kokkos::RangePolicy<ExecutionSpace>(exec, 0, n),
      KOKKOS_LAMBDA(const Ordinal i, Ordinal& least) {
        Ordinal previous = -1;
        bool bad = false;
        for (Offset p = row_map(i); p < row_map(i + 1); ++p) {
          const Ordinal j = entries(p);
          bad = bad || j <= previous || j >= n || !ScalarTraits<Scalar>::is_finite(values(p));
          previous = j;
        }
        if (bad && i < least) least = i;
      },
      Kokkos::Min<Ordinal>(first));
  return first < n ? first : n;
}

/// Says what is wrong with row `i`, which is known to be wrong.
template <class Matrix, class Ordinal>
[[noreturn]] void throw_for_row(const Matrix& matrix, Ordinal i) {
  const auto row = static_cast<std::size_t>(i);
  const std::size_t begin = static_cast<std::size_t>(fetch(matrix.row_map, row));
  const std::size_t end = static_cast<std::size_t>(fetch(matrix.row_map, row + 1));
  const std::string where = "matrix: row " + std::to_string(i);
  Ordinal previous = -1;
  for (std::size_t p = begin; p < end; ++p) {
    const Ordinal j = fetch(matrix.entries, p);
    if (j < 0 || j >= matrix.n_cols) {
      throw InputError(where + " has column " + std::to_string(j) + ", but columns are 0 to " +
                       std::to_string(matrix.n_cols - 1));
    }
    if (j == previous) throw InputError(where + " has column " + std::to_string(j) + " twice");
    if (j < previous) {
      throw InputError(where + " is not sorted: column " + std::to_string(j) + " comes after column " +
                       std::to_string(previous));
    }
    previous = j;
  }
  for (std::size_t p = begin; p < end; ++p) {
    using Scalar = typename decltype(matrix.values)::non_const_value_type;
    if (!ScalarTraits<Scalar>::is_finite(fetch(matrix.values, p))) {
      throw InputError("matrix: the value in row " + std::to_string(i) + ", column " +
                       std::to_string(fetch(matrix.entries, p)) + " is NaN or infinite");
    }
  }
  throw InputError(where + " changed while it was checked");
}

}  // namespace

template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
void check_square_matrix(
    const ExecutionSpace& exec,
    const CsrView<Scalar, Ordinal, Offset, typename ExecutionSpace::memory_space>& matrix) {
  const Ordinal n = matrix.n_rows;
  if (n != matrix.n_cols) {
    throw InputError("matrix: " + std::to_string(n) + " rows but " + std::to_string(matrix.n_cols) +
                     " columns; a square matrix is needed");
  }
  if (n < 1) throw InputError("matrix: it has no rows");
  if (matrix.row_map.extent(0) != static_cast<std::size_t>(n) + 1) {
    throw InputError("matrix: row_map has " + std::to_string(matrix.row_map.extent(0)) + " elements, but " +
                     std::to_string(n) + " rows need " + std::to_string(static_cast<std::int64_t>(n) + 1));
  }
  if (matrix.values.extent(0) != matrix.entries.extent(0)) {
    throw InputError("matrix: " + std::to_string(matrix.entries.extent(0)) + " entries but " +
                     std::to_string(matrix.values.extent(0)) + " values");
  }
  exec.fence("lutra::check_square_matrix: rows are read from here on");
  const Offset first_offset = fetch(matrix.row_map, 0);
  const Offset last_offset = fetch(matrix.row_map, static_cast<std::size_t>(n));
  if (first_offset != 0)
    throw InputError("matrix: row_map[0] is " + std::to_string(first_offset) + ", not 0");
  if (static_cast<std::size_t>(last_offset) != matrix.entries.extent(0) || last_offset < 0) {
    throw InputError("matrix: row_map ends with " + std::to_string(last_offset) + ", but there are " +
                     std::to_string(matrix.entries.extent(0)) + " entries");
  }
  const Ordinal bad_start = first_bad_row_start(exec, matrix.row_map, n);
  if (bad_start < n) {
    throw InputError("matrix: row_map falls or leaves its range at row " + std::to_string(bad_start));
  }
  const Ordinal bad_row = first_bad_row(exec, matrix);
  if (bad_row < n) throw_for_row(matrix, bad_row);
}

template <class Ordinal, class Offset, class ExecutionSpace>
bool same_pattern(const ExecutionSpace& exec,
                  const CsrPattern<Ordinal, Offset, typename ExecutionSpace::memory_space>& a,
                  const CsrPattern<Ordinal, Offset, typename ExecutionSpace::memory_space>& b) {
  if (a.n_rows != b.n_rows || a.n_cols != b.n_cols || a.nnz() != b.nnz()) return false;
  if (a.row_map.extent(0) != b.row_map.extent(0)) return false;
  std::int64_t differences = 0;
  Kokkos::parallel_reduce(
      "lutra::common::compare_row_maps",
      Kokkos::RangePolicy<ExecutionSpace>(exec, 0, static_cast<std::int64_t>(a.row_map.extent(0))),
      KOKKOS_LAMBDA(const std::int64_t i, std::int64_t& sum) { sum += a.row_map(i) != b.row_map(i) ? 1 : 0; },
      differences);
  if (differences > 0) return false;
  Kokkos::parallel_reduce(
      "lutra::common::compare_entries",
      Kokkos::RangePolicy<ExecutionSpace>(exec, 0, static_cast<std::int64_t>(a.nnz())),
      KOKKOS_LAMBDA(const std::int64_t p, std::int64_t& sum) { sum += a.entries(p) != b.entries(p) ? 1 : 0; },
      differences);
  return differences == 0;
}

#define LUTRA_CHECK_MATRIX(Scalar, Ordinal, Offset, Space)           \
  template void check_square_matrix<Scalar, Ordinal, Offset, Space>( \
      const Space&, const CsrView<Scalar, Ordinal, Offset, typename Space::memory_space>&);
LUTRA_FOR_EACH_MATRIX_AND_SPACE(LUTRA_CHECK_MATRIX)

#define LUTRA_SAME_PATTERN(Ordinal, Offset, Space)                                    \
  template bool same_pattern<Ordinal, Offset, Space>(                                 \
      const Space&, const CsrPattern<Ordinal, Offset, typename Space::memory_space>&, \
      const CsrPattern<Ordinal, Offset, typename Space::memory_space>&);
LUTRA_FOR_EACH_PATTERN_AND_SPACE(LUTRA_SAME_PATTERN)

}  // namespace lutra
