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

/// Triangle of a matrix; entries on the other side of the diagonal are ignored.
enum class TriangleSide { lower, upper };

/// Source of the diagonal.
enum class DiagonalKind {
  stored,  ///< from the matrix: a missing or zero entry is an error
  unit     ///< ones, whatever the matrix holds there
};

/// Algorithm that solves with a triangle.
enum class TrisolveMethod {
  automatic,  ///< the method of least predicted time
  levels,     ///< level sets; one team processes runs of small levels
  syncfree,   ///< synchronization-free: rows poll for the values they need
  supernodal  ///< like syncfree, for blocks of rows with inverted diagonal blocks
};

/// Command-line name of a method.
std::string_view name_of(TrisolveMethod method);

/// Precision in which the triangle's values are stored.
enum class FactorPrecision {
  working,  ///< the solver's scalar type
  single    ///< float, or complex of float; right-hand sides and solutions keep the solver's scalar type
};

/// Options of `TriangularSolver`. The defaults suit most problems.
struct TriangularOptions {
  TrisolveMethod method = TrisolveMethod::automatic;
  FactorPrecision precision = FactorPrecision::working;
  int expected_rhs = 1;          ///< usual number of right-hand sides per solve, for the automatic choice
  bool portable = false;         ///< use the portable kernels even where specialized ones exist
  double watchdog_seconds = 10;  ///< longest wait of a row; a longer one ends the solve with a TimeoutError
  std::size_t memory_limit = 0;  ///< bytes in the execution space's memory; 0: no limit
  /// model that predicts times; empty: the execution space's built-in model
  std::optional<DeviceModel> device_model = {};
};

/// Choices and statistics of an analysis, for op(T) = T or Tᵀ.
struct TriangularReport {
  TrisolveMethod method = TrisolveMethod::automatic;  ///< never `automatic` after an analysis
  std::string reason;                                 ///< reason for the method, in a sentence
  std::int64_t n = 0;
  std::int64_t nnz = 0;              ///< entries of the triangle, including its diagonal even if unit
  std::int64_t levels = 0;           ///< level sets of the rows
  std::int64_t blocks = 0;           ///< blocks of rows; n if every row is its own block
  std::int64_t block_levels = 0;     ///< levels of the blocks: steps on the critical path
  std::int64_t inverted_blocks = 0;  ///< diagonal blocks applied by their inverses, with the last values
  std::int64_t stored_entries = 0;   ///< entries packed for the kernels, including padding and inverses
  std::size_t bytes = 0;             ///< bytes of device memory in use
  double predicted_seconds = 0;      ///< prediction for one right-hand side, by the performance model
  /// predictions by method; supernodal: 0 if blocks were not considered
  double predicted_levels_seconds = 0, predicted_syncfree_seconds = 0, predicted_supernodal_seconds = 0;
};

}  // namespace lutra

#endif
