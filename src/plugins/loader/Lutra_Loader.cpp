// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The functions of lutra.h for a plug-in, which passes them on to liblutra_c. The first call loads that
// library, by itself rather than as a dependency of the plug-in, because of Kokkos: a host may have another
// version of it (Debian's PETSc has one, through ML), whose functions have the same names, and the dynamic
// linker takes the first that it finds in the process.
#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "Lutra_Loader.hpp"
#include "lutra.h"

namespace {

/// The shared library of Kokkos that liblutra_c was built with. Empty if Kokkos is a hidden part of
/// liblutra_c.
constexpr std::string_view kokkos_library = LUTRA_KOKKOS_LIBRARY;

/// Flag of dlopen with which liblutra_c prefers the libraries it needs to those of the process: Kokkos, but
/// also the C++ library. 0 if there is none.
#ifdef RTLD_DEEPBIND
constexpr int prefer_own = RTLD_DEEPBIND;
#else
constexpr int prefer_own = 0;
#endif

/// File of another Kokkos whose functions liblutra_c would call in place of those of its own. Empty if there
/// is none.
std::string other_kokkos() {
  void* const function = dlsym(RTLD_DEFAULT, "_ZN6Kokkos14is_initializedEv");  // liblutra_c calls it, too
  Dl_info found{};
  if (kokkos_library.empty() || function == nullptr || dladdr(function, &found) == 0) return "";
  const std::string file = found.dli_fname;
  return file.find(kokkos_library) == std::string::npos ? file : "";
}

/// Whether the program holds copies of data of the C++ library, as programs in C++ may that are not compiled
/// like a library. The C++ library uses these copies instead of its own.
bool has_copies_of_cxx_data() {
  void* const cxx = dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_NOLOAD);
  if (cxx == nullptr) return false;
  constexpr std::array names = {"_ZNSt5ctypeIcE2idE", "_ZNSt7__cxx118numpunctIcE2idE",
                                "_ZNSt7__cxx117collateIcE2idE",
                                "_ZNSt7num_putIcSt19ostreambuf_iteratorIcSt11char_traitsIcEEE2idE",
                                "_ZNSt7num_getIcSt19istreambuf_iteratorIcSt11char_traitsIcEEE2idE"};
  const bool has = std::any_of(names.begin(), names.end(), [cxx](const char* name) {
    return dlsym(RTLD_DEFAULT, name) != dlsym(cxx, name);
  });
  dlclose(cxx);
  return has;
}

/// liblutra_c, never unloaded: threads and exit handlers may be inside.
class Library {
 public:
  Library() {
    const std::string other = other_kokkos();
    if (!other.empty() && (prefer_own == 0 || has_copies_of_cxx_data())) {
      m_error = "liblutra_c was built for a shared Kokkos, " + std::string(kokkos_library) +
                ", but this program uses that in " + other + ". Build Lutra with a static Kokkos";
      return;
    }
    m_handle = dlopen(LUTRA_C_LIBRARY, RTLD_NOW | RTLD_LOCAL | (other.empty() ? 0 : prefer_own));
    if (m_handle == nullptr) m_error = dlerror();
  }
  void* find(const char* name) const { return m_handle == nullptr ? nullptr : dlsym(m_handle, name); }
  const std::string& error() const { return m_error; }

 private:
  void* m_handle = nullptr;
  std::string m_error;  ///< why it could not be loaded
};

const Library& library() {
  static const Library& loaded = *new Library;  // used until the process has ended
  return loaded;
}

}  // namespace

void* lutra::Loader::find_function(const char* name) {
  return library().find(name);
}

using lutra::Loader::Call;

