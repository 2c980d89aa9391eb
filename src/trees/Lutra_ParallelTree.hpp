// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_PARALLELTREE_HPP
#define LUTRA_PARALLELTREE_HPP

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <utility>

#include "Lutra_Arena.hpp"
#include "Lutra_Bytes.hpp"
#include "Lutra_CheckLaunches.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_MemoryBudget.hpp"
#include "Lutra_ParallelEliminationTree.hpp"
#include "Lutra_RowSubtrees.hpp"

namespace lutra::Impl {

/// Whether a chain ends at v: v + 1 is not its parent, or v is the last vertex. Roots have parent n.
template <class OrdinalView>
struct ChainEnd {
  OrdinalView parent;
  KOKKOS_FUNCTION bool operator()(Ordinal v) const {
    return parent(v) != v + 1 || static_cast<std::size_t>(v) + 1 == parent.extent(0);
  }
};

/// Elimination tree of A + Aᵀ and entry counts of the rows and columns of L, on all threads of an execution
/// space: builds the tree, then traverses each row of L as a subtree of it (`RowSubtrees`). Base of methods
/// that also need the rows. All members are public because nvcc allows lambdas only in public functions.
/// @tparam Source a type local to the including source file, if there are several: nvcc's lambdas must differ
/// between files (CONTRIBUTING.md)
template <class ExecutionSpace, class Source = void>
struct ParallelTree {
  using Memory = typename ExecutionSpace::memory_space;
  using Pattern = CsrPattern<Ordinal, Offset, Memory>;
  using OffsetView = Kokkos::View<Offset*, Memory>;
  using OrdinalView = Kokkos::View<Ordinal*, Memory>;
  using Subtrees = RowSubtrees<ExecutionSpace>;
  using Range = Kokkos::RangePolicy<ExecutionSpace>;

  /// @param max_workspace maximum bytes of bit sets for concurrently traversed rows
  ParallelTree(const ExecutionSpace& exec, const Pattern& pattern, const MemoryBudget& budget,
               std::size_t max_workspace = max_workspace_bytes)
      : m_exec(exec),
        m_budget(budget),
        m_n(pattern.n_rows),
        m_scratch(budget),
        m_max_workspace(max_workspace) {
    m_subtrees.pattern = pattern;
  }

  /// Builds the tree, m_parent.
  /// @param mirror entries of Aᵀ left of the diagonal, by rows; empty if the pattern is symmetric
  void build(const Pattern& mirror) {
    m_subtrees.mirror = mirror;
    m_parent = m_scratch.template allocate<OrdinalView>(m_exec, "lutra::trees::parent", m_n);
    build_elimination_tree(m_exec, m_subtrees.pattern, m_parent, m_budget);
    m_subtrees.parent = m_parent;
    list_long_rows();
  }

  /// Number of ancestors of each vertex, by pointer jumping: the known path doubles in each round.
  OrdinalView depths() {
    const Ordinal n = m_n;
    const auto arrays = m_scratch.template allocate<OrdinalView>(m_exec, "lutra::trees::depths",
                                                                 4 * static_cast<std::size_t>(m_n));
    OrdinalView depth[2], jump[2];
    for (std::size_t k = 0; k < 2; ++k) {
      const auto rows = static_cast<std::size_t>(m_n);
      depth[k] = Kokkos::subview(arrays, Kokkos::make_pair(2 * k * rows, (2 * k + 1) * rows));
      jump[k] = Kokkos::subview(arrays, Kokkos::make_pair((2 * k + 1) * rows, (2 * k + 2) * rows));
    }
    copy_view(m_exec, jump[0], m_parent);
    const auto first = depth[0], parent = m_parent;
    Kokkos::parallel_for(
        "lutra::trees::depths", Range(m_exec, 0, n),
        KOKKOS_LAMBDA(const std::int64_t v) { first(v) = parent(v) < n ? 1 : 0; });
    for (Ordinal jumping = n; jumping > 0; std::swap(depth[0], depth[1]), std::swap(jump[0], jump[1])) {
      check_launches_on<ExecutionSpace>();  // before ancestors are followed
      const auto depth_now = depth[0], depth_next = depth[1], jump_now = jump[0], jump_next = jump[1];
      Kokkos::parallel_reduce(
          "lutra::trees::depths", Range(m_exec, 0, n),
          KOKKOS_LAMBDA(const std::int64_t v, Ordinal& sum) {
            const Ordinal above = jump_now(v);
            depth_next(v) = depth_now(v) + (above < n ? depth_now(above) : 0);
            jump_next(v) = above < n ? jump_now(above) : n;
            if (jump_next(v) < n) ++sum;
          },
          jumping);
    }
    return depth[0];
  }

