// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_FrontGroups.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "Lutra_AnalysisSteps.hpp"
#include "Lutra_FrontForest.hpp"
#include "Lutra_FrontGroupKernels.hpp"
#include "Lutra_Instantiate.hpp"
#include "Lutra_Upload.hpp"

namespace lutra::Impl {

template <class Scalar, class ExecutionSpace>
FrontGroups<Scalar, ExecutionSpace>::FrontGroups(const ExecutionSpace& exec, const Pattern& pattern,
                                                 const MemoryBudget& budget, FrontTree tree)
    : m_exec(exec),
      m_pattern(pattern),
      m_budget(budget),
      m_tree(std::make_unique<FrontTree>(std::move(tree))) {
  const auto n_rows = static_cast<std::size_t>(pattern.n);
  const ForestBytes bytes = bytes_of_forest<Scalar>(exec, *m_tree, m_budget);
  m_slot_bytes = bytes.a_slot + n_arrays * n_rows * sizeof(Scalar) + 9 * sizeof(Real);
  m_shared_bytes = bytes.shared;
}

template <class Scalar, class ExecutionSpace>
FrontGroups<Scalar, ExecutionSpace>::~FrontGroups() = default;

template <class Scalar, class ExecutionSpace>
std::size_t FrontGroups<Scalar, ExecutionSpace>::slots() const {
  return m_forest ? m_forest->slots() : 0;
}

template <class Scalar, class ExecutionSpace>
template <class Tag, class Kernel>
void FrontGroups<Scalar, ExecutionSpace>::launch(const char* label, std::int64_t count,
                                                 const Kernel& kernel) const {
  using Policy = Kokkos::RangePolicy<ExecutionSpace, Tag, Kokkos::IndexType<std::int64_t>>;
  if (count > 0) Kokkos::parallel_for(label, Policy(m_exec, 0, count), kernel);
}

/// The systems of all slots.
template <class Scalar, class ExecutionSpace>
auto FrontGroups<Scalar, ExecutionSpace>::upload_systems(MemoryReservation& scratch,
                                                         std::span<const std::int64_t> systems) const {
  std::vector<std::int64_t> all(systems.begin(), systems.end());
  all.resize(slots(), systems.back());
  return upload(m_exec, scratch, "lutra::batch::systems", all);
}

template <class Scalar, class ExecutionSpace>
void FrontGroups<Scalar, ExecutionSpace>::reserve(std::size_t count) {
  if (count <= slots()) return;
  if (count > max_copies(*m_tree))
    throw OutOfMemoryError("batch: " + std::to_string(count) + " systems have more rows than can be numbered",
                           count * m_slot_bytes);
  m_exec.fence("lutra::batch: smaller groups are freed");
  m_forest.reset();
  m_work = {};
  m_maxima = {};
  m_active = {};
  m_columns = m_work_bytes = m_forest_bytes = 0;
  m_work_reservation = MemoryReservation(m_budget);
  const std::size_t used = m_budget.used_bytes();
  m_forest = make_front_forest<Scalar>(m_exec, *m_tree, count, to_host(m_exec, m_pattern.row_scale),
                                       to_host(m_exec, m_pattern.col_scale), m_budget);
  m_forest_bytes = bytes_since(used, m_budget);
}

template <class Scalar, class ExecutionSpace>
void FrontGroups<Scalar, ExecutionSpace>::load(const Values& values, std::span<const std::int64_t> systems) {
  MemoryReservation scratch(m_budget);
  const auto of = upload_systems(scratch, systems);
  using From = CallerValues<Scalar, Values, decltype(of), decltype(m_pattern.source)>;
  const From from{values, of, m_pattern.source, m_pattern.nnz, m_pattern.lists.hermitian};
  const auto all = static_cast<std::int64_t>(slots());
  const std::int64_t entries = m_pattern.matrix_entries;
  Scalar* const A = m_forest->values().data();
  using Policy = Kokkos::RangePolicy<ExecutionSpace, Kokkos::IndexType<std::int64_t>>;
  Kokkos::parallel_for("lutra::batch::load", Policy(m_exec, 0, SlotItem::count(all, entries)),
                       GatherValues<Scalar, From>{from, all, entries, A});
  if (m_pattern.lists.hermitian)
    Kokkos::parallel_for(
        "lutra::batch::real_diagonal", Policy(m_exec, 0, all * n()),
        MakeDiagonalReal<Scalar, ContiguousLane<Scalar>, SlotRow>{m_pattern.lists.A, all, entries, A});
  m_exec.fence("lutra::batch: values are copied");
}

template <class Scalar, class ExecutionSpace>
void FrontGroups<Scalar, ExecutionSpace>::factorize(double perturbation, std::span<SlotFindings> found) {
  const std::size_t used = m_budget.used_bytes();
  m_forest->factorize(m_exec, perturbation, found);
  m_forest_bytes = m_forest_bytes + m_budget.used_bytes() - used;  // fronts may have got more room
}

template <class Scalar, class ExecutionSpace>
void FrontGroups<Scalar, ExecutionSpace>::extract(std::size_t slot,
                                                  const Kokkos::View<Scalar*, Memory>& to) const {
  using Extract = ExtractValues<Scalar, Kokkos::View<Scalar*, Memory>, decltype(m_pattern.entry_of)>;
  using Policy = Kokkos::RangePolicy<ExecutionSpace, Kokkos::IndexType<std::int64_t>>;
  const Scalar* const own =
      m_forest->values().data() + slot * static_cast<std::size_t>(m_pattern.matrix_entries);
  Kokkos::parallel_for("lutra::batch::extract", Policy(m_exec, 0, static_cast<std::int64_t>(to.extent(0))),
                       Extract{own, 1, m_pattern.entry_of, to});
}

template <class Scalar, class ExecutionSpace>
std::size_t FrontGroups<Scalar, ExecutionSpace>::bytes_of_work(std::size_t columns) const {
  const std::size_t numbers = n_arrays * static_cast<std::size_t>(n()) * vectors(columns);
  return m_forest->bytes_of_solves(columns) + numbers * sizeof(Scalar) +
         (4 * vectors(columns) + slots()) * sizeof(Real) + vectors(columns);
}

/// As many of the right-hand sides at once as fit in memory beside what others need, at most 16.
template <class Scalar, class ExecutionSpace>
void FrontGroups<Scalar, ExecutionSpace>::reserve_work(std::size_t n_rhs) {
  constexpr std::size_t most_bytes = std::size_t(1) << 33;
  const std::size_t available = std::min(m_budget.available_bytes(), std::size_t(1) << 60) + m_work_bytes;
  const std::size_t room = available > m_kept_free ? std::min(most_bytes, available - m_kept_free) : 0;
  std::size_t columns = std::clamp<std::size_t>(n_rhs, 1, max_columns);
  while (columns > 1 && bytes_of_work(columns) > room) columns = (columns + 1) / 2;
  if (columns == m_columns) return;
  m_exec.fence("lutra::batch: the former workspace is freed");
  for (;; columns = (columns + 1) / 2) {
    try {
      return allocate_work(columns);
    } catch (const OutOfMemoryError&) {
      if (columns == 1) throw;
    }
  }
}

template <class Scalar, class ExecutionSpace>
void FrontGroups<Scalar, ExecutionSpace>::allocate_work(std::size_t columns) {
  m_work = {};
  m_maxima = {};
  m_active = {};
  m_columns = m_work_bytes = 0;
  m_work_reservation = MemoryReservation(m_budget);
  const char* const label = "lutra::batch::workspace of solves";
  const std::size_t all = vectors(columns);
  m_work = m_work_reservation.template allocate<Numbers>(m_exec, label,
                                                         n_arrays * static_cast<std::size_t>(n()) * all);
  m_maxima = m_work_reservation.template allocate<Reals>(m_exec, label, 4 * all + slots());
  m_active = m_work_reservation.template allocate<Flags>(m_exec, label, all);
  m_columns = columns;
  m_work_bytes = m_work_reservation.bytes();
}

template <class Scalar, class ExecutionSpace>
Scalar* FrontGroups<Scalar, ExecutionSpace>::work(Array array) const {
  return m_work.data() + static_cast<std::size_t>(array) * static_cast<std::size_t>(n()) * vectors(m_columns);
}

/// Activates the first columns of the slots that are `used`. @returns the flags, [columns][slots]
template <class Scalar, class ExecutionSpace>
std::vector<char> FrontGroups<Scalar, ExecutionSpace>::activate(const std::vector<char>& used,
                                                                std::size_t columns) const {
  std::vector<char> active(vectors(columns), 0);
  for (std::size_t c = 0; c < columns; ++c)
    std::copy(used.begin(), used.end(), active.begin() + static_cast<std::ptrdiff_t>(c * slots()));
  set_active(active);
  return active;
}

template <class Scalar, class ExecutionSpace>
void FrontGroups<Scalar, ExecutionSpace>::set_active(const std::vector<char>& active) const {
  Kokkos::deep_copy(m_exec, Kokkos::subview(m_active, std::pair(std::size_t(0), active.size())),
                    Kokkos::View<const char*, Kokkos::HostSpace>(active.data(), active.size()));
  m_exec.fence("lutra::batch: flags are copied");
}

template <class Scalar, class ExecutionSpace>
template <class From, class Systems>
void FrontGroups<Scalar, ExecutionSpace>::read(const From& from, const Systems& systems, std::size_t columns,
                                               std::size_t first, Scalar* to) const {
  using Move = MoveVectors<Scalar, From, Systems>;
  const auto all = static_cast<std::int64_t>(slots()), width = static_cast<std::int64_t>(columns);
  launch<typename Move::Read>(
      "lutra::batch::read", SlotItem::count(all, width * n()),
      Move{from, systems, all, n(), width, static_cast<std::int64_t>(first), to, m_active.data()});
}

template <class Scalar, class ExecutionSpace>
template <class Systems>
void FrontGroups<Scalar, ExecutionSpace>::write(Scalar* from, const Systems& systems, std::size_t columns,
                                                std::size_t first, const Block& to) const {
  using Move = MoveVectors<Scalar, Block, Systems>;
  const auto all = static_cast<std::int64_t>(slots()), width = static_cast<std::int64_t>(columns);
  launch<typename Move::Write>(
      "lutra::batch::write", SlotItem::count(all, width * n()),
      Move{to, systems, all, n(), width, static_cast<std::int64_t>(first), from, m_active.data()});
}

/// Systems that may be singular fail.
template <class Scalar, class ExecutionSpace>
void FrontGroups<Scalar, ExecutionSpace>::probe(const std::vector<char>& used,
                                                const SlotSolveOptions& options,
                                                std::span<SlotSolution> solutions) const {
  using Kernel = ProbeVectors<Scalar>;
  const Kernel of{n(),
                  m_pattern.matrix_entries,
                  m_pattern.lists.A,
                  m_pattern.col_scale.data(),
                  m_pattern.start.data(),
                  m_forest->values().data(),
                  work(right_sides),
                  work(solutions_array)};
  const std::int64_t rows = static_cast<std::int64_t>(slots()) * n();
  launch<typename Kernel::Weigh>("lutra::batch::weigh", rows, of);
  m_forest->solve(m_exec, Transposition::none, 1, work(right_sides), work(solutions_array));
  launch<typename Kernel::Unscale>("lutra::batch::unscale", rows, of);
  Kokkos::deep_copy(m_exec, m_maxima, Real(0));
  launch_parts(m_exec, "lutra::batch::amplify", slots(), n(),
               LargestOfSlots<Scalar, ExecutionSpace>{n(), work(solutions_array), m_maxima.data()});
  const auto host = to_host<double>(m_exec, m_maxima);
  for (std::size_t s = 0; s < solutions.size(); ++s)
    if (used[s] != 0 && !(host[s] <= options.max_amplification)) solutions[s].first_failed = 0;
}

/// R = B − op(A)·X and the errors of X, for active vectors. @param errors [columns][slots]
template <class Scalar, class ExecutionSpace>
void FrontGroups<Scalar, ExecutionSpace>::compute_residual(Transposition op, std::size_t columns,
                                                           const Scalar* X, Scalar* R,
                                                           std::vector<SlotErrors>& errors) const {
  Kokkos::deep_copy(m_exec, m_maxima, Real(0));
  const std::size_t all = vectors(columns), count = slots();
  Real* const norm = m_maxima.data() + 4 * all;
  const LaneLists& lists = m_pattern.lists;
  launch_parts(m_exec, "lutra::batch::residual", all, n(),
               ResidualVectors<Scalar, ExecutionSpace>{
                   op == Transposition::none ? lists.A : lists.A_columns, m_pattern.n,
                   op == Transposition::adjoint ? Real(-1) : Real(1), static_cast<std::int64_t>(count),
                   static_cast<std::int64_t>(all), m_pattern.matrix_entries, m_forest->values().data(),
                   work(right_sides), X, R, m_active.data(), m_maxima.data(), norm});
  const auto host = to_host<double>(m_exec, m_maxima);
  for (std::size_t v = 0; v < errors.size(); ++v)
    errors[v] = SlotErrors::from(host[v], host[all + v], host[2 * all + v], host[3 * all + v],
                                 host[4 * all + v % count]);
}

/// Corrections that lower the error are kept, for each right-hand side and system by itself.
template <class Scalar, class ExecutionSpace>
void FrontGroups<Scalar, ExecutionSpace>::refine(Transposition op, std::size_t columns,
                                                 const SlotSolveOptions& options,
                                                 const std::vector<char>& used,
                                                 std::vector<SlotErrors>& errors) const {
  std::vector<SlotErrors> trial(errors.size());
  std::vector<char> active(errors.size()), taken(errors.size());
  const auto numbers = static_cast<std::int64_t>(errors.size()) * n();
  using Combine = CombineVectors<Scalar>;
  for (std::size_t v = 0; v < errors.size(); ++v) {
    const std::size_t slot = v % slots();
    if (slot < used.size() && used[slot] != 0) errors[v].start();
  }
  for (int step = 0; step < options.max_steps; ++step) {
    for (std::size_t v = 0; v < errors.size(); ++v) {
      errors[v].active = errors[v].active && errors[v].componentwise > options.goal;
      active[v] = errors[v].active ? 1 : 0;
    }
    if (std::ranges::find(active, char(1)) == active.end()) return;
    set_active(active);
    m_forest->solve(m_exec, op, static_cast<int>(columns), work(residuals), work(trials), m_active.data());
    launch<typename Combine::Add>("lutra::batch::correct", numbers,
                                  Combine{n(), work(solutions_array), work(trials), m_active.data()});
    compute_residual(op, columns, work(trials), work(trial_residuals), trial);
    for (std::size_t v = 0; v < errors.size(); ++v)
      taken[v] = errors[v].active && errors[v].keep_better(trial[v]) ? 1 : 0;
    set_active(taken);
    launch<typename Combine::Copy>("lutra::batch::take", numbers,
                                   Combine{n(), work(trials), work(solutions_array), m_active.data()});
    launch<typename Combine::Copy>("lutra::batch::take", numbers,
                                   Combine{n(), work(trial_residuals), work(residuals), m_active.data()});
  }
}

template <class Scalar, class ExecutionSpace>
void FrontGroups<Scalar, ExecutionSpace>::solve(const ConstBlock& B, const Block& X, Transposition op,
                                                std::span<const std::int64_t> systems,
                                                const std::vector<char>& used,
                                                const SlotSolveOptions& options,
                                                std::span<SlotSolution> solutions) {
  reserve_work(B.extent(1));
  MemoryReservation scratch(m_budget);
  const auto of = upload_systems(scratch, systems);
  const std::size_t count = slots();
  if (options.probe) probe(used, options, solutions);
  for (std::size_t first = 0; first < B.extent(1); first += m_columns) {
    m_budget.run().poll();
    const std::size_t columns = std::min(m_columns, B.extent(1) - first);
    std::vector<char> active = activate(used, columns);
    read(B, of, columns, first, work(right_sides));
    m_forest->solve(m_exec, op, static_cast<int>(columns), work(right_sides), work(solutions_array),
                    m_active.data());
    if (options.check) {
      std::vector<SlotErrors> errors(vectors(columns));
      compute_residual(op, columns, work(solutions_array), work(residuals), errors);
      refine(op, columns, options, used, errors);
      std::vector<char> all_used(used);
      all_used.resize(count, 0);
      std::vector<SlotSolution> of_slots(solutions.begin(), solutions.end());
      of_slots.resize(count);
      judge_solutions(errors, options, first, 0, count, all_used, of_slots);
      std::copy_n(of_slots.begin(), solutions.size(), solutions.begin());
      for (std::size_t v = 0; v < active.size(); ++v)
        active[v] = all_used[v % count] != 0 && of_slots[v % count].first_failed < 0 ? 1 : 0;
      set_active(active);
    }
    m_forest->throw_if_stopped(m_exec);
    write(work(solutions_array), of, columns, first, X);
  }
  m_exec.fence("lutra::batch: solutions are written");
}

template <class Scalar, class ExecutionSpace>
void FrontGroups<Scalar, ExecutionSpace>::residual(const ConstBlock& B, const ConstBlock& X, const Block& R,
                                                   Transposition op, std::span<const std::int64_t> systems,
                                                   const std::vector<char>& used) {
  reserve_work(B.extent(1));
  MemoryReservation scratch(m_budget);
  const auto of = upload_systems(scratch, systems);
  for (std::size_t first = 0; first < B.extent(1); first += m_columns) {
    const std::size_t columns = std::min(m_columns, B.extent(1) - first);
    activate(used, columns);
    read(B, of, columns, first, work(right_sides));
    read(X, of, columns, first, work(solutions_array));
    std::vector<SlotErrors> errors(vectors(columns));
    compute_residual(op, columns, work(solutions_array), work(residuals), errors);
    write(work(residuals), of, columns, first, R);
  }
  m_exec.fence("lutra::batch: residuals are written");
}

#define LUTRA_FRONT_GROUPS(Scalar, Space) template class FrontGroups<Scalar, Space>;
LUTRA_FOR_EACH_SCALAR_AND_SPACE(LUTRA_FRONT_GROUPS)

}  // namespace lutra::Impl
