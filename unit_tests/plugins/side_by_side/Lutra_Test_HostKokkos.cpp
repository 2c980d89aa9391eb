// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A host that uses the Kokkos that the plug-ins use. Arguments: what to test, and the files of the plug-ins.
#include <Kokkos_Core.hpp>

#include <functional>
#include <map>
#include <string>

#include "Lutra_TestHost.hpp"

namespace {

void use_kokkos() {
  long sum = 0;
  Kokkos::View<long*, Kokkos::HostSpace> v("v", 100);
  Kokkos::parallel_for(Kokkos::RangePolicy<Kokkos::DefaultHostExecutionSpace>(0, 100),
                       [=](int i) { v(i) = i; });
  Kokkos::DefaultHostExecutionSpace().fence();
  for (int i = 0; i < 100; ++i) sum += v(i);
  check(sum == 4950, "Kokkos works in the host");
}

/// The host starts Kokkos and ends it, Lutra does neither.
void host_first(const Plugin& a) {
  Kokkos::initialize();
  use_kokkos();
  a.solve_once();
  check(a.finalize() == LUTRA_SUCCESS && Kokkos::is_initialized(),
        "Lutra does not end what it did not start");
  use_kokkos();
  a.solve_once();
  Kokkos::finalize();
}

/// Lutra starts Kokkos; the host finds it running.
void lutra_first(const Plugin& a) {
  check(!Kokkos::is_initialized(), "Kokkos runs before it is used");
  a.solve_once();
  check(Kokkos::is_initialized(), "the host finds Kokkos running");
  use_kokkos();
  a.solve_once();
  check(a.finalize() == LUTRA_SUCCESS && Kokkos::is_finalized(), "Lutra ends Kokkos when asked");
}

/// The host ends Kokkos while solvers live: their calls fail, and nothing ends the process.
void host_ends_first(const Plugin& a) {
  Kokkos::initialize();
  lutra_solver* solver = a.open(Plugin::rows);
  a.solve(solver, 3);
  Kokkos::finalize();
  double error = 0;
  check(a.solve_status(solver, Plugin::rows, 3, &error) == LUTRA_CALL_ORDER_ERROR, "a solve after the end");
  check(std::string(a.message()) == "solver: Kokkos was ended, and nothing can be solved any more",
        a.message());
  check(a.open(Plugin::rows) == nullptr, "a solver after the end");
  check(std::string(a.message()) == "lutra_initialize: Kokkos was ended, and starts once in a process",
        a.message());
  a.close(solver);
  check(a.finalize() == LUTRA_SUCCESS, a.message());
}

}  // namespace

int main(int argc, char** argv) {
  check(argc == 4, "usage: what, plug-in, plug-in");
  const Plugin a(argv[2]);
  const std::map<std::string, std::function<void()>> tests = {
      {"host_first", [&] { host_first(a); }},
      {"lutra_first", [&] { lutra_first(a); }},
      {"host_ends_first", [&] { host_ends_first(a); }}};
  check(tests.count(argv[1]) == 1, "no such test");
  tests.at(argv[1])();
  return 0;
}
