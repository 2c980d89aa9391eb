// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_LENTCOLUMNS_HPP
#define LUTRA_LENTCOLUMNS_HPP

#include <cstddef>
#include <functional>

#include "Lutra_AllFinite.hpp"
#include "Lutra_ForRange.hpp"
#include "Lutra_Refinement.hpp"

namespace lutra::Impl {

/// Lends the user's B and X to the workspace of a solve, which then copies neither: on one host thread, for
/// one right-hand side, if both are contiguous and apart and B is finite. The workspace has its own arrays
/// back at the end; a solution that refinement has left in one of them must be copied before.
///
///     during the solve      B ── user's B      X, trial_X ── user's X and its own, in either order
template <class Scalar, class ExecutionSpace>
class LentColumns {
 public:
  using Workspace = SolveWorkspace<Scalar, ExecutionSpace>;

  template <class BView, class XView>
  LentColumns(Workspace& work, const BView& B, const XView& X) : m_work(work), m_B(work.B), m_X(work.X) {
    if (!runs_plain_loops<ExecutionSpace>() || !can_lend(B, X)) return;
    m_is_lent = true;
    work.B = Rows(const_cast<Scalar*>(B.data()), B.extent(0), 1);  // B is only read
    work.X = Rows(X.data(), X.extent(0), 1);
  }
  ~LentColumns() {
    if (!m_is_lent) return;
    Rows& lent = m_work.trial_X.data() == m_user_X ? m_work.trial_X : m_work.X;
    lent = m_X;
    m_work.B = m_B;
  }
  LentColumns(const LentColumns&) = delete;
  LentColumns& operator=(const LentColumns&) = delete;

  explicit operator bool() const { return m_is_lent; }

 private:
  using Rows = typename Workspace::Rows;

  template <class BView, class XView>
  bool can_lend(const BView& B, const XView& X) {
    if (B.extent(1) != 1 || B.stride(0) != 1 || X.stride(0) != 1) return false;
    const std::size_t n = B.extent(0);
    constexpr std::size_t parts = sizeof(Scalar) / sizeof(RealOf<Scalar>);
    m_user_X = X.data();
    const Scalar* const from = B.data();
    const std::less_equal<const Scalar*> ends_before;
    const bool apart = ends_before(from + n, m_user_X) || ends_before(m_user_X + n, from);
    return apart && all_finite(reinterpret_cast<const RealOf<Scalar>*>(from), parts * n);
  }

  Workspace& m_work;
  Rows m_B, m_X;  ///< the workspace's own
  const Scalar* m_user_X = nullptr;
  bool m_is_lent = false;
};

}  // namespace lutra::Impl

#endif