lutra_status lutra_initialize(int num_threads, int device) {
  static const Call<decltype(lutra_initialize)> call("lutra_initialize");
  return call(num_threads, device);
}
lutra_status lutra_finalize(void) {
  static const Call<decltype(lutra_finalize)> call("lutra_finalize");
  return call();
}
const char* lutra_version(void) {
  static const Call<decltype(lutra_version)> call("lutra_version");
  return call();
}
const char* lutra_version_json(void) {
  static const Call<decltype(lutra_version_json)> call("lutra_version_json");
  return call();
}
const char* lutra_status_name(int status) {
  static const Call<decltype(lutra_status_name)> call("lutra_status_name");
  return call(status);
}
lutra_status lutra_create(lutra_solver** solver, int method, int scalar, int index, const char* backend) {
  if (solver != nullptr) *solver = nullptr;
  static const Call<decltype(lutra_create)> call("lutra_create");
  return call(solver, method, scalar, index, backend);
}
void lutra_destroy(lutra_solver* solver) {
  static const Call<decltype(lutra_destroy)> call("lutra_destroy");
  call(solver);
}
lutra_status lutra_set_option(lutra_solver* solver, const char* name, const char* value) {
  static const Call<decltype(lutra_set_option)> call("lutra_set_option");
  return call(solver, name, value);
}
lutra_status lutra_get_option(lutra_solver* solver, const char* name, const char** value) {
  static const Call<decltype(lutra_get_option)> call("lutra_get_option");
  return call(solver, name, value);
}
lutra_status lutra_set_permutation(lutra_solver* solver, int64_t n, const int64_t* permutation) {
  static const Call<decltype(lutra_set_permutation)> call("lutra_set_permutation");
  return call(solver, n, permutation);
}
lutra_status lutra_set_memory(lutra_solver* solver, int memory) {
  static const Call<decltype(lutra_set_memory)> call("lutra_set_memory");
  return call(solver, memory);
}
lutra_status lutra_set_stream(lutra_solver* solver, void* stream) {
  static const Call<decltype(lutra_set_stream)> call("lutra_set_stream");
  return call(solver, stream);
}
lutra_status lutra_set_log(lutra_solver* solver, lutra_log log, void* user) {
  static const Call<decltype(lutra_set_log)> call("lutra_set_log");
  return call(solver, log, user);
}
lutra_status lutra_analyze(lutra_solver* solver, const lutra_matrix* A) {
  static const Call<decltype(lutra_analyze)> call("lutra_analyze");
  return call(solver, A);
}
lutra_status lutra_factorize(lutra_solver* solver, const lutra_matrix* A) {
  static const Call<decltype(lutra_factorize)> call("lutra_factorize");
  return call(solver, A);
}
lutra_status lutra_factorize_shifted(lutra_solver* solver, const lutra_matrix* A, const void* shift) {
  static const Call<decltype(lutra_factorize_shifted)> call("lutra_factorize_shifted");
  return call(solver, A, shift);
}
lutra_status lutra_solve(lutra_solver* solver, int op, int64_t n_rhs, const void* B, int64_t ldb, void* X,
                         int64_t ldx) {
  static const Call<decltype(lutra_solve)> call("lutra_solve");
  return call(solver, op, n_rhs, B, ldb, X, ldx);
}
lutra_status lutra_apply(lutra_solver* solver, int op, int64_t n_rhs, const void* B, int64_t ldb, void* X,
                         int64_t ldx) {
  static const Call<decltype(lutra_apply)> call("lutra_apply");
  return call(solver, op, n_rhs, B, ldb, X, ldx);
}
lutra_status lutra_solve_parts(lutra_solver* solver, int parts, int op, int64_t n_rhs, const void* B,
                               int64_t ldb, void* X, int64_t ldx) {
  static const Call<decltype(lutra_solve_parts)> call("lutra_solve_parts");
  return call(solver, parts, op, n_rhs, B, ldb, X, ldx);
}
lutra_status lutra_determinant(lutra_solver* solver, void* sign, double* log_magnitude) {
  static const Call<decltype(lutra_determinant)> call("lutra_determinant");
  return call(solver, sign, log_magnitude);
}
lutra_status lutra_increase_quality(lutra_solver* solver, int* raised) {
  static const Call<decltype(lutra_increase_quality)> call("lutra_increase_quality");
  return call(solver, raised);
}
lutra_status lutra_report_status(const lutra_solver* solver) {
  static const Call<decltype(lutra_report_status)> call("lutra_report_status");
  return call(solver);
}
lutra_status lutra_get_integer(lutra_solver* solver, const char* key, int64_t* value) {
  static const Call<decltype(lutra_get_integer)> call("lutra_get_integer");
  return call(solver, key, value);
}
lutra_status lutra_get_number(lutra_solver* solver, const char* key, double* value) {
  static const Call<decltype(lutra_get_number)> call("lutra_get_number");
  return call(solver, key, value);
}
lutra_status lutra_get_text(lutra_solver* solver, const char* key, const char** value) {
  static const Call<decltype(lutra_get_text)> call("lutra_get_text");
  return call(solver, key, value);
}
lutra_status lutra_get_integers(lutra_solver* solver, const char* key, const int64_t** values,
                                size_t* count) {
  static const Call<decltype(lutra_get_integers)> call("lutra_get_integers");
  return call(solver, key, values, count);
}
lutra_status lutra_get_numbers(lutra_solver* solver, const char* key, const double** values, size_t* count) {
  static const Call<decltype(lutra_get_numbers)> call("lutra_get_numbers");
  return call(solver, key, values, count);
}
lutra_status lutra_report_json(lutra_solver* solver, const char** json) {
  static const Call<decltype(lutra_report_json)> call("lutra_report_json");
  return call(solver, json);
}
const char* lutra_message(void) {
  static const Call<decltype(lutra_message)> call("lutra_message");
  const char* message = call();
  return message == nullptr ? library().error().c_str() : message;
}
