// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A primal-dual interior-point method for a quadratic program,
//
//     minimize ½·xᵀQx + cᵀx  subject to  A·x = b, x ≥ 0,
//
// that is not convex and has a redundant constraint. Each step solves with
//
//         | Q + Z/X + δx·I    Aᵀ    |
//     K = |                         |     x: n rows, constraints: m rows
//         |       A         −δc·I   |
//
// The step is a descent step if K has n positive and m negative eigenvalues. δx and δc are raised until it
// has, as in Wächter and Biegler, Math. Programming 106, 2006, section 3.1. One analysis serves all
// factorizations.
#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "Lutra_SparseLDLT.hpp"

using Solver = lutra::SparseLDLT<double>;
using Matrix = Solver::matrix_type;
using Vector = Kokkos::View<double*, Solver::memory_space>;
using Values = std::vector<double>;

// Q has diagonal q and −1/2 beside it. Row k of A has ones in the columns of group k.
struct Program {
  int n = 60, m = 21;
  Values q = Values(60), c = Values(60), b = Values(21);

  Program() {
    for (int i = 0; i < n; ++i) {
      q[i] = i % 7 == 0 ? -6 : 2;  // negative curvature
      c[i] = std::sin(3.0 * i);
    }
    for (int k = 0; k < m; ++k) b[k] = k < m - 1 ? 1 + 0.5 * (k % 3) : b[0] + b[1];
  }
  // Row k of A has three columns of its own. The last row is the sum of the first two.
  int first(int k) const { return k < m - 1 ? 3 * k : 0; }
  int last(int k) const { return k < m - 1 ? 3 * k + 3 : 6; }
  double gradient(const Values& x, int i) const {
    return q[i] * x[i] + c[i] - 0.5 * ((i > 0 ? x[i - 1] : 0) + (i + 1 < n ? x[i + 1] : 0));
  }
};

// The lower triangle of K. The diagonal of the constraint rows is not stored; it can be shifted nevertheless.
struct Kkt {
  lutra::HostMatrix<double> lower;
  Matrix matrix;  // shares the pattern of `lower` if the device can access it
  Vector values;
  std::vector<std::int64_t> diagonal;  // positions of the diagonal in the rows of x

  explicit Kkt(const Program& program) {
    lower.n_rows = lower.n_cols = program.n + program.m;
    lower.row_map.push_back(0);
    for (int i = 0; i < program.n; ++i) {
      if (i > 0) lower.entries.push_back(i - 1), lower.values.push_back(-0.5);
      diagonal.push_back(static_cast<std::int64_t>(lower.values.size()));
      lower.entries.push_back(i), lower.values.push_back(program.q[i]);
      lower.row_map.push_back(static_cast<std::int64_t>(lower.values.size()));
    }
    for (int k = 0; k < program.m; ++k) {
      for (int j = program.first(k); j < program.last(k); ++j)
        lower.entries.push_back(j), lower.values.push_back(1);
      lower.row_map.push_back(static_cast<std::int64_t>(lower.values.size()));
    }
    const auto host = lutra::make_view(lower);
    values = Vector("values", lower.values.size());
    const Solver::memory_space memory;
    matrix = {lower.n_rows, lower.n_cols, Kokkos::create_mirror_view_and_copy(memory, host.row_map),
              Kokkos::create_mirror_view_and_copy(memory, host.entries), values};
  }
  void set_barrier(const Program& program, const Values& x, const Values& z) {
    for (int i = 0; i < program.n; ++i) lower.values[diagonal[i]] = program.q[i] + z[i] / x[i];
    Kokkos::deep_copy(values, lutra::make_view(lower).values);
  }
};

struct Delta {
  double x = 0, c = 0;
};

