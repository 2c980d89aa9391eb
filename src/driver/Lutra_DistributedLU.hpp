// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_DISTRIBUTEDLU_HPP
#define LUTRA_DISTRIBUTEDLU_HPP

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "Lutra_Communicator.hpp"
#include "Lutra_CsrView.hpp"
#include "Lutra_DistributedTriangles.hpp"
#include "Lutra_FactorValues.hpp"
#include "Lutra_LuOptions.hpp"
#include "Lutra_Report.hpp"
#include "Lutra_ScalarTraits.hpp"

namespace lutra {

/// Rows of a square matrix on one rank. Each row is on exactly one rank, and so are the elements of B and X
/// that belong to it.
template <class Scalar>
struct DistributedRows {
  std::int64_t n = 0;                 ///< rows of the whole matrix
  std::vector<std::int64_t> rows;     ///< of the matrix, in any order
  std::vector<std::int64_t> row_map;  ///< [rows + 1]
  std::vector<std::int64_t> columns;  ///< of the matrix, ascending in each row
  std::vector<Scalar> values;
};

/// Collective. A matrix that rank `root` has, dealt out by equal runs of consecutive rows; others pass
/// anything.
template <class Scalar>
DistributedRows<Scalar> deal_rows(Communicator& comm, const HostMatrix<Scalar>& A, int root = 0);

/// LU of a matrix that is distributed by rows: analysed by rank 0, factorized, solved with and refined by all
/// ranks.
///
///     rows of A ──► rank 0: order, tree ──► fronts on ranks (DistributedFronts) ──► L, U ──► blocks on the
///     grid each step:  B − A·X by rows on all ranks ──► solve on the grid (DistributedTriangles) ──► X by
///     rows
///
/// With `on_device` of the distribution fronts are factorized and triangles solved on the ranks' devices
/// (CUDA); the analysis, residuals, and factors on their way from fronts to blocks are on hosts.
///
/// Where SparseLU would not take fronts there, or interchanges rows, or pivots had to be perturbed, or a
/// memory limit does not suffice for fronts, it factorizes on rank 0, which the factors must then fit on. The
/// whole matrix must fit on rank 0. `memory_limit` is that of each rank, for fronts. Each rank needs n·k
/// words for X and what DistributedTriangles does. All calls are collective, errors
/// included; instantiated for all scalars where ordinals of 32 bits are built.
template <class Scalar>
class DistributedLU {
 public:
  /// @throws InputError for options out of range
  explicit DistributedLU(Communicator& comm, const LuOptions& options = {},
                         const DistributedOptions& distribution = {});
  /// Waits for nothing; `close` frees what others may still write to.
  ~DistributedLU();
  void close();

  /// Analysis and factorization; takes a copy of the rows. @returns not_solved, or what a factorization found
  /// @throws on all ranks alike: InputError for a row on no rank or two, and for what SparseLU refuses;
  ///         OutOfMemoryError
  Status factorize(const DistributedRows<Scalar>& A);

  /// Solves A·X = B and refines, as SparseLU does but without GMRES: corrections are kept, column by column,
  /// where they lower the componentwise backward error.
  /// @param B,X [rows of this rank × k] by columns
  /// @returns the status of `report()`; where it is singular, X is left alone
  /// @throws CallOrderError, InputError for B of another size or not finite, on all ranks alike
  Status solve(std::span<const Scalar> B, std::span<Scalar> X, std::size_t k = 1);

  /// Status and errors on all ranks; the rest as rank 0 knows it.
  const Report& report() const noexcept { return m_report; }
  const ProcessGrid& grid() const noexcept { return m_distribution.grid; }
  /// Collective: of each rank on rank 0, empty on others.
  std::vector<RankStatistics> statistics();

 private:
  struct Errors;
  void factorize_assembled();
  template <class ExecutionSpace>
  void factorize_assembled_in(const HostMatrix<Scalar>& whole, FactorValues<Scalar>& factors);
  template <class ExecutionSpace>
  bool factorize_on_ranks(const HostMatrix<Scalar>& whole, FactorValues<Scalar>& factors);
  template <class ExecutionSpace>
  void factorize_on_first_rank(const HostMatrix<Scalar>& whole, FactorValues<Scalar>& factors);
  void distribute(FactorValues<Scalar>& factors);
  std::vector<Scalar> solve_once(const std::vector<Scalar>& B, std::size_t k);
  std::vector<Scalar> whole_solution(const std::vector<Scalar>& X, std::size_t k);
  Errors compute_errors(std::span<const Scalar> B, const std::vector<Scalar>& X, std::size_t k,
                        std::vector<Scalar>& R);

  Communicator& m_comm;
  LuOptions m_options;
  DistributedOptions m_distribution;
  DistributedRows<Scalar> m_A;
  std::vector<std::vector<std::int64_t>> m_all_rows;     ///< of each rank, on rank 0
  std::vector<RealOf<Scalar>> m_row_scale, m_col_scale;  ///< [rows of this rank]
  double m_norm = 0;                                     ///< ‖A‖∞
  std::optional<DistributedTriangles<Scalar>> m_triangles;
  Report m_report;
};

}  // namespace lutra

#endif
