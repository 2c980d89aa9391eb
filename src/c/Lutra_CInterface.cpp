// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <Kokkos_Core.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <mutex>
#include <new>
#include <nlohmann/json.hpp>

#include "Lutra_AnySolver.hpp"
#include "Lutra_Error.hpp"
#include "Lutra_Version.hpp"

using lutra::C::AnySolver;

/// A solver, and what pointers into its report refer to.
struct lutra_solver {
  std::unique_ptr<AnySolver> solver;
  std::string option;              ///< what lutra_get_option gave last
  std::string json;                ///< the report; empty: not asked for since the last call
  nlohmann::json parsed;           ///< the same, for values by their keys
  std::vector<std::int64_t> list;  ///< of one value
};

namespace lutra::C {
namespace {

std::atomic<int>& solver_count() {
  static std::atomic<int> count = 0;
  return count;
}

std::atomic<bool>& started_kokkos() {
  static std::atomic<bool> started = false;
  return started;
}

/// The message of this thread's last call that had something to say. An array, since to keep a message must
/// not fail.
std::array<char, 2000>& message() noexcept {
  thread_local std::array<char, 2000> text{};
  return text;
}

lutra_status fail(lutra_status status, const char* text) noexcept {
  std::snprintf(message().data(), message().size(), "%s", text);
  return status;
}

lutra_status to_c(Status status) noexcept {
  switch (status) {
    case Status::not_solved:
      return LUTRA_NOT_SOLVED;
    case Status::success:
      return LUTRA_SUCCESS;
    case Status::structurally_singular:
      return LUTRA_STRUCTURALLY_SINGULAR;
    case Status::numerically_singular:
      return LUTRA_NUMERICALLY_SINGULAR;
    case Status::not_positive_definite:
      return LUTRA_NOT_POSITIVE_DEFINITE;
    case Status::error_above_tolerance:
      return LUTRA_ERROR_ABOVE_TOLERANCE;
    case Status::breakdown:
      return LUTRA_BREAKDOWN;
    case Status::not_converged:
      return LUTRA_NOT_CONVERGED;
    case Status::out_of_memory:
      return LUTRA_OUT_OF_MEMORY;
  }
  return LUTRA_INTERNAL_ERROR;
}

/// The border no exception crosses: runs `call`, which returns a lutra_status.
template <class Call>
lutra_status guarded(const Call& call) noexcept {
  try {
    return call();
  } catch (const InputError& error) {
    return fail(LUTRA_INPUT_ERROR, error.what());
  } catch (const CallOrderError& error) {
    return fail(LUTRA_CALL_ORDER_ERROR, error.what());
  } catch (const std::bad_alloc& error) {
    return fail(LUTRA_OUT_OF_MEMORY, error.what());
  } catch (const TimeoutError& error) {
    return fail(LUTRA_TIMEOUT, error.what());
  } catch (const NotBuiltError& error) {
    return fail(LUTRA_NOT_BUILT, error.what());
  } catch (const std::exception& error) {
    return fail(LUTRA_INTERNAL_ERROR, error.what());
  } catch (...) {
    return fail(LUTRA_INTERNAL_ERROR, "an exception that is not one of C++'s");
  }
}

void require(bool condition, const char* text) {
  if (!condition) throw InputError(text);
}

/// Runs call(solver) for a solver that is there; what its report gave before is out of date then.
template <class Call>
lutra_status with_solver(lutra_solver* handle, const Call& call) noexcept {
  return guarded([&] {
    require(handle != nullptr, "solver: it is null");
    handle->json.clear();
    return call(*handle->solver);
  });
}

/// What a call that ended without exception returns; `not_solved` is what analyze and factorize lead to.
lutra_status outcome(const AnySolver& solver) {
  const lutra_status status = to_c(solver.report().status);
  if (status == LUTRA_SUCCESS || status == LUTRA_NOT_SOLVED) return LUTRA_SUCCESS;
  return fail(status, describe(solver.report()).c_str());
}

Transposition to_transposition(int op) {
  require(op == LUTRA_NONE || op == LUTRA_TRANSPOSED || op == LUTRA_ADJOINT,
          "op: it is none of LUTRA_NONE, LUTRA_TRANSPOSED, LUTRA_ADJOINT");
  return op == LUTRA_NONE      ? Transposition::none
         : op == LUTRA_ADJOINT ? Transposition::adjoint
                               : Transposition::transposed;
}

void start_kokkos(int num_threads, int device) {
  static std::mutex mutex;  // of threads that create their first solvers at the same time
  const std::lock_guard lock(mutex);
  if (Kokkos::is_initialized()) return;
  if (Kokkos::is_finalized())
    throw CallOrderError("lutra_initialize: Kokkos was ended, and starts once in a process");
  Kokkos::InitializationSettings settings;
  settings.set_disable_warnings(true);
  if (num_threads > 0) settings.set_num_threads(num_threads);
  if (device >= 0) settings.set_device_id(device);
  Kokkos::initialize(settings);
  started_kokkos() = true;
}

/// The name of a backend that was built. @throws NotBuiltError
std::string backend_of(const char* asked) {
  const std::vector<std::string> built = version_info().backends;
  const std::string backend = asked == nullptr ? "auto" : asked;
  if (backend == "auto") return built.front();
  if (std::find(built.begin(), built.end(), backend) != built.end()) return backend;
  std::string names = "auto";
  for (const std::string& name : built) names += ", " + name;
  throw NotBuiltError("backend: '" + backend + "' was not built (choose from " + names + ")");
}

std::unique_ptr<AnySolver> make(int method, int scalar, int index, const std::string& backend) {
  require(scalar >= LUTRA_F32 && scalar <= LUTRA_C128,
          "scalar: it is none of LUTRA_F32, LUTRA_F64, LUTRA_C64, LUTRA_C128");
  require(index == LUTRA_INT32 || index == LUTRA_INT64, "index: it is neither LUTRA_INT32 nor LUTRA_INT64");
  switch (method) {
    case LUTRA_LU:
      return make_lu(scalar, index, backend);
    case LUTRA_ILU:
      return make_ilu(scalar, index, backend);
    case LUTRA_KRYLOV:
      return make_krylov(scalar, index, backend);
    case LUTRA_LDLT:
      return make_ldlt(scalar, index, backend);
    case LUTRA_CHOLESKY: {
      auto solver = make_ldlt(scalar, index, backend);
      solver->set_option("positive_definite", "true");
      if (scalar == LUTRA_C64 || scalar == LUTRA_C128) solver->set_option("symmetry", "hermitian");
      return solver;
    }
  }
  throw InputError("method: it is none of LUTRA_LU, LUTRA_LDLT, LUTRA_CHOLESKY, LUTRA_ILU, LUTRA_KRYLOV");
}

// ---- the report

const std::string& json_of(lutra_solver& handle) {
  if (handle.json.empty()) {
    handle.json = to_json(handle.solver->record());
    handle.parsed = nlohmann::json::parse(handle.json);
  }
  return handle.json;
}

/// Runs take(value) for the value of a key of the report's JSON, unless it is null.
template <class Take>
lutra_status with_value(lutra_solver* handle, const char* key, const void* result, const char* kind,
                        bool (nlohmann::json::*is_kind)() const noexcept, const Take& take) noexcept {
  return guarded([&] {
    require(handle != nullptr, "solver: it is null");
    require(key != nullptr, "key: it is null");
    require(result != nullptr, "value: it is null");
    json_of(*handle);
    std::string pointer = std::string("/") + key;
    std::replace(pointer.begin(), pointer.end(), '.', '/');
    const nlohmann::json::json_pointer at(pointer);
    const std::string name = std::string("key '") + key + "'";
    require(handle->parsed.contains(at), (name + " is not one of the report's").c_str());
    const nlohmann::json& value = handle->parsed.at(at);
    if (value.is_null()) return fail(LUTRA_NO_VALUE, (name + " has no value at present").c_str());
    require((value.*is_kind)(), (name + " is no " + kind).c_str());
    take(value);
    return LUTRA_SUCCESS;
  });
}

template <class T>
lutra_status with_list(lutra_solver* handle, const char* key, const T** values, std::size_t* count,
                       const std::vector<T>& (*find)(lutra_solver&, const std::string&)) noexcept {
  return guarded([&] {
    require(handle != nullptr, "solver: it is null");
    require(key != nullptr, "key: it is null");
    require(values != nullptr && count != nullptr, "values or count: it is null");
    const std::vector<T>& list = find(*handle, key);
    *values = list.data();
    *count = list.size();
    return LUTRA_SUCCESS;
  });
}

const std::vector<std::int64_t>& find_integers(lutra_solver& handle, const std::string& key) {
  const Report& report = handle.solver->report();
  if (key == "singular_rows") return report.singular_rows;
  if (key == "singular_columns") return report.singular_columns;
  if (key != "indefinite_column")
    throw InputError("key '" + key +
                     "' is unknown (choose from singular_rows, singular_columns, indefinite_column)");
  handle.list.clear();
  if (report.indefinite_column) handle.list.push_back(*report.indefinite_column);
  return handle.list;
}

const std::vector<double>& find_numbers(lutra_solver& handle, const std::string& key) {
  if (key != "residual_history")
    throw InputError("key '" + key + "' is unknown (choose from residual_history)");
  return handle.solver->report().residual_history;
}

/// A text that is made once and stays; null without memory for it.
template <class Make>
const char* constant_text(const Make& make) noexcept {
  const char* text = nullptr;
  guarded([&] {
    static const std::string made = make();
    text = made.c_str();
    return LUTRA_SUCCESS;
  });
  return text;
}

}  // namespace
}  // namespace lutra::C

