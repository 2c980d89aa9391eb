// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Random triangles of every kind. LUTRA_TRIANGLES sets how many (800) on each execution space, and lets them
// be larger; LUTRA_TRIANGLES_FROM the first seed, as a failure prints it.
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <random>
#include <regex>

#include "Lutra_Error.hpp"
#include "Lutra_ScalarTraits.hpp"
#include "Lutra_TestDevice.hpp"
#include "Lutra_TestTriangles.hpp"
#include "Lutra_TestTypes.hpp"

namespace lutra::Test {
namespace {

// ---- vectors of every form

/// How right-hand sides or solutions lie in memory.
enum class Form { vector, left, right, padded };

/// A View into `owner`, whose cells around the View hold `untouched`.
template <class Owner, class View>
struct Held {
  Owner owner;
  View view;
};

template <class Scalar>
const Scalar untouched = as_scalar<Scalar>(-77.0);

/// Calls visit with n × k elements in the form that is asked for.
template <class Types, class Visit>
auto with_form(Form form, std::size_t n, std::size_t k, const Visit& visit) {
  using Scalar = typename Types::Scalar;
  using Left = Kokkos::View<Scalar**, Kokkos::LayoutLeft, typename Types::Memory>;
  using Right = Kokkos::View<Scalar**, Kokkos::LayoutRight, typename Types::Memory>;
  if (form == Form::left) {
    const Left all("test", n, k);
    return visit(Held<Left, Left>{all, all});
  }
  if (form == Form::right) {
    const Right all("test", n, k);
    return visit(Held<Right, Right>{all, all});
  }
  const Right larger("test", n + 2, k + 3);
  const auto inner =
      Kokkos::subview(larger, std::make_pair(std::size_t(1), n + 1), std::make_pair(std::size_t(2), k + 2));
  return visit(Held<Right, std::remove_const_t<decltype(inner)>>{larger, inner});
}

/// Where the View starts in its owner.
template <class Owner, class View>
std::pair<std::size_t, std::size_t> start_of(const Held<Owner, View>& held) {
  const bool padded = held.owner.extent(0) != held.view.extent(0);
  return padded ? std::pair<std::size_t, std::size_t>(1, 2) : std::pair<std::size_t, std::size_t>(0, 0);
}

/// Fills it from columns, [n · k].
template <class Owner, class View, class Scalar>
void fill(const Held<Owner, View>& held, const std::vector<Scalar>& columns) {
  const auto [row, column] = start_of(held);
  auto host = Kokkos::create_mirror_view(held.owner);
  Kokkos::deep_copy(host, untouched<Scalar>);
  const std::size_t n = held.view.extent(0);
  for (std::size_t p = 0; p < columns.size(); ++p) host(row + p % n, column + p / n) = columns[p];
  Kokkos::deep_copy(held.owner, host);
}

/// Its columns, [n · k]; what lies around them must not have changed.
template <class Owner, class View>
auto read(const Held<Owner, View>& held) {
  using Scalar = typename View::non_const_value_type;
  const auto [row, column] = start_of(held);
  const auto host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), held.owner);
  const std::size_t n = held.view.extent(0), k = held.view.extent(1);
  std::vector<Scalar> columns;
  for (std::size_t p = 0; p < n * k; ++p) columns.push_back(host(row + p % n, column + p / n));
  std::size_t around = 0;
  for (std::size_t i = 0; i < host.extent(0); ++i) {
    for (std::size_t c = 0; c < host.extent(1); ++c) {
      const bool inside = i >= row && i < row + n && c >= column && c < column + k;
      if (!inside && host(i, c) == untouched<Scalar>) ++around;
    }
  }
  REQUIRE(around == host.extent(0) * host.extent(1) - n * k);
  return columns;
}

// ---- one triangle, one way to solve with it

struct Trial {
  Transposition op = Transposition::none;
  std::size_t k = 1;
  Form form_b = Form::vector, form_x = Form::vector;
  bool in_place = false;
};

Trial random_trial(std::mt19937& random) {
  static constexpr Transposition ops[] = {Transposition::none, Transposition::none, Transposition::transposed,
                                          Transposition::adjoint};
  Trial trial;
  trial.op = ops[any_of(random, 0, 3)];
  trial.k = chance(random, 0.4) ? 1 : any_of(random, 1, 20);
  trial.in_place = chance(random, 0.2);
  const bool vectors = trial.k == 1 && chance(random, 0.6);
  if (vectors) return trial;
  trial.form_b = static_cast<Form>(any_of(random, 1, 3));
  trial.form_x = static_cast<Form>(any_of(random, 1, 3));
  return trial;
}

