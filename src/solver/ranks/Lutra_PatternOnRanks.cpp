// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_PatternOnRanks.hpp"

#include <cstdint>
#include <exception>
#include <optional>
#include <string_view>
#include <utility>

#include "Lutra_DistributedSymbolic.hpp"
#include "Lutra_Error.hpp"
#include "Lutra_ExecutionTraits.hpp"
#include "Lutra_Upload.hpp"

namespace lutra::Impl {

/// Bytes that a budget holds for as long as this object exists.
class ChargedBytes {
 public:
  ChargedBytes(const MemoryBudget& budget, std::string_view label, std::size_t bytes)
      : m_budget(budget), m_bytes(bytes) {
    m_budget.charge(label, bytes);
  }
  ~ChargedBytes() { m_budget.release(m_bytes); }
  ChargedBytes(const ChargedBytes&) = delete;
  ChargedBytes& operator=(const ChargedBytes&) = delete;

 private:
  MemoryBudget m_budget;
  std::size_t m_bytes;
};

/// Tells all ranks whether a search follows. @returns what rank 0 has told
template <class ExecutionSpace>
bool PatternOnRanks<ExecutionSpace>::request(bool search) {
  return m_comm.collectively("a request for a pattern", [&] {
    std::vector<char> follows{static_cast<char>(search)};
    m_comm.broadcast(follows);
    return follows[0] != 0;
  });
}

/// Runs on the other ranks until rank 0 tells the end.
template <class ExecutionSpace>
void PatternOnRanks<ExecutionSpace>::serve() {
  while (request(false)) {
    try {
      search_together({}, {}, MemoryBudget(m_limit).with_control(m_run));
    } catch (const RemoteError&) {
      throw;
    } catch (const std::exception&) {  // rank 0 throws the same, and may go on without the pattern
    }
  }
}

template <class ExecutionSpace>
LuPattern<Kokkos::HostSpace> PatternOnRanks<ExecutionSpace>::find(
    const CsrPattern<Ordinal, Offset, Kokkos::HostSpace>& pattern, const MemoryBudget& budget) {
  budget.run().poll();
  const auto n = static_cast<std::size_t>(pattern.n_rows);
  std::vector<Offset> row_map(pattern.row_map.data(), pattern.row_map.data() + n + 1);
  std::vector<Ordinal> entries(pattern.entries.data(), pattern.entries.data() + row_map[n]);
  request(true);
  return search_together(std::move(row_map), std::move(entries), budget);
}

/// Runs `search`. Errors and stops end it on all ranks, which can then go on; an error that the others have
/// not been told of by Communicator::agree ends the communicator. Memory is therefore charged, which asks
/// whether to stop, within Communicator::agree only.
template <class ExecutionSpace>
LuPattern<Kokkos::HostSpace> PatternOnRanks<ExecutionSpace>::search_together(std::vector<Offset> row_map,
                                                                             std::vector<Ordinal> entries,
                                                                             const MemoryBudget& budget) {
  return m_comm.collectively("symbolic factorization",
                             [&] { return search(std::move(row_map), std::move(entries), budget); });
}

/// @param row_map, entries pattern of the matrix, on rank 0
/// @returns the pattern of L + U, on rank 0
template <class ExecutionSpace>
LuPattern<Kokkos::HostSpace> PatternOnRanks<ExecutionSpace>::search(std::vector<Offset> row_map,
                                                                    std::vector<Ordinal> entries,
                                                                    const MemoryBudget& budget) {
  constexpr bool counts_rows = HostExecution<ExecutionSpace>;  // the budget is that of host memory
  const ExecutionSpace exec;
  m_comm.broadcast(row_map);
  m_comm.broadcast(entries);
  std::optional<ChargedBytes> own_rows;
  DistributedLuPattern part;
  {
    MemoryReservation reservation(budget);
    CsrPattern<Ordinal, Offset, typename ExecutionSpace::memory_space> pattern;
    m_comm.agree("symbolic: the pattern of the matrix", [&] {
      const auto n = static_cast<Ordinal>(row_map.size() - 1);
      pattern = {n, n, upload(exec, reservation, "lutra::symbolic::row_map of A", row_map),
                 upload(exec, reservation, "lutra::symbolic::entries of A", entries)};
    });
    row_map = {};
    entries = {};
    DistributedSymbolicOptions options;
    options.symbolic.method = SymbolicMethod::fill2;
    options.symbolic.fill2 = m_fill2;
    options.sources_in_flight = 8192;  // fills a device; with more, more rows are twice in memory
    part = factorize_symbolic_distributed(m_comm, exec, pattern, budget, options);
  }
  m_statistics.sources = static_cast<std::int64_t>(part.rows.size());
  m_statistics.edges = part.edges;
  m_statistics.search_seconds = part.search_seconds;
  m_comm.agree("symbolic: memory for the rows", [&] {
    if (counts_rows)
      own_rows.emplace(budget, "lutra::symbolic::rows of a rank", part.entries.size() * sizeof(Ordinal));
  });
  return gather_pattern(m_comm, part, 0, counts_rows ? budget : MemoryBudget());
}

template class PatternOnRanks<Kokkos::DefaultHostExecutionSpace>;
#ifdef KOKKOS_ENABLE_CUDA
template class PatternOnRanks<Kokkos::Cuda>;
#endif

}  // namespace lutra::Impl
