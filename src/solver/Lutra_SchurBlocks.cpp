// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_SchurBlocks.hpp"

#include <algorithm>
#include <string>

#include "Lutra_Error.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_Instantiate.hpp"
#include "Lutra_PrefixSum.hpp"
#include "Lutra_ToDevice.hpp"
#include "Lutra_Upload.hpp"

namespace lutra::Impl {
namespace {

/// Computes the position of each row, encoded as in SchurBlocks.
std::vector<Ordinal> divide_rows(Ordinal n, const std::vector<Ordinal>& set) {
  constexpr Ordinal unknown = -1;
  std::vector<Ordinal> position(static_cast<std::size_t>(n), unknown);
  for (std::size_t k = 0; k < set.size(); ++k) {
    const Ordinal row = set[k];
    const auto refuse = [&](const std::string& what) {
      throw InputError("set: entry " + std::to_string(k) + ", row " + std::to_string(row) + ", " + what);
    };
    if (row < 0 || row >= n) refuse("is outside of the matrix");
    if (position[static_cast<std::size_t>(row)] != unknown) refuse("is there twice");
    position[static_cast<std::size_t>(row)] = static_cast<Ordinal>(-2 - static_cast<Ordinal>(k));
  }
  Ordinal rest = 0;
  for (Ordinal& p : position) p = p == unknown ? rest++ : static_cast<Ordinal>(p + 1);
  return position;
}

/// Calls body(i, c) for all entries of a dense block.
template <class ExecutionSpace, class Block, class Body>
static void for_block(const ExecutionSpace& exec, const char* label, const Block& block, const Body& body) {
  using Policy = Kokkos::MDRangePolicy<ExecutionSpace, Kokkos::Rank<2>, Kokkos::IndexType<std::int64_t>>;
  Kokkos::parallel_for(
      label,
      Policy(exec, {0, 0},
             {static_cast<std::int64_t>(block.extent(0)), static_cast<std::int64_t>(block.extent(1))}),
      body);
}

/// Computes Σ A(i, j)·X(position of j, c) over the columns j of r or of s.
template <class Matrix, class Positions, class Block>
struct RowSum {
  Matrix A;
  Positions position;
  Block X;
  bool of_set;

