// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Two plug-ins in one process, which forks, unloads them, and ends with solvers alive. Arguments: what to
// test, and the files of the plug-ins.
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <map>
#include <string>

#include "Lutra_TestHost.hpp"

namespace {

/// Both use one liblutra_c: each solves with a solver of the other.
void two_plugins(Plugin& a, Plugin& b) {
  check(loaded("liblutra_c") == 0, "liblutra_c is loaded before anything is solved");
  a.solve_once();
  b.solve_once();
  lutra_solver *of_a = a.open(Plugin::rows), *of_b = b.open(Plugin::rows);
  a.solve(of_b, 5);
  b.solve(of_a, 6);
  check(loaded("liblutra_c") == 1, "there is one liblutra_c");
  check(a.finalize() == LUTRA_CALL_ORDER_ERROR, "no plug-in ends Kokkos while another has a solver");
  b.close(of_a);
  a.close(of_b);
}

/// With a plug-in of Lutra's: both use one liblutra_c.
void beside(const Plugin& a, const char* file) {
  check(dlopen(file, RTLD_NOW | RTLD_LOCAL) != nullptr, file);
  a.solve_once();
  check(loaded("liblutra_c") == 1, "there is one liblutra_c");
}

/// A solver of the parent and a new one work in the child and, afterwards, in the parent.
void fork_child(const Plugin& a, const std::function<void()>& end_child) {
  lutra_solver* solver = a.open(Plugin::rows);
  a.solve(solver, 3);
  const pid_t child = fork();
  check(child >= 0, "fork");
  if (child == 0) {
    alarm(60);
    a.solve(solver, 5);
    a.solve_once();
    a.close(solver);
    end_child();
  }
  int status = 0;
  check(waitpid(child, &status, 0) == child, "waitpid");
  check(WIFEXITED(status) && WEXITSTATUS(status) == 17, "the child ends as it should");
  a.solve(solver, 7);
  a.close(solver);
}

/// The plug-in is unloaded by its host while a solver lives, and loaded again.
void unload(Plugin& a, Plugin& b, const char* file) {
  lutra_solver* solver = a.open(Plugin::rows);
  a.solve(solver, 3);
  a.unload();
  b.solve(solver, 4);
  Plugin again(file);
  again.solve(solver, 5);
  again.close(solver);
  again.unload();
  b.unload();
}

/// A solver that lives longer than main.
struct AfterMain {
  ~AfterMain() {
    double error = 0;
    const int status = plugin->solve_status(solver, Plugin::rows, 8, &error);
    check(status == expected, plugin->message());
    plugin->close(solver);
    std::puts("freed");
  }
  const Plugin* plugin = nullptr;
  lutra_solver* solver = nullptr;
  int expected = LUTRA_SUCCESS;
};

/// Freed while Lutra still works, as it was made after Lutra was used.
void free_after_main(const Plugin& a) {
  static const Plugin kept = a;
  a.solve_once();
  static AfterMain global;
  global.plugin = &kept;
  global.solver = a.open(Plugin::rows);
}

/// Freed when Kokkos' data are gone: solves fail, and freeing does nothing.
void free_after_kokkos(const Plugin& a) {
  static const Plugin kept = a;
  static AfterMain global;
  global.plugin = &kept;
  global.solver = a.open(Plugin::rows);
  global.expected = LUTRA_CALL_ORDER_ERROR;
}

/// No solver, but an error, where Lutra's Kokkos and another one of the process cannot be told apart.
void refused(const Plugin& a) {
  check(a.open(Plugin::rows) == nullptr, "a solver beside another Kokkos");
  const std::string message = a.message();
  check(message.find("liblutra_c was built for a shared Kokkos") == 0 &&
            message.find("liblutra_test_kokkos_of_host") != std::string::npos,
        message.c_str());
  check(a.finalize() == LUTRA_INTERNAL_ERROR, "a call without library");
}

}  // namespace

int main(int argc, char** argv) {
  check(argc == 4, "usage: what, plug-in, plug-in");
  Plugin a(argv[2]);
  if (argv[1] == std::string("beside")) return beside(a, argv[3]), 0;
  Plugin b(argv[3]);
  const std::map<std::string, std::function<void()>> tests = {
      {"two_plugins", [&] { two_plugins(a, b); }},
      {"fork_exit", [&] { fork_child(a, [] { std::exit(17); }); }},
      {"fork_at_once", [&] { fork_child(a, [] { _exit(17); }); }},
      {"unload", [&] { unload(a, b, argv[2]); }},
      {"refused", [&] { refused(a); }},
      {"free_after_main", [&] { free_after_main(a); }},
      {"free_after_kokkos", [&] { free_after_kokkos(a); }}};
  check(tests.count(argv[1]) == 1, "no such test");
  tests.at(argv[1])();
  return 0;
}
