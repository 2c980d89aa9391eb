// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_LUTRIANGULARSOLVES_HPP
#define LUTRA_LUTRIANGULARSOLVES_HPP

#include "Lutra_RightLookingLu.hpp"
#include "Lutra_Transposition.hpp"
#include "Lutra_TriangularSolveImpl.hpp"

namespace lutra::Impl {

/// Positions one behind others.
template <class Offset, class ExecutionSpace, class Positions>
Positions positions_behind(const ExecutionSpace& exec, const Positions& diagonal,
                           MemoryReservation& reservation) {
  const auto result =
      reservation.template allocate<Kokkos::View<Offset*, typename ExecutionSpace::memory_space>>(
          exec, "lutra::driver::behind_diagonal", diagonal.extent(0));
  Kokkos::parallel_for(
      "lutra::driver::behind_diagonal",
      Kokkos::RangePolicy<ExecutionSpace>(exec, 0, static_cast<std::int64_t>(diagonal.extent(0))),
      KOKKOS_LAMBDA(const std::int64_t i) { result(i) = diagonal(i) + 1; });
  return result;
}

/// to(q) = from(source(q))
template <class ExecutionSpace, class Source, class From, class To>
void copy_by_source(const ExecutionSpace& exec, const Source& source, const From& from, const To& to) {
  Kokkos::parallel_for(
      "lutra::driver::copy_by_source",
      Kokkos::RangePolicy<ExecutionSpace>(exec, 0, static_cast<std::int64_t>(to.extent(0))),
      KOKKOS_LAMBDA(const std::int64_t q) { to(q) = from(source(q)); });
}

/// Where the diagonal stands in a transposed pattern, from where it stands in the pattern.
template <class Offset, class ExecutionSpace, class Transposed, class Positions>
Positions find_diagonal(const ExecutionSpace& exec, const Transposed& transposed, const Positions& diagonal,
                        MemoryReservation& reservation) {
  const auto result =
      reservation.template allocate<Kokkos::View<Offset*, typename ExecutionSpace::memory_space>>(
          exec, "lutra::driver::column_diagonal", diagonal.extent(0));
  const auto source = transposed.source;
  const auto column_map = transposed.pattern.row_map;
  Kokkos::parallel_for(
      "lutra::driver::column_diagonal",
      Kokkos::RangePolicy<ExecutionSpace>(exec, 0, static_cast<std::int64_t>(diagonal.extent(0))),
      KOKKOS_LAMBDA(const std::int64_t j) {
        Offset q = column_map(j);
        while (source(q) != diagonal(j)) ++q;
        result(j) = q;
      });
  return result;
}

/// The triangular solves of one LU: with L and then U, or with Uᵀ and then Lᵀ, whose rows are columns of the
/// factors. Scaling and permuting ride on the solves: the first reads right-hand sides where the user has
/// them, the second writes solutions where the user wants them.
template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
class LuTriangularSolves {
 public:
  using Memory = typename ExecutionSpace::memory_space;
  using Op = TriangularSolveImpl<Scalar, Ordinal, Offset, ExecutionSpace>;
  using Rows = TriangleRows<Ordinal, Offset, Memory>;
  using Plan = RightLookingLuPlan<Ordinal, Offset, Memory>;
  using Order = Kokkos::View<const Ordinal*, Memory>;

  /// Analyses L and U by rows.
  /// @param row_order, col_order [n] the user's row and column at each place of the factorized matrix
  LuTriangularSolves(const ExecutionSpace& exec, const Plan& plan, const Order& row_order,
                     const Order& col_order, const TriangularOptions& options, const MemoryBudget& budget)
      : m_row_order(row_order),
        m_col_order(col_order),
        m_options(options),
        m_budget(budget),
        m_reservation(budget) {
    const auto& rows = plan.rows;
    m_lower = Op(exec, unit_part(rows.n, false, rows.entries, rows.row_map, rows.diagonal), options, budget,
                 m_timeout, row_order);
    m_upper = Op(exec, part_with_diagonal(exec, rows.n, true, rows.entries, rows.row_map, rows.diagonal),
                 options, budget, m_timeout, Order(), col_order);
  }

  /// Takes the values of the factors; they must live until the next ones are taken. Values by columns may be
  /// left out: transposed solves then bring them about. Does not fence on devices.
  void set_values(const ExecutionSpace& exec, const Kokkos::View<const Scalar*, Memory>& row_values,
                  const Kokkos::View<const Scalar*, Memory>& column_values) {
    m_lower.set_values(exec, {row_values, {}});
    m_upper.set_values(exec, {row_values, {}});
    m_row_values = row_values;
    m_column_values = column_values;
    m_transposes_are_current = false;
  }

