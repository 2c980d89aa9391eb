// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_FAILURECASES_HPP
#define LUTRA_FAILURECASES_HPP

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "Lutra_FailingAllocations.hpp"
#include "Lutra_Generated.hpp"
#include "Lutra_KrylovSolver.hpp"
#include "Lutra_SchurComplement.hpp"
#include "Lutra_SparseLDLT.hpp"
#include "Lutra_SparseLU.hpp"
#include "Lutra_TestBits.hpp"
#include "Lutra_TestDevice.hpp"
#include "Lutra_TestStatus.hpp"
#include "Lutra_TestSystems.hpp"

// An event in a call of a solver fails: the first, the second, and so on. After each failure the solver
// either has what it had before or says that it has nothing, and works on; it frees what it held.

namespace lutra::Test {

/// The first scalar type, on the device.
using FailureType = Types<std::tuple_element_t<0, Scalars>, int, Kokkos::DefaultExecutionSpace>;
using FailureScalar = FailureType::Scalar;
using FailureSpace = FailureType::Space;
using FailureMatrix = Matrix<FailureType>;
using FailureNumbers = std::vector<FailureScalar>;

/// Matrices of one test.
struct FailureSystems {
  FailureMatrix A, other_values, other_pattern;
  FailureNumbers b{};

  std::size_t n() const { return static_cast<std::size_t>(A.n_rows); }
};

/// A symmetric matrix of nine rows, diagonally dominant; `shape` decides which entries there are.
inline FailureMatrix small_matrix(std::size_t shape, double diagonal) {
  constexpr std::size_t n = 9;
  std::vector<std::vector<double>> picture(n, std::vector<double>(n, nothing));
  for (std::size_t i = 0; i < n; ++i) {
    picture[i][i] = diagonal;
    for (std::size_t j = 0; j < i; ++j)
      if (i - j == 1 || i - j == shape) picture[i][j] = picture[j][i] = -1;
  }
  return from_dense<FailureMatrix>(picture);
}

inline FailureSystems with_right_side(FailureSystems systems) {
  for (std::size_t i = 1; i <= systems.n(); ++i)
    systems.b.push_back(as_scalar<FailureScalar>(static_cast<double>(i % 10)));
  return systems;
}

inline const FailureSystems& small_systems() {
  static const FailureSystems systems =
      with_right_side({small_matrix(3, 5), small_matrix(3, 7), small_matrix(4, 6)});
  return systems;
}

/// Systems of `lutra generate`, of one size. The other pattern is that of another seed, or lacks the first
/// rows' entries beside the diagonal.
inline FailureSystems generated_systems(const std::string& kind, int size) {
  FailureSystems systems{generated<FailureType>(kind, size), {}, {}};
  systems.other_values = systems.A;
  for (FailureScalar& value : systems.other_values.values) value *= as_scalar<FailureScalar>(1.5);
  auto& other = systems.other_pattern;
  if (kind == "kkt") {
    other = generated<FailureType>(kind, size, 2);
    return with_right_side(std::move(systems));
  }
  other = {systems.A.n_rows, systems.A.n_cols, {0}, {}, {}};
  const std::size_t dropped = systems.n() / 8;  // rows and columns, but for their diagonal
  for (std::size_t i = 0; i < systems.n(); ++i) {
    Reference::for_row(systems.A, i, [&](std::size_t j, const FailureScalar& value) {
      if (i != j && (i < dropped || j < dropped)) return;
      other.entries.push_back(static_cast<int>(j));
      other.values.push_back(value);
    });
    other.row_map.push_back(other.nnz());
  }
  return with_right_side(std::move(systems));
}

/// Options that differ from the defaults in what `set` does.
template <class Options, class Set>
Options options_with(const Set& set) {
  Options options;
  set(options);
  return options;
}

template <class Solver>
struct OptionsOf {
  using type = typename Solver::options_type;
};
template <class Scalar, class Space>
struct OptionsOf<KrylovSolver<Scalar, Space>> {
  using type = KrylovSolverOptions;
};

/// SparseLU, SparseLDLT, SparseILU, KrylovSolver, lutra::Solver.
template <class Solver>
struct SolverCase {
  using Options = typename OptionsOf<Solver>::type;
  static std::vector<std::string> calls() {
    return {"analyze", "analyze again", "factorize", "solve", "solve for more columns"};
  }

