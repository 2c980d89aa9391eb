// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_FRONTPART_HPP
#define LUTRA_FRONTPART_HPP

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "Lutra_Allocate.hpp"
#include "Lutra_At.hpp"
#include "Lutra_DiagonalPivots.hpp"
#include "Lutra_DividedFront.hpp"
#include "Lutra_Error.hpp"
#include "Lutra_ExecutionTraits.hpp"
#include "Lutra_FrontLu.hpp"
#include "Lutra_Upload.hpp"

namespace lutra::Impl {

/// Some fronts of a tree as a separate tree, with the entries of A in them. Its rows and columns are the
/// pivots of its fronts, then rows that other parts eliminate.
struct FrontPartPlan {
  AssemblyTree tree;
  std::vector<int> position;          ///< [n] index in F of each row and column, ascending in both groups
  std::vector<std::int64_t> row_map;  ///< [n + 1] row map of A's entries in this part
  std::vector<int> columns;           ///< column of each entry, in the part's numbering
  std::vector<int> user_row, user_column;  ///< [n] the user's row and column of each position
  std::vector<int> in_row;                 ///< position of each entry among those of its row of A

  /// Pivots of the part; positions from there on belong to other parts.
  int n_pivots() const { return tree.pivot_begin.empty() ? 0 : tree.pivot_begin.back(); }

  /// Roots whose contributions other parts assemble, ascending.
  std::vector<int> open_roots() const {
    return fronts_if([](int, int parent, auto rows) { return parent < 0 && rows > 0; });
  }
  /// Leaves without pivots, whose contributions come from other parts, ascending.
  std::vector<int> foreign_leaves() const {
    return fronts_if([](int pivots, int, auto) { return pivots == 0; });
  }

 private:
  template <class Condition>
  std::vector<int> fronts_if(const Condition& holds) const {
    std::vector<int> result;
    for (int f = 0; f < tree.count(); ++f) {
      if (holds(at(tree.pivot_begin, f + 1) - at(tree.pivot_begin, f), at(tree.parent, f),
                at(tree.row_begin, f + 1) - at(tree.row_begin, f)))
        result.push_back(f);
    }
    return result;
  }
};

/// Splits a tree and its matrix into parts.
class FrontPartMaker {
 public:
  /// @param part [fronts] part of each front
  FrontPartMaker(const AssemblyTree& tree, const FrontEntries& entries, std::vector<int> part)
      : m_tree(tree),
        m_entries(entries),
        m_part(std::move(part)),
        m_part_of_pivot(static_cast<std::size_t>(tree.n)),
        m_column_position(m_part_of_pivot.size()) {
    for (int f = 0; f < tree.count(); ++f)
      std::fill(m_part_of_pivot.begin() + at(tree.pivot_begin, f),
                m_part_of_pivot.begin() + at(tree.pivot_begin, f + 1), at(m_part, f));
    for (std::size_t k = 0; k < entries.col_order.size(); ++k)
      at(m_column_position, entries.col_order[k]) = static_cast<int>(k);
  }

  /// Threads may call it for different parts.
  FrontPartPlan make(int part) const {
    FrontPartPlan plan;
    std::vector<int> local(m_part_of_pivot.size(), -1);  // the part's index of F's rows
    take_fronts(part, plan, local);
    take_entries(part, plan, local);
    return plan;
  }

 private:
  int parent_part(int f) const {
    return at(m_tree.parent, f) < 0 ? at(m_part, f) : at(m_part, at(m_tree.parent, f));
  }

  /// Takes the part's fronts and, as leaves without pivots, their children from other parts.
  void take_fronts(int part, FrontPartPlan& plan, std::vector<int>& local) const {
    AssemblyTree& tree = plan.tree;
    tree.pivot_begin.push_back(0);
    tree.row_begin.push_back(0);
    std::vector<int> number(m_part.size(), -1), taken;
    for (int f = 0; f < m_tree.count(); ++f) {
      const bool own = at(m_part, f) == part;
      if (!own && parent_part(f) != part) continue;
      at(number, f) = static_cast<int>(taken.size());
      taken.push_back(f);
      for (int k = at(m_tree.pivot_begin, f); own && k < at(m_tree.pivot_begin, f + 1); ++k) {
        at(local, k) = static_cast<int>(plan.position.size());
        plan.position.push_back(k);
      }
      tree.pivot_begin.push_back(static_cast<int>(plan.position.size()));
      tree.rows.insert(tree.rows.end(), m_tree.rows.begin() + at(m_tree.row_begin, f),
                       m_tree.rows.begin() + at(m_tree.row_begin, f + 1));
      tree.row_begin.push_back(static_cast<std::int64_t>(tree.rows.size()));
    }
    for (const int f : taken)
      tree.parent.push_back(at(m_tree.parent, f) < 0 ? -1 : at(number, at(m_tree.parent, f)));
    std::vector<int> others;
    for (const int row : tree.rows) {
      if (at(local, row) != -1) continue;
      at(local, row) = -2;  // once
      others.push_back(row);
    }
    std::sort(others.begin(), others.end());
    for (const int row : others) {
      at(local, row) = static_cast<int>(plan.position.size());
      plan.position.push_back(row);
    }
    for (int& row : tree.rows) row = at(local, row);
    tree.n = static_cast<int>(plan.position.size());
  }

