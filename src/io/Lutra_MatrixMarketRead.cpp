// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>
#include <utility>

#include "Lutra_CooToCsr.hpp"
#include "Lutra_Error.hpp"
#include "Lutra_MatrixMarket.hpp"
#include "Lutra_MatrixMarketText.hpp"
#include "Lutra_MirrorImages.hpp"
#include "Lutra_UsableMemory.hpp"

namespace lutra {
namespace {

using Impl::CooEntries;
using Impl::Cursor;
using Impl::LineReader;
using Impl::MatrixMarketStart;
using Impl::Parsed;
using Complex = Kokkos::complex<double>;
using Field = MatrixMarketHeader::Field;
using Symmetry = MatrixMarketHeader::Symmetry;

// Value of the mirror image: aⱼᵢ from aᵢⱼ.
template <class Scalar>
Scalar mirrored(const Scalar& value, Symmetry symmetry) {
  if (symmetry == Symmetry::skew_symmetric) return -value;
  if constexpr (!std::is_floating_point_v<Scalar>) {
    if (symmetry == Symmetry::hermitian) return Scalar(value.real(), -value.imag());
  }
  return value;
}

template <class Scalar>
void check_diagonal(const LineReader& reader, const Scalar& value, int index, Symmetry symmetry) {
  const std::string location = "at row and column " + std::to_string(index + 1);
  if (symmetry == Symmetry::skew_symmetric && value != Scalar(0)) {
    reader.fail("the diagonal of a skew-symmetric matrix has to be zero; it is not " + location);
  }
  if constexpr (!std::is_floating_point_v<Scalar>) {
    if (symmetry == Symmetry::hermitian && value.imag() != 0) {
      reader.fail("the diagonal of a hermitian matrix has to be real; it is not " + location);
    }
  }
}

[[noreturn]] void fail_index(const LineReader& reader, const char* what, std::string_view token,
                             Parsed parsed, std::int64_t size) {
  if (parsed == Parsed::missing) reader.fail(std::string("the ") + what + " index is missing");
  if (parsed == Parsed::malformed) {
    reader.fail(std::string("the ") + what + " index " + Impl::quoted(token) + " is not an integer");
  }
  reader.fail(std::string("the ") + what + " index " + Impl::shown(token) + " is outside 1 … " +
              std::to_string(size));
}

// Parses a 1-based index of the file. @returns the 0-based index
int take_index(const LineReader& reader, Cursor& cursor, const char* what, std::int64_t size) {
  cursor.skip_spaces();
  const Cursor before = cursor;
  std::int64_t index = 0;
  const Parsed parsed = Impl::parse_integer(cursor, index);
  if (parsed != Parsed::ok || index < 1 || index > size) {
    fail_index(reader, what, before.peek_token(), parsed, size);
  }
  return static_cast<int>(index - 1);
}

std::string location_name(int row, int column) {
  return "row " + std::to_string(row + 1) + ", column " + std::to_string(column + 1);
}

// Reserves memory for more entries. Does not trust the count of the size line: a wrong one must not exhaust
// memory.
template <class Scalar>
void grow(const LineReader& reader, const MatrixMarketStart& start, CooEntries<Scalar>& coo) {
  // Entries of the first allocation: memory follows what was read, not what the size line claims.
  constexpr std::int64_t first_capacity = std::int64_t{1} << 16;
  const auto size = static_cast<std::int64_t>(coo.size());
  const std::int64_t capacity = std::min(start.n_entries, std::max(first_capacity, 2 * size));
  const std::size_t copies = start.header.symmetry == Symmetry::general ? 1 : 2;
  const std::size_t entry_bytes = 3 * sizeof(int) + 2 * sizeof(Scalar);  // COO entry and its copy in the
                                                                         // finished matrix
  Impl::require_usable_memory(reader.name() + ":" + std::to_string(reader.line_number()) + ": reading " +
                                  std::to_string(start.n_entries) + " entries",
                              copies * entry_bytes * static_cast<std::size_t>(capacity - size));
  coo.rows.reserve(static_cast<std::size_t>(capacity));
  coo.columns.reserve(static_cast<std::size_t>(capacity));
  coo.values.reserve(static_cast<std::size_t>(capacity));
}

/// Rejects a file with entries of both triangles, which would count twice.
template <class Scalar>
void check_one_triangle(const LineReader& reader, const CooEntries<Scalar>& coo,
                        const Impl::EntryLines& lines) {
  const auto pair = Impl::find_mirror_images(coo.rows, coo.columns);
  if (!pair) return;
  const auto [first, second] = *pair;
  reader.fail_at(lines.line(second), location_name(coo.rows[second], coo.columns[second]) +
                                         " mirrors the entry on line " + std::to_string(lines.line(first)) +
                                         ": a file that is not general holds one of the two triangles");
}

template <class Scalar>
CooEntries<Scalar> read_entries(LineReader& reader, const MatrixMarketStart& start) {
  CooEntries<Scalar> coo;
  Impl::EntryLines lines;
  std::string_view line;
  for (std::int64_t k = 0; k < start.n_entries; ++k) {
    if (!Impl::next_content(reader, line)) Impl::fail_short(reader, k, start.n_entries);
    Cursor cursor(line);
    const int row = take_index(reader, cursor, "row", start.n_rows);
    const int column = take_index(reader, cursor, "column", start.n_cols);
    const auto value = Impl::parse_value<Scalar>(reader, cursor, start.header.field,
                                                 [row, column] { return location_name(row, column); });
    Impl::require_end(reader, cursor);
    if (row == column && start.header.symmetry != Symmetry::general) {
      check_diagonal(reader, value, row, start.header.symmetry);
    }
    if (coo.rows.size() == coo.rows.capacity()) grow(reader, start, coo);
    coo.add(row, column, value);
    if (start.header.symmetry != Symmetry::general) lines.add(k, reader.line_number());
  }
  Impl::require_no_more(reader, start.n_entries);
  if (start.header.symmetry != Symmetry::general) check_one_triangle(reader, coo, lines);
  return coo;
}

template <class Scalar>
void append_mirror_images(CooEntries<Scalar>& coo, Symmetry symmetry) {
  if (symmetry == Symmetry::general) return;
  const std::size_t n_stored = coo.size();
  for (std::size_t k = 0; k < n_stored; ++k) {
    if (coo.rows[k] != coo.columns[k]) {
      coo.add(coo.columns[k], coo.rows[k], mirrored(Scalar(coo.values[k]), symmetry));
    }
  }
}

template <class Scalar>
bool is_finite(const Scalar& value) {
  if constexpr (std::is_floating_point_v<Scalar>) {
    return std::isfinite(value);
  } else {
    return std::isfinite(value.real()) && std::isfinite(value.imag());
  }
}

// Entries are finite when read, but sums of duplicates may overflow.
template <class Scalar>
void check_sums(const LineReader& reader, const HostMatrix<Scalar>& matrix) {
  const auto bad = std::find_if_not(matrix.values.begin(), matrix.values.end(), is_finite<Scalar>);
  if (bad == matrix.values.end()) return;
  const std::int64_t position = bad - matrix.values.begin();
  const auto row_end = std::upper_bound(matrix.row_map.begin(), matrix.row_map.end(), position);
  const int row = static_cast<int>(row_end - matrix.row_map.begin()) - 1;
  reader.fail_at(0, "the sum of the repeated entries at " +
                        location_name(row, matrix.entries[static_cast<std::size_t>(position)]) +
                        " overflows double precision");
}

template <class Scalar>
HostMatrix<Scalar> read_matrix(LineReader& reader, const MatrixMarketStart& start) {
  CooEntries<Scalar> coo = read_entries<Scalar>(reader, start);
  append_mirror_images(coo, start.header.symmetry);
  Impl::require_usable_memory(reader.name() + ": a matrix of " + std::to_string(start.n_rows) + " rows",
                              static_cast<std::uint64_t>(start.n_rows + 1) * sizeof(std::int64_t) +
                                  coo.size() * (sizeof(int) + sizeof(Scalar)));
  HostMatrix<Scalar> matrix =
      Impl::coo_to_csr(static_cast<int>(start.n_rows), static_cast<int>(start.n_cols), coo);
  check_sums(reader, matrix);
  return matrix;
}

// Throws if the row map does not fit into memory: a short file may declare billions of rows.
void require_row_map(const LineReader& reader, const MatrixMarketStart& start) {
  Impl::require_usable_memory(reader.name() + ": a matrix of " + std::to_string(start.n_rows) + " rows",
                              static_cast<std::uint64_t>(start.n_rows + 1) * sizeof(std::int64_t));
}

MatrixMarketMatrix read_coordinate(LineReader& reader, const MatrixMarketStart& start) {
  if (start.header.field == Field::complex) return {start.header, read_matrix<Complex>(reader, start)};
  return {start.header, read_matrix<double>(reader, start)};
}

// Throws if the dense array does not fit into memory; called before it is read.
void require_array(const LineReader& reader, const MatrixMarketStart& start) {
  // Both factors are at most 2³¹, so the product does not overflow; the number of bytes may, and saturates.
  const auto n_values = static_cast<std::uint64_t>(start.n_rows) * static_cast<std::uint64_t>(start.n_cols);
  const std::uint64_t most = std::numeric_limits<std::uint64_t>::max() / sizeof(Complex);
  Impl::require_usable_memory(reader.name() + ": an array of " + std::to_string(start.n_rows) + " by " +
                                  std::to_string(start.n_cols) + " values",
                              std::min(n_values, most) * sizeof(Complex));
}

MatrixMarketArray make_array(const MatrixMarketStart& start) {
  const auto n_values = static_cast<std::size_t>(start.n_rows) * static_cast<std::size_t>(start.n_cols);
  return {start.header, start.n_rows, start.n_cols, std::vector<Complex>(n_values)};
}

MatrixMarketArray as_array(LineReader& reader, const MatrixMarketStart& start) {
  require_array(reader, start);
  const MatrixMarketMatrix sparse = read_coordinate(reader, start);
  MatrixMarketArray array = make_array(start);
  std::visit(
      [&array](const auto& matrix) {
        for (std::size_t row = 0; row + 1 < matrix.row_map.size(); ++row) {
          for (auto k = static_cast<std::size_t>(matrix.row_map[row]);
               k < static_cast<std::size_t>(matrix.row_map[row + 1]); ++k) {
            const auto column = static_cast<std::size_t>(matrix.entries[k]);
            array.values[column * static_cast<std::size_t>(array.n_rows) + row] = matrix.values[k];
          }
        }
      },
      sparse.matrix);
  return array;
}

// Reads the values of an array file: one per line, column-major.
MatrixMarketArray read_array(LineReader& reader, const MatrixMarketStart& start) {
  require_array(reader, start);
  MatrixMarketArray array = make_array(start);
  const Symmetry symmetry = start.header.symmetry;
  const auto n_rows = static_cast<int>(start.n_rows);
  const auto at = [&array](int row, int column) -> Complex& {
    return array.values[static_cast<std::size_t>(column) * static_cast<std::size_t>(array.n_rows) +
                        static_cast<std::size_t>(row)];
  };
  std::string_view line;
  std::int64_t n_read = 0;
  for (int column = 0; column < static_cast<int>(start.n_cols); ++column) {
    const int first =
        symmetry == Symmetry::general ? 0 : column + (symmetry == Symmetry::skew_symmetric ? 1 : 0);
    for (int row = first; row < n_rows; ++row, ++n_read) {
      if (!Impl::next_content(reader, line)) Impl::fail_short(reader, n_read, start.n_entries);
      Cursor cursor(line);
      const auto value = Impl::parse_value<Complex>(reader, cursor, start.header.field,
                                                    [row, column] { return location_name(row, column); });
      Impl::require_end(reader, cursor);
      if (row == column && symmetry != Symmetry::general) check_diagonal(reader, value, row, symmetry);
      if (symmetry != Symmetry::general) at(column, row) = mirrored(value, symmetry);
      at(row, column) = value;
    }
  }
  Impl::require_no_more(reader, start.n_entries);
  return array;
}

// Converts std::bad_alloc to an error that names what was read; an OutOfMemoryError already does and passes
// through.
template <class Read>
auto with_named_failure(const LineReader& reader, const Read& read) {
  try {
    return read();
  } catch (const OutOfMemoryError&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw OutOfMemoryError(reader.name() + ": there is not enough memory to read it", 0);
  }
}

}  // namespace

MatrixMarketMatrix read_checked_matrix_market(const std::string& file, const CheckMatrixMarketSize& check) {
  LineReader reader(file);
  return with_named_failure(reader, [&] {
    const MatrixMarketStart start = Impl::read_start(reader);
    if (!start.coordinate) reader.fail("a dense array; a coordinate file is needed here");
    if (check) check({start.n_rows, start.n_cols, start.n_entries});
    require_row_map(reader, start);
    return read_coordinate(reader, start);
  });
}

MatrixMarketArray read_checked_matrix_market_array(const std::string& file,
                                                   const CheckMatrixMarketSize& check) {
  LineReader reader(file);
  return with_named_failure(reader, [&] {
    const MatrixMarketStart start = Impl::read_start(reader);
    if (check) check({start.n_rows, start.n_cols, start.n_entries});
    return start.coordinate ? as_array(reader, start) : read_array(reader, start);
  });
}

MatrixMarketMatrix read_matrix_market(const std::string& file) {
  return read_checked_matrix_market(file, {});
}
MatrixMarketArray read_matrix_market_array(const std::string& file) {
  return read_checked_matrix_market_array(file, {});
}

}  // namespace lutra