  SolverCase(const FailureSystems& matrices, const FailureMatrix& A, const Options& options = {})
      : systems(matrices), budget(options.memory_limit), solver(options, FailureSpace(), budget) {
    cycle(A);
  }
  void call(const std::string& name) {
    if (name == "analyze") succeed(solver.analyze(systems.other_pattern));
    if (name == "analyze again") succeed(solver.analyze(systems.other_values));
    if (name == "factorize") succeed(solver.factorize(systems.other_values));
    if (name.starts_with("solve")) answer = solve();
    if (name != "solve for more columns") return;
    FailureNumbers b;
    for (int column = 0; column < 3; ++column) b.insert(b.end(), systems.b.begin(), systems.b.end());
    solve_host(b, b, Transposition::none);
    answer.insert(answer.end(), b.begin(), b.end());
  }
  void solve_host(std::span<const FailureScalar> b, std::span<FailureScalar> x, Transposition op) {
    if constexpr (requires { solver.apply_host(b, x, op); }) {
      solver.apply_host(b, x, op);
    } else {
      solver.solve_host(b, x, op);
    }
  }
  FailureNumbers solve() {
    FailureNumbers result, x(systems.n());
    for (const auto op : {Transposition::none, Transposition::transposed}) {
      solve_host(systems.b, x, op);
      result.insert(result.end(), x.begin(), x.end());
    }
    return result;
  }
  void cycle(const FailureMatrix& A) {
    succeed(solver.analyze(A));
    succeed(solver.factorize(A));
  }

  const FailureSystems& systems;
  MemoryBudget budget;
  Solver solver;
  FailureNumbers answer{};  // of the last call that solved
};

/// Numeric.
template <class Solver>
struct NumericCase {
  using Options = typename Solver::options_type;
  static std::vector<std::string> calls() { return {"set_analysis", "rematch", "factorize", "solve"}; }

  NumericCase(const FailureSystems& matrices, const FailureMatrix& A, const Options& given = {})
      : systems(matrices), options(given), other(analyzed(matrices.other_pattern)), numeric(analyzed(A)) {
    succeed(numeric.factorize(to_space<FailureSpace>(A)));
  }
  auto analyzed(const FailureMatrix& A) const {
    Solver solver(options);
    succeed(solver.analyze(A));
    return solver.analysis();
  }
  void call(const std::string& name) {
    if (name == "set_analysis") numeric.set_analysis(other);
    if (name == "rematch") numeric.rematch(values);
    if (name == "factorize") succeed(numeric.factorize(values));
    if (name == "solve") answer = solve();
  }
  FailureNumbers solve() {
    numeric.solve(b, x);
    numeric.solve(b, y, Transposition::transposed);
    FailureNumbers result = to_vector(x);
    const FailureNumbers transposed = to_vector(y);
    result.insert(result.end(), transposed.begin(), transposed.end());
    return result;
  }
  void cycle(const FailureMatrix& A) {
    numeric.set_analysis(analyzed(A));
    succeed(numeric.factorize(to_space<FailureSpace>(A)));
  }

  const FailureSystems& systems;
  MemoryBudget budget;  // not used: that of the analysis is
  Options options;
  FailureNumbers answer{};
  decltype(std::declval<Solver>().analysis()) other;
  typename Solver::numeric_type numeric;
  CsrView<FailureScalar, int, std::int64_t, FailureType::Memory> values =
      to_space<FailureSpace>(systems.other_values);
  Kokkos::View<FailureScalar*, FailureType::Memory> b = to_space<FailureSpace>(systems.b),
                                                    x = to_space<FailureSpace>(systems.b),
                                                    y = to_space<FailureSpace>(systems.b);
};

/// SchurComplement, whose solutions are condensed right-hand sides and the entries of S.
template <template <class, class> class Solver>
struct SchurCase {
  using Options = typename Solver<FailureScalar, FailureSpace>::options_type;
  static std::vector<std::string> calls() { return {"analyze", "factorize", "solve"}; }

