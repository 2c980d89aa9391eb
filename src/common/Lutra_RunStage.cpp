// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_RunStage.hpp"

#include <string>

namespace lutra::Impl {

bool ToolRegion::is_watched() {
  return Kokkos::Tools::profileLibraryLoaded();
}

void ToolRegion::push(std::string_view name) {
  Kokkos::Profiling::pushRegion("lutra::" + std::string(name));
}

ToolRegion::~ToolRegion() {
  if (m_is_open) Kokkos::Profiling::popRegion();
}

namespace {

/// The name, once the call has been asked to go on.
std::string_view begun(const RunControl& run, std::string_view name) {
  run.begin_stage(name);
  return name;
}

void tell_extent(const MemoryBudget& budget, EventKind kind, std::string_view name, std::int64_t time,
                 double seconds) {
  budget.run().tell({kind, name, {}, time, seconds, budget.used_bytes(), budget.peak_bytes()});
}

}  // namespace

RunStage::RunStage(const MemoryBudget& budget, std::string_view name)
    : m_budget(budget), m_outer(budget.run().stage()), m_region(begun(budget.run(), name)) {
  m_name = name;
  if (!budget.run().is_observed()) return;
  m_begin = RunControl::now();
  tell_extent(budget, EventKind::stage_begins, name, m_begin, budget.run().seconds_since_begin(m_begin));
}

RunStage::~RunStage() {
  if (m_begin != 0 && m_budget.run().is_observed()) {
    const std::int64_t end = RunControl::now();
    tell_extent(m_budget, EventKind::stage_ends, m_name, end, 1e-9 * static_cast<double>(end - m_begin));
  }
  m_budget.run().resume_stage(m_outer);
}

}  // namespace lutra::Impl
