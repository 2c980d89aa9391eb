// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <limits>

#include "Lutra_Instantiate.hpp"
#include "Lutra_KrylovMethods.hpp"
#include "Lutra_RefinementKernels.hpp"

namespace lutra {
namespace {

/// |x| ≤ ε·bound: zero up to rounding.
template <class Scalar>
KOKKOS_FUNCTION bool vanishes(const Scalar& x, RealOf<Scalar> bound) {
  return !(ScalarTraits<Scalar>::magnitude(x) > epsilon_of<Scalar> * bound);
}

/// BiCGStab (van der Vorst, SIAM J. Sci. Stat. Comput. 13, 1992; Saad, Iterative Methods, algorithm 7.7). A
/// coefficient that is zero up to rounding (r̃ᴴ·r, r̃ᴴ·A·p, (A·s)ᴴ·s) ends a cycle as a breakdown; the next
/// cycle starts with r̃ = r. A step counts as two iterations: the history has the residual after each half.
/// Memory: 8·n·k scalars. Cost per step: two products, two preconditioner solves and five launches.
template <class Scalar, class ExecutionSpace>
class BiCgStab final : public Impl::KrylovCycles<Scalar, ExecutionSpace> {
  using Base = Impl::KrylovCycles<Scalar, ExecutionSpace>;
  using typename Base::Column;
  using typename Base::Rows;
  using typename Base::System;
  using Traits = ScalarTraits<Scalar>;

 public:
  BiCgStab(const ExecutionSpace& exec, std::size_t n, std::size_t columns, const MemoryBudget& budget,
           const Impl::BatchedColumns& batch)
      : Base(n, columns, batch) {
    this->allocate(exec, budget, 2);
    m_shadow = this->allocate_block(exec, "lutra::krylov::shadow_residual");
    m_P = this->allocate_block(exec, "lutra::krylov::direction");
    m_V = this->allocate_block(exec, "lutra::krylov::A_direction");
    m_T = this->allocate_block(exec, "lutra::krylov::A_residual");
  }
  int max_steps() const override { return std::numeric_limits<int>::max(); }
  int step_iterations() const override { return 2; }
  void finish(const System& system) override { system.from_iteration(this->trim(this->m_D)); }

  /// r̃ = p = r, d = 0, ρ = ‖r‖²
  void start(const System& system) override {
    const Rows R = this->trim(this->m_R), D = this->trim(this->m_D), shadow = this->trim(m_shadow),
               P = this->trim(m_P);
    system.to_iteration(R);
    this->template sum_all<1>(
        system.exec(), "lutra::krylov::bicgstab_start",
        KOKKOS_LAMBDA(const Column&, const std::int64_t i, const int c, Scalar* sums) {
          const Scalar r = R(i, c);
          shadow(i, c) = P(i, c) = r;
          D(i, c) = Scalar(0);
          sums[0] += Impl::dot(r, r);
        },
        KOKKOS_LAMBDA(const Scalar* sums, Column& column) {
          if (!column.running) return;
          column.rho = sums[0];
          column.begin(Impl::root_of(sums[0]));
        });
  }

