// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_TRIANGULARSOLVEIMPL_HPP
#define LUTRA_TRIANGULARSOLVEIMPL_HPP

#include <Kokkos_Core.hpp>

#include <memory>

#include "Lutra_BlockLevels.hpp"
#include "Lutra_HostSubstitution.hpp"
#include "Lutra_LevelRuns.hpp"
#include "Lutra_SolutionArrays.hpp"
#include "Lutra_TrianglePack.hpp"
#include "Lutra_TriangleRowsView.hpp"
#include "Lutra_TriangularOptions.hpp"
#include "Lutra_TrisolveModel.hpp"

namespace lutra::Impl {

/// Most right-hand sides for one reading of the triangle.
inline constexpr int max_columns_at_once = 16;

/// float for real scalars, complex of float for complex ones.
template <class Scalar>
struct SingleOf {
  using type = float;
};
template <class Real>
struct SingleOf<Kokkos::complex<Real>> {
  using type = Kokkos::complex<float>;
};

/// Solves with one triangle as its rows are given: analysis, values, and as many solves as wanted. Transposes
/// are triangles of their own. Nothing is checked here.
template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
class TriangularSolveImpl {
 public:
  using Memory = typename ExecutionSpace::memory_space;
  using Rows = TriangleRows<Ordinal, Offset, Memory>;
  using Source = SourceValues<Scalar, Offset, Memory>;
  using RowMap = Kokkos::View<const Ordinal*, Memory>;

  TriangularSolveImpl() = default;
  // Not to be copied: two copies would take turns with the same arrays without knowing of each other.
  TriangularSolveImpl(TriangularSolveImpl&&) noexcept = default;
  TriangularSolveImpl& operator=(TriangularSolveImpl&&) noexcept = default;
  /// Levels, blocks, choice of the method, packed layout. Where the caller's rows are others than the
  /// triangle's (a permutation on either side), `in_row` and `out_row` [n] tell which.
  /// @param timeout  where the watchdog leaves word
  /// @throws OutOfMemoryError. Fences.
  TriangularSolveImpl(const ExecutionSpace& exec, const Rows& rows, const TriangularOptions& options,
                      const MemoryBudget& budget, const TimeoutFlag& timeout, const RowMap& in_row = {},
                      const RowMap& out_row = {});

  /// Takes values: packed, or where the method is a substitution on the host kept as they are, so that
  /// `values` must live until the next ones. Does not fence on devices.
  void set_values(const ExecutionSpace& exec, const Source& values);
  /// Brings the report's `inverted_blocks` up to date with the last values; fences where it was not.
  void count_inverted_blocks(const ExecutionSpace& exec);

  /// Solves for `n_columns` right-hand sides in groups of up to max_columns_at_once. Does not fence.
  /// @param conjugate take the conjugates of the triangle's values
  void solve(const ExecutionSpace& exec, MappedColumns<const Scalar> in, MappedColumns<Scalar> out,
             int n_columns, bool conjugate);

  /// The row of the triangle at which the watchdog gave a solve up, or −1; makes the solver usable again.
  std::int64_t consume_timeout(const ExecutionSpace& exec);

  const TriangularReport& report() const noexcept { return m_report; }
  bool is_empty() const noexcept { return m_report.n == 0; }
  bool has_values() const noexcept { return m_has_values; }

 private:
  using Single = typename SingleOf<Scalar>::type;
  /// Whether rows are substituted on the host as they are, without a plan.
  bool substitutes() const noexcept {
    return is_host_space<ExecutionSpace> && m_report.method == TrisolveMethod::levels;
  }

  /// Levels serve one right-hand side; for several, where the method was the library's choice, the data-flow
  /// kernel works on the same plan.
  bool goes_by_levels(int stride) const noexcept {
    return m_report.method == TrisolveMethod::levels &&
           (stride == 1 || m_options.method == TrisolveMethod::levels);
  }

  /// One right-hand side as the first of four: on CUDA the kernel for several watches one place at a time,
  /// which pays where rows are long and their entries scattered. A place's four values are one sector of
  /// memory anyhow.
  bool rather_four(const ExecutionSpace&) const noexcept {
#ifdef KOKKOS_ENABLE_CUDA
    return std::is_same_v<ExecutionSpace, Kokkos::Cuda> && !m_options.portable &&
           m_report.method == TrisolveMethod::syncfree && m_report.nnz > 5 * m_report.n;
#else
    return false;
#endif
  }

  /// Levels, blocks, method, plan.
  void choose(const ExecutionSpace& exec);
  /// Takes what the device has found out to the host, for the report and the model.
  /// @throws InputError naming a row at fault
  void describe(const ExecutionSpace& exec, Groupings<Ordinal, Memory>& found, TriangleShape& shape);
  void choose_by_shape(const TriangleShape& shape);
  void plan_substitution(const ExecutionSpace& exec, const LeveledBlocks<Ordinal, Memory>& single);
  void make_plan_for(const ExecutionSpace& exec, const LeveledBlocks<Ordinal, Memory>& grouping,
                     MemoryReservation& scratch);
  void cut_plan_levels();
  /// Brings the report's bytes up to date.
  void count_bytes();
  template <class Value>
  void pack(const ExecutionSpace& exec, const Source& values, TriangleValues<Value, Memory>& packed);
  template <int Stride, class Value>
  void solve_group(const ExecutionSpace& exec, const TriangleValues<Value, Memory>& packed,
                   const HostValues<Value, Memory>& kept, const MappedColumns<const Scalar>& in,
                   const MappedColumns<Scalar>& out, int n_columns, bool conjugate);
  template <int Stride, class Value>
  void substitute_group(const ExecutionSpace& exec, const HostValues<Value, Memory>& kept,
                        const MappedColumns<const Scalar>& in, const MappedColumns<Scalar>& out,
                        int n_columns, bool conjugate);
  template <class Value>
  void solve_columns(const ExecutionSpace& exec, const TriangleValues<Value, Memory>& packed,
                     const HostValues<Value, Memory>& kept, MappedColumns<const Scalar> in,
                     MappedColumns<Scalar> out, int n_columns, bool conjugate);

  Rows m_rows;
  TriangularOptions m_options;
  TrisolveDeviceModel m_model;
  MemoryBudget m_budget;
  TriangularReport m_report;
  TrianglePlan<Ordinal, Offset, Memory> m_plan;
  HostSchedule<Ordinal, Offset, Memory> m_host_schedule;
  TriangleValues<Scalar, Memory> m_working;  ///< of the four, one has values: by method and precision
  TriangleValues<Single, Memory> m_single;
  HostValues<Scalar, Memory> m_host_working;
  HostValues<Single, Memory> m_host_single;
  RowMap m_in_row,
      m_out_row;  ///< [n] the caller's rows, by place; where rows are substituted as they are, by row
  MemoryReservation m_maps_reservation;
  SolutionArrays<Scalar, Ordinal, ExecutionSpace> m_arrays;
  LevelRuns<Ordinal> m_level_runs[3];         ///< levels cut for 1, 4 and 16 right-hand sides
  std::shared_ptr<LevelGraph> m_level_graph;  ///< launches by levels as they were recorded
  bool m_has_values = false;
  bool m_inverted_are_counted = true;  ///< the report's, for the last values
};

}  // namespace lutra::Impl

#endif
