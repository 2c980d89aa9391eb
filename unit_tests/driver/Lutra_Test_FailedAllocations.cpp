// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <cstdlib>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "Lutra_KrylovSolver.hpp"
#include "Lutra_SchurComplement.hpp"
#include "Lutra_SparseLDLT.hpp"
#include "Lutra_TestSystems.hpp"

// The program's own operator new, of which one call in a solver fails: the first, the second, and so on.
// After each failure the solver either has what it had before or says that it has nothing, and works on.

namespace {

std::atomic<long> calls_to_failure = 0;  // 0: none fails

bool fails_now() {
  return calls_to_failure.load(std::memory_order_relaxed) > 0 && calls_to_failure.fetch_sub(1) == 1;
}

void* allocate(std::size_t bytes, std::size_t alignment) noexcept {
  if (fails_now()) return nullptr;
  const std::size_t size = bytes > 0 ? bytes : 1;
  if (alignment <= __STDCPP_DEFAULT_NEW_ALIGNMENT__) return std::malloc(size);
  return std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
}

void* allocate_or_throw(std::size_t bytes, std::size_t alignment) {
  if (void* const memory = allocate(bytes, alignment)) return memory;
  throw std::bad_alloc();
}

}  // namespace

void* operator new(std::size_t bytes) {
  return allocate_or_throw(bytes, 1);
}
void* operator new[](std::size_t bytes) {
  return allocate_or_throw(bytes, 1);
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return allocate_or_throw(bytes, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t bytes, std::align_val_t alignment) {
  return allocate_or_throw(bytes, static_cast<std::size_t>(alignment));
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  return allocate(bytes, 1);
}
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept {
  return allocate(bytes, 1);
}
void* operator new(std::size_t bytes, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return allocate(bytes, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t bytes, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return allocate(bytes, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete[](void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
void operator delete[](void* memory, std::size_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete[](void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}

namespace lutra::Test {
namespace {

using Type = std::tuple_element_t<0, AllTypes>;
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

/// SparseLU, SparseLDLT, SparseILU, KrylovSolver.
template <class Solver>
struct SolverCase {
  static std::vector<std::string> calls() { return {"analyze", "analyze again", "factorize", "solve"}; }

  explicit SolverCase(const Matrix<Type>& A) {
    solver.analyze(A);
    solver.factorize(A);
  }
  void call(const std::string& name) {
    if (name == "analyze") solver.analyze(other_pattern());
    if (name == "analyze again") solver.analyze(other_values());
    if (name == "factorize") solver.factorize(other_values());
    if (name == "solve") solve();
  }
  Numbers solve() {
    Numbers x(right_side().size());
    if constexpr (requires { solver.apply_host(right_side(), x); }) {
      solver.apply_host(right_side(), x);
    } else {
      solver.solve_host(right_side(), x);
    }
    return x;
  }
  void cycle(const Matrix<Type>& A) {
    solver.analyze(A);
    solver.factorize(A);
  }

  Solver solver;
};

/// LuNumeric, LdltNumeric.
template <class Solver>
struct NumericCase {
  static std::vector<std::string> calls() { return {"set_analysis", "rematch", "factorize", "solve"}; }

  explicit NumericCase(const Matrix<Type>& A) : other(analyzed(other_pattern())), numeric(analyzed(A)) {
    numeric.factorize(to_space<Space>(A));
  }
  static auto analyzed(const Matrix<Type>& A) {
    Solver solver;
    solver.analyze(A);
    return solver.analysis();
  }
  void call(const std::string& name) {
    if (name == "set_analysis") numeric.set_analysis(other);
    if (name == "rematch") numeric.rematch(values);
    if (name == "factorize") numeric.factorize(values);
    if (name == "solve") numeric.solve(b, x);
  }
  Numbers solve() {
    numeric.solve(b, x);
    return to_vector(x);
  }
  void cycle(const Matrix<Type>& A) {
    numeric.set_analysis(analyzed(A));
    numeric.factorize(to_space<Space>(A));
  }

  decltype(analyzed(matrix())) other;
  typename Solver::numeric_type numeric;
  CsrView<Scalar, Ordinal, Offset, Type::Memory> values = to_space<Space>(other_values());
  Kokkos::View<Scalar*, Type::Memory> b = to_space<Space>(right_side()), x = to_space<Space>(right_side());
};

/// SchurComplement, whose solutions are condensed right-hand sides and the entries of S.
template <template <class, class, class, class> class Solver>
struct SchurCase {
  static std::vector<std::string> calls() { return {"analyze", "factorize", "solve"}; }

  explicit SchurCase(const Matrix<Type>& A)
      : schur(Solver<Scalar, Ordinal, Offset, Space>()), B("B", 9, 1), G("G", 2, 1) {
    Kokkos::deep_copy(B, Scalar(3));
    cycle(A);
  }
  void call(const std::string& name) {
    if (name == "analyze") schur.analyze(to_space<Space>(other_pattern()), {1, 4});
    if (name == "factorize") schur.factorize(to_space<Space>(other_values()));
    if (name == "solve") schur.condense(B, G);
  }
  Numbers solve() {
    schur.condense(B, G);
    const auto S = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), schur.matrix());
    const auto g = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), G);
    return {g(0, 0), g(1, 0), S(0, 0), S(1, 0), S(0, 1), S(1, 1)};
  }
  void cycle(const Matrix<Type>& A) {
    schur.analyze(to_space<Space>(A), {2, 5});
    schur.factorize(to_space<Space>(A));
  }

  using Block = Kokkos::View<Scalar**, Kokkos::LayoutLeft, Type::Memory>;
  SchurComplement<Solver, Scalar, Ordinal, Offset, Space> schur;
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

/// The call, in which one allocation fails. @returns whether it threw; nothing where it made fewer
/// allocations
template <class Case>
std::optional<bool> call_with_failure(Case& test, const std::string& name, long allocation) {
  calls_to_failure = allocation;
  bool threw = false;
  try {
    test.call(name);
  } catch (const std::bad_alloc&) {
    threw = true;
  }
  const bool happened = calls_to_failure.exchange(0) <= 0;
  return happened ? std::optional(threw) : std::nullopt;
}

template <class Case>
void check_all_failures() {
  Case fresh(other_pattern());
  const Numbers expected = fresh.solve();
  Case before(matrix());
  const Numbers former = before.solve();
  for (const std::string& name : Case::calls()) {
    long thrown = 0;
    for (long allocation = 1;; ++allocation) {
      Case test(matrix());
      const auto threw = call_with_failure(test, name, allocation);
      if (!threw) break;
      INFO(name << ", allocation " << allocation);
      if (*threw) {
        ++thrown;
        const auto answer = answer_of(test);
        if (name == "factorize") {
          REQUIRE((!answer || *answer == former));
        } else {
          REQUIRE(answer == former);  // nothing has changed
        }
      }
      test.cycle(other_pattern());
      REQUIRE(test.solve() == expected);
    }
    INFO(name);
    CHECK((thrown > 0 || name == "solve"));  // which may have allocated all it needs
  }
}

}  // namespace

TEST_CASE("no failed allocation leaves a solver by LU half changed", "[failures]") {
  check_all_failures<SolverCase<SparseLU<Scalar, Ordinal, Offset, Space>>>();
  check_all_failures<NumericCase<SparseLU<Scalar, Ordinal, Offset, Space>>>();
}

TEST_CASE("no failed allocation leaves a solver by LDLT half changed", "[failures]") {
  check_all_failures<SolverCase<SparseLDLT<Scalar, Ordinal, Offset, Space>>>();
  check_all_failures<NumericCase<SparseLDLT<Scalar, Ordinal, Offset, Space>>>();
}

TEST_CASE("no failed allocation leaves an incomplete factorization half changed", "[failures]") {
  check_all_failures<SolverCase<SparseILU<Scalar, Ordinal, Offset, Space>>>();
}

TEST_CASE("no failed allocation leaves a Krylov solver half changed", "[failures]") {
  check_all_failures<SolverCase<KrylovSolver<Scalar, Ordinal, Offset, Space>>>();
}

TEST_CASE("no failed allocation leaves a Schur complement half changed", "[failures]") {
  check_all_failures<SchurCase<SparseLU>>();
  check_all_failures<SchurCase<SparseLDLT>>();
}

}  // namespace lutra::Test
