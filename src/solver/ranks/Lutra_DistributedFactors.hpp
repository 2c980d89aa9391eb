// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_DISTRIBUTEDFACTORS_HPP
#define LUTRA_DISTRIBUTEDFACTORS_HPP

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "Lutra_Communicator.hpp"
#include "Lutra_DistributedTriangles.hpp"
#include "Lutra_FactorValues.hpp"
#include "Lutra_ScalarTraits.hpp"
#include "Lutra_Transposition.hpp"

namespace lutra {

/// Factors on a grid of ranks, complete or incomplete, with their orders and scales: F = L·U with
/// F(k, l) = r·A(i, j)·c (FactorValues). All calls are collective, errors included.
///
///     A⁻¹·B    B by rows, scaled by r ──► L, then U ──► X by columns, scaled by c
///     A⁻ᵀ·B    B by columns, scaled by c ──► Uᵀ, then Lᵀ ──► X by rows, scaled by r
///
/// Triangles of the transposed entries are made by the first solve that asks for them.
template <class Scalar>
class DistributedFactors {
 public:
  /// @param factors entries on any rank; orders and scales on rank 0
  /// @param rows    of the matrix, of which this rank has the elements of B and X; each on one rank
  /// @throws what DistributedTriangles does
  DistributedFactors(Communicator& comm, FactorValues<Scalar>&& factors,
                     const std::vector<std::int64_t>& rows, const DistributedOptions& options);
  void close();

  /// Others on the same entries, in the same order.
  void set_values(std::span<const Scalar> values);

  /// op(A)⁻¹·B, as good as the factors are. @param B [rows × k] by columns @returns X like B
  std::vector<Scalar> solve(std::span<const Scalar> B, std::size_t k, Transposition op = Transposition::none);

  /// With the factors as they stand; `predictions()` say why the grid was chosen.
  const DistributedTriangles<Scalar>& triangles() const { return *m_triangles; }
  /// Of this rank, of solves with both.
  RankStatistics statistics() const;

 private:
  void make_transposed();

  Communicator& m_comm;
  DistributedOptions m_options;
  std::int64_t m_n = 0;
  std::vector<std::int64_t> m_row_position, m_col_position;  ///< [rows] in F
  std::vector<RealOf<Scalar>> m_row_scale, m_col_scale;      ///< [rows]
  std::optional<DistributedTriangles<Scalar>> m_triangles, m_transposed;
};

/// "grid 2x1 by the model: 95 us a solve, 1x1 140 us, …"
std::string describe_choice(const std::vector<GridPrediction>& predictions);

}  // namespace lutra

#endif