  /// Partition into runs whose last vertices satisfy `is_last`.
  template <class IsLast>
  Runs<Memory> make_runs(const IsLast& is_last) {
    const auto rows = static_cast<std::size_t>(m_n);
    Runs<Memory> runs;
    runs.of = m_scratch.template allocate<OrdinalView>(m_exec, "lutra::trees::run_of", rows);
    runs.last = m_scratch.template allocate<OrdinalView>(m_exec, "lutra::trees::run_last", rows);
    runs.heads = m_scratch.template allocate<Kokkos::View<std::uint64_t*, Memory>>(
        m_exec, "lutra::trees::run_heads", TeamBits<Memory>::words_for(rows));
    const auto of = runs.of, last = runs.last;
    const auto heads = runs.heads;
    const Ordinal n = m_n;
    Kokkos::parallel_scan(
        "lutra::trees::runs", Range(m_exec, 0, n),
        KOKKOS_LAMBDA(const std::int64_t v, Ordinal& sum, const bool final) {
          const auto vertex = static_cast<Ordinal>(v);
          if (final) of(v) = sum;
          if (is_last(vertex)) {
            if (final) last(sum) = vertex;
            ++sum;
          }
        },
        runs.count);
    Kokkos::parallel_for(
        "lutra::trees::run_heads", Range(m_exec, 0, static_cast<std::int64_t>(heads.extent(0))),
        KOKKOS_LAMBDA(const std::int64_t w) {
          std::uint64_t word = 0;
          for (int bit = 0; bit < 64; ++bit) {
            const auto v = static_cast<Ordinal>(w * 64 + bit);
            if (v < n && (v == 0 || is_last(v - 1))) word |= std::uint64_t(1) << bit;
          }
          heads(w) = word;
        });
    return runs;
  }

  /// Count pass: computes the entries of L in each row, m_row_counts, and column, m_column_counts.
  void count() {
    m_row_counts = m_scratch.template allocate<OffsetView>(m_exec, "lutra::trees::row_counts", m_n);
    m_column_counts =
        m_scratch.template allocate<OrdinalView>(m_exec, "lutra::trees::column_counts", m_n + 1);
    set_to_zero(m_exec, m_column_counts);
    m_subtrees.runs = make_runs(ChainEnd<OrdinalView>{m_parent});
    m_subtrees.row_counts = m_row_counts;
    m_subtrees.count_steps = m_column_counts;
    walk_rows();
    const auto counts = m_column_counts;
    Kokkos::parallel_scan(
        "lutra::trees::column_counts", Range(m_exec, 0, m_n),
        KOKKOS_LAMBDA(const std::int64_t j, Ordinal& sum, const bool final) {
          sum += counts(j);
          if (final) counts(j) = sum;
        });
  }

  void walk_rows() {
    traverse_with(m_subtrees.store ? "lutra::trees::tree_positions" : "lutra::trees::tree_counts",
                  4 * sizeof(Ordinal), [](const Subtrees& subtrees) { return subtrees; });
  }

  /// Traverses all rows, with as many teams as can run concurrently and as fit in the budget.
  /// @param shared_bytes per team @param make_kernel constructs the kernel from the subtrees
  template <class MakeKernel>
  void traverse_with(const char* label, std::size_t shared_bytes, const MakeKernel& make_kernel) {
    MemoryReservation workspace(m_budget);
    m_subtrees.query = m_budget.run().query();
    const std::size_t teams = make_workspaces(workspace);
    const auto launch = [&](std::size_t n_teams, int threads) {
      set_to_zero(m_exec, m_subtrees.next_row);
      const auto kernel = make_kernel(m_subtrees);
      Kokkos::TeamPolicy<ExecutionSpace> policy(m_exec, static_cast<int>(n_teams), team_threads);
      policy.set_scratch_size(0, Kokkos::PerTeam(static_cast<int>(shared_bytes)));
      const int most = policy.team_size_max(kernel, Kokkos::ParallelForTag());
      while (threads > team_threads && threads > most) threads /= 2;
      Kokkos::TeamPolicy<ExecutionSpace> sized(m_exec, static_cast<int>(n_teams), threads);
      sized.set_scratch_size(0, Kokkos::PerTeam(static_cast<int>(shared_bytes)));
      Kokkos::parallel_for(label, sized, kernel);
    };
    if (m_subtrees.n_long_rows > 0) {
      m_subtrees.long_rows_only = true;
      launch(std::min(teams, static_cast<std::size_t>(m_subtrees.n_long_rows)), long_row_threads);
      m_subtrees.long_rows_only = false;
    }
    launch(teams, team_threads);
    m_exec.fence("lutra::trees: workspaces are freed");
    m_budget.run().poll();
    m_subtrees.bits = {};
    m_subtrees.positions = {};
    m_subtrees.next_row = {};
    m_workspace = {};
  }

