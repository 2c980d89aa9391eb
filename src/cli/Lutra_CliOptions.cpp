// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_CliOptions.hpp"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <limits>
#include <map>
#include <system_error>

#include "Lutra_AtomicFile.hpp"
#include "Lutra_ChooseOrdering.hpp"
#include "Lutra_CliChoose.hpp"
#include "Lutra_CliDeviceModel.hpp"
#include "Lutra_CliFlags.hpp"
#include "Lutra_CliMethodOptions.hpp"
#ifdef LUTRA_HAS_DEVICE_LAUNCHES
#include "Lutra_DeviceLaunches.hpp"
#endif
#include "Lutra_Error.hpp"
#include "Lutra_Report.hpp"

namespace lutra::Cli {
namespace {

/// Backends by command-line name, with their names in Kokkos.
const std::map<std::string, std::string> kokkos_names = {
    {"serial", "Serial"}, {"openmp", "OpenMP"}, {"cuda", "CUDA"}, {"hip", "HIP"}};

std::string not_built(const std::string& backend, const std::vector<std::string>& built) {
  std::vector<std::string> spaces;
  for (const std::string& name : built) spaces.push_back(kokkos_names.at(name));
  return "--backend " + backend + ": not in this build (Kokkos has " + joined(spaces) +
         "); see docs/building.md";
}

}  // namespace

std::string check_backend(const Arguments& a) {
  const std::vector<std::string> built = version_info().backends;
  const std::string backend = a.backend == "auto" ? built.front() : a.backend;
  if (std::find(built.begin(), built.end(), backend) == built.end()) {
    if (kokkos_names.contains(backend)) throw InputError(not_built(backend, built));
    auto choices = built;
    choices.insert(choices.begin(), "auto");
    refuse("--backend", backend, choices);
  }
  return backend;
}

namespace {

// Number of factorizations per analysis that this call makes. --repeat measures for longer sequences, so
// orderings are chosen for ten times as many.
int factorizations_of(const Arguments& a) {
  const std::int64_t runs = a.repeat ? 10 * (3 + static_cast<std::int64_t>(*a.repeat)) : 1;
  const auto files = a.command == "sequence" ? static_cast<std::int64_t>(a.files.size()) : 1;
  return static_cast<int>(std::min<std::int64_t>(runs * files, std::numeric_limits<int>::max()));
}

// With --deterministic a file of measured numbers is checked, but not used.
void set_prediction(const Arguments& a, DirectOptions& options) {
  options.deterministic = a.deterministic;
  if (!a.is_given("--expected-factorizations")) options.expected_factorizations = factorizations_of(a);
  if (!a.device_model) return;
  DeviceModel model = read_device_model(*a.device_model);
  if (!a.deterministic) options.device_model = std::move(model);
}

void set_ordering(const Arguments& a, ProgramOptions& options) {
  const std::string& ordering = a.text("--ordering");
  std::vector<std::string> words = words_of(flag_named("--ordering"));
  std::error_code unreadable;  // such as a cycle of links; reading the file reports the error
  const bool is_file = std::filesystem::exists(ordering, unreadable) || unreadable;
  if (std::find(words.begin(), words.end(), ordering) != words.end())
    return set_option(options.solver, "ordering", ordering);
  if (ordering != "-" && !is_file) {
    words.emplace_back("a file that exists");
    refuse("--ordering", ordering, words);
  }
  options.solver.ordering = Ordering::user;
  options.ordering_file = ordering;
}

void check_threshold_pivoting(const Arguments& a) {
  if (a.method == "ldlt" || a.method == "cholesky") return;  // set by set_ldlt
  const std::string& trisolve = a.text("--trisolve");
  if (a.text("--pivot") != "threshold") {
    if (a.is_given("--pivot-tol")) throw InputError("--pivot-tol belongs to --pivot threshold");
    return;
  }
  if (a.text("--engine") == "simplicial")
    throw InputError("--pivot threshold works in fronts; --engine simplicial has static pivoting only");
  if (trisolve == "levels" || trisolve == "syncfree")
    throw InputError("--pivot threshold solves on the fronts: --trisolve has to be auto or supernodal");
  if (a.text("--solve-precision") == "single")
    throw InputError("--pivot threshold reads the factors in working precision only");
}

/// Checks what lists of options belong to, and completes `--columns` by kernels that have no name.
void check_lists(const Arguments& a, SolverOptions& options) {
  if (a.is_given("--fill2") && a.text("--symbolic") != "fill2")
    throw InputError("--fill2 belongs to --symbolic fill2");
  if (a.is_given("--columns") && a.text("--engine") != "simplicial")
    throw InputError("--columns belongs to --engine simplicial");
#ifdef LUTRA_HAS_DEVICE_LAUNCHES
  if (options.lu.columns.levels == LevelizationMethod::device_launches)
    options.lu.columns.launches = &device_launches();
#else
  static_cast<void>(options);
#endif
}

// Standard input can be read only once.
void check_standard_input(const Arguments& a) {
  const auto uses =
      std::count(a.files.begin(), a.files.end(), "-") + (a.rhs == "-") + (a.text("--ordering") == "-");
  if (uses > 1) throw InputError("standard input (-) can be given for one file only");
}

/// A file read or written by an option or an argument.
struct NamedFile {
  std::string option, file;