std::string describe(const Trial& trial) {
  static constexpr const char* forms[] = {"vector", "left", "right", "padded"};
  static constexpr const char* ops[] = {"plain", "transposed", "adjoint"};
  return std::string(ops[static_cast<int>(trial.op)]) + ", " + std::to_string(trial.k) +
         " right-hand sides, B " + forms[static_cast<int>(trial.form_b)] + ", X " +
         (trial.in_place ? "in place" : forms[static_cast<int>(trial.form_x)]);
}

/// X by columns for B by columns.
template <class Types>
std::vector<typename Types::Scalar> solve_vector(TriangleSolver<Types>& solver, const Trial& trial,
                                                 const std::vector<typename Types::Scalar>& B) {
  using Vector = Kokkos::View<typename Types::Scalar*, typename Types::Memory>;
  const Vector b = to_space<typename Types::Space>(B);
  const Vector x = trial.in_place ? b : Vector("test", B.size());
  solver.solve(b, x, trial.op);
  solver.wait();
  if (!trial.in_place) REQUIRE(to_vector(b) == B);
  return to_vector(x);
}

template <class Types>
std::vector<typename Types::Scalar> solve_with(TriangleSolver<Types>& solver, const Trial& trial,
                                               const std::vector<typename Types::Scalar>& B) {
  using Scalar = typename Types::Scalar;
  if (trial.form_b == Form::vector) return solve_vector<Types>(solver, trial, B);
  const std::size_t n = B.size() / trial.k;
  return with_form<Types>(trial.form_b, n, trial.k, [&](const auto& b) {
    fill(b, B);
    if (trial.in_place) {
      solver.solve(b.view, b.view, trial.op);
      solver.wait();
      return read(b);
    }
    return with_form<Types>(trial.form_x, n, trial.k, [&](const auto& x) {
      fill(x, std::vector<Scalar>(B.size(), as_scalar<Scalar>(1e30)));
      solver.solve(b.view, x.view, trial.op);
      solver.wait();
      REQUIRE(read(b) == B);
      return read(x);
    });
  });
}

/// ‖x − y‖ / ‖y‖ in the maximum norm, or for a transposed triangle, whose columns are the tame ones, in the
/// sum norm.
template <class Scalar, class WideScalar>
long double distance(const std::vector<Scalar>& x, const std::vector<WideScalar>& y, Transposition op) {
  using std::abs;
  long double difference = 0, size = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const long double d = abs(WideScalar(Reference::widen(x[i])) - y[i]), s = abs(y[i]);
    difference = op == Transposition::none ? Reference::worse(difference, d) : difference + d;
    size = op == Transposition::none ? Reference::worse(size, s) : size + s;
  }
  return Reference::relative(difference, size);
}

/// Right-hand sides of a triangle with the reference's solutions.
template <class Types>
struct Question {
  TestTriangle<Matrix<Types>> triangle;
  Trial trial;
  std::vector<typename Types::Scalar> B;                                        ///< [n · k] by columns
  std::vector<std::vector<Reference::Wide<typename Types::Scalar>>> solutions;  ///< [k][n], unless graded
};

template <class Types>
std::vector<typename Types::Scalar> column_of(const std::vector<typename Types::Scalar>& columns,
                                              std::size_t n, std::size_t c) {
  const auto begin = columns.begin() + static_cast<std::ptrdiff_t>(c * n);
  return {begin, begin + static_cast<std::ptrdiff_t>(n)};
}

template <class Types>
Question<Types> random_question(std::size_t n, std::size_t max_entries, std::mt19937& random) {
  using Scalar = typename Types::Scalar;
  Question<Types> question{
      random_triangle<Matrix<Types>>(n, max_entries, random), random_trial(random), {}, {}};
  const auto& [triangle, trial, B, solutions] = question;
  for (std::size_t p = 0; p < n * trial.k; ++p) question.B.push_back(random_value<Scalar>(random, 1));
  for (std::size_t c = 0; c < trial.k && !triangle.graded; ++c) {
    question.solutions.push_back(Reference::solve_triangle(triangle.matrix, triangle.reference_side(),
                                                           trial.op, column_of<Types>(B, n, c)));
  }
  return question;
}

