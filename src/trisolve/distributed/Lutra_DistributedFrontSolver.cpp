// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_DistributedFrontSolver.hpp"

#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "Lutra_At.hpp"
#include "Lutra_FrontSolver.hpp"
#include "Lutra_Instantiate.hpp"
#include "Lutra_Upload.hpp"

namespace lutra {
namespace {

/// Values that cross the boundary of a part in one direction, in the memory of its execution space.
template <class Scalar, class Memory>
struct Crossing {
  Kokkos::View<const Offset*, Memory> rows;
  Kokkos::View<Scalar*, Memory> storage;  ///< [rows × most columns so far]

  DenseRows<Scalar, Memory> values(std::size_t columns) const {
    return DenseRows<Scalar, Memory>(storage.data(), rows.extent(0), columns);
  }
  Kokkos::View<Scalar*, Memory> flat(std::size_t columns) const {
    return Kokkos::View<Scalar*, Memory>(storage.data(), size(columns));
  }
  FrontValues<Scalar, Memory> out(std::size_t columns) const { return {rows, values(columns)}; }
  FrontValues<const Scalar, Memory> in(std::size_t columns) const { return {rows, values(columns)}; }
  std::size_t size(std::size_t columns) const { return rows.extent(0) * columns; }
};

/// One part with its solver.
template <class Scalar, class ExecutionSpace>
class PartSolver {
 public:
  using Memory = typename ExecutionSpace::memory_space;
  using Part = Impl::FrontPart<Scalar, ExecutionSpace>;

  /// @param up_rows   contribution rows whose sums cross the boundary
  /// @param down_rows permuted indices whose solutions cross it
  PartSolver(const Part& part, const std::vector<Offset>& up_rows, const std::vector<Offset>& down_rows,
             bool is_top, const MemoryBudget& budget)
      : m_part(part),
        m_is_top(is_top),
        m_budget(budget),
        m_reservation(budget),
        m_solver(part.exec(), part.plan(), budget) {
    std::vector<Ordinal> same(static_cast<std::size_t>(part.plan().n));
    std::iota(same.begin(), same.end(), Ordinal(0));
    m_index = Impl::upload(part.exec(), m_reservation, "lutra::trisolve::pivots of the part", same);
    up.rows = Impl::upload(part.exec(), m_reservation, "lutra::trisolve::rows of sums", up_rows);
    down.rows = Impl::upload(part.exec(), m_reservation, "lutra::trisolve::rows of solutions", down_rows);
  }

  Crossing<Scalar, Memory> up, down;

  const ExecutionSpace& exec() const { return m_part.exec(); }
  int n_pivots() const { return m_part.made().n_pivots(); }
  int n_fronts() const { return static_cast<int>(m_part.plan().count); }
  std::int64_t entries() const { return m_part.plan().panel_layout.entries(); }

  /// Replaces the vectors by those for more columns.
  /// @throws OutOfMemoryError
  void reserve(std::size_t columns) {
    m_solver.reserve(exec(), m_part.plan(), m_part.factors(), static_cast<int>(columns));
    up.storage = down.storage = {};
    m_crossings = MemoryReservation(m_budget);
    for (auto* const crossing : {&up, &down})
      crossing->storage = m_crossings.template allocate<Kokkos::View<Scalar*, Memory>>(
          exec(), "lutra::trisolve::values of other parts", crossing->size(columns));
  }

  /// @param vectors [pivots × columns], right-hand sides, then solutions
  void sweep_up(Transposition op, const DenseRows<Scalar, Memory>& vectors) {
    const std::size_t k = vectors.extent(1);
    const FrontValues<Scalar, Memory> nothing;
    m_is_top
        ? m_solver.sweep_up(exec(), m_part.plan(), m_part.factors(), system(op, vectors), up.in(k), nothing)
        : m_solver.sweep_up(exec(), m_part.plan(), m_part.factors(), system(op, vectors), {}, up.out(k));
  }
  void sweep_down(Transposition op, const DenseRows<Scalar, Memory>& vectors) {
    const std::size_t k = vectors.extent(1);
    const FrontValues<Scalar, Memory> nothing;
    m_is_top
        ? m_solver.sweep_down(exec(), m_part.plan(), m_part.factors(), system(op, vectors), {}, down.out(k))
        : m_solver.sweep_down(exec(), m_part.plan(), m_part.factors(), system(op, vectors), down.in(k),
                              nothing);
  }

