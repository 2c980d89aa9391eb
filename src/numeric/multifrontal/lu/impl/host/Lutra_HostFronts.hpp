// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_HOSTFRONTS_HPP
#define LUTRA_HOSTFRONTS_HPP

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <atomic>
#include <numeric>
#include <vector>

#include "Lutra_At.hpp"
#include "Lutra_FrontsPortable.hpp"
#include "Lutra_HostFront.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_SubtreeMapping.hpp"

namespace lutra::Impl {

/// Runs everything on the calling thread.
template <class Real>
struct AloneLoop {
  Real* buffer;

  static constexpr int threads() { return 1; }
  template <class Body>
  void operator()(int n, int, const Body& body) const {
    if (n > 0) body(0, n, buffer);
  }
};

/// Distributes chunks over an execution space's threads, each with its own buffer.
template <class Real, class ExecutionSpace>
struct SharedLoop {
  const ExecutionSpace& exec;
  Real* buffers;

  int threads() const { return exec.concurrency(); }
  template <class Body>
  void operator()(int n, int chunk, const Body& body) const {
    if (n == 0) return;
    if (chunk >= n) return body(0, n, buffers);
    const int chunks = (n + chunk - 1) / chunk;
    std::atomic<int> tickets = 0;
    Kokkos::parallel_for("lutra::numeric::front_chunks",
                         Kokkos::RangePolicy<ExecutionSpace>(exec, 0, std::min(threads(), chunks)),
                         [&](int t) {
                           for (int c; (c = tickets.fetch_add(1)) < chunks;)
                             body(c * chunk, std::min(n, (c + 1) * chunk),
                                  buffers + static_cast<std::size_t>(t) * product_buffer);
                         });
  }
};

/// Assembles and factorizes single fronts on host threads.
template <class Scalar>
struct HostFrontWorker {
  using Real = RealOf<Scalar>;

  FrontLuData<Scalar> data;
  ProductKernel<Real> kernel;

  template <class Loop>
  void work(const Front& front, const Loop& loop) const {
    if (front.pivots == 0) return;  // its contribution comes from another rank
    const DenseFront<Scalar> dense = data.dense(front);
    clear(front, dense, loop);
    for (Offset e = front.entries; e < front.entries_end; ++e) {
      const FrontPosition position = data.entry_position(e);
      dense.at(position.row, position.column) = data.entries[e];
    }
    for (Offset c = front.children; c < front.children_end; ++c)
      add_child(data.fronts[data.children[c]], dense, loop);
    if (data.row_of_pivot != nullptr) {
      Ordinal* const order = data.row_of_pivot + front.first_pivot;
      std::iota(order, order + front.pivots, front.first_pivot);
    }
    if (data.is_assembled_only(front))
      return loop(front.pivots, columns_at_once(front.pivots, front.pivots, loop),
                  [&](int begin, int end, Real*) { data.take_complement(front, begin, end); });
    HostFront<Scalar, Loop>(kernel, loop)
        .factorize(
            dense, data.pivot_rule(),
            [&](int j, bool is_perturbed) { data.note_pivot(front, j, is_perturbed); },
            [&](int j, int row) { data.note_exchange(front, j, row); });
  }

 private:
  /// Columns per chunk if `rows` entries of each are only moved.
  template <class Loop>
  static int columns_at_once(int columns, int rows, const Loop& loop) {
    constexpr std::int64_t min_numbers = 100000;
    if (static_cast<std::int64_t>(columns) * rows < min_numbers) return columns;
    return std::max(1, columns / (4 * loop.threads()));
  }

  template <class Loop>
  static void clear(const Front& front, const DenseFront<Scalar>& dense, const Loop& loop) {
    const std::int64_t size = front.size(), cb_rows = front.cb_rows;
    loop(front.pivots, columns_at_once(front.pivots, front.size(), loop), [&](int begin, int end, Real*) {
      std::fill(dense.lower + begin * size, dense.lower + end * size, Scalar(0));
      std::fill(dense.upper + begin * cb_rows, dense.upper + end * cb_rows, Scalar(0));
    });
    loop(front.cb_rows, columns_at_once(front.cb_rows, front.cb_rows, loop), [&](int begin, int end, Real*) {
      std::fill(dense.contribution + begin * cb_rows, dense.contribution + end * cb_rows, Scalar(0));
    });
  }

  /// Extend-add: the child's columns are distributed over threads, so that no two write the same entry.
  template <class Loop>
  void add_child(const Front& child, const DenseFront<Scalar>& dense, const Loop& loop) const {
    const int* const relative = data.relative + child.rows;
    const Scalar* const contribution = data.contributions + child.contribution;
    // rows of the child that are pivots of the parent: relative indices ascend
    const auto pivots =
        static_cast<int>(std::lower_bound(relative, relative + child.cb_rows, dense.pivots) - relative);
    loop(child.cb_rows, columns_at_once(child.cb_rows, child.cb_rows, loop), [&](int begin, int end, Real*) {
      for (int b = begin; b < end; ++b)
        add_column(child.cb_rows, pivots, relative, relative[b],
                   contribution + static_cast<std::int64_t>(b) * child.cb_rows, dense);
    });
  }

