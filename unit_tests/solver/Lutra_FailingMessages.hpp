// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_FAILINGMESSAGES_HPP
#define LUTRA_FAILINGMESSAGES_HPP

#include <functional>
#include <string>

#include "Lutra_FailingAllocations.hpp"

namespace lutra::Test {

enum class MessageFault {
  refused,  ///< MPI returns an error
  lost      ///< MPI reports success, and the message never arrives
};

/// Calls of MPI that begin a message, by the profiling interface of MPI: sends, and receives where they can
/// be refused. Numbered from 1 in each call, on this rank.
class FailingMessages {
 public:
  explicit FailingMessages(MessageFault fault) : m_fault(fault) {}

  static constexpr const char* event = "message";
  long count(const std::function<void()>& call) const;
  /// @throws what the call throws, unless it is the error for the message that was refused
  Injected fail(long message, const std::function<void()>& call) const;
  /// Text of the last error that `fail` took for that of a refused message.
  static const std::string& last_error();

 private:
  MessageFault m_fault;
};

}  // namespace lutra::Test

#endif
