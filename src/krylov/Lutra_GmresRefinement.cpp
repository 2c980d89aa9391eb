// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_GmresRefinement.hpp"

#include <cmath>

#include "Lutra_Instantiate.hpp"
#include "Lutra_RefinementKernels.hpp"

namespace lutra {
namespace {

constexpr int max_cycles = 4;  // bounds the solves to 4 · restart; each cycle starts from a new residual
constexpr double min_progress = 0.9;  // a cycle that leaves a larger fraction of the error is the last
/// Reduction of the residual norm within a cycle. Rounding prevents a larger one; the next cycle starts from
/// a newly computed residual.
template <class Scalar>
constexpr double cycle_goal = sizeof(RealOf<Scalar>) == 8 ? 1e-14 : 1e-7;

/// D_r·A.
template <class Scalar, class ExecutionSpace>
class RowScaledOperator final : public LinearOperator<Scalar, ExecutionSpace> {
 public:
  using typename LinearOperator<Scalar, ExecutionSpace>::Rows;
  using Operator = MatrixOperator<Scalar, ExecutionSpace>;

  RowScaledOperator(const Operator& A, const typename Operator::Scale& scale) : m_A(A), m_scale(scale) {}
  std::int64_t size() const override { return m_A.size(); }
  void apply(const ExecutionSpace& exec, const Rows& X, const Rows& Y) const override {
    m_A.apply(exec, X, Y);
    Impl::scale_rows(exec, m_scale, Y, Y);
  }

 private:
  const Operator& m_A;
  typename Operator::Scale m_scale;
};

/// M⁻¹·D_r⁻¹, an approximate inverse of D_r·A.
template <class Scalar, class ExecutionSpace>
class RowScaledPreconditioner final : public Preconditioner<Scalar, ExecutionSpace> {
 public:
  using typename Preconditioner<Scalar, ExecutionSpace>::Rows;
  using Scale = typename MatrixOperator<Scalar, ExecutionSpace>::Scale;

  RowScaledPreconditioner(Preconditioner<Scalar, ExecutionSpace>& M, const Scale& scale)
      : m_M(M), m_scale(scale) {}
  void apply(const ExecutionSpace& exec, Transposition op, const Rows& B, const Rows& X) override {
    Impl::unscale_rows(exec, m_scale, B, X);
    m_M.apply(exec, op, X, X);
  }

 private:
  Preconditioner<Scalar, ExecutionSpace>& m_M;
  Scale m_scale;
};

}  // namespace

template <class Scalar, class ExecutionSpace>
int correct_by_gmres(const ExecutionSpace& exec, const MatrixOperator<Scalar, ExecutionSpace>& A,
                     Preconditioner<Scalar, ExecutionSpace>& M, Transposition op,
                     const typename MatrixOperator<Scalar, ExecutionSpace>::Scale& row_scale,
                     const SolveWorkspace<Scalar, ExecutionSpace>& work,
                     const Fgmres<Scalar, ExecutionSpace>& gmres) {
  const RowScaledOperator<Scalar, ExecutionSpace> scaled_A(A, row_scale);
  RowScaledPreconditioner<Scalar, ExecutionSpace> scaled_M(M, row_scale);
  KrylovOutcome cycle;
  Impl::scale_rows(exec, row_scale, work.R, work.trial_R);
  gmres.cycle(exec, scaled_A, scaled_M, op, work.trial_R, work.trial_X, cycle_goal<Scalar>, gmres.restart(),
              cycle);
  return cycle.iterations;
}

template <class Scalar, class ExecutionSpace>
GmresOutcome refine_by_gmres(const ExecutionSpace& exec, MatrixOperator<Scalar, ExecutionSpace>& A,
                             Preconditioner<Scalar, ExecutionSpace>& M, Transposition op,
                             const typename MatrixOperator<Scalar, ExecutionSpace>::Scale& row_scale,
                             double goal, const BackwardErrors& errors,
                             SolveWorkspace<Scalar, ExecutionSpace>& work,
                             const Fgmres<Scalar, ExecutionSpace>& gmres) {
  GmresOutcome outcome{0, errors};
  if (!std::isfinite(errors.componentwise[0])) Impl::set_zero(exec, work.X);
  work.compute_errors(exec, A);
  for (int c = 0; c < max_cycles && outcome.errors.componentwise[0] > goal; ++c) {
    const int iterations = correct_by_gmres(exec, A, M, op, row_scale, work, gmres);
    outcome.iterations += iterations;
    if (iterations == 0) break;
    Impl::add_multiple(exec, Scalar(1), work.X, work.trial_X);
    const double before = outcome.errors.componentwise[0];
    work.keep_better(exec, A, outcome.errors);
    if (!(outcome.errors.componentwise[0] < min_progress * before)) break;
  }
  return outcome;
}

#define LUTRA_REFINE_BY_GMRES(Scalar, Space)                                                       \
  template GmresOutcome refine_by_gmres(                                                           \
      const Space&, MatrixOperator<Scalar, Space>&, Preconditioner<Scalar, Space>&, Transposition, \
      const typename MatrixOperator<Scalar, Space>::Scale&, double, const BackwardErrors&,         \
      SolveWorkspace<Scalar, Space>&, const Fgmres<Scalar, Space>&);                               \
  template int correct_by_gmres(const Space&, const MatrixOperator<Scalar, Space>&,                \
                                Preconditioner<Scalar, Space>&, Transposition,                     \
                                const typename MatrixOperator<Scalar, Space>::Scale&,              \
                                const SolveWorkspace<Scalar, Space>&, const Fgmres<Scalar, Space>&);
LUTRA_FOR_EACH_SCALAR_AND_SPACE(LUTRA_REFINE_BY_GMRES)

}  // namespace lutra
