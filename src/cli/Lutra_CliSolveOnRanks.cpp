// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <charconv>
#include <type_traits>

#include "Lutra_CliCommands.hpp"
#include "Lutra_CliExit.hpp"
#include "Lutra_CliSession.hpp"
#include "Lutra_CliSolveFiles.hpp"
#include "Lutra_DistributedLU.hpp"
#include "Lutra_MatrixProperties.hpp"

namespace lutra::Cli {
namespace {

/// "2x3"; P × 1 where nothing is asked for.
ProcessGrid parse_grid(const std::optional<std::string>& text, int ranks) {
  if (!text) return {ranks, 1};
  ProcessGrid grid{0, 0};
  const char* const end = text->data() + text->size();
  const auto rows = std::from_chars(text->data(), end, grid.rows);
  if (rows.ec == std::errc() && rows.ptr != end && *rows.ptr == 'x') {
    const auto columns = std::from_chars(rows.ptr + 1, end, grid.columns);
    if (columns.ptr != end) grid.columns = 0;
  }
  if (grid.rows < 1 || grid.columns < 1 || static_cast<std::int64_t>(grid.rows) * grid.columns != ranks) {
    std::string choices;
    for (const ProcessGrid& one : grids_of(ranks)) choices += (choices.empty() ? "" : ", ") + name_of(one);
    throw InputError("--grid: invalid value '" + *text + "' (choose from " + choices + ")");
  }
  return grid;
}

using Device = Kokkos::DefaultExecutionSpace;
constexpr bool has_device = !std::is_same_v<Device, Kokkos::DefaultHostExecutionSpace>;

bool is_on_device(const Arguments& arguments) {
  return has_device && arguments.backend == backend_name<Device>();
}

/// What solves on several ranks cannot do is refused, not left out.
void check_for_ranks(const Arguments& arguments) {
  const auto refuse = [](const std::string& what) {
    throw InputError(what + " is not available on several ranks, which solve by lu");
  };
  if (arguments.method != "auto" && arguments.method != "lu") refuse("--method " + arguments.method);
  if (arguments.transpose) refuse("--transpose");
  if (arguments.adjoint) refuse("--adjoint");
  if (arguments.repeat) refuse("--repeat");
  if (arguments.solve_singular) refuse("--solve-singular");
  if (arguments.trisolve != "auto") refuse("--trisolve " + arguments.trisolve);
  if (arguments.solve_precision != "working") refuse("--solve-precision " + arguments.solve_precision);
  const std::string host = backend_name<Kokkos::DefaultHostExecutionSpace>();
  if (arguments.backend != "auto" && arguments.backend != host && !is_on_device(arguments))
    refuse("--backend " + arguments.backend);
}

/// Columns of a vector that rank 0 has, the elements of each rank's rows.
template <class Scalar>
std::vector<Scalar> deal_columns(Communicator& ranks, std::vector<Scalar> whole, std::int64_t n,
                                 const std::vector<std::int64_t>& rows) {
  ranks.broadcast(whole);
  std::vector<Scalar> mine;
  for (std::size_t first = 0; first < whole.size(); first += static_cast<std::size_t>(n))
    for (const std::int64_t row : rows) mine.push_back(whole[first + static_cast<std::size_t>(row)]);
  return mine;
}

template <class Scalar>
std::vector<Scalar> collect_columns(Communicator& ranks, const std::vector<Scalar>& X, std::int64_t n,
                                    std::size_t k) {
  std::vector<Scalar> whole;  // runs of rows in the order of ranks
  const auto parts = ranks.gather(X);
  if (parts.empty()) return whole;
  whole.reserve(static_cast<std::size_t>(n) * k);
  for (std::size_t c = 0; c < k; ++c)
    for (const auto& part : parts) {
      const auto mine = static_cast<std::ptrdiff_t>(part.size() / k);
      const auto first = part.begin() + static_cast<std::ptrdiff_t>(c) * mine;
      whole.insert(whole.end(), first, first + mine);
    }
  return whole;
}

GridRecord describe_grid(const ProcessGrid& grid, const std::vector<RankStatistics>& ranks) {
  GridRecord record{name_of(grid), {}};
  for (const RankStatistics& rank : ranks)
    record.ranks.push_back({rank.rows, rank.blocks, rank.entries, rank.messages, rank.message_bytes,
                            rank.flops, rank.solve_seconds, rank.wait_seconds});
  return record;
}

template <class Scalar>
int solve(const Arguments& arguments, const SolverOptions& options, Input&& input, Communicator& ranks) {
  const Kokkos::Timer timer;
  const std::string& file = arguments.files.front();
  const bool speaks = ranks.rank() == 0;
  HostMatrix<Scalar> A;
  std::vector<Scalar> known, B;
  ReportRecord record;
  LuOptions lu = options.lu;
  ranks.agree(
      "input",
      [&] {
        if (!speaks) return;
        const Communicator::Work work(ranks);
        A = convert_matrix<Scalar>(file, std::move(input.matrix));
        if (input.rhs) {
          B = convert_array<Scalar>(*arguments.rhs, *input.rhs);
        } else {
          known = known_solution<Scalar>(static_cast<std::size_t>(A.n_rows),
                                         static_cast<std::size_t>(arguments.n_rhs.value_or(1)));
          B = multiply(file, A, known, Transposition::none);
        }
        lu = with_ordering(options, A.n_rows).lu;
        record.matrix = summarize<Scalar>(file, matrix_properties(make_view(A)));
      },
      false);
  const DistributedRows<Scalar> mine = deal_rows(ranks, A);
  const std::vector<Scalar> local_B = deal_columns(ranks, B, mine.n, mine.rows);
  const auto k = std::max<std::size_t>(1, mine.rows.empty() ? 1 : local_B.size() / mine.rows.size());
  std::vector<std::size_t> columns{speaks ? B.size() / static_cast<std::size_t>(mine.n) : k};
  ranks.broadcast(columns);
  std::vector<Scalar> local_X(local_B.size());

  DistributedOptions distribution;
  distribution.grid = parse_grid(arguments.grid, ranks.size());
  distribution.on_device = is_on_device(arguments);
  if (distribution.on_device && can_use(ranks, CommBackend::peer)) distribution.backend = CommBackend::peer;
  DistributedLU<Scalar> solver(ranks, lu, distribution);
  record.run =
      distribution.on_device ? describe_run<Device>() : describe_run<Kokkos::DefaultHostExecutionSpace>();
  try {
    solver.factorize(mine);
    solver.solve(local_B, local_X, columns[0]);
    record.report = solver.report();
    record.message = record.report.status == Status::success ? "" : describe(record.report, 1);
  } catch (const OutOfMemoryError& error) {  // agreed on by all
    record.report.status = Status::out_of_memory;
    record.message = error.what();
  }
  const std::vector<Scalar> X = collect_columns(ranks, local_X, mine.n, columns[0]);
  const auto statistics = solver.statistics();
  solver.close();
  int status = exit_status(record.report.status);
  ranks.agree(
      "output",
      [&] {
        if (!speaks) return;
        record.run.grid = describe_grid(distribution.grid, statistics);
        record.report.times.total = timer.seconds();
        finish(record, input.read_seconds);
        if (!known.empty() && record.report.errors.backward_componentwise)
          record.report.errors.forward = forward_error(X, known, static_cast<std::size_t>(mine.n));
        if (!arguments.quiet && !json_on_output(arguments)) write_output(to_text(record));
        if (arguments.json) write_text(*arguments.json, to_json(record));
        write_solution(arguments, X, mine.n, record.report);
      },
      false);
  return status;
}

}  // namespace

int run_solve_on_ranks(const Arguments& arguments, Communicator& ranks) {
  SolverOptions options;
  Input input;
  ranks.agree(
      "input",
      [&] {
        if (ranks.rank() != 0) return;
        const Communicator::Work work(ranks);
        check_for_ranks(arguments);
        parse_grid(arguments.grid, ranks.size());
        options = check_options(arguments);
        input = read_input(arguments);
      },
      false);
  std::vector<char> is_complex{static_cast<char>(ranks.rank() == 0 && input.is_complex())};
  ranks.broadcast(is_complex);
  return with_types(arguments.scalar, is_complex[0] != 0, backend_name<Kokkos::DefaultHostExecutionSpace>(),
                    [&]<class Scalar, class ExecutionSpace>() {
                      if constexpr (std::is_same_v<ExecutionSpace, Kokkos::DefaultHostExecutionSpace>)
                        return solve<Scalar>(arguments, options, std::move(input), ranks);
                      else
                        return exit_defect;
                    });
}

}  // namespace lutra::Cli
