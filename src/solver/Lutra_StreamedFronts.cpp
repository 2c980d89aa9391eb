// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_StreamedFronts.hpp"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include "Lutra_At.hpp"
#include "Lutra_Error.hpp"
#include "Lutra_ExecutionTraits.hpp"
#include "Lutra_FrontSchedule.hpp"
#include "Lutra_Instantiate.hpp"
#include "Lutra_PlanTools.hpp"
#include "Lutra_Upload.hpp"

namespace lutra::Impl {
namespace {

/// to(i) = from(index(i))
template <class To, class From, class Index>
struct GatherByIndex {
  To to;
  From from;
  Index index;
  KOKKOS_FUNCTION void operator()(const std::int64_t i) const { to(i) = from(index(i)); }
};
template <class ExecutionSpace, class To, class From, class Index>
void gather_by_index(const ExecutionSpace& exec, const To& to, const From& from, const Index& index) {
  Kokkos::parallel_for("lutra::solver::values of a part",
                       Kokkos::RangePolicy<ExecutionSpace, Kokkos::IndexType<std::int64_t>>(
                           exec, 0, static_cast<std::int64_t>(index.extent(0))),
                       GatherByIndex<To, From, Index>{to, from, index});
}

/// Rows `index` of one block of vectors, to the rows of another.
template <class Scalar, class Index>
struct GatherRows {
  Scalar* to;
  const Scalar* from;
  Index index;
  int columns;
  KOKKOS_FUNCTION void operator()(const std::int64_t i) const {
    for (int c = 0; c < columns; ++c)
      to[i * columns + c] = from[static_cast<std::int64_t>(index(i)) * columns + c];
  }
};

template <class View>
View range(const View& view, std::size_t begin, std::size_t size) {
  return Kokkos::subview(view, std::pair(begin, begin + size));
}

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

/// Calls copy(contribution of a front, its place between parts, whether that is in host memory).
template <class Part, class Blocks, class Factors, class Buffers, class Store, class Copy>
void for_each_block(const Part& part, const Blocks& blocks, const Factors& factors, const Buffers& stack,
                    const Store& store, const Copy& copy) {
  for (const auto& block : blocks) {
    const auto entries = static_cast<std::size_t>(block.passed.entries());
    const auto place = static_cast<std::size_t>(block.passed.place);
    const auto here = contribution_of(part.plan, factors, block.front);
    if (block.passed.on_host)
      copy(here, range(store, place, entries), true);
    else
      copy(here, range(stack, place, entries), false);
  }
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

template <class Scalar, class ExecutionSpace>
StreamedFactors<Scalar, ExecutionSpace>::StreamedFactors(const ExecutionSpace& exec, const Plan& plan,
                                                         const MemoryBudget& budget, double threshold,
                                                         Interchanges kind)
    : m_plan(plan), m_budget(budget), m_threshold(threshold), m_kind(kind), m_copier(exec) {
  if constexpr (!is_host_space<ExecutionSpace>) m_copier = Kokkos::Experimental::partition_space(exec, 1)[0];
  for (const Part& part : plan.parts) {
    if (is_host_space<ExecutionSpace> && !m_factors.empty()) {
      m_factors.emplace_back();
      m_factors.back().schedule = part.schedule;
      m_factors.back().state = m_factors.front().state;  // buffers of threads
    } else {
      m_factors.push_back(make_front_factors<Scalar>(exec, part.schedule, budget));
    }
    m_solvers.push_back(part.solver.with_own_vectors(exec, budget));
  }
}

/// The values of a part, in the buffer that the part before it has left.
template <class Scalar, class ExecutionSpace>
auto StreamedFactors<Scalar, ExecutionSpace>::buffer_of(std::size_t p) const -> Values {
  return range(m_buffers, p % static_cast<std::size_t>(m_plan.buffers) * m_plan.buffer, m_plan.buffer);
}

template <class Scalar, class ExecutionSpace>
void StreamedFactors<Scalar, ExecutionSpace>::allocate(const ExecutionSpace& exec) {
  if (m_buffers.extent(0) > 0) return;
  MemoryReservation kept(m_budget), on_host(m_host_budget);
  const auto n = static_cast<std::size_t>(m_plan.tree.n);
  const auto make = [&](auto& view, const char* label, std::size_t size) {
    view = kept.template allocate<std::remove_reference_t<decltype(view)>>(exec, label, size);
  };
  make(m_values, "lutra::solver::entries of the part at work", m_plan.most_entries);
  make(m_row_scale, "lutra::solver::scales of the part at work", m_plan.most_rows);
  make(m_col_scale, "lutra::solver::scales of the part at work", m_plan.most_rows);
  make(m_perturbed, "lutra::numeric::perturbed", n);
  make(m_outcomes, "lutra::numeric::outcomes", m_plan.parts.size());
  m_largest = {exec, kept, "lutra::solver::largest entry", 1};
  if (m_threshold > 0) make(m_row_of_pivot, "lutra::numeric::row_of_pivot", n);
  if (m_threshold > 0 && m_kind != Interchanges::rows)
    make(m_column_of_pivot, "lutra::numeric::column_of_pivot", n);
  Values buffers;
  make(buffers, "lutra::solver::buffers of streamed factors", m_plan.entries());
  m_store = on_host.template allocate<Store>(exec, "lutra::solver::streamed factors",
                                             m_plan.host_bytes() / sizeof(Scalar));
  m_buffers = buffers;
  m_reservation = kept;
  m_host_reservation = on_host;
  m_contents.assign(static_cast<std::size_t>(m_plan.buffers), m_plan.parts.size());
  for (std::size_t p = 0; p < m_plan.parts.size(); ++p) {
    const Part& part = m_plan.parts[p];
    Factors& factors = m_factors[p];
    if (m_threshold > 0) {
      factors.interchanges = {m_threshold, range(m_row_of_pivot, part.first_pivot, part.pivots), m_kind};
      if (m_column_of_pivot.extent(0) > 0)
        factors.interchanges->column_of_pivot = range(m_column_of_pivot, part.first_pivot, part.pivots);
    }
    place_values(part.plan, buffer_of(p), factors);
    factors.outcome = Kokkos::View<FrontLuOutcome, Memory>(m_outcomes.data() + p);
  }
}

/// Copies panels and inverses of a part between its buffer and host memory.
template <class Scalar, class ExecutionSpace>
void StreamedFactors<Scalar, ExecutionSpace>::copy_panels(std::size_t p, bool to_host) {
  const Part& part = m_plan.parts[p];
  const auto copy = [&](const Values& here, std::size_t there) {
    if (here.extent(0) == 0) return;
    const auto stored = range(m_store, there, here.extent(0));
    if (to_host)
      Kokkos::deep_copy(m_copier, stored, here);
    else
      Kokkos::deep_copy(m_copier, here, stored);
    m_moved += here.extent(0) * sizeof(Scalar);
  };
  copy(m_factors[p].panels, part.first_panel);
  if constexpr (requires { m_factors[p].state->inverses; })
    copy(m_factors[p].state->inverses, m_plan.panels + part.first_inverse);
}

/// Brings the blocks of earlier parts.
template <class Scalar, class ExecutionSpace>
void StreamedFactors<Scalar, ExecutionSpace>::take_blocks(const ExecutionSpace& exec, std::size_t p) {
  const Part& part = m_plan.parts[p];
  const auto on_device = static_cast<std::size_t>(m_plan.buffers) * m_plan.buffer;
  for_each_block(
      part, part.taken, m_factors[p], range(m_buffers, on_device, m_buffers.extent(0) - on_device),
      range(m_store, m_plan.panels + m_plan.inverses, m_store.extent(0) - m_plan.panels - m_plan.inverses),
      [&](const auto& here, const auto& there, bool on_host) {
        Kokkos::deep_copy(exec, here, there);
        m_moved += on_host ? here.extent(0) * sizeof(Scalar) : 0;
      });
}

/// Puts the blocks for later parts where these look for them.
template <class Scalar, class ExecutionSpace>
void StreamedFactors<Scalar, ExecutionSpace>::pass_blocks(const ExecutionSpace& exec, std::size_t p) {
  const Part& part = m_plan.parts[p];
  const auto on_device = static_cast<std::size_t>(m_plan.buffers) * m_plan.buffer;
  for_each_block(
      part, part.given, m_factors[p], range(m_buffers, on_device, m_buffers.extent(0) - on_device),
      range(m_store, m_plan.panels + m_plan.inverses, m_store.extent(0) - m_plan.panels - m_plan.inverses),
      [&](const auto& here, const auto& there, bool on_host) {
        Kokkos::deep_copy(exec, there, here);
        m_moved += on_host ? here.extent(0) * sizeof(Scalar) : 0;
      });
}

template <class Scalar, class ExecutionSpace>
double StreamedFactors<Scalar, ExecutionSpace>::largest_entry(
    const ExecutionSpace& exec, const CsrPattern<Ordinal, Offset, Memory>& pattern,
    const ScaledValues<Scalar, Memory>& A) {
  Kokkos::parallel_reduce(
      "lutra::numeric::largest_entry", Kokkos::RangePolicy<ExecutionSpace>(exec, 0, pattern.n_rows),
      LargestScaledEntry<Scalar, Memory>{pattern.row_map, pattern.entries, A.values, A.row_scale,
                                         A.col_scale},
      Kokkos::Max<double, Memory>(Kokkos::View<double, Memory>(m_largest.device().data())));
  m_largest.queue_fetch(exec);
  exec.fence("lutra::solver: the largest entry is known");
  return std::max(0.0, m_largest.host()(0));
}

template <class Scalar, class ExecutionSpace>
void StreamedFactors<Scalar, ExecutionSpace>::factorize_part(const ExecutionSpace& exec, std::size_t p,
                                                             const ScaledValues<Scalar, Memory>& A,
                                                             double perturbation, double largest) {
  const Part& part = m_plan.parts[p];
  Factors& factors = m_factors[p];
  const auto values = range(m_values, 0, part.source.extent(0));
  const auto row_scale = range(m_row_scale, 0, part.n()), col_scale = range(m_col_scale, 0, part.n());
  gather_by_index(exec, values, A.values, part.source);
  gather_by_index(exec, row_scale, A.row_scale, part.orders.row_order);
  gather_by_index(exec, col_scale, A.col_scale, part.orders.col_order);
  take_blocks(exec, p);
  factors.min_largest_entry = largest;
  factorize_fronts<Scalar>(exec, part.plan, {values, row_scale, col_scale}, perturbation, factors,
                           range(m_perturbed, part.first_pivot, part.pivots));
  find_largest_factor(exec, factors);
  if (m_plan.symmetric) m_pivots.add(inspect_diagonal_pivots(exec, part.plan, factors));
  pass_blocks(exec, p);
}

template <class Scalar, class ExecutionSpace>
FrontLuOutcome StreamedFactors<Scalar, ExecutionSpace>::factorize(
    const ExecutionSpace& exec, const CsrPattern<Ordinal, Offset, Memory>& pattern,
    const ScaledValues<Scalar, Memory>& A, double perturbation) {
  allocate(exec);
  m_moved = 0;
  m_pivots = {};
  m_copier.fence("lutra::solver: the panels of former factors are in host memory");
  m_contents.assign(m_contents.size(), m_plan.parts.size());
  const double largest = largest_entry(exec, pattern, A);
  const auto buffers = static_cast<std::size_t>(m_plan.buffers);
  for (std::size_t p = 0; p < m_plan.parts.size(); ++p) {
    // With two buffers the panels of the part before are copied meanwhile.
    if (buffers == 1) m_copier.fence("lutra::solver: the buffer is free");
    factorize_part(exec, p, A, perturbation, largest);
    exec.fence("lutra::solver: a part of the factors is complete");
    m_copier.fence("lutra::solver: panels are in host memory");
    copy_panels(p, true);
    m_contents[p % buffers] = p;
  }
  m_moved_by_factorization = m_moved;  // the last copy goes on; all that follows waits for it
  return read_outcomes(exec);
}

template <class Scalar, class ExecutionSpace>
FrontLuOutcome StreamedFactors<Scalar, ExecutionSpace>::read_outcomes(const ExecutionSpace& exec) const {
  FrontLuOutcome all;
  for (const FrontLuOutcome& part : to_host(exec, m_outcomes)) {
    all.largest_entry = std::max(all.largest_entry, part.largest_entry);
    all.largest_factor = std::max(all.largest_factor, part.largest_factor);
    all.perturbed += part.perturbed;
    all.interchanged += part.interchanged;
    if (all.stopped_front < 0) all.stopped_front = part.stopped_front;
  }
  return all;
}

template <class Scalar, class ExecutionSpace>
std::vector<std::int64_t> StreamedFactors<Scalar, ExecutionSpace>::order_of_tree(const ExecutionSpace& exec,
                                                                                 const Order& order) const {
  auto result = to_host<std::int64_t>(exec, order);
  if (result.empty()) return result;
  for (const Part& part : m_plan.parts)
    for (std::size_t k = 0; k < part.pivots; ++k)
      result[part.first_pivot + k] += static_cast<std::int64_t>(part.first_pivot);
  return result;
}

template <class Scalar, class ExecutionSpace>
void StreamedFactors<Scalar, ExecutionSpace>::reserve(const ExecutionSpace& exec, std::size_t columns) {
  if (columns <= m_columns) return;
  m_columns = 0;  // if memory runs out, there are no vectors
  m_solution = m_sums = m_later = {};
  m_vectors_reservation = MemoryReservation(m_budget);
  const auto make = [&](auto& view, const char* label, std::size_t rows) {
    view = m_vectors_reservation.template allocate<Values>(exec, label, rows * columns);
  };
  make(m_solution, "lutra::solver::solutions by index", static_cast<std::size_t>(m_plan.tree.n));
  make(m_sums, "lutra::solver::sums between parts", static_cast<std::size_t>(m_plan.passed.rows));
  make(m_later, "lutra::solver::solutions of later parts", m_plan.most_later);
  for (std::size_t p = 0; p < m_plan.parts.size(); ++p)
    m_solvers[p].reserve(exec, m_plan.parts[p].plan, m_factors[p], static_cast<int>(columns));
  m_columns = columns;
}

/// Queues the copy of a part's panels to its buffer, unless they are there.
template <class Scalar, class ExecutionSpace>
void StreamedFactors<Scalar, ExecutionSpace>::load(std::size_t p) {
  std::size_t& contents = m_contents[p % m_contents.size()];
  if (contents == p) return;
  copy_panels(p, false);
  contents = p;
}

/// Calls sweep(p) for each part, ascending or descending, while the panels of the next one are on their way.
template <class Scalar, class ExecutionSpace>
template <class Sweep>
void StreamedFactors<Scalar, ExecutionSpace>::sweep_parts(const ExecutionSpace& exec, bool upward,
                                                          const Sweep& sweep) {
  const std::size_t count = m_plan.parts.size();
  const auto part = [&](std::size_t k) { return upward ? k : count - 1 - k; };
  const bool ahead = m_contents.size() > 1;
  exec.fence("lutra::solver: buffers of parts are free");
  load(part(0));
  for (std::size_t k = 0; k < count; ++k) {
    m_copier.fence("lutra::solver: panels are in their buffer");
    if (ahead && k + 1 < count) load(part(k + 1));
    sweep(part(k));
    exec.fence("lutra::solver: the buffer of a part is free");
    if (!ahead && k + 1 < count) load(part(k + 1));
  }
}

template <class Scalar, class ExecutionSpace>
void StreamedFactors<Scalar, ExecutionSpace>::solve(const ExecutionSpace& exec,
                                                    const ScaledValues<Scalar, Memory>& A, Transposition op,
                                                    const Rows& B, const Rows& X) {
  const std::size_t k = B.extent(1);
  if (k == 0) return;
  reserve(exec, k);
  m_moved = 0;
  const auto system_of = [&](const Part& part) { return front_system(part.orders, A, op, B, X); };
  const auto rows_at = [&](const Values& vectors, std::size_t first, std::size_t rows) {
    return Rows(vectors.data() + first * k, rows, k);
  };
  // Sums that a part takes or gives are neighbours in the stack of all sums.
  const auto sums_of = [&](const auto& blocks, std::size_t rows) {
    const std::size_t first = blocks.empty() ? 0 : static_cast<std::size_t>(blocks.front().passed.first_row);
    return rows_at(m_sums, first, rows);
  };
  sweep_parts(exec, true, [&](std::size_t p) {
    const Part& part = m_plan.parts[p];
    m_solvers[p].sweep_up(exec, part.plan, m_factors[p], system_of(part),
                          {range(m_plan.count_up, 0, part.taken_rows), sums_of(part.taken, part.taken_rows)},
                          {part.sums, sums_of(part.given, part.sums.extent(0))});
  });
  sweep_parts(exec, false, [&](std::size_t p) {
    const Part& part = m_plan.parts[p];
    const std::size_t later = part.later.extent(0);
    Kokkos::parallel_for("lutra::solver::solutions of later parts",
                         Kokkos::RangePolicy<ExecutionSpace, Kokkos::IndexType<std::int64_t>>(
                             exec, 0, static_cast<std::int64_t>(later)),
                         GatherRows<Scalar, decltype(part.later)>{m_later.data(), m_solution.data(),
                                                                  part.later, static_cast<int>(k)});
    m_solvers[p].sweep_down(
        exec, part.plan, m_factors[p], system_of(part),
        {range(m_plan.count_up, part.pivots, later), rows_at(m_later, 0, later)},
        {range(m_plan.count_up, 0, part.pivots), rows_at(m_solution, part.first_pivot, part.pivots)});
  });
  m_moved_by_solve = m_moved;
}

template <class Scalar, class ExecutionSpace>
std::int64_t StreamedFactors<Scalar, ExecutionSpace>::consume_timeout(const ExecutionSpace& exec) {
  std::int64_t first = -1;
  for (std::size_t p = 0; p < m_plan.parts.size(); ++p) {  // all that were stopped
    const std::int64_t pivot = m_solvers[p].consume_timeout(exec, m_plan.parts[p].plan);
    if (pivot >= 0 && first < 0) first = pivot + static_cast<std::int64_t>(m_plan.parts[p].first_pivot);
  }
  return first;
}

template <class Scalar, class ExecutionSpace>
void StreamedFactors<Scalar, ExecutionSpace>::describe(MemoryUse& memory) const {
  memory.host_peak_bytes = m_host_budget.peak_bytes();
  if (m_moved_by_factorization > 0) memory.moved_by_factorization = m_moved_by_factorization;
  if (m_moved_by_solve > 0) memory.moved_by_solve = m_moved_by_solve;
}

#define LUTRA_STREAMED_FRONTS(Scalar, Space)                                                         \
  template struct StreamedPlan<Scalar, Space>;                                                       \
  template std::shared_ptr<const StreamedPlan<Scalar, Space>> plan_streamed<Scalar>(                 \
      const Space&, const AssemblyTree&, const FrontEntries&, const LuOptions&, const MemoryBudget&, \
      std::size_t, std::size_t, const std::optional<Symmetry>&);                                     \
  template class StreamedFactors<Scalar, Space>;
LUTRA_FOR_EACH_SCALAR_AND_SPACE(LUTRA_STREAMED_FRONTS)

}  // namespace lutra::Impl