/// Every answer must have a small backward error; one with a tame triangle must be near the reference's, too.
/// @param epsilon of the precision the triangle is kept in
template <class Types>
void judge(const Question<Types>& question, const std::vector<typename Types::Scalar>& X, double epsilon) {
  const auto& triangle = question.triangle;
  const std::size_t n = static_cast<std::size_t>(triangle.matrix.n_rows);
  const double bound = 10.0 * (64.0 + static_cast<double>(triangle.longest_row)) * epsilon;
  REQUIRE(X.size() == question.B.size());
  for (std::size_t c = 0; c < question.trial.k; ++c) {
    const auto x = column_of<Types>(X, n, c), b = column_of<Types>(question.B, n, c);
    INFO("column " << c);
    REQUIRE(Reference::triangle_error(triangle.matrix, triangle.reference_side(), question.trial.op, x, b) <=
            bound);
    if (!triangle.graded) REQUIRE(distance(x, question.solutions[c], question.trial.op) <= 4 * bound);
  }
}

template <class Types>
void analyze(TriangleSolver<Types>& solver, const TestTriangle<Matrix<Types>>& triangle) {
  solver.analyze(to_space<typename Types::Space>(triangle.matrix), triangle.side, triangle.diagonal);
}

/// Solves with the values of the triangle, and again with eight times these.
template <class Types>
void ask(TriangleSolver<Types>& solver, const Question<Types>& question, double epsilon) {
  using Scalar = typename Types::Scalar;
  const auto X = solve_with<Types>(solver, question.trial, question.B);
  judge(question, X, epsilon);
  if (question.triangle.diagonal == DiagonalKind::unit) return;
  std::vector<Scalar> values = question.triangle.matrix.values;
  for (Scalar& value : values) value *= as_scalar<Scalar>(8.0);
  solver.set_values(to_space<typename Types::Space>(values));
  auto smaller = solve_with<Types>(solver, question.trial, question.B);
  for (Scalar& x : smaller) x *= as_scalar<Scalar>(8.0);
  INFO("with new values");
  judge(question, smaller, epsilon);
}

/// One seed: a triangle, one way to hold right-hand sides, every method.
template <class Types>
void try_seed(std::size_t seed, std::size_t max_rows, std::size_t max_entries) {
  using Scalar = typename Types::Scalar;
  std::mt19937 random(static_cast<unsigned>(seed));
  const double u = std::generate_canonical<double, 32>(random);
  const auto n = static_cast<std::size_t>(std::pow(static_cast<double>(max_rows), u));
  const Question<Types> question = random_question<Types>(n, max_entries, random);
  TriangularOptions options;
  options.portable = chance(random, 0.4);
  options.expected_rhs = static_cast<int>(question.trial.k);
  if (chance(random, 0.15)) options.precision = FactorPrecision::single;
  const double epsilon = options.precision == FactorPrecision::single
                             ? static_cast<double>(epsilon_of<float>)
                             : static_cast<double>(epsilon_of<Scalar>);
  for (const TrisolveMethod method : methods) {
    options.method = method;
    INFO("seed " << seed << ": " << question.triangle.description << "; " << describe(question.trial) << "; "
                 << name_of(method) << (options.portable ? ", portable" : "")
                 << (options.precision == FactorPrecision::single ? ", in single precision" : ""));
    auto solver = make_solver<Types>(options);
    if (!solver) continue;
    analyze<Types>(*solver, question.triangle);
    ask<Types>(*solver, question, epsilon);
  }
}

// ---- refusals

/// True where the message names this row and no other number.
bool names_row(const std::string& message, std::size_t row) {
  return std::regex_search(message, std::regex("row " + std::to_string(row) + "(?![0-9])"));
}

/// What `call` throws, as text; empty where it throws nothing.
template <class Call>
std::string refusal(const Call& call) {
  try {
    call();
  } catch (const InputError& error) {
    return error.what();
  }
  return {};
}

