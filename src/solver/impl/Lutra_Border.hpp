// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_BORDER_HPP
#define LUTRA_BORDER_HPP

#include <algorithm>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "Lutra_AssemblyTree.hpp"
#include "Lutra_At.hpp"
#include "Lutra_CsrView.hpp"
#include "Lutra_Factorization.hpp"
#include "Lutra_FrontPlan.hpp"
#include "Lutra_MemoryBudget.hpp"
#include "Lutra_PivotOrder.hpp"
#include "Lutra_Upload.hpp"

namespace lutra::Impl {

/// Border of rows and columns s around the matrix Arr that a solver factorizes. The border appears among the
/// contribution rows of the fronts. They pass their contributions to Ass on to a last front, which is
/// assembled but not eliminated; its entries are the Schur complement of the factorization onto s (P. R.
/// Amestoy, I. S. Duff, J.-Y. L'Excellent and J. Koster, SIAM J. Matrix Anal. Appl. 23, 2001).
///
///       r     s                r         s
///     +-----+-----+          +---------+-----+
///     | Arr | Ars |          | Lrr\Urr | Urs |      S is copied to `complement`. The identity replaces it in
///     +-----+-----+   ──►    +---------+-----+      the last front, so that L and U are the factors of a
///     | Asr | Ass |          |   Lsr   |  I  |      nonsingular matrix for any S.
///     +-----+-----+          +---------+-----+
template <class Scalar, class ExecutionSpace>
struct Border {
  using Memory = typename ExecutionSpace::memory_space;

