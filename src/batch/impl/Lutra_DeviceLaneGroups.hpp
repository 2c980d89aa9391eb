// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_DEVICELANEGROUPS_HPP
#define LUTRA_DEVICELANEGROUPS_HPP

#include "Lutra_DeviceLaneKernels.hpp"
#include "Lutra_LaneGroups.hpp"
#include "Lutra_Upload.hpp"

namespace lutra::Impl {

/// Values and factors of the groups of a batch, or of one of its chunks, where a system has a thread, and a
/// kernel works on one level of all groups. HostLaneGroups has the same members. Compiles for hosts, too.
template <class Scalar, class ExecutionSpace>
class DeviceLaneGroups {
 public:
  using Memory = typename ExecutionSpace::memory_space;
  using Real = RealOf<Scalar>;
  using Values = BatchValues<Scalar, ExecutionSpace>;
  using ConstBlock = ConstBatchBlock<Scalar, ExecutionSpace>;
  using Block = BatchBlock<Scalar, ExecutionSpace>;
  using Pattern = BatchPattern<Scalar, ExecutionSpace>;
  static constexpr int size = device_lanes;  ///< systems of a group

  DeviceLaneGroups(const ExecutionSpace& exec, const Pattern& pattern, const MemoryBudget& budget)
      : m_exec(exec), m_pattern(pattern), m_budget(budget) {}

  /// With the workspace of solves with one right-hand side.
  static std::size_t bytes_per_group(const Pattern& pattern) {
    const auto numbers =
        static_cast<std::size_t>(pattern.matrix_entries + pattern.factor_entries + 2 * pattern.n);
    return MemoryReservation::padded(size * (numbers * sizeof(Scalar) + 7 * sizeof(Real)) +
                                     bytes_of_work(pattern, size, 1));
  }
  /// Bytes that all groups share.
  std::size_t workspace_bytes() const { return 0; }
  std::size_t bytes() const { return m_reservation.bytes() + m_work_reservation.bytes(); }

  /// Allocates the arrays of `groups` groups, unless there are as many.
  /// @throws OutOfMemoryError; there is then room for none
  void reserve(std::size_t groups) {
    if (groups <= m_groups) return;
    m_exec.fence("lutra::batch: smaller groups are freed");
    m_A = m_factors = m_inverse = m_probe = {};
    m_found = {};
    m_work = {};
    m_columns = 0;
    m_groups = 0;
    m_work_reservation = MemoryReservation(m_budget);
    m_reservation = MemoryReservation(m_budget);
    const std::size_t slots = groups * size;
    const auto make = [&](std::int64_t entries) {
      return m_reservation.template allocate<Numbers>(m_exec, "lutra::batch::groups",
                                                      slots * static_cast<std::size_t>(entries));
    };
    m_A = make(m_pattern.matrix_entries);
    m_factors = make(m_pattern.factor_entries);
    m_inverse = make(m_pattern.n);
    m_probe = make(m_pattern.n);
    m_found = m_reservation.template allocate<Reals>(m_exec, "lutra::batch::findings", 7 * slots);
    m_groups = groups;
  }

  /// Copies the values of `systems.size()` slots.
  void load(const Values& values, std::span<const std::int64_t> systems) {
    const auto slots = static_cast<std::int64_t>(systems.size());
    MemoryReservation scratch(m_budget);
    const auto of = upload_systems(scratch, systems);
    using From = CallerValues<Scalar, Values, decltype(of), decltype(m_pattern.source)>;
    const From from{values, of, m_pattern.source, m_pattern.nnz, m_pattern.lists.hermitian};
    launch("lutra::batch::load", slots * m_pattern.matrix_entries,
           LoadValues<Scalar, From>{from, slots, m_pattern.matrix_entries, m_A.data()});
    if (m_pattern.lists.hermitian)
      launch("lutra::batch::real_diagonal", slots * m_pattern.n,
             MakeDiagonalReal<Scalar>{m_pattern.lists.A, slots, m_pattern.matrix_entries, m_A.data()});
    m_exec.fence("lutra::batch: the list of systems is freed");
  }

