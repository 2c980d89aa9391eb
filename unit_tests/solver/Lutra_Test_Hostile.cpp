// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <complex>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <optional>
#include <string>

#include "Lutra_Error.hpp"
#include "Lutra_KrylovSolver.hpp"
#include "Lutra_TestStatus.hpp"
#include "Lutra_TestSystems.hpp"

// Matrices that are out to break incomplete factors and Krylov methods. Matrix k is the same in every run;
// the first hundred are tested always, ten thousand by scripts/hostile.sh.

namespace lutra::Test {
namespace {

using Long = std::complex<long double>;  // its range holds every product of doubles

template <class Types>
using HostBlock = std::vector<std::vector<typename Types::Scalar>>;  // by columns
template <class Types>
using Block = Kokkos::View<typename Types::Scalar**, Kokkos::LayoutLeft, typename Types::Memory>;

/// How many solves ended with each status, by what was asked for.
using Mix = std::map<std::string, std::map<Status, int>>;

template <class Scalar>
Long to_long(const Scalar& value) {
  if constexpr (ScalarTraits<Scalar>::is_complex) {
    return {value.real(), value.imag()};
  } else {
    return {value, 0};
  }
}

/// Draws from one seed.
struct Dice {
  std::mt19937_64 random;

  double unit() { return std::uniform_real_distribution<double>(0, 1)(random); }
  int below(int n) { return static_cast<int>(random() % static_cast<std::uint64_t>(n)); }
  bool chance(double p) { return unit() < p; }
  template <class T>
  T any(std::initializer_list<T> values) {
    return values.begin()[below(static_cast<int>(values.size()))];
  }
};

/// Whether (i, j) is an entry.
bool is_entry(Dice& dice, int kind, int n, int i, int j) {
  switch (kind) {
    case 0:  // scattered
      return dice.chance(3.0 / n);
    case 1:  // a band
      return std::abs(i - j) <= 2;
    case 2:  // arrows
      return i == j || i == 0 || j == 0;
    case 3:
      return i == j || i == n - 1 || j == n - 1;
    case 4:  // dense
      return n <= 40 || dice.chance(0.1);
    case 5:  // a triangle
      return j <= i && (i == j || dice.chance(4.0 / n));
    case 6:  // a cycle without a diagonal
      return j == (i + 1) % n;
    case 7:  // a saddle point: no diagonal in the second half
      return i == j ? i < n / 2 : (i < n / 2) != (j < n / 2) && dice.chance(4.0 / n);
    default:  // blocks
      return i / 4 == j / 4;
  }
}

/// A value of one of the distributions that break things.
double hostile_value(Dice& dice, int kind, double range) {
  const double sign = dice.chance(0.5) ? 1 : -1;
  switch (kind) {
    case 0:
      return sign * dice.unit();
    case 1:  // all equal: everything cancels
      return 1;
    case 2:  // graded over many decades
      return sign * std::pow(10.0, range * (dice.unit() - 0.5));
    case 3:  // zeros
      return dice.chance(0.3) ? 0 : sign;
    case 4:  // small integers: exactly singular now and then
      return dice.below(5) - 2;
    case 5:  // close to overflow
      return sign * std::pow(10.0, 0.45 * range) * dice.unit();
    case 6:  // close to underflow
      return sign * std::pow(10.0, -0.5 * range) * dice.unit();
    default:  // two sizes far apart
      return sign * (dice.chance(0.1) ? 1 : 1e-13);
  }
}

template <class Types>
Matrix<Types> hostile_matrix(Dice& dice, std::string& description) {
  using Scalar = typename Types::Scalar;
  const double range = sizeof(RealOf<Scalar>) == 8 ? 600 : 70;  // decades between overflow and underflow
  const int n = dice.chance(0.1) ? 1 + dice.below(3) : 2 + dice.below(60);
  const int pattern = dice.below(9), values = dice.below(8);
  const bool dominant = dice.chance(0.4), symmetric = dice.chance(0.3);
  description = "n " + std::to_string(n) + ", pattern " + std::to_string(pattern) + ", values " +
                std::to_string(values) + (dominant ? ", dominant" : "") + (symmetric ? ", symmetric" : "");
  std::vector<std::vector<double>> picture(static_cast<std::size_t>(n),
                                           std::vector<double>(static_cast<std::size_t>(n), nothing));
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < n; ++j) {
      auto& entry = picture[static_cast<std::size_t>(i)][static_cast<std::size_t>(j)];
      if (is_entry(dice, pattern, n, i, j)) entry = hostile_value(dice, values, range);
      if (symmetric && j < i) entry = picture[static_cast<std::size_t>(j)][static_cast<std::size_t>(i)];
    }
  }
  for (std::size_t i = 0; dominant && i < picture.size(); ++i) {
    double sum = 0;
    for (const double value : picture[i]) sum += value == nothing ? 0 : std::abs(value);
    picture[i][i] = std::min(1.1 * sum, std::pow(10.0, 0.5 * range));
  }
  auto A = from_dense<Matrix<Types>>(picture);
  if constexpr (ScalarTraits<Scalar>::is_complex) {
    for (auto& value : A.values) {
      if (!symmetric && dice.chance(0.5)) value *= Scalar(0, dice.chance(0.5) ? 1 : -1);
    }
  }
  return A;
}