 private:
  FrontSystem<Scalar, Memory> system(Transposition op, const DenseRows<Scalar, Memory>& vectors) const {
    const bool plain = op == Transposition::none;
    const auto k = vectors.extent(1);
    FrontSystem<Scalar, Memory> system;
    system.transposition = op;
    system.in = {vectors.data(), k, 1, (plain ? m_part.row_scale() : m_part.col_scale()).data()};
    system.out = {vectors.data(), k, 1, (plain ? m_part.col_scale() : m_part.row_scale()).data()};
    system.in_row = system.out_row = m_index;
    system.n_columns = static_cast<int>(k);
    return system;
  }

  const Part& m_part;
  bool m_is_top;
  MemoryBudget m_budget;
  MemoryReservation m_reservation;  ///< of lists
  MemoryReservation m_crossings;    ///< of the values that cross
  FrontSolver<Scalar, ExecutionSpace> m_solver;
  Kokkos::View<const Ordinal*, Memory> m_index;  ///< [n] 0, 1, …: vectors hold pivots in their order
};

}  // namespace

template <class Scalar, class ExecutionSpace>
struct DistributedFrontSolver<Scalar, ExecutionSpace>::State {
  using Solver = PartSolver<Scalar, ExecutionSpace>;
  using Channel = typename Fronts::Channel;

  Communicator& comm;
  const Fronts& fronts;
  ExecutionSpace exec;
  MemoryBudget budget;
  MemoryReservation reservation;
  std::optional<Solver> subtrees, top;    ///< parts of this rank
  Kokkos::View<Scalar*, Memory> vectors;  ///< [pivots of this rank × most columns so far]
  std::size_t most_columns = 0;
  RankStatistics statistics;

  State(Communicator& with, const Fronts& of, const MemoryBudget& within)
      : comm(with), fronts(of), budget(within) {
    if (const auto* const part = fronts.subtrees()) make_subtrees(*part);
    if (const auto* const part = fronts.top()) make_top(*part);
    for (const std::optional<Solver>* const one : {&subtrees, &top}) {
      if (!*one) continue;
      statistics.rows += (*one)->n_pivots();
      statistics.blocks += (*one)->n_fronts();
      statistics.entries += (*one)->entries();
    }
  }

  void make_subtrees(const typename Fronts::Part& part) {
    const auto& layout = part.plan().layout.fronts;
    std::vector<Offset> sums, solutions;
    for (const int root : part.made().open_roots()) {
      const Front& front = Impl::at(layout, root);
      for (Offset row = front.rows; row < front.rows + front.cb_rows; ++row) sums.push_back(row);
    }
    for (Offset k = part.made().n_pivots(); k < part.plan().n; ++k) solutions.push_back(k);
    subtrees.emplace(part, sums, solutions, false, budget);
  }
  void make_top(const typename Fronts::Part& part) {
    std::vector<Offset> sums, solutions;
    for (const TopBoundary& of_rank : fronts.boundaries()) {
      sums.insert(sums.end(), of_rank.contributions.begin(), of_rank.contributions.end());
      solutions.insert(solutions.end(), of_rank.solutions.begin(), of_rank.solutions.end());
    }
    top.emplace(part, sums, solutions, true, budget);
  }

