// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <mkl_pardiso.h>

#include <algorithm>
#include <array>
#include <stdexcept>

#include "Lutra_PerfMkl.hpp"
#include "Lutra_PerfPeers.hpp"

namespace lutra::Perf {
namespace {

/// MKL PARDISO for real matrices with its defaults: METIS, and scaling and matching for unsymmetric matrices.
class PardisoSolver final : public Peer {
 public:
  PardisoSolver(const HostMatrix<double>& all, const std::vector<double>& b,
                PeerMatrix type = PeerMatrix::general)
      : m_type(type == PeerMatrix::general    ? 11
               : type == PeerMatrix::definite ? 2
                                              : -2),
        m_n(all.n_rows),
        m_b(b),
        m_x(b.size()) {
    const HostMatrix<double> matrix = part_for_peer(all, type);
    m_row_map.assign(matrix.row_map.begin(), matrix.row_map.end());
    m_entries.assign(matrix.entries.begin(), matrix.entries.end());
    m_values = matrix.values;
    find_mkl(m_pardiso, "pardiso");
    decltype(pardisoinit)* initialize = nullptr;
    find_mkl(initialize, "pardisoinit");
    initialize(m_handle.data(), &m_type, m_parameters.data());
    parameter(35) = 1;  // indices from 0
  }
  ~PardisoSolver() override { release(); }
  PardisoSolver(const PardisoSolver&) = delete;
  PardisoSolver& operator=(const PardisoSolver&) = delete;

  void analyze() override {
    release();
    m_is_analyzed = true;
    run(11, "analysis");
  }
  void prepare_factorization() override { analyze(); }
  void factorize() override { run(22, "factorization"); }
  void refactorize() override { run(22, "factorization"); }
  void solve_once() override {
    const MKL_INT steps = parameter(8);
    parameter(8) = 0;
    run(33, "solve");
    parameter(8) = steps;
  }
  void solve() override { run(33, "solve"); }
  std::vector<double> solution() const override { return m_x; }
  SolverProperties properties() const override {
    SolverProperties properties;
    properties.label = "ordering metis";
    properties.counters["nnz_lu"] = static_cast<double>(m_parameters[17]);
    properties.counters["perturbed_pivots"] = static_cast<double>(m_parameters[13]);
    properties.counters["refinement_steps"] = static_cast<double>(m_parameters[6]);
    if (m_type == -2) {
      properties.counters["inertia_positive"] = static_cast<double>(m_parameters[21]);
      properties.counters["inertia_negative"] = static_cast<double>(m_parameters[22]);
    }
    properties.counters["peak_bytes"] =
        1024.0 * std::max(m_parameters[14], m_parameters[15] + m_parameters[16]);
    return properties;
  }

 private:
  /// Numbered from 1, as in the manual of Intel.
  MKL_INT& parameter(std::size_t number) { return m_parameters[number - 1]; }

  MKL_INT call(MKL_INT phase) {
    const MKL_INT one = 1, silent = 0;
    MKL_INT error = 0;
    m_pardiso(m_handle.data(), &one, &one, &m_type, &phase, &m_n, m_values.data(), m_row_map.data(),
              m_entries.data(), nullptr, &one, m_parameters.data(), &silent, m_b.data(), m_x.data(), &error);
    return error;
  }
  void run(MKL_INT phase, const char* step) {
    const MKL_INT error = call(phase);
    if (error != 0)
      throw std::runtime_error("pardiso's " + std::string(step) + " ends with error " +
                               std::to_string(error));
  }
  void release() {
    if (m_is_analyzed) call(-1);
    m_is_analyzed = false;
  }

  decltype(pardiso)* m_pardiso = nullptr;
  std::array<void*, 64> m_handle{};
  std::array<MKL_INT, 64> m_parameters{};
  MKL_INT m_type, m_n;
  std::vector<MKL_INT> m_row_map, m_entries;
  std::vector<double> m_values, m_b, m_x;
  bool m_is_analyzed = false;
};

template <PeerMatrix type>
std::unique_ptr<Peer> make_symmetric(const HostMatrix<double>& matrix, const std::vector<double>& b) {
  return std::make_unique<PardisoSolver>(matrix, b, type);
}

}  // namespace

std::vector<PeerKind> symmetric_pardiso_kinds(bool definite) {
  return {{"pardiso", mkl_version(),
           definite ? make_symmetric<PeerMatrix::definite> : make_symmetric<PeerMatrix::symmetric>}};
}

std::vector<PeerKind> pardiso_kinds() {
  return {{"pardiso", mkl_version(), [](const HostMatrix<double>& matrix, const std::vector<double>& b) {
             return std::unique_ptr<Peer>(std::make_unique<PardisoSolver>(matrix, b));
           }}};
}

}  // namespace lutra::Perf
