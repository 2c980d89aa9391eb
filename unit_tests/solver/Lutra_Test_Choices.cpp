// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <catch2/catch_test_macros.hpp>

#include "Lutra_ChooseEngine.hpp"
#include "Lutra_ChooseMethod.hpp"
#include "Lutra_Config.hpp"

namespace lutra::Test {

TEST_CASE("an engine is chosen from options and properties, with a reason", "[solver]") {
  using Impl::EngineProperties;
  const NumericDeviceModel host = host_device_model().numeric, device = h200_device_model().numeric;
  const EngineProperties dense{60, true}, sparse{10, true}, too_large{60, false};
  using Impl::choose_engine;
  CHECK(choose_engine({}, dense, host).engine == Engine::multifrontal);
  CHECK(choose_engine({}, sparse, host).engine == Engine::simplicial);
  CHECK(choose_engine({}, sparse, device).engine == Engine::multifrontal);
  CHECK(choose_engine({}, too_large, device).engine == Engine::simplicial);
  CHECK(choose_engine({}, too_large, device).reason.find("memory limit") != std::string::npos);
  CHECK(choose_engine({}, dense, host).reason.find("60 flops per stored entry") != std::string::npos);

  LuOptions options;
  options.engine = Engine::simplicial;
  CHECK(choose_engine(options, dense, host).engine == Engine::simplicial);
  CHECK(choose_engine(options, dense, host).reason.empty());
  options.engine = Engine::automatic;
  options.symbolic = SymbolicMethod::fill1;
  CHECK(choose_engine(options, sparse, device).engine == Engine::simplicial);
  options.pivoting = Pivoting::threshold;
  CHECK(choose_engine(options, sparse, host).engine == Engine::multifrontal);
  options = {};
  options.ordering = Ordering::user;
  CHECK(choose_engine(options, sparse, device).engine == Engine::simplicial);
  options.engine = Engine::multifrontal;
  CHECK(choose_engine(options, too_large, device).engine == Engine::multifrontal);
}

#ifdef LUTRA_HAS_F64
namespace {

MethodProperties properties_of(const HostMatrix<double>& A) {
  return method_properties(make_view(A));
}

}  // namespace

TEST_CASE("properties for the choice of a method, worked by hand", "[solver]") {
  HostMatrix<double> A{3, 3, {0, 2, 5, 7}, {0, 1, 0, 1, 2, 1, 2}, {2, -1, -1, 2, -1, -1, 2}};
  CHECK(properties_of(A).symmetric);
  CHECK(properties_of(A).hermitian);
  CHECK(properties_of(A).diagonally_dominant);
  CHECK(properties_of(A).zero_diagonals == 0);
  CHECK(properties_of(A).flops_per_entry ==
        6.0 / 7);  // two columns of a division, a product and a difference
  const MethodProperties without = method_properties(make_view(A), false);
  CHECK(without.flops_per_entry == 0);
  CHECK(without.diagonally_dominant);
  A.values = {1, -1, -1, 2, -1, -1, 1};  // no row is strictly dominant: the vector of ones is a null vector
  CHECK_FALSE(properties_of(A).diagonally_dominant);
  A.values = {1, 0, 0, 2, -1, -1, 2};  // a stored zero connects nothing, but all parts are strict
  CHECK(properties_of(A).diagonally_dominant);
  A.values = {1, 0, 0, 1, -1, -1, 1};  // rows 1 and 2 are singular by themselves
  CHECK_FALSE(properties_of(A).diagonally_dominant);
  A.values = {2, -1, -1, -2, -1, -1, 2};
  CHECK_FALSE(properties_of(A).diagonally_dominant);
  A.values = {2, -1, -1.5, 2, -1, -1, 2};
  CHECK_FALSE(properties_of(A).symmetric);
  A.values = {0, -1, -1, 2, -1, -1, 2};
  CHECK(properties_of(A).zero_diagonals == 1);
  CHECK_FALSE(properties_of(A).structurally_singular);
  const HostMatrix<double> arrow{3, 3, {0, 2, 3, 4}, {1, 2, 0, 0}, {1, 1, 1, 1}};
  CHECK(properties_of(arrow).structurally_singular);
  CHECK_FALSE(properties_of({2, 3, {0, 1, 2}, {0, 1}, {1, 1}}).symmetric);
#ifdef LUTRA_HAS_C128
  using Complex = Kokkos::complex<double>;
  HostMatrix<Complex> H{2, 2, {0, 2, 4}, {0, 1, 0, 1}, {3, Complex(0, 2), Complex(0, -2), 3}};
  const auto of_hermitian = [&H] { return method_properties(make_view(H)); };
  CHECK(of_hermitian().hermitian);
  CHECK_FALSE(of_hermitian().symmetric);
  CHECK(of_hermitian().diagonally_dominant);
  H.values[0] = Complex(3, 1);
  CHECK_FALSE(of_hermitian().hermitian);
  H.values = {3, Complex(0, 2), Complex(0, 2), 3};
  CHECK(of_hermitian().symmetric);
  CHECK_FALSE(of_hermitian().diagonally_dominant);
#endif
}
#endif

TEST_CASE("a method is chosen from properties and costs, with a reason", "[solver]") {
  DeviceModel model;
  model.symmetric = {.cholesky = 0.5, .ldlt = 1.5, .ldlt_zero_diagonals = 0.25};
  model.numeric.min_flops_per_entry = 40;
  MethodProperties properties;
  properties.flops_per_entry = 100;
  const auto chosen = [&](DirectMethod method, const char* reason) {
    const MethodChoice choice = choose_method(properties, model);
    CAPTURE(choice.reason);
    CHECK(choice.method == method);
    CHECK(choice.reason.find(reason) != std::string::npos);
    return choice.symmetry;
  };
  chosen(DirectMethod::lu, "lu: the matrix is not symmetric");
  properties.symmetric = properties.hermitian = true;
  chosen(DirectMethod::lu, "LDLᵀ is predicted to take 1.5 times");
  properties.zero_diagonals = 7;
  chosen(DirectMethod::ldlt,
         "ldlt: the matrix is symmetric with 7 zeros on the diagonal, predicted to take 0.25");
  properties.symmetric = false;
  CHECK(chosen(DirectMethod::ldlt, "is Hermitian") == Symmetry::hermitian);
  properties.symmetric = true;
  properties.hermitian = false;
  CHECK(chosen(DirectMethod::ldlt, "is symmetric") == Symmetry::symmetric);
  properties.lu_asked = true;
  chosen(DirectMethod::lu, "options or limits");
  properties.structurally_singular = true;
  chosen(DirectMethod::lu, "names the rows and columns");
  properties = {.symmetric = true, .hermitian = true, .diagonally_dominant = true, .flops_per_entry = 40};
  chosen(DirectMethod::cholesky, "cholesky: the matrix is symmetric and diagonally dominant");
  properties.flops_per_entry = 39;
  chosen(DirectMethod::lu, "39 flops per stored entry");
  DeviceModel unmeasured = h200_device_model();
  unmeasured.symmetric = {};
  const MethodChoice unknown = choose_method(properties, unmeasured);
  CHECK(unknown.method == DirectMethod::lu);
  CHECK(unknown.reason.find("not known on this device") != std::string::npos);
}

// README, Limitations: "On GPUs `--method auto` takes LU"
TEST_CASE("the built-in models choose all symmetric methods, but not for zero diagonals on an H200",
          "[solver]") {
  const DeviceModel host = host_device_model(), h200 = h200_device_model();
  MethodProperties properties{.symmetric = true, .hermitian = true, .flops_per_entry = 100};
  CHECK(choose_method(properties, host).method == DirectMethod::ldlt);
  CHECK(choose_method(properties, h200).method == DirectMethod::ldlt);
  properties.zero_diagonals = 7;
  CHECK(choose_method(properties, host).method == DirectMethod::ldlt);
  CHECK(choose_method(properties, h200).method == DirectMethod::lu);
  properties.zero_diagonals = 0;
  properties.diagonally_dominant = true;
  CHECK(choose_method(properties, host).method == DirectMethod::cholesky);
  CHECK(choose_method(properties, h200).method == DirectMethod::cholesky);
  properties.flops_per_entry = 0;  // not computed for models that do not need it
  CHECK(choose_method(properties, h200).method == DirectMethod::cholesky);
}

}  // namespace lutra::Test
