// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_CliTable.hpp"

#include <charconv>
#include <limits>

#include "Lutra_CliChoose.hpp"
#include "Lutra_CliFlags.hpp"
#include "Lutra_CliMethodOptions.hpp"
#include "Lutra_MatrixMarket.hpp"
#include "Lutra_ParseNumber.hpp"
#include "Lutra_Report.hpp"

namespace lutra::Cli {
namespace {

/// Parses an integer in which every decimal digit counts. CLI11's own conversion saturates at the largest
/// number.
template <class Integer>
void take_integer(const std::string& option, const std::string& text, Integer least, Integer& value) {
  constexpr Integer most = std::numeric_limits<Integer>::max();
  Integer number{};
  const char* const stop = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), stop, number);
  if (error != std::errc() || rest != stop || number < least)
    throw CLI::ValidationError(option, Impl::quoted(text) + " is not an integer from " +
                                           std::to_string(least) + " to " + std::to_string(most));
  value = number;
}

template <class Integer, class Value>
CLI::Option* add_integer(CLI::App& command, const std::string& name, Value& value, Integer least,
                         const std::string& help, const std::string& group, const std::string& type = "N") {
  return command
      .add_option_function<std::string>(
          name,
          [name, least, &value](const std::string& text) {
            Integer number{};
            take_integer(name, text, least, number);
            value = number;
          },
          help)
      ->type_name(type)
      ->group(group);
}

/// Parses a number as files have it, with a decimal point in every locale.
CLI::Option* add_number(CLI::App& command, const std::string& name, std::optional<double>& value,
                        const std::string& help, const std::string& group, const std::string& type = "X") {
  return command
      .add_option_function<std::string>(
          name,
          [name, &value](const std::string& text) {
            Impl::Cursor cursor(text);
            double number = 0;
            const Impl::Parsed parsed = Impl::parse_real(cursor, number);
            if (parsed != Impl::Parsed::ok || !cursor.at_end())
              throw CLI::ValidationError(
                  name, Impl::quoted(text) + (parsed == Impl::Parsed::too_large ? " is too large a number"
                                                                                : " is not a finite number"));
            value = number;
          },
          help)
      ->type_name(type)
      ->group(group);
}

const std::vector<std::string> preconditioners = {"auto",    "none", "jacobi", "ilu0",  "iluk",   "parilu",
                                                  "parilut", "ic0",  "ick",    "paric", "parict", "lu"};
const std::vector<std::string> backend_names = {"auto", "serial", "openmp", "cuda", "hip"};
const std::vector<std::string> transports = {"auto", "mpi", "peer", "nvshmem"};
const std::vector<std::string> scalars = {"f32", "f64"};

}  // namespace

CommandTable::CommandTable(Arguments& arguments) : m_arguments(arguments) {
  for (const Flag& flag : flags()) m_arguments.flags[flag.name] = {default_of(flag)};
  m_app.require_subcommand(1);
  m_app.footer("Example: lutra solve A.mtx");
  m_app.set_version_flag("--version", "lutra " + version_info().version);
  add_solve();
  add_sequence();
  add_info();
  add_order();
  add_calibrate();
  add_predict();
  add_generate();
  add_version();
  add_completion();
}

std::vector<const CLI::App*> CommandTable::commands() const {
  return m_app.get_subcommands([](const CLI::App*) { return true; });
}

std::vector<std::string> CommandTable::command_names() const {
  std::vector<std::string> names;
  for (const CLI::App* command : commands()) names.push_back(command->get_name());
  return names;
}

const CLI::App* CommandTable::command(const std::string& name) const {
  for (const CLI::App* command : commands())
    if (command->get_name() == name) return command;
  return nullptr;
}

std::vector<std::string> CommandTable::option_names(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  return names;
}

const std::vector<std::string>& CommandTable::values(const CLI::Option& option) const {
  static const std::vector<std::string> any;
  const auto found = m_values.find(&option);
  return found == m_values.end() ? any : found->second;
}

