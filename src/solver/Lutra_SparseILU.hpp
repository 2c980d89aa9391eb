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

/// Incomplete LU factorization A ≈ L·U of square sparse matrices, with few entries in L and U. It serves as a
/// preconditioner for the library's Krylov methods, for refinement, or for an iteration written by the
/// caller.
///
/// Call analyze once per pattern, factorize once per set of values, and apply as often as needed. The library
/// contains instantiations for the types of `SparseLU`. Numerical failures set `report().status`; usage
/// errors throw exceptions.
///
/// Several objects may share one analysis. Each has its own execution space instance, factors, workspace,
/// MemoryBudget and report. Different threads may use them at the same time.
template <class Scalar, class ExecutionSpace = Kokkos::DefaultExecutionSpace>
class SparseILU : Impl::RequireBuiltTypes<Scalar, ExecutionSpace>,
                  public Impl::NumericCalls<Scalar, ExecutionSpace, SparseIluOptions> {
  using Base = Impl::NumericCalls<Scalar, ExecutionSpace, SparseIluOptions>;

 public:
  using typename Base::analysis_type;
  using factorization_type = IncompleteFactorization<Scalar, ExecutionSpace>;
  using Base::Base;

  /// Creates an object on the analysis of another one (`analysis()`), with the options and memory limit of
  /// that analysis. Fences.
  /// @throws CallOrderError if the analysis is null; OutOfMemoryError
  explicit SparseILU(const std::shared_ptr<const analysis_type>& analysis,
                     const ExecutionSpace& exec = ExecutionSpace())
      : Base(options_of(analysis), exec) {
    this->set_analysis(analysis);
  }

  /// Computes X ≈ op(A)⁻¹·B for all columns. Numeric::apply documents when the call allocates and fences.
  /// @param B [n × k] or [n] View of any layout that the execution space can read
  /// @param X View like B; may be B itself
  /// @throws CallOrderError if there are no usable factors. InputError if the extents do not match.
  ///         OutOfMemoryError. TimeoutError if the watchdog stopped an earlier apply, whose result is NaN;
  ///         this call has then done nothing, and the factors remain valid.
  template <class BView, class XView>
  void apply(const BView& B, const XView& X, Transposition op = Transposition::none) {
    Impl::require_solvable_views<Scalar, ExecutionSpace, BView, XView>();
    using Views = typename Base::numeric_type;
    this->numeric("apply: there are no usable factors; call factorize first")
        .apply_strided(Impl::as_rank_two<typename Views::const_multivector_type>(B),
                       Impl::as_rank_two<typename Views::multivector_type>(X), op);
  }

  /// Overload for host arrays of n·k values, stored by columns. Fences.
  /// @throws whatever `apply` throws; TimeoutError also if the watchdog stopped this call
  void apply_host(std::span<const Scalar> B, std::span<Scalar> X, Transposition op = Transposition::none) {
    this->on_host_arrays(B, X, [&](const auto& from, const auto& to) {
      apply(from, to, op);
      return 0;
    });
    this->analyzed().check_applied();
  }

  /// Returns the factors as one preconditioner. Its `parts()` returns the same factors as two parts, for
  /// split preconditioning. The reference is valid until the next analysis. Apply it only after a successful
  /// `factorize`.
  /// @throws CallOrderError if there is no analysis, or if the pattern is structurally singular
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
