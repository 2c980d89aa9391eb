// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_HOSTFRONT_HPP
#define LUTRA_HOSTFRONT_HPP

#include <algorithm>
#include <array>
#include <utility>

#include "Lutra_FrontKernels.hpp"

namespace lutra::Impl {

/// Partial LU of one dense front on host threads, recursive by halves of the pivots (S. Toledo, SIAM J.
/// Matrix Anal. Appl. 18, 1997), so that nearly all flops are in products of large blocks:
///
///     eliminate(left half); solve_columns(right half); subtract(rest of the right half); eliminate(right
///     half)
///
/// `Loop` distributes work (Lutra_FrontTeams.hpp). The summation order of each entry is independent of the
/// ranges, so results are bitwise equal for any number of threads. Left early once the running call has to
/// end.
template <class Scalar, class Loop>
class HostFront {
 public:
  using Real = RealOf<Scalar>;

  HostFront(const ProductKernel<Real>& kernel, const Loop& loop)
      : m_kernel(kernel), m_loop(loop), m_products{kernel, loop} {}

  /// @param note_pivot    called with the pivot's index and whether it was perturbed
  /// @param note_exchange its `rows` is called with the two rows of an interchange
  template <class NotePivot, class NoteExchange = NoteNoExchange>
  void factorize(const DenseFront<Scalar>& front, const PivotRule<Scalar>& rule, const NotePivot& note_pivot,
                 const NoteExchange& note_exchange = {}) const {
    eliminate(front, 0, front.pivots, rule, note_pivot, note_exchange);
    finish_columns(front, 0, front.cb_rows);
  }

  // Steps of a front divided by columns, without interchanges.

  /// Eliminates the pivots [begin, end) in their own columns, below those before them.
  template <class NotePivot>
  void eliminate_columns(const DenseFront<Scalar>& front, int begin, int end, const PivotRule<Scalar>& rule,
                         const NotePivot& note_pivot) const {
    eliminate(front, begin, end, rule, note_pivot, NoteNoExchange());
  }
  /// U of the pivots [begin, end) in the columns [first, last) of later pivots, and their products.
  void update_columns(const DenseFront<Scalar>& front, int begin, int end, int first, int last) const {
    if (m_products.must_stop()) return;
    const std::int64_t ld = front.size();
    Scalar* const right = front.lower + first * ld;
    const Scalar* const L = front.lower + begin * ld;
    const int pivots = end - begin;
    m_loop(last - first, m_products.short_chunk_of(last - first, 1.0 * pivots * pivots),
           [&](int c, int c_end, Real* buffer) {
             solve_columns(pivots, c_end - c, L + begin, ld, right + c * ld + begin, ld, buffer);
           });
    m_products.subtract(front.size() - end, last - first, pivots, L + end, ld, {right + begin, 1, ld},
                        right + end, ld);
  }
  /// U and contributions in the columns [first, last) right of the pivots, all of which are eliminated.
  void finish_columns(const DenseFront<Scalar>& front, int first, int last) const {
    if (first == last || m_products.must_stop()) return;
    // U right of the pivots: solves with L11 transposed on the transpose of U, stored by columns
    const std::int64_t ld = front.size(), cb_rows = front.cb_rows;
    Scalar* const upper = front.upper + first;
    m_loop(last - first, m_products.short_chunk_of(last - first, 1.0 * front.pivots * front.pivots),
           [&](int begin, int end, Real* buffer) {
             if (m_products.must_stop()) return;
             solve_unit(end - begin, front.pivots, upper + begin, cb_rows, {front.lower, 1, ld}, buffer);
           });
    m_products.subtract(front.cb_rows, last - first, front.pivots, front.lower + front.pivots, ld,
                        {upper, cb_rows, 1}, front.contribution + first * cb_rows, cb_rows);
  }

 private:
  static constexpr int narrow = 8;  ///< columns eliminated one by one

  /// Eliminates the pivots [begin, end) in their own columns, all rows.
  template <class NotePivot, class NoteExchange>
  void eliminate(const DenseFront<Scalar>& front, int begin, int end, const PivotRule<Scalar>& rule,
                 const NotePivot& note_pivot, const NoteExchange& note_exchange) const {
    if (end - begin <= narrow) return eliminate_narrow(front, begin, end, rule, note_pivot, note_exchange);
    if (m_products.must_stop()) return;
    const int middle = begin + halve(end - begin);
    eliminate(front, begin, middle, rule, note_pivot, note_exchange);
    update_columns(front, begin, middle, middle, end);
    eliminate(front, middle, end, rule, note_pivot, note_exchange);
  }

  /// About half, a multiple of `narrow`.
  static int halve(int n) { return std::max(narrow, n / 2 / narrow * narrow); }