/// Adds an option that takes one of a list of words; its help begins with the list.
CLI::Option* CommandTable::choice(CLI::App& command, const std::string& name, std::string& value,
                                  std::vector<std::string> values, const std::string& help,
                                  const std::string& group) {
  CLI::Option* const option = command.add_option(name, value, joined(values) + help)
                                  ->type_name("NAME")
                                  ->capture_default_str()
                                  ->group(group);
  m_values[option] = std::move(values);
  return option;
}

/// Adds a flag that sets an option of the solvers.
CLI::Option* CommandTable::add_flag(CLI::App& command, const std::string& group, const std::string& name) {
  const Flag& flag = flag_named(name);
  FlagText& value = m_arguments.flags.at(name);
  if (!is_list(flag) && field_named(flag.field).kind == NamedOption::Kind::boolean)
    return command
        .add_flag_callback(
            name,
            [&value] {
              value = {"true", true};
            },
            help_of(flag))
        ->group(group);
  std::vector<std::string> words = words_of(flag);
  const std::string standard = words.empty() ? "" : default_of(flag);
  CLI::Option* const option = command.add_option_function<std::string>(
      name,
      [&value, standard](const std::string& text) {
        value = {text, text != standard};
      },
      help_of(flag));
  if (!words.empty()) m_values[option] = std::move(words);
  return option->type_name(flag.type.empty() ? "NAME" : flag.type)->default_str(standard)->group(group);
}

void CommandTable::add_flags(CLI::App& command, const std::string& group,
                             const std::vector<std::string>& names) {
  for (const std::string& name : names) add_flag(command, group, name);
}

/// Options that control the automatic choice of ordering and backend.
void CommandTable::add_prediction(CLI::App& command) {
  add_flags(command, "Choices", {"--expected-factorizations"});
  command
      .add_option("--device-model", m_arguments.device_model,
                  "numbers of this machine, by lutra calibrate [built in, of an H200 and of one core]")
      ->type_name("FILE")
      ->group("Choices");
}

void CommandTable::add_choices(CLI::App& command) {
  Arguments& a = m_arguments;
  const std::string group = "Choices";
  choice(command, "--method", a.method, method_names(), ": " + field_named("method").help, group);
  choice(command, "--scalar", a.scalar, scalars, ": the precision; real or complex as the file is", group);
  add_flags(command, group,
            {"--ordering", "--matching", "--engine", "--symbolic", "--fill2", "--columns", "--trisolve",
             "--solve-precision", "--factor-precision"});
  choice(command, "--backend", a.backend, backend_names, ": auto by predicted time", group);
  add_flags(command, group,
            {"--triangle", "--pivot", "--pair-ordering", "--front-pivoting", "--pivot-tol", "--perturbation",
             "--memory-limit", "--factor-storage", "--deadline"});
  command
      .add_flag("--deterministic", a.deterministic,
                "the same bits from run to run; choices by built-in numbers, not by measured ones")
      ->group(group);
  add_prediction(command);
}

void CommandTable::add_krylov(CLI::App& command) {
  const std::string group = "Krylov methods";
  choice(command, "--precond", m_arguments.precond, preconditioners, ": auto is ilu0, ic0 for cg", group);
  add_flags(
      command, group,
      {"--side", "--apply", "--max-iterations", "--restart", "--fill-level", "--fill-factor", "--drop-tol",
       "--steps", "--sweeps", "--parilut-start", "--parilut-finish", "--parilut-residual", "--selection"});
}

void CommandTable::add_output(CLI::App& command) {
  command
      .add_option(
          "--json", m_arguments.json,
          "the report as JSON, on standard output or in FILE (a name ending in .json, or --json=FILE)")
      ->type_name("[FILE]")
      ->group("Output");
  command
      .add_flag("--quiet", m_arguments.quiet,
                "no report for people; one line on standard error where there is no solution")
      ->group("Output");
}

