// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_Cg.hpp"

#include <limits>

#include "Lutra_Instantiate.hpp"
#include "Lutra_RefinementKernels.hpp"

namespace lutra {
namespace Impl {

/// α = rᴴ·z / pᴴ·A·p
template <class Columns, class Rows, class TotalsView>
struct CgStepLength {
  using Scalar = typename Rows::value_type;
  using Sum = ColumnSum<Scalar, 1>;
  Columns columns;
  Rows P, Q;
  TotalsView totals;

  KOKKOS_FUNCTION bool skips(int c) const { return !columns(c).running; }
  KOKKOS_FUNCTION void add(std::int64_t i, int c, int, Sum& sum) const {
    sum.values[0] += dot(P(i, c), Q(i, c));
  }
  KOKKOS_FUNCTION void finish(int c) const {
    const auto curvature = real_part(totals(c, 0));
    columns(c).alpha = columns(c).rho / curvature;
    if (!Kokkos::isfinite(curvature)) return columns(c).end(KrylovStop::not_finite);
    if (!(curvature > 0) || !ScalarTraits<Scalar>::is_finite(columns(c).alpha))
      columns(c).end(KrylovStop::breakdown);
  }
};

/// d += α·p, r −= α·A·p, ‖r‖
template <class Columns, class Rows, class TotalsView>
struct CgCorrection {
  using Scalar = typename Rows::value_type;
  using Sum = ColumnSum<Scalar, 1>;
  Columns columns;
  Rows P, Q, D, R;
  TotalsView totals;

  KOKKOS_FUNCTION bool skips(int c) const { return !columns(c).running; }
  KOKKOS_FUNCTION void add(std::int64_t i, int c, int, Sum& sum) const {
    const Scalar alpha = columns(c).alpha;
    D(i, c) += alpha * P(i, c);
    const Scalar r = R(i, c) - alpha * Q(i, c);
    R(i, c) = r;
    sum.values[0] += dot(r, r);
  }
  KOKKOS_FUNCTION void finish(int c) const {
    columns(c).count_iteration(Kokkos::sqrt(real_part(totals(c, 0))));
  }
};

/// ρ = rᴴ·z, β = ρ / ρ before
template <class Columns, class Rows, class TotalsView>
struct CgDirection {
  using Scalar = typename Rows::value_type;
  using Sum = ColumnSum<Scalar, 1>;
  Columns columns;
  Rows R, Z;
  TotalsView totals;

  KOKKOS_FUNCTION bool skips(int c) const { return !columns(c).running; }
  KOKKOS_FUNCTION void add(std::int64_t i, int c, int, Sum& sum) const {
    sum.values[0] += dot(R(i, c), Z(i, c));
  }
  KOKKOS_FUNCTION void finish(int c) const {
    const auto rho = real_part(totals(c, 0));
    columns(c).beta = Scalar(rho) / columns(c).rho;
    columns(c).rho = Scalar(rho);
    if (!Kokkos::isfinite(rho)) return columns(c).end(KrylovStop::not_finite);
    if (!(rho > 0)) columns(c).end(KrylovStop::breakdown);
  }
};

}  // namespace Impl

namespace {

/// p = z, d = 0 at the start of a cycle; else p = z + β·p.
template <class ExecutionSpace, class Columns, class Rows>
void update_direction(const ExecutionSpace& exec, const Columns& columns, bool is_first, const Rows& Z,
                      const Rows& P, const Rows& D) {
  using Scalar = typename Rows::value_type;
  const int width = static_cast<int>(P.extent(1));
  Kokkos::parallel_for(
      "lutra::krylov::cg_direction", Impl::all_rows(exec, P), KOKKOS_LAMBDA(const std::int64_t i) {
        for (int c = 0; c < width; ++c) {
          if (is_first) D(i, c) = Scalar(0);
          if (!columns(c).running) continue;
          P(i, c) = is_first ? Z(i, c) : Z(i, c) + columns(c).beta * P(i, c);
        }
      });
}

}  // namespace

template <class Scalar, class ExecutionSpace>
Cg<Scalar, ExecutionSpace>::Cg(const ExecutionSpace& exec, std::size_t n, std::size_t columns,
                               const MemoryBudget& budget)
    : Base(n, columns) {
  this->allocate(exec, budget, 2);
  m_P = this->allocate_block(exec, "lutra::krylov::direction");
}

template <class Scalar, class ExecutionSpace>
int Cg<Scalar, ExecutionSpace>::max_steps() const {
  return std::numeric_limits<int>::max();
}

/// z = M⁻¹·r, in the place of A·p, which is used up; and the direction that follows.
template <class Scalar, class ExecutionSpace>
void Cg<Scalar, ExecutionSpace>::turn(const System& system, bool is_first) const {
  using Direction = Impl::CgDirection<Columns, Rows, Totals>;
  const auto& exec = system.exec();
  const Rows R = this->trim(this->m_R), Q = this->trim(this->m_scratch);
  if (system.has_preconditioner()) system.precondition(R, Q);
  const Rows Z = system.has_preconditioner() ? Q : R;
  this->sum_rows(exec, "lutra::krylov::cg_rho", Direction{this->m_state.device(), R, Z, this->m_totals});
  update_direction(exec, this->m_state.device(), is_first, Z, this->trim(m_P), this->trim(this->m_D));
}

template <class Scalar, class ExecutionSpace>
void Cg<Scalar, ExecutionSpace>::start(const System& system) {
  turn(system, true);
}

template <class Scalar, class ExecutionSpace>
void Cg<Scalar, ExecutionSpace>::step(const System& system, int j) {
  using StepLength = Impl::CgStepLength<Columns, Rows, Totals>;
  using Correction = Impl::CgCorrection<Columns, Rows, Totals>;
  const auto& exec = system.exec();
  const auto& state = this->m_state.device();
  const Rows P = this->trim(m_P), Q = this->trim(this->m_scratch);
  if (j > 0) turn(system, false);
  system.multiply(P, Q);
  this->sum_rows(exec, "lutra::krylov::cg_alpha", StepLength{state, P, Q, this->m_totals});
  this->sum_rows(exec, "lutra::krylov::cg_correction",
                 Correction{state, P, Q, this->trim(this->m_D), this->trim(this->m_R), this->m_totals});
}

#define LUTRA_CG(Scalar, Space) template class Cg<Scalar, Space>;
LUTRA_FOR_EACH_SCALAR_AND_SPACE(LUTRA_CG)

}  // namespace lutra
