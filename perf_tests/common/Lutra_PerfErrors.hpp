// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_PERFERRORS_HPP
#define LUTRA_PERFERRORS_HPP

#include <vector>

#include "Lutra_CsrView.hpp"

namespace lutra::Perf {

/// Backward errors of a solution; infinity if the solution or its residual is not finite.
struct Errors {
  double componentwise = 0;  ///< maxᵢ |r|ᵢ / (|A||x| + |b|)ᵢ; 0/0 counts as 0
  double normwise = 0;       ///< ‖r‖∞ / (‖A‖∞‖x‖∞ + ‖b‖∞)
};

/// Backward errors of a solution from any solver, computed in long double on the host without code of the
/// library.
template <class Scalar>
Errors backward_errors(const HostMatrix<Scalar>& matrix, const std::vector<Scalar>& b,
                       const std::vector<Scalar>& x);

/// Componentwise backward error above which a solution counts as failed, the library's default.
inline constexpr double tolerance = 1e-12;

}  // namespace lutra::Perf

#endif
