// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_OPSOLVE_HPP
#define LUTRA_OPSOLVE_HPP

#include <Kokkos_Core.hpp>

#include "Lutra_SolutionArrays.hpp"
#include "Lutra_TrianglePack.hpp"
#include "Lutra_TriangleRowsView.hpp"
#include "Lutra_TriangularOptions.hpp"

namespace lutra::Impl {

/// Most right-hand sides for one reading of the triangle.
inline constexpr int most_columns_at_once = 16;

/// float for real scalars, complex of float for complex ones.
template <class Scalar>
struct SingleOf {
  using type = float;
};
template <class Real>
struct SingleOf<Kokkos::complex<Real>> {
  using type = Kokkos::complex<float>;
};

/// A View [n × k] of the caller's, and how its rows are meant.
template <class Scalar, class Ordinal, class Memory>
struct ColumnsOfRows {
  MappedColumns<Scalar> columns;
  Kokkos::View<const Ordinal*, Memory> row;  ///< [n] row of the View by row of the triangle; empty: the same
};

/// Solves with one triangle as its rows are given: analysis, values, and as many solves as wanted. Transposes are
/// triangles of their own. Nothing is checked here.
template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
class OpSolve {
 public:
  using Memory = typename ExecutionSpace::memory_space;
  using Rows = TriangleRows<Ordinal, Offset, Memory>;
  using Source = SourceValues<Scalar, Offset, Memory>;
  using Input = ColumnsOfRows<const Scalar, Ordinal, Memory>;
  using Output = ColumnsOfRows<Scalar, Ordinal, Memory>;

  OpSolve() = default;
  /// Levels, blocks, choice of the method, packed layout. Where the caller's rows are others than the triangle's
  /// (a permutation on either side), `in_row` and `out_row` [n] tell which.
  /// @throws OutOfMemoryError. Fences.
  OpSolve(const ExecutionSpace& exec, const Rows& rows, const TriangularOptions& options,
          const MemoryBudget& budget, const Kokkos::View<const Ordinal*, Memory>& in_row = {},
          const Kokkos::View<const Ordinal*, Memory>& out_row = {});

  /// Packs values. Fences.
  void set_values(const ExecutionSpace& exec, const Source& values);

  /// Solves for `n_columns` right-hand sides in groups of up to most_columns_at_once. Does not fence.
  /// @param conjugate take the conjugates of the triangle's values
  void solve(const ExecutionSpace& exec, MappedColumns<const Scalar> in, MappedColumns<Scalar> out, int n_columns,
             bool conjugate);

  /// The row of the triangle at which the watchdog gave a solve up, or −1; makes the solver usable again.
  std::int64_t take_hung_row(const ExecutionSpace& exec);

  const TriangularReport& report() const noexcept { return m_report; }
  bool is_empty() const noexcept { return m_report.n == 0; }
  bool has_values() const noexcept { return m_has_values; }

 private:
  using Single = typename SingleOf<Scalar>::type;

  void choose(const ExecutionSpace& exec, const MemoryBudget& budget);
  template <class Value>
  void pack(const ExecutionSpace& exec, const Source& values, TriangleValues<Value, Memory>& packed);
  template <int Stride, class Value>
  void solve_group(const ExecutionSpace& exec, const TriangleValues<Value, Memory>& packed,
                   const MappedColumns<const Scalar>& in, const MappedColumns<Scalar>& out, int n_columns,
                   bool conjugate);
  template <class Value>
  void solve_columns(const ExecutionSpace& exec, const TriangleValues<Value, Memory>& packed,
                     MappedColumns<const Scalar> in, MappedColumns<Scalar> out, int n_columns, bool conjugate);

  Rows m_rows;
  TriangularOptions m_options;
  MemoryBudget m_budget;
  TriangularReport m_report;
  TrianglePlan<Ordinal, Offset, Memory> m_plan;
  TriangleValues<Scalar, Memory> m_working;  ///< one of the two, by the precision asked for
  TriangleValues<Single, Memory> m_single;
  Kokkos::View<const Ordinal*, Memory> m_in_row, m_out_row;  ///< [n] by place
  Charge m_maps_charge;
  SolutionArrays<Scalar, Ordinal, ExecutionSpace> m_arrays;
  bool m_has_values = false;
};

}  // namespace lutra::Impl

#endif