  /// Factorizes what was loaded. @param found [slots]
  void factorize(double perturbation, std::span<SlotFindings> found) {
    const auto slots = static_cast<std::int64_t>(found.size());
    Kokkos::deep_copy(m_exec, m_found, Real(0));
    Real* const f = m_found.data();
    Kokkos::deep_copy(m_exec, Kokkos::subview(m_found, std::pair(3 * slots, 4 * slots)),
                      ThreadLane<Scalar>::huge);
    using Kernel = FactorizeLanes<Scalar>;
    Kernel kernel{m_pattern.lists,
                  m_pattern.row_scale.data(),
                  m_pattern.col_scale.data(),
                  slots,
                  m_pattern.matrix_entries,
                  m_pattern.factor_entries,
                  m_A.data(),
                  m_factors.data(),
                  m_inverse.data(),
                  m_pattern.start.data(),
                  m_probe.data(),
                  static_cast<Real>(perturbation),
                  {f, f + slots, f + 2 * slots, f + 3 * slots, f + 4 * slots, f + 5 * slots, f + 6 * slots}};
    launch<typename Kernel::Largest>("lutra::batch::largest", slots * m_pattern.n, kernel);
    factorize_wide_levels(kernel);
    factorize_narrow_levels(kernel);
    const auto host = to_host<double>(m_exec, m_found);
    for (std::size_t s = 0; s < found.size(); ++s) found[s] = finding(host, s, found.size());
  }

  /// Solves for the slots that are `used`. @param solutions [slots]
  void solve(const ConstBlock& B, const Block& X, Transposition op, std::span<const std::int64_t> systems,
             const std::vector<char>& used, const SlotSolveOptions& options,
             std::span<SlotSolution> solutions) {
    const std::size_t slots = systems.size();
    reserve_work(slots, B.extent(1), options.probe);
    MemoryReservation scratch(m_budget);
    const auto of = upload_systems(scratch, systems);
    // If memory allows, one pass over the levels solves for a probe and right-hand sides.
    const bool is_beside = op == Transposition::none && m_columns > 1;
    if (options.probe && !is_beside) {
      activate(used, 1);
      copy_probe(slots, 0);
      apply(Transposition::none, slots, 1, work(0, slots), nullptr, work(1, slots));
      judge_probe(slots, 0, used, options, solutions);
    }
    for (std::size_t first = 0, columns = 0; first < B.extent(1); first += columns) {
      const bool probes = options.probe && is_beside && first == 0;
      columns = std::min(columns_at_once(probes), B.extent(1) - first);
      std::vector<char> active = activate(used, columns);
      read(B, of, slots, first, work(0, slots));
      if (probes) {
        activate(used, columns + 1);
        copy_probe(slots, columns);
      }
      apply(op, slots, columns + (probes ? 1 : 0), work(0, slots), nullptr, work(1, slots));
      if (probes) {
        judge_probe(slots, columns, used, options, solutions);
        set_active(active);
      }
      if (options.check) {
        std::vector<SlotErrors> errors(columns * slots);
        compute_residual(op, slots, work(0, slots), work(1, slots), work(2, slots), errors);
        refine(op, slots, columns, options, used, errors);
        judge_solutions(errors, options, first, 0, slots, used, solutions);
        for (std::size_t s = 0; s < columns * slots; ++s)
          active[s] = used[s % slots] != 0 && solutions[s % slots].first_failed < 0 ? 1 : 0;
        set_active(active);
      }
      write(work(1, slots), of, slots, first, X);
    }
    m_exec.fence("lutra::batch: solutions are written");
  }

  /// R = B − op(A)·X for the slots that are `used`.
  void residual(const ConstBlock& B, const ConstBlock& X, const Block& R, Transposition op,
                std::span<const std::int64_t> systems, const std::vector<char>& used) {
    const std::size_t slots = systems.size();
    reserve_work(slots, B.extent(1), false);
    MemoryReservation scratch(m_budget);
    const auto of = upload_systems(scratch, systems);
    for (std::size_t first = 0, columns = 0; first < B.extent(1); first += columns) {
      columns = std::min(columns_at_once(false), B.extent(1) - first);
      activate(used, columns);
      read(B, of, slots, first, work(0, slots));
      read(X, of, slots, first, work(1, slots));
      std::vector<SlotErrors> errors(columns * slots);
      compute_residual(op, slots, work(0, slots), work(1, slots), work(2, slots), errors);
      write(work(2, slots), of, slots, first, R);
    }
    m_exec.fence("lutra::batch: residuals are written");
  }

