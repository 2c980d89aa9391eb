// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_CheckMatrix.hpp"

#include <algorithm>
#include <string>

#include "Lutra_AllFinite.hpp"
#include "Lutra_ForRange.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_Instantiate.hpp"
#include "Lutra_RowTeams.hpp"
#include "Lutra_ScalarTraits.hpp"

namespace lutra {
namespace {

using Impl::MatrixFindings;

/// A matrix to check. A complex value is two real ones, so that complex matrices take the kernels of real
/// ones.
template <class Real, class Index, class Integer, class Memory>
struct CheckedMatrix {
  Index n_rows, n_cols;
  Kokkos::View<const Integer*, Memory> row_map;
  Kokkos::View<const Index*, Memory> entries;
  Kokkos::View<const Real*, Memory> values;  ///< `parts` of each entry
  int parts;

  template <class Scalar>
  explicit CheckedMatrix(const CsrView<Scalar, Index, Integer, Memory>& matrix)
      : n_rows(matrix.n_rows),
        n_cols(matrix.n_cols),
        row_map(matrix.row_map),
        entries(matrix.entries),
        values(reinterpret_cast<const Real*>(matrix.values.data()),
               sizeof(Scalar) / sizeof(Real) * matrix.values.extent(0)),
        parts(sizeof(Scalar) / sizeof(Real)) {}

