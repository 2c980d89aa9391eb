// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_PORTABLEFRONTSWEEPS_HPP
#define LUTRA_PORTABLEFRONTSWEEPS_HPP

#include <algorithm>
#include <memory>
#include <type_traits>
#include <utility>

#include "Lutra_FrontSolveWorker.hpp"
#include "Lutra_FrontSolver.hpp"
#include "Lutra_FrontSources.hpp"
#include "Lutra_SolveVectors.hpp"

namespace lutra::Impl {

/// Arguments of sweeps except vectors and what differs between sweeps.
template <class Scalar, class ExecutionSpace>
LuSolveData<Scalar> front_solve_data(
    const LuPlan<typename ExecutionSpace::memory_space>& plan,
    const FrontSolveLists<typename ExecutionSpace::memory_space>& lists,
    const FrontFactors<Scalar, ExecutionSpace>& factors,
    const FrontSystem<Scalar, typename ExecutionSpace::memory_space>& system) {
  LuSolveData<Scalar> data;
  set_vectors(plan, lists, factors, system, data);
  data.panels_begin = plan.panels.data();
  data.n = static_cast<std::int64_t>(plan.n);
  data.n_contributions = static_cast<std::int64_t>(plan.rows.extent(0));
  data.sweep.transposed = system.transposition != Transposition::none;
  data.sweep.conjugate = system.transposition == Transposition::adjoint;
  return data;
}

/// Copies the values of some rows to a vector of sweeps if they are constant, else from it. In a vector the
/// `width` values of a row are contiguous.
template <class Scalar, class Value>
struct CopyFrontValues {
  const Offset* rows;
  Value* values;
  int n_columns, column, columns, width;
  Scalar* vector;

  KOKKOS_FUNCTION void operator()(const std::int64_t r) const {
    Value* const outside = values + r * n_columns + column;
    Scalar* const inside = vector + rows[r] * width;
    if constexpr (std::is_const_v<Value>) {
      for (int w = 0; w < width; ++w) inside[w] = w < columns ? outside[w] : Scalar(0);
    } else {
      for (int w = 0; w < columns; ++w) outside[w] = inside[w];
    }
  }
};

/// Sweeps by portable kernels; successive groups of right-hand sides reuse the same vectors.
template <class Scalar, class ExecutionSpace>
class PortableFrontSweeps {
 public:
  using Memory = typename ExecutionSpace::memory_space;
  using Plan = LuPlan<Memory>;
  using Data = LuSolveData<Scalar>;
  using Factors = FrontFactors<Scalar, ExecutionSpace>;
  using System = FrontSystem<Scalar, Memory>;
  using Lists = FrontSolveLists<Memory>;

  static std::shared_ptr<const Lists> make_lists(const ExecutionSpace& exec, const Plan& plan,
                                                 const MemoryBudget& budget, const FrontSolverOptions&) {
    return std::make_shared<const Lists>(make_front_solve_lists(exec, plan, budget));
  }
  PortableFrontSweeps(const ExecutionSpace&, std::shared_ptr<const Lists> lists, const MemoryBudget& budget)
      : m_lists(std::move(lists)), m_vectors(budget) {}

  const std::shared_ptr<const Lists>& lists() const { return m_lists; }
  /// Bytes of the vectors of `run`.
  std::size_t predict_bytes(const Plan& plan, bool interchanges, int n_columns) const {
    const std::size_t of_pivots = (interchanges ? 2 : 1) * static_cast<std::size_t>(plan.n);
    return (of_pivots + plan.rows.extent(0)) * (n_columns == 1 ? 1 : 4) * sizeof(Scalar);
  }

  /// @param factors of whole fronts: no interchanges within tiles
  void run(const ExecutionSpace& exec, const Plan& plan, const Factors& factors, const System& system,
           const LuParts& = {}) {
    Data data = front_solve_data(plan, *m_lists, factors, system);
    data.query = m_vectors.run().query();
    for_each_group(data.n_columns, [&](int column, int width) {
      reserve(exec, plan, factors, width);
      m_vectors.run().poll();
      for (const bool forward : {true, false}) {
        const Group group{column, width, 0, forward};
        with_worker(with_vectors(data, factors, group), group,
                    [&](const auto& worker) { sweep_fronts(exec, plan, forward, worker); });
      }
    });
    m_vectors.run().poll();
  }

  // The halves of a solve keep the vectors of all groups in between.

