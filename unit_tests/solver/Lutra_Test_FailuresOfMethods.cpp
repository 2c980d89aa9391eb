// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <catch2/catch_test_macros.hpp>

#include "Lutra_FailingAllocations.hpp"
#include "Lutra_FailingKernels.hpp"
#include "Lutra_FailureCases.hpp"
#include "Lutra_HostProduct.hpp"
#include "Lutra_Solver.hpp"
#include "Lutra_SparseILU.hpp"

// Allocations and kernels that fail in the methods that options choose, on matrices large enough for
// dissection, several fronts and blocks: some of each call in every run of the tests, all by
//
//   lutra_test_failed_allocations "[campaign]"

namespace lutra::Test {
namespace {

using Lu = SparseLU<FailureScalar, FailureSpace>;
using Ldlt = SparseLDLT<FailureScalar, FailureSpace>;
using Ilu = SparseILU<FailureScalar, FailureSpace>;
using Krylov = KrylovSolver<FailureScalar, FailureSpace>;
using Auto = lutra::Solver<FailureScalar, FailureSpace>;

const FailureSystems& grid() {
  static const FailureSystems systems = generated_systems("poisson2d", 18);
  return systems;
}
/// Unsymmetric, with rows to be matched.
const FailureSystems& circuit() {
  static const FailureSystems systems = generated_systems("circuit", 200);
  return systems;
}
/// Indefinite, with zeros on the diagonal: pivots of order two, some delayed.
const FailureSystems& kkt() {
  static const FailureSystems systems = generated_systems("kkt", 150);
  return systems;
}

/// Bytes of the product buffers of host threads beyond the first, for a new factorization beside a former
/// one.
std::size_t bytes_of_more_threads() {
  if (!lutra::Impl::is_host_space<FailureSpace>) return 0;
  const auto more = static_cast<std::size_t>(FailureSpace().concurrency() - 1);
  return 2 * more * lutra::Impl::product_buffer * sizeof(RealOf<FailureScalar>);
}

template <class Failing, class Set>
void check_lu(const Failing& failing, const FailureSystems& systems, long most, const Set& set) {
  check_all_failures<SolverCase<Lu>>(failing, systems, options_with<LuOptions>(set), most);
}

template <class Failing>
void check_lu_methods(const Failing& failing, long most) {
  const auto simplicial = [](LuOptions& o) { o.engine = Engine::simplicial; };
  check_lu(failing, circuit(), most, simplicial);
  check_lu(failing, circuit(), most, [&](LuOptions& o) {
    simplicial(o);
    o.columns.supernodes = ColumnSupernodes::on;
  });
  check_lu(failing, circuit(), most, [&](LuOptions& o) {
    simplicial(o);
    o.symbolic = SymbolicMethod::fill2;
  });
  check_lu(failing, circuit(), most, [&](LuOptions& o) {
    simplicial(o);
    o.symbolic = SymbolicMethod::ancestors;
    o.matching = Matching::auction;
    o.solve_precision = FactorPrecision::single;
  });
  const auto fronts = [](LuOptions& o) {
    o.engine = Engine::multifrontal;
    o.ordering = Ordering::nd;
  };
  check_lu(failing, grid(), most, fronts);
  check_lu(failing, circuit(), most, [&](LuOptions& o) {
    fronts(o);
    o.pivoting = Pivoting::threshold;
    o.estimate_condition = true;
  });
  check_lu(failing, grid(), most, [&](LuOptions& o) {
    fronts(o);
    o.ordering = Ordering::metis;
    o.memory_limit = 8000000 + bytes_of_more_threads();
  });
}

template <class Failing, class Set>
void check_ldlt(const Failing& failing, const FailureSystems& systems, long most, const Set& set) {
  check_all_failures<SolverCase<Ldlt>>(failing, systems, options_with<LdltOptions>(set), most);
}

template <class Failing>
void check_ldlt_methods(const Failing& failing, long most) {
  if (lutra::Impl::is_host_space<FailureSpace>) {
    check_ldlt(failing, kkt(), most, [](LdltOptions& o) { o.front_pivoting = FrontPivoting::columns; });
    check_ldlt(failing, kkt(), most, [](LdltOptions& o) { o.front_pivoting = FrontPivoting::blocks; });
  }
  check_ldlt(failing, kkt(), most, [](LdltOptions& o) {
    o.pair_ordering = true;
    o.in_place_first = true;
  });
  check_ldlt(failing, kkt(), most, [](LdltOptions& o) {
    o.in_place_first = true;
    o.trust_pivots = true;
  });
  check_ldlt(failing, grid(), most, [](LdltOptions& o) {
    o.positive_definite = true;
    o.ordering = Ordering::nd;
  });
}

template <class Failing>
void check_incomplete_methods(const Failing& failing, long most) {
  for (const IluMethod method : {IluMethod::iluk, IluMethod::parilu, IluMethod::parilut})
    for (const IluApply apply : {IluApply::exact, IluApply::jacobi})
      check_all_failures<SolverCase<Ilu>>(failing, grid(), options_with<SparseIluOptions>([&](auto& o) {
                                            o.method = method;
                                            o.fill_level = 1;
                                            o.apply = apply;
                                          }),
                                          most);
}

template <class Failing>
void check_krylov_methods(const Failing& failing, long most) {
  const auto check = [&](KrylovMethod method, Preconditioning preconditioning) {
    check_all_failures<SolverCase<Krylov>>(failing, grid(), options_with<KrylovSolverOptions>([&](auto& o) {
                                             o.method = method;
                                             o.preconditioning = preconditioning;
                                           }),
                                           most);
  };
  check(KrylovMethod::gmres, Preconditioning::ilu);
  check(KrylovMethod::gmres, Preconditioning::none);
  check(KrylovMethod::bicgstab, Preconditioning::jacobi);
  check(KrylovMethod::cg, Preconditioning::ilu);
}

template <class Failing>
void check_other_solvers(const Failing& failing, long most) {
  check_all_failures<SolverCase<Auto>>(failing, grid(), {}, most);
  check_all_failures<SolverCase<Auto>>(failing, kkt(), {}, most);
  check_all_failures<SolverCase<Auto>>(failing, circuit(), {}, most);
  check_all_failures<SchurCase<SparseLU>>(failing, grid(), {}, most);
  check_all_failures<SchurCase<SparseLDLT>>(failing, grid(), {}, most);
}

constexpr long some = 5;  // of each call

}  // namespace

TEST_CASE("failed allocations of LU's methods change nothing", "[failures]") {
  check_lu_methods(FailingAllocations(), some);
}
TEST_CASE("failed allocations of LDLT's methods change nothing", "[failures]") {
  check_ldlt_methods(FailingAllocations(), some);
}
TEST_CASE("failed allocations of incomplete factorizations change nothing", "[failures]") {
  check_incomplete_methods(FailingAllocations(), some);
}
TEST_CASE("failed allocations of Krylov methods change nothing", "[failures]") {
  check_krylov_methods(FailingAllocations(), some);
}
TEST_CASE("failed allocations of automatic solvers and Schur complements change nothing", "[failures]") {
  check_other_solvers(FailingAllocations(), some);
}

TEST_CASE("a kernel that is not launched changes nothing: LU", "[failures]") {
  const FailingKernels failing;
  check_all_failures<SolverCase<Lu>>(failing);
  check_all_failures<NumericCase<Lu>>(failing);
  check_lu_methods(failing, some);
}
TEST_CASE("a kernel that is not launched changes nothing: LDLT", "[failures]") {
  const FailingKernels failing;
  check_all_failures<SolverCase<Ldlt>>(failing);
  check_ldlt_methods(failing, some);
}
TEST_CASE("a kernel that is not launched changes nothing: incomplete factorizations", "[failures]") {
  check_incomplete_methods(FailingKernels(), some);
}
TEST_CASE("a kernel that is not launched changes nothing: Krylov methods", "[failures]") {
  check_krylov_methods(FailingKernels(), some);
}
TEST_CASE("a kernel that is not launched changes nothing: other solvers", "[failures]") {
  check_other_solvers(FailingKernels(), some);
}

/// Lets every event of a group of methods fail, and says how many there were.
template <class Failing>
void check_group(int group, const Failing& failing) {
  const long before = failed_events();
  if (group == 0) check_lu_methods(failing, 0);
  if (group == 1) check_ldlt_methods(failing, 0);
  if (group == 2) check_incomplete_methods(failing, 0);
  if (group == 3) check_krylov_methods(failing, 0);
  if (group == 4) check_other_solvers(failing, 0);
  WARN("group " << group << ": " << failed_events() - before << " times " << Failing::event);
}

TEST_CASE("every kernel of every method", "[.][campaign]") {
  for (int group = 0; group < 5; ++group) check_group(group, FailingKernels());
}
TEST_CASE("every allocation of every method", "[.][campaign]") {
  for (int group = 0; group < 5; ++group) check_group(group, FailingAllocations());
}

}  // namespace lutra::Test
