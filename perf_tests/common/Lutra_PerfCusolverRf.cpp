// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The refactorization package of cuSOLVER. It computes no pivots, order or fill of its own. It gets those of
// Lutra, as factors of A(row order, column order) without scales, and keeps them from one factorization to
// the next, as Lutra does.
#define DISABLE_CUSOLVER_DEPRECATED  // NVIDIA recommends cuDSS, which is also a peer
#include <cusolverRf.h>

#include <limits>
#include <memory>
#include <stdexcept>
#include <string>

#include "Lutra_PerfErrors.hpp"
#include "Lutra_PerfFactored.hpp"
#include "Lutra_PerfPeers.hpp"

namespace lutra::Perf {
namespace {

constexpr int max_refinement_steps = 10;

void check(cusolverStatus_t status, const char* step) {
  if (status != CUSOLVER_STATUS_SUCCESS)
    throw std::runtime_error(std::string(step) + " ends with status " + std::to_string(status));
}

struct ClosesRf {
  void operator()(cusolverRfHandle_t handle) const { cusolverRfDestroy(handle); }
};

/// A sparse matrix by rows with 32-bit indices.
struct RowMatrix {
  std::vector<int> row_map{0}, entries;
  std::vector<double> values;

  void add(int column, double value) {
    entries.push_back(column);
    values.push_back(value);
  }
  void end_row() { row_map.push_back(static_cast<int>(entries.size())); }
  int nnz() const { return static_cast<int>(entries.size()); }
};

/// L without its unit diagonal and U, such that L·U is A with permuted rows and columns.
struct HostFactors {
  RowMatrix L, U;
  std::vector<int> row_order, col_order;
};

HostFactors factors_of(const HostMatrix<double>& matrix) {
  const Factored<double> factored(matrix, options_for(Engine::simplicial));
  const auto& analysis = *factored.analysis;
  const auto& rows = factored.simplicial().plan().lu.rows;
  HostFactors result;
  result.row_order = to_host(analysis.F.row_order);
  result.col_order = to_host(analysis.F.col_order);
  const auto row_scale = to_host(analysis.row_scale), col_scale = to_host(analysis.col_scale);
  const auto row_map = to_host(rows.row_map);
  const auto entries = to_host(rows.entries);
  const auto values = to_host(factored.simplicial().factors().row_values);
  if (entries.size() > static_cast<std::size_t>(std::numeric_limits<int>::max()))
    throw std::runtime_error("more entries in L + U than this peer counts");
  const auto scale_of_row = [&](std::size_t k) {
    return row_scale[static_cast<std::size_t>(result.row_order[k])];
  };
  for (std::size_t i = 0; i < result.row_order.size(); ++i) {
    for (auto p = static_cast<std::size_t>(row_map[i]); p < static_cast<std::size_t>(row_map[i + 1]); ++p) {
      const auto j = static_cast<std::size_t>(entries[p]);
      if (j < i) {  // R·A·C = L·U, so A = (R⁻¹·L·R)·(R⁻¹·U·C⁻¹)
        result.L.add(entries[p], values[p] * scale_of_row(j) / scale_of_row(i));
      } else {
        const double col = col_scale[static_cast<std::size_t>(result.col_order[j])];
        result.U.add(entries[p], values[p] / scale_of_row(i) / col);
      }
    }
    result.L.end_row();
    result.U.end_row();
  }
  return result;
}

/// r = b − A·x
struct DeviceResidual {
  Kokkos::View<int*, MemorySpace> row_map, entries;
  Kokkos::View<double*, MemorySpace> values, b, x, r;

  KOKKOS_FUNCTION void operator()(int i) const {
    double sum = b(i);
    for (int p = row_map(i); p < row_map(i + 1); ++p) sum -= values(p) * x(entries(p));
    r(i) = sum;
  }
};

struct AddTo {
  Kokkos::View<double*, MemorySpace> x, correction;
  KOKKOS_FUNCTION void operator()(int i) const { x(i) += correction(i); }
};

class CusolverRf final : public Peer {
 public:
  CusolverRf(const HostMatrix<double>& matrix, const std::vector<double>& b);

  /// The analysis and factorization of Lutra that this package needs.
  void analyze() override {
    m_factors = factors_of(m_matrix);
    m_row_order = to_device(m_factors.row_order);
    m_col_order = to_device(m_factors.col_order);
  }
  void prepare_factorization() override {
    if (m_factors.row_order.empty()) analyze();
  }
  /// Transfer of the factors, analysis of their levels, and one factorization.
  void factorize() override;
  void refactorize() override;
  void solve_once() override { solve_refining(0); }
  void solve() override;
  std::vector<double> solution() const override { return to_host(m_residual.x); }
  SolverProperties properties() const override;

 private:
  static constexpr int unknown_steps = -1;
  void solve_in_place(const Kokkos::View<double*, MemorySpace>& x);
  void solve_refining(int steps);
  int n() const { return m_matrix.n_rows; }