  void take_entries(int part, FrontPartPlan& plan, const std::vector<int>& local) const {
    const auto& A = m_entries.A;
    plan.row_map.push_back(0);
    for (const int k : plan.position) {
      const int i = at(m_entries.row_order, k);
      plan.user_row.push_back(i);
      plan.user_column.push_back(at(m_entries.col_order, k));
      for (auto p = A.row_map(i); p < A.row_map(i + 1); ++p) {
        const int l = at(m_column_position, A.entries(p));
        if (at(m_part_of_pivot, std::min(k, l)) != part) continue;
        plan.columns.push_back(at(local, l));
        plan.in_row.push_back(static_cast<int>(p - A.row_map(i)));
      }
      plan.row_map.push_back(static_cast<std::int64_t>(plan.columns.size()));
    }
  }

  const AssemblyTree& m_tree;
  FrontEntries m_entries;
  std::vector<int> m_part;             ///< [fronts]
  std::vector<int> m_part_of_pivot;    ///< [n]
  std::vector<int> m_column_position;  ///< [n] index in F of A's columns
};

/// The largest magnitude of scaled entries, row by row.
template <class Scalar, class Memory>
struct LargestScaledEntry {
  Kokkos::View<const std::int64_t*, Memory> row_map;
  Kokkos::View<const int*, Memory> columns;
  Kokkos::View<const Scalar*, Memory> values;
  Kokkos::View<const RealOf<Scalar>*, Memory> row_scale, col_scale;
  KOKKOS_FUNCTION void operator()(const int i, double& largest) const {
    for (auto e = row_map(i); e < row_map(i + 1); ++e) {
      const Scalar scaled = values(e) * row_scale(i) * col_scale(columns(e));
      largest = Kokkos::max(largest, static_cast<double>(ScalarTraits<Scalar>::magnitude(scaled)));
    }
  }
};

/// The first entry that differs from its mirror image, as check_symmetry compares them.
template <class Scalar, class Memory>
struct UnsymmetricEntry {
  Kokkos::View<const std::int64_t*, Memory> opposite;  ///< [entries] position of the mirror image; −1: none
  Kokkos::View<const Scalar*, Memory> values;
  bool hermitian;
  KOKKOS_FUNCTION void operator()(const std::int64_t e, std::int64_t& first) const {
    const Scalar value = values(e), other = opposite(e) < 0 ? Scalar(0) : values(opposite(e));
    const Scalar mirrored = hermitian ? ScalarTraits<Scalar>::conjugate(other) : other;
    const auto tolerance = 8 * epsilon_of<Scalar> * ScalarTraits<Scalar>::magnitude(value);
    if (!(ScalarTraits<Scalar>::magnitude(value - mirrored) <= tolerance) && e < first) first = e;
  }
};

/// Position of the mirror image of each entry of a part; −1: none.
inline std::vector<std::int64_t> opposite_entries(const FrontPartPlan& plan) {
  const auto n = static_cast<std::size_t>(plan.tree.n);
  std::vector<std::int64_t> opposite(plan.columns.size(), -1), begin(n + 1);
  for (const int column : plan.columns) ++at(begin, column + 1);
  std::partial_sum(begin.begin(), begin.end(), begin.begin());
  std::vector<std::int64_t> of_columns(plan.columns.size());  // entries by columns
  std::vector<std::int64_t> next(begin);
  for (std::size_t e = 0; e < plan.columns.size(); ++e)
    at(of_columns, at(next, plan.columns[e])++) = static_cast<std::int64_t>(e);
  std::vector<int> row_of(plan.columns.size());
  for (std::size_t i = 0; i < n; ++i)
    for (auto e = plan.row_map[i]; e < plan.row_map[i + 1]; ++e) at(row_of, e) = static_cast<int>(i);
  std::vector<std::int64_t> in_column(n, -1);  // entry of the present column in each row
  for (std::size_t i = 0; i < n; ++i) {
    for (auto p = begin[i]; p < begin[i + 1]; ++p)
      at(in_column, at(row_of, at(of_columns, p))) = at(of_columns, p);
    for (auto e = plan.row_map[i]; e < plan.row_map[i + 1]; ++e)
      at(opposite, e) = at(in_column, at(plan.columns, e));
    for (auto p = begin[i]; p < begin[i + 1]; ++p) at(in_column, at(row_of, at(of_columns, p))) = -1;
  }
  return opposite;
}

/// A part with its factors, in an execution space's memory.
template <class Scalar, class ExecutionSpace>
class FrontPart {
 public:
  using Memory = typename ExecutionSpace::memory_space;
  using Real = RealOf<Scalar>;
  using Values = Kokkos::View<const Scalar*, Memory>;
  using Scale = Kokkos::View<const Real*, Memory>;

