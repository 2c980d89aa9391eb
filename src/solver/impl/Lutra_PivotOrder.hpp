// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_PIVOTORDER_HPP
#define LUTRA_PIVOTORDER_HPP

#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "Lutra_AssemblyTree.hpp"
#include "Lutra_ColumnCounts.hpp"
#include "Lutra_CsrView.hpp"
#include "Lutra_MemoryBudget.hpp"
#include "Lutra_Options.hpp"
#include "Lutra_Report.hpp"
#include "Lutra_SymmetricMatching.hpp"

namespace lutra {

namespace Impl {
/// Largest exponent of a symmetric scale. The product of two scales and an entry then stays in range.
template <class Scalar>
constexpr int max_scale_exponent = sizeof(RealOf<Scalar>) == 8 ? 500 : 60;
}  // namespace Impl

/// Order in which an earlier analysis eliminated rows and columns.
struct FormerOrder {
  /// [n] the user's rows and columns in elimination order; empty if there is no earlier analysis.
  std::vector<Ordinal> rows, columns;
  /// [n] Columns before the assembly tree reordered them; the reordered columns might lead to another tree.
  /// Empty if the order cannot be reused.
  std::vector<Ordinal> ordered;
};

/// Parts of an earlier analysis on the same pattern that remain valid with a new matching.
enum class Reuse {
  nothing,
  ordering,   ///< the ordering; the matching changed, but the matched pattern did not
  everything  ///< everything except the scales
};

/// The entries of A that become pivots, in elimination order; on the host.
struct PivotOrder {
  MatchingResult matching;       ///< rows matched to columns, and scales
  std::vector<Ordinal> columns;  ///< [n] user's columns in elimination order
  std::vector<Ordinal> rows;     ///< [n] user's rows matched to them
  Reuse reuse = Reuse::nothing;
  /// The order is block triangular; `ordered` has only the edges within blocks.
  bool block_triangular = false;
  /// Graph with one vertex per column; empty if the order was given, and after `reorder`.
  AnyOrderedGraph ordered;
  std::vector<Ordinal> partner;  ///< [n] partner of each of the user's columns (pair_candidates); empty if
                                 ///< the order has no pairs, and after `reorder`

  PivotOrder(MatchingResult matched, std::vector<Ordinal> order, AnyOrderedGraph graph = {})
      : matching(std::move(matched)), columns(std::move(order)), ordered(std::move(graph)) {
    rows.reserve(columns.size());
    for (const Ordinal column : columns)
      rows.push_back(matching.row_of_column[static_cast<std::size_t>(column)]);
  }
  /// Returns the pairs by position in the elimination order.
  RowPairs pairs() const {
    RowPairs result(partner.size());
    std::vector<Ordinal> position(partner.size());
    for (std::size_t k = 0; k < result.size(); ++k)
      position[static_cast<std::size_t>(columns[k])] = static_cast<Ordinal>(k);
    for (std::size_t k = 0; k < result.size(); ++k)
      result[k] = position[static_cast<std::size_t>(partner[static_cast<std::size_t>(columns[k])])];
    return result;
  }
  /// Applies another order to the same pivots.
  void reorder(const std::vector<Ordinal>& order) {
    std::vector<Ordinal> reordered;
    reordered.reserve(order.size());
    for (const Ordinal position : order) reordered.push_back(columns[static_cast<std::size_t>(position)]);
    *this = PivotOrder(std::move(matching), std::move(reordered));
  }
};

/// Returns the matching of each column with its diagonal entry, with the same scales for rows and columns.
inline MatchingResult diagonal_matching(std::vector<double> scale) {
  MatchingResult diagonal;
  diagonal.row_of_column.resize(scale.size());
  std::iota(diagonal.row_of_column.begin(), diagonal.row_of_column.end(), Ordinal(0));
  diagonal.row_scale = scale;
  diagonal.col_scale = std::move(scale);
  return diagonal;
}

/// Which entries become pivots of LU.
enum class RowOrder {
  matched,  ///< those that the options' matching chooses
  diagonal  ///< those of the diagonal; rows and columns are scaled by their largest entries
};

/// Computes the matching, scaling and fill-reducing ordering that the options request. Writes the choices
/// with their reasons, the times and the ranks to `report`. Returns an empty optional if the pattern is
/// structurally singular; `report` then names the rows and columns concerned.
/// @param on_host copy of A on the host
/// @param former  order of an earlier analysis with the same options and pattern. If the matched pattern is
///                unchanged, its columns are reused and no ordering is computed.
/// @throws OutOfMemoryError
template <class Scalar, class ExecutionSpace>
std::optional<PivotOrder> choose_pivots(
    const ExecutionSpace& exec,
    const CsrView<Scalar, Ordinal, Offset, typename ExecutionSpace::memory_space>& A,
    const CsrView<Scalar, Ordinal, Offset, Kokkos::HostSpace>& on_host, const LuOptions& options,
    const MemoryBudget& budget, Report& report, const FormerOrder& former = {},
    RowOrder rows = RowOrder::matched);

/// Whether the nonzero entries of A admit no perfect matching, so that A is singular whatever its factors
/// are; the report then names the rows and columns. Stored zeros are entries of the pattern, which has been
/// matched.
template <class Scalar>
bool is_singular_by_zeros(const CsrView<Scalar, Ordinal, Offset, Kokkos::HostSpace>& A, Report& report);

/// Whether the scales of a matching span a range within which they serve better than equilibration.
bool scales_suffice(const std::vector<double>& scale);

/// Computes the matching and the scales of a symmetric matrix that the options request; scales are rounded to
/// powers of two. An automatic matching is that of `choose_scaling`. Writes the choice with its reasons, the
/// time and, if a matching was requested, the structural rank to `report`.
/// @param A       matrix with both triangles
/// @param on_host copy of A on the host
/// @throws OutOfMemoryError
template <class Scalar, class ExecutionSpace>
SymmetricMatching match_symmetric(
    const ExecutionSpace& exec,
    const CsrView<Scalar, Ordinal, Offset, typename ExecutionSpace::memory_space>& A,
    const CsrView<Scalar, Ordinal, Offset, Kokkos::HostSpace>& on_host, const LdltOptions& options,
    const MemoryBudget& budget, Report& report);

/// Computes one order for both rows and columns of a symmetric matrix, with pairs if the options request
/// them. Writes the choice with its reasons and the time to `report`. `matching` of the result has the scales
/// and the matching with the diagonal, which exists for any pattern.
/// @param A        matrix with both triangles, on the host
/// @param matching result of match_symmetric
/// @param run      limits in time
/// @throws OutOfMemoryError, CancelledError
template <class ExecutionSpace, class Scalar>
PivotOrder order_symmetric_pivots(const CsrView<Scalar, Ordinal, Offset, Kokkos::HostSpace>& A,
                                  const SymmetricMatching& matching, const LdltOptions& options,
                                  const RunControl& run, Report& report);

}  // namespace lutra

#endif
