// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_LUTRIANGLES_HPP
#define LUTRA_LUTRIANGLES_HPP

#include <functional>
#include <utility>

#include "Lutra_CheckLaunches.hpp"
#include "Lutra_CsrView.hpp"
#include "Lutra_Factorization.hpp"
#include "Lutra_ForRange.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_SolvableTriangle.hpp"
#include "Lutra_SolveVectors.hpp"
#include "Lutra_Symbolic.hpp"
#include "Lutra_Transpose.hpp"

namespace lutra::Impl {

/// to(q) = from(source(q))
template <class ExecutionSpace, class Source, class From, class To>
static void copy_by_source(const ExecutionSpace& exec, const Source& source, const From& from, const To& to) {
  Kokkos::parallel_for(
      "lutra::trisolve::copy_by_source",
      Kokkos::RangePolicy<ExecutionSpace>(exec, 0, static_cast<std::int64_t>(to.extent(0))),
      KOKKOS_LAMBDA(const std::int64_t q) { to(q) = from(source(q)); });
}

/// Shifts positions by one.
template <class ExecutionSpace, class From, class To>
static void move_behind(const ExecutionSpace& exec, const From& positions, const To& behind) {
  for_range(
      exec, "lutra::trisolve::behind_diagonal", static_cast<std::int64_t>(behind.extent(0)),
      KOKKOS_LAMBDA(const std::int64_t i) { behind(i) = positions(i) + 1; });
}

/// Position of the diagonal in each row of a transposed pattern, given its positions in the pattern.
template <class ExecutionSpace, class Transposed, class From, class To>
static void find_diagonal(const ExecutionSpace& exec, const Transposed& transposed, const From& diagonal,
                          const To& found) {
  using Offset = typename To::value_type;
  const auto source = transposed.source;
  const auto row_map = transposed.pattern.row_map;
  Kokkos::parallel_for(
      "lutra::trisolve::column_diagonal",
      Kokkos::RangePolicy<ExecutionSpace>(exec, 0, static_cast<std::int64_t>(found.extent(0))),
      KOKKOS_LAMBDA(const std::int64_t j) {
        Offset q = row_map(j);
        while (source(q) != diagonal(j)) ++q;
        found(j) = q;
      });
}

/// The triangular solves of one LU by rows: with L, then U; or with Uᵀ, then Lᵀ, whose rows are columns of
/// the factors. The solves include scaling and permuting: the first reads right-hand sides in the user's
/// numbering, the second writes solutions in it. Vectors between them are in the row order of the factors,
/// unscaled.
///
/// Hermitian factors Uᴴ·S⁻¹ and S⁻¹·U store Uᴴ in place of L, including its diagonal, which is U's and real.
/// S [n] multiplies between the two solves, and transposes are the conjugates of the same triangles.
template <class Scalar, class ExecutionSpace>
class LuTriangles {
 public:
  using Memory = typename ExecutionSpace::memory_space;
  using Op = SolvableTriangle<Scalar, ExecutionSpace>;
  using Order = Kokkos::View<const Ordinal*, Memory>;
  using Scale = Kokkos::View<const RealOf<Scalar>*, Memory>;
  using Rows = DenseRows<Scalar, Memory>;
  using Input = TriangleInput<ExecutionSpace>;
  /// Creates the solve of one triangle.
  using MakeSolve = std::function<std::unique_ptr<TriangleEngine<Scalar, ExecutionSpace>>(
      const ExecutionSpace&, const Input&, const MemoryBudget&, const TimeoutFlag&)>;

  /// Analyses L and U. Fences.
  /// @param row_order, col_order [n] the user's row and column at each position of the factorized matrix;
  ///                             empty: identity
  /// @param partition            first rows of supernodes, which the supernodal method takes for blocks; n at
  ///                             the end. Empty: it finds its own
  /// @throws OutOfMemoryError
  LuTriangles(const ExecutionSpace& exec, const LuPattern<Memory>& lu, const Order& row_order,
              const Order& col_order, const TriangularOptions& options, const MemoryBudget& budget,
              const MakeSolve& make = analyse_triangle<Scalar, ExecutionSpace>, bool hermitian = false,
              const Order& partition = {})
      : LuTriangles(lu, row_order, col_order, options, budget, make, hermitian, partition) {
    const auto behind = allocate<Offset>(exec, "lutra::trisolve::behind_diagonal", lu.n);
    move_behind(exec, lu.diagonal, behind);
    const auto lower_diagonal = hermitian ? lu.diagonal : decltype(lu.diagonal)();
    m_lower = make_solve(exec, {lu.n, false, lu.entries, lu.row_map, lu.diagonal, lower_diagonal, {}},
                         row_order, {});
    m_upper = make_solve(exec, {lu.n, true, lu.entries, behind, row_ends(lu.row_map), lu.diagonal, {}}, {},
                         col_order);
  }

