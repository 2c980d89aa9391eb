// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_FrontForest.hpp"

#include <limits>
#include <string>
#include <utility>

#include "Lutra_Error.hpp"
#include "Lutra_Instantiate.hpp"
#include "Lutra_Upload.hpp"

namespace lutra::Impl {
namespace {

std::size_t size_of(std::int64_t count) {
  return static_cast<std::size_t>(count);
}

/// Appends copies of `one`, each with its numbers raised by `step` more than the last; −1 stays.
template <class T>
std::vector<T> repeat(const std::vector<T>& one, std::size_t copies, T step) {
  std::vector<T> all;
  all.reserve(one.size() * copies);
  T shift = 0;
  for (std::size_t s = 0; s < copies; ++s, shift = static_cast<T>(shift + step))
    for (const T value : one) all.push_back(value < 0 ? value : static_cast<T>(value + shift));
  return all;
}

/// Copies of an array of starts, whose last element is the start of the next copy.
template <class T>
std::vector<T> repeat_starts(const std::vector<T>& one, std::size_t copies) {
  auto all = repeat(std::vector<T>(one.begin(), one.end() - 1), copies, one.back());
  all.push_back(static_cast<T>(one.back() * static_cast<T>(copies)));
  return all;
}

AssemblyTree repeat(const AssemblyTree& one, std::size_t copies) {
  AssemblyTree all;
  all.n = static_cast<Ordinal>(size_of(one.n) * copies);
  all.pivot_begin = repeat_starts(one.pivot_begin, copies);
  all.parent = repeat(one.parent, copies, one.count());
  all.row_begin = repeat_starts(one.row_begin, copies);
  all.rows = repeat(one.rows, copies, one.n);
  all.zeros = one.zeros * static_cast<double>(copies);
  all.flops = one.flops * static_cast<double>(copies);
  return all;
}

template <class T>
std::vector<T> repeat_values(const std::vector<T>& one, std::size_t copies) {
  std::vector<T> all;
  all.reserve(one.size() * copies);
  for (std::size_t s = 0; s < copies; ++s) all.insert(all.end(), one.begin(), one.end());
  return all;
}

template <class T>
Kokkos::View<const T*, Kokkos::HostSpace> view_of(const std::vector<T>& array) {
  return Kokkos::View<const T*, Kokkos::HostSpace>(array.data(), array.size());
}

}  // namespace

template <class Scalar, class ExecutionSpace>
FrontTree take_front_tree(const ExecutionSpace& exec, const MultifrontalPlan<Scalar, ExecutionSpace>& plan,
                          const LuOptions& options) {
  FrontTree one;
  const auto& fronts = plan.fronts.layout.fronts;
  AssemblyTree& tree = one.tree;
  tree.n = plan.fronts.n;
  tree.flops = plan.fronts.flops;
  tree.rows = to_host<Ordinal>(exec, plan.fronts.rows);
  for (const Front& front : fronts) {
    tree.pivot_begin.push_back(front.first_pivot);
    tree.parent.push_back(front.parent);
    tree.row_begin.push_back(front.rows);
  }
  tree.pivot_begin.push_back(tree.n);
  tree.row_begin.push_back(static_cast<std::int64_t>(tree.rows.size()));
  one.row_order = to_host<Ordinal>(exec, plan.F.row_order);
  one.col_order = to_host<Ordinal>(exec, plan.F.col_order);
  one.A_map = to_host<Offset>(exec, plan.F.A.row_map);
  one.A_entries = to_host<Ordinal>(exec, plan.F.A.entries);
  const LuFrontLayout layout(fronts);
  for (std::size_t f = 0; f < fronts.size(); ++f)
    for (Offset j = 0; j < fronts[f].pivots; ++j)
      one.diagonal.push_back(layout.panels[f] + j * (fronts[f].size() + 1));
  one.panel_entries = layout.entries();
  one.options = options;
  return one;
}

std::size_t max_copies(const FrontTree& one) {
  const std::size_t largest = std::max(size_of(one.tree.n), std::size_t(1));
  return size_of(std::numeric_limits<Ordinal>::max()) / largest;
}

template <class Scalar, class ExecutionSpace>
FrontForest<Scalar, ExecutionSpace>::FrontForest(const ExecutionSpace& exec, const FrontTree& one,
                                                 std::size_t slots, const std::vector<Real>& row_scale,
                                                 const std::vector<Real>& col_scale,
                                                 const MemoryBudget& budget)
    : m_slots(slots), m_keep(budget) {
  const auto tree = repeat(one.tree, slots);
  const auto rows = repeat(one.row_order, slots, one.tree.n);
  const auto columns = repeat(one.col_order, slots, one.tree.n);
  const auto A_map = repeat_starts(one.A_map, slots);
  const auto A_entries = repeat(one.A_entries, slots, one.tree.n);
  const auto put = [&](const char* label, const auto& host) { return upload(exec, m_keep, label, host); };
  m_F.A = {tree.n, tree.n, put("lutra::batch::row_map of a forest", A_map),
           put("lutra::batch::entries of a forest", A_entries)};
  m_F.row_order = put("lutra::batch::row_order of a forest", rows);
  m_F.col_order = put("lutra::batch::col_order of a forest", columns);
  m_row_scale = put("lutra::batch::row scales", repeat_values(row_scale, slots));
  m_col_scale = put("lutra::batch::column scales", repeat_values(col_scale, slots));
  const CsrPattern<Ordinal, Offset, Kokkos::HostSpace> A{tree.n, tree.n, view_of(A_map), view_of(A_entries)};
  m_plan = plan_lu(exec, tree, FrontEntries{A, rows, columns}, budget,
                   front_plan_options<Scalar, ExecutionSpace>(), m_F.A);
  const auto model = one.options.device_model.value_or(default_device_model<ExecutionSpace>());
  m_factors = make_front_factors(exec, make_front_schedule<Scalar>(exec, m_plan, budget, model), budget);
  FrontSolverOptions solves;
  solves.device_model = one.options.device_model;
  solves.interchanges = one.options.pivoting == Pivoting::threshold;
  if (solves.interchanges) m_factors.interchanges = {one.options.pivot_threshold, {}};
  m_solver.emplace(exec, m_plan, budget, solves);
  allocate_values(exec, m_plan, budget, m_factors);
  m_values = m_keep.template allocate<Numbers>(exec, "lutra::batch::values of a forest", A_entries.size());
  m_perturbed =
      m_keep.template allocate<decltype(m_perturbed)>(exec, "lutra::batch::perturbed", size_of(tree.n));
}

template <class Scalar, class ExecutionSpace>
std::size_t FrontForest<Scalar, ExecutionSpace>::bytes_per_slot(const ExecutionSpace& exec,
                                                                const FrontTree& one) {
  const auto model = one.options.device_model.value_or(default_device_model<ExecutionSpace>());
  const auto n = size_of(one.tree.n), nnz = one.A_entries.size(), rows = n + one.tree.rows.size();
  const std::size_t of_factors =
      predict_bytes_of_fronts<Scalar>(exec, one.tree, static_cast<std::int64_t>(nnz), 0, model);
  // Pattern, orders, scales and flags; values; lists and vectors of solves.
  return of_factors + nnz * (sizeof(Ordinal) + sizeof(Scalar)) +
         n * (sizeof(Offset) + 2 * sizeof(Ordinal) + 2 * sizeof(Real) + 1) +
         rows * (2 * sizeof(std::uint32_t) + sizeof(Scalar));
}

template <class Scalar, class ExecutionSpace>
void FrontForest<Scalar, ExecutionSpace>::factorize(const ExecutionSpace& exec) {
  factorize_fronts<Scalar>(exec, m_plan, {m_values, m_row_scale, m_col_scale}, 0.0, m_factors, m_perturbed);
  if constexpr (is_host_space<ExecutionSpace>) return;
  const auto outcome =
      make_uncounted<Kokkos::View<FrontLuOutcome, Kokkos::HostSpace>>("lutra::batch::outcome");
  Kokkos::deep_copy(exec, outcome, m_factors.outcome);
  exec.fence("lutra::batch: fronts are complete");
  if (outcome().stopped_front >= 0)
    throw TimeoutError("factorize: front " + std::to_string(outcome().stopped_front) +
                       " of a batch waited too long for its children, and the factorization was given up");
}

template <class Scalar, class ExecutionSpace>
void FrontForest<Scalar, ExecutionSpace>::solve(const ExecutionSpace& exec, Transposition op, int columns,
                                                const Scalar* B, Scalar* X) {
  const bool plain = op == Transposition::none;
  const auto n = size_of(m_plan.n);
  FrontSystem<Scalar, Memory> system;
  system.transposition = op;
  system.in = {B, 1, n, (plain ? m_row_scale : m_col_scale).data()};
  system.out = {X, 1, n, (plain ? m_col_scale : m_row_scale).data()};
  system.in_row = plain ? m_F.row_order : m_F.col_order;
  system.out_row = plain ? m_F.col_order : m_F.row_order;
  system.n_columns = columns;
  m_solver->solve(exec, m_plan, m_factors, system);
}

template <class Scalar, class ExecutionSpace>
void FrontForest<Scalar, ExecutionSpace>::throw_if_stopped(const ExecutionSpace& exec) {
  const std::int64_t pivot = m_solver->consume_timeout(exec, m_plan);
  if (pivot >= 0)
    throw TimeoutError("solve: pivot " + std::to_string(pivot) +
                       " of a batch waited too long for a value, and the solve was given up");
}

#define LUTRA_FRONT_FOREST(Scalar, Space)                                                  \
  template FrontTree take_front_tree(const Space&, const MultifrontalPlan<Scalar, Space>&, \
                                     const LuOptions&);                                    \
  template class FrontForest<Scalar, Space>;
LUTRA_FOR_EACH_SCALAR_AND_SPACE(LUTRA_FRONT_FOREST)

}  // namespace lutra::Impl
