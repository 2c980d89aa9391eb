// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_SPARSELU_HPP
#define LUTRA_SPARSELU_HPP

#include <memory>
#include <span>

#include "Lutra_BuiltTypes.hpp"
#include "Lutra_CsrView.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_NumericCalls.hpp"

namespace lutra {

/// Base class of the direct solvers. Adds solves to the calls of Impl::NumericCalls.
/// @tparam Options LuOptions or LdltOptions
template <class Scalar, class ExecutionSpace, class Options>
class DirectSolver : public Impl::NumericCalls<Scalar, ExecutionSpace, Options> {
  using Base = Impl::NumericCalls<Scalar, ExecutionSpace, Options>;

 public:
  using border_type = Impl::Border<Scalar, ExecutionSpace>;
  using Base::analyze;
  using Base::Base;
  using typename Base::matrix_type;

  /// Overload that also takes a border of rows and columns. SchurComplement uses it.
  [[nodiscard]] Status analyze(const matrix_type& A, const std::shared_ptr<border_type>& border) {
    return this->stoppable_analysis([&] {
      this->set_analysis(lutra::analyze<Scalar, ExecutionSpace>(this->m_exec, A, this->options(),
                                                                this->m_budget, nullptr, border));
      return this->outcome();
    });
  }

  /// Solves op(A)·X = B for all columns, applies iterative refinement, and stores the backward errors in
  /// `report()`. Numeric::solve documents when the call waits for the device.
  /// @param B [n × k] or [n] View that the execution space can read
  /// @param X View like B; may be B itself. It is complete when the call returns.
  /// @returns the status of `report()`. If the status was already singular before the call, X is left
  ///          unchanged. If the solve itself finds that the matrix is numerically singular, X holds one of
  ///          many solutions, and the reported errors refer to it.
  /// @throws CallOrderError if there is no factorization. InputError if the extents do not match, or if B
  ///         contains NaN or infinity; nothing has then changed. After OutOfMemoryError or TimeoutError X is
  ///         undefined.
  template <class BView, class XView>
  Status solve(const BView& B, const XView& X, Transposition op = Transposition::none) {
    Impl::require_solvable_views<Scalar, ExecutionSpace, BView, XView>();
    using Views = typename Base::numeric_type;
    return this->numeric("solve: there is no factorization; call analyze and factorize first")
        .solve_strided(Impl::as_rank_two<typename Views::const_multivector_type>(B),
                       Impl::as_rank_two<typename Views::multivector_type>(X), op);
  }

  /// Overload for host arrays of n·k values, stored by columns. Copies them to the device and back if the
  /// execution space cannot access host memory. Fences.
  /// @throws whatever `solve` throws. OutOfMemoryError if the copies do not fit in memory; nothing has then
  ///         changed, including X.
  Status solve_host(std::span<const Scalar> B, std::span<Scalar> X, Transposition op = Transposition::none) {
    return this->on_host_arrays(B, X, [&](const auto& from, const auto& to) { return solve(from, to, op); });
  }
};

/// Direct solver for square sparse systems by LU factorization, with static pivoting or with threshold
/// pivoting within fronts.
///
/// Call analyze once per pattern, factorize once per set of values, and solve as often as needed. The library
/// contains instantiations for float, double and their complex types, for int and int64_t ordinals, int64_t
/// offsets, and each enabled Kokkos execution space. Numerical failures set `report().status`; usage errors
/// throw exceptions. To factorize several matrices of one pattern at the same time, see `analysis()`.
template <class Scalar, class ExecutionSpace = Kokkos::DefaultExecutionSpace>
class SparseLU : Impl::RequireBuiltTypes<Scalar, ExecutionSpace>,
                 public DirectSolver<Scalar, ExecutionSpace, LuOptions> {
 public:
  using DirectSolver<Scalar, ExecutionSpace, LuOptions>::DirectSolver;
};

}  // namespace lutra

#endif
