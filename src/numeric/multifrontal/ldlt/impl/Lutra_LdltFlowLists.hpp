// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_LDLTFLOWLISTS_HPP
#define LUTRA_LDLTFLOWLISTS_HPP

#include "Lutra_Index.hpp"
#include "Lutra_LdltGang.hpp"
#include "Lutra_Upload.hpp"

namespace lutra::Impl {

inline constexpr double ldlt_watchdog_seconds = 10;  ///< longest wait of a front

/// The task list of data flow in the kernels' memory.
template <class MemorySpace>
class LdltFlowLists {
 public:
  using List = LdltTaskList;

  template <class ExecutionSpace, class Plan>
  LdltFlowLists(const ExecutionSpace& exec, const Plan& base, int blocks, const MemoryBudget& budget)
      : m_reservation(budget), m_fronts(static_cast<std::size_t>(base.count)) {
    LdltTaskOptions options;
    options.blocks = std::max(1, blocks);
    const List list(base.layout.fronts, base.layout.children, to_host(exec, base.relative), options);
    const auto keep = [&](auto& view, const char* label, const auto& host) {
      view = upload(exec, m_reservation, label, host);
    };
    keep(m_small_fronts, "lutra::numeric::ldlt_small_fronts", list.small_fronts);
    keep(m_tasks, "lutra::numeric::ldlt_tasks", list.tasks);
    keep(m_first_column, "lutra::numeric::ldlt_first_column", list.first_column);
    keep(m_source_begin, "lutra::numeric::ldlt_source_begin", list.source_begin);
    keep(m_sources, "lutra::numeric::ldlt_sources", list.sources);
    m_gangs = static_cast<std::size_t>(list.gangs);
    m_max_members = list.max_members;
  }

  int max_members() const { return m_max_members; }
  /// Words for the flags of one factorization: gangs, front flags, task counters. Zero at its start.
  std::size_t flag_words() const { return m_gangs * words_a_gang + (m_fronts + 2 + 1) / 2; }

  template <class Scalar>
  LdltLaunch<Scalar> launch(const LdltData<Scalar>& data, std::uint64_t* flags) const {
    LdltLaunch<Scalar> result;
    result.data = data;
    result.watchdog = {&data.outcome->stopped_front,
                       watchdog_ticks<typename MemorySpace::execution_space>(ldlt_watchdog_seconds)};
    result.small_fronts = m_small_fronts.data();
    result.tasks = m_tasks.data();
    result.first_column = m_first_column.data();
    result.source_begin = m_source_begin.data();
    result.sources = m_sources.data();
    result.gangs = reinterpret_cast<LdltGangState*>(flags);
    result.tickets = reinterpret_cast<int*>(flags + m_gangs * words_a_gang);
    result.done = result.tickets + 2;
    result.n_small = static_cast<int>(m_small_fronts.extent(0));
    result.n_tasks = static_cast<int>(m_tasks.extent(0));
    return result;
  }

 private:
  static_assert(sizeof(LdltGangState) % sizeof(std::uint64_t) == 0);
  static constexpr std::size_t words_a_gang = sizeof(LdltGangState) / sizeof(std::uint64_t);

  MemoryReservation m_reservation;
  Kokkos::View<const Ordinal*, MemorySpace> m_small_fronts;
  Kokkos::View<const LdltTask*, MemorySpace> m_tasks;
  Kokkos::View<const Offset*, MemorySpace> m_first_column, m_source_begin;
  Kokkos::View<const LdltSource*, MemorySpace> m_sources;
  std::size_t m_fronts, m_gangs = 0;
  int m_max_members = 1;
};

}  // namespace lutra::Impl

#endif
