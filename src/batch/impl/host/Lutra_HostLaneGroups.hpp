// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_HOSTLANEGROUPS_HPP
#define LUTRA_HOSTLANEGROUPS_HPP

#include <algorithm>

#include "Lutra_ForRange.hpp"
#include "Lutra_HostTasks.hpp"
#include "Lutra_LaneGroups.hpp"
#include "Lutra_LaneTasks.hpp"
#include "Lutra_MoveLanes.hpp"

namespace lutra::Impl {

/// Values and factors of the groups of a batch, or of one of its chunks, on hosts: a system has a lane of
/// vector registers, and a thread takes a group at a time. A slot is a lane of a group; `systems` names the
/// caller's system in each slot, also in those that only fill the last group. Calls throw CancelledError if
/// the running call has to end; values, factors and solutions are then undefined.
template <class Scalar, class ExecutionSpace>
class HostLaneGroups {
 public:
  using Memory = typename ExecutionSpace::memory_space;
  using Real = RealOf<Scalar>;
  using Values = BatchValues<Scalar, ExecutionSpace>;
  using ConstBlock = ConstBatchBlock<Scalar, ExecutionSpace>;
  using Block = BatchBlock<Scalar, ExecutionSpace>;
  using Pattern = BatchPattern<Scalar, ExecutionSpace>;
  static constexpr int size = host_lanes<Real>;  ///< systems of a group
  static constexpr int parts = ScalarTraits<Scalar>::is_complex ? 2 : 1;
  static constexpr int columns_at_once = 4;  ///< right-hand sides that share a pass over the factors

  HostLaneGroups(const ExecutionSpace& exec, const Pattern& pattern, const MemoryBudget& budget)
      : m_exec(exec), m_pattern(pattern), m_budget(budget), m_kernels(best_lanes<Real>()) {}

  static std::size_t bytes_per_group(const Pattern& pattern) {
    return MemoryReservation::padded(numbers_of(pattern) * sizeof(Real));
  }
  /// Bytes that solves need besides.
  std::size_t workspace_bytes() const {
    return threads() * MemoryReservation::padded(numbers_of_work() * sizeof(Real));
  }
  std::size_t bytes() const { return m_reservation.bytes() + m_work_reservation.bytes(); }
  /// Allocates the arrays of `groups` groups, unless there are as many.
  /// @throws OutOfMemoryError; there is then room for none
  void reserve(std::size_t groups) {
    if (groups <= m_groups) return;
    m_numbers = {};
    m_groups = 0;
    m_reservation = MemoryReservation(m_budget);
    m_numbers = m_reservation.template allocate<Numbers>(m_exec, "lutra::batch::groups",
                                                         groups * numbers_of(m_pattern));
    m_groups = groups;
  }

  /// Copies the values of `systems.size()` slots.
  void load(const Values& values, std::span<const std::int64_t> systems) {
    for_groups(systems.size(), [&](std::size_t, std::size_t g) { load_group(values, systems, g); });
  }
  /// Factorizes what was loaded. @param found [slots]
  void factorize(double perturbation, std::span<SlotFindings> found) {
    for_groups(found.size(), [&](std::size_t, std::size_t g) {
      LaneStats<Real, size> stats;
      m_kernels.factorize[parts - 1]({m_pattern.lists, m_pattern.row_scale.data(), m_pattern.col_scale.data(),
                                      A(g), factors(g), inverse(g), m_pattern.start.data(), probe(g),
                                      static_cast<Real>(perturbation), &stats});
      for (int l = 0; l < size; ++l) found[g * size + static_cast<std::size_t>(l)] = finding(stats, l);
    });
  }
  /// Solves for the slots that are `used`. @param solutions [slots]
  void solve(const ConstBlock& B, const Block& X, Transposition op, std::span<const std::int64_t> systems,
             const std::vector<char>& used, const SlotSolveOptions& options,
             std::span<SlotSolution> solutions) {
    reserve_work();
    for_groups(systems.size(), [&](std::size_t thread, std::size_t g) {
      const GroupSolve group{*this, thread, g, op, systems, used, options, solutions};
      if (group.is_used()) group.run(B, X);
    });
  }
  /// R = B − op(A)·X for the slots that are `used`.
  void residual(const ConstBlock& B, const ConstBlock& X, const Block& R, Transposition op,
                std::span<const std::int64_t> systems, const std::vector<char>& used) {
    reserve_work();
    for_groups(systems.size(), [&](std::size_t thread, std::size_t g) {
      const SlotSolveOptions none;
      const GroupSolve group{*this, thread, g, op, systems, used, none, {}};
      if (group.is_used()) group.residual(B, X, R);
    });
  }
  /// Values of one slot in the order of the caller's matrices.
  void extract(std::size_t slot, const Kokkos::View<Scalar*, Memory>& to) const {
    const Real* const from = A(slot / size);
    const std::size_t lane = slot % size;
    for (std::size_t p = 0; p < to.extent(0); ++p) {
      const std::size_t q =
          m_pattern.entry_of.extent(0) == 0 ? p : static_cast<std::size_t>(m_pattern.entry_of(p));
      to(p) = get(from, q, lane);
    }
  }

