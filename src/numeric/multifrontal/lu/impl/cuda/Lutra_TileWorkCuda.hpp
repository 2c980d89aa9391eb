// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_TILEWORKCUDA_HPP
#define LUTRA_TILEWORKCUDA_HPP

#include "Lutra_DiagonalFactorsCuda.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_SharedEntryCuda.hpp"

namespace lutra::Impl {

// Large fronts as tiles, left-looking. The task of tile (i, j) assembles it, subtracts L(i, s)·U(s, j) for
// all pivot tiles s before it as they become ready, and finishes it: factorizes a diagonal tile and inverts
// its triangles, multiplies a tile of L or U by one of those inverses, or leaves the tile to the parent. Thus
// each tile is read and written once, and the tiles themselves are the task list. In wide fronts, tiles not
// next to the diagonal are taken two at a time, one above the other, or side by side in U, so that each
// operand in shared memory serves more products.
//
// For symmetric and Hermitian matrices the tiles above the diagonal have no tasks. The task of tile (i, s) of
// L stores D·L(i, s)ᵀ as U(s, i) and raises its flags too; the task of a contribution tile stores the
// transposed tile. Diagonal tiles are processed as usual.

/// Data of a task of `tiles` tiles. Its first direction is along its rows, in U along its columns: U is
/// processed transposed.
template <int tiles, bool interchanges, bool symmetric, class Scalar>
struct TileWork {
  const FrontLaunch<Scalar>& launch;
  const FrontTask& task;
  const Front& front;
  const FrontTiles cut;
  TileMemory<Scalar>& memory;
  const PivotRule<Scalar>& rule;
  const TaskNumber number;

  using Memory = TileMemory<Scalar>;
  using Product = TileProduct<Scalar, tiles>;
  static constexpr int edge = front_tile<Scalar>, width = tiles * edge, pitch = width + operand_pad<Scalar>;
  using Slabs = ProductSlabs<Scalar, tiles>;
  static_assert(pivot_panel == FrontTiles::inverse_block);
  static constexpr int inverse_depth = FrontTiles::inverse_block, inverse_slabs = edge / inverse_depth;

  __device__ int pivot_tiles() const { return cut.pivot_tiles(); }
  __device__ int steps() const { return task.steps(cut); }
  __device__ bool in_upper() const { return !symmetric && task.in_upper(cut); }
  __device__ bool in_contribution() const { return task.in_contribution(cut); }
  /// The task's tiles in shared memory.
  __device__ Scalar& at(int r, int c) const {
    return in_upper() ? memory.space[r * pitch + c] : memory.space[c * pitch + r];
  }
  __device__ int* flags() const { return launch.tile_done + task.flags; }
  __device__ int* flag(int i, int j) const { return flags() + TileFlags(cut).tile(i, j); }
  /// Whether all positions of an inverse are stored, since its lines have been interchanged.
  __device__ static constexpr bool is_whole(bool of_upper) {
    return interchanges && (symmetric || !of_upper);
  }
  /// Inverses of L (by columns) and U (by rows) of pivot tile s.
  __device__ Scalar* inverse(int s, bool of_upper) const {
    if (is_whole(of_upper))
      return (of_upper ? launch.upper_inverses : launch.lower_inverses) +
             (static_cast<Offset>(task.inverse_blocks) * InverseTile::block + s * edge) * edge;
    return (of_upper ? launch.upper_inverses : launch.lower_inverses) + task.inverses +
           static_cast<Offset>(s) * InverseTile::entries(edge);
  }
  __device__ InverseTile layout_of_inverse(int s, bool of_upper) const {
    return {FrontTiles::inverse_lines(cut.extent(s)), is_whole(of_upper)};
  }
  __device__ bool hands_off() const { return tiles == 1 && task.hands_off(cut); }
  /// Hand-off buffer of the neighbour below or right of diagonal tile s; reused after it has been read, by
  /// the next but one. Line p is column p of a tile of L, row p of a tile of U.
  __device__ Scalar* link(int s, bool of_upper) const {
    return launch.links + task.links + (s % tile_links * 2 + (of_upper ? 1 : 0)) * edge * edge;
  }
  __device__ int* link_flag(int s, bool of_upper) const { return flags() + TileFlags(cut).link(s, of_upper); }
  /// Whether the tile is a diagonal one factorized by the front's sweep.
  __device__ bool is_swept() const {
    return tiles == 1 && !interchanges && task.is_swept && task.is_diagonal(cut);
  }
  /// Hand-off buffer of diagonal tile s, minus all products but the last, for the sweep.
  __device__ Scalar* diagonal_link(int s) const {
    return launch.links + task.links + (2 * tile_links + s % tile_links) * edge * edge;
  }
  __device__ int* diagonal_link_flag(int s) const { return flags() + TileFlags(cut).diagonal_link(s); }
  /// Number of positions in `count` tiles.
  __device__ int extent(int tile, int count) const {
    return cut.begin(tile + count - 1) + cut.extent(tile + count - 1) - cut.begin(tile);
  }
  /// Number of pivots before this tile.
  __device__ int inners() const { return steps() < pivot_tiles() ? steps() * edge : front.pivots; }

