// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <Kokkos_Core.hpp>

// What blocks do in solves with L·D·Lᵀ as data flow, by fibers of a host.
#ifndef KOKKOS_ENABLE_CUDA
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <limits>

#include "Lutra_LdltSolveFlow.hpp"
#include "Lutra_LdltSolves.hpp"
#include "Lutra_LdltSweeps.hpp"
#include "Lutra_RandomLdlt.hpp"
#include "Lutra_TestBlock.hpp"
#include "Lutra_TestDominant.hpp"
#include "Lutra_TestTypes.hpp"

namespace lutra::Test {
namespace {

/// A block of fibers, as Lutra_LdltSolveFlow.hpp wants it. A wait that is too long ends the sweep.
template <int Members, int Edge>
struct SolveFibers : BlockOfFibers<SolveFibers<Members, Edge>> {
  static constexpr int size = Members * Warps::lanes, max_looks = 200000;
  template <class Scalar>
  static constexpr int solve_edge = Edge;
  struct Memory {
    alignas(16) unsigned char space[1 << 16];
    int taken = 0;
  };
  Memory& memory;

  int thread() const { return Warps::active->thread() % size; }
  int threads() const { return size; }
  void* space() const { return memory.space; }
  template <class Scalar>
  Scalar sum_group(const Scalar& value) const {
    Scalar sum = value;
    for (int mask = 16; mask > 0; mask /= 2)
      sum += Warps::active->exchange(sum, Warps::active->lane() ^ mask);
    return sum;
  }
};

/// As LdltSolver, by emulated blocks.
template <class Types>
struct FlowSolver {
  using Scalar = typename Types::Scalar;
  using System = FrontSystem<Scalar, typename Types::Memory>;
  using Warp = SolveFibers<1, 32>;
  using Block = SolveFibers<2, 8>;
  int blocks = 3;
  mutable std::mt19937 random{1};
  mutable int max_members = 0;

  template <class Ldlt>
  bool solve(const Ldlt& of, const System& system, const LdltParts& parts) const {
    if (system.n_columns == 1) return solve_by<1>(of, system, parts);
    return solve_by<4>(of, system, parts);
  }

 private:
  template <int Width, class Ldlt>
  bool solve_by(const Ldlt& of, const System& system, const LdltParts& parts) const {
    const auto lists = lutra::Impl::make_front_solve_lists(of.exec, of.plan.base, MemoryBudget());
    auto data = lutra::Impl::ldlt_solve_data(of.plan, lists, of.factors, system);
    const lutra::Impl::LdltSolveTasks tasks(of.plan.base.layout.fronts, Block::template solve_edge<Scalar>,
                                            blocks, 20);
    max_members = tasks.max_members;
    const auto count = static_cast<std::size_t>(of.plan.base.count);
    const auto slots = static_cast<std::size_t>(of.plan.room.slots);
    const Scalar unset(std::numeric_limits<RealOf<Scalar>>::quiet_NaN());
    const auto values = [&](std::size_t n) { return std::vector<Scalar>((n + 1) * Width, unset); };
    auto by_slot = values(slots), by_index = values(of.tree.order.size());
    auto contributions = values(of.plan.base.rows.extent(0));
    auto partial_sums = values(static_cast<std::size_t>(of.plan.room.panels) / 16);
    std::vector<int> done(count), finished(count), arrived(count), tiles(slots / 8 + count + 1);
    data.by_slot = by_slot.data();
    data.by_index = by_index.data();
    data.contributions = contributions.data();
    int stopped = -1;
    int run = 0;
    const auto sweep = [&]<bool Forward>(std::bool_constant<Forward>) {
      lutra::Impl::LdltSolveLaunch<Width, Scalar> launch;
      launch.worker = {data, 0};
      launch.watchdog.stopped = &stopped;
      launch.children = of.plan.base.children.data();
      launch.done = done.data();
      launch.finished = finished.data();
      launch.arrived = arrived.data();
      launch.tiles = tiles.data();
      launch.partial_sums = partial_sums.data();
      launch.run = ++run;
      bool ended = true;
      for (const bool small : {Forward, !Forward}) {
        const auto& list = small ? tasks.small : tasks.large;
        int ticket = -1;
        launch.tasks = list.data();
        launch.n_tasks = static_cast<int>(list.size());
        launch.ticket = &ticket;
        ended =
            (small ? run_blocks<Forward, Warp, 1>(launch) : run_blocks<Forward, Block, 2>(launch)) && ended;
      }
      for (std::size_t f = 0; f < count; ++f) ended = ended && finished[f] == 0 && arrived[f] == 0;
      return ended;
    };
    bool ended = true;
    if (parts.lower) {
      data.parts = {true, false, false};
      data.sweep = {true, false, data.conjugate};
      data.stores = !parts.diagonal && !parts.upper;
      ended = sweep(std::true_type());
    }
    if (!data.stores) {
      data.parts = {false, parts.diagonal, parts.upper};
      data.sweep = {false, true, data.conjugate != data.hermitian};
      data.stores = true;
      ended = sweep(std::false_type()) && ended;
    }
    return ended && stopped < 0;
  }

