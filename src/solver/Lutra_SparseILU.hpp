// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_SPARSEILU_HPP
#define LUTRA_SPARSEILU_HPP

#include <memory>
#include <span>

#include "Lutra_BuiltTypes.hpp"
#include "Lutra_IncompleteFactorization.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_NumericCalls.hpp"

namespace lutra {

/// Incomplete LU of square sparse matrices, A ≈ L·U on few entries: a preconditioner for our Krylov methods,
/// for refinement, or for a caller's own loop.
///
/// analyze once per pattern, factorize once per set of values, apply as often as wanted. Compiled into the
/// library for the types of `SparseLU`. Numerical events end in `report().status`, mistakes of the caller in
/// exceptions.
///
/// Several of them may share one analysis, each with its execution space instance, factors, workspace, memory
/// account and report; they may be used at the same time by different threads.
template <class Scalar, class ExecutionSpace = Kokkos::DefaultExecutionSpace>
class SparseILU : Impl::RequireBuiltTypes<Scalar, ExecutionSpace>,
                  public Impl::NumericCalls<Scalar, ExecutionSpace, SparseIluOptions> {
  using Base = Impl::NumericCalls<Scalar, ExecutionSpace, SparseIluOptions>;

 public:
  using typename Base::analysis_type;
  using factorization_type = IncompleteFactorization<Scalar, ExecutionSpace>;
  using Base::Base;

  /// One more on the analysis of another (`analysis()`), with its options and memory limit.
  /// @throws CallOrderError for no analysis; OutOfMemoryError. Fences.
  explicit SparseILU(const std::shared_ptr<const analysis_type>& analysis,
                     const ExecutionSpace& exec = ExecutionSpace())
      : Base(options_of(analysis), exec) {
    this->set_analysis(analysis);
  }

  /// X ≈ op(A)⁻¹·B for all columns (Numeric::apply, which says when it allocates and fences).
  /// @param B [n × k] or [n] View the execution space can read, of any layout
  /// @param X like B; may be B itself
  /// @throws CallOrderError without usable factors; InputError where extents do not fit; OutOfMemoryError.
  ///         TimeoutError where the watchdog has given up an earlier one, which left NaN: this one has done
  ///         nothing, and the factors are still there
  template <class BView, class XView>
  void apply(const BView& B, const XView& X, Transposition op = Transposition::none) {
    Impl::require_solvable_views<Scalar, ExecutionSpace, BView, XView>();
    using Views = typename Base::numeric_type;
    this->numeric("apply: there are no usable factors; call factorize first")
        .apply_strided(Impl::as_rank_two<typename Views::const_multivector_type>(B),
                       Impl::as_rank_two<typename Views::multivector_type>(X), op);
  }

  /// Overload for host arrays of n·k values by columns. Fences.
  /// @throws what apply does; TimeoutError where the watchdog has given up this one
  void apply_host(std::span<const Scalar> B, std::span<Scalar> X, Transposition op = Transposition::none) {
    this->on_host_arrays(B, X, [&](const auto& from, const auto& to) {
      apply(from, to, op);
      return 0;
    });
    this->analyzed().check_applied();
  }

  /// The factors as one preconditioner; `parts()` of it as two, for split preconditioning. Valid until the
  /// next analysis; to be applied after a successful `factorize` only.
  /// @throws CallOrderError without an analysis, or where the pattern is structurally singular
  factorization_type& factorization() const {
    constexpr auto message =
        "factorization: there is none; call analyze with a matrix that is not structurally singular first";
    auto* const engine = this->numeric(message).engine();
    if (engine == nullptr) throw CallOrderError(message);
    return static_cast<factorization_type&>(*engine);
  }

 private:
  static const SparseIluOptions& options_of(const std::shared_ptr<const analysis_type>& analysis) {
    if (!analysis || !analysis->is_incomplete())
      throw CallOrderError("SparseILU: there is no analysis; call analyze of the solver it comes from first");
    return std::get<SparseIluOptions>(analysis->options);
  }
};

}  // namespace lutra

#endif