  __device__ DenseFront<Scalar> dense() const { return launch.data.dense(front, task.front); }
  __device__ GlobalPart<Scalar> part_of_lower() const {
    const Offset size = front.size();
    return {dense().lower + cut.begin(task.row), size, 1, inners(), extent(task.row, task.rows)};
  }
  __device__ GlobalPart<Scalar> part_of_upper() const {
    const Offset size = front.size();
    const int begin = cut.begin(task.column), columns = extent(task.column, task.columns);
    if (task.column < pivot_tiles()) return {dense().lower + begin * size, 1, size, inners(), columns};
    return {dense().upper + (begin - front.pivots), front.cb_rows, 1, inners(), columns};
  }

  /// Assembles the tiles in shared memory (Lutra_TileAssemblyCuda.hpp).
  __device__ void assemble() const;
  /// Adds the contributions that children have added to the panels.
  __device__ void add_panel(const FrontWindow& window) const;

  /// Number of pivot tiles, up to the first gap, whose parts of L and U are both ready; s of them are known
  /// to be. By one warp. With `wait` at least one more.
  __device__ int look_for_steps(int s, bool wait) const {
    const int lane = static_cast<int>(threadIdx.x) % 32, step = s + lane;
    if (wait && lane < task.rows + task.columns) {
      wait_for_flag(launch,
                    lane < task.rows ? flag(task.row + lane, s) : flag(s, task.column + lane - task.rows),
                    task.front);
    }
    __syncwarp();
    const bool asked = step < steps();
    bool there = asked;
    if (asked) {
      const int left = read_flag(flag(task.row, step)), above = read_flag(flag(step, task.column));
      int other = launch.run;
      if (tiles > 1)
        other = read_flag(task.rows > 1 ? flag(task.row + 1, step) : flag(step, task.column + 1));
      there = left == launch.run && above == launch.run && other == launch.run;
    }
    fence();  // orders reads of the flagged data after the flags
    const unsigned all = __ballot_sync(0xffffffffu, there);
    const int ready = s + (all == 0xffffffffu ? 32 : __ffs(static_cast<int>(~all)) - 1);
    return wait && ready == s ? s + 1 : ready;  // the wait timed out
  }

  /// Sends slabs from `sent` on, while there is space before slab `end` and their pivot tiles, the first
  /// `ready`, are complete.
  template <class FirstSender, class SecondSender>
  __device__ __forceinline__ void send_slabs(int& sent, int end, int ready) const {
    for (end = min(end, ready * Slabs::a_tile); sent < end; ++sent) {
      Scalar* const slab = memory.space + static_cast<unsigned>(sent) % Slabs::stages * Slabs::words;
      FirstSender::send(memory.first, slab, sent);
      SecondSender::send(memory.second, slab + Slabs::first_words, sent);
      __pipeline_commit();
    }
  }

