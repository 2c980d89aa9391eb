// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_LDLTGANG_HPP
#define LUTRA_LDLTGANG_HPP

#include "Lutra_Index.hpp"
#include "Lutra_LdltDiagonal.hpp"

namespace lutra::Impl {

/// Tile product C −= L1·D·L2ᴴ of a block.
template <class Scalar>
struct LdltTile {
  int rows = 0, columns = 0, depth = 0;  ///< of L1, of L2, of both: pivots; pairs are not split
  const Scalar* left = nullptr;          ///< L1 by columns
  const Scalar* right = nullptr;         ///< L2 by columns
  int ld = 0;                            ///< leading dimension of both
  const Scalar* diagonal = nullptr;      ///< D
  const Scalar* off_diagonal = nullptr;
  const PivotKind* kind = nullptr;
  bool hermitian = false;
  Scalar* C = nullptr;  ///< rows × columns by columns
  int ldc = 0;
};

/// Blocks that factorize a front together. They synchronize at barriers: each block counts its arrival and
/// waits until all have arrived.
///
///     member:   … write … fence, arrived += 1 ──┐        ┌── fence … read what the others wrote …
///     others:   … write … fence, arrived += 1 ──┴─ = k·n ┴── fence …
///
/// Each maximum uses one of three slots. A slot is cleared after the barrier of the next maximum, when all
/// blocks have read it, and reused after one more. After a watchdog timeout all maxima are infinite, which
/// ends the elimination like values that are not finite.
template <class Block, class Launch>
struct LdltGang {
  const Block& block;
  const Launch& launch;
  LdltGangState* state;
  int front, member, members;
  mutable int barriers = 0, maxima = 0;

  KOKKOS_FUNCTION int thread() const { return member * block.threads() + block.thread(); }
  KOKKOS_FUNCTION int threads() const { return members * block.threads(); }

  KOKKOS_FUNCTION void barrier() const {
    block.barrier();
    if (members == 1) return;
    ++barriers;
    if (block.thread() == 0) {
      block.fence();
      Kokkos::atomic_inc(&state->arrived);
      block.wait_for_count(launch, &state->arrived, barriers * members, front);
    }
    block.barrier();
  }
  KOKKOS_FUNCTION std::uint64_t max(std::uint64_t value) const {
    value = block.max(value);
    if (members == 1) return value;
    std::uint64_t* const slot = state->maxima + maxima % 3;
    if (block.thread() == 0 && value > 0) Kokkos::atomic_max(slot, value);
    barrier();
    if (block.thread() == 0) {
      const bool stopped = Kokkos::atomic_load(&launch.data.outcome->stopped_front) >= 0;
      value = stopped ? bits_of_size(Kokkos::Experimental::infinity_v<double>) : Kokkos::atomic_load(slot);
    }
    ++maxima;
    if (thread() == 0) Kokkos::atomic_store(state->maxima + (maxima + 1) % 3, std::uint64_t(0));
    return block.max(block.thread() == 0 ? value : 0);
  }
};

/// Factorizes a large front with a gang: assembly, elimination by block columns with a-posteriori pivoting,
/// contribution. For a block column [b, b + w) of the remaining front:
///
///   each member        L11·D·L11ᴴ of a copy of the diagonal block: the same pivots in all members
///   rows below, shared W = rows·L11⁻ᴴ, L21 = W·D⁻¹ into the workspace; the first column with an entry
///                      above 1/u
///   ── maximum ──      all know how many columns have passed
///   rows, shared       L21 of the columns that passed; rows of L to the left in the order of the pivots
///   tiles, shared      columns up to `outer_end` minus L21·D·L21ᴴ
///   ── barrier ──
///
/// Columns from `outer_end` on are updated for several block columns at once, and before failed columns are
/// exchanged with the last ones.
template <class Block, class Scalar>
struct LdltGangFront {
  using Real = RealOf<Scalar>;
  using Launch = LdltLaunch<Scalar>;
  using Gang = LdltGang<Block, Launch>;
  using Team = LdltFlowTeam<Gang, Scalar>;
  using Panel = LdltFront<Scalar>;
  using Own = LdltDiagonal<Scalar>;

