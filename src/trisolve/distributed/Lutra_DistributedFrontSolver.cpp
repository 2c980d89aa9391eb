// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_DistributedFrontSolver.hpp"

#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "Lutra_At.hpp"
#include "Lutra_FrontSolver.hpp"
#include "Lutra_Instantiate.hpp"
#include "Lutra_Upload.hpp"

namespace lutra {
namespace {

/// Values that pass between a part and its neighbours on one side, in one direction, in the memory of its
/// execution space.
template <class Scalar, class Memory>
struct Crossing {
  using Flat = Kokkos::View<Scalar*, Memory>;
  std::vector<std::size_t> begin{0};  ///< [edges + 1] first row of each edge
  Kokkos::View<const Offset*, Memory> rows;
  Flat storage;  ///< [rows × most columns so far]

  DenseRows<Scalar, Memory> values(std::size_t columns) const {
    return DenseRows<Scalar, Memory>(storage.data(), rows.extent(0), columns);
  }
  /// The values of an edge.
  Flat of_edge(std::size_t edge, std::size_t columns) const {
    return Flat(Kokkos::subview(storage, std::pair(begin[edge] * columns, begin[edge + 1] * columns)));
  }
  FrontValues<Scalar, Memory> out(std::size_t columns) const { return {rows, values(columns)}; }
  FrontValues<const Scalar, Memory> in(std::size_t columns) const { return {rows, values(columns)}; }
};

/// One part with its solver.
template <class Scalar, class ExecutionSpace>
class PartSolver {
 public:
  using Memory = typename ExecutionSpace::memory_space;
  using Part = Impl::FrontPart<Scalar, ExecutionSpace>;

  PartSolver(const Part& part, const PartBoundary& boundary, const MemoryBudget& budget)
      : m_part(part),
        m_budget(budget),
        m_reservation(budget),
        m_solver(part.exec(), part.plan(), budget, solver_options(part)) {
    std::vector<Ordinal> same(static_cast<std::size_t>(part.plan().n));
    std::iota(same.begin(), same.end(), Ordinal(0));
    m_index = Impl::upload(part.exec(), m_reservation, "lutra::trisolve::pivots of the part", same);
    const auto& layout = part.plan().layout.fronts;
    const auto sums = [&](const PartEdge& edge, std::vector<Offset>& rows) {
      for (const int f : edge.fronts) {
        const Front& front = Impl::at(layout, f);
        for (Offset row = front.rows; row < front.rows + front.cb_rows; ++row) rows.push_back(row);
      }
    };
    const auto solutions = [](const PartEdge& edge, std::vector<Offset>& rows) {
      rows.insert(rows.end(), edge.solutions.begin(), edge.solutions.end());
    };
    given = crossing(boundary.below, sums);
    passed = crossing(boundary.above, sums);
    solved = crossing(boundary.above, solutions);
    read = crossing(boundary.below, solutions);
  }

  Crossing<Scalar, Memory> given, passed;  ///< sums of contribution rows, from below and to above
  Crossing<Scalar, Memory> solved, read;   ///< solutions, from above and to below

  const ExecutionSpace& exec() const { return m_part.exec(); }
  int n_pivots() const { return m_part.made().n_pivots(); }
  int n_fronts() const { return static_cast<int>(m_part.plan().count); }
  std::int64_t entries() const { return m_part.plan().panel_layout.entries(); }

  /// Replaces the vectors by those for more columns.
  /// @throws OutOfMemoryError
  void reserve(std::size_t columns) {
    m_solver.reserve(exec(), m_part.plan(), m_part.factors(), static_cast<int>(columns));
    for (auto* const crossing : {&given, &passed, &solved, &read}) crossing->storage = {};
    m_crossings = MemoryReservation(m_budget);
    for (auto* const crossing : {&given, &passed, &solved, &read})
      crossing->storage = m_crossings.template allocate<Kokkos::View<Scalar*, Memory>>(
          exec(), "lutra::trisolve::values of other parts", crossing->rows.extent(0) * columns);
  }

  /// @param vectors [pivots × columns], right-hand sides, then solutions
  void sweep_up(Transposition op, const DenseRows<Scalar, Memory>& vectors) {
    const std::size_t k = vectors.extent(1);
    m_solver.sweep_up(exec(), m_part.plan(), m_part.factors(), system(op, vectors), given.in(k),
                      passed.out(k));
  }
  void sweep_down(Transposition op, const DenseRows<Scalar, Memory>& vectors) {
    const std::size_t k = vectors.extent(1);
    m_solver.sweep_down(exec(), m_part.plan(), m_part.factors(), system(op, vectors), solved.in(k),
                        read.out(k));
  }

 private:
  static FrontSolverOptions solver_options(const Part& part) {
    FrontSolverOptions options;
    options.interchanges = part.symmetry().has_value();
    return options;
  }

  /// @param list adds the rows of an edge
  template <class List>
  Crossing<Scalar, Memory> crossing(const std::vector<PartEdge>& edges, const List& list) {
    Crossing<Scalar, Memory> made;
    std::vector<Offset> rows;
    for (const PartEdge& edge : edges) {
      list(edge, rows);
      made.begin.push_back(rows.size());
    }
    made.rows = Impl::upload(exec(), m_reservation, "lutra::trisolve::rows of other parts", rows);
    return made;
  }

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
  std::vector<std::unique_ptr<Solver>> parts;  ///< of this rank, like the next
  std::vector<std::size_t> first_pivot;        ///< of each part among those of the rank
  Impl::PartArrivals sums, solutions;
  Kokkos::View<Scalar*, Memory> vectors;  ///< [pivots of this rank × most columns so far]
  std::size_t most_columns = 0;
  RankStatistics statistics;

