// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <memory>
#include <string>
#include <vector>

#include "Lutra_FailingAllocations.hpp"
#include "Lutra_KrylovSolver.hpp"
#include "Lutra_RunStage.hpp"
#include "Lutra_SparseILU.hpp"
#include "Lutra_SparseLDLT.hpp"
#include "Lutra_TestKokkosTools.hpp"
#include "Lutra_TestSystems.hpp"

// Events of the observer and regions of Kokkos Tools: the same stages, balanced and nested, exceptions
// included, and no cost without observer and tool.

namespace lutra::Test {
namespace {

using Host = Kokkos::DefaultHostExecutionSpace;
using HostSystem = HostMatrix<double>;

/// An event with texts of its own.
struct Told {
  EventKind kind;
  std::string name, text;
  double seconds;
  std::size_t bytes, peak_bytes;
};

/// Events of solvers whose options it completes.
class Log {
 public:
  template <class Options>
  Options with(Options options) {
    Observers observers;
    observers.event = [this](const Event& event) {
      m_told.push_back({event.kind, std::string(event.name), std::string(event.text), event.seconds,
                        event.bytes, event.peak_bytes});
      m_times.push_back(event.time);
    };
    options.observers = std::make_shared<const Observers>(std::move(observers));
    return options;
  }
  const std::vector<Told>& told() const { return m_told; }
  bool is_ordered() const { return std::ranges::is_sorted(m_times); }
  /// As Regions::sequence: calls and stages.
  std::vector<std::string> sequence() const {
    std::vector<std::string> names;
    for (const Told& event : m_told) {
      const bool begins = event.kind == EventKind::call_begins || event.kind == EventKind::stage_begins;
      const bool ends = event.kind == EventKind::call_ends || event.kind == EventKind::stage_ends;
      if (begins || ends) names.push_back((ends ? "/lutra::" : "lutra::") + event.name);
    }
    return names;
  }
  std::vector<std::string> texts(EventKind kind) const {
    std::vector<std::string> texts;
    for (const Told& event : m_told)
      if (event.kind == kind) texts.push_back(event.text);
    return texts;
  }
  std::string chosen(const std::string& name) const {
    for (const Told& event : m_told)
      if (event.kind == EventKind::choice && event.name == name) return event.text;
    return "nothing";
  }
  void clear() {
    m_told.clear();
    m_times.clear();
  }

