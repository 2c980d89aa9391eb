// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_ROWSUBSTITUTION_HPP
#define LUTRA_ROWSUBSTITUTION_HPP

#include <memory>

#include "Lutra_HostSubstitution.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_SolveVectors.hpp"
#include "Lutra_TriangleEngine.hpp"

namespace lutra::Impl {

/// An analysed triangle whose rows are substituted in place, on host threads.
template <class ExecutionSpace>
struct SubstitutionPlan : AnalysedTriangle<ExecutionSpace> {
  HostSchedule<typename ExecutionSpace::memory_space> schedule;
};

/// Method `levels` on hosts.
/// @tparam Value of the stored triangle
template <class Scalar, class Value, class ExecutionSpace>
class RowSubstitution : public TriangleEngine<Scalar, ExecutionSpace> {
 public:
  using Base = TriangleEngine<Scalar, ExecutionSpace>;
  using Memory = typename ExecutionSpace::memory_space;
  using Plan = SubstitutionPlan<ExecutionSpace>;
  using typename Base::Source;

  RowSubstitution(std::shared_ptr<const Plan> plan, const MemoryBudget& budget)
      : m_plan(std::move(plan)), m_budget(budget), m_x(budget) {}

  std::unique_ptr<Base> with_own_values(const ExecutionSpace&, const MemoryBudget& budget,
                                        const TimeoutFlag&) const override {
    return std::make_unique<RowSubstitution>(m_plan, budget);
  }

  /// Does not copy values in the order of the pattern: they must live until the next ones are set.
  void set_values(const ExecutionSpace& exec, const Source& values) override {
    keep_values(exec, m_plan->rows.access(), m_plan->rows.entries.extent(0), values, m_budget, m_values);
  }

  void solve(const ExecutionSpace& exec, MappedColumns<const Scalar> in, MappedColumns<Scalar> out,
             int n_columns, bool conjugate) override {
    for_column_groups(in, out, n_columns, max_columns_at_once,
                      [&](const auto& b, const auto& x, int columns) {
                        const Ordinal n = m_plan->rows.access().n;
                        const auto solve_group = [&]<int Stride>(std::integral_constant<int, Stride>) {
                          m_x.reserve(exec, {{{"lutra::trisolve::solutions", m_plan->report.n}}}, Stride);
                          const auto data = data_for(b, x, columns, m_x[0]);
                          if constexpr (ScalarTraits<Scalar>::is_complex) {
                            if (conjugate) return substitute<Stride, true>(exec, n, m_plan->schedule, data);
                          }
                          substitute<Stride, false>(exec, n, m_plan->schedule, data);
                        };
                        if (columns == 1) return solve_group(std::integral_constant<int, 1>());
                        if (columns <= 4) return solve_group(std::integral_constant<int, 4>());
                        solve_group(std::integral_constant<int, max_columns_at_once>());
                      });
  }

  std::int64_t consume_timeout(const ExecutionSpace&) override { return -1; }
  std::int64_t count_inverted_blocks(const ExecutionSpace&) const override { return m_plan->report.n; }
  const TriangularReport& report() const override { return m_plan->report; }
  std::size_t bytes() const override {
    return m_plan->schedule.reservation.bytes() + m_values.reservation.bytes() + m_x.bytes();
  }

  std::size_t predict_bytes(int n_columns) const override {
    const auto rows = static_cast<std::size_t>(m_plan->rows.n);
    const std::size_t copied = std::is_same_v<Value, Scalar> ? 0 : m_plan->rows.entries.extent(0);
    return (rows + copied) * sizeof(Value) + rows * stride_of_group(n_columns) * sizeof(Scalar);
  }

 private:
  SubstitutionData<Scalar, Value> data_for(const MappedColumns<const Scalar>& in,
                                           const MappedColumns<Scalar>& out, int n_columns, Scalar* x) const {
    const auto rows = m_plan->rows.access();
    return {rows.begin.data,
            rows.end.data,
            rows.entries.data,
            m_values.values.data(),
            m_values.inverse.data(),
            m_plan->in_row.data(),
            m_plan->out_row.data(),
            in,
            out,
            x,
            n_columns,
            rows.upper,
            rows.is_unit(),
            m_budget.run().query()};
  }

  std::shared_ptr<const Plan> m_plan;
  MemoryBudget m_budget;
  HostValues<Value, Memory> m_values;
  SolveVectors<Scalar, Memory, 1> m_x;
};

}  // namespace lutra::Impl

#endif