  SchurCase(const FailureSystems& matrices, const FailureMatrix& A, const Options& options = {})
      : schur(Solver<FailureScalar, FailureSpace>(options, FailureSpace(), budget)),
        values(to_space<FailureSpace>(matrices.other_values)),
        pattern(to_space<FailureSpace>(matrices.other_pattern)),
        B("B", matrices.n(), 1),
        G("G", 2, 1),
        g("g", 2, 1),
        S("S", 2, 2) {
    Kokkos::deep_copy(B, FailureScalar(3));
    cycle(A);
  }
  void call(const std::string& name) {
    if (name == "analyze") succeed(schur.analyze(pattern, {1, 4}));
    if (name == "factorize") succeed(schur.factorize(values));
    if (name == "solve") answer = solve();
  }
  FailureNumbers solve() {
    schur.condense(B, G);
    Kokkos::deep_copy(S, schur.matrix());
    Kokkos::deep_copy(g, G);
    return {g(0, 0), g(1, 0), S(0, 0), S(1, 0), S(0, 1), S(1, 1)};
  }
  void cycle(const FailureMatrix& A) {
    succeed(schur.analyze(to_space<FailureSpace>(A), {2, 5}));
    succeed(schur.factorize(to_space<FailureSpace>(A)));
  }

  using Block = Kokkos::View<FailureScalar**, Kokkos::LayoutLeft, FailureType::Memory>;
  MemoryBudget budget;
  SchurComplement<Solver, FailureScalar, FailureSpace> schur;
  CsrView<FailureScalar, int, std::int64_t, FailureType::Memory> values, pattern;
  Block B, G;
  Kokkos::View<FailureScalar**, Kokkos::LayoutLeft, Kokkos::HostSpace> g,
      S;  // copies, in memory of their own
  FailureNumbers answer{};
};

/// What a solver answers; nothing where it says that it cannot.
template <class Case>
std::optional<FailureNumbers> answer_of(Case& test) {
  try {
    return test.solve();
  } catch (const CallOrderError&) {
    return std::nullopt;
  }
}

/// Memory in which leaks are looked for: on devices without that of malloc, where CUDA's driver keeps books.
constexpr auto counted_memory =
    lutra::Impl::is_host_space<FailureSpace> ? Allocations::all : Allocations::of_cpp;

/// Whether what is left is one View, which Kokkos 4.5 does not free where its construction fails after the
/// allocation: its values, and labels. On devices the values are none of the host's blocks.
inline bool is_of_a_view(const LiveMemory& before, const LiveMemory& after) {
  return after.views == before.views + 1 && after.blocks <= before.blocks + 5;
}

/// Events that sweeps have made fail in this program.
inline long& failed_events() {
  static long count = 0;
  return count;
}

/// Sweeps through the events of all calls of a case.
template <class Case>
class FailureSweep {
 public:
  using Options = typename Case::Options;

  /// @param most events of each call that fail, at equal distances; 0: all
  FailureSweep(const FailureSystems& systems, const Options& options, long most)
      : m_systems(systems),
        m_options(with_repeated_sweeps<FailureSpace>(options)),
        m_by_bits(repeats_bits<FailureSpace>(m_options)),
        m_most(most) {
    Case fresh(systems, systems.other_pattern, m_options);
    m_expected = fresh.solve();
    Case before(systems, systems.A, m_options);
    m_former = before.solve();
    before.call("factorize");
    m_renewed = before.solve();
  }

