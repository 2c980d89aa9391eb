// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_PARILUTARRAYS_HPP
#define LUTRA_PARILUTARRAYS_HPP

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cstdint>
#include <string>

#include "Lutra_Error.hpp"
#include "Lutra_IncompleteFactors.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_MemoryBudget.hpp"
#include "Lutra_ParIlutCandidatesHost.hpp"
#include "Lutra_RowKernelsHost.hpp"
#include "Lutra_Select.hpp"

namespace lutra::Impl {

/// Options of the selection of thresholds.
template <class ExecutionSpace>
SelectOptions select_options(const ExecutionSpace&, IluSelection wanted) {
  SelectOptions options;
  options.approximate = wanted != IluSelection::exact;
  return options;
}
/// On hosts only the portable kernels are approximate.
template <HostExecution ExecutionSpace>
SelectOptions select_options(const ExecutionSpace&, IluSelection wanted) {
  SelectOptions options;
  options.approximate = options.portable = wanted == IluSelection::approximate;
  return options;
}

/// Memory of a ParILUT run: row arrays, allocated once; L and U with as many candidates as the budget
/// permits; two copies of L and U without candidates.
template <class Scalar, class ExecutionSpace>
struct ParIlutArrays {
  using Memory = typename ExecutionSpace::memory_space;
  using Real = RealOf<Scalar>;
  using Factors = IncompleteFactors<Scalar, Memory>;
  using Threshold = SelectionThreshold<Real>;
  template <class T>
  using Array = Kokkos::View<T*, Memory>;

  ExecutionSpace exec;
  Ordinal n;
  bool deterministic;
  IluSelection wanted_selection;
  MemoryBudget budget;
  MemoryReservation reservation = MemoryReservation(budget);
  std::int64_t max_lower = 0, max_upper = 0;  ///< limits on entries of L and U, without diagonals
  Array<Ordinal> A_lower, A_upper;            ///< [n] entries of A's strict triangles
  KeyScaling<Real, Memory> scaling;
  Array<Real> weights;                      ///< [2·n] see CandidateSearch
  Array<Offset> lower_map;                  ///< [n + 1] see KeyedFactors
  Array<Ordinal> n_columns, n_row, n_left;  ///< [n] see CandidateSearch
  Array<double> row_residual;
  Array<std::int64_t> lower_count, upper_count, lower_ties, upper_ties;  ///< [n] see DropEntries
  Array<Threshold> thresholds;                                           ///< [2] of L, of U
  StoredCandidates<Scalar, ExecutionSpace> store;                        ///< candidates counted last
  Factors wide;  ///< L and U with candidates; entries and values have the length that memory permits
  Array<Scalar> wide_spare;  ///< values written by deterministic sweeps
  Array<Real> keys;          ///< keys of L, then of U
  Selection<Real, ExecutionSpace> selection;
  Factors kept[2];  ///< L and U after dropping
  Array<Scalar> kept_spare[2];

  ParIlutArrays(const ExecutionSpace& space, Ordinal rows, const IluOptions& options,
                const MemoryBudget& available)
      : exec(space),
        n(rows),
        deterministic(options.deterministic),
        wanted_selection(options.selection),
        budget(available) {
    const auto size = static_cast<std::size_t>(n);
    MemoryReservation& from = reservation;
    from.template reserve<Memory>(exec, "lutra::ilu::parilut_rows", size * row_bytes + (1 << 13));
    scaling = {allocate<Real>(from, "row_size", size), allocate<Real>(from, "row_scale", size),
               allocate<Real>(from, "column_scale", size)};
    weights = allocate<Real>(from, "weights", 2 * size);
    A_lower = allocate<Ordinal>(from, "lower_lengths", size);
    A_upper = allocate<Ordinal>(from, "upper_lengths", size);
    n_columns = allocate<Ordinal>(from, "columns", size);
    n_row = allocate<Ordinal>(from, "row_lengths", size);
    n_left = allocate<Ordinal>(from, "left_lengths", size);
    row_residual = allocate<double>(from, "row_residuals", size);
    lower_map = allocate<Offset>(from, "lower_map", size + 1);
    lower_count = allocate<std::int64_t>(from, "lower_counts", size);
    upper_count = allocate<std::int64_t>(from, "upper_counts", size);
    lower_ties = allocate<std::int64_t>(from, "lower_ties", size);
    upper_ties = allocate<std::int64_t>(from, "upper_ties", size);
    thresholds = allocate<Threshold>(from, "thresholds", 2);
    wide.n = n;
    wide.row_map = allocate<Offset>(from, "row_map", size + 1);
    wide.diagonal = allocate<Offset>(from, "diagonal", size);
  }

