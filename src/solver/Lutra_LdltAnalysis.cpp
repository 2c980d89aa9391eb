// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_Numeric.hpp"

#include <cmath>
#include <type_traits>

#include "Lutra_AnalysisSteps.hpp"
#include "Lutra_At.hpp"
#include "Lutra_CheckLaunches.hpp"
#include "Lutra_CheckMatrix.hpp"
#include "Lutra_FixedCosts.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_Instantiate.hpp"
#include "Lutra_LdltAttempts.hpp"
#include "Lutra_LdltEngine.hpp"
#include "Lutra_MatrixProperties.hpp"
#include "Lutra_PivotCascade.hpp"
#include "Lutra_RunStage.hpp"
#include "Lutra_ScaleFit.hpp"
#include "Lutra_SymmetricOrder.hpp"
#include "Lutra_Timer.hpp"

namespace lutra {
namespace {

/// Returns whether an analysis was made for LDLᵀ with these options.
template <class Analysis>
bool is_of(const Analysis& analysis, const LdltOptions& options) {
  const auto* const own = std::get_if<LdltOptions>(&analysis.options);
  return own != nullptr && *own == options;
}

Report report_of(const LdltOptions& options) {
  Report report;
  report.choice.method = options.positive_definite ? "cholesky" : "ldlt";
  report.choice.engine = "multifrontal";
  report.choice.symbolic = "etree";
  report.choice.trisolve = "supernodal";
  report.choice.precond = "none";
  report.choice.pivot = name_of(options.pivoting);
  return report;
}

}  // namespace

namespace Impl {
namespace {

template <class Scalar, class Memory>
CsrView<Scalar, Ordinal, Offset, Memory> with_values(
    const CsrPattern<Ordinal, Offset, Memory>& pattern,
    const std::type_identity_t<Kokkos::View<const Scalar*, Memory>>& values) {
  return {pattern.n_rows, pattern.n_cols, pattern.row_map, pattern.entries, values};
}

/// Returns the former analysis with scales for these values. Returns null if their structural rank differs,
/// if the order of either has pairs, or if memory was short for pivots in place.
template <class Scalar, class ExecutionSpace>
std::shared_ptr<const Analysis<Scalar, ExecutionSpace>> with_scales_of(
    const ExecutionSpace& exec, const Analysis<Scalar, ExecutionSpace>& former,
    const CsrView<Scalar, Ordinal, Offset, typename ExecutionSpace::memory_space>& S,
    const LdltOptions& options, const MemoryBudget& budget) {
  const auto& plan = static_cast<const LdltEnginePlan<Scalar, ExecutionSpace>&>(*former.plan);
  if (former.paired || (plan.tries_in_place() && !plan.in_place)) return nullptr;
  const auto on_host = copy_to_host(exec, S);
  if (certain_cascade(on_host, former.row_front, options) > 0) return nullptr;
  Report report;
  auto matching = match_symmetric(exec, S, on_host, options, budget, report);
  if (report.structural_rank != former.report.structural_rank) return nullptr;
  return with_new_scales(exec, former, diagonal_matching(std::move(matching.scale)), report,
                         hash_of_values(exec, S.values), budget);
}

/// Returns whether `match_symmetric` has replaced the scales of the matching of these values, because they
/// differ too much. Neither kind serves all graded matrices: a pivot that is tiny with one may be the largest
/// entry of its row with the other.
template <class Scalar, class ExecutionSpace>
bool has_equilibrated_scales(const ExecutionSpace& exec, const Analysis<Scalar, ExecutionSpace>& former,
                             const CsrView<Scalar, Ordinal, Offset, typename ExecutionSpace::memory_space>& S,
                             LdltOptions options, const MemoryBudget& budget) {
  if (options.matching != Matching::automatic || former.report.structural_rank != former.n) return false;
  options.matching = Matching::exact;
  Report report;
  return !scales_suffice(match_symmetric(exec, S, copy_to_host(exec, S), options, budget, report).scale);
}

/// Returns the pivots to try first. Those of the diagonal fail if a row with a zero on the diagonal is
/// eliminated before all its neighbours, since its pivot is then zero. If memory is limited, it is reserved
/// for the fronts of L·D·Lᵀ, which are needed if the attempt fails.
/// @param order    rows in elimination order
/// @param streamed whether factors are streamed, which only those of pivots in place are
template <class ExecutionSpace, class Scalar>
LdltAttempt first_attempt(const CsrView<Scalar, Ordinal, Offset, Kokkos::HostSpace>& S,
                          const std::vector<Ordinal>& order, const LdltOptions& options,
                          bool streamed = false) {
#ifdef KOKKOS_ENABLE_CUDA
  const bool is_faster = std::is_same_v<ExecutionSpace, Kokkos::Cuda>;
#else
  const bool is_faster = false;
#endif
  const bool may = options.pivoting != Pivoting::static_perturbed;
  if (!may || !options.in_place_first.value_or(streamed || (is_faster && options.memory_limit == 0)))
    return LdltAttempt::delays;
  std::vector<Ordinal> position(order.size());
  for (std::size_t k = 0; k < order.size(); ++k) at(position, order[k]) = static_cast<Ordinal>(k);
  for (Ordinal i = 0; i < S.n_rows; ++i) {
    bool has_pivot = false;
    for (Offset e = S.row_map(i); e < S.row_map(i + 1) && !has_pivot; ++e)
      has_pivot = S.values(e) != Scalar(0) && at(position, S.entries(e)) <= at(position, i);
    if (!has_pivot) return options.pivoting == Pivoting::threshold ? LdltAttempt::pairs : LdltAttempt::delays;
  }
  return LdltAttempt::diagonal;
}

/// Order of a symmetric matrix and the assembly tree in that order.
struct OrderedTree {
  PivotOrder pivots;
  AssemblyTree tree;
  std::vector<Ordinal> front;  ///< [n] front of each of the user's rows
};

template <class Scalar, class ExecutionSpace>
OrderedTree order_and_build_tree(
    const ExecutionSpace& exec,
    const CsrView<Scalar, Ordinal, Offset, typename ExecutionSpace::memory_space>& S,
    const CsrView<Scalar, Ordinal, Offset, Kokkos::HostSpace>& on_host, const SymmetricMatching& matching,
    const LdltOptions& options, const MemoryBudget& budget, Report& report) {
  auto pivots = [&] {
    const RunStage stage(budget, "ordering");
    return order_symmetric_pivots<ExecutionSpace>(on_host, matching, options, budget.run(), report);
  }();
  const RunStage stage(budget, "symbolic");
  const StageTimer timer(exec, true);
  auto tree = build_tree(exec, S.pattern(), on_host.pattern(), pivots, budget);
  auto front = fronts_of_rows(tree, pivots.columns);
  report.times.symbolic = timer.seconds();
  return {std::move(pivots), std::move(tree), std::move(front)};
}

/// As order_and_build_tree, but if delayed pivots are certain to cascade, orders again with pairs and sets
/// that option. The times are those of both orders.
template <class Scalar, class ExecutionSpace>
OrderedTree order_without_cascade(
    const ExecutionSpace& exec,
    const CsrView<Scalar, Ordinal, Offset, typename ExecutionSpace::memory_space>& S,
    const CsrView<Scalar, Ordinal, Offset, Kokkos::HostSpace>& on_host, const SymmetricMatching& matching,
    LdltOptions& options, const MemoryBudget& budget, Report& report) {
  const auto order = [&](Report& to) {
    return order_and_build_tree(exec, S, on_host, matching, options, budget, to);
  };
  Report first = report;
  auto ordered = order(first);
  const std::int64_t delayed = certain_cascade(on_host, ordered.front, options);
  if (delayed == 0) {
    report = std::move(first);
    return ordered;
  }
  options.pair_ordering = true;
  ordered = order(report);
  *report.times.ordering += *first.times.ordering;
  *report.times.symbolic += *first.times.symbolic;
  add_reason(report, "matched rows side by side: otherwise " + std::to_string(delayed) +
                         " columns with a zero on the diagonal would be delayed");
  return ordered;
}

/// Computes scaling, order and assembly tree, with its contribution rows. May set the option of pairs.
/// @param bordered whether the order ends with a border, so that it may not change
template <class Scalar, class ExecutionSpace>
OrderedTree scale_and_order(const ExecutionSpace& exec,
                            const CsrView<Scalar, Ordinal, Offset, typename ExecutionSpace::memory_space>& S,
                            const CsrView<Scalar, Ordinal, Offset, Kokkos::HostSpace>& on_host, bool bordered,
                            LdltOptions& options, const MemoryBudget& budget, Report& report) {
  const auto matching = match_symmetric(exec, S, on_host, options, budget, report);
  auto ordered = bordered ? order_and_build_tree(exec, S, on_host, matching, options, budget, report)
                          : order_without_cascade(exec, S, on_host, matching, options, budget, report);
  const RunStage stage(budget, "symbolic");
  const StageTimer timer(exec, true);
  collect_rows(ordered.pivots, ordered.tree);
  ordered.pivots.reorder(ordered.tree.order);
  *report.times.symbolic += timer.seconds();
  return ordered;
}

}  // namespace

template <class Scalar, class ExecutionSpace>
SymmetricOrder order_symmetric_matrix(const ExecutionSpace& exec,
                                      const CsrView<Scalar, Ordinal, Offset, Kokkos::HostSpace>& A,
                                      LdltOptions options, const MemoryBudget& budget, Report& report) {
  using Memory = typename ExecutionSpace::memory_space;
  if (options.ordering == Ordering::user) check_permutation(options.user_permutation, A.n_rows);
  options.in_place_first = true;
  const CsrView<Scalar, Ordinal, Offset, Memory> in_space{
      A.n_rows, A.n_cols, Kokkos::create_mirror_view_and_copy(Memory(), A.row_map),
      Kokkos::create_mirror_view_and_copy(Memory(), A.entries),
      Kokkos::create_mirror_view_and_copy(Memory(), A.values)};
  const auto filled = fill_triangles(exec, A.pattern(), Triangle::both, budget);
  check_symmetry(exec, in_space, filled, options.symmetry);
  MemoryReservation scratch(budget);
  const auto values = scratch.template allocate<Kokkos::View<Scalar*, Memory>>(
      exec, "lutra::solver::S_values", filled.source.extent(0));
  gather_triangles<Scalar>(exec, filled, options.symmetry, in_space.values, values);
  const auto S = with_values<Scalar>(filled.pattern, values);
  const auto on_host = copy_to_host(exec, S);
  report = report_of(options);
  auto [pivots, tree, front] = scale_and_order(exec, S, on_host, false, options, budget, report);
  const auto first = first_attempt<ExecutionSpace>(on_host, pivots.columns, options);
  std::vector<double> diagonal(static_cast<std::size_t>(A.n_rows), 1.0);  // as scale_by_diagonal
  for (Ordinal i = 0; i < A.n_rows; ++i) {
    for (Offset e = on_host.row_map(i); e < on_host.row_map(i + 1); ++e) {
      const auto size = static_cast<double>(ScalarTraits<Scalar>::magnitude(on_host.values(e)));
      if (on_host.entries(e) == i && size > 0) at(diagonal, i) = 1 / std::sqrt(size);
    }
  }
  return {std::move(pivots), std::move(tree), first, std::move(diagonal)};
}

/// Computes the scaling, ordering, assembly tree and plan of a symmetric matrix. Fences.
/// @param S       checked matrix with both triangles; the analysis shares its pattern
/// @param options options as for plan_ldlt_engine
/// @param border  border of S, or null; the plan includes it if S has full structural rank
/// @throws OutOfMemoryError
template <class Scalar, class ExecutionSpace>
void analyze_symmetric(const ExecutionSpace& exec,
                       const CsrView<Scalar, Ordinal, Offset, typename ExecutionSpace::memory_space>& S,
                       LdltOptions options, const MemoryBudget& budget,
                       Analysis<Scalar, ExecutionSpace>& analysis,
                       const std::shared_ptr<Border<Scalar, ExecutionSpace>>& border = {}) {
  const std::size_t used_before = budget.used_bytes();
  analysis.n = S.n_rows;
  analysis.value_hash = hash_of_values(exec, S.values);
  Report& report = analysis.report = report_of(options);
  report.choice.device_model = options.device_model.value_or(default_device_model<ExecutionSpace>()).name;
  const auto on_host = copy_to_host(exec, S);
  analysis.zero_diagonals = static_cast<Ordinal>(count_zero_diagonals(on_host));
  auto ordered = scale_and_order(exec, S, on_host, border != nullptr, options, budget, report);
  PivotOrder& pivots = ordered.pivots;
  AssemblyTree& tree = ordered.tree;
  analysis.paired = options.pair_ordering;
  analysis.row_front = std::move(ordered.front);
  const RunStage stage(budget, "levelization");
  const StageTimer timer(exec, true);
  analysis.reservation = MemoryReservation(budget);
  upload_scales(exec, pivots.matching, analysis);
  analysis.F.reservation = MemoryReservation(budget);
  analysis.F.A = S.pattern();
  analysis.F.row_order = analysis.F.col_order =
      upload(exec, analysis.F.reservation, "lutra::solver::order", pivots.columns);
  const bool streamed = streams_ldlt<Scalar>(exec, options, tree, budget);
  const bool bordered = analysis.bordered = border && report.structural_rank.value_or(S.n_rows) == S.n_rows;
  const auto plan = [&](const auto& F, auto&& fronts, const auto& entries) {
    return plan_ldlt_engine<Scalar, ExecutionSpace>(
        exec, F, std::forward<decltype(fronts)>(fronts), entries, options,
        bordered ? LdltAttempt::delays
                 : first_attempt<ExecutionSpace>(on_host, pivots.columns, options, streamed),
        report.structural_rank, budget, bordered ? border : nullptr);
  };
  analysis.plan = bordered ? plan_bordered(exec, *border, pivots, tree, budget, plan)
                           : plan(analysis.F, std::move(tree),
                                  FrontEntries{on_host.pattern(), pivots.columns, pivots.columns});
  report.times.levelization = timer.seconds();
  if (!analysis.plan->storage_reason.empty()) add_reason(report, analysis.plan->storage_reason);
  const auto height = report.factors.tree_height;
  report.factors = analysis.plan->counts;
  report.factors.tree_height = height;
  report.factors.levels = static_cast<std::int64_t>(analysis.plan->level_widths.size());
  report.factors.fill_ratio = static_cast<double>(*report.factors.nnz_l) / static_cast<double>(S.nnz());
  analysis.held_bytes = analysis.symmetric->S.reservation.bytes() + bytes_since(used_before, budget);
  report.memory.forecast = analysis.forecast();
  wait_for(exec, "lutra::solver: the analysis is complete for other instances");
}

}  // namespace Impl

template <class Scalar, class ExecutionSpace>
auto Impl::analyze_checked(const ExecutionSpace& exec, const DeviceMatrix<Scalar, ExecutionSpace>& A,
                           const LdltOptions& given, const MemoryBudget& budget,
                           const Analysis<Scalar, ExecutionSpace>* former,
                           const std::shared_ptr<Border<Scalar, ExecutionSpace>>& border)
    -> AnalysisPointer<Scalar, ExecutionSpace> {
  const LdltOptions options = Impl::with_fixed_costs<ExecutionSpace>(given);
  if (options.ordering == Ordering::user) check_permutation(options.user_permutation, A.n_rows);
  if (options.front_pivoting != FrontPivoting::automatic && !Impl::is_host_space<ExecutionSpace>)
    throw InputError("options: front_pivoting is of hosts; devices pivot by blocks in large fronts");
  const LdltOptions chosen = Impl::completed(options);
  auto analysis = std::make_shared<Analysis<Scalar, ExecutionSpace>>();
  analysis->options = options;
  auto& input = analysis->symmetric.emplace();
  input.symmetry = chosen.symmetry;
  const bool same = former && is_of(*former, options) &&
                    Impl::has_pattern(exec, A, former->symmetric->A, budget, options.triangle);
  if (same) {
    input.S = former->symmetric->S;
    input.A = former->symmetric->A;
  } else {
    const auto host_A = Impl::copy_to_host(exec, A);
    input.S = fill_triangles(exec, host_A.pattern(), options.triangle, budget);
    input.A = Impl::copy_pattern(exec, input.S.reservation, A.pattern());
  }
  check_symmetry(exec, A, input.S, chosen.symmetry);
  MemoryReservation scratch(budget);
  const auto values = scratch.template allocate<Kokkos::View<Scalar*, typename ExecutionSpace::memory_space>>(
      exec, "lutra::solver::S_values", input.S.source.extent(0));
  gather_triangles<Scalar>(exec, input.S, chosen.symmetry, A.values, values);
  const auto S = Impl::with_values<Scalar>(input.S.pattern, values);
  if (same)
    if (auto rescaled = Impl::with_scales_of(exec, *former, S, chosen, budget)) return rescaled;
  Impl::analyze_symmetric<Scalar>(exec, S, chosen, budget, *analysis, border);
  return analysis;
}

template <class Scalar, class ExecutionSpace>
std::shared_ptr<const Analysis<Scalar, ExecutionSpace>> Impl::renew_symmetric(
    const ExecutionSpace& exec, const Analysis<Scalar, ExecutionSpace>& former,
    const Kokkos::View<const Scalar*, typename ExecutionSpace::memory_space>& values,
    const MemoryBudget& budget) {
  LdltOptions chosen = Impl::completed(std::get<LdltOptions>(former.options));
  const auto S = with_values<Scalar>(former.symmetric->S.pattern, values);
  if (hash_of_values(exec, values) == former.value_hash) {
    if (!has_equilibrated_scales(exec, former, S, chosen, budget)) return nullptr;
    chosen.matching = Matching::exact;
  }
  if (auto rescaled = with_scales_of(exec, former, S, chosen, budget)) return rescaled;
  auto analysis = std::make_shared<Analysis<Scalar, ExecutionSpace>>();
  analysis->options = former.options;
  analysis->symmetric = former.symmetric;
  analyze_symmetric<Scalar>(exec, S, chosen, budget, *analysis);
  return analysis;
}

template <class Scalar, class ExecutionSpace>
std::shared_ptr<const Analysis<Scalar, ExecutionSpace>> Impl::with_paired_order(
    const ExecutionSpace& exec, const Analysis<Scalar, ExecutionSpace>& former,
    const Kokkos::View<const Scalar*, typename ExecutionSpace::memory_space>& values, double pivot_threshold,
    const MemoryBudget& budget) {
  LdltOptions options = Impl::completed(std::get<LdltOptions>(former.options));
  options.pair_ordering = true;
  options.pivot_threshold = pivot_threshold;
  if (options.matching == Matching::none) options.matching = Matching::automatic;
  auto analysis = std::make_shared<Analysis<Scalar, ExecutionSpace>>();
  analysis->options = options;
  analysis->symmetric = former.symmetric;
  analyze_symmetric<Scalar>(exec, with_values<Scalar>(former.symmetric->S.pattern, values), options, budget,
                            *analysis);
  return analysis;
}

#define LUTRA_ANALYZE_LDLT(Scalar, Space)                                                              \
  template Impl::AnalysisPointer<Scalar, Space> Impl::analyze_checked<Scalar, Space>(                  \
      const Space&, const Impl::DeviceMatrix<Scalar, Space>&, const LdltOptions&, const MemoryBudget&, \
      const Analysis<Scalar, Space>*, const std::shared_ptr<Impl::Border<Scalar, Space>>&);            \
  template std::shared_ptr<const Analysis<Scalar, Space>> Impl::renew_symmetric(                       \
      const Space&, const Analysis<Scalar, Space>&,                                                    \
      const Kokkos::View<const Scalar*, typename Space::memory_space>&, const MemoryBudget&);          \
  template std::shared_ptr<const Analysis<Scalar, Space>> Impl::with_paired_order(                     \
      const Space&, const Analysis<Scalar, Space>&,                                                    \
      const Kokkos::View<const Scalar*, typename Space::memory_space>&, double, const MemoryBudget&);
LUTRA_FOR_EACH_SCALAR_AND_SPACE(LUTRA_ANALYZE_LDLT)

#define LUTRA_SYMMETRIC_ORDER(Scalar, Space)                                                 \
  template Impl::SymmetricOrder Impl::order_symmetric_matrix<Scalar, Space>(                 \
      const Space&, const CsrView<Scalar, Ordinal, Offset, Kokkos::HostSpace>&, LdltOptions, \
      const MemoryBudget&, Report&);
LUTRA_FOR_EACH_SCALAR_AND_SPACE(LUTRA_SYMMETRIC_ORDER)

}  // namespace lutra
