// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_LUTRIANGULARSOLVES_HPP
#define LUTRA_LUTRIANGULARSOLVES_HPP

#include "Lutra_LuRows.hpp"
#include "Lutra_Transpose.hpp"
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
/// factors. Scaling and permuting are part of the solves: the first reads right-hand sides where the user has
/// them, the second writes solutions where the user wants them.
template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
class LuTriangularSolves {
 public:
  using Memory = typename ExecutionSpace::memory_space;
  using Op = TriangularSolveImpl<Scalar, Ordinal, Offset, ExecutionSpace>;
  using Rows = TriangleRows<Ordinal, Offset, Memory>;
  using Order = Kokkos::View<const Ordinal*, Memory>;
  using Scale = Kokkos::View<const RealOf<Scalar>*, Memory>;

  /// Analyses L and U by rows. Fences.
  /// @param row_order, col_order [n] the user's row and column at each position of the factorized matrix
  /// @throws OutOfMemoryError
  LuTriangularSolves(const ExecutionSpace& exec, const LuRows<Ordinal, Offset, Memory>& lu,
                     const Order& row_order, const Order& col_order, const TriangularOptions& options,
                     const MemoryBudget& budget)
      : m_lu(lu),
        m_row_order(row_order),
        m_col_order(col_order),
        m_options(options),
        m_budget(budget),
        m_reservation(budget) {
    const auto& rows = lu.rows;
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

  /// X = op(A)⁻¹·B with scales of the user's rows and columns; X may be B. Does not fence, but for the first
  /// solve with transposes, which analyses them, and the first with so many columns, which allocates.
  template <class Rows2d>
  void solve(const ExecutionSpace& exec, Transposition op, const Scale& row_scale, const Scale& col_scale,
             const Rows2d& B, const Rows2d& X) {
    reserve_scratch(exec, X.extent(0) * X.extent(1));
    const Rows2d between(m_scratch.data(), X.extent(0), X.extent(1));
    if (op == Transposition::none) {
      solve_both(exec, m_lower, m_upper, false, row_scale, col_scale, B, between, X);
    } else {
      update_transposes(exec);
      solve_both(exec, m_upper_transposed, m_lower_transposed, op == Transposition::adjoint, col_scale,
                 row_scale, B, between, X);
    }
  }

  /// The row of the factorized matrix at which the watchdog gave a solve up, or −1.
  std::int64_t consume_timeout(const ExecutionSpace& exec) {
    for (Op* op : {&m_lower, &m_upper, &m_lower_transposed, &m_upper_transposed}) {
      const std::int64_t row = op->is_empty() ? -1 : op->consume_timeout(exec);
      if (row >= 0) return row;
    }
    return -1;
  }

  /// What was chosen for U.
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

  template <class Rows2d>
  static void solve_both(const ExecutionSpace& exec, Op& first, Op& second, bool conjugate,
                         const Scale& in_scale, const Scale& out_scale, const Rows2d& B,
                         const Rows2d& between, const Rows2d& X) {
    const auto columns = static_cast<int>(B.extent(1));
    const auto from = [](const Rows2d& view, const RealOf<Scalar>* scale) {
      return MappedColumns<const Scalar>{view.data(), view.stride(0), view.stride(1), scale};
    };
    const auto to = [](const Rows2d& view, const RealOf<Scalar>* scale) {
      return MappedColumns<Scalar>{view.data(), view.stride(0), view.stride(1), scale};
    };
    first.solve(exec, from(B, in_scale.data()), to(between, nullptr), columns, conjugate);
    second.solve(exec, from(between, nullptr), to(X, out_scale.data()), columns, conjugate);
  }

  void reserve_scratch(const ExecutionSpace& exec, std::size_t size) {
    if (m_scratch.extent(0) >= size) return;
    exec.fence("lutra::driver: the smaller scratch is freed");
    m_scratch = {};
    m_scratch_reservation = MemoryReservation(m_budget);
    m_scratch = m_scratch_reservation.template allocate<Kokkos::View<Scalar*, Memory>>(
        exec, "lutra::driver::solve scratch", size);
  }

  Positions behind(const ExecutionSpace& exec, const Positions& diagonal) {
    return positions_behind<Offset>(exec, diagonal, m_reservation);
  }

  void update_transposes(const ExecutionSpace& exec) {
    if (m_upper_transposed.is_empty()) analyze_transposes(exec);
    if (m_transposes_are_current) return;
    if (m_column_values.extent(0) != m_row_values.extent(0)) gather_columns(exec);
    m_upper_transposed.set_values(exec, {m_column_values, {}});
    m_lower_transposed.set_values(exec, {m_column_values, {}});
    m_transposes_are_current = true;
  }

  void analyze_transposes(const ExecutionSpace& exec) {
    const bool known = m_lu.columns.row_map.extent(0) > 0;
    if (!known) transpose_rows(exec);
    const auto& columns = known ? m_lu.columns : m_transposed.pattern;
    const auto diagonal = known
                              ? m_lu.column_diagonal
                              : find_diagonal<Offset>(exec, m_transposed, m_lu.rows.diagonal, m_reservation);
    const Ordinal n = m_lu.rows.n;
    m_upper_transposed =
        Op(exec, part_with_diagonal(exec, n, false, columns.entries, columns.row_map, diagonal), m_options,
           m_budget, m_timeout, m_col_order);
    m_lower_transposed =
        Op(exec, unit_part(n, true, columns.entries, behind(exec, diagonal), from_second(columns.row_map, n)),
           m_options, m_budget, m_timeout, Order(), m_row_order);
  }

  void transpose_rows(const ExecutionSpace& exec) {
    if (m_transposed.source.extent(0) != m_row_values.extent(0))
      m_transposed = transpose(exec, m_lu.rows.pattern(), m_budget);
  }

  void gather_columns(const ExecutionSpace& exec) {
    using Values = Kokkos::View<Scalar*, Memory>;
    transpose_rows(exec);
    if (m_gathered.extent(0) != m_row_values.extent(0)) {
      m_gathered = m_reservation.template allocate<Values>(exec, "lutra::driver::values by columns",
                                                           m_row_values.extent(0));
    }
    copy_by_source(exec, m_transposed.source, m_row_values, m_gathered);
    m_column_values = m_gathered;
  }

  LuRows<Ordinal, Offset, Memory> m_lu;
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
  Kokkos::View<Scalar*, Memory> m_scratch;   ///< [n × k] by rows: vectors between the two solves
  MemoryReservation m_scratch_reservation;
  bool m_transposes_are_current = false;
};

}  // namespace lutra::Impl

#endif
