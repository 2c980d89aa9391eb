// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_Numeric.hpp"

#include <numeric>
#include <optional>
#include <string>

#include "Lutra_CheckLaunches.hpp"
#include "Lutra_DeviceModel.hpp"
#include "Lutra_Error.hpp"
#include "Lutra_FixedCosts.hpp"
#include "Lutra_IluPattern.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_Instantiate.hpp"
#include "Lutra_Reasons.hpp"
#include "Lutra_RunStage.hpp"
#include "Lutra_SparseILU.hpp"
#include "Lutra_Timer.hpp"
#include "Lutra_ToDevice.hpp"

namespace lutra {
namespace {

/// Reduction that counts the rows whose diagonal entry is missing or zero.
template <class Matrix>
struct CountMissingDiagonals {
  Matrix A;
  KOKKOS_FUNCTION void operator()(std::int64_t i, std::int64_t& sum) const {
    using Scalar = typename decltype(A.values)::non_const_value_type;
    auto p = A.row_map(i);
    while (p < A.row_map(i + 1) && static_cast<std::int64_t>(A.entries(p)) < i) ++p;
    const bool there =
        p < A.row_map(i + 1) && static_cast<std::int64_t>(A.entries(p)) == i && A.values(p) != Scalar(0);
    sum += there ? 0 : 1;
  }
};

/// @throws InputError if there is an entry (i, j) without (j, i)
template <class ExecutionSpace, class Pattern>
void check_symmetric(const ExecutionSpace& exec, const Pattern& A) {
  const std::int64_t entry = find_unpaired_entry(exec, A);
  if (entry < 0) return;
  const auto n = static_cast<std::int64_t>(A.n_rows);
  const std::string row = std::to_string(entry / n), column = std::to_string(entry % n);
  throw InputError("matrix: it has an entry at row " + row + ", column " + column + " and none at row " +
                   column + ", column " + row + ", which symmetric incomplete factors need");
}

MatchingResult identity_matching(Ordinal n) {
  MatchingResult result;
  result.row_of_column.resize(static_cast<std::size_t>(n));
  std::iota(result.row_of_column.begin(), result.row_of_column.end(), Ordinal(0));
  result.row_scale.assign(static_cast<std::size_t>(n), 1.0);
  result.col_scale.assign(static_cast<std::size_t>(n), 1.0);
  return result;
}

template <class Matrix, class ExecutionSpace>
bool has_full_diagonal(const ExecutionSpace& exec, const Matrix& A) {
  std::int64_t missing = 0;
  Kokkos::parallel_reduce("lutra::solver::missing_diagonals",
                          Kokkos::RangePolicy<ExecutionSpace>(exec, 0, A.n_rows),
                          CountMissingDiagonals<Matrix>{A}, missing);
  return missing == 0;
}

/// Computes the matching and the ordering. Returns an empty optional if the pattern is structurally singular.
/// @param A matrix whose pattern Views are shared with the result
template <class Scalar, class ExecutionSpace>
std::optional<Impl::OrderedMatrix<Scalar, ExecutionSpace>> order_rows_and_columns(
    const ExecutionSpace& exec,
    const CsrView<Scalar, Ordinal, Offset, typename ExecutionSpace::memory_space>& A,
    const SparseIluOptions& options, const MemoryBudget& budget, Report& report) {
  LuOptions lu;
  lu.matching = options.matching;
  lu.ordering = options.ordering;
  lu.user_permutation = options.user_permutation;
  if (lu.matching == Matching::automatic) {
    const bool match = !options.symmetric && !has_full_diagonal(exec, A);
    lu.matching = match ? Matching::exact : Matching::none;
    if (match) Impl::add_reason(report, "exact matching: diagonal entries are missing or zero");
  }
  const bool matched = lu.matching != Matching::none;
  if (lu.ordering == Ordering::automatic) lu.ordering = Ordering::natural;
  if (!matched && lu.ordering == Ordering::natural) {
    report.choice.matching = "none";
    report.choice.ordering = "natural";
    Impl::OrderedMatrix<Scalar, ExecutionSpace> F;
    F.pattern = A.pattern();
    return F;
  }
  const auto on_host = Impl::copy_to_host(exec, A);
  if (!matched) {  // the pattern is unrestricted, so its rank is not needed
    const Impl::RunStage stage(budget, "ordering");
    const Kokkos::Timer timer;
    report.choice.matching = "none";
    report.choice.ordering = name_of(lu.ordering);
    auto columns = lu.ordering == Ordering::user
                       ? std::vector<Ordinal>(lu.user_permutation.begin(), lu.user_permutation.end())
                       : order(on_host.pattern(), lu.ordering, budget.run());
    report.times.ordering = timer.seconds();
    const PivotOrder pivots(identity_matching(A.n_rows), std::move(columns));
    return Impl::order_matrix<Scalar>(exec, on_host.pattern(), pivots, budget);
  }
  const auto pivots = choose_pivots(exec, A, on_host, lu, budget, report);
  if (!pivots) return std::nullopt;
  return Impl::order_matrix<Scalar>(exec, on_host.pattern(), *pivots, budget);
}

}  // namespace

template <class Scalar, class ExecutionSpace>
auto Impl::analyze_checked(const ExecutionSpace& exec, const DeviceMatrix<Scalar, ExecutionSpace>& A,
                           const SparseIluOptions& options, const MemoryBudget& budget,
                           const Analysis<Scalar, ExecutionSpace>*,
                           const std::shared_ptr<Border<Scalar, ExecutionSpace>>&)
    -> AnalysisPointer<Scalar, ExecutionSpace> {
  check_options(options);
  if (options.ordering == Ordering::user) check_permutation(options.user_permutation, A.n_rows);
  if (options.symmetric) check_symmetric(exec, A.pattern());
  auto analysis = std::make_shared<Analysis<Scalar, ExecutionSpace>>();
  analysis->n = A.n_rows;
  analysis->options = options;
  analysis->F.reservation = MemoryReservation(budget);
  const auto& pattern = analysis->F.A = copy_pattern(exec, analysis->F.reservation, A.pattern());
  Report& report = analysis->report;
  report.choice.method = report.choice.precond = name_of(options);
  const DeviceMatrix<Scalar, ExecutionSpace> own{A.n_rows, A.n_cols, pattern.row_map, pattern.entries,
                                                 A.values};
  const auto F = order_rows_and_columns(exec, own, options, budget, report);
  if (!F) return analysis;
  analysis->F.row_order = F->order.row_order;
  analysis->F.col_order = F->order.col_order;
  const RunStage stage(budget, "symbolic");
  const StageTimer timer(exec, true);
  const SparseIluOptions planned = Impl::with_fixed_costs<ExecutionSpace>(options);
  analysis->plan = Impl::plan_incomplete(exec, *F, planned, budget);
  report.times.symbolic = timer.seconds();
  wait_for(exec, "lutra::solver: the analysis is complete for other instances");
  return analysis;
}

#define LUTRA_ANALYZE_ILU(Scalar, Space)                                                                    \
  template Impl::AnalysisPointer<Scalar, Space> Impl::analyze_checked<Scalar, Space>(                       \
      const Space&, const Impl::DeviceMatrix<Scalar, Space>&, const SparseIluOptions&, const MemoryBudget&, \
      const Analysis<Scalar, Space>*, const std::shared_ptr<Impl::Border<Scalar, Space>>&);
LUTRA_FOR_EACH_SCALAR_AND_SPACE(LUTRA_ANALYZE_ILU)

}  // namespace lutra
