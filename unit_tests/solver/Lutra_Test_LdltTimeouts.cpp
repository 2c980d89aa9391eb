// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Solves of SparseLDLT that the watchdog ends. Kernels wait for one another on devices alone.
#include <Kokkos_Core.hpp>

#ifdef KOKKOS_ENABLE_CUDA
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <random>

#include "Lutra_LdltEngine.hpp"
#include "Lutra_Numeric.hpp"
#include "Lutra_TestStatus.hpp"
#include "Lutra_TestSymmetric.hpp"

namespace lutra::Test {
namespace {

using Type = Types<double, int, Kokkos::Cuda>;
using Engine = lutra::Impl::LdltEnginePlan<double, Kokkos::Cuda>;
using Diagonal = MultifrontalPlan<double, Kokkos::Cuda>;
using Plan = FrontPlan<Kokkos::CudaSpace>;

/// A plan with a front that waits for itself: its first contribution goes to one of its own pivots.
LuPlan<Kokkos::CudaSpace> with_stall(LuPlan<Kokkos::CudaSpace> plan) {
  auto& fronts = plan.layout.fronts;
  const auto relative = to_vector(plan.relative);
  const auto is_first_pivot = [&](const auto& front) {
    return front.parent >= 0 && front.cb_rows > 0 && relative[static_cast<std::size_t>(front.rows)] == 0;
  };
  const auto front = std::ranges::find_if(fronts, is_first_pivot);
  REQUIRE(front != fronts.end());
  front->parent = static_cast<int>(front - fronts.begin());
  plan.fronts = to_space<Kokkos::Cuda>(fronts);
  return plan;
}

/// Lets a front wait for itself in solves with L·D·Lᵀ while it lives; no tree does.
class Stall {
 public:
  explicit Stall(Plan& plan) : m_plan(plan), m_good(plan.fronts) {
    auto fronts = plan.layout.fronts;
    fronts[1].parent = 1;
    plan.fronts = to_space<Kokkos::Cuda>(fronts);
  }
  ~Stall() { m_plan.fronts = m_good; }
  Stall(const Stall&) = delete;
  Stall& operator=(const Stall&) = delete;

 private:
  Plan& m_plan;
  decltype(Plan::fronts) m_good;
};

}  // namespace

TEST_CASE("a stalled solve with L·D·Lᵀ is a TimeoutError, and the next one succeeds", "[solver][ldlt]") {
  const Kokkos::Cuda exec;
  std::mt19937 random(121);
  const auto A =
      from_dense<Matrix<Type>>(symmetric_picture(400, 0.01, random, [](std::size_t) { return 100.0; }));
  const auto on_device = to_space<Kokkos::Cuda>(A);
  const auto system = known_system(A);
  const auto b = to_space<Kokkos::Cuda>(system.b);
  const Kokkos::View<double*, Kokkos::CudaSpace> x("x", 400);
  for (const bool in_place_first : {false, true}) {
    LdltOptions options;
    options.in_place_first = in_place_first;
    const auto analysis = analyze<double, Kokkos::Cuda>(exec, on_device, options, MemoryBudget());
    auto& plan = const_cast<Engine&>(static_cast<const Engine&>(*analysis->plan));
    if (!plan.pivoted) plan.pivoted = plan.plan_pivoted(exec, MemoryBudget());
    auto& pivoted = const_cast<Engine::Pivoted&>(*plan.pivoted);
    auto& fronts = pivoted.plan;
    pivoted.solver =
        LdltSolver<double, Kokkos::Cuda>(exec, fronts, MemoryBudget(), FrontSolverOptions{false, 0.05});
    REQUIRE((plan.in_place != nullptr) == in_place_first);
    auto* const diagonal = const_cast<Diagonal*>(static_cast<const Diagonal*>(plan.in_place.get()));
    if (in_place_first)  // solves with LU wait for values by lists that they make of the plan
      diagonal->on_fronts.emplace(exec, with_stall(diagonal->fronts), MemoryBudget(),
                                  FrontSolverOptions{false, 0.05});
    Numeric<double, Kokkos::Cuda> numeric(analysis, options, exec);
    succeed(numeric.factorize(on_device));
    const auto check_stall = [&] {
      CHECK_THROWS_WITH(numeric.solve(b, x), Catch::Matchers::ContainsSubstring("waited too long"));
      CHECK(numeric.report().status == Status::not_solved);
    };
    if (in_place_first) {
      check_stall();
    } else {
      REQUIRE(numeric.solve(b, x) == Status::success);
      {
        const Stall stall(fronts.base);
        check_stall();
      }
      CHECK(numeric.solve(b, x) == Status::success);
    }
    {
      const Stall stall(fronts.base);
      CHECK_THROWS_AS(numeric.solve_parts(b, x, {}), TimeoutError);
    }
    CHECK_NOTHROW(numeric.solve_parts(b, x, {}));
    if (!in_place_first) CHECK(numeric.solve(b, x) == Status::success);
  }
}

}  // namespace lutra::Test
#endif