using namespace lutra::C;

// ---- the library

lutra_status lutra_initialize(int num_threads, int device) {
  return guarded([&] {
    start_kokkos(num_threads, device);
    return LUTRA_SUCCESS;
  });
}

lutra_status lutra_finalize(void) {
  return guarded([] {
    if (solver_count() > 0)
      throw lutra::CallOrderError("lutra_finalize: " + std::to_string(solver_count()) +
                                  " solvers are left; call lutra_destroy first");
    if (started_kokkos().exchange(false) && !Kokkos::is_finalized()) Kokkos::finalize();
    return LUTRA_SUCCESS;
  });
}

const char* lutra_version(void) {
  return constant_text([] { return lutra::version_info().version; });
}

const char* lutra_version_json(void) {
  return constant_text([] { return lutra::to_json(lutra::version_info()); });
}

const char* lutra_message(void) {
  return message().data();
}

const char* lutra_status_name(int status) {
  switch (status) {
    case LUTRA_SUCCESS:
      return "success";
    case LUTRA_NOT_SOLVED:
      return "not_solved";
    case LUTRA_STRUCTURALLY_SINGULAR:
      return "structurally_singular";
    case LUTRA_NUMERICALLY_SINGULAR:
      return "numerically_singular";
    case LUTRA_NOT_POSITIVE_DEFINITE:
      return "not_positive_definite";
    case LUTRA_ERROR_ABOVE_TOLERANCE:
      return "error_above_tolerance";
    case LUTRA_BREAKDOWN:
      return "breakdown";
    case LUTRA_NOT_CONVERGED:
      return "not_converged";
    case LUTRA_NO_VALUE:
      return "no_value";
    case LUTRA_INPUT_ERROR:
      return "input_error";
    case LUTRA_CALL_ORDER_ERROR:
      return "call_order_error";
    case LUTRA_OUT_OF_MEMORY:
      return "out_of_memory";
    case LUTRA_TIMEOUT:
      return "timeout";
    case LUTRA_NOT_BUILT:
      return "not_built";
    case LUTRA_INTERNAL_ERROR:
      return "internal_error";
  }
  return "unknown";
}

