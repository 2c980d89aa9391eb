// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_MatrixMarketText.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include "Lutra_Error.hpp"

namespace lutra::Impl {
namespace {

using Field = MatrixMarketHeader::Field;
using Symmetry = MatrixMarketHeader::Symmetry;

std::string lower_case(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return lower;
}

// Index in `names` of the next word of the banner.
template <std::size_t Count>
std::size_t take_word(const LineReader& reader, Cursor& cursor, const char* what,
                      const std::array<std::string_view, Count>& names) {
  const std::string word = lower_case(cursor.take_token());
  const auto found = std::find(names.begin(), names.end(), word);
  if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
  std::string legal;
  for (const std::string_view name : names) legal += (legal.empty() ? "" : ", ") + std::string(name);
  if (word.empty()) reader.fail(std::string("the banner lacks the ") + what + " (" + legal + ")");
  reader.fail("the banner's " + std::string(what) + " is " + Impl::quoted(word) + "; it can be " + legal);
}

void check_combination(const LineReader& reader, const MatrixMarketStart& start) {
  const auto [field, symmetry] = start.header;
  if (symmetry == Symmetry::hermitian && field != Field::complex) {
    reader.fail("a hermitian matrix has to be complex; a real one is called symmetric");
  }
  if (symmetry == Symmetry::skew_symmetric && field == Field::pattern) {
    reader.fail("a pattern has no signs and cannot be skew-symmetric");
  }
  if (field == Field::pattern && !start.coordinate)
    reader.fail("an array has values and cannot be a pattern");
}

// %%MatrixMarket matrix coordinate|array field symmetry
MatrixMarketStart read_banner(LineReader& reader) {
  std::string_view line;
  if (!reader.next(line)) reader.fail_at(0, "the file is empty");
  if (line.starts_with("\xef\xbb\xbf")) line.remove_prefix(3);  // byte order mark written by some editors
  Cursor cursor(line);
  if (lower_case(cursor.peek_token()) != "%%matrixmarket") {
    reader.fail("not a Matrix Market file: the first line has to start with %%MatrixMarket");
  }
  cursor.take_token();
  MatrixMarketStart start;
  take_word<1>(reader, cursor, "object", {"matrix"});
  start.coordinate = take_word<2>(reader, cursor, "format", {"coordinate", "array"}) == 0;
  start.header.field =
      static_cast<Field>(take_word<4>(reader, cursor, "field", {"real", "integer", "complex", "pattern"}));
  start.header.symmetry = static_cast<Symmetry>(
      take_word<4>(reader, cursor, "symmetry", {"general", "symmetric", "skew-symmetric", "hermitian"}));
  if (!cursor.at_end())
    reader.fail("unexpected " + Impl::quoted(cursor.peek_token()) + " at the end of the banner");
  check_combination(reader, start);
  return start;
}

std::int64_t take_size(const LineReader& reader, Cursor& cursor, const char* what) {
  std::int64_t size = 0;
  switch (parse_integer(cursor, size)) {
    case Parsed::ok:
      break;
    case Parsed::missing:
      reader.fail("the size line lacks the number of " + std::string(what));
    case Parsed::too_large:
      reader.fail("the number of " + std::string(what) + ", " + Impl::quoted(cursor.peek_token()) +
                  ", is too large");
    default:
      reader.fail("the number of " + std::string(what) + ", " + Impl::quoted(cursor.peek_token()) +
                  ", is not an integer");
  }
  if (size < 0) reader.fail("the number of " + std::string(what) + " is negative: " + std::to_string(size));
  return size;
}

// Rejects what no matrix can be. Afterwards products of sizes do not overflow.
void check_shape(const LineReader& reader, const MatrixMarketStart& start) {
  const std::string size = std::to_string(start.n_rows) + " by " + std::to_string(start.n_cols);
  if (start.header.symmetry != Symmetry::general && start.n_rows != start.n_cols) {
    reader.fail("a matrix of " + size + " cannot have the banner's symmetry: it is not square");
  }
  constexpr std::int64_t largest = std::numeric_limits<int>::max();
  if (start.n_rows > largest || start.n_cols > largest) {
    reader.fail("a matrix of " + size + " is too large: at most " + std::to_string(largest) +
                " rows and columns can be read");
  }
}

// Number of lines of an array file: a symmetric matrix stores its lower triangle, a skew-symmetric one
// without the diagonal.
std::int64_t array_entries(const MatrixMarketStart& start) {
  const std::int64_t n = start.n_rows;
  switch (start.header.symmetry) {
    case Symmetry::general:
      return n * start.n_cols;
    case Symmetry::skew_symmetric:
      return n * (n - 1) / 2;
    default:
      return n * (n + 1) / 2;
  }
}

void check_entries(const LineReader& reader, const MatrixMarketStart& start) {
  if (start.n_entries > 0 && (start.n_rows == 0 || start.n_cols == 0)) {
    reader.fail("the size line declares " + std::to_string(start.n_entries) + " entries in a matrix of " +
                std::to_string(start.n_rows) + " by " + std::to_string(start.n_cols));
  }
  const std::int64_t min_line = start.coordinate ? 4 : 2;  // bytes of "1 1" or "0" plus the line end
  if (const auto bytes = reader.total_bytes(); bytes && (start.n_entries - 1) > *bytes / min_line) {
    reader.fail("the size line declares " + std::to_string(start.n_entries) + " entries, but a file of " +
                std::to_string(*bytes) + " bytes cannot hold them");
  }
}

}  // namespace

MatrixMarketStart read_start(LineReader& reader) {
  MatrixMarketStart start = read_banner(reader);
  std::string_view line;
  if (!next_content(reader, line)) reader.fail("the file ends before the size line");
  Cursor cursor(line);
  start.n_rows = take_size(reader, cursor, "rows");
  start.n_cols = take_size(reader, cursor, "columns");
  if (start.coordinate) start.n_entries = take_size(reader, cursor, "entries");
  if (!cursor.at_end()) {
    reader.fail("unexpected " + Impl::quoted(cursor.peek_token()) + " at the end of the size line");
  }
  check_shape(reader, start);
  if (!start.coordinate) start.n_entries = array_entries(start);
  check_entries(reader, start);
  return start;
}

void fail_value(const LineReader& reader, const Cursor& cursor, Parsed parsed, const std::string& location,
                MatrixMarketHeader::Field field, bool has_real_part) {
  const std::string token = Impl::quoted(cursor.peek_token());
  switch (parsed) {
    case Parsed::missing:
      reader.fail(std::string(field != Field::complex ? "a value is"
                              : has_real_part         ? "the imaginary part is"
                                                      : "a real and an imaginary part are") +
                  " missing at " + location);
    case Parsed::too_large:
      reader.fail("the value " + token + " at " + location + " overflows double precision");
    case Parsed::not_finite:
      reader.fail("the value " + token + " at " + location + " is not finite");
    default:
      reader.fail("the value " + token + " at " + location + " is not " +
                  (field == Field::integer ? "an integer, as the banner says" : "a number"));
  }
}

void require_no_more(LineReader& reader, std::int64_t n_entries) {
  std::string_view line;
  if (!next_content(reader, line)) return;
  reader.fail("unexpected " + Impl::quoted(line) + " after the " + std::to_string(n_entries) +
              " entries the size line declares");
}

void fail_short(const LineReader& reader, std::int64_t n_read, std::int64_t n_entries) {
  reader.fail("the file ends after " + std::to_string(n_read) + " of the " + std::to_string(n_entries) +
              " entries the size line declares");
}

}  // namespace lutra::Impl
