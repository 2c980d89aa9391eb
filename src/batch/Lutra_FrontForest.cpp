// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_FrontForest.hpp"

#include <algorithm>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>

#include "Lutra_AnalysisSteps.hpp"
#include "Lutra_Error.hpp"
#include "Lutra_Instantiate.hpp"
#include "Lutra_LdltForest.hpp"
#include "Lutra_LuForest.hpp"
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

/// Bytes of the factors of one tree and of what their plan and their solves with one right-hand side hold.
template <class Scalar, class ExecutionSpace>
ForestBytes bytes_of_trees(const ExecutionSpace& exec, const FrontTree& one, const LuOptions& options,
                           const MemoryBudget&) {
  const auto model = options.device_model.value_or(default_device_model<ExecutionSpace>());
  const auto n = size_of(one.tree.n), nnz = one.A_entries.size(), rows = n + one.tree.rows.size();
  return {predict_bytes_of_fronts<Scalar>(exec, one.tree, static_cast<std::int64_t>(nnz), 0, model) +
              n * sizeof(unsigned char) + rows * (2 * sizeof(std::uint32_t) + sizeof(Scalar)),
          0};
}
template <class Scalar, class ExecutionSpace>
ForestBytes bytes_of_trees(const ExecutionSpace& exec, const FrontTree& one, const LdltOptions& options,
                           const MemoryBudget& budget) {
  const ForestPattern pattern(one, 1);
  const std::size_t used = budget.used_bytes();
  const auto plan = plan_ldlt(exec, pattern.tree, pattern.entries(), budget,
                              LdltForest<Scalar, ExecutionSpace>::plan_options(options));
  const LdltSolver<Scalar, ExecutionSpace> solver(exec, plan, budget);
  ForestBytes bytes;
  bytes.a_slot = bytes_since(used, budget) + predict_ldlt_bytes<Scalar, ExecutionSpace>(plan).all +
                 solver.predict_bytes(plan, false, 1) + sizeof(LdltMatrixOutcome);
  if constexpr (is_host_space<ExecutionSpace>) {  // each thread has a workspace for the largest front
    const auto threads = static_cast<Offset>(exec.concurrency());
    bytes.shared = size_of(plan.room.max_work * threads) * sizeof(Scalar);
    bytes.a_slot -=
        bytes_of_product_buffers<Scalar, ExecutionSpace>(exec.concurrency()) +
        size_of(std::max<Offset>(0, plan.room.max_work * threads - plan.room.workspace)) * sizeof(Scalar);
  }
  return bytes;
}

}  // namespace

std::size_t max_copies(const FrontTree& one) {
  const std::size_t largest = std::max(size_of(one.tree.n), std::size_t(1));
  return size_of(std::numeric_limits<Ordinal>::max()) / largest;
}

ForestPattern::ForestPattern(const FrontTree& one, std::size_t copies)
    : tree(repeat(one.tree, copies)),
      row_order(repeat(one.row_order, copies, one.tree.n)),
      col_order(repeat(one.col_order, copies, one.tree.n)),
      A_map(repeat_starts(one.A_map, copies)),
      A_entries(repeat(one.A_entries, copies, one.tree.n)) {}

FrontEntries ForestPattern::entries() const {
  return {{tree.n, tree.n, view_of(A_map), view_of(A_entries)}, row_order, col_order};
}

template <class Scalar, class ExecutionSpace>
FrontForest<Scalar, ExecutionSpace>::FrontForest(const ExecutionSpace& exec, const ForestPattern& all,
                                                 std::size_t slots, const RealScales& row_scale,
                                                 const RealScales& col_scale, const MemoryBudget& budget)
    : m_slots(slots), m_budget(budget), m_keep(budget) {
  const auto put = [&](const char* label, const auto& host) { return upload(exec, m_keep, label, host); };
  m_F.A = {all.tree.n, all.tree.n, put("lutra::batch::row_map of a forest", all.A_map),
           put("lutra::batch::entries of a forest", all.A_entries)};
  m_F.row_order = put("lutra::batch::row_order of a forest", all.row_order);
  m_F.col_order = put("lutra::batch::col_order of a forest", all.col_order);
  m_row_scale = put("lutra::batch::row scales", repeat_values(row_scale, slots));
  m_col_scale = put("lutra::batch::column scales", repeat_values(col_scale, slots));
  m_values =
      m_keep.template allocate<Numbers>(exec, "lutra::batch::values of a forest", all.A_entries.size());
}