  std::size_t n_values() const { return values.extent(0) / static_cast<std::size_t>(parts); }
  Offset nnz() const { return static_cast<Offset>(entries.extent(0)); }
  KOKKOS_FUNCTION bool is_finite(std::int64_t entry) const {
    bool finite = true;
    for (int part = 0; part < parts; ++part)
      finite = finite && ScalarTraits<Real>::is_finite(values(entry * parts + part));
    return finite;
  }
};

template <class ExecutionSpace>
using Findings = Kokkos::View<MatrixFindings*, typename ExecutionSpace::memory_space>;

/// Clears the findings and records both ends of the row map.
template <class ExecutionSpace, class RowMap>
void begin_check(const ExecutionSpace& exec, const RowMap& row_map, std::int64_t n,
                 const Findings<ExecutionSpace>& findings) {
  Kokkos::parallel_for(
      "lutra::common::begin_check", Kokkos::RangePolicy<ExecutionSpace>(exec, 0, 1),
      KOKKOS_LAMBDA(const int) {
        findings(0) = {static_cast<std::int64_t>(row_map(0)), static_cast<std::int64_t>(row_map(n)), n, n, 0};
      });
}

/// Whether the value in row i, column j is checked.
KOKKOS_FORCEINLINE_FUNCTION bool is_read(Triangle read, std::int64_t i, std::int64_t j) {
  return read == Triangle::both || (read == Triangle::lower ? j <= i : j >= i);
}

/// Whether an entry of row i has an invalid column, breaks the ascending order, or has a non-finite value.
template <class Matrix>
KOKKOS_FORCEINLINE_FUNCTION bool is_bad_entry(const Matrix& matrix, std::int64_t i, Offset p, Offset begin,
                                              Triangle read) {
  const auto j = matrix.entries(p);
  return j < 0 || j >= matrix.n_cols || (p > begin && matrix.entries(p - 1) >= j) ||
         (!matrix.is_finite(p) && is_read(read, i, j));
}

/// Row of the entry at position p of a checked pattern.
template <class RowMap>
KOKKOS_INLINE_FUNCTION std::int64_t row_of_entry(const RowMap& row_map, std::int64_t n_rows, std::int64_t p) {
  std::int64_t low = 0, high = n_rows;  // row_map(low) ≤ p < row_map(high)
  while (high - low > 1) {
    const std::int64_t middle = low + (high - low) / 2;
    (static_cast<std::int64_t>(row_map(middle)) <= p ? low : high) = middle;
  }
  return low;
}

/// Checks every row. Reads a row's entries only if both of its offsets are in [0, nnz]. Only bad rows, which
/// are rare, write to the findings.
template <class Matrix, class ExecutionSpace>
void find_bad_rows(const ExecutionSpace& exec, const Matrix& matrix, Triangle read,
                   const Findings<ExecutionSpace>& findings) {
  const auto n = static_cast<Ordinal>(matrix.n_rows);
  const Offset nnz = matrix.nnz();
  const int lanes =
      Impl::vector_length_for<ExecutionSpace>(static_cast<double>(nnz) / static_cast<double>(n));
  const Impl::RowTeams share(exec, lanes, 256);
  const auto policy = share.policy(exec, n);
  Kokkos::parallel_for(
      "lutra::common::check_rows", policy,
      KOKKOS_LAMBDA(const typename decltype(policy)::member_type& member) {
        share.visit_rows(member, n, [&](const Ordinal i) {
          const Offset begin = matrix.row_map(i), end = matrix.row_map(i + 1);
          if (begin < 0 || begin > end || end > nnz) {
            Kokkos::single(Kokkos::PerThread(member),
                           [&] { Kokkos::atomic_min(&findings(0).bad_row_start, std::int64_t(i)); });
            return;
          }
          int bad = 0;
          Kokkos::parallel_reduce(
              Kokkos::ThreadVectorRange(member, begin, end),
              [&](const Offset p, int& sum) { sum += is_bad_entry(matrix, i, p, begin, read) ? 1 : 0; }, bad);
          if (bad == 0) return;
          Kokkos::single(Kokkos::PerThread(member),
                         [&] { Kokkos::atomic_min(&findings(0).bad_row, std::int64_t(i)); });
        });
      });
}

/// Compares row map and entries with those of a checked pattern of the same size and checks the values. Uses
/// nothing of the matrix as an index.
template <class Matrix, class ExecutionSpace>
void find_differences(const ExecutionSpace& exec, const Matrix& matrix,
                      const CsrPattern<Ordinal, Offset, typename ExecutionSpace::memory_space>& pattern,
                      Triangle read, const Findings<ExecutionSpace>& findings) {
  const auto nnz = static_cast<std::int64_t>(matrix.nnz());
  const auto offsets = static_cast<std::int64_t>(matrix.n_rows) + 1;
  Kokkos::parallel_for(
      "lutra::common::compare_pattern", Kokkos::RangePolicy<ExecutionSpace>(exec, 0, std::max(nnz, offsets)),
      KOKKOS_LAMBDA(const std::int64_t p) {
        bool good = p >= offsets || matrix.row_map(p) == pattern.row_map(p);
        if (p < nnz) {
          good = good && matrix.entries(p) == pattern.entries(p);
          if (!matrix.is_finite(p))
            good = good && read != Triangle::both &&
                   !is_read(read, row_of_entry(pattern.row_map, offsets - 1, p), pattern.entries(p));
        }
        if (!good) Kokkos::atomic_store(&findings(0).difference, std::int64_t(1));
      });
}

/// Reads one element of a device array, for messages.
template <class ExecutionSpace, class ViewType>
auto fetch_element(const ExecutionSpace& exec, const ViewType& view, std::size_t i) {
  typename ViewType::non_const_value_type value{};
  Kokkos::deep_copy(exec, value, Kokkos::subview(view, i));
  exec.fence("lutra::common: an element is read for a message");
  return value;
}

/// Whether a matrix has no bad row, on the host. Reads no entry whose position is out of range.
template <class Matrix>
bool is_well_formed(const Matrix& matrix) {
  const auto* const row_map = matrix.row_map.data();
  const auto* const columns = matrix.entries.data();
  const auto nnz = static_cast<std::int64_t>(matrix.nnz());
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(matrix.n_rows); ++i) {
    const auto begin = static_cast<std::int64_t>(row_map[i]), end = static_cast<std::int64_t>(row_map[i + 1]);
    if (begin < 0 || begin > end || end > nnz) return false;
    if (begin == end) continue;
    bool ascending = columns[begin] >= 0 && columns[end - 1] < matrix.n_cols;
    for (std::int64_t p = begin + 1; p < end; ++p) ascending = ascending && columns[p - 1] < columns[p];
    if (!ascending) return false;
  }
  return Impl::all_finite(matrix.values.data(), matrix.values.extent(0));
}

/// Whether a matrix has the given pattern and finite values, on the host.
template <class Matrix, class Pattern>
bool is_on_pattern(const Matrix& matrix, const Pattern& pattern) {
  const auto begin_of = [](const auto& view) { return view.data(); };
  const auto end_of = [](const auto& view) { return view.data() + view.extent(0); };
  return std::equal(begin_of(matrix.row_map), end_of(matrix.row_map), begin_of(pattern.row_map),
                    end_of(pattern.row_map)) &&
         std::equal(begin_of(matrix.entries), end_of(matrix.entries), begin_of(pattern.entries),
                    end_of(pattern.entries)) &&
         Impl::all_finite(matrix.values.data(), matrix.values.extent(0));
}

/// Throws with the reason why row `i`, known to be bad, is bad.
template <class ExecutionSpace, class Matrix>
[[noreturn]] void throw_for_row(const ExecutionSpace& exec, const Matrix& matrix, std::int64_t i,
                                Triangle read) {
  using Index = typename decltype(matrix.entries)::non_const_value_type;
  const auto row = static_cast<std::size_t>(i);
  const auto begin = static_cast<std::size_t>(fetch_element(exec, matrix.row_map, row));
  const auto end = static_cast<std::size_t>(fetch_element(exec, matrix.row_map, row + 1));
  const std::string where = "matrix: row " + std::to_string(i);
  Index previous = -1;
  for (std::size_t p = begin; p < end; ++p) {
    const Index j = fetch_element(exec, matrix.entries, p);
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
  const auto parts = static_cast<std::size_t>(matrix.parts);
  for (std::size_t p = begin; p < end; ++p) {
    const Index j = fetch_element(exec, matrix.entries, p);
    if (!is_read(read, i, j)) continue;
    for (std::size_t part = p * parts; part < (p + 1) * parts; ++part) {
      using Real = typename decltype(matrix.values)::non_const_value_type;
      if (ScalarTraits<Real>::is_finite(fetch_element(exec, matrix.values, part))) continue;
      throw InputError("matrix: the value in row " + std::to_string(i) + ", column " + std::to_string(j) +
                       " is NaN or infinite");
    }
  }
  throw InputError(where + " changed while it was checked");
}

/// Checks extents, known to the host.
template <class Matrix>
void check_extents(const Matrix& matrix) {
  const auto n = matrix.n_rows;
  if (n != matrix.n_cols) {
    throw InputError("matrix: " + std::to_string(n) + " rows but " + std::to_string(matrix.n_cols) +
                     " columns; a square matrix is needed");
  }
  if (n < 1) throw InputError("matrix: it has no rows");
  if (matrix.row_map.extent(0) != static_cast<std::size_t>(n) + 1) {
    throw InputError("matrix: row_map has " + std::to_string(matrix.row_map.extent(0)) + " elements, but " +
                     std::to_string(n) + " rows need " + std::to_string(static_cast<std::int64_t>(n) + 1));
  }
  if (matrix.n_values() != matrix.entries.extent(0)) {
    throw InputError("matrix: " + std::to_string(matrix.entries.extent(0)) + " entries but " +
                     std::to_string(matrix.n_values()) + " values");
  }
}

/// Throws for the first finding in array order.
template <class ExecutionSpace, class Matrix>
void throw_for_findings(const ExecutionSpace& exec, const Matrix& matrix, const MatrixFindings& found,
                        Triangle read) {
  const std::int64_t n = matrix.n_rows;
  if (found.first_offset != 0)
    throw InputError("matrix: row_map[0] is " + std::to_string(found.first_offset) + ", not 0");
  if (found.last_offset != static_cast<std::int64_t>(matrix.nnz())) {
    throw InputError("matrix: row_map ends with " + std::to_string(found.last_offset) + ", but there are " +
                     std::to_string(matrix.entries.extent(0)) + " entries");
  }
  if (found.bad_row_start < n) {
    throw InputError("matrix: row_map falls or leaves its range at row " +
                     std::to_string(found.bad_row_start));
  }
  if (found.bad_row < n) throw_for_row(exec, matrix, found.bad_row, read);
}

template <class Matrix, class ExecutionSpace>
void check_square(const ExecutionSpace& exec, const Matrix& matrix,
                  const MatrixCheckWorkspace<ExecutionSpace>& work, Triangle read) {
  check_extents(matrix);
  if constexpr (Impl::is_host_space<ExecutionSpace>) {
    if (Impl::runs_plain_loops<ExecutionSpace>() && matrix.row_map(0) == 0 &&
        static_cast<Offset>(matrix.row_map(matrix.n_rows)) == matrix.nnz() && is_well_formed(matrix))
      return;
  }
  begin_check(exec, matrix.row_map, matrix.n_rows, work.findings.device());
  find_bad_rows(exec, matrix, read, work.findings.device());
  throw_for_findings(exec, matrix, work.findings.fetch(exec)(0), read);
}

template <class Matrix, class ExecutionSpace>
void check_pattern(const ExecutionSpace& exec, const Matrix& matrix,
                   const CsrPattern<Ordinal, Offset, typename ExecutionSpace::memory_space>& pattern,
                   const MatrixCheckWorkspace<ExecutionSpace>& work, bool validate, Triangle read) {
  if (!validate) {
    if (matrix.n_rows == pattern.n_rows && matrix.n_values() == pattern.entries.extent(0)) return;
    throw InputError("matrix: its extents are not those of the pattern that was analyzed");
  }
  check_extents(matrix);
  bool same = matrix.n_rows == pattern.n_rows && matrix.nnz() == pattern.nnz();
  if constexpr (Impl::is_host_space<ExecutionSpace>) {
    if (same && Impl::runs_plain_loops<ExecutionSpace>() && is_on_pattern(matrix, pattern)) return;
  }
  if (same) {
    begin_check(exec, matrix.row_map, matrix.n_rows, work.findings.device());
    find_differences(exec, matrix, pattern, read, work.findings.device());
    same = work.findings.fetch(exec)(0).difference == 0;
  }
  if (same) return;
  check_square(exec, matrix, work, read);
  throw InputError("matrix: its pattern is not the one that was analyzed; call analyze for a new pattern");
}

}  // namespace

template <class Scalar, class Index, class Integer, class ExecutionSpace>
void check_square_matrix(const ExecutionSpace& exec,
                         const CsrView<Scalar, Index, Integer, typename ExecutionSpace::memory_space>& matrix,
                         const MatrixCheckWorkspace<ExecutionSpace>& work, Triangle read) {
  using Matrix = CheckedMatrix<RealOf<Scalar>, Index, Integer, typename ExecutionSpace::memory_space>;
  check_square(exec, Matrix(matrix), work, read);
}

template <class Scalar, class Index, class Integer, class ExecutionSpace>
void check_same_pattern(const ExecutionSpace& exec,
                        const CsrView<Scalar, Index, Integer, typename ExecutionSpace::memory_space>& matrix,
                        const CsrPattern<Ordinal, Offset, typename ExecutionSpace::memory_space>& pattern,
                        const MatrixCheckWorkspace<ExecutionSpace>& work, bool validate, Triangle read) {
  using Matrix = CheckedMatrix<RealOf<Scalar>, Index, Integer, typename ExecutionSpace::memory_space>;
  check_pattern(exec, Matrix(matrix), pattern, work, validate, read);
}

#define LUTRA_CHECK_MATRIX(Scalar, Index, Integer, Space)                                                 \
  template void check_square_matrix(const Space&,                                                         \
                                    const CsrView<Scalar, Index, Integer, typename Space::memory_space>&, \
                                    const MatrixCheckWorkspace<Space>&, Triangle);                        \
  template void check_same_pattern(const Space&,                                                          \
                                   const CsrView<Scalar, Index, Integer, typename Space::memory_space>&,  \
                                   const CsrPattern<Ordinal, Offset, typename Space::memory_space>&,      \
                                   const MatrixCheckWorkspace<Space>&, bool, Triangle);
LUTRA_FOR_EACH_INPUT_AND_SPACE(LUTRA_CHECK_MATRIX)

}  // namespace lutra