  void step(const System& system, int j) override {
    const auto& exec = system.exec();
    const Rows R = this->trim(this->m_R), D = this->trim(this->m_D), shadow = this->trim(m_shadow),
               P = this->trim(m_P), V = this->trim(m_V), T = this->trim(m_T);
    const auto columns = this->m_state.device();
    if (j > 0) {
      // p = r + β·(p − ω·v)
      this->for_entries(
          exec, "lutra::krylov::bicgstab_direction", P, KOKKOS_LAMBDA(const std::int64_t i, const int c) {
            const Column& column = columns(c);
            if (column.running) P(i, c) = R(i, c) + column.beta * (P(i, c) - column.omega * V(i, c));
          });
    }
    system.apply(P, V);
    if (j == 0) this->measure_unit(exec, V);
    // α = ρ / r̃ᴴ·v with v = A·p
    this->template sum_running<2>(
        exec, "lutra::krylov::bicgstab_alpha",
        KOKKOS_LAMBDA(const Column& column, const std::int64_t i, const int c, Scalar* sums) {
          const Scalar v = V(i, c) * column.inverse_unit;
          sums[0] += Impl::dot(shadow(i, c), v);
          sums[1] += Impl::dot(v, v);
        },
        KOKKOS_LAMBDA(const Scalar* sums, Column& column) {
          const Scalar product = sums[0];  // scaled by the unit, like the norm
          const auto V_norm = Impl::root_of(sums[1]);
          column.alpha = column.rho / product * column.inverse_unit;
          column.check(Traits::is_finite(product) && Kokkos::isfinite(V_norm),
                       !vanishes(product, column.first * V_norm) && Traits::is_finite(column.alpha));
        });
    // d += α·p; s = r − α·v in the block of r; ‖s‖
    this->template sum_running<1>(
        exec, "lutra::krylov::bicgstab_half",
        KOKKOS_LAMBDA(const Column& column, const std::int64_t i, const int c, Scalar* sums) {
          const Scalar s = Impl::correct_row(column.alpha, P, V, D, R, i, c);
          sums[0] += Impl::dot(s, s);
        },
        KOKKOS_LAMBDA(const Scalar* sums, Column& column) {
          column.norm = Impl::root_of(sums[0]);
          column.count_iteration(column.norm);
        });
    system.apply(R, T);
    // ω = tᴴ·s / ‖t‖² with t = A·s
    this->template sum_running<2>(
        exec, "lutra::krylov::bicgstab_omega",
        KOKKOS_LAMBDA(const Column& column, const std::int64_t i, const int c, Scalar* sums) {
          const Scalar t = T(i, c) * column.inverse_unit;
          sums[0] += Impl::dot(t, R(i, c));
          sums[1] += Impl::dot(t, t);
        },
        KOKKOS_LAMBDA(const Scalar* sums, Column& column) {
          const Scalar product = sums[0];
          const auto square = Impl::real_part(sums[1]);
          column.omega = product / square * column.inverse_unit;
          column.check(
              Traits::is_finite(product) && Kokkos::isfinite(square),
              !vanishes(product, Kokkos::sqrt(square) * column.norm) && Traits::is_finite(column.omega));
        });
    // d += ω·s, r = s − ω·t, ‖r‖, ρ = r̃ᴴ·r, β = (ρ / previous ρ)·(α / ω)
    this->template sum_running<2>(
        exec, "lutra::krylov::bicgstab_full",
        KOKKOS_LAMBDA(const Column& column, const std::int64_t i, const int c, Scalar* sums) {
          const Scalar r = Impl::correct_row(column.omega, R, T, D, R, i, c);
          sums[0] += Impl::dot(r, r);
          sums[1] += Impl::dot(shadow(i, c), r);
        },
        KOKKOS_LAMBDA(const Scalar* sums, Column& column) {
          const auto norm = Impl::root_of(sums[0]);
          const Scalar rho = sums[1];
          column.beta = (rho / column.rho) * (column.alpha / column.omega);
          column.rho = rho;
          column.count_iteration(norm);
          if (!column.running) return;
          column.check(true, !vanishes(rho, column.first * norm) && Traits::is_finite(column.beta));
        });
  }

 private:
  Rows m_shadow, m_P, m_V, m_T;  ///< r̃; direction; A·p; A·s
};

}  // namespace

template <class Scalar, class ExecutionSpace>
Impl::KrylovIterationPointer<Scalar, ExecutionSpace> Impl::make_bicgstab(const ExecutionSpace& exec,
                                                                         std::size_t n, std::size_t columns,
                                                                         const MemoryBudget& budget,
                                                                         const BatchedColumns& batch) {
  return std::make_unique<BiCgStab<Scalar, ExecutionSpace>>(exec, n, columns, budget, batch);
}

#define LUTRA_BICGSTAB(Scalar, Space)                                               \
  template Impl::KrylovIterationPointer<Scalar, Space> Impl::make_bicgstab<Scalar>( \
      const Space&, std::size_t, std::size_t, const MemoryBudget&, const BatchedColumns&);
LUTRA_FOR_EACH_SCALAR_AND_SPACE(LUTRA_BICGSTAB)

}  // namespace lutra
