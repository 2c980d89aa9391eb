// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <set>

#include "Lutra_Error.hpp"
#include "Lutra_MethodOptions.hpp"
#include "Lutra_Options.hpp"

using Catch::Matchers::Message;
using lutra::NamedOption;

namespace {

template <class Options>
NamedOption find(const Options& options, const std::string& name) {
  const auto all = lutra::named_options(options);
  const auto found = std::find_if(all.begin(), all.end(), [&](const auto& o) { return o.name == name; });
  REQUIRE(found != all.end());
  return *found;
}

}  // namespace

TEMPLATE_TEST_CASE("each named option takes each of its values", "", lutra::LuOptions, lutra::LdltOptions,
                   lutra::SparseIluOptions, lutra::KrylovSolverOptions, lutra::SolverOptions) {
  std::set<std::string> names;
  for (const NamedOption& option : lutra::named_options(TestType())) {
    CHECK(names.insert(option.name).second);
    TestType options;
    std::vector<std::string> values = option.choices;
    if (option.kind == NamedOption::Kind::integer) values = {"7", option.value};
    if (option.kind == NamedOption::Kind::number) values = {"0.125", option.value};
    REQUIRE(values.size() >= 2);
    for (const std::string& value : values) {
      lutra::set_option(options, option.name, value);
      CHECK(find(options, option.name).value == value);
    }
    lutra::set_option(options, option.name, option.value);
    lutra::check_options(options);  // as by default: nothing else has changed
  }
}

TEST_CASE("option names are the field names") {
  lutra::LuOptions lu;
  lutra::set_option(lu, "ordering", "amd");
  lutra::set_option(lu, "pivoting", "threshold");
  lutra::set_option(lu, "tolerance", "1e-8");
  lutra::set_option(lu, "max_refinement_steps", "3");
  lutra::set_option(lu, "solve_singular", "1");
  lutra::set_option(lu, "memory_limit", "5000000000");
  CHECK(lu.ordering == lutra::Ordering::amd);
  CHECK(lu.pivoting == lutra::Pivoting::threshold);
  CHECK(lu.error_tolerance == 1e-8);
  CHECK(lu.max_refinement_steps == 3);
  CHECK(lu.solve_singular);
  CHECK(lu.memory_limit == 5000000000u);

  lutra::KrylovSolverOptions krylov;
  lutra::set_option(krylov, "method", "bicgstab");
  lutra::set_option(krylov, "ilu.method", "parilut");
  lutra::set_option(krylov, "ilu.fill_factor", "2");
  lutra::set_option(krylov, "lu.engine", "simplicial");
  CHECK(krylov.method == lutra::KrylovMethod::bicgstab);
  CHECK(krylov.ilu.method == lutra::IluMethod::parilut);
  CHECK(krylov.ilu.fill_factor == 2);
  CHECK(krylov.lu.engine == lutra::Engine::simplicial);
  CHECK_THROWS_AS(lutra::set_option(krylov, "lu.tolerance", "1"), lutra::InputError);  // it is not read

  lutra::LdltOptions ldlt;
  ldlt.ordering = lutra::Ordering::user;
  CHECK(find(ldlt, "ordering").value == "user");
}

TEST_CASE("errors of named options name the option and list the valid ones") {
  lutra::LdltOptions options;
  CHECK_THROWS_MATCHES(lutra::set_option(options, "triangle", "left"), lutra::InputError,
                       Message("option triangle: invalid value 'left' (choose from both, lower, upper)"));
  CHECK_THROWS_MATCHES(lutra::set_option(options, "pair_ordering", "yes"), lutra::InputError,
                       Message("option pair_ordering: invalid value 'yes' (choose from false, true)"));
  for (const char* text : {"", "x", "1.5x", "1,5", " 1"})
    CHECK_THROWS_MATCHES(lutra::set_option(options, "tolerance", text), lutra::InputError,
                         Message("option tolerance: '" + std::string(text) + "' is not a finite number"));
  for (const char* text : {"1.5", "99999999999", ""})
    CHECK_THROWS_MATCHES(
        lutra::set_option(options, "max_refinement_steps", text), lutra::InputError,
        Message("option max_refinement_steps: '" + std::string(text) + "' is not an integer of 32 bits"));
  CHECK_THROWS_MATCHES(lutra::set_option(options, "memory_limit", "-1"), lutra::InputError,
                       Message("option memory_limit: '-1' is not a number of bytes"));
  CHECK_THROWS_MATCHES(
      lutra::set_option(options, "trisolve", "auto"), lutra::InputError,
      Message(
          "option 'trisolve' is unknown (choose from positive_definite, symmetry, triangle, pair_ordering, "
          "pivot_threshold, zero_tolerance, trust_pivots, front_pivoting, engine, ordering, matching, "
          "pivoting, "
          "expected_factorizations, "
          "perturbation, factor_storage, max_refinement_steps, check, tolerance, solve_singular, "
          "estimate_condition, "
          "validate_input, time_stages, memory_limit, deadline, deterministic)"));
  CHECK_THROWS_MATCHES(lutra::set_option(options, "pivot_threshold", "0.6"), lutra::InputError,
                       Message("option pivot_threshold: 0.6 is out of range (above 0 and at most 0.5)"));
  CHECK_THROWS_MATCHES(lutra::set_option(options, "triangle", "left", "--triangle"), lutra::InputError,
                       Message("--triangle: invalid value 'left' (choose from both, lower, upper)"));
  CHECK(options == lutra::LdltOptions());
}