  std::string text() const {
    return option.empty() ? file : option + (option == "--json" ? "=" : " ") + file;
  }
};

std::vector<NamedFile> outputs_of(const Arguments& a) {
  std::vector<NamedFile> outputs;
  if (a.out) outputs.push_back({"--out", *a.out});
  if (a.svg) outputs.push_back({"--svg", *a.svg});
  if (a.json) outputs.push_back({"--json", *a.json});
  return outputs;
}

void check_standard_output(const Arguments& a) {
  std::string taken;
  for (const auto& [option, file] : outputs_of(a)) {
    if (file != "-") continue;
    const std::string what = option == "--json" ? option : option + " -";
    if (!taken.empty()) throw InputError(taken + " and " + what + " both want standard output");
    taken = what;
    if (option != "--json" && !a.quiet)
      throw InputError(what + " leaves no room for the report: add --quiet, or --json=FILE with it");
  }
}

/// Whether writing replaces the file; devices and pipes are not replaced.
bool is_replaced(const std::string& file) {
  std::error_code absent;
  return file != "-" &&
         (std::filesystem::is_regular_file(file, absent) || !std::filesystem::exists(file, absent));
}

/// Whether two names denote one file that writing would replace.
bool is_one_file(const std::string& other, const std::string& file) {
  if (other.empty() || !is_replaced(other)) return false;
  try {
    return Impl::followed(other) == Impl::followed(file);
  } catch (const FileError&) {  // reading it will say what is wrong
    return false;
  }
}

/// Checks that output files differ from each other and from all input files.
/// @param ordering_file of `--ordering`; empty: none
void check_output_files(const Arguments& a, const std::string& ordering_file) {
  const std::vector<NamedFile> outputs = outputs_of(a);
  for (const auto& [option, file] : outputs) check_output_file(option, file);
  std::vector<NamedFile> inputs{{"--ordering", ordering_file}};
  for (const std::string& file : a.files) inputs.push_back({"", file});
  if (a.rhs) inputs.push_back({"--rhs", *a.rhs});
  if (a.device_model) inputs.push_back({"--device-model", *a.device_model});
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    if (!is_replaced(outputs[k].file)) continue;
    const auto is_target = [&](const NamedFile& other) { return is_one_file(other.file, outputs[k].file); };
    for (std::size_t other = 0; other < k; ++other)
      if (is_target(outputs[other]))
        throw InputError(outputs[other].text() + " and " + outputs[k].text() + " are one file");
    for (const NamedFile& input : inputs)
      if (is_target(input))
        throw InputError(outputs[k].text() + " would overwrite " + input.text() + ", which is read");
  }
}

}  // namespace

