// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_BATCHOPERATOR_HPP
#define LUTRA_BATCHOPERATOR_HPP

#include <utility>

#include "Lutra_Batch.hpp"
#include "Lutra_ForRange.hpp"
#include "Lutra_LaneLists.hpp"
#include "Lutra_LaneSums.hpp"
#include "Lutra_ThreadLane.hpp"

// Matrices and preconditioners of a batch as a Krylov method sees them. Its blocks are a window on the batch:
// column s is the vector of system first + s. Windows have whole groups, so that each column is processed
// with the same instructions.

namespace lutra::Impl {

/// Columns that are processed together: the systems of a group.
template <class Scalar, class ExecutionSpace>
constexpr int lanes_in_group = is_host_space<ExecutionSpace> ? host_lanes<RealOf<Scalar>> : device_lanes;
/// Of these, by one thread.
template <class Scalar, class ExecutionSpace>
constexpr int lanes_in_thread = is_host_space<ExecutionSpace> ? host_lanes<RealOf<Scalar>> : 1;

/// op(A) by rows; values of all systems, interleaved.
template <class Scalar, class Memory>
struct BatchRows {
  CsrPattern<Ordinal, Offset, Memory> pattern;  ///< of op(A)
  Kokkos::View<const Offset*, Memory> source;   ///< [nnz] entry of A of each entry; empty: its own
  DenseRows<Scalar, Memory> values;             ///< [nnz × columns] of A
  bool conjugate = false;
  Kokkos::View<const char*, Memory> is_running;  ///< [window]; others are skipped
};

/// Row i of Y = op(A)·X for `Lanes` neighbouring systems.
template <class Scalar, class Memory, int Lanes>
struct MultiplyLanes {
  using Rows = DenseRows<Scalar, Memory>;
  BatchRows<Scalar, Memory> A;
  Rows X, Y;

  KOKKOS_FUNCTION void operator()(const std::int64_t t) const {
    const auto bundles = static_cast<std::int64_t>(X.extent(1)) / Lanes;
    const std::int64_t i = t / bundles, first = t % bundles * Lanes;
    bool any = false;
    for (int l = 0; l < Lanes; ++l) any = any || A.is_running(first + l) != 0;
    if (!any) return;
    Scalar sum[Lanes] = {};
    if (A.source.extent(0) == 0) {
      add_row<true, false>(i, first, sum);
    } else if (A.conjugate) {
      add_row<false, true>(i, first, sum);
    } else {
      add_row<false, false>(i, first, sum);
    }
    for (int l = 0; l < Lanes; ++l)
      if (A.is_running(first + l) != 0) Y(i, first + l) = sum[l];
  }

 private:
  /// Without conditions in its loops, which become instructions for several lanes.
  /// @tparam is_own each entry of op(A) is that of A in the same place
  template <bool is_own, bool conjugates>
  KOKKOS_FUNCTION void add_row(std::int64_t i, std::int64_t first, Scalar (&sum)[Lanes]) const {
    for (Offset p = A.pattern.row_map(i); p < A.pattern.row_map(i + 1); ++p) {
      const Scalar* const a = &A.values(is_own ? p : A.source(p), first);
      const Scalar* const x = &X(A.pattern.entries(p), first);
      for (int l = 0; l < Lanes; ++l)
        sum[l] += (conjugates ? ScalarTraits<Scalar>::conjugate(a[l]) : a[l]) * x[l];
    }
  }
};

/// The matrices of a batch.
template <class Scalar, class ExecutionSpace>
class BatchOperator final : public LinearOperator<Scalar, ExecutionSpace> {
 public:
  using typename LinearOperator<Scalar, ExecutionSpace>::Memory;
  using typename LinearOperator<Scalar, ExecutionSpace>::Rows;

  explicit BatchOperator(BatchRows<Scalar, Memory> rows) : m_rows(std::move(rows)) {}
  std::int64_t size() const override { return m_rows.pattern.n_rows; }
  void apply(const ExecutionSpace& exec, const Rows& X, const Rows& Y) const override {
    constexpr int lanes = lanes_in_thread<Scalar, ExecutionSpace>;
    const auto columns = static_cast<std::int64_t>(X.extent(1));
    launch_lanes(exec, "lutra::batch::multiply", m_rows.pattern.n_rows * (columns / lanes),
                 MultiplyLanes<Scalar, Memory, lanes>{m_rows, X, Y});
  }

 private:
  BatchRows<Scalar, Memory> m_rows;
};

/// [n × columns] inverses of the diagonals of A, with the exceptions of DiagonalPreconditioner.
template <class Scalar, class Memory>
struct InvertDiagonals {
  CsrPattern<Ordinal, Offset, Memory> pattern;
  DenseRows<Scalar, Memory> values, inverse;