  /// Adds the products of the pivot tiles with the first `pivots` pivots. If no slab is in transit, waits for
  /// the next pivot tile.
  template <OperandOrder first_order, OperandOrder second_order>
  __device__ __forceinline__ void add_products(Product& product, const GlobalPart<Scalar>& first,
                                               const GlobalPart<Scalar>& second, int pivots) const {
    using FirstSender = OperandSender<Scalar, first_order, width, Slabs::depth>;
    using SecondSender = OperandSender<Scalar, second_order, edge, Slabs::depth>;
    if (threadIdx.x == 0) {
      memory.first = FirstSender::source(first);
      memory.second = SecondSender::source(second);
    }
    OperandSlices<Product, typename FirstSender::Layout, typename SecondSender::Layout, Slabs::depth> slices;
    const int last = (pivots + Slabs::depth - 1) / Slabs::depth;
    int sent = 0, ready = 0;  // slabs in transit or complete, completed pivot tiles
    bool looked = false;
    for (int q = 0; q < last;) {
      const bool starved = sent == q;
      const Scalar* const slab = memory.space + static_cast<unsigned>(q) % Slabs::stages * Slabs::words;
      if (starved) {
        if (threadIdx.x < 32) {
          const int found = look_for_steps(q / Slabs::a_tile, true);
          if (threadIdx.x == 0) memory.awaited = found;
        }
        __syncthreads();
        ready = memory.awaited;
      } else {
        wait_for_operands(sent - 1 - q);
        __syncthreads();
        if (looked) ready = memory.ready[(q + 1) % 2];
        slices.begin(product, slab, slab + Slabs::first_words);
      }
      send_slabs<FirstSender, SecondSender>(sent, min(q + Slabs::stages, last), ready);
      looked = !starved && sent < last && sent == ready * Slabs::a_tile;
      if (looked && threadIdx.x < 32) {
        const int found = look_for_steps(ready, false);
        if (threadIdx.x == 0) memory.ready[q % 2] = found;
      }
      if (starved) continue;
      slices.go_on(product, slab, slab + Slabs::first_words);
      ++q;
    }
    slices.end(product);
  }

  __device__ void add_products(Product& product, int pivots) const {
    constexpr OperandOrder inner = OperandOrder::inner, outer = OperandOrder::outer;
    const GlobalPart<Scalar> lower = part_of_lower(), upper = part_of_upper();
    if (in_upper()) {
      if (task.column < pivot_tiles()) {
        add_products<inner, outer>(product, upper, lower, pivots);
      } else {
        add_products<outer, outer>(product, upper, lower, pivots);
      }
    } else if (task.column < pivot_tiles()) {
      add_products<outer, inner>(product, lower, upper, pivots);
    } else {
      add_products<outer, outer>(product, lower, upper, pivots);
    }
  }

  /// Copies `product` to a hand-off buffer, for the block that factorizes a diagonal tile.
  __device__ void hand_off(Product& product, Scalar* to, int* flag_there) const {
    product.for_each([&](int a, int b, const Scalar& value) { to[b * edge + a] = -value; });
    __syncthreads();
    if (threadIdx.x != 0) return;
    fence();
    write_flag(flag_there, launch.run);
  }

  /// The entry at (c, r) for a `value` at (r, c).
  __device__ __forceinline__ Scalar mirrored(const Scalar& value) const {
    return launch.hermitian ? ScalarTraits<Scalar>::conjugate(value) : value;
  }
  /// Hands off both neighbours of diagonal tile s: the tile below it and its mirror image right of it.
  __device__ void hand_off_both(Product& product, int s) const {
    Scalar* const below = link(s, false);
    Scalar* const beside = link(s, true);
    product.for_each([&](int a, int b, const Scalar& value) {
      below[b * edge + a] = -value;
      beside[b * edge + a] = -mirrored(value);
    });
    __syncthreads();
    if (threadIdx.x != 0) return;
    fence();
    write_flag(link_flag(s, false), launch.run);
    write_flag(link_flag(s, true), launch.run);
  }

