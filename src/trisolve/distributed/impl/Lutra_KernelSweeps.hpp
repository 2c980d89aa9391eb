// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_KERNELSWEEPS_HPP
#define LUTRA_KERNELSWEEPS_HPP

#include <algorithm>
#include <functional>
#include <memory>
#include <queue>
#include <string>
#include <vector>

#include "Lutra_At.hpp"
#include "Lutra_Error.hpp"
#include "Lutra_ExecutionTraits.hpp"
#include "Lutra_RowTaskList.hpp"
#include "Lutra_Upload.hpp"
#ifdef KOKKOS_ENABLE_CUDA
#include "Lutra_CheckCuda.hpp"
#include "Lutra_MessageSweepsCuda.hpp"
#include "Lutra_PeerWindow.hpp"
#include "Lutra_SweepKernelsCuda.hpp"
#endif

namespace lutra::Impl {

/// The sweeps of a rank by kernels of the default execution space.
///
///     peer, nvshmem
///            one persistent kernel per solve, which puts and waits itself; for sums in the order of arrival
///            the kernels WAIT and SOLVE (Lutra_MessageKernelsCuda.hpp)
///            meanwhile the host answers other ranks
///     mpi    the host receives messages and counts the missing inputs of each task; one kernel processes all
///            ready tasks, then their results are sent:
///            arrivals ──► slots of the device ──► kernel over all ready tasks ──► host ──► puts
template <class Scalar>
class KernelSweeps {
 public:
  using Exec = Kokkos::DefaultExecutionSpace;
  using Memory = typename Exec::memory_space;
  using Values = Kokkos::View<Scalar*, Memory>;
  template <class T>
  using HostArray = Kokkos::View<T*, Kokkos::HostSpace>;

  /// @param b_rows rows of b
  /// @param slot_rows rows of all slots
  /// @param columns most right-hand sides of a solve
  /// @param in_arrival_order whether sums follow the order of messages; not with `mpi`
  KernelSweeps(const std::vector<Sweep<Scalar>>& sweeps, const std::vector<SlotEvent>& events,
               const std::vector<std::size_t>& b_offset, std::size_t b_rows, std::size_t slot_rows,
               std::size_t columns, CommBackend backend, bool in_arrival_order)
      : m_list(sweeps, events.size(), b_offset),
        m_slot_rows(slot_rows),
        m_columns(columns),
        m_sums_in_memory(backend == CommBackend::nvshmem) {
    m_tasks = upload(m_exec, m_reservation, "lutra::trisolve::row_tasks", m_list.tasks);
    m_blocks = upload(m_exec, m_reservation, "lutra::trisolve::row_blocks", m_list.blocks);
    m_children = upload(m_exec, m_reservation, "lutra::trisolve::row_children", m_list.children);
    m_targets = upload(m_exec, m_reservation, "lutra::trisolve::row_targets", m_list.targets);
    m_row_in_block = upload(m_exec, m_reservation, "lutra::trisolve::row_in_block", m_list.row_in_block);
    m_row_begin = upload(m_exec, m_reservation, "lutra::trisolve::row_begin", m_list.row_begin);
    m_column_in_block = upload(m_exec, m_reservation, "lutra::trisolve::columns", m_list.column_in_block);
    m_values = make_uncounted<Values>("lutra::trisolve::values", m_list.column_in_block.size());
    m_triangles = make_uncounted<Values>("lutra::trisolve::diagonal_blocks", m_list.triangle_entries);
    m_b = make_uncounted<Values>("lutra::trisolve::b", b_rows * columns);
    if (!m_sums_in_memory)
      m_sums = make_uncounted<Values>("lutra::trisolve::sums", m_list.sum_rows * columns);
    m_ready = make_uncounted<Kokkos::View<int*, Memory>>("lutra::trisolve::ready", m_list.tasks.size() + 1);
#ifdef KOKKOS_ENABLE_CUDA
    if (in_arrival_order)
      m_messages = std::make_unique<MessageSweeps<Scalar>>(m_exec, m_reservation,
                                                           MessageTaskList<Scalar>(sweeps, b_offset));
#else
    static_cast<void>(in_arrival_order);
#endif
    for (const SlotEvent& event : events) {
      const SweepPlan& plan = sweeps[event.sweep].plan;
      if (event.is_sum)
        m_arriving.push_back(
            {plan.rows[event.index].children[event.child].offset, plan.rows[event.index].width});
      else
        m_arriving.push_back({plan.columns[event.index].x.offset, plan.columns[event.index].width});
    }
  }

