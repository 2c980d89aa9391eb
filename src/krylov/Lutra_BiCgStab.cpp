// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_BiCgStab.hpp"

#include <limits>

#include "Lutra_Instantiate.hpp"
#include "Lutra_RefinementKernels.hpp"

namespace lutra {
namespace Impl {

/// |x| ≤ ε·bound: zero up to rounding.
template <class Scalar>
KOKKOS_FUNCTION bool vanishes(const Scalar& x, RealOf<Scalar> bound) {
  return !(ScalarTraits<Scalar>::magnitude(x) > epsilon_of<Scalar> * bound);
}

/// r̃ = p = r, d = 0, ρ = ‖r‖²
template <class Columns, class Rows, class TotalsView>
struct BiCgStabStart {
  using Scalar = typename Rows::value_type;
  using Sum = ColumnSum<Scalar, 1>;
  Columns columns;
  Rows R, shadow, P, D;
  TotalsView totals;

  KOKKOS_FUNCTION bool skips(int) const { return false; }
  KOKKOS_FUNCTION void add(std::int64_t i, int c, int, Sum& sum) const {
    const Scalar r = R(i, c);
    shadow(i, c) = P(i, c) = r;
    D(i, c) = Scalar(0);
    sum.values[0] += dot(r, r);
  }
  KOKKOS_FUNCTION void finish(int c) const {
    if (!columns(c).running) return;
    columns(c).rho = totals(c, 0);
    columns(c).first = Kokkos::sqrt(real_part(totals(c, 0)));
    if (!Kokkos::isfinite(columns(c).first)) return columns(c).end(KrylovStop::not_finite);
    if (columns(c).first == 0) columns(c).end(KrylovStop::breakdown);
  }
};

/// α = ρ / r̃ᴴ·v with v = A·p
template <class Columns, class Rows, class TotalsView>
struct BiCgStabAlpha {
  using Scalar = typename Rows::value_type;
  using Sum = ColumnSum<Scalar, 2>;
  Columns columns;
  Rows shadow, V;
  TotalsView totals;

  KOKKOS_FUNCTION bool skips(int c) const { return !columns(c).running; }
  KOKKOS_FUNCTION void add(std::int64_t i, int c, int, Sum& sum) const {
    const Scalar v = V(i, c);
    sum.values[0] += dot(shadow(i, c), v);
    sum.values[1] += dot(v, v);
  }
  KOKKOS_FUNCTION void finish(int c) const {
    const Scalar product = totals(c, 0);
    const auto V_norm = Kokkos::sqrt(real_part(totals(c, 1)));
    columns(c).alpha = columns(c).rho / product;
    if (!ScalarTraits<Scalar>::is_finite(product) || !Kokkos::isfinite(V_norm))
      return columns(c).end(KrylovStop::not_finite);
    if (vanishes(product, columns(c).first * V_norm) || !ScalarTraits<Scalar>::is_finite(columns(c).alpha))
      columns(c).end(KrylovStop::breakdown);
  }
};

/// d += α·p; s = r − α·v in the place of r; ‖s‖
template <class Columns, class Rows, class TotalsView>
struct BiCgStabHalf {
  using Scalar = typename Rows::value_type;
  using Sum = ColumnSum<Scalar, 1>;
  Columns columns;
  Rows P, V, D, R;
  TotalsView totals;

  KOKKOS_FUNCTION bool skips(int c) const { return !columns(c).running; }
  KOKKOS_FUNCTION void add(std::int64_t i, int c, int, Sum& sum) const {
    const Scalar alpha = columns(c).alpha;
    D(i, c) += alpha * P(i, c);
    const Scalar s = R(i, c) - alpha * V(i, c);
    R(i, c) = s;
    sum.values[0] += dot(s, s);
  }
  KOKKOS_FUNCTION void finish(int c) const {
    columns(c).norm = Kokkos::sqrt(real_part(totals(c, 0)));
    columns(c).count_iteration(columns(c).norm);
  }
};

/// ω = tᴴ·s / ‖t‖² with t = A·s
template <class Columns, class Rows, class TotalsView>
struct BiCgStabOmega {
  using Scalar = typename Rows::value_type;
  using Sum = ColumnSum<Scalar, 2>;
  Columns columns;
  Rows T, S;
  TotalsView totals;

  KOKKOS_FUNCTION bool skips(int c) const { return !columns(c).running; }
  KOKKOS_FUNCTION void add(std::int64_t i, int c, int, Sum& sum) const {
    const Scalar t = T(i, c);
    sum.values[0] += dot(t, S(i, c));
    sum.values[1] += dot(t, t);
  }
  KOKKOS_FUNCTION void finish(int c) const {
    const Scalar product = totals(c, 0);
    const auto square = real_part(totals(c, 1));
    columns(c).omega = product / square;
    if (!ScalarTraits<Scalar>::is_finite(product) || !Kokkos::isfinite(square))
      return columns(c).end(KrylovStop::not_finite);
    if (vanishes(product, Kokkos::sqrt(square) * columns(c).norm) ||
        !ScalarTraits<Scalar>::is_finite(columns(c).omega))
      columns(c).end(KrylovStop::breakdown);
  }
};

/// d += ω·s, r = s − ω·t, ‖r‖, ρ = r̃ᴴ·r, β = (ρ / ρ before)·(α / ω)
template <class Columns, class Rows, class TotalsView>
struct BiCgStabFull {
  using Scalar = typename Rows::value_type;
  using Sum = ColumnSum<Scalar, 2>;
  Columns columns;
  Rows T, shadow, D, R;
  TotalsView totals;

