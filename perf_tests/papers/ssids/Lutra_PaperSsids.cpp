// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_PaperSsids.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

namespace lutra::Perf {
namespace {

template <class Memory, class T>
Kokkos::View<T*, Memory> copy_to(const std::vector<T>& host) {
  const Kokkos::View<T*, Memory> result("lutra::perf::copy", host.size());
  Kokkos::deep_copy(result, Kokkos::View<const T*, Kokkos::HostSpace>(host.data(), host.size()));
  return result;
}

}  // namespace

template <class Space>
LdltRun<Space>::LdltRun(const HostMatrix<double>& A, const LdltOptions& options)
    : m_A{A.n_rows, A.n_cols, copy_to<Memory>(A.row_map), copy_to<Memory>(A.entries),
          copy_to<Memory>(A.values)},
      m_b(copy_to<Memory>(make_right_hand_side(A))),
      m_x("lutra::perf::x", m_b.extent(0)),
      m_solver(options) {}
template <class Space>
void LdltRun<Space>::analyze() {
  require(m_solver.analyze(m_A));
}
template <class Space>
void LdltRun<Space>::factorize() {
  require(m_solver.factorize(m_A));
}
template <class Space>
void LdltRun<Space>::solve() {
  require(m_solver.solve(m_b, m_x));
}
template <class Space>
std::vector<double> LdltRun<Space>::solution() const {
  return to_host(m_x);
}
template <class Space>
void LdltRun<Space>::require(Status status) const {
  if (status != Status::success) throw std::runtime_error(describe(m_solver.report()));
}

template <class Space>
LdltSeconds ldlt_seconds(const PaperRun& run, LdltRun<Space>& of) {
  of.analyze();
  of.factorize();
  of.solve();
  LdltSeconds seconds;
  seconds.factorize = measure(run.samples, [&] { of.factorize(); }).median();
  seconds.solve = measure(run.samples, [&] { of.solve(); }).median();
  return seconds;
}

template class LdltRun<HostSpace>;
template LdltSeconds ldlt_seconds(const PaperRun&, LdltRun<HostSpace>&);
#ifdef KOKKOS_ENABLE_CUDA
template class LdltRun<Kokkos::Cuda>;
template LdltSeconds ldlt_seconds(const PaperRun&, LdltRun<Kokkos::Cuda>&);
#endif
#ifdef KOKKOS_ENABLE_HIP
template class LdltRun<Kokkos::HIP>;
template LdltSeconds ldlt_seconds(const PaperRun&, LdltRun<Kokkos::HIP>&);
#endif

LdltOptions ldlt_options() {
  LdltOptions options;
  options.expected_factorizations = 100;
  return options;
}

HostMatrix<double> with_easy_values(const HostMatrix<double>& A) {
  HostMatrix<double> result{A.n_rows, A.n_cols, {0}, {}, {}};
  std::vector<std::pair<int, double>> row;
  for (int i = 0; i < A.n_rows; ++i) {
    row.clear();
    double sum = 1, diagonal = 0;
    for (auto p = A.row_map[static_cast<std::size_t>(i)]; p < A.row_map[static_cast<std::size_t>(i) + 1];
         ++p) {
      const int j = A.entries[static_cast<std::size_t>(p)];
      const double value = A.values[static_cast<std::size_t>(p)];
      if (j == i) {
        diagonal = value;
      } else {
        sum += std::abs(value);
        row.emplace_back(j, value);
      }
    }
    row.emplace_back(i, diagonal < 0 ? -sum : sum);
    std::ranges::sort(row);
    for (const auto& [j, value] : row) {
      result.entries.push_back(j);
      result.values.push_back(value);
    }
    result.row_map.push_back(static_cast<std::int64_t>(result.entries.size()));
  }
  return result;
}

PaperReport run_paper(const PaperRun& run) {
  const auto all = run.matrices_or({"kkt:20000", "poisson3d:24", "aniso2d:200"}, {"kkt:150", "poisson3d:6"});
  std::vector<SymmetricMatrix> matrices;
  for (const PerfMatrix& matrix : all)
    if (const auto* const real = std::get_if<HostMatrix<double>>(&matrix.values))
      matrices.push_back({matrix.name, real});
  PaperReport report;
  report.paper = "A GPU Sparse Symmetric Indefinite Solver with Pivoting (Hogg, Ovtchinnikov, Scott 2014)";
  report.tables.push_back(speedup(run, matrices));
  report.tables.push_back(kernels(run, matrices));
  report.tables.push_back(pivoting_cost(run, matrices));
  report.tables.push_back(aposteriori(run, matrices));
  report.tables.push_back(pivots_found(matrices));
  report.tables.push_back(repetition(matrices));
  report.tables.push_back(auction_scaling(run, matrices));
  report.tables.push_back(hot_spots());
  report.tables.push_back(dense_factor(run));
  return report;
}

}  // namespace lutra::Perf
