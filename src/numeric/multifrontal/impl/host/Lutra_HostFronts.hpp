// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_HOSTFRONTS_HPP
#define LUTRA_HOSTFRONTS_HPP

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <atomic>
#include <vector>

#include "Lutra_At.hpp"
#include "Lutra_ExecutionTraits.hpp"
#include "Lutra_FrontPlan.hpp"
#include "Lutra_HostProducts.hpp"
#include "Lutra_ScalarTraits.hpp"
#include "Lutra_SubtreeMapping.hpp"

namespace lutra::Impl {

/// Runs everything on the calling thread.
template <class Real>
struct AloneLoop {
  Real* buffer;
  RunControl::FrequentQuery query{};

  static constexpr int threads() { return 1; }
  bool must_stop() const { return query.must_stop(); }
  template <class Body>
  void operator()(int n, int chunk, const Body& body) const {
    for (int begin = 0; begin < n; begin += chunk) body(begin, std::min(n, begin + chunk), buffer);
  }
};

/// Distributes chunks over an execution space's threads, each with its own buffer.
template <class Real, class ExecutionSpace>
struct SharedLoop {
  const ExecutionSpace& exec;
  int most_threads;  ///< at least 1
  Real* buffers;     ///< [most_threads · product_buffer]
  RunControl::Query query;

  bool must_stop() const { return query.must_stop(); }
  int threads() const { return most_threads; }
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

/// Fronts divided among host threads: threads take subtrees by tickets, one thread per subtree; then all
/// threads share each front above them, one front at a time. Instances that run the fronts may have more
/// threads or fewer than `threads`, which is how many parts the work has at once.
class HostFronts {
 public:
  HostFronts(const std::vector<Front>& fronts, int threads)
      : m_count(static_cast<Ordinal>(fronts.size())), m_threads(threads) {
    if (threads > 1) m_mapping = map_fronts(fronts, threads);
    m_cost.reserve(fronts.size());
    for (const auto& front : fronts) m_cost.push_back(static_cast<float>(cost_of_front(front)));
    for (const float cost : m_cost) m_total_cost += static_cast<double>(cost);
  }

  /// Empty for one thread.
  const SubtreeMapping& mapping() const { return m_mapping; }
  int threads() const { return m_threads; }

  /// Calls visit(products, f, thread, own) for each front, with products of the processor's best
  /// instructions; `own` is a State of the thread.
  /// @param buffers [threads · product_buffer]
  /// @throws CancelledError if the running call has to end; fronts are then undefined
  template <class State, class Scalar, class ExecutionSpace, class Visit>
  void for_each(const ExecutionSpace& exec, const char* label, RealOf<Scalar>* buffers, const RunControl& run,
                const Visit& visit) const {
    using Real = RealOf<Scalar>;
    const auto kernel = best_product<Real>();
    const RunControl::Query query = run.query();
    std::atomic<double> done = 0;  // cost of the fronts completed
    const auto visit_with = [&]<class Loop>(const Loop& loop, Ordinal f, int thread, State& own) {
      if (loop.must_stop()) return;
      visit(HostProducts<Scalar, Loop>{kernel, loop}, f, thread, own);
      if (query.is_empty()) return;
      const double cost = static_cast<double>(at(m_cost, f));
      run.tell_share(done.fetch_add(cost, std::memory_order_relaxed) + cost, m_total_cost);
    };
    State of_all;
    if (is_serial_space<ExecutionSpace> || m_mapping.order.empty()) {
      const AloneLoop<Real> loop{buffers, RunControl::FrequentQuery(query)};
      for (Ordinal f = 0; f < m_count; ++f) visit_with(loop, f, 0, of_all);
      return run.poll();
    }
    if constexpr (!is_serial_space<ExecutionSpace>) {
      const std::vector<Ordinal>&begin = m_mapping.task_begin, &order = m_mapping.order;
      const auto tasks = static_cast<std::int64_t>(m_mapping.tasks());
      std::atomic<std::int64_t> tickets = 0;
      Kokkos::parallel_for(label, Kokkos::RangePolicy<ExecutionSpace>(exec, 0, m_threads), [&](int thread) {
        const AloneLoop<Real> loop{buffers + static_cast<std::size_t>(thread) * product_buffer,
                                   RunControl::FrequentQuery(query)};
        State own;
        for (std::int64_t t; (t = tickets.fetch_add(1)) < tasks;) {
          for (Ordinal p = at(begin, t); p < at(begin, t + 1); ++p)
            visit_with(loop, at(order, p), thread, own);
        }
      });
      const SharedLoop<Real, ExecutionSpace> loop{exec, m_threads, buffers, query};
      for (Ordinal p = begin.back(); p < static_cast<Ordinal>(order.size()); ++p)
        visit_with(loop, at(order, p), 0, of_all);
    }
    run.poll();
  }

 private:
  Ordinal m_count;
  int m_threads;
  SubtreeMapping m_mapping;
  std::vector<float> m_cost;  ///< [fronts] by which progress is told
  double m_total_cost = 0;
};

/// Packing buffers of the host threads' products.
template <class Scalar>
struct ProductBuffers {
  using Real = RealOf<Scalar>;

  template <class ExecutionSpace, class Schedule>
  ProductBuffers(const ExecutionSpace&, const Schedule& schedule, const MemoryBudget& budget)
      : reservation(budget), run(budget.run()) {
    buffers = reservation.template allocate<decltype(buffers)>(
        Kokkos::DefaultHostExecutionSpace(), "lutra::numeric::product_buffers",
        static_cast<std::size_t>(schedule.threads()) * product_buffer);
  }

  /// Bytes for the threads of a schedule.
  template <class Schedule>
  static std::size_t bytes(const Schedule& schedule) {
    return static_cast<std::size_t>(schedule.threads()) * product_buffer * sizeof(Real);
  }

  MemoryReservation reservation;
  RunControl run;                                  ///< of the factorizations
  Kokkos::View<Real*, Kokkos::HostSpace> buffers;  ///< [threads · product_buffer]
};

}  // namespace lutra::Impl

#endif
