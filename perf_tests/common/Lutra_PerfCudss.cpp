// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cudss.h>

#include <limits>
#include <numeric>
#include <stdexcept>

#include "Lutra_PerfErrors.hpp"
#include "Lutra_PerfPeers.hpp"

namespace lutra::Perf {
namespace {

constexpr int max_refinement_steps = 10;

const char* name_of(cudssStatus_t status) {
  switch (status) {
    case CUDSS_STATUS_NOT_INITIALIZED:
      return "not initialized";
    case CUDSS_STATUS_ALLOC_FAILED:
      return "out of memory";
    case CUDSS_STATUS_INVALID_VALUE:
      return "invalid value";
    case CUDSS_STATUS_NOT_SUPPORTED:
      return "not supported";
    case CUDSS_STATUS_EXECUTION_FAILED:
      return "execution failed";
    default:
      return "internal error";
  }
}

void check(cudssStatus_t status, const char* step) {
  if (status != CUDSS_STATUS_SUCCESS) throw std::runtime_error(std::string(step) + ": " + name_of(status));
}

/// Owns a matrix, vector or set of options of cuDSS.
template <class Handle, auto destroy>
struct Owned {
  Handle handle = nullptr;
  Owned() = default;
  ~Owned() {
    if (handle != nullptr) destroy(handle);
  }
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
};

using OwnedMatrix = Owned<cudssMatrix_t, cudssMatrixDestroy>;

/// cuDSS with its defaults. If its threading layer was found, it orders on all cores. Matrix and vectors are
/// on the device, as for Lutra. On several devices (its multi-GPU mode, one process) they are on the first.
class CudssSolver final : public Peer {
 public:
  CudssSolver(const HostMatrix<double>& matrix, const std::vector<double>& b,
              PeerMatrix type = PeerMatrix::general, int devices = 1);
  ~CudssSolver() override { cudssDataDestroy(m_library.handle, m_data); }
  CudssSolver(const CudssSolver&) = delete;
  CudssSolver& operator=(const CudssSolver&) = delete;

  /// Reordering and symbolic factorization.
  void analyze() override {
    cudssDataDestroy(m_library.handle, m_data);
    m_data = nullptr;
    check(cudssDataCreate(m_library.handle, &m_data), "cudssDataCreate");
    run(CUDSS_PHASE_ANALYSIS, "analysis");
  }
  void prepare_factorization() override { analyze(); }
  void factorize() override { run(CUDSS_PHASE_FACTORIZATION, "factorization"); }
  void refactorize() override { run(CUDSS_PHASE_REFACTORIZATION, "refactorization"); }
  void solve_once() override { solve_refining(0); }
  void solve() override;
  std::vector<double> solution() const override { return to_host(m_x); }
  SolverProperties properties() const override;

 private:
  static constexpr int unknown_steps = -1;
  void run(int phase, const char* step) {
    check(cudssExecute(m_library.handle, phase, m_config.handle, m_data, m_A.handle, m_X.handle, m_B.handle),
          step);
  }
  void solve_refining(int steps) {
    check(cudssConfigSet(m_config.handle, CUDSS_CONFIG_IR_N_STEPS, &steps, sizeof steps), "refinement steps");
    run(CUDSS_PHASE_SOLVE, "solve");
  }
  void describe();
  void use_devices(int count);

