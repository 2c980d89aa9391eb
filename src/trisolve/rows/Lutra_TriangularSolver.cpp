// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_TriangularSolver.hpp"

#include <string>
#include <utility>

#include "Lutra_CheckEnumerator.hpp"
#include "Lutra_Formatted.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_Instantiate.hpp"
#include "Lutra_SolvableTriangle.hpp"
#include "Lutra_Transpose.hpp"
#include "Lutra_TriangleRows.hpp"
#include "Lutra_Upload.hpp"

namespace lutra {

std::string_view name_of(TrisolveMethod method) {
  switch (method) {
    case TrisolveMethod::levels:
      return "levels";
    case TrisolveMethod::syncfree:
      return "syncfree";
    case TrisolveMethod::supernodal:
      return "supernodal";
    default:
      return "auto";
  }
}

namespace Impl {

/// The given pattern, its values, and one solve each for T and Tᵀ.
template <class Scalar, class ExecutionSpace>
class TriangleAndTranspose : public TransposableTriangle<Scalar, ExecutionSpace> {
 public:
  using Base = TransposableTriangle<Scalar, ExecutionSpace>;
  using Op = SolvableTriangle<Scalar, ExecutionSpace>;
  using typename Base::Input;
  using typename Base::Memory;
  using typename Base::Output;
  using typename Base::Partition;
  using typename Base::Pattern;
  using typename Base::Values;

  TriangleAndTranspose(const TriangularOptions& options, const ExecutionSpace& exec)
      : m_options(options), m_exec(exec), m_budget(options.memory_limit) {
    // Allocations take much of an analysis on devices, so the next analysis reuses the memory of the last.
    if (!is_host_space<ExecutionSpace> && options.memory_limit == 0) m_store = std::make_shared<MemoryPool>();
    if (!(options.watchdog_seconds > 0)) throw InputError("options: watchdog_seconds must be above 0");
    check_enumerator("options: method", options.method, TrisolveMethod::supernodal);
    check_enumerator("options: precision", options.precision, FactorPrecision::single);
    if (options.expected_rhs < 1) throw InputError("options: expected_rhs must be 1 or more");
  }

  void analyze(const Pattern& pattern, TriangleSide side, DiagonalKind diagonal,
               const Partition& partition) override {
    check_enumerator("side", side, TriangleSide::upper);
    check_enumerator("diagonal", diagonal, DiagonalKind::unit);
    if (pattern.n_rows != pattern.n_cols || pattern.n_rows < 1) {
      throw InputError("triangle: it is " + std::to_string(pattern.n_rows) + " × " +
                       std::to_string(pattern.n_cols) + "; a square one with at least one row is needed");
    }
    if (pattern.row_map.extent(0) != static_cast<std::size_t>(pattern.n_rows) + 1) {
      throw InputError("triangle: row_map has " + std::to_string(pattern.row_map.extent(0)) +
                       " elements for " + std::to_string(pattern.n_rows) + " rows");
    }
    if (partition.extent(0) > 0) check_partition(pattern.n_rows, partition);
    const MemoryBudget budget(m_options.memory_limit, m_store);
    Sides fresh;
    fresh.reservation = MemoryReservation(budget);
    fresh.rows = split_triangle(m_exec, pattern, side, diagonal, fresh.reservation);
    fresh.partition = partition;
    fresh.plain = Op(m_exec, fresh.rows, m_options, budget, m_timeout, {}, {}, partition);
    m_budget = budget;
    m_sides = std::move(fresh);
    m_pattern = pattern;
    m_side = side;
    m_diagonal = diagonal;
    m_values = {};
  }

  void set_values(const Values& values) override {
    if (m_sides.plain.is_empty())
      throw CallOrderError("set_values: there is no analysis; call analyze first");
    if (values.extent(0) != m_pattern.entries.extent(0)) {
      throw InputError("values: there are " + std::to_string(values.extent(0)) + " for " +
                       std::to_string(m_pattern.entries.extent(0)) + " entries of the pattern");
    }
    check_triangle_values(m_exec, m_sides.rows, values, Kokkos::View<const Offset*, Memory>());
    if (m_values.extent(0) != values.extent(0) || !m_values.is_allocated()) {
      m_values_reservation = MemoryReservation(m_budget);
      m_values = m_values_reservation.template allocate<Kokkos::View<Scalar*, Memory>>(
          m_exec, "lutra::trisolve::values", values.extent(0));
    }
    Kokkos::deep_copy(m_exec, m_values, values);
    m_sides.plain.set_values(m_exec, {m_values, {}});
    if (m_sides.transposed.is_empty()) return;
    m_sides.transposed.set_values(m_exec, {m_values, m_sides.transpose.source});
  }

