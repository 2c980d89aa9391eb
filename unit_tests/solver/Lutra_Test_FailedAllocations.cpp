// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <catch2/catch_test_macros.hpp>
#include <string>
#include <vector>

#include "Lutra_ChooseOrdering.hpp"
#include "Lutra_FailingAllocations.hpp"
#include "Lutra_FailureCases.hpp"
#include "Lutra_Solver.hpp"
#include "Lutra_SparseILU.hpp"

// Every allocation in the calls of each solver fails in turn, on matrices of nine rows; of Krylov methods
// 300. Lutra_Test_FailuresOfMethods.cpp has larger ones, and the methods that only options choose.

namespace lutra::Test {
namespace {

using Lu = SparseLU<FailureScalar, FailureSpace>;
using Ldlt = SparseLDLT<FailureScalar, FailureSpace>;
using Ilu = SparseILU<FailureScalar, FailureSpace>;
using Krylov = KrylovSolver<FailureScalar, FailureSpace>;
using Auto = lutra::Solver<FailureScalar, FailureSpace>;

template <class Case>
void check(const typename Case::Options& options = {}, long most = 0) {
  check_all_failures<Case>(FailingAllocations(), small_systems(), options, most);
}

/// A grid of 4 points by n. Minimum degree eliminates it from one end to the other.
HostMatrix<double> strip(int n) {
  HostMatrix<double> A{4 * n, 4 * n, {0}, {}, {}};
  for (int v = 0; v < 4 * n; ++v) {
    if (v >= 4) A.entries.push_back(v - 4);
    if (v % 4 > 0) A.entries.push_back(v - 1);
    A.entries.push_back(v);
    A.row_map.push_back(A.nnz());
  }
  A.values.resize(A.entries.size(), 1);
  return A;
}

}  // namespace

TEST_CASE("dissection without memory: the order of AMD is taken", "[failures]") {
  const auto A = strip(300);
  const auto pattern = make_view(A).pattern();
  DeviceModel model = h200_device_model();
  ChosenOrder found;
  const auto order = [&] { found = order_automatically(pattern, model, {1e9}); };
  // AMD is complete before dissection, and is given up.
  for (const double visit_seconds : {model.ordering.amd_visit_seconds, 1e3}) {
    model.ordering.amd_visit_seconds = visit_seconds;
    const FailingAllocations failing;
    const long count = failing.count(order);
    REQUIRE(found.choice.ordering == Ordering::nd);
    const auto dissected = found.permutation;
    long thrown = 0, by_amd = 0;
    for (long allocation = 1; allocation <= count; ++allocation) {
      INFO("allocation " << allocation);
      if (failing.fail(allocation, order) == Injected::thrown) {
        ++thrown;
      } else if (found.choice.ordering == Ordering::amd) {
        ++by_amd;
        REQUIRE(found.choice.reason.ends_with(": there was not enough memory for nested dissection"));
        REQUIRE(found.permutation == order_matched(pattern, Ordering::amd, {}, {}).permutation);
      } else {
        REQUIRE(found.permutation == dissected);
      }
    }
    CHECK(thrown > 0);
    CHECK(by_amd > 10);
  }
}

TEST_CASE("no failed allocation leaves an LU solver half changed", "[failures]") {
  check<SolverCase<Lu>>();
  check<NumericCase<Lu>>();
  check<NumericCase<Lu>>(options_with<LuOptions>([](auto& o) { o.engine = Engine::multifrontal; }));
}

TEST_CASE("no failed allocation leaves an LDLT solver half changed", "[failures]") {
  check<SolverCase<Ldlt>>();
  check<SolverCase<Ldlt>>(options_with<LdltOptions>([](auto& o) { o.in_place_first = true; }));
  check<NumericCase<Ldlt>>();
}

TEST_CASE("no failed allocation leaves an incomplete factorization half changed", "[failures]") {
  for (const IluMethod method : {IluMethod::iluk, IluMethod::parilu, IluMethod::parilut})
    check<SolverCase<Ilu>>(options_with<SparseIluOptions>([&](auto& o) { o.method = method; }));
}

TEST_CASE("no failed allocation leaves a Krylov solver half changed", "[failures]") {
  const auto check_method = [](KrylovMethod method, Preconditioning preconditioning) {
    check<SolverCase<Krylov>>(options_with<KrylovSolverOptions>([&](auto& o) {
                                o.method = method;
                                o.preconditioning = preconditioning;
                              }),
                              300);
  };
  check_method(KrylovMethod::gmres, Preconditioning::ilu);
  check_method(KrylovMethod::bicgstab, Preconditioning::lu);
}

TEST_CASE("no failed allocation leaves a solver of any method half changed", "[failures]") {
  check<SolverCase<Auto>>();
}

TEST_CASE("no failed allocation leaves a Schur complement half changed", "[failures]") {
  check<SchurCase<SparseLU>>();
  check<SchurCase<SparseLDLT>>();
}

}  // namespace lutra::Test