  template <class Failing>
  void run(const Failing& failing) const {
    for (const std::string& name : Case::calls()) {
      long count = 0;
      FailureNumbers right;
      for (int run = 0; run < 2; ++run) {  // what is made once in a program is there in the second
        Case test(m_systems, m_systems.A, m_options);
        count = failing.count([&] { test.call(name); });
        right = test.answer;
      }
      const long step = m_most > 0 ? 1 + (count - 1) / m_most : 1;
      long thrown = 0;
      for (long event = (step + 1) / 2; event <= count; event += step) {
        INFO(name << ", " << Failing::event << " " << event << " of " << count);
        ++failed_events();
        const LiveMemory before = live_memory(counted_memory);
        if (check(failing, name, event, right) == Injected::thrown) ++thrown;
        if (live_memory(counted_memory) != before) check_growth(failing, name, event, right);
      }
      INFO(name << ": " << count << " times " << Failing::event);
      const bool may_be_none = name.starts_with("solve") || (name == "set_analysis" && count == 0);
      CHECK((thrown > 0 || may_be_none || m_most > 0));  // may allocate nothing
    }
  }

 private:
  /// Krylov methods may go on with fewer vectors.
  bool are_same(const FailureNumbers& answer, const FailureNumbers& right) const {
    if (!std::is_same_v<Options, KrylovSolverOptions>) return agree(answer, right, m_by_bits);
    double error = 0, size = 0;
    for (std::size_t i = 0; i < right.size(); ++i) {
      error = std::max<double>(error, ScalarTraits<FailureScalar>::magnitude(answer.at(i) - right[i]));
      size = std::max<double>(size, ScalarTraits<FailureScalar>::magnitude(right[i]));
    }
    UNSCOPED_INFO("a solution differs by " << error / size);
    const double tolerance = sizeof(RealOf<FailureScalar>) == 8 ? 1e-6 : 1e-3;
    return answer.size() == right.size() && error <= tolerance * size;
  }

  /// Repeats an event after which there was more memory than before. A leak grows each time. What an error,
  /// the first launch of a kernel or another thread makes once in a program does not.
  template <class Failing>
  void check_growth(const Failing& failing, const std::string& name, long event,
                    const FailureNumbers& right) const {
    std::string growth = "more blocks, bytes and Views in each repetition:";
    for (int repeat = 0; repeat < 4; ++repeat) {
      const LiveMemory before = live_memory(counted_memory);
      check(failing, name, event, right);
      const LiveMemory after = live_memory(counted_memory);
      if (after.blocks <= before.blocks && after.bytes <= before.bytes && after.views <= before.views) return;
      if (is_of_a_view(before, after)) return;
      growth += " " + std::to_string(after.blocks - before.blocks) + ", " +
                std::to_string(after.bytes - before.bytes) + ", " +
                std::to_string(after.views - before.views) + ";";
    }
    FAIL(growth);
  }

  template <class Failing>
  Injected check(const Failing& failing, const std::string& name, long event,
                 const FailureNumbers& right) const {
    std::optional<Case> test(std::in_place, m_systems, m_systems.A, m_options);
    const MemoryBudget budget = test->budget;
    const Injected outcome = failing.fail(event, [&] { test->call(name); });
    if (outcome != Injected::thrown) {
      REQUIRE(are_same(test->answer, right));
      if (name == "factorize") REQUIRE(agree(test->solve(), m_renewed, m_by_bits));
    } else {
      const auto answer = answer_of(*test);
      if (name == "factorize") {
        REQUIRE((!answer || agree(*answer, m_former, m_by_bits) ||
                 agree(*answer, m_renewed, m_by_bits)));  // the last where it was complete
      } else {
        REQUIRE(answer);
        REQUIRE(agree(*answer, m_former, m_by_bits));  // nothing has changed
      }
    }
    test->cycle(m_systems.other_pattern);
    REQUIRE(agree(test->solve(), m_expected, m_by_bits));
    test.reset();
    REQUIRE(budget.used_bytes() == 0);
    return outcome;
  }

  const FailureSystems& m_systems;
  Options m_options;
  bool m_by_bits;  ///< whether results repeat bit by bit
  long m_most;
  FailureNumbers m_expected, m_former, m_renewed;
};

template <class Case, class Failing>
void check_all_failures(const Failing& failing, const FailureSystems& systems = small_systems(),
                        const typename Case::Options& options = {}, long most = 0) {
  FailureSweep<Case>(systems, options, most).run(failing);
}

}  // namespace lutra::Test

#endif