  KOKKOS_FUNCTION void operator()(const std::int64_t i, const std::int64_t s) const {
    const Scalar one(1);
    RealOf<Scalar> largest = 0;
    for (Offset p = pattern.row_map(i); p < pattern.row_map(i + 1); ++p) {
      const Scalar a = values(p, s);
      largest = Kokkos::max(largest, ScalarTraits<Scalar>::magnitude(a));
      if (pattern.entries(p) != i) continue;
      inverse(i, s) = one / a;
      if (ScalarTraits<Scalar>::is_finite(inverse(i, s))) return;
    }
    inverse(i, s) = one / Scalar(largest);
    if (!ScalarTraits<Scalar>::is_finite(inverse(i, s))) inverse(i, s) = one;
  }
};

/// X = op(D)⁻¹·B
template <class Scalar, class Memory>
struct MultiplyDiagonals {
  using Rows = DenseRows<Scalar, Memory>;
  Rows inverse, B, X;
  bool conjugate;
  std::int64_t first;  ///< system of the first column of B and X
  KOKKOS_FUNCTION void operator()(const std::int64_t i, const std::int64_t s) const {
    const Scalar factor =
        conjugate ? ScalarTraits<Scalar>::conjugate(inverse(i, first + s)) : inverse(i, first + s);
    X(i, s) = factor * B(i, s);
  }
};

/// Jacobi preconditioners of a batch.
template <class Scalar, class ExecutionSpace>
class BatchDiagonals final : public Preconditioner<Scalar, ExecutionSpace> {
 public:
  using typename Preconditioner<Scalar, ExecutionSpace>::Rows;
  using Memory = typename ExecutionSpace::memory_space;

  BatchDiagonals(Rows inverse, std::size_t first)
      : m_inverse(std::move(inverse)), m_first(static_cast<std::int64_t>(first)) {}
  void apply(const ExecutionSpace& exec, Transposition op, const Rows& B, const Rows& X) override {
    for_lanes(exec, "lutra::batch::jacobi", X.extent(0), X.extent(1),
              MultiplyDiagonals<Scalar, Memory>{m_inverse, B, X, op == Transposition::adjoint, m_first});
  }

 private:
  Rows m_inverse;
  std::int64_t m_first;
};

/// to(i, to_first + s) = from(i, from_first + s) for the columns of a window.
template <class Rows>
struct CopyWindow {
  Rows from, to;
  std::int64_t from_first, to_first;
  KOKKOS_FUNCTION void operator()(const std::int64_t i, const std::int64_t s) const {
    to(i, to_first + s) = from(i, from_first + s);
  }
};

/// Factors of a batch as preconditioners of its systems.
template <class Scalar, class ExecutionSpace>
class BatchFactors final : public Preconditioner<Scalar, ExecutionSpace> {
 public:
  using typename Preconditioner<Scalar, ExecutionSpace>::Rows;
  using Batch = BatchedNumeric<Scalar, ExecutionSpace>;
  using Mask = Kokkos::View<const bool*, Kokkos::HostSpace>;

  /// @param is_running [K] on the host, false outside of the window; may change between calls
  /// @param is_foreign M may lack factors of some systems, and may work on another instance
  /// @param wide       [n × systems] workspace; empty if the window is the whole batch
  /// @param first      system of the first column of the window
  BatchFactors(Batch& M, Mask is_running, bool is_foreign, Rows wide, std::size_t first)
      : m_M(M),
        m_is_running(std::move(is_running)),
        m_is_foreign(is_foreign),
        m_wide(std::move(wide)),
        m_first(static_cast<std::int64_t>(first)) {}
  std::int64_t size() const override { return m_M.rows(); }
  void apply(const ExecutionSpace& exec, Transposition op, const Rows& B, const Rows& X) override {
    if (m_wide.extent(0) > 0) {
      copy(exec, B, m_wide, 0, m_first, X.extent(1));
      apply_wide(exec, op, m_wide, m_wide);
      copy(exec, m_wide, X, m_first, 0, X.extent(1));
    } else {
      if (m_is_foreign && B.data() != X.data()) Kokkos::deep_copy(exec, X, B);
      apply_wide(exec, op, m_is_foreign ? X : B, X);
    }
  }

 private:
  static void copy(const ExecutionSpace& exec, const Rows& from, const Rows& to, std::int64_t from_first,
                   std::int64_t to_first, std::size_t columns) {
    for_lanes(exec, "lutra::batch::copy_window", from.extent(0), columns,
              CopyWindow<Rows>{from, to, from_first, to_first});
  }
  /// Systems without factors keep their X, which is B.
  void apply_wide(const ExecutionSpace& exec, Transposition op, const Rows& B, const Rows& X) {
    if (m_is_foreign) exec.fence("lutra::batch: vectors are complete");
    const std::size_t n = B.extent(0), columns = B.extent(1);
    const Kokkos::LayoutStride layout(n, columns, 1, n * columns, m_is_running.extent(0), 1);
    m_M.apply(typename Batch::const_block_type(B.data(), layout),
              typename Batch::block_type(X.data(), layout), op,
              typename Batch::mask_type(m_is_running.data(), m_is_running.extent(0)));
  }

  Batch& m_M;
  Mask m_is_running;
  bool m_is_foreign;
  Rows m_wide;
  std::int64_t m_first;
};

}  // namespace lutra::Impl

#endif
