// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_SINGLEPRECISION_HPP
#define LUTRA_SINGLEPRECISION_HPP

#include <functional>
#include <memory>
#include <optional>
#include <type_traits>
#include <vector>

#include "Lutra_BuiltTypes.hpp"
#include "Lutra_Factorization.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_TriangleEngine.hpp"

// Factors of double-precision matrices in single precision: half the bytes, and on devices half the time
// where bytes bound it. The matrix is scaled in double precision, which brings its entries to at most 1, and
// then rounded:
//
//     values, scales ──► r·a·c in double ──► float ──► engine of the scalar type float ──► L, U
//     B ──► r·b / s in double ──► float ──► solve with L and U ──► double, c·x·s ──► X
//
// s is the largest magnitude of a column of r·B, so that no right-hand side leaves the range of float.
// Residuals and errors remain those of the double-precision matrix (Lutra_Refinement.hpp). Where they do not
// become small, `raise_precision` has the next factorization compute in double precision.

namespace lutra::Impl {

/// Whether the library is compiled for factors in single precision of matrices of type Scalar.
template <class Scalar>
inline constexpr bool has_single_factors = !std::is_same_v<Scalar, typename SingleOf<Scalar>::type> &&
                                           is_built_scalar<typename SingleOf<Scalar>::type>;

/// Plans of one pattern in single and in working precision.
template <class Scalar, class ExecutionSpace>
struct SinglePrecisionPlan final : FactorizationPlan<Scalar, ExecutionSpace> {
  using Memory = typename ExecutionSpace::memory_space;
  using Single = typename SingleOf<Scalar>::type;
  template <class Type>
  using PlanPointer = std::shared_ptr<const FactorizationPlan<Type, ExecutionSpace>>;
  /// Creates the plan in working precision, when single precision has not sufficed.
  using PlanWorking = std::function<PlanPointer<Scalar>(const ExecutionSpace&, const MemoryBudget&)>;

  CsrPattern<Ordinal, Offset, Memory> A;  ///< pattern of the matrix in the user's order
  PlanPointer<Single> single;
  PlanWorking plan_working;
  Kokkos::View<const RealOf<Single>*, Memory> ones;  ///< [n] scales of the scaled matrix
  MemoryReservation reservation;

  std::unique_ptr<Factorization<Scalar, ExecutionSpace>> make_factorization(
      const ExecutionSpace& exec, const MemoryBudget& budget) const override;
  void write_pattern(const ExecutionSpace& exec, FactorStructure& structure) const override {
    single->write_pattern(exec, structure);
  }
  /// Of the factors in single precision.
  std::optional<MemoryForecast> forecast(int n_columns) const override;
};

/// Factors in single precision. After `raise_precision` the next factorization computes them in working
/// precision, and frees those in single precision if it succeeds; otherwise these remain.
template <class Scalar, class ExecutionSpace>
class SinglePrecisionFactorization final : public Factorization<Scalar, ExecutionSpace>,
                                           public WritableFactors<Scalar, ExecutionSpace> {
 public:
  using Base = Factorization<Scalar, ExecutionSpace>;
  using typename Base::Memory;
  using typename Base::Rows;
  using Plan = SinglePrecisionPlan<Scalar, ExecutionSpace>;
  using Single = typename Plan::Single;
  using SingleRows = DenseRows<Single, Memory>;

  SinglePrecisionFactorization(const ExecutionSpace& exec, const Plan& plan, const MemoryBudget& budget);

  FactorizationOutcome factorize(const ExecutionSpace& exec, const ScaledValues<Scalar, Memory>& A,
                                 double perturbation) override;
  std::int64_t size() const override { return static_cast<std::int64_t>(m_plan.A.n_rows); }
  void apply(const ExecutionSpace& exec, Transposition op, const Rows& B, const Rows& X) override;
  std::vector<Pivot> pivots(const ExecutionSpace& exec) const override;
  FactorValues<Scalar> write_out(const ExecutionSpace& exec) const override;
  std::int64_t consume_timeout(const ExecutionSpace& exec) override {
    return m_single ? m_single->consume_timeout(exec) : m_working->consume_timeout(exec);
  }
  bool has_single_precision() const override { return m_single != nullptr; }
  bool raise_precision(const ExecutionSpace& exec) override;

 private:
  FactorizationOutcome factorize_working(const ExecutionSpace& exec, const ScaledValues<Scalar, Memory>& A,
                                         double perturbation);
  void reserve_values(const ExecutionSpace& exec);
  void reserve_columns(const ExecutionSpace& exec, std::size_t n_columns);

  const Plan& m_plan;
  MemoryBudget m_budget;
  /// Null once there are factors in working precision.
  std::unique_ptr<Factorization<Single, ExecutionSpace>> m_single;
  typename Plan::template PlanPointer<Scalar> m_working_plan;        ///< null until precision is raised
  std::unique_ptr<Factorization<Scalar, ExecutionSpace>> m_working;  ///< likewise
  ScaledValues<Scalar, Memory> m_A;        ///< of the last factorization; `apply` reads their scales
  Kokkos::View<Single*, Memory> m_values;  ///< [nnz(A)] scaled and rounded
  MemoryReservation m_values_reservation;
  SingleRows m_columns;                       ///< [n × k] right-hand sides, then solutions
  Kokkos::View<double*, Memory> m_magnitude;  ///< [k] s of each column
  MemoryReservation m_columns_reservation;
};

/// Combines plans of one pattern.
/// @param plan_working plans in working precision; called by factorizations, on any threads
/// @throws OutOfMemoryError
template <class Scalar, class ExecutionSpace>
std::shared_ptr<const FactorizationPlan<Scalar, ExecutionSpace>> plan_in_single_precision(
    const ExecutionSpace& exec, const CsrPattern<Ordinal, Offset, typename ExecutionSpace::memory_space>& A,
    typename SinglePrecisionPlan<Scalar,
                                 ExecutionSpace>::template PlanPointer<typename SingleOf<Scalar>::type>
        single,
    typename SinglePrecisionPlan<Scalar, ExecutionSpace>::PlanWorking plan_working,
    const MemoryBudget& budget);

}  // namespace lutra::Impl

#endif
