// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_DIRECTSOLVER_HPP
#define LUTRA_DIRECTSOLVER_HPP

#include <memory>
#include <span>

#include "Lutra_Index.hpp"
#include "Lutra_NumericCalls.hpp"
#include "Lutra_Transposition.hpp"

namespace lutra {

/// What the direct solvers share: the calls of Impl::NumericCalls, and solves.
/// @tparam Options LuOptions or LdltOptions
template <class Scalar, class ExecutionSpace, class Options>
class DirectSolver : public Impl::NumericCalls<Scalar, ExecutionSpace, Options> {
  using Base = Impl::NumericCalls<Scalar, ExecutionSpace, Options>;

 public:
  using border_type = Impl::Border<Scalar, ExecutionSpace>;
  using Base::analyze;
  using Base::Base;
  using typename Base::matrix_type;

  /// Overload with a border, for SchurComplement.
  [[nodiscard]] Status analyze(const matrix_type& A, const std::shared_ptr<border_type>& border) {
    this->set_analysis(lutra::analyze<Scalar, ExecutionSpace>(this->m_exec, A, this->options(),
                                                              this->m_budget, nullptr, border));
    return this->outcome();
  }

  /// Solves op(A)·X = B for all columns, refines, and computes the backward errors in `report()`
  /// (`solve` of numeric_type, which says what it waits for).
  /// @param B [n × k] or [n] View the execution space can read
  /// @param X like B; may be B itself. Complete when the call returns
  /// @returns the status of `report()`. Where it is a singular one from before the call, X is left alone;
  ///          where the solve itself finds the matrix numerically singular, X holds the solution its errors
  ///          are of, one of many
  /// @throws CallOrderError without a factorization, InputError where extents do not fit or B holds NaN or
  ///         infinity: nothing has changed. OutOfMemoryError, TimeoutError: X is undefined
  template <class BView, class XView>
  Status solve(const BView& B, const XView& X, Transposition op = Transposition::none) {
    Impl::require_solvable_views<Scalar, ExecutionSpace, BView, XView>();
    using Views = typename Base::numeric_type;
    return this->numeric("solve: there is no factorization; call analyze and factorize first")
        .solve_strided(Impl::as_rank_two<typename Views::const_multivector_type>(B),
                       Impl::as_rank_two<typename Views::multivector_type>(X), op);
  }

  /// The same for host arrays of n·k values by columns; copies to the device and back where the execution
  /// space cannot reach them. Fences.
  /// @throws what solve does; OutOfMemoryError where the copies do not fit: nothing has changed, X included
  Status solve_host(std::span<const Scalar> B, std::span<Scalar> X, Transposition op = Transposition::none) {
    return this->on_host_arrays(B, X, [&](const auto& from, const auto& to) { return solve(from, to, op); });
  }
};

}  // namespace lutra

#endif
