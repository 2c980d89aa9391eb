// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_HESSENBERGSOLVER_HPP
#define LUTRA_HESSENBERGSOLVER_HPP

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "Lutra_ScalarTraits.hpp"

namespace lutra::Impl {

/// The least-squares problem of a GMRES cycle, min ‖norm·e₁ − H·y‖₂, on the host. Givens rotations reduce the
/// Hessenberg matrix H to upper triangular form as its columns arrive (Saad and Schultz, SIAM J. Sci. Stat.
/// Comput. 7, 1986).
template <class Scalar>
class HessenbergSolver {
 public:
  using Real = RealOf<Scalar>;

  explicit HessenbergSolver(Real norm) : m_right_side{Scalar(norm)} {}

  /// Appends column j (j + 2 entries); returns the new residual norm.
  Real add_column(std::vector<Scalar> column) {
    const std::size_t j = m_columns.size();
    Real size = 0;
    for (const Scalar& entry : column) size = std::max(size, ScalarTraits<Scalar>::magnitude(entry));
    m_negligible.push_back(8 * epsilon_of<Scalar> * size);
    for (std::size_t i = 0; i < j; ++i) rotate(i, column[i], column[i + 1]);
    const Real a = ScalarTraits<Scalar>::magnitude(column[j]);
    const Real b = ScalarTraits<Scalar>::magnitude(column[j + 1]);
    const Real length = std::hypot(a, b);
    m_cosines.push_back(length > 0 ? column[j] / length : Scalar(1));
    m_sines.push_back(length > 0 ? column[j + 1] / length : Scalar(0));
    rotate(j, column[j], column[j + 1]);
    m_right_side.push_back(Scalar(0));
    rotate(j, m_right_side[j], m_right_side[j + 1]);
    m_columns.push_back(std::move(column));
    return ScalarTraits<Scalar>::magnitude(m_right_side[j + 1]);
  }

  /// y, the coefficients of the directions; 0 for a direction that A maps to nothing new, up to rounding.
  std::vector<Scalar> solve() const {
    std::vector<Scalar> y(m_columns.size());
    for (std::size_t k = y.size(); k-- > 0;) {
      Scalar rest = m_right_side[k];
      for (std::size_t j = k + 1; j < y.size(); ++j) rest -= m_columns[j][k] * y[j];
      const bool nothing_new = ScalarTraits<Scalar>::magnitude(m_columns[k][k]) <= m_negligible[k];
      y[k] = nothing_new ? Scalar(0) : rest / m_columns[k][k];
    }
    return y;
  }

 private:
  /// Applies rotation i: [c̄ s̄; −s c].
  void rotate(std::size_t i, Scalar& upper, Scalar& lower) const {
    const Scalar before = upper;
    upper = ScalarTraits<Scalar>::conjugate(m_cosines[i]) * before +
            ScalarTraits<Scalar>::conjugate(m_sines[i]) * lower;
    lower = m_cosines[i] * lower - m_sines[i] * before;
  }

  std::vector<std::vector<Scalar>> m_columns;
  std::vector<Scalar> m_right_side, m_cosines, m_sines;
  std::vector<Real> m_negligible;  ///< bounds below which diagonals are rounding
};

}  // namespace lutra::Impl

#endif
