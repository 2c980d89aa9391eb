// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_CG_HPP
#define LUTRA_CG_HPP

#include "Lutra_KrylovIteration.hpp"

namespace lutra {

/// Conjugate gradients (Hestenes and Stiefel, J. Res. NBS 49, 1952; Saad, Iterative Methods, algorithm 9.1)
/// for a Hermitian positive definite A with a Hermitian positive definite preconditioner: pᴴ·A·p ≤ 0 or
/// rᴴ·M⁻¹·r ≤ 0 is a breakdown. Memory: 5·n·k scalars. An iteration: a product, a solve and four launches.
template <class Scalar, class ExecutionSpace>
class Cg final : public KrylovIteration<Scalar, ExecutionSpace> {
  using Base = KrylovIteration<Scalar, ExecutionSpace>;

 public:
  using typename Base::Rows;

  Cg(const ExecutionSpace& exec, std::size_t n, std::size_t columns, const MemoryBudget& budget);

 private:
  using typename Base::Columns;
  using typename Base::System;
  using typename Base::Totals;
  int max_steps() const override;
  void start(const System& system) override;
  void step(const System& system, int j) override;
  void finish(const System&) override {}
  void turn(const System& system, bool is_first) const;

  Rows m_P;  ///< direction
};

}  // namespace lutra

#endif
