// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_LDLTSOLVEWORKER_HPP
#define LUTRA_LDLTSOLVEWORKER_HPP

#include "Lutra_FrontLdlt.hpp"
#include "Lutra_FrontSolver.hpp"
#include "Lutra_FrontSubstitution.hpp"
#include "Lutra_HostProduct.hpp"
#include "Lutra_Index.hpp"

namespace lutra::Impl {

// Substitution with the fronts of an L·D·Lᵀ whose columns may have been delayed (J. Hogg, E. Ovtchinnikov and
// J. Scott, ACM Trans. Math. Software 42, 2016). A front has eliminated columns e, delayed columns d and
// contribution rows b, in this order:
//
//         e
//       +-----+
//     e | L11 |   forward:  y_e = L11^-1 r_e,  r_d -= L21 y_e,  contribution to the parent: c_b - L31 y_e
//       +-----+
//     d | L21 |   diagonal: y_e = D^-1 y_e
//       +-----+
//     b | L31 |   backward: x_e = L11^-T (y_e - L21^T x_d - L31^T x_b),  x_d and x_b from the ancestors
//       +-----+
//
// r is the right-hand side plus the sum of the children's contributions; for columns delayed to the front it
// is the value that the child stored in `by_index`.

/// v −= A·x and unit triangles, like FrontProduct and FrontTriangle; on hosts, for one real right-hand side,
/// by the kernels of the factorization. The partition into blocks, and hence each sum, is the same for any
/// number of threads.
template <int Width, class Scalar, class Member>
struct LdltSubstitution {
  const Member& team;
  const FrontSweep& sweep;
  const ProductKernel<RealOf<Scalar>>* kernel;  ///< host kernel
  static constexpr bool by_kernels =
      Width == 1 && !ScalarTraits<Scalar>::is_complex && is_host_space<typename Member::execution_space>;

  KOKKOS_FUNCTION void subtract(const PanelPart<Scalar>& A, int rows, int columns, const Scalar* x,
                                Scalar* v) const {
    if constexpr (by_kernels) {
      KOKKOS_IF_ON_HOST((multiply(A, rows, columns, x, v);))
    } else {
      FrontProduct<Width, Scalar, Member>{team, sweep}(A, rows, columns, x, v);
    }
  }
  /// v = T⁻¹·v for a lower triangle of order n.
  KOKKOS_FUNCTION void solve_down(const PanelPart<Scalar>& T, int n, Scalar* v) const {
    if constexpr (by_kernels) {
      by_blocks(T, n, true, v,
                [&](int begin, int end) { KOKKOS_IF_ON_HOST((solve_block_down(T, begin, end, v);)) });
    } else {
      FrontTriangle<Width, Scalar, Member>{team, sweep}.solve_down(T, n, v);
    }
  }
  /// v = T⁻¹·v for an upper triangle.
  KOKKOS_FUNCTION void solve_up(const PanelPart<Scalar>& T, int n, Scalar* v) const {
    if constexpr (by_kernels) {
      by_blocks(T, n, false, v,
                [&](int begin, int end) { KOKKOS_IF_ON_HOST((solve_block_up(T, begin, end, v);)) });
    } else {
      FrontTriangle<Width, Scalar, Member>{team, sweep}.solve_up(T, n, v);
    }
  }

 private:
  static constexpr int block = 64;   ///< pivots solved by one thread
  static constexpr int in_turn = 4;  ///< pivots solved element by element

  template <class Solve>
  KOKKOS_FUNCTION void by_blocks(const PanelPart<Scalar>& T, int n, bool down, Scalar* v,
                                 const Solve& solve) const {
    substitute_by_blocks<Width>(team, T, n, block, down, v, solve,
                                [&](const PanelPart<Scalar>& A, int rows, int columns, const Scalar* x,
                                    Scalar* to) { subtract(A, rows, columns, x, to); });
  }

  /// The entries of `rows` are contiguous either by columns or by rows.
  void multiply_some(const PanelPart<Scalar>& A, int r, int rows, int columns, const Scalar* x,
                     Scalar* v) const {
    if (A.by_columns()) {
      kernel->column(rows, columns, v + r, A.at(r, 0), A.column, x, v + r);
    } else {
      kernel->transposed(columns, rows, A.at(r, 0), A.row, x, v + r);
    }
  }
  void multiply(const PanelPart<Scalar>& A, int rows, int columns, const Scalar* x, Scalar* v) const {
    if (rows == 0 || columns == 0) return;
    if (team.team_size() == 1) return multiply_some(A, 0, rows, columns, x, v);
    const int edge = A.by_columns() ? 128 : 8;
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, (rows + edge - 1) / edge), [&](const int b) {
      multiply_some(A, b * edge, std::min(edge, rows - b * edge), columns, x, v);
    });
  }

  void solve_block_down(const PanelPart<Scalar>& T, int begin, int end, Scalar* v) const {
    for (int b = begin; b < end; b += in_turn) {
      const int n = std::min(in_turn, end - b);
      for (int r = 1; r < n; ++r) {
        Scalar sum = v[b + r];
        for (int c = 0; c < r; ++c) sum -= *T.at(b + r, b + c) * v[b + c];
        v[b + r] = sum;
      }
      const int next = b + n;
      if (next < end) kernel->column(end - next, n, v + next, T.at(next, b), T.column, v + b, v + next);
    }
  }
  void solve_block_up(const PanelPart<Scalar>& T, int begin, int end, Scalar* v) const {
    for (int b = begin + (end - begin - 1) / in_turn * in_turn; b >= begin; b -= in_turn) {
      const int n = std::min(in_turn, end - b), next = b + n;
      if (next < end) kernel->transposed(end - next, n, T.at(b, next), T.row, v + next, v + b);
      for (int r = n - 1; r-- > 0;) {
        Scalar sum = v[b + r];
        for (int c = r + 1; c < n; ++c) sum -= *T.at(b + r, b + c) * v[b + c];
        v[b + r] = sum;
      }
    }
  }
};

