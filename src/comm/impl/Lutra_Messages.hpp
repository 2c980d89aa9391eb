// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_MESSAGES_HPP
#define LUTRA_MESSAGES_HPP

#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>

#include "Lutra_Failure.hpp"
#include "Lutra_UninitializedVector.hpp"

namespace lutra {

namespace Impl {

// Bytes of messages between ranks: how they are written, and read without trust in their lengths and numbers.
// Nothing here knows MPI.

/// A message that no rank of this program writes.
class DamagedMessage : public std::runtime_error {
 public:
  explicit DamagedMessage(const std::string& what) : std::runtime_error("a damaged message: " + what) {}
};

/// Messages overwrite all bytes.
using Bytes = UninitializedVector<std::byte>;

/// Header of a one-sided operation over MPI; the data follow in the same message.
struct PutHeader {
  std::int64_t memory;  ///< index of the symmetric memory
  std::int64_t offset;  ///< offset into the target's memory, in bytes
  std::int64_t signal;  ///< signal of the target that `value` changes
  std::uint64_t value;  ///< new value, or addend
  std::int64_t adds;    ///< 1: `value` is added to the signal; 0: it is assigned
};

struct PutMessage {
  PutHeader header{};
  std::span<const std::byte> data{};
};

void pack_put(const PutHeader& header, std::span<const std::byte> data, Bytes& message);
/// @throws DamagedMessage
PutMessage unpack_put(std::span<const std::byte> message);

/// Checks that a one-sided operation stays in the memory of its target.
/// @param data number of bytes; @param bytes, signals of the target
/// @throws DamagedMessage
void check_put(const PutHeader& header, std::size_t data, std::size_t bytes, std::size_t signals);

/// Control messages between ranks.
enum class Control : std::int32_t {
  question,
  answer_waiting,
  answer_busy,
  work_begins,
  work_ends,
  failure,
  leaves
};

struct ControlMessage {
  Control what = Control::question;
  std::span<const std::byte> text{};  ///< of a failure
};

Bytes pack_control(Control what, std::span<const std::byte> text);
/// @throws DamagedMessage
ControlMessage unpack_control(std::span<const std::byte> message);

Bytes pack_failure(const Failure& failure);
/// Writes the control message of a failure into memory of at least 16 bytes, which may cut its texts.
/// Allocates nothing. @returns the bytes of the message
std::size_t write_failure(const Failure& failure, std::span<std::byte> message) noexcept;
/// @param ranks number of ranks
/// @throws DamagedMessage
Failure unpack_failure(std::span<const std::byte> text, int ranks);

/// Number of elements in a message. @throws DamagedMessage if the last one is incomplete
std::size_t count_elements(std::size_t bytes, std::size_t bytes_of_element);
/// @throws DamagedMessage unless a message has as many elements as its receiver expects
void require_elements(std::size_t found, std::size_t expected);

}  // namespace Impl
}  // namespace lutra

#endif