  /// @param budget of that memory: plan, panels, contributions
  /// @param before null, or a part that is never factorized at the same time; on hosts the two share thread
  ///               buffers
  /// @param symmetry as for make_front_schedule
  /// @throws OutOfMemoryError
  FrontPart(FrontPartPlan made, const MemoryBudget& budget, const FrontPart* before = nullptr,
            const std::optional<Symmetry>& symmetry = {})
      : m_made(std::move(made)), m_budget(budget), m_symmetry(symmetry), m_reservation(budget) {
    const auto n = static_cast<std::size_t>(m_made.tree.n);
    m_row_scale = allocate<decltype(m_row_scale)>("lutra::numeric::row_scale", n);
    m_col_scale = allocate<decltype(m_col_scale)>("lutra::numeric::col_scale", n);
    m_perturbed = allocate<decltype(m_perturbed)>("lutra::numeric::perturbed", n);
    m_largest = allocate<decltype(m_largest)>("lutra::numeric::largest entry of the part", 1);
    Kokkos::deep_copy(m_exec, m_row_scale, Real(1));
    Kokkos::deep_copy(m_exec, m_col_scale, Real(1));
    if constexpr (is_host_space<ExecutionSpace>) {
      m_row_map = view(m_made.row_map);
      m_columns = view(m_made.columns);
    } else {
      m_row_map = upload(m_exec, m_reservation, "lutra::numeric::row_map of the part", m_made.row_map);
      m_columns = upload(m_exec, m_reservation, "lutra::numeric::columns of the part", m_made.columns);
    }
    if (symmetry) {
      m_opposite = upload(m_exec, m_reservation, "lutra::numeric::mirror images", opposite_entries(m_made));
      m_unsymmetric = allocate<decltype(m_unsymmetric)>("lutra::numeric::unsymmetric entry", 1);
    }
    std::vector<int> same(n);
    std::iota(same.begin(), same.end(), 0);
    const CsrPattern<int, std::int64_t, Kokkos::HostSpace> A{m_made.tree.n, m_made.tree.n,
                                                             view(m_made.row_map), view(m_made.columns)};
    const FrontEntries entries{A, same, same};
    const auto options = front_plan_options<Scalar, ExecutionSpace>();
    if constexpr (is_host_space<ExecutionSpace>)
      m_plan = plan_lu(m_exec, m_made.tree, entries, budget, options, A);
    else
      m_plan = plan_lu(m_exec, m_made.tree, entries, budget, options);
    const auto schedule =
        make_front_schedule<Scalar>(m_exec, m_plan, budget, default_device_model<ExecutionSpace>(), symmetry);
    if (is_host_space<ExecutionSpace> && before != nullptr) {
      m_factors.schedule = schedule;
      m_factors.state = before->m_factors.state;
    } else {
      m_factors = make_front_factors<Scalar>(m_exec, schedule, budget);
    }
  }

  /// Allocates what the first factorization needs.
  /// @throws OutOfMemoryError
  void allocate() { allocate_values(m_exec, m_plan, m_budget, m_factors); }
  /// Sets the symmetric interchanges of further factorizations; frees the values if these differ.
  /// @param threshold 0: none
  void set_interchanges(double threshold, Interchanges kind) {
    const auto& present = m_factors.interchanges;
    if (present ? threshold == present->threshold && kind == present->kind : threshold == 0) return;
    FrontFactors<Scalar, ExecutionSpace> fresh;
    fresh.schedule = m_factors.schedule;
    fresh.state = m_factors.state;
    if (threshold > 0) fresh.interchanges = {threshold, {}, kind};
    m_factors = fresh;
  }