  /// X = op(L·U)⁻¹·B by way of W, with scales of the user's rows and columns. Does not fence, but for the
  /// first solve with transposes, which analyses them.
  template <class Rows2d, class Scale>
  void solve(const ExecutionSpace& exec, const Plan& plan, Transposition op, const Scale& row_scale,
             const Scale& col_scale, const Rows2d& B, const Rows2d& X, const Rows2d& W) {
    const auto columns = static_cast<int>(B.extent(1));
    const auto at = [](const Rows2d& view, const RealOf<Scalar>* scale) {
      return MappedColumns<Scalar>{view.data(), view.stride(0), view.stride(1), scale};
    };
    const auto from = [](const Rows2d& view, const RealOf<Scalar>* scale) {
      return MappedColumns<const Scalar>{view.data(), view.stride(0), view.stride(1), scale};
    };
    if (op == Transposition::none) {
      m_lower.solve(exec, from(B, row_scale.data()), at(W, nullptr), columns, false);
      m_upper.solve(exec, from(W, nullptr), at(X, col_scale.data()), columns, false);
      return;
    }
    bring_transposes_up_to_date(exec, plan);
    const bool conjugate = op == Transposition::adjoint;
    m_upper_transposed.solve(exec, from(B, col_scale.data()), at(W, nullptr), columns, conjugate);
    m_lower_transposed.solve(exec, from(W, nullptr), at(X, row_scale.data()), columns, conjugate);
  }

  /// The row of the factorized matrix at which the watchdog gave a solve up, or −1.
  std::int64_t consume_timeout(const ExecutionSpace& exec) {
    for (Op* op : {&m_lower, &m_upper, &m_lower_transposed, &m_upper_transposed}) {
      const std::int64_t row = op->is_empty() ? -1 : op->consume_timeout(exec);
      if (row >= 0) return row;
    }
    return -1;
  }

  const TriangularReport& lower_report() const noexcept { return m_lower.report(); }
  const TriangularReport& upper_report() const noexcept { return m_upper.report(); }

 private:
  using Positions = Kokkos::View<const Offset*, Memory>;
  using Entries = Kokkos::View<const Ordinal*, Memory>;

  static Positions from_second(const Positions& map, Ordinal n) {
    return Kokkos::subview(map, Kokkos::make_pair(std::size_t(1), static_cast<std::size_t>(n) + 1));
  }

  /// The part before the diagonal (a lower triangle) without its diagonal, which is one.
  static Rows unit_part(Ordinal n, bool upper, const Entries& entries, const Positions& begin,
                        const Positions& end) {
    Rows rows;
    rows.n = n;
    rows.upper = upper;
    rows.entries = entries;
    rows.begin = begin;
    rows.end = end;
    return rows;
  }

  /// The upper part behind a stored diagonal, or the lower part before it.
  Rows part_with_diagonal(const ExecutionSpace& exec, Ordinal n, bool upper, const Entries& entries,
                          const Positions& map, const Positions& diagonal) {
    Rows rows = upper ? unit_part(n, true, entries, behind(exec, diagonal), from_second(map, n))
                      : unit_part(n, false, entries, map, diagonal);
    rows.diagonal = diagonal;
    return rows;
  }

  Positions behind(const ExecutionSpace& exec, const Positions& diagonal) {
    return positions_behind<Offset>(exec, diagonal, m_reservation);
  }

  void bring_transposes_up_to_date(const ExecutionSpace& exec, const Plan& plan) {
    if (m_upper_transposed.is_empty()) {
      const bool planned = plan.columns.pattern.row_map.extent(0) > 0;
      if (!planned) transpose_rows(exec, plan);
      const auto& columns = planned ? plan.columns.pattern : m_transposed.pattern;
      const auto diagonal =
          planned ? plan.column_diagonal
                  : find_diagonal<Offset>(exec, m_transposed, plan.rows.diagonal, m_reservation);
      const Ordinal n = plan.n();
      m_upper_transposed =
          Op(exec, part_with_diagonal(exec, n, false, columns.entries, columns.row_map, diagonal), m_options,
             m_budget, m_timeout, m_col_order);
      m_lower_transposed = Op(
          exec, unit_part(n, true, columns.entries, behind(exec, diagonal), from_second(columns.row_map, n)),
          m_options, m_budget, m_timeout, Order(), m_row_order);
    }
    if (m_transposes_are_current) return;
    if (m_column_values.extent(0) != m_row_values.extent(0)) gather_columns(exec, plan);
    m_upper_transposed.set_values(exec, {m_column_values, {}});
    m_lower_transposed.set_values(exec, {m_column_values, {}});
    m_transposes_are_current = true;
  }

  void transpose_rows(const ExecutionSpace& exec, const Plan& plan) {
    if (m_transposed.source.extent(0) != m_row_values.extent(0))
      m_transposed = transpose(exec, plan.rows.pattern(), m_budget);
  }

  void gather_columns(const ExecutionSpace& exec, const Plan& plan) {
    using Values = Kokkos::View<Scalar*, Memory>;
    transpose_rows(exec, plan);
    if (m_gathered.extent(0) != m_row_values.extent(0)) {
      m_gathered = m_reservation.template allocate<Values>(exec, "lutra::driver::values by columns",
                                                           m_row_values.extent(0));
    }
    copy_by_source(exec, m_transposed.source, m_row_values, m_gathered);
    m_column_values = m_gathered;
  }

  Order m_row_order, m_col_order;
  TriangularOptions m_options;
  MemoryBudget m_budget;
  TimeoutFlag m_timeout{"lutra::trisolve::timeout"};
  MemoryReservation m_reservation;
  Op m_lower, m_upper, m_lower_transposed, m_upper_transposed;
  Kokkos::View<const Scalar*, Memory> m_row_values, m_column_values;
  TransposedPattern<Ordinal, Offset, Memory>
      m_transposed;                          ///< of L + U; empty unless columns are gathered here
  Kokkos::View<Scalar*, Memory> m_gathered;  ///< values by columns, then
  bool m_transposes_are_current = false;
};

}  // namespace lutra::Impl

#endif