  Ordinal rest = 0, set = 0;                   ///< number of rows of r and of s
  HostMatrix<char, Ordinal, Offset> on_host;   ///< pattern of the whole matrix with r first; no values
  CsrPattern<Ordinal, Offset, Memory> A;       ///< the same pattern in the memory of the execution space
  Kokkos::View<const Offset*, Memory> source;  ///< position of each entry in the caller's values
  Kokkos::View<Scalar*, Memory> values;        ///< values of the matrix to be factorized next
  Kokkos::View<Scalar**, Kokkos::LayoutLeft, Memory> complement;  ///< [set × set]
  bool is_planned = false;  ///< an analysis has included the border in its plan
};

/// Row and column order of a bordered matrix, on the host.
struct BorderedOrders {
  std::vector<Ordinal> rows, columns;
};

/// Appends the set to the orders of Arr.
inline BorderedOrders append_set(const PivotOrder& pivots, Ordinal set) {
  BorderedOrders orders{pivots.rows, pivots.columns};
  for (auto* order : {&orders.rows, &orders.columns}) {
    const auto rest = order->size();
    order->resize(rest + static_cast<std::size_t>(set));
    std::iota(order->begin() + static_cast<std::ptrdiff_t>(rest), order->end(), static_cast<Ordinal>(rest));
  }
  return orders;
}

/// Lists, for each pivot of Arr, the rows of the set in which its row of Ars or its column of Asr has
/// entries.
template <class Matrix>
std::vector<std::vector<Ordinal>> border_of_pivots(const Matrix& whole, const BorderedOrders& orders,
                                                   Ordinal rest) {
  const auto n = static_cast<std::size_t>(rest);
  std::vector<Ordinal> of_row(n), of_column(n);
  for (std::size_t k = 0; k < n; ++k) {
    at(of_row, orders.rows[k]) = static_cast<Ordinal>(k);
    at(of_column, orders.columns[k]) = static_cast<Ordinal>(k);
  }
  std::vector<std::vector<Ordinal>> border(n);
  for (Ordinal i = 0; i < whole.n_rows; ++i) {
    for (auto p = at(whole.row_map, i); p < at(whole.row_map, i + 1); ++p) {
      const Ordinal j = at(whole.entries, p);
      if (i < rest && j >= rest) at(border, at(of_row, i)).push_back(j);
      if (i >= rest && j < rest) at(border, at(of_column, j)).push_back(i);
    }
  }
  return border;
}

/// Adds the rows of the set to the contribution rows in the tree of Arr, and makes the set the only root.
/// O(rows)
inline void append_set(const std::vector<std::vector<Ordinal>>& border, Ordinal set, AssemblyTree& tree) {
  const Ordinal count = tree.count(), rest = tree.n;
  std::vector<std::vector<Ordinal>> of_front(static_cast<std::size_t>(count));
  std::vector<Ordinal> rows;
  std::vector<std::int64_t> row_begin{0};
  tree.flops = 0;
  for (Ordinal f = 0; f < count; ++f) {
    auto& own = at(of_front, f);  // already has the rows of the children
    for (Ordinal k = at(tree.pivot_begin, f); k < at(tree.pivot_begin, f + 1); ++k)
      own.insert(own.end(), at(border, k).begin(), at(border, k).end());
    std::ranges::sort(own);
    own.erase(std::unique(own.begin(), own.end()), own.end());
    rows.insert(rows.end(), tree.rows.begin() + at(tree.row_begin, f),
                tree.rows.begin() + at(tree.row_begin, f + 1));
    rows.insert(rows.end(), own.begin(), own.end());
    row_begin.push_back(static_cast<std::int64_t>(rows.size()));
    const double below = static_cast<double>(row_begin.back() - at(row_begin, f));
    for (auto pivots = at(tree.pivot_begin, f + 1) - at(tree.pivot_begin, f); pivots > 0; --pivots) {
      const double left = below + static_cast<double>(pivots) - 1;
      tree.flops += left + 2 * left * left;
    }
    Ordinal& parent = at(tree.parent, f);
    if (parent < 0) {
      parent = count;
    } else {
      at(of_front, parent).insert(at(of_front, parent).end(), own.begin(), own.end());
    }
    own = {};
  }
  row_begin.push_back(row_begin.back());
  tree.rows = std::move(rows);
  tree.row_begin = std::move(row_begin);
  tree.parent.push_back(Ordinal(-1));
  tree.pivot_begin.push_back(rest + set);
  for (Ordinal k = 0; k < set; ++k) tree.order.push_back(rest + k);
  tree.n += set;
}

/// Plans the factorization of a bordered matrix.
/// @param tree assembly tree of Arr, with pivots numbered in its order
/// @param plan callable plan(F, tree, entries) for the whole matrix
template <class ExecutionSpace, class Scalar, class Plan>
auto plan_bordered(const ExecutionSpace& exec, Border<Scalar, ExecutionSpace>& border,
                   const PivotOrder& pivots, AssemblyTree tree, const MemoryBudget& budget,
                   const Plan& plan) {
  const auto orders = append_set(pivots, border.set);
  append_set(border_of_pivots(border.on_host, orders, border.rest), border.set, tree);
  PermutedPattern<typename ExecutionSpace::memory_space> F;
  F.reservation = MemoryReservation(budget);
  F.row_order = upload(exec, F.reservation, "lutra::solver::row_order", orders.rows);
  F.col_order = upload(exec, F.reservation, "lutra::solver::col_order", orders.columns);
  F.A = border.A;
  border.is_planned = true;
  return plan(F, tree, FrontEntries{make_view(border.on_host).pattern(), orders.rows, orders.columns});
}

/// Copies `from` to the beginning of `to`, and fills the rest with 1.
template <class ExecutionSpace, class From, class To>
static void extend_by_ones(const ExecutionSpace& exec, const From& from, const To& to) {
  const auto n = static_cast<std::int64_t>(from.extent(0));
  Kokkos::parallel_for(
      "lutra::solver::border_scales",
      Kokkos::RangePolicy<ExecutionSpace>(exec, 0, static_cast<std::int64_t>(to.extent(0))),
      KOKKOS_LAMBDA(const std::int64_t i) {
        to(i) = i < n ? from(i) : typename To::non_const_value_type(1);
      });
}

/// Sets rows [begin, end) of `to` to `factor` times those of `from`, and to 0 where `from` has no such row.
template <class ExecutionSpace, class Rows>
static void copy_rows(const ExecutionSpace& exec, std::int64_t begin, std::int64_t end, const Rows& from,
                      const Rows& to, typename Rows::non_const_value_type factor) {
  using Scalar = typename Rows::non_const_value_type;
  const auto n = static_cast<std::int64_t>(from.extent(0));
  const auto columns = static_cast<std::int64_t>(to.extent(1));
  Kokkos::parallel_for(
      "lutra::solver::border_rows", Kokkos::RangePolicy<ExecutionSpace>(exec, begin, end),
      KOKKOS_LAMBDA(const std::int64_t i) {
        for (std::int64_t c = 0; c < columns; ++c) to(i, c) = i < n ? factor * from(i, c) : Scalar(0);
      });
}

/// Workspace for factorizations of a bordered matrix: scales of the whole matrix, and vectors for solves with
/// Arr that use the factors of the whole matrix.
template <class Scalar, class ExecutionSpace>
class BorderWorkspace {
 public:
  using Memory = typename ExecutionSpace::memory_space;
  using Rows = DenseRows<Scalar, Memory>;

