// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <ginkgo/core/base/executor.hpp>
#include <ginkgo/core/base/version.hpp>
#include <ginkgo/core/factorization/par_ilut.hpp>
#include <ginkgo/core/matrix/csr.hpp>

#include "Lutra_PerfIlu.hpp"

namespace lutra::Perf {
namespace {

/// The Ginkgo executor for the memory of the default execution space. By default Ginkgo allocates device
/// memory with cudaMalloc in every step. With `pool` the memory comes from the pool of cudaMallocAsync.
std::shared_ptr<gko::Executor> make_executor([[maybe_unused]] bool pool) {
#ifdef KOKKOS_ENABLE_CUDA
  if constexpr (std::is_same_v<ExecutionSpace, Kokkos::Cuda>) {
    const ExecutionSpace exec;
    const auto host = gko::ReferenceExecutor::create();
    if (!pool) return gko::CudaExecutor::create(exec.cuda_device(), host);
    return gko::CudaExecutor::create(exec.cuda_device(), host,
                                     std::make_shared<gko::CudaAsyncAllocator>(nullptr));
  }
#endif
#ifdef KOKKOS_ENABLE_OPENMP
  if constexpr (std::is_same_v<ExecutionSpace, Kokkos::OpenMP>) return gko::OmpExecutor::create();
#endif
  return gko::ReferenceExecutor::create();
}

template <class T>
std::vector<T> to_host(const std::shared_ptr<const gko::Executor>& exec, const T* data, std::size_t size) {
  std::vector<T> host(size);
  exec->get_master()->copy_from(exec, size, data, host.data());
  return host;
}

/// ParILUT from the lower and upper triangle of A, with the requested number of steps.
class ParIlutOfGinkgo final : public IluSolver {
  using Csr = gko::matrix::Csr<double, int>;
  using ParIlut = gko::factorization::ParIlut<double, int>;

 public:
  ParIlutOfGinkgo(const HostMatrix<double>& A, const IluTask& task, bool approximate, bool pool)
      : m_task(task), m_approximate(approximate), m_exec(make_executor(pool)) {
    const auto n = static_cast<std::size_t>(A.n_rows);
    m_A = Csr::create(m_exec, gko::dim<2>(n, n), gko::array<double>(m_exec, A.values.begin(), A.values.end()),
                      gko::array<int>(m_exec, A.entries.begin(), A.entries.end()),
                      gko::array<int>(m_exec, A.row_map.begin(), A.row_map.end()));
  }

  void analyze() override {}
  void factorize() override { m_factors = generate(m_task.parilut_steps); }
  bool start() override {
    generate(0);
    return true;
  }
  int steps() const override { return m_task.parilut_steps; }
  HostFactors factors() const override {
    const auto L = m_factors->get_l_factor(), U = m_factors->get_u_factor();
    const auto row_map = [&](const auto& factor) {
      const auto map = to_host(m_exec, factor->get_const_row_ptrs(), m_A->get_size()[0] + 1);
      return std::vector<std::int64_t>(map.begin(), map.end());
    };
    const auto entries = [&](const auto& factor) {
      return to_host(m_exec, factor->get_const_col_idxs(), factor->get_num_stored_elements());
    };
    const auto values = [&](const auto& factor) {
      return to_host(m_exec, factor->get_const_values(), factor->get_num_stored_elements());
    };
    return join_factors(static_cast<int>(m_A->get_size()[0]), row_map(L), entries(L), values(L), row_map(U),
                        entries(U), values(U));
  }

 private:
  std::shared_ptr<ParIlut> generate(int steps) const {
    const auto factory = ParIlut::build()
                             .with_iterations(static_cast<gko::size_type>(steps))
                             .with_skip_sorting(true)
                             .with_approximate_select(m_approximate)
                             .with_fill_in_limit(m_task.fill_factor)
                             .on(m_exec);
    std::shared_ptr<ParIlut> factors = factory->generate(m_A);
    m_exec->synchronize();
    return factors;
  }

  IluTask m_task;
  bool m_approximate;
  std::shared_ptr<gko::Executor> m_exec;
  std::shared_ptr<Csr> m_A;
  std::shared_ptr<ParIlut> m_factors;
};

IluKind ginkgo_kind(const std::string& name, bool approximate, bool pool) {
  const gko::version version = gko::version_info::get().header_version;
  IluKind kind;
  kind.name = name;
  kind.version = std::to_string(version.major) + "." + std::to_string(version.minor) + "." +
                 std::to_string(version.patch);
  kind.has_ilu = false;
  kind.has_parilut = true;
  kind.make = [=](const HostMatrix<double>& A, const IluTask& task) {
    return std::make_unique<ParIlutOfGinkgo>(A, task, approximate, pool);
  };
  return kind;
}

}  // namespace

std::vector<IluKind> ginkgo_ilu_kinds() {
  std::vector<IluKind> kinds{ginkgo_kind("ginkgo", true, false), ginkgo_kind("ginkgo-exact", false, false)};
#ifdef KOKKOS_ENABLE_CUDA
  kinds.push_back(ginkgo_kind("ginkgo-pool", true, true));
#endif
  return kinds;
}

}  // namespace lutra::Perf
