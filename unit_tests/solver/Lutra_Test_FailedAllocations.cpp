// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <catch2/catch_test_macros.hpp>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "Lutra_ChooseOrdering.hpp"
#include "Lutra_FailingNew.hpp"
#include "Lutra_KrylovSolver.hpp"
#include "Lutra_SchurComplement.hpp"
#include "Lutra_SparseILU.hpp"
#include "Lutra_SparseLDLT.hpp"
#include "Lutra_SparseLU.hpp"
#include "Lutra_TestStatus.hpp"
#include "Lutra_TestSystems.hpp"

// One allocation in a call of a solver fails: the first, the second, and so on. After each failure the solver
// either has what it had before or says that it has nothing, and works on.

namespace lutra::Test {
namespace {

using Type = std::tuple_element_t<0, HostTypes>;
using Scalar = Type::Scalar;
using Ordinal = Type::Ordinal;
using Offset = Type::Offset;
using Space = Type::Space;
using Numbers = std::vector<Scalar>;

/// A symmetric matrix, diagonally dominant; `shape` decides which entries there are.
Matrix<Type> small_matrix(std::size_t shape, double diagonal) {
  constexpr std::size_t n = 9;
  std::vector<std::vector<double>> picture(n, std::vector<double>(n, nothing));
  for (std::size_t i = 0; i < n; ++i) {
    picture[i][i] = diagonal;
    for (std::size_t j = 0; j < i; ++j)
      if (i - j == 1 || i - j == shape) picture[i][j] = picture[j][i] = -1;
  }
  return from_dense<Matrix<Type>>(picture);
}

const Matrix<Type>& matrix() {
  static const auto A = small_matrix(3, 5);
  return A;
}
const Matrix<Type>& other_values() {
  static const auto A = small_matrix(3, 7);
  return A;
}
const Matrix<Type>& other_pattern() {
  static const auto A = small_matrix(4, 6);
  return A;
}
const Numbers& right_side() {
  static const Numbers b{1, 2, 3, 4, 5, 6, 7, 8, 9};
  return b;
}

struct ByFronts : SparseLU<Scalar, Space> {
  static LuOptions options_of() {
    LuOptions options;
    options.engine = Engine::multifrontal;
    return options;
  }
  ByFronts() : SparseLU(options_of()) {}
};

template <IluMethod method>
struct Ilu : SparseILU<Scalar, Space> {
  static SparseIluOptions options_of() {
    SparseIluOptions options;
    options.method = method;
    return options;
  }
  Ilu() : SparseILU(options_of()) {}
};

template <KrylovMethod method, Preconditioning preconditioning>
struct Krylov : KrylovSolver<Scalar, Space> {
  static KrylovSolverOptions options_of() {
    KrylovSolverOptions options;
    options.method = method;
    options.preconditioning = preconditioning;
    return options;
  }
  Krylov() : KrylovSolver(options_of()) {}
};

/// SparseLU, SparseLDLT, SparseILU, KrylovSolver.
template <class Solver>
struct SolverCase {
  static std::vector<std::string> calls() {
    return {"analyze", "analyze again", "factorize", "solve", "solve for more columns"};
  }

  explicit SolverCase(const Matrix<Type>& A) {
    succeed(solver.analyze(A));
    succeed(solver.factorize(A));
  }
  void call(const std::string& name) {
    if (name == "analyze") succeed(solver.analyze(other_pattern()));
    if (name == "analyze again") succeed(solver.analyze(other_values()));
    if (name == "factorize") succeed(solver.factorize(other_values()));
    if (name == "solve") solve();
    if (name != "solve for more columns") return;
    solve();
    Numbers b = right_side();
    for (int column = 0; column < 2; ++column) b.insert(b.end(), right_side().begin(), right_side().end());
    solve_host(b, b, Transposition::none);
  }
  void solve_host(std::span<const Scalar> b, std::span<Scalar> x, Transposition op) {
    if constexpr (requires { solver.apply_host(b, x, op); }) {
      solver.apply_host(b, x, op);
    } else {
      solver.solve_host(b, x, op);
    }
  }
  Numbers solve() {
    Numbers result, x(right_side().size());
    for (const auto op : {Transposition::none, Transposition::transposed}) {
      solve_host(right_side(), x, op);
      result.insert(result.end(), x.begin(), x.end());
    }
    return result;
  }
  void cycle(const Matrix<Type>& A) {
    succeed(solver.analyze(A));
    succeed(solver.factorize(A));
  }

