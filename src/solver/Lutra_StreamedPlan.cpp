// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_StreamedFronts.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <string>
#include <utility>

#include "Lutra_At.hpp"
#include "Lutra_Error.hpp"
#include "Lutra_ExecutionTraits.hpp"
#include "Lutra_FrontSchedule.hpp"
#include "Lutra_Instantiate.hpp"
#include "Lutra_Upload.hpp"

namespace lutra::Impl {
namespace {

/// Entries of the matrix in each front: those of the row or the column of a pivot, whichever is eliminated
/// first.
std::vector<Offset> count_entries(const AssemblyTree& tree, const FrontEntries& entries) {
  std::vector<Ordinal> front(static_cast<std::size_t>(tree.n)), column_at(front.size());
  for (Ordinal f = 0; f < tree.count(); ++f)
    std::fill(front.begin() + at(tree.pivot_begin, f), front.begin() + at(tree.pivot_begin, f + 1), f);
  for (std::size_t k = 0; k < column_at.size(); ++k)
    at(column_at, entries.col_order[k]) = static_cast<Ordinal>(k);
  std::vector<Offset> count(static_cast<std::size_t>(tree.count()), 0);
  for (Ordinal k = 0; k < tree.n; ++k) {
    const Ordinal row = at(entries.row_order, k);
    for (auto e = entries.A.row_map(row); e < entries.A.row_map(row + 1); ++e)
      ++at(count, at(front, std::min(k, at(column_at, entries.A.entries(e)))));
  }
  return count;
}

/// Entries of the values of a part, whatever its interchanges.
template <class Scalar, class ExecutionSpace, class Plan, class Schedule>
std::size_t most_value_entries(const Plan& plan, const Schedule& schedule) {
  std::size_t most = value_entries<Scalar, ExecutionSpace>(plan, schedule, std::nullopt);
  for (const auto kind : {Interchanges::rows, Interchanges::symmetric})
    most = std::max(most, value_entries<Scalar, ExecutionSpace>(plan, schedule, kind));
  constexpr std::size_t alignment = 256 / sizeof(float);
  return (most + alignment - 1) / alignment * alignment;
}

/// Makes the parts of a division, and what they share.
template <class Scalar, class ExecutionSpace>
class StreamedPlanner {
 public:
  using Plan = StreamedPlan<Scalar, ExecutionSpace>;
  using Part = StreamedPart<Scalar, ExecutionSpace>;

  StreamedPlanner(const ExecutionSpace& exec, const AssemblyTree& tree, const FrontEntries& entries,
                  const LuOptions& options, const MemoryBudget& budget,
                  const std::optional<Symmetry>& symmetry)
      : m_exec(exec),
        m_tree(tree),
        m_entries(entries),
        m_options(options),
        m_budget(budget),
        m_symmetry(symmetry) {}

  std::shared_ptr<Plan> make(const std::vector<FrontRange>& ranges, int buffers) const {
    auto plan = std::make_shared<Plan>();
    plan->buffers = std::min(buffers, static_cast<int>(ranges.size()));
    plan->symmetric = m_symmetry.has_value();
    plan->passed = place_passed_blocks(m_tree, ranges, std::numeric_limits<Offset>::max());
    std::vector<int> part_of(static_cast<std::size_t>(m_tree.count()));
    for (std::size_t p = 0; p < ranges.size(); ++p)
      std::fill(part_of.begin() + ranges[p].begin, part_of.begin() + ranges[p].end, static_cast<int>(p));
    const FrontPartMaker maker(m_tree, m_entries, part_of);
    std::size_t counted = 0;
    plan->parts.reserve(ranges.size());
    for (std::size_t p = 0; p < ranges.size(); ++p) {
      plan->parts.push_back(make_part(maker.make(static_cast<int>(p)), *plan));
      const Part& part = plan->parts.back();
      plan->panels += part.panels();
      plan->inverses += most_inverses(part);
      plan->buffer =
          std::max(plan->buffer, most_value_entries<Scalar, ExecutionSpace>(part.plan, *part.schedule));
      plan->most_rows = std::max(plan->most_rows, part.n());
      plan->most_later = std::max(plan->most_later, part.later.extent(0));
      plan->most_entries = std::max(plan->most_entries, part.source.extent(0));
      counted = std::max(counted, part.taken_rows);
    }
    std::vector<Offset> count_up(std::max(counted, plan->most_rows));
    std::iota(count_up.begin(), count_up.end(), Offset(0));
    plan->reservation = MemoryReservation(m_budget);
    plan->count_up = upload(m_exec, plan->reservation, "lutra::solver::rows of parts", count_up);
    link(*plan);
    return plan;
  }