  void solve(const Input& B, const Output& X, Transposition op) override {
    if (!m_sides.plain.has_values()) {
      throw CallOrderError("solve: there are no values; call analyze and set_values first");
    }
    check_extents(static_cast<std::size_t>(m_pattern.n_rows), B, X);
    throw_if_timed_out();
    Op& solve = op == Transposition::none ? m_sides.plain : transposed();
    const MappedColumns<const Scalar> in{B.data(), B.stride(0), B.stride(1), nullptr};
    const MappedColumns<Scalar> out{X.data(), X.stride(0), X.stride(1), nullptr};
    solve.solve(m_exec, in, out, static_cast<int>(B.extent(1)), op == Transposition::adjoint);
  }

  void wait() override {
    m_exec.fence("lutra::TriangularSolver::wait");
    throw_if_timed_out();
  }

  const TriangularReport& report(Transposition op) override {
    Op& solve = op == Transposition::none ? m_sides.plain : m_sides.transposed;
    solve.count_inverted_blocks(m_exec);
    return solve.report();
  }

 private:
  /// Results of an analysis, replaced as a whole by the next.
  struct Sides {
    TriangleRows<Memory> rows, transposed_rows;
    Partition partition;                  ///< first rows of given supernodes; empty: none
    TransposedPattern<Memory> transpose;  ///< of the pattern; empty until needed
    MemoryReservation reservation;
    Op plain, transposed;
  };

  Op& transposed() {
    if (m_sides.transposed.is_empty()) {
      m_sides.transpose = transpose(m_exec, m_pattern, m_budget);
      const auto side = m_side == TriangleSide::lower ? TriangleSide::upper : TriangleSide::lower;
      m_sides.transposed_rows =
          split_triangle(m_exec, m_sides.transpose.pattern, side, m_diagonal, m_sides.reservation);
      Op fresh(m_exec, m_sides.transposed_rows, m_options, m_budget, m_timeout, {}, {}, m_sides.partition);
      fresh.set_values(m_exec, {m_values, m_sides.transpose.source});
      m_sides.transposed = std::move(fresh);
    }
    return m_sides.transposed;
  }

  void check_partition(Ordinal n, const Partition& partition) const {
    if (m_options.method != TrisolveMethod::supernodal)
      throw InputError("partition: only the supernodal method takes one, and the method is " +
                       std::string(name_of(m_options.method)));
    const auto first = to_host(m_exec, partition);
    bool ascends = first.front() == 0 && first.back() == n;
    for (std::size_t s = 1; s < first.size(); ++s) ascends = ascends && first[s - 1] < first[s];
    if (!ascends) throw InputError("partition: its first rows have to ascend from 0 to " + std::to_string(n));
  }

  void throw_if_timed_out() {
    std::int64_t row = -1;
    for (Op* op : {&m_sides.plain, &m_sides.transposed}) {
      const std::int64_t of_side = op->is_empty() ? -1 : op->consume_timeout(m_exec);
      if (row < 0) row = of_side;
    }
    if (row < 0) return;
    m_timeout(0).position_plus_one = 0;
    throw TimeoutError("triangular solve: row " + std::to_string(row) + " waited for over " +
                       Impl::formatted("%.3g s and was given up", m_options.watchdog_seconds));
  }

  TriangularOptions m_options;
  ExecutionSpace m_exec;
  std::shared_ptr<MemoryPool> m_store;  ///< null: memory is freed at once
  MemoryBudget m_budget;
  TimeoutFlag m_timeout = make_uncounted<TimeoutFlag>("lutra::trisolve::timeout");
  Sides m_sides;
  Pattern m_pattern;
  TriangleSide m_side = TriangleSide::lower;
  DiagonalKind m_diagonal = DiagonalKind::stored;
  Kokkos::View<Scalar*, Memory> m_values;  ///< [nnz] the solver's copy, in the order of the pattern
  MemoryReservation m_values_reservation;
};

template <class Scalar, class ExecutionSpace>
std::unique_ptr<TransposableTriangle<Scalar, ExecutionSpace>> make_transposable_triangle(
    const TriangularOptions& options, const ExecutionSpace& exec) {
  return std::make_unique<TriangleAndTranspose<Scalar, ExecutionSpace>>(options, exec);
}

#define LUTRA_TRIANGULAR_SOLVER(Scalar, Space)                                                             \
  template std::unique_ptr<TransposableTriangle<Scalar, Space>> make_transposable_triangle<Scalar, Space>( \
      const TriangularOptions&, const Space&);
LUTRA_FOR_EACH_SCALAR_AND_SPACE(LUTRA_TRIANGULAR_SOLVER)

}  // namespace Impl
}  // namespace lutra
