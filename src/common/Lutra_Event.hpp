// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_EVENT_HPP
#define LUTRA_EVENT_HPP

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace lutra {

/// What happened in a call of a solver.
enum class EventKind {
  call_begins,   ///< analyze, factorize, solve, …; calls within it are part of it
  call_ends,     ///< also by an exception
  stage_begins,  ///< stages may contain stages
  stage_ends,    ///< also by an exception
  choice,        ///< a value that the library or the options have chosen, or a reason for one
  escalation     ///< a step beyond the plain solve: new pivots, another method, GMRES, less memory
};

/// Name of a kind: "call begins", …
constexpr std::string_view to_string(EventKind kind) {
  switch (kind) {
    case EventKind::call_begins:
      return "call begins";
    case EventKind::call_ends:
      return "call ends";
    case EventKind::stage_begins:
      return "stage begins";
    case EventKind::stage_ends:
      return "stage ends";
    case EventKind::choice:
      return "choice";
    case EventKind::escalation:
      return "escalation";
  }
  return "unknown";
}

/// One event of a running call. Begins and ends are balanced, and the intervals between them are nested.
struct Event {
  EventKind kind = EventKind::call_begins;
  std::string_view name{};     ///< of a call, a stage, or what is chosen ("ordering"); static text
  std::string_view text{};     ///< the value chosen, or the escalation; valid until the observer returns
  std::int64_t time = 0;       ///< nanoseconds of std::chrono::steady_clock
  double seconds = 0;          ///< ends: since the begin; otherwise since the begin of the call
  std::size_t bytes = 0;       ///< charged to the solver's budget now; 0 for choices and escalations
  std::size_t peak_bytes = 0;  ///< the most so far
};

}  // namespace lutra

#endif
