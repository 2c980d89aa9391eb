// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_SCALEENTRIES_HPP
#define LUTRA_SCALEENTRIES_HPP

#include "Lutra_ExecutionTraits.hpp"
#include "Lutra_FrontPlan.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_ScalarTraits.hpp"

namespace lutra::Impl {

/// Scales the entries of A into front order, one team per entries_a_mark entries.
template <class Scalar>
struct ScaleEntries {
  std::int64_t nnz;
  const Ordinal* marks;
  const Offset* row_map;
  const Ordinal* columns;
  const std::uint32_t* target;
  const Offset* target_wide;
  const Scalar* A;
  const RealOf<Scalar>* row_scale;
  const RealOf<Scalar>* col_scale;
  Scalar* entries;
  double* largest;

  template <class Member>
  KOKKOS_FUNCTION void operator()(const Member& team) const {
    const std::int64_t begin = static_cast<std::int64_t>(team.league_rank()) * entries_a_mark;
    const std::int64_t end = begin + entries_a_mark < nnz ? begin + entries_a_mark : nnz;
    const Ordinal last = marks[team.league_rank() + 1];
    Ordinal row = marks[team.league_rank()];
    double most = 0;
    Kokkos::parallel_reduce(
        Kokkos::TeamThreadRange(team, begin, end),
        [&](const std::int64_t p, double& greatest) {
          row = row_of(p, row, last);
          const double size = scale(row, p);
          if (size > greatest) greatest = size;
        },
        Kokkos::Max<double>(most));
    Kokkos::single(Kokkos::PerTeam(team), [&]() {
      if (most > *largest) Kokkos::atomic_max(largest, most);
    });
  }

 private:
  /// The row of entry p, searched in first … last. A thread's entries ascend.
  KOKKOS_FUNCTION Ordinal row_of(std::int64_t p, Ordinal first, Ordinal last) const {
    while (first < last && row_map[first + 1] <= p) {
      const Ordinal middle = first + (last - first + 1) / 2;
      if (row_map[middle] <= p) {
        first = middle;
      } else {
        last = middle - 1;
      }
    }
    return first;
  }

  KOKKOS_FUNCTION double scale(Ordinal row, std::int64_t p) const {
    const Scalar value = A[p] * row_scale[row] * col_scale[columns[p]];
    entries[target != nullptr ? static_cast<std::int64_t>(target[p])
                              : static_cast<std::int64_t>(target_wide[p])] = value;
    return static_cast<double>(ScalarTraits<Scalar>::magnitude(value));
  }
};

/// @param entries [nnz(A)] out
/// @param largest raised to the largest magnitude among them
template <class Scalar, class ExecutionSpace, class Plan, class Values, class Entries>
void scale_entries(const ExecutionSpace& exec, const Plan& plan, const Values& A, const Entries& entries,
                   double* largest) {
  const auto nnz = static_cast<std::int64_t>(entries.extent(0));
  if (nnz == 0) return;
  const ScaleEntries<Scalar> scale{nnz,
                                   plan.entry_marks.data(),
                                   plan.A.row_map.data(),
                                   plan.A.entries.data(),
                                   plan.entry_target.data(),
                                   plan.entry_target_wide.data(),
                                   A.values.data(),
                                   A.row_scale.data(),
                                   A.col_scale.data(),
                                   entries.data(),
                                   largest};
  const auto teams = static_cast<int>(plan.entry_marks.extent(0) - 1);
  Kokkos::parallel_for(
      "lutra::numeric::scale_entries",
      Kokkos::TeamPolicy<ExecutionSpace>(exec, teams, team_width<ExecutionSpace>(entries_a_mark)), scale);
}

/// Starts a multifrontal factorization: sets its outcome, and scales the entries.
/// @param initial value of `outcome`; its largest_entry is raised
template <class Scalar, class ExecutionSpace, class Plan, class Values, class Entries, class OutcomeView>
static void start_fronts(const ExecutionSpace& exec, const Plan& plan, const Values& A,
                         const Entries& entries, const OutcomeView& outcome,
                         const typename OutcomeView::value_type& initial) {
  Kokkos::parallel_for(
      "lutra::numeric::no_outcome", Kokkos::RangePolicy<ExecutionSpace>(exec, 0, 1),
      KOKKOS_LAMBDA(int) { outcome() = initial; });
  scale_entries<Scalar>(exec, plan, A, entries, &outcome.data()->largest_entry);
}

}  // namespace lutra::Impl

#endif
