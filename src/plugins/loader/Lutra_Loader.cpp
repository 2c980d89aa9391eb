// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The functions of lutra.h for a plug-in, which passes them on to liblutra_c. The first call loads that
// library, by itself rather than as a dependency of the plug-in, because of Kokkos: a host may have another
// version of it (Debian's PETSc has one, through ML), whose functions have the same names, and the linker
// takes the first it finds in the process. Loaded here, liblutra_c finds its own first.
#include <dlfcn.h>

#include <string>
#include <type_traits>

#include "lutra.h"

namespace {

/// Flags of dlopen. With RTLD_DEEPBIND a library prefers the functions of its own dependencies to those of
/// the process. This is asked for only where it matters, in processes that have a Kokkos, because it has a
/// price: data of the C++ library that a program copied into itself, such as std::cerr, are no longer those
/// of the program. The address sanitizer refuses it.
int flags() {
  int value = RTLD_NOW | RTLD_LOCAL;
#if defined(RTLD_DEEPBIND) && !defined(__SANITIZE_ADDRESS__)
  if (dlsym(RTLD_DEFAULT, "_ZN6Kokkos14is_initializedEv") != nullptr) value |= RTLD_DEEPBIND;
#endif
  return value;
}

/// liblutra_c, never unloaded: threads and exit handlers may be inside.
class Library {
 public:
  Library() : m_handle(dlopen(LUTRA_C_LIBRARY, flags())) {
    if (m_handle == nullptr) m_error = dlerror();
  }
  void* find(const char* name) const { return m_handle == nullptr ? nullptr : dlsym(m_handle, name); }
  const std::string& error() const { return m_error; }

 private:
  void* m_handle;
  std::string m_error;  ///< why it could not be loaded
};

const Library& library() {
  static const Library& loaded = *new Library;  // used until the process has ended
  return loaded;
}

/// A function of the library. Without library its status is LUTRA_INTERNAL_ERROR, and a pointer that it
/// returns is null.
template <class Function>
class Call;
template <class Result, class... Arguments>
class Call<Result(Arguments...)> {
 public:
  explicit Call(const char* name)
      : m_function(reinterpret_cast<Result (*)(Arguments...)>(library().find(name))) {}
  Result operator()(Arguments... arguments) const {
    if (m_function != nullptr) return m_function(arguments...);
    if constexpr (std::is_same_v<Result, lutra_status>) return LUTRA_INTERNAL_ERROR;
    if constexpr (std::is_pointer_v<Result>) return nullptr;
  }

 private:
  Result (*m_function)(Arguments...);
};

}  // namespace

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