  KOKKOS_FUNCTION bool skips(int c) const { return !columns(c).running; }
  KOKKOS_FUNCTION void add(std::int64_t i, int c, int, Sum& sum) const {
    const Scalar omega = columns(c).omega, s = R(i, c);
    D(i, c) += omega * s;
    const Scalar r = s - omega * T(i, c);
    R(i, c) = r;
    sum.values[0] += dot(r, r);
    sum.values[1] += dot(shadow(i, c), r);
  }
  KOKKOS_FUNCTION void finish(int c) const {
    auto& column = columns(c);
    const auto norm = Kokkos::sqrt(real_part(totals(c, 0)));
    const Scalar rho = totals(c, 1);
    column.beta = (rho / column.rho) * (column.alpha / column.omega);
    column.rho = rho;
    column.count_iteration(norm);
    if (!column.running) return;
    if (vanishes(rho, column.first * norm) || !ScalarTraits<Scalar>::is_finite(column.beta))
      column.end(KrylovStop::breakdown);
  }
};

}  // namespace Impl

namespace {

/// p = r + β·(p − ω·v)
template <class ExecutionSpace, class Columns, class Rows>
void update_direction(const ExecutionSpace& exec, const Columns& columns, const Rows& R, const Rows& V,
                      const Rows& P) {
  const int width = static_cast<int>(P.extent(1));
  Kokkos::parallel_for(
      "lutra::krylov::bicgstab_direction", Impl::all_rows(exec, P), KOKKOS_LAMBDA(const std::int64_t i) {
        for (int c = 0; c < width; ++c) {
          if (columns(c).running)
            P(i, c) = R(i, c) + columns(c).beta * (P(i, c) - columns(c).omega * V(i, c));
        }
      });
}

}  // namespace

template <class Scalar, class ExecutionSpace>
BiCgStab<Scalar, ExecutionSpace>::BiCgStab(const ExecutionSpace& exec, std::size_t n, std::size_t columns,
                                           const MemoryBudget& budget)
    : Base(n, columns) {
  this->allocate(exec, budget, 2);
  m_shadow = this->allocate_block(exec, "lutra::krylov::shadow_residual");
  m_P = this->allocate_block(exec, "lutra::krylov::direction");
  m_V = this->allocate_block(exec, "lutra::krylov::A_direction");
  m_T = this->allocate_block(exec, "lutra::krylov::A_residual");
}

template <class Scalar, class ExecutionSpace>
int BiCgStab<Scalar, ExecutionSpace>::max_steps() const {
  return std::numeric_limits<int>::max();
}

template <class Scalar, class ExecutionSpace>
void BiCgStab<Scalar, ExecutionSpace>::start(const System& system) {
  using Start = Impl::BiCgStabStart<Columns, Rows, Totals>;
  const Rows R = this->trim(this->m_R);
  system.to_iteration(R);
  this->sum_rows(system.exec(), "lutra::krylov::bicgstab_start",
                 Start{this->m_state.device(), R, this->trim(m_shadow), this->trim(m_P),
                       this->trim(this->m_D), this->m_totals});
}

template <class Scalar, class ExecutionSpace>
void BiCgStab<Scalar, ExecutionSpace>::step(const System& system, int j) {
  const auto& exec = system.exec();
  const auto& state = this->m_state.device();
  const Totals& totals = this->m_totals;
  const Rows R = this->trim(this->m_R), D = this->trim(this->m_D), shadow = this->trim(m_shadow),
             P = this->trim(m_P), V = this->trim(m_V), T = this->trim(m_T);
  if (j > 0) update_direction(exec, state, R, V, P);
  system.apply(P, V);
  this->sum_rows(exec, "lutra::krylov::bicgstab_alpha",
                 Impl::BiCgStabAlpha<Columns, Rows, Totals>{state, shadow, V, totals});
  this->sum_rows(exec, "lutra::krylov::bicgstab_half",
                 Impl::BiCgStabHalf<Columns, Rows, Totals>{state, P, V, D, R, totals});
  system.apply(R, T);
  this->sum_rows(exec, "lutra::krylov::bicgstab_omega",
                 Impl::BiCgStabOmega<Columns, Rows, Totals>{state, T, R, totals});
  this->sum_rows(exec, "lutra::krylov::bicgstab_full",
                 Impl::BiCgStabFull<Columns, Rows, Totals>{state, T, shadow, D, R, totals});
}

template <class Scalar, class ExecutionSpace>
void BiCgStab<Scalar, ExecutionSpace>::finish(const System& system) {
  system.from_iteration(this->trim(this->m_D));
}

#define LUTRA_BICGSTAB(Scalar, Space) template class BiCgStab<Scalar, Space>;
LUTRA_FOR_EACH_SCALAR_AND_SPACE(LUTRA_BICGSTAB)

}  // namespace lutra