void CommandTable::add_solver_options(CLI::App& command) {
  Arguments& a = m_arguments;
  const std::string group = "System and accuracy";
  add_integer(command, "--nrhs", a.n_rhs, std::int64_t{1}, "right-hand sides [1]", group);
  auto* transpose =
      command.add_flag("--transpose", a.transpose, "solve with the transposed matrix")->group(group);
  command.add_flag("--adjoint", a.adjoint, "solve with the conjugate transpose")
      ->excludes(transpose)
      ->group(group);
  add_flags(command, group, {"--refine", "--tol", "--solve-singular", "--check", "--condition"});
  add_integer(command, "--repeat", a.repeat, 1,
              "refactor and solve N times after two warm-ups; medians in the times", group);
  add_choices(command);
  add_krylov(command);
  add_output(command);
  command
      .add_flag("--verbose", a.verbose,
                "the whole report: matrix, choices and reasons, times of all stages and those predicted, "
                "pivots, memory")
      ->group("Output");
}

void CommandTable::add_solve() {
  Arguments& a = m_arguments;
  CLI::App& solve = *m_app.add_subcommand("solve", "Solve A·X = B and report how good X is");
  solve.add_option("A.mtx", a.file, "Matrix Market file, plain, .gz or .xz; - for standard input")
      ->required();
  solve.add_option("--rhs", a.rhs, "right-hand sides [B = A·x*, x*(i) = 1 + (i mod 7)/4]")
      ->type_name("B.mtx")
      ->group("System and accuracy");
  add_solver_options(solve);
  solve
      .add_option("--grid", a.grid,
                  "under mpirun: the grid of ranks that solve with blocks of L and U [direct methods: on "
                  "fronts; Krylov methods: on rank 0]")
      ->type_name("PxQ")
      ->group("System and accuracy");
  choice(solve, "--transport", a.transport, transports,
         ": what passes messages of solves on a grid of devices; auto is peer where it works",
         "System and accuracy");
  solve.add_option("--out", a.out, "where to write X")->type_name("X.mtx")->group("Output");
  solve
      .add_option("--trace", a.trace,
                  "stages, choices, kernels and memory over time, for chrome://tracing and Perfetto")
      ->type_name("FILE")
      ->group("Output");
  solve.footer("Example: lutra solve A.mtx --rhs B.mtx --out X.mtx --tol 1e-10");
}

void CommandTable::add_sequence() {
  CLI::App& sequence = *m_app.add_subcommand(
      "sequence", "Solve with matrices of one pattern: analyse once, refactor for each");
  sequence.add_option("A.mtx", m_arguments.files, "Matrix Market files")
      ->required()
      ->expected(1, std::numeric_limits<int>::max());
  add_solver_options(sequence);
  sequence.footer("Example: lutra sequence step1.mtx step2.mtx step3.mtx --json=steps.json");
}

void CommandTable::add_info() {
  CLI::App& info =
      *m_app.add_subcommand("info", "Report a matrix's properties and the configuration auto selects");
  info.add_option("A.mtx", m_arguments.file, "Matrix Market file")->required();
  add_choices(info);
  add_krylov(info);
  add_output(info);
  info.add_option("--svg", m_arguments.svg, "picture of A, P·A·Q, L+U and the level widths")
      ->type_name("F.svg")
      ->group("Output");
  info.footer("Example: lutra info A.mtx --svg A.svg");
}

void CommandTable::add_order() {
  Arguments& a = m_arguments;
  CLI::App& order = *m_app.add_subcommand("order", "Order a matrix and forecast the fill of its factors");
  order.add_option("A.mtx", a.file, "Matrix Market file")->required();
  add_flag(order, "Choices", "--ordering");
  CLI::Option* const matching = add_flag(order, "Choices", "--matching");
  matching->description("auto, none, exact: auto is exact, but of symmetric matrices none");
  m_values[matching] = {"auto", "none", "exact"};
  add_flag(order, "Choices", "--deadline");
  add_prediction(order);
  add_output(order);
  order
      .add_option("--out", a.out,
                  "columns in elimination order, from 1, one a line, as --ordering reads them")
      ->type_name("P")
      ->group("Output");
  order.footer("Example: lutra order A.mtx --out P && lutra solve A.mtx --ordering P");
}

