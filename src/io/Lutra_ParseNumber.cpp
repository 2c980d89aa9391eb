// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_ParseNumber.hpp"

#include <algorithm>

namespace lutra::Impl {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// For a decimal number outside the range of double: true if it is too large, false if it is too small.
// Compares the position of the first nonzero digit with the exponent.
bool exceeds_range(std::string_view token) {
  const std::size_t e_at = std::min(token.find_first_of("eE"), token.size());
  const std::string_view mantissa = token.substr(0, e_at);
  const std::size_t first = mantissa.find_first_of("123456789");
  if (first == std::string_view::npos) return false;
  const std::size_t point = std::min(mantissa.find('.'), mantissa.size());
  const std::int64_t position = static_cast<std::int64_t>(point) - static_cast<std::int64_t>(first);
  Cursor exponent(token.substr(std::min(e_at + 1, token.size())));
  std::int64_t power = 0;
  const Parsed parsed = parse_integer(exponent, power);
  constexpr std::int64_t beyond_any_line = std::int64_t{1} << 40;  // more zeros than any mantissa can offset
  if (parsed == Parsed::too_large || power > beyond_any_line || power < -beyond_any_line)
    return token[e_at + 1] != '-';
  return position + power > 0;
}

}  // namespace

std::string_view Cursor::peek_token() const {
  const char* stop = std::find_if(at, end, is_space);
  return {at, static_cast<std::size_t>(stop - at)};
}

std::string_view Cursor::take_token() {
  skip_spaces();
  const std::string_view token = peek_token();
  at += token.size();
  return token;
}

std::string shown(std::string_view token) {
  constexpr std::size_t longest = 40;  // bytes shown: a message stays on one line
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  for (const char c : token.substr(0, longest)) {
    if (c >= ' ' && c <= '~') {
      text += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    text += "\\x";
    text += digits[byte / 16];
    text += digits[byte % 16];
  }
  return text + (token.size() > longest ? "…" : "");
}

std::string quoted(std::string_view token) {
  return "'" + shown(token) + "'";
}

Parsed parse_unusual_real(Cursor& cursor, double& value) {
  const std::string_view token = cursor.peek_token();
  std::string number(token);
  if (number.front() == '+' && number.size() > 1 && number[1] != '-') number.erase(0, 1);
  const std::size_t exponent = number.find_first_of("dD");
  if (exponent != std::string::npos && exponent > 0 &&
      (is_digit(number[exponent - 1]) || number[exponent - 1] == '.')) {
    number[exponent] = 'e';
  }
  const char* stop = number.data() + number.size();
  const auto [rest, error] = std::from_chars(number.data(), stop, value);
  if (error == std::errc::invalid_argument || rest != stop) return Parsed::malformed;
  if (error == std::errc::result_out_of_range) {
    if (exceeds_range(number)) return Parsed::too_large;
    value = number.front() == '-' ? -0.0 : 0.0;
  } else if (!std::isfinite(value)) {
    return Parsed::not_finite;
  }
  cursor.at += token.size();
  return Parsed::ok;
}

Parsed parse_integer_as_real(Cursor& cursor, double& value) {
  if (cursor.at_end()) return Parsed::missing;
  const std::string_view token = cursor.peek_token();
  const std::string_view digits = token.substr(token.front() == '+' || token.front() == '-' ? 1 : 0);
  if (digits.empty() || !std::all_of(digits.begin(), digits.end(), is_digit)) return Parsed::malformed;
  return parse_real(cursor, value);
}

}  // namespace lutra::Impl
