// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_HOSTPRODUCTKERNEL_HPP
#define LUTRA_HOSTPRODUCTKERNEL_HPP

// C −= A·B in registers, for sources compiled for one instruction set each. No function here, nor an inline
// function of another header, may be shared between two of them under one name: the linker would keep one
// copy, which some machines cannot run. Hence everything is a template over `Isa`, without the standard
// library.
//
// Blocking as in K. Goto and R. A. van de Geijn, ACM Trans. Math. Software 34 (2008): a sliver of B stays in
// L1, a block of A in L2.

#include "Lutra_HostProduct.hpp"

namespace lutra::Impl {

/// `Isa` defines: bytes (of a register); rows and columns of a register tile, rows in registers.
template <class Isa, class Real>
struct RegisterTile {
  static constexpr int lanes = Isa::bytes / static_cast<int>(sizeof(Real));
  typedef Real Vector __attribute__((vector_size(Isa::bytes)));
  typedef Real Unaligned __attribute__((vector_size(Isa::bytes), aligned(sizeof(Real)), may_alias));

  static Vector load(const Real* from) { return *reinterpret_cast<const Unaligned*>(from); }
  static void store(Real* to, const Vector& value) { *reinterpret_cast<Unaligned*>(to) = value; }

  /// Operands of a tile: A's rows are contiguous, `a_step` apart by depth; B's columns are `b_next` apart.
  struct Operands {
    const Real* a;
    std::int64_t a_step;
    const Real* b;
    std::int64_t b_step, b_next;
  };

  /// Tile of `Registers`·lanes × `Columns`, restricted to `rows` × `columns` of C.
  template <int Registers, int Columns>
  static void subtract(int depth, const Operands& from, Real* C, std::int64_t ldc, int rows, int columns) {
    Vector sum[Columns][Registers] = {};
    const Real* b[Columns];
    for (int c = 0; c < Columns; ++c) b[c] = from.b + (c < columns ? c : 0) * from.b_next;
    const Real* a = from.a;
    const std::int64_t a_step = from.a_step, b_step = from.b_step;
    for (int p = 0; p < depth; ++p) {
      Vector row[Registers];
      for (int r = 0; r < Registers; ++r) row[r] = load(a + r * lanes);
      for (int c = 0; c < Columns; ++c) {
        const Real factor = *b[c];
        b[c] += b_step;
        for (int r = 0; r < Registers; ++r) sum[c][r] += row[r] * factor;
      }
      a += a_step;
    }
    finish<Registers, Columns>(sum, C, ldc, rows, columns);
  }

  /// Version for packed slivers.
  template <int Registers, int Columns>
  static void subtract_packed(int depth, const Real* a, const Real* b, Real* C, std::int64_t ldc, int rows,
                              int columns) {
    Vector sum[Columns][Registers] = {};
    for (int c = 0; c < Columns; ++c) __builtin_prefetch(C + (c < columns ? c : 0) * ldc, 1);
    for (int p = 0; p < depth; ++p) {
      Vector row[Registers];
      for (int r = 0; r < Registers; ++r) row[r] = load(a + r * lanes);
      for (int c = 0; c < Columns; ++c) {
        const Real factor = b[c];
        for (int r = 0; r < Registers; ++r) sum[c][r] += row[r] * factor;
      }
      a += Registers * lanes;
      b += Columns;
    }
    finish<Registers, Columns>(sum, C, ldc, rows, columns);
  }

  template <int Registers, int Columns>
  static void finish(Vector (&sum)[Columns][Registers], Real* C, std::int64_t ldc, int rows, int columns) {
    if (rows == Registers * lanes && columns == Columns) {
      for (int c = 0; c < Columns; ++c) {
        for (int r = 0; r < Registers; ++r) {
          Real* const to = C + c * ldc + r * lanes;
          store(to, load(to) - sum[c][r]);
        }
      }
      return;
    }
    Real whole[Registers * lanes];
    for (int c = 0; c < Columns; ++c) {
      if (c >= columns) break;
      for (int r = 0; r < Registers; ++r) store(whole + r * lanes, sum[c][r]);
      for (int r = 0; r < rows; ++r) C[c * ldc + r] -= whole[r];
    }
  }