void CommandTable::add_calibrate() {
  CLI::App& calibrate = *m_app.add_subcommand(
      "calibrate", "Measure the numbers of this machine by which times are predicted; some seconds");
  calibrate.add_option("FILE", m_arguments.file, "file to write, for --device-model; - for standard output")
      ->required();
  choice(calibrate, "--backend", m_arguments.backend, backend_names, "", "Options");
  calibrate.footer("Example: lutra calibrate here.model && lutra solve A.mtx --device-model here.model");
}

/// Options for the machine whose times are predicted.
void CommandTable::add_machine(CLI::App& predict) {
  Arguments& a = m_arguments;
  const std::string group = "Machine";
  auto* ranks = add_integer(predict, "--ranks", a.ranks, 1,
                            "the best grid of 1, 2, 4, … and N devices or host ranks [4]", group);
  predict.add_option("--grid", a.grid, "this grid alone")->type_name("PxQ")->excludes(ranks)->group(group);
  choice(predict, "--device", a.device, {"auto", "host", "h100", "h200"},
         ": whose constants are taken; auto is the backend's", group);
  add_integer(predict, "--ranks-per-node", a.ranks_per_node, 1,
              "ranks of one node; the next two are then of links between nodes [all]", group);
  add_number(predict, "--latency", a.latency, "seconds of a message [the device's]", group, "S");
  add_number(predict, "--bandwidth", a.bandwidth, "bytes a second of a rank's messages [the device's]", group,
             "B");
  predict
      .add_option(
          "--device-model", a.device_model,
          "numbers of a machine, by lutra calibrate, those of its ranks by mpirun -n 2 lutra calibrate")
      ->type_name("FILE")
      ->group(group);
  add_integer(predict, "--nrhs", a.n_rhs, std::int64_t{1}, "right-hand sides [1]", group);
}

void CommandTable::add_predict() {
  Arguments& a = m_arguments;
  CLI::App& predict = *m_app.add_subcommand(
      "predict",
      "Predict the times of triangular solves by one device and by several ranks; nothing is factorized");
  predict.add_option("A.mtx", a.file, "Matrix Market file")->required();
  add_machine(predict);
  add_flags(predict, "Choices", {"--ordering", "--matching", "--deadline"});
  choice(predict, "--scalar", a.scalar, scalars, ": the precision; real or complex as the file is",
         "Choices");
  choice(predict, "--backend", a.backend, backend_names, "", "Choices");
  add_output(predict);
  predict.footer("Example: lutra predict A.mtx --ranks 1024 --latency 3e-6 --bandwidth 25e9");
}

void CommandTable::add_generate() {
  Arguments& a = m_arguments;
  CLI::App& generate = *m_app.add_subcommand("generate", "Write a test matrix");
  m_values[generate.add_option("KIND", a.kind, joined(generator_kinds()))->required()] = generator_kinds();
  generate.add_option("F.mtx", a.file, "file to write; - for standard output")->required();
  add_integer(generate, "--size", a.size, std::numeric_limits<std::int64_t>::min(),
              "grid points along a side, or unknowns (circuit, kkt, random)", "Options")
      ->required();
  add_integer(generate, "--seed", a.seed, std::uint64_t{0}, "of circuit, kkt and random [1]", "Options", "S");
  generate.footer("Example: lutra generate poisson3d --size 40 A.mtx");
}

void CommandTable::add_version() {
  m_app.add_subcommand("version", "Versions and what is built in")
      ->add_flag_callback(
          "--json", [this] { m_arguments.json = "-"; }, "as JSON");
}

void CommandTable::add_completion() {
  CLI::App& completion = *m_app.add_subcommand(
      "completion", "Print what completes commands, options and their values in a shell");
  m_values[completion.add_option("SHELL", m_arguments.kind, "bash, zsh")->required()] = {"bash", "zsh"};
  completion.footer("Example: source <(lutra completion bash)");
}

}  // namespace lutra::Cli