  /// Sets the blocks of all parts once they have their places.
  static void link(Plan& plan) {
    for (Part& part : plan.parts) part.taken_rows = 0;
    std::vector<std::size_t> taken(plan.parts.size(), 0), given(taken);
    for (const PassedBlock& block : plan.passed.blocks) {
      at(at(plan.parts, block.from).given, at(given, block.from)++).passed = block;
      at(at(plan.parts, block.to).taken, at(taken, block.to)++).passed = block;
      at(plan.parts, block.to).taken_rows += static_cast<std::size_t>(block.rows);
    }
  }

 private:
  static std::size_t most_inverses(const Part& part) {
    std::size_t most = 0;
    for (const bool interchanges : {false, true})
      for (const bool symmetric : {false, true})
        most = std::max(most, static_cast<std::size_t>(
                                  part.schedule->inverse_entries(interchanges, interchanges && symmetric)));
    return most;
  }

  Part make_part(const FrontPartPlan& made, const Plan& plan) const {
    const CsrPattern<Ordinal, Offset, Kokkos::HostSpace> A{made.tree.n, made.tree.n, view(made.row_map),
                                                           view(made.columns)};
    std::vector<Ordinal> same(static_cast<std::size_t>(made.tree.n));
    std::iota(same.begin(), same.end(), Ordinal(0));
    auto lists = plan_lu(m_exec, made.tree, FrontEntries{A, same, same}, m_budget,
                         front_plan_options<Scalar, ExecutionSpace>());
    auto schedule = make_front_schedule<Scalar>(
        m_exec, lists, m_budget, m_options.device_model.value_or(default_device_model<ExecutionSpace>()),
        m_symmetry);
    FrontSolverOptions solves;
    solves.interchanges = m_options.pivoting == Pivoting::threshold || m_symmetry.has_value();
    solves.device_model = m_options.device_model;
    FrontSolver<Scalar, ExecutionSpace> solver(m_exec, lists, m_budget, solves);
    Part part{std::move(lists), std::move(schedule), std::move(solver), {}, {}, {}, {}, {}, {}};
    part.pivots = static_cast<std::size_t>(made.n_pivots());
    part.first_pivot = static_cast<std::size_t>(made.position.front());
    part.first_panel = plan.panels;
    part.first_inverse = plan.inverses;
    auto& kept = part.orders.reservation = MemoryReservation(m_budget);
    part.orders.row_order = upload(m_exec, kept, "lutra::solver::rows of a part", made.user_row);
    part.orders.col_order = upload(m_exec, kept, "lutra::solver::columns of a part", made.user_column);
    part.source = upload(m_exec, kept, "lutra::solver::entries of a part", sources(made));
    part.later = upload(m_exec, kept, "lutra::solver::rows of later parts",
                        std::vector<Ordinal>(made.position.begin() + made.n_pivots(), made.position.end()));
    std::vector<Offset> sums;
    for (const int f : made.open_roots()) {
      for (auto r = at(made.tree.row_begin, f); r < at(made.tree.row_begin, f + 1); ++r) sums.push_back(r);
      part.given.push_back({static_cast<Ordinal>(f), {}});
    }
    part.sums = upload(m_exec, kept, "lutra::solver::rows of roots", sums);
    for (const int f : made.foreign_leaves()) {
      const auto rows = at(made.tree.row_begin, f + 1) - at(made.tree.row_begin, f);
      if (rows > 0) part.taken.push_back({static_cast<Ordinal>(f), {}});
      part.taken_rows += static_cast<std::size_t>(rows);
    }
    return part;
  }