  /// Sends a slab of a full tile, with contiguous lines of `edge` entries, to shared memory.
  __device__ __forceinline__ static void send_lines(Scalar* to, const Scalar* from, int slab) {
    using Piece = int4;
    constexpr int whole = sizeof(Piece) / sizeof(Scalar), pieces = edge / whole;  // per line
    for (int e = static_cast<int>(threadIdx.x); e < inverse_depth * pieces; e += front_threads) {
      const int p = slab * inverse_depth + e / pieces, position = e % pieces * whole;
      __pipeline_memcpy_async(to + p * (edge + operand_pad<Scalar>)+position, from + p * edge + position,
                              sizeof(Piece));
    }
  }

  /// Sends a slab of a diagonal tile's inverse, with the zeros that are not stored, to shared memory.
  __device__ __forceinline__ void send_inverse(Scalar* to, int s, bool of_upper, int slab) const {
    using Piece = int4;
    constexpr int whole = sizeof(Piece) / sizeof(Scalar), pieces = edge / whole;  // per line
    const InverseTile layout = layout_of_inverse(s, of_upper);
    const int first = slab * inverse_depth, begin = layout.begin(first), length = layout.lines - begin;
    const Scalar* const line = inverse(s, of_upper) + layout(first, begin) - begin;
    for (int e = static_cast<int>(threadIdx.x); e < inverse_depth * pieces; e += front_threads) {
      const int position = e % pieces * whole;
      Scalar* const at = to + (first + e / pieces) * (edge + operand_pad<Scalar>)+position;
      if (position >= begin && position < layout.lines) {
        __pipeline_memcpy_async(at, line + e / pieces * length + position, sizeof(Piece));
      } else {
        *reinterpret_cast<Piece*>(at) = Piece{0, 0, 0, 0};
      }
    }
  }

  /// Adds the last product of a diagonal tile, whose factors it computes from its neighbours' hand-off
  /// buffers: waiting for the neighbours' factors would cost another trip through memory.
  __device__ void add_last_product(Product& product) const;

  /// Writes `product` to the panels, in the task's directions.
  __device__ void store(Product& product) const {
    const bool upper = in_upper();
    const int row = cut.begin(task.row), column = cut.begin(task.column);
    const int rows = extent(task.row, task.rows), columns = extent(task.column, task.columns);
    Scalar* const data = &dense().at(row, column);
    const bool by_rows = upper && task.column >= pivot_tiles();
    const Offset row_stride = by_rows ? front.cb_rows : 1;
    const Offset column_stride = by_rows ? 1 : front.size();
    product.for_each([&](int a, int b, const Scalar& value) {
      const int r = upper ? b : a, c = upper ? a : b;
      if (r < rows && c < columns) data[r * row_stride + c * column_stride] = value;
    });
  }

  /// Writes U(s, i) = D·L(i, s)ᵀ, or ᴴ, where `product` holds L. D is complete with tile (s, s).
  __device__ void store_mirrored(Product& product) const {
    const int row = cut.begin(task.row), column = cut.begin(task.column);
    const int rows = extent(task.row, task.rows), columns = extent(task.column, task.columns);
    const DenseFront<Scalar> own = dense();
    Scalar* const data = &own.at(column, row);
    const bool by_rows = task.row >= pivot_tiles();
    const Offset row_stride = by_rows ? front.cb_rows : 1;
    const Offset column_stride = by_rows ? 1 : front.size();
    const Scalar* const diagonal = &own.at(column, column);
    const Offset next = static_cast<Offset>(front.size()) + 1;
    product.for_each([&](int r, int c, const Scalar& value) {
      if (r < rows && c < columns)
        data[c * row_stride + r * column_stride] = mirrored(value) * diagonal[c * next];
    });
  }

  /// Likewise with pivots of order two.
  __device__ void store_mirrored_pairs(Product& product) const;