  static void add_column(int rows, int pivots, const int* relative, int column,
                         const Scalar* KOKKOS_RESTRICT from, const DenseFront<Scalar>& dense) {
    if (column < dense.pivots) {
      Scalar* const KOKKOS_RESTRICT to = dense.lower + static_cast<std::int64_t>(column) * dense.size();
      for (int a = 0; a < rows; ++a) to[relative[a]] += from[a];
      return;
    }
    const std::int64_t cb_rows = dense.cb_rows;
    Scalar* const KOKKOS_RESTRICT right = dense.upper + (column - dense.pivots);
    for (int a = 0; a < pivots; ++a) right[relative[a] * cb_rows] += from[a];
    Scalar* const KOKKOS_RESTRICT to = dense.contribution + (column - dense.pivots) * cb_rows - dense.pivots;
    for (int a = pivots; a < rows; ++a) to[relative[a]] += from[a];
  }
};

/// Operations of a front, data movement included.
inline double cost_of_front(const Front& front) {
  const double pivots = front.pivots, cb_rows = front.cb_rows, size = pivots + cb_rows;
  return 2 * pivots * (pivots * pivots / 3 + pivots * cb_rows + cb_rows * cb_rows) + 10 * size * size + 1000;
}

/// Divides the fronts among threads.
inline SubtreeMapping map_fronts(const std::vector<Front>& fronts, int threads) {
  std::vector<Ordinal> parent;
  std::vector<double> cost;
  for (const auto& front : fronts) {
    parent.push_back(front.parent);
    cost.push_back(cost_of_front(front));
  }
  return map_subtrees(parent, cost, threads, {1.0 / 12, 1.0 / 24});
}

/// Factorization with a subtree-to-thread mapping: threads take subtrees by tickets, one thread per subtree;
/// then all threads share each front above them, one front at a time.
template <class Scalar, class ExecutionSpace>
requires is_host_space<ExecutionSpace>
struct FrontSchedule<Scalar, ExecutionSpace> {
  using Real = RealOf<Scalar>;
  using Plan = FrontPlan<typename ExecutionSpace::memory_space>;

  using State = FrontRunState<Scalar, ExecutionSpace>;

  FrontSchedule(const ExecutionSpace& exec, const Plan& plan, const MemoryBudget&, const NumericDeviceModel&,
                const std::optional<Symmetry>&)
      : m_kernel(best_product<Real>()) {
    if (exec.concurrency() > 1) m_mapping = map_fronts(plan.layout.fronts, exec.concurrency());
  }

  void run(const ExecutionSpace& exec, const Plan& plan, const FrontLuData<Scalar>& data,
           const State& state) const {
    const HostFrontWorker<Scalar> worker{data, m_kernel};
    Real* const buffers = state.buffers.data();
    if (m_mapping.order.empty()) {
      for (const auto& front : plan.layout.fronts) worker.work(front, AloneLoop<Real>{buffers});
      return;
    }
    const std::vector<Ordinal>& begin = m_mapping.task_begin;
    const auto tasks = static_cast<std::int64_t>(m_mapping.tasks());
    std::atomic<std::int64_t> tickets = 0;
    Kokkos::parallel_for(
        "lutra::numeric::subtrees", Kokkos::RangePolicy<ExecutionSpace>(exec, 0, exec.concurrency()),
        [&](int thread) {
          const AloneLoop<Real> loop{buffers + static_cast<std::size_t>(thread) * product_buffer};
          for (std::int64_t t; (t = tickets.fetch_add(1)) < tasks;)
            work_range(plan, worker, loop, at(begin, t), at(begin, t + 1));
        });
    work_range(plan, worker, SharedLoop<Real, ExecutionSpace>{exec, buffers}, begin.back(),
               static_cast<Ordinal>(m_mapping.order.size()));
  }
  static FrontSizes sizes(const ExecutionSpace&, const AssemblyTree&, const FrontLayout& layout,
                          const NumericDeviceModel&) {
    return {layout.panels, layout.contributions, 0};
  }
  static Offset contributions(const Plan& plan) { return plan.contributions; }
  static Offset contribution_begin(const Plan& plan, Ordinal f) {
    return plan.panels + at(plan.layout.fronts, f).contribution;
  }
  static std::size_t inverse_entries(bool) { return 0; }

 private:
  template <class Worker, class Loop>
  void work_range(const Plan& plan, const Worker& worker, const Loop& loop, Ordinal begin,
                  Ordinal end) const {
    for (Ordinal p = begin; p < end; ++p) worker.work(at(plan.layout.fronts, at(m_mapping.order, p)), loop);
  }

  ProductKernel<Real> m_kernel;
  SubtreeMapping m_mapping;  ///< of the fronts; empty for one thread
};

template <class Scalar, class ExecutionSpace>
requires is_host_space<ExecutionSpace>
struct FrontRunState<Scalar, ExecutionSpace> {
  FrontRunState(const ExecutionSpace& exec, const FrontSchedule<Scalar, ExecutionSpace>&,
                const MemoryBudget& budget)
      : reservation(budget) {
    buffers = reservation.template allocate<decltype(buffers)>(
        Kokkos::DefaultHostExecutionSpace(), "lutra::numeric::product_buffers",
        static_cast<std::size_t>(exec.concurrency()) * product_buffer);
  }
  void forget_inverses() {}

  MemoryReservation reservation;
  Kokkos::View<RealOf<Scalar>*, Kokkos::HostSpace> buffers;  ///< [threads · product_buffer]
};

}  // namespace lutra::Impl

#endif
