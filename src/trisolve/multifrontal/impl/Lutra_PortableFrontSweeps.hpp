// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_PORTABLEFRONTSWEEPS_HPP
#define LUTRA_PORTABLEFRONTSWEEPS_HPP

#include <algorithm>

#include "Lutra_ExecutionTraits.hpp"
#include "Lutra_FrontLu.hpp"
#include "Lutra_FrontSolvePortable.hpp"
#include "Lutra_FrontSources.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_Upload.hpp"

namespace lutra::Impl {

template <class ExecutionSpace>
FrontSolveLists<typename ExecutionSpace::memory_space> make_front_solve_lists(
    const ExecutionSpace& exec, const FrontPlan<typename ExecutionSpace::memory_space>& plan,
    const MemoryBudget& budget) {
  if constexpr (is_host_space<ExecutionSpace>) {
    MemoryReservation kept(budget);
    const auto lists = list_sources(plan.layout.fronts, static_cast<std::int64_t>(plan.n),
                                    plan.relative.data(), plan.relative.extent(0));
    const auto begin = upload(exec, kept, "lutra::trisolve::source_begin", lists.begin);
    return {kept, begin, upload(exec, kept, "lutra::trisolve::sources", lists.source)};
  } else {
    return list_sources(exec, plan, budget);
  }
}

/// Sweep data taken from the plan.
template <class Scalar, class Memory>
FrontSolveData<Scalar> front_solve_data(const LuPlan<Memory>& plan, const FrontSolveLists<Memory>& lists,
                                        const Scalar* panels) {
  FrontSolveData<Scalar> data;
  data.fronts = plan.fronts.data();
  data.panels_begin = plan.panels.data();
  data.rows = plan.rows.data();
  data.source_begin = lists.source_begin.data();
  data.source = lists.source.data();
  data.panels = panels;
  data.n = static_cast<std::int64_t>(plan.n);
  data.n_contributions = static_cast<std::int64_t>(plan.rows.extent(0));
  return data;
}

/// Portable sweeps; successive groups of right-hand sides reuse the same vectors.
template <class Scalar, class ExecutionSpace>
class PortableFrontSweeps {
 public:
  using Memory = typename ExecutionSpace::memory_space;
  using Plan = LuPlan<Memory>;
  using Data = FrontSolveData<Scalar>;
  using Factors = FrontFactors<Scalar, ExecutionSpace>;

  explicit PortableFrontSweeps(const MemoryBudget& budget) : m_budget(budget) {}

  /// @param data without vectors
  /// @param factors of whole fronts: no interchanges within tiles
  void run(const ExecutionSpace& exec, const Plan& plan, const Factors& factors, Data data) {
    const Ordinal* const row_of_pivot = factors.row_of_pivot().data();
    for (int column = 0; column < data.n_columns;) {
      const int width = data.n_columns - column == 1 ? 1 : 4;
      reserve(exec, data, width, row_of_pivot != nullptr);
      data.solved = m_solved.data();
      data.solution = row_of_pivot != nullptr ? m_solution.data() : m_solved.data();
      data.contributions = m_contributions.data();
      for (const bool forward : {true, false}) {
        data.sweep.forward = forward;
        data.row_of_pivot = data.sweep.unit() ? row_of_pivot : nullptr;
        if (width == 1) {
          sweep_fronts(exec, plan, forward, FrontSolveWorker<1, Scalar>{data, column});
        } else {
          sweep_fronts(exec, plan, forward, FrontSolveWorker<4, Scalar>{data, column});
        }
      }
      column += width;
    }
  }

 private:
  using Vector = Kokkos::View<Scalar*, Memory>;

  /// Allocates vectors. They hold no values between solves, so a failed allocation leaves the solver without
  /// them.
  void reserve(const ExecutionSpace& exec, const Data& data, int width, bool interchanged) {
    if (width <= m_width && (!interchanged || m_solution.extent(0) == m_solved.extent(0))) return;
    exec.fence("lutra::trisolve: the smaller vectors are freed");
    const int new_width = std::max(width, m_width);
    free_vectors();
    MemoryReservation fresh(m_budget);
    const auto allocate = [&](const char* label, std::int64_t slots) {
      return fresh.template allocate<Vector>(exec, label, static_cast<std::size_t>(slots * new_width));
    };
    const Vector solved = allocate("lutra::trisolve::solved", data.n);
    const Vector solution = interchanged ? allocate("lutra::trisolve::solution", data.n) : Vector();
    const Vector contributions = allocate("lutra::trisolve::contributions", data.n_contributions);
    m_solved = solved;
    m_solution = solution;
    m_contributions = contributions;
    m_vectors = fresh;
    m_width = new_width;
  }
  void free_vectors() {
    m_solved = m_solution = m_contributions = {};
    m_vectors = {};
    m_width = 0;
  }

  MemoryBudget m_budget;
  MemoryReservation m_vectors;
  Vector m_solved, m_contributions;
  Vector m_solution;  ///< for factors with interchanges
  int m_width = 0;    ///< values per index allocated
};

}  // namespace lutra::Impl

#endif
