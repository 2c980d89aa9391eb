// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_SYMMETRICHOSTFRONT_HPP
#define LUTRA_SYMMETRICHOSTFRONT_HPP

#include <algorithm>

#include "Lutra_FrontsPortable.hpp"
#include "Lutra_HostProducts.hpp"

namespace lutra::Impl {

/// Storage of a front of L·U whose matrix is symmetric or Hermitian: only the lower triangles of the pivots
/// and of the contribution are assembled.
template <class Scalar>
struct SymmetricFront : DenseFront<Scalar> {
  // for FrontAssembly
  template <class Visit>
  KOKKOS_FUNCTION void for_each_block(const Visit& visit) const {
    visit(this->lower, this->pivots, this->size());
    visit(this->contribution, this->cb_rows, this->cb_rows);
  }
  KOKKOS_FUNCTION void set(const FrontPosition& at_position, const Scalar& value) const {
    if (at_position.row >= at_position.column) this->at(at_position.row, at_position.column) = value;
  }
  KOKKOS_FORCEINLINE_FUNCTION static int first_row(int column) { return column; }
};

/// Partial L·U = L·D·Lᵀ (or L·D·Lᴴ) of one dense front on host threads, without interchanges: recursive as in
/// HostFront, with half of its flops. Products update lower triangles; U is D·Lᵀ, copied from L.
///
///     eliminate(left half); U of the right half = D·Lᵀ; subtract(lower part of the right half); eliminate(…)
///
/// Sums do not depend on the threads.
template <class Scalar, class Loop>
class SymmetricHostFront {
 public:
  using Real = RealOf<Scalar>;

  SymmetricHostFront(const HostProducts<Scalar, Loop>& products, bool hermitian)
      : m_products(products), m_hermitian(hermitian) {}

  /// @param note_pivot called with the pivot's index and whether it was perturbed
  template <class NotePivot>
  void factorize(const SymmetricFront<Scalar>& front, const PivotRule<Scalar>& rule,
                 const NotePivot& note_pivot) const {
    eliminate(front, 0, front.pivots, rule, note_pivot);
    if (front.cb_rows == 0 || m_products.must_stop()) return;
    const std::int64_t ld = front.size(), cb_rows = front.cb_rows;
    m_products.loop(front.pivots, m_products.chunk_of(front.pivots, 4.0 * front.cb_rows),
                    [&](int begin, int end, Real*) {
                      for (int j = begin; j < end; ++j) {
                        const Scalar* const L = front.lower + j * ld;
                        const Scalar d = L[j];
                        Scalar* const KOKKOS_RESTRICT U = front.upper + j * cb_rows;
                        for (int c = 0; c < front.cb_rows; ++c) U[c] = d * mirror(L[front.pivots + c]);
                      }
                    });
    m_products.subtract_lower(front.cb_rows, front.cb_rows, front.pivots, front.lower + front.pivots, ld,
                              {front.upper, cb_rows, 1}, front.contribution, cb_rows);
  }

  /// Fills the upper triangle of the contribution.
  void mirror_contribution(const SymmetricFront<Scalar>& front) const {
    const std::int64_t ld = front.cb_rows;
    m_products.loop(front.cb_rows, m_products.chunk_of(front.cb_rows, 4.0 * front.cb_rows),
                    [&](int begin, int end, Real*) {
                      for (int c = begin; c < end; ++c)
                        for (int r = 0; r < c; ++r)
                          front.contribution[r + c * ld] = mirror(front.contribution[c + r * ld]);
                    });
  }

 private:
  static constexpr int narrow = 8;  ///< columns eliminated one by one

  Scalar mirror(const Scalar& value) const {
    return m_hermitian ? ScalarTraits<Scalar>::conjugate(value) : value;
  }

