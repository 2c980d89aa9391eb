// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_LuAnalysis.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>

#include "Lutra_Auction.hpp"
#include "Lutra_ExecutionTraits.hpp"
#include "Lutra_Instantiate.hpp"
#include "Lutra_LuPermute.hpp"
#include "Lutra_LuTriangularSolves.hpp"
#include "Lutra_Timer.hpp"

namespace lutra {
namespace {

/// Says why a choice was made.
void add_reason(Report& report, const std::string& reason) {
  report.choice.why += (report.choice.why.empty() ? "" : "; ") + reason;
}

/// Where pivots come from, on the host: rows matched to columns, scales, elimination order of the columns.
template <class Ordinal>
struct PivotOrder {
  MatchingResult<Ordinal> matching;
  std::vector<Ordinal> columns;  ///< [n] user's columns in elimination order
  std::vector<Ordinal> rows;     ///< [n] user's rows matched to them

  PivotOrder(MatchingResult<Ordinal> matched, std::vector<Ordinal> ordered)
      : matching(std::move(matched)), columns(std::move(ordered)) {
    rows.reserve(columns.size());
    for (const Ordinal column : columns)
      rows.push_back(matching.row_of_column[static_cast<std::size_t>(column)]);
  }
  /// Another order of the same pivots.
  void reorder(const std::vector<Ordinal>& order) {
    std::vector<Ordinal> ordered;
    ordered.reserve(order.size());
    for (const Ordinal place : order) ordered.push_back(columns[static_cast<std::size_t>(place)]);
    *this = PivotOrder(std::move(matching), std::move(ordered));
  }
};

template <class Ordinal>
MatchingResult<Ordinal> unmatched_identity(Ordinal n) {
  MatchingResult<Ordinal> result;
  result.row_of_column.resize(static_cast<std::size_t>(n));
  std::iota(result.row_of_column.begin(), result.row_of_column.end(), Ordinal(0));
  result.row_scale.assign(static_cast<std::size_t>(n), 1.0);
  result.col_scale.assign(static_cast<std::size_t>(n), 1.0);
  return result;
}

/// Rows and columns a matching of the pattern leaves over, as the report names them.
template <class Ordinal>
void report_structural_singularity(const std::vector<Ordinal>& row_of_column, Report& report) {
  std::vector<char> used(row_of_column.size(), 0);
  for (std::size_t j = 0; j < row_of_column.size(); ++j) {
    if (row_of_column[j] < 0) {
      report.singular_columns.push_back(static_cast<std::int64_t>(j));
    } else {
      used[static_cast<std::size_t>(row_of_column[j])] = 1;
    }
  }
  for (std::size_t i = 0; i < used.size(); ++i) {
    if (!used[i]) report.singular_rows.push_back(static_cast<std::int64_t>(i));
  }
  report.status = Status::structurally_singular;
}

/// The matching by auction, and what the report tells of it.
template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
MatchingResult<Ordinal> match_by_auction(
    const ExecutionSpace& exec,
    const CsrView<Scalar, Ordinal, Offset, typename ExecutionSpace::memory_space>& A,
    const MemoryBudget& budget, Report& report) {
  AuctionStatistics properties;
  auto result = match_auction(exec, A, budget, {}, &properties);
  const double mean =
      std::exp(-properties.log_loss_bound / static_cast<double>(std::max(A.n_rows, Ordinal(1))));
  char text[160];
  std::snprintf(text, sizeof text,
                "auction: rounds %d, phases %d, rows left to paths %lld, geometric mean of the diagonal at "
                "least %.3f of the greatest",
                properties.rounds, properties.phases, static_cast<long long>(properties.left_to_paths), mean);
  add_reason(report, text);
  report.choice.matching = "auction";
  return result;
}

/// Matching and scaling as the options ask. Empty where the pattern is structurally singular.
/// @param on_host a copy of A
template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
std::optional<MatchingResult<Ordinal>> match(
    const ExecutionSpace& exec,
    const CsrView<Scalar, Ordinal, Offset, typename ExecutionSpace::memory_space>& A,
    const CsrView<Scalar, Ordinal, Offset, Kokkos::HostSpace>& on_host, Matching option,
    const MemoryBudget& budget, Report& report) {
  const Ordinal n = A.n_rows;
  std::vector<Ordinal> transversal;
  MatchingResult<Ordinal> result;
  if (option == Matching::none) {
    result = unmatched_identity(n);
    result.structural_rank = result.numeric_rank_bound = maximum_transversal(on_host.pattern(), &transversal);
    report.choice.matching = "none";
  } else {
    result = option == Matching::auction ? match_by_auction(exec, A, budget, report) : match_exact(on_host);
    if (option != Matching::auction) report.choice.matching = "exact";
    if (option == Matching::automatic)
      add_reason(report, "exact matching: large entries on the diagonal spare pivoting");
    if (result.numeric_rank_bound < n) {  // these values admit none, others on the pattern may
      maximum_transversal(on_host.pattern(), &transversal);
      result.row_scale.assign(static_cast<std::size_t>(n), 1.0);
      result.col_scale.assign(static_cast<std::size_t>(n), 1.0);
      result.row_of_column = transversal;
    }
  }
  report.structural_rank = result.structural_rank;
  if (result.structural_rank == n) return result;
  report_structural_singularity(transversal, report);
  return std::nullopt;
}

/// The pattern with matched entries on the diagonal: row j is A's row matched to column j.
template <class Ordinal, class Offset>
HostMatrix<char, Ordinal, Offset> permute_rows(const CsrPattern<Ordinal, Offset, Kokkos::HostSpace>& A,
                                               const std::vector<Ordinal>& row_of_column) {
  HostMatrix<char, Ordinal, Offset> result;
  result.n_rows = result.n_cols = A.n_rows;
  result.row_map.reserve(row_of_column.size() + 1);
  result.row_map.push_back(0);
  result.entries.reserve(A.entries.extent(0));
  for (const Ordinal row : row_of_column) {
    for (Offset p = A.row_map(row); p < A.row_map(row + 1); ++p) result.entries.push_back(A.entries(p));
    result.row_map.push_back(static_cast<Offset>(result.entries.size()));
  }
  return result;
}

std::string_view name_of(Ordering ordering) {
  switch (ordering) {
    case Ordering::metis:
      return "metis";
    case Ordering::amd:
      return "amd";
    case Ordering::user:
      return "user";
    default:
      return "natural";
  }
}

/// Elimination order of the user's columns.
template <class Ordinal, class Offset>
std::vector<Ordinal> order_columns(const CsrPattern<Ordinal, Offset, Kokkos::HostSpace>& A,
                                   const MatchingResult<Ordinal>& matching, const LuOptions& options,
                                   Report& report) {
  report.choice.ordering = name_of(options.ordering);
  if (options.ordering == Ordering::user) {
    return std::vector<Ordinal>(options.user_permutation.begin(), options.user_permutation.end());
  }
  const auto matched = permute_rows(A, matching.row_of_column);
  auto result = order(make_view(matched).pattern(), options.ordering);
  report.choice.ordering = name_of(result.kind);
  if (options.ordering == Ordering::automatic) add_reason(report, result.why);
  return std::move(result.permutation);
}

template <class Scalar, class Ordinal, class Offset, class Memory>
CsrView<Scalar, Ordinal, Offset, Kokkos::HostSpace> copy_to_host(
    const CsrView<Scalar, Ordinal, Offset, Memory>& A) {
  const Kokkos::HostSpace host;
  return {A.n_rows, A.n_cols, Kokkos::create_mirror_view_and_copy(host, A.row_map),
          Kokkos::create_mirror_view_and_copy(host, A.entries),
          Kokkos::create_mirror_view_and_copy(host, A.values)};
}

/// Matching and ordering, timed. Empty where the pattern is structurally singular.
/// @param on_host a copy of A
template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
std::optional<PivotOrder<Ordinal>> choose_pivots(
    const ExecutionSpace& exec,
    const CsrView<Scalar, Ordinal, Offset, typename ExecutionSpace::memory_space>& A,
    const CsrView<Scalar, Ordinal, Offset, Kokkos::HostSpace>& on_host, const LuOptions& options,
    const MemoryBudget& budget, Report& report) {
  Kokkos::Timer timer;
  auto matching = match(exec, A, on_host, options.matching, budget, report);
  report.times.matching = timer.seconds();
  if (!matching) return std::nullopt;
  timer.reset();
  auto columns = order_columns(on_host.pattern(), *matching, options, report);
  report.times.ordering = timer.seconds();
  return PivotOrder<Ordinal>(std::move(*matching), std::move(columns));
}

/// Puts orders and scales into device memory.
template <class Analysis, class ExecutionSpace, class Ordinal>
void upload_pivot_order(const ExecutionSpace& exec, const PivotOrder<Ordinal>& pivots, Analysis& analysis) {
  using Real = typename Analysis::Real;
  const std::vector<Real> row_scale(pivots.matching.row_scale.begin(), pivots.matching.row_scale.end());
  const std::vector<Real> col_scale(pivots.matching.col_scale.begin(), pivots.matching.col_scale.end());
  analysis.row_order = Impl::upload(exec, analysis.reservation, "lutra::driver::row_order", pivots.rows);
  analysis.col_order = Impl::upload(exec, analysis.reservation, "lutra::driver::col_order", pivots.columns);
  analysis.row_scale = Impl::upload(exec, analysis.reservation, "lutra::driver::row_scale", row_scale);
  analysis.col_scale = Impl::upload(exec, analysis.reservation, "lutra::driver::col_scale", col_scale);
}

/// Whether solves read the fronts' panels, or L and U by rows.
bool solves_on_fronts(const LuOptions& options, Engine engine) {
  return engine == Engine::multifrontal && options.solve_precision == FactorPrecision::working &&
         (options.trisolve == TrisolveMethod::automatic || options.trisolve == TrisolveMethod::supernodal);
}

/// Plans of the triangular solves, and what was chosen for them.
template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
void plan_solves(const ExecutionSpace& exec, const LuOptions& options, const MemoryBudget& budget,
                 LuAnalysis<Scalar, Ordinal, Offset, ExecutionSpace>& analysis, Report& report) {
  using Triangles = Impl::LuTriangularSolves<Scalar, Ordinal, Offset, ExecutionSpace>;
  if (solves_on_fronts(options, analysis.engine)) {
    using Solver = FrontSolver<Scalar, Ordinal, Offset, ExecutionSpace>;
    FrontSolverOptions on_fronts;
    on_fronts.interchanges = options.pivoting == Pivoting::threshold;
    analysis.front_solver = std::make_shared<Solver>(exec, analysis.fronts, budget, on_fronts);
    report.choice.trisolve = name_of(TrisolveMethod::supernodal);
    if (options.trisolve == TrisolveMethod::automatic)
      add_reason(report, "solves: on the fronts, which spares a copy of the factors by rows");
    return;
  }
  TriangularOptions triangular;
  triangular.method = options.trisolve;
  triangular.precision = options.solve_precision;
  analysis.triangles = std::make_shared<Triangles>(exec, analysis.plan, analysis.row_order,
                                                   analysis.col_order, triangular, budget);
  const auto& chosen = analysis.triangles->upper_report();
  report.choice.trisolve = name_of(chosen.method);
  if (options.trisolve == TrisolveMethod::automatic) add_reason(report, "solves: " + chosen.why);
}

void report_counts(Report& report, std::int64_t nnz_l, std::int64_t nnz_u, std::int64_t nnz_a, double flops,
                   std::size_t levels) {
  report.factors.nnz_l = nnz_l;
  report.factors.nnz_u = nnz_u;
  report.factors.fill_ratio =
      nnz_a > 0 ? static_cast<double>(nnz_l + nnz_u) / static_cast<double>(nnz_a) : 0.0;
  report.factors.flops = flops;
  report.factors.levels = static_cast<std::int64_t>(levels);
}

/// The pattern of F on the host, rows sorted.
template <class Ordinal, class Offset>
HostMatrix<char, Ordinal, Offset> permuted_pattern(const CsrPattern<Ordinal, Offset, Kokkos::HostSpace>& A,
                                                   const PivotOrder<Ordinal>& pivots) {
  std::vector<Ordinal> place(pivots.columns.size());
  for (std::size_t k = 0; k < place.size(); ++k)
    place[static_cast<std::size_t>(pivots.columns[k])] = static_cast<Ordinal>(k);
  HostMatrix<char, Ordinal, Offset> result;
  result.n_rows = result.n_cols = A.n_rows;
  result.row_map.push_back(0);
  result.entries.reserve(A.entries.extent(0));
  for (const Ordinal row : pivots.rows) {
    for (Offset p = A.row_map(row); p < A.row_map(row + 1); ++p)
      result.entries.push_back(place[static_cast<std::size_t>(A.entries(p))]);
    std::sort(result.entries.begin() + static_cast<std::ptrdiff_t>(result.row_map.back()),
              result.entries.end());
    result.row_map.push_back(static_cast<Offset>(result.entries.size()));
  }
  return result;
}

/// The tree of fronts, on devices by their threads where there is room.
/// @param on_host a copy of A
template <class Ordinal, class Offset, class ExecutionSpace>
AssemblyTree<Ordinal> build_tree(const ExecutionSpace& exec,
                                 const CsrPattern<Ordinal, Offset, typename ExecutionSpace::memory_space>& A,
                                 const CsrPattern<Ordinal, Offset, Kokkos::HostSpace>& on_host,
                                 const PivotOrder<Ordinal>& pivots, const MemoryBudget& budget) {
  if constexpr (!Impl::is_host_space<ExecutionSpace>) {
    try {
      if (A.n_rows < std::numeric_limits<int>::max())
        return make_assembly_tree(exec, A, pivots.rows, pivots.columns, budget);
    } catch (const OutOfMemoryError&) {  // the host has room
    }
  }
  return make_assembly_tree(make_view(permuted_pattern(on_host, pivots)).pattern());
}

/// Fronts bring an order and a pattern of their own.
bool may_take_fronts(const LuOptions& options) {
  return options.engine == Engine::multifrontal || options.pivoting == Pivoting::threshold ||
         (options.engine == Engine::automatic && options.ordering != Ordering::user &&
          options.symbolic == SymbolicMethod::automatic);
}

/// Rows worked on hosts profit from an equivalent order in which rows of like patterns stand together.
template <class ExecutionSpace>
bool wants_tree_order(const LuOptions& options) {
  return Impl::is_host_space<ExecutionSpace> && options.ordering != Ordering::user &&
         options.ordering != Ordering::natural;
}

/// Numbers of L + U as fronts store them.
template <class Ordinal>
double numbers_of_panels(const AssemblyTree<Ordinal>& tree) {
  double numbers = 0;
  for (std::size_t f = 0; f < tree.parent.size(); ++f) {
    const auto pivots = static_cast<double>(tree.pivot_begin[f + 1] - tree.pivot_begin[f]);
    numbers += pivots * (pivots + 2 * static_cast<double>(tree.row_begin[f + 1] - tree.row_begin[f]));
  }
  return numbers;
}

/// What the multifrontal engine keeps for values.
template <class Scalar, class Offset, class Ordinal, class ExecutionSpace>
double bytes_of_fronts(const ExecutionSpace& exec, const LuOptions& options,
                       const AssemblyTree<Ordinal>& tree) {
  const FrontSizes sizes = sizes_of_fronts<Scalar, Offset>(exec, tree);
  const double numbers = static_cast<double>(sizes.panels) + static_cast<double>(sizes.contributions) +
                         static_cast<double>(sizes.inverses);
  // solves by triangles take the factors by rows beside the panels: values, columns, the way to the panels
  const std::size_t by_rows =
      solves_on_fronts(options, Engine::multifrontal) ? 0 : sizeof(Scalar) + sizeof(Ordinal) + sizeof(Offset);
  return sizeof(Scalar) * numbers + static_cast<double>(by_rows) * static_cast<double>(sizes.panels);
}

/// The engine asked for, or the one foreseen to be faster.
template <class Scalar, class Offset, class Ordinal, class ExecutionSpace>
Engine choose_engine(const ExecutionSpace& exec, const LuOptions& options, const AssemblyTree<Ordinal>& tree,
                     const MemoryBudget& budget, Report& report) {
  if (options.engine != Engine::automatic) return options.engine;
  if (options.pivoting == Pivoting::threshold) {
    add_reason(report, "multifrontal engine: threshold pivoting works in its fronts");
    return Engine::multifrontal;
  }
  if (!may_take_fronts(options)) {
    add_reason(report, "simplicial engine: it keeps the ordering and the symbolic method asked for");
    return Engine::simplicial;
  }
  // On hosts rows win until fronts have much to do for each number they store, the zeros of amalgamation and
  // of a pattern made symmetric among them. On devices the simplicial engine pays launches for each of its
  // levels, fronts pay two in all. Measured on circuits, power flow, memory chips and grids, on one host
  // thread and on an H200 (docs/numeric.md).
  constexpr double min_flops_a_number = 40;
  const double numbers = numbers_of_panels(tree);
  const bool enough_work = !Impl::is_host_space<ExecutionSpace> || tree.flops >= min_flops_a_number * numbers;
  const bool fits = budget.limit_bytes() == 0 || bytes_of_fronts<Scalar, Offset>(exec, options, tree) <
                                                     static_cast<double>(budget.available_bytes());
  const Engine engine = enough_work && fits ? Engine::multifrontal : Engine::simplicial;
  add_reason(
      report,
      std::string(name_of(engine)) + " engine: fronts would " +
          (enough_work && !fits
               ? "not fit into the memory limit"
               : "do " + std::to_string(static_cast<std::int64_t>(numbers > 0 ? tree.flops / numbers : 0)) +
                     " operations a number they store"));
  return engine;
}

/// The plan for rows, and what the report tells of it.
template <class Scalar, class Ordinal, class Offset, class ExecutionSpace, class Filled>
void plan_rows(const ExecutionSpace& exec, const MemoryBudget& budget, const Filled& filled,
               const CsrPattern<Ordinal, Offset, typename ExecutionSpace::memory_space>& F,
               LuAnalysis<Scalar, Ordinal, Offset, ExecutionSpace>& analysis) {
  analysis.row_plan = plan_up_looking_lu(exec, filled, F, budget);
  analysis.plan.rows = filled;
  analysis.plan.flops = analysis.row_plan.flops;
  auto& level_map = analysis.plan.levels.level_map;
  level_map.assign(1, 0);
  for (const Ordinal width : analysis.row_plan.level_widths) level_map.push_back(level_map.back() + width);
}

/// Symbolic factorization, levels and places of A's entries for the simplicial engine.
template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
void plan_columns(const ExecutionSpace& exec, const LuOptions& options, const MemoryBudget& budget,
                  LuAnalysis<Scalar, Ordinal, Offset, ExecutionSpace>& analysis, Report& report) {
  Impl::StageTimer symbolic_timer(exec);
  constexpr bool on_host = Impl::is_host_space<ExecutionSpace>;
  LuPattern<Ordinal, Offset, typename ExecutionSpace::memory_space> filled;
  CsrPattern<Ordinal, Offset, typename ExecutionSpace::memory_space> permuted;
  {
    MemoryReservation scratch(budget);
    permuted = Impl::permute_pattern(exec, on_host ? analysis.reservation : scratch, analysis.pattern,
                                     analysis.row_order, analysis.col_order);
    filled = factorize_symbolic(exec, permuted, budget, {options.symbolic});
    if constexpr (!on_host) permuted = {};
  }
  report.choice.symbolic = name_of(filled.method);
  if (!filled.why.empty()) add_reason(report, filled.why);
  report.times.symbolic = symbolic_timer.seconds();
  Impl::StageTimer levelization_timer(exec);
  if constexpr (on_host) {
    plan_rows(exec, budget, filled, permuted, analysis);
  } else {
    analysis.plan = plan_right_looking_lu(exec, filled, budget);
    analysis.target = Impl::locate_entries(exec, analysis.reservation, budget, analysis);
  }
  report.times.levelization = levelization_timer.seconds();
}

/// Fronts and their plan for the multifrontal engine; for solves by triangles the pattern of L + U as the
/// fronts store it.
template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
void plan_multifrontal(const ExecutionSpace& exec,
                       const CsrPattern<Ordinal, Offset, Kokkos::HostSpace>& A_on_host,
                       const AssemblyTree<Ordinal>& tree, const PivotOrder<Ordinal>& pivots,
                       const LuOptions& options, const MemoryBudget& budget,
                       LuAnalysis<Scalar, Ordinal, Offset, ExecutionSpace>& analysis) {
  analysis.fronts =
      plan_fronts(exec, tree, FrontEntries<Ordinal, Offset>{A_on_host, pivots.rows, pivots.columns}, budget,
                  front_plan_options<Scalar, ExecutionSpace>(), analysis.pattern);
  if (!solves_on_fronts(options, analysis.engine)) {
    const auto filled = pattern_of_fronts(exec, analysis.fronts, budget, analysis.panel_source);
    analysis.plan.rows = filled;
    analysis.plan.columns.pattern = filled.pattern();
    analysis.plan.column_diagonal = filled.diagonal;
  }
  analysis.plan.flops = tree.flops;
  analysis.plan.levels.level_map.assign(1, 0);
  for (const Ordinal width : analysis.fronts.level_pivots)
    analysis.plan.levels.level_map.push_back(analysis.plan.levels.level_map.back() + width);
  analysis.front_factors = std::make_shared<FrontFactors<Scalar, Ordinal, Offset, ExecutionSpace>>(
      make_front_factors<Scalar>(exec, analysis.fronts, budget));
  if (options.pivoting == Pivoting::threshold)
    analysis.front_factors->pivot_threshold = options.pivot_threshold;
}

}  // namespace

template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
LuAnalysis<Scalar, Ordinal, Offset, ExecutionSpace> analyze_lu(
    const ExecutionSpace& exec,
    const CsrView<Scalar, Ordinal, Offset, typename ExecutionSpace::memory_space>& A,
    const LuOptions& options, const MemoryBudget& budget, Report& report) {
  if (options.ordering == Ordering::user) check_permutation(options.user_permutation, A.n_rows);
  LuAnalysis<Scalar, Ordinal, Offset, ExecutionSpace> analysis;
  report.choice.method = "lu";
  report.choice.symbolic = name_of(options.symbolic);
  report.choice.precond = "none";
  report.choice.pivot =
      name_of(options.pivoting == Pivoting::automatic ? Pivoting::static_perturbed : options.pivoting);
  const auto on_host = copy_to_host(A);
  auto pivots = choose_pivots(exec, A, on_host, options, budget, report);
  if (!pivots) return analysis;

  analysis.reservation = MemoryReservation(budget);
  AssemblyTree<Ordinal> tree;
  Kokkos::Timer tree_timer;
  if (may_take_fronts(options) || wants_tree_order<ExecutionSpace>(options))
    tree = build_tree(exec, A.pattern(), on_host.pattern(), *pivots, budget);
  analysis.engine = choose_engine<Scalar, Offset>(exec, options, tree, budget, report);
  report.choice.engine = name_of(analysis.engine);
  const double tree_seconds = tree_timer.seconds();
  if (analysis.engine == Engine::multifrontal) {
    pivots->reorder(tree.order);
    report.times.symbolic = tree_timer.seconds();
    report.choice.symbolic = name_of(SymbolicMethod::etree);
    if (options.symbolic != SymbolicMethod::automatic && options.symbolic != SymbolicMethod::etree)
      add_reason(report,
                 "multifrontal engine: it takes etree instead of " + std::string(name_of(options.symbolic)));
    report.factors.supernodes = tree.count();
  } else if (wants_tree_order<ExecutionSpace>(options)) {
    pivots->reorder(tree.order);
  }
  upload_pivot_order(exec, *pivots, analysis);
  analysis.pattern = Impl::copy_pattern(exec, analysis.reservation, A.pattern());
  if (analysis.engine == Engine::multifrontal) {
    Impl::StageTimer timer(exec);
    plan_multifrontal(exec, on_host.pattern(), tree, *pivots, options, budget, analysis);
    report.times.levelization = timer.seconds();
  } else {
    plan_columns(exec, options, budget, analysis, report);
    *report.times.symbolic += tree_seconds;  // what the choice of the engine took
  }
  Impl::StageTimer solves_timer(exec);
  plan_solves(exec, options, budget, analysis, report);
  *report.times.levelization += solves_timer.seconds();
  const bool on_fronts = analysis.engine == Engine::multifrontal;
  const auto n = static_cast<std::int64_t>(A.n_rows);
  const auto numbers = static_cast<std::int64_t>(analysis.fronts.panels);
  report_counts(report, on_fronts ? (numbers - n) / 2 : static_cast<std::int64_t>(analysis.plan.rows.nnz_l),
                on_fronts ? (numbers + n) / 2 : static_cast<std::int64_t>(analysis.plan.rows.nnz_u), A.nnz(),
                analysis.plan.flops, analysis.plan.levels.size());
  return analysis;
}

#define LUTRA_ANALYZE_LU(Scalar, Ordinal, Offset, Space)                                                     \
  template LuAnalysis<Scalar, Ordinal, Offset, Space> analyze_lu(                                            \
      const Space&, const CsrView<Scalar, Ordinal, Offset, typename Space::memory_space>&, const LuOptions&, \
      const MemoryBudget&, Report&);
LUTRA_FOR_EACH_MATRIX_AND_SPACE(LUTRA_ANALYZE_LU)

}  // namespace lutra
