// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_CliOptions.hpp"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <limits>

#include "Lutra_CliBackend.hpp"
#include "Lutra_Error.hpp"
#include "Lutra_Version.hpp"

namespace lutra::Cli {
namespace {

using Names = std::vector<std::string>;

std::string joined(const Names& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

bool contains(const Names& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Throws unless `value` is one of `available`; `planned` are the contract's names that have no code behind
// them yet.
void check_name(const std::string& option, const std::string& value, const Names& available,
                const Names& planned) {
  if (contains(available, value)) return;
  if (contains(planned, value)) {
    throw InputError(option + " " + value + " is not available in this version; there is " +
                     joined(available));
  }
  throw InputError(option + " does not know '" + value + "'; there is " + joined(available));
}

void refuse_unless_absent(bool given, const std::string& option, const std::string& reason) {
  if (given) throw InputError(option + " is not available in this version: " + reason);
}

void check_names(const Arguments& a) {
  check_name("--method", a.method, {"auto", "lu"}, {"ldlt", "gmres", "bicgstab", "cg"});
  check_name("--scalar", a.scalar, {"f32", "f64"}, {});
  check_name("--engine", a.engine, {"auto", "simplicial", "multifrontal"}, {});
  check_name("--symbolic", a.symbolic, {"auto", "fill2", "fill1", "etree", "ancestors"}, {});
  check_name("--pivot", a.pivot, {"auto", "static", "threshold"}, {});
  check_name("--precond", a.precond, {"none"}, {"ilu0", "iluk", "parilu", "parilut"});
  refuse_unless_absent(a.fill_level.has_value(), "--fill-level", "it belongs to incomplete factorizations");
  refuse_unless_absent(a.fill_factor.has_value(), "--fill-factor", "it belongs to incomplete factorizations");
}

std::string check_backend(const Arguments& a) {
  const Names built = version_info().backends;
  const Names known = {"auto", "serial", "openmp", "cuda", "hip"};
  if (!contains(known, a.backend)) check_name("--backend", a.backend, known, {});
  const std::string backend = a.backend == "auto" ? default_backend() : a.backend;
  if (!contains(built, backend)) {
    throw InputError("--backend " + backend + " is not built into this Kokkos; there is " + joined(built));
  }
  if (a.deterministic && backend != "serial") {
    throw InputError("--deterministic is not promised on the " + backend +
                     " backend yet; there is --backend serial");
  }
  return backend;
}

void set_ordering(const Arguments& a, SolverOptions& options) {
  const std::vector<std::pair<std::string, Ordering>> names = {{"auto", Ordering::automatic},
                                                               {"metis", Ordering::metis},
                                                               {"amd", Ordering::amd},
                                                               {"natural", Ordering::natural}};
  for (const auto& [name, ordering] : names) {
    if (a.ordering == name) {
      options.lu.ordering = ordering;
      return;
    }
  }
  if (a.ordering != "-" && !std::filesystem::exists(a.ordering)) {
    check_name("--ordering", a.ordering, {"auto", "metis", "amd", "natural", "a file that exists"},
               {"device"});
  }
  options.lu.ordering = Ordering::user;
  options.ordering_file = a.ordering;
}

void set_trisolve(const Arguments& a, SolverOptions& options) {
  check_name("--trisolve", a.trisolve, {"auto", "levels", "syncfree", "supernodal"}, {});
  options.lu.trisolve = a.trisolve == "levels"       ? TrisolveMethod::levels
                        : a.trisolve == "syncfree"   ? TrisolveMethod::syncfree
                        : a.trisolve == "supernodal" ? TrisolveMethod::supernodal
                                                     : TrisolveMethod::automatic;
}

void set_matching(const Arguments& a, SolverOptions& options) {
  check_name("--matching", a.matching, {"auto", "none", "auction", "exact"}, {});
  options.lu.matching = a.matching == "none"      ? Matching::none
                        : a.matching == "auction" ? Matching::auction
                        : a.matching == "exact"   ? Matching::exact
                                                  : Matching::automatic;
}

void set_engine(const Arguments& a, SolverOptions& options) {
  for (const Engine engine : {Engine::simplicial, Engine::multifrontal}) {
    if (a.engine == name_of(engine)) options.lu.engine = engine;
  }
}

void set_pivoting(const Arguments& a, SolverOptions& options) {
  if (a.pivot == "static") options.lu.pivoting = Pivoting::static_perturbed;
  if (a.pivot != "threshold") {
    if (a.pivot_tol) throw InputError("--pivot-tol belongs to --pivot threshold");
    return;
  }
  options.lu.pivoting = Pivoting::threshold;
  if (a.engine == "simplicial")
    throw InputError("--pivot threshold works in fronts; --engine simplicial has static pivoting only");
  if (a.trisolve == "levels" || a.trisolve == "syncfree")
    throw InputError(
        "--pivot threshold solves on the fronts: there is --trisolve auto or supernodal with it");
  if (!a.pivot_tol) return;
  if (!(*a.pivot_tol > 0 && *a.pivot_tol <= 1))
    throw InputError("--pivot-tol has to be above 0 and at most 1");
  options.lu.pivot_threshold = *a.pivot_tol;
}

void set_symbolic(const Arguments& a, SolverOptions& options) {
  for (const SymbolicMethod method :
       {SymbolicMethod::fill2, SymbolicMethod::fill1, SymbolicMethod::etree, SymbolicMethod::ancestors}) {
    if (a.symbolic == name_of(method)) options.lu.symbolic = method;
  }
}

void set_numbers(const Arguments& a, SolverOptions& options) {
  if (a.refine) options.lu.max_refinement_steps = *a.refine;
  if (a.tol) {
    if (!(*a.tol > 0) || !std::isfinite(*a.tol)) throw InputError("--tol has to be a number above 0");
    options.lu.tolerance = *a.tol;
  }
  if (a.memory_limit) options.lu.memory_limit = parse_bytes(*a.memory_limit);
}

// Standard input can be read once.
void check_standard_input(const Arguments& a) {
  const auto uses = std::count(a.files.begin(), a.files.end(), "-") + (a.rhs == "-") + (a.ordering == "-");
  if (uses > 1) throw InputError("standard input (-) can be given for one file only");
}

void check_standard_output(const Arguments& a) {
  if (a.out == "-" && a.json == "-") throw InputError("--out - and --json both want standard output");
  if (a.out == "-" && !a.quiet)
    throw InputError("--out - leaves no room for the report: add --quiet, or --json=FILE with it");
}

}  // namespace

std::size_t parse_bytes(const std::string& text) {
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
    throw InputError("--memory-limit '" + text +
                     "' is not a number of bytes like 1000000, 500K, 200M, 2G or 1T");
  }
  return static_cast<std::size_t>(number * scale);
}

void check_output_file(const std::string& option, const std::string& file) {
  if (file == "-") return;
  if (file.empty()) throw InputError(option + " needs the name of a file");
  if (file.ends_with(".gz") || file.ends_with(".xz")) {
    throw InputError(option + " " + file + ": compressed files are read, not written");
  }
  std::filesystem::path folder = std::filesystem::path(file).parent_path();
  if (folder.empty()) folder = ".";
  if (std::filesystem::is_directory(file)) throw InputError(option + " " + file + " is a folder");
  if (!std::filesystem::is_directory(folder)) {
    throw InputError(option + " " + file + ": there is no folder " + folder.string());
  }
  const bool special = std::filesystem::exists(file) && !std::filesystem::is_regular_file(file);
  if (!special && ::access(folder.c_str(), W_OK) != 0) {
    throw InputError(option + " " + file + ": the folder " + folder.string() + " cannot be written to");
  }
}

SolverOptions check_options(const Arguments& arguments) {
  SolverOptions options;
  check_names(arguments);
  options.backend = check_backend(arguments);
  set_ordering(arguments, options);
  set_matching(arguments, options);
  set_trisolve(arguments, options);
  set_engine(arguments, options);
  set_pivoting(arguments, options);
  set_symbolic(arguments, options);
  set_numbers(arguments, options);
  check_standard_input(arguments);
  check_standard_output(arguments);
  if (arguments.out) check_output_file("--out", *arguments.out);
  if (arguments.json) check_output_file("--json", *arguments.json);
  return options;
}

}  // namespace lutra::Cli
