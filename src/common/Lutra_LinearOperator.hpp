// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_LINEAROPERATOR_HPP
#define LUTRA_LINEAROPERATOR_HPP

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <string>

#include "Lutra_DenseRows.hpp"
#include "Lutra_Error.hpp"
#include "Lutra_Transposition.hpp"

namespace lutra {

/// Square linear operator; the interface of a matrix for Krylov methods and refinement.
template <class Scalar, class ExecutionSpace>
class LinearOperator {
 public:
  using Memory = typename ExecutionSpace::memory_space;
  using Rows = DenseRows<Scalar, Memory>;

  virtual ~LinearOperator() = default;
  /// Order of the operator.
  virtual std::int64_t size() const = 0;
  /// Y = A·X, [n × k] each, not overlapping. Neither checks nor fences.
  virtual void apply(const ExecutionSpace& exec, const Rows& X, const Rows& Y) const = 0;
};

/// Approximate inverse; the interface of factors for Krylov methods and refinement.
template <class Scalar, class ExecutionSpace>
class Preconditioner {
 public:
  using Memory = typename ExecutionSpace::memory_space;
  using Rows = DenseRows<Scalar, Memory>;

  virtual ~Preconditioner() = default;
  /// Order of the preconditioned matrix; −1 if any. Krylov methods refuse a preconditioner whose order
  /// differs from their operator's.
  virtual std::int64_t size() const { return -1; }
  /// X ≈ op(A)⁻¹·B, [n × k] each; X may be B. Neither checks nor fences.
  virtual void apply(const ExecutionSpace& exec, Transposition op, const Rows& B, const Rows& X) = 0;
};

/// @throws InputError if the order of `M` is neither n nor −1
template <class Scalar, class ExecutionSpace>
void check_size(const Preconditioner<Scalar, ExecutionSpace>& M, std::int64_t n) {
  if (M.size() < 0 || M.size() == n) return;
  throw InputError("preconditioner: it is for a matrix of order " + std::to_string(M.size()) +
                   ", and the matrix has the order " + std::to_string(n));
}

/// Approximate inverse in two factors, A ≈ L·U, for split preconditioning.
template <class Scalar, class ExecutionSpace>
class SplitPreconditioner : public Preconditioner<Scalar, ExecutionSpace> {
 public:
  using typename Preconditioner<Scalar, ExecutionSpace>::Rows;

  /// X = op(L)⁻¹·B; X may be B. Neither checks nor fences.
  virtual void apply_lower(const ExecutionSpace& exec, Transposition op, const Rows& B, const Rows& X) = 0;
  /// X = op(U)⁻¹·B; X may be B. Neither checks nor fences.
  virtual void apply_upper(const ExecutionSpace& exec, Transposition op, const Rows& B, const Rows& X) = 0;
};

}  // namespace lutra

#endif