 private:
  using Numbers = Kokkos::View<Real*, Memory>;

  static std::size_t numbers_of(const Pattern& pattern) {
    return static_cast<std::size_t>(pattern.matrix_entries + pattern.factor_entries + 2 * pattern.n) * size *
           parts;
  }
  std::size_t column_numbers() const { return static_cast<std::size_t>(m_pattern.n) * size * parts; }
  std::size_t numbers_of_work() const { return 6 * columns_at_once * column_numbers(); }
  static std::size_t threads() { return has_one_thread<ExecutionSpace>() ? 1 : host_threads(); }

  Real* A(std::size_t g) const { return m_numbers.data() + g * numbers_of(m_pattern); }
  Real* factors(std::size_t g) const {
    return A(g) + static_cast<std::size_t>(m_pattern.matrix_entries) * size * parts;
  }
  Real* inverse(std::size_t g) const {
    return factors(g) + static_cast<std::size_t>(m_pattern.factor_entries) * size * parts;
  }
  Real* probe(std::size_t g) const { return inverse(g) + column_numbers(); }
  static Scalar get(const Real* base, std::size_t entry, std::size_t lane) {
    const Real* const from = base + entry * size * parts + lane;
    if constexpr (parts == 2) {
      return Scalar(from[0], from[size]);
    } else {
      return *from;
    }
  }
  static void set(Real* base, std::size_t entry, std::size_t lane, const Scalar& value) {
    Real* const to = base + entry * size * parts + lane;
    if constexpr (parts == 2) {
      to[0] = value.real();
      to[size] = value.imag();
    } else {
      *to = value;
    }
  }

  /// Calls work(thread, group) for the groups of `slots` slots, until the running call has to end.
  template <class Work>
  void for_groups(std::size_t slots, const Work& work) const {
    const RunControl& run = m_budget.run();
    const auto unless_stopped = [&](std::size_t thread, std::size_t g) {
      if (!run.must_stop()) work(thread, g);
    };
    if (threads() == 1) {
      for (std::size_t g = 0; g < slots / size; ++g) unless_stopped(0, g);
    } else {
      for_each_task(threads(), slots / size, unless_stopped);
    }
    run.poll();
  }
  void reserve_work() {
    if (m_work.extent(0) > 0) return;
    m_work_reservation = MemoryReservation(m_budget);
    m_work = m_work_reservation.template allocate<Numbers>(m_exec, "lutra::batch::workspace of solves",
                                                           threads() * numbers_of_work());
  }