  void reserve(std::size_t k) {
    if (k <= most_columns) return;
    most_columns = 0;  // if memory runs out, there are no vectors
    comm.agree("trisolve: vectors of a solve", [&] {
      for (std::optional<Solver>* const one : {&subtrees, &top})
        if (*one) (*one)->reserve(k);
      vectors = {};
      reservation = MemoryReservation(budget);
      vectors = reservation.template allocate<Kokkos::View<Scalar*, Memory>>(
          exec, "lutra::trisolve::pivots of the rank", static_cast<std::size_t>(statistics.rows) * k);
      fronts.pivot_rows().reserve(exec, k * sizeof(Scalar));
      fronts.pivot_columns().reserve(exec, k * sizeof(Scalar));
    });
    reserve_room(k);
    most_columns = k;
  }

  /// The vectors of a part, which follow those of the parts before it.
  DenseRows<Scalar, Memory> vectors_of(const Solver& part, std::size_t k) const {
    const auto first = &part == &*subtrees || !subtrees ? 0 : static_cast<std::size_t>(subtrees->n_pivots());
    return DenseRows<Scalar, Memory>(vectors.data() + first * k, static_cast<std::size_t>(part.n_pivots()),
                                     k);
  }

  /// Makes room for what a solve passes.
  void reserve_room(std::size_t k) {
    const std::size_t bytes = k * sizeof(Scalar);
    std::vector<std::size_t> room(static_cast<std::size_t>(comm.size()));
    for (std::size_t r = 0; r < room.size(); ++r)  // B and X
      room[r] =
          2 * std::max(fronts.pivot_rows().room_from(r, bytes), fronts.pivot_columns().room_from(r, bytes));
    for (std::size_t r = 0; r < fronts.boundaries().size(); ++r)
      room[r] += Channel::room(fronts.boundaries()[r].contributions.size() * bytes);
    if (subtrees) room[0] += Channel::room(subtrees->down.size(k) * sizeof(Scalar));
    fronts.channel().reserve(room);
  }

  using Part = Kokkos::View<Scalar*, Memory>;  ///< of the values that cross
  void send(int to, const Part& values) {
    fronts.channel().template send<Scalar>(to, values);
    if (to == comm.rank()) return;
    ++statistics.messages;
    statistics.message_bytes += static_cast<std::int64_t>(values.size() * sizeof(Scalar));
  }
  void receive(int from, const Part& values) {
    const Kokkos::Timer timer;
    fronts.channel().template receive<Scalar>(from, values);
    statistics.wait_seconds += timer.seconds();
  }

  /// Calls visit(rank, part of `values`) for each rank, whose rows `list` names.
  template <class List, class Visit>
  void for_each_rank(const List& list, const Part& values, std::size_t k, const Visit& visit) const {
    std::size_t first = 0;
    for (std::size_t r = 0; r < fronts.boundaries().size(); ++r) {
      const std::size_t size = list(fronts.boundaries()[r]).size() * k;
      if (size > 0) visit(static_cast<int>(r), Part(Kokkos::subview(values, std::pair(first, first + size))));
      first += size;
    }
  }

  /// The subtrees' sums to the top.
  void sweep_up(Transposition op, std::size_t k) {
    if (subtrees) {
      sweep([&] { subtrees->sweep_up(op, vectors_of(*subtrees, k)); });
      if (subtrees->up.size(k) > 0) send(0, subtrees->up.flat(k));
    }
    if (!top) return;
    for_each_rank(
        [](const TopBoundary& of) -> auto& { return of.contributions; }, top->up.flat(k), k,
        [&](int rank, const Part& of_rank) { receive(rank, of_rank); });
    sweep([&] { top->sweep_up(op, vectors_of(*top, k)); });
  }
  /// The top's solutions to the subtrees.
  void sweep_down(Transposition op, std::size_t k) {
    if (top) {
      sweep([&] { top->sweep_down(op, vectors_of(*top, k)); });
      for_each_rank(
          [](const TopBoundary& of) -> auto& { return of.solutions; }, top->down.flat(k), k,
          [&](int rank, const Part& of_rank) { send(rank, of_rank); });
    }
    if (!subtrees) return;
    if (subtrees->down.size(k) > 0) receive(0, subtrees->down.flat(k));
    sweep([&] { subtrees->sweep_down(op, vectors_of(*subtrees, k)); });
  }
  template <class Task>
  void sweep(const Task& task) {
    const Communicator::Work work(comm);
    task();
  }