/// Positions of the diagonal among the entries.
template <class MatrixType>
std::vector<std::size_t> diagonal_positions(const MatrixType& matrix) {
  std::vector<std::size_t> positions;
  for (std::size_t i = 0; i < static_cast<std::size_t>(matrix.n_rows); ++i) {
    auto p = static_cast<std::size_t>(matrix.row_map[i]);
    while (static_cast<std::size_t>(matrix.entries[p]) != i) ++p;
    positions.push_back(p);
  }
  return positions;
}

/// The matrix without an entry.
template <class MatrixType>
MatrixType without(MatrixType matrix, std::size_t row, std::size_t position) {
  matrix.entries.erase(matrix.entries.begin() + static_cast<std::ptrdiff_t>(position));
  matrix.values.erase(matrix.values.begin() + static_cast<std::ptrdiff_t>(position));
  for (std::size_t i = row + 1; i < matrix.row_map.size(); ++i) --matrix.row_map[i];
  return matrix;
}

/// A refusal leaves the solver as it was.
template <class Types>
void require_solves(TriangleSolver<Types>& solver, const TestTriangle<Matrix<Types>>& triangle) {
  using Scalar = typename Types::Scalar;
  const std::vector<Scalar> b(static_cast<std::size_t>(triangle.matrix.n_rows), as_scalar<Scalar>(1.0));
  const auto x = solve_with<Types>(solver, {}, b);
  REQUIRE(Reference::triangle_error(triangle.matrix, triangle.reference_side(), Transposition::none, x, b) <=
          1e3 * static_cast<double>(epsilon_of<Scalar>));
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("solutions of random triangles equal those of the reference", "[trisolve][random]",
                        AllTypes) {
  constexpr std::size_t kinds = std::tuple_size_v<Scalars> * std::tuple_size_v<Ordinals>;
  const std::size_t count = triangle_count(), each = std::max<std::size_t>(1, count / kinds);
  const std::size_t first = from_environment("LUTRA_TRIANGLES_FROM", 1);
  const bool all = from_environment("LUTRA_TRIANGLES", 0) > 0;
  for (std::size_t seed = first; seed < first + each; ++seed) {
    try_seed<TestType>(seed, all ? 5001 : 2000, all ? 120000 : 20000);
  }
}

TEMPLATE_LIST_TEST_CASE("a missing diagonal entry is refused with its row", "[trisolve][random]", AllTypes) {
  std::mt19937 random(31);
  for (const TrisolveMethod method : methods) {
    auto solver = make_solver<TestType>({.method = method});
    if (!solver) continue;
    for (const auto side : {TriangleSide::lower, TriangleSide::upper}) {
      const auto good = with_values<Matrix<TestType>>(scattered_rows(300, 3, 300, random), side,
                                                      DiagonalKind::stored, false, true, random);
      analyze<TestType>(*solver, good);
      const std::size_t row = any_of(random, 0, 150), later = any_of(random, row + 1, 299);
      auto bad = good;
      for (const std::size_t i : {later, row}) {
        bad.matrix = without(bad.matrix, i, diagonal_positions(good.matrix)[i]);
      }
      const std::string message = refusal([&] { analyze<TestType>(*solver, bad); });
      INFO(message << "; rows " << row << ", " << later);
      REQUIRE(names_row(message, row));
      require_solves<TestType>(*solver, good);
    }
  }
}

TEMPLATE_LIST_TEST_CASE("zero diagonals and NaN are refused with their row", "[trisolve][random]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  std::mt19937 random(32);
  for (const TrisolveMethod method : methods) {
    auto solver = make_solver<TestType>({.method = method});
    if (!solver) continue;
    for (const auto side : {TriangleSide::lower, TriangleSide::upper}) {
      const auto good = with_values<Matrix<TestType>>(scattered_rows(300, 3, 300, random), side,
                                                      DiagonalKind::stored, false, true, random);
      analyze<TestType>(*solver, good);
      const auto positions = diagonal_positions(good.matrix);
      const std::size_t row = any_of(random, 0, 150), later = any_of(random, row + 1, 299);
      for (const double wrong :
           {0.0, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
        auto values = good.matrix.values;
        values[positions[row]] = values[positions[later]] = as_scalar<Scalar>(wrong);
        const std::string message =
            refusal([&] { solver->set_values(to_space<typename TestType::Space>(values)); });
        INFO(message << "; rows " << row << ", " << later << " are " << wrong);
        REQUIRE(names_row(message, row));
      }
      require_solves<TestType>(*solver, good);
    }
  }
}

}  // namespace lutra::Test