  /// Complex version, with separate slivers of real and imaginary parts.
  template <int Registers, int Columns>
  static void subtract_complex(int depth, const Real* a, const Real* b, Real* C, std::int64_t ldc, int rows,
                               int columns) {
    Vector real[Columns][Registers] = {}, imaginary[Columns][Registers] = {};
    for (int p = 0; p < depth; ++p) {
      Vector row[2][Registers];
      for (int r = 0; r < Registers; ++r) {
        row[0][r] = load(a + r * lanes);
        row[1][r] = load(a + (Registers + r) * lanes);
      }
      for (int c = 0; c < Columns; ++c) {
        const Real br = b[2 * c], bi = b[2 * c + 1];
        for (int r = 0; r < Registers; ++r) {
          real[c][r] += row[0][r] * br;
          real[c][r] -= row[1][r] * bi;
          imaginary[c][r] += row[0][r] * bi;
          imaginary[c][r] += row[1][r] * br;
        }
      }
      a += 2 * Registers * lanes;
      b += 2 * Columns;
    }
    Real whole[2][Registers * lanes];
    for (int c = 0; c < Columns; ++c) {
      if (c >= columns) break;
      for (int r = 0; r < Registers; ++r) {
        store(whole[0] + r * lanes, real[c][r]);
        store(whole[1] + r * lanes, imaginary[c][r]);
      }
      for (int r = 0; r < rows; ++r) {
        C[2 * (c * ldc + r)] -= whole[0][r];
        C[2 * (c * ldc + r) + 1] -= whole[1][r];
      }
    }
  }
};

/// Products with one column, and the largest magnitude of the result.
template <class Isa, class Real>
struct ColumnUpdate {
  using Tile = RegisterTile<Isa, Real>;
  using Vector = typename Tile::Vector;
  static constexpr int lanes = Tile::lanes;

  static Real update(int n, int depth, const Real* from, const Real* A, std::int64_t lda, const Real* x,
                     Real* to) {
    Vector largest = {}, bad = {};  // 0 times a value that is not finite is NaN
    int i = 0;
    for (; i + 4 * lanes <= n; i += 4 * lanes)
      subtract<4>(depth, from + i, A + i, lda, x, to + i, largest, bad);
    for (; i + lanes <= n; i += lanes) subtract<1>(depth, from + i, A + i, lda, x, to + i, largest, bad);
    if (i < n) {
      Real rest[lanes] = {};
      Vector of_all = {}, of_all_bad = {};
      Real whole[lanes];
      subtract<1>(depth, from + i, A + i, lda, x, whole, of_all, of_all_bad);
      for (int r = 0; r < n - i; ++r) to[i + r] = rest[r] = whole[r];
      note(Tile::load(rest), largest, bad);
    }
    Real result(0), sum(0);
    for (int r = 0; r < lanes; ++r) {
      if (largest[r] > result) result = largest[r];
      sum += bad[r];
    }
    return sum == Real(0) ? result : static_cast<Real>(__builtin_inff());
  }
  static void transposed(int n, int columns, const Real* A, std::int64_t lda, const Real* x, Real* to) {
    int c = 0;
    for (; c + 4 <= columns; c += 4) dot<4>(n, A + c * lda, lda, x, to + c);
    for (; c < columns; ++c) dot<1>(n, A + c * lda, lda, x, to + c);
  }
  static void scale(int n, Real factor, const Real* from, Real* to) {
    int i = 0;
    for (; i + lanes <= n; i += lanes) Tile::store(to + i, Tile::load(from + i) * factor);
    for (; i < n; ++i) to[i] = from[i] * factor;
  }

