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

/// The interchanges that factorizations of a plan may use; none is one of them.
std::vector<std::optional<Interchanges>> possible_interchanges(const LuOptions& options, bool symmetric) {
  if (symmetric) return {std::nullopt, Interchanges::symmetric};
  if (options.pivoting == Pivoting::threshold) return {Interchanges::rows};
  return {std::nullopt};
}

// Parts begin at multiples of 256 bytes.
constexpr std::size_t aligned(std::size_t entries) {
  constexpr std::size_t alignment = 256 / sizeof(float);
  return (entries + alignment - 1) / alignment * alignment;
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

  /// Null if there is no room for the lists of its parts.
  std::shared_ptr<Plan> make(const std::vector<FrontRange>& ranges) const {
    try {
      return make_all(ranges);
    } catch (const OutOfMemoryError&) {
      return nullptr;
    }
  }

  /// Bytes of plan and factors of a division whose lists may exceed the limit: they are made for one part
  /// after another. Empty if even those of one part do not fit.
  std::optional<std::size_t> count_bytes(const std::vector<FrontRange>& ranges, bool interchanges) const {
    try {
      return count_all(ranges, interchanges);
    } catch (const OutOfMemoryError&) {
      return std::nullopt;
    }
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
  std::shared_ptr<Plan> make_all(const std::vector<FrontRange>& ranges) const {
    auto plan = std::make_shared<Plan>(start(ranges));
    const FrontPartMaker maker(m_tree, m_entries, parts_of_fronts(ranges));
    plan->parts.reserve(ranges.size());
    for (std::size_t p = 0; p < ranges.size(); ++p) {
      plan->parts.push_back(make_part(maker.make(static_cast<int>(p)), *plan));
      add_sizes(plan->parts.back(), *plan);
    }
    std::vector<Offset> count_up(plan->most_counted);
    std::iota(count_up.begin(), count_up.end(), Offset(0));
    plan->reservation = MemoryReservation(m_budget);
    plan->count_up = upload(m_exec, plan->reservation, "lutra::solver::rows of parts", count_up);
    link(*plan);
    return plan;
  }

  std::size_t count_all(const std::vector<FrontRange>& ranges, bool interchanges) const {
    Plan sums = start(ranges);
    const FrontPartMaker maker(m_tree, m_entries, parts_of_fronts(ranges));
    std::size_t bytes = 0;
    for (std::size_t p = 0; p < ranges.size(); ++p) {
      const std::size_t before = m_budget.used_bytes();
      const Part part = make_part(maker.make(static_cast<int>(p)), sums);
      bytes += m_budget.used_bytes() - before + sizeof(FrontLuOutcome);
      if (!is_host_space<ExecutionSpace> || p == 0) bytes += sums.bytes_of_state(part);
      bytes += sums.bytes_of_solver(part, interchanges, 1);
      add_sizes(part, sums);
    }
    return bytes + sums.bytes_beside_buffers(interchanges, 1) + sums.most_counted * sizeof(Offset) +
           sums.largest * sizeof(Scalar);
  }

  /// A plan that has no parts yet.
  Plan start(const std::vector<FrontRange>& ranges) const {
    Plan plan;
    plan.tree = m_tree;
    plan.symmetric = m_symmetry.has_value();
    plan.passed = place_passed_blocks(m_tree, ranges, std::numeric_limits<Offset>::max());
    return plan;
  }
  std::vector<int> parts_of_fronts(const std::vector<FrontRange>& ranges) const {
    std::vector<int> part_of(static_cast<std::size_t>(m_tree.count()));
    for (std::size_t p = 0; p < ranges.size(); ++p)
      std::fill(part_of.begin() + ranges[p].begin, part_of.begin() + ranges[p].end, static_cast<int>(p));
    return part_of;
  }
  void add_sizes(const Part& part, Plan& plan) const {
    plan.panels += part.panels();
    plan.inverses += part.most_inverses;
    plan.places.push_back(size_of(part));
    plan.largest = std::max(plan.largest, static_cast<std::size_t>(plan.places.back().all));
    plan.most_rows = std::max(plan.most_rows, part.n());
    plan.most_later = std::max(plan.most_later, part.later.extent(0));
    plan.most_entries = std::max(plan.most_entries, part.source.extent(0));
    plan.most_counted = std::max({plan.most_counted, part.taken_rows, part.n()});
  }

  /// What a part keeps, its inverses and panels, and what its factorization takes, whatever its interchanges.
  PartPlace size_of(const Part& part) const {
    std::size_t others = 0;
    for (const auto& kind : possible_interchanges(m_options, m_symmetry.has_value()))
      others = std::max(others, value_entries<Scalar, ExecutionSpace>(part.plan, *part.schedule, kind) -
                                    part.inverses(kind));
    PartPlace place;
    place.kept = static_cast<Offset>(aligned(part.panel_offset() + part.panels()));
    place.behind = static_cast<Offset>(part.panel_offset() + part.panels());
    place.all = static_cast<Offset>(aligned(part.panel_offset() + others));
    return place;
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
    for (const auto& kind : possible_interchanges(m_options, m_symmetry.has_value()))
      part.most_inverses = std::max(part.most_inverses, part.inverses(kind));
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

/// Entries for parts and passed blocks without a limit: so much less than resident factors take that it is
/// worth it, but enough for copies to lag behind while the parts at the bottom, with few flops, are at work.
template <class Scalar, class ExecutionSpace>
Offset wanted_entries(const ExecutionSpace& exec, const AssemblyTree& tree, const LuOptions& options,
                      std::size_t nnz, Offset largest) {
  const FrontSizes sizes = sizes_of_fronts<Scalar>(
      exec, tree, options.device_model.value_or(default_device_model<ExecutionSpace>()));
  const std::int64_t resident =
      sizes.panels + sizes.contributions + sizes.inverses + static_cast<std::int64_t>(nnz);
  return std::max(2 * largest, static_cast<Offset>(resident / 3 * 2));
}

/// Entries of the ring of parts if `room` is left for it and for the stack of passed blocks: what the stack
/// leaves, but at least half.
template <class Plan>
Offset ring_entries(const Plan& plan, Offset room) {
  const auto largest = static_cast<Offset>(plan.largest);
  return std::min(room, std::max({largest, room / 2, room - plan.passed.device}));
}

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
  const auto n = static_cast<std::size_t>(tree.n), columns = static_cast<std::size_t>(n_columns);
  std::size_t bytes = n * (1 + (interchanges ? 2 * sizeof(Ordinal) : 0)) + most_entries * sizeof(Scalar) +
                      2 * most_rows * sizeof(RealOf<Scalar>) + parts.size() * sizeof(FrontLuOutcome) +
                      (n + static_cast<std::size_t>(passed.rows) + most_later) * columns * sizeof(Scalar);
  for (std::size_t p = 0; p < parts.size(); ++p) {
    if (!is_host_space<ExecutionSpace> || p == 0) bytes += bytes_of_state(parts[p]);
    bytes += bytes_of_solver(parts[p], interchanges, n_columns);
  }
  return bytes;
}

template <class Scalar, class ExecutionSpace>
std::size_t StreamedPlan<Scalar, ExecutionSpace>::bytes_of_state(const Part& part) {
  return FrontRunState<Scalar, ExecutionSpace>::bytes(*part.schedule);
}

template <class Scalar, class ExecutionSpace>
std::size_t StreamedPlan<Scalar, ExecutionSpace>::bytes_of_solver(const Part& part, bool interchanges,
                                                                  int n_columns) {
  const auto columns = static_cast<std::size_t>(n_columns);
  const std::size_t width = columns <= 1 ? columns : (columns + 3) / 4 * 4;
  return width * part.solver.predict_bytes(part.plan, interchanges, 1);
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
  using Plan = StreamedPlan<Scalar, ExecutionSpace>;
  constexpr int attempts = 6;
  const bool interchanges = options.pivoting == Pivoting::threshold || symmetry.has_value();
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
  const StreamedPlanner<Scalar, ExecutionSpace> planner(exec, tree, entries, options, budget, symmetry);
  const std::size_t nnz = entries.A.entries.extent(0);
  const std::size_t estimate = estimate_beside<Scalar>(exec, tree, nnz);
  const Offset wanted = budget.limit_bytes() > 0 ? std::numeric_limits<Offset>::max()
                                                 : wanted_entries<Scalar>(exec, tree, options, nnz, largest);
  Offset capacity = std::min(left(estimate), wanted);
  for (int attempt = 0;; ++attempt) {
    const bool is_last = attempt == attempts || capacity <= largest;
    // Half of the largest, so that copies end while the next parts are at work. Finer parts pass more blocks.
    const Offset most = is_last ? largest : std::max(largest, capacity / 2) / 2;
    const std::vector<FrontRange> ranges = cut_tree(sizes, most);
    const std::shared_ptr<Plan> plan = planner.make(ranges);
    const std::size_t beside = plan ? plan->bytes_beside_buffers(interchanges, 1) : 0;
    const Offset room = plan ? std::min(left(beside), wanted) : 0;
    if (plan && static_cast<Offset>(plan->largest) <= room) {
      const Offset ring = ring_entries(*plan, room);
      plan->ring = static_cast<std::size_t>(place_in_ring(plan->places, ring));
      plan->passed = place_passed_blocks(tree, ranges, room - ring);
      StreamedPlanner<Scalar, ExecutionSpace>::link(*plan);
      plan->A = entries.A;
      plan->row_order = entries.row_order;
      plan->col_order = entries.col_order;
      return plan;
    }
    if (is_last) {  // the division with the least lists
      const std::size_t needed =
          plan ? budget.used_bytes() - used + beside + plan->largest * sizeof(Scalar)
               : planner.count_bytes(ranges, interchanges)
                     .value_or(estimate + static_cast<std::size_t>(largest) * sizeof(Scalar));
      refuse(used + needed + others, used + available, static_cast<std::size_t>(largest) * sizeof(Scalar));
    }
    capacity = std::min(std::max(room, Offset(0)), capacity - capacity / 16);
  }
}

#define LUTRA_STREAMED_PLAN(Scalar, Space)                                                           \
  template struct StreamedPlan<Scalar, Space>;                                                       \
  template std::shared_ptr<const StreamedPlan<Scalar, Space>> plan_streamed<Scalar>(                 \
      const Space&, const AssemblyTree&, const FrontEntries&, const LuOptions&, const MemoryBudget&, \
      std::size_t, std::size_t, const std::optional<Symmetry>&);
LUTRA_FOR_EACH_SCALAR_AND_SPACE(LUTRA_STREAMED_PLAN)

}  // namespace lutra::Impl