  void load_group(const Values& values, std::span<const std::int64_t> systems, std::size_t g) const {
    LaneArray<const Scalar> from{values.data(), values.stride(0), {}};
    for (std::size_t l = 0; l < size; ++l)
      from.lane[l] = static_cast<std::size_t>(systems[g * size + l]) * values.stride(1);
    const auto all = [](std::size_t) { return true; };
    if (m_pattern.source.extent(0) == 0)
      return from.read(static_cast<std::size_t>(m_pattern.matrix_entries), all, A(g));
    for (std::size_t q = 0; q < static_cast<std::size_t>(m_pattern.matrix_entries); ++q) {
      const Offset p = m_pattern.source(q);
      const std::size_t entry = static_cast<std::size_t>(p < 0 ? -1 - p : p) * values.stride(0);
      for (std::size_t l = 0; l < size; ++l) {
        Scalar value = p < m_pattern.nnz ? values.data()[entry + from.lane[l]] : Scalar(0);
        if (p < 0 && m_pattern.lists.hermitian) value = ScalarTraits<Scalar>::conjugate(value);
        set(A(g), q, l, value);
      }
    }
    if (m_pattern.lists.hermitian) drop_imaginary_diagonal(g);
  }
  void drop_imaginary_diagonal(std::size_t g) const {
    if constexpr (parts == 2) {
      const LaneRows& rows = m_pattern.lists.A;
      for (Ordinal i = 0; i < m_pattern.n; ++i)
        for (Offset p = rows.map[i]; p < rows.map[i + 1]; ++p)
          if (rows.entries[p] == i)
            std::fill_n(A(g) + static_cast<std::size_t>(p) * size * parts + size, size, Real(0));
    }
  }
  static SlotFindings finding(const LaneStats<Real, size>& stats, int l) {
    const double root = parts == 2 ? std::sqrt(2.0) : 1.0;  // of magnitudes over max-norms
    SlotFindings found;
    const double largest = static_cast<double>(stats.largest_entry[l]);
    const double factor = std::max(static_cast<double>(stats.largest_factor[l]),
                                   static_cast<double>(stats.largest_factor_l[l]));
    found.growth = largest > 0 ? root * factor / largest : 0.0;
    found.growth += static_cast<double>(stats.poison[l]);
    found.multiplier = root * static_cast<double>(stats.largest_factor_l[l]);
    found.smallest_pivot = static_cast<double>(stats.smallest_pivot[l]);
    found.perturbed = static_cast<std::int64_t>(stats.perturbed[l]);
    found.negative = static_cast<std::int64_t>(stats.negative[l]);
    return found;
  }

  /// Solves of one group with the workspace of one thread.
  struct GroupSolve {
    const HostLaneGroups& groups;
    std::size_t thread, g;
    Transposition op;
    std::span<const std::int64_t> systems;
    const std::vector<char>& used;
    const SlotSolveOptions& options;
    std::span<SlotSolution> solutions;

    using ColumnErrors = std::vector<SlotErrors>;  // [columns · size]

    bool is_used() const {
      return std::any_of(used.begin() + static_cast<std::ptrdiff_t>(g * size),
                         used.begin() + static_cast<std::ptrdiff_t>((g + 1) * size),
                         [](char is) { return is != 0; });
    }
    bool is_full() const {
      return std::all_of(used.begin() + static_cast<std::ptrdiff_t>(g * size),
                         used.begin() + static_cast<std::ptrdiff_t>((g + 1) * size),
                         [](char is) { return is != 0; });
    }
    bool is_used(std::size_t lane) const { return used[g * size + lane] != 0; }
    std::size_t system(std::size_t lane) const { return static_cast<std::size_t>(systems[g * size + lane]); }
    Real* work(int array) const {
      return groups.m_work.data() + thread * groups.numbers_of_work() +
             static_cast<std::size_t>(array * columns_at_once) * groups.column_numbers();
    }
    std::size_t n() const { return static_cast<std::size_t>(groups.m_pattern.n); }
    bool transposed() const { return op != Transposition::none && !groups.m_pattern.lists.symmetric; }
    /// −1 where the matrix is conjugated: Aᴴ of a complex symmetric A is its conjugate, and so is Aᵀ of a
    /// Hermitian one.
    Real sign() const {
      const LaneLists& lists = groups.m_pattern.lists;
      const bool conjugate =
          lists.symmetric ? op == (lists.hermitian ? Transposition::transposed : Transposition::adjoint)
                          : op == Transposition::adjoint;
      return conjugate ? Real(-1) : Real(1);
    }