KrylovSolverOptions hostile_options(Dice& dice, bool symmetric_order) {
  KrylovSolverOptions options;
  options.method = dice.any({KrylovMethod::gmres, KrylovMethod::bicgstab, KrylovMethod::cg});
  options.preconditioning =
      dice.any({Preconditioning::ilu, Preconditioning::ilu, Preconditioning::ilu, Preconditioning::ilu,
                Preconditioning::jacobi, Preconditioning::none, Preconditioning::lu});
  options.max_iterations = dice.any({0, 1, 20, 200});
  options.restart = dice.any({1, 3, 50});
  options.side = dice.any({PreconditionSide::right, PreconditionSide::left, PreconditionSide::split});
  if (options.preconditioning != Preconditioning::ilu || options.method == KrylovMethod::cg)
    options.side = PreconditionSide::right;
  IluOptions& ilu = options.ilu;
  ilu.method = dice.any({IluMethod::iluk, IluMethod::parilu, IluMethod::parilut});
  ilu.fill_level = dice.any({0, 0, 1, 3});
  ilu.fill_factor = dice.any({0.1, 1.0, 3.0});
  ilu.fill_rule = dice.any({FillRule::total, FillRule::row});
  ilu.drop_tolerance = dice.any({0.0, 1e-2});
  ilu.steps = dice.below(4);
  ilu.sweeps = dice.below(6);
  ilu.selection = dice.any({IluSelection::automatic, IluSelection::exact, IluSelection::approximate});
  ilu.start = dice.any({IluStart::ilu0, IluStart::pattern});
  ilu.finish = dice.any({IluFinish::exact, IluFinish::sweeps});
  ilu.nonlinear_residual = dice.chance(0.5);
  ilu.symmetric = symmetric_order;
  ilu.deterministic = dice.chance(0.5);
  ilu.schedule = dice.any({IluSchedule::automatic, IluSchedule::levels, IluSchedule::syncfree});
  const bool only_sweeps = ilu.start == IluStart::pattern && ilu.finish == IluFinish::sweeps;
  if (ilu.method == IluMethod::parilu || (ilu.method == IluMethod::parilut && only_sweeps))
    ilu.schedule = IluSchedule::automatic;  // nothing is eliminated
  ilu.max_shifts = dice.any({0, 6});
  ilu.apply = dice.any({IluApply::automatic, IluApply::exact, IluApply::jacobi});
  options.ilu.ordering = dice.any({Ordering::automatic, Ordering::rcm, Ordering::amd, Ordering::natural});
  if (!symmetric_order)
    options.ilu.matching = dice.any({Matching::automatic, Matching::none, Matching::exact});
  return options;
}

/// Right-hand sides, of sizes of their own.
template <class Types>
HostBlock<Types> hostile_right_sides(Dice& dice, std::size_t n, std::size_t columns) {
  HostBlock<Types> B;
  for (std::size_t c = 0; c < columns; ++c) {
    const double size = dice.any({1.0, 1.0, 1e-30, 1e30, 0.0});
    auto& b = B.emplace_back();
    for (std::size_t i = 0; i < n; ++i)
      b.push_back(as_scalar<typename Types::Scalar>(size * (dice.unit() - 0.5)));
  }
  return B;
}

