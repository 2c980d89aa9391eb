// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_DISTRIBUTEDLU_HPP
#define LUTRA_DISTRIBUTEDLU_HPP

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "Lutra_Communicator.hpp"
#include "Lutra_CsrView.hpp"
#include "Lutra_DistributedFactors.hpp"
#include "Lutra_DistributedOperator.hpp"
#include "Lutra_DistributedRows.hpp"
#include "Lutra_DistributedTriangles.hpp"
#include "Lutra_LuOptions.hpp"
#include "Lutra_Report.hpp"
#include "Lutra_ScalarTraits.hpp"

namespace lutra {

/// LU of a matrix that is distributed by rows: analysed by rank 0, factorized, solved with and refined by all
/// ranks.
///
///     rows of A ──► rank 0: order, tree ──► fronts on ranks (DistributedFronts) ──► L, U ──► blocks on the
///     grid; each step:  B − op(A)·X by rows on all ranks ──► solve on the grid (DistributedFactors) ──► X by
///     rows
///
/// With `on_device` of the distribution fronts are factorized and triangles solved on the ranks' devices
/// (CUDA); the analysis, residuals, and factors on their way from fronts to blocks are on hosts.
///
/// Where SparseLU would not take fronts there, or interchanges rows, or pivots had to be perturbed, or a
/// memory limit does not suffice for fronts, it factorizes on rank 0, which the factors must then fit on, and
/// the report's reasons say why. The whole
/// matrix must fit on rank 0. `memory_limit` is that of each rank, for fronts. Each rank needs n·k
/// words for X and what DistributedTriangles does. All calls are collective, errors
/// included; instantiated for all scalars.
template <class Scalar>
class DistributedLU {
 public:
  /// @throws InputError for options out of range
  explicit DistributedLU(Communicator& comm, const LuOptions& options = {},
                         const DistributedOptions& distribution = {});
  /// Waits for nothing; `close` frees what others may still write to.
  ~DistributedLU();
  void close();

  /// Analysis and factorization; takes a copy of the rows. Where fronts on all ranks had factorized a matrix
  /// of the same pattern before, with its analysis, order and scales. @returns success, or what a
  /// factorization found
  /// @throws on all ranks alike: InputError for a row on no rank or two, and for what SparseLU refuses;
  ///         OutOfMemoryError
  [[nodiscard]] Status factorize(const DistributedRows<Scalar>& A);

  /// Solves op(A)·X = B and refines, as SparseLU does but without GMRES: corrections are kept, column by
  /// column, where they lower the componentwise backward error.
  /// @param B,X [rows of this rank × k] by columns
  /// @returns the status of `report()`; where it is singular, X is left alone
  /// @throws CallOrderError, InputError for B of another size or not finite, on all ranks alike
  Status solve(std::span<const Scalar> B, std::span<Scalar> X, std::size_t k = 1,
               Transposition op = Transposition::none);

  /// Status and errors on all ranks; the rest as rank 0 knows it.
  const Report& report() const noexcept { return m_report; }
  /// The one that was asked for, or what was chosen by the last factorization.
  const ProcessGrid& grid() const noexcept { return m_distribution.grid; }
  /// What the model said of the grids it chose among, fastest first, or of the one that was given.
  const std::vector<GridPrediction>& predictions() const noexcept { return m_predictions; }
  /// Collective: of each rank on rank 0, empty on others.
  std::vector<RankStatistics> statistics();

 private:
  bool has_pattern(const DistributedRows<Scalar>& A);
  void assemble_rows();
  bool refactorize();
  void factorize_again();
  template <class ExecutionSpace>
  void factorize_in(FactorValues<Scalar>& factors);
  template <class ExecutionSpace>
  bool factorize_on_ranks(FactorValues<Scalar>& factors);
  void describe_place();
  template <class ExecutionSpace>
  void factorize_on_first_rank(FactorValues<Scalar>& factors);

  Communicator& m_comm;
  LuOptions m_options;
  DistributedOptions m_distribution;
  ProcessGrid m_asked;  ///< grid of the options; 0 × 0: none
  std::vector<GridPrediction> m_predictions;
  DistributedOperator<Scalar> m_A;
  HostMatrix<Scalar> m_whole;                            ///< on rank 0
  std::vector<RealOf<Scalar>> m_row_scale, m_col_scale;  ///< [n] of fronts, on rank 0
  /// Factorizes `m_whole` by fronts on all ranks: this rank's values and the seconds it took, or null on all
  /// ranks where pivots had to be perturbed. Empty: rank 0 factorized alone.
  std::function<const std::vector<Scalar>*(double&)> m_run_fronts;
  std::string m_why_alone;  ///< why rank 0 factorizes alone, on rank 0; empty: one rank is all there is
  std::optional<DistributedFactors<Scalar>> m_factors;
  bool m_usable = false;  ///< the factors are those of m_A
  Report m_report;
};

}  // namespace lutra

#endif