TEST_CASE("Named options have their help, range and default") {
  for (const NamedOption& option : lutra::named_options(lutra::SolverOptions())) {
    INFO(option.name);
    CHECK(!option.help.empty());
    CHECK(option.choices.empty() == !option.range.empty());
  }
  CHECK(lutra::describe_values(find(lutra::LuOptions(), "pivot_threshold")) == "above 0 and at most 1 [0.1]");
  CHECK(lutra::describe_values(find(lutra::LuOptions(), "tolerance")) ==
        "above 0, or 0: by the precision [0]");
  CHECK(lutra::describe_values(find(lutra::LdltOptions(), "triangle")) == "both, lower, upper [both]");
}

TEST_CASE("deterministic is one option of every solver, and reaches preconditioners") {
  const auto times_named = [](const auto& options) {
    return std::ranges::count(lutra::named_options(options), "deterministic", &NamedOption::name);
  };
  CHECK(times_named(lutra::LuOptions()) == 1);
  CHECK(times_named(lutra::LdltOptions()) == 1);
  CHECK(times_named(lutra::SparseIluOptions()) == 1);
  CHECK(times_named(lutra::KrylovSolverOptions()) == 1);
  CHECK(times_named(lutra::SolverOptions()) == 1);
  lutra::SparseIluOptions ilu;
  lutra::set_option(ilu, "deterministic", "true");
  CHECK(ilu.deterministic);
  lutra::SolverOptions solver;
  lutra::set_option(solver, "deterministic", "true");
  CHECK(solver.lu_options().deterministic);
  CHECK(solver.ldlt_options(true).deterministic);
  CHECK_FALSE(solver.krylov.ilu.deterministic);
  CHECK(solver.krylov_options().ilu_options().deterministic);
  CHECK(solver.krylov_options().lu_options().deterministic);
  lutra::KrylovSolverOptions krylov;
  lutra::set_option(krylov, "ilu.deterministic", "true");
  CHECK(krylov.ilu_options().deterministic);
  CHECK_FALSE(krylov.lu_options().deterministic);
}

TEST_CASE("Options of a method known at run time become those of a Solver") {
  using lutra::Impl::MethodOptions;
  MethodOptions lu("lu");
  lu.set("engine", "simplicial");
  lu.set("memory_limit", "1000");
  lu.set_permutation({1, 0});
  CHECK(lu.memory_limit() == 1000);
  lutra::SolverOptions solver = lu.solver_options();
  CHECK(solver.method == lutra::Method::lu);
  CHECK(solver.memory_limit == 1000);
  CHECK(solver.lu.engine == lutra::Engine::simplicial);
  CHECK(solver.ordering == lutra::Ordering::user);

  MethodOptions ldlt("ldlt");
  CHECK(ldlt.is_ldlt());
  CHECK(ldlt.solver_options().method == lutra::Method::ldlt);
  ldlt.set("positive_definite", "true");
  ldlt.set("triangle", "lower");
  CHECK(ldlt.solver_options().method == lutra::Method::cholesky);
  CHECK(ldlt.solver_options().ldlt.triangle == lutra::Triangle::lower);
  CHECK(MethodOptions("cholesky").solver_options().method == lutra::Method::cholesky);

  MethodOptions krylov("krylov");
  krylov.set("tolerance", "1e-3");
  krylov.set("time_stages", "true");
  krylov.set_permutation({1, 0});
  solver = krylov.solver_options();
  CHECK(solver.method == lutra::Method::krylov);
  CHECK(solver.time_stages);
  CHECK(solver.krylov.residual_tolerance == 1e-3);
  CHECK(solver.krylov.ilu.user_permutation == std::vector<std::int64_t>{1, 0});

  MethodOptions ilu("ilu");
  ilu.set("fill_level", "2");
  CHECK(ilu.is_incomplete());
  CHECK(ilu.ilu_options().fill_level == 2);
  CHECK_THROWS_AS(ilu.solver_options(), lutra::InputError);
  CHECK(MethodOptions("auto").solver_options().method == lutra::Method::automatic);
  CHECK_THROWS_MATCHES(
      MethodOptions("qr"), lutra::InputError,
      Message("method: there is no 'qr' (choose from auto, lu, ldlt, cholesky, ilu, krylov)"));
}
