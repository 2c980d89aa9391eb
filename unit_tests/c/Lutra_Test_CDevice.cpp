// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Arrays in the memory of the default execution space, handed to the C interface as such, on a stream of the
// caller's where there are streams.
#include <Kokkos_Core.hpp>
#include <catch2/catch_session.hpp>
#include <cmath>

#include "Lutra_CTestSolver.hpp"

using namespace lutra::Test;

int main(int argc, char* argv[]) {
  Kokkos::ScopeGuard kokkos(argc, argv);
  return Catch::Session().run(argc, argv);
}

namespace {

using Space = Kokkos::DefaultExecutionSpace;

template <class T>
Kokkos::View<T*, Space> on_device(const std::vector<T>& host) {
  Kokkos::View<T*, Space> view("copy", host.size());
  Kokkos::deep_copy(view, Kokkos::View<const T*, Kokkos::HostSpace>(host.data(), host.size()));
  return view;
}

void* stream_of([[maybe_unused]] const Space& space) {
#ifdef KOKKOS_ENABLE_CUDA
  if constexpr (std::is_same_v<Space, Kokkos::Cuda>) return space.cuda_stream();
#endif
#ifdef KOKKOS_ENABLE_HIP
  if constexpr (std::is_same_v<Space, Kokkos::HIP>) return space.hip_stream();
#endif
  return nullptr;
}

/// Analyzes, factorizes and solves for two columns, ldb and ldx apart; X is exact for a tridiagonal matrix.
template <class Offset>
void solve_on_device(lutra_method method) {
  const int n = 200, ldb = 210, ldx = 205;
  const auto A = tridiagonal<double, std::int32_t, Offset>(n, -1.0, 4.0, -1.0);
  std::vector<double> x(n, 1.0), ramp(n), B(2 * ldb, std::nan(""));
  for (int i = 0; i < n; ++i) ramp[static_cast<std::size_t>(i)] = i;
  const auto b0 = A.times(x), b1 = A.times(ramp);
  std::copy(b0.begin(), b0.end(), B.begin());
  std::copy(b1.begin(), b1.end(), B.begin() + ldb);
  const auto row_map = on_device(A.row_map);
  const auto columns = on_device(A.columns);
  const auto values = on_device(A.values);
  const auto device_B = on_device(B);
  const Kokkos::View<double*, Space> X("X", 2 * ldx);
  const Space instance = Kokkos::Experimental::partition_space(Space(), 1)[0];
  Kokkos::fence();

  lutra_matrix matrix = A.c();
  matrix.row_map = row_map.data();
  matrix.columns = columns.data();
  matrix.values = values.data();
  CSolver solver(method);
  if (method == LUTRA_ILU) REQUIRE(lutra_set_option(solver, "apply", "exact") == LUTRA_SUCCESS);
  REQUIRE(lutra_set_memory(solver, LUTRA_DEVICE) == LUTRA_SUCCESS);
  REQUIRE(lutra_set_stream(solver, stream_of(instance)) == LUTRA_SUCCESS);
  REQUIRE(lutra_analyze(solver, &matrix) == LUTRA_SUCCESS);
  REQUIRE(lutra_factorize(solver, &matrix) == LUTRA_SUCCESS);
  const auto call = method == LUTRA_ILU ? lutra_apply : lutra_solve;
  REQUIRE(call(solver, LUTRA_NONE, 2, device_B.data(), ldb, X.data(), ldx) == LUTRA_SUCCESS);
  instance.fence();
  const auto host_X = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), X);
  double error = 0;
  for (int i = 0; i < n; ++i)
    error = std::max({error, std::abs(host_X(i) - 1), std::abs(host_X(ldx + i) - i)});
  CHECK(error < 1e-8);
  CHECK(host_X(n) == 0);

  std::vector<double> wrong = A.values;
  wrong[5] = std::nan("");
  const auto wrong_values = on_device(wrong);
  matrix.values = wrong_values.data();
  CHECK(lutra_factorize(solver, &matrix) == LUTRA_INPUT_ERROR);
  CHECK(message_has("row 2, column 1"));
}

}  // namespace

TEST_CASE("C: all methods accept device arrays") {
  for (const lutra_method method : {LUTRA_LU, LUTRA_LDLT, LUTRA_CHOLESKY, LUTRA_ILU, LUTRA_KRYLOV}) {
    solve_on_device<std::int32_t>(method);
    solve_on_device<std::int64_t>(method);
  }
}

TEST_CASE("C: a shift on the device") {
  const auto A = tridiagonal<double, std::int32_t, std::int32_t>(6, 1.0, 0.5, 1.0);
  const auto row_map = on_device(A.row_map);
  const auto columns = on_device(A.columns);
  const auto values = on_device(A.values);
  const auto shift = on_device(std::vector<double>(6, 2.0));
  lutra_matrix matrix = A.c();
  matrix.row_map = row_map.data();
  matrix.columns = columns.data();
  matrix.values = values.data();
  CSolver solver(LUTRA_LDLT);
  REQUIRE(lutra_set_memory(solver, LUTRA_DEVICE) == LUTRA_SUCCESS);
  REQUIRE(lutra_analyze(solver, &matrix) == LUTRA_SUCCESS);
  REQUIRE(lutra_factorize_shifted(solver, &matrix, shift.data()) == LUTRA_SUCCESS);
  std::int64_t negative = -1;
  CHECK(lutra_get_integer(solver, "inertia.negative", &negative) == LUTRA_SUCCESS);
  CHECK(negative == 0);
}
