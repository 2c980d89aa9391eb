// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_LdltMatrices.hpp"

#include "Lutra_ExecutionTraits.hpp"
#include "Lutra_Instantiate.hpp"
#include "Lutra_LdltFronts.hpp"

namespace lutra {
namespace {

/// Raises the largest entry of the matrix of each row.
template <class Scalar>
struct LargestOfRow {
  std::int64_t n;  ///< rows of a matrix
  const Offset* row_map;
  const Ordinal* columns;
  const Scalar* A;
  const RealOf<Scalar>*row_scale, *col_scale;
  double* largest;

  KOKKOS_FUNCTION void operator()(const std::int64_t row) const {
    double most = 0;
    for (Offset p = row_map[row]; p < row_map[row + 1]; ++p) {
      const Scalar value = A[p] * row_scale[row] * col_scale[columns[p]];
      most = Kokkos::max(most, static_cast<double>(Impl::size_or_infinity(value)));
    }
    if (most > largest[row / n]) Kokkos::atomic_max(largest + row / n, most);
  }
};

/// Adds what a front has found to the outcome of its matrix, a team a front, adjacent rows of L by adjacent
/// lanes of a thread.
template <class Scalar>
struct FrontInspection {
  Impl::LdltData<Scalar> data;
  Ordinal fronts;  ///< of a matrix
  LdltMatrixOutcome* outcomes;

  template <class Member>
  KOKKOS_FUNCTION void operator()(const Member& team) const {
    const auto f = static_cast<Ordinal>(team.league_rank());
    LdltMatrixOutcome& outcome = outcomes[f / fronts];
    const LdltRecord record = data.records[f];
    if (record.stopped != 0) {
      leave_without_pivots(team, f, record);
      Kokkos::single(Kokkos::PerTeam(team), [&]() {
        Kokkos::atomic_min(&outcome.incomplete, static_cast<std::int64_t>(f % fronts));
      });
      return;
    }
    const Impl::LdltFront<Scalar> panel = data.dense(f, record.delayed_in, record.moved);
    const bool hermitian = data.rule.symmetry == Symmetry::hermitian;
    Kokkos::single(Kokkos::PerTeam(team), [&]() {
      Impl::LdltTally tally;
      tally.count_pivots(panel, record.eliminated, hermitian);
      tally.count_front(record, panel.rows);
      tally.add_to(outcome);
    });
    double largest = 0;
    Kokkos::parallel_reduce(
        Kokkos::TeamThreadRange(team, record.eliminated),
        [&](const int j, double& most) {
          const double own = largest_of_column(team, panel, j, hermitian);
          if (own > most) most = own;
        },
        Kokkos::Max<double>(largest));
    Kokkos::single(Kokkos::PerTeam(team), [&]() {
      if (largest > outcome.largest_factor) Kokkos::atomic_max(&outcome.largest_factor, largest);
    });
  }

 private:
  /// The front's own columns are those it had before it was assembled.
  template <class Member>
  KOKKOS_FUNCTION void leave_without_pivots(const Member& team, Ordinal f, const LdltRecord& record) const {
    const Front front = data.fronts[f];
    Ordinal* const variables = data.variables + data.room[f].slots;
    Kokkos::parallel_for(Kokkos::TeamVectorRange(team, front.pivots),
                         [&](const int j) { variables[j] = front.first_pivot + static_cast<Ordinal>(j); });
    Kokkos::single(Kokkos::PerTeam(team), [&]() {
      LdltRecord empty;
      empty.wanted = record.wanted;
      empty.stopped = 1;
      data.records[f] = empty;
    });
  }