  /// Sufficient bytes: row arrays, accumulators, two copies of L and U, and L and U with keys.
  /// @param start  entries of the initial L and U
  static std::size_t sufficient_bytes(const ExecutionSpace& exec, std::size_t n, std::size_t nnz_A,
                                      const IluOptions& options, std::size_t start) {
    const std::size_t workers = tables_for_any_row(exec);
    const auto all = static_cast<double>(n) * static_cast<double>(n);
    const auto limit = static_cast<std::size_t>(
        std::min(options.fill_factor * static_cast<double>(nnz_A) + static_cast<double>(n), all));
    const std::size_t entry = sizeof(Ordinal) + (options.deterministic ? 2 : 1) * sizeof(Scalar);
    const std::size_t slots = n + DenseAccumulator<Scalar>::extra_slots;
    return n * row_bytes + workers * slots * (2 * sizeof(Ordinal) + sizeof(Scalar)) + 2 * others_bytes +
           2 * (row_map_bytes(n) + limit * entry) + std::max(limit, start) * (entry + 3 * sizeof(Real) + 2);
  }

  /// Most entries of L and U.
  std::int64_t n_limit() const { return max_lower + max_upper + n; }

  /// Allocates `wanted` entries with candidates, or fewer if the budget is short. The previous entries are
  /// lost. Frees the candidate store if that helps.
  /// @param min  entries without which no step is possible
  void widen(std::int64_t wanted, std::int64_t min) {
    wide.entries = {};
    wide.values = wide_spare = {};
    keys = {};
    selection = {};
    wide.reservation = MemoryReservation(budget);
    if (available_entries() < static_cast<std::size_t>(wanted)) store = {};
    MemoryReservation& from = wide.reservation;
    const auto size = std::min(static_cast<std::size_t>(wanted), available_entries());
    if (size < static_cast<std::size_t>(std::min(wanted, min)))
      throw OutOfMemoryError("L and U of ParILUT do not fit", size * selected_bytes());
    from.template reserve<Memory>(exec, "lutra::ilu::parilut_wide", size * wide_bytes() + (1 << 10));
    wide.entries = allocate<Ordinal>(from, "wide_entries", size);
    wide.values = allocate<Scalar>(from, "wide_values", size);
    keys = allocate<Real>(from, "keys", size);
    if (deterministic) wide_spare = allocate<Scalar>(from, "wide_spare", size);
    selection = {exec, static_cast<std::int64_t>(size), select_options(exec, wanted_selection), budget};
  }

  /// Allocates `capacity` entries in one of the two copies of L and U.
  Factors& allocate_kept(int parity, std::int64_t capacity) {
    Factors& to = kept[parity];
    if (to.nnz() >= capacity) return to;
    const auto rows = static_cast<std::size_t>(n), size = static_cast<std::size_t>(capacity);
    to = {};
    kept_spare[parity] = {};
    to.n = n;
    to.reservation = MemoryReservation(budget);
    MemoryReservation& from = to.reservation;
    from.template reserve<Memory>(exec, "lutra::ilu::parilut_kept",
                                  size * entry_bytes() + 2 * rows * sizeof(Offset) + (1 << 11));
    to.row_map = allocate<Offset>(from, "kept_row_map", rows + 1);
    to.diagonal = allocate<Offset>(from, "kept_diagonal", rows);
    to.entries = allocate<Ordinal>(from, "kept_entries", size);
    to.values = allocate<Scalar>(from, "kept_values", size);
    if (deterministic) kept_spare[parity] = allocate<Scalar>(from, "kept_spare", size);
    return to;
  }

 private:
  static constexpr std::size_t others_bytes = 1 << 15;  ///< selection and bins, independent of size
  static constexpr std::size_t row_bytes =
      5 * sizeof(Real) + 5 * sizeof(Ordinal) + sizeof(double) + 3 * sizeof(Offset) + 4 * sizeof(std::int64_t);

  template <class T>
  Array<T> allocate(MemoryReservation& from, const char* what, std::size_t count) const {
    return from.template allocate<Array<T>>(exec, std::string("lutra::ilu::parilut_") + what, count);
  }

  std::size_t entry_bytes() const { return sizeof(Ordinal) + (deterministic ? 2 : 1) * sizeof(Scalar); }
  /// Bytes of an entry with its key.
  std::size_t wide_bytes() const { return entry_bytes() + sizeof(Real); }
  /// Bytes of an entry with its key and its share of the selection workspace.
  std::size_t selected_bytes() const { return wide_bytes() + 2 * sizeof(Real) + 2; }
  static std::size_t row_map_bytes(std::size_t rows) { return 2 * rows * sizeof(Offset) + (1 << 11); }

  /// Entries that fit in `wide` beside two copies of the kept ones.
  std::size_t available_entries() const {
    const std::size_t missing = (kept[0].nnz() == 0 ? 1 : 0) + (kept[1].nnz() == 0 ? 1 : 0);
    const std::size_t others = others_bytes + missing * row_map_bytes(static_cast<std::size_t>(n));
    const std::size_t all = budget.available_bytes();
    const std::size_t free_bytes = all > others ? all - others : 0;
    const std::size_t size = free_bytes / (selected_bytes() + missing * entry_bytes());
    const auto limit = static_cast<std::size_t>(n_limit());
    return size <= limit ? size : (free_bytes - missing * limit * entry_bytes()) / selected_bytes();
  }
};

}  // namespace lutra::Impl

#endif
