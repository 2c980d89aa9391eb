// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_TRIANGULAROPTIONS_HPP
#define LUTRA_TRIANGULAROPTIONS_HPP

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "Lutra_DeviceModel.hpp"

namespace lutra {

/// Which triangle of a matrix is meant; entries on the other side of the diagonal are ignored.
enum class TriangleSide { lower, upper };

/// Where the diagonal comes from.
enum class DiagonalKind {
  stored,  ///< from the matrix: a row without one, or with a zero, is refused
  unit     ///< ones, whatever the matrix holds there
};

/// How a triangle is solved.
enum class TrisolveMethod {
  automatic,  ///< the one of least predicted time
  levels,     ///< level sets; runs of small levels inside one team
  syncfree,   ///< synchronization-free: rows poll for the values they need
  supernodal  ///< like syncfree, for blocks of rows whose diagonal blocks are inverted
};

/// The name of a method as the command line has it.
std::string_view name_of(TrisolveMethod method);

/// Precision the triangle's values are kept in.
enum class FactorPrecision {
  working,  ///< the solver's scalar
  single    ///< float, or complex of float; right-hand sides and solutions stay in the solver's scalar
};

/// Options of `TriangularSolver`. The defaults suit most uses.
struct TriangularOptions {
  TrisolveMethod method = TrisolveMethod::automatic;
  FactorPrecision precision = FactorPrecision::working;
  int expected_rhs = 1;          ///< right-hand sides a solve usually has; used by the automatic choice
  bool portable = false;         ///< use the portable kernels where there are specialised ones too
  double watchdog_seconds = 10;  ///< a row that waits longer ends the solve with a TimeoutError
  std::size_t memory_limit = 0;  ///< bytes in the execution space's memory; 0: no limit
  /// What times are predicted from; none: the execution space's built-in model.
  std::optional<DeviceModel> device_model = {};
};

/// What an analysis chose and counted, for one of op(T) = T, Tᵀ.
struct TriangularReport {
  TrisolveMethod method = TrisolveMethod::automatic;  ///< never `automatic` after an analysis
  std::string reason;                                 ///< for the method, in a sentence
  std::int64_t n = 0;
  std::int64_t nnz = 0;              ///< entries of the triangle, its diagonal counted once even if unit
  std::int64_t levels = 0;           ///< levels of the rows
  std::int64_t blocks = 0;           ///< blocks of rows; n where every row is its own
  std::int64_t block_levels = 0;     ///< levels of the blocks: steps on the critical path
  std::int64_t inverted_blocks = 0;  ///< diagonal blocks used by their inverses with the last values
  std::int64_t stored_entries = 0;   ///< entries packed for the kernels, padding and inverses included
  std::size_t bytes = 0;             ///< device memory held
  double predicted_seconds = 0;      ///< of a solve with one right-hand side, by the performance model
  /// By method; supernodal: 0 where blocks were not considered.
  double predicted_levels_seconds = 0, predicted_syncfree_seconds = 0, predicted_supernodal_seconds = 0;
};

}  // namespace lutra

#endif