  /// Position of each entry of a part among the values of A.
  std::vector<Offset> sources(const FrontPartPlan& made) const {
    std::vector<Offset> source;
    source.reserve(made.columns.size());
    for (std::size_t i = 0; i < made.position.size(); ++i)
      for (auto e = made.row_map[i]; e < made.row_map[i + 1]; ++e)
        source.push_back(m_entries.A.row_map(made.user_row[i]) + static_cast<Offset>(at(made.in_row, e)));
    return source;
  }

  template <class T>
  static Kokkos::View<const T*, Kokkos::HostSpace> view(const std::vector<T>& values) {
    return Kokkos::View<const T*, Kokkos::HostSpace>(values.data(), values.size());
  }

  const ExecutionSpace& m_exec;
  const AssemblyTree& m_tree;
  const FrontEntries& m_entries;
  const LuOptions& m_options;
  MemoryBudget m_budget;
  std::optional<Symmetry> m_symmetry;
};

/// About the bytes of plan and vectors for one right-hand side, before there are parts.
template <class Scalar, class ExecutionSpace>
std::size_t estimate_beside(const ExecutionSpace& exec, const AssemblyTree& tree, std::size_t nnz) {
  const std::size_t n = static_cast<std::size_t>(tree.n), rows = tree.rows.size();
  return bytes_of_lu_lists(tree, static_cast<std::int64_t>(nnz)) + nnz * (sizeof(Offset) + sizeof(Ordinal)) +
         (n + rows) * (2 * sizeof(std::uint32_t)) + (3 * n + rows) * sizeof(Scalar) +
         bytes_of_product_buffers<Scalar, ExecutionSpace>(exec.concurrency());
}

/// Number and size of buffers for a capacity in entries.
struct BufferSizes {
  int buffers;
  Offset most;  ///< of one part

