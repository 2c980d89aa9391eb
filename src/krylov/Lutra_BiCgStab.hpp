// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_BICGSTAB_HPP
#define LUTRA_BICGSTAB_HPP

#include "Lutra_KrylovIteration.hpp"

namespace lutra {

/// BiCGStab (van der Vorst, SIAM J. Sci. Stat. Comput. 13, 1992; Saad, Iterative Methods, algorithm 7.7).
/// Coefficients that are zero up to rounding (r̃ᴴ·r, r̃ᴴ·A·p, (A·s)ᴴ·s) end a cycle as breakdown; the next
/// begins with r̃ = r. A step is two iterations: the history has the residual after each half. Memory: 8·n·k
/// scalars. A step: two products, two solves and five launches.
template <class Scalar, class ExecutionSpace>
class BiCgStab final : public KrylovIteration<Scalar, ExecutionSpace> {
  using Base = KrylovIteration<Scalar, ExecutionSpace>;

 public:
  using typename Base::Rows;

  BiCgStab(const ExecutionSpace& exec, std::size_t n, std::size_t columns, const MemoryBudget& budget);

 private:
  using typename Base::Columns;
  using typename Base::System;
  using typename Base::Totals;
  int max_steps() const override;
  int step_iterations() const override { return 2; }
  void start(const System& system) override;
  void step(const System& system, int j) override;
  void finish(const System& system) override;

  Rows m_shadow, m_P, m_V, m_T;  ///< r̃; direction; A·p; A·s
};

}  // namespace lutra

#endif
