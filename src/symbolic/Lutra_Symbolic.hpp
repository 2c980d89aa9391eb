// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_SYMBOLIC_HPP
#define LUTRA_SYMBOLIC_HPP

#include <optional>
#include <string>
#include <string_view>

#include "Lutra_CsrView.hpp"
#include "Lutra_DeviceModel.hpp"
#include "Lutra_Fill2Options.hpp"
#include "Lutra_MemoryBudget.hpp"
#include "Lutra_Report.hpp"

namespace lutra {

/// Methods that find the pattern of L + U. The names fill1 and fill2 are those of Rose and Tarjan 1978 and
/// GSoFa.
enum class SymbolicMethod {
  automatic,  ///< fill1 on hosts; on devices etree for symmetric patterns, else the fastest of fill1, fill2
              ///< and ancestors, as predicted
  fill2,  ///< reachability row by row: each row is an independent search through A; exact, parallel over rows
  fill1,  ///< row merge with symmetric pruning, on the host; exact, nearly linear
  etree,  ///< elimination tree of A + Aᵀ; exact for symmetric patterns, else the factor pattern of A + Aᵀ
  ancestors  ///< elimination on ancestor bit sets in the tree of A + Aᵀ; exact, parallel over subtrees
};

/// Name on the command line.
constexpr std::string_view name_of(SymbolicMethod method) {
  switch (method) {
    case SymbolicMethod::fill2:
      return "fill2";
    case SymbolicMethod::fill1:
      return "fill1";
    case SymbolicMethod::etree:
      return "etree";
    case SymbolicMethod::ancestors:
      return "ancestors";
    default:
      return "auto";
  }
}

/// Options of `factorize_symbolic`.
struct SymbolicOptions {
  SymbolicMethod method = SymbolicMethod::automatic;
  bool portable = false;                         ///< forces the portable kernels where the space has its own
  std::optional<DeviceModel> device_model = {};  ///< cost model for `automatic`; empty: the default model
  Fill2Options fill2 = {};                       ///< those other than the defaults need the method fill2
};

/// The pattern of L + U by rows: each row is sorted and includes the diagonal, which belongs to U (L has a
/// unit diagonal).
template <class MemorySpace>
struct LuPattern {
  Ordinal n = 0;
  Kokkos::View<const Offset*, MemorySpace> row_map;   ///< [n + 1]
  Kokkos::View<const Ordinal*, MemorySpace> entries;  ///< [row_map(n)] columns
  Kokkos::View<const Offset*, MemorySpace> diagonal;  ///< [n] position of (i, i) in `entries`
  Offset nnz_l = 0;                                   ///< entries left of the diagonal
  Offset nnz_u = 0;                                   ///< entries on and right of the diagonal
  SymbolicMethod method = SymbolicMethod::fill2;      ///< the method used, never `automatic`
  bool exact = true;                                  ///< false: a superset, the factor pattern of A + Aᵀ
  std::string reason;                                 ///< why this method was used
  MemoryReservation reservation;
  std::optional<Fill2Statistics> fill2 = {};  ///< if fill2 found it

  CsrPattern<Ordinal, Offset, MemorySpace> pattern() const { return {n, n, row_map, entries}; }
};

/// Pattern of the LU factors of a square matrix, eliminated in its given order without pivoting: (i, j) is an
/// entry if and only if A has a path from i to j through vertices smaller than both.
///
/// `SymbolicMethod` lists the methods, docs/symbolic.md describes them. For a pattern in device memory, fill1
/// works on a host copy. If the budget is too small for the method that `automatic` chose, fill2 is used,
/// which needs the least memory.
///
/// @param pattern square, in memory space of `exec`; rows may be unsorted but without duplicate columns, the
///                diagonal may be missing
/// @return the pattern; its `method` and `reason` name the method used and why
/// @throws InputError for a pattern that is not square, and for options that do not go together
/// @throws OutOfMemoryError if the budget is too small; for fill2, names the bytes that would suffice
template <class ExecutionSpace>
LuPattern<typename ExecutionSpace::memory_space> factorize_symbolic(
    const ExecutionSpace& exec,
    const CsrPattern<Ordinal, Offset, typename ExecutionSpace::memory_space>& pattern,
    const MemoryBudget& budget, const SymbolicOptions& options = {});

/// Overload that writes to host memory, for patterns too large for the memory of `exec`: fill2 then finds
/// them in ranges of rows, and copies each range to the host while it searches the next. The budget covers
/// the memory of `exec`; on hosts a pattern found in ranges is not counted.
/// @throws InputError; OutOfMemoryError if a workspace and two of the longest rows do not fit, with the least
/// budget that would suffice
template <class ExecutionSpace>
LuPattern<Kokkos::HostSpace> factorize_symbolic_to_host(
    const ExecutionSpace& exec,
    const CsrPattern<Ordinal, Offset, typename ExecutionSpace::memory_space>& pattern,
    const MemoryBudget& budget, const SymbolicOptions& options = {});

}  // namespace lutra

#endif