  Solver solver;
};

/// Numeric.
template <class Solver>
struct NumericCase {
  static std::vector<std::string> calls() { return {"set_analysis", "rematch", "factorize", "solve"}; }

  explicit NumericCase(const Matrix<Type>& A) : other(analyzed(other_pattern())), numeric(analyzed(A)) {
    succeed(numeric.factorize(to_space<Space>(A)));
  }
  static auto analyzed(const Matrix<Type>& A) {
    Solver solver;
    succeed(solver.analyze(A));
    return solver.analysis();
  }
  void call(const std::string& name) {
    if (name == "set_analysis") numeric.set_analysis(other);
    if (name == "rematch") numeric.rematch(values);
    if (name == "factorize") succeed(numeric.factorize(values));
    if (name == "solve") {
      numeric.solve(b, x);
      numeric.solve(b, y, Transposition::transposed);
    }
  }
  Numbers solve() {
    call("solve");
    Numbers result = to_vector(x);
    const Numbers transposed = to_vector(y);
    result.insert(result.end(), transposed.begin(), transposed.end());
    return result;
  }
  void cycle(const Matrix<Type>& A) {
    numeric.set_analysis(analyzed(A));
    succeed(numeric.factorize(to_space<Space>(A)));
  }

  decltype(analyzed(matrix())) other;
  typename Solver::numeric_type numeric;
  CsrView<Scalar, Ordinal, Offset, Type::Memory> values = to_space<Space>(other_values());
  Kokkos::View<Scalar*, Type::Memory> b = to_space<Space>(right_side()), x = to_space<Space>(right_side()),
                                      y = to_space<Space>(right_side());
};

/// SchurComplement, whose solutions are condensed right-hand sides and the entries of S.
template <template <class, class> class Solver>
struct SchurCase {
  static std::vector<std::string> calls() { return {"analyze", "factorize", "solve"}; }

  explicit SchurCase(const Matrix<Type>& A) : schur(Solver<Scalar, Space>()), B("B", 9, 1), G("G", 2, 1) {
    Kokkos::deep_copy(B, Scalar(3));
    cycle(A);
  }
  void call(const std::string& name) {
    if (name == "analyze") succeed(schur.analyze(pattern, {1, 4}));
    if (name == "factorize") succeed(schur.factorize(values));
    if (name == "solve") schur.condense(B, G);
  }
  Numbers solve() {
    schur.condense(B, G);
    const auto S = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), schur.matrix());
    const auto g = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), G);
    return {g(0, 0), g(1, 0), S(0, 0), S(1, 0), S(0, 1), S(1, 1)};
  }
  void cycle(const Matrix<Type>& A) {
    succeed(schur.analyze(to_space<Space>(A), {2, 5}));
    succeed(schur.factorize(to_space<Space>(A)));
  }

  using Block = Kokkos::View<Scalar**, Kokkos::LayoutLeft, Type::Memory>;
  CsrView<Scalar, Ordinal, Offset, Type::Memory> values = to_space<Space>(other_values()),
                                                 pattern = to_space<Space>(other_pattern());
  SchurComplement<Solver, Scalar, Space> schur;
  Block B, G;
};

/// What a solver answers; nothing where it says that it cannot.
template <class Case>
std::optional<Numbers> answer_of(Case& test) {
  try {
    return test.solve();
  } catch (const CallOrderError&) {
    return std::nullopt;
  }
}