  HostMatrix<double> m_matrix;  // to find the number of refinement steps
  std::vector<double> m_host_b;
  PeerMatrix m_type;
  Kokkos::View<int*, MemorySpace> m_row_map, m_entries;
  Kokkos::View<double*, MemorySpace> m_values, m_b, m_x;
  int m_refinement_steps = unknown_steps;
  Owned<cudssHandle_t, cudssDestroy> m_library;
  Owned<cudssConfig_t, cudssConfigDestroy> m_config;
  OwnedMatrix m_A, m_B, m_X;
  cudssData_t m_data = nullptr;
};

CudssSolver::CudssSolver(const HostMatrix<double>& all, const std::vector<double>& b, PeerMatrix type,
                         int devices)
    : m_matrix(all), m_host_b(b), m_type(type), m_b(to_device(b)), m_x("lutra::perf::x", b.size()) {
  const HostMatrix<double> matrix = part_for_peer(all, type);
  m_entries = to_device(matrix.entries);
  m_values = to_device(matrix.values);
  if (matrix.nnz() > std::numeric_limits<int>::max())
    throw std::runtime_error("more entries than this peer counts");
  m_row_map = to_device(std::vector<int>(matrix.row_map.begin(), matrix.row_map.end()));
  check(cudssConfigCreate(&m_config.handle), "cudssConfigCreate");
  use_devices(devices);
#ifdef LUTRA_PERF_CUDSS_THREADS
  check(cudssSetThreadingLayer(m_library.handle, LUTRA_PERF_CUDSS_THREADS), "cudssSetThreadingLayer");
#endif
  check(cudssDataCreate(m_library.handle, &m_data), "cudssDataCreate");
  describe();
}

void CudssSolver::use_devices(int count) {
  if (count == 1) {
    check(cudssCreate(&m_library.handle), "cudssCreate");
    check(cudssSetStream(m_library.handle, ExecutionSpace().cuda_stream()), "cudssSetStream");
    return;
  }
  std::vector<int> numbers(static_cast<std::size_t>(count));
  std::iota(numbers.begin(), numbers.end(), 0);
  check(cudssCreateMg(&m_library.handle, count, numbers.data()), "cudssCreateMg");
  check(cudssConfigSet(m_config.handle, CUDSS_CONFIG_DEVICE_COUNT, &count, sizeof count), "device count");
  check(cudssConfigSet(m_config.handle, CUDSS_CONFIG_DEVICE_INDICES, numbers.data(),
                       numbers.size() * sizeof(int)),
        "device indices");
}

void CudssSolver::describe() {
  const std::int64_t n = m_matrix.n_rows, nnz = static_cast<std::int64_t>(m_entries.extent(0));
  const bool is_general = m_type == PeerMatrix::general;
  const cudssMatrixType_t type = is_general                       ? CUDSS_MTYPE_GENERAL
                                 : m_type == PeerMatrix::definite ? CUDSS_MTYPE_SPD
                                                                  : CUDSS_MTYPE_SYMMETRIC;
  check(cudssMatrixCreateCsr(&m_A.handle, n, n, nnz, m_row_map.data(), nullptr, m_entries.data(),
                             m_values.data(), CUDA_R_32I, CUDA_R_32I, CUDA_R_64F, type,
                             is_general ? CUDSS_MVIEW_FULL : CUDSS_MVIEW_UPPER, CUDSS_BASE_ZERO),
        "cudssMatrixCreateCsr");
  check(cudssMatrixCreateDn(&m_B.handle, n, 1, n, m_b.data(), CUDA_R_64F, CUDSS_LAYOUT_COL_MAJOR),
        "cudssMatrixCreateDn");
  check(cudssMatrixCreateDn(&m_X.handle, n, 1, n, m_x.data(), CUDA_R_64F, CUDSS_LAYOUT_COL_MAJOR),
        "cudssMatrixCreateDn");
}

/// Solves with the smallest number of refinement steps that meets the tolerance. cuDSS accepts a number and
/// checks no error; the first solve, a warm-up, finds it.
void CudssSolver::solve() {
  if (m_refinement_steps != unknown_steps) return solve_refining(m_refinement_steps);
  for (m_refinement_steps = 0;; ++m_refinement_steps) {
    solve_refining(m_refinement_steps);
    const double error = backward_errors(m_matrix, m_host_b, solution()).componentwise;
    if (error <= tolerance || m_refinement_steps == max_refinement_steps) return;
  }
}

SolverProperties CudssSolver::properties() const {
  SolverProperties properties;
  properties.label = "defaults";
  const auto get = [&](cudssDataParam_t what, auto& value) {
    std::size_t written = 0;
    return cudssDataGet(m_library.handle, m_data, what, &value, sizeof value, &written) ==
           CUDSS_STATUS_SUCCESS;
  };
  std::int64_t nnz = 0, memory[16] = {};
  int pivots = 0;
  if (get(CUDSS_DATA_LU_NNZ, nnz)) properties.counters["nnz_lu"] = static_cast<double>(nnz);
  if (get(CUDSS_DATA_NPIVOTS, pivots)) properties.counters["perturbed_pivots"] = pivots;
  int inertia[2] = {0, 0};
  if (m_type == PeerMatrix::symmetric && get(CUDSS_DATA_INERTIA, inertia)) {
    properties.counters["inertia_positive"] = inertia[0];
    properties.counters["inertia_negative"] = inertia[1];
  }
  if (get(CUDSS_DATA_MEMORY_ESTIMATES, memory))
    properties.counters["peak_bytes"] = static_cast<double>(memory[1]);  // on the device, at the peak
  if (m_refinement_steps != unknown_steps) properties.counters["refinement_steps"] = m_refinement_steps;
  return properties;
}

std::unique_ptr<Peer> make_cudss(const HostMatrix<double>& matrix, const std::vector<double>& b) {
  return std::make_unique<CudssSolver>(matrix, b);
}

template <PeerMatrix type>
std::unique_ptr<Peer> make_symmetric(const HostMatrix<double>& matrix, const std::vector<double>& b) {
  return std::make_unique<CudssSolver>(matrix, b, type);
}

}  // namespace

std::unique_ptr<Peer> make_cudss_on_devices(const HostMatrix<double>& matrix, const std::vector<double>& b,
                                            int devices) {
  return std::make_unique<CudssSolver>(matrix, b, PeerMatrix::general, devices);
}

std::vector<PeerKind> symmetric_cudss_kinds(bool definite) {
  auto kinds = cudss_kinds();
  kinds.front().make =
      definite ? make_symmetric<PeerMatrix::definite> : make_symmetric<PeerMatrix::symmetric>;
  return kinds;
}

std::vector<PeerKind> cudss_kinds() {
  int numbers[3] = {0, 0, 0};
  cudssGetProperty(MAJOR_VERSION, &numbers[0]);
  cudssGetProperty(MINOR_VERSION, &numbers[1]);
  cudssGetProperty(PATCH_LEVEL, &numbers[2]);
  const std::string version =
      std::to_string(numbers[0]) + "." + std::to_string(numbers[1]) + "." + std::to_string(numbers[2]);
  return {{"cudss", version, make_cudss}};
}

}  // namespace lutra::Perf