  template <bool Forward, class Kind, int In, class Launch>
  bool run_blocks(const Launch& launch) const {
    std::vector<typename Kind::Memory> memory(static_cast<std::size_t>(blocks));
    for (auto& own : memory) std::fill(std::begin(own.space), std::end(own.space), 0xff);
    return Warps().run(
        blocks * In, random,
        [&] {
          lutra::Impl::sweep_tasks<Forward>(
              Kind{{}, memory[static_cast<std::size_t>(Warps::active->block())]}, launch);
        },
        In);
  }
};

template <class Types, class Solves, class Ldlt>
Columns<typename Types::Scalar> solve_by_blocks(const FlowSolver<Types>& solver, const Solves& solves,
                                                const Ldlt& of, const Columns<typename Types::Scalar>& B,
                                                Transposition op, const LdltParts& parts = {}) {
  using Scalar = typename Types::Scalar;
  std::vector<Scalar> flat;
  for (const auto& column : B) flat.insert(flat.end(), column.begin(), column.end());
  const auto x = to_space<typename Types::Space>(flat);
  const auto scales = to_space<typename Types::Space>(solves.scale);
  typename FlowSolver<Types>::System system;
  system.transposition = op;
  system.in = {x.data(), 1, solves.size(), parts.lower ? scales.data() : nullptr};
  system.out = {x.data(), 1, solves.size(), parts.upper ? scales.data() : nullptr};
  system.in_row = system.out_row = to_space<typename Types::Space>(of.tree.order);
  system.n_columns = static_cast<int>(B.size());
  REQUIRE(solver.solve(of, system, parts));
  const auto got = to_vector(x);
  Columns<Scalar> X;
  for (std::size_t c = 0; c < B.size(); ++c)
    X.emplace_back(got.begin() + static_cast<std::ptrdiff_t>(c * solves.size()),
                   got.begin() + static_cast<std::ptrdiff_t>((c + 1) * solves.size()));
  return X;
}

using Ordinal = std::tuple_element_t<0, Ordinals>;
const AssemblyTreeOptions no_zeros{0, 0, 0, 0, 0, 0, 0};

}  // namespace

TEMPLATE_LIST_TEST_CASE("emulated blocks solve with L·D·Lᵀ", "[trisolve][ldlt]", Scalars) {
  using OnHost = Types<TestType, Ordinal, Kokkos::DefaultHostExecutionSpace>;
  std::mt19937 random(36);
  int delayed = 0, members = 0, shape = 0;
  for (const int edge : {5, 17, 33}) {
    for (const auto symmetry : {Symmetry::symmetric, Symmetry::hermitian}) {
      INFO("blocks of " << edge);
      const auto pattern = edge == 5 ? add_mirror(dominant_matrix<Matrix<OnHost>>(60, 4.0 / 60, random))
                                     : bordered_blocks<Matrix<OnHost>>(2, edge, edge == 33 ? 50 : 20, random);
      RandomLdlt<OnHost> ldlt(pattern, {symmetry, edge == 17 ? 1.0 : 0.2}, random, no_zeros);
      delayed += ldlt.delayed;
      const auto solves = solves_with<OnHost>(ldlt);
      const auto F = ldlt.product();
      FlowSolver<OnHost> solver{2 + ++shape % 3};
      Columns<TestType> again;
      for (const int columns : {1, 3, 3}) {
        std::mt19937 same(7);
        const auto B = solves.random_columns(columns, same);
        for (const auto op : {Transposition::none, Transposition::adjoint}) {
          if (op != Transposition::none && !ScalarTraits<TestType>::is_complex) continue;
          const auto X = solve_by_blocks(solver, solves, ldlt, B, op);
          for (std::size_t c = 0; c < B.size(); ++c) solves.check(solves.applied(F, op), B[c], X[c]);
          if (op != Transposition::none || columns == 1) continue;
          if (!again.empty()) CHECK(X == again);  // the order in which fibers run does not matter
          again = X;
        }
      }
      members = std::max(members, solver.max_members);
    }
  }
  CHECK(delayed > 50);
  CHECK(members > 2);
}

TEMPLATE_LIST_TEST_CASE("emulated blocks solve with L, D and Lᵀ", "[trisolve][ldlt]", Scalars) {
  using OnHost = Types<TestType, Ordinal, Kokkos::DefaultHostExecutionSpace>;
  std::mt19937 random(37);
  RandomLdlt<OnHost> ldlt(bordered_blocks<Matrix<OnHost>>(3, 40, 45, random), {Symmetry::symmetric}, random);
  auto solves = solves_with<OnHost>(ldlt);
  const FlowSolver<OnHost> solver{4};
  const auto B = solves.random_columns(2, random);
  const auto largest_difference = [](const auto& X, const auto& Y) {
    long double difference = 0, size = 0;
    for (std::size_t c = 0; c < X.size(); ++c) {
      for (std::size_t i = 0; i < X[c].size(); ++i) {
        difference = Reference::worse(difference, std::abs(Reference::widen(X[c][i] - Y[c][i])));
        size = std::max<long double>(size, std::abs(Reference::widen(Y[c][i])));
      }
    }
    return difference / size;
  };
  for (const LdltParts& parts : {LdltParts{true, false, false}, LdltParts{true, true, false}}) {
    const auto X = solve_by_blocks(solver, solves, ldlt, B, Transposition::none, parts);
    CHECK(largest_difference(X, solves.solve(B, Transposition::none, parts)) <= 1000 * epsilon_of<TestType>);
  }
}

}  // namespace lutra::Test
#endif