  /// Values of one slot in the order of callers' matrices.
  void extract(std::size_t slot, const Kokkos::View<Scalar*, Memory>& to) const {
    const LaneItem at(static_cast<std::int64_t>(slot), static_cast<std::int64_t>(m_groups * size));
    using Extract = ExtractValues<Scalar, Kokkos::View<Scalar*, Memory>, decltype(m_pattern.entry_of)>;
    launch("lutra::batch::extract", static_cast<std::int64_t>(to.extent(0)),
           Extract{at.in(m_A.data(), m_pattern.matrix_entries), device_lanes, m_pattern.entry_of, to});
  }

 private:
  using Numbers = Kokkos::View<Scalar*, Memory>;
  using Reals = Kokkos::View<Real*, Memory>;
  using Flags = Kokkos::View<char*, Memory>;
  static constexpr std::size_t max_columns = 16;
  static constexpr std::size_t arrays = 6;

  template <class Kernel>
  void launch(const char* label, std::int64_t count, const Kernel& kernel) const {
    using Policy = Kokkos::RangePolicy<ExecutionSpace, Kokkos::IndexType<std::int64_t>>;
    if (count > 0) Kokkos::parallel_for(label, Policy(m_exec, 0, count), kernel);
  }
  template <class Tag, class Kernel>
  void launch(const char* label, std::int64_t count, const Kernel& kernel) const {
    using Policy = Kokkos::RangePolicy<ExecutionSpace, Tag, Kokkos::IndexType<std::int64_t>>;
    if (count > 0) Kokkos::parallel_for(label, Policy(m_exec, 0, count), kernel);
  }
  void factorize_wide_levels(FactorizeLanes<Scalar> kernel) const {
    const auto& levels = m_pattern.lower;
    for (std::size_t l = 0; l < m_pattern.fan_out.first_level; ++l) {
      kernel.rows = levels.rows.data() + levels.begin[l];
      launch<typename FactorizeLanes<Scalar>::Level>(
          "lutra::batch::factorize", kernel.slots * (levels.begin[l + 1] - levels.begin[l]), kernel);
    }
  }
  void factorize_narrow_levels(FactorizeLanes<Scalar> kernel) const {
    const auto& parts = m_pattern.fan_out;
    kernel.steps = parts.steps.data();
    for (std::size_t l = 0; l + 1 < parts.begin.size(); ++l) {
      const std::int64_t first = parts.begin[l], count = parts.begin[l + 1] - first;
      kernel.rows = parts.rows.data() + first;
      kernel.steps_of = parts.steps_of.data() + first;
      kernel.is_last = parts.is_last.data() + first;
      const char* const label = "lutra::batch::factorize narrow levels";
      if (l == 0) {
        launch<typename FactorizeLanes<Scalar>::First>(label, kernel.slots * count, kernel);
      } else {
        launch<typename FactorizeLanes<Scalar>::Next>(label, kernel.slots * count, kernel);
      }
    }
  }
  /// Calls visit(rows, count) for each level.
  template <class Visit>
  static void for_levels(const BatchLevels<Memory>& levels, bool reverse, const Visit& visit) {
    const std::size_t count = levels.begin.size() - 1;
    for (std::size_t l = 0; l < count; ++l) {
      const std::size_t at = reverse ? count - 1 - l : l;
      visit(levels.rows.data() + levels.begin[at], levels.begin[at + 1] - levels.begin[at]);
    }
  }
  auto upload_systems(MemoryReservation& scratch, std::span<const std::int64_t> systems) const {
    return upload_parts(m_exec, scratch, "lutra::batch::systems",
                        std::vector<std::span<const std::int64_t>>{systems});
  }
  static SlotFindings finding(const std::vector<double>& host, std::size_t s, std::size_t slots) {
    const double root =
        ScalarTraits<Scalar>::is_complex ? std::sqrt(2.0) : 1.0;  // of magnitudes over max-norms
    const auto of = [&](std::size_t array) { return host[array * slots + s]; };
    SlotFindings found;
    found.growth = of(0) > 0 ? root * std::max(of(1), of(2)) / of(0) : 0.0;
    found.growth += of(4);
    found.multiplier = root * of(2);
    found.smallest_pivot = of(3);
    found.perturbed = static_cast<std::int64_t>(of(5));
    found.negative = static_cast<std::int64_t>(of(6));
    return found;
  }

