// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_PYRANKSOLVER_HPP
#define LUTRA_PYRANKSOLVER_HPP

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "Lutra_Error.hpp"
#include "Lutra_PySolver.hpp"
#include "Lutra_Report.hpp"

// DistributedLU without template parameters, Kokkos or Python.

namespace lutra::Python {

/// Rows of one rank, in memory of the caller.
struct RowArrays {
  std::int64_t n = 0;                     ///< order of the whole matrix
  std::size_t n_rows = 0, nnz = 0;        ///< of this rank
  const std::int64_t* rows = nullptr;     ///< [n_rows] their indices in the whole matrix
  const std::int64_t* row_map = nullptr;  ///< [n_rows + 1]
  const std::int64_t* columns = nullptr;  ///< [nnz] in the whole matrix
  const void* values = nullptr;           ///< [nnz] of the scalar type of the solver
};

/// DistributedLU on the ranks of a communicator. All calls but `report`, `abandon` and the destructor are
/// collective. Errors are those of the library, on all ranks. `problem` is what the caller finds wrong with
/// the arguments of this rank, which are then not read; empty: nothing. It is an InputError on all ranks.
class RankSolver {
 public:
  /// What all ranks agreed on.
  struct Agreement {
    ScalarType scalar;         ///< that holds the values of all ranks
    std::int64_t rows_before;  ///< rows of the lower ranks
  };

  virtual ~RankSolver() = default;
  /// To precede `factorize`.
  /// @param scalar type that holds the values of this rank
  /// @param rows of this rank
  virtual Agreement agree(ScalarType scalar, std::size_t rows, const std::string& problem) = 0;
  /// @param scalar type of the values, as agreed
  virtual Status factorize(ScalarType scalar, const RowArrays& A) = 0;
  virtual Status refactorize(const void* values, std::size_t nnz, const std::string& problem) = 0;
  /// @param B,X [rows × k] by columns, without gaps
  virtual Status solve(const void* B, void* X, std::size_t rows, std::size_t k, Transposition op,
                       const std::string& problem) = 0;
  virtual const Report& report() const = 0;
  virtual void close() = 0;
  /// Tells ranks that wait for this one that it will not come.
  virtual void abandon(const std::string& reason) = 0;
};

/// Collective.
/// @param communicator of MPI, as an integer of Fortran
/// @param problem as for RankSolver
std::unique_ptr<RankSolver> make_rank_solver(int communicator, const Options& options,
                                             const std::string& problem);

/// A line for each option, as list_options.
std::string list_rank_options();
/// Name and version of the MPI that Lutra is linked with.
std::string mpi_library();

}  // namespace lutra::Python

#endif