    /// One right-hand side of all lanes in a caller's block.
    template <class View>
    auto column(const View& block, std::size_t c) const {
      LaneArray<typename View::value_type> result{block.data() + c * block.stride(1), block.stride(0), {}};
      for (std::size_t l = 0; l < size; ++l) result.lane[l] = system(l) * block.stride(2);
      return result;
    }
    /// Lanes that are not used are zero.
    void read(const ConstBlock& from, std::size_t first, int columns, Real* to) const {
      const std::size_t numbers = static_cast<std::size_t>(columns) * groups.column_numbers();
      if (!is_full()) std::fill_n(to, numbers, Real(0));
      for (std::size_t c = 0; c < static_cast<std::size_t>(columns); ++c)
        column(from, first + c)
            .read(
                n(), [&](std::size_t l) { return is_used(l); }, to + c * groups.column_numbers());
    }
    template <class Wanted>
    void write(const Real* from, std::size_t first, int columns, const Block& to,
               const Wanted& wanted) const {
      for (std::size_t c = 0; c < static_cast<std::size_t>(columns); ++c)
        column(to, first + c)
            .write(
                n(), [&](std::size_t l) { return is_used(l) && wanted(l); },
                from + c * groups.column_numbers());
    }

    /// X = base + op(A)⁻¹·B with the factors.
    void apply(const Real* B, const Real* base, Real* X, int columns) const {
      const Pattern& pattern = groups.m_pattern;
      const auto& from = transposed() ? pattern.col_scale : pattern.row_scale;
      const auto& to = transposed() ? pattern.row_scale : pattern.col_scale;
      groups.m_kernels.solve[parts - 1]({pattern.lists, transposed(), sign(), from.data(), to.data(),
                                         groups.factors(g), groups.inverse(g), B, work(4), base, X, columns});
    }
    /// R = B − op(A)·X, and the errors of X.
    void compute_residual(const Real* B, const Real* X, Real* R, int columns, ColumnErrors& errors) const {
      const LaneLists& lists = groups.m_pattern.lists;
      LaneMaxima<Real, size> maxima[columns_at_once];
      Real norm[size];
      groups.m_kernels.residual[parts - 1]({transposed() ? lists.A_columns : lists.A, lists.n, sign(),
                                            groups.A(g), B, X, R, columns, maxima, norm});
      for (int c = 0; c < columns; ++c) {
        for (std::size_t l = 0; l < size; ++l) {
          SlotErrors& e = errors[static_cast<std::size_t>(c) * size + l];
          e = SlotErrors::from(static_cast<double>(maxima[c].ratio[l]),
                               static_cast<double>(maxima[c].residual[l]),
                               static_cast<double>(maxima[c].solution[l]),
                               static_cast<double>(maxima[c].right_side[l]), static_cast<double>(norm[l]));
        }
      }
    }
    /// Systems whose probe, a solution of A·x = probe in X, says that they may be singular fail.
    void judge_probe(const Real* X) const {
      Real amplification[size];
      groups.m_kernels.amplify[parts - 1](
          {groups.m_pattern.n, groups.m_pattern.col_scale.data(), X, amplification});
      for (std::size_t l = 0; l < size; ++l)
        if (is_used(l) && !(static_cast<double>(amplification[l]) <= options.max_amplification))
          solution(l).first_failed = 0;
    }
    /// A probe beside no right-hand side.
    void probe() const {
      GroupSolve plain = *this;
      plain.op = Transposition::none;
      plain.apply(groups.probe(g), nullptr, work(1), 1);
      judge_probe(work(1));
    }
    /// Solves with the factors for `columns` right-hand sides, and a probe beside them if `probes`.
    void apply_with_probe(int columns, bool probes) const {
      const std::size_t own = groups.column_numbers(), skipped = static_cast<std::size_t>(columns) * own;
      if (probes) std::copy_n(groups.probe(g), own, work(0) + skipped);
      apply(work(0), nullptr, work(1), columns + (probes ? 1 : 0));
      if (probes) judge_probe(work(1) + skipped);
    }
    /// Takes over X and R of one right-hand side and lane.
    void take(int c, std::size_t l, const Real* from_X, const Real* from_R, Real* X, Real* R) const {
      for (std::size_t i = 0; i < n(); ++i) {
        const std::size_t entry = static_cast<std::size_t>(c) * n() + i;
        set(X, entry, l, get(from_X, entry, l));
        set(R, entry, l, get(from_R, entry, l));
      }
    }
    /// Corrections that lower the error are kept, for each right-hand side and system by itself.
    void refine(const Real* B, Real* X, Real* R, int columns, ColumnErrors& errors) const {
      ColumnErrors trial(errors.size());
      for (std::size_t s = 0; s < errors.size(); ++s)
        if (is_used(s % size)) errors[s].start();
      for (int step = 0; step < options.max_steps; ++step) {
        for (SlotErrors& e : errors) e.active = e.active && e.componentwise > options.goal;
        if (std::ranges::none_of(errors, [](const SlotErrors& e) { return e.active; })) return;
        apply(R, X, work(3), columns);
        compute_residual(B, work(3), work(5), columns, trial);
        for (std::size_t s = 0; s < errors.size(); ++s)
          if (errors[s].active && errors[s].keep_better(trial[s]))
            take(static_cast<int>(s / size), s % size, work(3), work(5), X, R);
      }
    }

