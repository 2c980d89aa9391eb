// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_TRIANGLEENGINE_HPP
#define LUTRA_TRIANGLEENGINE_HPP

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <memory>
#include <type_traits>

#include "Lutra_DeviceModel.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_MappedColumns.hpp"
#include "Lutra_MemoryBudget.hpp"
#include "Lutra_ScalarTraits.hpp"
#include "Lutra_TriangleRowsView.hpp"
#include "Lutra_TriangularSolver.hpp"
#include "Lutra_Watchdog.hpp"

namespace lutra::Impl {

/// Most right-hand sides per reading of the triangle.
inline constexpr int max_columns_at_once = 16;

/// Values per row with which a group of right-hand sides is solved: 1, 4 or 16; 0 for none.
constexpr std::size_t stride_of_group(int n_columns) {
  return n_columns <= 1 ? static_cast<std::size_t>(n_columns) : n_columns <= 4 ? 4 : max_columns_at_once;
}

/// float for real scalars, complex of float for complex ones.
template <class Scalar>
struct SingleOf {
  using type = float;
};
template <class Real>
struct SingleOf<Kokkos::complex<Real>> {
  using type = Kokkos::complex<float>;
};

/// Values of a matrix as passed to the kernels.
template <class Scalar, class Memory>
struct SourceValues {
  using scalar_type = Scalar;

  Kokkos::View<const Scalar*, Memory> values;
  /// position in `values` of each entry of the pattern; empty: identity
  Kokkos::View<const Offset*, Memory> source;
  KOKKOS_FORCEINLINE_FUNCTION Scalar operator()(Offset p) const {
    return source.extent(0) == 0 ? values(p) : values(source(p));
  }
};

/// Input of the analysis of a triangle.
template <class ExecutionSpace>
struct TriangleInput {
  using Memory = typename ExecutionSpace::memory_space;
  using RowMap = Kokkos::View<const Ordinal*, Memory>;

  TriangleRows<Memory> rows;
  TriangularOptions options;
  RowMap in_row,
      out_row;  ///< [n] the caller's row of each row, for right-hand sides and for solutions; empty: identity
  /// [any + 1] first row of each supernode, from 0 to n: the blocks of the supernodal method; empty: searched
  RowMap partition = {};
};

/// Result of an analysis for any method. Engines share it and do not change it.
template <class ExecutionSpace>
struct AnalysedTriangle : TriangleInput<ExecutionSpace> {
  TriangularReport report;  ///< without bytes and inverted blocks, which differ between engines
};

/// Solves with one triangle by one method: a shared analysis with separate values and vectors.
template <class Scalar, class ExecutionSpace>
class TriangleEngine {
 public:
  using Source = SourceValues<Scalar, typename ExecutionSpace::memory_space>;

  virtual ~TriangleEngine() = default;
  /// Creates an engine on the same analysis, without values.
  virtual std::unique_ptr<TriangleEngine> with_own_values(const ExecutionSpace& exec,
                                                          const MemoryBudget& budget,
                                                          const TimeoutFlag& timeout) const = 0;
  /// Does not fence on devices.
  virtual void set_values(const ExecutionSpace& exec, const Source& values) = 0;
  /// Does not fence.
  virtual void solve(const ExecutionSpace& exec, MappedColumns<const Scalar> in, MappedColumns<Scalar> out,
                     int n_columns, bool conjugate) = 0;
  /// The row at which the watchdog ended a solve, or −1; makes the engine usable again.
  virtual std::int64_t consume_timeout(const ExecutionSpace& exec) = 0;
  /// Diagonal blocks applied by their inverses with the last values. Fences.
  virtual std::int64_t count_inverted_blocks(const ExecutionSpace& exec) const = 0;
  virtual const TriangularReport& report() const = 0;
  virtual std::size_t bytes() const = 0;
  /// Bytes that an engine on the same analysis will hold, once it has values in the order of the pattern and
  /// has solved for `n_columns` at a time; 0 columns: before its first solve.
  virtual std::size_t predict_bytes(int n_columns) const = 0;
};

}  // namespace lutra::Impl

#endif
