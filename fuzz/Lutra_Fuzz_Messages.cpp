// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <cstring>
#include <vector>

#include "Lutra_Fuzz.hpp"
#include "Lutra_Messages.hpp"
#include "Lutra_PartBoundaries.hpp"

// Any bytes as a message of another rank: a damaged message is refused, and another means what its sender
// wrote: written again it is the same. First byte: the kind of message; for puts two bytes of sizes.

namespace {

using namespace lutra::Impl;
using lutra::Failure;
using lutra::Fuzz::Input;
using lutra::Fuzz::require;

template <class Unpack>
bool is_whole(const Unpack& unpack) {
  try {
    unpack();
    return true;
  } catch (const DamagedMessage& error) {
    lutra::Fuzz::check_message(error.what());
    return false;
  }
}

/// As a rank does, the data go where the header says; the sanitizer watches.
void check_put_message(Input& input) {
  std::vector<std::byte> memory(input.take_byte());
  std::vector<std::uint64_t> signals(input.take_byte());
  const auto message = std::as_bytes(std::span(input.text()));
  PutMessage put;
  const bool whole = is_whole([&] {
    put = unpack_put(message);
    check_put(put.header, put.data.size(), memory.size(), signals.size());
  });
  if (!whole) return;
  std::ranges::copy(put.data, memory.data() + put.header.offset);
  signals.at(static_cast<std::size_t>(put.header.signal)) = put.header.value;
  Bytes again;
  pack_put(put.header, put.data, again);
  require(std::ranges::equal(again, message), "a put is the same when written again");
}

void check_control_message(Input& input) {
  const int ranks = input.take_byte();
  const auto message = std::as_bytes(std::span(input.text()));
  ControlMessage control;
  if (!is_whole([&] { control = unpack_control(message); })) return;
  require(std::ranges::equal(pack_control(control.what, control.text), message),
          "a control message is the same when written again");
  Failure failure;
  if (!is_whole([&] { failure = unpack_failure(control.text, ranks); })) return;
  require(failure.rank >= 0 && failure.rank < ranks, "a failure is of a rank");
  require(std::ranges::equal(pack_failure(failure), control.text),
          "a failure is the same when written again");
}

void check_elements(Input& input) {
  const std::size_t bytes_of_element = 1 + input.take_byte() % 16, expected = input.take_byte();
  const std::size_t bytes = input.text().size();
  const bool whole = is_whole([&] { require_elements(count_elements(bytes, bytes_of_element), expected); });
  require(whole == (bytes == expected * bytes_of_element),
          "a message has the elements expected, or is refused");
}

void check_boundary(Input& input) {
  const std::string_view text = input.text();
  std::vector<int> numbers(text.size() / sizeof(int));
  if (!numbers.empty()) std::memcpy(numbers.data(), text.data(), numbers.size() * sizeof(int));
  lutra::PartBoundary boundary;
  if (!is_whole([&] { boundary = unpacked(numbers); })) return;
  require(packed(boundary) == numbers, "a boundary is the same when written again");
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input input(data, size);
  switch (input.take_byte() % 4) {
    case 0:
      check_put_message(input);
      return 0;
    case 1:
      check_control_message(input);
      return 0;
    case 2:
      check_elements(input);
      return 0;
    default:
      check_boundary(input);
      return 0;
  }
}