  /// Largest magnitude in the row of D·Lᵀ of pivot j, or in the rows of a pair that begins there.
  template <class Member>
  KOKKOS_FUNCTION double largest_of_column(const Member& team, const Impl::LdltFront<Scalar>& panel, int j,
                                           bool hermitian) const {
    const PivotKind kind = panel.kind[j];
    if (kind == PivotKind::second_of_two || kind == PivotKind::zero) return 0;
    double largest = 0;
    const Scalar* const l = panel.column(j);
    if (kind == PivotKind::first_of_two) {
      const Scalar d1 = panel.diagonal[j], d2 = panel.diagonal[j + 1], o = panel.off_diagonal[j];
      const Scalar above = Impl::mirrored(hermitian, o);
      const Scalar* const m = panel.column(j + 1);
      const int first = j + 2;
      Kokkos::parallel_reduce(
          Kokkos::ThreadVectorRange(team, panel.rows - first),
          [&](const int r, double& most) {
            const int i = first + r;
            raise(most, l[i] * d1 + m[i] * o);
            raise(most, l[i] * above + m[i] * d2);
          },
          Kokkos::Max<double>(largest));
    } else {
      const Scalar d = panel.diagonal[j];
      const int first = j + 1;
      Kokkos::parallel_reduce(
          Kokkos::ThreadVectorRange(team, panel.rows - first),
          [&](const int r, double& most) { raise(most, l[first + r] * d); }, Kokkos::Max<double>(largest));
    }
    return largest > 0 ? largest : 0.0;  // an empty reduction returns the reducer's identity
  }
  KOKKOS_FUNCTION static void raise(double& most, const Scalar& value) {
    most = Kokkos::max(most, static_cast<double>(Impl::size_or_infinity(value)));
  }
};

}  // namespace

template <class Scalar, class ExecutionSpace>
void find_largest_entries(const ExecutionSpace& exec,
                          const LdltPlan<typename ExecutionSpace::memory_space>& plan,
                          const ScaledValues<Scalar, typename ExecutionSpace::memory_space>& A,
                          const Kokkos::View<double*, typename ExecutionSpace::memory_space>& largest) {
  Kokkos::deep_copy(exec, largest, 0.0);
  const auto rows = static_cast<std::int64_t>(plan.base.n);
  if (rows == 0) return;
  const LargestOfRow<Scalar> raise{rows / static_cast<std::int64_t>(largest.extent(0)),
                                   plan.base.A.row_map.data(),
                                   plan.base.A.entries.data(),
                                   A.values.data(),
                                   A.row_scale.data(),
                                   A.col_scale.data(),
                                   largest.data()};
  Kokkos::parallel_for("lutra::numeric::largest_entries",
                       Kokkos::RangePolicy<ExecutionSpace, Kokkos::IndexType<std::int64_t>>(exec, 0, rows),
                       raise);
}

template <class Scalar, class ExecutionSpace>
void inspect_matrices(
    const ExecutionSpace& exec, const LdltPlan<typename ExecutionSpace::memory_space>& plan,
    const LdltFactors<Scalar, ExecutionSpace>& factors,
    const Kokkos::View<LdltMatrixOutcome*, typename ExecutionSpace::memory_space>& outcomes) {
  const auto matrices = static_cast<Ordinal>(outcomes.extent(0));
  if (matrices == 0) return;
  const LdltMatrixOutcome initial;
  Kokkos::parallel_for(
      "lutra::numeric::no_outcomes", Kokkos::RangePolicy<ExecutionSpace>(exec, 0, matrices),
      KOKKOS_LAMBDA(int m) { outcomes(m) = initial; });
  if (plan.base.count == 0) return;
  LdltPivotRule rule;
  rule.symmetry = factors.symmetry;
  const FrontInspection<Scalar> inspect{Impl::ldlt_data<Scalar>(plan, {}, rule, factors),
                                        plan.base.count / matrices, outcomes.data()};
  const int lanes = Impl::is_host_space<ExecutionSpace> ? 1 : 32;
  Kokkos::parallel_for(
      "lutra::numeric::inspect_matrices",
      Kokkos::TeamPolicy<ExecutionSpace>(exec, plan.base.count, Impl::team_width<ExecutionSpace>(4), lanes),
      inspect);
}

#define LUTRA_LDLT_MATRICES(Scalar, Space)                                               \
  template void find_largest_entries(const Space&, const LdltPlan<Space::memory_space>&, \
                                     const ScaledValues<Scalar, Space::memory_space>&,   \
                                     const Kokkos::View<double*, Space::memory_space>&); \
  template void inspect_matrices(const Space&, const LdltPlan<Space::memory_space>&,     \
                                 const LdltFactors<Scalar, Space>&,                      \
                                 const Kokkos::View<LdltMatrixOutcome*, Space::memory_space>&);
LUTRA_FOR_EACH_SCALAR_AND_SPACE(LUTRA_LDLT_MATRICES)

}  // namespace lutra
