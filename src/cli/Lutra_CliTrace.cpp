// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_CliTrace.hpp"

#include <Kokkos_Core.hpp>

#include <nlohmann/json.hpp>

#include "Lutra_AtomicFile.hpp"
#include "Lutra_Report.hpp"
#include "Lutra_RunControl.hpp"

namespace lutra::Cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t most_kernels = 200000;  // larger files take viewers minutes
constexpr std::uint64_t no_kernel = ~std::uint64_t{0};

std::int64_t or_now(std::int64_t time) {
  return time != 0 ? time : RunControl::now();
}

double microseconds(std::int64_t nanoseconds) {
  return 1e-3 * static_cast<double>(nanoseconds);
}

Json name_of_lane(int lane, const char* name) {
  return {{"name", "thread_name"}, {"ph", "M"}, {"pid", 1}, {"tid", lane}, {"args", {{"name", name}}}};
}

/// One line of the file. Labels of kernels may have any bytes.
std::string line_of(const Json& event, bool is_first) {
  return (is_first ? "\n" : ",\n") + event.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

Trace::Trace() : m_start(RunControl::now()) {
  watch_kokkos();
}

Trace::~Trace() {
  if (m_watches) Kokkos::Tools::Experimental::set_callbacks({});
  s_trace = nullptr;
}

void Trace::add(const Event& event) {
  switch (event.kind) {
    case EventKind::call_begins:
      return begin(event.name, "call", event.time);
    case EventKind::stage_begins:
      return begin(event.name, "stage", event.time);
    case EventKind::call_ends:
      return end(event.time);
    case EventKind::stage_ends:
      return end(event.time, {{"bytes of the solver", std::to_string(event.bytes)},
                              {"peak", std::to_string(event.peak_bytes)}});
    case EventKind::choice:
      return mark(std::string(event.name) + ": " + std::string(event.text), "choice", event.time);
    case EventKind::escalation:
      return mark(std::string(event.text), "escalation", event.time);
  }
}

void Trace::mark(std::string name, std::string_view category, std::int64_t time) {
  const std::scoped_lock lock(m_mutex);
  m_items.push_back({std::move(name), category, Lane::solver, or_now(time), instant});
}

void Trace::begin(std::string_view name, std::string_view category, std::int64_t time) {
  const std::scoped_lock lock(m_mutex);
  m_open.push_back(m_items.size());
  m_items.push_back({std::string(name), category, Lane::solver, or_now(time)});
}

void Trace::end(std::int64_t time, Arguments arguments) {
  const std::scoped_lock lock(m_mutex);
  if (m_open.empty()) return;
  Item& item = m_items[m_open.back()];
  item.arguments = std::move(arguments);
  item.duration = or_now(time) - item.begin;
  m_open.pop_back();
}

std::uint64_t Trace::begin_kernel(std::string_view name, std::string_view category) {
  const std::scoped_lock lock(m_mutex);
  if (m_kernels == most_kernels) {
    ++m_left_out;
    return no_kernel;
  }
  ++m_kernels;
  m_items.push_back({std::string(name), category, Lane::kernels, RunControl::now()});
  return m_items.size() - 1;
}

void Trace::end_kernel(std::uint64_t number) {
  const std::scoped_lock lock(m_mutex);
  if (number >= m_items.size()) return;
  Item& item = m_items[number];
  item.duration = RunControl::now() - item.begin;
}

void Trace::change_memory(const char* space, std::int64_t bytes) {
  const std::scoped_lock lock(m_mutex);
  m_samples.push_back({RunControl::now(), space, m_bytes[space] += bytes});
}

void Trace::watch_kokkos() {
  s_trace = this;
  if (Kokkos::Tools::profileLibraryLoaded()) return;
  m_watches = true;
  namespace Tools = Kokkos::Tools::Experimental;
  const auto begin_kernel_callback = [](const char* name, std::uint32_t, std::uint64_t* number) {
    *number = s_trace->begin_kernel(name, "kernel");
  };
  const auto end_callback = [](std::uint64_t number) { s_trace->end_kernel(number); };
  Tools::set_begin_parallel_for_callback(begin_kernel_callback);
  Tools::set_end_parallel_for_callback(end_callback);
  Tools::set_begin_parallel_reduce_callback(begin_kernel_callback);
  Tools::set_end_parallel_reduce_callback(end_callback);
  Tools::set_begin_parallel_scan_callback(begin_kernel_callback);
  Tools::set_end_parallel_scan_callback(end_callback);
  Tools::set_begin_fence_callback([](const char* name, std::uint32_t, std::uint64_t* number) {
    *number = s_trace->begin_kernel(name, "wait");
  });
  Tools::set_end_fence_callback(end_callback);
  Tools::set_allocate_data_callback(
      [](Kokkos::Tools::SpaceHandle space, const char*, const void*, std::uint64_t bytes) {
        s_trace->change_memory(space.name, static_cast<std::int64_t>(bytes));
      });
  Tools::set_deallocate_data_callback(
      [](Kokkos::Tools::SpaceHandle space, const char*, const void*, std::uint64_t bytes) {
        s_trace->change_memory(space.name, -static_cast<std::int64_t>(bytes));
      });
}

std::string Trace::to_json() const {
  const std::scoped_lock lock(m_mutex);
  const std::int64_t now = RunControl::now();
  std::string text = "{\"displayTimeUnit\": \"ms\", \"otherData\": " +
                     Json{{"version", version_info().version},
                          {"kernels left out", m_left_out},
                          {"clock", "microseconds since the program began to record"}}
                         .dump() +
                     ", \"traceEvents\": [";
  text += line_of(name_of_lane(static_cast<int>(Lane::solver), "solver"), true);
  text += line_of(name_of_lane(static_cast<int>(Lane::kernels), "kernels and waits of the host"), false);
  for (const Item& item : m_items) {
    const bool is_instant = item.duration == instant;
    Json event = {{"name", item.name},
                  {"cat", item.category},
                  {"ph", is_instant ? "i" : "X"},
                  {"pid", 1},
                  {"tid", static_cast<int>(item.lane)},
                  {"ts", microseconds(item.begin - m_start)}};
    if (is_instant)
      event["s"] = "t";
    else
      event["dur"] = microseconds(item.duration == open ? now - item.begin : item.duration);
    for (const auto& [name, value] : item.arguments) event["args"][name] = value;
    text += line_of(event, false);
  }
  for (const Sample& sample : m_samples)
    text += line_of({{"name", "bytes in Views"},
                     {"ph", "C"},
                     {"pid", 1},
                     {"ts", microseconds(sample.time - m_start)},
                     {"args", {{sample.space, sample.bytes}}}},
                    false);
  return text + "\n]}\n";
}

void Trace::write(const std::string& file) const {
  Impl::AtomicFile out(file);
  out.write(to_json());
  out.commit();
}

}  // namespace lutra::Cli