/// ‖b − op(A)·x‖₂ and how far rounding in working precision may have been off.
struct TrueResidual {
  long double norm = 0, rounding = 0, b_norm = 0;
};

template <class MatrixType, class Scalar>
TrueResidual true_residual(const MatrixType& A, Transposition op, const std::vector<Scalar>& x,
                           const std::vector<Scalar>& b) {
  std::vector<Long> r;
  std::vector<long double> size;
  for (const Scalar& value : b) {
    r.push_back(to_long(value));
    size.push_back(std::abs(r.back()));
  }
  TrueResidual result;
  for (const long double value : size) result.b_norm += value * value;
  for (std::size_t i = 0; i < x.size(); ++i) {
    Reference::for_row(A, i, [&](std::size_t j, const Scalar& value) {
      const Long a = op == Transposition::adjoint ? std::conj(to_long(value)) : to_long(value);
      const std::size_t to = op == Transposition::none ? i : j, from = op == Transposition::none ? j : i;
      r[to] -= a * to_long(x[from]);
      size[to] += std::abs(a) * std::abs(to_long(x[from]));
    });
  }
  const auto unit = static_cast<long double>(epsilon_of<Scalar>) * static_cast<long double>(x.size() + 4);
  for (std::size_t i = 0; i < r.size(); ++i) {
    result.norm += std::norm(r[i]);
    result.rounding += unit * unit * size[i] * size[i];
  }
  return {std::sqrt(result.norm), std::sqrt(result.rounding), std::sqrt(result.b_norm)};
}

/// Other values on the pattern of A, some of them zero or of another size.
template <class MatrixType>
MatrixType other_values(Dice& dice, MatrixType A) {
  using Scalar = typename decltype(MatrixType::values)::value_type;
  for (auto& value : A.values) value *= as_scalar<Scalar>(dice.any({1.0, -1.0, 0.0, 0.5, 1e-8}));
  return A;
}

/// A with a zero at (j, i) for each (i, j) that has none; empty where there is nothing to add.
template <class MatrixType>
std::optional<MatrixType> with_symmetric_pattern(const MatrixType& A) {
  using Scalar = typename decltype(MatrixType::values)::value_type;
  std::vector<std::map<std::size_t, Scalar>> rows(static_cast<std::size_t>(A.n_rows));
  for (std::size_t i = 0; i < rows.size(); ++i)
    Reference::for_row(A, i, [&](std::size_t j, const Scalar& value) {
      rows[i][j] = value;
      rows[j].emplace(i, Scalar(0));
    });
  MatrixType result;
  result.n_rows = result.n_cols = A.n_rows;
  result.row_map.push_back(0);
  for (const auto& row : rows) {
    for (const auto& [j, value] : row) {
      result.entries.push_back(static_cast<typename decltype(MatrixType::entries)::value_type>(j));
      result.values.push_back(value);
    }
    result.row_map.push_back(result.nnz());
  }
  return result.nnz() > A.nnz() ? std::optional(result) : std::nullopt;
}

template <class Types>
Block<Types> to_block(const HostBlock<Types>& columns) {
  const Block<Types> block("B", columns.front().size(), columns.size());
  const auto host = Kokkos::create_mirror_view(block);
  for (std::size_t c = 0; c < columns.size(); ++c)
    for (std::size_t i = 0; i < columns[c].size(); ++i) host(i, c) = columns[c][i];
  Kokkos::deep_copy(block, host);
  return block;
}

/// That a column is what the status of the solve says.
template <class Types>
void check_column(Status status, const Matrix<Types>& A, Transposition op,
                  const std::vector<typename Types::Scalar>& x,
                  const std::vector<typename Types::Scalar>& b) {
  using Scalar = typename Types::Scalar;
  const bool finite =
      std::ranges::all_of(x, [](const Scalar& value) { return ScalarTraits<Scalar>::is_finite(value); });
  if (status == Status::success) {
    REQUIRE(finite);
    const double tolerance = sizeof(RealOf<Scalar>) == 8 ? 1e-10 : 1e-5;
    const TrueResidual rest = true_residual(A, op, x, b);
    CHECK(rest.norm <= 1.001L * static_cast<long double>(tolerance) * rest.b_norm + rest.rounding);
  } else if (status == Status::not_converged) {
    CHECK(finite);
  } else if (status == Status::structurally_singular) {  // nothing was done
    CHECK(std::ranges::all_of(x, [&](const Scalar& value) { return value == as_scalar<Scalar>(-7.0); }));
  } else {
    CHECK(status == Status::breakdown);
    CHECK(finite);  // the last iterate before, or nothing was done
  }
}