  State(Communicator& with, const Fronts& of, const MemoryBudget& within)
      : comm(with),
        fronts(of),
        budget(within),
        sums(of.boundaries(), with.rank(), with.size(), true),
        solutions(of.boundaries(), with.rank(), with.size(), false) {
    for (std::size_t p = 0; p < boundaries().size(); ++p) {
      parts.push_back(std::make_unique<Solver>(fronts.part(p), boundaries()[p], budget));
      first_pivot.push_back(static_cast<std::size_t>(statistics.rows));
      statistics.rows += parts[p]->n_pivots();
      statistics.blocks += parts[p]->n_fronts();
      statistics.entries += parts[p]->entries();
    }
  }
  const std::vector<PartBoundary>& boundaries() const { return fronts.boundaries(); }

  void reserve(std::size_t k) {
    if (k <= most_columns) return;
    most_columns = 0;  // if memory runs out, there are no vectors
    comm.agree("trisolve: vectors of a solve", [&] {
      for (const auto& part : parts) part->reserve(k);
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
  DenseRows<Scalar, Memory> vectors_of(std::size_t p, std::size_t k) const {
    return DenseRows<Scalar, Memory>(vectors.data() + first_pivot[p] * k,
                                     static_cast<std::size_t>(parts[p]->n_pivots()), k);
  }

  /// Makes room for what a solve passes.
  void reserve_room(std::size_t k) {
    const std::size_t bytes = k * sizeof(Scalar);
    std::vector<std::size_t> room(static_cast<std::size_t>(comm.size()));
    for (std::size_t r = 0; r < room.size(); ++r)  // B and X
      room[r] =
          2 * std::max(fronts.pivot_rows().room_from(r, bytes), fronts.pivot_columns().room_from(r, bytes));
    const auto add = [&](const std::vector<PartEdge>& edges, const auto& crossing) {
      for (std::size_t e = 0; e < edges.size(); ++e)
        Impl::at(room, edges[e].rank) += Channel::room((crossing.begin[e + 1] - crossing.begin[e]) * bytes);
    };
    for (std::size_t p = 0; p < parts.size(); ++p) {
      add(boundaries()[p].below, parts[p]->given);
      add(boundaries()[p].above, parts[p]->solved);
    }
    fronts.channel().reserve(room);
  }

  using Values = Kokkos::View<Scalar*, Memory>;  ///< that pass an edge
  void send(int to, const Values& values) {
    if (values.size() == 0) return;  // another edge has the rows
    fronts.channel().template send<Scalar>(to, values);
    ++statistics.messages;
    statistics.message_bytes += static_cast<std::int64_t>(values.size() * sizeof(Scalar));
  }
  void receive(int from, const Values& values) {
    if (values.size() == 0) return;
    const Kokkos::Timer timer;
    fronts.channel().template receive<Scalar>(from, values);
    statistics.wait_seconds += timer.seconds();
  }

  /// Part by part: sums to the parts above.
  void sweep_up(Transposition op, std::size_t k) {
    sums.reset();
    for (std::size_t p = 0; p < parts.size(); ++p) {
      sums.take(p,
                [&](int rank, const auto& at) { receive(rank, parts[at.part]->given.of_edge(at.edge, k)); });
      sweep([&] { parts[p]->sweep_up(op, vectors_of(p, k)); });
      const auto& above = boundaries()[p].above;
      for (std::size_t e = 0; e < above.size(); ++e)
        pass(above[e], parts[p]->passed.of_edge(e, k), [&](std::size_t to) {
          return parts[to]->given.of_edge(edge_from(boundaries()[to].below, p), k);
        });
    }
  }
  /// Part by part, the last first: solutions to the parts below, the last first as PartArrivals expects.
  void sweep_down(Transposition op, std::size_t k) {
    solutions.reset();
    for (std::size_t p = parts.size(); p-- > 0;) {
      solutions.take(
          p, [&](int rank, const auto& at) { receive(rank, parts[at.part]->solved.of_edge(at.edge, k)); });
      sweep([&] { parts[p]->sweep_down(op, vectors_of(p, k)); });
      const auto& below = boundaries()[p].below;
      for (std::size_t e = below.size(); e-- > 0;)
        pass(below[e], parts[p]->read.of_edge(e, k), [&](std::size_t to) {
          return parts[to]->solved.of_edge(edge_from(boundaries()[to].above, p), k);
        });
    }
  }
  /// Passes values to the part at the other end of an edge.
  /// @param target target(part): where they go if the part is one of this rank
  template <class Target>
  void pass(const PartEdge& edge, const Values& values, const Target& target) {
    if (edge.rank != comm.rank()) return send(edge.rank, values);
    Kokkos::deep_copy(exec, target(Impl::index_of_part(boundaries(), edge.part)), values);
  }
  /// The edge to a part of this rank.
  std::size_t edge_from(const std::vector<PartEdge>& edges, std::size_t p) const {
    return static_cast<std::size_t>(&Impl::edge_to(edges, boundaries()[p].number) - edges.data());
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
