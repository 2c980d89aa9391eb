// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_GMRES_HPP
#define LUTRA_GMRES_HPP

#include "Lutra_KrylovIteration.hpp"

namespace lutra {

/// Restarted GMRES (Saad and Schultz, SIAM J. Sci. Stat. Comput. 7, 1986). A new vector is projected on the
/// basis twice (classical Gram–Schmidt; Giraud, Langou, Rozložník and van den Eshof, Numer. Math. 101, 2005),
/// in three launches:
///
///     h = Vᴴ·w                                    all sums of a column in one launch
///     w −= V·h,  h′ = Vᴴ·w,  ‖w‖²                 rows are updated, then added up;
///                                                 at its end ‖w − V·h′‖² = ‖w‖² − ‖h′‖², and the Givens
///                                                 rotation
///     v = (w − V·h′) / ‖w − V·h′‖
///
/// The Hessenberg matrix stays on the device: no iteration needs the host.
/// Memory: n·k·(restart + 5) scalars.
template <class Scalar, class ExecutionSpace>
class Gmres final : public KrylovIteration<Scalar, ExecutionSpace> {
  using Base = KrylovIteration<Scalar, ExecutionSpace>;

 public:
  using typename Base::Memory;
  using typename Base::Rows;

  Gmres(const ExecutionSpace& exec, std::size_t n, std::size_t columns, int restart,
        const MemoryBudget& budget);
  /// Iterations a cycle.
  int restart() const { return m_restart; }

 private:
  using typename Base::Columns;
  using typename Base::System;
  using typename Base::Totals;
  using Basis = Kokkos::View<Scalar***, Kokkos::LayoutRight, Memory>;

  int max_steps() const override { return m_restart; }
  void start(const System& system) override;
  void step(const System& system, int j) override;
  void finish(const System& system) override;
  Rows vector(int j) const;

  int m_restart = 0;
  Basis m_basis;            ///< [restart + 1 × n × columns] orthonormal vectors
  Totals m_first;           ///< [columns × restart + 8] h
  Basis m_triangle;         ///< [columns × restart × restart + 1] columns of the Hessenberg matrix, rotated
  Totals m_cosine, m_sine;  ///< [columns × restart] the Givens rotations
  Totals m_right_side;      ///< [columns × restart + 1] rotated right-hand side, at last the coefficients
};

}  // namespace lutra

#endif