std::size_t parse_bytes(const std::string& text, const std::string& option) {
  double number = 0;
  const char* stop = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), stop, number, std::chars_format::fixed);
  std::string unit(rest, stop);
  std::transform(unit.begin(), unit.end(), unit.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  if (unit.ends_with("IB")) {
    unit.resize(unit.size() - 2);
  } else if (unit.size() == 2 && unit.ends_with("B")) {
    unit.resize(1);
  }
  const std::string units = "KMGT";
  const bool known_unit = unit.empty() || (unit.size() == 1 && units.find(unit) != std::string::npos);
  const double scale = unit.empty() ? 1 : std::pow(1024.0, static_cast<double>(units.find(unit) + 1));
  if (error != std::errc() || !known_unit || !(number * scale >= 1) || number * scale > 0x1p62) {
    throw InputError(option + " '" + text + "' is not a number of bytes like 1000000, 500K, 200M, 2G or 1T");
  }
  return static_cast<std::size_t>(number * scale);
}

namespace {

/// Final target of a chain of links. @throws InputError naming the option
std::filesystem::path target_of(const std::string& option, const std::string& file) {
  try {
    return Impl::followed(file);
  } catch (const FileError& error) {
    throw InputError(option + " " + error.what());
  }
}

}  // namespace

void check_output_file(const std::string& option, const std::string& file) {
  if (file == "-") return;
  if (file.empty()) throw InputError(option + " needs the name of a file");
  if (file.ends_with(".gz") || file.ends_with(".xz")) {
    throw InputError(option + " " + file + ": compressed files are read, not written");
  }
  std::filesystem::path folder = std::filesystem::path(file).parent_path();
  if (folder.empty()) folder = ".";
  std::error_code absent;
  if (std::filesystem::is_directory(file, absent)) throw InputError(option + " " + file + " is a folder");
  if (!std::filesystem::is_directory(folder, absent)) {
    throw InputError(option + " " + file + ": there is no folder " + folder.string());
  }
  if (!is_replaced(file)) return;
  const std::filesystem::path target = target_of(option, file);
  folder = target.parent_path().empty() ? "." : target.parent_path();  // links may lead elsewhere
  if (!std::filesystem::is_directory(folder, absent)) {
    throw InputError(option + " " + file + " leads to " + target.string() + ": there is no folder " +
                     folder.string());
  }
  if (::access(folder.c_str(), W_OK) != 0) {
    throw InputError(option + " " + file + ": the folder " + folder.string() + " cannot be written to");
  }
}

DeviceModel model_for(const ProgramOptions& options) {
  return options.solver.device_model.value_or(host_device_model());
}

ProgramOptions with_backend_chosen(ProgramOptions options, const Arguments& arguments,
                                   const MatrixMarketMatrix& matrix) {
  const std::vector<std::string> built = version_info().backends;
  const auto is_host = [](const std::string& name) { return name == "serial" || name == "openmp"; };
  const auto host = std::find_if(built.begin(), built.end(), is_host);
  if (arguments.backend != "auto" || options.is_krylov() || host == built.begin() || host == built.end())
    return options;
  const DeviceModel device = options.solver.device_model.value_or(h200_device_model());
  const bool on_host = std::visit(
      [&](const auto& A) {
        const OrderingUse use{static_cast<double>(options.solver.expected_factorizations), false, false,
                              host_threads<Kokkos::DefaultHostExecutionSpace>()};
        return choose_backend(make_view(A).pattern(), use, host_device_model(), device) ==
               BackendChoice::host;
      },
      matrix.matrix);
  options.backend_reason = on_host
                               ? *host + ": predicted to have solved before " + built.front() + " has begun"
                               : built.front() + ": predicted to be faster than " + *host;
  if (on_host) {
    options.backend = *host;
    options.solver.device_model.reset();  // it is the device's
  }
  return options;
}

ProgramOptions check_options(const Arguments& arguments) {
  ProgramOptions options;
  choose<bool>("--scalar", arguments.scalar, {{"f32", true}, {"f64", true}});
  set_method(arguments, options.solver);
  set_fields(arguments, options.solver);
  set_ordering(arguments, options);
  check_threshold_pivoting(arguments);
  check_lists(arguments, options.solver);
  set_prediction(arguments, options.solver);
  options.solver.time_stages = true;
  set_krylov(arguments, options);
  set_ldlt(arguments);
  options.backend = check_backend(arguments);
  check_standard_input(arguments);
  check_standard_output(arguments);
  check_output_files(arguments, options.ordering_file);
  return options;
}

}  // namespace lutra::Cli
