// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_MATRIXOPERATOR_HPP
#define LUTRA_MATRIXOPERATOR_HPP

#include <span>

#include "Lutra_BackwardError.hpp"
#include "Lutra_Factorization.hpp"
#include "Lutra_ScalarTraits.hpp"

namespace lutra {

/// wᴴ·A·z, and its value without cancellation.
struct BilinearForm {
  double real = 0, imaginary = 0;
  double size = 0;  ///< |w|ᴴ·|A|·|z|
};

/// A linear operator with known entries, which allow backward errors: the interface of refinement and of the
/// search for a null vector to a matrix. Independent of index types, so that they are compiled only once.
template <class Scalar, class ExecutionSpace>
class MatrixOperator : public LinearOperator<Scalar, ExecutionSpace> {
 public:
  using typename LinearOperator<Scalar, ExecutionSpace>::Memory;
  using typename LinearOperator<Scalar, ExecutionSpace>::Rows;
  using Scale = Kokkos::View<const RealOf<Scalar>*, Memory>;

  /// R = B − A·X in the precision of Scalar; accumulates the maxima of each column. Does not wait.
  virtual void residual(const ExecutionSpace& exec, const Rows& B, const Rows& X, const Rows& R,
                        const ResidualMaxima<ExecutionSpace>& maxima) const = 0;

  /// Computes ‖D_r·A·D_c‖∞, the largest row sum of magnitudes, into the maxima; an empty scale is the
  /// identity. Does not wait.
  virtual void gather_norm(const ExecutionSpace& exec, const Scale& row_scale, const Scale& col_scale,
                           const ResidualMaxima<ExecutionSpace>& maxima) const = 0;

  /// G = |A|·|X| for all columns. Does not wait.
  virtual void apply_magnitudes(const ExecutionSpace& exec, const Rows& X, const Rows& G) const = 0;

  /// wᴴ·A·z of the first columns of W and Z, with the rows of A·z as accurate as in twice the precision.
  /// Waits.
  virtual BilinearForm bilinear_form(const ExecutionSpace& exec, const Rows& W, const Rows& Z) const = 0;

  /// Replaces maxima over the rows of this process by those over all rows of the matrix. Called by all
  /// processes that share the rows, on the host; nothing to do where one has them all.
  virtual void join_maxima(std::span<double>) const {}

  /// ‖A‖∞, or a negative number if not computed for the present values.
  double norm() const { return m_norm; }
  void set_norm(double norm) { m_norm = norm; }

 private:
  double m_norm = -1;
};

}  // namespace lutra

#endif