  const ExecutionSpace& exec() const { return m_exec; }
  const FrontPartPlan& made() const { return m_made; }
  const std::optional<Symmetry>& symmetry() const { return m_symmetry; }
  const LuPlan<Memory>& plan() const { return m_plan; }
  /// Valid after `factorize`.
  const FrontFactors<Scalar, ExecutionSpace>& factors() const { return m_factors; }
  /// [n] scales of the rows and columns at each position
  const Kokkos::View<Real*, Memory>& row_scale() const { return m_row_scale; }
  const Kokkos::View<Real*, Memory>& col_scale() const { return m_col_scale; }
  /// The contribution block of a front, by columns.
  Kokkos::View<Scalar*, Memory> contribution(int f) const { return contribution_of(m_plan, m_factors, f); }

  /// Queues the search for the largest magnitude of the part's scaled entries.
  void queue_largest_entry(const Values& values) const {
    Kokkos::parallel_reduce(
        "lutra::numeric::largest_entry", Kokkos::RangePolicy<ExecutionSpace>(m_exec, 0, m_made.tree.n),
        LargestScaledEntry<Scalar, Memory>{m_row_map, m_columns, values, m_row_scale, m_col_scale},
        Kokkos::Max<double, Memory>(Kokkos::View<double, Memory>(m_largest.data())));
  }
  /// Queues the comparison of a symmetric matrix's entries.
  void queue_comparison(const Values& values) const {
    const auto entries = static_cast<std::int64_t>(m_opposite.extent(0));
    Kokkos::parallel_reduce(
        "lutra::numeric::unsymmetric entry",
        Kokkos::RangePolicy<ExecutionSpace, Kokkos::IndexType<std::int64_t>>(m_exec, 0, entries),
        UnsymmetricEntry<Scalar, Memory>{m_opposite, values, m_symmetry == Symmetry::hermitian},
        Kokkos::Min<std::int64_t, Memory>(Kokkos::View<std::int64_t, Memory>(m_unsymmetric.data())));
  }
  /// @throws InputError for what the last comparison has found, once its work is complete
  void require_symmetry() const {
    std::int64_t first = 0;
    Kokkos::deep_copy(first, Kokkos::View<const std::int64_t, Memory>(m_unsymmetric.data()));
    if (first >= static_cast<std::int64_t>(m_made.columns.size())) return;
    const auto row = std::ranges::upper_bound(m_made.row_map, first) - m_made.row_map.begin() - 1;
    throw InputError(std::string("matrix: it is not ") +
                     (m_symmetry == Symmetry::hermitian ? "Hermitian" : "symmetric") + ": row " +
                     std::to_string(at(m_made.user_row, row)) + ", column " +
                     std::to_string(at(m_made.user_column, at(m_made.columns, first))) +
                     " (counted from 0) differs from its mirror image");
  }
  /// What the last search has found, once its work is complete.
  double largest_entry() const {
    double found = 0;
    Kokkos::deep_copy(found, Kokkos::View<const double, Memory>(m_largest.data()));
    return std::max(found, 0.0);
  }

  /// Follows `allocate`. Does not wait on devices.
  /// @param values  entries of the part; contributions of foreign leaves must already be in place
  /// @param largest magnitude of the largest scaled entry of the whole matrix
  void factorize(const Values& values, double perturbation, double largest) {
    m_factors.min_largest_entry = largest;  // for the pivot threshold
    factorize_fronts<Scalar>(m_exec, m_plan, {values, m_row_scale, m_col_scale}, perturbation, m_factors,
                             m_perturbed);
    if (!m_symmetry) find_largest_factor();
  }
  /// As `factorize`, with other ranks by columns of the part's only front. Then this rank has L and its own
  /// columns, and the largest factor is not known.
  void factorize(const Values& values, double perturbation, double largest, const FrontShare& share,
                 DividedFrontMessages<Scalar>& messages) requires is_host_space<ExecutionSpace> {
    m_factors.min_largest_entry = largest;
    factorize_divided_front<Scalar>(m_exec, m_plan, {values, m_row_scale, m_col_scale}, perturbation,
                                    m_factors, m_perturbed, share, messages);
  }
  /// Queues the search for the largest factor.
  void find_largest_factor() const { lutra::find_largest_factor(m_exec, m_factors); }
  /// The panels of the last front.
  Scalar* last_panels() const {
    const auto& begin = m_plan.panel_layout.panels;
    return m_factors.panels.data() + begin[begin.size() - 2];
  }
  /// The outcome of the last factorization, once its work is complete. Of a symmetric matrix without
  /// `largest_factor`: see `inspect_pivots`.
  /// @throws TimeoutError
  FrontLuOutcome outcome() const {
    const auto outcome =
        make_uncounted<Kokkos::View<FrontLuOutcome, Kokkos::HostSpace>>("lutra::numeric::outcome");
    Kokkos::deep_copy(outcome, m_factors.outcome);
    if (outcome().stopped_front >= 0)
      throw TimeoutError("factorize: front " + std::to_string(outcome().stopped_front) +
                         " waited too long for its children, and the factorization was given up");
    return outcome();
  }

