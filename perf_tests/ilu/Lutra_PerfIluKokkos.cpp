// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <KokkosSparse_par_ilut.hpp>
#include <KokkosSparse_spiluk.hpp>
#include <algorithm>

#include "Lutra_PerfIlu.hpp"
#include "Lutra_Report.hpp"

namespace lutra::Perf {
namespace {

using RowMap = Kokkos::View<std::int64_t*, MemorySpace>;
using Entries = Kokkos::View<int*, MemorySpace>;
using Values = Kokkos::View<double*, MemorySpace>;
using Handle = KokkosKernels::Experimental::KokkosKernelsHandle<std::int64_t, int, double, ExecutionSpace,
                                                                MemorySpace, MemorySpace>;

struct Triangle {
  RowMap row_map;
  Entries entries;
  Values values;

  void resize(std::size_t nnz) {
    Kokkos::resize(entries, nnz);
    Kokkos::resize(values, nnz);
  }
  /// Zeros, with which par_ilut considers rows sorted.
  void clear(std::size_t nnz) {
    entries = Entries("lutra::perf::entries", nnz);
    values = Values("lutra::perf::values", nnz);
  }
};

/// Shared by both solvers of Kokkos Kernels.
class KokkosIlu : public IluSolver {
 public:
  explicit KokkosIlu(const HostMatrix<double>& A)
      : m_n(A.n_rows), m_A{to_device(A.row_map), to_device(A.entries), to_device(A.values)} {
    for (Triangle* triangle : {&m_L, &m_U})
      triangle->row_map = RowMap("lutra::perf::row_map", A.row_map.size());
  }
  HostFactors factors() const override {
    return join_factors(m_n, to_host(m_L.row_map), to_host(m_L.entries), to_host(m_L.values),
                        to_host(m_U.row_map), to_host(m_U.entries), to_host(m_U.values));
  }

 protected:
  int m_n = 0;
  Handle m_handle;
  Triangle m_A, m_L, m_U;
};

/// spiluk by levels with a team per row. It requires an estimate of the sizes of L and U.
class Spiluk final : public KokkosIlu {
 public:
  Spiluk(const HostMatrix<double>& A, int fill_level)
      : KokkosIlu(A), m_fill_level(fill_level), m_room((1 + 5 * fill_level) * A.nnz() + A.n_rows) {}
  ~Spiluk() override { m_handle.destroy_spiluk_handle(); }
  Spiluk(const Spiluk&) = delete;
  Spiluk& operator=(const Spiluk&) = delete;

  void analyze() override {
    m_handle.create_spiluk_handle(KokkosSparse::Experimental::SPILUKAlgorithm::SEQLVLSCHD_TP1, m_n, m_room,
                                  m_room);
    m_L.resize(static_cast<std::size_t>(m_room));
    m_U.resize(static_cast<std::size_t>(m_room));
    KokkosSparse::Experimental::spiluk_symbolic(&m_handle, m_fill_level, m_A.row_map, m_A.entries,
                                                m_L.row_map, m_L.entries, m_U.row_map, m_U.entries);
    m_L.resize(m_handle.get_spiluk_handle()->get_nnzL());
    m_U.resize(m_handle.get_spiluk_handle()->get_nnzU());
  }
  void factorize() override {
    KokkosSparse::Experimental::spiluk_numeric(&m_handle, m_fill_level, m_A.row_map, m_A.entries, m_A.values,
                                               m_L.row_map, m_L.entries, m_L.values, m_U.row_map, m_U.entries,
                                               m_U.values);
  }

 private:
  int m_fill_level;
  std::int64_t m_room;
};

/// par_ilut with the requested number of steps. It computes no residual for stopping.
class ParIlutOfKokkos final : public KokkosIlu {
 public:
  ParIlutOfKokkos(const HostMatrix<double>& A, const IluTask& task) : KokkosIlu(A), m_task(task) {}
  ~ParIlutOfKokkos() override { m_handle.destroy_par_ilut_handle(); }
  ParIlutOfKokkos(const ParIlutOfKokkos&) = delete;
  ParIlutOfKokkos& operator=(const ParIlutOfKokkos&) = delete;

  void analyze() override {}
  void factorize() override {
    m_handle.create_par_ilut_handle(m_task.parilut_steps, 0.0, m_task.fill_factor, false, false);
    KokkosSparse::Experimental::par_ilut_symbolic(&m_handle, m_A.row_map, m_A.entries, m_L.row_map,
                                                  m_U.row_map);
    m_L.clear(m_handle.get_par_ilut_handle()->get_nnzL());
    m_U.clear(m_handle.get_par_ilut_handle()->get_nnzU());
    KokkosSparse::Experimental::par_ilut_numeric(&m_handle, m_A.row_map, m_A.entries, m_A.values, m_L.row_map,
                                                 m_L.entries, m_L.values, m_U.row_map, m_U.entries,
                                                 m_U.values);
  }
  int steps() const override { return m_task.parilut_steps; }

 private:
  IluTask m_task;
};

}  // namespace

std::vector<IluKind> kokkos_kernels_ilu_kinds() {
  IluKind kind;
  kind.name = "kokkos-kernels";
  kind.version = version_info().kokkos_kernels;
  kind.has_parilut = true;
  kind.make = [](const HostMatrix<double>& A, const IluTask& task) -> std::unique_ptr<IluSolver> {
    if (task.parilut_steps > 0) return std::make_unique<ParIlutOfKokkos>(A, task);
    return std::make_unique<Spiluk>(A, task.fill_level);
  };
  return {kind};
}

}  // namespace lutra::Perf
