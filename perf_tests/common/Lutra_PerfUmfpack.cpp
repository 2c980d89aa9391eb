// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <umfpack.h>

#include <array>
#include <stdexcept>

#include "Lutra_PerfPeers.hpp"

namespace lutra::Perf {
namespace {

class UmfpackSolver final : public Peer {
 public:
  UmfpackSolver(const HostMatrix<double>& matrix, const std::vector<double>& b)
      : m_columns(to_columns(matrix)), m_b(b), m_x(b.size()) {
    umfpack_di_defaults(m_control.data());
  }
  ~UmfpackSolver() override {
    umfpack_di_free_numeric(&m_numeric);
    umfpack_di_free_symbolic(&m_symbolic);
  }
  UmfpackSolver(const UmfpackSolver&) = delete;
  UmfpackSolver& operator=(const UmfpackSolver&) = delete;

  void analyze() override {
    umfpack_di_free_symbolic(&m_symbolic);
    check(umfpack_di_symbolic(m_columns.n, m_columns.n, map(), rows(), values(), &m_symbolic,
                              m_control.data(), m_info.data()),
          "umfpack_di_symbolic");
  }
  void prepare_factorization() override {
    if (m_symbolic == nullptr) analyze();
    umfpack_di_free_numeric(&m_numeric);
  }
  void factorize() override { refactorize(); }
  /// UMFPACK chooses new pivots each time.
  void refactorize() override {
    umfpack_di_free_numeric(&m_numeric);
    check(
        umfpack_di_numeric(map(), rows(), values(), m_symbolic, &m_numeric, m_control.data(), m_info.data()),
        "umfpack_di_numeric");
  }
  void solve_once() override { solve_refining(0); }
  void solve() override { solve_refining(10); }
  std::vector<double> solution() const override { return m_x; }
  SolverProperties properties() const override;

 private:
  const int* map() const { return m_columns.column_map.data(); }
  const int* rows() const { return m_columns.rows.data(); }
  const double* values() const { return m_columns.values.data(); }
  static void check(int status, const char* step) {
    if (status == UMFPACK_OK) return;
    throw std::runtime_error(std::string(step) + " ends with status " + std::to_string(status) +
                             (status == UMFPACK_WARNING_singular_matrix ? " (singular)" : ""));
  }
  void solve_refining(int max_steps) {
    m_control[UMFPACK_IRSTEP] = max_steps;
    check(umfpack_di_solve(UMFPACK_A, map(), rows(), values(), m_x.data(), m_b.data(), m_numeric,
                           m_control.data(), m_info.data()),
          "umfpack_di_solve");
  }

  ColumnMatrix m_columns;
  std::vector<double> m_b, m_x;
  std::array<double, UMFPACK_CONTROL> m_control{};
  std::array<double, UMFPACK_INFO> m_info{};
  void* m_symbolic = nullptr;
  void* m_numeric = nullptr;
};

std::string ordering_name(double used) {
  if (used == UMFPACK_ORDERING_AMD) return "amd or colamd";
  if (used == UMFPACK_ORDERING_METIS) return "metis";
  if (used == UMFPACK_ORDERING_CHOLMOD) return "cholmod's choice";
  if (used == UMFPACK_ORDERING_NONE) return "none";
  return std::to_string(static_cast<int>(used));
}

SolverProperties UmfpackSolver::properties() const {
  SolverProperties properties;
  properties.label =
      "ordering " + ordering_name(m_info[UMFPACK_ORDERING_USED]) +
      (m_info[UMFPACK_STRATEGY_USED] == UMFPACK_STRATEGY_SYMMETRIC ? ", symmetric" : ", unsymmetric") +
      " strategy";
  if (m_numeric == nullptr) return properties;
  properties.counters["nnz_lu"] =
      m_info[UMFPACK_LNZ] - m_columns.n + m_info[UMFPACK_UNZ];  // L's diagonal is ones
  properties.counters["flops"] = m_info[UMFPACK_FLOPS];
  properties.counters["peak_bytes"] = m_info[UMFPACK_PEAK_MEMORY] * m_info[UMFPACK_SIZE_OF_UNIT];
  properties.counters["refinement_steps"] = m_info[UMFPACK_IR_TAKEN] > 0 ? m_info[UMFPACK_IR_TAKEN] : 0;
  return properties;
}

std::unique_ptr<Peer> make_umfpack(const HostMatrix<double>& matrix, const std::vector<double>& b) {
  return std::make_unique<UmfpackSolver>(matrix, b);
}

}  // namespace

std::vector<PeerKind> umfpack_kinds() {
  const std::string version = std::to_string(UMFPACK_MAIN_VERSION) + "." +
                              std::to_string(UMFPACK_SUB_VERSION) + "." +
                              std::to_string(UMFPACK_SUBSUB_VERSION);
  return {{"umfpack", version, make_umfpack}};
}

}  // namespace lutra::Perf
