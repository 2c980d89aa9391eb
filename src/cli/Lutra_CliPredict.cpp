// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <charconv>
#include <nlohmann/json.hpp>

#include "Lutra_CliAnalysis.hpp"
#include "Lutra_CliChoose.hpp"
#include "Lutra_CliCommands.hpp"
#include "Lutra_CliExit.hpp"
#include "Lutra_CliRecord.hpp"
#include "Lutra_DeviceModel.hpp"
#include "Lutra_Formatted.hpp"
#include "Lutra_Predict.hpp"
#include "Lutra_Upload.hpp"

namespace lutra::Cli {
namespace {

// Parses "2x3".
ProcessGrid parse_grid(const std::string& text) {
  ProcessGrid grid{0, 0};
  const char* const stop = text.data() + text.size();
  const auto [cross, first_error] = std::from_chars(text.data(), stop, grid.rows);
  if (first_error == std::errc() && cross != stop && *cross == 'x') {
    const auto [end, error] = std::from_chars(cross + 1, stop, grid.columns);
    if (error == std::errc() && end == stop && grid.rows > 0 && grid.columns > 0 &&
        std::int64_t(grid.rows) * grid.columns <= std::numeric_limits<int>::max())
      return grid;
  }
  throw InputError("--grid '" + text + "' is not a grid like 2x3");
}

template <class ExecutionSpace>
DeviceModel model_of(const std::string& device) {
  if (device == "auto") return default_device_model<ExecutionSpace>();
  return choose<DeviceModel (*)()>(
      "--device", device,
      {{"host", &host_device_model}, {"h100", &h100_device_model}, {"h200", &h200_device_model}}, {"auto"})();
}

/// Solver options with the device model of the named machine.
template <class ExecutionSpace>
ProgramOptions with_device(ProgramOptions options, const Arguments& arguments) {
  if (arguments.device == "auto") return options;
  if (options.solver.device_model)
    throw InputError("--device " + arguments.device + " and --device-model are two models");
  options.solver.device_model = model_of<ExecutionSpace>(arguments.device);
  return options;
}

template <class ExecutionSpace>
PredictOptions predict_options(const Arguments& arguments, const LuOptions& lu) {
  PredictOptions options;
  options.lu = lu;
  const DeviceModel model = lu.device_model.value_or(default_device_model<ExecutionSpace>());
  options.costs = model.trisolve;
  if (arguments.device == "host" || (arguments.device == "auto" && Impl::is_host_space<ExecutionSpace>))
    options.front_solve = model.ordering.multifrontal.solve;
  DistributedCosts& costs = options.costs.distributed;
  if (arguments.ranks_per_node) {
    if (!arguments.latency && !arguments.bandwidth)
      throw InputError("--ranks-per-node needs --latency or --bandwidth, which are of links between nodes");
    options.nodes = {*arguments.ranks_per_node, costs.latency_seconds, costs.link_bandwidth};
  }
  const bool nodes = arguments.ranks_per_node.has_value();
  if (arguments.latency)
    (nodes ? options.nodes.latency_seconds : costs.latency_seconds) =
        not_negative("--latency", *arguments.latency);
  if (arguments.bandwidth)
    (nodes ? options.nodes.bandwidth : costs.link_bandwidth) = positive("--bandwidth", *arguments.bandwidth);
  if (arguments.grid) options.grid = parse_grid(*arguments.grid);
  options.ranks = arguments.ranks.value_or(4);
  options.n_rhs = static_cast<int>(arguments.n_rhs.value_or(1));
  return options;
}

std::string microseconds(double seconds) {
  return Impl::formatted("%.4g us", 1e6 * seconds);
}

std::string grid_line(const GridTimes& times, const CriticalPathTimes& path, double one) {
  return Impl::formatted("%5d %9s %11.1f %11.1f %9.2f %10lld   %.0f to %.0f us by %lld levels\n",
                         times.grid.size(), name_of(times.grid).c_str(), 1e6 * times.lower.seconds,
                         1e6 * times.upper.seconds, one / times.seconds(),
                         static_cast<long long>(times.lower.messages + times.upper.messages),
                         1e6 * path.seconds, 1e6 * path.level_seconds, static_cast<long long>(path.levels));
}

// Whether the solver on one device chose this method for which a time is predicted.
bool is_chosen(const MethodTime& time, const Choice& choice) {
  if (time.what != "L of complete factors") return false;
  return choice.engine == "simplicial"
             ? time.method == choice.trisolve
             : time.method == (choice.trisolve == "supernodal" ? "fronts" : choice.trisolve);
}

std::string to_text(const std::string& file, const Prediction& prediction) {
  std::string text = text_line("matrix", file) + choice_text(prediction.report.choice) +
                     factors_text(prediction.report.factors, true);
  if (prediction.grids.empty()) return text + text_line("status", describe(prediction.report, 1));
  text += "one device\n";
  for (const MethodTime& time : prediction.one_device)
    text += "  " + time.what + ", " + time.method + ": " + microseconds(time.seconds) +
            (is_chosen(time, prediction.report.choice) ? ", which the solver takes\n" : "\n");
  text += "ranks      grid   L in us     U in us   speed-up   messages   L in closed form\n";
  for (std::size_t g = 0; g < prediction.grids.size(); ++g)
    text += grid_line(prediction.grids[g], prediction.paths[g], prediction.grids.front().seconds());
  text += text_line("grid", name_of(prediction.grids[prediction.best].grid) + " is predicted to be fastest");
  for (const std::string& assumption : prediction.assumptions) text += text_line("assumed", assumption);
  return text;
}

nlohmann::ordered_json sweep_json(const SimulatedTimes& times) {
  return {{"seconds", times.seconds},
          {"busy_seconds", times.busy_seconds},
          {"messages", times.messages},
          {"message_bytes", times.message_bytes}};
}

std::string to_json(const std::string& file, const Prediction& prediction) {
  using json = nlohmann::ordered_json;
  const auto& counts = prediction.report.factors;
  json record{{"matrix", {{"file", file}}},
              {"choice",
               {{"method", prediction.report.choice.method},
                {"engine", prediction.report.choice.engine},
                {"ordering", prediction.report.choice.ordering},
                {"matching", prediction.report.choice.matching},
                {"trisolve", prediction.report.choice.trisolve},
                {"why", prediction.report.choice.why}}},
              {"status", prediction.grids.empty() ? to_string(prediction.report.status) : "predicted"}};
  if (counts.nnz_l)
    record["factors"] = {{"nnz_l", *counts.nnz_l},
                         {"nnz_u", *counts.nnz_u},
                         {"flops", *counts.flops},
                         {"supernodes", counts.supernodes ? json(*counts.supernodes) : json(nullptr)}};
  record["one_device"] = json::array();
  for (const MethodTime& time : prediction.one_device)
    record["one_device"].push_back({{"what", time.what},
                                    {"method", time.method},
                                    {"seconds", time.seconds},
                                    {"chosen", is_chosen(time, prediction.report.choice)}});
  record["grids"] = json::array();
  for (std::size_t g = 0; g < prediction.grids.size(); ++g) {
    const GridTimes& times = prediction.grids[g];
    const CriticalPathTimes& path = prediction.paths[g];
    record["grids"].push_back(
        {{"ranks", times.grid.size()},
         {"grid", name_of(times.grid)},
         {"lower", sweep_json(times.lower)},
         {"upper", sweep_json(times.upper)},
         {"speedup", prediction.grids.front().seconds() / times.seconds()},
         {"closed_form",
          {{"seconds", path.seconds}, {"level_seconds", path.level_seconds}, {"levels", path.levels}}}});
  }
  if (!prediction.grids.empty()) record["best"] = name_of(prediction.grids[prediction.best].grid);
  record["assumptions"] = prediction.assumptions;
  return record.dump(2) + "\n";
}

/// Runs the analysis of the solver for one device and reports its choices. The LU ordering becomes a user
/// permutation in `options`, so that it is computed once.
template <class Scalar, class ExecutionSpace>
Report analyze_for(const HostMatrix<Scalar>& A, const ProgramOptions& asked, LuOptions& options) {
  Report report;
  const auto [structure, method] = analyze<Scalar, ExecutionSpace>(A, asked, report, true);
  if (method == Method::lu && !structure.col_order.empty()) {
    options.ordering = Ordering::user;
    options.user_permutation = structure.col_order;
  }
  return report;
}

/// Predicts with the choices of the solver, which its analysis may not have made before a stop.
template <class Scalar>
Prediction predict_unless_stopped(const HostMatrix<Scalar>& A, PredictOptions& options,
                                  const Report& by_solver) {
  if (by_solver.status == Status::cancelled) {
    Prediction stopped;
    stopped.report = by_solver;
    return stopped;
  }
  options.lu.stop = interrupt_flag();
  const Interruptible listening;
  Prediction prediction = predict_solves(make_view(A), options);
  prediction.report.choice = by_solver.choice;
  if (by_solver.factors.nnz_l) prediction.report.factors = by_solver.factors;
  return prediction;
}

template <class Scalar, class ExecutionSpace>
int predict(const Arguments& arguments, const ProgramOptions& solver, MatrixMarketMatrix&& read) {
  const std::string& file = arguments.files.front();
  Progress progress(!arguments.quiet);
  const std::int64_t n = check_solvable(file, read);
  const MatrixMarketHeader header = read.header;
  const ProgramOptions asked = with_device<ExecutionSpace>(with_ordering(solver, n), arguments);
  auto options = predict_options<ExecutionSpace>(arguments, asked.solver.lu_options());
  progress.show("ordering and simulating");
  const auto A = convert_matrix<Scalar>(file, std::move(read));
  const Report by_solver = analyze_for<Scalar, ExecutionSpace>(A, with_symmetry(asked, header), options.lu);
  Prediction prediction = predict_unless_stopped(A, options, by_solver);
  progress.clear();
  if (arguments.json) write_text(*arguments.json, to_json(file, prediction));
  if (!arguments.quiet && !json_on_output(arguments)) write_output(to_text(file, prediction));
  if (arguments.quiet && prediction.grids.empty()) print_error(file + ": " + describe(prediction.report, 1));
  return prediction.grids.empty() ? exit_status(prediction.report.status) : exit_solved;
}

}  // namespace

int run_predict(const Arguments& arguments) {
  const ProgramOptions options = check_options(arguments);
  MatrixMarketMatrix read = read_checked_matrix_market(arguments.files.front(), check_memory(arguments, 0));
  const bool is_complex = read.header.field == MatrixMarketHeader::Field::complex;
  return with_types(arguments.scalar, is_complex, options.backend, [&]<class Scalar, class ExecutionSpace>() {
    return predict<Scalar, ExecutionSpace>(arguments, options, std::move(read));
  });
}

}  // namespace lutra::Cli
