// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_RUNCONTROL_HPP
#define LUTRA_RUNCONTROL_HPP

#include <Kokkos_Core.hpp>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <thread>

#include "Lutra_Error.hpp"
#include "Lutra_Event.hpp"
#include "Lutra_ToolRegion.hpp"

namespace lutra {

/// Asks running calls to stop. Put it into the options of a solver, keep a copy of the pointer, and raise it
/// from any thread or from a signal handler:
///
///     options.stop = std::make_shared<StopFlag>();
///     …                                   another thread: stop->raise()
///     solver.factorize(A)                 ◄── returns Status::cancelled
///
/// The flag stays raised, so that later calls end at once, until it is cleared. One flag may serve any number
/// of solvers.
class StopFlag {
 public:
  StopFlag() = default;
  StopFlag(const StopFlag&) = delete;
  StopFlag& operator=(const StopFlag&) = delete;
  virtual ~StopFlag() = default;

  /// Async-signal-safe.
  void raise() noexcept { m_raised.store(true, std::memory_order_relaxed); }
  void clear() noexcept { m_raised.store(false, std::memory_order_relaxed); }
  /// A derived class may ask elsewhere, too. Any thread that works on a call may query it, often: it must be
  /// cheap and thread-safe.
  virtual bool is_raised() const noexcept { return m_raised.load(std::memory_order_relaxed); }

 private:
  static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler may raise only a lock-free flag");
  std::atomic<bool> m_raised{false};
};

/// How far a call is.
struct Progress {
  std::string_view stage;  ///< "check", "matching", "ordering", "symbolic", "levelization", "numeric",
                           ///< "condition", "solve" or "refine"; static text
  double share = 0;        ///< share of the stage that is done, in [0, 1]; 0 where the stage does not know it
  double seconds = 0;      ///< since the call began
};

/// Functions through which a caller follows a solver. Both are called on the thread that called the solver.
/// They must not throw, and must not call the solver.
struct Observers {
  /// Called at most 20 times a second while a call runs. Returns whether the call shall go on; false stops it
  /// as a raised flag does.
  std::function<bool(const Progress&)> progress{};
  /// Called for every event (Lutra_Event.hpp). It changes no choice and no result.
  std::function<void(const Event&)> event{};
};

class RunningCall;

/// Limits in time of the calls of one solver, asked by all stages. Copies share them. Stages ask at least
/// every few milliseconds, from any thread; outside of a call, and in calls without limits and observers, a
/// query is one load.
///
///     RunningCall begins ── poll … must_stop (in kernels) … poll ── ends
///                            │            │                  │
///          stop flag, clock ─┘            └─► kernel leaves ─┴─► throws CancelledError
class RunControl {
  struct State {
    std::atomic<bool> is_active{false};    ///< a call runs that may be stopped
    std::atomic<bool> is_observed{false};  ///< a call runs that tells its events
    std::atomic<bool> is_stopped{false};   ///< the running call has to end
    std::atomic<double> share{0};
    // Constant while a call runs, except as noted.
    int depth = 0;                    ///< nested calls
    std::int64_t begin = 0, end = 0;  ///< nanoseconds of the steady clock; end 0: no deadline
    std::int64_t next_report = 0;     ///< the same; changed by the calling thread only
    std::string_view stage{};         ///< read and changed by the calling thread only
    double own_deadline = -1;         ///< seconds, in place of the options'; negative: none
    std::thread::id caller{};
    std::shared_ptr<StopFlag> flag{};
    std::shared_ptr<const Observers> observers{};

    bool must_stop() noexcept { return is_active.load(std::memory_order_relaxed) && ask(true); }
    bool must_stop_soon(unsigned count) noexcept {
      return is_active.load(std::memory_order_relaxed) && ask((count & 15U) == 0);
    }
    /// Looks at the flag and, if asked to, at the clock; then also reports progress.
    bool ask(bool looks_at_clock) noexcept;
    bool ask_observer(std::int64_t now) noexcept;
  };

 public:
  /// Control that never stops anything and cannot begin a call.
  RunControl() = default;
  /// Control of a solver.
  static RunControl make() { return RunControl(std::make_shared<State>()); }

  bool is_empty() const noexcept { return m_state == nullptr; }

  /// Replaces the deadline of the solver's options, from the next call on.
  /// @param seconds as CommonOptions::deadline
  void set_deadline(double seconds) const noexcept {
    if (m_state) m_state->own_deadline = seconds;
  }

  class FrequentQuery;

  /// Query of a kernel on host threads, which leaves early if told so; poll() after the kernel then throws.
  /// Never true on devices. Does not own the control.
  class Query {
   public:
    Query() = default;
    KOKKOS_FUNCTION bool is_empty() const { return m_state == nullptr; }
    KOKKOS_FUNCTION bool must_stop() const {
      KOKKOS_IF_ON_HOST((return m_state != nullptr && m_state->must_stop();))
      KOKKOS_IF_ON_DEVICE((return false;))
    }
    /// The same, for loops: asks only at every `stride`-th call, a power of two.
    KOKKOS_FUNCTION bool must_stop_at(std::int64_t step, std::int64_t stride) const {
      return (step & (stride - 1)) == 0 && must_stop();
    }

   private:
    friend RunControl;
    friend FrequentQuery;
    explicit Query(State* state) : m_state(state) {}
    State* m_state = nullptr;
  };