  BufferSizes(Offset capacity, Offset largest)
      : buffers(capacity >= 2 * largest ? 2 : 1),
        most(std::max(largest, capacity / (buffers == 2 ? 4 : 2))) {}
};

[[noreturn]] void refuse(std::size_t needed, std::size_t limit, std::size_t front) {
  throw OutOfMemoryError("streamed factors need " + std::to_string(needed) + " bytes in all, of which " +
                             std::to_string(front) +
                             " are for the largest front with the blocks of its children; the limit is " +
                             std::to_string(limit) + " bytes",
                         needed);
}

}  // namespace

template <class Scalar, class ExecutionSpace>
std::size_t StreamedPlan<Scalar, ExecutionSpace>::bytes_beside_buffers(bool interchanges,
                                                                       int n_columns) const {
  using State = FrontRunState<Scalar, ExecutionSpace>;
  const auto n = static_cast<std::size_t>(tree.n), columns = static_cast<std::size_t>(n_columns);
  const std::size_t width = columns <= 1 ? columns : (columns + 3) / 4 * 4;
  std::size_t bytes = n * (1 + (interchanges ? 2 * sizeof(Ordinal) : 0)) + most_entries * sizeof(Scalar) +
                      2 * most_rows * sizeof(RealOf<Scalar>) + parts.size() * sizeof(FrontLuOutcome) +
                      (n + static_cast<std::size_t>(passed.rows) + most_later) * columns * sizeof(Scalar);
  for (std::size_t p = 0; p < parts.size(); ++p) {
    if (!is_host_space<ExecutionSpace> || p == 0) bytes += State::bytes(*parts[p].schedule);
    bytes += width * parts[p].solver.predict_bytes(parts[p].plan, interchanges, 1);
  }
  return bytes;
}

template <class Scalar, class ExecutionSpace>
LuPlan<Kokkos::HostSpace> StreamedPlan<Scalar, ExecutionSpace>::whole() const {
  return plan_lu(Kokkos::DefaultHostExecutionSpace(), tree, FrontEntries{A, row_order, col_order},
                 MemoryBudget(), front_plan_options<Scalar, ExecutionSpace>());
}

template <class Scalar, class ExecutionSpace>
std::shared_ptr<const StreamedPlan<Scalar, ExecutionSpace>> plan_streamed(
    const ExecutionSpace& exec, const AssemblyTree& tree, const FrontEntries& entries,
    const LuOptions& options, const MemoryBudget& budget, std::size_t available, std::size_t others,
    const std::optional<Symmetry>& symmetry) {
  constexpr int attempts = 6;
  const bool interchanges = options.pivoting == Pivoting::threshold || symmetry.has_value();
  const bool unlimited = available == std::numeric_limits<std::size_t>::max();
  const FrontPlanOptions cut = front_plan_options<Scalar, ExecutionSpace>();
  const FrontPartSizes sizes(tree, count_entries(tree, entries),
                             is_host_space<ExecutionSpace> ? 0 : 2 * cut.tile);
  const Offset largest = sizes.of_largest_front();
  const std::size_t used = budget.used_bytes();
  // Bytes that are left for buffers once all else is there.
  const auto left = [&](std::size_t beside) {
    const std::size_t taken = budget.used_bytes() - used + beside + others;
    return static_cast<Offset>(taken < available ? (available - taken) / sizeof(Scalar) : 0);
  };
  const auto fail = [&](std::size_t beside) {
    const auto front = static_cast<std::size_t>(largest) * sizeof(Scalar);
    refuse(budget.used_bytes() + beside + others + front, used + available, front);
  };
  const StreamedPlanner<Scalar, ExecutionSpace> planner(exec, tree, entries, options, budget, symmetry);
  const std::size_t estimate = estimate_beside<Scalar>(exec, tree, entries.A.entries.extent(0));
  Offset capacity = unlimited ? std::max(2 * largest, sizes.of({0, tree.count()}) / 2) : left(estimate);
  for (int attempt = 0; attempt < attempts; ++attempt) {
    if (capacity < largest) fail(estimate);
    const BufferSizes wanted(capacity, largest);
    auto plan = planner.make(cut_tree(sizes, wanted.most), wanted.buffers);
    plan->tree = tree;
    const std::size_t beside = plan->bytes_beside_buffers(interchanges, 1);
    const Offset room = unlimited ? capacity : left(beside);
    const auto of_parts = static_cast<Offset>(plan->buffer) * plan->buffers;
    if (of_parts <= room) {
      std::vector<FrontRange> ranges = cut_tree(sizes, wanted.most);
      plan->passed = place_passed_blocks(tree, ranges, room - of_parts);
      StreamedPlanner<Scalar, ExecutionSpace>::link(*plan);
      plan->A = entries.A;
      plan->row_order = entries.row_order;
      plan->col_order = entries.col_order;
      return plan;
    }
    if (room < largest) fail(beside);
    capacity = std::min(room, capacity - capacity / 16);
  }
  fail(estimate);
  return nullptr;
}

#define LUTRA_STREAMED_PLAN(Scalar, Space)                                                           \
  template struct StreamedPlan<Scalar, Space>;                                                       \
  template std::shared_ptr<const StreamedPlan<Scalar, Space>> plan_streamed<Scalar>(                 \
      const Space&, const AssemblyTree&, const FrontEntries&, const LuOptions&, const MemoryBudget&, \
      std::size_t, std::size_t, const std::optional<Symmetry>&);
LUTRA_FOR_EACH_SCALAR_AND_SPACE(LUTRA_STREAMED_PLAN)

}  // namespace lutra::Impl
