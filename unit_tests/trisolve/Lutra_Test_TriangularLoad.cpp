// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The hardest triangles for solvers that wait, again and again, several at once where the backend has several
// streams. LUTRA_TRIANGLES / 10 sets how often (80).
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <deque>
#include <random>

#include "Lutra_ExecutionTraits.hpp"
#include "Lutra_TestDevice.hpp"
#include "Lutra_TestTriangles.hpp"
#include "Lutra_TestTypes.hpp"

namespace lutra::Test {
namespace {

/// double on each execution space.
using LoadTypes = decltype(Impl::with_spaces<double, int>(static_cast<Spaces*>(nullptr)));

/// A triangle with its right-hand side and the reference's solution.
struct Load {
  TestTriangle<HostMatrix<double>> triangle;
  std::vector<double> b;
  std::vector<long double> solution;
};

Load make_load(const LowerRows& rows, TriangleSide side, std::mt19937& random) {
  Load load{with_values<HostMatrix<double>>(rows, side, DiagonalKind::stored, false, false, random), {}, {}};
  for (std::size_t i = 0; i < rows.size(); ++i) load.b.push_back(random_value<double>(random, 1));
  load.solution = Reference::solve_triangle(load.triangle.matrix, load.triangle.reference_side(),
                                            Transposition::none, load.b);
  return load;
}

/// A deep chain with fans, and a long path through wide levels; both sides.
std::vector<Load> make_loads() {
  std::mt19937 random(41);
  std::vector<Load> loads;
  for (const auto side : {TriangleSide::lower, TriangleSide::upper}) {
    loads.push_back(make_load(fan_rows(33 * 500, 32), side, random));
    loads.push_back(make_load(wide_rows(256 * 200, 256, 3, random), side, random));
  }
  return loads;
}

/// As many instances as there are loads where they are streams, fewer where each needs a thread of its own.
template <class Space>
std::vector<Space> make_instances(std::size_t loads) {
  const auto threads = static_cast<std::size_t>(Space().concurrency());
  const std::size_t parts = lutra::Impl::is_host_space<Space> ? std::min(loads, threads) : loads;
  const auto instances = Kokkos::Experimental::partition_space(Space(), std::vector<int>(parts, 1));
  return {instances.begin(), instances.end()};
}

/// One load with a solver of each method, on one instance.
template <class Types>
class Worker {
 public:
  Worker(const Load& load, const typename Types::Space& exec)
      : m_load(load),
        m_matrix(to_space<typename Types::Space>(load.triangle.matrix)),
        m_b(to_space<typename Types::Space>(load.b)) {
    for (const TrisolveMethod method : methods) {
      for (const bool portable : {false, true}) {
        TriangularOptions options;
        options.method = method;
        options.portable = portable;
        auto solver = make_solver<Types>(options, exec);
        if (!solver) continue;
        solver->analyze(m_matrix, load.triangle.side, load.triangle.diagonal);
        m_solvers.push_back(std::move(*solver));
        m_x.emplace_back("test", load.b.size());
      }
    }
  }

  void start(std::size_t turn) { m_solvers[turn % m_solvers.size()].solve(m_b, m_x[turn % m_x.size()]); }
  /// Waits for the solve of this turn and looks at its answer.
  void check(std::size_t turn) {
    m_solvers[turn % m_solvers.size()].wait();
    const auto& x = m_x[turn % m_x.size()];
    const auto host = to_vector(x);
    long double difference = 0;
    for (std::size_t i = 0; i < host.size(); ++i)
      difference = Reference::worse(difference, std::abs(host[i] - m_load.solution[i]));
    INFO("turn " << turn << ", method " << name_of(m_solvers[turn % m_solvers.size()].report().method));
    REQUIRE(difference <= 1e-11L);
    Kokkos::deep_copy(x, 1e30);  // the next answer must be written anew
  }

 private:
  const Load& m_load;
  CsrView<double, int, std::int64_t, typename Types::Memory> m_matrix;
  Kokkos::View<const double*, typename Types::Memory> m_b;
  std::vector<TriangleSolver<Types>> m_solvers;
  std::vector<Kokkos::View<double*, typename Types::Memory>> m_x;
};

}  // namespace

TEMPLATE_LIST_TEST_CASE("hard triangles are solved under load", "[trisolve][random]", LoadTypes) {
  using Space = typename TestType::Space;
  const std::vector<Load> loads = make_loads();
  const auto instances = make_instances<Space>(loads.size());
  std::deque<Worker<TestType>> workers;  // which stay where they are
  for (std::size_t i = 0; i < loads.size(); ++i)
    workers.emplace_back(loads[i], instances[i % instances.size()]);
  Kokkos::fence("lutra::test: solvers are ready");
  const std::size_t turns = std::max<std::size_t>(8, triangle_count() / 10);
  for (std::size_t turn = 0; turn < turns; ++turn) {
    // Different methods meet, and each meets each load.
    for (std::size_t i = 0; i < workers.size(); ++i) workers[i].start(turn + i);
    for (std::size_t i = 0; i < workers.size(); ++i) workers[i].check(turn + i);
  }
}

}  // namespace lutra::Test
