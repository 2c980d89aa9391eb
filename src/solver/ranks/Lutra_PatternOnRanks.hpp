// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_PATTERNONRANKS_HPP
#define LUTRA_PATTERNONRANKS_HPP

#include <cstddef>
#include <vector>

#include "Lutra_Communicator.hpp"
#include "Lutra_DistributedTriangles.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_MemoryBudget.hpp"
#include "Lutra_PatternSource.hpp"
#include "Lutra_RunControl.hpp"

namespace lutra::Impl {

/// fill2 by all ranks, for analyses on rank 0, where the rows of L + U are gathered.
///
///     rank 0   analysis ── pattern ──► its sources ──► all rows of L + U ── analysis … ── the end
///     others   wait ─────────────────► their sources ── their rows ──► wait …
///
/// Each rank searches in memory of `ExecutionSpace`. Its rows are in host memory.
template <class ExecutionSpace>
class PatternOnRanks final : public PatternSource {
 public:
  /// @param memory_limit of each rank's search and, on hosts, of its rows; rank 0 has the limit of `find`
  /// @param fill2        the same on all ranks
  /// @param run          limits in time of this rank's search; rank 0 has those of `find`. A stop ends the
  /// search
  ///                     on all ranks
  PatternOnRanks(Communicator& comm, std::size_t memory_limit, const Fill2Options& fill2 = {},
                 const RunControl& run = {})
      : m_comm(comm), m_limit(memory_limit), m_fill2(fill2), m_run(run) {}

  /// Collective, errors included: runs `task` on rank 0, which may call `find` any number of times. The other
  /// ranks take part in these calls.
  template <class Task>
  void serve_during(const Task& task) {
    if (m_comm.rank() != 0) return serve();
    try {
      task();
    } catch (const RemoteError&) {
      throw;
    } catch (...) {
      request(false);
      throw;
    }
    request(false);
  }
  /// To be called on rank 0 within `serve_during`.
  /// @throws CancelledError if a rank has to stop
  LuPattern<Kokkos::HostSpace> find(const CsrPattern<Ordinal, Offset, Kokkos::HostSpace>& pattern,
                                    const MemoryBudget& budget) override;

  /// This rank's sources, edges and seconds in the last call of `find`; empty before.
  const RankStatistics& statistics() const { return m_statistics; }

 private:
  void serve();
  bool request(bool search);
  LuPattern<Kokkos::HostSpace> search_together(std::vector<Offset> row_map, std::vector<Ordinal> entries,
                                               const MemoryBudget& budget);
  LuPattern<Kokkos::HostSpace> search(std::vector<Offset> row_map, std::vector<Ordinal> entries,
                                      const MemoryBudget& budget);

  Communicator& m_comm;
  std::size_t m_limit;
  Fill2Options m_fill2;
  RunControl m_run;
  RankStatistics m_statistics;
};

}  // namespace lutra::Impl

#endif
