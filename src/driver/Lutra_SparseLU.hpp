// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_SPARSELU_HPP
#define LUTRA_SPARSELU_HPP

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <memory>
#include <span>

#include "Lutra_BuiltTypes.hpp"
#include "Lutra_CsrView.hpp"
#include "Lutra_FactorStructure.hpp"
#include "Lutra_LuOptions.hpp"
#include "Lutra_MatrixInput.hpp"
#include "Lutra_RankTwo.hpp"
#include "Lutra_Report.hpp"
#include "Lutra_Transposition.hpp"

namespace lutra {

template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
class LuSolver;  // the implementation, Lutra_LuSolver.hpp

/// Direct solver for square sparse systems by LU, with static pivoting or threshold pivoting within fronts.
///
/// analyze once per pattern, factorize once per set of values, solve as often as wanted. Compiled into the
/// library for float, double and complex of both, int and int64_t ordinals, int64_t offsets, and each
/// execution space of Kokkos. Numerical events end in `report().status`, mistakes of the caller in
/// exceptions.
template <class Scalar, class Ordinal = int, class Offset = std::int64_t,
          class ExecutionSpace = Kokkos::DefaultExecutionSpace>
class SparseLU : Impl::RequireBuiltTypes<Scalar, Ordinal, Offset, ExecutionSpace> {
 public:
  using memory_space = typename ExecutionSpace::memory_space;
  using matrix_type = CsrView<Scalar, Ordinal, Offset, memory_space>;
  using host_matrix_type = HostMatrix<Scalar, Ordinal, Offset>;
  using const_multivector_type = Kokkos::View<const Scalar**, Kokkos::LayoutStride, memory_space>;
  using multivector_type = Kokkos::View<Scalar**, Kokkos::LayoutStride, memory_space>;

  explicit SparseLU(LuOptions options = {}, const ExecutionSpace& exec = ExecutionSpace());
  ~SparseLU();
  SparseLU(SparseLU&&) noexcept;
  SparseLU& operator=(SparseLU&&) noexcept;

  /// Matching and scaling, ordering, symbolic factorization and levelization of a square matrix.
  /// Afterwards `report().status` is `not_solved`, or `structurally_singular` or `numerically_singular` where
  /// no factorization is possible.
  /// @throws InputError naming row and column for a matrix that is not square, has unsorted or repeated
  /// columns,
  ///         indices out of range, or NaN or infinity; OutOfMemoryError. The solver is as it was before the
  ///         call.
  void analyze(const matrix_type& A);
  void analyze(const host_matrix_type& A);
  /// For a row map of `int` or `std::size_t` and for any memory the execution space can reach, as in
  /// analyze(make_view(a Kokkos Kernels matrix)). Entries and values are shared; a row map of `int` is
  /// converted on the device.
  template <class Value, class Index, class Integer, class Memory>
  void analyze(const CsrView<Value, Index, Integer, Memory>& A) {
    analyze(readable(A));
  }

  /// LU of a matrix with the pattern of the analysis and any values.
  /// @throws CallOrderError without an analysis; InputError where the pattern is another one or a value is
  /// NaN or
  ///         infinite; OutOfMemoryError
  void factorize(const matrix_type& A);
  void factorize(const host_matrix_type& A);
  template <class Value, class Index, class Integer, class Memory>
  void factorize(const CsrView<Value, Index, Integer, Memory>& A) {
    factorize(readable(A));
  }

  /// Solves op(A)·X = B for all columns, refines, and computes the backward errors in `report()`.
  /// @param B [n × k] or [n] View the execution space can read
  /// @param X like B; may be B itself
  /// @returns the status of `report()`. Where it is a singular one from before the call, X is left alone;
  /// where the solve
  ///          itself found the matrix singular, X has the backward error reported, but is one solution of
  ///          many.
  /// @throws CallOrderError without a factorization; InputError where extents are wrong or B holds NaN or
  /// infinity
  template <class BView, class XView>
  Status solve(const BView& B, const XView& X, Transposition op = Transposition::none) {
    static_assert(BView::rank() == XView::rank() && (BView::rank() == 1 || BView::rank() == 2),
                  "lutra::SparseLU::solve takes two Views of rank 1 or two of rank 2");
    static_assert(std::is_same_v<typename XView::value_type, Scalar> &&
                      std::is_same_v<typename BView::non_const_value_type, Scalar>,
                  "lutra::SparseLU::solve takes Views of the solver's own scalar type, X not const");
    static_assert(
        Kokkos::SpaceAccessibility<ExecutionSpace, typename BView::memory_space>::accessible &&
            Kokkos::SpaceAccessibility<ExecutionSpace, typename XView::memory_space>::accessible,
        "lutra::SparseLU::solve takes Views its execution space can reach; for host data use solve_host");
    return solve_views(Impl::as_rank_two<const_multivector_type>(B), Impl::as_rank_two<multivector_type>(X),
                       op);
  }

  /// The same for host arrays of n·k values by columns; copies to the device and back.
  Status solve_host(std::span<const Scalar> B, std::span<Scalar> X, Transposition op = Transposition::none);

  /// Orders, pattern of L + U and level widths of the analysis, on the host; empty for a structurally
  /// singular matrix.
  /// @throws CallOrderError without an analysis
  FactorStructure structure() const;

  /// What was chosen, counted and measured, and how good the last solution is.
  const Report& report() const noexcept;

 private:
  template <class Value, class Index, class Integer, class Memory>
  matrix_type readable(const CsrView<Value, Index, Integer, Memory>& A) {
    using Matrix = CsrView<Value, Index, Integer, Memory>;
    [[maybe_unused]] const Impl::RequireReadable<Matrix, Scalar, Ordinal, Offset, ExecutionSpace> types;
    return Impl::adapt_matrix<Offset, ExecutionSpace>(
        A, [this](const auto& row_map) { return widened(row_map); });
  }
  Kokkos::View<const Offset*, memory_space> widened(const Kokkos::View<const int*, memory_space>& row_map);
  Status solve_views(const const_multivector_type& B, const multivector_type& X, Transposition op);

  std::unique_ptr<LuSolver<Scalar, Ordinal, Offset, ExecutionSpace>> m_solver;
};

}  // namespace lutra

#endif