  /// Number of signals in the symmetric memory passed to `solve`.
  std::size_t signals() const {
    return m_list.signals;
  }
  /// Rows of right-hand sides in that memory: slots, and then, with `nvshmem`, which puts from symmetric
  /// memory only, the sums.
  std::size_t memory_rows() const {
    return m_slot_rows + (m_sums_in_memory ? m_list.sum_rows : 0);
  }

  void set_values(const std::vector<Sweep<Scalar>>& sweeps) {
    std::vector<Scalar> values, triangles;
    m_list.collect_values(sweeps, values, triangles);
    Kokkos::deep_copy(m_exec, m_values, view(values));
    Kokkos::deep_copy(m_exec, m_triangles, view(triangles));
    m_exec.fence("lutra::trisolve: values are on the device");
  }

  /// @param b [rows × k] by rows
  /// @returns [slot_rows × k] by rows, on the host, with x of the columns whose diagonal blocks are local
  /// @throws TimeoutError on all ranks if a kernel timed out; RemoteError if a rank has failed
  const Scalar* solve(Communicator& comm, SymmetricMemory& memory, const std::vector<Scalar>& b,
                      std::size_t k, std::uint64_t epoch, RankStatistics& statistics) {
    const std::size_t used = b.size() / m_columns * k;  // b is allocated for m_columns right-hand sides
    Kokkos::deep_copy(m_exec, Kokkos::subview(m_b, std::pair<std::size_t, std::size_t>(0, used)),
                      Kokkos::View<const Scalar*, Kokkos::HostSpace>(b.data(), used));
    if (memory.backend() == CommBackend::mpi) {
      if (m_slots.extent(0) == 0)
        m_slots = make_uncounted<Values>("lutra::trisolve::slots", m_slot_rows * m_columns);
      solve_by_batches(comm, memory, k, epoch);
    } else {
      m_slots = Values(memory.template at<Scalar>(0), m_slot_rows * m_columns);
      if (m_sums_in_memory) m_sums = Values(m_slots.data() + m_slots.extent(0), m_list.sum_rows * m_columns);
      solve_by_kernels(comm, memory, k, epoch);
    }
    for (const RowTask& task : m_list.tasks) {
      const auto sent = task.end_target - task.first_target;
      statistics.messages += sent;
      statistics.message_bytes += sent * task.width * static_cast<std::int64_t>(k * sizeof(Scalar));
    }
    m_found.resize(m_slots.extent(0));
    const std::size_t found = m_slot_rows * k;
    Kokkos::deep_copy(m_exec, Kokkos::View<Scalar*, Kokkos::HostSpace>(m_found.data(), found),
                      Kokkos::subview(m_slots, std::pair<std::size_t, std::size_t>(0, found)));
    m_exec.fence("lutra::trisolve: solutions are on the host");
    return m_found.data();
  }

 private:
  template <class T>
  static Kokkos::View<const T*, Kokkos::HostSpace> view(const std::vector<T>& values) {
    return Kokkos::View<const T*, Kokkos::HostSpace>(values.data(), values.size());
  }

  RowTaskArrays<Scalar> arrays(std::size_t k) const {
    return {m_tasks.data(),
            m_blocks.data(),
            m_children.data(),
            m_targets.data(),
            m_row_in_block.data(),
            m_row_begin.data(),
            m_column_in_block.data(),
            m_values.data(),
            m_triangles.data(),
            m_b.data(),
            m_sums.data(),
            m_slots.data(),
            static_cast<std::int64_t>(k),
            m_list.max_width};
  }

 public:  // public because device lambdas require it
  /// Processes tasks whose inputs are complete.
  void work_tasks(const std::vector<int>& tasks, std::size_t k) {
    const auto ready = Kokkos::subview(m_ready, std::pair<std::size_t, std::size_t>(0, tasks.size()));
    Kokkos::deep_copy(m_exec, ready, view(tasks));
    const RowTaskArrays<Scalar> data = arrays(k);
    const int* const numbers = m_ready.data();
#ifdef KOKKOS_ENABLE_CUDA
    const std::size_t bytes = bytes_of_triangle<Scalar>(data.max_width, default_shared_memory);
    row_batch_kernel<Scalar>
        <<<static_cast<unsigned>(tasks.size()), row_task_threads, bytes, m_exec.cuda_stream()>>>(
            data, numbers, bytes > 0);
    check_cuda(cudaGetLastError(), "launching rows of a triangular solve");
#else
    using Policy = Kokkos::TeamPolicy<Exec>;
    Kokkos::parallel_for(
        "lutra::trisolve::row_tasks", Policy(m_exec, static_cast<int>(tasks.size()), team_width<Exec>(128)),
        KOKKOS_LAMBDA(const typename Policy::member_type& member) {
          const RowTeam<typename Policy::member_type> team{member};
          const RowTask task = data.tasks[numbers[member.league_rank()]];
          work_row(team, data, task, data.sums + task.sum * data.k, [&](std::int64_t) {
            member.team_barrier();
            return true;
          });
        });
#endif
  }

