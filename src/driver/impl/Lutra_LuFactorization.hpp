// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_LUFACTORIZATION_HPP
#define LUTRA_LUFACTORIZATION_HPP

#include "Lutra_Factorization.hpp"
#include "Lutra_LuFactors.hpp"
#include "Lutra_LuTriangularSolves.hpp"

namespace lutra::Impl {

/// The factors of an analysis behind the interface of all factorizations.
template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
class LuFactorization final : public Factorization<Scalar, ExecutionSpace> {
 public:
  using Base = Factorization<Scalar, ExecutionSpace>;
  using typename Base::Memory;
  using typename Base::Rows;
  using Analysis = LuAnalysis<Scalar, Ordinal, Offset, ExecutionSpace>;

  LuFactorization(const Analysis& analysis, const MemoryBudget& budget)
      : m_analysis(analysis), m_budget(budget) {}

  FactorizationOutcome factorize(const ExecutionSpace& exec, const ScaledValues<Scalar, Memory>& A,
                                 double perturbation) override {
    return factorize_lu(exec, m_analysis, A.values, perturbation, m_budget, m_factors);
  }

  void apply(const ExecutionSpace& exec, Transposition op, const Rows& B, const Rows& X) override {
    const std::size_t n = X.extent(0), k = X.extent(1);
    if (!m_analysis.front_solver && m_scratch.extent(0) < n * k) reserve_scratch(exec, n * k);
    apply_factors(exec, m_analysis, op, B, X, Rows(m_scratch.data(), n, k));
  }

  std::vector<Pivot> pivots(const ExecutionSpace& exec) const override {
    exec.fence("lutra::driver: pivots are known");
    const Kokkos::HostSpace host;
    const auto rows = Kokkos::create_mirror_view_and_copy(host, m_analysis.row_order);
    const auto columns = Kokkos::create_mirror_view_and_copy(host, m_analysis.col_order);
    const auto perturbed = Kokkos::create_mirror_view_and_copy(host, m_factors.perturbed);
    Kokkos::View<Ordinal*, Kokkos::HostSpace> row_of_pivot;
    if (m_analysis.front_factors)
      row_of_pivot = Kokkos::create_mirror_view_and_copy(host, m_analysis.front_factors->row_of_pivot);
    std::vector<Pivot> result;
    result.reserve(columns.extent(0));
    for (std::size_t k = 0; k < columns.extent(0); ++k) {
      const auto row = row_of_pivot.extent(0) == 0 ? static_cast<Ordinal>(k) : row_of_pivot(k);
      result.push_back({rows(row), columns(k), perturbed(k) != 0});
    }
    return result;
  }

  std::int64_t consume_timeout(const ExecutionSpace& exec) override {
    return m_analysis.front_solver ? m_analysis.front_solver->consume_timeout(exec)
                                   : m_analysis.triangles->consume_timeout(exec);
  }

 private:
  void reserve_scratch(const ExecutionSpace& exec, std::size_t size) {
    exec.fence("lutra::driver: the smaller scratch is freed");
    m_scratch = {};
    m_scratch_reservation = MemoryReservation(m_budget);
    m_scratch = m_scratch_reservation.template allocate<Kokkos::View<Scalar*, Memory>>(
        exec, "lutra::driver::solve scratch", size);
  }

  Analysis m_analysis;
  MemoryBudget m_budget;
  LuFactors<Scalar, Memory> m_factors;
  Kokkos::View<Scalar*, Memory> m_scratch;  ///< [n × k] by rows: vectors between the two triangular solves
  MemoryReservation m_scratch_reservation;
};

}  // namespace lutra::Impl

#endif