  /// Writes the contribution's tiles. Entries of the parent's pivots are added to its panels; at most two
  /// children add to an entry, so that their order does not affect the result.
  __device__ void store_contribution(Product& product) const {
    const Contribution left = launch.contributions[task.front];
    if (task.after > 0) {
      if (threadIdx.x < 32) wait_for_chunks(launch, task.after, task.front, static_cast<int>(threadIdx.x));
      __syncthreads();
    }
    const int kept = front.cb_rows - left.passed;
    const int row = cut.begin(task.row) - front.pivots, column = cut.begin(task.column) - front.pivots;
    const int rows = extent(task.row, task.rows), columns = extent(task.column, task.columns);
    Scalar* const contribution = launch.data.contributions + left.contribution;
    // symmetric matrices: whether the entry belongs to a tile of the lower triangle, and to one below the
    // diagonal
    const auto is_lower = [&](int r) { return !symmetric || task.row + r / edge >= task.column; };
    const auto is_below = [&](int r) { return symmetric && task.row + r / edge > task.column; };
    if (row >= left.passed && column >= left.passed) {
      Scalar* const data =
          contribution + (row - left.passed) + static_cast<Offset>(column - left.passed) * kept;
      Scalar* const transposed =
          contribution + (column - left.passed) + static_cast<Offset>(row - left.passed) * kept;
      product.for_each([&](int r, int c, const Scalar& value) {
        if (r >= rows || c >= columns) return;
        if (is_lower(r)) data[r + c * static_cast<Offset>(kept)] = -value;
        if (is_below(r)) transposed[c + r * static_cast<Offset>(kept)] = -mirrored(value);
      });
      return;
    }
    const DenseFront<Scalar> parent = launch.data.dense(launch.data.fronts[front.parent], front.parent);
    const int* const relative = launch.data.relative + front.rows;
    product.for_each([&](int r, int c, const Scalar& value) {
      if (r >= rows || c >= columns || !is_lower(r)) return;
      const int a = row + r, b = column + c;
      if (a >= left.passed && b >= left.passed) {
        contribution[a - left.passed + static_cast<Offset>(b - left.passed) * kept] = -value;
        if (is_below(r))
          contribution[b - left.passed + static_cast<Offset>(a - left.passed) * kept] = -mirrored(value);
      } else {
        subtract_shared(&parent.at(relative[a], relative[b]), value);
        // entries above the diagonal are needed only in the parent's diagonal tiles
        if (is_below(r) && relative[a] < parent.pivots && relative[a] / edge == relative[b] / edge)
          subtract_shared(&parent.at(relative[b], relative[a]), mirrored(value));
      }
    });
  }

  /// Reorders the rows of a diagonal tile, with symmetric interchanges also its columns; later steps need no
  /// interchanges.
  /// @param searches whether as the rule takes them in a trial elimination; otherwise in order, with pairs by
  ///                 their entries before the elimination
  __device__ void order_lines(int first, int pivots, bool searches) const;
  /// Whether an entry of L in a factorized tile exceeds the threshold, or a pivot was perturbed; by all
  /// threads. Symmetric interchanges can also spare multiplications by an inverse with large entries.
  __device__ bool has_large_multipliers(int pivots) const;
  /// LU of a diagonal tile in order, and if multipliers are too large once more with interchanges.
  __device__ void factorize_interchanged(int first, DiagonalTile<Scalar> tile) const;

  /// Stores the inverse of a diagonal tile's L so that it takes rows in their original order, or that of U so
  /// that it yields columns in theirs.
  __device__ void store_ordered_inverse(const Scalar* from, bool of_upper, int first, int pivots,
                                        int used) const;

  /// Data of a diagonal tile besides its entries in shared memory.
  __device__ DiagonalTile<Scalar> diagonal_tile() const {
    const int first = cut.begin(task.row);
    const Offset size = front.size();
    return {interchanges ? nullptr : inverse(task.row, false),
            is_whole(true) ? nullptr : inverse(task.row, true),
            dense().lower + first + first * size,
            size,
            cut.extent(task.row),
            launch.data.perturbed + front.first_pivot + first,
            &launch.data.outcome->perturbed,
            rule.threshold};
  }
  /// LU of a diagonal tile in shared memory, and the inverses of its triangles; stores all of them.
  __device__ void factorize_diagonal() const;