  /// Columns between updates of all later columns.
  static constexpr int outer_columns = 4 * ldlt_block;
  /// Columns per solve step of a thread, for rows below a diagonal block.
  static constexpr int solved_at_once = 8;

  const Gang& gang;
  const Launch& launch;
  const Panel& panel;
  const LdltTest<Scalar>& test;
  Scalar* work;  ///< rows × ldlt_block

  KOKKOS_FUNCTION const Block& block() const { return gang.block; }
  KOKKOS_FUNCTION Own& own() const { return *reinterpret_cast<Own*>(block().space()); }

  KOKKOS_FUNCTION LdltProgress run(const LdltTask& task, const Front& front) const {
    assemble(task, front);
    const LdltProgress progress = eliminate_by_passes(
        Team{gang}, panel, test, [&](int begin) { return eliminate_a_posteriori(begin); });
    if (progress.failure == LdltFailure::none && panel.cb_rows() > 0) {
      update_tiles(panel.columns, panel.rows, 0, progress.done, panel.panel);
      block().barrier();
    }
    return progress;
  }

 private:
  // ---- assembly ----

  KOKKOS_FUNCTION void assemble(const LdltTask& task, const Front& front) const {
    const LdltWorker<Scalar> worker{launch.data};
    const LdltAssembly<Scalar> assembled{panel, front.pivots};
    worker.start(Team{gang}, front, assembled);
    if (assembled.delayed() > 0) add_delayed(worker, front, assembled);
    add_children(task, front, assembled.delayed());
    gang.barrier();
  }

  KOKKOS_FUNCTION void add_delayed(const LdltWorker<Scalar>& worker, const Front& front,
                                   const LdltAssembly<Scalar>& assembled) const {
    int position = front.pivots;
    for (Offset c = front.children; c < front.children_end; ++c) {
      const Ordinal child = launch.data.children[c];
      const LdltRecord record = launch.data.records[child];
      if (record.delayed_out > 0) worker.add_delayed(Team{gang}, child, record, position, assembled);
      position += record.delayed_out;
    }
  }

  /// Assigns 32 threads to each column; adds child by child.
  KOKKOS_FUNCTION void add_children(const LdltTask& task, const Front& front, int delayed) const {
    const auto& data = launch.data;
    const Offset* const sources = launch.source_begin + launch.first_column[task.gang];
    const int lane = gang.thread() % 32;
    const auto position = [&](int r) { return r < front.pivots ? r : r + delayed; };
    for (int c = gang.thread() / 32; c < front.size(); c += gang.threads() / 32) {
      Scalar* const to = panel.column(position(c));
      if (lane == 0 && c < front.pivots && data.shift != nullptr)
        to[c] += data.shift_of(front.first_pivot + c);
      for (Offset s = sources[c]; s < sources[c + 1]; ++s) {
        block().group_barrier();
        const LdltSource source = launch.sources[s];
        const Front& child = data.fronts[source.child];
        const int* const relative = data.assembly.relative + child.rows;
        const Scalar* const from =
            data.contributions + child.contribution + static_cast<Offset>(source.column) * child.cb_rows;
        for (int a = source.column + lane; a < child.cb_rows; a += 32) to[position(relative[a])] += from[a];
      }
    }
  }

  // ---- elimination ----

  /// One pass; failed columns end up last, fully updated.
  KOKKOS_FUNCTION LdltProgress eliminate_a_posteriori(int begin) const {
    LdltProgress progress{begin};
    int end = panel.columns;  // failed columns start here
    int outer_begin = begin, outer_end = end_of_outer(begin, end);
    while (progress.done < end) {
      const int b = progress.done, width = min(outer_end - b, ldlt_block);
      const LdltProgress found = factorize_diagonal(b, width);
      if (found.failure != LdltFailure::none) {
        progress.failure = found.failure;
        if (!test.may_delay()) progress.done += found.done;
        break;
      }
      const auto failing = gang.max(static_cast<std::uint64_t>(divide_rows(b, width, found.done)));
      const int passed =
          found.done - static_cast<int>(Kokkos::min(failing, static_cast<std::uint64_t>(found.done)));
      store(b, width, passed);
      if (passed < width) gang.barrier();
      update_tiles(b + passed, outer_end, b, passed, passed < width ? column_of_panel(b) : work);
      gang.barrier();
      progress.done += passed;
      if (passed == width && progress.done < outer_end) continue;
      update_outer(outer_end, outer_begin, progress.done);
      for (int failed = width - passed; failed > 0; --failed) {
        --end;
        exchange_slots(Team{gang}, panel, b + passed + failed - 1, end, test.hermitian);
      }
      outer_begin = progress.done;
      outer_end = end_of_outer(outer_begin, end);
    }
    if (progress.failure != LdltFailure::none && test.may_delay())
      update_outer(outer_end, outer_begin, progress.done);
    return progress;
  }

