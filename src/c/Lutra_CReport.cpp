// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <utility>

#include "Lutra_AnyBatchSolver.hpp"
#include "Lutra_CSolver.hpp"
#include "Lutra_ParseNumber.hpp"

// The C interface: queries of a solver's report.

namespace lutra::C {
namespace {

const std::string& json_of(lutra_solver& handle) {
  if (handle.json.empty()) {
    handle.json = to_json(handle.solver->record());
    handle.parsed = std::make_shared<const nlohmann::json>(nlohmann::json::parse(handle.json));
  }
  return handle.json;
}

/// Counts that callers read after every factorization, found without the report's JSON. Null for other keys.
const std::optional<std::int64_t>* find_count(const lutra_solver* handle, const char* key) {
  if (handle == nullptr || key == nullptr) return nullptr;
  const Report& report = handle->solver->report();
  const std::pair<std::string_view, const std::optional<std::int64_t>*> counts[] = {
      {"inertia.positive", &report.inertia.positive},
      {"inertia.negative", &report.inertia.negative},
      {"inertia.zero", &report.inertia.zero},
      {"pivots.perturbed", &report.pivots.perturbed},
      {"pivots.delayed", &report.pivots.delayed},
      {"pivots.two_by_two", &report.pivots.two_by_two},
      {"pivots.zero", &report.pivots.zero},
      {"factors.nnz_l", &report.factors.nnz_l},
      {"factors.supernodes", &report.factors.supernodes},
      {"iterations", &report.iterations}};
  for (const auto& [name, count] : counts)
    if (name == key) return count;
  return nullptr;
}

/// The place of a key with dots. Parts are not parsed, so that any text is a key.
nlohmann::json::json_pointer to_pointer(std::string_view key) {
  nlohmann::json::json_pointer pointer;
  for (std::size_t begin = 0; begin <= key.size();) {
    const std::size_t end = std::min(key.find('.', begin), key.size());
    pointer.push_back(std::string(key.substr(begin, end - begin)));
    begin = end + 1;
  }
  return pointer;
}

/// Runs take(value) on the value at a key of the report's JSON, unless it is null.
template <class Take>
lutra_status with_value(lutra_solver* handle, const char* key, const void* result, const char* kind,
                        bool (nlohmann::json::*is_kind)() const noexcept, const Take& take) noexcept {
  return guarded([&] {
    require(handle != nullptr, "solver: it is null");
    require(key != nullptr, "key: it is null");
    require(result != nullptr, "value: it is null");
    json_of(*handle);
    const nlohmann::json::json_pointer at = to_pointer(key);
    const std::string name = "key " + Impl::quoted(key);
    require(handle->parsed->contains(at), (name + " is not one of the report's").c_str());
    const nlohmann::json& value = handle->parsed->at(at);
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
  if (const auto* const batch = dynamic_cast<const AnyBatchSolver*>(handle.solver.get()))
    return handle.list = batch->integers(key);
  const Report& report = handle.solver->report();
  if (key == "singular_rows") return report.singular_rows;
  if (key == "singular_columns") return report.singular_columns;
  if (key != "indefinite_column")
    throw InputError("key " + Impl::quoted(key) +
                     " is unknown (choose from singular_rows, singular_columns, indefinite_column)");
  handle.list.clear();
  if (report.indefinite_column) handle.list.push_back(*report.indefinite_column);
  return handle.list;
}

const std::vector<double>& find_numbers(lutra_solver& handle, const std::string& key) {
  if (const auto* const batch = dynamic_cast<const AnyBatchSolver*>(handle.solver.get()))
    return handle.numbers = batch->numbers(key);
  if (key != "residual_history")
    throw InputError("key " + Impl::quoted(key) + " is unknown (choose from residual_history)");
  return handle.solver->report().residual_history;
}

}  // namespace
}  // namespace lutra::C

using namespace lutra::C;

lutra_status lutra_report_status(const lutra_solver* solver) {
  return guarded([&] {
    require(solver != nullptr, "solver: it is null");
    const lutra::Report& report = solver->solver->report();
    const lutra_status status = to_c(report.status);
    return status == LUTRA_SUCCESS ? status : fail(status, solver->solver->message().c_str());
  });
}

lutra_status lutra_get_integer(lutra_solver* solver, const char* key, int64_t* value) {
  return guarded([&] {
    if (const auto* const count = find_count(solver, key); count && *count && value != nullptr) {
      *value = **count;
      return LUTRA_SUCCESS;
    }
    return with_value(solver, key, value, "integer", &nlohmann::json::is_number_integer,
                      [&](const nlohmann::json& found) { *value = found.get<std::int64_t>(); });
  });
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
    case LUTRA_UNCHECKED:
      return "unchecked";
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
    case LUTRA_CANCELLED:
      return "cancelled";
  }
  return "unknown";
}