    void run(const ConstBlock& B, const Block& X) const {
      const std::size_t n_rhs = B.extent(1);
      // A probe shares the pass over the factors if that is the only one, before a solution is written.
      const bool is_beside = op == Transposition::none && n_rhs < columns_at_once;
      if (options.probe && !is_beside) probe();
      for (std::size_t first = 0; first < n_rhs; first += columns_at_once) {
        const int columns = static_cast<int>(std::min<std::size_t>(columns_at_once, n_rhs - first));
        read(B, first, columns, work(0));
        apply_with_probe(columns, options.probe && is_beside);
        if (!options.check) {
          write(work(1), first, columns, X, [](std::size_t) { return true; });
          continue;
        }
        ColumnErrors errors(static_cast<std::size_t>(columns) * size);
        compute_residual(work(0), work(1), work(2), columns, errors);
        refine(work(0), work(1), work(2), columns, errors);
        judge_solutions(errors, options, first, g * size, size, used, solutions);
        write(work(1), first, columns, X, [&](std::size_t l) { return solution(l).first_failed < 0; });
      }
    }
    SlotSolution& solution(std::size_t lane) const { return solutions[g * size + lane]; }
    void residual(const ConstBlock& B, const ConstBlock& X, const Block& R) const {
      ColumnErrors errors(static_cast<std::size_t>(columns_at_once) * size);
      for (std::size_t first = 0; first < B.extent(1); first += columns_at_once) {
        const int columns = static_cast<int>(std::min<std::size_t>(columns_at_once, B.extent(1) - first));
        read(B, first, columns, work(0));
        read(X, first, columns, work(1));
        compute_residual(work(0), work(1), work(2), columns, errors);
        write(work(2), first, columns, R, [](std::size_t) { return true; });
      }
    }
  };

  ExecutionSpace m_exec;
  const Pattern& m_pattern;
  MemoryBudget m_budget;
  LaneKernelTable<Real> m_kernels;
  std::size_t m_groups = 0;
  /// [groups] of: values of A, of L + U, inverses of pivots
  Numbers m_numbers;
  /// [threads] of six arrays [columns_at_once × n]: B, X, R, trial X, Y, trial R
  Numbers m_work;
  MemoryReservation m_reservation, m_work_reservation;
};

}  // namespace lutra::Impl

#endif
