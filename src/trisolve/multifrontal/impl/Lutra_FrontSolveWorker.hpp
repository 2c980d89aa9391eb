// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_FRONTSOLVEWORKER_HPP
#define LUTRA_FRONTSOLVEWORKER_HPP

#include "Lutra_FrontSolver.hpp"
#include "Lutra_FrontSubstitution.hpp"
#include "Lutra_Index.hpp"

namespace lutra::Impl {

// Forward and backward substitution of the multifrontal method (I. S. Duff and J. K. Reid, ACM Trans. Math.
// Software 9, 1983), with columns that may have been delayed (J. Hogg, E. Ovtchinnikov and J. Scott, ibid.
// 42, 2016). A front has eliminated columns e, delayed columns d (none in LU) and contribution rows b, in
// this order:
//
//         e         b
//       +---------+-----+
//     e | L11\U11 | U13 |   forward:  y_e = L11^-1 r_e,  r_d -= L21 y_e,  contribution to the parent: c_b -
//     L31 y_e
//       +---------+-----+
//     d |   L21   |         diagonal: y_e = D^-1 y_e
//       +---------+
//     b |   L31   |         backward: x_e = U11^-1 (y_e - U12 x_d - U13 x_b),  x_d and x_b from the ancestors
//       +---------+
//
// In L·D·Lᵀ, U is Lᵀ. r is the right-hand side plus the sum c of the children's contributions; for columns
// delayed to the front it is the value that the child stored in `by_index`. Each row gathers the terms of its
// sum, so that sums follow one order.

/// A front with some of its columns delayed, and its slots.
template <class Scalar>
struct LdltSweptFront : SweptFront<Scalar> {
  const Ordinal* variables;
  Offset slots;  ///< first slot

  KOKKOS_FUNCTION std::int64_t leading() const { return this->columns + this->front.cb_rows; }
};

/// Arguments of a sweep with L, D or Lᵀ. Vectors begin at the current group.
template <class Scalar>
struct LdltSolveData : FrontVectors<Scalar> {
  static constexpr bool is_symmetric = true;
  using Located = LdltSweptFront<Scalar>;

  const LdltFrontPlace* room = nullptr;
  const LdltRecord* records = nullptr;
  const Ordinal* variables = nullptr;  ///< indexed by slot, as in the factors, like the next arrays
  const Scalar* diagonal = nullptr;
  const Scalar* off_diagonal = nullptr;
  const PivotKind* kind = nullptr;
  Scalar* by_slot = nullptr;  ///< [slots] values of eliminated columns, kept between sweeps
  LdltParts parts;            ///< parts of this sweep; D and Lᵀ form one sweep
  bool hermitian = false;
  bool conjugate = false;                                 ///< conjugate D; the sweep conjugates L and Lᵀ
  bool loads = false;                                     ///< first sweep: reads right-hand sides
  bool stores = false;                                    ///< last sweep: writes solutions
  const ProductKernel<RealOf<Scalar>>* kernel = nullptr;  ///< host kernel

  template <int Width>
  KOKKOS_FUNCTION Located locate(Ordinal number) const {
    const Front front = this->fronts[number];
    const LdltFrontPlace place = room[number];
    const LdltRecord record = records[number];
    return {{front, this->panels + place.panel - record.moved, record.eliminated,
             front.pivots + record.delayed_in, by_slot + place.slots * Width,
             this->contributions + front.rows * Width},
            variables + place.slots,
            place.slots};
  }
  KOKKOS_FUNCTION std::int64_t index_of(const Located& at, int p) const {
    return static_cast<std::int64_t>(at.variables[p]);
  }
  /// Rows of L from `row` on, or columns of its transpose.
  KOKKOS_FUNCTION PanelPart<Scalar> part(const Located& at, int row) const {
    const std::int64_t ld = at.leading();
    return this->sweep.forward ? PanelPart<Scalar>{at.panel + row, 1, ld}
                               : PanelPart<Scalar>{at.panel + row, ld, 1};
  }
  /// Solves with a 2 × 2 pivot by its inverse. Its entries are divided by the largest, so that no product
  /// overflows.
  KOKKOS_FUNCTION void solve_two(const FrontSweep& D, Offset slot, Scalar& first, Scalar& second) const {
    using Real = RealOf<Scalar>;
    const auto magnitude = [](const Scalar& value) { return ScalarTraits<Scalar>::magnitude(value); };
    const Scalar a = D.value(diagonal[slot]), c = D.value(diagonal[slot + 1]);
    const Scalar b = D.value(off_diagonal[slot]);
    const Scalar above = hermitian ? ScalarTraits<Scalar>::conjugate(b) : b;
    const Real largest = Kokkos::max(magnitude(b), Kokkos::max(magnitude(a), magnitude(c)));
    const Scalar p = a / largest, q = b / largest, r = c / largest, q_above = above / largest;
    const Scalar determinant = p * c - q * above;  // divided by `largest`
    const Scalar x = (r * first - q_above * second) / determinant;
    second = (p * second - q * first) / determinant;
    first = x;
  }
};

/// Sweeps over fronts, one team per front. Vectors begin at the current group. Team barriers separate
/// gathering from solving, and solving from reading the solutions.
/// @tparam Data LuSolveData or LdltSolveData
template <int Width, class Data>
struct FrontSolveWorker {
  using Scalar = typename Data::value_type;
  using Located = typename Data::Located;
  Data data;
  int first_column = 0;  ///< first column of the group

