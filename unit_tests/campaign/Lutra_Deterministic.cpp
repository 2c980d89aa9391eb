// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Solves a list of systems with the option `deterministic` and prints a line with a hash of all bits of each
// solution, of its statuses and of its counts. The lines must be the same in every run, and on hosts for any
// number of threads (docs/deterministic.md); deterministic.cmake compares them.
//
//   lutra_deterministic [--runs N] [--load] [--times] [--matrices FOLDER]
//
// Each system is solved N times (default 2), by a new solver each time; the program fails if the bits differ.
// --load keeps all processors busy meanwhile. --times prints instead the seconds of analysis, factorization
// and solve without and with the option, medians of N.
#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "Lutra_CampaignRun.hpp"
#include "Lutra_MatrixMarket.hpp"

namespace {

using lutra::HostMatrix;
using lutra::SolverOptions;

/// A way to solve, by its options.
struct Method {
  std::string name;
  SolverOptions options;
  bool symmetric = false;  ///< needs a symmetric matrix
  bool definite = false;   ///< needs a positive definite one
};

Method krylov(const std::string& name, lutra::KrylovMethod method, lutra::IluMethod ilu, bool symmetric) {
  Method result{name, {}, symmetric, symmetric};
  result.options.method = lutra::Method::krylov;
  result.options.krylov.method = method;
  result.options.krylov.ilu.method = ilu;
  result.options.krylov.ilu.symmetric = symmetric;
  result.options.krylov.max_iterations = 300;
  return result;
}

std::vector<Method> methods() {
  using lutra::IluMethod, lutra::KrylovMethod;
  using lutra::Campaign::options_of;
  using lutra::Campaign::Way;
  std::vector<Method> all{{"lu", options_of(Way::lu)},
                          {"lu on fronts", options_of(Way::lu_fronts)},
                          {"lu, threshold", options_of(Way::lu_threshold)},
                          {"ldlt", options_of(Way::ldlt), true},
                          {"cholesky", options_of(Way::cholesky), true, true},
                          {"auto", options_of(Way::automatic)},
                          krylov("gmres, ilu0", KrylovMethod::gmres, IluMethod::iluk, false),
                          krylov("gmres, parilu", KrylovMethod::gmres, IluMethod::parilu, false),
                          krylov("gmres, parilut", KrylovMethod::gmres, IluMethod::parilut, false),
                          krylov("bicgstab, ilu0", KrylovMethod::bicgstab, IluMethod::iluk, false),
                          krylov("cg, paric", KrylovMethod::cg, IluMethod::parilu, true)};
  Method perturbed{"lu, large perturbations", options_of(Way::lu)};  // needs GMRES after the factorization
  perturbed.options.perturbation = 0.3;
  all.push_back(perturbed);
  Method loose{"lu, single precision", options_of(Way::lu)};
  loose.options.lu.solve_precision = lutra::FactorPrecision::single;
  all.push_back(loose);
  return all;
}

struct Problem {
  std::string name;
  HostMatrix<double> A;
  bool symmetric = false, definite = false;
};

std::vector<Problem> problems(const std::string& folder) {
  struct Generated {
    const char* kind;
    int size;
    bool definite;
  };
  std::vector<Problem> all;
  for (const auto& [kind, size, definite] :
       {Generated{"poisson2d", 60, true}, Generated{"convdiff3d", 13, false},
        Generated{"circuit", 3000, false}, Generated{"kkt", 2500, false}, Generated{"aniso2d", 50, true},
        Generated{"random", 400, false}})
    all.push_back(
        {std::string(kind) + " " + std::to_string(size), lutra::generate(kind, size), false, definite});
  if (folder.empty()) return all;
  for (const char* const name : {"memplus", "bcsstk18", "cvxqp3", "rdb5000", "orani678", "olm1000", "bayer04",
                                 "ncvxqp1", "case9", "add32", "c-41", "sherman5", "Dubcova1", "lns_3937"}) {
    const auto file = std::filesystem::path(folder) / (std::string(name) + ".mtx.xz");
    if (!std::filesystem::exists(file)) continue;
    const auto read = lutra::read_matrix_market(file.string());
    if (const auto* A = std::get_if<HostMatrix<double>>(&read.matrix)) all.push_back({name, *A});
  }
  return all;
}

/// All that a solve leaves.
struct Result {
  std::string text;  ///< statuses, counts and choices
  std::vector<double> x;
  double seconds = 0;

