// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_DISTRIBUTEDFACTORS_HPP
#define LUTRA_DISTRIBUTEDFACTORS_HPP

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "Lutra_Communicator.hpp"
#include "Lutra_CsrView.hpp"
#include "Lutra_DistributedTriangles.hpp"
#include "Lutra_Factorization.hpp"
#include "Lutra_ScalarTraits.hpp"

namespace lutra {

/// Factors on a grid of ranks, complete or incomplete, with their orders and scales: F = L·U with F(k,
/// l) = r·A(i, j)·c (FactorValues). All calls are collective, and errors are thrown on all ranks.
///
///     A⁻¹·B    B by rows, scaled by r ──► L, then U ──► X by columns, scaled by c
///     A⁻ᵀ·B    B by columns, scaled by c ──► Uᵀ, then Lᵀ ──► X by rows, scaled by r
///
/// The first transposed solve builds the triangles of the transposed factors.
template <class Scalar>
class DistributedFactors {
 public:
  /// @param factors entries on any rank; orders and scales on rank 0
  /// @param rows    rows of the matrix for which this rank holds the elements of B and X; each row on one
  ///                rank
  /// @throws whatever DistributedTriangles throws
  DistributedFactors(Communicator& comm, FactorValues<Scalar>&& factors,
                     const std::vector<std::int64_t>& rows, const DistributedOptions& options);
  void close();

  /// Replaces the values. Pattern and order of the entries stay the same.
  void set_values(std::span<const Scalar> values);

  /// Computes op(A)⁻¹·B with the accuracy of the factors.
  /// @param B [rows × k] stored by columns
  /// @returns X, stored like B
  std::vector<Scalar> solve(std::span<const Scalar> B, std::size_t k, Transposition op = Transposition::none);

  /// Returns the triangles that are not transposed. Their `predictions()` explain the choice of the grid.
  const DistributedTriangles<Scalar>& triangles() const { return *m_triangles; }
  /// Returns the statistics of this rank, summed over plain and transposed solves.
  RankStatistics statistics() const;

 private:
  void make_transposed();

  Communicator& m_comm;
  DistributedOptions m_options;
  std::int64_t m_n = 0;
  std::vector<std::int64_t> m_row_position, m_col_position;  ///< [rows] positions in F
  std::vector<RealOf<Scalar>> m_row_scale, m_col_scale;      ///< [rows] scales
  std::optional<DistributedTriangles<Scalar>> m_triangles, m_transposed;
};

/// Describes the choice of a grid: "grid 2x1 by the model: 95 us a solve, 1x1 140 us, …"
std::string describe_choice(const std::vector<GridPrediction>& predictions);

}  // namespace lutra

#endif
