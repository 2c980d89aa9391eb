// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <optional>

#include "Lutra_Error.hpp"
#include "Lutra_PerfTriangle.hpp"
#include "Lutra_Report.hpp"
#include "Lutra_TriangularSolver.hpp"

namespace lutra::Perf {
namespace {

template <class Layout>
class LutraTriangle final : public TimedTriangle {
 public:
  LutraTriangle(const TriangleSystem& system, const TriangularOptions& options)
      : m_system(system), m_options(options), m_matrix(to_device(system.matrix)) {}

  /// The choice of a method depends on the expected number of right-hand sides.
  void prepare(int columns) override {
    const bool analyzed = m_solver.has_value();
    m_options.expected_rhs = columns;
    m_solver.reset();
    m_B = Vectors("lutra::perf::B", m_system.n(), static_cast<std::size_t>(columns));
    m_X = Vectors("lutra::perf::X", m_system.n(), static_cast<std::size_t>(columns));
    const auto host = right_hand_sides(m_system, columns, order);
    Kokkos::deep_copy(m_B, HostVectors(host.data(), m_system.n(), static_cast<std::size_t>(columns)));
    if (analyzed) analyze();
  }
  /// All but the first analysis reuse the solver, as the peers keep their buffers.
  void analyze() override {
    if (!m_solver) m_solver.emplace(m_options);
    m_solver->analyze(m_matrix, m_system.side, DiagonalKind::stored);
  }
  void update() override { m_solver->set_values(m_matrix.values); }
  void solve() override { m_solver->solve(m_B, m_X); }
  std::vector<double> solution() const override {
    m_solver->wait();
    const auto host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), m_X);
    return {host.data(), host.data() + host.size()};
  }
  TriangleProperties properties() const override;

 private:
  using Vectors = Kokkos::View<double**, Layout, MemorySpace>;
  using HostVectors = Kokkos::View<const double**, Layout, Kokkos::HostSpace>;
  static constexpr VectorOrder order =
      std::is_same_v<Layout, Kokkos::LayoutRight> ? VectorOrder::by_rows : VectorOrder::by_columns;

  const TriangleSystem& m_system;
  TriangularOptions m_options;
  DeviceMatrix<double> m_matrix;
  Vectors m_B, m_X;
  mutable std::optional<TriangularSolver<double>> m_solver;  // reading a solution calls its wait()
};

template <class Layout>
TriangleProperties LutraTriangle<Layout>::properties() const {
  const TriangularReport& report = m_solver->report();
  const auto number = [](auto count) { return static_cast<double>(count); };
  TriangleProperties properties;
  properties.counters = {{"block_levels", number(report.block_levels)},
                         {"blocks", number(report.blocks)},
                         {"inverted_blocks", number(report.inverted_blocks)},
                         {"stored_entries", number(report.stored_entries)},
                         {"bytes", number(report.bytes)},
                         {"predicted_s", report.predicted_seconds},
                         {"predicted_levels_s", report.predicted_levels_seconds},
                         {"predicted_syncfree_s", report.predicted_syncfree_seconds},
                         {"predicted_supernodal_s", report.predicted_supernodal_seconds}};
  properties.label = std::string(name_of(report.method)) + ": " + report.reason;
  return properties;
}

template <class Layout>
TriangleKind kind_of(const std::string& name, const TriangularOptions& options) {
  TriangleKind kind;
  kind.name = name;
  kind.version = version_info().version;
  kind.single = options.precision == FactorPrecision::single;
  if (std::is_same_v<Layout, Kokkos::LayoutRight>) {
    kind.order = VectorOrder::by_rows;
    kind.min_columns = 2;
  }
  kind.make = [options](const TriangleSystem& system) {
    return std::unique_ptr<TimedTriangle>(new LutraTriangle<Layout>(system, options));
  };
  return kind;
}

/// Whether the execution space can run the requested method.
bool available(const TriangularOptions& options) {
  try {
    const TriangularSolver<double> solver(options);
    return true;
  } catch (const InputError&) {
    return false;
  }
}

}  // namespace

std::vector<TriangleKind> lutra_triangle_kinds() {
  std::vector<TriangleKind> kinds;
  const auto add = [&]<class Layout>(const std::string& name, const TriangularOptions& options, Layout) {
    if (available(options)) kinds.push_back(kind_of<Layout>(name, options));
  };
  const Kokkos::LayoutLeft columns;
  TriangularOptions options;
  add("lutra", options, columns);
  add("lutra-rows", options, Kokkos::LayoutRight());
  for (const auto method : {TrisolveMethod::levels, TrisolveMethod::syncfree, TrisolveMethod::supernodal}) {
    options.method = method;
    add("lutra-" + std::string(name_of(method)), options, columns);
  }
  options = {};
  options.portable = true;
  add("lutra-portable", options, columns);
  options = {};
  options.precision = FactorPrecision::single;
  add("lutra-single", options, columns);
  return kinds;
}

}  // namespace lutra::Perf