  static std::size_t bytes_of_work(const Pattern& pattern, std::size_t slots, std::size_t columns) {
    const std::size_t numbers = arrays * static_cast<std::size_t>(pattern.n) * columns * slots;
    return numbers * sizeof(Scalar) + (4 * columns + 1) * slots * sizeof(Real) + columns * slots;
  }
  /// As many of the right-hand sides at once as fit in a quarter of the memory, at most 16, and a probe.
  void reserve_work(std::size_t slots, std::size_t n_rhs, bool probes) {
    constexpr std::size_t most_bytes = std::size_t(1) << 33;
    const std::size_t room = std::min(most_bytes, m_budget.available_bytes() / 4);
    std::size_t columns = std::clamp<std::size_t>(n_rhs, 1, max_columns) + (probes ? 1 : 0);
    while (columns > 1 && bytes_of_work(m_pattern, slots, columns) > room) columns = (columns + 1) / 2;
    const bool is_enough = columns == m_columns || (!probes && columns + 1 == m_columns);
    if (is_enough && slots <= m_work_slots) return;
    m_exec.fence("lutra::batch: the former workspace is freed");
    for (;; columns = (columns + 1) / 2) {
      try {
        return allocate_work(slots, columns);
      } catch (const OutOfMemoryError&) {
        if (columns == 1) throw;
      }
    }
  }
  void allocate_work(std::size_t slots, std::size_t columns) {
    m_work = {};
    m_maxima = {};
    m_active = {};
    m_columns = m_work_slots = 0;
    m_work_reservation = MemoryReservation(m_budget);
    const char* const label = "lutra::batch::workspace of solves";
    m_work = m_work_reservation.template allocate<Numbers>(
        m_exec, label, arrays * static_cast<std::size_t>(m_pattern.n) * columns * slots);
    m_maxima = m_work_reservation.template allocate<Reals>(m_exec, label, (4 * columns + 1) * slots);
    m_active = m_work_reservation.template allocate<Flags>(m_exec, label, columns * slots);
    m_columns = columns;
    m_work_slots = slots;
  }
  /// Right-hand sides that have room, beside that of a probe.
  std::size_t columns_at_once(bool probes) const {
    return std::min(max_columns, m_columns - (probes ? 1 : 0));
  }
  /// B, X, R, trial X, Y, trial R, each [groups][columns][n][lanes]
  Scalar* work(std::size_t array, std::size_t slots) const {
    return m_work.data() + array * static_cast<std::size_t>(m_pattern.n) * m_columns * slots;
  }
  /// Activates the first columns of the slots that are `used`. @returns the flags, [m_columns · slots]
  std::vector<char> activate(const std::vector<char>& used, std::size_t columns) const {
    std::vector<char> active(m_columns * used.size(), 0);
    for (std::size_t s = 0; s < columns * used.size(); ++s) active[s] = used[s % used.size()];
    set_active(active);
    return active;
  }
  void set_active(const std::vector<char>& active) const {
    Kokkos::deep_copy(m_exec, Kokkos::subview(m_active, std::pair(std::size_t(0), active.size())),
                      Kokkos::View<const char*, Kokkos::HostSpace>(active.data(), active.size()));
    m_exec.fence("lutra::batch: flags are copied");
  }
  bool is_transposed(Transposition op) const {
    return op != Transposition::none && !m_pattern.lists.symmetric;
  }
  /// −1 where the matrix is conjugated, as in HostLaneGroups.
  Real sign_of(Transposition op) const {
    const LaneLists& lists = m_pattern.lists;
    const bool conjugate = lists.symmetric
                               ? op == (lists.hermitian ? Transposition::transposed : Transposition::adjoint)
                               : op == Transposition::adjoint;
    return conjugate ? Real(-1) : Real(1);
  }
  template <class From, class Systems>
  void read(const From& from, const Systems& systems, std::size_t slots, std::size_t first,
            Scalar* to) const {
    using Move = MoveBlock<Scalar, From, Systems>;
    const auto s = static_cast<std::int64_t>(slots), columns = static_cast<std::int64_t>(m_columns);
    launch<typename Move::Read>(
        "lutra::batch::read", s * columns * m_pattern.n,
        Move{from, systems, s, m_pattern.n, columns, static_cast<std::int64_t>(first), to, m_active.data()});
  }
  template <class Systems>
  void write(Scalar* from, const Systems& systems, std::size_t slots, std::size_t first,
             const Block& to) const {
    using Move = MoveBlock<Scalar, Block, Systems>;
    const auto s = static_cast<std::int64_t>(slots), columns = static_cast<std::int64_t>(m_columns);
    launch<typename Move::Write>(
        "lutra::batch::write", s * columns * m_pattern.n,
        Move{to, systems, s, m_pattern.n, columns, static_cast<std::int64_t>(first), from, m_active.data()});
  }