 private:
  /// Missing inputs of the tasks.
  struct Progress {
    std::vector<int> missing;  ///< [tasks] missing signals
    std::priority_queue<int, std::vector<int>, std::greater<>> ready;
    std::size_t remaining;
  };

  void list_waiting() {
    m_waiting.resize(m_list.signals);
    for (std::size_t t = 0; t < m_list.tasks.size(); ++t)
      m_list.for_each_wait(m_list.tasks[t], [&](std::int64_t signal) {
        at(m_waiting, signal).push_back(static_cast<int>(t));
      });
  }

  void raise(std::int64_t signal, Progress& progress) const {
    for (const int t : at(m_waiting, signal))
      if (--at(progress.missing, t) == 0) progress.ready.push(t);
  }

  void solve_by_batches(Communicator& comm, SymmetricMemory& memory, std::size_t k, std::uint64_t epoch) {
    if (m_waiting.empty()) list_waiting();
    Progress progress{std::vector<int>(m_list.tasks.size(), 0), {}, m_list.tasks.size()};
    for (const auto& tasks : m_waiting)
      for (const int t : tasks) ++at(progress.missing, t);
    for (std::size_t t = 0; t < progress.missing.size(); ++t)
      if (progress.missing[t] == 0) progress.ready.push(static_cast<int>(t));
    while (progress.remaining > 0) {
      while (const auto arrival = memory.next_arrival()) take(*arrival, memory, k, progress);
      if (progress.ready.empty()) {
        comm.wait_until("x or a partial sum of a triangular solve", [&] {
          const auto arrival = memory.next_arrival();
          if (arrival) take(*arrival, memory, k, progress);
          return arrival.has_value();
        });
        continue;
      }
      work_ready(memory, k, epoch, progress);
    }
  }

  /// Copies a message into the device's slots.
  void take(const Arrival& arrival, SymmetricMemory& memory, std::size_t k, Progress& progress) {
    const Rows& rows = m_arriving[arrival.signal];
    Kokkos::deep_copy(m_exec, part(m_slots, rows, k),
                      Kokkos::View<const Scalar*, Kokkos::HostSpace>(
                          memory.template at<Scalar>(rows.offset * k * sizeof(Scalar)), rows.width * k));
    raise(static_cast<std::int64_t>(arrival.signal), progress);
  }

  void work_ready(SymmetricMemory& memory, std::size_t k, std::uint64_t epoch, Progress& progress) {
    std::vector<int> batch, passing;
    for (; !progress.ready.empty(); progress.ready.pop())
      (at(m_list.tasks, progress.ready.top()).passes_on ? passing : batch).push_back(progress.ready.top());
    for (const int t : passing) {  // forwarded from the source, without the device
      const RowTask& task = at(m_list.tasks, t);
      put(task, memory.template at<Scalar>(static_cast<std::size_t>(task.x.offset) * k * sizeof(Scalar)),
          memory, k, epoch);
    }
    progress.remaining -= batch.size() + passing.size();
    if (batch.empty()) return;
    work_tasks(batch, k);
    std::vector<HostArray<Scalar>> sent;
    for (const int t : batch) {
      const RowTask& task = at(m_list.tasks, t);
      if (task.first_target == task.end_target) continue;
      const auto width = static_cast<std::size_t>(task.width);
      const Rows rows{static_cast<std::size_t>(task.has_diagonal ? task.x.offset : task.sum), width};
      sent.push_back(make_uncounted<HostArray<Scalar>>("lutra::trisolve::sent", width * k));
      Kokkos::deep_copy(m_exec, sent.back(), part(task.has_diagonal ? m_slots : m_sums, rows, k));
    }
    m_exec.fence("lutra::trisolve: rows are complete");
    auto next = sent.begin();
    for (const int t : batch) {
      const RowTask& task = at(m_list.tasks, t);
      if (task.first_target != task.end_target) put(task, (next++)->data(), memory, k, epoch);
      if (task.has_diagonal) raise(task.x.signal, progress);
    }
  }