// ---- a solver

lutra_status lutra_create(lutra_solver** solver, int method, int scalar, int index, const char* backend) {
  return guarded([&] {
    require(solver != nullptr, "solver: it is null");
    *solver = nullptr;
    const std::string name = backend_of(backend);
    start_kokkos(0, -1);
    auto handle = std::make_unique<lutra_solver>();
    handle->solver = make(method, scalar, index, name);
    *solver = handle.release();
    ++solver_count();
    return LUTRA_SUCCESS;
  });
}

void lutra_destroy(lutra_solver* solver) {
  if (solver == nullptr) return;
  guarded([&] {
    delete solver;
    --solver_count();
    return LUTRA_SUCCESS;
  });
}

lutra_status lutra_set_option(lutra_solver* solver, const char* name, const char* value) {
  return with_solver(solver, [&](AnySolver& s) {
    require(name != nullptr, "name: it is null");
    require(value != nullptr, "value: it is null");
    s.set_option(name, value);
    return LUTRA_SUCCESS;
  });
}

lutra_status lutra_get_option(lutra_solver* solver, const char* name, const char** value) {
  return with_solver(solver, [&](AnySolver& s) {
    require(name != nullptr, "name: it is null");
    require(value != nullptr, "value: it is null");
    const auto options = s.options();
    const auto found = std::find_if(options.begin(), options.end(),
                                    [name](const auto& option) { return option.name == name; });
    if (found == options.end()) s.set_option(name, "");  // throws: the list of names
    solver->option = found->value;
    *value = solver->option.c_str();
    return LUTRA_SUCCESS;
  });
}

lutra_status lutra_set_permutation(lutra_solver* solver, int64_t n, const int64_t* permutation) {
  return with_solver(solver, [&](AnySolver& s) {
    require(n >= 0 && (n == 0 || permutation != nullptr), "permutation: it is null, or n below 0");
    s.set_permutation(std::vector<std::int64_t>(permutation, permutation + n));
    return LUTRA_SUCCESS;
  });
}

lutra_status lutra_set_memory(lutra_solver* solver, int memory) {
  return with_solver(solver, [&](AnySolver& s) {
    require(memory == LUTRA_HOST || memory == LUTRA_DEVICE,
            "memory: it is neither LUTRA_HOST nor LUTRA_DEVICE");
    s.set_memory(static_cast<lutra_memory>(memory));
    return LUTRA_SUCCESS;
  });
}

