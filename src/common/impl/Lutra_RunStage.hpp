// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_RUNSTAGE_HPP
#define LUTRA_RUNSTAGE_HPP

#include <cstdint>
#include <string_view>

#include "Lutra_MemoryBudget.hpp"
#include "Lutra_ToolRegion.hpp"

namespace lutra::Impl {

/// Extent of a stage: a region of Kokkos Tools, the stage that progress names, and two events for the
/// observer of the running call. Without tool and observer it neither allocates nor reads the clock.
class RunStage {
 public:
  /// @param name static text
  /// @throws CancelledError if the running call has to end; the stage has then not begun
  RunStage(const MemoryBudget& budget, std::string_view name);
  ~RunStage();
  RunStage(const RunStage&) = delete;
  RunStage& operator=(const RunStage&) = delete;

 private:
  const MemoryBudget& m_budget;
  std::string_view m_name, m_outer;  ///< m_outer: the stage that goes on afterwards
  std::int64_t m_begin = 0;          ///< nanoseconds; 0: there is no observer
  ToolRegion m_region;
};

}  // namespace lutra::Impl

#endif