  /// Creates solves on the same analysis, without values, which may run at the same time. This must outlive
  /// them.
  LuTriangles with_own_values(const ExecutionSpace& exec, const MemoryBudget& budget) const {
    LuTriangles result(m_lu, m_row_order, m_col_order, m_options, budget, m_make, m_is_hermitian,
                       m_partition);
    result.m_lower = m_lower.with_own_values(exec, budget, result.m_timeout);
    result.m_upper = m_upper.with_own_values(exec, budget, result.m_timeout);
    return result;
  }

  /// Takes over the values of L + U by rows, which must live until the next ones are set. Does not fence on
  /// devices.
  /// @param between [n] S of Hermitian factors; otherwise empty
  void set_values(const ExecutionSpace& exec, const Kokkos::View<const Scalar*, Memory>& values,
                  const Scale& between = {}) {
    m_between = between;
    m_lower.set_values(exec, {values, {}});
    m_upper.set_values(exec, {values, {}});
    m_values = values;
    m_transposes_are_current = false;
  }

  /// X = op(A)⁻¹·B with scales in the user's row and column numbering; X may be B. Does not fence, except
  /// that the first solve with transposes analyses them, and the first with so many columns allocates.
  void solve(const ExecutionSpace& exec, Transposition op, const Scale& row_scale, const Scale& col_scale,
             const Rows& B, const Rows& X) {
    m_budget.run().poll();
    const Rows W = scratch_like(exec, X);
    const bool plain = op == Transposition::none;
    const Half first = first_half(exec, op), second = second_half(exec, op);
    const int columns = static_cast<int>(B.extent(1));
    first.engine.solve(exec, mapped<const Scalar>(B, plain ? row_scale : col_scale),
                       mapped<Scalar>(W, m_between), columns, first.conjugate);
    m_budget.run().poll();
    second.engine.solve(exec, mapped<const Scalar>(W, m_between),
                        mapped<Scalar>(X, plain ? col_scale : row_scale), columns, second.conjugate);
    m_budget.run().poll();
  }
  /// The first half: with L, or with Uᵀ. X may be B; fences as `solve` does.
  /// @param scale of the rows of op(A), in the user's numbering
  void solve_first(const ExecutionSpace& exec, Transposition op, const Scale& scale, const Rows& B,
                   const Rows& X) {
    m_budget.run().poll();
    const Half triangle = first_half(exec, op);
    triangle.engine.solve(exec, mapped<const Scalar>(apart(exec, B, X), scale), mapped<Scalar>(X, m_between),
                          static_cast<int>(B.extent(1)), triangle.conjugate);
  }
  /// The second half: with U, or with Lᵀ. X may be B; fences as `solve` does.
  /// @param scale of the columns of op(A), in the user's numbering
  void solve_second(const ExecutionSpace& exec, Transposition op, const Scale& scale, const Rows& B,
                    const Rows& X) {
    m_budget.run().poll();
    const Half triangle = second_half(exec, op);
    triangle.engine.solve(exec, mapped<const Scalar>(apart(exec, B, X), m_between), mapped<Scalar>(X, scale),
                          static_cast<int>(B.extent(1)), triangle.conjugate);
  }

  /// Bytes of solves with own values that are not transposed; 0 columns: before the first solve.
  std::size_t predict_bytes(int n_columns) const {
    return m_lower.predict_bytes(n_columns) + m_upper.predict_bytes(n_columns) +
           static_cast<std::size_t>(m_lu.n) * static_cast<std::size_t>(n_columns) * sizeof(Scalar);
  }

  /// The row of the factorized matrix at which the watchdog ended a solve, or −1.
  std::int64_t consume_timeout(const ExecutionSpace& exec) {
    std::int64_t first = -1;
    for (Op* op : {&m_lower, &m_upper, &m_lower_transposed, &m_upper_transposed}) {  // all that were stopped
      const std::int64_t row = op->is_empty() ? -1 : op->consume_timeout(exec);
      if (first < 0) first = row;
    }
    if (first >= 0) m_timeout(0).position_plus_one = 0;
    return first;
  }

  /// Choices for L and for U.
  const TriangularReport& lower_report() const noexcept { return m_lower.report(); }
  const TriangularReport& upper_report() const noexcept { return m_upper.report(); }

 private:
  LuTriangles(const LuPattern<Memory>& lu, const Order& row_order, const Order& col_order,
              const TriangularOptions& options, const MemoryBudget& budget, const MakeSolve& make,
              bool hermitian, const Order& partition)
      : m_make(make),
        m_is_hermitian(hermitian),
        m_lu(lu),
        m_row_order(row_order),
        m_col_order(col_order),
        m_partition(partition),
        m_options(options),
        m_budget(budget),
        m_reservation(budget),
        m_scratch(budget) {}

  Op make_solve(const ExecutionSpace& exec, const typename Op::Rows& rows, const Order& in_row,
                const Order& out_row) const {
    return Op(m_make(exec, {rows, m_options, in_row, out_row, m_partition}, m_budget, m_timeout));
  }