/// Arguments of a sweep with L, D or Lᵀ. Vectors begin at the current group.
template <class Scalar>
struct LdltSolveData : FrontVectors<Scalar> {
  const Front* fronts = nullptr;
  const LdltFrontPlace* room = nullptr;
  const LdltRecord* records = nullptr;
  const Ordinal* rows = nullptr;  ///< permuted indices of the contribution rows of all fronts
  const Scalar* panels = nullptr;
  const Ordinal* variables = nullptr;  ///< indexed by slot, as in the factors, like the next arrays
  const Scalar* diagonal = nullptr;
  const Scalar* off_diagonal = nullptr;
  const PivotKind* kind = nullptr;
  Scalar* by_slot = nullptr;   ///< [slots] values of eliminated columns, kept between sweeps
  Scalar* by_index = nullptr;  ///< [n] forward: values of columns delayed by children; backward: solutions
  LdltParts parts;             ///< parts of this sweep; D and Lᵀ form one sweep
  bool hermitian = false;
  bool conjugate = false;                                 ///< conjugate D; the sweep conjugates L and Lᵀ
  bool loads = false;                                     ///< first sweep: reads right-hand sides
  bool stores = false;                                    ///< last sweep: writes solutions
  const ProductKernel<RealOf<Scalar>>* kernel = nullptr;  ///< host kernel
};

/// Sweeps over fronts, one team per front. Team barriers separate gathering from solving, and solving from
/// reading the solutions.
template <int Width, class Scalar>
struct LdltSolveWorker {
  LdltSolveData<Scalar> data;
  int first_column = 0;  ///< first column of the group

  template <class Member>
  KOKKOS_FUNCTION void operator()(const Member& team, Ordinal number) const {
    const Located at = locate(number);
    if (data.parts.lower) return forward(team, at);
    if (data.loads) load(team, at);
    if (data.parts.diagonal) solve_diagonal(team, at);
    if (data.parts.upper) backward(team, at);
    if (data.stores) store(team, at);
  }

  /// A front and its slots.
  struct Located {
    Front front;
    const Scalar* panel;
    const Ordinal* variables;
    Offset slots;    ///< first slot
    int eliminated;  ///< columns
    int columns;     ///< eliminated and delayed columns
    Scalar* y;       ///< values of all columns
    Scalar* contributions;

    KOKKOS_FUNCTION std::int64_t leading() const { return columns + front.cb_rows; }
    /// Rows of L from `row` on, or columns of its transpose.
    KOKKOS_FUNCTION PanelPart<Scalar> lower(int row) const { return {panel + row, 1, leading()}; }
    KOKKOS_FUNCTION PanelPart<Scalar> upper(int row) const { return {panel + row, leading(), 1}; }
  };

  KOKKOS_FUNCTION Located locate(Ordinal number) const {
    const Front front = data.fronts[number];
    const LdltFrontPlace room = data.room[number];
    const LdltRecord record = data.records[number];
    return {front,
            data.panels + room.panel - record.moved,
            data.variables + room.slots,
            room.slots,
            record.eliminated,
            front.pivots + record.delayed_in,
            data.by_slot + room.slots * Width,
            data.contributions + front.rows * Width};
  }

  /// Solves with a 2 × 2 pivot by its inverse. Its entries are divided by the largest, so that no product
  /// overflows.
  KOKKOS_FUNCTION void solve_two(const FrontSweep& D, Offset slot, Scalar& first, Scalar& second) const {
    using Real = RealOf<Scalar>;
    const auto magnitude = [](const Scalar& value) { return ScalarTraits<Scalar>::magnitude(value); };
    const Scalar a = D.value(data.diagonal[slot]), c = D.value(data.diagonal[slot + 1]);
    const Scalar b = D.value(data.off_diagonal[slot]);
    const Scalar above = data.hermitian ? ScalarTraits<Scalar>::conjugate(b) : b;
    const Real largest = Kokkos::max(magnitude(b), Kokkos::max(magnitude(a), magnitude(c)));
    const Scalar p = a / largest, q = b / largest, r = c / largest, q_above = above / largest;
    const Scalar determinant = p * c - q * above;  // divided by `largest`
    const Scalar x = (r * first - q_above * second) / determinant;
    second = (p * second - q * first) / determinant;
    first = x;
  }