  template <int Columns>
  void apply_blocks(Transposition op, std::int64_t slots, std::int64_t first, std::int64_t blocks,
                    const Scalar* B, const Scalar* base, Scalar* X) const {
    if (blocks == 0) return;
    const bool transposed = is_transposed(op);
    const auto& from = transposed ? m_pattern.col_scale : m_pattern.row_scale;
    const auto& to = transposed ? m_pattern.row_scale : m_pattern.col_scale;
    using Kernel = SolveLanes<Scalar, Columns>;
    Kernel kernel{m_pattern.lists,
                  transposed,
                  sign_of(op),
                  from.data(),
                  to.data(),
                  slots,
                  m_pattern.factor_entries,
                  static_cast<std::int64_t>(m_columns),
                  first,
                  blocks,
                  m_factors.data(),
                  m_inverse.data(),
                  B,
                  work(4, static_cast<std::size_t>(slots)),
                  base,
                  X,
                  m_active.data(),
                  nullptr};
    for_levels(transposed ? m_pattern.upper : m_pattern.lower, transposed,
               [&](const Ordinal* rows, std::int64_t count) {
                 kernel.rows = rows;
                 launch<typename Kernel::Forward>("lutra::batch::forward", slots * count * blocks, kernel);
               });
    for_levels(transposed ? m_pattern.lower : m_pattern.upper, transposed,
               [&](const Ordinal* rows, std::int64_t count) {
                 kernel.rows = rows;
                 launch<typename Kernel::Backward>("lutra::batch::backward", slots * count * blocks, kernel);
               });
  }
  /// X = base + op(A)⁻¹·B with the factors, for active columns.
  void apply(Transposition op, std::size_t slots, std::size_t columns, const Scalar* B, const Scalar* base,
             Scalar* X) const {
    const auto s = static_cast<std::int64_t>(slots), all = static_cast<std::int64_t>(columns);
    apply_blocks<4>(op, s, 0, all / 4, B, base, X);
    apply_blocks<1>(op, s, all / 4 * 4, all % 4, B, base, X);
  }
  /// R = B − op(A)·X and the errors of X, for active columns; errors of others are zero.
  void compute_residual(Transposition op, std::size_t slots, const Scalar* B, const Scalar* X, Scalar* R,
                        std::vector<SlotErrors>& errors) const {
    Kokkos::deep_copy(m_exec, m_maxima, Real(0));
    const std::size_t all = m_columns * slots;
    using Kernel = ResidualLanes<Scalar>;
    const auto s = static_cast<std::int64_t>(slots), columns = static_cast<std::int64_t>(m_columns);
    const std::int64_t parts = (m_pattern.n + Kernel::part - 1) / Kernel::part;
    launch("lutra::batch::residual", s * columns * parts,
           Kernel{is_transposed(op) ? m_pattern.lists.A_columns : m_pattern.lists.A, m_pattern.n, sign_of(op),
                  s, m_pattern.matrix_entries, columns, m_A.data(), B, X, R, m_active.data(), m_maxima.data(),
                  m_maxima.data() + 4 * all});
    const auto host = to_host<double>(m_exec, m_maxima);
    for (std::size_t e = 0; e < errors.size(); ++e)
      errors[e] = SlotErrors::from(host[e], host[all + e], host[2 * all + e], host[3 * all + e],
                                   host[4 * all + e % slots]);
  }
  ProbeLanes<Scalar> probe_in(std::size_t column, std::size_t slots) const {
    return {m_pattern.n,
            static_cast<std::int64_t>(slots),
            static_cast<std::int64_t>(m_columns),
            static_cast<std::int64_t>(column),
            m_pattern.col_scale.data(),
            m_probe.data(),
            work(0, slots),
            work(1, slots),
            m_maxima.data()};
  }
  /// Writes the right-hand sides of probes to a column.
  void copy_probe(std::size_t slots, std::size_t column) const {
    launch<typename ProbeLanes<Scalar>::Copy>(
        "lutra::batch::copy_probe", static_cast<std::int64_t>(slots) * m_pattern.n, probe_in(column, slots));
  }
  /// Systems that may be singular fail.
  void judge_probe(std::size_t slots, std::size_t column, const std::vector<char>& used,
                   const SlotSolveOptions& options, std::span<SlotSolution> solutions) const {
    using Kernel = ProbeLanes<Scalar>;
    Kokkos::deep_copy(m_exec, m_maxima, Real(0));
    const std::int64_t parts = (m_pattern.n + Kernel::part - 1) / Kernel::part;
    launch<typename Kernel::Amplify>("lutra::batch::amplify", static_cast<std::int64_t>(slots) * parts,
                                     probe_in(column, slots));
    const auto host = to_host<double>(m_exec, m_maxima);
    for (std::size_t s = 0; s < slots; ++s)
      if (used[s] != 0 && !(host[s] <= options.max_amplification)) solutions[s].first_failed = 0;
  }
  /// Corrections that lower the error are kept, for each right-hand side and system by itself.
  void refine(Transposition op, std::size_t slots, std::size_t columns, const SlotSolveOptions& options,
              const std::vector<char>& used, std::vector<SlotErrors>& errors) const {
    std::vector<SlotErrors> trial(errors.size());
    std::vector<char> active(m_columns * slots, 0), taken(m_columns * slots, 0);
    for (std::size_t s = 0; s < errors.size(); ++s)
      if (used[s % slots] != 0) errors[s].start();
    for (int step = 0; step < options.max_steps; ++step) {
      bool any = false;
      for (std::size_t s = 0; s < errors.size(); ++s) {
        SlotErrors& e = errors[s];
        e.active = e.active && e.componentwise > options.goal;
        active[s] = e.active ? 1 : 0;
        any = any || e.active;
      }
      if (!any) return;
      set_active(active);
      apply(op, slots, columns, work(2, slots), work(1, slots), work(3, slots));
      compute_residual(op, slots, work(0, slots), work(3, slots), work(5, slots), trial);
      for (std::size_t s = 0; s < errors.size(); ++s)
        taken[s] = errors[s].active && errors[s].keep_better(trial[s]) ? 1 : 0;
      set_active(taken);
      const auto n_slots = static_cast<std::int64_t>(slots), all = static_cast<std::int64_t>(m_columns);
      launch("lutra::batch::take", n_slots * all * m_pattern.n,
             TakeColumns<Scalar>{n_slots, m_pattern.n, all, work(3, slots), work(5, slots), work(1, slots),
                                 work(2, slots), m_active.data()});
    }
  }

  ExecutionSpace m_exec;
  const Pattern& m_pattern;
  MemoryBudget m_budget;
  std::size_t m_groups = 0;
  Numbers m_A, m_factors, m_inverse, m_probe;  ///< [groups][entries][lanes]
  Reals m_found;                               ///< [7 × slots] as DeviceFindings
  std::size_t m_columns = 0;                   ///< right-hand sides at once
  std::size_t m_work_slots = 0;
  Numbers m_work;
  Reals m_maxima;  ///< [4 × columns × slots], then ‖op(A)‖∞ [slots]
  Flags m_active;  ///< [columns × slots] whether a right-hand side is worked on
  MemoryReservation m_reservation, m_work_reservation;
};

}  // namespace lutra::Impl

#endif