  /// Maximum number of concurrent teams, at most one per row.
  std::size_t max_teams() const {
    const auto running = static_cast<std::size_t>(m_exec.concurrency()) / team_threads;
    return std::max<std::size_t>(1, std::min(running, static_cast<std::size_t>(m_n)));
  }

  std::size_t make_workspaces(MemoryReservation& workspace) {
    const auto rows = static_cast<std::size_t>(m_n);
    const std::size_t words = TeamBits<Memory>::words_for(rows);
    const std::size_t each = TeamBits<Memory>::bytes_each(rows) + 2 * words * sizeof(Ordinal);
    const std::size_t room = std::min(m_budget.available_bytes(), std::max(m_max_workspace, each + slack));
    const std::size_t fitting = room > slack ? (room - slack) / each : 0;
    const std::size_t teams = std::max<std::size_t>(1, std::min(max_teams(), fitting));
    const auto bytes = teams * each + Arena<Memory>::loss(4) + sizeof(Ordinal);
    m_workspace =
        workspace.allocate<typename Arena<Memory>::Bytes>(m_exec, "lutra::trees::tree_arena", bytes);
    Arena<Memory> arena(m_workspace);
    m_subtrees.bits.words = arena.template cut<decltype(m_subtrees.bits.words)>(teams, words);
    m_subtrees.bits.summary =
        arena.template cut<decltype(m_subtrees.bits.summary)>(teams, TeamBits<Memory>::words_for(words));
    m_subtrees.positions = arena.template cut<decltype(m_subtrees.positions)>(teams, 2 * words);
    m_subtrees.next_row = arena.template cut<Kokkos::View<Ordinal, Memory>>();
    m_subtrees.bits.empty(m_exec);
    return teams;
  }

  /// Lists the long rows, on spaces that support larger teams for them.
  void list_long_rows() {
    if constexpr (long_row_threads > team_threads) {
      m_subtrees.long_rows = m_scratch.template allocate<OrdinalView>(m_exec, "lutra::trees::long_rows", m_n);
      const auto subtrees = m_subtrees;
      Ordinal count = 0;
      Kokkos::parallel_scan(
          "lutra::trees::long_rows", Range(m_exec, 0, m_n),
          KOKKOS_LAMBDA(const std::int64_t v, Ordinal& sum, const bool final) {
            if (!subtrees.is_long(static_cast<Ordinal>(v))) return;
            if (final) subtrees.long_rows(sum) = static_cast<Ordinal>(v);
            ++sum;
          },
          count);
      m_subtrees.n_long_rows = count;
    }
  }

  /// A thread for each path of the shortest long row.
  static constexpr int long_row_threads = team_width<ExecutionSpace>(512);
  // Most rows are short with few branches: one warp per row, many rows at a time.
  static constexpr int team_threads = team_width<ExecutionSpace>(32);
  /// Larger: more rows at a time, more memory; the budget may allow less.
  static constexpr std::size_t max_workspace_bytes = std::size_t(4) << 30;
  static constexpr std::size_t slack = 4096;  // for headers and alignment of the Views

  ExecutionSpace m_exec;
  MemoryBudget m_budget;
  Ordinal m_n;
  MemoryReservation m_scratch;
  Subtrees m_subtrees;
  std::size_t m_max_workspace;
  typename Arena<Memory>::Bytes m_workspace;  ///< memory of m_subtrees's bits and positions
  OrdinalView m_parent;                       ///< [n] n for a root
  OffsetView m_row_counts;                    ///< [n] entries of L in each row
  OrdinalView m_column_counts;                ///< [n + 1] entries of L in each column; the last is 0
};

}  // namespace lutra::Impl

#endif