 private:
  std::vector<Told> m_told;
  std::vector<std::int64_t> m_times;
};

/// −1 off the diagonal, `diagonal` on it.
HostSystem tridiagonal(int n, double diagonal = 4) {
  HostSystem A{n, n, {0}, {}, {}};
  for (int i = 0; i < n; ++i) {
    for (int j = std::max(i - 1, 0); j <= std::min(i + 1, n - 1); ++j) {
      A.entries.push_back(j);
      A.values.push_back(i == j ? diagonal : -1.0);
    }
    A.row_map.push_back(A.nnz());
  }
  return A;
}

/// The regions of this library, without those of Kokkos Kernels.
std::vector<std::string> of_lutra(std::vector<std::string> sequence) {
  std::erase_if(sequence, [](const std::string& name) { return name.find("lutra::") == std::string::npos; });
  return sequence;
}

std::vector<std::string> stages_of(const std::vector<std::string>& sequence) {
  std::vector<std::string> names;
  for (const std::string& name : sequence)
    if (!name.starts_with('/')) names.push_back(name.substr(std::string("lutra::").size()));
  return names;
}

bool has(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

template <class Solver>
void solve_all(Solver& solver, const HostSystem& A) {
  REQUIRE(solver.analyze(A) == Status::success);
  REQUIRE(solver.factorize(A) == Status::success);
  std::vector<double> b(static_cast<std::size_t>(A.n_rows), 1.0), x(b.size());
  REQUIRE(solver.solve_host(b, x) == Status::success);
}

/// Calls and stages that a solver tells, which the regions repeat.
template <class Solver, class Options>
std::vector<std::string> stages(const Options& options, Log& log) {
  const Regions regions;
  const HostSystem A = tridiagonal(50);
  Solver solver(log.with(options));
  solve_all(solver, A);
  CHECK(regions.is_balanced());
  CHECK(log.is_ordered());
  CHECK(of_lutra(regions.sequence()) == log.sequence());
  return stages_of(log.sequence());
}

}  // namespace

TEST_CASE("each solver tells its calls and stages, and regions of Kokkos Tools have their names",
          "[solver]") {
  Log log;
  SECTION("lu by rows") {
    LuOptions options;
    options.engine = Engine::simplicial;
    CHECK(stages<SparseLU<double, Host>>(options, log) ==
          std::vector<std::string>{"analyze", "matching", "ordering", "symbolic", "symbolic", "levelization",
                                   "factorize", "numeric", "condition", "solve", "solve"});
    CHECK(log.chosen("engine") == "simplicial");
    CHECK(log.chosen("method") == "lu");
  }
  SECTION("lu by fronts") {
    LuOptions options;
    options.engine = Engine::multifrontal;
    CHECK(stages<SparseLU<double, Host>>(options, log) ==
          std::vector<std::string>{"analyze", "matching", "ordering", "symbolic", "levelization", "factorize",
                                   "numeric", "condition", "solve", "solve"});
    CHECK(log.chosen("engine") == "multifrontal");
  }
  SECTION("ldlt") {
    CHECK(stages<SparseLDLT<double, Host>>(LdltOptions(), log) ==
          std::vector<std::string>{"analyze", "matching", "ordering", "symbolic", "symbolic", "levelization",
                                   "factorize", "numeric", "condition", "solve", "solve"});
    CHECK(log.chosen("method") == "ldlt");
  }
  SECTION("gmres with incomplete factors") {
    const auto names = stages<KrylovSolver<double, Host>>(KrylovSolverOptions(), log);
    for (const char* name : {"analyze", "symbolic", "factorize", "numeric", "solve"}) CHECK(has(names, name));
    CHECK(std::ranges::count(names, "analyze") == 1);  // that of the factors is part of it
  }
}

TEST_CASE("events have reasons, times and bytes", "[solver]") {
  Log log;
  SparseLU<double, Host> solver(log.with(LuOptions()));
  solve_all(solver, tridiagonal(50));
  for (const Told& event : log.told()) {
    CAPTURE(to_string(event.kind), event.name, event.text);
    CHECK(event.seconds >= 0);
    CHECK(event.seconds < 60);
    if (event.kind == EventKind::stage_ends) CHECK(event.peak_bytes >= event.bytes);
    if (event.kind == EventKind::stage_ends && event.name == "numeric") CHECK(event.bytes > 50 * 8 * 2);
  }
  const Choice& choice = solver.report().choice;
  CHECK(log.chosen("ordering") == choice.ordering);
  CHECK(log.chosen("trisolve") == choice.trisolve);
  std::string reasons;
  for (const Told& event : log.told())
    if (event.kind == EventKind::choice && event.name == "why")
      reasons += (reasons.empty() ? "" : "; ") + event.text;
  CHECK(reasons == choice.why);
}

TEST_CASE("escalations of the report are told when they happen", "[solver]") {
  Log log;
  LuOptions options;
  options.matching = Matching::none;
  options.ordering = Ordering::natural;
  options.perturbation = 0.5;
  options.engine = Engine::simplicial;
  // Half of the pivots are 0.1 and are replaced by 0.5, so that refinement diverges.
  HostSystem A{40, 40, {0}, {}, {}};
  for (int i = 0; i < 40; ++i) {
    const int first = i - i % 2;
    A.entries.insert(A.entries.end(), {first, first + 1});
    A.values.insert(A.values.end(), {i % 2 == 0 ? 0.1 : 1.0, 1.0});
    A.row_map.push_back(A.nnz());
  }
  SparseLU<double, Host> solver(log.with(options));
  REQUIRE(solver.analyze(A) == Status::success);
  static_cast<void>(solver.factorize(A));
  std::vector<double> b(40), x(40);
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = static_cast<double>(1 + i % 3);
  static_cast<void>(solver.solve_host(b, x));
  REQUIRE_FALSE(solver.report().escalations.empty());
  CHECK(log.texts(EventKind::escalation) == solver.report().escalations);
  CHECK(has(stages_of(log.sequence()), "refine"));
}

TEST_CASE("begins and ends are balanced after exceptions, which lose no event", "[solver]") {
  Log log;
  const Regions regions;
  const HostSystem A = tridiagonal(400);
  LuOptions options;
  options.engine = Engine::simplicial;
  SparseLU<double, Host> whole(log.with(options));
  solve_all(whole, A);
  const std::size_t most = whole.report().memory.device_peak_bytes;
  std::size_t failures = 0;
  for (std::size_t part = 1; part < 16; ++part) {
    log.clear();
    options.memory_limit = most * part / 16;
    SparseLU<double, Host> solver(log.with(options));
    try {
      std::vector<double> b(400, 1.0), x(400);
      static_cast<void>(solver.analyze(A));
      static_cast<void>(solver.factorize(A));
      static_cast<void>(solver.solve_host(b, x));
    } catch (const OutOfMemoryError&) {
      ++failures;
      const auto sequence = log.sequence();
      REQUIRE_FALSE(sequence.empty());
      const auto is_end = [](const std::string& name) { return name.starts_with('/'); };
      CHECK(2 * static_cast<std::size_t>(std::ranges::count_if(sequence, is_end)) == sequence.size());
      CHECK(is_end(sequence.back()));
    }
    CHECK(regions.is_balanced());
  }
  CHECK(failures > 5);
}

TEST_CASE("an observer of events stops nothing and changes no choice", "[solver]") {
  Log log;
  const HostSystem A = tridiagonal(300);
  SparseLU<double, Host> watched(log.with(LuOptions())), alone{LuOptions()};
  solve_all(watched, A);
  solve_all(alone, A);
  CHECK(watched.report().choice.why == alone.report().choice.why);
  CHECK(watched.factors().values == alone.factors().values);
}

TEST_CASE("stages cost no allocation without observer and tool", "[solver]") {
  const MemoryBudget budget = MemoryBudget().with_control();
  const FailingAllocations counter;
  const auto stages = [&] {
    for (int k = 0; k < 1000; ++k) {
      const lutra::Impl::RunStage stage(budget, "a stage with a name that no small string holds");
      budget.run().tell_escalation("a step");
    }
  };
  CHECK(counter.count(stages) == 0);
  const Regions regions;
  CHECK(counter.count(stages) > 0);  // so that the count above would have told
  CHECK(regions.is_balanced());
}

}  // namespace lutra::Test