 private:
  template <int Columns>
  static void dot(int n, const Real* A, std::int64_t lda, const Real* x, Real* to) {
    Vector sum[Columns] = {};
    Real rest[Columns] = {};
    int i = 0;
    for (; i + lanes <= n; i += lanes) {
      const Vector factor = Tile::load(x + i);
      for (int c = 0; c < Columns; ++c) sum[c] += Tile::load(A + i + c * lda) * factor;
    }
    for (; i < n; ++i) {
      for (int c = 0; c < Columns; ++c) rest[c] += A[i + c * lda] * x[i];
    }
    for (int c = 0; c < Columns; ++c) {
      if (n >= lanes) {
        for (int r = 0; r < lanes; ++r) rest[c] += sum[c][r];
      }
      to[c] -= rest[c];
    }
  }
  static void note(const Vector& value, Vector& largest, Vector& bad) {
    const Vector size = value < Real(0) ? -value : value;
    largest = size > largest ? size : largest;
    bad += value * Real(0);
  }
  template <int Registers>
  static void subtract(int depth, const Real* from, const Real* A, std::int64_t lda, const Real* x, Real* to,
                       Vector& largest, Vector& bad) {
    Vector sum[Registers];
    for (int r = 0; r < Registers; ++r) sum[r] = Tile::load(from + r * lanes);
    for (int p = 0; p < depth; ++p) {
      const Real factor = x[p];
      for (int r = 0; r < Registers; ++r) sum[r] -= Tile::load(A + r * lanes) * factor;
      A += lda;
    }
    for (int r = 0; r < Registers; ++r) {
      Tile::store(to + r * lanes, sum[r]);
      note(sum[r], largest, bad);
    }
  }
};

/// Products of any size.
template <class Isa, class Real>
struct BlockedProduct {
  using Tile = RegisterTile<Isa, Real>;
  static constexpr int lanes = Tile::lanes;
  // Blocks: depth of slivers, rows of A's block, columns of B's. Both fit the buffer.
  static constexpr int max_depth = 256;
  // In double, A's block has 768 KiB and stays in an L2 cache of 1 MiB, B's slivers of 8 columns have 16 KiB
  // and stay in L1. 384 is a multiple of all tile heights.
  static constexpr int block_rows = 384, block_columns = 512;

  static int least(int a, int b) { return a < b ? a : b; }

  static void run(const ProductTask<Real>& task, Real* buffer) {
    // A block of A read once or twice is not worth packing.
    if (task.columns < 8 * Isa::columns || task.depth < 8) {
      run_in_place(task, buffer);
    } else {
      run_packed<1>(task, buffer);
    }
  }
  static void run_complex(const ProductTask<Real>& task, Real* buffer) { run_packed<2>(task, buffer); }

 private:
  static void run_in_place(const ProductTask<Real>& task, Real* buffer) {
    constexpr int tile_rows = Isa::registers * lanes;
    for (int i = 0; i < task.rows; i += tile_rows) {
      const int rows = least(tile_rows, task.rows - i);
      const int registers = (rows + lanes - 1) / lanes;
      const bool padded = rows % lanes != 0;
      // rows that do not fill registers are copied, to avoid reads past the end of A
      for (int p0 = 0; p0 < task.depth; p0 += max_depth) {
        const int depth = least(max_depth, task.depth - p0);
        const Real* a = task.A + i + p0 * task.lda;
        std::int64_t a_step = task.lda;
        if (padded) {
          pack_rows(a, task.lda, rows, registers * lanes, depth, buffer);
          a = buffer;
          a_step = registers * lanes;
        }
        for (int j = 0; j < task.columns && i + rows - 1 + task.diagonal >= j; j += Isa::columns) {
          const typename Tile::Operands from{a, a_step, task.B + p0 * task.b_row + j * task.b_column,
                                             task.b_row, task.b_column};
          with_registers<Isa::registers>(registers, depth, from, task.C + i + j * task.ldc, task.ldc, rows,
                                         least(Isa::columns, task.columns - j));
        }
      }
    }
  }

  template <int Registers>
  static void with_registers(int registers, int depth, const typename Tile::Operands& from, Real* C,
                             std::int64_t ldc, int rows, int columns) {
    if constexpr (Registers > 1) {
      if (registers < Registers)
        return with_registers<Registers - 1>(registers, depth, from, C, ldc, rows, columns);
    }
    if (columns == 1) {
      Tile::template subtract<Registers, 1>(depth, from, C, ldc, rows, columns);
    } else if (2 * columns <= Isa::columns) {
      Tile::template subtract<Registers, Isa::columns / 2>(depth, from, C, ldc, rows, columns);
    } else {
      Tile::template subtract<Registers, Isa::columns>(depth, from, C, ldc, rows, columns);
    }
  }

  static void pack_rows(const Real* A, std::int64_t lda, int rows, int padded_rows, int depth, Real* to) {
    for (int p = 0; p < depth; ++p, to += padded_rows) {
      for (int r = 0; r < rows; ++r) to[r] = A[p * lda + r];
      for (int r = rows; r < padded_rows; ++r) to[r] = Real(0);
    }
  }

