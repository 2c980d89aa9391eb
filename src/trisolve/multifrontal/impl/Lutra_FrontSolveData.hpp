// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_FRONTSOLVEDATA_HPP
#define LUTRA_FRONTSOLVEDATA_HPP

#include "Lutra_CsrView.hpp"
#include "Lutra_FrontPlan.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_MappedColumns.hpp"
#include "Lutra_ScalarTraits.hpp"

namespace lutra::Impl {

/// One of the two substitutions of a solve with L·U or its transpose: forward up the tree (L, or Uᵀ), or
/// backward down the tree (U, or Lᵀ).
struct FrontSweep {
  bool forward = true;
  bool transposed = false;
  bool conjugate = false;

  /// Whether the triangle has a unit diagonal, which is not stored.
  KOKKOS_FUNCTION bool unit() const { return forward != transposed; }
  /// An entry of the factors, conjugated if the sweep requires it.
  template <class Scalar>
  KOKKOS_FORCEINLINE_FUNCTION Scalar value(const Scalar& entry) const {
    if constexpr (ScalarTraits<Scalar>::is_complex) {
      return conjugate ? ScalarTraits<Scalar>::conjugate(entry) : entry;
    } else {
      return entry;
    }
  }
};

/// A submatrix of the panels: entry (r, c) is first[r·row + c·column]; one of the two strides is 1.
template <class Scalar>
struct PanelPart {
  const Scalar* first;
  std::int64_t row, column;

  KOKKOS_FORCEINLINE_FUNCTION bool by_columns() const { return row == 1; }
  KOKKOS_FORCEINLINE_FUNCTION const Scalar* at(int r, int c) const { return first + r * row + c * column; }
};

/// The triangle of a front's pivots.
/// @param lower the front's panels
/// @param front any type with the sizes of a `Front`
template <class Scalar, class Front>
KOKKOS_FUNCTION PanelPart<Scalar> pivot_part(const Scalar* lower, const Front& front,
                                             const FrontSweep& sweep) {
  const std::int64_t size = front.pivots + front.cb_rows;
  return sweep.transposed ? PanelPart<Scalar>{lower, size, 1} : PanelPart<Scalar>{lower, 1, size};
}

/// The off-diagonal block of a front in a sweep: forward cb_rows × pivots, backward pivots × cb_rows.
template <class Scalar, class Front>
KOKKOS_FUNCTION PanelPart<Scalar> off_diagonal_part(const Scalar* panel, const Front& front,
                                                    const FrontSweep& sweep) {
  const std::int64_t size = front.pivots + front.cb_rows, cb_rows = front.cb_rows;
  const Scalar* const lower = panel + front.pivots;
  const Scalar* const upper = panel + size * front.pivots;
  if (sweep.forward)
    return sweep.transposed ? PanelPart<Scalar>{upper, 1, cb_rows} : PanelPart<Scalar>{lower, 1, size};
  return sweep.transposed ? PanelPart<Scalar>{lower, size, 1} : PanelPart<Scalar>{upper, cb_rows, 1};
}

/// Vectors of a sweep, independent of the factors. They hold successive groups of right-hand sides; within a
/// group the values of a permuted index are contiguous.
template <class Scalar>
struct FrontVectors {
  using value_type = Scalar;

  const Front* fronts = nullptr;
  const Ordinal* rows = nullptr;  ///< permuted indices of the contribution rows of all fronts
  const Scalar* panels = nullptr;
  const std::uint32_t* source_begin = nullptr;  ///< [positions of all fronts + 1] offsets in `source`
  /// for each position, indices in `contributions` of the terms of its sum
  const std::uint32_t* source = nullptr;
  MappedColumns<const Scalar> in;    ///< right-hand sides
  MappedColumns<Scalar> out;         ///< solutions
  const Ordinal* in_row = nullptr;   ///< [n] row of `in` at each permuted index
  const Ordinal* out_row = nullptr;  ///< [n] row of `out` at each permuted index
  /// [contribution rows of all fronts] contributions to the parents' right-hand sides
  Scalar* contributions = nullptr;
  /// [n] by permuted index; forward: values of columns delayed by children; backward: solutions
  Scalar* by_index = nullptr;
  int n_columns = 0;
  FrontSweep sweep;
  RunControl::Query query;

