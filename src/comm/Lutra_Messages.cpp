// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_Messages.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace lutra::Impl {
namespace {

/// The first bytes of a message as a value. @throws DamagedMessage if they are too few
template <class Value>
Value front_as(std::span<const std::byte> message, const char* what) {
  if (message.size() < sizeof(Value))
    throw DamagedMessage(std::string(what) + " has " + std::to_string(sizeof(Value)) +
                         " bytes, the message " + std::to_string(message.size()));
  Value value;
  std::memcpy(&value, message.data(), sizeof value);
  return value;
}

/// rank, kind and length of the first text
using FailureNumbers = std::array<std::int32_t, 3>;

std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

void pack_put(const PutHeader& header, std::span<const std::byte> data, Bytes& message) {
  message.resize(sizeof header + data.size());
  std::memcpy(message.data(), &header, sizeof header);
  std::ranges::copy(data, message.begin() + sizeof header);
}

PutMessage unpack_put(std::span<const std::byte> message) {
  const auto header = front_as<PutHeader>(message, "the header of a put");
  return {header, message.subspan(sizeof header)};
}

void check_put(const PutHeader& header, std::size_t data, std::size_t bytes, std::size_t signals) {
  const bool fits = header.offset >= 0 && data <= bytes &&
                    static_cast<std::uint64_t>(header.offset) <= static_cast<std::uint64_t>(bytes - data);
  const bool has_signal = header.signal >= 0 && static_cast<std::uint64_t>(header.signal) < signals;
  if (!fits || !has_signal || (header.adds != 0 && header.adds != 1))
    throw DamagedMessage("a put of " + std::to_string(data) + " bytes at " + std::to_string(header.offset) +
                         " with signal " + std::to_string(header.signal) + " into " + std::to_string(bytes) +
                         " bytes and " + std::to_string(signals) + " signals");
}

Bytes pack_control(Control what, std::span<const std::byte> text) {
  Bytes message(sizeof what + text.size());
  std::memcpy(message.data(), &what, sizeof what);
  std::ranges::copy(text, message.begin() + sizeof what);
  return message;
}

ControlMessage unpack_control(std::span<const std::byte> message) {
  const auto number = front_as<std::int32_t>(message, "a control message");
  if (number < 0 || number > static_cast<std::int32_t>(Control::leaves))
    throw DamagedMessage("there is no control message " + std::to_string(number));
  return {static_cast<Control>(number), message.subspan(sizeof number)};
}

Bytes pack_failure(const Failure& failure) {
  const FailureNumbers numbers = {failure.rank, static_cast<std::int32_t>(failure.kind),
                                  static_cast<std::int32_t>(failure.what.size())};
  Bytes bytes(sizeof numbers + failure.what.size() + failure.where.size());
  std::memcpy(bytes.data(), numbers.data(), sizeof numbers);
  const auto text = std::ranges::copy(std::as_bytes(std::span(failure.what)), bytes.begin() + sizeof numbers);
  std::ranges::copy(std::as_bytes(std::span(failure.where)), text.out);
  return bytes;
}

std::size_t write_failure(const Failure& failure, std::span<std::byte> message) noexcept {
  constexpr Control kind = Control::failure;
  constexpr std::size_t begin = sizeof kind + sizeof(FailureNumbers);
  const std::size_t what = std::min(failure.what.size(), message.size() - begin);
  const std::size_t where = std::min(failure.where.size(), message.size() - begin - what);
  const FailureNumbers numbers = {failure.rank, static_cast<std::int32_t>(failure.kind),
                                  static_cast<std::int32_t>(what)};
  std::memcpy(message.data(), &kind, sizeof kind);
  std::memcpy(message.data() + sizeof kind, numbers.data(), sizeof numbers);
  std::memcpy(message.data() + begin, failure.what.data(), what);
  std::memcpy(message.data() + begin + what, failure.where.data(), where);
  return begin + what + where;
}

Failure unpack_failure(std::span<const std::byte> text, int ranks) {
  const auto [rank, kind, length] = front_as<FailureNumbers>(text, "a failure");
  text = text.subspan(sizeof(FailureNumbers));
  if (rank < 0 || rank >= ranks || kind < 0 || kind > static_cast<std::int32_t>(FailureKind::other) ||
      length < 0 || static_cast<std::size_t>(length) > text.size())
    throw DamagedMessage("a failure of rank " + std::to_string(rank) + ", kind " + std::to_string(kind) +
                         ", with a text of " + std::to_string(length) + " bytes in " +
                         std::to_string(text.size()));
  const auto end = static_cast<std::size_t>(length);
  return {rank, static_cast<FailureKind>(kind), text_of(text.first(end)), text_of(text.subspan(end))};
}

std::size_t count_elements(std::size_t bytes, std::size_t bytes_of_element) {
  if (bytes % bytes_of_element != 0)
    throw DamagedMessage(std::to_string(bytes) + " bytes of elements of " + std::to_string(bytes_of_element));
  return bytes / bytes_of_element;
}

void require_elements(std::size_t found, std::size_t expected) {
  if (found != expected)
    throw DamagedMessage(std::to_string(found) + " elements instead of " + std::to_string(expected));
}

}  // namespace lutra::Impl