  /// Queries of one thread that ask the clock only at every 16th, for loops whose steps take microseconds.
  class FrequentQuery {
   public:
    FrequentQuery() = default;
    explicit FrequentQuery(const Query& query) : m_state(query.m_state) {}
    bool must_stop() const noexcept { return m_state != nullptr && m_state->must_stop_soon(m_count++); }

   private:
    State* m_state = nullptr;
    mutable unsigned m_count = 0;
  };

  /// Whether the running call has to end. Once true, it remains so until the call has ended.
  bool must_stop() const noexcept { return m_state && m_state->must_stop(); }
  /// Whether the running call has a deadline, a stop flag or an observer, so that stages which cannot be
  /// stopped should be avoided.
  bool is_limited() const noexcept { return m_state && m_state->is_active.load(std::memory_order_relaxed); }
  /// @throws CancelledError if the running call has to end
  void poll() const {
    if (must_stop()) stop();
  }
  /// The same; tells what share of the stage is done.
  void poll(double done, double total) const {
    if (!is_limited()) return;
    tell_share(done, total);
    poll();
  }
  /// The same, for loops: asks only if `step` is a multiple of `stride`, a power of two.
  void poll_at(std::int64_t step, std::int64_t stride) const {
    if ((step & (stride - 1)) == 0) poll();
  }
  /// Names the stage that begins; nothing of it is done. Called by the calling thread.
  /// @param stage static text
  /// @throws CancelledError if the running call has to end
  void begin_stage(std::string_view stage) const;
  /// Whether a call runs.
  bool is_in_call() const noexcept { return m_state && m_state->depth > 0; }
  /// Whether a call runs within another one.
  bool is_in_nested_call() const noexcept { return m_state && m_state->depth > 1; }

  /// The running stage; empty in calls without limits and observers.
  std::string_view stage() const noexcept { return is_limited() ? m_state->stage : std::string_view{}; }
  /// Names a stage that goes on after one within it. Called by the calling thread.
  void resume_stage(std::string_view stage) const noexcept {
    if (is_limited()) m_state->stage = stage;
  }

  /// Whether events of the running call are observed; to be asked before texts are made for them.
  bool is_observed() const noexcept {
    return m_state && m_state->is_observed.load(std::memory_order_relaxed);
  }
  /// Tells the observer of an event, if this is the calling thread. `time` 0 means now.
  void tell(Event event) const noexcept;
  /// Tells of a step beyond the plain solve.
  void tell_escalation(std::string_view text) const noexcept {
    if (is_observed()) tell({EventKind::escalation, {}, text});
  }
  /// Nanoseconds of the steady clock.
  static std::int64_t now() noexcept;
  /// Since the running call began.
  double seconds_since_begin(std::int64_t time) const noexcept {
    return m_state ? 1e-9 * static_cast<double>(time - m_state->begin) : 0;
  }

  /// Tells what share of the stage is done, from any thread.
  void tell_share(double done, double total) const noexcept {
    if (is_limited()) m_state->share.store(total > 0 ? done / total : 0, std::memory_order_relaxed);
  }
  /// Empty unless the running call is limited.
  Query query() const noexcept { return Query(is_limited() ? m_state.get() : nullptr); }

 private:
  friend RunningCall;

  explicit RunControl(std::shared_ptr<State> state) : m_state(std::move(state)) {}
  [[noreturn]] static void stop();

  std::shared_ptr<State> m_state;  ///< null: nothing stops
};

/// Extent of one call of a solver. Calls within it, of other solvers that share the control, belong to it.
class RunningCall {
 public:
  /// @param options with deadline, stop and observers
  template <class Options>
  /// @param name of the call, for events and regions of tools; static text
  RunningCall(const RunControl& control, const Options& options, std::string_view name)
      : m_state(control.m_state.get()), m_name(name), m_region(name, !control.is_in_call()) {
    if (m_state == nullptr || m_state->depth++ > 0) return;
    const double deadline = m_state->own_deadline < 0 ? options.deadline : m_state->own_deadline;
    if (deadline > 0 || options.stop || options.observers) begin(deadline, options.stop, options.observers);
  }
  RunningCall(const RunningCall&) = delete;
  RunningCall& operator=(const RunningCall&) = delete;
  ~RunningCall() {
    if (m_state != nullptr && --m_state->depth == 0) end();
  }
  bool is_outermost() const noexcept { return m_state == nullptr || m_state->depth == 1; }

 private:
  void begin(double deadline, const std::shared_ptr<StopFlag>& flag,
             const std::shared_ptr<const Observers>& observers);
  void end() noexcept;
  void tell(EventKind kind, double seconds) const noexcept;

  RunControl::State* m_state;
  std::string_view m_name;
  Impl::ToolRegion m_region;
};

/// Runs call(), which returns a Status, as one call of a solver. After a stop, waits for kernels under way.
/// @returns cancelled if it was stopped; within another call the exception is left to that one
template <class ExecutionSpace, class Options, class Call>
Status stoppable(const ExecutionSpace& exec, const RunControl& control, const Options& options,
                 std::string_view name, const Call& call) {
  const RunningCall running(control, options, name);
  if (!running.is_outermost()) return call();
  try {
    return call();
  } catch (const CancelledError&) {
    exec.fence("lutra: a call is stopped");
    return Status::cancelled;
  }
}

}  // namespace lutra

#endif