  KOKKOS_FORCEINLINE_FUNCTION Scalar value(const Scalar& entry) const { return sweep.value(entry); }
  /// The right-hand side at a permuted index.
  KOKKOS_FORCEINLINE_FUNCTION Scalar right_side(std::int64_t index, int column) const {
    if (column >= n_columns) return Scalar(0);
    const auto row = static_cast<std::int64_t>(in_row[index]);
    return in.scaled(row, in.at(row, column));
  }
  KOKKOS_FORCEINLINE_FUNCTION void write_solution(std::int64_t index, int column, const Scalar& value) const {
    if (column >= n_columns) return;
    const auto row = static_cast<std::int64_t>(out_row[index]);
    out.at(row, column) = out.scaled(row, value);
  }
  /// Adds the children's contributions to value `w` of `width` at a position to `sum`.
  KOKKOS_FORCEINLINE_FUNCTION Scalar with_contributions(Scalar sum, std::int64_t position, int w,
                                                        int width) const {
    for (auto s = source_begin[position]; s < source_begin[position + 1]; ++s)
      sum += contributions[static_cast<std::int64_t>(source[s]) * width + w];
    return sum;
  }
};

/// Sets what sweeps read of the plan, the factors and the lists, and the caller's arrays.
template <class Plan, class Lists, class Factors, class System, class Scalar>
void set_vectors(const Plan& plan, const Lists& lists, const Factors& factors, const System& system,
                 FrontVectors<Scalar>& vectors) {
  vectors.fronts = plan.fronts.data();
  vectors.rows = plan.rows.data();
  vectors.panels = factors.panels.data();
  vectors.source_begin = lists.source_begin.data();
  vectors.source = lists.source.data();
  vectors.in = system.in;
  vectors.out = system.out;
  vectors.in_row = system.in_row.data();
  vectors.out_row = system.out_row.data();
  vectors.n_columns = system.n_columns;
}

/// A front as sweeps see it.
template <class Scalar>
struct SweptFront {
  Front front;
  const Scalar* panel;
  int eliminated;  ///< columns
  int columns;     ///< eliminated and delayed columns
  Scalar* y;       ///< values of all columns
  Scalar* contributions;
};

/// Arguments of a sweep with L·U.
template <class Scalar>
struct LuSolveData : FrontVectors<Scalar> {
  static constexpr bool is_symmetric = false;
  using Located = SweptFront<Scalar>;

  const Offset* panels_begin = nullptr;      ///< offset in `panels` of each front
  const Ordinal* order_of_pivots = nullptr;  ///< [n] row of each pivot after interchanges, for sweeps with L
                                             ///< or its transpose, and column for those with U; or null
  Scalar* solved = nullptr;  ///< [n] solutions of the forward sweep, right-hand sides of the backward sweep
  std::int64_t n = 0;        ///< order of F
  std::int64_t n_contributions = 0;  ///< contribution rows of all fronts

  template <int Width>
  KOKKOS_FUNCTION Located locate(Ordinal number) const {
    const Front front = this->fronts[number];
    return {front,
            this->panels + panels_begin[number],
            front.pivots,
            front.pivots,
            solved + static_cast<std::int64_t>(front.first_pivot) * Width,
            this->contributions + front.rows * Width};
  }
  KOKKOS_FUNCTION std::int64_t index_of(const Located& at, int p) const {
    return row_at(at.front.first_pivot + p);
  }
  /// The triangle of the pivots if `row` is 0, else the block beyond it.
  KOKKOS_FUNCTION PanelPart<Scalar> part(const Located& at, int row) const {
    return row == 0 ? pivot_part(at.panel, at.front, this->sweep)
                    : off_diagonal_part(at.panel, at.front, this->sweep);
  }
  /// Permuted index of the right-hand side (in a transposed solve: the solution) of a pivot.
  KOKKOS_FORCEINLINE_FUNCTION std::int64_t row_at(std::int64_t index) const {
    return order_of_pivots == nullptr ? index : static_cast<std::int64_t>(order_of_pivots[index]);
  }
};

}  // namespace lutra::Impl

#endif