  /// B, or a copy if X would overwrite it: a permuted triangle writes rows before it has read others.
  Rows apart(const ExecutionSpace& exec, const Rows& B, const Rows& X) {
    if (B.data() != X.data()) return B;
    const Rows copy = scratch_like(exec, B);
    Kokkos::deep_copy(exec, copy, B);
    return copy;
  }

  /// One of the two triangles of a solve, and whether it takes the conjugates of its values.
  struct Half {
    typename Op::Engine& engine;
    bool conjugate;
  };
  Half first_half(const ExecutionSpace& exec, Transposition op) {
    return half(exec, op, m_lower, m_upper_transposed);
  }
  Half second_half(const ExecutionSpace& exec, Transposition op) {
    return half(exec, op, m_upper, m_lower_transposed);
  }
  Half half(const ExecutionSpace& exec, Transposition op, Op& plain, Op& transposed) {
    if (m_is_hermitian) return {plain.engine(), op == Transposition::transposed};
    if (op != Transposition::none) update_transposes(exec);
    return {(op == Transposition::none ? plain : transposed).engine(), op == Transposition::adjoint};
  }

  template <class T>
  static MappedColumns<T> mapped(const Rows& X, const Scale& scale) {
    return {X.data(), X.stride(0), X.stride(1), scale.data()};
  }

  template <class T>
  Kokkos::View<T*, Memory> allocate(const ExecutionSpace& exec, const char* label, std::size_t size) {
    return m_reservation.template allocate<Kokkos::View<T*, Memory>>(exec, label, size);
  }

  static Kokkos::View<const Offset*, Memory> row_ends(const Kokkos::View<const Offset*, Memory>& row_map) {
    return Kokkos::subview(row_map, Kokkos::make_pair(std::size_t(1), row_map.extent(0)));
  }

  Rows scratch_like(const ExecutionSpace& exec, const Rows& B) {
    m_scratch.reserve(exec, {{{"lutra::trisolve::solve scratch", static_cast<std::int64_t>(B.extent(0))}}},
                      static_cast<int>(B.extent(1)));
    return Rows(m_scratch[0], B.extent(0), B.extent(1));
  }

  void update_transposes(const ExecutionSpace& exec) {
    if (m_upper_transposed.is_empty()) analyze_transposes(exec);
    if (m_transposes_are_current) return;
    copy_by_source(exec, m_transposed.source, m_values, m_column_values);
    m_upper_transposed.set_values(exec, {m_column_values, {}});
    m_lower_transposed.set_values(exec, {m_column_values, {}});
    check_launches_on<ExecutionSpace>();  // else later solves would take them for current
    m_transposes_are_current = true;
  }

  void analyze_transposes(const ExecutionSpace& exec) {
    m_transposed = transpose(exec, m_lu.pattern(), m_budget);
    const auto& columns = m_transposed.pattern;
    const auto diagonal = allocate<Offset>(exec, "lutra::trisolve::column_diagonal", m_lu.n);
    const auto behind = allocate<Offset>(exec, "lutra::trisolve::behind_diagonal", m_lu.n);
    m_column_values = allocate<Scalar>(exec, "lutra::trisolve::values by columns", m_values.extent(0));
    find_diagonal(exec, m_transposed, m_lu.diagonal, diagonal);
    move_behind(exec, diagonal, behind);
    m_lower_transposed = make_solve(
        exec, {m_lu.n, true, columns.entries, behind, row_ends(columns.row_map), {}, {}}, {}, m_row_order);
    Op upper = make_solve(exec, {m_lu.n, false, columns.entries, columns.row_map, diagonal, diagonal, {}},
                          m_col_order, {});
    check_launches_on<ExecutionSpace>();
    m_upper_transposed = std::move(upper);  // the last: the analysis is whole
  }

  MakeSolve m_make;
  bool m_is_hermitian;
  LuPattern<Memory> m_lu;
  Order m_row_order, m_col_order, m_partition;
  TriangularOptions m_options;
  MemoryBudget m_budget;
  TimeoutFlag m_timeout = make_uncounted<TimeoutFlag>("lutra::trisolve::timeout");
  MemoryReservation m_reservation;
  Op m_lower, m_upper, m_lower_transposed,
      m_upper_transposed;                         ///< empty until the first transposed solve
  Kokkos::View<const Scalar*, Memory> m_values;   ///< [nnz(L + U)] by rows
  Scale m_between;                                ///< [n] S of Hermitian factors; otherwise empty
  Kokkos::View<Scalar*, Memory> m_column_values;  ///< [nnz(L + U)] by columns, for the transposes
  SolveVectors<Scalar, Memory, 1> m_scratch;      ///< [n × k] by rows: vectors between the two solves
  TransposedPattern<Memory> m_transposed;         ///< of L + U
  bool m_transposes_are_current = false;
};

}  // namespace lutra::Impl

#endif