  void put(const RowTask& task, const Scalar* from, SymmetricMemory& memory, std::size_t k,
           std::uint64_t epoch) const {
    const std::span<const Scalar> data(from, static_cast<std::size_t>(task.width) * k);
    for (auto t = task.first_target; t < task.end_target; ++t) {
      const RowSlot& to = at(m_list.targets, t);
      memory.put(to.rank, static_cast<std::size_t>(to.offset) * k * sizeof(Scalar), data,
                 static_cast<std::size_t>(to.signal), epoch);
    }
  }

#ifdef KOKKOS_ENABLE_CUDA
  void find_kernels(const SymmetricMemory& memory) {
    if (memory.backend() == CommBackend::peer)
      m_kernels = std::make_shared<WindowKernels<Scalar, PeerWindow>>(memory.peer_window());
    else
      m_kernels = std::dynamic_pointer_cast<const SweepKernels<Scalar>>(memory.arena());
    if (!m_kernels)
      throw InputError("communication backend '" + std::string(to_string(memory.backend())) +
                       "' has no kernels for triangles of this scalar");
  }

  void solve_by_kernels(Communicator& comm, const SymmetricMemory& memory, std::size_t k,
                        std::uint64_t epoch) {
    if (!m_kernels) find_kernels(memory);
    const auto synchronize = [&] {
      return m_messages ? m_messages->synchronize() : cudaStreamSynchronize(m_exec.cuda_stream());
    };
    try {  // meanwhile the host answers other ranks
      if (m_messages) {
        m_messages->launch_wait(arrays(k), m_sums, *m_kernels, epoch);
        comm.wait_until("the kernel WAIT of a triangular solve", [&] { return m_messages->is_waiting(); });
        m_messages->launch_solve(arrays(k), *m_kernels, epoch);
      } else {
        m_kernels->launch_rows(m_exec, arrays(k), m_list.tasks.size(),
                               static_cast<std::size_t>(m_list.max_width) * k * sizeof(Scalar),
                               m_ready.data() + m_list.tasks.size(), epoch);
      }
      comm.wait_until("kernels of a triangular solve", [&] {
        return m_messages ? m_messages->is_done()
                          : cudaStreamQuery(m_exec.cuda_stream()) != cudaErrorNotReady;
      });
    } catch (...) {
      m_kernels->end_waits();
      synchronize();
      throw;
    }
    comm.agree("triangular solve by kernels", [&] {
      check_cuda(synchronize(), "a triangular solve");
      if (const auto by = m_kernels->aborted_by(); by != 0)
        throw TimeoutError("a kernel of rank " + std::to_string(by - 1) +
                           " waited too long for x or a partial sum of a triangular solve");
    });
  }
#else
  void solve_by_kernels(Communicator&, SymmetricMemory&, std::size_t, std::uint64_t) {}
#endif

  /// Range of rows of right-hand sides.
  struct Rows {
    std::size_t offset, width;
  };
  static Values part(const Values& of, const Rows& rows, std::size_t k) {
    return Kokkos::subview(
        of, std::pair<std::size_t, std::size_t>(rows.offset * k, (rows.offset + rows.width) * k));
  }

  Exec m_exec;
  RowTaskList<Scalar> m_list;
  std::size_t m_slot_rows, m_columns;
  bool m_sums_in_memory;  ///< in the symmetric memory, behind the slots
  MemoryReservation m_reservation{MemoryBudget()};
  Kokkos::View<const RowTask*, Memory> m_tasks;
  Kokkos::View<const RowBlock*, Memory> m_blocks;
  Kokkos::View<const RowSlot*, Memory> m_children, m_targets;
  Kokkos::View<const int*, Memory> m_row_in_block, m_column_in_block;
  Kokkos::View<const std::int64_t*, Memory> m_row_begin;
  Values m_values, m_triangles, m_b, m_sums, m_slots;
  Kokkos::View<int*, Memory> m_ready;       ///< [tasks + 1] ready tasks of a batch, then the ticket
  std::vector<Rows> m_arriving;             ///< [messages] slot of each
  std::vector<std::vector<int>> m_waiting;  ///< [signals] tasks that wait for each signal, in batches
  std::vector<Scalar> m_found;
#ifdef KOKKOS_ENABLE_CUDA
  std::unique_ptr<MessageSweeps<Scalar>> m_messages;      ///< set in the order of arrival
  std::shared_ptr<const SweepKernels<Scalar>> m_kernels;  ///< set by the first solve; not with `mpi`
#endif
};

}  // namespace lutra::Impl

#endif