template <class Case>
void check_all_failures() {
  Case fresh(other_pattern());
  const Numbers expected = fresh.solve();
  Case before(matrix());
  const Numbers former = before.solve();
  before.call("factorize");
  const Numbers renewed = before.solve();
  FailingNew failing;
  for (const std::string& name : Case::calls()) {
    for (int run = 0; run < 2; ++run) {  // what is made once in a program is there in the second
      Case test(matrix());
      failing.record([&] { test.call(name); });
    }
    long thrown = 0;
    for (long allocation = 1; allocation <= failing.count(); ++allocation) {
      if (!failing.may_fail(allocation)) continue;
      Case test(matrix());
      const bool threw = FailingNew::fail(allocation, [&] { test.call(name); });
      INFO(name << ", allocation " << allocation);
      if (threw) {
        ++thrown;
        const auto answer = answer_of(test);
        if (name == "factorize") {
          REQUIRE((!answer || *answer == former || *answer == renewed));  // the last where it was complete
        } else {
          REQUIRE(answer == former);  // nothing has changed
        }
      }
      test.cycle(other_pattern());
      REQUIRE(test.solve() == expected);
    }
    INFO(name << ": " << failing.count() << " allocations");
    CHECK((thrown > 0 || name.starts_with("solve")));  // which may allocate nothing
  }
}

/// A grid of 4 points by n. Minimum degree eliminates it from one end to the other.
HostMatrix<double, Ordinal, Offset> strip(int n) {
  HostMatrix<double, Ordinal, Offset> A{4 * n, 4 * n, {0}, {}, {}};
  for (int v = 0; v < 4 * n; ++v) {
    if (v >= 4) A.entries.push_back(v - 4);
    if (v % 4 > 0) A.entries.push_back(v - 1);
    A.entries.push_back(v);
    A.row_map.push_back(static_cast<Offset>(A.entries.size()));
  }
  A.values.resize(A.entries.size(), 1);
  return A;
}

}  // namespace

TEST_CASE("dissection without memory: the order of AMD is taken", "[failures]") {
  const auto A = strip(300);
  const auto pattern = make_view(A).pattern();
  DeviceModel model = h200_device_model();
  ChosenOrder found;
  const auto order = [&] { found = order_automatically(pattern, model, {1e9}); };
  // AMD is complete before dissection, and is given up.
  for (const double visit_seconds : {model.ordering.amd_visit_seconds, 1e3}) {
    model.ordering.amd_visit_seconds = visit_seconds;
    FailingNew failing;
    failing.record(order);
    REQUIRE(found.choice.ordering == Ordering::nd);
    const auto dissected = found.permutation;
    long thrown = 0, by_amd = 0;
    for (long allocation = 1; allocation <= failing.count(); ++allocation) {
      if (!failing.may_fail(allocation)) continue;
      INFO("allocation " << allocation);
      if (FailingNew::fail(allocation, order)) {
        ++thrown;
      } else if (found.choice.ordering == Ordering::amd) {
        ++by_amd;
        REQUIRE(found.choice.reason.ends_with(": there was not enough memory for nested dissection"));
        REQUIRE(found.permutation == order_matched(pattern, Ordering::amd, {}, {}).permutation);
      } else {
        REQUIRE(found.permutation == dissected);
      }
    }
    CHECK(thrown > 0);
    CHECK(by_amd > 10);
  }
}

TEST_CASE("no failed allocation leaves an LU solver half changed", "[failures]") {
  check_all_failures<SolverCase<SparseLU<Scalar, Space>>>();
  check_all_failures<NumericCase<SparseLU<Scalar, Space>>>();
  check_all_failures<NumericCase<ByFronts>>();
}

TEST_CASE("no failed allocation leaves an LDLT solver half changed", "[failures]") {
  check_all_failures<SolverCase<SparseLDLT<Scalar, Space>>>();
  check_all_failures<NumericCase<SparseLDLT<Scalar, Space>>>();
}

TEST_CASE("no failed allocation leaves an incomplete factorization half changed", "[failures]") {
  check_all_failures<SolverCase<Ilu<IluMethod::iluk>>>();
  check_all_failures<SolverCase<Ilu<IluMethod::parilu>>>();
  check_all_failures<SolverCase<Ilu<IluMethod::parilut>>>();
}

TEST_CASE("no failed allocation leaves a Krylov solver half changed", "[failures]") {
  check_all_failures<SolverCase<Krylov<KrylovMethod::gmres, Preconditioning::ilu>>>();
  check_all_failures<SolverCase<Krylov<KrylovMethod::bicgstab, Preconditioning::lu>>>();
}

TEST_CASE("no failed allocation leaves a Schur complement half changed", "[failures]") {
  check_all_failures<SchurCase<SparseLU>>();
  check_all_failures<SchurCase<SparseLDLT>>();
}

}  // namespace lutra::Test