template <class Types, class Solver>
Status solve_and_check(Dice& dice, Solver& solver, const Matrix<Types>& A) {
  using Scalar = typename Types::Scalar;
  const Status factorized = solver.factorize(A);
  const auto op = dice.any({Transposition::none, Transposition::transposed, Transposition::adjoint});
  const auto B =
      hostile_right_sides<Types>(dice, static_cast<std::size_t>(A.n_rows), dice.any<std::size_t>({1, 1, 3}));
  const Block<Types> X("X", B.front().size(), B.size());
  Kokkos::deep_copy(X, as_scalar<Scalar>(-7.0));
  const Status status = solver.solve(to_block<Types>(B), X, op);
  const Report& report = solver.report();
  CHECK(status == report.status);
  if (factorized != Status::success) CHECK(status == factorized);
  INFO("status " << to_string(status) << ", shift " << report.pivots.shift.value_or(0));
  if (status == Status::success || status == Status::not_converged) CHECK(report.iterations.has_value());
  for (std::size_t c = 0; c < B.size(); ++c)
    check_column<Types>(status, A, op, to_vector(Kokkos::subview(X, Kokkos::ALL, c)), B[c]);
  return status;
}

template <class Types>
void test_matrix(int k, Mix& mix) {
  Dice dice{std::mt19937_64(static_cast<std::uint64_t>(k) + 1)};
  std::string description;
  auto A = hostile_matrix<Types>(dice, description);
  const auto options = hostile_options(dice, dice.chance(0.2));
  KrylovSolver<typename Types::Scalar, typename Types::Space> solver(options);
  if (options.preconditioning == Preconditioning::ilu && options.ilu.symmetric) {
    if (const auto symmetric = with_symmetric_pattern(A)) {
      CHECK_THROWS_AS(solver.analyze(A), InputError);
      A = *symmetric;
    }
  }
  const Status analyzed = solver.analyze(A);
  CHECK((analyzed == Status::success || analyzed == Status::structurally_singular));
  const auto& choice = solver.report().choice;
  const std::string side = options.side == PreconditionSide::left    ? "left"
                           : options.side == PreconditionSide::right ? "right"
                                                                     : "split";
  INFO("matrix " << k << ": " << description << ", " << choice.method << ", " << choice.precond << ", "
                 << side);
  const auto solve = [&](const Matrix<Types>& values) {
    const Status status = solve_and_check<Types>(dice, solver, values);
    const std::string words[] = {choice.method, choice.precond, side};
    for (const std::string& what : words) ++mix[what][status];
  };
  solve(A);
  if (dice.chance(0.3)) solve(other_values(dice, A));
}

void print(const Mix& mix) {
  for (const auto& [what, counts] : mix) {
    std::printf("%10s", what.c_str());
    for (const auto& [status, count] : counts) std::printf("  %s %d", to_string(status).data(), count);
    std::printf("\n");
  }
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("hostile matrices: no silent NaN and no false success", "[solver][hostile]",
                        AllTypes) {
  const char* const count = std::getenv("LUTRA_HOSTILE");
  const int end = count == nullptr ? 100 : std::atoi(count);
  Mix mix;
  for (int k = 0; k < end; ++k) test_matrix<TestType>(k, mix);
  if (end <= 5104) test_matrix<TestType>(5104, mix);  // no step of ParILUT, and a residual that overflows
  if (count != nullptr) print(mix);
  // Everything has been asked for, and has had every end it can have.
  for (const char* const what : {"gmres", "bicgstab", "cg", "left", "right", "split", "ilu0", "iluk", "ic0",
                                 "ick", "parilu", "paric", "parilut", "parict", "jacobi", "none", "lu"})
    CHECK((mix.contains(what) || end < 100));
  for (const Status status : {Status::success, Status::not_converged, Status::breakdown})
    for (const char* const method : {"gmres", "bicgstab", "cg"})
      CHECK((mix[method].contains(status) || end < 100));
  CHECK((mix["ilu0"].contains(Status::structurally_singular) || end < 100));
}

}  // namespace lutra::Test
