// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_TESTHOST_HPP
#define LUTRA_TESTHOST_HPP

#include <dlfcn.h>
#include <link.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "Lutra_TestPlugin.hpp"

// Plain checks rather than Catch2: these programs fork, and end in ways of their own.

/// Ends the program if the condition does not hold.
inline void check(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "failed: %s\n", what);
  std::abort();
}

/// A plug-in, loaded as a host loads it.
class Plugin {
 public:
  explicit Plugin(const char* file) : m_handle(dlopen(file, RTLD_NOW | RTLD_LOCAL)) {
    if (m_handle == nullptr) std::fprintf(stderr, "%s\n", dlerror());
    check(m_handle != nullptr, file);
    find("test_plugin_open", open);
    find("test_plugin_solve", solve_status);
    find("test_plugin_close", close);
    find("test_plugin_message", message);
    find("test_plugin_finalize", finalize);
  }
  void unload() { check(dlclose(m_handle) == 0, "dlclose"); }

  /// Solves and checks the answer.
  void solve(lutra_solver* solver, double diagonal) const {
    double error = 1;
    check(solver != nullptr, message());
    check(solve_status(solver, rows, diagonal, &error) == LUTRA_SUCCESS, message());
    check(error < 1e-15, "the backward error");
  }
  /// Makes a solver, solves and frees it.
  void solve_once() const {
    lutra_solver* solver = open(rows);
    solve(solver, 3);
    close(solver);
  }

  static constexpr int rows = 500;
  decltype(&test_plugin_open) open;
  decltype(&test_plugin_solve) solve_status;
  decltype(&test_plugin_close) close;
  decltype(&test_plugin_message) message;
  decltype(&test_plugin_finalize) finalize;

 private:
  template <class Function>
  void find(const char* name, Function& function) {
    function = reinterpret_cast<Function>(dlsym(m_handle, name));
    check(function != nullptr, name);
  }

  void* m_handle;
};

/// Number of loaded libraries whose file name contains `name`.
inline int loaded(const char* name) {
  struct Search {
    const char* name;
    int count;
  } search{name, 0};
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* data) {
        auto& s = *static_cast<Search*>(data);
        if (std::strstr(info->dlpi_name, s.name) != nullptr) ++s.count;
        return 0;
      },
      &search);
  return search.count;
}

#endif
