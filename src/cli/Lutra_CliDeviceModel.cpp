// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_CliDeviceModel.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "Lutra_DeviceModel.hpp"
#include "Lutra_LineReader.hpp"
#include "Lutra_OptionFields.hpp"
#include "Lutra_ParseNumber.hpp"

namespace lutra::Cli {
namespace {

using Impl::Cursor;
using Impl::LineReader;
using Impl::Parsed;

/// Value of a key and its line.
struct Entry {
  double value;
  std::int64_t line;
};

/// Reads the value of a key up to the end of the line.
double take_value(const LineReader& reader, Cursor& cursor, const std::string& key) {
  double value = 0;
  cursor.skip_spaces();
  if (cursor.peek_token() == "none") {
    cursor.take_token();
  } else {
    const std::string token(cursor.peek_token());
    const Parsed parsed = Impl::parse_real(cursor, value);
    if (parsed == Parsed::missing) reader.fail(key + " has no value");
    if (parsed != Parsed::ok || !(value > 0))
      reader.fail(key + ": " + Impl::quoted(token) + " is not a finite number above 0");
  }
  if (!cursor.at_end()) reader.fail(key + ": there is more than one value");
  return value;
}

/// Reads a line "name TEXT".
std::string take_name(const LineReader& reader, Cursor& cursor, const std::string& before) {
  if (!before.empty()) reader.fail("there is a name already");
  std::string name;
  while (!cursor.at_end()) name += (name.empty() ? "" : " ") + std::string(cursor.take_token());
  if (name.empty()) reader.fail("name has no value");
  return name;
}

/// Sets a number after checking that a model can hold the value.
template <class Number>
void set(const LineReader& reader, const std::string& key, const Entry& entry, Number& number) {
  if (entry.value == 0 && number != 0) reader.fail_at(entry.line, key + " must have a value");
  if constexpr (std::is_integral_v<Number>) {
    if (entry.value != std::floor(entry.value) ||
        entry.value > static_cast<double>(std::numeric_limits<Number>::max()))
      reader.fail_at(entry.line, key + " must be an integer of 32 bits");
  }
  number = static_cast<Number>(entry.value);
}

}  // namespace

std::vector<std::string> measured_keys(DeviceModel model, DeviceModel built_in) {
  std::vector<double> known;
  visit_numbers(built_in, [&known](const std::string&, auto& number) { known.push_back(number); });
  std::vector<std::string> keys;
  std::size_t k = 0;
  visit_numbers(model, [&](const std::string& key, auto& number) {
    if (static_cast<double>(number) != known[k++]) keys.push_back(key);
  });
  return keys;
}

std::string to_text(DeviceModel model, DeviceModel built_in) {
  const std::vector<std::string> measured = measured_keys(model, built_in);
  std::string text =
      "% Device model, from which lutra predicts times: seconds, bytes a second, and ratios\nname " +
      model.name + "\n";
  visit_numbers(model, [&](const std::string& key, const auto& number) {
    const bool kept = std::find(measured.begin(), measured.end(), key) == measured.end();
    text += key + " " + (number == 0 ? "none" : Impl::to_text(number)) +
            (kept && number != 0 ? "  % built in, not measured\n" : "\n");
  });
  return text;
}

bool is_device_model(const std::string& file) {
  LineReader reader(file);
  std::string_view line;
  while (reader.next(line)) {
    Cursor cursor(line.substr(0, line.find('%')));
    if (!cursor.at_end()) return cursor.take_token() == "name";
  }
  return true;
}

DeviceModel read_device_model(const std::string& file) {
  LineReader reader(file);
  DeviceModel model;
  std::map<std::string, Entry> entries;
  visit_numbers(model, [&](const std::string& key, auto&) { entries[key] = {0, 0}; });
  std::string_view line;
  while (reader.next(line)) {
    Cursor cursor(line.substr(0, line.find('%')));
    if (cursor.at_end()) continue;
    const std::string key(cursor.take_token());
    if (key == "name") {
      model.name = take_name(reader, cursor, model.name);
      continue;
    }
    const auto found = entries.find(key);
    if (found == entries.end()) reader.fail("the key " + Impl::quoted(key) + " is unknown");
    if (found->second.line > 0)
      reader.fail(key + " stands at line " + std::to_string(found->second.line) + " already");
    found->second = {take_value(reader, cursor, key), reader.line_number()};
  }
  if (model.name.empty()) reader.fail("the file ends without a name");
  visit_numbers(model, [&](const std::string& key, auto& number) {
    const Entry& entry = entries.at(key);
    if (entry.line == 0) reader.fail("the file ends without " + key);
    set(reader, key, entry, number);
  });
  return model;
}

}  // namespace lutra::Cli