  template <class ConstVectors, class Vectors>
  void solve(Transposition op, const ConstVectors& B, const Vectors& X) {
    const Kokkos::Timer timer;
    const std::size_t k = B.extent(1);
    if (k == 0) return;
    reserve(k);
    const bool plain = op == Transposition::none;
    const auto& in = plain ? fronts.pivot_rows() : fronts.pivot_columns();
    const auto& out = plain ? fronts.pivot_columns() : fronts.pivot_rows();
    const DenseRows<Scalar, Memory> used(vectors.data(), static_cast<std::size_t>(statistics.rows), k);
    in.forward(fronts.channel(), B, used);
    sweep_up(op, k);
    sweep_down(op, k);
    out.backward(fronts.channel(), used, X);
    fronts.channel().end_round("trisolve: solve on fronts");
    count_messages(k, [&](std::size_t rank) { return in.sources_of(rank); });
    count_messages(k, [&](std::size_t rank) { return out.targets_of(rank); });
    statistics.flops += 2.0 * static_cast<double>(statistics.entries) * static_cast<double>(k);
    statistics.solve_seconds += timer.seconds();
  }

  template <class Count>
  void count_messages(std::size_t k, const Count& count) {
    for (int to = 0; to < comm.size(); ++to) {
      const std::size_t elements = count(static_cast<std::size_t>(to));
      if (to == comm.rank() || elements == 0) continue;
      ++statistics.messages;
      statistics.message_bytes += static_cast<std::int64_t>(elements * k * sizeof(Scalar));
    }
  }
};

template <class Scalar, class ExecutionSpace>
DistributedFrontSolver<Scalar, ExecutionSpace>::DistributedFrontSolver(Communicator& comm,
                                                                       const Fronts& fronts,
                                                                       const MemoryBudget& budget) {
  comm.agree("trisolve: plan of solves on fronts", [&] {
    const Communicator::Work work(comm);
    m_state = std::make_unique<State>(comm, fronts, budget);
  });
}

template <class Scalar, class ExecutionSpace>
DistributedFrontSolver<Scalar, ExecutionSpace>::~DistributedFrontSolver() = default;

template <class Scalar, class ExecutionSpace>
void DistributedFrontSolver<Scalar, ExecutionSpace>::solve_columns(Transposition op,
                                                                   const Columns<const Scalar>& B,
                                                                   const Columns<Scalar>& X) {
  m_state->solve(op, B, X);
}
template <class Scalar, class ExecutionSpace>
void DistributedFrontSolver<Scalar, ExecutionSpace>::solve_rows(Transposition op, const Rows<const Scalar>& B,
                                                                const Rows<Scalar>& X) {
  m_state->solve(op, B, X);
}

template <class Scalar, class ExecutionSpace>
RankStatistics DistributedFrontSolver<Scalar, ExecutionSpace>::statistics() const {
  return m_state->statistics;
}

#define LUTRA_DISTRIBUTED_FRONT_SOLVER(Scalar) \
  template class DistributedFrontSolver<Scalar, Kokkos::DefaultHostExecutionSpace>;
LUTRA_FOR_EACH_SCALAR(LUTRA_DISTRIBUTED_FRONT_SOLVER)
#ifdef KOKKOS_ENABLE_CUDA
#define LUTRA_DISTRIBUTED_FRONT_SOLVER_CUDA(Scalar) \
  template class DistributedFrontSolver<Scalar, Kokkos::Cuda>;
LUTRA_FOR_EACH_SCALAR(LUTRA_DISTRIBUTED_FRONT_SOLVER_CUDA)
#endif

}  // namespace lutra