  template <class NotePivot, class NoteExchange>
  void eliminate_narrow(const DenseFront<Scalar>& front, int begin, int end, const PivotRule<Scalar>& rule,
                        const NotePivot& note_pivot, const NoteExchange& note_exchange) const {
    const int size = front.size();
    std::array<int, narrow> rows{};  // row interchanged with each pivot, in order
    bool any_moves = false;
    for (int j = begin; j < end; ++j) {
      Scalar* const KOKKOS_RESTRICT pivot_column = front.lower + static_cast<std::int64_t>(j) * size;
      if (rule.interchanges()) {
        const int row = choose_row(pivot_column, j, rule.block_end(j, front.pivots), rule);
        rows[static_cast<std::size_t>(j - begin)] = row;
        if (row != j) {
          any_moves = true;
          for (int c = begin; c < end; ++c) exchange_in_column(front, c, j, row);
          note_exchange.rows(j, row);
        }
      }
      bool is_perturbed = false;
      pivot_column[j] = rule(pivot_column[j], is_perturbed);
      note_pivot(j, is_perturbed);
      divide_by_pivot(pivot_column, j, size);
      for (int c = j + 1; c < end; ++c) {
        Scalar* const KOKKOS_RESTRICT column = front.lower + static_cast<std::int64_t>(c) * size;
        const Scalar factor = column[j];
        for (int r = j + 1; r < size; ++r) column[r] -= pivot_column[r] * factor;
      }
    }
    if (any_moves) move_rows(front, begin, end, rows);
  }

  /// Pivot row for column j in [j, end): j itself if |diagonal| ≥ keep · max |column j|, else the first row
  /// with the largest entry.
  static int choose_row(const Scalar* column, int j, int end, const PivotRule<Scalar>& rule) {
    const Real own = ScalarTraits<Scalar>::magnitude(column[j]);
    Real greatest = own;
    int row = j;
    for (int r = j + 1; r < end; ++r) {
      const Real size = ScalarTraits<Scalar>::magnitude(column[r]);
      if (!(size > greatest)) continue;
      greatest = size;
      row = r;
    }
    return own >= rule.keep * greatest ? j : row;
  }

  static void exchange_in_column(const DenseFront<Scalar>& front, int c, int a, int b) {
    Scalar* const column = front.lower + static_cast<std::int64_t>(c) * front.size();
    std::swap(column[a], column[b]);
  }

  /// Applies the interchanges of the pivots [begin, end) to all other columns.
  void move_rows(const DenseFront<Scalar>& front, int begin, int end,
                 const std::array<int, narrow>& rows) const {
    const std::int64_t cb_rows = front.cb_rows;
    m_loop(front.pivots, m_products.chunk_of(front.pivots, 8.0 * narrow), [&](int first, int last, Real*) {
      for (int c = first; c < last; ++c) {
        if (c >= begin && c < end) continue;
        for (int j = begin; j < end; ++j)
          exchange_in_column(front, c, j, rows[static_cast<std::size_t>(j - begin)]);
      }
    });
    m_loop(front.cb_rows, m_products.chunk_of(front.cb_rows, 8.0 * narrow), [&](int first, int last, Real*) {
      for (int j = begin; j < end; ++j) {
        const int row = rows[static_cast<std::size_t>(j - begin)];
        if (row == j) continue;
        Scalar* const own = front.upper + j * cb_rows;
        std::swap_ranges(own + first, own + last, front.upper + row * cb_rows + first);
      }
    });
  }

  /// X := L⁻¹·X for a unit lower L of `n` rows, X n × columns by columns.
  void solve_columns(int n, int columns, const Scalar* L, std::int64_t ld, Scalar* X, std::int64_t ldx,
                     Real* buffer) const {
    if (n > narrow) {
      const int top = halve(n);
      solve_columns(top, columns, L, ld, X, ldx, buffer);
      m_products.multiply(m_kernel, n - top, columns, top, L + top, ld, {X, 1, ldx}, X + top, ldx, buffer);
      solve_columns(n - top, columns, L + top + top * ld, ld, X + top, ldx, buffer);
      return;
    }
    for (int c = 0; c < columns; ++c) {
      Scalar* const x = X + c * ldx;
      for (int j = 0; j < n; ++j) {
        for (int i = j + 1; i < n; ++i) x[i] -= L[i + j * ld] * x[j];
      }
    }
  }

  /// X := X·L⁻ᵀ for a unit lower L of `n` rows, X rows × n by columns.
  void solve_unit(int rows, int n, Scalar* X, std::int64_t ldx, const Strided<Scalar>& L,
                  Real* buffer) const {
    if (n > narrow) {
      const int left = halve(n);
      solve_unit(rows, left, X, ldx, L, buffer);
      // L's lower left block, transposed
      m_products.multiply(m_kernel, rows, n - left, left, X, ldx, {&L(left, 0), L.column, L.row},
                          X + left * ldx, ldx, buffer);
      solve_unit(rows, n - left, X + left * ldx, ldx, {&L(left, left), L.row, L.column}, buffer);
      return;
    }
    for (int c = 1; c < n; ++c) {
      Scalar* const KOKKOS_RESTRICT to = X + c * ldx;
      for (int j = 0; j < c; ++j) {
        const Scalar* const KOKKOS_RESTRICT from = X + j * ldx;
        const Scalar factor = L(c, j);
        for (int r = 0; r < rows; ++r) to[r] -= from[r] * factor;
      }
    }
  }

  const ProductKernel<Real>& m_kernel;
  const Loop& m_loop;
  HostProducts<Scalar, Loop> m_products;
};

}  // namespace lutra::Impl

#endif