  /// Eliminates the pivots [begin, end) in their own columns, rows from `begin` on.
  template <class NotePivot>
  void eliminate(const SymmetricFront<Scalar>& front, int begin, int end, const PivotRule<Scalar>& rule,
                 const NotePivot& note_pivot) const {
    if (end - begin <= narrow) return eliminate_narrow(front, begin, end, rule, note_pivot);
    if (m_products.must_stop()) return;
    const int middle = begin + std::max(narrow, (end - begin) / 2 / narrow * narrow);
    const std::int64_t ld = front.size();
    eliminate(front, begin, middle, rule, note_pivot);
    m_products.loop(end - middle, m_products.chunk_of(end - middle, 4.0 * (middle - begin)),
                    [&](int first, int last, Real*) {
                      for (int c = middle + first; c < middle + last; ++c)
                        for (int j = begin; j < middle; ++j)
                          front.lower[j + c * ld] = front.lower[j + j * ld] * mirror(front.lower[c + j * ld]);
                    });
    Scalar* const right = front.lower + middle * ld;
    m_products.subtract_lower(front.size() - middle, end - middle, middle - begin,
                              front.lower + middle + begin * ld, ld, {right + begin, 1, ld}, right + middle,
                              ld);
    eliminate(front, middle, end, rule, note_pivot);
  }

  template <class NotePivot>
  void eliminate_narrow(const SymmetricFront<Scalar>& front, int begin, int end,
                        const PivotRule<Scalar>& rule, const NotePivot& note_pivot) const {
    const int size = front.size();
    for (int j = begin; j < end; ++j) {
      Scalar* const KOKKOS_RESTRICT pivot_column = front.lower + static_cast<std::int64_t>(j) * size;
      bool is_perturbed = false;
      pivot_column[j] = rule(diagonal_of(pivot_column[j], m_hermitian), is_perturbed);
      note_pivot(j, is_perturbed);
      for (int c = j + 1; c < end; ++c)
        front.lower[j + static_cast<std::int64_t>(c) * size] = mirror(pivot_column[c]);
      divide_by_pivot(pivot_column, j, size);
      for (int c = j + 1; c < end; ++c) {
        Scalar* const KOKKOS_RESTRICT column = front.lower + static_cast<std::int64_t>(c) * size;
        const Scalar factor = column[j];
        for (int r = c; r < size; ++r) column[r] -= pivot_column[r] * factor;
      }
    }
  }

  const HostProducts<Scalar, Loop>& m_products;
  bool m_hermitian;
};

/// LuWorker for the fronts of a symmetric or Hermitian matrix, without interchanges or with symmetric ones.
/// Contributions have lower triangles only, those of roots both.
template <class Scalar>
struct SymmetricLuWorker {
  FrontLuData<Scalar> data;
  bool hermitian;

  template <class Loop>
  KOKKOS_FUNCTION void work(const HostFrontTeam<Scalar, Loop>& team, Ordinal f) const {
    const Front front = data.fronts[f];
    if (front.pivots == 0) return;  // its contribution is given
    const SymmetricFront<Scalar> dense{data.dense(front, f)};
    data.assemble(team, front, dense);
    data.start_order(team, front);
    const PivotRule<Scalar> rule = data.pivot_rule();
    const auto note_pivot = [&](int j, bool is_perturbed) { data.note_pivot(front, j, is_perturbed); };
    if (rule.interchanges()) {
      const NoteExchanges<Scalar> note_exchange{data, front};
      FrontElimination<HostFrontTeam<Scalar, Loop>, Scalar, decltype(note_pivot), NoteExchanges<Scalar>>{
          team, dense, rule, note_pivot, note_exchange, {true, hermitian}}
          .run();
    } else {
      KOKKOS_IF_ON_HOST(
          (SymmetricHostFront<Scalar, Loop>(team.products, hermitian).factorize(dense, rule, note_pivot);))
    }
    if (front.parent >= 0) return;
    KOKKOS_IF_ON_HOST(
        (SymmetricHostFront<Scalar, Loop>(team.products, hermitian).mirror_contribution(dense);))
  }
};

}  // namespace lutra::Impl

#endif