  explicit BorderWorkspace(const MemoryBudget& budget) : m_budget(budget) {}

  /// Returns the values of the whole matrix, with the scales of Arr and scales of 1 for the set.
  ScaledValues<Scalar, Memory> values(const ExecutionSpace& exec,
                                      const Border<Scalar, ExecutionSpace>& border,
                                      const ScaledValues<Scalar, Memory>& A) {
    const auto n = static_cast<std::size_t>(border.rest + border.set);
    if (m_row_scale.extent(0) != n) {
      MemoryReservation reservation(m_budget);
      const auto row_scale = reservation.template allocate<Scales>(exec, "lutra::solver::row_scale", n);
      m_col_scale = reservation.template allocate<Scales>(exec, "lutra::solver::col_scale", n);
      m_row_scale = row_scale;
      m_reservation = std::move(reservation);
    }
    extend_by_ones(exec, A.row_scale, m_row_scale);
    extend_by_ones(exec, A.col_scale, m_col_scale);
    return {border.values, m_row_scale, m_col_scale};
  }

  /// Computes X = Arr⁻¹·B, or with op(Arr) if `solve` applies op. `solve`(B', X') solves with the whole
  /// matrix, in which the identity replaces S. The first solve, with (B, 0), gives X's = −Asr·Arr⁻¹·B; the
  /// second, with (B, −X's), gives (Arr⁻¹·B, 0).
  template <class Solve>
  void solve(const ExecutionSpace& exec, const Rows& B, const Rows& X, const Solve& solve) {
    const std::size_t n = m_row_scale.extent(0), columns = B.extent(1);
    if (m_B.extent(0) != n || m_B.extent(1) != columns) {
      m_B = m_X = {};
      m_vectors = MemoryReservation(m_budget);
      const auto first = m_vectors.template allocate<Rows>(exec, "lutra::solver::bordered_B", n, columns);
      m_X = m_vectors.template allocate<Rows>(exec, "lutra::solver::bordered_X", n, columns);
      m_B = first;
    }
    const auto rest = static_cast<std::int64_t>(B.extent(0)), all = static_cast<std::int64_t>(n);
    copy_rows(exec, 0, all, B, m_B, Scalar(1));
    solve(m_B, m_X);
    copy_rows(exec, rest, all, m_X, m_B, Scalar(-1));
    solve(m_B, m_X);
    copy_rows(exec, 0, rest, m_X, X, Scalar(1));
  }

 private:
  using Scales = Kokkos::View<RealOf<Scalar>*, Memory>;
  MemoryBudget m_budget;
  Scales m_row_scale, m_col_scale;
  Rows m_B, m_X;
  MemoryReservation m_reservation, m_vectors;  ///< memory of the scales and of the vectors
};

}  // namespace lutra::Impl

#endif