template <class Scalar, class ExecutionSpace>
void FrontForest<Scalar, ExecutionSpace>::throw_if_stopped_at(std::int64_t front) {
  if (front >= 0)
    throw TimeoutError("factorize: front " + std::to_string(front) +
                       " of a batch waited too long for its children, and the factorization was given up");
}

template <class Scalar, class ExecutionSpace>
void FrontForest<Scalar, ExecutionSpace>::solve(const ExecutionSpace& exec, Transposition op, int columns,
                                                const Scalar* B, Scalar* X, const char* active) {
  const bool plain = op == Transposition::none;
  const auto n = size_of(m_F.A.n_rows);
  System system;
  system.transposition = op;
  system.in = {B, 1, n, (plain ? m_row_scale : m_col_scale).data()};
  system.out = {X, 1, n, (plain ? m_col_scale : m_row_scale).data()};
  system.in_row = plain ? m_F.row_order : m_F.col_order;
  system.out_row = plain ? m_F.col_order : m_F.row_order;
  system.n_columns = columns;
  solve_system(exec, system, active);
}

template <class Scalar, class ExecutionSpace>
void FrontForest<Scalar, ExecutionSpace>::throw_if_stopped(const ExecutionSpace& exec) {
  const std::int64_t pivot = consume_timeout(exec);
  if (pivot >= 0)
    throw TimeoutError("solve: pivot " + std::to_string(pivot) +
                       " of a batch waited too long for a value, and the solve was given up");
}

template <class Scalar, class ExecutionSpace>
std::unique_ptr<FrontForest<Scalar, ExecutionSpace>> make_front_forest(
    const ExecutionSpace& exec, const FrontTree& one, std::size_t slots,
    const std::vector<RealOf<Scalar>>& row_scale, const std::vector<RealOf<Scalar>>& col_scale,
    const MemoryBudget& budget) {
  const ForestPattern all(one, slots);
  using Base = FrontForest<Scalar, ExecutionSpace>;
  return std::visit(
      [&]<class Options>(const Options& options) -> std::unique_ptr<Base> {
        using Forest =
            std::conditional_t<std::is_same_v<Options, LuOptions>, LuForest<Scalar, ExecutionSpace>,
                               LdltForest<Scalar, ExecutionSpace>>;
        return std::make_unique<Forest>(exec, all, options, slots, row_scale, col_scale, budget);
      },
      one.options);
}

template <class Scalar, class ExecutionSpace>
ForestBytes bytes_of_forest(const ExecutionSpace& exec, const FrontTree& one, const MemoryBudget& budget) {
  ForestBytes bytes = std::visit(
      [&](const auto& options) { return bytes_of_trees<Scalar>(exec, one, options, budget); }, one.options);
  const auto n = size_of(one.tree.n), nnz = one.A_entries.size();
  bytes.a_slot += nnz * (sizeof(Ordinal) + sizeof(Scalar)) +  // pattern and values
                  n * (sizeof(Offset) + 2 * sizeof(Ordinal) + 2 * sizeof(RealOf<Scalar>));  // orders, scales
  bytes.shared += bytes_of_product_buffers<Scalar, ExecutionSpace>(exec.concurrency());
  return bytes;
}

#define LUTRA_FRONT_FOREST(Scalar, Space)                                                \
  template class FrontForest<Scalar, Space>;                                             \
  template std::unique_ptr<FrontForest<Scalar, Space>> make_front_forest<Scalar, Space>( \
      const Space&, const FrontTree&, std::size_t, const std::vector<RealOf<Scalar>>&,   \
      const std::vector<RealOf<Scalar>>&, const MemoryBudget&);                          \
  template ForestBytes bytes_of_forest<Scalar, Space>(const Space&, const FrontTree&, const MemoryBudget&);
LUTRA_FOR_EACH_SCALAR_AND_SPACE(LUTRA_FRONT_FOREST)

}  // namespace lutra::Impl