  KOKKOS_FUNCTION static int min(int a, int b) { return a < b ? a : b; }
  KOKKOS_FUNCTION static int end_of_outer(int begin, int end) { return min(begin + outer_columns, end); }
  KOKKOS_FUNCTION Scalar* column_of_panel(int j) const {
    return panel.panel + static_cast<std::int64_t>(j) * panel.rows;
  }
  /// Updates columns from `outer_end` on with the pivots already applied to the columns before it.
  KOKKOS_FUNCTION void update_outer(int outer_end, int begin, int done) const {
    if (outer_end == panel.columns || begin == done) return;
    update_tiles(outer_end, panel.columns, begin, done - begin, column_of_panel(begin));
    gang.barrier();
  }

  /// Factorizes the diagonal block in shared memory; the panel is not permuted yet.
  KOKKOS_FUNCTION LdltProgress factorize_diagonal(int b, int width) const {
    Own& diagonal = own();
    for (int e = block().thread(); e < Own::edge * Own::edge; e += block().threads()) {
      const int i = e % Own::edge, j = e / Own::edge;
      diagonal.at(i, j) = j <= i && i < width ? panel.at(b + i, b + j) : Scalar(0);
    }
    block().barrier();
    const LdltTest<Scalar> inner = test.may_delay() ? test.with(PivotChoice::complete) : test;
    return DiagonalElimination<Block, Scalar>{block(), diagonal, inner, width}.run();
  }

  /// Computes L of the rows below, in the workspace. @returns the first column that fails, for this thread's
  /// rows
  KOKKOS_FUNCTION int divide_rows(int b, int width, int chosen) const {
    int passed = chosen;
    for (int i = b + width + gang.thread(); i < panel.rows; i += gang.threads()) {
      for (int c = 0; c < chosen; c += solved_at_once) solve_row(b, i, c, chosen);
      const int first = divide_row(i, chosen);
      if (first < passed) passed = first;
    }
    return test.may_delay() ? chosen - passed : 0;
  }

  KOKKOS_FUNCTION Scalar& work_at(int i, int c) const {
    return work[i + static_cast<std::int64_t>(c) * panel.rows];
  }

  /// W of row i in some columns from c on: conj(W) = row·L11⁻ᴴ.
  KOKKOS_FUNCTION void solve_row(int b, int i, int c, int chosen) const {
    Own& diagonal = own();
    Scalar x[solved_at_once];
    for (int u = 0; u < solved_at_once; ++u)
      x[u] = c + u < chosen ? mirrored(test.hermitian, panel.at(i, b + diagonal.order[c + u])) : Scalar(0);
    for (int j = 0; j < c; ++j) {
      const Scalar w = work_at(i, j);
      for (int u = 0; u < solved_at_once; ++u) x[u] -= w * diagonal.at(c + u, j);
    }
    for (int v = 0; v < solved_at_once; ++v) {
      for (int u = v + 1; u < solved_at_once; ++u) x[u] -= x[v] * diagonal.at(c + u, c + v);
    }
    for (int u = 0; u < solved_at_once; ++u)
      if (c + u < chosen) work_at(i, c + u) = x[u];
  }

