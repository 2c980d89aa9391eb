// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_MATRIXMARKETTEXT_HPP
#define LUTRA_MATRIXMARKETTEXT_HPP

#include <cstdint>
#include <string>
#include <type_traits>

#include "Lutra_LineReader.hpp"
#include "Lutra_MatrixMarket.hpp"
#include "Lutra_ParseNumber.hpp"

namespace lutra::Impl {

/// Banner and size line of a Matrix Market file.
struct MatrixMarketStart {
  MatrixMarketHeader header;
  bool coordinate = true;  ///< false: dense array
  std::int64_t n_rows = 0, n_cols = 0;
  std::int64_t n_entries = 0;  ///< number of entry lines declared by the file
};

/// Reads the file through the size line.
/// @throws FileError
MatrixMarketStart read_start(LineReader& reader);

/// Reads the next line that is neither blank nor a comment. @returns false at the end of the file
inline bool next_content(LineReader& reader, std::string_view& line) {
  while (reader.next(line)) {
    Cursor cursor(line);
    if (!cursor.at_end() && *cursor.at != '%') return true;
  }
  return false;
}

/// Throws the FileError for a value that cannot be parsed.
/// @param has_real_part the error is in the imaginary part of a complex value
[[noreturn]] void fail_value(const LineReader& reader, const Cursor& cursor, Parsed parsed,
                             const std::string& location, MatrixMarketHeader::Field field,
                             bool has_real_part);

/// Throws FileError unless only white space remains on the line.
inline void require_end(const LineReader& reader, Cursor& cursor) {
  if (!cursor.at_end()) reader.fail("unexpected " + Impl::quoted(cursor.peek_token()) + " after the entry");
}

/// Throws FileError unless only blank lines and comments follow.
void require_no_more(LineReader& reader, std::int64_t n_entries);

/// Throws the FileError for a truncated file.
[[noreturn]] void fail_short(const LineReader& reader, std::int64_t n_read, std::int64_t n_entries);

/// Parses a value of the file's field. `location` returns row and column as text, for messages only.
template <class Scalar, class Location>
Scalar parse_value(const LineReader& reader, Cursor& cursor, MatrixMarketHeader::Field field,
                   const Location& location) {
  using Field = MatrixMarketHeader::Field;
  if (field == Field::pattern) return Scalar(1);
  double real = 0, imaginary = 0;
  Parsed parsed = field == Field::integer ? parse_integer_as_real(cursor, real) : parse_real(cursor, real);
  const bool has_real_part = parsed == Parsed::ok;
  if (has_real_part && field == Field::complex) parsed = parse_real(cursor, imaginary);
  if (parsed != Parsed::ok) fail_value(reader, cursor, parsed, location(), field, has_real_part);
  if constexpr (std::is_floating_point_v<Scalar>) {
    return real;
  } else {
    return Scalar(real, imaginary);
  }
}

}  // namespace lutra::Impl

#endif