  /// `Parts` is 2 for complex values.
  template <int Parts>
  static void run_packed(const ProductTask<Real>& task, Real* buffer) {
    constexpr int tile_rows = (Parts == 1 ? Isa::registers : Isa::complex_registers) * lanes;
    constexpr int tile_columns = Parts == 1 ? Isa::columns : Isa::complex_columns;
    constexpr int depth_block = max_depth / Parts;
    constexpr int rows_block = block_rows / tile_rows * tile_rows;
    Real* const packed_A = buffer;
    Real* const packed_B = buffer + block_rows * max_depth;
    for (int j0 = 0; j0 < task.columns; j0 += block_columns) {
      const int columns = least(block_columns, task.columns - j0);
      for (int p0 = 0; p0 < task.depth; p0 += depth_block) {
        const int depth = least(depth_block, task.depth - p0);
        pack_B<Parts, tile_columns>(task.B + Parts * (p0 * task.b_row + j0 * task.b_column), task.b_row,
                                    task.b_column, depth, columns, packed_B);
        for (int i0 = 0; i0 < task.rows; i0 += rows_block) {
          const int rows = least(rows_block, task.rows - i0);
          if (i0 + rows - 1 + task.diagonal < j0) continue;
          pack_A<Parts, tile_rows>(task.A + Parts * (i0 + p0 * task.lda), task.lda, rows, depth, packed_A);
          multiply_block<Parts, tile_rows, tile_columns>(packed_A, packed_B, rows, columns, depth,
                                                         task.C + Parts * (i0 + j0 * task.ldc), task.ldc,
                                                         i0 + task.diagonal - j0);
        }
      }
    }
  }

  template <int Parts, int TileRows, int TileColumns>
  static void multiply_block(const Real* A, const Real* B, int rows, int columns, int depth, Real* C,
                             std::int64_t ldc, std::int64_t diagonal) {
    for (int j = 0; j < columns; j += TileColumns) {
      const Real* const b = B + static_cast<std::int64_t>(Parts) * j * depth;
      for (int i = 0; i < rows; i += TileRows) {
        if (i + TileRows - 1 + diagonal < j) continue;
        const Real* const a = A + static_cast<std::int64_t>(Parts) * i * depth;
        Real* const c = C + Parts * (i + j * ldc);
        const int tile_rows = least(TileRows, rows - i), tile_columns = least(TileColumns, columns - j);
        if constexpr (Parts == 1) {
          Tile::template subtract_packed<Isa::registers, TileColumns>(depth, a, b, c, ldc, tile_rows,
                                                                      tile_columns);
        } else {
          Tile::template subtract_complex<Isa::complex_registers, TileColumns>(depth, a, b, c, ldc, tile_rows,
                                                                               tile_columns);
        }
      }
    }
  }

  /// Packs slivers of TileRows rows, padded with zeros; complex parts separated.
  template <int Parts, int TileRows>
  static void pack_A(const Real* A, std::int64_t lda, int rows, int depth, Real* to) {
    for (int i = 0; i < rows; i += TileRows) {
      const int here = least(TileRows, rows - i);
      for (int p = 0; p < depth; ++p) {
        const Real* const from = A + Parts * (i + p * lda);
        for (int part = 0; part < Parts; ++part, to += TileRows) {
          if (here == TileRows) {
            for (int r = 0; r < TileRows; ++r) to[r] = from[Parts * r + part];
          } else {
            for (int r = 0; r < here; ++r) to[r] = from[Parts * r + part];
            for (int r = here; r < TileRows; ++r) to[r] = Real(0);
          }
        }
      }
    }
  }

  /// Packs slivers of TileColumns columns, padded with zeros.
  template <int Parts, int TileColumns>
  static void pack_B(const Real* B, std::int64_t b_row, std::int64_t b_column, int depth, int columns,
                     Real* to) {
    for (int j = 0; j < columns; j += TileColumns) {
      const int here = least(TileColumns, columns - j);
      for (int p = 0; p < depth; ++p) {
        const Real* const from = B + Parts * (p * b_row + j * b_column);
        for (int c = 0; c < TileColumns; ++c) {
          for (int part = 0; part < Parts; ++part)
            *to++ = c < here ? from[Parts * c * b_column + part] : Real(0);
        }
      }
    }
  }
};

}  // namespace lutra::Impl

#endif
