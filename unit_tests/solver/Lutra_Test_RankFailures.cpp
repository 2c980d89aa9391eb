// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <mpi.h>
#include <algorithm>
#include <cmath>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "Lutra_CollectiveLU.hpp"
#include "Lutra_Distributed.hpp"
#include "Lutra_Error.hpp"
#include "Lutra_FailingAllocations.hpp"
#include "Lutra_FailingMessages.hpp"
#include "Lutra_Instantiate.hpp"
#include "Lutra_MatrixMarket.hpp"
#include "Lutra_RankCalls.hpp"
#include "Lutra_TestStatus.hpp"

// An allocation or a message of one rank fails while the others work. All ranks get an error, none waits for
// good, and the next call has the bits of one on ranks that never failed: with the same communicator if all
// ranks threw the same error, else with a new one.

namespace lutra::Test {
namespace {

using Catch::Matchers::ContainsSubstring;
using Numbers = std::vector<double>;

bool on_any_rank(bool here) {
  int mine = here ? 1 : 0, any = 0;
  PMPI_Allreduce(&mine, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  return any != 0;
}
bool on_all_ranks(bool here) {
  return !on_any_rank(!here);
}

/// Events that sweeps have made fail in this program.
long& failed_events() {
  static long count = 0;
  return count;
}

/// A solver on ranks, its matrix, and the calls in which something fails.
template <class Solver, class Options>
class RankSweep {
 public:
  /// @param patience   seconds of the watchdog; long, since busy cores are no failure
  /// @param times_out  whether it may be the watchdog that ends a call
  RankSweep(HostMatrix<double> A, const Options& options, double patience = 30, bool times_out = false)
      : m_matrix(std::move(A)), m_options(options), m_patience(patience), m_times_out(times_out) {
    Run run(*this);
    run.factorize();
    m_expected = run.solve();
  }

  /// @param most events of each call that fail, at equal distances; 0: all
  template <class Failing>
  void check(const Failing& failing, long most,
             const std::vector<std::string>& calls = {"factorize", "factorize again", "refactorize",
                                                      "solve"}) const {
    int ranks = 1;
    PMPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (const std::string& call : calls) {
      for (int failed = 0; failed < ranks; failed += std::max(1, ranks - 1)) {
        const long count = count_events(failing, call, failed);
        const long step = most > 0 ? 1 + (count - 1) / most : 1;
        for (long event = (step + 1) / 2; event <= count; event += step) {
          INFO(call << ", " << Failing::event << " " << event << " of " << count << " of rank " << failed);
          ++failed_events();
          check_one(failing, call, failed, event);
        }
      }
    }
  }

 private:
  /// Communicator and solver of one attempt.
  struct Run {
    explicit Run(const RankSweep& sweep)
        : comm(MPI_COMM_WORLD, {.watchdog_seconds = sweep.m_patience}),
          A(deal_rows(comm, sweep.m_matrix)),
          solver(std::in_place, comm, sweep.m_options),
          b(A.rows.size()),
          x(b.size()) {
      for (std::size_t i = 0; i < b.size(); ++i) b[i] = 1 + static_cast<double>(A.rows[i] % 7);
    }
    void factorize() { succeed(solver->factorize(A)); }
    const Numbers& solve() {
      succeed(solver->solve(b, x));
      return x;
    }
    void call(const std::string& name) {
      if (name.starts_with("factorize")) factorize();
      if (name == "refactorize") succeed(solver->refactorize(A.values));
      if (name == "solve") solve();
    }

    Communicator comm;
    DistributedRows<double> A;
    std::optional<Solver> solver;
    Numbers b, x;
  };

  void prepare(Run& run, const std::string& call) const {
    if (call != "factorize") run.factorize();
    PMPI_Barrier(MPI_COMM_WORLD);
  }

  template <class Failing>
  long count_events(const Failing& failing, const std::string& call, int failed) const {
    long count = 0;
    for (int turn = 0; turn < 2; ++turn) {
      Run run(*this);
      prepare(run, call);
      count = failing.count([&] { run.call(call); });
      PMPI_Bcast(&count, 1, MPI_LONG, failed, MPI_COMM_WORLD);
      run.solver->close();
      run.comm.close();
    }
    return count;
  }

  /// @returns whether the call threw, as it may
  template <class Failing>
  static bool throws(const Failing& failing, bool fails_here, long event, const std::function<void()>& call) {
    try {
      if (fails_here) return failing.fail(event, call) == Injected::thrown;
      call();
      return false;
    } catch (const RemoteError&) {
    } catch (const std::bad_alloc&) {
    } catch (const TimeoutError&) {
    }
    return true;
  }

  template <class Failing>
  void check_one(const Failing& failing, const std::string& call, int failed, long event) const {
    Run run(*this);
    prepare(run, call);
    const bool threw = throws(failing, run.comm.rank() == failed, event, [&] { run.call(call); });
    PMPI_Barrier(MPI_COMM_WORLD);
    if (!on_any_rank(run.comm.failure().has_value())) {
      REQUIRE((on_all_ranks(threw) || on_all_ranks(!threw)));
      check_next(run, threw);
      return;
    }
    CHECK_THROWS_AS(run.comm.barrier(), RemoteError);  // also where the call had ended before
    CHECK((m_times_out || run.comm.failure()->kind != FailureKind::timeout));
    CHECK(run.comm.leave());
    PMPI_Barrier(MPI_COMM_WORLD);
    run.solver.reset();
    Run next(*this);
    check_next(next, true);
  }
  /// @param same_bits false where the call got on without memory: its analysis remains, with another order
  void check_next(Run& run, bool same_bits) const {
    run.factorize();
    const Numbers x = run.solve();
    double error = 0, size = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      error = std::max(error, std::abs(x[i] - m_expected.at(i)));
      size = std::max(size, std::abs(m_expected[i]));
    }
    REQUIRE(on_all_ranks(same_bits ? x == m_expected : error <= 1e-9 * size));
    run.solver->close();
    run.comm.close();
  }

  HostMatrix<double> m_matrix;
  Options m_options;
  double m_patience;
  bool m_times_out;
  Numbers m_expected;  // X of this rank
};

LuOptions by_fronts() {
  LuOptions options;
  options.engine = Engine::multifrontal;
  return options;
}
LdltOptions in_place() {
  LdltOptions options;
  options.in_place_first = true;
  return options;
}

template <class Failing>
void check_lu(const Failing& failing, long most) {
  RankSweep<DistributedLU<double>, LuOptions>(generate("convdiff3d", 6), by_fronts()).check(failing, most);
}
template <class Failing>
void check_alone_with_pattern_of_all(const Failing& failing, long most) {
  LuOptions options;
  options.engine = Engine::simplicial;
  options.symbolic = SymbolicMethod::fill2;
  RankSweep<DistributedLU<double>, LuOptions>(generate("circuit", 120), options).check(failing, most);
}
template <class Failing>
void check_ldlt(const Failing& failing, long most) {
  RankSweep<DistributedLDLT<double>, LdltOptions>(generate("kkt", 150), in_place()).check(failing, most);
}

/// CollectiveLU as C, Python and Trilinos use it: each request is made where the other ranks learn of errors.
struct CollectiveCalls {
  lutra::Impl::RankCalls calls{MPI_COMM_WORLD, 30};
  lutra::Impl::CollectiveLU<double> lu{calls};
  LuOptions options = by_fronts();
  DistributedRows<double> A = deal_rows(calls.communicator(), generate("convdiff3d", 4));
  Numbers x = Numbers(A.rows.size());

