// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_LdltDeterminant.hpp"

#include <cmath>
#include <limits>

#include "Lutra_Allocate.hpp"
#include "Lutra_Instantiate.hpp"

namespace lutra {
namespace {

template <class ViewType>
auto on_host(const ViewType& view) {
  return Impl::mirror_in<Kokkos::HostSpace>(view);
}

/// Multiplies the product by a · factor.
template <class Scalar>
void multiply(Determinant<Scalar>& product, const Scalar& a, double factor = 1) {
  const auto magnitude = ScalarTraits<Scalar>::magnitude(a);
  if (magnitude == 0 || factor == 0) {
    product = {Scalar(0), -std::numeric_limits<double>::infinity()};
  } else {
    product.sign *= a / magnitude;
    product.log_magnitude += std::log(static_cast<double>(magnitude)) + std::log(factor);
  }
}

/// Multiplies the product by the determinant of a 2 × 2 pivot, with one factor divided by the largest entry.
template <class Scalar>
void multiply_two(Determinant<Scalar>& product, Symmetry symmetry, const Scalar& a, const Scalar& b,
                  const Scalar& c) {
  using Traits = ScalarTraits<Scalar>;
  const auto largest =
      Kokkos::max(Traits::magnitude(b), Kokkos::max(Traits::magnitude(a), Traits::magnitude(c)));
  if (!(largest > 0)) return multiply(product, Scalar(0));
  const Scalar above = symmetry == Symmetry::hermitian ? Traits::conjugate(b) : b;
  multiply(product, a / largest * c - b / largest * above, static_cast<double>(largest));
}

}  // namespace

template <class Scalar, class ExecutionSpace>
Determinant<Scalar> determinant(
    const ExecutionSpace& exec, const LdltPlan<typename ExecutionSpace::memory_space>& plan,
    const LdltFactors<Scalar, ExecutionSpace>& factors,
    const Kokkos::View<const RealOf<Scalar>*, typename ExecutionSpace::memory_space>& scale) {
  exec.fence("lutra::numeric: the factors are read");
  const auto records = on_host(factors.records);
  const auto kind = on_host(factors.kind);
  const auto diagonal = on_host(factors.diagonal), off_diagonal = on_host(factors.off_diagonal);
  const auto scales = on_host(scale);
  Determinant<Scalar> product;
  for (std::size_t f = 0; f < static_cast<std::size_t>(plan.base.count); ++f) {
    const auto first = static_cast<std::size_t>(factors.room.host_fronts[f].slots);
    for (std::size_t s = first; s < first + static_cast<std::size_t>(records(f).eliminated); ++s) {
      if (kind(s) == PivotKind::second_of_two) continue;
      if (kind(s) == PivotKind::first_of_two) {
        multiply_two(product, factors.symmetry, diagonal(s), off_diagonal(s), diagonal(s + 1));
      } else {
        multiply(product, kind(s) == PivotKind::zero ? Scalar(0) : diagonal(s));
      }
    }
  }
  if (product.sign != Scalar(0)) product.sign /= ScalarTraits<Scalar>::magnitude(product.sign);
  for (std::size_t i = 0; i < scales.extent(0); ++i)
    product.log_magnitude -= 2 * std::log(static_cast<double>(scales(i)));
  return product;
}

#define LUTRA_LDLT_DETERMINANT(Scalar, Space)                                                  \
  template Determinant<Scalar> determinant(const Space&, const LdltPlan<Space::memory_space>&, \
                                           const LdltFactors<Scalar, Space>&,                  \
                                           const Kokkos::View<const RealOf<Scalar>*, Space::memory_space>&);
LUTRA_FOR_EACH_SCALAR_AND_SPACE(LUTRA_LDLT_DETERMINANT)

}  // namespace lutra