// Factorizes K with the least δx and δc of a sequence for which the inertia is right. Returns false if there
// are none.
bool factorize(Solver& solver, const Kkt& kkt, const Program& program, Delta& largest) {
  const Vector shift("shift", program.n + program.m);
  const auto x_rows = Kokkos::subview(shift, Kokkos::pair<int, int>(0, program.n)),
             constraints = Kokkos::subview(shift, Kokkos::pair<int, int>(program.n, program.n + program.m));
  for (double delta_x = 0, delta_c = 0; std::max(delta_x, delta_c) < 1e8;) {
    Kokkos::deep_copy(x_rows, delta_x);
    Kokkos::deep_copy(constraints, -delta_c);
    const lutra::Status status = solver.factorize(kkt.matrix, shift);
    const lutra::Inertia& inertia = solver.report().inertia;
    const bool is_right = inertia.positive == program.n && inertia.negative == program.m;
    if (is_right && status == lutra::Status::success) return true;
    if (inertia.negative.value_or(0) > program.m) {
      delta_x = delta_x == 0 ? 1e-2 : 4 * delta_x;  // the program is not convex here
    } else {
      delta_c = delta_c == 0 ? 1e-8 : 100 * delta_c;  // the constraints are dependent
    }
    largest = {std::max(largest.x, delta_x), std::max(largest.c, delta_c)};
  }
  return false;
}

// Solves K·d = r, and computes more accurate factors if the backward error is too large.
bool solve(Solver& solver, const Kkt& kkt, const Program& program, Values& r, Delta& largest) {
  while (solver.solve_host(r, r) != lutra::Status::success) {
    if (!solver.increase_quality() || !factorize(solver, kkt, program, largest)) return false;
  }
  return true;
}

// Largest step at most 1 that keeps v + step·d well above zero.
double step_length(const Values& v, const double* d) {
  double step = 1;
  for (std::size_t i = 0; i < v.size(); ++i)
    if (d[i] < 0) step = std::min(step, -0.99 * v[i] / d[i]);
  return step;
}

int main(int argc, char* argv[]) {
  Kokkos::ScopeGuard kokkos(argc, argv);
  const Program program;
  const int n = program.n, m = program.m;
  Kkt kkt(program);
  Values x(n, 0.5), z(n, 1), y(m, 0), r(n + m), dz(n);
  lutra::LdltOptions options;
  options.triangle = lutra::Triangle::lower;
  Solver solver(options);
  kkt.set_barrier(program, x, z);
  if (solver.analyze(kkt.matrix) != lutra::Status::success) return EXIT_FAILURE;
  double mu = 1, error = 1;
  Delta largest;
  int step = 0;
  for (; step < 100; ++step) {
    // The residuals of stationarity, feasibility and complementarity.
    error = 0;
    for (int i = 0; i < n; ++i) r[i] = -program.gradient(x, i);
    for (int k = 0; k < m; ++k) {
      r[n + k] = program.b[k];
      for (int j = program.first(k); j < program.last(k); ++j) r[j] += y[k], r[n + k] -= x[j];
      error = std::max(error, std::abs(r[n + k]));
    }
    double product = 0;
    for (int i = 0; i < n; ++i) {
      error = std::max({error, std::abs(r[i] + z[i]), x[i] * z[i]});
      product += x[i] * z[i] / n;
    }
    if (error < 1e-8) break;
    mu = std::max(0.1 * std::min(mu, product), 1e-10);
    for (int i = 0; i < n; ++i) r[i] += mu / x[i];
    kkt.set_barrier(program, x, z);
    if (!factorize(solver, kkt, program, largest) || !solve(solver, kkt, program, r, largest)) {
      std::printf("step %d: %s\n", step, lutra::describe(solver.report()).c_str());
      return EXIT_FAILURE;
    }
    for (int i = 0; i < n; ++i) dz[i] = mu / x[i] - z[i] - z[i] / x[i] * r[i];
    const double primal = step_length(x, r.data()), dual = step_length(z, dz.data());
    for (int i = 0; i < n; ++i) x[i] += primal * r[i], z[i] += dual * dz[i];
    for (int k = 0; k < m; ++k) y[k] -= dual * r[n + k];
  }
  std::printf("%d steps, error %.1e, largest δx %.1e, δc %.1e; at the end %s\n", step, error, largest.x,
              largest.c, lutra::describe(solver.report()).c_str());
  return error < 1e-8 && largest.x > 0 && largest.c > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