  /// The object itself, which has `reserve_halves`, `sweep_up` and `sweep_down`.
  PortableFrontSweeps& halves() { return *this; }
  void reserve_halves(const ExecutionSpace& exec, const Plan& plan, const Factors& factors, int n_columns) {
    int width_of_all = 0;
    for_each_group(n_columns, [&](int, int width) { width_of_all += width; });
    reserve(exec, plan, factors, width_of_all);
  }
  void sweep_up(const ExecutionSpace& exec, const Plan& plan, const Factors& factors, const System& system,
                const FrontValues<const Scalar, Memory>& given, const FrontValues<Scalar, Memory>& sums) {
    sweep_half(exec, plan, factors, system, true, given, sums);
  }
  void sweep_down(const ExecutionSpace& exec, const Plan& plan, const Factors& factors, const System& system,
                  const FrontValues<const Scalar, Memory>& solved, const FrontValues<Scalar, Memory>& read) {
    sweep_half(exec, plan, factors, system, false, solved, read);
  }

  /// No kernel waits for another.
  std::int64_t consume_timeout(const ExecutionSpace&, const Plan&) { return -1; }

 private:
  /// A sweep with one group of right-hand sides.
  struct Group {
    int column = 0, width = 1;
    int before = 0;  ///< values per index of the groups before it in the vectors
    bool forward = true;
  };
  template <class Visit>
  static void for_each_group(int n_columns, const Visit& visit) {
    for (int column = 0; column < n_columns;) {
      const int width = n_columns - column == 1 ? 1 : 4;
      visit(column, width);
      column += width;
    }
  }

  void reserve(const ExecutionSpace& exec, const Plan& plan, const Factors& factors, int width) {
    const auto n = static_cast<std::int64_t>(plan.n);
    m_vectors.reserve(exec,
                      {{{"lutra::trisolve::solved", n},
                        {"lutra::trisolve::contributions", static_cast<std::int64_t>(plan.rows.extent(0))},
                        {"lutra::trisolve::solution", factors.row_of_pivot().data() != nullptr ? n : 0}}},
                      width);
  }

  /// The vectors of a group.
  Data with_vectors(Data data, const Factors& factors, const Group& group) const {
    data.solved = m_vectors[0] + group.before * data.n;
    data.contributions = m_vectors[1] + group.before * data.n_contributions;
    data.by_index =
        factors.row_of_pivot().data() != nullptr ? m_vectors[2] + group.before * data.n : data.solved;
    data.sweep.forward = group.forward;
    data.order_of_pivots =
        data.sweep.unit() ? factors.row_of_pivot().data() : factors.column_of_pivot().data();
    return data;
  }

  template <class Visit>
  static void with_worker(const Data& data, const Group& group, const Visit& visit) {
    if (group.width == 1) {
      visit(FrontSolveWorker<1, Data>{data, group.column});
    } else {
      visit(FrontSolveWorker<4, Data>{data, group.column});
    }
  }

  void sweep_half(const ExecutionSpace& exec, const Plan& plan, const Factors& factors, const System& system,
                  bool forward, const FrontValues<const Scalar, Memory>& in,
                  const FrontValues<Scalar, Memory>& out) {
    const Data of_all = front_solve_data(plan, *m_lists, factors, system);
    int before = 0;
    for_each_group(of_all.n_columns, [&](int column, int width) {
      const Group group{column, width, before, forward};
      const Data data = with_vectors(of_all, factors, group);
      Scalar* const vector = forward ? data.contributions : data.by_index;
      copy_rows(exec, in, group, of_all.n_columns, vector);
      with_worker(data, group, [&](const auto& worker) { sweep_fronts(exec, plan, forward, worker); });
      copy_rows(exec, out, group, of_all.n_columns, vector);
      before += width;
    });
  }

  /// Copies values of a group to a vector, or from it.
  template <class Value>
  void copy_rows(const ExecutionSpace& exec, const FrontValues<Value, Memory>& of, const Group& group,
                 int n_columns, Scalar* vector) const {
    if (of.rows.extent(0) == 0) return;
    Kokkos::parallel_for(
        "lutra::trisolve::values of other parts",
        Kokkos::RangePolicy<ExecutionSpace, Kokkos::IndexType<std::int64_t>>(
            exec, 0, static_cast<std::int64_t>(of.rows.extent(0))),
        CopyFrontValues<Scalar, Value>{of.rows.data(), of.values.data(), n_columns, group.column,
                                       std::min(group.width, n_columns - group.column), group.width, vector});
  }

  std::shared_ptr<const Lists> m_lists;
  SolveVectors<Scalar, Memory, 3> m_vectors;  ///< see reserve
};

/// Execution spaces without specialized kernels.
template <class Scalar, class ExecutionSpace>
class FrontSweeps<FrontFactors<Scalar, ExecutionSpace>> : public PortableFrontSweeps<Scalar, ExecutionSpace> {
 public:
  using PortableFrontSweeps<Scalar, ExecutionSpace>::PortableFrontSweeps;
};

}  // namespace lutra::Impl

#endif
