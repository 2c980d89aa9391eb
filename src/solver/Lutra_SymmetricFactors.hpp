// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_SYMMETRICFACTORS_HPP
#define LUTRA_SYMMETRICFACTORS_HPP

#include <Kokkos_Core.hpp>

#include "Lutra_CsrView.hpp"
#include "Lutra_FrontLdlt.hpp"
#include "Lutra_FrontSolver.hpp"

namespace lutra {

/// Interface of a factorization S·A·S = Pᵀ·L·D·Lᵀ·P whose factors can be applied separately.
template <class Scalar, class ExecutionSpace>
class SymmetricFactors {
 public:
  using Memory = typename ExecutionSpace::memory_space;
  using ConstColumns = Kokkos::View<const Scalar**, Kokkos::LayoutStride, Memory>;
  using Columns = Kokkos::View<Scalar**, Kokkos::LayoutStride, Memory>;

  virtual ~SymmetricFactors() = default;
  /// Computes X = (op of the parts)⁻¹·B. L includes the scaling of right-hand sides, and Lᵀ that of
  /// solutions. Neither checks nor fences.
  /// @throws OutOfMemoryError
  virtual void solve_parts(const ExecutionSpace& exec, Transposition op, const ConstColumns& B,
                           const Columns& X, const LdltParts& parts) = 0;
  /// Returns the determinant of the last matrix factorized. Fences.
  virtual Determinant<Scalar> determinant(const ExecutionSpace& exec) = 0;
};

}  // namespace lutra

#endif