  HostMatrix<double> m_matrix;  // to find the number of refinement steps
  std::vector<double> m_host_b;
  DeviceResidual m_residual;  // holds matrix and vectors
  Kokkos::View<double*, MemorySpace> m_work;
  Kokkos::View<int*, MemorySpace> m_row_order, m_col_order;
  HostFactors m_factors;
  std::unique_ptr<cusolverRfCommon, ClosesRf> m_handle;
  int m_refinement_steps = unknown_steps;
};

CusolverRf::CusolverRf(const HostMatrix<double>& matrix, const std::vector<double>& b)
    : m_matrix(matrix), m_host_b(b), m_work("lutra::perf::work", b.size()) {
  if (matrix.nnz() > std::numeric_limits<int>::max())
    throw std::runtime_error("more entries than this peer counts");
  m_residual = {to_device(std::vector<int>(matrix.row_map.begin(), matrix.row_map.end())),
                to_device(matrix.entries),
                to_device(matrix.values),
                to_device(b),
                Kokkos::View<double*, MemorySpace>("lutra::perf::x", b.size()),
                Kokkos::View<double*, MemorySpace>("lutra::perf::r", b.size())};
}

void CusolverRf::factorize() {
  cusolverRfHandle_t opened = nullptr;
  m_handle.reset();
  check(cusolverRfCreate(&opened), "cusolverRfCreate");
  m_handle.reset(opened);
  check(cusolverRfSetMatrixFormat(opened, CUSOLVERRF_MATRIX_FORMAT_CSR, CUSOLVERRF_UNIT_DIAGONAL_ASSUMED_L),
        "cusolverRfSetMatrixFormat");
  check(cusolverRfSetResetValuesFastMode(opened, CUSOLVERRF_RESET_VALUES_FAST_MODE_ON),
        "cusolverRfSetResetValuesFastMode");
  std::vector<int> row_map(m_matrix.row_map.begin(), m_matrix.row_map.end());
  RowMatrix &L = m_factors.L, &U = m_factors.U;
  check(cusolverRfSetupHost(n(), static_cast<int>(m_matrix.nnz()), row_map.data(), m_matrix.entries.data(),
                            m_matrix.values.data(), L.nnz(), L.row_map.data(), L.entries.data(),
                            L.values.data(), U.nnz(), U.row_map.data(), U.entries.data(), U.values.data(),
                            m_factors.row_order.data(), m_factors.col_order.data(), opened),
        "cusolverRfSetupHost");
  check(cusolverRfAnalyze(opened), "cusolverRfAnalyze");
  refactorize();
  m_refinement_steps = unknown_steps;
}

void CusolverRf::refactorize() {
  check(cusolverRfResetValues(n(), static_cast<int>(m_matrix.nnz()), m_residual.row_map.data(),
                              m_residual.entries.data(), m_residual.values.data(), m_row_order.data(),
                              m_col_order.data(), m_handle.get()),
        "cusolverRfResetValues");
  check(cusolverRfRefactor(m_handle.get()), "cusolverRfRefactor");
}

void CusolverRf::solve_in_place(const Kokkos::View<double*, MemorySpace>& x) {
  check(cusolverRfSolve(m_handle.get(), m_row_order.data(), m_col_order.data(), 1, m_work.data(), n(),
                        x.data(), n()),
        "cusolverRfSolve");
}

void CusolverRf::solve_refining(int steps) {
  const Kokkos::RangePolicy<ExecutionSpace> rows(0, n());
  const ExecutionSpace exec;
  Kokkos::deep_copy(exec, m_residual.x, m_residual.b);
  exec.fence("lutra::perf: the peer has a stream of its own");
  solve_in_place(m_residual.x);
  for (int step = 0; step < steps; ++step) {
    Kokkos::fence("lutra::perf: the peer has a stream of its own");
    Kokkos::parallel_for("lutra::perf::residual", rows, m_residual);
    exec.fence("lutra::perf: the peer has a stream of its own");
    solve_in_place(m_residual.r);
    Kokkos::fence("lutra::perf: the peer has a stream of its own");
    Kokkos::parallel_for("lutra::perf::correct", rows, AddTo{m_residual.x, m_residual.r});
  }
}

/// With the smallest number of refinement steps that meets the tolerance, as for cuDSS.
void CusolverRf::solve() {
  if (m_refinement_steps != unknown_steps) return solve_refining(m_refinement_steps);
  for (m_refinement_steps = 0;; ++m_refinement_steps) {
    solve_refining(m_refinement_steps);
    const double error = backward_errors(m_matrix, m_host_b, solution()).componentwise;
    if (error <= tolerance || m_refinement_steps == max_refinement_steps) return;
  }
}

SolverProperties CusolverRf::properties() const {
  SolverProperties properties;
  properties.label = "pivots, ordering and pattern of lutra";
  properties.counters["nnz_lu"] = static_cast<double>(m_factors.L.nnz()) + m_factors.U.nnz();
  if (m_refinement_steps != unknown_steps) properties.counters["refinement_steps"] = m_refinement_steps;
  return properties;
}

std::unique_ptr<Peer> make_cusolver_rf(const HostMatrix<double>& matrix, const std::vector<double>& b) {
  return std::make_unique<CusolverRf>(matrix, b);
}

}  // namespace

std::vector<PeerKind> cusolver_rf_kinds() {
  int numbers[3] = {0, 0, 0};
  cusolverGetProperty(MAJOR_VERSION, &numbers[0]);
  cusolverGetProperty(MINOR_VERSION, &numbers[1]);
  cusolverGetProperty(PATCH_LEVEL, &numbers[2]);
  const std::string version =
      std::to_string(numbers[0]) + "." + std::to_string(numbers[1]) + "." + std::to_string(numbers[2]);
  return {{"cusolver-rf", version, make_cusolver_rf, true}};
}

}  // namespace lutra::Perf