  template <class Member>
  KOKKOS_FUNCTION void operator()(const Member& team, Ordinal number) const {
    if constexpr (is_host_space<typename Member::execution_space>) {
      if (team_must_stop(team, data.query, [] {})) return;
    }
    const Located at = data.template locate<Width>(number);
    if (at.columns == 0) return;  // its contributions are given
    if constexpr (Data::is_symmetric) {
      if (data.parts.lower) forward(team, at);
      if (!data.parts.lower && data.loads) load(team, at);
      if (data.parts.diagonal) solve_diagonal(team, at);
      if (data.parts.upper) backward(team, at);
      if (data.stores) store(team, at);
    } else if (data.sweep.forward) {
      forward(team, at);
    } else {
      backward(team, at);
      store(team, at);
    }
  }

 private:
  template <class Member>
  using Substitution = FrontSubstitution<Data::is_symmetric, Width, Scalar, Member>;

  template <class Member>
  KOKKOS_FUNCTION Substitution<Member> by(const Member& team) const {
    if constexpr (Data::is_symmetric) {
      return {team, data.sweep, data.kernel, data.query};
    } else {
      return {team, data.sweep, nullptr, data.query};
    }
  }

  /// Gathers right-hand sides and the children's contributions, solves for the pivots and stores
  /// contributions to the parent.
  template <class Member>
  KOKKOS_FUNCTION void forward(const Member& team, const Located& at) const {
    const Front& front = at.front;
    Kokkos::parallel_for(Kokkos::TeamVectorRange(team, at.columns + front.cb_rows), [&](const int p) {
      const bool is_column = p < at.columns;
      // contribution rows are numbered after the front's own pivots
      const std::int64_t index =
          is_column ? data.index_of(at, p) : front.first_pivot + front.pivots + (p - at.columns);
      const bool is_own = is_column && index >= front.first_pivot && index < front.first_pivot + front.pivots;
      Scalar* const to = is_column ? at.y + p * Width : at.contributions + (p - at.columns) * Width;
      for (int w = 0; w < Width; ++w) {
        const Scalar own = is_own ? data.right_side(index, first_column + w) : Scalar(0);
        to[w] = is_column && !is_own ? data.by_index[index * Width + w]
                                     : data.with_contributions(own, front.rows + index, w, Width);
      }
    });
    team.team_barrier();
    const int e = at.eliminated, delayed = at.columns - e;
    const auto substitution = by(team);
    substitution.solve(data.part(at, 0), e, at.y);
    if (delayed > 0) substitution.subtract(data.part(at, e), delayed, e, at.y, at.y + e * Width);
    substitution.subtract(data.part(at, at.columns), front.cb_rows, e, at.y, at.contributions);
    team.team_barrier();
    keep(team, at, e, at.columns);
  }

  /// Solves for the pivots with the solutions of delayed columns and contribution rows. Uses the slots of the
  /// latter in `contributions` as scratch.
  template <class Member>
  KOKKOS_FUNCTION void backward(const Member& team, const Located& at) const {
    const int e = at.eliminated, delayed = at.columns - e;
    Kokkos::parallel_for(Kokkos::TeamVectorRange(team, delayed + at.front.cb_rows), [&](const int r) {
      const std::int64_t index = r < delayed
                                     ? data.index_of(at, e + r)
                                     : static_cast<std::int64_t>(data.rows[at.front.rows + r - delayed]);
      Scalar* const to = r < delayed ? at.y + (e + r) * Width : at.contributions + (r - delayed) * Width;
      for (int w = 0; w < Width; ++w) to[w] = data.by_index[index * Width + w];
    });
    team.team_barrier();
    const auto substitution = by(team);
    substitution.subtract(data.part(at, at.columns), e, at.front.cb_rows, at.contributions, at.y);
    team.team_barrier();
    if (delayed > 0) {
      substitution.subtract(data.part(at, e), e, delayed, at.y + e * Width, at.y);
      team.team_barrier();
    }
    substitution.solve(data.part(at, 0), e, at.y);
    keep(team, at, 0, e);
  }

  /// Stores the values of columns by their indices.
  template <class Member>
  KOKKOS_FUNCTION void keep(const Member& team, const Located& at, int begin, int end) const {
    Kokkos::parallel_for(Kokkos::TeamVectorRange(team, begin, end), [&](const int p) {
      for (int w = 0; w < Width; ++w) data.by_index[data.index_of(at, p) * Width + w] = at.y[p * Width + w];
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
        if (kind == PivotKind::first_of_two) data.solve_two(D, slot, value[0], value[Width]);
      }
    });
    team.team_barrier();
  }

  template <class Member>
  KOKKOS_FUNCTION void load(const Member& team, const Located& at) const {
    Kokkos::parallel_for(Kokkos::TeamVectorRange(team, at.eliminated), [&](const int p) {
      for (int w = 0; w < Width; ++w)
        at.y[p * Width + w] = data.right_side(data.index_of(at, p), first_column + w);
    });
    team.team_barrier();
  }

  template <class Member>
  KOKKOS_FUNCTION void store(const Member& team, const Located& at) const {
    Kokkos::parallel_for(Kokkos::TeamVectorRange(team, at.eliminated), [&](const int p) {
      for (int w = 0; w < Width; ++w)
        data.write_solution(data.index_of(at, p), first_column + w, at.y[p * Width + w]);
    });
  }
};

}  // namespace lutra::Impl

#endif
