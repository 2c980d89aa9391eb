// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <KokkosSparse_sptrsv.hpp>

#include "Lutra_PerfTriangle.hpp"
#include "Lutra_Report.hpp"

// Older Kokkos Kernels have sptrsv only in this namespace. If both namespaces have a name, the outer one is
// used.
namespace KokkosSparse {
using namespace Experimental;
}

namespace lutra::Perf {
namespace {

/// sptrsv of Kokkos Kernels by levels with a team per row, its choice for general triangles. It accepts one
/// right-hand side, and reads the values in each solve.
class KokkosTriangle final : public TimedTriangle {
 public:
  explicit KokkosTriangle(const TriangleSystem& system) : m_system(system) {
    const IntTriangle host = to_int_triangle(system.matrix);
    m_row_map = to_device(host.row_map);
    m_entries = to_device(host.entries);
    m_new_values = to_device(host.values);
    m_values = to_device(host.values);
  }
  ~KokkosTriangle() override { m_handle.destroy_sptrsv_handle(); }
  KokkosTriangle(const KokkosTriangle&) = delete;
  KokkosTriangle& operator=(const KokkosTriangle&) = delete;

  void prepare(int columns) override {
    m_b = to_device(right_hand_sides(m_system, columns, VectorOrder::by_columns));
    m_x = Vector("lutra::perf::x", m_b.extent(0));
  }
  void analyze() override {
    using KokkosSparse::Experimental::SPTRSVAlgorithm;
    m_handle.create_sptrsv_handle(SPTRSVAlgorithm::SEQLVLSCHD_TP1, m_system.matrix.n_rows,
                                  m_system.side == TriangleSide::lower);
    KokkosSparse::sptrsv_symbolic(&m_handle, m_row_map, m_entries);
  }
  void update() override { Kokkos::deep_copy(ExecutionSpace(), m_values, m_new_values); }
  void solve() override { KokkosSparse::sptrsv_solve(&m_handle, m_row_map, m_entries, m_values, m_b, m_x); }
  std::vector<double> solution() const override { return to_host(m_x); }
  TriangleProperties properties() const override { return {{}, "SEQLVLSCHD_TP1"}; }

 private:
  using Handle = KokkosKernels::Experimental::KokkosKernelsHandle<int, int, double, ExecutionSpace,
                                                                  MemorySpace, MemorySpace>;
  using Vector = Kokkos::View<double*, MemorySpace>;

  const TriangleSystem& m_system;
  Handle m_handle;
  Kokkos::View<int*, MemorySpace> m_row_map, m_entries;
  Vector m_values, m_new_values, m_b, m_x;
};

}  // namespace

std::vector<TriangleKind> kokkos_kernels_triangle_kinds() {
  TriangleKind kind;
  kind.name = "kokkos-kernels";
  kind.version = version_info().kokkos_kernels;
  kind.max_columns = 1;
  kind.make = [](const TriangleSystem& system) { return std::make_unique<KokkosTriangle>(system); };
  return {kind};
}

}  // namespace lutra::Perf