  KOKKOS_FUNCTION auto operator()(std::int64_t i, std::int64_t c) const {
    typename Block::non_const_value_type sum(0);
    for (auto p = A.row_map(i); p < A.row_map(i + 1); ++p) {
      const auto at = position(A.entries(p));
      if (of_set == (at < 0)) sum += A.values(p) * X(of_set ? -1 - at : at, c);
    }
    return sum;
  }
};

template <class Matrix, class Positions, class Block>
RowSum<Matrix, Positions, Block> row_sum(const Matrix& A, const Positions& position, const Block& X,
                                         bool of_set) {
  return {A, position, X, of_set};
}

/// Counts the entries in each row of Arr.
template <class ExecutionSpace, class Matrix, class Positions, class Counts>
static void count_rest(const ExecutionSpace& exec, const Matrix& A, const Positions& position,
                       const Counts& count) {
  Kokkos::parallel_for(
      "lutra::solver::schur_count",
      Kokkos::RangePolicy<ExecutionSpace>(exec, 0, static_cast<std::int64_t>(A.n_rows)),
      KOKKOS_LAMBDA(const std::int64_t i) {
        if (position(i) < 0) return;
        typename Counts::value_type entries = 0;
        for (auto p = A.row_map(i); p < A.row_map(i + 1); ++p) entries += position(A.entries(p)) < 0 ? 0 : 1;
        count(position(i)) = entries;
      });
}

/// Fills in the columns of Arr's entries and their positions in A.
template <class ExecutionSpace, class Matrix, class Positions, class Map, class Entries, class Source>
static void fill_rest(const ExecutionSpace& exec, const Matrix& A, const Positions& position,
                      const Map& row_map, const Entries& entries, const Source& source) {
  Kokkos::parallel_for(
      "lutra::solver::schur_fill",
      Kokkos::RangePolicy<ExecutionSpace>(exec, 0, static_cast<std::int64_t>(A.n_rows)),
      KOKKOS_LAMBDA(const std::int64_t i) {
        if (position(i) < 0) return;
        auto q = row_map(position(i));
        for (auto p = A.row_map(i); p < A.row_map(i + 1); ++p) {
          if (position(A.entries(p)) < 0) continue;
          entries(q) = position(A.entries(p));
          source(q++) = p;
        }
      });
}

template <class ExecutionSpace, class Source, class From, class To>
static void gather_values(const ExecutionSpace& exec, const Source& source, const From& from, const To& to) {
  Kokkos::parallel_for(
      "lutra::solver::schur_values",
      Kokkos::RangePolicy<ExecutionSpace>(exec, 0, static_cast<std::int64_t>(to.extent(0))),
      KOKKOS_LAMBDA(const std::int64_t q) { to(q) = from(source(q)); });
}

/// Sets B to columns first … of Ars. One thread writes each row of r.
template <class ExecutionSpace, class Matrix, class Positions, class Rows, class Block>
static void fill_columns(const ExecutionSpace& exec, const Matrix& A, const Positions& position,
                         const Rows& rows, Ordinal first, const Block& B) {
  const auto width = static_cast<Ordinal>(B.extent(1));
  Kokkos::parallel_for(
      "lutra::solver::schur_columns",
      Kokkos::RangePolicy<ExecutionSpace>(exec, 0, static_cast<std::int64_t>(rows.extent(0))),
      KOKKOS_LAMBDA(const std::int64_t r) {
        for (Ordinal c = 0; c < width; ++c) B(r, c) = typename Block::value_type(0);
        for (auto p = A.row_map(rows(r)); p < A.row_map(rows(r) + 1); ++p) {
          const Ordinal c = static_cast<Ordinal>(-1 - position(A.entries(p)) - first);
          if (position(A.entries(p)) < 0 && c >= 0 && c < width) B(r, c) = A.values(p);
        }
      });
}

/// Computes G(k, c) −= the sum of row rows(k).
template <class ExecutionSpace, class Rows, class Sum, class Block>
static void subtract(const ExecutionSpace& exec, const Rows& rows, const Sum& sum, const Block& G) {
  for_block(
      exec, "lutra::solver::schur_subtract", G,
      KOKKOS_LAMBDA(const std::int64_t k, const std::int64_t c) { G(k, c) -= sum(rows(k), c); });
}

/// Computes to(k, c) = from(rows(k), c).
template <class ExecutionSpace, class Rows, class From, class To>
static void gather_rows(const ExecutionSpace& exec, const Rows& rows, const From& from, const To& to) {
  for_block(
      exec, "lutra::solver::schur_gather", to,
      KOKKOS_LAMBDA(const std::int64_t k, const std::int64_t c) { to(k, c) = from(rows(k), c); });
}

/// Computes to(rows(k), c) = from(k, c).
template <class ExecutionSpace, class Rows, class From, class To>
static void scatter_rows(const ExecutionSpace& exec, const Rows& rows, const From& from, const To& to) {
  for_block(
      exec, "lutra::solver::schur_scatter", from,
      KOKKOS_LAMBDA(const std::int64_t k, const std::int64_t c) { to(rows(k), c) = from(k, c); });
}

}  // namespace

template <class Scalar, class ExecutionSpace>
SchurBlocks<Scalar, ExecutionSpace>::SchurBlocks(const ExecutionSpace& exec, const Matrix& A,
                                                 const std::vector<Ordinal>& set,
                                                 std::optional<Symmetry> symmetry, const MemoryBudget& budget)
    : m_symmetry(symmetry), m_check(exec, budget), m_reservation(budget) {
  check_square_matrix(exec, A, m_check);
  const auto position = divide_rows(A.n_rows, set);
  if (symmetry) {
    const auto on_host = copy_to_host(exec, A);
    m_mirror = fill_triangles(exec, on_host.pattern(), Triangle::both, budget);
    check_symmetry(exec, A, m_mirror, *symmetry);
  }
  m_pattern = copy_pattern(exec, m_reservation, A.pattern());
  std::vector<Ordinal> rest_row;
  for (std::size_t i = 0; i < position.size(); ++i) {
    if (position[i] >= 0) rest_row.push_back(static_cast<Ordinal>(i));
  }
  m_position = upload(exec, m_reservation, "lutra::solver::schur_position", position);
  m_rest_row = upload(exec, m_reservation, "lutra::solver::schur_rest_row", rest_row);
  m_set_row = upload(exec, m_reservation, "lutra::solver::schur_set_row", set);
  const auto allocate = [&]<class View>(View& view, const char* label, std::size_t size) {
    view = m_reservation.template allocate<View>(exec, label, size);
  };
  Kokkos::View<Offset*, Memory> count, row_map, source;
  Kokkos::View<Ordinal*, Memory> entries;
  allocate(count, "lutra::solver::schur_count", rest_row.size());
  allocate(row_map, "lutra::solver::schur_row_map", rest_row.size() + 1);
  count_rest(exec, A, m_position, count);
  const auto nnz = static_cast<std::size_t>(prefix_sum<Offset>(exec, count, row_map));
  allocate(entries, "lutra::solver::schur_entries", nnz);
  allocate(source, "lutra::solver::schur_source", nnz);
  allocate(m_values, "lutra::solver::schur_values", nnz);
  fill_rest(exec, A, m_position, row_map, entries, source);
  m_source = source;
  const auto n = static_cast<Ordinal>(rest_row.size());
  m_rest = {n, n, row_map, entries, m_values};
}

template <class Scalar, class ExecutionSpace>
void SchurBlocks<Scalar, ExecutionSpace>::check(const ExecutionSpace& exec, const Matrix& A,
                                                bool validate) const {
  check_same_pattern(exec, A, m_pattern, m_check, validate);
  if (validate && m_symmetry) check_symmetry(exec, A, m_mirror, *m_symmetry);
}

template <class Scalar, class ExecutionSpace>
auto SchurBlocks<Scalar, ExecutionSpace>::rest(const ExecutionSpace& exec, const Matrix& A) const -> Matrix {
  gather_values(exec, m_source, A.values, m_values);
  return m_rest;
}

template <class Scalar, class ExecutionSpace>
auto SchurBlocks<Scalar, ExecutionSpace>::border(const ExecutionSpace& exec, const Matrix& A,
                                                 const Columns& complement)
    -> std::shared_ptr<Border<Scalar, ExecutionSpace>> {
  auto result = std::make_shared<Border<Scalar, ExecutionSpace>>();
  result->rest = rest_rows();
  result->set = set_rows();
  result->complement = complement;
  const auto position = to_host(exec, m_position);
  const auto row_map = to_host(exec, A.row_map);
  const auto entries = to_host(exec, A.entries);
  auto& whole = result->on_host;
  whole.n_rows = whole.n_cols = A.n_rows;
  whole.row_map.push_back(0);
  std::vector<Offset> source;
  std::vector<std::pair<Ordinal, Offset>> row;  // columns and positions in A
  for (const auto& rows : {to_host(exec, m_rest_row), to_host(exec, m_set_row)}) {
    for (const Ordinal i : rows) {
      row.clear();
      for (Offset p = at(row_map, i); p < at(row_map, i + 1); ++p) {
        const Ordinal k = at(position, at(entries, p));
        row.emplace_back(k >= 0 ? k : result->rest - 1 - k, p);
      }
      std::ranges::sort(row);
      for (const auto& [column, p] : row) {
        whole.entries.push_back(column);
        source.push_back(p);
      }
      whole.row_map.push_back(static_cast<Offset>(source.size()));
    }
  }
  result->A = {whole.n_rows, whole.n_cols,
               upload(exec, m_reservation, "lutra::solver::border_row_map", whole.row_map),
               upload(exec, m_reservation, "lutra::solver::border_entries", whole.entries)};
  result->source = upload(exec, m_reservation, "lutra::solver::border_source", source);
  result->values = m_reservation.template allocate<Kokkos::View<Scalar*, Memory>>(
      exec, "lutra::solver::border_values", source.size());
  return result;
}

template <class Scalar, class ExecutionSpace>
void SchurBlocks<Scalar, ExecutionSpace>::set_border(const ExecutionSpace& exec, const Matrix& A,
                                                     const Border<Scalar, ExecutionSpace>& border) const {
  gather_values(exec, border.source, A.values, border.values);
}

template <class Scalar, class ExecutionSpace>
void SchurBlocks<Scalar, ExecutionSpace>::columns_of_set(const ExecutionSpace& exec, const Matrix& A,
                                                         Ordinal first, const Columns& B) const {
  fill_columns(exec, A, m_position, m_rest_row, first, B);
}

template <class Scalar, class ExecutionSpace>
void SchurBlocks<Scalar, ExecutionSpace>::complement(const ExecutionSpace& exec, const Matrix& A,
                                                     Ordinal first, const Columns& X,
                                                     const Columns& S) const {
  fill_columns(exec, A, m_position, m_set_row, first, S);
  subtract_set_rows(exec, A, X, S);
}

template <class Scalar, class ExecutionSpace>
void SchurBlocks<Scalar, ExecutionSpace>::divide(const ExecutionSpace& exec, const Input& B,
                                                 const Columns& rest, const Columns& set) const {
  gather_rows(exec, m_rest_row, B, rest);
  gather_rows(exec, m_set_row, B, set);
}

template <class Scalar, class ExecutionSpace>
void SchurBlocks<Scalar, ExecutionSpace>::subtract_set_rows(const ExecutionSpace& exec, const Matrix& A,
                                                            const Columns& X, const Columns& G) const {
  subtract(exec, m_set_row, row_sum(A, m_position, X, false), G);
}

template <class Scalar, class ExecutionSpace>
void SchurBlocks<Scalar, ExecutionSpace>::subtract_rest_rows(const ExecutionSpace& exec, const Matrix& A,
                                                             const Input& Y, const Columns& R) const {
  subtract(exec, m_rest_row, row_sum(A, m_position, Y, true), R);
}

template <class Scalar, class ExecutionSpace>
void SchurBlocks<Scalar, ExecutionSpace>::unite(const ExecutionSpace& exec, const Columns& rest,
                                                const Input& set, const Columns& X) const {
  scatter_rows(exec, m_rest_row, rest, X);
  scatter_rows(exec, m_set_row, set, X);
}

#define LUTRA_SCHUR_BLOCKS(Scalar, Space) template class SchurBlocks<Scalar, Space>;
LUTRA_FOR_EACH_SCALAR_AND_SPACE(LUTRA_SCHUR_BLOCKS)

}  // namespace lutra::Impl
