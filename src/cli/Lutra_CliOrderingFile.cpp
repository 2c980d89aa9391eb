// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>

#include "Lutra_CliOptions.hpp"
#include "Lutra_LineReader.hpp"
#include "Lutra_ParseNumber.hpp"

namespace lutra::Cli {
namespace {

using Impl::Cursor;
using Impl::LineReader;
using Impl::Parsed;

// Reads a column, counted from 1; `line_of` holds the line of each column seen so far, 0 for the others.
std::int64_t take_column(const LineReader& reader, Cursor& cursor, std::vector<std::int64_t>& line_of) {
  std::int64_t column = 0;
  const Parsed parsed = Impl::parse_integer(cursor, column);
  if (parsed == Parsed::malformed) reader.fail(Impl::quoted(cursor.peek_token()) + " is not an integer");
  const auto n = static_cast<std::int64_t>(line_of.size());
  if (parsed != Parsed::ok || column < 1 || column > n) {
    const std::string name = parsed == Parsed::ok ? std::to_string(column) : Impl::shown(cursor.peek_token());
    reader.fail("column " + name + " is outside 1 … " + std::to_string(n));
  }
  std::int64_t& line = line_of[static_cast<std::size_t>(column - 1)];
  if (line > 0) {
    reader.fail("column " + std::to_string(column) + " stands at line " + std::to_string(line) + " already");
  }
  line = reader.line_number();
  return column - 1;
}

}  // namespace

std::vector<std::int64_t> read_ordering(const std::string& file, std::int64_t n) {
  LineReader reader(file);
  std::vector<std::int64_t> order;
  std::vector<std::int64_t> line_of(static_cast<std::size_t>(n), 0);  // line of each column; 0: not seen
  std::string_view line;
  while (reader.next(line)) {
    Cursor cursor(line.substr(0, line.find('%')));
    while (!cursor.at_end()) order.push_back(take_column(reader, cursor, line_of));
  }
  if (static_cast<std::int64_t>(order.size()) < n) {
    const auto absent = std::find(line_of.begin(), line_of.end(), 0) - line_of.begin();
    reader.fail("the file ends after " + std::to_string(order.size()) + " of the matrix' " +
                std::to_string(n) + " columns; column " + std::to_string(absent + 1) + " is not there");
  }
  return order;
}

}  // namespace lutra::Cli
