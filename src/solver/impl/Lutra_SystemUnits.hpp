// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_SYSTEMUNITS_HPP
#define LUTRA_SYSTEMUNITS_HPP

#include "Lutra_Factorization.hpp"
#include "Lutra_PowerOfTwo.hpp"
#include "Lutra_RefinementKernels.hpp"

// Units of a Krylov solver: powers of two that bring the largest entries of A and of each column of B to
// between 1 and 2,
//
//     A' = A·2^−a,   b' = b·2^−β,   A'·x' = b',   x = x'·2^(β − a)
//
// Sums then neither overflow nor underflow because of the units of A and B, and A·2^p and b·2^q produce
// bitwise the same iteration as A and b. The largest entries, whose exponents are a and β, stay on the
// device; no kernel here waits.

namespace lutra::Impl {

template <class Values>
struct LargestPart {
  using Real = RealOf<typename Values::non_const_value_type>;
  Values values;
  KOKKOS_FUNCTION void operator()(const std::int64_t i, Real& largest) const {
    largest = Kokkos::max(largest, largest_part(values(i)));  // ignores NaN
  }
};

/// Writes the largest real or imaginary part of all values to `size`; negative if there are no values.
template <class ExecutionSpace, class Values, class Size>
void queue_largest_part(const ExecutionSpace& exec, const Values& values, const Size& size) {
  using Real = typename Size::value_type;
  using Memory = typename Size::memory_space;
  Kokkos::parallel_reduce(
      "lutra::solver::largest_part",
      Kokkos::RangePolicy<ExecutionSpace>(exec, 0, static_cast<std::int64_t>(values.extent(0))),
      LargestPart<Values>{values}, Kokkos::Max<Real, Memory>(Kokkos::View<Real, Memory>(size.data())));
}

/// Computes values·2^−a.
template <class Values, class Size>
struct ScaleMatrix {
  Values values;
  Size size;
  KOKKOS_FUNCTION void operator()(const std::int64_t i) const {
    values(i) = scale_by_power(values(i), -exponent_of(size(0)));
  }
};

/// Computes X·2^(A_factor·a + B_factor·β) for each column.
template <class Rows, class Size>
struct ScaleColumns {
  Rows X;
  Size A_size, B_sizes;
  int A_factor, B_factor;
  KOKKOS_FUNCTION void operator()(const std::int64_t i, const int c) const {
    const int exponent = A_factor * exponent_of(A_size(0)) + B_factor * exponent_of(B_sizes(c));
    X(i, c) = scale_by_power(X(i, c), exponent);
  }
};

/// Adapts a caller's preconditioner of A to A·2^−a. It applies M⁻¹·2^a, with half of the power before M and
/// half after, so that neither step overflows or underflows.
template <class Scalar, class ExecutionSpace, class Size>
class ScaledPreconditioner final : public Preconditioner<Scalar, ExecutionSpace> {
 public:
  using typename Preconditioner<Scalar, ExecutionSpace>::Rows;

  ScaledPreconditioner(Preconditioner<Scalar, ExecutionSpace>& M, const Size& A_size)
      : m_M(M), m_A_size(A_size) {}
  std::int64_t size() const override { return m_M.size(); }
  void apply(const ExecutionSpace& exec, Transposition op, const Rows& B, const Rows& X) override {
    for_entries(exec, "lutra::solver::to_user", X, ScaleHalf{B, X, m_A_size, false});
    m_M.apply(exec, op, X, X);
    for_entries(exec, "lutra::solver::from_user", X, ScaleHalf{X, X, m_A_size, true});
  }

  struct ScaleHalf {
    Rows from, to;
    Size size;
    bool is_second;
    KOKKOS_FUNCTION void operator()(const std::int64_t i, const int c) const {
      const int exponent = exponent_of(size(0)), half = exponent / 2;
      to(i, c) = from(i, c) * power_of_two<RealOf<Scalar>>(is_second ? exponent - half : half);
    }
  };

 private:
  Preconditioner<Scalar, ExecutionSpace>& m_M;
  Size m_A_size;
};

}  // namespace lutra::Impl

#endif