  /// L = conj(W)·D⁻¹ of row i; reads several columns before writing any. @returns the first column above 1/u
  KOKKOS_FUNCTION int divide_row(int i, int chosen) const {
    int first = chosen;
    const Real bound = Real(1) / test.threshold;
    const Own& diagonal = own();
    Scalar before(0);  // W of the preceding column
    for (int c = 0; c < chosen; c += solved_at_once) {
      Scalar w[solved_at_once + 1];
      for (int u = 0; u <= solved_at_once; ++u)
        w[u] = c + u < chosen ? mirrored(test.hermitian, work_at(i, c + u)) : Scalar(0);
      for (int u = 0; u < solved_at_once; ++u) {
        const int column = c + u;
        if (column >= chosen) continue;
        const PivotKind kind = diagonal.kind[column];
        int pivot = column;  // first column of the current pivot
        Scalar l, other;
        if (kind == PivotKind::first_of_two) {
          diagonal.pair[pivot / 2].divide_row(w[u], w[u + 1], l, other);
        } else if (kind == PivotKind::second_of_two) {
          --pivot;
          diagonal.pair[pivot / 2].divide_row(u > 0 ? w[u > 0 ? u - 1 : 0] : before, w[u], other, l);
        } else {
          l = w[u] * diagonal.inverse[column];
        }
        work_at(i, column) = l;
        if (pivot < first && !(ScalarTraits<Scalar>::magnitude(l) <= bound)) first = pivot;
      }
      before = w[solved_at_once - 1];
    }
    return first;
  }

  /// Stores the block column in pivot order: L of the first `passed` columns, the others unchanged.
  KOKKOS_FUNCTION void store(int b, int width, int passed) const {
    for (int i = b + width + gang.thread(); i < panel.rows; i += gang.threads()) {
      if (passed < width) order_row(b, width, passed, i);
      for (int c = 0; c < passed; c += solved_at_once) {
        Scalar l[solved_at_once];
        for (int u = 0; u < solved_at_once; ++u) l[u] = c + u < passed ? work_at(i, c + u) : Scalar(0);
        for (int u = 0; u < solved_at_once; ++u)
          if (c + u < passed) panel.at(i, b + c + u) = l[u];
      }
    }
    if (is_reordered(width)) order_rows(b, width);
    if (gang.member == 0) store_diagonal(b, width, passed);
  }

  KOKKOS_FUNCTION bool is_reordered(int width) const {
    bool moved = false;
    for (int c = 0; c < width; ++c) moved |= own().order[c] != c;
    return moved;
  }

  /// Permutes the rows of L left of the diagonal block, 32 threads per column.
  KOKKOS_FUNCTION void order_rows(int b, int width) const {
    static_assert(ldlt_block == 32);
    const int lane = gang.thread() % 32;
    for (int j = gang.thread() / 32; j < b; j += gang.threads() / 32) {
      Scalar kept(0);
      if (lane < width) kept = panel.at(b + own().order[lane], j);
      block().group_barrier();
      if (lane < width) panel.at(b + lane, j) = kept;
    }
  }

  /// Moves the columns of row i that have not passed to their slots.
  KOKKOS_FUNCTION void order_row(int b, int width, int passed, int i) const {
    Scalar kept[ldlt_block];
    for (int c = passed; c < width; ++c) kept[c] = panel.at(i, b + own().order[c]);
    for (int c = passed; c < width; ++c) panel.at(i, b + c) = kept[c];
  }

  /// Stores L11, the rest of the block, the pivots and their variables; by one member.
  KOKKOS_FUNCTION void store_diagonal(int b, int width, int passed) const {
    const Own& diagonal = own();
    Scalar* const kept = reinterpret_cast<Scalar*>(&own() + 1);
    const auto for_each = [&](const auto& visit) {
      for (int e = block().thread(); e < Own::edge * Own::edge; e += block().threads()) {
        const int i = e % Own::edge, j = e / Own::edge;
        if (j <= i && i < width) visit(i, j);
      }
    };
    for_each([&](int i, int j) {
      const int p = diagonal.order[i], q = diagonal.order[j];
      kept[i + j * Own::edge] =
          p >= q ? panel.at(b + p, b + q) : mirrored(test.hermitian, panel.at(b + q, b + p));
    });
    const int slot = block().thread();
    Ordinal variable = 0;
    int position = 0;
    if (slot < width) {
      variable = panel.variables[b + diagonal.order[slot]];
      position = panel.positions[b + diagonal.order[slot]];
    }
    block().barrier();
    for_each([&](int i, int j) {
      panel.at(b + i, b + j) =
          j < passed && i > j ? diagonal.entries[i + j * Own::ld] : kept[i + j * Own::edge];
    });
    if (slot < width) {
      panel.variables[b + slot] = variable;
      panel.positions[b + slot] = position;
    }
    if (slot < passed) {
      panel.diagonal[b + slot] = diagonal.diagonal[slot];
      panel.off_diagonal[b + slot] = diagonal.off_diagonal[slot];
      panel.kind[b + slot] = diagonal.kind[slot];
    }
  }

