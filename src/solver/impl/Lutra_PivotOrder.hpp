// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_PIVOTORDER_HPP
#define LUTRA_PIVOTORDER_HPP

#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "Lutra_ColumnCounts.hpp"
#include "Lutra_CsrView.hpp"
#include "Lutra_LdltOptions.hpp"
#include "Lutra_LuOptions.hpp"
#include "Lutra_MemoryBudget.hpp"
#include "Lutra_Report.hpp"
#include "Lutra_SymmetricMatching.hpp"

namespace lutra {

namespace Impl {
/// Largest exponent of a symmetric scale: the product of two and an entry stays in range.
template <class Scalar>
constexpr int max_scale_exponent = sizeof(RealOf<Scalar>) == 8 ? 500 : 60;
}  // namespace Impl

/// Rows and columns as an analysis before eliminated them.
struct FormerOrder {
  std::vector<Ordinal> rows, columns;  ///< [n] user's, in elimination order; empty: there was none
  /// [n] columns as they were before a tree of fronts reordered them, since a tree of the reordered ones may
  /// be another; empty: they cannot be taken up again
  std::vector<Ordinal> ordered;
};

/// What a new matching leaves of a former analysis on the same pattern.
enum class Reuse {
  nothing,
  ordering,   ///< rows are matched to other columns, but the matched pattern is the same
  everything  ///< all but the scales
};

/// Which entries of A become pivots, and when; on the host.
struct PivotOrder {
  MatchingResult matching;       ///< rows matched to columns, and scales
  std::vector<Ordinal> columns;  ///< [n] user's columns in elimination order
  std::vector<Ordinal> rows;     ///< [n] user's rows matched to them
  Reuse reuse = Reuse::nothing;
  bool block_triangular = false;  ///< in this order, of which `ordered` has the edges within blocks alone
  AnyOrderedGraph ordered;  ///< vertices are columns; none where the order was given, or after `reorder`

  PivotOrder(MatchingResult matched, std::vector<Ordinal> order, AnyOrderedGraph graph = {})
      : matching(std::move(matched)), columns(std::move(order)), ordered(std::move(graph)) {
    rows.reserve(columns.size());
    for (const Ordinal column : columns)
      rows.push_back(matching.row_of_column[static_cast<std::size_t>(column)]);
  }
  /// Another order of the same pivots.
  void reorder(const std::vector<Ordinal>& order) {
    std::vector<Ordinal> reordered;
    reordered.reserve(order.size());
    for (const Ordinal position : order) reordered.push_back(columns[static_cast<std::size_t>(position)]);
    *this = PivotOrder(std::move(matching), std::move(reordered));
  }
};

/// Rows stay where they are, and have the scales of columns.
inline MatchingResult diagonal_matching(std::vector<double> scale) {
  MatchingResult diagonal;
  diagonal.row_of_column.resize(scale.size());
  std::iota(diagonal.row_of_column.begin(), diagonal.row_of_column.end(), Ordinal(0));
  diagonal.row_scale = scale;
  diagonal.col_scale = std::move(scale);
  return diagonal;
}

/// Matching, scaling and fill-reducing ordering as the options ask. Writes choices, reasons, times and ranks
/// to `report`. Empty where the pattern is structurally singular: `report` then says so and names rows and
/// columns.
/// @param on_host a copy of A
/// @param former  of an analysis with these options on this pattern. Where the matched pattern is the same as
///                then, its columns are taken, and nothing is ordered
/// @throws OutOfMemoryError
template <class Scalar, class ExecutionSpace>
std::optional<PivotOrder> choose_pivots(
    const ExecutionSpace& exec,
    const CsrView<Scalar, Ordinal, Offset, typename ExecutionSpace::memory_space>& A,
    const CsrView<Scalar, Ordinal, Offset, Kokkos::HostSpace>& on_host, const LuOptions& options,
    const MemoryBudget& budget, Report& report, const FormerOrder& former = {});

/// Scales of a symmetric matrix, powers of two, as the options ask. Writes choice and reasons, time and rank
/// to `report`. @throws OutOfMemoryError
template <class Scalar, class ExecutionSpace>
SymmetricMatching match_symmetric(
    const ExecutionSpace& exec,
    const CsrView<Scalar, Ordinal, Offset, typename ExecutionSpace::memory_space>& A,
    const CsrView<Scalar, Ordinal, Offset, Kokkos::HostSpace>& on_host, Matching option,
    const MemoryBudget& budget, Report& report);

/// The same for a symmetric matrix: one scaling of powers of two and one order for rows and columns, which
/// `matching` holds as a matching with the diagonal. There is one for any pattern; the report has the
/// structural rank where a matching was asked for.
/// @param A       both triangles
/// @param on_host a copy of A
/// @throws OutOfMemoryError
template <class Scalar, class ExecutionSpace>
PivotOrder choose_symmetric_pivots(
    const ExecutionSpace& exec,
    const CsrView<Scalar, Ordinal, Offset, typename ExecutionSpace::memory_space>& A,
    const CsrView<Scalar, Ordinal, Offset, Kokkos::HostSpace>& on_host, const LdltOptions& options,
    const MemoryBudget& budget, Report& report);

}  // namespace lutra

#endif