 private:
  template <class Member>
  KOKKOS_FUNCTION void forward(const Member& team, const Located& at) const {
    const Front& front = at.front;
    Kokkos::parallel_for(Kokkos::TeamVectorRange(team, at.columns + front.cb_rows), [&](const int p) {
      const bool is_slot = p < at.columns;
      // contribution rows are numbered after the front's own pivots
      const std::int64_t index = is_slot ? static_cast<std::int64_t>(at.variables[p])
                                         : front.first_pivot + front.pivots + (p - at.columns);
      const bool is_own = is_slot && index >= front.first_pivot && index < front.first_pivot + front.pivots;
      Scalar* const to = is_slot ? at.y + p * Width : at.contributions + (p - at.columns) * Width;
      for (int w = 0; w < Width; ++w) {
        const Scalar own = is_own ? data.right_side(index, first_column + w) : Scalar(0);
        to[w] = is_slot && !is_own ? data.by_index[index * Width + w]
                                   : data.with_contributions(own, front.rows + index, w, Width);
      }
    });
    team.team_barrier();
    const int e = at.eliminated;
    const LdltSubstitution<Width, Scalar, Member> by{team, data.sweep, data.kernel};
    by.solve_down(at.lower(0), e, at.y);
    by.subtract(at.lower(e), at.columns - e, e, at.y, at.y + e * Width);
    by.subtract(at.lower(at.columns), front.cb_rows, e, at.y, at.contributions);
    team.team_barrier();
    Kokkos::parallel_for(Kokkos::TeamVectorRange(team, e, at.columns), [&](const int p) {
      for (int w = 0; w < Width; ++w)
        data.by_index[static_cast<std::int64_t>(at.variables[p]) * Width + w] = at.y[p * Width + w];
    });
    if (data.stores) store(team, at);
  }

  /// Uses the slots of the contribution rows in `contributions` as scratch.
  template <class Member>
  KOKKOS_FUNCTION void backward(const Member& team, const Located& at) const {
    const int e = at.eliminated, delayed = at.columns - e;
    Kokkos::parallel_for(Kokkos::TeamVectorRange(team, delayed + at.front.cb_rows), [&](const int r) {
      const Ordinal variable = r < delayed ? at.variables[e + r] : data.rows[at.front.rows + r - delayed];
      Scalar* const to = r < delayed ? at.y + (e + r) * Width : at.contributions + (r - delayed) * Width;
      for (int w = 0; w < Width; ++w) to[w] = data.by_index[static_cast<std::int64_t>(variable) * Width + w];
    });
    team.team_barrier();
    const LdltSubstitution<Width, Scalar, Member> by{team, data.sweep, data.kernel};
    by.subtract(at.upper(at.columns), e, at.front.cb_rows, at.contributions, at.y);
    team.team_barrier();
    by.subtract(at.upper(e), e, delayed, at.y + e * Width, at.y);
    team.team_barrier();
    by.solve_up(at.upper(0), e, at.y);
    Kokkos::parallel_for(Kokkos::TeamVectorRange(team, e), [&](const int p) {
      for (int w = 0; w < Width; ++w)
        data.by_index[static_cast<std::int64_t>(at.variables[p]) * Width + w] = at.y[p * Width + w];
    });
  }

  template <class Member>
  KOKKOS_FUNCTION void solve_diagonal(const Member& team, const Located& at) const {
    const FrontSweep D{false, false, data.conjugate};
    Kokkos::parallel_for(Kokkos::TeamVectorRange(team, at.eliminated), [&](const int p) {
      const Offset slot = at.slots + p;
      const PivotKind kind = data.kind[slot];
      for (int w = 0; w < Width; ++w) {
        Scalar* const value = at.y + p * Width + w;
        if (kind == PivotKind::zero) *value = Scalar(0);
        if (kind == PivotKind::one_by_one || kind == PivotKind::perturbed)
          *value /= D.value(data.diagonal[slot]);
        if (kind == PivotKind::first_of_two) solve_two(D, slot, value[0], value[Width]);
      }
    });
    team.team_barrier();
  }

  template <class Member>
  KOKKOS_FUNCTION void load(const Member& team, const Located& at) const {
    Kokkos::parallel_for(Kokkos::TeamVectorRange(team, at.eliminated), [&](const int p) {
      for (int w = 0; w < Width; ++w)
        at.y[p * Width + w] = data.right_side(static_cast<std::int64_t>(at.variables[p]), first_column + w);
    });
    team.team_barrier();
  }

  template <class Member>
  KOKKOS_FUNCTION void store(const Member& team, const Located& at) const {
    Kokkos::parallel_for(Kokkos::TeamVectorRange(team, at.eliminated), [&](const int p) {
      for (int w = 0; w < Width; ++w)
        data.write_solution(static_cast<std::int64_t>(at.variables[p]), first_column + w,
                            at.y[p * Width + w]);
    });
  }
};

}  // namespace lutra::Impl

#endif
