// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <charconv>
#include <type_traits>

#include "Lutra_ChooseMethod.hpp"
#include "Lutra_CliChoose.hpp"
#include "Lutra_CliCommands.hpp"
#include "Lutra_CliExit.hpp"
#include "Lutra_CliInterrupt.hpp"
#include "Lutra_CliSession.hpp"
#include "Lutra_CliSolveFiles.hpp"
#include "Lutra_Distributed.hpp"
#include "Lutra_MatrixProperties.hpp"
#ifdef LUTRA_HAS_NVSHMEM
#include "Lutra_Nvshmem.hpp"
#endif

namespace lutra::Cli {
namespace {

/// Parses "2x3", for all ranks or for rank 0 only. 0 × 0 if no grid was given: the model chooses.
ProcessGrid parse_grid(const std::optional<std::string>& text, int ranks) {
  if (!text) return {0, 0};
  ProcessGrid grid{0, 0};
  const char* const end = text->data() + text->size();
  const auto rows = std::from_chars(text->data(), end, grid.rows);
  if (rows.ec == std::errc() && rows.ptr != end && *rows.ptr == 'x') {
    const auto columns = std::from_chars(rows.ptr + 1, end, grid.columns);
    if (columns.ptr != end) grid.columns = 0;
  }
  const std::int64_t size = static_cast<std::int64_t>(grid.rows) * grid.columns;
  if (grid.rows < 1 || grid.columns < 1 || (size != ranks && size != 1)) {
    std::string choices;
    for (const ProcessGrid& one : grids_of(ranks)) choices += name_of(one) + ", ";
    choices += "1x1";
    throw InputError("--grid: invalid value '" + *text + "' (choose from " + choices + ")");
  }
  return grid;
}

using Device = Kokkos::DefaultExecutionSpace;
constexpr bool has_device = !std::is_same_v<Device, Kokkos::DefaultHostExecutionSpace>;

bool is_on_device(const Arguments& arguments) {
  return has_device && arguments.backend == backend_name<Device>();
}

/// Rejects options that the solve on several ranks does not support.
void check_for_ranks(const Arguments& arguments) {
  const bool symmetric = arguments.method == "ldlt" || arguments.method == "cholesky";
  const bool direct = symmetric || arguments.method == "auto" || arguments.method == "lu";
  const std::string host = backend_name<Kokkos::DefaultHostExecutionSpace>();
  const std::vector<std::pair<std::string, bool>> refused = {
      {"--grid with --method " + arguments.method, symmetric && arguments.grid},
      {"--backend " + arguments.backend,
       arguments.backend != "auto" && arguments.backend != host && !is_on_device(arguments)},
      {"--backend " + arguments.backend + " with --method " + arguments.method,
       is_on_device(arguments) && !direct},
      {"--trisolve " + arguments.text("--trisolve"), arguments.is_given("--trisolve")},
      {"--solve-precision " + arguments.text("--solve-precision"), arguments.is_given("--solve-precision")},
      {"--factor-precision " + arguments.text("--factor-precision"),
       arguments.is_given("--factor-precision")},
      {"--solve-singular", arguments.is_given("--solve-singular")},
      {"--trace", arguments.trace.has_value()},
      {"--check", arguments.is_given("--check")},
      {"--condition", arguments.is_given("--condition")},
      {"--repeat with --method " + arguments.method, arguments.repeat && !direct},
      {"--precond " + arguments.precond,
       !direct && (arguments.precond == "none" || arguments.precond == "jacobi")},
      {"--apply jacobi", arguments.text("--apply") == "jacobi"},
      {"--side split", arguments.text("--side") == "split"}};
  for (const auto& [what, given] : refused)
    if (given) throw InputError(what + " is not available on several ranks");
}

/// Refuses a transport that the solve would not use.
void check_transport(const Arguments& arguments) {
  const std::string& name = arguments.transport;
  if (name == "auto" || (name == "mpi" && !is_on_device(arguments))) return;
  if (!is_on_device(arguments) || !arguments.grid)
    throw InputError("--transport " + name +
                     " is for solves on a grid of devices: --backend cuda --grid PxQ");
}

/// Collective.
CommBackend choose_transport(const Arguments& arguments, Communicator& ranks) {
  if (arguments.transport == "auto")
    return is_on_device(arguments) && can_use(ranks, CommBackend::peer) ? CommBackend::peer
                                                                        : CommBackend::mpi;
#ifdef LUTRA_HAS_NVSHMEM
  if (arguments.transport == to_string(CommBackend::nvshmem)) use_nvshmem(ranks);
#endif
  for (const CommBackend backend : {CommBackend::peer, CommBackend::nvshmem})
    if (arguments.transport == to_string(backend)) return backend;
  return CommBackend::mpi;
}

/// Options for ranks that neither read nor write.
Arguments without_files(Arguments arguments) {
  arguments.flags["--ordering"] = {"auto"};
  for (auto* const file : {&arguments.rhs, &arguments.out, &arguments.json, &arguments.device_model})
    file->reset();
  return arguments;
}

/// Distributes the columns of a vector on rank 0; each rank receives the elements of its rows.
template <class Scalar>
std::vector<Scalar> deal_columns(Communicator& ranks, const std::vector<Scalar>& whole, std::size_t columns,
                                 std::int64_t n, const std::vector<std::int64_t>& rows) {
  constexpr int tag = 31005;
  const auto all_rows = ranks.gather(rows);
  for (std::size_t r = 0; r < all_rows.size(); ++r) {
    std::vector<Scalar> part;
    for (std::size_t first = 0; first < whole.size(); first += static_cast<std::size_t>(n))
      for (const std::int64_t row : all_rows[r]) part.push_back(whole[first + static_cast<std::size_t>(row)]);
    ranks.send(static_cast<int>(r), tag, part);
  }
  std::vector<Scalar> mine = ranks.template receive<Scalar>(0, tag);
  Impl::require_elements(mine.size(), rows.size() * columns);
  return mine;
}

template <class Scalar>
std::vector<Scalar> collect_columns(Communicator& ranks, const std::vector<Scalar>& X, std::int64_t n,
                                    std::size_t k) {
  std::vector<Scalar> whole;  // contiguous rows in the order of ranks
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

GridRecord describe_grid(const ProcessGrid& grid, const std::vector<GridPrediction>& predictions,
                         const std::vector<RankStatistics>& ranks) {
  GridRecord record{name_of(grid), {}, {}};
  if (!predictions.empty()) record.predicted_seconds = predictions.front().seconds;
  for (const RankStatistics& rank : ranks)
    record.ranks.push_back({rank.rows, rank.blocks, rank.entries, rank.messages, rank.message_bytes,
                            rank.flops, rank.solve_seconds, rank.wait_seconds, rank.sources, rank.edges,
                            rank.search_seconds});
  return record;
}

/// The system on rank 0, and the data shared by all ranks.
template <class Scalar>
struct System {
  HostMatrix<Scalar> A;
  std::vector<Scalar> B, known;  ///< known: empty for right-hand sides from a file
  ProgramOptions options;        ///< with the method chosen, on all ranks
  std::size_t columns = 0;       ///< on all ranks
  std::string reason;            ///< of the method, if `auto` chose it; on rank 0
};

/// X and its record on rank 0; the report's status on all ranks.
template <class Scalar>
struct Solution {
  std::vector<Scalar> X;
  Report report;
  ProcessGrid grid;
  std::vector<GridPrediction> predictions;
  std::vector<RankStatistics> ranks;
  double repeat_seconds = 0;  ///< of --repeat, which is no part of the total
};

/// The choice of `Solver` for `--method auto`. On a grid there is only LU.
template <class Scalar>
void take_method(const Arguments& arguments, System<Scalar>& system) {
  SolverOptions& options = system.options.solver;
  if (options.method != Method::automatic) return;
  MethodProperties properties;
  const DeviceModel model = options.device_model.value_or(
      is_on_device(arguments) ? default_device_model<Device>() : host_device_model());
  if (!arguments.grid)
    properties = method_properties(make_view(system.A), model.numeric.min_flops_per_entry > 0);
  properties.lu_asked = options.asks_for_lu();
  const MethodChoice choice = choose_method(properties, model);
  options.method = method_of(choice.method);
  if (options.method != Method::lu) options.ldlt.symmetry = choice.symmetry;
  if (!arguments.grid) system.reason = choice.reason;
}

template <class Scalar>
System<Scalar> make_system(const Arguments& arguments, const ProgramOptions& options, Input&& input,
                           Communicator& ranks, ReportRecord& record) {
  const std::string& file = arguments.files.front();
  System<Scalar> system{{}, {}, {}, options, 0, {}};
  ranks.agree(
      "input",
      [&] {
        if (ranks.rank() != 0) return;
        const Communicator::Work work(ranks);
        const MatrixMarketHeader header = input.matrix.header;
        system.A = convert_matrix<Scalar>(file, std::move(input.matrix));
        system.options = with_symmetry(with_ordering(options, system.A.n_rows), header);
        record.matrix = summarize<Scalar>(file, matrix_properties(make_view(system.A)));
        const LdltChoices& ldlt = system.options.solver.ldlt;
        if (ldlt.triangle != Triangle::both && system.A.n_rows == system.A.n_cols)
          system.A = mirrored_triangle(system.A, ldlt.triangle, ldlt.symmetry);
        take_method(arguments, system);
        if (input.rhs) {
          system.B = convert_array<Scalar>(*arguments.rhs, *input.rhs);
        } else {
          system.known = known_solution<Scalar>(static_cast<std::size_t>(system.A.n_rows),
                                                static_cast<std::size_t>(arguments.n_rhs.value_or(1)));
          system.B = multiply(file, system.A, system.known, transposition(arguments));
        }
      },
      false);
  struct Shared {
    std::size_t columns;
    Method method;
    Symmetry symmetry;
  };
  LdltChoices& ldlt = system.options.solver.ldlt;
  std::vector<Shared> shared{
      {system.A.n_rows == 0 ? 0 : system.B.size() / static_cast<std::size_t>(system.A.n_rows),
       system.options.solver.method, ldlt.symmetry}};
  ranks.broadcast(shared);
  Impl::require_elements(shared.size(), 1);
  system.columns = shared[0].columns;
  system.options.solver.method = shared[0].method;
  ldlt.symmetry = shared[0].symmetry;
  ldlt.triangle = Triangle::both;  // A has both now
  return system;
}

/// Refactorizes and solves repeatedly; the times of `report` become medians.
template <class Scalar, class Solver>
void repeat(int runs, Solver& solver, const DistributedRows<Scalar>& A, const std::vector<Scalar>& B,
            std::vector<Scalar>& X, std::size_t k, Transposition op, Report& report) {
  constexpr int warm_ups = 2;  // runs not counted: the first ones find cold caches
  std::vector<double> refactor, solve, refine;
  for (int run = 0; run < warm_ups + runs; ++run) {
    if (solver.refactorize(A.values) == Status::cancelled || solver.solve(B, X, k, op) == Status::cancelled) {
      report = solver.report();
      return;
    }
    if (run < warm_ups) continue;
    const StageTimes& times = solver.report().times;
    if (times.refactor) refactor.push_back(*times.refactor);
    if (times.solve) solve.push_back(*times.solve);
    if (times.refine) refine.push_back(*times.refine);
  }
  report.times.refactor = median(std::move(refactor));
  report.times.solve = median(std::move(solve));
  report.times.refine = median(std::move(refine));
}

/// @tparam Solver DistributedLU or DistributedLDLT
template <class Solver, class Scalar, class Options>
Solution<Scalar> solve_directly(const Arguments& arguments, const System<Scalar>& system,
                                const Options& options, const DistributedOptions& distribution,
                                Communicator& ranks) {
  const Kokkos::Timer dealing;
  const DistributedRows<Scalar> mine = deal_rows(ranks, system.A);
  const std::vector<Scalar> B = deal_columns(ranks, system.B, system.columns, mine.n, mine.rows);
  double distribution_seconds = dealing.seconds();
  std::vector<Scalar> X(B.size());
  const Transposition op = transposition(arguments);
  Solver solver(ranks, options, distribution);
  Solution<Scalar> solution;
  // the report has the status
  const bool goes_on = solver.factorize(mine) != Status::cancelled &&
                       solver.solve(B, X, system.columns, op) != Status::cancelled;
  solution.report = solver.report();
  const Kokkos::Timer repeating;
  if (goes_on && arguments.repeat)
    repeat(*arguments.repeat, solver, mine, B, X, system.columns, op, solution.report);
  solution.repeat_seconds = repeating.seconds();
  const Kokkos::Timer collecting;
  solution.X = collect_columns(ranks, X, mine.n, system.columns);
  distribution_seconds += collecting.seconds();
  solution.report.times.distribution = solution.report.times.distribution.value_or(0) + distribution_seconds;
  solution.grid = solver.grid();
  solution.predictions = solver.predictions();
  solution.ranks = solver.statistics();
  solver.close();
  return solution;
}

template <class Scalar>
Solution<Scalar> solve_iteratively(const Arguments& arguments, const System<Scalar>& system,
                                   const DistributedOptions& distribution, Communicator& ranks) {
  DistributedKrylov<Scalar> solver(ranks, system.options.solver.krylov_options(), distribution);
  Solution<Scalar> solution;
  solution.X.resize(system.B.size());
  if (solver.factorize(system.A) != Status::cancelled)  // the report has the status
    solver.solve(system.B, solution.X, system.columns, transposition(arguments));
  solution.report = solver.report();
  solution.grid = solver.grid();
  solution.predictions = solver.predictions();
  solution.ranks = solver.statistics();
  solver.close();
  return solution;
}

template <class Scalar>
int solve(const Arguments& arguments, const ProgramOptions& options, Input&& input, Communicator& ranks) {
  const double read_seconds = input.read_seconds;
  ReportRecord record;
  const auto system = make_system<Scalar>(arguments, options, std::move(input), ranks, record);
  const Kokkos::Timer timer;
  DistributedOptions distribution;
  distribution.grid = parse_grid(arguments.grid, ranks.size());
  distribution.on_device = is_on_device(arguments);
  distribution.backend = choose_transport(arguments, ranks);
  distribution.costs =
      options.solver.device_model
          .value_or(distribution.on_device ? default_device_model<Device>() : host_device_model())
          .trisolve.distributed;
  record.run =
      distribution.on_device ? describe_run<Device>() : describe_run<Kokkos::DefaultHostExecutionSpace>();
  Solution<Scalar> solution;
  solution.grid = distribution.grid;  // 0 × 0: no grid
  solution.ranks.resize(static_cast<std::size_t>(ranks.size()));
  const Interruptible listening;
  try {
    const SolverOptions& chosen = system.options.solver;
    solution = options.is_krylov() ? solve_iteratively(arguments, system, distribution, ranks)
               : system.options.is_symmetric()
                   ? solve_directly<DistributedLDLT<Scalar>>(
                         arguments, system, chosen.ldlt_options(chosen.method == Method::cholesky),
                         distribution, ranks)
                   : solve_directly<DistributedLU<Scalar>>(arguments, system, chosen.lu_options(),
                                                           distribution, ranks);
    record.report = solution.report;
    if (!system.reason.empty()) record.report.choice.why = system.reason + "; " + record.report.choice.why;
    count_rows_from_one(record.report);
    record.message = record.report.status == Status::success ? "" : describe(record.report, 1);
  } catch (const OutOfMemoryError& error) {  // agreed on by all
    record.report.status = Status::out_of_memory;
    record.message = error.what();
    if (options.solver.memory_limit > 0) record.report.memory.limit_bytes = options.solver.memory_limit;
  }
  ranks.agree(
      "output",
      [&] {
        if (ranks.rank() != 0) return;
        record.run.grid = describe_grid(solution.grid, solution.predictions, solution.ranks);
        record.report.times.total = timer.seconds() - solution.repeat_seconds;
        finish(record, read_seconds);
        const auto n = static_cast<std::size_t>(system.A.n_rows);
        if (!system.known.empty() && record.report.errors.backward_componentwise)
          record.report.errors.forward = forward_error(solution.X, system.known, n);
        write_results(arguments, record, solution.X, system.A.n_rows);
      },
      false);
  return exit_status(record.report.status);
}

}  // namespace

int run_solve_on_ranks(const Arguments& arguments, Communicator& ranks) {
  ProgramOptions options;
  Input input;
  ranks.agree(
      "input",
      [&] {
        if (ranks.rank() != 0) {
          options = check_options(without_files(arguments));
          return;
        }
        const Communicator::Work work(ranks);
        check_for_ranks(arguments);
        parse_grid(arguments.grid, ranks.size());
        check_transport(arguments);
        options = check_options(arguments);
        input = read_input(arguments);
      },
      false);
  options.solver.stop = interrupt_flag();
  std::vector<char> is_complex{static_cast<char>(ranks.rank() == 0 && input.is_complex())};
  ranks.broadcast(is_complex);
  Impl::require_elements(is_complex.size(), 1);
  const auto with_type = [&](const auto& call) {
    return with_types(arguments.scalar, is_complex[0] != 0, backend_name<Kokkos::DefaultHostExecutionSpace>(),
                      call);
  };
  // a type that is not built is an error of all ranks, not of the first that finds out
  ranks.agree(
      "input", [&] { with_type([]<class Scalar, class ExecutionSpace>() { return 0; }); }, false);
  return with_type([&]<class Scalar, class ExecutionSpace>() {
    if constexpr (std::is_same_v<ExecutionSpace, Kokkos::DefaultHostExecutionSpace>)
      return solve<Scalar>(arguments, options, std::move(input), ranks);
    else
      return exit_defect;
  });
}

}  // namespace lutra::Cli
