// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The chain of End-to-End LU in a solver: options of columns, and fill2 under a memory limit.
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "Lutra_ExecutionTraits.hpp"
#include "Lutra_SimplicialPlan.hpp"
#include "Lutra_SparseLU.hpp"
#include "Lutra_TestStatus.hpp"
#include "Lutra_TestSystems.hpp"

namespace lutra::Test {

using Catch::Matchers::ContainsSubstring;

namespace {

LuOptions chain(const ColumnOptions& columns = {}) {
  LuOptions options;
  options.engine = Engine::simplicial;
  options.symbolic = SymbolicMethod::fill2;
  options.columns = columns;
  return options;
}

}  // namespace

TEST_CASE("options of columns without effect are refused", "[solver]") {
  auto options = chain({.mode = ColumnMode::levels});
  CHECK_NOTHROW(check_options(options));
  for (const Engine engine : {Engine::automatic, Engine::multifrontal}) {
    options.engine = engine;
    CHECK_THROWS_WITH(check_options(options), ContainsSubstring("columns are of the simplicial engine"));
  }
  CHECK_THROWS_WITH(check_options(chain({.format = ColumnFormat::dense})), ContainsSubstring("data flow"));
  CHECK_THROWS_WITH(check_options(chain({.mode = static_cast<ColumnMode>(9)})),
                    ContainsSubstring("columns.mode has no value 9"));
  LuOptions named;
  set_option(named, "columns.mode", "C");
  set_option(named, "columns.format", "dense");
  set_option(named, "columns.levels", "device");
  set_option(named, "columns.portable", "true");
  CHECK(named.columns == ColumnOptions{.mode = ColumnMode::C,
                                       .format = ColumnFormat::dense,
                                       .levels = LevelizationMethod::device_launches,
                                       .portable = true});
}

TEMPLATE_LIST_TEST_CASE("a solver factorizes columns in each mode and format, on devices", "[solver]",
                        AllTypes) {
  using Scalar = typename TestType::Scalar;
  std::mt19937 random(61);
  const auto A = permuted_matrix<Matrix<TestType>>(150, 3.0, random);
  const auto system = known_system(A);
  if (lutra::Impl::is_host_space<typename TestType::Space>) {
    for (const auto& columns : {ColumnOptions{.mode = ColumnMode::A}, ColumnOptions{.portable = true}}) {
      Solver<TestType> solver(chain(columns));
      CHECK_THROWS_WITH(solver.analyze(A), ContainsSubstring("on hosts the simplicial engine is up-looking"));
    }
    return;
  }
  for (const auto mode : {ColumnMode::levels, ColumnMode::A, ColumnMode::B, ColumnMode::C}) {
    for (const auto format :
         {ColumnFormat::automatic, ColumnFormat::map, ColumnFormat::search, ColumnFormat::dense}) {
      Solver<TestType> solver(chain({.mode = mode, .format = format}));
      succeed(solver.analyze(A));
      std::vector<Scalar> x(system.b.size());
      for (int time = 0; time < 2; ++time) {
        succeed(solver.factorize(A));
        REQUIRE(solver.solve_host(system.b, x) == Status::success);
        CHECK(Reference::backward_errors(A, x, system.b).componentwise <= tight_bound<Scalar>());
      }
      const auto& report = solver.report();
      REQUIRE(report.columns);
      CHECK(report.columns->levels_a + report.columns->levels_b + report.columns->levels_c ==
            report.factors.levels);
      CHECK((format == ColumnFormat::automatic || report.columns->format == name_of(format)));
      CHECK(report.columns->blocks >= 1);
    }
  }
  Solver<TestType> solver(chain());
  succeed(solver.analyze(A));
  succeed(solver.factorize(A));
  CHECK_FALSE(solver.report().columns);
}

TEMPLATE_LIST_TEST_CASE("fill2 goes on through host memory where it exceeds the memory limit", "[solver]",
                        AllTypes) {
  using Scalar = typename TestType::Scalar;
  using Space = typename TestType::Space;
  using Memory = typename TestType::Memory;
  std::mt19937 random(62);
  const int n = 400;
  const auto pattern = add_mirror(random_matrix<Matrix<TestType>>(n, 2.5 / n, 0.0, random));
  const auto device = to_space<Space>(pattern);
  std::vector<lutra::Ordinal> identity;
  for (int i = 0; i < n; ++i) identity.push_back(i);
  const auto order = to_space<Space>(identity);
  const PermutedPattern<Memory> F{device.pattern(), order, order, {}};
  const auto plan = [&](const MemoryBudget& budget, Report& report) {
    FactorStructure structure;
    plan_simplicial<Scalar>(Space(), F, chain(), budget, report)->write_pattern(Space(), structure);
    return structure;
  };
  Report free;
  const auto expected = plan(MemoryBudget(), free);
  bool streamed = false, refused = false;
  for (std::size_t limit = 4096; limit < (std::size_t(1) << 24); limit += limit / 10) {
    const MemoryBudget budget(limit);
    Report report;
    try {
      const auto found = plan(budget, report);
      CHECK(found.row_map == expected.row_map);
      CHECK(found.entries == expected.entries);
    } catch (const OutOfMemoryError&) {
      refused = true;
    }
    CHECK(budget.used_bytes() == 0);
    streamed = streamed || report.choice.why.find("copied to host memory in ranges") != std::string::npos;
  }
  CHECK(refused);
  CHECK(streamed);
}

}  // namespace lutra::Test