  bool has_bits_of(const Result& other) const {
    return text == other.text && x.size() == other.x.size() &&
           std::memcmp(x.data(), other.x.data(), x.size() * sizeof(double)) == 0;
  }
  /// FNV-1a over the bytes of the text and of x.
  std::uint64_t hash() const {
    std::uint64_t h = 0xcbf29ce484222325U;
    const auto add = [&h](const char* bytes, std::size_t count) {
      for (std::size_t k = 0; k < count; ++k) h = (h ^ static_cast<unsigned char>(bytes[k])) * 0x100000001b3U;
    };
    add(text.data(), text.size());
    add(reinterpret_cast<const char*>(x.data()), x.size() * sizeof(double));
    return h;
  }
};

Result solve(const Problem& problem, SolverOptions options, bool deterministic) {
  options.deterministic = deterministic;
  const std::vector<double> b(static_cast<std::size_t>(problem.A.n_rows), 1.0);
  Result result;
  result.x.resize(b.size());
  const Kokkos::Timer timer;
  lutra::Solver<double> solver(options);
  lutra::Status status = solver.analyze(problem.A);
  if (status == lutra::Status::success) status = solver.factorize(problem.A);
  if (status == lutra::Status::success) status = solver.solve_host(b, result.x);
  result.seconds = timer.seconds();
  const lutra::Report& report = solver.report();
  result.text = std::string(to_string(status)) + ", " + report.choice.ordering + ", " + report.choice.engine +
                ", entries " + std::to_string(report.factors.nnz_l.value_or(0)) + ", iterations " +
                std::to_string(report.iterations.value_or(0)) + ", steps " +
                std::to_string(report.refinement_steps) + ", escalations " +
                std::to_string(report.escalations.size());
  return result;
}

/// Threads that compute until they are told to stop.
class Load {
 public:
  Load() {
    for (unsigned k = 0; k < std::max(2U, std::thread::hardware_concurrency()); ++k)
      m_threads.emplace_back([](const std::stop_token& stop) {
        while (!stop.stop_requested()) {
        }
      });
  }

 private:
  std::vector<std::jthread> m_threads;
};

struct Arguments {
  int runs = 2;
  bool load = false, times = false;
  std::string matrices;
};

Arguments parse(int argc, char* argv[]) {
  Arguments result;
  for (int k = 1; k < argc; ++k) {
    const std::string name = argv[k];
    if (name == "--load") {
      result.load = true;
    } else if (name == "--times") {
      result.times = true;
    } else if (name == "--runs" && k + 1 < argc) {
      result.runs = std::stoi(argv[++k]);
    } else if (name == "--matrices" && k + 1 < argc) {
      result.matrices = argv[++k];
    } else {
      throw std::invalid_argument(name + ": unknown option, or one without a value");
    }
  }
  return result;
}

double median_seconds(const Problem& problem, const SolverOptions& options, bool deterministic, int runs) {
  std::vector<double> seconds;
  for (int run = 0; run < runs; ++run) seconds.push_back(solve(problem, options, deterministic).seconds);
  std::ranges::sort(seconds);
  return seconds[seconds.size() / 2];
}

/// @returns whether all runs have the same bits
bool compare_runs(const Problem& problem, const Method& method, int runs) {
  const Result first = solve(problem, method.options, true);
  std::printf("%-16s %-24s %016llx  %s\n", problem.name.c_str(), method.name.c_str(),
              static_cast<unsigned long long>(first.hash()), first.text.c_str());
  std::fflush(stdout);
  for (int run = 1; run < runs; ++run) {
    if (solve(problem, method.options, true).has_bits_of(first)) continue;
    std::printf("FAILED: run %d differs\n", run);
    return false;
  }
  return true;
}

int run(const Arguments& arguments) {
  std::optional<Load> load;
  if (arguments.load) load.emplace();
  bool is_good = true;
  for (Problem& problem : problems(arguments.matrices)) {
    problem.symmetric = lutra::Campaign::is_symmetric(problem.A);
    for (const Method& method : methods()) {
      if ((method.symmetric && !problem.symmetric) || (method.definite && !problem.definite)) continue;
      if (!arguments.times) {
        is_good = compare_runs(problem, method, arguments.runs) && is_good;
        continue;
      }
      const double any = median_seconds(problem, method.options, false, arguments.runs);
      const double fixed = median_seconds(problem, method.options, true, arguments.runs);
      std::printf("%-16s %-24s %9.3f ms %9.3f ms, ratio %.2f\n", problem.name.c_str(), method.name.c_str(),
                  1e3 * any, 1e3 * fixed, fixed / any);
      std::fflush(stdout);
    }
  }
  return is_good ? EXIT_SUCCESS : EXIT_FAILURE;
}

}  // namespace

int main(int argc, char* argv[]) {
  const Kokkos::ScopeGuard kokkos;
  try {
    return run(parse(argc, argv));
  } catch (const std::exception& mistake) {
    std::fprintf(stderr, "lutra_deterministic: %s\n", mistake.what());
    return EXIT_FAILURE;
  }
}