  /// Multiplies tiles of L by the inverse of their column's U, or tiles of U by the inverse of their row's L.
  /// The tiles are in shared memory.
  __device__ void multiply_by_inverse(Product& product) const {
    const bool upper = in_upper();
    const int s = upper ? task.row : task.column;
    const int last = (cut.extent(s) + inverse_depth - 1) / inverse_depth;
    Scalar* const operand = memory.space + edge * pitch;
    if (threadIdx.x == 0) wait_for_flag(launch, flag(s, s), task.front);
    __syncthreads();
    for (int q = 0; q < last; ++q) send_inverse(operand, s, !upper, q);
    __pipeline_commit();
    product.for_each([](int, int, Scalar& sum) { sum = Scalar(0); });
    wait_for_slabs(0);
    __syncthreads();
    using First = OperandLayout<Scalar, OperandOrder::outer, width>;
    using Second = OperandLayout<Scalar, OperandOrder::outer, edge>;
    if (layout_of_inverse(s, !upper).whole) {
      product.template add<First, Second>(memory.space, operand, last * inverse_depth);
    } else {
      product.template add_triangle<First, Second>(memory.space, operand, last * inverse_depth);
    }
    store(product);
    if constexpr (symmetric && interchanges) {
      store_mirrored_pairs(product);
    } else if constexpr (symmetric) {
      store_mirrored(product);
    }
  }

  /// Raises the flags of the tiles, and the front's flag after the last tile of the contribution. The fence
  /// pairs with those after the waits for these flags.
  __device__ void signal() const {
    __syncthreads();
    if (threadIdx.x != 0) return;
    fence();
    count_task(launch.progress, number.task, number.tasks);
    if (!in_contribution()) {
      write_flag(flag(task.row, task.column), launch.run);
      if (tiles > 1) write_flag(flag(task.row + task.rows - 1, task.column + task.columns - 1), launch.run);
      if (symmetric) {
        for (int r = 0; r < tiles; ++r) write_flag(flag(task.column, task.row + r), launch.run);
      }
      return;
    }
    const int edge_tiles = cut.count() - pivot_tiles();
    const int own =
        symmetric && task.row < task.column ? 1 : tiles;  // the upper tile of a pair does not count
    const int all = symmetric ? edge_tiles * (edge_tiles + 1) / 2 : edge_tiles * edge_tiles;
    if (atomicAdd(launch.arrived + task.front, own) + own < all) return;
    fence();
    launch.arrived[task.front] = 0;  // reset for the next factorization
    raise_flag(launch.done + task.front, launch.run);
  }

  __device__ void run() const {
    assemble();
    Product product;
    if (steps() > 0 || hands_off() || is_swept()) {
      const auto entry = [&](int a, int b) -> Scalar& { return memory.space[b * pitch + a]; };
      product.for_each([&](int a, int b, Scalar& sum) { sum = -entry(a, b); });
      __syncthreads();
      const bool makes_last = tiles == 1 && task.makes_last_product(cut);
      add_products(product, makes_last ? inners() - edge : inners());
      if (in_contribution()) {
        store_contribution(product);
        signal();
        return;
      }
      if constexpr (tiles == 1) {
        if (hands_off()) {
          if constexpr (symmetric) {
            hand_off_both(product, steps());
          } else {
            hand_off(product, link(steps(), in_upper()), link_flag(steps(), in_upper()));
          }
        }
        if (is_swept()) {
          hand_off(product, diagonal_link(steps()), diagonal_link_flag(steps()));
          if (threadIdx.x == 0) count_task(launch.progress, number.task, number.tasks);
          return;
        }
        if (makes_last) {
          __syncthreads();
          add_last_product(product);
        }
      }
      __syncthreads();
      product.for_each([&](int a, int b, Scalar& sum) { entry(a, b) = -sum; });
    }
    if constexpr (tiles == 1) {
      if (task.row == task.column) {
        __syncthreads();
        factorize_diagonal();
        signal();
        return;
      }
    }
    multiply_by_inverse(product);
    signal();
  }
};

}  // namespace lutra::Impl

#endif
