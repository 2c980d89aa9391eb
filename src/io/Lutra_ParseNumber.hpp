// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_PARSENUMBER_HPP
#define LUTRA_PARSENUMBER_HPP

#include <charconv>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>

namespace lutra::Impl {

/// Result of parsing a token.
enum class Parsed {
  ok,
  missing,    ///< the line ends before the token
  malformed,  ///< not a number of the expected kind
  too_large,  ///< out of the type's range
  not_finite  ///< NaN or infinity, spelled out
};

/// Unparsed rest of a line. Parsing does not depend on the locale.
struct Cursor {
  const char* at;
  const char* end;

  explicit Cursor(std::string_view line) : at(line.data()), end(line.data() + line.size()) {}

  static bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
  void skip_spaces() {
    while (at != end && is_space(*at)) ++at;
  }
  /// Whether only white space remains.
  bool at_end() {
    skip_spaces();
    return at == end;
  }
  /// The next token, up to white space, without consuming it.
  std::string_view peek_token() const;
  std::string_view take_token();
};

/// A token for messages: without control bytes, cut off after 40 bytes.
std::string shown(std::string_view token);
/// The same in quotes.
std::string quoted(std::string_view token);

/// Consumes an integer with an optional sign. The cursor stays before the token unless the result is `ok`.
inline Parsed parse_integer(Cursor& cursor, std::int64_t& value) {
  if (cursor.at_end()) return Parsed::missing;
  const char* start = cursor.at;
  if (*start == '+' && start + 1 != cursor.end && *(start + 1) != '-') ++start;
  const auto [rest, error] = std::from_chars(start, cursor.end, value);
  if (error == std::errc::invalid_argument || (rest != cursor.end && !Cursor::is_space(*rest))) {
    return Parsed::malformed;
  }
  if (error != std::errc()) return Parsed::too_large;
  cursor.at = rest;
  return Parsed::ok;
}

/// Cases not handled by `parse_real`: Fortran's D exponents, underflow (returns 0), and classification of
/// errors.
Parsed parse_unusual_real(Cursor& cursor, double& value);

/// Consumes a decimal number: 1, -1.5, +.5, 2e3, 1D-3. The cursor stays before the token unless the result is
/// `ok`.
inline Parsed parse_real(Cursor& cursor, double& value) {
  if (cursor.at_end()) return Parsed::missing;
  const auto [rest, error] = std::from_chars(cursor.at, cursor.end, value);
  if (error != std::errc() || (rest != cursor.end && !Cursor::is_space(*rest)) || !std::isfinite(value)) {
    return parse_unusual_real(cursor, value);
  }
  cursor.at = rest;
  return Parsed::ok;
}

/// Consumes a number without point or exponent, as a double.
Parsed parse_integer_as_real(Cursor& cursor, double& value);

}  // namespace lutra::Impl

#endif
