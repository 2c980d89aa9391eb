// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_TESTMA97_HPP
#define LUTRA_TESTMA97_HPP

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "Lutra_Ma97.h"

namespace lutra::Test {

/// The functions of liblutra_hsl, looked up as Ipopt does.
struct Ma97 {
  explicit Ma97(const char* library = LUTRA_HSL_LIBRARY) : handle(dlopen(library, RTLD_NOW)) {
    if (handle == nullptr) FAIL(dlerror());
    look_up(default_control, "ma97_default_control_d");
    look_up(analyse, "ma97_analyse_d");
    look_up(factor, "ma97_factor_d");
    look_up(factor_solve, "ma97_factor_solve_d");
    look_up(solve, "ma97_solve_d");
    look_up(finalise, "ma97_finalise_d");
    look_up(free_akeep, "ma97_free_akeep_d");
  }
  Ma97(const Ma97&) = delete;
  Ma97& operator=(const Ma97&) = delete;
  ~Ma97() { dlclose(handle); }

  template <class Function>
  void look_up(Function*& function, const char* name) {
    function = reinterpret_cast<Function*>(dlsym(handle, name));
    REQUIRE(function != nullptr);
  }

  void* handle;
  decltype(ma97_default_control_d)* default_control = nullptr;
  decltype(ma97_analyse_d)* analyse = nullptr;
  decltype(ma97_factor_d)* factor = nullptr;
  decltype(ma97_factor_solve_d)* factor_solve = nullptr;
  decltype(ma97_solve_d)* solve = nullptr;
  decltype(ma97_finalise_d)* finalise = nullptr;
  decltype(ma97_free_akeep_d)* free_akeep = nullptr;
};

/// The lower triangle of a symmetric matrix by columns, counted from `first`.
struct Lower {
  int n = 0, first = 0;
  std::vector<int> ptr, row;
  std::vector<double> val;

  /// From the lower triangle of rows, without its zeros.
  static Lower of(const std::vector<std::vector<double>>& rows, int first = 0) {
    Lower A{static_cast<int>(rows.size()), first, {first}, {}, {}};
    for (std::size_t j = 0; j < rows.size(); ++j) {
      for (std::size_t i = j; i < rows.size(); ++i) {
        if (rows[i][j] == 0) continue;
        A.row.push_back(static_cast<int>(i) + first);
        A.val.push_back(rows[i][j]);
      }
      A.ptr.push_back(static_cast<int>(A.row.size()) + first);
    }
    return A;
  }

  /// Calls call(i, j, value) for the entries of both triangles.
  template <class Call>
  void for_each(const Call& call) const {
    for (int j = 0; j < n; ++j)
      for (int p = ptr[static_cast<std::size_t>(j)] - first; p < ptr[static_cast<std::size_t>(j) + 1] - first;
           ++p) {
        const int i = row[static_cast<std::size_t>(p)] - first;
        call(i, j, val[static_cast<std::size_t>(p)]);
        if (i != j) call(j, i, val[static_cast<std::size_t>(p)]);
      }
  }

  std::vector<double> times(const std::vector<double>& x) const {
    std::vector<double> b(x.size());
    for_each([&](int i, int j, double v) {
      b[static_cast<std::size_t>(i)] += v * x[static_cast<std::size_t>(j)];
    });
    return b;
  }

  /// max |b - A·x| / (|A|·|x| + |b|)
  double backward_error(const double* x, const std::vector<double>& b) const {
    std::vector<double> r = b, sum(b.size());
    for (std::size_t i = 0; i < b.size(); ++i) sum[i] = std::abs(b[i]);
    for_each([&](int i, int j, double v) {
      r[static_cast<std::size_t>(i)] -= v * x[j];
      sum[static_cast<std::size_t>(i)] += std::abs(v * x[j]);
    });
    double error = 0;
    for (std::size_t i = 0; i < b.size(); ++i)
      error = std::max(error, sum[i] > 0 ? std::abs(r[i]) / sum[i] : 0.0);
    return error;
  }
};

/// Handles of one solver, with the control that Ipopt sets: errors at singular matrices, nothing printed.
struct Session {
  explicit Session(const Ma97& functions) : library(functions) {
    library.default_control(&control);
    control.action = 0;
    control.print_level = -1;
    control.u = 1e-8;
  }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session() { library.finalise(&akeep, &fkeep); }

  int analyse(const Lower& A, int check = 0) {
    control.f_arrays = A.first;
    library.analyse(check, A.n, A.ptr.data(), A.row.data(), nullptr, &akeep, &control, &info, nullptr);
    return info.flag;
  }
  int factor(const Lower& A, double* scale = nullptr, int type = 4) {
    library.factor(type, A.ptr.data(), A.row.data(), A.val.data(), &akeep, &fkeep, &control, &info, scale);
    return info.flag;
  }
  int solve(std::vector<double>& x, int nrhs = 1, int ldx = 0, int job = 0) {
    library.solve(job, nrhs, x.data(), ldx > 0 ? ldx : static_cast<int>(x.size()), &akeep, &fkeep, &control,
                  &info);
    return info.flag;
  }

  const Ma97& library;
  ma97_control_d control{};
  ma97_info_d info{};
  void *akeep = nullptr, *fkeep = nullptr;
};

/// Returns what a call writes to a file descriptor: 1, standard output, or 2, standard error.
template <class Call>
std::string printed(int descriptor, const Call& call) {
  std::fflush(nullptr);
  std::FILE* const file = std::tmpfile();
  REQUIRE(file != nullptr);
  const int former = dup(descriptor);
  dup2(fileno(file), descriptor);
  call();
  std::fflush(nullptr);
  dup2(former, descriptor);
  close(former);
  std::rewind(file);
  std::string text;
  for (int c = std::fgetc(file); c != EOF; c = std::fgetc(file)) text += static_cast<char>(c);
  std::fclose(file);
  return text;
}

}  // namespace lutra::Test

#endif
