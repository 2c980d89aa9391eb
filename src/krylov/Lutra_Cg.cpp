// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <limits>

#include "Lutra_Instantiate.hpp"
#include "Lutra_KrylovMethods.hpp"
#include "Lutra_RefinementKernels.hpp"

namespace lutra {
namespace {

/// Conjugate gradients (Hestenes and Stiefel, J. Res. NBS 49, 1952; Saad, Iterative Methods, algorithm 9.1)
/// for a Hermitian positive definite A with a Hermitian positive definite preconditioner. pᴴ·A·p ≤ 0 or
/// rᴴ·M⁻¹·r ≤ 0 is a breakdown. Memory: 5·n·k scalars. Cost per iteration: a product, a preconditioner solve
/// and four launches.
template <class Scalar, class ExecutionSpace>
class Cg final : public Impl::KrylovCycles<Scalar, ExecutionSpace> {
  using Base = Impl::KrylovCycles<Scalar, ExecutionSpace>;
  using typename Base::Column;
  using typename Base::Rows;
  using typename Base::System;

 public:
  Cg(const ExecutionSpace& exec, std::size_t n, std::size_t columns, const MemoryBudget& budget,
     const Impl::BatchedColumns& batch)
      : Base(n, columns, batch) {
    this->allocate(exec, budget, 2);
    m_P = this->allocate_block(exec, "lutra::krylov::direction");
  }
  int max_steps() const override { return std::numeric_limits<int>::max(); }
  void start(const System& system) override { find_direction(system, true); }
  void finish(const System&) override {}

  void step(const System& system, int j) override {
    const Rows P = this->trim(m_P), Q = this->trim(this->m_scratch), D = this->trim(this->m_D),
               R = this->trim(this->m_R);
    if (j > 0) find_direction(system, false);
    system.multiply(P, Q);
    if (j == 0) this->measure_unit(system.exec(), Q);
    // α = ρ / pᴴ·q with q = A·p
    this->template sum_running<1>(
        system.exec(), "lutra::krylov::cg_alpha",
        KOKKOS_LAMBDA(const Column& column, const std::int64_t i, const int c, Scalar* sums) {
          sums[0] += Impl::dot(P(i, c), Q(i, c) * column.inverse_unit);
        },
        KOKKOS_LAMBDA(const Scalar* sums, Column& column) {
          const auto curvature = Impl::real_part(sums[0]);  // scaled by the unit
          column.alpha = column.rho / curvature * column.inverse_unit;
          column.check(Kokkos::isfinite(curvature),
                       curvature > 0 && ScalarTraits<Scalar>::is_finite(column.alpha));
        });
    // d += α·p, r −= α·q, ‖r‖
    this->template sum_running<1>(
        system.exec(), "lutra::krylov::cg_correction",
        KOKKOS_LAMBDA(const Column& column, const std::int64_t i, const int c, Scalar* sums) {
          const Scalar r = Impl::correct_row(column.alpha, P, Q, D, R, i, c);
          sums[0] += Impl::dot(r, r);
        },
        KOKKOS_LAMBDA(const Scalar* sums, Column& column) {
          column.count_iteration(Impl::root_of(sums[0]));
        });
  }

  /// z = M⁻¹·r overwrites A·p, which is no longer needed; ρ = rᴴ·z, β = ρ / previous ρ. At the start of a
  /// cycle p = z, d = 0; later p = z + β·p.
  void find_direction(const System& system, bool is_first) const {
    const Rows P = this->trim(m_P), Q = this->trim(this->m_scratch), D = this->trim(this->m_D),
               R = this->trim(this->m_R);
    if (system.has_preconditioner()) system.precondition(R, Q);
    const Rows Z = system.has_preconditioner() ? Q : R;
    this->template sum_running<1>(
        system.exec(), "lutra::krylov::cg_rho",
        KOKKOS_LAMBDA(const Column&, const std::int64_t i, const int c, Scalar* sums) {
          sums[0] += Impl::dot(R(i, c), Z(i, c));
        },
        KOKKOS_LAMBDA(const Scalar* sums, Column& column) {
          const auto rho = Impl::real_part(sums[0]);
          column.beta = Scalar(rho) / column.rho;
          column.rho = Scalar(rho);
          column.check(Kokkos::isfinite(rho), rho > 0);
        });
    const auto columns = this->m_state.device();
    this->for_entries(
        system.exec(), "lutra::krylov::cg_direction", P, KOKKOS_LAMBDA(const std::int64_t i, const int c) {
          if (is_first) D(i, c) = Scalar(0);
          if (columns(c).running) P(i, c) = is_first ? Z(i, c) : Z(i, c) + columns(c).beta * P(i, c);
        });
  }

 private:
  Rows m_P;  ///< direction
};

}  // namespace

template <class Scalar, class ExecutionSpace>
Impl::KrylovIterationPointer<Scalar, ExecutionSpace> Impl::make_cg(const ExecutionSpace& exec, std::size_t n,
                                                                   std::size_t columns,
                                                                   const MemoryBudget& budget,
                                                                   const BatchedColumns& batch) {
  return std::make_unique<Cg<Scalar, ExecutionSpace>>(exec, n, columns, budget, batch);
}

#define LUTRA_CG(Scalar, Space)                                               \
  template Impl::KrylovIterationPointer<Scalar, Space> Impl::make_cg<Scalar>( \
      const Space&, std::size_t, std::size_t, const MemoryBudget&, const BatchedColumns&);
LUTRA_FOR_EACH_SCALAR_AND_SPACE(LUTRA_CG)

}  // namespace lutra