lutra_status lutra_set_stream(lutra_solver* solver, void* stream) {
  return with_solver(solver, [&](AnySolver& s) {
    s.set_stream(stream);
    return LUTRA_SUCCESS;
  });
}

lutra_status lutra_analyze(lutra_solver* solver, const lutra_matrix* A) {
  return with_solver(solver, [&](AnySolver& s) {
    require(A != nullptr, "matrix: it is null");
    s.analyze(*A);
    return outcome(s);
  });
}

lutra_status lutra_factorize(lutra_solver* solver, const lutra_matrix* A) {
  return with_solver(solver, [&](AnySolver& s) {
    require(A != nullptr, "matrix: it is null");
    s.factorize(*A);
    return outcome(s);
  });
}

lutra_status lutra_factorize_shifted(lutra_solver* solver, const lutra_matrix* A, const void* shift) {
  return with_solver(solver, [&](AnySolver& s) {
    require(A != nullptr, "matrix: it is null");
    s.factorize_shifted(*A, shift);
    return outcome(s);
  });
}

lutra_status lutra_solve(lutra_solver* solver, int op, int64_t n_rhs, const void* B, int64_t ldb, void* X,
                         int64_t ldx) {
  return with_solver(solver, [&](AnySolver& s) {
    s.solve(to_transposition(op), {n_rhs, B, ldb, X, ldx});
    return outcome(s);
  });
}

lutra_status lutra_apply(lutra_solver* solver, int op, int64_t n_rhs, const void* B, int64_t ldb, void* X,
                         int64_t ldx) {
  return with_solver(solver, [&](AnySolver& s) {
    s.apply(to_transposition(op), {n_rhs, B, ldb, X, ldx});
    return LUTRA_SUCCESS;
  });
}

lutra_status lutra_solve_parts(lutra_solver* solver, int parts, int op, int64_t n_rhs, const void* B,
                               int64_t ldb, void* X, int64_t ldx) {
  return with_solver(solver, [&](AnySolver& s) {
    require(parts > 0 && parts < 8, "parts: it is no sum of LUTRA_LOWER, LUTRA_DIAGONAL and LUTRA_UPPER");
    s.solve_parts(parts, to_transposition(op), {n_rhs, B, ldb, X, ldx});
    return LUTRA_SUCCESS;
  });
}

lutra_status lutra_determinant(lutra_solver* solver, void* sign, double* log_magnitude) {
  return with_solver(solver, [&](AnySolver& s) {
    require(sign != nullptr, "sign: it is null");
    require(log_magnitude != nullptr, "log_magnitude: it is null");
    *log_magnitude = s.determinant(sign);
    return LUTRA_SUCCESS;
  });
}

lutra_status lutra_increase_quality(lutra_solver* solver, int* raised) {
  return with_solver(solver, [&](AnySolver& s) {
    require(raised != nullptr, "raised: it is null");
    *raised = s.increase_quality() ? 1 : 0;
    return LUTRA_SUCCESS;
  });
}

// ---- the report

lutra_status lutra_report_status(const lutra_solver* solver) {
  return guarded([&] {
    require(solver != nullptr, "solver: it is null");
    const lutra::Report& report = solver->solver->report();
    const lutra_status status = to_c(report.status);
    return status == LUTRA_SUCCESS ? status : fail(status, describe(report).c_str());
  });
}

lutra_status lutra_get_integer(lutra_solver* solver, const char* key, int64_t* value) {
  return with_value(solver, key, value, "integer", &nlohmann::json::is_number_integer,
                    [&](const nlohmann::json& found) { *value = found.get<std::int64_t>(); });
}

lutra_status lutra_get_number(lutra_solver* solver, const char* key, double* value) {
  return with_value(solver, key, value, "number", &nlohmann::json::is_number,
                    [&](const nlohmann::json& found) { *value = found.get<double>(); });
}

lutra_status lutra_get_text(lutra_solver* solver, const char* key, const char** value) {
  return with_value(solver, key, value, "text", &nlohmann::json::is_string, [&](const nlohmann::json& found) {
    *value = found.get_ref<const std::string&>().c_str();
  });
}

lutra_status lutra_get_integers(lutra_solver* solver, const char* key, const int64_t** values,
                                size_t* count) {
  return with_list(solver, key, values, count, find_integers);
}

lutra_status lutra_get_numbers(lutra_solver* solver, const char* key, const double** values, size_t* count) {
  return with_list(solver, key, values, count, find_numbers);
}

lutra_status lutra_report_json(lutra_solver* solver, const char** json) {
  return guarded([&] {
    require(solver != nullptr && json != nullptr, "solver or json: it is null");
    *json = json_of(*solver).c_str();
    return LUTRA_SUCCESS;
  });
}
