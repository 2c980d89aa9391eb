// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Times one front with a given number of pivots and off-diagonal rows in the kernels of the multifrontal
// engine, and compares with the rate of dgemm and, if all rows are pivots, with the dense LU of the device or
// host library. Also times many small and medium fronts at once, and compares with the limits of memory and
// arithmetic.
#include <cmath>
#include <limits>

#include "Lutra_FrontLu.hpp"
#include "Lutra_PerfGetrf.hpp"
#include "Lutra_PerfRun.hpp"

namespace lutra::Perf {
namespace {

/// Row numbers of independent fronts: the pivots of all fronts come first, then the off-diagonal rows of all.
struct FrontRows {
  int pivots, cb_rows, count;
  KOKKOS_FUNCTION int operator()(int front, int row) const {
    return row < pivots ? front * pivots + row : count * pivots + front * cb_rows + row - pivots;
  }
};

/// Independent fronts of one size. The matrix of a front has only the first row, the first column and the
/// diagonal of the pivots, so that assembly costs almost nothing; it is dense once the first pivot is
/// eliminated.
struct Fronts {
  using Offset = std::int64_t;
  int pivots, cb_rows, count;
  HostMatrix<double> matrix;
  ExecutionSpace exec;
  LuPlan<MemorySpace> plan;
  FrontFactors<double, ExecutionSpace> factors;
  Kokkos::View<double*, MemorySpace> values, ones;
  Kokkos::View<unsigned char*, MemorySpace> perturbed;

  int size() const { return pivots + cb_rows; }

  Fronts(int k, int m, int fronts = 1) : pivots(k), cb_rows(m), count(fronts) {
    fill_matrix();
    AssemblyTree tree;
    tree.n = matrix.n_rows;
    for (int i = 0; i < tree.n; ++i) tree.order.push_back(i);
    tree.pivot_begin = {0};
    tree.row_begin = {0};
    for (int f = 0; f < count; ++f) {
      tree.pivot_begin.push_back((f + 1) * pivots);
      tree.row_begin.push_back(static_cast<std::int64_t>(f + 1) * cb_rows);
    }
    tree.parent.assign(static_cast<std::size_t>(count), -1);
    tree.rows.assign(tree.order.begin() + count * pivots, tree.order.end());
    const double p = pivots, b = cb_rows;
    tree.flops = count * (p * (p * (4 * p - 3) - 1) / 6 + 2 * p * b * (p + b));
    const FrontEntries entries{make_view(matrix).pattern(), tree.order, tree.order};
    plan = plan_lu(exec, tree, entries, MemoryBudget(), front_plan_options<double, ExecutionSpace>());
    factors =
        make_front_factors(exec, make_front_schedule<double>(exec, plan, MemoryBudget()), MemoryBudget());
    allocate_values(exec, plan, MemoryBudget(), factors);
    values = to_device(matrix.values);
    ones = to_device(std::vector<double>(static_cast<std::size_t>(tree.n), 1.0));
    perturbed = Kokkos::View<unsigned char*, MemorySpace>("lutra::perf::perturbed", ones.extent(0));
  }

  void fill_matrix() {
    const FrontRows row_of{pivots, cb_rows, count};
    const double edge = 1 / std::sqrt(static_cast<double>(size()));
    matrix.n_rows = matrix.n_cols = count * size();
    matrix.row_map.push_back(0);
    const auto add = [&](int j, double value) {
      matrix.entries.push_back(j);
      matrix.values.push_back(value);
    };
    const auto add_row = [&](int f, int i) {
      if (i > 0) add(row_of(f, 0), edge * (0.5 + i * 7919 % 97 / 97.0));
      if (i < pivots) add(row_of(f, i), 2 + i * 31 % 17 / 17.0);
      for (int j = 1; i == 0 && j < size(); ++j) add(row_of(f, j), edge * (0.5 + j * 104729 % 89 / 89.0));
      matrix.row_map.push_back(matrix.nnz());
    };
    for (int f = 0; f < count; ++f) {
      for (int i = 0; i < pivots; ++i) add_row(f, i);
    }
    for (int f = 0; f < count; ++f) {
      for (int i = pivots; i < size(); ++i) add_row(f, i);
    }
  }

