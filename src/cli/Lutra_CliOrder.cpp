// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <numeric>

#include "Lutra_ChooseOrdering.hpp"
#include "Lutra_CliCommands.hpp"
#include "Lutra_CliExit.hpp"
#include "Lutra_CliRecord.hpp"
#include "Lutra_CliSession.hpp"
#include "Lutra_Matching.hpp"
#include "Lutra_MatrixProperties.hpp"

namespace lutra::Cli {
namespace {

/// The pattern to order, with each row at the position of its matched column.
struct Matched {
  HostMatrix<char> pattern;
  std::string matching;
  double seconds = 0;
};

/// Permutes rows by the matching an LU factorization would use. Symmetric matrices, and those without a
/// matching, keep their rows.
template <class Scalar>
Matched match_rows(const HostMatrix<Scalar>& A, Matching option, const MatrixProperties& properties,
                   const RunControl& run) {
  const Kokkos::Timer timer;
  std::vector<int> rows(static_cast<std::size_t>(A.n_rows));
  std::iota(rows.begin(), rows.end(), 0);
  Matched result;
  result.matching = "none";
  const bool symmetric = properties.pattern_symmetry == 1 && properties.value_symmetry == 1;
  if (option == Matching::exact || (option == Matching::automatic && !symmetric)) {
    auto matched = match_exact(make_view(A), run);
    if (matched.numeric_rank_bound == A.n_rows) {
      rows = std::move(matched.row_of_column);
      result.matching = "exact";
    }
  }
  HostMatrix<char>& pattern = result.pattern;
  pattern.n_rows = pattern.n_cols = A.n_rows;
  pattern.row_map = {0};
  pattern.entries.reserve(A.entries.size());
  for (const int row : rows) {
    const auto begin = A.entries.begin() + A.row_map[static_cast<std::size_t>(row)],
               end = A.entries.begin() + A.row_map[static_cast<std::size_t>(row) + 1];
    pattern.entries.insert(pattern.entries.end(), begin, end);
    pattern.row_map.push_back(static_cast<std::int64_t>(pattern.entries.size()));
  }
  result.seconds = timer.seconds();
  return result;
}

FillForecast forecast(const CsrPattern<int, std::int64_t, Kokkos::HostSpace>& pattern,
                      const std::vector<int>& permutation) {
  if (graph_fits_int(pattern)) return forecast_fill(symmetric_graph<int>(pattern), permutation);
  return forecast_fill(symmetric_graph<std::int64_t>(pattern), {permutation.begin(), permutation.end()});
}

/// Orders by the options and reports the ordering. @returns columns in elimination order, from 0
std::vector<int> order_pattern(const CsrPattern<int, std::int64_t, Kokkos::HostSpace>& pattern,
                               const ProgramOptions& options, const RunControl& run, Report& report) {
  const Kokkos::Timer timer;
  const DirectOptions& asked = options.solver;
  ChosenOrder chosen;
  chosen.choice.ordering = asked.ordering;
  if (asked.ordering == Ordering::automatic) {
    const DeviceModel model = model_for(options);
    report.choice.device_model = model.name;
    const OrderingUse use{static_cast<double>(asked.expected_factorizations), false, false,
                          host_threads<Kokkos::DefaultHostExecutionSpace>()};
    chosen = order_automatically(pattern, model, use, {}, {}, run);
    report.choice.why = chosen.choice.reason;
    report.predicted = chosen.choice.predicted;
  } else if (asked.ordering == Ordering::user) {
    chosen.permutation.assign(asked.user_permutation.begin(), asked.user_permutation.end());
  } else {
    chosen.permutation = order(pattern, asked.ordering, run);
  }
  report.times.ordering = timer.seconds();
  if (asked.ordering != Ordering::automatic) chosen.forecast = forecast(pattern, chosen.permutation);
  report.choice.ordering = name_of(chosen.choice.ordering);
  report.factors.nnz_l = chosen.forecast.nnz_l;
  report.factors.flops = chosen.forecast.flops;
  report.factors.tree_height = chosen.forecast.height;
  return std::move(chosen.permutation);
}

/// Matches rows and orders columns; a stop becomes the report's status.
template <class Scalar>
std::vector<int> match_and_order(const HostMatrix<Scalar>& A, const ProgramOptions& options,
                                 const MatrixProperties& properties, Report& report) {
  std::vector<int> permutation;
  CommonOptions limits = options.solver;
  limits.stop = interrupt_flag();
  const Interruptible listening;
  const RunControl run = RunControl::make();
  const auto call = [&] {
    const Matched matched = match_rows(A, options.solver.matching, properties, run);
    report.choice.matching = matched.matching;
    report.times.matching = matched.seconds;
    permutation = order_pattern(make_view(matched.pattern).pattern(), options, run, report);
    return report.status;
  };
  report.status = stoppable(Kokkos::DefaultHostExecutionSpace(), run, limits, "order", call);
  return permutation;
}

void write_ordering(const std::string& file, const std::vector<int>& permutation) {
  Impl::AtomicFile out(file);
  for (const int column : permutation) out.write(std::to_string(column + 1) + "\n");
  out.commit();
}

std::string order_text(const ReportRecord& record) {
  const Report& report = record.report;
  const std::string matrix =
      text_line("matrix", record.matrix.file + ": " + std::to_string(record.matrix.rows) + " × " +
                              std::to_string(record.matrix.cols) + ", " + std::to_string(record.matrix.nnz) +
                              " entries");
  if (report.status == Status::cancelled) return matrix + text_line("status", record.message);
  return matrix + text_line("ordering", report.choice.ordering + ", matching " + report.choice.matching) +
         text_line("because", report.choice.why) + factors_text(report.factors, false) +
         text_line("seconds", "matching " + short_number(report.times.matching) + ", ordering " +
                                  short_number(report.times.ordering));
}

template <class Scalar>
int order_matrix(const Arguments& arguments, const ProgramOptions& options, MatrixMarketMatrix&& read) {
  const std::string& file = arguments.files.front();
  const auto A = convert_matrix<Scalar>(file, std::move(read));
  const MatrixProperties properties = matrix_properties(make_view(A));
  ReportRecord record;
  record.run = describe_run<Kokkos::DefaultHostExecutionSpace>();
  record.matrix = summarize<Scalar>(file, properties);
  const auto permutation = match_and_order(A, with_ordering(options, A.n_rows), properties, record.report);
  const bool stopped = record.report.status == Status::cancelled;
  if (stopped) record.message = describe(record.report, 1);
  if (arguments.out && !stopped) write_ordering(*arguments.out, permutation);
  if (arguments.json) write_text(*arguments.json, to_json(record));
  if (!arguments.quiet && !json_on_output(arguments)) write_output(order_text(record));
  if (arguments.quiet && stopped) print_error(file + ": " + record.message);
  return stopped ? exit_cancelled : exit_solved;
}

}  // namespace

int run_order(const Arguments& arguments) {
  ProgramOptions options = check_options(arguments);
  if (options.solver.matching == Matching::auction)
    throw InputError("--matching auction is not used with order (choose from auto, none, exact)");
  MatrixMarketMatrix read = read_checked_matrix_market(arguments.files.front(), check_memory(arguments, 0));
  check_solvable(arguments.files.front(), read);
  const bool is_complex = read.header.field == MatrixMarketHeader::Field::complex;
  return with_types("f64", is_complex, options.backend, [&]<class Scalar, class>() {
    return order_matrix<Scalar>(arguments, options, std::move(read));
  });
}

}  // namespace lutra::Cli