  // ---- products ----

  /// Subtracts L·D·Lᴴ of the pivots [begin, begin + depth) from columns [first, end) of the panel or the
  /// contribution block, by tiles of the lower triangle; L's rows are at `L`, by columns. Pivots of the block
  /// column that this block has just factorized are read from shared memory.
  KOKKOS_FUNCTION void update_tiles(int first, int end, int begin, int depth, const Scalar* L) const {
    if (depth == 0) return;
    const bool is_own = L == work;
    LdltTile<Scalar> tile;
    tile.depth = depth;
    tile.ld = panel.rows;
    tile.diagonal = is_own ? own().diagonal : panel.diagonal + begin;
    tile.off_diagonal = is_own ? own().off_diagonal : panel.off_diagonal + begin;
    tile.kind = is_own ? own().kind : panel.kind + begin;
    tile.hermitian = test.hermitian;
    tile.ldc = first < panel.columns ? panel.rows : panel.cb_rows();
    constexpr int edge = Block::template tile_edge<Scalar>;
    int next = gang.member;  // this member's next tile, counted from the columns' first one
    for (int c = first; c < end; c += edge) {
      const int tiles = (panel.rows - c + edge - 1) / edge;
      for (; next < tiles; next += gang.members) {
        const int r = c + next * edge;
        tile.rows = min(edge, panel.rows - r);
        tile.columns = min(edge, end - c);
        tile.left = L + r;
        tile.right = L + c;
        tile.C = panel.column(c) + r;
        block().subtract(tile, &own() + 1);
      }
      next -= tiles;
    }
  }
};

/// One member's part of a large front.
template <class Block, class Scalar>
KOKKOS_FUNCTION void work_gang_front(const Block& block, const LdltLaunch<Scalar>& launch,
                                     const LdltTask& task) {
  using Launch = LdltLaunch<Scalar>;
  const auto& data = launch.data;
  const Ordinal f = task.front;
  const Front front = data.fronts[f];
  const LdltGang<Block, Launch> gang{block,       launch,      launch.gangs + task.gang, static_cast<int>(f),
                                     task.member, task.members};
  LdltRecord record = admit_front(block, launch, front, f);
  const auto panel = data.dense(f, record.delayed_in);
  const LdltTest<Scalar> test = data.test(f, front.parent < 0);
  LdltProgress progress;
  if (record.stopped == 0) {
    progress =
        LdltGangFront<Block, Scalar>{gang, launch, panel, test, data.workspace + data.room[f].work}.run(
            task, front);
    record.finish(progress.done, panel.columns, progress.failure != LdltFailure::none);
  }
  if (task.member == 0) {
    if (record.stopped == 0) {
      LdltTally tally;
      tally.count_pivots(panel, record.eliminated, test.hermitian, block.thread(), block.threads());
      if (block.thread() == 0) tally.count_front(record, panel.rows);
      add_tally(block, tally, *data.outcome);
    }
    if (block.thread() == 0) data.store_record(panel, f, progress, record);
  }
  block.barrier();  // this member's writes are done
  if (block.thread() != 0) return;
  block.fence();
  if (Kokkos::atomic_fetch_inc(&launch.gangs[task.gang].finished) < task.members - 1) return;
  block.fence();
  block.raise_flag(launch, launch.done + f);
}

/// Factorizes medium and large fronts.
template <class Block, class Scalar>
KOKKOS_FUNCTION void work_tasks(const Block& block, const LdltLaunch<Scalar>& launch) {
  LdltTally tally;
  for (int t = block.next(launch.tickets + 1); t < launch.n_tasks; t = block.next(launch.tickets + 1)) {
    const LdltTask task = launch.tasks[t];
    if (task.gang < 0) {
      LdltWholeFront<Block, Scalar>{block, launch}.work(task.front, tally);
    } else {
      work_gang_front(block, launch, task);
    }
  }
  add_tally(block, tally, *launch.data.outcome);
}

}  // namespace lutra::Impl

#endif