  void factorize() const {
    factorize_fronts<double>(exec, plan, {values, ones, ones}, 0, factors, perturbed);
  }

  /// max |A·x - L·(U·x)| / |L|·|U|·|x| over the rows for x = 1, 2, 3, 1, …; the
  /// contribution block takes the part of U in off-diagonal rows.
  double error() const;
};

double Fronts::error() const {
  using Team = Kokkos::TeamPolicy<ExecutionSpace>;
  using Vector = Kokkos::View<double*, MemorySpace>;
  const int k = pivots, m = cb_rows, f = size(), n = count * f;
  const Vector x("x", ones.extent(0)), product("Ux", x.extent(0)), magnitude("|U||x|", x.extent(0)),
      error("error", x.extent(0));
  const auto panels = factors.panels, contributions = factors.contributions;
  const auto fronts = plan.fronts;
  const auto begin = plan.panels;
  const auto A = to_device(matrix);
  const FrontRows row_of{pivots, cb_rows, count};
  Kokkos::parallel_for(
      "lutra::perf::x", Kokkos::RangePolicy<ExecutionSpace>(0, n),
      KOKKOS_LAMBDA(const int i) { x(i) = 1 + i % 3; });
  Kokkos::parallel_for(
      "lutra::perf::upper", Team(n, Kokkos::AUTO), KOKKOS_LAMBDA(const Team::member_type& team) {
        const int number = team.league_rank() / f, r = team.league_rank() % f;
        const auto front = fronts(number);
        const auto entry = [&](int c) {
          if (c < k) return panels(begin(number) + r + static_cast<Offset>(c) * f);
          if (r < k)
            return panels(begin(number) + static_cast<Offset>(f) * k + static_cast<Offset>(r) * m + c - k);
          return contributions(front.contribution + r - k + static_cast<Offset>(c - k) * m);
        };
        double sum = 0, size = 0;
        Kokkos::parallel_reduce(
            Kokkos::TeamThreadRange(team, r < k ? r : k, f),
            [&](const int c, double& s, double& a) {
              s += entry(c) * x(row_of(number, c));
              a += Kokkos::abs(entry(c)) * x(row_of(number, c));
            },
            sum, size);
        Kokkos::single(Kokkos::PerTeam(team), [&]() {
          product(row_of(number, r)) = sum;
          magnitude(row_of(number, r)) = size;
        });
      });
  Kokkos::parallel_for(
      "lutra::perf::lower", Team(n, Kokkos::AUTO), KOKKOS_LAMBDA(const Team::member_type& team) {
        const int number = team.league_rank() / f, r = team.league_rank() % f, row = row_of(number, r);
        double sum = 0, size = 0;
        Kokkos::parallel_reduce(
            Kokkos::TeamThreadRange(team, r < k ? r : k),
            [&](const int c, double& s, double& a) {
              const double l = panels(begin(number) + r + static_cast<Offset>(c) * f);
              s += l * product(row_of(number, c));
              a += Kokkos::abs(l) * magnitude(row_of(number, c));
            },
            sum, size);
        Kokkos::single(Kokkos::PerTeam(team), [&]() {
          double wanted = 0;
          for (auto p = A.row_map(row); p < A.row_map(row + 1); ++p) wanted += A.values(p) * x(A.entries(p));
          const double off = Kokkos::abs(sum + product(row) - wanted) / (size + magnitude(row));
          error(row) = off == off ? off : Kokkos::Experimental::infinity_v<double>;
        });
      });
  double largest = 0;
  Kokkos::parallel_reduce(
      "lutra::perf::largest", Kokkos::RangePolicy<ExecutionSpace>(0, n),
      KOKKOS_LAMBDA(const int i, double& maximum) { maximum = error(i) > maximum ? error(i) : maximum; },
      Kokkos::Max<double>(largest));
  return largest;
}

/// Bytes that fronts write once: panels and contribution blocks. They read almost nothing.
Measurement describe(const PerfRun& run, Samples samples, int pivots, int cb_rows, double flops,
                     int count = 1) {
  Measurement result{std::move(samples)};
  const double size = pivots + cb_rows, seconds = result.samples.median();
  result.counters["n"] = size;
  result.counters["pivots"] = pivots;
  result.counters["flops"] = flops;
  result.counters["tflops"] = flops / seconds * 1e-12;
  result.counters["dgemm_tflops"] = run.limits.flops_per_second * 1e-12;
  if (run.limits.flops_per_second > 0)
    result.counters["of_dgemm"] = flops / seconds / run.limits.flops_per_second;
  result.add_limits(run.limits, 8 * size * size * count, flops);
  return result;
}

Measurement measure_front(const PerfRun& run, int pivots, int cb_rows) {
  const Fronts front(pivots, cb_rows);
  Measurement result =
      describe(run, measure(run.samples, [&] { front.factorize(); }), pivots, cb_rows, front.plan.flops);
  result.counters["backward_componentwise"] = front.error();
  return result;
}

/// Sizes at which one warp or one block factorizes a front. The limits are the copy bandwidth (a copy reads
/// as much as it writes) and the dgemm rate.
Measurement measure_batch(const PerfRun& run, int pivots, int cb_rows, int count) {
  const Fronts fronts(pivots, cb_rows, count);
  Measurement result = describe(run, measure(run.samples, [&] { fronts.factorize(); }), pivots, cb_rows,
                                fronts.plan.flops, count);
  const double size = pivots + cb_rows;
  result.counters["fronts"] = count;
  result.counters["backward_componentwise"] = fronts.error();
  result.counters["written_gb_per_s"] = 8 * size * size * count / result.samples.median() * 1e-9;
  return result;
}

Measurement measure_peer(const PerfRun& run, int pivots) {
  const Fronts front(pivots, 0);
  const auto n = static_cast<std::size_t>(pivots);
  std::vector<double> dense(n * n, 0.0);
  for (std::size_t i = 0; i < n; ++i) {
    for (auto p = front.matrix.row_map[i]; p < front.matrix.row_map[i + 1]; ++p)
      dense[static_cast<std::size_t>(front.matrix.entries[static_cast<std::size_t>(p)]) * n + i] =
          front.matrix.values[static_cast<std::size_t>(p)];
  }
  return describe(run, measure_getrf(run.samples, pivots, to_device(dense)), pivots, 0, front.plan.flops);
}

}  // namespace

void register_benchmarks(const PerfRun& run) {
  auto fronts = run.fronts;
  if (fronts.empty()) {
    const bool on_host = std::is_same_v<MemorySpace, Kokkos::HostSpace>;
    for (const int order : on_host ? std::vector{256, 512, 1024} : std::vector{1024, 2048, 4096, 8192}) {
      fronts.push_back({order, 0});
      fronts.push_back({order / 4, order - order / 4});
    }
  }
  if (run.fronts.empty()) {
    const int count = std::is_same_v<MemorySpace, Kokkos::HostSpace> ? 200 : 20000;
    for (const int size : {16, 32, 48, 64, 96}) {
      add_benchmark("fronts:" + std::to_string(size / 2) + "+" + std::to_string(size - size / 2), "batch",
                    "lutra",
                    [&run, size, count] { return measure_batch(run, size / 2, size - size / 2, count); });
    }
  }
  for (const PerfFront& front : fronts) {
    const auto [pivots, cb_rows] = front;
    const std::string name = "front:" + std::to_string(pivots) + "+" + std::to_string(cb_rows);
    add_benchmark(name, "dense-lu", "lutra",
                  [&run, pivots, cb_rows] { return measure_front(run, pivots, cb_rows); });
    if (cb_rows == 0 && *getrf_name != '\0')
      add_benchmark(name, "dense-lu", getrf_name, [&run, pivots] { return measure_peer(run, pivots); });
  }
}

}  // namespace lutra::Perf