  /// Pivots of the last factorization of a symmetric matrix. Fences.
  DiagonalPivots inspect_pivots() const { return inspect_diagonal_pivots(m_exec, m_plan, m_factors); }

  /// Computes the rows and columns of this part's entries of L + U, as indices of F, if that was not done.
  /// Their pattern takes memory, which is freed again: best before `allocate`.
  /// @throws OutOfMemoryError
  void note_positions() {
    if (!m_source.empty()) return;
    Kokkos::View<const std::int64_t*, Memory> source;
    const auto pattern = pattern_of_fronts(m_exec, m_plan, m_budget, source);
    m_exec.fence("lutra::numeric: the pattern of the part is complete");
    const auto row_map = mirror_in<Kokkos::HostSpace>(pattern.row_map);
    const auto entries = mirror_in<Kokkos::HostSpace>(pattern.entries);
    const auto positions = mirror_in<Kokkos::HostSpace>(source);
    m_source.assign(positions.data(), positions.data() + positions.extent(0));
    for (int i = 0; i < m_made.tree.n; ++i) {
      for (auto p = row_map(i); p < row_map(i + 1); ++p) {
        rows.push_back(at(m_made.position, i));
        columns.push_back(at(m_made.position, entries(p)));
      }
    }
  }
  /// Appends L\U at `rows` and `columns` to `values`.
  void append_factors(std::vector<Scalar>& values) const {
    const auto panels = mirror_in<Kokkos::HostSpace>(m_factors.panels);
    const std::size_t first = values.size();
    values.resize(first + m_source.size());
    const std::int64_t* const source = m_source.data();
    Scalar* const to = values.data() + first;
    Kokkos::parallel_for(
        "lutra::numeric::factors_of_part",
        Kokkos::RangePolicy<Kokkos::DefaultHostExecutionSpace>(0, static_cast<std::int64_t>(m_source.size())),
        [=](const std::int64_t e) { to[e] = panels(source[e]); });
    Kokkos::DefaultHostExecutionSpace().fence("lutra::numeric: the factors of the part are there");
  }

  std::vector<std::int64_t> rows, columns;  ///< see note_positions

 private:
  template <class T>
  static Kokkos::View<const T*, Kokkos::HostSpace> view(const std::vector<T>& values) {
    return Kokkos::View<const T*, Kokkos::HostSpace>(values.data(), values.size());
  }
  template <class View>
  View allocate(const char* label, std::size_t size) {
    return m_reservation.template allocate<View>(m_exec, label, size);
  }

  ExecutionSpace m_exec;
  FrontPartPlan m_made;
  MemoryBudget m_budget;
  std::optional<Symmetry> m_symmetry;
  MemoryReservation m_reservation;
  Kokkos::View<Real*, Memory> m_row_scale, m_col_scale;
  Kokkos::View<unsigned char*, Memory> m_perturbed;
  Kokkos::View<double*, Memory> m_largest;               ///< [1] of the last search
  Kokkos::View<const std::int64_t*, Memory> m_opposite;  ///< of a symmetric matrix, like the next; else empty
  Kokkos::View<std::int64_t*, Memory> m_unsymmetric;     ///< [1] of the last comparison
  Kokkos::View<const std::int64_t*, Memory> m_row_map;   ///< like the next, of `m_made`
  Kokkos::View<const int*, Memory> m_columns;
  LuPlan<Memory> m_plan;
  FrontFactors<Scalar, ExecutionSpace> m_factors;
  std::vector<std::int64_t> m_source;  ///< [nnz] position in the panels of each entry of L + U by rows
};

}  // namespace lutra::Impl

#endif
