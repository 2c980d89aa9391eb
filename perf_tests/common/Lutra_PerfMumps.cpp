// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <dmumps_c.h>

#include <stdexcept>

#include "Lutra_PerfErrors.hpp"
#include "Lutra_PerfMpi.hpp"
#include "Lutra_PerfPeers.hpp"

namespace lutra::Perf {
namespace {

constexpr int use_comm_world = -987654;  // the value that MUMPS uses for MPI_COMM_WORLD

class MumpsSolver final : public Peer {
 public:
  MumpsSolver(const HostMatrix<double>& matrix, const std::vector<double>& b,
              PeerMatrix type = PeerMatrix::general);
  ~MumpsSolver() override {
    m_mumps.job = -2;
    dmumps_c(&m_mumps);
  }
  MumpsSolver(const MumpsSolver&) = delete;
  MumpsSolver& operator=(const MumpsSolver&) = delete;

  void analyze() override { run(1, "analysis"); }
  void prepare_factorization() override {
    if (!m_analyzed) analyze();
  }
  void factorize() override { refactorize(); }
  /// MUMPS chooses new pivots each time. Delayed pivots may need more memory, which it reports as an error.
  void refactorize() override {
    for (int attempt = 0; attempt < 3 && !factorized_in(attempt); ++attempt) icntl(14) *= 4;
    check("factorization");
  }
  void solve_once() override { solve_refining(0); }
  void solve() override { solve_refining(10); }
  std::vector<double> solution() const override { return m_x; }
  SolverProperties properties() const override;

 private:
  // Numbers of controls and results from 1, as in the manual of MUMPS.
  int& icntl(int number) { return m_mumps.icntl[number - 1]; }
  int infog(int number) const { return m_mumps.infog[number - 1]; }
  bool factorized_in(int attempt);
  void run(int job, const char* step) {
    m_mumps.job = job;
    dmumps_c(&m_mumps);
    check(step);
    if (job == 1) m_analyzed = true;
  }
  void check(const char* step) const {
    if (infog(1) >= 0) return;
    throw std::runtime_error(std::string("MUMPS' ") + step +
                             " ends with INFOG(1) = " + std::to_string(infog(1)) +
                             (infog(1) == -10 || infog(1) == -6 ? " (singular)" : ""));
  }
  void solve_refining(int max_steps) {
    icntl(10) = max_steps;
    m_x = m_b;
    m_mumps.rhs = m_x.data();
    run(3, "solve");
  }

  DMUMPS_STRUC_C m_mumps{};
  std::vector<int> m_rows, m_columns;  // from 1
  std::vector<double> m_values, m_b, m_x;
  bool m_analyzed = false;
};

MumpsSolver::MumpsSolver(const HostMatrix<double>& all, const std::vector<double>& b, PeerMatrix type)
    : m_b(b), m_x(b.size()) {
  const HostMatrix<double> matrix = part_for_peer(all, type);
  m_values = matrix.values;
  for (int i = 0; i < matrix.n_rows; ++i) {
    const auto row = static_cast<std::size_t>(i);
    m_rows.insert(m_rows.end(), static_cast<std::size_t>(matrix.row_map[row + 1] - matrix.row_map[row]),
                  i + 1);
  }
  for (const int column : matrix.entries) m_columns.push_back(column + 1);
  require_mpi();
  m_mumps.comm_fortran = use_comm_world;
  m_mumps.par = 1;  // this process also factorizes
  m_mumps.sym = type == PeerMatrix::general ? 0 : type == PeerMatrix::definite ? 1 : 2;
  run(-1, "start");
  for (const int stream : {1, 2, 3, 4}) icntl(stream) = 0;  // no output
  m_mumps.cntl[2 - 1] = tolerance;                          // refinement ends at this backward error
  m_mumps.n = matrix.n_rows;
  m_mumps.nnz = matrix.nnz();
  m_mumps.irn = m_rows.data();
  m_mumps.jcn = m_columns.data();
  m_mumps.a = m_values.data();
}

/// False if the memory that MUMPS had planned was too small.
bool MumpsSolver::factorized_in(int attempt) {
  m_mumps.job = 2;
  dmumps_c(&m_mumps);
  return (infog(1) != -8 && infog(1) != -9) || attempt == 2;
}

SolverProperties MumpsSolver::properties() const {
  static const char* const orderings[] = {"amd", "given", "amf", "scotch", "pord", "metis", "qamd"};
  SolverProperties properties;
  const int used = infog(7);
  properties.label = std::string("ordering ") + (used >= 0 && used < 7 ? orderings[used] : "unknown");
  if (!m_analyzed) return properties;
  const double nnz = infog(29);  // negative: in millions
  properties.counters["nnz_lu"] = nnz < 0 ? -1e6 * nnz : nnz;
  properties.counters["flops"] = m_mumps.rinfog[3 - 1];
  properties.counters["peak_bytes"] = 1e6 * infog(22);
  properties.counters["delayed_pivots"] = infog(13);
  properties.counters["refinement_steps"] = infog(15);
  if (m_mumps.sym == 2) properties.counters["inertia_negative"] = infog(12);
  return properties;
}

std::unique_ptr<Peer> make_mumps(const HostMatrix<double>& matrix, const std::vector<double>& b) {
  return std::make_unique<MumpsSolver>(matrix, b);
}

template <PeerMatrix type>
std::unique_ptr<Peer> make_symmetric(const HostMatrix<double>& matrix, const std::vector<double>& b) {
  return std::make_unique<MumpsSolver>(matrix, b, type);
}

}  // namespace

std::vector<PeerKind> symmetric_mumps_kinds(bool definite) {
  return {{"mumps", MUMPS_VERSION,
           definite ? make_symmetric<PeerMatrix::definite> : make_symmetric<PeerMatrix::symmetric>}};
}

std::vector<PeerKind> mumps_kinds() {
  return {{"mumps", MUMPS_VERSION, make_mumps}};
}

}  // namespace lutra::Perf