  Status factorize() {
    return lu.factorize("factorize, in the words of a language", options, false, A.n, [&] { return A; });
  }
  Status solve() {
    return lu.solve(
        "solve, in the words of a language", 1, Transposition::none,
        [&] { return Numbers(A.rows.size(), 1.0); }, [&](const Numbers& X) { x = X; });
  }
  Numbers solution() {
    succeed(factorize());
    succeed(solve());
    return x;
  }
};

void check_collective_call(bool solves, long event, const Numbers& expected) {
  CollectiveCalls run;
  if (solves) succeed(run.factorize());
  const int last = run.calls.communicator().size() - 1;
  PMPI_Barrier(MPI_COMM_WORLD);
  const auto call = [&] { solves ? run.solve() : run.factorize(); };
  bool threw = true;
  try {
    if (run.calls.communicator().rank() == last)
      threw = FailingAllocations().fail(event, call) == Injected::thrown;
    else
      call(), threw = false;
  } catch (const RemoteError&) {
  } catch (const std::bad_alloc&) {
  }
  PMPI_Barrier(MPI_COMM_WORLD);
  if (on_any_rank(run.calls.communicator().failure().has_value())) {
    CHECK_THROWS_AS(run.calls.communicator().barrier(), RemoteError);
    CHECK(run.calls.communicator().failure()->kind != FailureKind::timeout);
    CHECK(run.calls.communicator().leave());
    return;
  }
  REQUIRE((on_all_ranks(threw) || on_all_ranks(!threw)));
  REQUIRE(on_all_ranks(run.solution() == expected));
  run.calls.close();
}

/// Lets allocations of the last rank fail: the first twelve of each call, with those of its request, and
/// @param most of all, at equal distances; 0: all
void check_collective_calls(long most) {
  CollectiveCalls counted;
  const Numbers expected = counted.solution();
  for (const bool solves : {false, true}) {
    long count = FailingAllocations().count([&] { solves ? counted.solve() : counted.factorize(); });
    PMPI_Bcast(&count, 1, MPI_LONG, counted.calls.communicator().size() - 1, MPI_COMM_WORLD);
    const long step = most > 0 ? 1 + (count - 1) / most : 1;
    for (long event = 1; event <= count; event += event < 12 ? 1 : step) {
      INFO((solves ? "solve" : "factorize") << ", allocation " << event << " of " << count);
      check_collective_call(solves, event, expected);
    }
  }
  counted.calls.close();
}

/// Lets an allocation of one rank fail while all open a communicator. @returns whether all threw
bool opening_fails(int failed, long event) {
  int rank = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  std::unique_ptr<lutra::Impl::RankCalls> calls;
  const auto call = [&] {
    lutra::Impl::allocate_together(MPI_COMM_WORLD,
                                   [&] { calls = std::make_unique<lutra::Impl::RankCalls>(); });
    calls->open(MPI_COMM_WORLD, 30);
  };
  bool threw = true;
  try {
    if (rank == failed)
      threw = FailingAllocations().fail(event, call) == Injected::thrown;
    else
      call(), threw = false;
  } catch (const std::bad_alloc&) {
  }
  REQUIRE((on_all_ranks(threw) || on_all_ranks(!threw)));
  if (!threw) calls->close();
  return threw;
}

}  // namespace

TEST_CASE("a rank without memory: a communicator is opened on all ranks or on none", "[failures]") {
  const auto others = live_memory().bytes;
  for (int failed = 0; failed < 2; ++failed) {
    long event = 1;
    while (opening_fails(failed, event)) ++event;
    CHECK(event >= 6);  // of RankCalls and of a communicator's state
  }
  // MPI keeps memory of communicators that have been freed
  CHECK(live_memory().bytes < others + 100000);
}

#ifdef LUTRA_HAS_F64
TEST_CASE("a rank without memory: all ranks throw, and the next call is right", "[failures]") {
  check_lu(FailingAllocations(), 6);
}
TEST_CASE("a rank without memory: rank 0 alone with the pattern of all", "[failures]") {
  check_alone_with_pattern_of_all(FailingAllocations(), 3);
}
TEST_CASE("a rank without memory: LDLT", "[failures]") {
  check_ldlt(FailingAllocations(), 4);
}
TEST_CASE("a rank without memory: vectors of a solve are those of all ranks, or of none", "[failures]") {
  RankSweep<DistributedLDLT<double>, LdltOptions>(generate("kkt", 40), in_place())
      .check(FailingAllocations(), 0, {"solve"});
}
TEST_CASE("a rank whose memory is used up: the others learn of it", "[failures]") {
  check_lu(FailingAllocations(Allocations::of_cpp, Shortage::lasting), 4);
  check_ldlt(FailingAllocations(Allocations::of_cpp, Shortage::lasting), 2);
}
TEST_CASE("a rank without memory: calls as other languages make them", "[failures]") {
  check_collective_calls(20);
}

TEST_CASE("a message that MPI refuses: all ranks throw, and the next call is right", "[failures]") {
  check_lu(FailingMessages(MessageFault::refused), 4);
  check_ldlt(FailingMessages(MessageFault::refused), 2);
}

TEST_CASE("a rank fails while several divide a front: all ranks throw, and the next call is right",
          "[failures]") {
  LuOptions options = by_fronts();
  options.ordering = Ordering::nd;
  const RankSweep<DistributedLU<double>, LuOptions> sweep(generate("convdiff3d", 20), options);
  sweep.check(FailingMessages(MessageFault::refused), 2, {"refactorize"});
  sweep.check(FailingAllocations(), 2, {"refactorize"});
}

TEST_CASE("a message that is lost: the watchdog ends the waits of all ranks", "[failures]") {
  RankSweep<DistributedLU<double>, LuOptions>(generate("convdiff3d", 6), by_fronts(), 1.5, true)
      .check(FailingMessages(MessageFault::lost), 1, {"solve"});
}

TEST_CASE("what MPI says of a call that failed is in the error of its rank", "[failures]") {
  Communicator comm;
  const FailingMessages failing(MessageFault::refused);
  std::string message;
  try {
    failing.fail(1, [&] { comm.send(0, 1, std::vector<int>{1}); });
  } catch (const std::runtime_error& error) {
    message = error.what();
  }
  CHECK(message.empty());  // fail() knows it
  CHECK_THAT(FailingMessages::last_error(), ContainsSubstring("MPI_Isend: "));
  comm.close();
}

/// Lets every event of the solvers fail, and says how many there were.
template <class Failing>
void check_everything(const Failing& failing) {
  const auto count = [](const char* what, const auto& sweep) {
    const long before = failed_events();
    sweep();
    WARN(what << ": " << failed_events() - before << " times " << Failing::event);
  };
  count("LU", [&] { check_lu(failing, 0); });
  count("rank 0 alone", [&] { check_alone_with_pattern_of_all(failing, 0); });
  count("LDLT", [&] { check_ldlt(failing, 0); });
}

TEST_CASE("every message of ranks", "[.][campaign]") {
  check_everything(FailingMessages(MessageFault::refused));
}
TEST_CASE("every allocation of ranks", "[.][campaign]") {
  check_collective_calls(0);
  check_everything(FailingAllocations());
}
TEST_CASE("every allocation of ranks from which on memory is used up", "[.][campaign]") {
  check_everything(FailingAllocations(Allocations::of_cpp, Shortage::lasting));
}
#endif

}  // namespace lutra::Test
