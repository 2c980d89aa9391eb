// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_RunControl.hpp"

#include <algorithm>
#include <chrono>
#include <limits>
#include <thread>

namespace lutra {

namespace {

constexpr std::int64_t report_interval = 50'000'000;  // nanoseconds

std::int64_t now_in_nanoseconds() noexcept {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

/// Time of the steady clock after some seconds, without overflow.
std::int64_t after(std::int64_t now, double seconds) {
  constexpr std::int64_t last = std::numeric_limits<std::int64_t>::max();
  return seconds < 1e9 ? now + static_cast<std::int64_t>(seconds * 1e9) : last;
}

}  // namespace

bool RunControl::State::ask(bool looks_at_clock) noexcept {
  if (is_stopped.load(std::memory_order_relaxed)) return true;
  bool stops = flag && flag->is_raised();
  if (!stops && looks_at_clock && (end != 0 || observers)) {
    const std::int64_t now = now_in_nanoseconds();
    stops = (end != 0 && now >= end) || !ask_observer(now);
  }
  if (stops) is_stopped.store(true, std::memory_order_relaxed);
  return stops;
}

/// Reports progress if it is time to, and this is the calling thread. @returns whether the call goes on
bool RunControl::State::ask_observer(std::int64_t now) noexcept {
  if (!observers || !observers->progress || std::this_thread::get_id() != caller) return true;
  if (now < next_report) return true;
  next_report = now + report_interval;
  const double done = std::clamp(share.load(std::memory_order_relaxed), 0.0, 1.0);
  return observers->progress({stage, done, 1e-9 * static_cast<double>(now - begin)});
}

void RunControl::begin_stage(std::string_view stage) const {
  if (!is_limited()) return;
  m_state->stage = stage;
  m_state->share.store(0, std::memory_order_relaxed);
  poll();
}

std::int64_t RunControl::now() noexcept {
  return now_in_nanoseconds();
}

void RunControl::tell(Event event) const noexcept {
  if (!is_observed() || std::this_thread::get_id() != m_state->caller) return;
  if (event.time == 0) {
    event.time = now();
    event.seconds = seconds_since_begin(event.time);
  }
  m_state->observers->event(event);
}

void RunControl::stop() {
  throw CancelledError();
}

void RunningCall::begin(double deadline, const std::shared_ptr<StopFlag>& flag,
                        const std::shared_ptr<const Observers>& observers) {
  m_state->begin = now_in_nanoseconds();
  m_state->end = deadline > 0 ? after(m_state->begin, deadline) : 0;
  m_state->next_report = m_state->begin + report_interval;
  m_state->stage = "check";
  m_state->share = 0;
  m_state->caller = std::this_thread::get_id();
  m_state->flag = flag;
  m_state->observers = observers;
  m_state->is_stopped = false;
  m_state->is_observed = observers && observers->event;
  m_state->is_active = deadline > 0 || flag || (observers && observers->progress);
  if (m_state->is_observed) tell(EventKind::call_begins, 0);
}

void RunningCall::tell(EventKind kind, double seconds) const noexcept {
  m_state->observers->event({kind, m_name, {}, RunControl::now(), seconds});
}

void RunningCall::end() noexcept {
  if (m_state->is_observed)
    tell(EventKind::call_ends, 1e-9 * static_cast<double>(RunControl::now() - m_state->begin));
  m_state->is_active = m_state->is_observed = false;
  m_state->flag.reset();
  m_state->observers.reset();
}

}  // namespace lutra
